"""Which actions a tool trace holds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.bundle import (
    Agent,
    Call,
    ToolCall,
    ToolTrace,
    bundle_files,
    read_bundle,
    trace_times_outside,
)
from inquesto_core.bundle.trace import build_trace, decode_arguments
from inquesto_core.canonical import canonical_bytes
from inquesto_core.errors import SchemaError
from inquesto_core.schema import validate

ONCE = json.dumps({"amount": 50})
TWICE = json.dumps(ONCE)
THRICE = json.dumps(TWICE)


def build(*rows, offset_ms=0):
    calls = [{"name": "refund", **row} for row in rows]
    trace, problems = build_trace({"calls": calls}, offset_ms=offset_ms)
    return trace.calls, [problem.code for problem in problems]


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"amount": 50}, {"amount": 50}),
        (ONCE, {"amount": 50}),
        (TWICE, {"amount": 50}),
        (f"  {ONCE}\n", {"amount": 50}),
        ("", {}),
        ("   ", {}),
        (None, {}),
        ("null", {}),
        ('""', {}),
        ('"null"', {}),
    ],
    ids=ascii,
)
def test_arguments_are_decoded_at_most_twice(value, arguments):
    assert decode_arguments(value) == arguments


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (THRICE, "inside JSON text inside JSON text"),
        ('"\\"\\\\\\"null\\\\\\"\\""', "inside JSON text inside JSON text"),
        ("[1]", "holds list"),
        ("50", "holds int"),
        ('"true"', "holds bool"),
        ('{"amount":5', "is no JSON"),
        ('{"amount": NaN}', "NaN"),
        ('{"a":1,"a":2}', "twice"),
        ("refund 50", "is no JSON"),
    ],
    ids=ascii,
)
def test_what_holds_no_object_after_that_is_refused(value, said):
    with pytest.raises(SchemaError, match="arguments_unparseable") as caught:
        decode_arguments(value)
    assert said in caught.value.problem.found


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8")), st.integers() | st.text(st.characters(codec="utf-8"))
    ),
    st.integers(0, 2),
)
def test_any_object_survives_up_to_two_encodings(arguments, encodings):
    value = arguments
    for _ in range(encodings):
        value = canonical_bytes(value).decode()
    assert decode_arguments(value) == arguments


def test_a_third_encoding_makes_the_trace_unreadable(write_bundle):
    for arguments, readable in ((TWICE, True), (THRICE, False)):
        bundle = read_bundle(
            write_bundle(trace={"calls": [{"name": "a"}, {"name": "b", "arguments": arguments}]})
        )
        assert (bundle.trace is not None) is readable
    (problem,) = bundle.problems
    assert (problem.code, problem.pointer) == ("trace_unparseable", "/calls/1/arguments")


@pytest.mark.parametrize("status", ["ok", "unknown", None])
def test_cut_arguments_of_a_call_that_may_have_been_made_are_an_error(status):
    row = {"arguments": '{"amount":5'} | ({"status": status} if status else {})
    with pytest.raises(SchemaError, match="/calls/0/arguments"):
        build(row)


@pytest.mark.parametrize("status", ["cancelled", "missing", "error"])
def test_cut_arguments_of_a_call_that_was_not_made_are_a_warning(status):
    (call,), warnings = build({"arguments": '{"amount":5', "status": status})
    assert call.arguments is None
    assert call.raw_arguments == '{"amount":5'
    assert warnings == ["arguments_unparseable"]


@pytest.mark.parametrize(
    ("row", "raw"),
    [
        ({"arguments": {"a": 1}}, None),
        ({"arguments": TWICE}, TWICE),
        ({"arguments": {"a": 1}, "raw_arguments": '{"a": 1}'}, '{"a": 1}'),
        ({"raw_arguments": ONCE}, ONCE),
        ({"arguments": None, "raw_arguments": ""}, ""),
    ],
    ids=["object", "text", "both", "raw only", "empty"],
)
def test_the_raw_text_is_kept_where_there_is_one(row, raw):
    (call,), _ = build(row)
    assert call.raw_arguments == raw


def test_raw_arguments_alone_are_decoded():
    (call,), _ = build({"raw_arguments": ONCE})
    assert call.arguments == {"amount": 50}


def test_the_same_id_name_and_arguments_are_one_action():
    calls, warnings = build(
        {"id": "a", "arguments": ONCE}, {"id": "a", "arguments": {"amount": 50}}
    )
    assert len(calls) == 1
    assert warnings == ["duplicate_dispatch"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"id": "a"}, {"id": "b"}),
        ({"id": None}, {"id": None}),
        ({}, {}),
        ({"id": "a", "arguments": {"x": 1}}, {"id": "a", "arguments": {"x": 2}}),
        ({"id": "a"}, {"id": "a", "name": "other"}),
    ],
    ids=["two ids", "null ids", "no ids", "other arguments", "other name"],
)
def test_anything_else_is_two_actions(first, second):
    calls, warnings = build(first, second)
    assert len(calls) == 2
    assert warnings == []


def test_positions_are_those_of_the_file():
    calls, _ = build({"id": "a"}, {"id": "a"}, {"id": "b"})
    assert [call.position for call in calls] == [0, 2]


@pytest.mark.parametrize("statuses", [("unknown", "ok"), ("ok", "unknown")], ids="-".join)
def test_the_delivery_that_says_more_is_kept_at_the_first_place(statuses):
    rows = [
        {"id": "a", "status": status, "start_ms": at_ms}
        | ({"result": {"done": True}, "end_ms": 90} if status == "ok" else {})
        for at_ms, status in zip((10, 50), statuses, strict=True)
    ]
    (call,), _ = build(*rows)
    assert (call.position, call.status, call.start_ms, call.end_ms) == (0, "ok", 10, 90)
    assert call.result == {"done": True}


def test_a_trace_that_started_before_the_audio_has_a_negative_offset():
    (call,), _ = build({"start_ms": 6400, "end_ms": 6500}, offset_ms=-1500)
    assert (call.start_ms, call.end_ms) == (4900, 5000)


def test_a_time_that_is_not_known_stays_unknown_under_an_offset():
    (call,), _ = build({"start_ms": None}, offset_ms=-1500)
    assert (call.start_ms, call.end_ms) == (None, None)


def test_the_bundle_s_offset_is_applied_once(write_bundle):
    trace = {"calls": [{"name": "a", "start_ms": 2000}]}
    bundle = read_bundle(write_bundle(change={"trace_offset_ms": -1500}, trace=trace))
    assert bundle.trace.calls[0].start_ms == 500


def test_an_end_before_its_start_is_taken_as_unknown():
    (call,), warnings = build({"start_ms": 200, "end_ms": 100})
    assert (call.start_ms, call.end_ms) == (200, None)
    assert warnings == ["trace_time_reversed"]
    (call,), warnings = build({"start_ms": 200, "end_ms": 200})
    assert call.end_ms == 200
    assert warnings == []


@pytest.mark.parametrize(
    ("at_ms", "outside"), [(-1, True), (0, False), (11000, False), (11001, True), (None, False)]
)
def test_a_time_outside_the_call_is_a_warning(at_ms, outside):
    trace = ToolTrace(calls=(ToolCall(position=4, name="a", start_ms=at_ms),))
    problems = trace_times_outside(trace, 11000)
    assert len(problems) == outside
    for problem in problems:
        assert problem.level == "warning"
        assert (problem.code, problem.pointer) == ("trace_time_outside", "/calls/4/start_ms")


def test_a_status_that_is_not_stated_is_unknown():
    (call,), _ = build({})
    assert (call.status, call.result, call.id) == ("unknown", None, None)


STAGES = {
    "source": "platform",
    "endpointing_ms": [420, None],
    "model_ms": [300],
    "synthesis_ms": None,
}


def test_reported_stages_are_read_as_they_stand_and_offsets_move_none_of_them():
    trace, problems = build_trace({"calls": [], "stages": STAGES}, offset_ms=-1500)
    assert problems == []
    assert trace.stages.source == "platform"
    assert trace.stages.endpointing_ms == (420, None)
    assert trace.stages.of("model") == (300,)
    assert trace.stages.synthesis_ms == trace.stages.recognition_ms == ()
    assert build_trace({"calls": []}, offset_ms=0)[0].stages is None


def test_reported_stages_are_written_as_they_are_read():
    trace, _ = build_trace({"calls": [], "stages": STAGES}, offset_ms=0)
    call = Call(call_id="c", agent=Agent(name="a"), audio=())
    written = json.loads(bundle_files(call, trace=trace)["trace.json"])
    assert written["stages"] == {
        "source": "platform",
        "endpointing_ms": [420, None],
        "model_ms": [300],
    }
    assert build_trace(written, offset_ms=0)[0] == trace


@pytest.mark.parametrize(
    "stages",
    [
        {"model_ms": [1]},
        {"source": "x", "model_ms": [-1]},
        {"source": "x", "model_ms": [3_600_001]},
        {"source": "x", "model_ms": ["1"]},
        {"source": "x", "thinking_ms": [1]},
        {"source": "", "model_ms": [1]},
    ],
    ids=["no source", "negative", "above an hour", "text", "unknown stage", "empty source"],
)
def test_stages_that_nobody_can_mean_are_refused(stages):
    with pytest.raises(SchemaError, match="stages"):
        validate({"calls": [], "stages": stages}, "trace", file="trace.json")
