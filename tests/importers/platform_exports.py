"""One export of the eleven-second call for each platform, field by field as it documents them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from exported import ENDED, STARTED, STARTED_MS, TOOL, TOOL_AT_MS, TOOL_DONE_MS, turns

ARGUMENTS = json.dumps(TOOL["arguments"])
RESULT = json.dumps(TOOL["result"])


def vapi_call(call_id="v-1", **change):
    """A call object: two clocks 77 ms apart, `endTime` too late, `duration` in ms, a prompt."""
    messages = [
        {
            "role": "system",
            "message": "You are a billing agent.",
            "time": STARTED_MS,
            "secondsFromStart": 0,
        }
    ]
    for side, text, start_ms, end_ms in turns():
        skew = 77 if side == "caller" else 0
        messages.append(
            {
                "role": "user" if side == "caller" else "bot",
                "message": text,
                "time": STARTED_MS + start_ms + skew + 0.0002,
                "endTime": STARTED_MS + end_ms + 7700,
                "secondsFromStart": start_ms / 1000,
                "duration": end_ms - start_ms + 0.0002,
                "source": "",
            }
        )
    messages[4:4] = [
        {
            "role": "tool_calls",
            "time": STARTED_MS + TOOL_AT_MS,
            "secondsFromStart": TOOL_AT_MS / 1000,
            "message": "",
            "toolCalls": [
                {
                    "id": TOOL["id"],
                    "type": "function",
                    "function": {"name": TOOL["name"], "arguments": ARGUMENTS},
                }
            ],
        },
        {
            "role": "tool_call_result",
            "toolCallId": TOOL["id"],
            "name": TOOL["name"],
            "result": RESULT,
            "time": STARTED_MS + TOOL_DONE_MS,
            "secondsFromStart": TOOL_DONE_MS / 1000,
        },
    ]
    return {
        "id": call_id,
        "orgId": "o-1",
        "type": "inboundPhoneCall",
        "status": "ended",
        "endedReason": "customer-ended-call",
        "startedAt": STARTED,
        "endedAt": ENDED,
        "assistantId": "a-1",
        "assistant": {"name": "Billing agent", "model": {"provider": "x", "model": "m-1"}},
        "customer": {"number": "+15550100"},
        "metadata": {"case": "refund"},
        "artifact": {
            "messages": messages,
            "recording": {
                "stereoUrl": f"https://storage.invalid/{call_id}-stereo.wav",
                "mono": {"combinedUrl": f"https://storage.invalid/{call_id}-mono.wav"},
            },
        },
        **change,
    }


def retell_call(call_id="r-1", **change):
    """A call object: times at words only, tool rows without any."""
    rows = [
        {
            "role": "user" if side == "caller" else "agent",
            "content": text,
            "words": _words(text, start_ms, end_ms),
        }
        for side, text, start_ms, end_ms in turns()
    ]
    rows[3:3] = [
        {
            "role": "tool_call_invocation",
            "tool_call_id": TOOL["id"],
            "name": TOOL["name"],
            "arguments": ARGUMENTS,
        },
        {
            "role": "tool_call_result",
            "tool_call_id": TOOL["id"],
            "content": RESULT,
            "successful": True,
        },
        {"role": "sms", "content": "your code", "time_sec": 7.0},
    ]
    return {
        "call_id": call_id,
        "call_type": "phone_call",
        "agent_id": "agent_1",
        "agent_version": 3,
        "agent_name": "Billing agent",
        "call_status": "ended",
        "direction": "inbound",
        "from_number": "+15550100",
        "to_number": "+15550101",
        "metadata": {"case": "refund"},
        "start_timestamp": STARTED_MS,
        "end_timestamp": STARTED_MS + 11_000,
        "duration_ms": 11_000,
        "disconnection_reason": "user_hangup",
        "transcript_with_tool_calls": rows,
        "recording_url": f"https://calls.invalid/{call_id}/recording.wav",
        "recording_multi_channel_url": f"https://calls.invalid/{call_id}/multi.wav",
        "latency": {"e2e": {"p50": 900, "values": [900, 3300]}},
        **change,
    }


def _words(text, start_ms, end_ms):
    words = text.split()
    step = (end_ms - start_ms) / len(words)
    return [
        {
            "word": word,
            "start": (start_ms + k * step) / 1000,
            "end": (start_ms + (k + 1) * step) / 1000,
        }
        for k, word in enumerate(words)
    ]


def generic_call(call_id="g-1", **change):
    """A record of nobody in particular, as `GENERIC_MAPPING` reads it."""
    return {
        "id": call_id,
        "started": STARTED_MS,
        "hangup": "customer",
        "recording": f"{call_id}.wav",
        "caller_side": "left",
        "turns": [
            {
                "role": "user" if side == "caller" else "bot",
                "text": text,
                "at": at / 1000,
                "to": to / 1000,
            }
            for side, text, at, to in turns()
        ],
        "tools": [
            {
                "id": TOOL["id"],
                "name": TOOL["name"],
                "args": ARGUMENTS,
                "result": TOOL["result"],
                "ok": True,
                "from": str(STARTED_MS + TOOL_AT_MS),
                "to": str(STARTED_MS + TOOL_DONE_MS),
            }
        ],
        **change,
    }


GENERIC_MAPPING = {
    "schema_version": "1",
    "calls": "/calls",
    "call": {
        "call_id": "/id",
        "agent": {"value": "Billing agent"},
        "started_at": {"from": "/started", "unit": "epoch_ms"},
        "ended_by": {"from": "/hangup", "map": {"customer": "caller", "bot": "agent"}},
    },
    "recording_started": {"from": "/started", "unit": "epoch_ms"},
    "audio": [
        {
            "file": "/recording",
            "caller_channel": {"from": "/caller_side", "map": {"left": 0, "right": 1}},
            "agent_channel": {"from": "/caller_side", "map": {"left": 1, "right": 0}},
        }
    ],
    "turns": {
        "rows": "/turns",
        "speaker": {"from": "role", "map": {"user": "caller", "bot": "agent", "system": None}},
        "text": "text",
        "start": {"from": "at", "unit": "s"},
        "end": {"from": "to", "unit": "s"},
    },
    "tools": {
        "rows": "/tools",
        "id": "id",
        "name": "name",
        "arguments": "args",
        "result": "result",
        "status": {"from": "ok", "map": {"true": "ok", "false": "error"}},
        "start": {"from": "from", "unit": "epoch_ms"},
        "end": {"from": "to", "unit": "epoch_ms"},
    },
}


def livekit_report(call_id="AJ_1", *, audio_start_ms=STARTED_MS, **change):
    """A session report: instants in seconds, messages committed after they were spoken."""

    def at(ms):
        return (STARTED_MS + ms) / 1000

    items = [
        {
            "id": f"item_{k}",
            "type": "message",
            "role": "user" if side == "caller" else "assistant",
            "content": [text],
            "interrupted": False,
            "metrics": {"started_speaking_at": at(start_ms), "stopped_speaking_at": at(end_ms)},
            "created_at": at(end_ms + 40),
        }
        for k, (side, text, start_ms, end_ms) in enumerate(turns())
    ]
    items[3:3] = [
        {
            "id": "item_c",
            "type": "function_call",
            "call_id": TOOL["id"],
            "name": TOOL["name"],
            "arguments": ARGUMENTS,
            "created_at": at(TOOL_AT_MS),
        },
        {
            "id": "item_o",
            "type": "function_call_output",
            "call_id": TOOL["id"],
            "name": TOOL["name"],
            "output": RESULT,
            "is_error": False,
            "created_at": at(TOOL_DONE_MS),
        },
    ]
    return {
        "job_id": call_id,
        "room_id": "RM_1",
        "room": "billing-17",
        "events": [
            {
                "type": "agent_state_changed",
                "old_state": "listening",
                "new_state": "speaking",
                "created_at": at(2800),
            },
            {"type": "close", "reason": "participant_disconnected", "created_at": at(11_000)},
        ],
        "audio_recording_path": f"/tmp/session/{call_id}/audio.ogg",
        "audio_recording_started_at": audio_start_ms / 1000,
        "options": {"allow_interruptions": True, "min_endpointing_delay": 0.5},
        "chat_history": {"items": items},
        "timestamp": at(12_000),
        "sdk_version": "1.3",
        **change,
    }


def egress_info(file, *, start_ms=STARTED_MS):
    """What an egress says of its file: nanoseconds as text."""
    return {
        "egressId": "EG_1",
        "roomName": "billing-17",
        "startedAt": f"{start_ms}000000",
        "fileResults": [
            {"filename": f"rec/{file}", "startedAt": f"{start_ms}000000", "duration": "11000000000"}
        ],
    }


def pipecat_context():
    """A context in OpenAI's form; the tool's placeholder has been replaced."""
    said = [
        {"role": "user" if side == "caller" else "assistant", "content": text}
        for side, text, *_ in turns()
    ]
    said[3:3] = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": TOOL["id"],
                    "type": "function",
                    "function": {"name": TOOL["name"], "arguments": ARGUMENTS},
                }
            ],
        },
        {"role": "tool", "tool_call_id": TOOL["id"], "content": RESULT},
    ]
    return [{"role": "system", "content": "You are a billing agent."}, *said]


def twilio_recording(sid="RE1", call_sid="CA1", **change):
    """A recording resource: texts for numbers, whole seconds, a mail date."""
    return {
        "account_sid": "AC1",
        "api_version": "2010-04-01",
        "call_sid": call_sid,
        "conference_sid": None,
        "channels": 2,
        "source": "OutboundAPI",
        "sid": sid,
        "duration": "11",
        "start_time": "Sun, 01 Mar 2026 22:22:07 +0000",
        "date_created": "Sun, 01 Mar 2026 22:22:07 +0000",
        "status": "completed",
        "price": None,
        "uri": f"/2010-04-01/Accounts/AC1/Recordings/{sid}.json",
        "media_url": f"https://api.invalid/2010-04-01/Accounts/AC1/Recordings/{sid}",
        **change,
    }


def own_trace():
    """The refund as a trace of the user's own."""
    row = {**TOOL, "status": "ok", "start_ms": TOOL_AT_MS, "end_ms": TOOL_DONE_MS}
    return {"calls": [row]}


