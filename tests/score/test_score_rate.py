from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from decision_cases import published_records
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from inquesto_core.score.rate import (
    Rate,
    exact_rate,
    published_bound,
    published_rate,
    wilson_interval,
)

Z = 1.959964


@st.composite
def counts(draw):
    n = draw(st.integers(1, 5000))
    return draw(st.integers(0, n)), n


@settings(max_examples=60, deadline=None)
@given(counts())
def test_the_interval_is_that_of_scipy(kn):
    k, n = kn
    expected = binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert wilson_interval(k, n, norm.ppf(0.975)) == pytest.approx(
        [expected.low, expected.high], abs=1e-12
    )


@settings(max_examples=60, deadline=None)
@given(counts())
def test_the_interval_holds_the_rate_and_stays_within_0_and_1(kn):
    k, n = kn
    low, high = Rate(k=k, n=n).interval(Z)
    assert 0 <= low <= k / n <= high <= 1


def test_nothing_passed_has_0_as_its_lower_bound_and_everything_1_as_its_upper():
    low, high = wilson_interval([0, 306], [306, 306], Z).T.tolist()
    assert low[0] == 0.0
    assert high[1] == 1.0


def test_rounding_twice_differs_from_rounding_once_where_the_reference_says():
    n = np.repeat(np.arange(1, 1001), np.arange(2, 1002))
    k = np.concatenate([np.arange(size + 1) for size in range(1, 1001)])
    differing = [
        size
        for size, bounds in zip(n.tolist(), wilson_interval(k, n, Z).tolist(), strict=True)
        for bound in bounds
        if round(100 * bound, 1) != published_bound(bound)
    ]
    assert len(differing) == 467
    assert min(differing) == 40
    assert not {18, 24, 75, 81, 102, 204, 306} & set(differing)


def _slices(record):
    yield {key: record[key] for key in ("score", "n", "passed")} | dict(
        zip(("lo", "hi"), record["ci95"], strict=True)
    )
    yield from record["views"].values()
    yield from record["views"]["fairness"]["by_group"].values()


def test_every_published_rate_and_interval_follows_from_its_counts(shared):
    seen = 0
    for record in published_records(shared).values():
        for row in _slices(record):
            mine = published_rate(Rate(k=row["passed"], n=row["n"]), Z)
            assert mine == {key: row[key] for key in mine}
            seen += 1
    assert seen == 13 * 9


def test_a_rate_without_trials_has_no_value_and_no_interval():
    rate = Rate(k=0, n=0)
    assert (rate.value, rate.percent, rate.published, rate.interval(Z)) == (None,) * 4
    assert exact_rate(rate, Z) == {"score": None, "lo": None, "hi": None}
    assert published_rate(rate, Z)["n"] == 0


def test_the_value_is_exact():
    assert Rate(k=137, n=306).value == Fraction(137, 306)


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (1, 0)])
def test_counts_that_are_no_rate_are_refused(k, n):
    with pytest.raises(ValueError, match="expected 0 <= k <= n"):
        Rate(k=k, n=n)
    with pytest.raises(ValueError, match="needs 0 <= k <= n and n >= 1"):
        wilson_interval(k, n, Z)
