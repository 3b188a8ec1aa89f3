"""Field cases F01-F03, F15-F18 and F41-F48: each stated value, by way of an export."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from exported import (
    STARTED_MS,
    assert_has_refund,
    assert_is_base,
    base_audio,
    imported,
    refusal,
    run_import,
    write_json,
)
from platform_exports import (
    GENERIC_MAPPING,
    generic_call,
    livekit_report,
    own_trace,
    twilio_recording,
    vapi_call,
)
from spoken import lane, latencies, listen
from synth import Script, write_sound

from inquesto_core.bundle import BundleRef, read_bundle
from inquesto_core.errors import SchemaError
from inquesto_core.importers.clock import milliseconds, since
from inquesto_core.importers.fields import Node
from inquesto_core.importers.tool_calls import Result, paired, requested


def mapping_with(tmp_path, **change):
    """Write the mapping with parts replaced, or left out where None."""
    value = copy.deepcopy(GENERIC_MAPPING)
    for name, part in change.items():
        if part is None:
            del value[name]
        else:
            value[name] = part
    return write_json(tmp_path / "mapping.json", value)


def generic(tmp_path, call, *, mapping=None, audio=True, **how):
    """Import one generic call."""
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [call]})
    if audio:
        base_audio(tmp_path / "in" / f"{call['id']}.wav", **how)
    return imported("generic", source, tmp_path / "out", mapping=mapping or mapping_with(tmp_path))


def test_f01_a_recorder_that_orders_as_it_likes_needs_the_order_of_each_call(tmp_path):
    unmapped = mapping_with(tmp_path, audio=[{"file": "/recording"}])
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [generic_call()]})
    base_audio(tmp_path / "in" / "g-1.wav", agent_left=True)
    problem = refusal("generic", source, tmp_path / "refused", mapping=unmapped)
    assert problem.code == "channels_unstated"
    source = write_json(source, {"calls": [generic_call(caller_side="right")]})
    bundle = imported("generic", source, tmp_path / "out", mapping=mapping_with(tmp_path))
    assert (bundle.call.audio[0].caller, bundle.call.audio[0].agent) == (1, 0)
    assert_is_base(bundle)


def test_f02_direction_decides_no_channel(tmp_path):
    about = {**GENERIC_MAPPING["call"], "direction": "direction"}
    calls = [
        generic_call("g-in", direction="inbound"),
        generic_call("g-out", direction="outbound", caller_side="right"),
    ]
    source = write_json(tmp_path / "in" / "calls.json", {"calls": calls})
    base_audio(tmp_path / "in" / "g-in.wav")
    base_audio(tmp_path / "in" / "g-out.wav", agent_left=True)
    done = run_import(
        "generic", source, tmp_path / "out", mapping=mapping_with(tmp_path, call=about)
    )
    bundles = [read_bundle(BundleRef(path=path, label=path.name)) for path in done.folders]
    assert [bundle.call.direction for bundle in bundles] == ["inbound", "outbound"]
    for bundle in bundles:
        assert_is_base(bundle)


def test_f03_livekit_alone_names_no_recorder(tmp_path):
    source = write_json(tmp_path / "in" / "session_report.json", livekit_report())
    base_audio(tmp_path / "in" / "AJ_1.wav", agent_left=True)
    problem = refusal("livekit", source, tmp_path / "refused", agent="x")
    assert problem.code == "channels_unstated"
    assert "--recorder session|egress-agent" in problem.remedy
    recorded = {
        "agent": "x",
        "recorder": "egress-agent",
        "recording_started": "2026-03-01T22:22:07Z",
    }
    assert_is_base(imported("livekit", source, tmp_path / "out", **recorded))
    problem = refusal(
        "livekit", source, tmp_path / "joined", agent="x", recorder="egress-alternate"
    )
    assert problem.code == "channels_unstated"


def test_f15_of_eighty_planned_words_twelve_were_heard(tmp_path):
    words = [{"w": f"word{k}", "a": 2.8 + 0.4 * k, "b": 2.8 + 0.4 * (k + 1)} for k in range(80)]
    call = generic_call(
        turns=[
            {
                "role": "bot",
                "text": " ".join(word["w"] for word in words),
                "at": 2.8,
                "to": 7.8,
                "cut": 7.8,
                "words": words,
            }
        ]
    )
    part = {
        **GENERIC_MAPPING["turns"],
        "heard_until": {"from": "cut", "unit": "s"},
        "words": {
            "rows": "words",
            "word": "w",
            "start": {"from": "a", "unit": "s"},
            "end": {"from": "b", "unit": "s"},
        },
    }
    bundle = generic(tmp_path, call, mapping=mapping_with(tmp_path, turns=part))
    (turn,) = bundle.transcript.turns
    assert len(turn.text.split()) == 80
    assert len(turn.heard_text.split()) == 12
    assert listen(bundle)["transcript"][0]["n_words"] == 12


def test_f16_marks_that_return_at_once_are_named_and_not_believed(tmp_path):
    marks = [{"name": f"m{k}", "at_ms": at, "chunk_ms": 1000} for k, at in enumerate((1, 1, 2))]
    source = write_json(tmp_path / "in" / "RE1.json", twilio_recording())
    write_json(tmp_path / "in" / "RE1.trace.json", {**own_trace(), "marks": marks})
    base_audio(tmp_path / "in" / "RE1.wav")
    done = run_import("twilio", source, tmp_path / "out", agent="x", caller_channel=0)
    (problem,) = done.problems
    assert (problem.code, problem.level) == ("marks_not_causal", "warning")
    assert "3 of 3" in problem.found
    assert_is_base(read_bundle(BundleRef(path=done.folders[0], label="x")))


def test_f16_marks_at_the_end_of_their_sound_are_nothing_to_say(tmp_path):
    marks = [{"name": f"m{k}", "at_ms": at, "chunk_ms": 1000} for k, at in enumerate((1000, 2000))]
    source = write_json(tmp_path / "in" / "RE1.json", twilio_recording())
    write_json(tmp_path / "in" / "RE1.trace.json", {**own_trace(), "marks": marks})
    base_audio(tmp_path / "in" / "RE1.wav")
    done = run_import("twilio", source, tmp_path / "out", agent="x", caller_channel=0)
    assert done.problems == ()


def test_f17_a_declared_length_shows_five_lost_seconds(tmp_path):
    script = Script(
        caller=((1000, 3000), (20_000, 22_000)), agent=((4000, 6000), (23_000, 25_000)),
        duration_ms=30_000,
    )  # fmt: skip
    folder = tmp_path / "in"
    folder.mkdir()
    caller = lane("caller", script.caller, script.duration_ms)
    write_sound(folder / "c.wav", np.delete(caller, slice(8 * 16_000, 13 * 16_000)), codec="PCM_16")
    write_sound(folder / "a.wav", lane("agent", script.agent, 30_000), codec="PCM_16")
    length = {"from": "/seconds", "unit": "s"}
    mapping = mapping_with(
        tmp_path,
        audio=[
            {"file": "/caller", "side": "caller", "duration": length},
            {"file": "/agent", "side": "agent", "duration": length},
        ],
        turns=None,
    )
    call = generic_call(caller="c.wav", agent="a.wav", seconds=30)
    bundle = generic(tmp_path, call, mapping=mapping, audio=False)
    assert listen(bundle)["calls"][0]["timing_reasons"] == ["duration_mismatch"]


def test_f18_a_session_clock_that_began_before_the_recording(tmp_path):
    report = livekit_report(audio_start_ms=STARTED_MS + 1500)
    source = write_json(tmp_path / "in" / "session_report.json", report)
    recording = base_audio(tmp_path / "in" / "other.wav")
    bundle = imported(
        "livekit", source, tmp_path / "out", agent="x", recordings=recording, recorder="session"
    )
    assert bundle.trace.calls[0].start_ms == 4900


def test_f18_without_a_recording_start_only_the_order_of_the_trace_is_left(tmp_path):
    report = livekit_report()
    del report["audio_recording_started_at"]
    source = write_json(tmp_path / "in" / "session_report.json", report)
    base_audio(tmp_path / "in" / "audio.ogg", codec="OPUS")
    done = run_import("livekit", source, tmp_path / "out", agent="x")
    assert [problem.code for problem in done.problems] == ["times_left_out"]
    bundle = read_bundle(BundleRef(path=done.folders[0], label="x"))
    assert_has_refund(bundle, "ok", times=(None, None))
    assert {turn.start_ms for turn in bundle.transcript.turns} == {None}


def test_f18_an_action_before_the_recording_keeps_its_time(tmp_path):
    report = livekit_report(audio_start_ms=STARTED_MS + 6500)
    source = write_json(tmp_path / "in" / "session_report.json", report)
    base_audio(tmp_path / "in" / "audio.ogg", codec="OPUS")
    done = run_import("livekit", source, tmp_path / "out", agent="x")
    bundle = read_bundle(BundleRef(path=done.folders[0], label="x"))
    assert bundle.call.trace_offset_ms == -100
    assert (bundle.trace.calls[0].start_ms, bundle.trace.calls[0].end_ms) == (-100, 400)
    assert [turn.start_ms for turn in bundle.transcript.turns] == [None, None, None, 2700]


def test_f41_times_that_are_all_zero_are_not_known(tmp_path):
    rows = [{**row, "at": 0, "to": 0} for row in generic_call()["turns"]]
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [generic_call(turns=rows)]})
    base_audio(tmp_path / "in" / "g-1.wav")
    done = run_import("generic", source, tmp_path / "out", mapping=mapping_with(tmp_path))
    assert [problem.code for problem in done.problems] == ["times_left_out"]
    bundle = read_bundle(BundleRef(path=done.folders[0], label="x"))
    assert {turn.start_ms for turn in bundle.transcript.turns} == {None}
    assert [turn.speaker for turn in bundle.transcript.turns] == ["caller", "agent"] * 2
    assert_is_base(bundle)


def test_f42_neither_duration_nor_end_time_is_read(tmp_path):
    call = vapi_call()
    for row in call["artifact"]["messages"]:
        row["duration"] = 900
    source = write_json(tmp_path / "in" / "v.json", call)
    base_audio(tmp_path / "in" / "v-1-stereo.wav")
    bundle = imported("vapi", source, tmp_path / "out")
    assert_is_base(bundle)
    assert {turn.end_ms for turn in bundle.transcript.turns} == {None}


@pytest.mark.parametrize(("skew_ms", "starts"), [(250, [1000, 5000]), (251, [None, None])])
def test_f42_a_callers_clock_too_far_off_gives_no_times(tmp_path, skew_ms, starts):
    call = vapi_call()
    for row in call["artifact"]["messages"]:
        if row["role"] == "user":
            row["time"] += skew_ms - 77 - 0.0002
    source = write_json(tmp_path / "in" / "v.json", call)
    base_audio(tmp_path / "in" / "v-1-stereo.wav")
    done = run_import("vapi", source, tmp_path / "out")
    bundle = read_bundle(BundleRef(path=done.folders[0], label="x"))
    assert [t.start_ms for t in bundle.transcript.turns if t.speaker == "caller"] == starts
    assert [problem.code for problem in done.problems] == ([] if starts[0] else ["times_left_out"])


def test_f43_three_units_of_one_instant_are_one():
    instants = {
        milliseconds(Node(1772403727947, "x"), "ms"),
        milliseconds(Node("1772403727947", "x"), "ms"),
        milliseconds(Node(1772403727.947, "x"), "s"),
        milliseconds(Node("2026-03-01T22:22:07.947Z", "x"), "iso"),
        milliseconds(Node("2026-03-01T23:22:07.947+01:00", "x"), "iso"),
        milliseconds(Node(1772403727947000000, "x"), "ns"),
    }
    assert instants == {1772403727947}
    start_ms = milliseconds(Node(1772403724.6476, "x"), "s")
    assert since(Node(1772403727.94754, "x"), "s", start_ms) == 3300


def test_f43_an_instant_without_a_zone_is_refused():
    with pytest.raises(SchemaError, match=r"with its zone.*\[export_time\]"):
        milliseconds(Node("2026-03-01T22:22:07.947", "x"), "iso")


def test_f43_a_unit_is_what_the_mapping_says_and_never_what_a_number_looks_like():
    assert milliseconds(Node(900, "x"), "s") == 900_000
    assert milliseconds(Node(900, "x"), "ms") == 900
    with pytest.raises(SchemaError, match=r"a number of seconds"):
        milliseconds(Node("900 ms", "x"), "s")


@pytest.mark.parametrize(
    "written",
    [{"amount": 50}, '{"amount": 50}', '"{\\"amount\\": 50}"'],
    ids=["object", "text", "text_in_text"],
)
def test_f44_arguments_are_decoded_twice(tmp_path, written):
    call = generic_call()
    call["tools"][0]["args"] = written
    assert_has_refund(generic(tmp_path, call), "ok")


@pytest.mark.parametrize("written", [None, "", " "], ids=["null", "empty", "blank"])
def test_f44_no_arguments_are_none(tmp_path, written):
    call = generic_call()
    call["tools"][0]["args"] = written
    assert dict(generic(tmp_path, call).trace.calls[0].arguments) == {}


@pytest.mark.parametrize(
    "written",
    [json.dumps(json.dumps(json.dumps({"amount": 50}))), '{"amount": NaN}', '{"amount": 5', "[1]"],
    ids=["three_layers", "nan", "cut", "list"],
)
def test_f44_arguments_that_nobody_can_read_are_said_at_import_and_the_call_stays(
    tmp_path, written
):
    call = generic_call()
    call["tools"][0]["args"] = written
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [call]})
    base_audio(tmp_path / "in" / "g-1.wav")
    done = run_import("generic", source, tmp_path / "out", mapping=mapping_with(tmp_path))
    (problem,) = done.problems
    assert (problem.code, problem.pointer) == ("arguments_unparseable", "/calls/0/tools/0/args")
    bundle = read_bundle(BundleRef(path=done.folders[0], label="x"))
    assert bundle.trace is None
    assert [p.code for p in bundle.problems] == ["trace_unparseable"]


def test_f45_a_call_without_a_result_was_not_performed():
    row = Node({"arguments": '{"amount": 5'}, "x")
    tool, told = requested(row, call_id="a", name="refund", arguments=row.need("arguments"))
    ((call,), _) = paired([tool], [])
    assert (call.status, call.arguments, call.raw_arguments) == ("missing", None, '{"amount": 5')
    assert [problem.level for problem in told] == ["warning"]


@pytest.mark.parametrize(("second", "n_actions"), [("a", 1), ("b", 2)])
def test_f46_one_id_is_one_action_and_two_are_two(tmp_path, second, n_actions):
    call = generic_call()
    call["tools"] = [{**call["tools"][0], "id": each} for each in ("a", second)]
    bundle = generic(tmp_path, call)
    assert len(bundle.trace.calls) == n_actions
    assert [p.code for p in bundle.problems] == ["duplicate_dispatch"] * (2 - n_actions)


def test_f46_parallel_calls_are_paired_by_id_and_without_ids_by_name_and_order():
    row = Node({}, "x")
    tools = [requested(row, call_id=each, name="refund", arguments=None)[0] for each in ("a", "b")]
    results = [
        Result(row=row, id="b", value=2, status="ok"),
        Result(row=row, id="a", value=1, status="error"),
    ]
    assert [(call.result, call.status) for call in paired(tools, results)[0]] == [
        (1, "error"),
        (2, "ok"),
    ]
    nameless = [requested(row, call_id=None, name="refund", arguments=None)[0] for _ in range(3)]
    results = [Result(row=row, id=None, name="refund", value=value) for value in (1, 2)]
    assert [(call.result, call.status) for call in paired(nameless, results)[0]] == [
        (1, "unknown"),
        (2, "unknown"),
        (None, "missing"),
    ]


def test_f47_two_answers_without_the_caller_between_are_one_reply(tmp_path):
    agent = ((2800, 4000), (4600, 5500))
    sound = np.stack([lane("caller", ((1000, 2000),), 7000), lane("agent", agent, 7000)], axis=1)
    (tmp_path / "in").mkdir()
    write_sound(tmp_path / "in" / "g-1.wav", sound, codec="PCM_16")
    spoken_rows = [
        {"role": "user", "text": "Refund me.", "at": 1.0, "to": 2.0},
        {"role": "bot", "text": "One moment.", "at": 2.8, "to": 4.0},
        {"role": "bot", "text": "Done.", "at": 4.6, "to": 5.5},
    ]
    bundle = generic(tmp_path, generic_call(turns=spoken_rows), audio=False)
    rows = listen(bundle)
    assert latencies(rows) == [pytest.approx(800, abs=32)]
    assert rows["calls"][0]["timing_reasons"] == []


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"calls": [{"id": NaN}]}', "token NaN"),
        (b'{"calls": 1e999}', "the number 1e999"),
        (b'{"calls": "\xff"}', "not UTF-8"),
        (b'{"calls": 1, "calls": 2}', '"calls" twice'),
        (b'{"calls": "\\ud800"}', "surrogate"),
    ],
    ids=["nan", "infinite", "not_utf8", "key_twice", "surrogate"],
)
def test_f48_what_two_readers_could_read_differently_is_refused_with_its_place(
    tmp_path, data, found
):
    source = tmp_path / "calls.json"
    source.write_bytes(data)
    problem = refusal("generic", source, tmp_path / "out", mapping=mapping_with(tmp_path))
    assert problem.code == "json_invalid"
    assert problem.file == "calls.json"
    assert "line 1 column" in problem.pointer
    assert found in problem.found


def test_f48_a_byte_order_mark_is_allowed_and_no_output_holds_nan(tmp_path):
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [generic_call()]})
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    base_audio(tmp_path / "in" / "g-1.wav")
    bundle = imported("generic", source, tmp_path / "out", mapping=mapping_with(tmp_path))
    assert all(b"NaN" not in path.read_bytes() for path in bundle.root.glob("*.json"))
