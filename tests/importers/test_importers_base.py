"""The eleven-second call scores the same from whatever platform exported it."""

from __future__ import annotations

import pytest
from exported import (
    assert_has_refund,
    assert_is_base,
    base_audio,
    base_sound,
    imported,
    inferred,
    refusal,
    run_import,
    turns,
    write_json,
    write_lines,
)
from platform_exports import (
    GENERIC_MAPPING,
    bland_call,
    contact_lens,
    deepgram_events,
    egress_info,
    elevenlabs_conversation,
    eva_audit,
    eva_events,
    eva_result,
    generic_call,
    livekit_report,
    nemo_metrics,
    nemo_segments,
    own_trace,
    pipecat_context,
    realtime_events,
    retell_call,
    tau2_simulation,
    twilio_recording,
    vapi_call,
)
from spoken import listen
from synth import write_sound

from inquesto_core.bundle import BundleRef, read_bundle


@pytest.fixture
def mapping(tmp_path):
    return write_json(tmp_path / "mapping.json", GENERIC_MAPPING)


def test_generic_reads_what_its_mapping_names(tmp_path, mapping):
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [generic_call()]})
    base_audio(tmp_path / "in" / "g-1.wav")
    bundle = imported("generic", source, tmp_path / "out", mapping=mapping)
    assert_is_base(bundle)
    assert_has_refund(bundle, "ok")
    assert bundle.call.ended.by == "caller"
    assert inferred(bundle)["/audio/0/channels/caller"] == (0, "the mapping")


def test_vapi_says_the_customer_is_first_and_counts_from_the_start(tmp_path):
    source = write_json(tmp_path / "in" / "v.json", vapi_call())
    base_audio(tmp_path / "in" / "v-1-stereo.wav")
    bundle = imported("vapi", source, tmp_path / "out")
    assert_is_base(bundle)
    assert_has_refund(bundle, "unknown")
    assert [(turn.speaker, turn.start_ms) for turn in bundle.transcript.turns] == [
        ("caller", 1000),
        ("agent", 2800),
        ("caller", 5000),
        ("agent", 9200),
    ]
    assert bundle.call.scored_window_ms == (0, 11_000)
    assert "third parties" in inferred(bundle)["/audio/0/channels/caller"][1]


def vapi_with_both_sides(call_id="v-1"):
    call = vapi_call(call_id)
    call["artifact"]["recording"]["mono"] |= {
        "customerUrl": f"https://storage.invalid/{call_id}-customer.wav",
        "assistantUrl": f"https://storage.invalid/{call_id}-assistant.wav",
    }
    return call


def each_side(folder, names, *, mono=True):
    """Write each side's own file, and the mix of both."""
    sound = base_sound()
    for channel, name in enumerate(names):
        write_sound(folder / name, sound[:, channel : channel + 1], codec="PCM_16")
    if mono:
        base_audio(folder / "v-1-mono.wav", mono=True)


@pytest.mark.parametrize(
    "names",
    [
        ("v-1-customer.wav", "v-1-assistant.wav"),
        ("v-1-caller.wav", "v-1-agent.wav"),
    ],
    ids=["as the export names them", "named like the call"],
)
def test_vapi_without_the_stereo_file_is_scored_from_each_sides_own(tmp_path, names):
    source = write_json(tmp_path / "in" / "v.json", vapi_with_both_sides())
    each_side(tmp_path / "in", names, mono=names[0] == "v-1-customer.wav")
    bundle = imported("vapi", source, tmp_path / "out")
    assert_is_base(bundle)
    assert bundle.call.exclusion is None
    assert [(each.caller, each.agent) for each in bundle.call.audio] == [(0, None), (None, 0)]
    assert inferred(bundle)["/audio/0/channels/caller"] == (0, "the caller's own file")
    for at in (0, 1):
        value, how = inferred(bundle)[f"/audio/{at}/start_ms"]
        assert (value, "as the other side's file is" in how) == (0, True)


def test_vapi_takes_the_stereo_file_before_each_sides_own(tmp_path):
    source = write_json(tmp_path / "in" / "v.json", vapi_with_both_sides())
    each_side(tmp_path / "in", ("v-1-customer.wav", "v-1-assistant.wav"))
    base_audio(tmp_path / "in" / "v-1-stereo.wav")
    bundle = imported("vapi", source, tmp_path / "out")
    assert len(bundle.call.audio) == 1
    assert_is_base(bundle)


