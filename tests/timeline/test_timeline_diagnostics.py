"""The diagnostics against the slow loop, and by hand on both sides of each limit."""

from __future__ import annotations

import polars as pl
import pytest
import timeline_loop
from diagnostics_loop import measure_diagnostics
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from notation import make_segments
from strategies import edges_of, timelines, tool_traces

from inquesto_core.evidence import TABLES, make_table
from inquesto_core.protocol import load_protocol
from inquesto_core.timeline import (
    call_axis,
    diagnostic_tables,
    measure_talk,
    measure_timeline,
    protocol_limits,
    timeline_tables,
)

PROTOCOL = load_protocol("inquesto-0.1")


def measured(cases):
    """Return, a call, what is measured of ``(caller, agent, window, end_call_times, tools)``."""
    calls, segments, trace = [], [], []
    for number, (caller, agent, window, ends, tools) in enumerate(cases):
        name = {"call_id": f"{number:05d}"}
        times = {"window_from_ms": window[0], "window_to_ms": window[1]}
        calls.append({**name, **times, "has_trace": tools is not None})
        segments += [
            {**name, "channel": channel, "start_ms": start, "end_ms": end}
            for channel, spans in (("caller", caller), ("agent", agent))
            for start, end in spans
        ]
        rows = [("look_up", start, end) for start, end in tools or ()]
        rows += [("end_call", at, at + 10) for at in ends]
        trace += [
            {**name, "position": k, "name": tool, "start_ms": start, "end_ms": end}
            for k, (tool, start, end) in enumerate(rows)
        ]
    limits = protocol_limits(PROTOCOL, len(cases))
    axis = call_axis(
        make_table("calls", calls),
        make_table("segments", segments),
        make_table("tool_calls", trace),
        end_tools=("end_call",),
        reach_ms=limits.reach_ms(),
    )
    line = measure_timeline(axis, limits)
    tables = {**diagnostic_tables(line, limits), "replies": timeline_tables(line)["replies"]}
    talk = measure_talk(line.floor)
    columns = {
        "barge_ins": ("utterance", "turn", "agent_end_ms", "kind", "outcome", "yield_ms"),
        "silences": ("turn", "at_ms", "end_ms", "outcome", "tool_inside"),
        "tool_results": ("position", "at_ms", "outcome", "first_sound_ms"),
        "replies": ("tool_in_wait",),
    }
    out = []
    for number, call_id in enumerate(axis.call_ids):
        ours = {
            name: tables[name].filter(pl.col("call_id") == call_id).select(wanted).rows()
            for name, wanted in columns.items()
        }
        ours["talk"] = tuple(
            int(values[number]) for values in (talk.caller_ms, talk.agent_ms, talk.overlap_ms)
        )
        out.append(ours)
    return out


def loop_tells(case):
    caller, agent, window, ends, tools = case
    limits = timeline_loop.Limits()
    line = timeline_loop.measure(caller, agent, window, limits, list(ends))
    found = measure_diagnostics(line, window, limits, ends, tools)
    return {
        "barge_ins": found.barge_ins,
        "silences": found.silences,
        "tool_results": found.tool_results,
        "replies": [(ran,) for ran in found.tool_in_wait],
        "talk": found.talk,
    }


@st.composite
def traced_timelines(draw):
    caller, agent, window, ends = draw(timelines())
    tools = draw(tool_traces(edges_of(sorted(caller + agent))))
    return caller, agent, window, ends, tools


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(traced_timelines(), min_size=1, max_size=25))
def test_many_calls_at_once_are_what_the_loop_measures_of_each(cases):
    assert measured(cases) == [loop_tells(case) for case in cases]


def one(notation, *, window=(0, 30_000), ends=(), tools=()):
    """Measure one call by engine and loop, which must agree."""
    sides = make_segments(notation)
    case = (sides["caller"], sides["agent"], window, list(ends), tools)
    (found,) = measured([case])
    assert found == loop_tells(case)
    return found


