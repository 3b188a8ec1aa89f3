from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from inquesto_core.compare.bootstrap import (
    LEAST_CLUSTERS,
    Resampling,
    Sums,
    naive_interval,
    percentile_interval,
    resample_counts,
    studentised,
)

QUICK = Resampling(resamples=2_000, seed=3)


def population(clusters=30, seed=0):
    generator = np.random.default_rng(seed)
    size = generator.choice([3.0, 12.0], clusters, p=[0.2, 0.8])
    return Sums.of(generator.integers(-2, 5, clusters), size)


def test_the_standard_error_is_that_of_scipys_linear_regression_through_the_ratio():
    # With equal sizes the ratio is the mean of the cluster means, whose error scipy gives.
    generator = np.random.default_rng(1)
    total = generator.normal(2, 3, 25)
    found = studentised(Sums.of(total, np.ones(25)), resampling=QUICK)
    assert found.value == pytest.approx(total.mean())
    assert found.scale == pytest.approx(stats.sem(total))


def test_the_interval_is_that_of_scipys_t_where_clusters_are_many_and_normal():
    total = np.random.default_rng(2).normal(1, 2, 400)
    found = studentised(Sums.of(total, np.ones(400)), resampling=Resampling())
    low, high = stats.t.interval(0.95, 399, total.mean(), stats.sem(total))
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.01)


def test_the_percentile_interval_is_that_of_scipys_bootstrap():
    total = np.random.default_rng(4).exponential(1, 40)
    ours = percentile_interval(Sums.of(total, np.ones(40)), resampling=Resampling())
    theirs = stats.bootstrap(
        (total,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_a_difference_over_the_same_pairs_is_that_of_the_moved_calls():
    moved = population()
    a = Sums.of(np.minimum(np.arange(30) % 7, moved.size), moved.size)
    b = Sums.of(a.total + moved.total, moved.size)
    one, two = studentised(moved, resampling=QUICK), studentised(b, a, resampling=QUICK)
    assert (two.value, two.low, two.high) == pytest.approx((one.value, one.low, one.high))
    assert two.p_value == one.p_value


def test_the_same_seed_gives_the_same_interval_and_another_one_nearly_the_same():
    first, again = (studentised(population(), resampling=QUICK) for _ in range(2))
    other = studentised(population(), resampling=Resampling(resamples=2_000, seed=4))
    assert (first.low, first.high) == (again.low, again.high)
    assert other.low != first.low
    assert other.low == pytest.approx(first.low, abs=0.03)


def test_blocks_of_resamples_draw_what_one_block_draws(monkeypatch):
    whole = np.concatenate(list(resample_counts(12, QUICK)))
    monkeypatch.setattr("inquesto_core.compare.bootstrap._BLOCK", 12 * 100)
    assert np.array_equal(np.concatenate(list(resample_counts(12, QUICK))), whole)
    assert (whole.sum(axis=1) == 12).all()


def test_thousands_of_clusters_are_drawn_less_often_and_never_less_than_a_thousand_times():
    assert Resampling().times(30) == 10_000
    assert Resampling().times(10_000) == 4_000
    assert Resampling().times(10_000_000) == 1_000


@pytest.mark.parametrize(
    ("clusters", "enough"), [(LEAST_CLUSTERS - 1, False), (LEAST_CLUSTERS, True)]
)
def test_fewer_than_ten_clusters_are_inconclusive(clusters, enough):
    found = studentised(population(clusters), resampling=QUICK)
    assert (found.inconclusive is None) == enough
    assert found.low is not None


def test_an_unbounded_value_that_is_the_same_in_all_clusters_has_no_interval():
    found = studentised(Sums.of(np.full(12, 3.0), np.full(12, 6.0)), resampling=QUICK)
    assert (found.value, found.low, found.p_value) == (0.5, None, None)
    assert found.inconclusive == "every cluster says the same"


def test_a_call_that_breaks_in_each_scenario_is_a_loss_and_no_reason_to_be_unsure():
    found = studentised(
        Sums.of(np.full(12, -1.0), np.ones(12)), resampling=QUICK, bounds=(-1.0, 1.0)
    )
    missed = 1 - 0.05 ** (1 / 12)
    assert (found.low, found.high) == pytest.approx((-1.0, -1 + 2 * missed))
    assert found.inconclusive is None
    assert found.p_value < 0.05


@pytest.mark.parametrize("sums", [Sums.of([], []), Sums.of([0.0], [0.0])], ids=["none", "empty"])
def test_nothing_to_divide_by_is_no_value(sums):
    found = studentised(sums, resampling=QUICK)
    assert (found.value, found.low, found.inconclusive) == (None, None, "no call to compare")


def test_a_cluster_of_one_side_only_counts_for_that_side():
    a = Sums.of(np.r_[np.arange(12.0), 0.0], np.r_[np.full(12, 12.0), 0.0])
    b = Sums.of(np.r_[np.arange(12.0), 5.0], np.r_[np.full(12, 12.0), 5.0])
    found = studentised(b, a, resampling=QUICK)
    assert found.clusters == 13
    assert found.value == pytest.approx(b.total.sum() / b.size.sum() - a.total.sum() / 144)


def test_intervals_are_cut_to_what_is_possible():
    totals = np.r_[np.full(10, 3.0), np.zeros(2)]
    found = studentised(Sums.of(totals, np.full(12, 3.0)), resampling=QUICK, bounds=(0.0, 1.0))
    assert found.high == 1.0
    assert found.low > 0


def test_a_one_sided_bound_is_the_end_of_the_interval_that_leaves_as_much_on_either_side():
    found = studentised(population(), resampling=QUICK)
    assert found.lower_bound(0.975) == pytest.approx(found.low)
    assert found.upper_bound(0.975) == pytest.approx(found.high)
    assert found.lower_bound(0.9) > found.lower_bound(0.95) > found.low


def test_the_p_value_is_below_five_percent_just_where_the_interval_leaves_out_zero():
    for seed in range(30):
        found = studentised(population(12, seed), resampling=QUICK)
        leaves_out = found.low > 0 or found.high < 0
        assert leaves_out == (found.p_value <= 0.05) or found.p_value == pytest.approx(
            0.05, abs=0.002
        )


def test_the_naive_interval_takes_calls_of_one_scenario_as_independent():
    # Twelve calls of each scenario go the same way: it is four times too sure.
    totals = np.random.default_rng(6).choice([0.0, 12.0], 30)
    calls = np.repeat(totals / 12, 12)
    low, high = naive_interval(calls, resampling=QUICK)
    own = studentised(Sums.of(totals, np.full(30, 12.0)), resampling=QUICK)
    assert (own.high - own.low) > 2.5 * (high - low)
