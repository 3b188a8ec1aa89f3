"""Rates of a run from a stratified sample: direct computation, all reviewed, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from inquesto_core.compare.weighted_rate import weighted_rate

Z = 1.959964
FRAME = {"stratum": pl.String, "value": pl.Boolean}


def answers(**by_stratum):
    rows = [(name, value) for name, values in by_stratum.items() for value in values]
    return pl.DataFrame(rows, schema=FRAME, orient="row")


def test_the_rate_and_its_variance_are_those_of_a_stratified_sample():
    """Computed by hand: Cochran 1977, 5.9, half an answer of either kind added to each stratum."""
    first, second = [True, True, False, True], [False, True, False]
    found = weighted_rate(answers(a=first, b=second), {"a": (40, 4), "b": (60, 3)}, z=Z)
    rate = 0.4 * 3 / 4 + 0.6 * 1 / 3
    one, two = (3 + 0.5) / 5, (1 + 0.5) / 4
    variance = 0.4**2 * (1 - 4 / 40) * (one * (1 - one) * 5 / 4) / 4
    variance += 0.6**2 * (1 - 3 / 60) * (two * (1 - two) * 4 / 3) / 3
    assert found.value == pytest.approx(rate)
    assert found.total == pytest.approx(40 * 3 / 4 + 60 / 3)
    assert found.effective_n == pytest.approx(rate * (1 - rate) / variance)
    assert found.low < rate < found.high


def test_a_run_that_was_reviewed_whole_has_no_sampling_error():
    found = weighted_rate(answers(a=[True, False], b=[True]), {"a": (2, 2), "b": (1, 1)}, z=Z)
    assert found.value == pytest.approx(2 / 3)
    assert (found.low, found.high) == (found.value, found.value)
    assert math.isinf(found.effective_n)


def test_unanswered_calls_are_taken_for_the_answered_ones_of_their_stratum():
    found = weighted_rate(
        answers(a=[True, None], b=[False, False]), {"a": (9, 2), "b": (9, 2)}, z=Z
    )
    assert (found.answered, found.unanswered) == (3, 1)
    assert found.value == pytest.approx(4.5 / (4.5 + 9))


@pytest.mark.parametrize("value", [True, False], ids=["all true", "all false"])
def test_answers_that_all_agree_still_have_an_interval(value):
    found = weighted_rate(answers(a=[value] * 20), {"a": (200, 20)}, z=Z)
    assert found.effective_n == pytest.approx(20)
    assert found.high - found.low == pytest.approx(0.161, abs=0.001)


@pytest.mark.parametrize(
    ("n", "why"), [(29, "fewer than 30 answers"), (30, None)], ids=["29", "30"]
)
def test_few_answers_are_inconclusive(n, why):
    told = [True, False] * 20
    found = weighted_rate(answers(a=told[:n]), {"a": (300, n)}, z=Z)
    assert found.inconclusive == why


def test_nothing_answered_is_no_rate():
    found = weighted_rate(answers(a=[None, None]), {"a": (10, 2)}, z=Z)
    assert (found.value, found.total, found.inconclusive) == (None, None, "no call was answered")


def test_estimates_are_unbiased_and_intervals_hold_what_they_say():
    """2,000 samples of a run whose strata differ widely; the plain mean is 12 points off."""
    generator = np.random.Generator(np.random.PCG64(11))
    truth = {"failed": np.arange(60) < 12, "passed": np.arange(300) < 270}
    strata = {"failed": (60, 30), "passed": (300, 30)}
    whole = (12 + 270) / 360
    values, plain, held = [], [], 0
    for _ in range(2_000):
        drawn = {
            name: generator.choice(truth[name], size, replace=False).tolist()
            for name, (_, size) in strata.items()
        }
        found = weighted_rate(answers(**drawn), strata, z=Z)
        values.append(found.value)
        plain.append(np.mean(drawn["failed"] + drawn["passed"]))
        held += found.low <= whole <= found.high
    assert np.mean(values) == pytest.approx(whole, abs=0.003)
    assert abs(np.mean(plain) - whole) > 0.1
    assert 0.93 <= held / 2_000 <= 0.985
