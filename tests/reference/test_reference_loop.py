"""The slow loop itself: the cases, the built recordings' known answers, and what never changes."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notation import make_segments
from strategies import TimelineInput, timelines
from timeline_cases import (
    MOVED_LIMIT_CASES,
    TIMELINE_CASES,
    LandingCase,
    ReplyCase,
    TimelineCase,
)
from timeline_loop import (
    STRUCTURAL_LIMITS,
    Limits,
    Span,
    Timeline,
    clip_and_unite,
    fragile_limits,
    measure,
    outcome,
)

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = Limits()

#: What the recordings' answers call the structural limits.
TRUTH_NAMES = {
    "agent_pause_join_ms": "AGENT_JOIN",
    "caller_pause_join_ms": "CALLER_JOIN",
    "simultaneous_overlap_ms": "SIMUL_OVERLAP",
}


def edges(spans: tuple[Span, ...]) -> tuple[tuple[int, int], ...]:
    """Return the bare intervals of spans."""
    return tuple((span.start, span.end) for span in spans)


def case_answers(timeline: Timeline) -> dict[str, Any]:
    """Return a timeline in the words of a case."""
    return {
        "caller_ipus": timeline.caller_ipus,
        "agent_ipus": timeline.agent_ipus,
        "groups": edges(timeline.groups),
        "utterances": edges(timeline.utterances),
        "turns": edges(timeline.turns),
        "dropped_groups": timeline.dropped_groups,
        "dropped_utterances": timeline.dropped_utterances,
        "landings": tuple(
            LandingCase(
                at_ms=each.at_ms,
                value_ms=each.value_ms,
                kind=each.kind,
                short=each.short,
                simultaneous=each.simultaneous,
                counted=each.counted,
            )
            for each in timeline.talk_overs
        ),
        "replies": tuple(
            ReplyCase(
                status=reply.status,
                ms=reply.waited_ms if reply.latency_ms is None else reply.latency_ms,
            )
            for reply in timeline.replies
        ),
        "twice_median_latency_ms": timeline.twice_median_latency_ms,
        "events": timeline.events,
    }


@pytest.mark.parametrize("case", TIMELINE_CASES + MOVED_LIMIT_CASES, ids=lambda case: case.id)
def test_the_loop_gives_the_hand_computed_answer(case: TimelineCase) -> None:
    segments = make_segments(case.notation)
    moved: dict[str, Any] = dict(case.moved_limits)
    timeline = measure(
        segments["caller"],
        segments["agent"],
        case.window,
        replace(LIMITS, **moved),
        case.end_call_times,
    )
    answers = case_answers(timeline)
    asked = {name: getattr(case, name) for name in answers if getattr(case, name) is not None}
    assert {name: answers[name] for name in asked} == asked
    if case.has_no_median:
        assert timeline.twice_median_latency_ms is None


def test_every_case_has_its_own_sentence_and_asks_something() -> None:
    cases = TIMELINE_CASES + MOVED_LIMIT_CASES
    ids = [case.id for case in cases]
    assert len(set(ids)) == len(ids) >= 50
    unasked = {"id", "notation", "window", "end_call_times", "moved_limits", "has_no_median"}
    for case in cases:
        asked = [f.name for f in fields(case) if f.name not in unasked]
        assert any(getattr(case, name) is not None for name in asked), case.id


def test_the_limits_are_those_of_the_protocol_file(project: Path) -> None:
    protocol = json.loads(
        (project / "protocols/inquesto-0.1/protocol.json").read_text(encoding="utf-8")
    )
    events = protocol["events"]
    stated = {name: value for name, value in protocol["timeline"].items() if name != "reply_anchor"}
    stated |= {
        "talk_over_ms": events["talk_over"]["overlap_ms"],
        "slow_turn_ms": events["slow_turn"]["latency_ms"],
        "slow_median_ms": events["slow_median"]["median_ms"],
        "repeated_min_count": events["repeated_talk_over"]["min_count"],
        "repeated_share": (
            events["repeated_talk_over"]["share_numerator"],
            events["repeated_talk_over"]["share_denominator"],
        ),
        "wholly_inside_slack_ms": 0,
    }
    assert {f.name: getattr(LIMITS, f.name) for f in fields(LIMITS)} == stated


# The built recordings.


def truth_segments(truth: dict[str, Any], channel: str) -> list[tuple[int, int]]:
    """Return one channel's exact segments, each edge rounded to the nearest millisecond."""
    return sorted(
        (round(start * 1000), round(end * 1000))
        for utterance in truth["utterances"]
        if utterance["channel"] == channel
        for start, end in utterance["segments_s"]
    )


