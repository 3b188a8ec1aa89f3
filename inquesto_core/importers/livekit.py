"""LiveKit Agents: the session report, beside the recording of one of LiveKit's recorders.

The recorders disagree: the session's own puts the user on the left, an egress in dual-channel-agent
mode puts the agent there, and one in alternate mode goes by who joined first. The order is known
for the file that the report names; of any other the recorder is asked for. An instant of the report
is on the recording's clock once it is known when that recording began: the report says so of its
own, `egress_info.json` beside the report of an egress (its numbers are taken as nanoseconds, which
is not confirmed). `created_at` of a message is when it was written down, not when it was spoken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import Ended, Inferred, ToolCall, TranscriptTurn
from inquesto_core.canonical import strict_json
from inquesto_core.errors import Problem
from inquesto_core.importers.clock import instant_ms, instant_text, since, start_note
from inquesto_core.importers.draft import Draft, ImportOptions, ToldLength, Track
from inquesto_core.importers.exports import read_bytes
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node, problem_at
from inquesto_core.importers.recordings import is_plain_file, last_part
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of
from inquesto_core.importers.stages import reported_stages, stage_duration
from inquesto_core.importers.tool_calls import Result, paired, parsed_result, requested, status_of

if TYPE_CHECKING:
    from inquesto_core.bundle import ReportedStages
    from inquesto_core.bundle.call import EndedBy, Speaker

__all__ = ["IMPORTER"]

SESSION, EGRESS_AGENT, EGRESS_ALTERNATE = "session", "egress-agent", "egress-alternate"
_RECORDERS = {
    SESSION: "the session's own recorder: user left, agent right",
    EGRESS_AGENT: "egress, dual-channel-agent: agent left, all others right",
    EGRESS_ALTERNATE: "egress, dual-channel-alternate: by order of joining, so say the channel",
}
_EGRESS_FILE = "egress_info.json"

_KINDS = {
    "message": "message",
    "function_call": "request",
    "function_call_output": "result",
    "agent_handoff": "other",
    "agent_config_update": "other",
}
_ROLES = {"user": "caller", "assistant": "agent", "system": "other", "developer": "other"}
_STAGES = {
    "endpointing": "end_of_turn_delay",
    "recognition": "transcription_delay",
    "model": "llm_node_ttft",
    "synthesis": "tts_node_ttfb",
}
_ENDED_BY: dict[str, EndedBy] = {
    "participant_disconnected": "caller",
    "task_completed": "agent",
    "job_shutdown": "system",
    "error": "system",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Egress:
    """What `egress_info.json` says of a recording."""

    start_ms: int | None = None
    duration_ms: int | None = None
    names: tuple[str, ...] = ()


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the session reports in a document."""
    return document.rows() if isinstance(document.value, list) else (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a session report says."""
    is_egress = options.recorder in {EGRESS_AGENT, EGRESS_ALTERNATE}
    egress = _egress(export) if is_egress else _Egress()
    start_ms = _recording_start(call, options, egress, is_egress=is_egress)
    items = call.rows("chat_history", "items")
    tools, problems = _tools(items, start_ms, options)
    is_told = call.get("chat_history", "items") is not None
    closed = [event for event in call.rows("events") if event.text("type") == "close"]
    reason = closed[-1].label("reason") if closed else None
    at_ms = _at(closed[-1], start_ms, "created_at") if closed else None
    if start_ms is None:
        problems = (*problems, _no_clock(call))
    return Draft(
        call_id=call.label("job_id") or call.needed_text("room_id"),
        platform="livekit",
        tracks=(_track(call, options, egress),),
        agent_config=_config(call.get("options")),
        started_at=None if start_ms is None else instant_text(start_ms),
        ended=Ended(by=_ENDED_BY.get(reason or "", "unknown"), reason=reason),
        tools=tools if is_told else None,
        turns=_turns(items, start_ms, options) if is_told else None,
        turn_times=("metrics/started_speaking_at", "seconds"),
        lengths=_lengths(closed, at_ms),
        stages=_stages(items, options),
        facts=known_facts({"room": (call.text("room"),), "tag.room": (call.text("room"),)}),
        ended_ms=() if at_ms is None else ((at_ms, "the session's close"),),
        inferred=(*start_note(options.recording_started_ms), *_inferred(reason, egress, options)),
        problems=problems,
    )


def _lengths(closed: Sequence[Node], at_ms: int | None) -> tuple[ToldLength, ...]:
    """Return how long the recording would be by the session's close."""
    if at_ms is None:
        return ()
    shown = closed[-1].need("created_at").shown()
    return (
        ToldLength(field="events: close, created_at", shown=shown, unit="seconds", length_ms=at_ms),
    )


def _egress(export: Path) -> _Egress:
    path = export.parent / _EGRESS_FILE
    if not is_plain_file(path):
        return _Egress()
    about = Node(strict_json(read_bytes(path, _EGRESS_FILE), file=_EGRESS_FILE), _EGRESS_FILE)
    files = about.rows("file_results") or about.rows("fileResults")
    file = files[0] if files else about
    start = file.get("started_at") or file.get("startedAt")
    start = start or about.get("started_at") or about.get("startedAt")
    duration = file.get("duration")
    name = file.text("filename")
    return _Egress(
        start_ms=None if start is None else instant_ms(start, "ns"),
        duration_ms=None if duration is None else abs(since(duration, "ns", 0)),
        names=() if name is None else (name,),
    )


def _recording_start(
    call: Node, options: ImportOptions, egress: _Egress, *, is_egress: bool
) -> int | None:
    if options.recording_started_ms is not None:
        return options.recording_started_ms
    if is_egress:
        return egress.start_ms
    node = call.get("audio_recording_started_at")
    return None if node is None else instant_ms(node, "s")


def _track(call: Node, options: ImportOptions, egress: _Egress) -> Track:
    named = call.text("audio_recording_path")
    ask = "say which recorder wrote it with --recorder " + "|".join(_RECORDERS)
    if options.recorder == EGRESS_AGENT:
        return Track(
            names=egress.names,
            caller=1,
            agent=0,
            known_by="LiveKit's egress in dual-channel-agent mode has the agent left",
            duration_ms=egress.duration_ms,
        )
    if options.recorder == EGRESS_ALTERNATE:
        return Track(names=egress.names, duration_ms=egress.duration_ms)
    return Track(
        names=() if named is None else (last_part(named),),
        caller=0,
        agent=1,
        known_by="LiveKit's session recorder has the user left",
        only_named=options.recorder is None,
        ask=ask,
    )


def _config(said: Node | None) -> dict[str, Any]:
    """Return settings of the session that are numbers, text or true and false."""
    if said is None:
        return {}
    return {
        name: value
        for name, value in said.members().items()
        if isinstance(value, str | int | float | bool)
    }


def _at(row: Node, start_ms: int | None, *path: str) -> int | None:
    node = row.get(*path)
    return None if node is None or start_ms is None else since(node, "s", start_ms)


def _turns(
    items: Sequence[Node], start_ms: int | None, options: ImportOptions
) -> tuple[TranscriptTurn, ...]:
    turns = []
    for row in items:
        if role_of(row, "type", _KINDS, options) != "message":
            continue
        meaning = role_of(row, "role", _ROLES, options)
        if meaning not in {"caller", "agent"}:
            continue
        speaker: Speaker = "caller" if meaning == "caller" else "agent"
        # Pictures and sound have been taken out of the list by the vendor, or are objects.
        parts = [part.value for part in row.rows("content") if isinstance(part.value, str)]
        turns.append(
            TranscriptTurn(
                speaker=speaker,
                text="\n".join(parts),
                start_ms=_at(row, start_ms, "metrics", "started_speaking_at"),
                end_ms=_at(row, start_ms, "metrics", "stopped_speaking_at"),
            )
        )
    return tuple(turns)


def _stages(items: Sequence[Node], options: ImportOptions) -> ReportedStages | None:
    """Return the metrics of messages: the caller's tell the first two stages, the agent's others.

    The delay until the end of the turn holds that of the transcript.
    """
    told: dict[str, list[int | None]] = {stage: [] for stage in _STAGES}
    for row in items:
        if role_of(row, "type", _KINDS, options) != "message":
            continue
        for stage, name in _STAGES.items():
            told[stage].append(stage_duration(row.get("metrics", name), "s"))
    known = {stage: [each for each in values if each is not None] for stage, values in told.items()}
    return reported_stages("livekit", known)


def _tools(
    items: Sequence[Node], start_ms: int | None, options: ImportOptions
) -> tuple[tuple[ToolCall, ...], tuple[Problem, ...]]:
    tools: list[ToolCall] = []
    results: list[Result] = []
    problems: list[Problem] = []
    for row in items:
        kind = role_of(row, "type", _KINDS, options)
        if kind == "request":
            tool, told = requested(
                row,
                call_id=row.label("call_id"),
                name=row.needed_text("name"),
                arguments=row.get("arguments"),
                start_ms=_at(row, start_ms, "created_at"),
            )
            tools.append(tool)
            problems += told
        elif kind == "result":
            output = row.get("output")
            results.append(
                Result(
                    row=row,
                    id=row.label("call_id"),
                    name=row.label("name"),
                    value=parsed_result(None if output is None else output.value),
                    status=status_of(has_failed=row.flag("is_error")),
                    end_ms=_at(row, start_ms, "created_at"),
                )
            )
    told_calls, unmatched = paired(tools, results)
    return told_calls, (*problems, *unmatched)


def _no_clock(call: Node) -> Problem:
    return problem_at(
        call,
        code="times_left_out",
        found="does not say when the recording began; its times are left out",
        expected="audio_recording_started_at, or egress_info.json beside an egress",
        remedy="say --recording-started; timing is measured from the recording all the same",
        level="warning",
    )


def _inferred(reason: str | None, egress: _Egress, options: ImportOptions) -> tuple[Inferred, ...]:
    found = []
    if reason in _ENDED_BY:
        how = f"the session closed with {reason}"
        found.append(Inferred(field="/ended/by", value=_ENDED_BY[reason], how=how))
    if egress.start_ms is not None and options.recording_started_ms is None:
        how = "egress times are taken as nanoseconds from 1970"
        started = instant_text(egress.start_ms)
        found.append(Inferred(field="/started_at", value=started, how=how))
    return tuple(found)


IMPORTER = Importer(
    name="livekit",
    holds="a session report",
    patterns=("*session_report*.json",),
    calls=calls,
    draft=draft,
    recorders=_RECORDERS,
)