def elevenlabs_conversation(call_id="conv_1", **change):
    """A conversation: whole seconds, tool data on rows without a message."""
    rows = [
        {
            "role": "user" if side == "caller" else "agent",
            "message": text,
            "time_in_call_secs": start_ms // 1000,
            "tool_calls": [],
            "tool_results": [],
            "interrupted": False,
            "original_message": None,
        }
        for side, text, start_ms, _ in turns()
    ]
    rows[3:3] = [
        {
            "role": "agent",
            "message": None,
            "time_in_call_secs": 6,
            "tool_calls": [
                {
                    "request_id": TOOL["id"],
                    "tool_name": TOOL["name"],
                    "params_as_json": ARGUMENTS,
                    "tool_has_been_called": True,
                }
            ],
        },
        {
            "role": "agent",
            "message": None,
            "time_in_call_secs": 6,
            "tool_results": [
                {
                    "request_id": TOOL["id"],
                    "tool_name": TOOL["name"],
                    "result_value": RESULT,
                    "is_error": False,
                    "tool_has_been_called": True,
                    "tool_latency_secs": 0.5,
                }
            ],
        },
    ]
    return {
        "agent_id": "agent_1",
        "agent_name": "Billing agent",
        "conversation_id": call_id,
        "status": "done",
        "transcript": rows,
        "metadata": {
            "start_time_unix_secs": STARTED_MS // 1000,
            "call_duration_secs": 11,
            "termination_reason": "Client disconnected: 1000",
        },
        "conversation_initiation_client_data": {"dynamic_variables": {"case": "refund"}},
        **change,
    }


