"""What closes the scored window, what a recording cannot show, and what became of a tool call."""

from __future__ import annotations

import json

import pytest
from exported import base_audio, only, read, refusal, run_import, turns, write_json
from platform_exports import (
    CASES,
    elevenlabs_conversation,
    livekit_report,
    pipecat_context,
    realtime_events,
    retell_call,
    twilio_recording,
    vapi_call,
)

# What closes the scored window


def test_an_end_of_call_tool_closes_the_window(tmp_path):
    call = vapi_call()
    end = copy_of_tool(call, "endCall", 10_400)
    call["artifact"]["messages"] += end
    bundle = only(tmp_path, "vapi", call, "v-1-stereo.wav")
    assert bundle.call.scored_window_ms == (0, 10_400)
    (window,) = [each for each in bundle.call.inferred if each.field == "/scored_window_ms"]
    assert window.how == "it closes with the tool call endCall"


def test_a_forwarded_call_closes_with_the_transfer_and_without_its_time_has_no_timing(tmp_path):
    call = vapi_call(endedReason="assistant-forwarded-call")
    bundle = only(tmp_path, "vapi", call, "v-1-stereo.wav")
    assert bundle.call.timing_reasons == ("transfer_time_unknown",)
    call["artifact"]["messages"] += copy_of_tool(call, "transferCall", 7000)
    bundle = only(tmp_path / "timed", "vapi", call, "v-1-stereo.wav")
    assert bundle.call.timing_reasons == ()
    assert bundle.call.scored_window_ms == (0, 7000)


def test_what_a_transfer_target_says_is_not_the_agents(tmp_path):
    call = retell_call(disconnection_reason="call_transfer")
    call["transcript_with_tool_calls"].append(
        {
            "role": "transfer_target",
            "content": "Sales here.",
            "words": [{"word": "Sales", "start": 10.5, "end": 10.8}],
        }
    )
    bundle = only(tmp_path, "retell", call, "multi.wav", caller_channel=0)
    assert bundle.call.scored_window_ms == (0, 10_500)
    assert len(bundle.transcript.turns) == 4
    call["transcript_with_tool_calls"][-1]["words"] = []
    bundle = only(tmp_path / "untimed", "retell", call, "multi.wav", caller_channel=0)
    assert bundle.call.timing_reasons == ("transfer_time_unknown",)


def copy_of_tool(call, name, at_ms):
    """Return a Vapi tool call and its result at a time."""
    request, result = (json.loads(json.dumps(row)) for row in call["artifact"]["messages"][4:6])
    request["toolCalls"][0] |= {"id": name, "function": {"name": name, "arguments": "{}"}}
    result |= {"toolCallId": name, "name": name, "result": "Success."}
    for row in (request, result):
        row["secondsFromStart"] = at_ms / 1000
    return [request, result]


# What a recording cannot show


def test_a_scrubbed_recording_has_no_timing(tmp_path):
    call = retell_call(scrubbed_recording_multi_channel_url="https://calls.invalid/s/scrubbed.wav")
    bundle = only(tmp_path, "retell", call, "scrubbed.wav", caller_channel=0)
    assert bundle.call.timing_reasons == ("audio_redacted",)


@pytest.mark.parametrize(("caller", "reasons"), [(0, ()), (1, ("caller_not_alone",))])
def test_a_conference_has_timing_where_the_caller_is_alone(tmp_path, caller, reasons):
    call = twilio_recording(conference_sid="CF1")
    bundle = only(tmp_path, "twilio", call, "RE1.wav", agent="x", caller_channel=caller)
    assert bundle.call.timing_reasons == reasons


def test_elevenlabs_keeps_what_was_heard_beside_what_was_planned(tmp_path):
    call = elevenlabs_conversation()
    call["transcript"][1] |= {
        "interrupted": True,
        "message": "Let me",
        "original_message": "Let me look.",
    }
    bundle = only(tmp_path, "elevenlabs", call, "export.wav", caller_channel=0)
    turn = bundle.transcript.turns[1]
    assert (turn.text, turn.heard_text) == ("Let me look.", "Let me")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"is_error": True}, "error"),
        ({"is_error": None}, "unknown"),
        ({"is_error": False}, "ok"),
    ],
    ids=["failed", "unsaid", "done"],
)
def test_a_result_says_whether_it_failed_or_nobody_knows(tmp_path, change, status):
    call = elevenlabs_conversation()
    call["transcript"][4]["tool_results"][0] |= change
    bundle = only(tmp_path, "elevenlabs", call, "export.wav", caller_channel=0)
    assert bundle.trace.calls[0].status == status


