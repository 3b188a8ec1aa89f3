"""tau2 voice: one simulation, beside the stereo file of its audio.

Time runs in ticks of a stated length, not by the wall clock: a tool call's time is its tick's place
in the list times that length. `both.wav` has the user left and the assistant right; it is looked
for in `artifacts/` as the simulator lays it down, and beside the export. Texts come in pieces a
tick; pieces of one side in a row are one turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import Ended, Inferred, ToolCall, TranscriptTurn
from inquesto_core.errors import Problem
from inquesto_core.importers.clock import milliseconds
from inquesto_core.importers.draft import Draft, ImportOptions, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node
from inquesto_core.importers.recordings import is_plain_file, last_part
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.tool_calls import (
    Result,
    paired,
    parsed_result,
    requested,
    status_of,
)

if TYPE_CHECKING:
    from inquesto_core.bundle.call import EndedBy, Speaker

__all__ = ["IMPORTER"]

_ENDED_BY: dict[str, EndedBy] = {
    "user_stop": "caller",
    "agent_stop": "agent",
    "max_steps": "system",
    "too_many_errors": "system",
    "timeout": "system",
}
_CHUNKS: tuple[tuple[str, Speaker], ...] = (("agent_chunk", "agent"), ("user_chunk", "caller"))


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the simulations in a document."""
    if isinstance(document.value, list):
        return document.rows()
    if document.get("simulations") is not None:
        return document.rows("simulations")
    return (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a simulation says."""
    call_id, task = call.needed_text("id"), call.needed_text("task_id")
    ticks = call.rows("ticks")
    tick_ms = _tick_ms(ticks)
    tools, problems = _tools(ticks, tick_ms)
    folder = _audio_folder(export, task, call_id)
    reason = call.label("termination_reason")
    trial = call.count("trial")
    how = f"termination_reason is {reason}"
    return Draft(
        call_id=call_id,
        platform="tau2",
        tracks=(
            Track(
                names=("both.wav",) if folder is not None else (f"sim_{call_id}.wav",),
                folder=folder,
                caller=0,
                agent=1,
                known_by="tau2 writes the user left and the assistant right",
            ),
        ),
        ended=Ended(by=_ENDED_BY.get(reason or "", "unknown"), reason=reason),
        tools=tools,
        turns=_turns(ticks),
        scenario={} if trial is None else {"trial": trial},
        facts=known_facts({"tag.task": (task,)}),
        inferred=(Inferred(field="/ended/by", value=_ENDED_BY[reason], how=how),)
        if reason in _ENDED_BY
        else (),
        problems=problems,
    )


def _audio_folder(export: Path, task: str, call_id: str) -> Path | None:
    """Return where the simulator lays a simulation's sound, if it lies there."""
    parts = (f"task_{task}", f"sim_{call_id}")
    if any(last_part(part) != part for part in parts):
        return None
    folder = export.parent.parent.joinpath("artifacts", *parts, "audio")
    return folder if is_plain_file(folder / "both.wav") else None


def _tick_ms(ticks: Sequence[Node]) -> int | None:
    """Return the length that every tick states; None where they differ or do not say."""
    nodes = [tick.get("tick_duration_seconds") for tick in ticks]
    lengths = {None if node is None else milliseconds(node, "s") for node in nodes}
    return lengths.pop() if len(lengths) == 1 else None


def _turns(ticks: Sequence[Node]) -> tuple[TranscriptTurn, ...] | None:
    pieces: list[TranscriptTurn] = []
    for tick in ticks:
        for key, speaker in _CHUNKS:
            text = tick.text(key, "content")
            if not text:
                continue
            if pieces and pieces[-1].speaker == speaker:
                pieces[-1] = replace(pieces[-1], text=pieces[-1].text + text)
            else:
                pieces.append(TranscriptTurn(speaker=speaker, text=text))
    return tuple(pieces) if ticks else None


def _tools(
    ticks: Sequence[Node], tick_ms: int | None
) -> tuple[tuple[ToolCall, ...] | None, tuple[Problem, ...]]:
    if not ticks:
        return None, ()
    tools: list[ToolCall] = []
    results: list[Result] = []
    problems: list[Problem] = []
    for number, tick in enumerate(ticks):
        at_ms = None if tick_ms is None else number * tick_ms
        for row in tick.rows("agent_tool_calls"):
            tool, told = requested(
                row,
                call_id=row.label("id"),
                name=row.needed_text("name"),
                arguments=row.get("arguments"),
                start_ms=at_ms,
            )
            tools.append(tool)
            problems += told
        for row in tick.rows("agent_tool_results"):
            content = row.get("content")
            results.append(
                Result(
                    row=row,
                    id=row.label("id"),
                    value=parsed_result(None if content is None else content.value),
                    status=status_of(has_failed=row.flag("error")),
                    end_ms=at_ms,
                )
            )
    told_calls, unmatched = paired(tools, results)
    return told_calls, (*problems, *unmatched)


IMPORTER = Importer(name="tau2", holds="a simulation", calls=calls, draft=draft)
