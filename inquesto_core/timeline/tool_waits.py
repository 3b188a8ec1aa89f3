"""Tool calls on the axis: whether one ran in a wait, and when the agent was heard after one.

A tool call runs over ``[start, end)``, at least 1 ms; one without an end is its start. Tools that
end or hand over the call are left out: nothing is said after those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from inquesto_core.timeline.axis import FAR, Spans, covering, first_from, rows_of, unite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.timeline.build import Floor

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]

__all__ = [
    "RESULT_OUTCOMES",
    "SPOKE",
    "ToolAxis",
    "ToolResults",
    "find_tool_results",
    "ran_within",
    "tool_axis",
]

RESULT_OUTCOMES = ("spoke", "agent_speaking", "caller_first", "later_result", "no_sound")
SPOKE, AGENT_SPEAKING, CALLER_FIRST, LATER_RESULT, NO_SOUND = range(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAxis:
    """Tool calls of all calls on one axis, cut to the windows.

    Parameters
    ----------
    running : Spans
        When some tool call of a call ran.
    is_whole : bool array of shape (calls,)
        There is a trace, and each of its tool calls has a start.
    call, position, ended : int64 arrays, axis ms
        One row a tool call that ended in the window, sorted by end, then position.
    """

    running: Spans
    is_whole: Bool
    call: Int
    position: Int
    ended: Int

    def of(self, calls: Int, shift: Int) -> ToolAxis:
        """Return those of some calls, moved by `shift`, in their order and as often as named."""
        rows, place = rows_of(self.call, calls)
        return ToolAxis(
            running=self.running.of(calls, shift),
            is_whole=self.is_whole[calls],
            call=place,
            position=self.position[rows],
            ended=self.ended[rows] + shift[place],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResults:
    """One row a tool call that ended in the window.

    Parameters
    ----------
    outcome : int8 array
        Index into `RESULT_OUTCOMES`.
    first_sound_ms : int64 array
        From the end of the tool call to the next agent onset; holds where the outcome is `SPOKE`.
    """

    outcome: NDArray[np.int8]
    first_sound_ms: Int


def _numbers(frame: pl.DataFrame, name: str) -> Int:
    return frame[name].cast(pl.Int64).to_numpy().astype(np.int64, copy=False)


def tool_axis(
    timed: pl.DataFrame, tools: pl.DataFrame, *, base: Int, window_from: Int, window_to: Int
) -> ToolAxis:
    """Return the tool calls of all calls that have a window.

    Parameters
    ----------
    timed : polars.DataFrame
        ``call`` (index on the axis) and ``has_trace``, one row a call in order of the axis.
    tools : polars.DataFrame
        ``call``, ``position``, ``start_ms`` and ``end_ms`` of the tool calls that count.
    base, window_from, window_to : int64 array of shape (calls,), axis ms
    """
    placed = tools.filter(pl.col("start_ms").is_not_null()).with_columns(
        end_ms=pl.max_horizontal(
            pl.col("end_ms").fill_null(pl.col("start_ms")), pl.col("start_ms") + 1
        )
    )
    call = _numbers(placed, "call")
    start = np.maximum(base[call] + _numbers(placed, "start_ms"), window_from[call])
    end = np.minimum(base[call] + _numbers(placed, "end_ms"), window_to[call])
    order = np.lexsort((start, call))
    untimed = tools.filter(pl.col("start_ms").is_null())["call"].unique()
    is_whole = timed.select(
        pl.col("has_trace").fill_null(value=False) & ~pl.col("call").is_in(untimed.implode())
    )
    returned = tools.filter(pl.col("end_ms").is_not_null()).sort("call", "end_ms", "position")
    owner = _numbers(returned, "call")
    ended = base[owner] + _numbers(returned, "end_ms")
    inside = (ended >= window_from[owner]) & (ended < window_to[owner])
    return ToolAxis(
        running=unite(call[order], start[order], end[order]),
        is_whole=is_whole.to_series().to_numpy(),
        call=owner[inside],
        position=_numbers(returned, "position")[inside],
        ended=ended[inside],
    )


def ran_within(tools: ToolAxis, since: Int, until: Int) -> Bool:
    """Return whether a tool call ran in each stretch ``[since, until)`` of one call."""
    last = np.searchsorted(tools.running.start, until, side="left") - 1
    ends = np.append(tools.running.end, -FAR)
    return np.asarray((ends[last] > since) & (until > since))


def find_tool_results(floor: Floor, tools: ToolAxis) -> ToolResults:
    """Return when the agent was first heard after each result, or what came before that."""
    at, call = tools.ended, tools.call
    onset = first_from(floor.groups.start, at)
    said = first_from(floor.utterances.start, at)
    their_end = np.append(floor.utterances.end, FAR)[covering(floor.utterances, at)]
    window_end = floor.window_to[call]
    is_heard = (onset <= said) & (onset < window_end)
    is_followed = np.zeros(len(at), dtype=bool)
    is_followed[:-1] = (call[1:] == call[:-1]) & (at[1:] <= onset[:-1])
    outcome = np.select(
        [
            _under_way(floor.groups, at),
            _under_way(floor.utterances, at) & (their_end <= onset),
            is_heard & is_followed,
            is_heard,
            said < window_end,
        ],
        [AGENT_SPEAKING, CALLER_FIRST, LATER_RESULT, SPOKE, CALLER_FIRST],
        default=NO_SOUND,
    )
    return ToolResults(outcome=outcome.astype(np.int8), first_sound_ms=onset - at)


def _under_way(spans: Spans, at: Int) -> Bool:
    """Return whether an interval began before each point and goes on past it."""
    return np.asarray(np.append(spans.start, FAR)[covering(spans, at)] < at)
