"""The timeline of every call from the evidence tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from inquesto_core.timeline.axis import Spans, axis_span, places, rows_of, unite
from inquesto_core.timeline.build import Floor, build_floor
from inquesto_core.timeline.replies import (
    Latencies,
    Replies,
    TalkOvers,
    find_replies,
    find_talk_overs,
    sorted_latencies,
)
from inquesto_core.timeline.tool_waits import ToolAxis, tool_axis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.timeline.limits import Limits

    Int = NDArray[np.int64]

__all__ = ["CallAxis", "Timeline", "call_axis", "measure_timeline"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAxis:
    """What the timeline is measured from: all calls' sound on one axis.

    Parameters
    ----------
    call_ids : polars.Series
        Calls that have a window, sorted; the index into it is a row's ``call``.
    base : int64 array of shape (calls,), axis ms
        Where a call's millisecond 0 stands.
    span_ms : int
        How far it is from there to the next call's.
    caller, agent : Spans
    window_from, window_to, end_call : int64 arrays, axis ms
        Windows of shape (calls,); starts of end-of-call and transfer tools in them, sorted.
    tools : ToolAxis
        Every other tool call.
    """

    call_ids: pl.Series
    base: Int
    span_ms: int
    caller: Spans
    agent: Spans
    window_from: Int
    window_to: Int
    end_call: Int
    tools: ToolAxis

    def __len__(self) -> int:
        """Return the number of calls."""
        return len(self.base)

    def of(self, calls: Int) -> CallAxis:
        """Return an axis of some calls, by index, in their order and as often as named."""
        base = np.arange(len(calls), dtype=np.int64) * self.span_ms
        shift = base - self.base[calls]
        ends, place = rows_of(self.end_call // self.span_ms, calls)
        return CallAxis(
            call_ids=self.call_ids.gather(calls),
            base=base,
            span_ms=self.span_ms,
            caller=self.caller.of(calls, shift),
            agent=self.agent.of(calls, shift),
            window_from=self.window_from[calls] + shift,
            window_to=self.window_to[calls] + shift,
            end_call=self.end_call[ends] + shift[place],
            tools=self.tools.of(calls, shift),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Who held the floor, which turns began inside an utterance, what became of each utterance."""

    axis: CallAxis
    floor: Floor
    talk_overs: TalkOvers
    replies: Replies
    latencies: Latencies


def _column(frame: pl.DataFrame, name: str) -> Int:
    return frame[name].cast(pl.Int64).to_numpy().astype(np.int64, copy=False)


def _of_timed(frame: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    """Return the rows of timed calls, with ``call``, the index on the axis, for their ids."""
    known, wanted = ids.to_numpy(), frame["call_id"].to_numpy()
    call = places(known, wanted, side="left")
    is_timed = places(known, wanted, side="right") > call
    rows = frame.drop("call_id").with_columns(call=call)
    return rows if is_timed.all() else rows.filter(is_timed)


def _side(segments: pl.DataFrame, channel: str, base: Int) -> Spans:
    rows = np.flatnonzero(segments["channel"] == channel)
    call = _column(segments, "call")[rows]
    start, end = (base[call] + _column(segments, name)[rows] for name in ("start_ms", "end_ms"))
    if np.any(start[1:] < start[:-1]):
        order = np.argsort(start, kind="stable")
        call, start, end = call[order], start[order], end[order]
    return unite(call, start, end)


def call_axis(
    calls: pl.DataFrame,
    segments: pl.DataFrame,
    tool_calls: pl.DataFrame,
    *,
    end_tools: tuple[str, ...],
    reach_ms: int,
) -> CallAxis:
    """Return the sound of all calls that have a window, laid on one axis.

    Parameters
    ----------
    calls, segments, tool_calls : evidence tables of those names
        Rejected segments are no speech and left out.
    end_tools : tuple of str
        Names of end-of-call and transfer tools.
    reach_ms : int
        More than any limit bridges, limits moved by the uncertainty included.
    """
    timed = calls.filter(pl.col("window_to_ms").is_not_null()).sort("call_id")
    ids = timed["call_id"]
    is_speech = pl.col("rejected").is_null()
    spoken = _of_timed(
        segments.filter(is_speech).select("call_id", "channel", "start_ms", "end_ms"), ids
    )
    ends_call = pl.col("name").is_in(list(end_tools))
    told = tool_calls.select("call_id", "position", "start_ms", "end_ms", ends_call=ends_call)
    ends = _of_timed(told.filter("ends_call", pl.col("start_ms").is_not_null()), ids)
    tools = _of_timed(told.filter(~pl.col("ends_call")), ids)
    last = max(
        _column(timed, "window_to_ms").max(initial=0),
        _column(spoken, "end_ms").max(initial=0),
        _column(ends, "start_ms").max(initial=0),
    )
    span = axis_span(int(last), reach_ms)
    base = np.arange(timed.height, dtype=np.int64) * span
    window_from = base + _column(timed, "window_from_ms")
    window_to = base + _column(timed, "window_to_ms")
    ended = np.sort(base[_column(ends, "call")] + _column(ends, "start_ms"))
    owner = places(base, ended, side="right") - 1
    ended = ended[(window_from[owner] <= ended) & (ended < window_to[owner])]
    return CallAxis(
        call_ids=ids,
        base=base,
        span_ms=span,
        caller=_side(spoken, "caller", base),
        agent=_side(spoken, "agent", base),
        window_from=window_from,
        window_to=window_to,
        end_call=ended,
        tools=tool_axis(
            timed,
            tools,
            base=base,
            window_from=window_from,
            window_to=window_to,
        ),
    )


def measure_timeline(axis: CallAxis, limits: Limits) -> Timeline:
    """Return the timeline of all calls under `limits`."""
    floor = build_floor(
        caller=axis.caller,
        agent=axis.agent,
        window_from=axis.window_from,
        window_to=axis.window_to,
        limits=limits,
    )
    replies = find_replies(floor, limits, end_call=axis.end_call)
    return Timeline(
        axis=axis,
        floor=floor,
        talk_overs=find_talk_overs(floor, limits),
        replies=replies,
        latencies=sorted_latencies(floor, replies),
    )
