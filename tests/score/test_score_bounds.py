from __future__ import annotations

import pytest
from decision_cases import decision, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core.protocol import load_protocol
from inquesto_core.score.bounds import excluded_as_failures, score_bounds, timing_uncertainty
from inquesto_core.score.views import pass_rate

PROTOCOL = load_protocol("inquesto-0.1")

OPEN = {"state": "not_evaluated", "goal": None}


def table(*rows):
    return summary(PROTOCOL, list(rows)).cells


def uncertainty(*rows):
    told = summary(PROTOCOL, list(rows))
    return timing_uncertainty(told.cells, told.tallies, protocol=PROTOCOL)


def test_without_an_open_call_there_are_no_bounds():
    assert score_bounds(table(decision(PROTOCOL), decision(PROTOCOL, state="excluded"))) is None


def test_open_calls_are_all_failed_or_all_passed():
    bounds = score_bounds(table(decision(PROTOCOL), *[decision(PROTOCOL, **OPEN)] * 3))
    assert (bounds["low"], bounds["high"], bounds["n"]) == (25.0, 100.0, 4)


def test_a_known_failure_is_failed_in_both():
    rows = [decision(PROTOCOL), decision(PROTOCOL, **OPEN, known_fail=True)]
    bounds = score_bounds(table(*rows))
    assert (bounds["low"], bounds["high"]) == (50.0, 50.0)
    assert (bounds["open_n"], bounds["known_fail_n"]) == (1, 1)


def test_a_run_with_nothing_complete_still_has_bounds():
    bounds = score_bounds(table(decision(PROTOCOL, **OPEN)))
    assert (bounds["low"], bounds["high"]) == (0.0, 100.0)


outcomes = st.lists(st.sampled_from(["pass", "fail", "open"]), min_size=1, max_size=20)


@settings(max_examples=40, deadline=None)
@given(outcomes)
def test_the_bounds_hold_the_score_where_no_open_call_is_known_to_fail(drawn):
    fields = {"pass": {}, "fail": {"goal": False}, "open": OPEN}
    calls = table(*(decision(PROTOCOL, **fields[name]) for name in drawn))
    bounds, score = score_bounds(calls), pass_rate(calls).published
    if bounds is not None and score is not None:
        assert bounds["low"] <= score <= bounds["high"]


@settings(max_examples=40, deadline=None)
@given(outcomes, st.data())
def test_the_bounds_hold_every_score_that_the_open_calls_can_still_give(drawn, data):
    fields = {"pass": {}, "fail": {"goal": False}, "open": OPEN}
    rows, settled = [], []
    for name in drawn:
        known = name == "open" and data.draw(st.booleans())
        row = decision(PROTOCOL, **fields[name], **({"known_fail": True} if known else {}))
        rows.append(row)
        goal = (not known and data.draw(st.booleans())) if name == "open" else row["goal"]
        settled.append(decision(PROTOCOL, goal=goal))
    bounds = score_bounds(table(*rows))
    if bounds is not None:
        rate = pass_rate(table(*settled))
        assert bounds["passed_low"] <= rate.k <= bounds["passed_high"]
        assert rate.n == bounds["n"]


def test_excluded_calls_count_as_failures_beside_the_score():
    rows = [decision(PROTOCOL), *[decision(PROTOCOL, state="excluded")] * 3]
    beside = excluded_as_failures(table(*rows), protocol=PROTOCOL)
    assert (beside["score"], beside["passed"], beside["n"]) == (25.0, 1, 4)


def test_the_score_stands_at_both_ends_of_the_timing_uncertainty():
    rows = [
        decision(PROTOCOL, borderline=True, passed_low=False, passed_high=True),
        decision(PROTOCOL, "slow_turn", borderline=True, passed_low=False, passed_high=True),
        decision(PROTOCOL, fragile_limits=["slow_turn.latency_ms", "ipu_gap_ms"]),
        decision(PROTOCOL, "wrong_info", fragile_limits=["slow_turn.latency_ms"]),
        decision(PROTOCOL, **OPEN, borderline=True, fragile_limits=["ipu_gap_ms"]),
    ]
    mine = uncertainty(*rows)
    assert mine == {
        "ms": dict(PROTOCOL.timing_uncertainty_ms),
        "borderline_n": 2,
        "score_low": 25.0,
        "score_high": 75.0,
        "passed_low": 1,
        "passed_high": 3,
        "fragile": {"ipu_gap_ms": 1, "slow_turn.latency_ms": 2},
    }


@pytest.mark.parametrize("rows", [[], [{"state": "excluded"}]], ids=["no call", "none complete"])
def test_nothing_complete_has_no_score_at_either_end(rows):
    mine = uncertainty(*(decision(PROTOCOL, **row) for row in rows))
    assert (mine["score_low"], mine["score_high"], mine["fragile"]) == (None, None, {})
