#!/usr/bin/env python3
"""How often the interval of a comparison holds the true difference, by number of scenarios.

Scenarios are drawn from a world in which agents differ from scenario to scenario, each with the
calls that a population has (12, or 3 where identity is tested), and compared: in each simulated
population the interval holds the world's true difference, or it does not. Beside the studentised
cluster bootstrap that `compare` prints stand the percentile interval of the same resamples and the
naive one that takes single calls as independent. With --waits the same for median and p95 of waits,
with --labels for the difference that labels correct.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import expit

from inquesto_core.compare.bootstrap import (
    Estimate,
    Resampling,
    Sums,
    naive_interval,
    percentile_interval,
    studentised,
)
from inquesto_core.compare.calibration import Measured
from inquesto_core.compare.corrected import corrected_difference
from inquesto_core.compare.latency_pairs import quantile_differences
from inquesto_core.compare.slices import exact_rate_interval

CLUSTERS = (12, 24, 30, 100)
#: Calls of a scenario, and how many scenarios have so few: 24 and 6 of the population's 30.
CALLS, FEW_CALLS, FEW_SHARE = 12, 3, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """How scenarios differ, on the scale of log odds.

    Parameters
    ----------
    base : float
        Log odds that A passes a call of the middle scenario.
    spread : float
        Standard deviation of that over scenarios.
    gain, gain_spread : float
        What B adds, and its standard deviation over scenarios.
    """

    base: float
    spread: float
    gain: float
    gain_spread: float


WORLDS = {
    "even": World(base=0.0, spread=1.5, gain=0.5, gain_spread=1.0),
    "few failures": World(base=2.5, spread=1.0, gain=0.3, gain_spread=0.5),
    "all or nothing": World(base=0.0, spread=2.0, gain=0.3, gain_spread=3.0),
}
METHODS = ("studentised", "percentile", "naive")


def true_difference(world: World) -> float:
    """Return the difference of the pass rates over all scenarios of a world."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()
    a = world.base + world.spread * nodes
    b = a[:, None] + world.gain + world.gain_spread * nodes[None, :]
    return float(weights @ expit(b) @ weights - expit(a) @ weights)


def simulate(
    world: World, clusters: int, generator: np.random.Generator
) -> tuple[Sums, np.ndarray]:
    """Return a population's moved and all calls by scenario, and its calls one by one."""
    sizes = np.where(generator.random(clusters) < FEW_SHARE, FEW_CALLS, CALLS)
    a = world.base + world.spread * generator.normal(size=clusters)
    b = a + world.gain + world.gain_spread * generator.normal(size=clusters)
    of = np.repeat(np.arange(clusters), sizes)
    passed = [generator.random(len(of)) < expit(each)[of] for each in (a, b)]
    moved = passed[1].astype(np.int64) - passed[0]
    return Sums.of(np.bincount(of, moved, minlength=clusters), sizes), moved


def coverage(
    world: World, clusters: int, *, populations: int, resamples: int, seed: int = 1
) -> dict[str, tuple[float, float]]:
    """Return of each method the share of intervals that hold the truth, and their mean width."""
    truth, generator = true_difference(world), np.random.default_rng(seed)
    ends = {name: np.empty((populations, 2)) for name in METHODS}
    for at in range(populations):
        sums, moved = simulate(world, clusters, generator)
        resampling = Resampling(resamples=resamples, seed=seed + at)
        own = studentised(sums, resampling=resampling, bounds=(-1.0, 1.0))
        if own.low is None:  # nothing moved, or evenly in every scenario: as `compare` does
            high = exact_rate_interval(0, len(moved), level=resampling.level)[1]
            own = Estimate(value=0.0, low=-high, high=high)
        ends["studentised"][at] = (own.low, own.high)
        ends["percentile"][at] = percentile_interval(sums, resampling=resampling)
        ends["naive"][at] = naive_interval(moved, resampling=resampling)
    return {
        name: (
            float(((each[:, 0] <= truth) & (truth <= each[:, 1])).mean()),
            float((each[:, 1] - each[:, 0]).mean()),
        )
        for name, each in ends.items()
    }


def _waits(clusters: int, generator: np.random.Generator, slower: float) -> list[pl.DataFrame]:
    """Return the waits of both agents: log-normal, each scenario slow or fast in its own way."""
    per = 3 * CALLS
    of = np.repeat(np.arange(clusters), per)
    shared = generator.normal(0, 0.3, clusters)
    frames = []
    for more in (0.0, slower):
        own = shared + more + generator.normal(0, 0.1, clusters)
        value = np.exp(6.7 + own[of] + generator.normal(0, 0.4, len(of))).round()
        frames.append(pl.DataFrame({"cluster": of, "value_ms": value, "n": np.ones(len(of))}))
    return frames