def eva_result(record="1.1.2", **change):
    """A record's result: naive times, paths of another machine."""
    root = f"output/2026-03-01/records/{record}"
    return {
        "record_id": record,
        "completed": True,
        "error": None,
        "started_at": "2026-03-01T17:22:07.000000",
        "ended_at": "2026-03-01T17:22:18.000000",
        "duration_seconds": 11.0,
        "output_dir": root,
        "audio_assistant_path": f"{root}/audio_assistant.wav",
        "audio_user_path": f"{root}/audio_user.wav",
        "num_turns": 4,
        "conversation_ended_reason": "goodbye",
        **change,
    }


def eva_events(*, late_ms=0):
    """Events of both kinds; the first end of the caller's sound may come late, as in the field."""
    rows = []
    for side, text, start_ms, end_ms in turns():
        user = "simulated_user" if side == "caller" else "framework_agent"
        late = late_ms if start_ms == 1000 else 0
        for event, at in (("audio_start", start_ms), ("audio_end", end_ms + late)):
            rows.append(
                {
                    "timestamp": STARTED_MS + at,
                    "event_type": event,
                    "user": user,
                    "audio_timestamp": (STARTED_MS + at) / 1000,
                }
            )
        kind = "user_speech" if side == "caller" else "assistant_speech"
        rows.append({"timestamp": STARTED_MS + end_ms, "type": kind, "data": {"text": text}})
    return [{**row, "sequence": k} for k, row in enumerate(rows, 1)]


