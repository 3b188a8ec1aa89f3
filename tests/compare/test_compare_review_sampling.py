"""Which calls are reviewed: in proportion, by a stated seed, critical failures apart."""

from __future__ import annotations

import polars as pl
import pytest

from inquesto_core.compare.review_sampling import (
    APART,
    SAMPLE,
    allocation,
    draw_review,
    review_frame,
)
from inquesto_core.errors import IncomparableError
from inquesto_core.protocol import load_protocol
from inquesto_core.score.tables import EVENT_PREFIX

PROTOCOL = load_protocol("inquesto-0.1")


def decisions(n=200, **given):
    events = {EVENT_PREFIX + event.name: False for event in PROTOCOL.events}
    rows = [
        {
            "call_id": f"call-{at:03}",
            "scenario_id": f"s{at % 7}",
            "condition": ("clean", "babble")[at % 2],
            "group": None,
            "state": "scored",
            "goal": at % 5 > 0,
            "passed": at % 5 > 0,
            **events,
            "event_false_accept": at % 25 == 0,
        }
        for at in range(n)
    ]
    return pl.DataFrame(rows).with_columns(**given)


def frame(**given):
    return review_frame(decisions(**given), protocol=PROTOCOL, by=("outcome", "condition"))


@pytest.mark.parametrize(
    ("sizes", "n", "given"),
    [
        pytest.param({"a": 50, "b": 50}, 10, {"a": 5, "b": 5}, id="even"),
        pytest.param({"a": 97, "b": 3}, 10, {"a": 8, "b": 2}, id="two of the smallest"),
        pytest.param({"a": 1, "b": 9}, 4, {"a": 1, "b": 3}, id="all of one"),
        pytest.param({"a": 3, "b": 2}, 99, {"a": 3, "b": 2}, id="no more than there are"),
    ],
)
def test_strata_give_in_proportion_and_two_at_least(sizes, n, given):
    assert allocation(sizes, n) == given


def test_weights_of_the_sample_sum_to_the_run():
    drawn = draw_review(frame(), n=30, secret=b"k")
    sample = drawn.filter(pl.col("part") == SAMPLE)
    assert sample.height == 30
    assert sample["weight"].sum() == pytest.approx(200)
    assert (sample["weight"] == sample["stratum_calls"] / sample["stratum_drawn"]).all()


def test_every_critical_failure_is_there_and_those_apart_weigh_nothing():
    drawn = draw_review(frame(), n=20, secret=b"k")
    critical = drawn.filter(pl.col("critical_failure"))
    assert critical.height == 8
    apart = drawn.filter(pl.col("part") == APART)
    assert apart["critical_failure"].all()
    assert apart["weight"].null_count() == apart.height > 0


def test_the_same_key_draws_the_same_calls_in_any_order_of_the_run():
    one = draw_review(frame(), n=20, secret=b"k")
    turned = review_frame(decisions().reverse(), protocol=PROTOCOL, by=("outcome", "condition"))
    assert draw_review(turned, n=20, secret=b"k").equals(one)
    assert not draw_review(frame(), n=20, secret=b"other").equals(one)


def test_each_call_of_a_stratum_is_drawn_equally_often():
    counts: dict[str, int] = {}
    calls = frame(n=40)
    for at in range(600):
        drawn = draw_review(calls, n=12, secret=b"%d" % at).filter(pl.col("part") == SAMPLE)
        for name in drawn["call_id"]:
            counts[name] = counts.get(name, 0) + 1
    shares = calls.join(
        pl.DataFrame({"call_id": list(counts), "times": list(counts.values())}), on="call_id"
    )
    spread = shares.group_by("stratum").agg(
        low=pl.col("times").min(), high=pl.col("times").max(), n=pl.len()
    )
    assert shares.height == 40
    # Five standard errors of a binomial share about its stratum's mean.
    assert ((spread["high"] - spread["low"]) < 10 * (600 * 0.25) ** 0.5).all()


def test_strata_that_are_too_small_for_the_sample_are_put_together():
    drawn = draw_review(frame(), n=3, secret=b"k").filter(pl.col("part") == SAMPLE)
    assert drawn.height == 3
    assert drawn["weight"].sum() == pytest.approx(200)
    assert any(" + " in name for name in drawn["stratum"])


def test_excluded_and_timing_only_calls_are_not_drawn_and_open_ones_are():
    state = pl.when(pl.col("call_id") == "call-001").then(pl.lit("excluded"))
    state = state.when(pl.col("call_id") == "call-002").then(pl.lit("timing_only"))
    state = state.when(pl.col("call_id") == "call-003").then(pl.lit("not_evaluated"))
    passed = pl.when(pl.col("call_id") != "call-003").then("passed")
    found = frame(state=state.otherwise(pl.lit("scored")), passed=passed)
    assert {"call-001", "call-002"}.isdisjoint(found["call_id"])
    opened = found.filter(pl.col("call_id") == "call-003")["stratum"].to_list()
    assert opened == ["open · babble"]


def test_strata_of_an_unknown_column_are_refused():
    with pytest.raises(IncomparableError, match="column_unknown"):
        review_frame(decisions(), protocol=PROTOCOL, by=("age",))