def waits_coverage(
    clusters: int, *, populations: int, resamples: int, seed: int = 1
) -> dict[float, float]:
    """Return how often the interval of the difference of each quantile holds the true one."""
    generator = np.random.default_rng(seed)
    many = _waits(20_000, generator, 0.1)
    truth = {
        share: float(
            np.quantile(many[1]["value_ms"], share) - np.quantile(many[0]["value_ms"], share)
        )
        for share in (0.5, 0.95)
    }
    held = dict.fromkeys(truth, 0)
    for at in range(populations):
        resampling = Resampling(resamples=resamples, seed=seed + at)
        for each in quantile_differences(*_waits(clusters, generator, 0.1), resampling=resampling):
            low, high = each.difference.low, each.difference.high
            held[each.share] += low <= truth[each.share] <= high
    return {share: count / populations for share, count in held.items()}


def corrected_coverage(
    clusters: int, *, labels: int, populations: int, resamples: int, seed: int = 1
) -> float:
    """Return how often the interval of the corrected difference holds the true one.

    A judge passes 96 % of the calls that pass and fails 85 % of those that fail, `labels` of which
    people have labelled, drawn from calls of the same world.
    """
    world, generator = WORLDS["even"], np.random.default_rng(seed)
    truth, held = true_difference(world), 0
    for at in range(populations):
        drawn = _judged(world, clusters, generator)
        told = _judged(world, max(2, labels // CALLS), generator)
        while told["real_a"].all() or not told["real_a"].any():  # a sheet holds both outcomes
            told = _judged(world, max(2, labels // CALLS), generator)
        rates = []
        for outcome in (True, False):
            own = told["real_a"] == outcome
            right = (told["judge_a"] == outcome)[own].mean()
            rates.append(Measured(value=float(right), n=float(own.sum())))
        sums = pl.DataFrame(
            {
                "n": np.bincount(drawn["of"]),
                "passed_a": np.bincount(drawn["of"], drawn["judge_a"]),
                "passed_b": np.bincount(drawn["of"], drawn["judge_b"]),
            }
        )
        found = corrected_difference(
            sums,
            (rates[0], rates[1]),
            (rates[0], rates[1]),
            is_shared=True,
            resampling=Resampling(resamples=resamples, seed=seed + at),
        )
        held += (found.low or 0) <= truth <= (found.high or 0)
    return held / populations


def _judged(world: World, clusters: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Return calls by scenario, whether they pass, and whether the judge passes them."""
    a = world.base + world.spread * generator.normal(size=clusters)
    b = a + world.gain + world.gain_spread * generator.normal(size=clusters)
    of = np.repeat(np.arange(clusters), CALLS)
    found = {"of": of}
    for name, odds in (("a", a), ("b", b)):
        real = generator.random(len(of)) < expit(odds)[of]
        luck = generator.random(len(of))
        found |= {f"real_{name}": real, f"judge_{name}": np.where(real, luck < 0.96, luck > 0.85)}
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--populations", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--waits", action="store_true", help="median and p95 of waits instead")
    parser.add_argument("--labels", type=int, help="corrected difference, by so many labels")
    parser.add_argument("--speed", action="store_true", help="time 10,000 resamples of 306 pairs")
    given = parser.parse_args()
    if given.speed:
        print_speed()
    elif given.labels:
        for clusters in CLUSTERS:
            share = corrected_coverage(
                clusters,
                labels=given.labels,
                populations=given.populations,
                resamples=given.resamples,
            )
            print(f"{clusters:>4} scenarios  {100 * share:.1f} %", flush=True)
    elif given.waits:
        for clusters in CLUSTERS:
            found = waits_coverage(
                clusters, populations=given.populations, resamples=given.resamples
            )
            shown = "  ".join(f"{share:.2f}: {100 * held:.1f} %" for share, held in found.items())
            print(f"{clusters:>4} scenarios  {shown}", flush=True)
    else:
        print(f"{'world':<16}{'scenarios':>10}" + "".join(f"{name:>22}" for name in METHODS))
        for name, world in WORLDS.items():
            for clusters in CLUSTERS:
                found = coverage(
                    world, clusters, populations=given.populations, resamples=given.resamples
                )
                cells = "".join(
                    f"{f'{100 * held:.1f} % (width {100 * width:.1f})':>22}"
                    for held, width in found.values()
                )
                print(f"{name:<16}{clusters:>10}{cells}", flush=True)


def print_speed() -> None:
    """Print how long 10,000 resamples of a pair of the population's 306 calls take."""
    generator = np.random.default_rng(0)
    sums, _ = simulate(WORLDS["even"], 30, generator)
    waits = _waits(30, generator, 0.1)
    for name, work in (
        ("difference of scores", lambda: studentised(sums, resampling=Resampling())),
        (
            "median and p95 of 2 × 1,080 waits",
            lambda: quantile_differences(*waits, resampling=Resampling()),
        ),
    ):
        work()
        begin = time.perf_counter()
        work()
        print(f"{name:<36}{time.perf_counter() - begin:>8.3f} s")


if __name__ == "__main__":
    main()
