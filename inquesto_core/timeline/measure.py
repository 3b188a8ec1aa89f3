"""The timeline of every call from the evidence tables, and back into tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from inquesto_core.evidence import TABLES
from inquesto_core.timeline.axis import FAR, Spans, axis_span, unite
from inquesto_core.timeline.build import Floor, build_floor
from inquesto_core.timeline.replies import (
    CENSORED,
    NO_REPLY,
    REPLIED,
    STATUSES,
    Replies,
    TalkOvers,
    find_replies,
    find_talk_overs,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.timeline.limits import Limits

    Int = NDArray[np.int64]

__all__ = ["CallAxis", "Timeline", "call_axis", "measure_timeline", "timeline_tables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAxis:
    """What the timeline is measured from: all calls' sound on one axis.

    Parameters
    ----------
    call_ids : polars.Series of String
        Calls that have a window, sorted; the index into it is a row's ``call``.
    base : int64 array of shape (calls,), axis ms
        Where a call's millisecond 0 stands.
    caller, agent : Spans
    window_from, window_to, end_call : int64 arrays, axis ms
        Windows of shape (calls,); starts of end-of-call and transfer tools, sorted.
    """

    call_ids: pl.Series
    base: Int
    caller: Spans
    agent: Spans
    window_from: Int
    window_to: Int
    end_call: Int

    def __len__(self) -> int:
        """Return the number of calls."""
        return len(self.base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Who held the floor, which turns began inside an utterance, what became of each utterance."""

    axis: CallAxis
    floor: Floor
    talk_overs: TalkOvers
    replies: Replies


def _column(frame: pl.DataFrame, name: str) -> Int:
    return frame[name].cast(pl.Int64).to_numpy().astype(np.int64, copy=False)


def _side(segments: pl.DataFrame, channel: str, base: Int) -> Spans:
    rows = segments.filter(pl.col("channel") == channel).sort("call", "start_ms", "end_ms")
    call = _column(rows, "call")
    return unite(call, base[call] + _column(rows, "start_ms"), base[call] + _column(rows, "end_ms"))


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
    index = timed.select("call_id", call=pl.int_range(pl.len(), dtype=pl.Int64))
    spoken = segments.filter(pl.col("rejected").is_null()).join(index, on="call_id")
    ends = tool_calls.filter(
        pl.col("name").is_in(list(end_tools)) & pl.col("start_ms").is_not_null()
    ).join(index, on="call_id")
    last = max(
        _column(timed, "window_to_ms").max(initial=0),
        _column(spoken, "end_ms").max(initial=0),
        _column(ends, "start_ms").max(initial=0),
    )
    base = np.arange(timed.height, dtype=np.int64) * axis_span(int(last), reach_ms)
    return CallAxis(
        call_ids=timed["call_id"],
        base=base,
        caller=_side(spoken, "caller", base),
        agent=_side(spoken, "agent", base),
        window_from=base + _column(timed, "window_from_ms"),
        window_to=base + _column(timed, "window_to_ms"),
        end_call=np.sort(base[_column(ends, "call")] + _column(ends, "start_ms")),
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
    return Timeline(
        axis=axis,
        floor=floor,
        talk_overs=find_talk_overs(floor, limits),
        replies=find_replies(floor, limits, end_call=axis.end_call),
    )


def _positions(call: Int) -> Int:
    """Return each row's place among its call's rows (rows are sorted by call)."""
    if len(call) == 0:
        return call
    first = np.flatnonzero(np.concatenate([[True], call[1:] != call[:-1]]))
    return np.arange(len(call)) - np.repeat(first, np.diff(np.append(first, len(call))))


def _frame(name: str, ids: pl.Series, call: Int, columns: dict[str, object]) -> pl.DataFrame:
    data = {"call_id": ids.gather(call), **columns}
    return pl.DataFrame(data, schema=TABLES[name])


def _span_table(name: str, axis: CallAxis, spans: Spans) -> pl.DataFrame:
    base = axis.base[spans.call]
    columns: dict[str, object] = {
        "position": _positions(spans.call),
        "start_ms": spans.start - base,
        "end_ms": spans.end - base,
        "voiced_ms": spans.voiced,
    }
    return _frame(name, axis.call_ids, spans.call, columns)


def _known(values: Int, mask: NDArray[np.bool_]) -> pl.Series:
    return pl.Series(values, dtype=pl.Int64).zip_with(
        pl.Series(mask), pl.Series([None], dtype=pl.Int64).new_from_index(0, len(values))
    )


def timeline_tables(timeline: Timeline) -> dict[str, pl.DataFrame]:
    """Return ``utterances``, ``turns``, ``replies`` and ``talk_overs`` of a timeline."""
    axis, floor = timeline.axis, timeline.floor
    said, turns, found = floor.utterances, floor.turns, timeline.talk_overs
    base = axis.base[said.call]
    status, value = timeline.replies.status, timeline.replies.value_ms
    waited = (status == NO_REPLY) | (status == CENSORED)
    clock = timeline.replies.clock
    replies: dict[str, object] = {
        "utterance": _positions(said.call),
        "start_ms": said.start - base,
        "end_ms": said.end - base,
        "status": pl.Series(list(STATUSES), dtype=pl.String).gather(status.astype(np.int64)),
        "clock_ms": _known(clock - base, clock != FAR),
        "latency_ms": _known(value, status == REPLIED),
        "waited_ms": _known(value, waited),
    }
    call = turns.call[found.turn]
    talk_overs: dict[str, object] = {
        "turn": _positions(turns.call)[found.turn],
        "utterance": _positions(said.call)[found.utterance],
        "at_ms": turns.start[found.turn] - axis.base[call],
        "caller_end_ms": said.end[found.utterance] - axis.base[call],
        "value_ms": found.value_ms,
        "kind": pl.Series(["over_speech", "cut_in"]).gather(found.cut_in.astype(np.int64)),
        "short": found.short,
        "simultaneous": found.simultaneous,
        "counted": found.counted,
    }
    return {
        "utterances": _span_table("utterances", axis, said),
        "turns": _span_table("turns", axis, turns),
        "replies": _frame("replies", axis.call_ids, said.call, replies),
        "talk_overs": _frame("talk_overs", axis.call_ids, call, talk_overs),
    }
