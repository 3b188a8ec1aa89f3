"""What a stranger gets wrong in an export is named by its field, and never silently believed."""

from __future__ import annotations

import os

import numpy as np
import pytest
from exported import STARTED_MS, read, refusal, run_import, write_json
from platform_exports import (
    generic_call,
    livekit_report,
    own_trace,
    retell_call,
    twilio_recording,
    vapi_call,
)
from synth import write_sound

from inquesto_core.errors import SchemaError
from inquesto_core.importers.clock import instant_ms
from inquesto_core.importers.costs import cost_tags
from inquesto_core.importers.draft import Draft, ToldLength
from inquesto_core.importers.fields import Node
from inquesto_core.importers.marks import looks_like
from inquesto_core.importers.plausible import length_problems


def noise(path, *, seconds=11, seed=1):
    """Write two channels of quiet noise: nothing here is listened to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sound = np.random.default_rng(seed).normal(0, 0.01, (seconds * 8000, 2)).astype(np.float32)
    return write_sound(path, sound, rate_hz=8000, codec="PCM_16")


def codes(done):
    return [problem.code for problem in done.problems]


def retell(tmp_path, **change):
    source = write_json(tmp_path / "in" / "r.json", retell_call(**change))
    noise(tmp_path / "in" / "multi.wav")
    return run_import("retell", source, tmp_path / "out", caller_channel=0)


def vapi(tmp_path, call):
    source = write_json(tmp_path / "in" / "v.json", call)
    noise(tmp_path / "in" / "v-1-stereo.wav")
    return run_import("vapi", source, tmp_path / "out")


@pytest.mark.parametrize("name", ["RE1", "CA1", "my-recording"])
def test_a_trace_beside_an_export_is_no_export_of_its_own(tmp_path, name):
    folder = tmp_path / "in"
    write_json(folder / f"{name}-recording.json", twilio_recording(sid=f"{name}-recording"))
    write_json(folder / f"{name}-recording.trace.json", own_trace())
    write_json(folder / f"{name}-recording.transcript.json", {"turns": []})
    noise(folder / f"{name}-recording.wav")
    done = run_import("twilio", folder, tmp_path / "out", agent="x", caller_channel=0)
    assert (done.n_written, done.n_refused) == (1, 0)
    assert len(read(done.folders[0]).trace.calls) == 1


def test_a_pipe_in_an_exports_place_is_refused_and_not_waited_for(tmp_path):
    (tmp_path / "in").mkdir()
    os.mkfifo(tmp_path / "in" / "a.json")
    problem = refusal("retell", tmp_path / "in", tmp_path / "out", caller_channel=0)
    assert problem.code == "file_missing"
    assert problem.found == "cannot be read: it is a pipe, a socket or a device"


@pytest.mark.parametrize("length", [[], {}, [[11]], True], ids=str)
def test_a_length_that_is_no_number_is_refused_by_its_field(tmp_path, length):
    source = write_json(tmp_path / "in" / "RE1.json", twilio_recording(duration=length))
    noise(tmp_path / "in" / "RE1.wav")
    problem = refusal("twilio", source, tmp_path / "out", agent="x", caller_channel=0)
    assert problem.pointer == "/duration"


def test_instants_in_seconds_where_milliseconds_are_documented_are_refused_by_field(tmp_path):
    change = {"start_timestamp": STARTED_MS // 1000, "end_timestamp": STARTED_MS // 1000 + 11}
    done = retell(tmp_path, **change)
    (problem,) = done.problems
    assert (problem.code, problem.pointer) == ("export_time", "/start_timestamp")
    assert "1772403727, which in milliseconds is 1970-01-21" in problem.found
    assert problem.expected == "an instant from 2000 on, in milliseconds from 1970"


@pytest.mark.parametrize("at_ms", [946_684_800_000, 946_684_799_999])
def test_no_call_is_older_than_2000(at_ms):
    node = Node(at_ms, "x")
    if at_ms == 946_684_800_000:
        assert instant_ms(node, "ms") == at_ms
        return
    with pytest.raises(SchemaError, match="before there were such calls"):
        instant_ms(node, "ms")


def test_a_told_length_far_from_the_recordings_leaves_timing_not_evaluated(tmp_path):
    done = retell(tmp_path, duration_ms=11)
    assert codes(done) == ["length_implausible"]
    assert "duration_ms = 11" in done.problems[0].found
    assert "whether it counts seconds" in done.problems[0].remedy
    call = read(done.folders[0]).call
    assert (call.timing_reasons, call.scored_window_ms) == (("duration_mismatch",), None)


@pytest.mark.parametrize(
    ("length_ms", "is_far"), [(1000, True), (1001, False), (399_999, False), (400_000, True)]
)
def test_a_length_is_far_from_twenty_times_on(length_ms, is_far):
    told = ToldLength(field="x", shown="1", unit="seconds", length_ms=length_ms)
    draft = Draft(call_id="c", platform="x", lengths=(told,))
    assert bool(length_problems(draft, 20_000)) is is_far


def test_word_times_in_another_unit_are_left_out_and_the_unit_is_suggested(tmp_path):
    rows = retell_call()["transcript_with_tool_calls"]
    for row in rows:
        for word in row.get("words", ()):
            word["start"], word["end"] = word["start"] * 1000, word["end"] * 1000
    done = retell(tmp_path, transcript_with_tool_calls=rows)
    assert codes(done) == ["transcript_time_outside"]
    assert "words/start and words/end, read in seconds" in done.problems[0].found
    assert "in milliseconds they would fit" in done.problems[0].remedy
    turns = read(done.folders[0]).transcript.turns
    assert {turn.start_ms for turn in turns} == {None}
    assert {word.start_ms for turn in turns for word in turn.words} == {None}


def test_turns_that_are_all_in_the_first_moment_are_of_a_larger_unit(tmp_path):
    mapping = {
        "schema_version": "1",
        "call": {"call_id": "id", "agent": {"value": "x"}},
        "turns": {
            "rows": "/turns",
            "speaker": {"from": "role", "map": {"user": "caller", "bot": "agent"}},
            "text": "text",
            "start": {"from": "at", "unit": "ms"},
        },
    }
    source = write_json(tmp_path / "in" / "g.json", generic_call())
    noise(tmp_path / "in" / "g-1.wav")
    said = {"mapping": write_json(tmp_path / "m.json", mapping), "caller_channel": 0}
    done = run_import("generic", source, tmp_path / "out", **said)
    assert codes(done) == ["transcript_time_outside"]
    assert "at, read in milliseconds" in done.problems[0].found
    assert "in seconds they would fit" in done.problems[0].remedy


def test_a_last_turn_behind_the_end_keeps_the_times_as_evidence(tmp_path):
    call = vapi_call()
    call["artifact"]["messages"][-1].update(secondsFromStart=12.0)
    done = vapi(tmp_path, call)
    assert codes(done) == ["transcript_time_outside"]
    assert read(done.folders[0]).transcript.turns[-1].start_ms == 12_000


@pytest.mark.parametrize(
    ("field", "factor", "hint"),
    [
        ("time", 1 / 1000, "time would fit in seconds"),
        ("secondsFromStart", 1000, "secondsFromStart would fit in milliseconds"),
    ],
)
def test_two_clocks_of_vapi_name_the_field_and_leave_out_both_sides(tmp_path, field, factor, hint):
    call = vapi_call()
    for row in call["artifact"]["messages"]:
        if row["role"] in {"user", "bot"}:
            row[field] *= factor
    done = vapi(tmp_path, call)
    (problem,) = [each for each in done.problems if each.code == "times_left_out"]
    assert hint in problem.remedy
    assert problem.pointer.startswith("/artifact/messages/")
    assert {turn.start_ms for turn in read(done.folders[0]).transcript.turns} == {None}


def test_an_order_that_nothing_can_check_is_said_at_import_and_of_the_bundle(tmp_path):
    source = write_json(tmp_path / "in" / "RE1.json", twilio_recording())
    noise(tmp_path / "in" / "RE1.wav")
    done = run_import("twilio", source, tmp_path / "out", agent="x", caller_channel=0)
    assert any("not checked by anything: no transcript" in kind.how for kind in done.inferred)
    (problem,) = read(done.folders[0]).problems
    assert (problem.code, problem.level) == ("channel_order_unchecked", "warning")


def test_an_order_that_a_transcript_can_check_is_no_warning(tmp_path):
    assert read(retell(tmp_path).folders[0]).problems == ()


@pytest.mark.parametrize(
    ("platform", "change", "tags"),
    [
        ("vapi", {"cost": 0.1234}, {"cost": "0.1234", "cost_currency": "USD"}),
        (
            "retell",
            {"call_cost": {"combined_cost": 70}},
            {"cost": "0.7", "cost_currency": "USD"},
        ),
        ("retell", {}, {}),
    ],
    ids=["vapi", "retell_cents", "untold"],
)
def test_what_a_call_cost_becomes_its_tags(tmp_path, platform, change, tags):
    done = vapi(tmp_path, vapi_call(**change)) if platform == "vapi" else retell(tmp_path, **change)
    assert dict(read(done.folders[0]).call.tags) == tags


@pytest.mark.parametrize("cost", [-1, "1", True, 10**9])
def test_a_cost_that_is_none_is_refused(cost):
    with pytest.raises(SchemaError, match="what the call cost"):
        cost_tags(Node(cost, "x"))


def test_a_price_of_the_recording_is_no_cost_and_said(tmp_path):
    source = write_json(tmp_path / "in" / "RE1.json", twilio_recording(price="-0.0025"))
    noise(tmp_path / "in" / "RE1.wav")
    done = run_import("twilio", source, tmp_path / "out", agent="x", caller_channel=0)
    assert dict(read(done.folders[0]).call.tags) == {}
    assert any(kind.field == "/tags/cost" for kind in done.inferred)


def test_the_same_sound_in_two_calls_is_a_warning_with_both(tmp_path):
    for k in (1, 2, 3):
        write_json(tmp_path / "in" / f"{k}.json", vapi_call(f"v-{k}"))
        noise(tmp_path / "in" / f"v-{k}-stereo.wav", seed=min(k, 2))
    done = run_import("vapi", tmp_path / "in", tmp_path / "out")
    assert done.n_written == 3
    (problem,) = done.problems
    assert (problem.code, problem.call_id) == ("recording_repeated", "v-3")
    assert "as call v-2" in problem.found


@pytest.mark.parametrize(
    ("body", "found"),
    [(b"\n<!doctype html><p>expired", "a web page or XML"), (b'{"error": 403}', "a JSON answer")],
)
def test_a_failed_download_is_named_with_its_call(tmp_path, body, found):
    source = write_json(tmp_path / "in" / "v.json", vapi_call())
    (tmp_path / "in" / "v-1-stereo.wav").write_bytes(body)
    problem = refusal("vapi", source, tmp_path / "out")
    assert (problem.code, problem.call_id) == ("audio_unreadable", "v-1")
    assert found in problem.found


TABLE = {
    "schema_version": "1",
    "call": {
        "call_id": "id",
        "agent": "agent",
        "started_at": {"from": "began", "unit": "iso"},
    },
}


@pytest.mark.parametrize("missing", ["id", "agent", "began"])
def test_a_mapped_column_that_is_not_there_is_named_with_those_that_are(tmp_path, missing):
    columns = [name for name in ("id", "agent", "began") if name != missing]
    source = tmp_path / "calls.csv"
    source.write_text(",".join(columns) + "\n" + ",".join("1" for _ in columns) + "\n")
    said = {"mapping": write_json(tmp_path / "m.json", TABLE), "no_audio": True}
    problem = refusal("generic", source, tmp_path / "out", **said)
    assert problem.found == f'has no column "{missing}"; columns are ' + ", ".join(columns)


def test_an_empty_cell_is_no_missing_column(tmp_path):
    source = tmp_path / "calls.csv"
    source.write_text("id,agent,began\n1,A,\n2,B,2026-03-01T22:22:07Z\n")
    said = {"mapping": write_json(tmp_path / "m.json", TABLE), "no_audio": True}
    assert run_import("generic", source, tmp_path / "out", **said).n_written == 2


@pytest.mark.parametrize(("sign", "words"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_a_table_of_another_separator_names_it(tmp_path, sign, words):
    source = tmp_path / "calls.csv"
    source.write_text(sign.join(("id", "agent")) + "\n" + sign.join(("1", "A")) + "\n")
    said = {"mapping": write_json(tmp_path / "m.json", TABLE), "no_audio": True}
    assert words in refusal("generic", source, tmp_path / "out", **said).found


def test_two_rows_of_an_id_are_both_named(tmp_path):
    source = tmp_path / "calls.csv"
    source.write_text("id,agent,began\n1,A,\n1,B,\n")
    said = {"mapping": write_json(tmp_path / "m.json", TABLE), "no_audio": True}
    (problem,) = run_import("generic", source, tmp_path / "out", **said).problems
    assert "at calls.csv /1 another call of the id than at calls.csv /0" in problem.found


def test_tools_without_any_time_are_said(tmp_path):
    done = retell(tmp_path)
    assert any(kind.field == "/trace/calls/start_ms" for kind in done.inferred)


@pytest.mark.parametrize(
    ("value", "platform"),
    [
        (retell_call(), "retell"),
        ({"event": "call_ended", "call": retell_call()}, "retell"),
        ([vapi_call()], "vapi"),
        (twilio_recording(), "twilio"),
        (generic_call(), None),
        ("text", None),
    ],
    ids=["retell", "webhook", "list", "twilio", "nobody", "text"],
)
def test_an_export_is_known_by_its_platforms_marks(value, platform):
    assert looks_like(value) == platform


def test_an_export_of_another_platform_is_said_to_be_one(tmp_path):
    source = write_json(tmp_path / "in" / "r.json", retell_call())
    problem = refusal("vapi", source, tmp_path / "out")
    assert problem.remedy == "it looks like an export of retell: import retell"


def test_a_channel_that_a_file_has_not_is_named_by_its_option(tmp_path):
    source = write_json(tmp_path / "in" / "v.json", vapi_call())
    noise(tmp_path / "in" / "v-1-stereo.wav")
    problem = refusal("vapi", source, tmp_path / "out", caller_channel=5)
    assert problem.found == "has 2 channels, and --caller-channel 5 is none of them"


def test_no_folder_is_left_where_all_was_refused(tmp_path):
    source = write_json(tmp_path / "in" / "v.json", vapi_call())
    run_import("vapi", source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_session_that_closes_far_from_the_recordings_end_is_of_another_unit_or_call(tmp_path):
    report = livekit_report()
    for event in report["events"]:
        if event["type"] == "close":
            event["created_at"] = STARTED_MS / 1000 + 11_000
    source = write_json(tmp_path / "in" / "report.json", report)
    noise(tmp_path / "in" / "AJ_1.wav")
    done = run_import("livekit", source, tmp_path / "out", agent="x", recorder="session")
    assert "length_implausible" in codes(done)
    assert read(done.folders[0]).call.timing_reasons == ("duration_mismatch",)
