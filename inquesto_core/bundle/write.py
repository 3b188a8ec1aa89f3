"""How a call becomes a bundle folder: its files' bytes, and that the folder appears whole.

A time before the start of the recording cannot stand in `trace.json`; the trace's clock is then
moved and `trace_offset_ms` says by how much. Fields that are not known are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from inquesto_core import schema
from inquesto_core.bundle.call import STAGES
from inquesto_core.canonical import pretty_bytes

if TYPE_CHECKING:
    from inquesto_core.bundle.call import (
        AudioFile,
        Call,
        FinalState,
        MeasuredTiming,
        RecordedVerdicts,
        ReportedStages,
        ReportedTiming,
        ToolCall,
        ToolTrace,
        Transcript,
        TranscriptTurn,
    )

__all__ = ["UNFINISHED", "bundle_files"]

#: What the folders of bundles begin with that are still being laid down.
UNFINISHED = ".importing-"


def bundle_files(
    call: Call,
    *,
    trace: ToolTrace | None = None,
    transcript: Transcript | None = None,
    state: FinalState | None = None,
    timing: ReportedTiming | None = None,
    measured: MeasuredTiming | None = None,
    verdicts: RecordedVerdicts | None = None,
) -> dict[str, bytes]:
    """Return the JSON files of a bundle by name, valid under their schemas.

    Parameters
    ----------
    call : Call
        Its `trace_offset_ms` is replaced by the one that `trace` needs.
    trace : ToolTrace or None
        On the recording's clock, as `read_bundle` gives it.

    Raises
    ------
    SchemaError
        A value that a bundle cannot hold.
    """
    first_ms = min(_times(trace), default=0)
    offset_ms = min(0, first_ms)
    parts: dict[str, Any] = {"call": _call_json(call, offset_ms)}
    if trace is not None:
        theirs = [_tool_json(each, offset_ms) for each in trace.caller_calls or ()]
        parts["trace"] = {
            "calls": [_tool_json(each, offset_ms) for each in trace.calls],
            **({} if trace.caller_calls is None else {"caller_calls": theirs}),
            **({} if trace.responses is None else {"responses": list(trace.responses)}),
            **({} if trace.stages is None else {"stages": _stages_json(trace.stages)}),
        }
    if transcript is not None:
        said = [_turn_json(each) for each in transcript.turns]
        parts["transcript"] = {**_known({"source": transcript.source}), "turns": said}
    if state is not None:
        parts["state"] = _state_json(state)
    if timing is not None:
        parts["timing"] = {
            "source": timing.source,
            "turns": [_known(asdict(turn)) for turn in timing.turns],
            "latencies_ms": list(timing.latencies_ms),
        }
    if measured is not None:
        parts["measured"] = _measured_json(measured)
    if verdicts is not None:
        parts["verdicts"] = _verdicts_json(verdicts)
    for name, value in parts.items():
        schema.validate(value, name, file=f"{name}.json")
    return {f"{name}.json": pretty_bytes(value) for name, value in parts.items()}


def _stages_json(stages: ReportedStages) -> dict[str, Any]:
    told = {f"{stage}_ms": list(stages.of(stage)) for stage in STAGES}
    return {"source": stages.source, **_known(told)}


def _measured_json(measured: MeasuredTiming) -> dict[str, Any]:
    window = measured.window_ms
    return {
        "measurement": measured.measurement,
        "engine": measured.engine,
        "duration_ms": measured.duration_ms,
        "window_ms": None if window is None else list(window),
        "condition_class": measured.condition_class,
        "timing_reasons": list(measured.timing_reasons),
        "segments": [_known(asdict(each)) for each in measured.segments],
    }


def _verdicts_json(verdicts: RecordedVerdicts) -> dict[str, Any]:
    answers = {
        answer.question: {
            "verdict": answer.verdict,
            **_known({"score": answer.score, "reason": answer.reason, "turn": answer.turn}),
        }
        for answer in verdicts.answers
    }
    pins = {"model_sha256": verdicts.model_sha256, "rubric_sha256": verdicts.rubric_sha256}
    return {"model": verdicts.model, **_known(pins), "answers": answers}


def _state_json(state: FinalState) -> dict[str, Any]:
    user = {"after": state.user_after, "after_sha256": state.user_after_sha256}
    told = {
        "after_sha256": state.after_sha256,
        "expected_sha256": state.expected_sha256,
        "user": _known(user),
    }
    whole = {"before": state.before, "after": state.after, "expected": state.expected}
    return {**whole, **_known(told)}


def _known(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: inner for key, inner in value.items() if inner not in (None, {}, (), [])}


def _times(trace: ToolTrace | None) -> list[int]:
    if trace is None:
        return []
    calls = (*trace.calls, *(trace.caller_calls or ()))
    times = [at for call in calls for at in (call.start_ms, call.end_ms)]
    return [at for at in times if at is not None]


def _call_json(call: Call, trace_offset_ms: int) -> dict[str, Any]:
    offsets, ignored = asdict(call.channel_offset_ms), asdict(call.ignore_ms)
    value = {
        "schema_version": call.schema_version,
        "call_id": call.call_id,
        "population": call.population,
        "scenario_id": call.scenario_id,
        "condition": call.condition,
        "group": call.group,
        "trial": call.trial,
        "agent": _known(asdict(call.agent)),
        "platform": call.platform,
        "direction": call.direction,
        "started_at": call.started_at,
        "ended_at": call.ended_at,
        "ended": _known(asdict(call.ended)),
        "channel_offset_ms": offsets if any(offsets.values()) else None,
        "trace_offset_ms": trace_offset_ms or None,
        "scored_window_ms": None if call.scored_window_ms is None else list(call.scored_window_ms),
        "ignore_ms": _known({side: [list(pair) for pair in ignored[side]] for side in ignored}),
        "exclusion": None if call.exclusion is None else _known(asdict(call.exclusion)),
        "timing_reasons": list(call.timing_reasons),
        "inferred": [asdict(each) for each in call.inferred],
        "tags": dict(call.tags),
    }
    return {**_known(value), "audio": [_audio_json(entry) for entry in call.audio]}


def _audio_json(entry: AudioFile) -> dict[str, Any]:
    return _known(
        {
            "file": entry.file,
            "sha256": entry.sha256,
            "channels": _known({"caller": entry.caller, "agent": entry.agent}),
            "start_ms": entry.start_ms or None,
            "duration_ms": entry.duration_ms,
            "sample_rate_hz": entry.sample_rate_hz,
        }
    )


def _tool_json(call: ToolCall, offset_ms: int) -> dict[str, Any]:
    def told(at_ms: int | None) -> int | None:
        return None if at_ms is None else at_ms - offset_ms

    value = {
        "id": call.id,
        "name": call.name,
        "arguments": None if call.arguments is None else dict(call.arguments),
        "raw_arguments": call.raw_arguments,
        "result": call.result,
        "status": call.status,
        "start_ms": told(call.start_ms),
        "end_ms": told(call.end_ms),
    }
    return {key: inner for key, inner in value.items() if inner is not None}


def _turn_json(turn: TranscriptTurn) -> dict[str, Any]:
    value = {
        "speaker": turn.speaker,
        "text": turn.text,
        "heard_text": turn.heard_text,
        "start_ms": turn.start_ms,
        "end_ms": turn.end_ms,
        "words": [
            {key: inner for key, inner in asdict(word).items() if inner is not None}
            for word in turn.words
        ]
        or None,
    }
    return {key: inner for key, inner in value.items() if inner is not None}
