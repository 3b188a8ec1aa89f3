from __future__ import annotations

import pytest
from scipy.stats import binomtest

from inquesto_core.compare.mcnemar import mcnemar_exact


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    [
        (1, 9, 2 * (1 + 10) / 2**10),
        (0, 6, 2 / 2**6),
        (2, 0, 0.5),
        (0, 0, 1.0),
        (5, 5, 1.0),
    ],
)
def test_it_is_twice_the_share_of_outcomes_at_least_as_uneven(first, second, p_value):
    assert mcnemar_exact(first, second) == pytest.approx(p_value, rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [(0, 7), (3, 11), (40, 61), (121, 59), (1700, 2000)])
def test_it_is_scipys_two_sided_binomial_test(first, second):
    expected = binomtest(first, first + second, 0.5).pvalue
    assert mcnemar_exact(first, second) == pytest.approx(expected, rel=1e-9)


def test_which_side_is_first_does_not_matter():
    assert mcnemar_exact(3, 8) == mcnemar_exact(8, 3)


def test_a_million_pairs_are_no_trouble():
    assert mcnemar_exact(500_000, 500_100) == pytest.approx(0.9211, abs=1e-3)


def test_counts_below_zero_are_refused():
    with pytest.raises(ValueError, match="not negative"):
        mcnemar_exact(-1, 2)