@pytest.mark.parametrize(("was_called", "status"), [(True, "missing"), (False, "cancelled")])
def test_a_tool_without_a_result_was_not_performed(tmp_path, was_called, status):
    call = elevenlabs_conversation()
    call["transcript"][3]["tool_calls"][0]["tool_has_been_called"] = was_called
    del call["transcript"][4]
    bundle = only(tmp_path, "elevenlabs", call, "export.wav", caller_channel=0)
    assert bundle.trace.calls[0].status == status


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("IN_PROGRESS", "missing"),
        ("COMPLETED", "ok"),
        ("CANCELLED", "cancelled"),
        ('{"ok": true}', "unknown"),
        (None, "unknown"),
    ],
    ids=["running", "done", "cancelled", "result", "empty"],
)
def test_a_placeholder_is_what_it_stands_for(tmp_path, content, status):
    context = pipecat_context()
    context[5]["content"] = content
    bundle = only(tmp_path, "pipecat", context, "export.wav", agent="x")
    (tool,) = bundle.trace.calls
    assert tool.status == status
    assert tool.result == ({"ok": True} if status == "unknown" and content else None)


def test_a_result_replaces_the_placeholder_before_it(tmp_path):
    context = pipecat_context()
    context.insert(5, {**context[5], "content": "IN_PROGRESS"})
    bundle = only(tmp_path, "pipecat", context, "export.wav", agent="x")
    assert [(tool.status, tool.result) for tool in bundle.trace.calls] == [
        ("unknown", {"ok": True})
    ]


def test_messages_of_another_vendors_form_are_refused_and_not_passed_over(tmp_path):
    context = pipecat_context()
    context[4] = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x"}]}
    source = write_json(tmp_path / "p.json", context)
    problem = refusal("pipecat", source, tmp_path / "out", agent="x")
    assert (problem.code, problem.pointer) == ("export_field", "/4/content/0")


@pytest.mark.parametrize(
    ("successful", "status"), [(True, "ok"), (False, "error"), (None, "unknown")]
)
def test_retell_without_a_word_on_success_is_unknown_and_not_failed(tmp_path, successful, status):
    call = retell_call()
    call["transcript_with_tool_calls"][4]["successful"] = successful
    bundle = only(tmp_path, "retell", call, "multi.wav", caller_channel=0)
    assert bundle.trace.calls[0].status == status


def test_retell_utterances_alone_are_no_trace(tmp_path):
    call = retell_call()
    rows = call.pop("transcript_with_tool_calls")
    call["transcript_object"] = [row for row in rows if row["role"] in {"user", "agent"}]
    bundle = only(tmp_path, "retell", call, "multi.wav", caller_channel=0)
    assert bundle.trace is None
    assert len(bundle.transcript.turns) == 4


@pytest.mark.parametrize(
    ("is_error", "status"), [(True, "error"), (False, "ok"), (None, "unknown")]
)
def test_livekit_says_whether_a_tool_failed(tmp_path, is_error, status):
    report = livekit_report()
    report["chat_history"]["items"][4]["is_error"] = is_error
    bundle = only(tmp_path, "livekit", report, "audio.flac", agent="x", recorder="session",
                  recordings=base_audio(tmp_path / "mine.wav"))  # fmt: skip
    assert bundle.trace.calls[0].status == status


def test_an_end_of_call_tool_that_failed_closes_nothing(tmp_path):
    call = elevenlabs_conversation()
    call["transcript"][3]["tool_calls"][0]["tool_name"] = "end_call"
    bundle = only(tmp_path, "elevenlabs", call, "export.wav", caller_channel=0)
    assert bundle.call.ended.by == "agent"
    call["transcript"][4]["tool_results"][0]["is_error"] = True
    bundle = only(tmp_path / "failed", "elevenlabs", call, "export.wav", caller_channel=0)
    assert bundle.call.ended.by == "unknown"


def test_a_reply_that_was_never_heard_has_no_heard_words(tmp_path):
    events = realtime_events()
    events.append({"type": "conversation.item.truncated", "item_id": "i3", "audio_end_ms": 0})
    bundle = only(tmp_path, "openai-realtime", events, "export.wav", agent="x", caller_channel=0)
    assert [turn.heard_text for turn in bundle.transcript.turns] == [None, None, None, ""]