def truth_answers(truth: dict[str, Any]) -> dict[str, Any]:
    """Return what the loop makes of the exact segments, in the words of truth.json."""
    caller, agent = truth_segments(truth, "caller"), truth_segments(truth, "agent")
    window = (0, round(truth["duration_s"] * 1000))
    timeline = measure(caller, agent, window, LIMITS)
    return {
        "utterances_ms": [list(edge) for edge in edges(timeline.utterances)],
        "agent_turns_ms": [list(edge) for edge in edges(timeline.turns)],
        "talk_overs": [
            {
                "agent_start_ms": each.at_ms,
                "caller_end_ms": each.caller_end_ms,
                "value_ms": each.value_ms,
                "margin_ms": each.margin_ms,
                "kind": each.kind,
                "short": each.short,
            }
            for each in timeline.counted_talk_overs
        ],
        "replies": [
            {"caller_start_ms": reply.start, "caller_end_ms": reply.end, "status": reply.status}
            | ({} if reply.latency_ms is None else {"latency_ms": reply.latency_ms})
            | ({} if reply.waited_ms is None else {"waited_ms": reply.waited_ms})
            for reply in timeline.replies
        ],
        "twice_median_latency_ms": timeline.twice_median_latency_ms,
        "events": truth_events(timeline),
        "fragile_limits": sorted(
            TRUTH_NAMES.get(name, name)
            for name in fragile_limits(caller, agent, window, LIMITS, 50)
        ),
    }


def truth_events(timeline: Timeline) -> list[dict[str, Any]]:
    """Return the events as truth.json writes them."""
    listed: list[dict[str, Any]] = []
    for name in sorted(timeline.events):
        if name == "slow_median":
            listed.append({"type": name, "twice_median_ms": timeline.twice_median_latency_ms})
        elif name == "slow_turn":
            listed.append({"type": name, "count": timeline.events[name]})
        else:
            count, turns = timeline.events[name], len(timeline.turns)
            listed.append({"type": name, "count": count, "agent_turns": turns})
    return listed


