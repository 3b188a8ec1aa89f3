"""Vapi: a call object, a list of them, or the end-of-call report that a webhook receives.

Times are `secondsFromStart`. `time`, `endTime` and `duration` are not read as speech: the caller's
rows run on a clock of their own, `endTime` lies far behind the last word, and the unit of
`duration` differs between documentation and payloads. Tool calls carry no sign of success; their
status is ``unknown`` where a result came and ``missing`` where none did. That the stereo file has
the customer first is said by third parties, not by the vendor; so is that its first sample lies at
`startedAt`. Both are written down as inferred. Without the stereo file the two sides' own files are
taken, and without these the mix, in which nobody can tell who talks over whom.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import Ended, Inferred, ToolCall, TranscriptTurn
from inquesto_core.errors import Problem
from inquesto_core.importers.clock import instant_ms, instant_text, milliseconds
from inquesto_core.importers.costs import cost_note, cost_tags
from inquesto_core.importers.draft import Draft, ImportOptions, ToldLength, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node, problem_at
from inquesto_core.importers.plausible import untimed
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of
from inquesto_core.importers.stages import reported_stages, stage_duration
from inquesto_core.importers.tool_calls import Result, paired, parsed_result, requested, status_note

if TYPE_CHECKING:
    from inquesto_core.bundle import ReportedStages
    from inquesto_core.bundle.call import EndedBy, Speaker

__all__ = ["IMPORTER"]

#: Both clocks of a call may lie this far apart; further, the turns' times are left out.
_MAX_SKEW_MS = 250

_SIDES: tuple[Speaker, Speaker] = ("caller", "agent")
_STARTED = "the recording is taken to begin at startedAt"

_ROLES = {
    "user": "caller",
    "bot": "agent",
    "assistant": "agent",
    "ai": "agent",
    "system": "system",
    "tool_calls": "request",
    "tool_call_result": "result",
    "tool": "result",
}
_ENDED_BY: dict[str, EndedBy] = {
    "customer-ended-call": "caller",
    "assistant-ended-call": "agent",
    "assistant-ended-call-after-message-spoken": "agent",
    "assistant-ended-call-with-hangup-task": "agent",
    "assistant-said-end-call-phrase": "agent",
    "assistant-forwarded-call": "agent",
    "silence-timed-out": "system",
    "exceeded-max-duration": "system",
    "manually-canceled": "system",
}
#: Of a turn's latencies; that they are milliseconds is said of their averages.
_STAGES = {
    "endpointing": "endpointingLatency",
    "recognition": "transcriberLatency",
    "model": "modelLatency",
    "synthesis": "voiceLatency",
}
_FORWARDED = "assistant-forwarded-call"
_FAILED = frozenset({"error", "cancelled"})
_END_CALL, _TRANSFER = frozenset({"endCall", "end_call_tool"}), frozenset({"transferCall"})


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the calls in a document; of a webhook's body, the report in it."""
    if isinstance(document.value, list):
        return document.rows()
    if document.get("results") is not None:
        return document.rows("results")
    return (document.get("message") or document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a call object says."""
    about = call.get("call") or call
    artifact = call.get("artifact") or about.get("artifact") or call
    stereo, *others = _recordings(artifact, call)
    messages = artifact.rows("messages") or call.rows("messages")
    started_ms, ended_ms = _instant(call, about, "startedAt"), _instant(call, about, "endedAt")
    tools, problems = _tools(messages, options)
    turns, skew = _turns(messages, started_ms, options)
    reason = call.label("endedReason") or about.label("endedReason")
    ends = _ends(tools, reason)
    cost = call.get("cost") or about.get("cost")
    lengths: tuple[ToldLength, ...] = ()
    if started_ms is not None and ended_ms is not None:
        ends.append((ended_ms - started_ms, "the hang-up (endedAt)"))
        lengths = (_length(call, about, ended_ms - started_ms),)
    return Draft(
        call_id=about.needed_text("id"),
        platform="vapi",
        tracks=stereo,
        other_tracks=tuple(others),
        agent_name=_agent_name(call, about),
        agent_config=_config(call.get("assistant") or about.get("assistant")),
        direction=_direction(about),
        started_at=None if started_ms is None else instant_text(started_ms),
        ended_at=None if ended_ms is None else instant_text(ended_ms),
        ended=Ended(by=_ENDED_BY.get(reason or "", "unknown"), reason=reason),
        tools=tools,
        turns=turns,
        stages=_stages(artifact, call),
        facts=_facts(call, about),
        ended_ms=tuple(ends),
        lengths=lengths,
        turn_times=("messages/secondsFromStart", "seconds"),
        tags=cost_tags(cost),
        timing_reasons=_timing_reasons(reason, ends),
        inferred=(
            *_inferred(reason, tools),
            *cost_note(cost, "cost is in US dollars, as Vapi says"),
        ),
        problems=(*problems, *skew),
    )


def _stages(artifact: Node, call: Node) -> ReportedStages | None:
    """Return the latencies that Vapi reports of each turn."""
    turns = artifact.rows("performanceMetrics", "turnLatencies") or call.rows(
        "performanceMetrics", "turnLatencies"
    )
    told = {
        stage: [stage_duration(turn.get(name), "ms") for turn in turns]
        for stage, name in _STAGES.items()
    }
    return reported_stages("vapi", told)


def _instant(call: Node, about: Node, name: str) -> int | None:
    node = call.get(name) or about.get(name)
    return None if node is None else instant_ms(node, "iso")


def _length(call: Node, about: Node, length_ms: int) -> ToldLength:
    ended = call.get("endedAt") or about.need("endedAt")
    return ToldLength(
        field="endedAt", shown=ended.shown(), unit="an instant with its zone", length_ms=length_ms
    )


def _recordings(artifact: Node, call: Node) -> tuple[tuple[Track, ...], ...]:
    """Return what Vapi gives, the best first: the stereo file, a file of each side, the mix."""
    stereo = (
        artifact.text("recording", "stereoUrl"),
        artifact.text("stereoRecordingUrl"),
        call.text("stereoRecordingUrl"),
    )
    mixed = (
        _mono(artifact, "combinedUrl"),
        artifact.text("recordingUrl"),
        call.text("recordingUrl"),
    )
    sides = (_mono(artifact, "customerUrl"), _mono(artifact, "assistantUrl"))
    apart = tuple(
        Track(names=_given(name), side=side, started_by=f"{_STARTED}, as the other side's file is")
        for side, name in zip(_SIDES, sides, strict=True)
    )
    return (
        (
            Track(
                names=_given(*stereo),
                caller=0,
                agent=1,
                known_by="Vapi's stereo file has the customer first, as third parties say",
                started_by=_STARTED,
            ),
        ),
        *([apart] if all(sides) else []),
        *([(Track(names=_given(*mixed), started_by=_STARTED),)] if any(mixed) else []),
    )


def _mono(artifact: Node, name: str) -> str | None:
    mono = artifact.get("recording", "mono")
    return mono.text(name) if mono is not None and isinstance(mono.value, dict) else None


def _given(*names: str | None) -> tuple[str, ...]:
    return tuple(name for name in names if name)


def _agent_name(call: Node, about: Node) -> str | None:
    for node in (call, about):
        name = node.label("assistant", "name") or node.label("assistantId")
        if name is not None:
            return name
    return None


def _config(assistant: Node | None) -> dict[str, Any]:
    if assistant is None:
        return {}
    found = {
        "model": assistant.text("model", "model"),
        "tts": assistant.text("voice", "voiceId"),
        "stt": assistant.text("transcriber", "model"),
        "language": assistant.text("transcriber", "language"),
    }
    return {name: value for name, value in found.items() if value}


def _direction(about: Node) -> str | None:
    known = {"inboundPhoneCall": "inbound", "outboundPhoneCall": "outbound", "webCall": "web"}
    kind = about.label("type")
    return None if kind is None else known.get(kind, kind)


def _facts(call: Node, about: Node) -> dict[str, tuple[str, ...]]:
    numbers = (
        about.text("customer", "number") or call.text("customer", "number"),
        about.text("phoneNumber", "number") or call.text("phoneNumber", "number"),
    )
    said = {
        "number": numbers,
        "agent_id": (about.text("assistantId"),),
        "direction": (_direction(about),),
    }
    return known_facts(said, about.get("metadata"))


def _at(row: Node) -> int | None:
    node = row.get("secondsFromStart")
    return None if node is None else milliseconds(node, "s")


def _turns(
    messages: Sequence[Node], started_ms: int | None, options: ImportOptions
) -> tuple[tuple[TranscriptTurn, ...] | None, tuple[Problem, ...]]:
    """Return the spoken rows, and that the caller's clock is too far off, if it is."""
    turns = []
    skews: list[tuple[int, Node]] = []
    for row in messages:
        meaning = role_of(row, "role", _ROLES, options)
        if meaning not in {"caller", "agent"}:
            continue
        at_ms, instant = _at(row), row.get("time")
        if meaning == "caller" and at_ms is not None and instant is not None and started_ms:
            skews.append((milliseconds(instant, "ms") - at_ms - started_ms, row))
        text = row.text("message") or row.text("content") or ""
        speaker: Speaker = "caller" if meaning == "caller" else "agent"
        turns.append(TranscriptTurn(speaker=speaker, text=text, start_ms=at_ms))
    if not messages:
        return None, ()
    skews.sort(key=lambda skew: skew[0])
    skew_ms, row = skews[len(skews) // 2] if skews else (0, messages[0])
    if abs(skew_ms) <= _MAX_SKEW_MS:
        return tuple(turns), ()
    return tuple(map(untimed, turns)), (_clocks_apart(row, skew_ms, started_ms or 0),)


def _clocks_apart(row: Node, skew_ms: int, started_ms: int) -> Problem:
    """Return that a row's two times disagree, and which of them is in another unit, if one is."""
    time, after = row.need("time"), row.need("secondsFromStart")
    time_ms, after_ms = milliseconds(time, "ms"), milliseconds(after, "s")
    unit = "check both fields' units"
    if abs(time_ms * 1000 - after_ms - started_ms) <= 1000:
        unit = "time would fit in seconds"
    elif abs(time_ms - after_ms // 1000 - started_ms) <= _MAX_SKEW_MS:
        unit = "secondsFromStart would fit in milliseconds"
    return problem_at(
        row,
        code="times_left_out",
        found=f"has secondsFromStart = {after.shown()}, read in seconds, and time = "
        f"{time.shown()}, read in milliseconds from 1970: {skew_ms} ms apart",
        expected=f"one instant by both, to within {_MAX_SKEW_MS} ms",
        remedy=f"the times of all turns are left out; {unit}; timing is measured from the "
        "recording",
        level="warning",
    )


def _tools(
    messages: Sequence[Node], options: ImportOptions
) -> tuple[tuple[ToolCall, ...] | None, tuple[Problem, ...]]:
    if not messages:
        return None, ()
    tools: list[ToolCall] = []
    results: list[Result] = []
    problems: list[Problem] = []
    for row in messages:
        meaning = role_of(row, "role", _ROLES, options)
        if meaning == "request":
            for inner in row.rows("toolCalls") or row.rows("tool_calls"):
                tool, told = requested(
                    inner,
                    call_id=inner.label("id"),
                    name=inner.needed_text("function", "name"),
                    arguments=inner.get("function", "arguments"),
                    start_ms=_at(row),
                )
                tools.append(tool)
                problems += told
        elif meaning == "result":
            results.append(
                Result(
                    row=row,
                    id=row.label("toolCallId") or row.label("tool_call_id"),
                    name=row.label("name"),
                    value=parsed_result(_value(row)),
                    end_ms=_at(row),
                )
            )
    told_calls, unmatched = paired(tools, results)
    return told_calls, (*problems, *unmatched)


def _value(row: Node) -> Any:
    node = row.get("result") or row.get("content")
    return None if node is None else node.value


def _ends(tools: Sequence[ToolCall] | None, reason: str | None) -> list[tuple[int, str]]:
    """Return when a tool ended the call for this agent: it hung up, or forwarded the caller."""
    closing = _END_CALL | (_TRANSFER if reason == _FORWARDED else frozenset())
    last = [
        tool
        for tool in tools or ()
        if tool.name in closing and tool.start_ms is not None and tool.status not in _FAILED
    ]
    return [(tool.start_ms or 0, f"the tool call {tool.name}") for tool in last[-1:]]


def _timing_reasons(reason: str | None, ends: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    is_known = any("transferCall" in what for _, what in ends)
    return ("transfer_time_unknown",) if reason == _FORWARDED and not is_known else ()


def _inferred(reason: str | None, tools: Sequence[ToolCall] | None) -> tuple[Inferred, ...]:
    found = []
    if reason in _ENDED_BY:
        how = f"endedReason is {reason}"
        found.append(Inferred(field="/ended/by", value=_ENDED_BY[reason], how=how))
    return (*found, *status_note("Vapi", tools))


IMPORTER = Importer(
    name="vapi", holds="a call object or end-of-call report", calls=calls, draft=draft
)