@pytest.mark.parametrize("empty", [[], [([], [], (0, 0), [], None)], [([], [], (0, 5000), [], [])]])
def test_no_call_and_silent_calls_have_nothing_to_show(empty):
    for found in measured(empty):
        assert found.pop("talk") == (0, 0, 0)
        assert set(map(tuple, found.values())) == {()}


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        pytest.param(
            "A 1000-3500 | C 3000-6000", ("attempt", "yielded", 500), id="stops_after_500_ms"
        ),
        pytest.param(
            "A 1000-6999 | C 3000-6000", ("attempt", "yielded", 3999), id="stops_999_ms_after"
        ),
        pytest.param("A 1000-7000 | C 3000-6000", ("attempt", "kept", None), id="on_for_1000_ms"),
        pytest.param("A 1000-5000 | C 3000-4000", ("backchannel", "kept", None), id="1000_ms_said"),
        pytest.param("A 1000-5001 | C 3000-4001", ("attempt", "kept", None), id="1001_ms_said"),
        pytest.param(
            "A 1000-3300 | C 3000-3400", ("backchannel", "yielded", 300), id="stops_for_mm_hm"
        ),
        pytest.param(
            "A 1000-2000 2400-3500 | C 2200-6000",
            ("attempt", "yielded", 1300),
            id="begun_in_a_pause_of_the_agent",
        ),
    ],
)
def test_a_barge_in_is_yielded_to_or_not(notation, expected):
    ((utterance, turn, _, *told),) = one(notation)["barge_ins"]
    assert (utterance, turn, tuple(told)) == (0, 0, expected)


@pytest.mark.parametrize(
    ("notation", "count"),
    [
        pytest.param("A 1000-3000 | C 3000-5000", 0, id="after_the_agent"),
        pytest.param("A 1000-3001 | C 3000-5000", 1, id="over_its_last_ms"),
        pytest.param("A 3000-6000 | C 3000-6000", 0, id="with_the_agents_onset"),
        pytest.param("A 2801-3500 | C 3000-6000", 0, id="simultaneous_by_199_ms"),
        pytest.param("A 2800-3500 | C 3000-6000", 1, id="200_ms_after_its_onset"),
        pytest.param("A 2801-3999 | C 3000-6000", 0, id="simultaneous_for_999_ms"),
        pytest.param("A 2801-4000 | C 3000-6000", 1, id="not_given_up_for_1000_ms"),
        pytest.param("A 1000-9000 | C 3000-3400 5000-5400", 2, id="two_into_one_group"),
    ],
)
def test_a_barge_in_begins_while_the_agent_is_speaking(notation, count):
    assert len(one(notation)["barge_ins"]) == count


@pytest.mark.parametrize(
    ("closes", "outcome"), [(4999, None), (5000, "kept"), (3500, None)], ids=str
)
def test_a_window_that_closes_first_leaves_a_barge_in_untold(closes, outcome):
    ((*_, told, _),) = one("A 1000-9000 | C 3000-4000", window=(0, closes))["barge_ins"]
    assert told == outcome


@pytest.mark.parametrize(
    ("tool", "ran"),
    [
        pytest.param((1000, 2000), False, id="over_as_the_caller_stops"),
        pytest.param((1000, 2001), True, id="on_for_1_ms_of_the_wait"),
        pytest.param((3999, 6000), True, id="begun_in_its_last_ms"),
        pytest.param((4000, 6000), False, id="begun_with_the_reply"),
        pytest.param((3000, 3000), True, id="in_no_time_at_all"),
        pytest.param((3000, None), True, id="without_an_end"),
        pytest.param((1000, None), False, id="without_an_end_and_begun_before"),
        pytest.param((None, 3000), None, id="without_a_start"),
    ],
)
def test_a_tool_call_in_the_wait_is_one_that_runs_in_it(tool, ran):
    assert one("C 500-2000 | A 4000-5000", tools=[tool])["replies"] == [(ran,)]


@pytest.mark.parametrize(("tools", "ran"), [(None, None), ([], False)], ids=["no trace", "none"])
def test_without_a_trace_no_tool_call_is_ruled_out(tools, ran):
    assert one("C 500-2000 | A 4000-5000", tools=tools)["replies"] == [(ran,)]


def test_one_timed_tool_call_is_seen_beside_an_untimed_one():
    tools = [(None, None), (2500, 2600)]
    assert one("C 500-2000 | A 4000-5000", tools=tools)["replies"] == [(True,)]