@pytest.fixture(scope="module")
def truths(shared: Path) -> list[dict[str, Any]]:
    """Return every built call's truth.json."""
    found = sorted((shared / "audio/dev").glob("*/truth.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in found]


@pytest.fixture(scope="module")
def answers(truths: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what the loop makes of every built call."""
    return {truth["call_id"]: truth_answers(truth) for truth in truths}


def test_all_102_built_calls_are_here(truths: list[dict[str, Any]]) -> None:
    assert len(truths) == 102


@pytest.mark.parametrize(
    "quantity",
    [
        "utterances_ms",
        "agent_turns_ms",
        "talk_overs",
        "replies",
        "twice_median_latency_ms",
        "events",
        "fragile_limits",
    ],
)
def test_the_loop_agrees_with_every_built_call(
    truths: list[dict[str, Any]], answers: dict[str, dict[str, Any]], quantity: str
) -> None:
    expected = {truth["call_id"]: truth["expected"][quantity] for truth in truths}
    assert {call_id: found[quantity] for call_id, found in answers.items()} == expected


# Item 8: each structural limit, on both sides of the uncertainty of 50 ms.


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        pytest.param(
            "A 1000-2000 2550-3500 | C 2100-2400", {"agent_pause_join_ms"}, id="agent pause of 550"
        ),
        pytest.param("A 1000-2000 2551-3500 | C 2100-2400", set(), id="agent pause of 551"),
        pytest.param(
            "A 1000-2000 2451-3500 | C 2100-2400", {"agent_pause_join_ms"}, id="agent pause of 451"
        ),
        pytest.param("A 1000-2000 2450-3500 | C 2100-2400", set(), id="agent pause of 450"),
        pytest.param("C 1000-2000 3050-4000", {"caller_pause_join_ms"}, id="caller pause of 1050"),
        pytest.param("C 1000-2000 3051-4000", set(), id="caller pause of 1051"),
        pytest.param("C 1000-2000 2951-4000", {"caller_pause_join_ms"}, id="caller pause of 951"),
        pytest.param("C 1000-2000 2950-4000", set(), id="caller pause of 950"),
        pytest.param("C 1000-1150", {"min_voiced_ms"}, id="150 ms of sound"),
        pytest.param("C 1000-1149", set(), id="149 ms of sound"),
        pytest.param("C 1000-1249", {"min_voiced_ms"}, id="249 ms of sound"),
        pytest.param("C 1000-1250", set(), id="250 ms of sound"),
        pytest.param(
            "C 1000-1080 1229-1300", {"ipu_gap_ms", "min_voiced_ms"}, id="a gap of 149 in a word"
        ),
        pytest.param("C 1000-1080 1230-1300", {"min_voiced_ms"}, id="a gap of 150 in a word"),
        pytest.param(
            "C 1000-3000 | A 1249-1900", {"simultaneous_start_ms"}, id="onsets 249 ms apart"
        ),
        pytest.param("C 1000-3000 | A 1250-1900", set(), id="onsets 250 ms apart"),
        pytest.param("C 1000-3000 | A 1000-2049", {"simultaneous_overlap_ms"}, id="1049 ms shared"),
        pytest.param("C 1000-3000 | A 1000-2050", set(), id="1050 ms shared"),
        pytest.param(
            "A 500-2300 4500-5500 | C 1000-2050", {"backchannel_max_ms"}, id="utterance of 1050"
        ),
        pytest.param("A 500-2300 4500-5500 | C 1000-2051", set(), id="utterance of 1051"),
        pytest.param("A 500-3950 5000-6000 | C 1000-3000", {"overrun_ms"}, id="950 ms past e"),
        pytest.param("A 500-3949 5000-6000 | C 1000-3000", set(), id="949 ms past e"),
        pytest.param(
            "C 1000-2000 2800-4000 | A 2300-2850",
            {"wholly_inside_slack_ms"},
            id="a group 50 ms beyond the pause",
        ),
        pytest.param("C 1000-2000 2800-4000 | A 2300-2851", set(), id="51 ms beyond the pause"),
        pytest.param(
            "C 1000-2000 2800-4000 | A 2300-2751",
            {"wholly_inside_slack_ms"},
            id="a group 49 ms within the pause",
        ),
        pytest.param("C 1000-2000 2800-4000 | A 2300-2750", set(), id="50 ms within the pause"),
    ],
)
def test_a_limit_is_fragile_where_moving_it_by_50_ms_changes_the_outcome(
    notation: str, expected: set[str]
) -> None:
    segments = make_segments(notation)
    found = fragile_limits(segments["caller"], segments["agent"], (0, 9000), LIMITS, 50)
    assert found == expected


# What holds of any call.


def measured(call: TimelineInput) -> Timeline:
    """Measure a drawn call under the protocol's limits."""
    caller, agent, window, end_call_times = call
    return measure(caller, agent, window, LIMITS, end_call_times)


@given(call=timelines())
@settings(max_examples=200, deadline=None)
def test_spans_lie_in_the_window_in_order_and_apart(call: TimelineInput) -> None:
    timeline = measured(call)
    for spans in (timeline.groups, timeline.turns, timeline.utterances):
        for span in spans:
            assert call[2][0] <= span.start < span.end <= call[2][1]
            assert LIMITS.min_voiced_ms <= span.voiced <= span.end - span.start
        for earlier, later in pairwise(spans):
            assert earlier.end < later.start


@given(call=timelines())
@settings(max_examples=200, deadline=None)
def test_each_utterance_has_one_reply_and_each_status_its_own_number(call: TimelineInput) -> None:
    timeline = measured(call)
    assert edges(timeline.utterances) == tuple((r.start, r.end) for r in timeline.replies)
    for reply in timeline.replies:
        assert (reply.latency_ms is not None) == (reply.status == "replied")
        assert (reply.waited_ms is not None) == (reply.status in {"no_reply", "censored"})
        if reply.waited_ms is not None:
            assert reply.clock_ms is not None
        if reply.clock_ms is None:
            assert reply.latency_ms in {None, 0}
        else:
            assert reply.clock_ms >= reply.end
        assert (reply.latency_ms or 0) >= 0
        if reply.status == "no_reply":
            assert reply.waited_ms is not None
            assert reply.waited_ms >= LIMITS.slow_turn_ms


@given(call=timelines(), by=st.integers(1, 10_000))
@settings(max_examples=200, deadline=None)
def test_shifting_a_call_in_time_changes_no_event(call: TimelineInput, by: int) -> None:
    caller, agent, window, end_call_times = call
    shifted = measure(
        [(start + by, end + by) for start, end in caller],
        [(start + by, end + by) for start, end in agent],
        (window[0] + by, window[1] + by),
        LIMITS,
        [time + by for time in end_call_times],
    )
    timeline = measured(call)
    assert outcome(shifted) == outcome(timeline)
    assert shifted.events == timeline.events
    assert shifted.twice_median_latency_ms == timeline.twice_median_latency_ms


@given(call=timelines())
@settings(max_examples=200, deadline=None)
def test_what_lies_beyond_the_window_or_is_cut_into_touching_pieces_changes_nothing(
    call: TimelineInput,
) -> None:
    caller, agent, window, end_call_times = call
    pieces = []
    for start, end in clip_and_unite(agent, window):
        middle = (start + end) // 2
        pieces += [(start, middle), (middle, end)]
    beyond = (window[1], window[1] + 5000)
    assert measure(
        [*caller, beyond], [*pieces, beyond], window, LIMITS, end_call_times
    ) == measured(call)


@given(call=timelines())
@settings(max_examples=100, deadline=None)
def test_no_limit_is_fragile_without_uncertainty(call: TimelineInput) -> None:
    caller, agent, window, end_call_times = call
    assert fragile_limits(caller, agent, window, LIMITS, 0, end_call_times) == set()


@given(call=timelines())
@settings(max_examples=200, deadline=None)
def test_talk_over_is_one_event_and_repeated_replaces_it(call: TimelineInput) -> None:
    timeline = measured(call)
    counted = len(timeline.counted_talk_overs)
    assert len(timeline.talk_overs) <= len(timeline.turns)
    named = {"talk_over", "repeated_talk_over"} & set(timeline.events)
    assert len(named) == min(counted, 1)
    assert all(timeline.events[name] == counted for name in named)


def test_the_structural_limits_are_fields_of_the_limits() -> None:
    assert set(STRUCTURAL_LIMITS) <= {f.name for f in fields(LIMITS)}
    assert replace(LIMITS, wholly_inside_slack_ms=-50).wholly_inside_slack_ms == -50


# The notation.


def test_the_notation_sorts_each_side_and_takes_parts_in_any_order() -> None:
    assert make_segments("A 5-9 1-2 | C 0-4 | A 3-4") == {
        "caller": [(0, 4)],
        "agent": [(1, 2), (3, 4), (5, 9)],
    }


@pytest.mark.parametrize(
    ("notation", "message"),
    [
        pytest.param("X 0-100", "expected C or A", id="an unknown side"),
        pytest.param("C 100", "is no range", id="a range without an end"),
        pytest.param("C 200-100", "ends before it starts", id="a range that runs backwards"),
    ],
)
def test_the_notation_refuses(notation: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_segments(notation)
