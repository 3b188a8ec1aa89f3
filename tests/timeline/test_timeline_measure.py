"""The vectorised timeline against the slow, obvious loop, and on the built calls' truth."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
import timeline_loop
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import timelines

from inquesto_core.events.timing import AUDIO_EVENTS, moved_outcomes, timing_flags, twice_median
from inquesto_core.evidence import make_table
from inquesto_core.protocol import load_protocol
from inquesto_core.timeline import (
    call_axis,
    measure_timeline,
    protocol_limits,
    timeline_tables,
)

PROTOCOL = load_protocol("inquesto-0.1")
DRAFT = load_protocol("inquesto-0.2-draft")
UNCERTAINTY_MS = 50


def measured(cases, law=PROTOCOL):
    """Measure any number of (caller, agent, window, end_call_times) at once."""
    calls, segments, tools = [], [], []
    for number, (caller, agent, window, ends) in enumerate(cases):
        call_id = f"{number:05d}"
        calls.append({"call_id": call_id, "window_from_ms": window[0], "window_to_ms": window[1]})
        for channel, spans in (("caller", caller), ("agent", agent)):
            segments += [
                {"call_id": call_id, "channel": channel, "start_ms": start, "end_ms": end}
                for start, end in spans
            ]
        tools += [
            {"call_id": call_id, "position": k, "name": "end_call", "start_ms": at}
            for k, at in enumerate(ends)
        ]
    limits = protocol_limits(law, len(cases))
    axis = call_axis(
        make_table("calls", calls),
        make_table("segments", segments),
        make_table("tool_calls", tools),
        end_tools=("end_call",),
        reach_ms=limits.reach_ms() + 4 * UNCERTAINTY_MS,
    )
    return axis, limits, measure_timeline(axis, limits)


def as_loop_tells(axis, limits, line):
    """Return, a call, what the loop also gives."""
    tables = timeline_tables(line)
    flags = timing_flags(line, limits, protocol=PROTOCOL)
    doubled, known = twice_median(line)
    out = []
    for number, call_id in enumerate(axis.call_ids):
        mine = {name: table.filter(pl.col("call_id") == call_id) for name, table in tables.items()}
        overs = mine["talk_overs"]
        out.append(
            {
                "utterances": mine["utterances"].select("start_ms", "end_ms").rows(),
                "turns": mine["turns"].select("start_ms", "end_ms").rows(),
                "replies": mine["replies"].select("status", "latency_ms").rows(),
                "overs": overs.select(
                    "at_ms", "value_ms", "kind", "short", "simultaneous", "counted"
                ).rows(),
                "twice_median": int(doubled[number]) if known[number] else None,
                "events": {name for name in AUDIO_EVENTS if getattr(flags, name)[number]},
            }
        )
    return out


def loop_tells(case):
    caller, agent, window, ends = case
    line = timeline_loop.measure(caller, agent, window, timeline_loop.Limits(), list(ends))
    return {
        "utterances": [(u.start, u.end) for u in line.utterances],
        "turns": [(t.start, t.end) for t in line.turns],
        "replies": [(r.status, r.latency_ms) for r in line.replies],
        "overs": [
            (o.at_ms, o.value_ms, o.kind, o.short, o.simultaneous, o.counted)
            for o in line.talk_overs
        ],
        "twice_median": line.twice_median_latency_ms,
        "events": {name for name, count in line.events.items() if count},
    }


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(timelines(), min_size=1, max_size=25))
def test_many_calls_at_once_are_what_the_loop_makes_of_each(cases):
    axis, limits, line = measured(cases)
    assert as_loop_tells(axis, limits, line) == [loop_tells(case) for case in cases]


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(timelines(), min_size=1, max_size=6))
def test_fragile_limits_are_those_of_the_loop(cases):
    _, limits, line = measured(cases)
    by = np.full(len(cases), UNCERTAINTY_MS, dtype=np.int64)
    flags = timing_flags(line, limits, protocol=PROTOCOL)
    moves = moved_outcomes(limits, line, flags, by, protocol=PROTOCOL)
    for number, (caller, agent, window, ends) in enumerate(cases):
        found = {name for name, touched in moves.fragile.items() if touched[number]}
        assert found == timeline_loop.fragile_limits(
            caller, agent, window, timeline_loop.Limits(), UNCERTAINTY_MS, list(ends)
        )


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    cases=st.lists(timelines(), min_size=1, max_size=8),
    law=st.sampled_from([PROTOCOL, DRAFT]),
    by=st.integers(0, 200),
)
def test_no_call_out_of_reach_of_a_limit_is_changed_by_its_move(cases, law, by):
    axis, limits, line = measured(cases, law)
    uncertainty = np.full(len(cases), by, dtype=np.int64)
    base = timing_flags(line, limits, protocol=law)
    moves = moved_outcomes(limits, line, base, uncertainty, protocol=law)
    found = []
    for name in (*limits.structure, *limits.values):
        for sign in (-1, 1):
            other = limits.moved(name, sign * uncertainty)
            moved_line = measure_timeline(axis, other)
            flags = timing_flags(moved_line, other, protocol=law)
            found.append(flags.frame(line).filter(pl.Series(base.differ(flags))))
    assert moves.flags.sort(pl.all()).equals(pl.concat(found).sort(pl.all()))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(timelines(), st.integers(0, 100_000))
def test_shifting_a_call_in_time_changes_no_event(case, shift):
    caller, agent, window, ends = case
    moved = (
        [(a + shift, b + shift) for a, b in caller],
        [(a + shift, b + shift) for a, b in agent],
        (window[0] + shift, window[1] + shift),
        [at + shift for at in ends],
    )
    (here,), (there,) = (as_loop_tells(*measured([one])) for one in (case, moved))
    assert here["events"] == there["events"]
    assert here["replies"] == there["replies"]


def test_the_built_calls_exact_segments_give_their_expected_timeline(shared):
    truths = [
        json.loads(path.read_bytes()) for path in sorted(shared.glob("audio/dev/*/truth.json"))
    ]
    cases = []
    for truth in truths:
        sides = {"caller": [], "agent": []}
        for utterance in truth["utterances"]:
            sides[utterance["channel"]] += [
                (round(start * 1000), round(end * 1000)) for start, end in utterance["segments_s"]
            ]
        window = (0, round(truth["duration_s"] * 1000))
        cases.append((sorted(sides["caller"]), sorted(sides["agent"]), window, ()))
    told = as_loop_tells(*measured(cases))
    assert len(told) == 102
    for truth, mine in zip(truths, told, strict=True):
        expected = truth["expected"]
        assert [list(span) for span in mine["utterances"]] == expected["utterances_ms"]
        assert [list(span) for span in mine["turns"]] == expected["agent_turns_ms"]
        assert mine["replies"] == [
            (reply["status"], reply.get("latency_ms")) for reply in expected["replies"]
        ]
        assert mine["events"] == {event["type"] for event in expected["events"]}
        assert mine["twice_median"] == expected["twice_median_latency_ms"]


@pytest.mark.parametrize("empty", [[], [([], [], (0, 0), ())], [([], [], (0, 5000), ())]])
def test_no_call_and_silent_calls_have_no_event(empty):
    for mine in as_loop_tells(*measured(empty)):
        assert mine["events"] == set()
        assert mine["replies"] == []