def test_vapi_with_one_sides_file_alone_has_only_the_mix(tmp_path):
    source = write_json(tmp_path / "in" / "v.json", vapi_with_both_sides())
    each_side(tmp_path / "in", ("v-1-customer.wav",))
    bundle = imported("vapi", source, tmp_path / "out")
    assert bundle.call.exclusion.reason == "mono_recording"


def test_vapi_names_the_stereo_file_that_it_lacks(tmp_path):
    source = write_json(tmp_path / "in" / "v.json", vapi_with_both_sides())
    problem = refusal("vapi", source, tmp_path / "out")
    assert (problem.code, "v-1-stereo.wav" in problem.found) == ("recording_missing", True)


def test_retell_scores_once_the_callers_channel_is_said(tmp_path):
    source = write_json(tmp_path / "in" / "r.json", retell_call())
    base_audio(tmp_path / "in" / "multi.wav", agent_left=True)
    bundle = imported("retell", source, tmp_path / "out", caller_channel=1)
    assert_is_base(bundle)
    assert_has_refund(bundle, "ok", times=(None, None))


def test_retell_without_a_said_channel_is_refused_with_the_option(tmp_path):
    source = write_json(tmp_path / "in" / "r.json", retell_call())
    base_audio(tmp_path / "in" / "multi.wav")
    problem = refusal("retell", source, tmp_path / "out")
    assert problem.code == "channels_unstated"
    assert "--caller-channel 0" in problem.remedy


def test_livekit_session_recorder_has_the_user_left(tmp_path):
    source = write_json(tmp_path / "in" / "session_report.json", livekit_report())
    base_audio(tmp_path / "in" / "audio.ogg", codec="OPUS")
    bundle = imported("livekit", source, tmp_path / "out", agent="Billing agent")
    assert_is_base(bundle, slack=20)  # the codec smears the ends of words by as much
    assert_has_refund(bundle, "ok")
    assert bundle.call.ended.by == "caller"
    assert [turn.start_ms for turn in bundle.transcript.turns] == [1000, 2800, 5000, 9200]


def test_livekit_egress_has_the_agent_left(tmp_path):
    source = write_json(tmp_path / "in" / "session_report.json", livekit_report())
    base_audio(tmp_path / "in" / "room.wav", agent_left=True)
    write_json(tmp_path / "in" / "egress_info.json", egress_info("room.wav"))
    bundle = imported(
        "livekit", source, tmp_path / "out", agent="Billing agent", recorder="egress-agent"
    )
    assert_is_base(bundle)
    assert_has_refund(bundle, "ok")
    assert bundle.call.audio[0].duration_ms == 11_000


def test_pipecat_audio_buffer_has_the_user_left(tmp_path):
    source = write_json(tmp_path / "in" / "p-1.json", pipecat_context())
    base_audio(tmp_path / "in" / "p-1.wav")
    bundle = imported("pipecat", source, tmp_path / "out", agent="Billing agent")
    assert_is_base(bundle)
    assert_has_refund(bundle, "unknown", times=(None, None))
    assert inferred(bundle)["/call_id"] == ("p-1", "the name of the export's file")


def test_pipecat_tracks_are_two_files_of_one_start(tmp_path):
    source = write_json(tmp_path / "in" / "p-1.json", pipecat_context())
    sound = base_sound()
    write_sound(tmp_path / "in" / "p-1_user.wav", sound[:, 0], codec="PCM_16")
    write_sound(tmp_path / "in" / "p-1_bot.wav", sound[:, 1], codec="PCM_16")
    bundle = imported("pipecat", source, tmp_path / "out", agent="x", recorder="tracks")
    assert_is_base(bundle)


def test_twilio_reads_the_recording_beside_a_trace_of_ones_own(tmp_path):
    source = write_json(tmp_path / "in" / "RE1.json", twilio_recording())
    write_json(tmp_path / "in" / "CA1.trace.json", own_trace())
    base_audio(tmp_path / "in" / "RE1.wav")
    bundle = imported("twilio", source, tmp_path / "out", agent="x", caller_channel=0)
    assert_is_base(bundle)
    assert_has_refund(bundle, "ok")


