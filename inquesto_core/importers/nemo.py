"""NeMo labs voice agent: the result folder of one scenario; its `metrics.json` is the export.

`conversation_log.wav` has the user left and the agent right; the shorter side is padded at its end,
and noise may be mixed into the left. Ends of segments have been moved by 0.3 s and are not read.
Tool calls stand in the agent's context without times.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import Ended, Inferred, TranscriptTurn
from inquesto_core.importers.clock import milliseconds
from inquesto_core.importers.draft import Draft, ImportOptions, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node
from inquesto_core.importers.pipecat import read_messages
from inquesto_core.importers.record_folder import part_beside
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of
from inquesto_core.importers.tool_calls import status_note

if TYPE_CHECKING:
    from inquesto_core.bundle import ToolCall
    from inquesto_core.bundle.call import EndedBy, Speaker
    from inquesto_core.errors import Problem

__all__ = ["IMPORTER"]

_SEGMENTS = "conversation_log.seglst.json"
_CONTEXT = "bot_logs_agent/llm_context.json"
_ROLES: dict[str, Speaker] = {"user": "caller", "agent": "agent"}
_ENDED_BY: dict[str, EndedBy] = {"[EXIT]": "caller", "[TIMEOUT]": "system"}


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the one scenario that a `metrics.json` is of."""
    return (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a scenario's folder says."""
    scenario = call.needed_text("scenario_name")
    tools, problems = _tools(export, options)
    reason = call.label("stop_reason")
    how = f"stop_reason is {reason}"
    return Draft(
        call_id=f"{export.parent.parent.name}-{scenario}",
        platform="nemo",
        tracks=(
            Track(
                names=("conversation_log.wav",),
                caller=0,
                agent=1,
                known_by="the NeMo evaluation writes the user left and the agent right",
            ),
        ),
        ended=Ended(by=_ENDED_BY.get(reason or "", "unknown"), reason=reason),
        tools=tools,
        turns=_turns(export, options),
        facts=known_facts({"tag.scenario": (scenario,)}),
        inferred=(
            *status_note("the NeMo evaluation", tools),
            Inferred(field="/call_id", value=scenario, how="the run's folder and the scenario"),
            *(
                (Inferred(field="/ended/by", value=_ENDED_BY[reason], how=how),)
                if reason in _ENDED_BY
                else ()
            ),
        ),
        problems=problems,
    )


def _turns(export: Path, options: ImportOptions) -> tuple[TranscriptTurn, ...] | None:
    segments = part_beside(export, _SEGMENTS)
    if segments is None:
        return None
    turns = []
    for row in segments.rows():
        speaker, start = role_of(row, "speaker", _ROLES, options), row.get("start_time")
        if speaker is not None:
            start_ms = None if start is None else milliseconds(start, "s")
            turns.append(
                TranscriptTurn(speaker=speaker, text=row.text("words") or "", start_ms=start_ms)
            )
    return tuple(turns)


def _tools(
    export: Path, options: ImportOptions
) -> tuple[tuple[ToolCall, ...] | None, tuple[Problem, ...]]:
    context = part_beside(export, _CONTEXT)
    if context is None:
        return None, ()
    messages = context.rows() if isinstance(context.value, list) else context.rows("messages")
    _, tools, problems = read_messages(messages, options)
    return tools, problems


IMPORTER = Importer(
    name="nemo", holds="a scenario's metrics", patterns=("metrics.json",), calls=calls, draft=draft
)
