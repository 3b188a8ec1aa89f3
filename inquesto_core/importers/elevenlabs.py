"""ElevenLabs Agents: a conversation as the API returns it, or the post-call webhook around it.

Times are whole seconds: too coarse for anything that is measured here, so they are left out, and
order alone is kept. The vendor's recording mixes both sides; whoever recorded the call on two
channels names that file. Where a turn was cut off, `message` is what was heard of
`original_message`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import Ended, Inferred, ToolCall, TranscriptTurn
from inquesto_core.errors import Problem
from inquesto_core.importers.clock import instant_ms, milliseconds, second_text
from inquesto_core.importers.costs import cost_left_out
from inquesto_core.importers.draft import Draft, ImportOptions, ToldLength, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node, problem_at
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of
from inquesto_core.importers.tool_calls import Result, paired, parsed_result, requested, status_of

if TYPE_CHECKING:
    from inquesto_core.bundle.call import Speaker

__all__ = ["IMPORTER"]

_ROLES = {"user": "caller", "agent": "agent"}
_REPORTS = {"post_call_transcription": "report"}
_END_CALL = "end_call"
_CREDITS = "metadata.cost counts credits, whose price the export does not tell"
_TRANSFERS = frozenset({"transfer_to_number"})
_NOT_PERFORMED = frozenset({"cancelled", "missing", "error"})


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the conversations in a document; of a webhook's body, the one in it."""
    if isinstance(document.value, list):
        return document.rows()
    data = document.get("data")
    if data is None:
        return (document,)
    role_of(document, "type", _REPORTS, options)
    return (data,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a conversation says."""
    rows = call.rows("transcript")
    about = call.get("metadata")
    started_ms, ended_ms = _moments(about)
    tools, problems = _tools(rows)
    cost = None if about is None else about.get("cost")
    is_told = call.get("transcript") is not None
    performed = {tool.name for tool in tools if tool.status not in _NOT_PERFORMED}
    return Draft(
        call_id=call.needed_text("conversation_id"),
        platform="elevenlabs",
        tracks=(Track(ask="record the sides apart: the vendor's own recording is a mix"),),
        agent_name=call.label("agent_name") or call.label("agent_id"),
        direction=call.label("metadata", "phone_call", "direction"),
        started_at=started_ms,
        ended_at=ended_ms,
        ended=Ended(
            by="agent" if _END_CALL in performed else "unknown",
            reason=_short(call.text("metadata", "termination_reason")),
        ),
        tools=tools if is_told else None,
        turns=_turns(rows, options) if is_told else None,
        facts=_facts(call),
        lengths=_lengths(about),
        timing_reasons=("transfer_time_unknown",) if performed & _TRANSFERS else (),
        inferred=(*_inferred(performed), *cost_left_out(cost, _CREDITS)),
        problems=(*problems, *_coarse(rows)),
    )


def _moments(about: Node | None) -> tuple[str | None, str | None]:
    """Return when the call began and ended, in whole seconds."""
    start = None if about is None else about.get("start_time_unix_secs")
    if about is None or start is None:
        return None, None
    started_ms, length = instant_ms(start, "s"), about.get("call_duration_secs")
    end = None if length is None else second_text(started_ms + milliseconds(length, "s"))
    return second_text(started_ms), end


def _lengths(about: Node | None) -> tuple[ToldLength, ...]:
    told = None if about is None else about.get("call_duration_secs")
    if told is None:
        return ()
    length_ms = milliseconds(told, "s")
    field = "metadata/call_duration_secs"
    return (ToldLength(field=field, shown=told.shown(), unit="seconds", length_ms=length_ms),)


def _short(text: str | None) -> str | None:
    shown = "".join(c for c in text or "" if c.isprintable())[:200].strip()
    return shown or None


def _facts(call: Node) -> dict[str, tuple[str, ...]]:
    phone = call.get("metadata", "phone_call")
    numbers = () if phone is None else (phone.text("external_number"), phone.text("agent_number"))
    said = {"agent_id": (call.text("agent_id"),), "number": numbers}
    return known_facts(said, call.get("conversation_initiation_client_data", "dynamic_variables"))


def _turns(rows: Sequence[Node], options: ImportOptions) -> tuple[TranscriptTurn, ...]:
    turns = []
    for row in rows:
        meaning = role_of(row, "role", _ROLES, options)
        heard, planned = row.text("message"), row.text("original_message")
        if meaning is None or not (heard or planned):
            continue  # skipped, or a row of tool data alone
        speaker: Speaker = "caller" if meaning == "caller" else "agent"
        was_cut = planned is not None and planned != heard
        turns.append(
            TranscriptTurn(
                speaker=speaker,
                text=planned or heard or "",
                heard_text=(heard or "") if was_cut else None,
            )
        )
    return tuple(turns)


def _tools(rows: Sequence[Node]) -> tuple[tuple[ToolCall, ...], tuple[Problem, ...]]:
    tools: list[ToolCall] = []
    results: list[Result] = []
    problems: list[Problem] = []
    for row in rows:
        for inner in row.rows("tool_calls"):
            tool, told = requested(
                inner,
                call_id=inner.label("request_id"),
                name=inner.needed_text("tool_name"),
                arguments=inner.get("params_as_json"),
            )
            was_called = inner.flag("tool_has_been_called")
            tools.append(_uncalled(tool) if was_called is False else tool)
            problems += told
        for inner in row.rows("tool_results"):
            value = inner.get("result_value")
            results.append(
                Result(
                    row=inner,
                    id=inner.label("request_id"),
                    name=inner.label("tool_name"),
                    value=parsed_result(None if value is None else value.value),
                    status=status_of(has_failed=inner.flag("is_error")),
                )
            )
    told_calls, unmatched = paired(tools, results)
    return told_calls, (*problems, *unmatched)


def _uncalled(tool: ToolCall) -> ToolCall:
    return ToolCall(
        position=tool.position,
        id=tool.id,
        name=tool.name,
        arguments=tool.arguments,
        raw_arguments=tool.raw_arguments,
        status="cancelled",
    )


def _coarse(rows: Sequence[Node]) -> tuple[Problem, ...]:
    timed = [row for row in rows if row.get("time_in_call_secs") is not None]
    if not timed:
        return ()
    problem = problem_at(
        timed[0].need("time_in_call_secs"),
        code="times_left_out",
        found=f"is the first of {len(timed)} times in whole seconds; they are left out",
        expected="milliseconds",
        remedy="the order is kept; tool waits cannot be told",
        level="warning",
    )
    return (problem,)


def _inferred(performed: set[str]) -> tuple[Inferred, ...]:
    if _END_CALL not in performed:
        return ()
    return (Inferred(field="/ended/by", value="agent", how=f"it called {_END_CALL}"),)


IMPORTER = Importer(
    name="elevenlabs", holds="a conversation or post-call report", calls=calls, draft=draft
)
