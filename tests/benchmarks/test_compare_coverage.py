"""The simulation of coverage in its small form: what it says of the three intervals holds."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest


@pytest.fixture(scope="module")
def benchmark(project):
    spec = importlib.util.spec_from_file_location(
        "compare_coverage", project / "benchmarks" / "compare_coverage.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("world", ["even", "few failures", "all or nothing"])
def test_the_true_difference_of_a_world_is_that_of_many_scenarios(benchmark, world):
    sums, moved = benchmark.simulate(benchmark.WORLDS[world], 40_000, np.random.default_rng(1))
    assert moved.mean() == pytest.approx(
        benchmark.true_difference(benchmark.WORLDS[world]), abs=0.01
    )
    assert sums.total.sum() == moved.sum()


def test_the_studentised_interval_holds_the_truth_more_often_than_the_others(benchmark):
    found = benchmark.coverage(benchmark.WORLDS["even"], 12, populations=150, resamples=299)
    held = {name: share for name, (share, _) in found.items()}
    # 150 populations tell 95 per cent to within 3.6.
    assert 0.91 <= held["studentised"] <= 1.0
    assert held["studentised"] > held["percentile"] > held["naive"]


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [12, 24, 30, 100])
@pytest.mark.parametrize("world", ["even", "few failures", "all or nothing"])
def test_coverage_is_95_percent_to_within_one_and_a_half(benchmark, world, clusters):
    found = benchmark.coverage(benchmark.WORLDS[world], clusters, populations=2_000, resamples=999)
    assert 0.935 <= found["studentised"][0] <= 0.965
