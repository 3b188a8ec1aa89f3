"""Deepgram Voice Agent: the log of a conversation's events, one a line.

Events carry no time and the vendor stores no sound: both are the logger's. A response to a function
call may lack its id; it then belongs to the first call of its name that has none. `History` repeats
what other events said and is read only where they are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import Inferred, ToolCall, TranscriptTurn
from inquesto_core.errors import Problem
from inquesto_core.importers.draft import Draft, ImportOptions, Track
from inquesto_core.importers.fields import Node
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of
from inquesto_core.importers.stages import reported_stages, stage_duration
from inquesto_core.importers.tool_calls import Result, paired, parsed_result, requested, status_note

if TYPE_CHECKING:
    from inquesto_core.bundle import ReportedStages
    from inquesto_core.bundle.call import Speaker

__all__ = ["IMPORTER"]

_STAGES = {"recognition": "stt_latency", "model": "ttt_text_latency", "synthesis": "tts_latency"}
_ROLES: dict[str, Speaker] = {"user": "caller", "assistant": "agent"}


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the one conversation that a log is."""
    return (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a conversation's log says."""
    by_type: dict[str, list[Node]] = {}
    for event in call.rows():
        by_type.setdefault(event.needed_text("type"), []).append(event)
    stated = next((row.label("request_id") for row in by_type.get("Welcome", ())), None)
    call_id = stated or export.stem
    how = "the name of the export's file"
    tools, problems = _tools(by_type)
    said = by_type.get("ConversationText") or [
        row for row in by_type.get("History", ()) if row.get("role") is not None
    ]
    return Draft(
        call_id=call_id,
        platform="deepgram-agent",
        tracks=(Track(),),
        tools=tools,
        turns=tuple(
            TranscriptTurn(speaker=speaker, text=row.text("content") or "")
            for row in said
            if (speaker := role_of(row, "role", _ROLES, options)) is not None
        ),
        stages=_stages(by_type.get("LatencyReport", ())),
        inferred=(
            *(() if stated else (Inferred(field="/call_id", value=call_id, how=how),)),
            *status_note("Deepgram", tools),
        ),
        problems=problems,
    )


def _stages(reports: Sequence[Node]) -> ReportedStages | None:
    """Return what the reports of latency say; the vendor tells nothing of endpointing."""
    told = {
        stage: [stage_duration(row.get(name), "s") for row in reports]
        for stage, name in _STAGES.items()
    }
    return reported_stages("deepgram-agent", told)


def _tools(by_type: dict[str, list[Node]]) -> tuple[tuple[ToolCall, ...], tuple[Problem, ...]]:
    asked = [
        inner
        for event in by_type.get("FunctionCallRequest", ())
        for inner in event.rows("functions")
    ]
    results = [_result(row, "content") for row in by_type.get("FunctionCallResponse", ())]
    if not asked:
        asked = [
            inner for event in by_type.get("History", ()) for inner in event.rows("function_calls")
        ]
        results = [_result(row, "response") for row in asked if row.get("response") is not None]
    tools: list[ToolCall] = []
    problems: list[Problem] = []
    for row in asked:
        tool, told = requested(
            row,
            call_id=row.label("id"),
            name=row.needed_text("name"),
            arguments=row.get("arguments"),
        )
        tools.append(tool)
        problems += told
    told_calls, unmatched = paired(tools, results)
    return told_calls, (*problems, *unmatched)


def _result(row: Node, key: str) -> Result:
    node = row.get(key)
    value = parsed_result(None if node is None else node.value)
    return Result(row=row, id=row.label("id"), name=row.label("name"), value=value)


IMPORTER = Importer(
    name="deepgram-agent",
    holds="a conversation's events",
    patterns=("*.jsonl", "*.ndjson"),
    calls=calls,
    draft=draft,
    is_log=True,
)
