from __future__ import annotations

import numpy as np
import pytest
from decision_cases import decision, decisions, no_evidence
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core.evidence.tables import make_table
from inquesto_core.protocol import load_protocol
from inquesto_core.score.diagnostics import nearest_rank, timing_diagnostics

PROTOCOL = load_protocol("inquesto-0.1")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=50), st.integers(1, 100))
def test_nearest_rank_is_numpys_inverted_cdf(values, percentile):
    array = np.array(values, dtype=np.int64)
    expected = sorted(values)[-(-percentile * len(values) // 100) - 1]
    assert nearest_rank(array, [percentile]) == [expected]
    if percentile in (25, 50, 75, 100):  # exact as floats
        assert np.percentile(array, percentile, method="inverted_cdf") == expected


def test_no_value_has_no_percentile():
    assert nearest_rank(np.array([], dtype=np.int64), (50, 99)) == [None, None]


def diagnostics(rows, events=(), replies=(), talk_overs=()):
    tables = (
        make_table(name, list(given_rows))
        for name, given_rows in (
            ("events", events),
            ("replies", replies),
            ("talk_overs", talk_overs),
        )
    )
    return timing_diagnostics(decisions(PROTOCOL, rows), *tables, protocol=PROTOCOL)


def test_only_replies_of_complete_calls_have_a_latency():
    rows = [decision(PROTOCOL), decision(PROTOCOL, call_id="out", state="excluded")]
    replies = [
        {"call_id": "0001", "utterance": 0, "status": "replied", "latency_ms": 700},
        {"call_id": "0001", "utterance": 1, "status": "replied", "latency_ms": 0},
        {"call_id": "0001", "utterance": 2, "status": "no_reply", "waited_ms": 9000},
        {"call_id": "out", "utterance": 0, "status": "replied", "latency_ms": 5000},
    ]
    mine = diagnostics(rows, replies=replies)
    assert mine["latency_ms"] == {"n": 2, "p50": 0, "p90": 700, "p95": 700, "p99": 700}


@pytest.mark.parametrize(
    ("longest_ms", "events", "counted"),
    [(3000, (), 0), (3001, (), 1), (3001, ("slow_turn",), 0), (None, (), 0)],
)
def test_a_long_wait_is_counted_above_3000_ms_where_no_slow_turn_stands(
    longest_ms, events, counted
):
    row = decision(
        PROTOCOL, *events, longest_unanswered_ms=longest_ms, longest_dead_air_ms=longest_ms
    )
    assert diagnostics([row])["long_without_slow_turn"] == {
        "above_ms": 3000,
        "unanswered": counted,
        "dead_air": counted,
    }


def test_talk_overs_are_told_apart_by_kind():
    def over(turn, kind, *, short=False, simultaneous=False, counted=True):
        return {
            "call_id": "0001",
            "turn": turn,
            "kind": kind,
            "short": short,
            "simultaneous": simultaneous,
            "counted": counted,
        }

    talk_overs = [
        over(0, "over_speech", short=True),
        over(1, "cut_in"),
        over(2, "cut_in", short=True),
        over(3, "over_speech", simultaneous=True, counted=False),
        over(4, "over_speech", counted=False),
    ]
    assert diagnostics([decision(PROTOCOL)], talk_overs=talk_overs)["talk_over"] == {
        "counted": 3,
        "over_speech": 1,
        "cut_in": 2,
        "short": 2,
        "simultaneous_starts": 1,
    }


def test_counts_are_summed_and_unknown_ones_add_nothing():
    rows = [
        decision(PROTOCOL, n_utterances=4, n_no_reply=1, n_dropped_sounds=2),
        decision(PROTOCOL, n_utterances=3, n_no_reply=None),
        decision(PROTOCOL, n_utterances=9, state="not_evaluated", goal=None),
    ]
    mine = diagnostics(rows)
    assert (mine["calls"], mine["utterances"], mine["no_reply"], mine["dropped_sounds"]) == (
        2,
        7,
        1,
        2,
    )


def test_every_occurrence_is_counted_most_frequent_first():
    events = [
        {"call_id": "0001", "type": name, "at_ms": at, "counted": at == 0}
        for name, times in (("slow_turn", 1), ("talk_over", 3), ("cut", 1))
        for at in range(times)
    ]
    events.append({"call_id": "elsewhere", "type": "slow_turn", "at_ms": 0})
    mine = diagnostics([decision(PROTOCOL)], events=events)["occurrences"]
    assert list(mine.items()) == [("talk_over", 3), ("cut", 1), ("slow_turn", 1)]


def test_no_call_at_all_has_zeros_and_no_percentile():
    mine = timing_diagnostics(decisions(PROTOCOL, []), *no_evidence(), protocol=PROTOCOL)
    assert mine["calls"] == 0
    assert mine["latency_ms"]["p50"] is None