@pytest.mark.parametrize(
    ("end", "told"),
    [
        pytest.param(3000, ("spoke", 1000), id="a_second_before"),
        pytest.param(4000, ("spoke", 0), id="at_the_onset"),
        pytest.param(4001, ("agent_speaking", None), id="after_the_onset"),
        pytest.param(1500, ("caller_first", None), id="while_the_caller_speaks"),
        pytest.param(2000, ("spoke", 2000), id="as_the_caller_stops"),
        pytest.param(6000, ("caller_first", None), id="before_the_caller_goes_on"),
        pytest.param(8500, ("no_sound", None), id="nothing_after_it"),
    ],
)
def test_the_first_sound_after_a_result_is_the_next_agent_onset(end, told):
    found = one("C 500-2000 7000-8000 | A 4000-5000", tools=[(100, end)])
    assert found["tool_results"] == [(0, end, *told)]


@pytest.mark.parametrize(
    ("onset", "told"),
    [(2999, ("spoke", 1999)), (3000, ("caller_first", None))],
    ids=["over_the_caller", "after_the_caller"],
)
def test_a_sound_over_the_caller_is_one_and_one_that_waited_for_the_caller_is_not(onset, told):
    found = one(f"C 500-3000 | A {onset}-5000", tools=[(100, 1000)])
    assert found["tool_results"] == [(0, 1000, *told)]


@pytest.mark.parametrize(("second", "told"), [(4000, "later_result"), (4001, "spoke")])
def test_of_several_results_before_a_sound_the_last_one_counts(second, told):
    found = one("C 500-2000 | A 4000-5000", tools=[(2000, 3000), (3100, second)])
    assert found["tool_results"][0][2] == told


def test_of_two_results_at_once_the_later_in_the_trace_counts():
    found = one("C 500-2000 | A 4000-5000", tools=[(2000, 3000), (2000, 3000)])
    assert [row[2:] for row in found["tool_results"]] == [("later_result", None), ("spoke", 1000)]


@pytest.mark.parametrize(
    ("notation", "ends", "closes", "told"),
    [
        pytest.param("A 0-2000 5000-6000", (), 8999, None, id="asked_again_after_3000_ms"),
        pytest.param("A 0-2000 5001-6000", (), 8999, "agent_spoke", id="after_3001_ms"),
        pytest.param("A 0-2000 | C 5000-6000", (), 8999, None, id="answered_after_3000_ms"),
        pytest.param("A 0-2000 | C 5001-6000", (), 8999, "caller_spoke", id="answered_3001_ms"),
        pytest.param("A 0-2000", (5000,), 8999, None, id="hung_up_after_3000_ms"),
        pytest.param("A 0-2000", (5001,), 8999, "agent_hung_up", id="hung_up_after_3001_ms"),
        pytest.param("A 0-2000", (), 4999, None, id="ended_after_2999_ms"),
        pytest.param("A 0-2000", (), 5000, "call_ended", id="ended_after_3000_ms"),
        pytest.param("A 0-2000", (2000,), 8999, None, id="already_hung_up"),
        pytest.param("A 0-2000 | C 1000-2001", (), 8999, None, id="the_caller_is_speaking"),
        pytest.param("A 0-2000 | C 3000-3199", (), 8999, "call_ended", id="a_cough_is_silence"),
        pytest.param("A 0-2000", (9000,), 8999, "call_ended", id="hung_up_after_the_window"),
    ],
)
def test_a_long_silence_after_the_agent_ends_in_one_of_four_ways(notation, ends, closes, told):
    found = one(notation, ends=ends, window=(0, closes))["silences"]
    assert [row[3] for row in found] == ([] if told is None else [told])


@pytest.mark.parametrize(("tool", "inside"), [((3000, 3500), True), ((1000, 2000), False)])
def test_a_silence_knows_of_a_tool_call_that_ran_in_it(tool, inside):
    ((*_, ran),) = one("A 0-2000 6000-7000", tools=[tool], window=(0, 8000))["silences"]
    assert ran is inside


def test_a_tool_that_ends_the_call_is_no_tool_call_of_a_wait():
    found = one("C 500-2000 | A 2500-4000", ends=(2100,))
    assert found["tool_results"] == []


def test_sound_of_both_sides_is_shared_to_the_millisecond():
    assert one("C 0-1000 2000-4000 | A 900-2100 3500-5000")["talk"] == (3000, 2700, 700)


def test_the_tables_are_as_declared():
    limits = protocol_limits(PROTOCOL, 0)
    tables = (make_table(name, []) for name in ("calls", "segments", "tool_calls"))
    axis = call_axis(*tables, end_tools=(), reach_ms=3000)
    for name, table in diagnostic_tables(measure_timeline(axis, limits), limits).items():
        assert dict(table.schema) == TABLES[name]
