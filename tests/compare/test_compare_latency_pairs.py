from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm, t

from inquesto_core.compare.bootstrap import Resampling
from inquesto_core.compare.latency_pairs import (
    NEVER,
    call_waits,
    quantile_differences,
    reply_waits,
    tool_time,
    wait_difference,
    weighted_quantiles,
    widened_tail,
)

QUICK = Resampling(resamples=1_000)


def waits(*values, clusters=12):
    rows = [
        {"cluster": f"s{at % clusters:02}", "value_ms": float(v), "n": 1}
        for at, v in enumerate(values)
    ]
    return pl.DataFrame(rows, schema={"cluster": pl.String, "value_ms": pl.Float64, "n": pl.Int64})


def many(seed, shift=0.0, n=240):
    values = np.random.default_rng(seed).lognormal(6.8, 0.4, n).round() + shift
    return waits(*values)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 1.0])
@pytest.mark.parametrize("n", [1, 2, 19, 20, 21])
def test_quantiles_are_nearest_rank(share, n):
    values = np.arange(1.0, n + 1)
    found = weighted_quantiles(np.ones((1, n)), values, [share])[0, 0]
    assert found == math.ceil(share * n)
    assert found == np.quantile(values, share, method="inverted_cdf")


def test_an_unanswered_turn_is_longer_than_any_wait():
    a, b = waits(*[500] * 20), waits(*[400] * 18, NEVER, NEVER)
    median, p95 = quantile_differences(a, b, resampling=QUICK)
    assert (median.a, median.b, median.difference.value) == (500, 400, -100)
    assert (p95.a, p95.b, p95.difference.value) == (500, NEVER, NEVER)
    assert p95.difference.high == NEVER


def test_leaving_the_slowest_turns_unanswered_does_not_make_an_agent_faster():
    a = waits(*[500] * 18, 4000, 4000)
    dropped = waits(*[500] * 18, NEVER, NEVER)
    p95 = quantile_differences(a, dropped, resampling=QUICK)[1]
    assert p95.difference.value > 0


def test_what_is_never_answered_under_both_has_no_difference():
    both = waits(*[NEVER] * 15, *[100] * 5)
    median = quantile_differences(both, both, resampling=QUICK)[0]
    assert (median.a, median.difference.value) == (NEVER, None)
    assert median.difference.inconclusive == "never in both"


def test_a_shift_of_every_wait_is_found():
    median, p95 = quantile_differences(many(1), many(1, 250.0), resampling=QUICK)
    for each in (median, p95):
        assert each.difference.value == 250
        assert each.difference.low <= 250 <= each.difference.high


def test_the_tails_of_few_clusters_are_widened_as_t_is_wider_than_a_normal():
    expected = norm.cdf(math.sqrt(12 / 11) * t.ppf(0.025, 11))
    assert widened_tail(0.025, 12) == pytest.approx(expected)
    assert widened_tail(0.025, 10_000) == pytest.approx(0.025, abs=1e-4)


def test_a_one_sided_bound_lies_within_the_interval():
    p95 = quantile_differences(many(1), many(2, 80.0), resampling=QUICK)[1]
    assert p95.difference.value <= p95.upper_bound(0.95) <= p95.difference.high


def test_thousands_of_distinct_waits_are_drawn_in_groups_and_give_nearly_the_same(monkeypatch):
    a, b = many(3, n=3000), many(4, 40.0, n=3000)
    whole = quantile_differences(a, b, resampling=QUICK)
    monkeypatch.setattr("inquesto_core.compare.latency_pairs._MOST_VALUES", 100)
    rough = quantile_differences(a, b, resampling=QUICK)
    for one, two in zip(whole, rough, strict=True):
        assert two.difference.value == one.difference.value
        assert two.difference.low == pytest.approx(one.difference.low, abs=60)


def test_no_wait_on_one_side_is_nothing_to_compare():
    for each in quantile_differences(many(1), many(1).clear(), resampling=QUICK):
        assert (each.b, each.difference.value) == (None, None)


def test_replies_become_waits_of_paired_calls_and_censored_ones_do_not():
    replies = pl.DataFrame(
        {
            "call_id": ["a", "a", "a", "b", "c"],
            "status": ["replied", "no_reply", "censored", "simultaneous", "replied"],
            "latency_ms": [700, None, None, None, 900],
            "tool_in_wait": [True, False, None, None, False],
        }
    )
    clusters = pl.DataFrame({"call_id": ["a", "b"], "cluster": ["s1", "s2"]})
    rows = reply_waits(replies, clusters).sort("value_ms").rows(named=True)
    assert [(row["value_ms"], row["tool_in_wait"], row["n"]) for row in rows] == [
        (700.0, True, 1),
        (NEVER, False, 1),
    ]


def test_of_archives_each_call_counts_with_its_median_or_as_never():
    pairs = pl.DataFrame(
        {
            "cluster": ["s1", "s1", "s2", "s2"],
            "n_replied_a": [3, 2, 0, 0],
            "n_no_reply_a": [1, 2, 1, 0],
            "median_latency_ms_a": [650.0, 600.0, None, None],
        }
    )
    rows = call_waits(pairs, "a").sort("cluster", "value_ms").select("cluster", "value_ms", "n")
    assert rows.rows() == [("s1", 650.0, 1), ("s1", NEVER, 1), ("s2", NEVER, 1)]


def test_unanswered_shares_stand_beside_the_quantiles():
    a, b = waits(*[500] * 24), waits(*([400] * 11 + [NEVER]) * 2)
    found = wait_difference(a, b, kind="all", resampling=QUICK)
    assert (found.unanswered_a, found.n_a, found.unanswered_b, found.n_b) == (0, 24, 2, 24)
    assert found.unanswered.value == pytest.approx(2 / 24)


def test_time_in_tools_counts_once_where_they_overlap_and_only_within_the_wait():
    replies = pl.DataFrame(
        {
            "call_id": ["a"],
            "utterance": [0],
            "status": ["replied"],
            "clock_ms": [1000],
            "latency_ms": [1000],
            "tool_in_wait": [True],
        }
    )
    tools = pl.DataFrame(
        {
            "call_id": ["a"] * 4,
            "start_ms": [900, 1100, 1900, 5000],
            "end_ms": [1200, 1300, 2500, 6000],
        }
    )
    clusters = pl.DataFrame({"call_id": ["a"], "cluster": ["s1"]})
    assert tool_time(replies, tools, clusters).rows() == [("s1", 400, 600)]