def eva_audit():
    """An audit log: instants as text, calls and responses without ids."""
    asked = {"tool": TOOL["name"], "parameters": TOOL["arguments"]}
    told = {"tool": TOOL["name"], "response": {"status": "success", **TOOL["result"]}}
    return {
        "transcript": [
            {
                "value": value,
                "displayName": "Tool",
                "type": kind,
                "isBotMessage": True,
                "timestamp": str(STARTED_MS + at),
                "message_type": kind,
            }
            for value, kind, at in (
                (asked, "tool_call", TOOL_AT_MS),
                (told, "tool_response", TOOL_DONE_MS),
            )
        ],
        "llm_prompts": [],
        "conversation_messages": [],
    }


def realtime_events(session="sess_1", *, status="completed", with_output=True, first="created"):
    """A session's log: the caller's second transcript comes after the answer to it."""
    done = f"conversation.item.{first}"
    said = turns()
    events = [{"type": "session.created", "session": {"id": session, "model": "gpt-realtime"}}]
    before = None
    for k, (side, _, _, _) in enumerate(said):
        role = "user" if side == "caller" else "assistant"
        item = {"id": f"i{k}", "type": "message", "role": role, "status": "completed"}
        events.append({"type": done, "previous_item_id": before, "item": item})
        before = f"i{k}"
        if k == 2:
            call = {
                "id": "ic",
                "type": "function_call",
                "call_id": TOOL["id"],
                "name": TOOL["name"],
                "status": "in_progress",
                "arguments": "",
            }
            events.append({"type": done, "previous_item_id": before, "item": call})
            before = "ic"
    events.append(
        {
            "type": "response.function_call_arguments.done",
            "item_id": "ic",
            "call_id": TOOL["id"],
            "arguments": ARGUMENTS,
        }
    )
    events.append(
        {
            "type": "response.output_item.done",
            "item": {**call, "status": status, "arguments": ARGUMENTS},
        }
    )
    if with_output:
        output = {"type": "function_call_output", "call_id": TOOL["id"], "output": RESULT}
        events.append({"type": "conversation.item.create", "item": output})
        events.append({"type": done, "item": {**output, "id": "io"}})
    for k in (1, 3, 0, 2):
        kind = (
            "conversation.item.input_audio_transcription.completed"
            if said[k][0] == "caller"
            else "response.output_audio_transcript.done"
        )
        events.append({"type": kind, "item_id": f"i{k}", "transcript": said[k][1]})
    return events


def deepgram_events(request="dg_1"):
    """A conversation's log; the response to a server function has no id."""
    said = [
        {
            "type": "ConversationText",
            "role": "user" if side == "caller" else "assistant",
            "content": text,
        }
        for side, text, *_ in turns()
    ]
    asked = {
        "id": TOOL["id"],
        "name": TOOL["name"],
        "arguments": ARGUMENTS,
        "client_side": False,
    }
    said[3:3] = [
        {"type": "FunctionCallRequest", "functions": [asked]},
        {"type": "FunctionCallResponse", "name": TOOL["name"], "content": RESULT},
    ]
    repeated = {"type": "History", "role": "user", "content": turns()[0][1]}
    return [
        {"type": "Welcome", "request_id": request},
        {"type": "SettingsApplied"},
        *said,
        repeated,
    ]


def bland_call(call_id="b-1", **change):
    """A call object: instants at which rows were made, a length in minutes."""
    rows = [
        {
            "id": k,
            "created_at": f"2026-03-01T22:22:{7 + end_ms // 1000:02d}.000Z",
            "text": text,
            "user": "user" if side == "caller" else "assistant",
        }
        for k, (side, text, _, end_ms) in enumerate(turns())
    ]
    rows.insert(3, {"id": 9, "created_at": STARTED, "text": "Ended", "user": "agent-action"})
    return {
        "call_id": call_id,
        "call_length": 0.1833,
        "inbound": True,
        "from": "+15550100",
        "to": "+15550101",
        "variables": {"case": "refund"},
        "call_ended_by": "USER",
        "recording_url": f"https://server.invalid/{call_id}.mp3",
        "transcripts": rows,
        **change,
    }


def contact_lens(contact="c-1", *, redacted=False, more=(), **change):
    """A contact's analysis."""
    rows = [
        {
            "Id": f"t{k}",
            "ParticipantId": "CUSTOMER" if side == "caller" else "AGENT",
            "Content": text,
            "BeginOffsetMillis": start_ms,
            "EndOffsetMillis": end_ms,
            "Sentiment": "NEUTRAL",
        }
        for k, (side, text, start_ms, end_ms) in enumerate(turns())
    ]
    if redacted:
        stamps = [{"BeginOffsetMillis": 5200, "EndOffsetMillis": 5600}]
        rows[2]["Redaction"] = {"RedactedTimestamps": stamps}
    return {
        "Version": "1.1.0",
        "AccountId": "1",
        "Channel": "VOICE",
        "ContentMetadata": {"Output": "Redacted" if redacted else "Raw"},
        "JobStatus": "COMPLETED",
        "LanguageCode": "en-US",
        "Participants": [
            {"ParticipantId": "CUSTOMER", "ParticipantRole": "CUSTOMER"},
            {"ParticipantId": "AGENT", "ParticipantRole": "AGENT"},
            *more,
        ],
        "CustomerMetadata": {"ContactId": contact},
        "Transcript": rows,
        **change,
    }


