"""The slow, obvious oracle of the diagnostics: docs/protocol.md, "Diagnostics", call by call.

Takes the timeline that `timeline_loop` builds; shares nothing with ``inquesto_core``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from timeline_loop import Interval, Limits, Reply, Timeline

#: ``(start, end)`` of a tool call; None where the trace does not say.
ToolTimes = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """What is measured of one call, rows in the columns of the tables, times in order."""

    barge_ins: list[tuple[int, int, int, str, str | None, int | None]]
    silences: list[tuple[int, int, int, str, bool | None]]
    tool_results: list[tuple[int, int, str, int | None]]
    tool_in_wait: list[bool | None]
    talk: tuple[int, int, int]


def measure_diagnostics(
    line: Timeline,
    window: Interval,
    limits: Limits,
    end_call_times: Sequence[int],
    tools: Sequence[ToolTimes] | None,
) -> Diagnostics:
    """Return the diagnostics of a call; `tools` is None where there is no trace."""
    return Diagnostics(
        barge_ins=find_barge_ins(line, window, limits),
        silences=find_silences(line, window, limits, end_call_times, tools),
        tool_results=find_tool_results(line, window, tools or ()),
        tool_in_wait=[tool_in_wait(reply, window, tools) for reply in line.replies],
        talk=measure_talk(line),
    )


def turn_at(line: Timeline, time: int) -> int:
    """Return the place of the agent turn under way at a time."""
    return next(k for k, turn in enumerate(line.turns) if turn.start <= time < turn.end)


def find_barge_ins(
    line: Timeline, window: Interval, limits: Limits
) -> list[tuple[int, int, int, str, str | None, int | None]]:
    """Return utterance, turn, end of the agent's group, kind, outcome and yield time."""
    rows = []
    for position, (utterance, reply) in enumerate(zip(line.utterances, line.replies, strict=True)):
        s, e = utterance.start, utterance.end
        for group in line.groups:
            if not (group.start < s < group.end) or reply.status == "simultaneous":
                continue
            kind = "backchannel" if e - s <= limits.backchannel_max_ms else "attempt"
            outcome: str | None = "yielded"
            if group.end >= e + limits.overrun_ms:
                outcome = "kept"
            elif group.end == window[1]:
                outcome = None
            yield_ms = group.end - s if outcome == "yielded" else None
            rows.append((position, turn_at(line, s), group.end, kind, outcome, yield_ms))
    return rows


def ran(since: int, until: int, window: Interval, tools: Sequence[ToolTimes] | None) -> bool | None:
    """Return whether a tool call ran in ``[since, until)``; None where that is not known."""
    if tools is None:
        return None
    for start, end in tools:
        if start is None:
            continue
        stop = start + 1 if end is None else max(end, start + 1)
        low = max(start, window[0], since)
        high = min(stop, window[1], until)
        if low < high:
            return True
    return None if any(start is None for start, _ in tools) else False


def tool_in_wait(reply: Reply, window: Interval, tools: Sequence[ToolTimes] | None) -> bool | None:
    """Return whether a tool call ran between the clock's start and what ended the wait."""
    if reply.status in ("overlapped", "simultaneous"):
        return None
    if reply.status == "replied" and reply.clock_ms is None:  # over the caller's end: no wait
        return ran(reply.end, reply.end, window, tools)
    clock = reply.clock_ms
    took = reply.waited_ms if reply.latency_ms is None else reply.latency_ms
    assert clock is not None
    assert took is not None
    return ran(clock, clock + took, window, tools)


def find_silences(
    line: Timeline,
    window: Interval,
    limits: Limits,
    end_call_times: Sequence[int],
    tools: Sequence[ToolTimes] | None,
) -> list[tuple[int, int, int, str, bool | None]]:
    """Return turn, start, end, outcome and whether a tool call ran, of every long silence."""
    rows = []
    for group in line.groups:
        since = group.end
        speaks = any(each.start <= since < each.end for each in line.utterances)
        is_over = any(time <= since for time in end_call_times)
        if speaks or is_over:
            continue
        ends = [(each.start, 0, "agent_spoke") for each in line.groups if each.start >= since]
        ends += [(each.start, 1, "caller_spoke") for each in line.utterances if each.start >= since]
        ends += [(time, 2, "agent_hung_up") for time in end_call_times if time < window[1]]
        until, _, outcome = min(ends, default=(window[1], 3, "call_ended"))
        length = until - since
        is_long = length > limits.slow_turn_ms
        if outcome == "call_ended":
            is_long = length >= limits.slow_turn_ms
        if is_long:
            turn = turn_at(line, group.start)
            rows.append((turn, since, until, outcome, ran(since, until, window, tools)))
    return rows


def find_tool_results(
    line: Timeline, window: Interval, tools: Sequence[ToolTimes]
) -> list[tuple[int, int, str, int | None]]:
    """Return position, time, outcome and first sound of every result in the window."""
    results = [
        (end, position)
        for position, (_, end) in enumerate(tools)
        if end is not None and window[0] <= end < window[1]
    ]
    rows = []
    for end, position in results:
        outcome, onset = what_follows(line, end)
        if outcome == "spoke":
            assert onset is not None
            if any(
                end_position > (end, position) and end_position[0] <= onset
                for end_position in results
            ):
                outcome = "later_result"
        first = onset - end if outcome == "spoke" and onset is not None else None
        rows.append((position, end, outcome, first))
    return rows


def what_follows(line: Timeline, at: int) -> tuple[str, int | None]:
    """Return what is heard at or first after a result, and the agent's next onset."""
    onset = min((group.start for group in line.groups if group.start >= at), default=None)
    said = min((each.start for each in line.utterances if each.start >= at), default=None)
    if any(group.start < at < group.end for group in line.groups):
        return "agent_speaking", onset
    for each in line.utterances:
        if each.start < at < each.end and (onset is None or each.end <= onset):
            return "caller_first", onset
    if onset is not None and (said is None or onset <= said):
        return "spoke", onset
    return ("no_sound" if said is None else "caller_first"), onset


def measure_talk(line: Timeline) -> tuple[int, int, int]:
    """Return how long the caller, the agent, and both at once sound."""
    caller = [ipu for each in line.utterances for ipu in each.ipus]
    agent = [ipu for each in line.groups for ipu in each.ipus]
    shared = 0
    for start, end in caller:
        for low, high in agent:
            shared += max(0, min(end, high) - max(start, low))
    return (
        sum(end - start for start, end in caller),
        sum(end - start for start, end in agent),
        shared,
    )
