from __future__ import annotations

import polars as pl
import pytest

from inquesto_core.compare.bootstrap import Resampling
from inquesto_core.compare.slices import (
    cluster_sums,
    holm,
    paired_difference,
    slice_differences,
    worst_group,
)

QUICK = Resampling(resamples=1_000)


def pairs(*slices):
    """Return pairs of slices (name, clusters, calls a cluster, passes of A and of B a cluster)."""
    rows = []
    for name, clusters, calls, a, b in slices:
        for at in range(clusters):
            for call in range(calls):
                # Clusters differ a little, else there is no spread to tell from.
                was, now = call < a + at % 2, call < b + at % 3 % 2
                kind = {(1, 0): "broken", (0, 1): "fixed", (1, 1): "still_passing"}
                rows.append(
                    {
                        "cluster": f"s{at:02}",
                        "group": name,
                        "passed_a": was,
                        "passed_b": now,
                        "outcome": kind.get((was, now), "still_failing"),
                    }
                )
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        # R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")
        ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05, 0.08, 0.09, 0.09, 0.09]),
        ([0.04, 0.001, 0.5], [0.08, 0.003, 0.5]),
        ([0.9, 0.8], [1.0, 1.0]),
        ([], []),
    ],
)
def test_holms_correction_is_that_of_r(p_values, expected):
    assert holm(p_values) == pytest.approx(expected)


def test_a_loss_in_one_slice_is_not_hidden_by_a_gain_in_another():
    found = slice_differences(
        pairs(("en", 12, 10, 3, 8), ("ta", 12, 4, 3, 0)), ["group"], resampling=QUICK
    )
    gain, loss = found
    assert (gain.value, loss.value) == ("en", "ta")
    assert gain.difference.value > 0 > loss.difference.value
    assert gain.adjusted <= 0.05
    assert loss.adjusted <= 0.05


@pytest.mark.parametrize(
    ("clusters", "calls", "reason"),
    [
        (10, 3, None),
        (9, 4, "fewer than 10 clusters"),
        (29, 1, "fewer than 30 calls"),
        (30, 1, None),
    ],
)
def test_a_slice_is_sparse_below_thirty_pairs_or_ten_clusters(clusters, calls, reason):
    (found,) = slice_differences(pairs(("x", clusters, calls, 0, 1)), ["group"], resampling=QUICK)
    assert (found.n, found.clusters) == (clusters * calls, clusters)
    assert found.difference.inconclusive == reason
    assert (found.adjusted is None) == (reason is not None)


def test_sparse_slices_are_not_tested_and_do_not_weaken_the_others():
    one = slice_differences(pairs(("x", 12, 10, 3, 5)), ["group"], resampling=QUICK)
    with_sparse = slice_differences(
        pairs(("x", 12, 10, 3, 5), ("y", 3, 2, 0, 1)), ["group"], resampling=QUICK
    )
    assert with_sparse[0].adjusted == one[0].adjusted


def test_unknown_values_are_a_slice_of_their_own():
    table = pairs(("x", 12, 3, 1, 2)).with_columns(group=pl.lit(None, dtype=pl.String))
    (found,) = slice_differences(table, ["group"], resampling=QUICK)
    assert found.value == "(not known)"


def test_where_no_pair_moved_the_difference_has_the_exact_interval_of_none_in_n():
    table = pairs(("x", 12, 10, 3, 3)).with_columns(
        passed_b="passed_a", outcome=pl.lit("still_passing")
    )
    found = paired_difference(cluster_sums(table), resampling=QUICK)
    assert (found.value, found.inconclusive) == (0.0, None)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 120))
    assert found.low == -found.high


def test_as_many_pairs_one_way_as_the_other_in_every_cluster_are_no_difference_of_some_width():
    both_ways = pairs(("x", 12, 10, 3, 3)).with_columns(
        call=pl.int_range(pl.len()).over("cluster"), passed_a=pl.lit(True), passed_b=pl.lit(True)
    )
    both_ways = both_ways.with_columns(
        outcome=pl.when(pl.col("call") == 0)
        .then(pl.lit("broken"))
        .when(pl.col("call") == 1)
        .then(pl.lit("fixed"))
        .otherwise(pl.lit("still_passing")),
    )
    found = paired_difference(cluster_sums(both_ways), resampling=QUICK)
    assert (found.value, found.inconclusive) == (0.0, None)
    # 12 of 24 moved one way: 29 to 71 per cent of them, by Clopper and Pearson.
    assert found.high == pytest.approx((2 * 0.70884 - 1) * 24 / 120, abs=1e-4)


def test_the_worst_group_stands_beside_all_other_calls_with_a_widened_interval():
    table = pairs(("a", 12, 10, 8, 8), ("b", 12, 10, 7, 7), ("c", 12, 10, 2, 9))
    # Scenarios differ in how far the worst group lies behind.
    lost = (pl.col("group") == "a") & pl.col("cluster").is_in(["s00", "s04", "s07"])
    table = table.with_columns(passed_a=pl.col("passed_a") & ~lost)
    found = worst_group(table, "group", "a", resampling=QUICK)
    assert (found.value, found.n) == ("c", 120)
    assert found.gap.value == pytest.approx(found.others - found.rate)
    narrow = worst_group(table, "group", "a", resampling=Resampling(resamples=1_000, level=0.5))
    assert narrow.gap.high - narrow.gap.low < found.gap.high - found.gap.low


def test_a_group_too_small_to_tell_is_never_the_worst():
    table = pairs(("a", 12, 10, 8, 8), ("b", 12, 10, 7, 7), ("c", 12, 2, 0, 0))
    assert worst_group(table, "group", "a", resampling=QUICK).value == "b"
    assert worst_group(pairs(("a", 12, 10, 8, 8)), "group", "a", resampling=QUICK) is None


def test_slices_do_not_depend_on_the_order_of_pairs():
    table = pairs(("x", 12, 10, 3, 5), ("y", 12, 5, 2, 1))
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    one, two = (slice_differences(each, ["group"], resampling=QUICK) for each in (table, shuffled))
    shown = [(each.value, each.difference.low, each.adjusted) for each in one]
    assert shown == [(each.value, each.difference.low, each.adjusted) for each in two]


def test_one_scenario_alone_has_its_difference_and_no_interval():
    (found,) = slice_differences(pairs(("x", 1, 3, 3, 1)), ["group"], resampling=QUICK)
    assert found.difference.value == pytest.approx(-2 / 3)
    assert found.difference.low is None
    assert found.difference.inconclusive == "fewer than 30 calls"
