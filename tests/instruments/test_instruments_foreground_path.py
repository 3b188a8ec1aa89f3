"""The likeliest path of party and background, and where a stretch of it begins."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from inquesto_core.instruments.foreground import (
    ForegroundParameters,
    _likely_party,
    _without_weak_starts,
)
from inquesto_core.protocol import load_protocol

PIN = load_protocol("inquesto-0.1").instruments.foreground
PARAMETERS = ForegroundParameters.of(PIN.parameters, PIN.features)
HOP_MS = PARAMETERS.features.hop_ms


def likeliest(evidence, price):
    """Try every path: the sum of evidence where it is the party, less the price of each change."""

    def worth(path):
        changes = sum(a != b for a, b in itertools.pairwise((False, *path)))
        return sum(step for step, on in zip(evidence, path, strict=True) if on) - price * changes

    return max(itertools.product((False, True), repeat=len(evidence)), key=worth)


@pytest.mark.parametrize("seed", range(40))
def test_the_path_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    evidence = rng.normal(0, 2, rng.integers(1, 11))
    price = float(rng.choice([0.3, 1.0, 3.0]))
    assert tuple(_likely_party(evidence, price)) == likeliest(evidence, price)


def test_no_frames_have_no_path():
    assert len(_likely_party(np.zeros(0), 3.0)) == 0


@pytest.mark.parametrize(
    ("weak_ms", "begins_ms"),
    [
        pytest.param(PARAMETERS.max_weak_start_ms, 0, id="a soft first sound stays"),
        pytest.param(
            PARAMETERS.max_weak_start_ms + HOP_MS,
            PARAMETERS.max_weak_start_ms + HOP_MS,
            id="a longer one is the voice behind",
        ),
    ],
)
def test_a_long_weak_start_is_not_the_party(weak_ms, begins_ms):
    evidence = np.full(200, 6.0)
    evidence[: weak_ms // HOP_MS] = 1.0
    kept = _without_weak_starts(np.array([[0, 200]]), evidence, PARAMETERS)
    assert (kept * HOP_MS).tolist() == [[begins_ms, 200 * HOP_MS]]


def test_a_stretch_that_is_nowhere_sure_stays_whole():
    evidence = np.full(200, 1.0)
    evidence[150] = 6.0
    lasting = dataclasses.replace(PARAMETERS, sure_ms=2 * HOP_MS)
    kept = _without_weak_starts(np.array([[10, 190]]), evidence, lasting)
    assert kept.tolist() == [[10, 190]]