def test_an_item_that_arrives_late_takes_its_place(tmp_path):
    events = realtime_events()
    late = events.pop(2)
    events.append(late)
    bundle = only(tmp_path, "openai-realtime", events, "export.wav", agent="x", caller_channel=0)
    assert [turn.text for turn in bundle.transcript.turns] == [text for _, text, *_ in turns()]


@pytest.mark.parametrize(
    ("platform", "key", "part"),
    [
        ("vapi", "artifact", "trace"),
        ("retell", "transcript_with_tool_calls", "trace"),
        ("livekit", "chat_history", "trace"),
        ("elevenlabs", "transcript", "trace"),
        ("tau2", "ticks", "trace"),
        ("bland", "transcripts", "transcript"),
        ("contact-lens", "Transcript", "transcript"),
    ],
    ids=str,
)
@pytest.mark.parametrize("absent", ["dropped", "null"])
def test_what_an_export_does_not_hold_is_unknown_and_not_empty(
    tmp_path, platform, key, part, absent
):
    call = CASES[platform].export("c-1")
    if absent == "null":
        call[key] = None
    else:
        del call[key]
    recording = base_audio(tmp_path / "mine.wav")
    said = {**CASES[platform].said, "recordings": recording, "caller_channel": 0, "agent": "x"}
    bundle = only(tmp_path, platform, call, "unused.wav", **said)
    assert getattr(bundle, part) is None
    assert bundle.transcript is None


def test_a_result_without_its_call_is_said(tmp_path):
    call = vapi_call()
    del call["artifact"]["messages"][4]
    source = write_json(tmp_path / "in" / "v.json", call)
    base_audio(tmp_path / "in" / "v-1-stereo.wav")
    done = run_import("vapi", source, tmp_path / "out")
    (problem,) = done.problems
    assert (problem.code, problem.pointer) == ("result_unmatched", "/artifact/messages/4")


@pytest.mark.parametrize(
    ("platform", "said"),
    [
        ("livekit", {"recorder": "session", "recording_started": "2026-03-01T22:22:06.900Z"}),
        ("twilio", {"recording_started": "2026-03-01T22:22:06.900Z", "caller_channel": 0}),
    ],
    ids=str,
)
def test_a_start_that_the_user_says_is_written_as_inferred(tmp_path, platform, said):
    recording = base_audio(tmp_path / "mine.wav")
    write_json(tmp_path / "in" / "CA1.trace.json", {"calls": [instant_tool()]})
    call = livekit_report() if platform == "livekit" else twilio_recording()
    bundle = only(tmp_path, platform, call, "unused.wav", recordings=recording, agent="x", **said)
    assert bundle.trace.calls[0].start_ms == 6500
    assert any("said on the command line" in each.how for each in bundle.call.inferred)


def instant_tool():
    """Return a tool call of one's own that bears an instant."""
    return {"name": "issue_refund", "started_at": "2026-03-01T22:22:13.400Z"}


def test_an_instant_of_ones_own_trace_needs_the_recordings_start(tmp_path):
    write_json(tmp_path / "in" / "CA1.trace.json", {"calls": [instant_tool()]})
    source = write_json(tmp_path / "in" / "RE1.json", twilio_recording())
    base_audio(tmp_path / "in" / "RE1.wav")
    problem = refusal("twilio", source, tmp_path / "out", agent="x", caller_channel=0)
    assert (problem.code, problem.file) == ("export_time", "CA1.trace.json")
    assert problem.expected == "--recording-started"


def test_a_transcript_of_ones_own_is_read_beside_the_recording(tmp_path):
    rows = [{"speaker": "agent", "text": "Hello.", "start_ms": 2800, "end_ms": 4000}]
    write_json(tmp_path / "in" / "RE1.transcript.json", {"turns": rows})
    bundle = only(tmp_path, "twilio", twilio_recording(), "RE1.wav", agent="x", caller_channel=0)
    assert [(turn.speaker, turn.start_ms) for turn in bundle.transcript.turns] == [("agent", 2800)]
    assert bundle.trace is None


@pytest.mark.parametrize(
    ("end", "window"), [("17.5Z", (0, 10_500)), ("07.000Z", None), ("06Z", None)]
)
def test_an_end_before_the_recording_closes_nothing_and_is_said(tmp_path, end, window):
    source = write_json(tmp_path / "in" / "v.json", vapi_call(endedAt=f"2026-03-01T22:22:{end}"))
    base_audio(tmp_path / "in" / "v-1-stereo.wav")
    done = run_import("vapi", source, tmp_path / "out")
    assert read(done.folders[0]).call.scored_window_ms == window
    assert [problem.code for problem in done.problems] == ([] if window else ["length_implausible"])