def test_elevenlabs_mixes_both_sides_and_is_not_scored(tmp_path):
    source = write_json(tmp_path / "in" / "conv_1.json", elevenlabs_conversation())
    base_audio(tmp_path / "in" / "conv_1.wav", mono=True)
    done = run_import("elevenlabs", source, tmp_path / "out")
    assert {problem.code for problem in done.problems} == {"mono_input", "times_left_out"}
    bundle = read_bundle(BundleRef(path=done.folders[0], label="x"))
    rows = listen(bundle)
    assert rows["calls"][0]["exclusion_reason"] == "mono_recording"
    assert bundle.call.exclusion.reason == "mono_recording"
    assert_has_refund(bundle, "ok", times=(None, None))


def test_elevenlabs_scores_with_a_recording_of_ones_own_on_two_channels(tmp_path):
    source = write_json(
        tmp_path / "in" / "conv_1.json",
        {
            "type": "post_call_transcription",
            "event_timestamp": 1,
            "data": elevenlabs_conversation(),
        },
    )
    mine = base_audio(tmp_path / "mine.wav")
    bundle = imported("elevenlabs", source, tmp_path / "out", recordings=mine, caller_channel=0)
    assert_is_base(bundle)
    assert_has_refund(bundle, "ok", times=(None, None))
    assert {turn.start_ms for turn in bundle.transcript.turns} == {None}


def eva_record(folder, *, late_ms=0, **change):
    """Write a record's folder and return its result."""
    sound = base_sound()
    source = write_json(folder / "result.json", eva_result(**change))
    for channel, name in enumerate(("user", "assistant")):
        write_sound(folder / f"audio_{name}.wav", sound[:, channel], codec="PCM_16")
    write_json(folder / "audit_log.json", eva_audit())
    write_lines(folder / "user_simulator_events.jsonl", eva_events(late_ms=late_ms))
    write_json(folder / "initial_scenario_db.json", {"plan": 1, "session": {"a": 1}})
    write_json(folder / "final_scenario_db.json", {"plan": 2, "session": {"a": 2}})
    return source


def test_eva_is_measured_from_its_sound_however_late_an_event_is(tmp_path):
    source = eva_record(tmp_path / "records" / "1.1.2", late_ms=25_600)
    bundle = imported("eva", source, tmp_path / "out", agent="x")
    assert_is_base(bundle)
    (tool,) = bundle.trace.calls
    assert (tool.name, tool.status, tool.start_ms) == ("issue_refund", "ok", None)
    assert [turn.speaker for turn in bundle.transcript.turns] == ["caller", "agent"] * 2
    assert {turn.start_ms for turn in bundle.transcript.turns} == {None}
    assert (bundle.state.before, bundle.state.after) == ({"plan": 1}, {"plan": 2})


def test_eva_takes_the_trial_from_its_folder(tmp_path):
    eva_record(tmp_path / "records" / "7" / "trial_2", record="7")
    bundle = imported("eva", tmp_path / "records", tmp_path / "out", agent="x")
    assert (bundle.call.call_id, bundle.call.trial) == ("7-trial_2", 2)


def test_eva_reads_a_real_record_whose_sound_is_not_here(tmp_path, shared):
    folder = shared / "imports" / "eva-1.1.2"
    bundle = imported("eva", folder / "result.json", tmp_path / "out", agent="x", no_audio=True)
    assert [call.name for call in bundle.trace.calls] == [
        "get_reservation",
        "search_rebooking_options",
        "search_rebooking_options",
        "rebook_flight",
        "assign_seat",
    ]
    assert {call.status for call in bundle.trace.calls} == {"ok"}
    assert bundle.state.after == bundle.state.expected != bundle.state.before
    assert [turn.speaker for turn in bundle.transcript.turns[:3]] == ["agent", "caller", "agent"]
    rows = listen(bundle)
    assert rows["calls"][0]["timing_reasons"] == ["no_audio"]
    assert rows["segments"] == []


def test_eva_without_its_sound_is_refused_until_that_is_said(tmp_path, shared):
    folder = shared / "imports" / "eva-1.1.2"
    problem = refusal("eva", folder, tmp_path / "out", agent="x")
    assert problem.code == "recording_missing"
    assert "audio_user.wav" in problem.found