def tau2_simulation(call_id="s-1", **change):
    """A simulation of 55 ticks of 0.2 s; wall clock times say something else."""
    ticks = []
    for k in range(55):
        at = k * 200
        tick = {
            "tick_id": k,
            "timestamp": STARTED,
            "tick_duration_seconds": 0.2,
            "wall_clock_duration_seconds": 0.7,
            "agent_chunk": None,
            "user_chunk": None,
            "agent_tool_calls": [],
            "agent_tool_results": [],
        }
        for side, text, start_ms, _ in turns():
            if start_ms == at:
                key = "user_chunk" if side == "caller" else "agent_chunk"
                tick[key] = {"role": "user", "content": text, "contains_speech": True}
        if at == TOOL_AT_MS:
            tick["agent_tool_calls"] = [
                {"id": TOOL["id"], "name": TOOL["name"], "arguments": TOOL["arguments"]}
            ]
        if at == 6800:
            tick["agent_tool_results"] = [
                {"id": TOOL["id"], "role": "tool", "content": RESULT, "error": False}
            ]
        ticks.append(tick)
    return {
        "id": call_id,
        "task_id": "4",
        "start_time": "2026-03-01T22:22:07",
        "end_time": "2026-03-01T22:22:45",
        "duration": 38.5,
        "termination_reason": "user_stop",
        "trial": 1,
        "mode": "full_duplex",
        "ticks": ticks,
        **change,
    }


def nemo_metrics(scenario="refund", **change):
    """A scenario's metrics, some of which may be the text N/A."""
    return {
        "scenario_name": scenario,
        "total_turns": 4,
        "duration_seconds": 11.0,
        "stop_reason": "[EXIT]",
        "clean_exit": True,
        "judge_score": "N/A",
        "turns": [],
        **change,
    }


def nemo_segments():
    """The segments beside them; ends 0.3 s early."""
    return [
        {
            "session_id": "s",
            "words": text,
            "speaker": "user" if side == "caller" else "agent",
            "start_time": start_ms / 1000,
            "end_time": end_ms / 1000 - 0.3,
        }
        for side, text, start_ms, end_ms in turns()
    ]


@dataclass(frozen=True, kw_only=True)
class Case:
    """How a platform's exports are made for many tests at once.

    `export` makes one by a call id; `intact` is the folder of the call ``intact``.
    """

    export: Callable[[str], object]
    said: dict[str, object] = field(default_factory=dict)
    names: tuple[str, str] = ("a.json", "intact.json")
    beside: dict[str, object] = field(default_factory=dict)
    intact: str = "intact"


CASES = {
    "generic": Case(
        export=lambda name: {"calls": [generic_call(name)]}, said={"mapping": GENERIC_MAPPING}
    ),
    "vapi": Case(export=vapi_call),
    "retell": Case(export=retell_call, said={"caller_channel": 0}),
    "livekit": Case(export=livekit_report, said={"agent": "x", "recorder": "session"}),
    "pipecat": Case(export=lambda _: pipecat_context(), said={"agent": "x"}),
    "twilio": Case(
        export=lambda name: twilio_recording(call_sid=name),
        said={"agent": "x", "caller_channel": 0},
        beside={"intact.trace.json": own_trace()},
    ),
    "elevenlabs": Case(export=elevenlabs_conversation, said={"caller_channel": 0}),
    "eva": Case(
        export=eva_result,
        said={"agent": "x", "no_audio": True},
        beside={"audit_log.json": eva_audit()},
    ),
    "openai-realtime": Case(
        export=realtime_events, said={"agent": "x", "caller_channel": 0}, names=("a.json", "b.json")
    ),
    "deepgram-agent": Case(
        export=deepgram_events, said={"agent": "x", "caller_channel": 0}, names=("a.json", "b.json")
    ),
    "bland": Case(export=bland_call, said={"agent": "x", "caller_channel": 0}),
    "contact-lens": Case(export=contact_lens, said={"agent": "x"}),
    "tau2": Case(export=tau2_simulation, said={"agent": "x"}),
    "nemo": Case(export=nemo_metrics, said={"agent": "x"}),
}
