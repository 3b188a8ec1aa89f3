"""OpenAI Realtime: the log of a session's server and client events, one a line.

Events carry no wall clock, and their audio times count what was written to a buffer: none is read.
Order is that of the items (`previous_item_id`), as a transcript can arrive after its answer. The
``done`` event of arguments is sent for interrupted calls too: a call whose item is not completed is
cancelled, one without an output is missing. Of a reply that was cut off it is known when, not at
which word. Who is on which channel was decided by whoever recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import Inferred, ToolCall, TranscriptTurn
from inquesto_core.errors import Problem
from inquesto_core.importers.draft import Draft, ImportOptions, Track
from inquesto_core.importers.fields import Node
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.tool_calls import Result, paired, parsed_result, requested, status_note

if TYPE_CHECKING:
    from inquesto_core.bundle.call import Speaker

__all__ = ["IMPORTER"]

_ITEM_EVENTS = frozenset(
    {
        "conversation.item.created",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.create",
        "response.output_item.added",
        "response.output_item.done",
    }
)
_HEARD = frozenset({"conversation.item.input_audio_transcription.completed"})
_SAID = frozenset({"response.audio_transcript.done", "response.output_audio_transcript.done"})
_ARGUMENTS = "response.function_call_arguments.done"
_TRUNCATED = frozenset({"conversation.item.truncated", "conversation.item.truncate"})
_SPEAKERS: dict[str, Speaker] = {"user": "caller", "assistant": "agent"}
_STOPPED = frozenset({"incomplete", "cancelled", "failed"})


@dataclass
class _Log:
    """What the events say of each item, by its id, in the order of the conversation."""

    order: list[str] = field(default_factory=list)
    items: dict[str, Node] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, Node] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    results: list[Result] = field(default_factory=list)
    unheard: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    session: Node | None = None


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the one session that a log is."""
    return (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a session's log says."""
    log = _read(call)
    stated = None if log.session is None else log.session.label("id")
    call_id = stated or export.stem
    tools, problems = _tools(log)
    model = None if log.session is None else log.session.text("model")
    return Draft(
        call_id=call_id,
        platform="openai-realtime",
        tracks=(Track(),),
        agent_config={} if model is None else {"model": model},
        tools=tools,
        turns=tuple(_turns(log)),
        inferred=(*_inferred(call_id, stated, log), *status_note("OpenAI", tools)),
        problems=problems,
    )


def _read(call: Node) -> _Log:
    log = _Log()
    for event in call.rows():
        kind = event.needed_text("type")
        if kind in {"session.created", "session.updated"}:
            log.session = log.session or event.get("session")
        elif kind in _ITEM_EVENTS:
            _item(log, event)
        elif kind in _HEARD | _SAID:
            log.texts[event.needed_text("item_id")] = event.text("transcript") or ""
        elif kind == _ARGUMENTS:
            log.arguments[event.needed_text("item_id")] = event
        elif kind in _TRUNCATED:
            _cut(log, event)
    return log


def _item(log: _Log, event: Node) -> None:
    item = event.need("item")
    if item.text("type") == "function_call_output":
        output = item.get("output")
        value = parsed_result(None if output is None else output.value)
        result = Result(row=item, id=item.needed_text("call_id"), value=value)
        log.results.append(result)
        return
    item_id = item.text("id")
    if item_id is None:
        return  # the client's own request; the server answers with the item and its id
    if item_id not in log.items:
        before = event.text("previous_item_id")
        at = log.order.index(before) + 1 if before in log.order else len(log.order)
        log.order.insert(at, item_id)
    log.items[item_id] = item
    if item.text("status") in _STOPPED:
        log.stopped.add(item_id)


def _cut(log: _Log, event: Node) -> None:
    item_id, end = event.needed_text("item_id"), event.get("audio_end_ms")
    log.cut.add(item_id)
    if end is not None and end.value == 0:
        log.unheard.add(item_id)


def _turns(log: _Log) -> list[TranscriptTurn]:
    turns = []
    for item_id in log.order:
        item = log.items[item_id]
        speaker = _SPEAKERS.get(item.text("role") or "")
        if item.text("type") != "message" or speaker is None:
            continue
        text = log.texts.get(item_id) or _content(item)
        if text:
            heard = "" if item_id in log.unheard else None
            turns.append(TranscriptTurn(speaker=speaker, text=text, heard_text=heard))
    return turns


def _content(item: Node) -> str:
    parts = [part.text("transcript") or part.text("text") or "" for part in item.rows("content")]
    return "\n".join(part for part in parts if part)


def _tools(log: _Log) -> tuple[tuple[ToolCall, ...], tuple[Problem, ...]]:
    tools: list[ToolCall] = []
    problems: list[Problem] = []
    unlisted = [item_id for item_id in log.arguments if item_id not in log.items]
    for item_id in (*log.order, *unlisted):
        item, done = log.items.get(item_id), log.arguments.get(item_id)
        if done is None and (item is None or item.text("type") != "function_call"):
            continue
        row: Node = item or done  # type: ignore[assignment]
        arguments = (done.get("arguments") if done else None) or row.get("arguments")
        call_id = row.label("call_id") or (done.label("call_id") if done else None)
        name = row.label("name") or (done.label("name") if done else None)
        if name is None:
            row.refuse("has no name", "the tool's name, in the item or in its arguments' event")
        tool, told = requested(row, call_id=call_id, name=name, arguments=arguments)
        tools.append(_stopped(tool) if item_id in log.stopped else tool)
        problems += told
    told_calls, unmatched = paired(tools, log.results)
    return told_calls, (*problems, *unmatched)


def _stopped(tool: ToolCall) -> ToolCall:
    said: dict[str, Any] = {"arguments": tool.arguments, "raw_arguments": tool.raw_arguments}
    return ToolCall(position=0, id=tool.id, name=tool.name, status="cancelled", **said)


def _inferred(call_id: str, stated: str | None, log: _Log) -> tuple[Inferred, ...]:
    found = []
    if stated is None:
        how = "the name of the export's file"
        found.append(Inferred(field="/call_id", value=call_id, how=how))
    if log.cut - log.unheard:
        how = "replies that were cut off stand as planned: nobody says at which word"
        found.append(Inferred(field="/transcript/turns/heard_text", value=len(log.cut), how=how))
    return tuple(found)


IMPORTER = Importer(
    name="openai-realtime",
    holds="a session's events",
    patterns=("*.jsonl", "*.ndjson"),
    calls=calls,
    draft=draft,
    is_log=True,
)