def test_openai_realtime_orders_items_and_not_arrivals(tmp_path):
    source = write_lines(tmp_path / "in" / "log.jsonl", realtime_events())
    base_audio(tmp_path / "in" / "log.wav")
    bundle = imported("openai-realtime", source, tmp_path / "out", agent="x", caller_channel=0)
    assert_is_base(bundle)
    assert_has_refund(bundle, "unknown", times=(None, None))
    assert [turn.text for turn in bundle.transcript.turns] == [text for _, text, *_ in turns()]
    assert bundle.call.agent.config == {"model": "gpt-realtime"}


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"status": "incomplete", "with_output": False}, "cancelled"),
        ({"status": "completed", "with_output": False}, "missing"),
        ({"status": "completed"}, "unknown"),
    ],
    ids=["interrupted", "no_output", "done"],
)
def test_f45_arguments_that_are_done_are_no_action(tmp_path, said, status):
    source = write_lines(tmp_path / "in" / "log.jsonl", realtime_events(**said))
    base_audio(tmp_path / "in" / "log.wav")
    bundle = imported("openai-realtime", source, tmp_path / "out", agent="x", caller_channel=0)
    assert_has_refund(bundle, status, times=(None, None))


def test_deepgram_pairs_a_response_without_an_id_by_name(tmp_path):
    source = write_lines(tmp_path / "in" / "log.jsonl", deepgram_events())
    base_audio(tmp_path / "in" / "log.wav", agent_left=True)
    bundle = imported("deepgram-agent", source, tmp_path / "out", agent="x", caller_channel=1)
    assert_is_base(bundle)
    assert_has_refund(bundle, "unknown", times=(None, None))
    assert bundle.trace.calls[0].result == {"ok": True}
    assert len(bundle.transcript.turns) == 4


def test_a_log_with_a_broken_line_is_refused_whole(tmp_path):
    source = write_lines(tmp_path / "in" / "log.jsonl", deepgram_events())
    source.write_text(source.read_text() + '{"type": ')
    problem = refusal("deepgram-agent", source, tmp_path / "out", agent="x")
    assert problem.pointer.startswith("line 10 column")


def test_bland_mixes_both_sides_and_tells_no_trace(tmp_path):
    source = write_json(tmp_path / "in" / "b.json", bland_call())
    base_audio(tmp_path / "in" / "b-1.wav", mono=True)
    done = run_import("bland", source, tmp_path / "out", agent="x")
    assert {problem.code for problem in done.problems} == {"mono_input", "times_left_out"}
    bundle = read_bundle(BundleRef(path=done.folders[0], label="x"))
    assert listen(bundle)["calls"][0]["exclusion_reason"] == "mono_recording"
    assert bundle.trace is None
    assert len(bundle.transcript.turns) == 4


def test_contact_lens_has_the_agent_right(tmp_path):
    source = write_json(tmp_path / "in" / "c-1.json", contact_lens())
    base_audio(tmp_path / "in" / "c-1.wav")
    bundle = imported("contact-lens", source, tmp_path / "out", agent="x")
    assert_is_base(bundle)
    assert bundle.trace is None
    first = bundle.transcript.turns[0]
    assert (first.start_ms, first.end_ms) == (1000, 2000)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"redacted": True}, "audio_redacted"),
        ({"more": [{"ParticipantId": "X", "ParticipantRole": "CUSTOMER"}]}, "caller_not_alone"),
    ],
    ids=["redacted", "conference"],
)
def test_contact_lens_says_what_its_sound_cannot_show(tmp_path, said, reason):
    source = write_json(tmp_path / "in" / "c-1.json", contact_lens(**said))
    base_audio(tmp_path / "in" / "c-1.wav")
    bundle = imported("contact-lens", source, tmp_path / "out", agent="x")
    assert listen(bundle)["calls"][0]["timing_reasons"] == [reason]


def test_tau2_counts_ticks_and_not_the_wall_clock(tmp_path):
    run = tmp_path / "run"
    source = write_json(run / "simulations" / "s-1.json", tau2_simulation())
    base_audio(run / "artifacts" / "task_4" / "sim_s-1" / "audio" / "both.wav")
    bundle = imported("tau2", source, tmp_path / "out", agent="x")
    assert_is_base(bundle)
    assert_has_refund(bundle, "ok", times=(6400, 6800))
    assert (bundle.call.trial, bundle.call.ended.by) == (1, "caller")


