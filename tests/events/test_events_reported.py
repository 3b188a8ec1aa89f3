from __future__ import annotations

import polars as pl
import pytest

from inquesto_core.events.reported import (
    reported_events,
    reported_flags,
    reported_statistics,
    reported_timing,
)
from inquesto_core.evidence.tables import make_table
from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")


def told(*calls, protocol=PROTOCOL):
    """Return reported timing of calls, each given as its turns and its latencies."""
    turns, waits, rows = [], [], []
    for at, (said, latencies) in enumerate(calls):
        call_id = f"c{at}"
        rows.append({"call_id": call_id, "timing_source": "reported", "timing_reasons": []})
        for position, (side, start_ms, end_ms, *silent) in enumerate(said):
            turns.append(
                {
                    "call_id": call_id,
                    "position": position,
                    "speaker": "caller" if side == "C" else "agent",
                    "start_ms": start_ms,
                    "end_ms": end_ms,
                    "silent": bool(silent),
                }
            )
        waits += [
            {"call_id": call_id, "position": position, "latency_ms": latency_ms}
            for position, latency_ms in enumerate(latencies)
        ]
    tables = {
        "calls": make_table("calls", rows),
        "reported_turns": make_table("reported_turns", turns),
        "reported_latencies": make_table("reported_latencies", waits),
    }
    return reported_timing(tables, protocol=protocol)


def events_of(*calls):
    table = reported_flags(told(*calls), protocol=PROTOCOL).sort("call_id")
    return [
        {name.removeprefix("event_") for name, there in row.items() if there is True}
        for row in table.drop("call_id").iter_rows(named=True)
    ]


ANSWERED = [("C", 0, 1000), ("A", 1500, 2000)]


def cut_in(overlap_ms):
    return [("C", 0, 2000), ("A", 2000 - overlap_ms, 3000)]


@pytest.mark.parametrize(
    ("turns", "latencies", "events"),
    [
        (ANSWERED, [3000], {"slow_median"}),
        (ANSWERED, [3001], {"slow_median", "slow_turn"}),
        (ANSWERED, [1500], set()),
        (ANSWERED, [1501], {"slow_median"}),
        (ANSWERED * 2, [1500, 1501], {"slow_median"}),
        (ANSWERED, [], set()),
        (ANSWERED, [100, 3001], {"slow_turn", "slow_median"}),
        (cut_in(499), [1], set()),
        (cut_in(500), [1], {"talk_over"}),
        (cut_in(500) * 2, [1, 1], {"repeated_talk_over"}),
        (cut_in(500) * 2 + ANSWERED * 4, [1] * 6, {"repeated_talk_over"}),
        (cut_in(500) * 2 + ANSWERED * 5, [1] * 7, {"talk_over"}),
        ([*ANSWERED, ("C", 3000, 4000)], [1], {"slow_turn"}),
        ([("A", 0, 10), ("C", 20, 30)], [1], {"slow_turn"}),
        ([("A", 0, 10)], [1], set()),
        ([("C", 0, 1000), ("A", 1500, 2000, "silent")], [1], {"slow_turn"}),
        ([], [], {"slow_turn"}),
    ],
    ids=[
        "a latency of 3000 ms",
        "a latency of 3001 ms",
        "a median of 1500 ms",
        "a median of 1501 ms",
        "a median of 1500.5 ms",
        "no latency",
        "a slow one too many",
        "an overlap of 499 ms",
        "an overlap of 500 ms",
        "two overlaps of two turns",
        "two overlaps of six turns",
        "two overlaps of seven turns",
        "the last caller turn unanswered",
        "no agent turn after the caller",
        "the agent alone",
        "a silent turn",
        "no turn",
    ],
)
def test_each_limit_of_reported_timing(turns, latencies, events):
    assert events_of((turns, latencies)) == [events]


def test_calls_do_not_see_each_others_turns():
    late = ([("A", 0, 10), ("C", 20, 9000)], [1])
    early = ([("A", 100, 200), ("C", 300, 400), ("A", 500, 600)], [1, 2])
    assert events_of(late, early) == [{"slow_turn"}, set()]
    assert events_of(early, late) == [set(), {"slow_turn"}]


def test_every_slow_reply_is_an_occurrence_at_its_turn_where_that_is_known():
    known = ([("C", 0, 10), ("A", 20, 30), ("C", 40, 50), ("A", 60, 70)], [3500, 4000])
    unknown = ([("C", 0, 10), ("A", 20, 30)], [4000, 1])
    found = told(known, unknown)
    flags = reported_flags(found, protocol=PROTOCOL)
    slow = reported_events(found, flags, protocol=PROTOCOL).filter(pl.col("type") == "slow_turn")
    slow = slow.sort("call_id", "at_ms")
    assert slow.select("call_id", "at_ms", "value", "margin_ms", "counted").rows() == [
        ("c0", 20, 3500, 500, False),
        ("c0", 60, 4000, 1000, True),
        ("c1", None, 4000, 1000, True),
    ]


def test_a_short_turn_inside_the_callers_counts_where_the_protocol_counts_it():
    draft = load_protocol("inquesto-0.2-draft")
    short, long = (([("C", 0, 3000), ("A", 1000, 1000 + ms)], [1]) for ms in (1000, 1001))
    for protocol, counted in ((PROTOCOL, [1, 1]), (draft, [0, 1])):
        found = told(short, long, protocol=protocol)
        rows = reported_statistics(found).sort("call_id")
        assert rows["n_talk_over"].to_list() == counted
        assert rows["n_talk_over_short"].to_list() == [1, 0]


def test_statistics_count_what_was_reported():
    found = told(([*ANSWERED, ("C", 3000, 4000)], [100, 200]))
    row = reported_statistics(found).to_dicts()[0]
    assert row == {
        "call_id": "c0",
        "n_agent_turns": 1,
        "n_utterances": 2,
        "n_talk_over": 0,
        "n_talk_over_short": 0,
        "n_no_reply": 1,
        "longest_unanswered_ms": 500,
        "n_replied": 2,
        "median_latency_ms": 150.0,
        "p95_latency_ms": 200,
    }
