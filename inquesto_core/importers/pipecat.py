"""Pipecat: the LLM context of a call in OpenAI's form, beside what its audio buffer recorded.

There is no record of a call; what is read is a list of messages, or an object with `messages`. They
carry no times of speech. A result is a placeholder while a tool runs: ``IN_PROGRESS`` is missing,
``CANCELLED`` is cancelled, ``COMPLETED`` is done without a result. Two channels of the audio buffer
are user left and bot right; its default is a mix, and its two tracks are files of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import Inferred, ToolCall, TranscriptTurn
from inquesto_core.errors import Problem
from inquesto_core.importers.draft import Draft, ImportOptions, Side, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of
from inquesto_core.importers.stages import reported_stages, stage_duration
from inquesto_core.importers.tool_calls import Result, paired, parsed_result, requested, status_note

if TYPE_CHECKING:
    from inquesto_core.bundle import ReportedStages
    from inquesto_core.bundle.call import Speaker, ToolStatus

__all__ = ["IMPORTER", "read_messages"]

AUDIO_BUFFER, TRACKS = "audio-buffer", "tracks"
_RECORDERS = {
    AUDIO_BUFFER: "the audio buffer's two channels: user left, bot right (the default)",
    TRACKS: "the audio buffer's two tracks: NAME_user.wav and NAME_bot.wav",
}
_ROLES = {
    "user": "caller",
    "assistant": "agent",
    "system": "other",
    "developer": "other",
    "tool": "result",
}
_PLACEHOLDERS: dict[str, ToolStatus] = {
    "IN_PROGRESS": "missing",
    "COMPLETED": "ok",
    "CANCELLED": "cancelled",
}
#: What the names of Pipecat's services hold.
_SERVICES = {"recognition": "STTService", "model": "LLMService", "synthesis": "TTSService"}
#: Whose track bears which name.
_NAMES: dict[Side, str] = {"caller": "user", "agent": "bot"}
_NO_SPEECH = frozenset({"image_url", "input_audio", "file"})


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the one call in a document: its messages, or what holds them."""
    return (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a context says."""
    about = None if isinstance(call.value, list) else call
    messages = call.rows() if about is None else about.need("messages").rows()
    stated = None if about is None else about.label("call_id") or about.label("session_id")
    call_id = stated or export.stem
    how = "the name of the export's file"
    turns, tools, problems = read_messages(messages, options)
    return Draft(
        call_id=call_id,
        platform="pipecat",
        tracks=_tracks(call_id, about, options),
        agent_name=None if about is None else about.label("agent"),
        tools=tools,
        turns=turns,
        stages=None if about is None else _stages(about.rows("latency_breakdowns")),
        facts=known_facts({}, None if about is None else about.get("metadata")),
        inferred=(
            *(() if stated else (Inferred(field="/call_id", value=call_id, how=how),)),
            *status_note("Pipecat", tools),
        ),
        problems=problems,
    )


def _stages(breakdowns: Sequence[Node]) -> ReportedStages | None:
    """Return the latencies of each answer: the caller's turn released, and each service's TTFB.

    Of several services of a kind in one answer, the first tells.
    """
    told: dict[str, list[int | None]] = {"endpointing": [], **{name: [] for name in _SERVICES}}
    for row in breakdowns:
        told["endpointing"].append(stage_duration(row.get("user_turn_secs"), "s"))
        first: dict[str, int | None] = {}
        for inner in row.rows("ttfb"):
            named = inner.text("processor") or ""
            kind = next((stage for stage, word in _SERVICES.items() if word in named), None)
            if kind is not None:
                first.setdefault(kind, stage_duration(inner.get("duration_secs"), "s"))
        for stage in _SERVICES:
            told[stage].append(first.get(stage))
    return reported_stages("pipecat", told)


def _tracks(call_id: str, about: Node | None, options: ImportOptions) -> tuple[Track, ...]:
    named = None if about is None else about.text("recording")
    if options.recorder == TRACKS:
        return tuple(_own_track(call_id, side) for side in _NAMES)
    known_by = "Pipecat's audio buffer has the user left and the bot right"
    return (Track(names=() if named is None else (named,), caller=0, agent=1, known_by=known_by),)


def _own_track(call_id: str, side: Side) -> Track:
    name = _NAMES[side]
    names = (f"{call_id}_{name}.wav", f"{name}_{call_id}.wav", f"{name}_audio.wav")
    return Track(names=names, side=side, known_by="Pipecat writes both tracks from one start")


def read_messages(
    messages: Sequence[Node], options: ImportOptions
) -> tuple[tuple[TranscriptTurn, ...], tuple[ToolCall, ...], tuple[Problem, ...]]:
    """Return what messages in OpenAI's form say: turns, tool calls with results, warnings."""
    turns: list[TranscriptTurn] = []
    tools: list[ToolCall] = []
    results: list[Result] = []
    problems: list[Problem] = []
    for row in messages:
        meaning = role_of(row, "role", _ROLES, options)
        if meaning == "result":
            results.append(_result(row))
        if meaning not in {"caller", "agent"}:
            continue
        speaker: Speaker = "caller" if meaning == "caller" else "agent"
        text = _content(row)
        if text:
            turns.append(TranscriptTurn(speaker=speaker, text=text))
        for inner in row.rows("tool_calls"):
            tool, told = requested(
                inner,
                call_id=inner.label("id"),
                name=inner.needed_text("function", "name"),
                arguments=inner.get("function", "arguments"),
            )
            tools.append(tool)
            problems += told
    told_calls, unmatched = paired(tools, results)
    return tuple(turns), told_calls, (*problems, *unmatched)


def _content(row: Node) -> str:
    """Return what a message says; a part of another vendor's form is refused, not passed over."""
    node = row.get("content")
    if node is None or isinstance(node.value, str):
        return "" if node is None else str(node.value)
    said = []
    for part in node.rows():
        kind = part.needed_text("type")
        if kind == "text":
            said.append(part.text("text") or "")
        elif kind not in _NO_SPEECH:
            part.refuse(
                f"is a part of type {part.need('type').shown()}",
                "messages in OpenAI's form",
                "export the context with its messages converted to OpenAI's form",
            )
    return "\n".join(said)


def _result(row: Node) -> Result:
    text = _content(row)
    status = _PLACEHOLDERS.get(text)
    return Result(
        row=row,
        id=row.label("tool_call_id"),
        value=parsed_result(text) if text and status is None else None,
        status=status or "unknown",
    )


IMPORTER = Importer(
    name="pipecat",
    holds="a list of messages, or an object with messages,",
    patterns=("*.json",),
    calls=calls,
    draft=draft,
    recorders=_RECORDERS,
)