def test_nemo_reads_the_folder_of_a_scenario(tmp_path):
    folder = tmp_path / "eval_20260301_222207" / "refund"
    source = write_json(folder / "metrics.json", nemo_metrics())
    write_json(folder / "conversation_log.seglst.json", nemo_segments())
    write_json(folder / "bot_logs_agent" / "llm_context.json", pipecat_context())
    base_audio(folder / "conversation_log.wav")
    bundle = imported("nemo", source, tmp_path / "out", agent="x")
    assert_is_base(bundle)
    assert bundle.call.call_id == "eval_20260301_222207-refund"
    assert_has_refund(bundle, "unknown", times=(None, None))
    assert [turn.end_ms for turn in bundle.transcript.turns] == [None] * 4


SHA = "a" * 64


def nemo_folder(tmp_path, *, metrics=None, **files):
    """Lay down a scenario's folder, with files by name; `__` is the border of a folder."""
    folder = tmp_path / "eval_20260301_222207" / "refund"
    source = write_json(folder / "metrics.json", nemo_metrics(**(metrics or {})))
    write_json(folder / "bot_logs_agent" / "llm_context.json", pipecat_context())
    for name, value in files.items():
        write_json(folder / f"{name.replace('__', '/')}.json", value)
    return source


def nemo_bundle(tmp_path, **said):
    return imported(
        "nemo", nemo_folder(tmp_path, **said), tmp_path / "out", agent="x", no_audio=True
    )


def test_nemo_takes_over_what_the_signals_read(tmp_path):
    actions = [{"actions": [{"name": "refund", "arguments": {"a": 1}, "side": "agent"}]}]
    claims = [
        {"index": 2, "assertion": "b", "passed": False, "reason": "no"},
        {"index": 1, "assertion": "a", "passed": True, "reason": "yes"},
    ]
    bundle = nemo_bundle(
        tmp_path,
        metrics={"db_state_expected_hash": SHA, "db_state_actual_hash": "b" * 64},
        final_agent_response=actions,
        judge_result={"score": 0.9, "reason": "fine", "nl_assertion_verdicts": claims},
        bot_logs_user__llm_context=[
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "u1", "function": {"name": "toggle", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "u1", "content": "done"},
        ],
    )
    assert bundle.call.ended.by == "agent"
    assert [dict(each) for each in bundle.trace.responses] == actions
    assert [each.name for each in bundle.trace.caller_calls] == ["toggle"]
    assert "toggle" not in [each.name for each in bundle.trace.calls]
    assert (bundle.state.expected_sha256, bundle.state.after_sha256) == (SHA, "b" * 64)
    answers = {each.question: each for each in bundle.verdicts.answers}
    assert answers["judge"].score == 0.9
    assert [answers[f"nl_assertion:{at}"].verdict for at in (0, 1)] == [True, False]


@pytest.mark.parametrize(
    ("files", "metrics", "score"),
    [
        pytest.param({}, {"judge_score": "N/A"}, "no verdicts", id="never asked"),
        pytest.param({}, {"judge_score": 0.4}, 0.4, id="its mark alone is told"),
        pytest.param(
            {"judge_result": {"score": 0.0, "reason": "Error: timed out"}}, {}, None, id="it failed"
        ),
        pytest.param({"judge_result": {"score": 0.0, "reason": "all wrong"}}, {}, 0.0, id="zero"),
    ],
)
def test_nemo_takes_no_failure_of_the_judge_for_a_mark(tmp_path, files, metrics, score):
    verdicts = nemo_bundle(tmp_path, metrics=metrics, **files).verdicts
    assert (verdicts.answers[0].score if verdicts else "no verdicts") == score


@pytest.mark.parametrize(
    ("files", "metrics", "pointer"),
    [
        pytest.param({}, {"db_state_actual_hash": "abc"}, "/db_state_actual_hash", id="a hash"),
        pytest.param({"judge_result": {"score": 1.5}}, {}, "/score", id="a mark"),
        pytest.param(
            {"judge_result": {"nl_assertion_verdicts": [{"index": 0, "passed": True}]}},
            {},
            "/nl_assertion_verdicts/0",
            id="a claim",
        ),
    ],
)
def test_nemo_refuses_what_it_cannot_read_with_its_place(tmp_path, files, metrics, pointer):
    source = nemo_folder(tmp_path, metrics=metrics, **files)
    done = run_import("nemo", [source], out=tmp_path / "out", agent="x", no_audio=True)
    assert [(each.code, each.pointer) for each in done.problems] == [("export_field", pointer)]
