from __future__ import annotations

import numpy as np
import pytest
from decision_cases import decision, summary
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core.evidence.tables import make_table
from inquesto_core.protocol import load_protocol
from inquesto_core.score.diagnostics import timing_diagnostics
from inquesto_core.score.tallies import nearest_rank

PROTOCOL = load_protocol("inquesto-0.1")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=50), st.integers(1, 100))
def test_nearest_rank_is_numpys_inverted_cdf(values, percentile):
    array = np.array(values, dtype=np.int64)
    expected = sorted(values)[-(-percentile * len(values) // 100) - 1]
    assert nearest_rank(array, [percentile]) == [expected]
    distinct, counts = np.unique(array, return_counts=True)
    assert nearest_rank(distinct[::-1], [percentile], counts=counts[::-1]) == [expected]
    if percentile in (25, 50, 75, 100):  # exact as floats
        assert np.percentile(array, percentile, method="inverted_cdf") == expected


def test_no_value_has_no_percentile():
    assert nearest_rank(np.array([], dtype=np.int64), (50, 99)) == [None, None]


def diagnostics(rows, **tables):
    evidence = {name: make_table(name, list(tables[name])) for name in tables}
    told = summary(PROTOCOL, rows, **evidence)
    return timing_diagnostics(told.cells, told.tallies, told.lengths, protocol=PROTOCOL)


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


def test_waits_that_a_runtime_told_stand_beside_measured_ones_and_are_counted():
    rows = [decision(PROTOCOL), decision(PROTOCOL, call_id="told")]
    mine = diagnostics(
        rows,
        replies=[
            {
                "call_id": "0001",
                "utterance": 0,
                "status": "replied",
                "latency_ms": 700,
                "tool_in_wait": True,
            }
        ],
        reported_latencies=[
            {"call_id": "told", "position": 0, "latency_ms": 400},
            {"call_id": "out", "position": 0, "latency_ms": 9000},
        ],
    )
    assert mine["latency_ms"] == {"n": 2, "p50": 400, "p90": 700, "p95": 700, "p99": 700}
    assert mine["latency_reported_n"] == 1
    by_tool = mine["latency_by_tool"]
    assert (by_tool["with_tool"]["n"], by_tool["unknown_n"]) == (1, 1)


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
    def over(turn, kind, *, short=False, simultaneous=False, counted=True, value_ms=500):
        return {
            "call_id": "0001",
            "turn": turn,
            "kind": kind,
            "value_ms": value_ms,
            "short": short,
            "simultaneous": simultaneous,
            "counted": counted,
        }

    talk_overs = [
        over(0, "over_speech", short=True),
        over(1, "cut_in"),
        over(2, "cut_in", short=True),
        over(3, "over_speech", simultaneous=True, counted=False),
        over(4, "over_speech", short=True, counted=False, value_ms=499),
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
    mine = diagnostics([])
    assert mine["calls"] == 0
    assert mine["latency_ms"]["p50"] is None


def numbered(name, rows):
    return [{"call_id": "0001", name: number, **row} for number, row in enumerate(rows)]


def test_latencies_are_told_apart_by_a_tool_call_in_the_wait():
    replies = numbered(
        "utterance",
        [
            {"status": "replied", "latency_ms": 400, "tool_in_wait": False},
            {"status": "replied", "latency_ms": 2000, "tool_in_wait": True},
            {"status": "replied", "latency_ms": 600, "tool_in_wait": None},
            {"status": "no_reply", "waited_ms": 9000, "tool_in_wait": True},
        ],
    )
    found = diagnostics([decision(PROTOCOL)], replies=replies)["latency_by_tool"]
    assert found["with_tool"] == {"n": 1, "p50": 2000, "p90": 2000, "p95": 2000, "p99": 2000}
    assert found["without_tool"] == {"n": 1, "p50": 400, "p90": 400, "p95": 400, "p99": 400}
    assert found["unknown_n"] == 1


def test_barge_ins_make_four_cells_and_only_attempts_have_a_yield_time():
    cells = {
        ("attempt", "yielded"): 3,
        ("attempt", "kept"): 2,
        ("backchannel", "yielded"): 1,
        ("backchannel", "kept"): 4,
        ("attempt", None): 1,
    }
    rows = [
        {"kind": kind, "outcome": outcome, "yield_ms": 500 if outcome == "yielded" else None}
        for (kind, outcome), count in cells.items()
        for _ in range(count)
    ]
    assert diagnostics([decision(PROTOCOL)], barge_ins=numbered("utterance", rows))["barge_in"] == {
        "n": 11,
        "attempt": {"yielded": 3, "kept": 2},
        "backchannel": {"yielded": 1, "kept": 4},
        "untold": 1,
        "yield_ms": {"n": 3, "p50": 500, "p90": 500, "p95": 500, "p99": 500},
    }


def test_silences_are_told_apart_by_how_they_end_and_a_running_tool_is_no_silence():
    rows = [
        {"outcome": "agent_spoke", "value_ms": 5000, "tool_inside": None},
        {"outcome": "agent_spoke", "value_ms": 9000, "tool_inside": True},
        {"outcome": "caller_spoke", "value_ms": 4000, "tool_inside": False},
        {"outcome": "agent_hung_up", "value_ms": 7000, "tool_inside": False},
        {"outcome": "call_ended", "value_ms": 8000, "tool_inside": False},
    ]
    calls = [{"call_id": "0001", "ended_by": "caller", "timing_reasons": []}]
    found = diagnostics([decision(PROTOCOL)], silences=numbered("at_ms", rows), calls=calls)
    assert found["silence"] == {
        "above_ms": 3000,
        "reprompt_ms": {"n": 1, "p50": 5000, "p90": 5000, "p95": 5000, "p99": 5000},
        "caller_spoke_ms": {"n": 1, "p50": 4000, "p90": 4000, "p95": 4000, "p99": 4000},
        "ended_by": {"agent": 1, "caller": 1, "system": 0, "unknown": 0},
        "with_tool": 1,
    }


def test_an_end_of_which_nobody_is_named_is_unknown():
    rows = numbered("at_ms", [{"outcome": "call_ended", "value_ms": 8000}])
    found = diagnostics([decision(PROTOCOL)], silences=rows)["silence"]
    assert found["ended_by"]["unknown"] == 1


def test_results_of_tools_are_counted_by_what_came_first():
    outcomes = ("spoke", "spoke", "agent_speaking", "caller_first", "later_result", "no_sound")
    rows = [
        {"outcome": name, "first_sound_ms": 100 * at if name == "spoke" else None}
        for at, name in enumerate(outcomes)
    ]
    found = diagnostics([decision(PROTOCOL)], tool_results=numbered("position", rows))
    assert found["after_tool_result"] == {
        "first_sound_ms": {"n": 2, "p50": 0, "p90": 100, "p95": 100, "p99": 100},
        "agent_speaking": 1,
        "caller_first": 1,
        "later_result": 1,
        "no_sound": 1,
    }


def test_the_talk_of_all_calls_is_summed_and_shared():
    rows = [
        decision(PROTOCOL, caller_voiced_ms=1000, agent_voiced_ms=3000, overlap_ms=20),
        decision(PROTOCOL, caller_voiced_ms=2000, agent_voiced_ms=0, overlap_ms=0),
        decision(PROTOCOL),
    ]
    assert diagnostics(rows)["talk"] == {
        "caller_ms": 3000,
        "agent_ms": 3000,
        "overlap_ms": 20,
        "agent_share": 0.5,
    }
    assert diagnostics([])["talk"]["agent_share"] is None


@pytest.mark.parametrize(("reasons", "n"), [([], 1), (["mono_recording"], 0)])
def test_a_call_whose_timing_is_not_evaluated_has_no_latency(reasons, n):
    row = {"utterance": 0, "call_id": "0001", "status": "replied", "latency_ms": 700}
    calls = [{"call_id": "0001", "timing_reasons": reasons}]
    call = decision(PROTOCOL, state="agent_fault")
    assert diagnostics([call], replies=[row], calls=calls)["latency_ms"]["n"] == n


def test_without_a_second_transcript_nothing_is_said_of_differences():
    assert diagnostics([decision(PROTOCOL)])["transcripts"] is None


def test_differences_of_both_transcripts_are_summed_over_complete_calls():
    rows = [decision(PROTOCOL), decision(PROTOCOL, call_id="out", state="excluded")]
    counts = {
        "normaliser": "inquesto-words-1",
        "n_words": 10,
        "n_own_words": 9,
        "substitutions": 2,
        "deletions": 1,
        "insertions": 0,
        "negations": 1,
        "numbers": 0,
    }
    errors = [
        {"call_id": call_id, "speaker": speaker, **counts}
        for call_id in ("0001", "out")
        for speaker in ("caller", "agent")
    ]
    found = diagnostics(rows, word_errors=errors)["transcripts"]
    assert (found["normaliser"], found["calls"]) == ("inquesto-words-1", 1)
    del counts["normaliser"], counts["n_own_words"]
    assert found["caller"] == found["agent"] == counts
