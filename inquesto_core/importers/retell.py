"""Retell: a call object, a list of them, or the body of a webhook.

Which channel of the two-channel recording is whose is documented nowhere: the user says it. Words
carry times from the start of the sound, which the vendor calls approximate; tool rows have none and
keep their place in the order. The scrubbed transcript is preferred; a scrubbed recording, where it
is all there is, has no timing, as silence stands for words. What a transfer's target says is not
the agent's; the scored window closes where it begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import Ended, Inferred, ToolCall, TranscriptTurn, Word
from inquesto_core.errors import Problem
from inquesto_core.importers.clock import instant_ms, instant_text, milliseconds
from inquesto_core.importers.costs import cost_note, cost_tags
from inquesto_core.importers.draft import Draft, ImportOptions, ToldLength, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of
from inquesto_core.importers.stages import reported_stages, stage_duration
from inquesto_core.importers.tool_calls import Result, paired, parsed_result, requested, status_of

if TYPE_CHECKING:
    from inquesto_core.bundle import ReportedStages
    from inquesto_core.bundle.call import EndedBy, Speaker

__all__ = ["IMPORTER"]

_ROLES = {
    "agent": "agent",
    "user": "caller",
    "transfer_target": "target",
    "tool_call_invocation": "request",
    "tool_call_result": "result",
    "node_transition": "other",
    "dtmf": "other",
    "sms": "other",
    "injected": "other",
}
_ENDED_BY: dict[str, EndedBy] = {
    "user_hangup": "caller",
    "agent_hangup": "agent",
    "call_transfer": "agent",
    "inactivity": "system",
    "max_duration_reached": "system",
    "concurrency_limit_reached": "system",
    "voicemail_reached": "system",
}
_STAGES = {"recognition": "asr", "model": "llm", "synthesis": "tts"}
_TRANSFERRED = "call_transfer"
_CENTS = "call_cost.combined_cost is in cents, as Retell documents; taken for US cents"


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the calls in a document; of a webhook's body, the call in it."""
    if isinstance(document.value, list):
        return document.rows()
    return (document.get("call") or document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a call object says."""
    rows = _rows(call)
    started_ms, ended_ms = _instant(call, "start_timestamp"), _instant(call, "end_timestamp")
    tools, problems = _tools(rows, options)
    turns, target_ms, has_target = _turns(rows, options)
    reason = call.label("disconnection_reason")
    ends = [] if target_ms is None else [(target_ms, "the transfer's target speaking")]
    if started_ms is not None and ended_ms is not None:
        ends.append((ended_ms - started_ms, "the hang-up (end_timestamp)"))
    cost = call.get("call_cost", "combined_cost")
    was_transferred = has_target or reason == _TRANSFERRED
    is_unknown = was_transferred and target_ms is None
    return Draft(
        call_id=call.needed_text("call_id"),
        platform="retell",
        tracks=(_track(call),),
        agent_name=call.label("agent_name") or call.label("agent_id"),
        agent_config=_config(call),
        direction=call.label("direction") or call.label("call_type"),
        started_at=None if started_ms is None else instant_text(started_ms),
        ended_at=None if ended_ms is None else instant_text(ended_ms),
        ended=Ended(by=_ended_by(reason), reason=reason),
        tools=tools,
        turns=turns,
        stages=_stages(call),
        facts=_facts(call),
        ended_ms=tuple(ends),
        lengths=_lengths(call, started_ms, ended_ms),
        turn_times=("words/start and words/end", "seconds"),
        tags=cost_tags(cost, per_unit=100),
        timing_reasons=("transfer_time_unknown",) if is_unknown else (),
        inferred=(*_inferred(reason, ends), *cost_note(cost, _CENTS)),
        problems=problems,
    )


def _stages(call: Node) -> ReportedStages | None:
    """Return the values of each stage; of endpointing Retell tells nothing."""
    told = {
        stage: [stage_duration(value, "ms") for value in call.rows("latency", name, "values")]
        for stage, name in _STAGES.items()
    }
    return reported_stages("retell", told)


def _instant(call: Node, name: str) -> int | None:
    node = call.get(name)
    return None if node is None else instant_ms(node, "ms")


def _lengths(call: Node, started_ms: int | None, ended_ms: int | None) -> tuple[ToldLength, ...]:
    """Return how long the call was, by its duration and by its instants."""
    found = []
    told = call.get("duration_ms")
    if told is not None:
        found.append(_length("duration_ms", told.shown(), milliseconds(told, "ms")))
    if started_ms is not None and ended_ms is not None:
        shown = call.need("end_timestamp").shown()
        found.append(_length("end_timestamp", shown, ended_ms - started_ms))
    return tuple(found)


def _length(field: str, shown: str, length_ms: int) -> ToldLength:
    return ToldLength(field=field, shown=shown, unit="milliseconds", length_ms=length_ms)


def _rows(call: Node) -> tuple[Node, ...] | None:
    for name in (
        "scrubbed_transcript_with_tool_calls",
        "transcript_with_tool_calls",
        "transcript_object",
    ):
        if call.get(name) is not None:
            return call.rows(name)
    return None


def _track(call: Node) -> Track:
    whole = (call.text("recording_multi_channel_url"), call.text("recording_url"))
    scrubbed = (
        call.text("scrubbed_recording_multi_channel_url"),
        call.text("scrubbed_recording_url"),
    )
    return Track(
        names=tuple(name for name in (*whole, *scrubbed) if name),
        redacted_names=tuple(name for name in scrubbed if name),
    )


def _ended_by(reason: str | None) -> EndedBy:
    if reason is not None and reason.startswith(("error_", "dial_")):
        return "system"
    return _ENDED_BY.get(reason or "", "unknown")


def _config(call: Node) -> dict[str, Any]:
    found = {
        "agent_id": call.text("agent_id"),
        "agent_version": None if (node := call.get("agent_version")) is None else node.value,
    }
    return {name: value for name, value in found.items() if value is not None}


def _facts(call: Node) -> dict[str, tuple[str, ...]]:
    said = {
        "number": (call.text("from_number"), call.text("to_number")),
        "agent_id": (call.text("agent_id"),),
        "direction": (call.text("direction"),),
    }
    return known_facts(said, call.get("metadata"), call.get("retell_llm_dynamic_variables"))


def _words(row: Node) -> tuple[Word, ...]:
    words = []
    for inner in row.rows("words"):
        word = inner.text("word")
        if word:
            start, end = inner.get("start"), inner.get("end")
            words.append(
                Word(
                    word=word.strip(),
                    start_ms=None if start is None else milliseconds(start, "s"),
                    end_ms=None if end is None else milliseconds(end, "s"),
                )
            )
    return tuple(words)


def _turns(
    rows: Sequence[Node] | None, options: ImportOptions
) -> tuple[tuple[TranscriptTurn, ...] | None, int | None, bool]:
    """Return the spoken rows up to a transfer, when its target first speaks, and if it did."""
    if rows is None:
        return None, None, False
    turns: list[TranscriptTurn] = []
    for row in rows:
        meaning = role_of(row, "role", _ROLES, options)
        if meaning == "target":
            starts = [word.start_ms for word in _words(row) if word.start_ms is not None]
            return tuple(turns), min(starts, default=None), True
        if meaning not in {"agent", "caller"}:
            continue
        words = _words(row)
        starts = [word.start_ms for word in words if word.start_ms is not None]
        ends = [word.end_ms for word in words if word.end_ms is not None]
        speaker: Speaker = "caller" if meaning == "caller" else "agent"
        turns.append(
            TranscriptTurn(
                speaker=speaker,
                text=row.text("content") or "",
                start_ms=min(starts, default=None),
                end_ms=max(ends, default=None),
                words=words,
            )
        )
    return tuple(turns), None, False


def _tools(
    rows: Sequence[Node] | None, options: ImportOptions
) -> tuple[tuple[ToolCall, ...] | None, tuple[Problem, ...]]:
    """Return the tool calls; where the export lists utterances only, nobody knows of any."""
    if rows is None or (rows and "/transcript_object/" in rows[0].pointer):
        return None, ()
    tools: list[ToolCall] = []
    results: list[Result] = []
    problems: list[Problem] = []
    for row in rows:
        meaning = role_of(row, "role", _ROLES, options)
        if meaning == "request":
            tool, told = requested(
                row,
                call_id=row.label("tool_call_id"),
                name=row.needed_text("name"),
                arguments=row.get("arguments"),
            )
            tools.append(tool)
            problems += told
        elif meaning == "result":
            content, successful = row.get("content"), row.flag("successful")
            results.append(
                Result(
                    row=row,
                    id=row.label("tool_call_id"),
                    value=parsed_result(None if content is None else content.value),
                    status=status_of(has_failed=None if successful is None else not successful),
                )
            )
    told_calls, unmatched = paired(tools, results)
    return told_calls, (*problems, *unmatched)


def _inferred(reason: str | None, ends: Sequence[tuple[int, str]]) -> tuple[Inferred, ...]:
    found = [
        Inferred(
            field="/transcript/turns/words",
            value="s",
            how="word times count from the start of the sound; Retell calls them approximate",
        )
    ]
    if _ended_by(reason) != "unknown":
        how = f"disconnection_reason is {reason}"
        found.append(Inferred(field="/ended/by", value=_ended_by(reason), how=how))
    return tuple(found)


IMPORTER = Importer(name="retell", holds="a call object", calls=calls, draft=draft)
