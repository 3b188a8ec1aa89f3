"""A trace and a transcript of the user's own beside an export that has none.

They are the parts of a bundle, with one thing more: a tool call may bear `started_at` and
`ended_at` as instants, where it is said when the recording began. Marks that came back before their
sound can have been played are named and believed in nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core import schema
from inquesto_core.bundle.trace import build_trace
from inquesto_core.bundle.transcript import build_transcript
from inquesto_core.canonical import strict_json
from inquesto_core.errors import Problem, SchemaError
from inquesto_core.importers.clock import milliseconds, since
from inquesto_core.importers.exports import read_bytes
from inquesto_core.importers.fields import Node, problem_at
from inquesto_core.importers.recordings import is_plain_file, last_part

if TYPE_CHECKING:
    from inquesto_core.bundle import ToolCall, TranscriptTurn
    from inquesto_core.importers.draft import ImportOptions

__all__ = ["OwnParts", "own_parts"]

_INSTANTS = {"started_at": "start_ms", "ended_at": "end_ms"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnParts:
    """What lies beside an export; None = no such file."""

    tools: tuple[ToolCall, ...] | None = None
    turns: tuple[TranscriptTurn, ...] | None = None
    problems: tuple[Problem, ...] = ()


def own_parts(export: Path, names: tuple[str, ...], options: ImportOptions) -> OwnParts:
    """Return the trace and the transcript beside an export, by the first name that has one.

    Raises
    ------
    SchemaError
        One is there and is not what `docs/bundle.md` says.
    """
    problems: list[Problem] = []
    tools = turns = None
    trace = _part(export, names, "trace")
    if trace is not None:
        problems += _marks(trace)
        tools, told = _tools(trace, options)
        problems += told
    transcript = _part(export, names, "transcript")
    if transcript is not None:
        schema.validate(transcript.value, "transcript", file=transcript.file)
        read, told = build_transcript(transcript.value)
        turns = read.turns
        problems += [replace(problem, file=transcript.file) for problem in told]
    return OwnParts(tools=tools, turns=turns, problems=tuple(problems))


def _part(export: Path, names: tuple[str, ...], part: str) -> Node | None:
    for name in names:
        file = f"{name}.{part}.json"
        if last_part(file) == file and is_plain_file(export.parent / file):
            return Node(strict_json(read_bytes(export.parent / file, file), file=file), file)
    return None


def _tools(trace: Node, options: ImportOptions) -> tuple[tuple[ToolCall, ...], list[Problem]]:
    """Return the tool calls on the recording's clock; what was before it has negative times."""
    rows = []
    for row in trace.need("calls").rows():
        told = dict(row.members())
        for instant, at_ms in _INSTANTS.items():
            node = row.get(instant)
            told.pop(instant, None)
            if node is not None:
                told[at_ms] = _since_start(node, options)
        rows.append(told)
    times = [row[name] for row in rows for name in _INSTANTS.values() if _is_time(row.get(name))]
    offset_ms = min([0, *times])
    moved = [
        {
            name: value - offset_ms if _is_time(value) and name in _TIMES else value
            for name, value in row.items()
        }
        for row in rows
    ]
    value = {"calls": moved}
    schema.validate(value, "trace", file=trace.file)
    try:
        read, problems = build_trace(value, offset_ms=offset_ms)
    except SchemaError as exc:
        raise SchemaError(replace(exc.problem, file=trace.file)) from exc
    return read.calls, [replace(problem, file=trace.file) for problem in problems]


_TIMES = frozenset(_INSTANTS.values())


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _since_start(node: Node, options: ImportOptions) -> int:
    if options.recording_started_ms is None:
        raise SchemaError(
            problem_at(
                node,
                code="export_time",
                found="is an instant, and nothing says when the recording began to the millisecond",
                expected="--recording-started",
                remedy="say it, or give start_ms and end_ms from the recording's start",
            )
        )
    return since(node, "iso", options.recording_started_ms)


def _marks(trace: Node) -> list[Problem]:
    """Return a warning where marks came back before their sound can have been played."""
    members = trace.members()
    rows = trace.rows("marks")
    members.pop("marks", None)
    if not rows:
        return []
    played_ms = 0
    early = []
    for row in rows:
        at_ms = milliseconds(row.need("at_ms"), "ms")
        played_ms += milliseconds(row.need("chunk_ms"), "ms")
        if at_ms < played_ms:
            early.append(row)
    if not early:
        return []
    return [
        problem_at(
            early[0],
            code="marks_not_causal",
            found=f"came back before its sound was played, as did {len(early)} of {len(rows)}",
            expected="marks at or after the end of their sound",
            remedy="marks are not used: what was heard is measured from the recording",
            level="warning",
        )
    ]
