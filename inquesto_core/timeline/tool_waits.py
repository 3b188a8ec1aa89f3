"""Tool calls on the axis: whether one ran in a wait, and when the agent was heard after one.

A tool call runs over ``[start, end)``, at least 1 ms; one without an end is its start. Tools that
end or hand over the call are left out: nothing is said after those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from inquesto_core.timeline.axis import FAR, Spans, places, rows_of, unite

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


def _numbers(frame: pl.DataFrame, name: str) -> tuple[Int, Bool]:
    """Return a column, 0 where it is null, and where it is not."""
    column = frame[name].cast(pl.Int64)
    return column.fill_null(0).to_numpy(), column.is_not_null().to_numpy()


def tool_axis(
    timed: pl.DataFrame, tools: pl.DataFrame, *, base: Int, window_from: Int, window_to: Int
) -> ToolAxis:
    """Return the tool calls of all calls that have a window.

    Parameters
    ----------
    timed : polars.DataFrame
        ``has_trace``, one row a call in order of the axis.
    tools : polars.DataFrame
        ``call`` (index on the axis), ``position``, ``start_ms`` and ``end_ms`` of the tool calls
        that count.
    base, window_from, window_to : int64 array of shape (calls,), axis ms
    """
    (owner, _), (position, _) = _numbers(tools, "call"), _numbers(tools, "position")
    (since, is_timed), (until, has_end) = _numbers(tools, "start_ms"), _numbers(tools, "end_ms")
    untimed = np.bincount(owner[~is_timed], minlength=len(base)) > 0
    call = owner[is_timed]
    last = np.maximum(np.where(has_end, until, since), since + 1)[is_timed]
    start = np.maximum(base[call] + since[is_timed], window_from[call])
    end = np.minimum(base[call] + last, window_to[call])
    order = np.lexsort((start, call))
    ended = base[owner] + until
    inside = has_end & (ended >= window_from[owner]) & (ended < window_to[owner])
    owner, position, ended = owner[inside], position[inside], ended[inside]
    in_turn = np.lexsort((position, ended))
    return ToolAxis(
        running=unite(call[order], start[order], end[order]),
        is_whole=timed["has_trace"].fill_null(value=False).to_numpy() & ~untimed,
        call=owner[in_turn],
        position=position[in_turn],
        ended=ended[in_turn],
    )


def ran_within(tools: ToolAxis, since: Int, until: Int) -> Bool:
    """Return whether a tool call ran in each stretch ``[since, until)`` of one call."""
    last = places(tools.running.start, until, side="left") - 1
    ends = np.append(tools.running.end, -FAR)
    return np.asarray((ends[last] > since) & (until > since))


def find_tool_results(floor: Floor, tools: ToolAxis) -> ToolResults:
    """Return when the agent was first heard after each result, or what came before that."""
    at, call = tools.ended, tools.call
    onset, agent_end = _around(floor.groups, at)
    said, caller_end = _around(floor.utterances, at)
    window_end = floor.window_to[call]
    is_heard = (onset <= said) & (onset < window_end)
    is_followed = np.zeros(len(at), dtype=bool)
    is_followed[:-1] = (call[1:] == call[:-1]) & (at[1:] <= onset[:-1])
    outcome = np.select(
        [
            agent_end > at,
            (caller_end > at) & (caller_end <= onset),
            is_heard & is_followed,
            is_heard,
            said < window_end,
        ],
        [AGENT_SPEAKING, CALLER_FIRST, LATER_RESULT, SPOKE, CALLER_FIRST],
        default=NO_SOUND,
    )
    return ToolResults(outcome=outcome.astype(np.int8), first_sound_ms=onset - at)


def _around(spans: Spans, at: Int) -> tuple[Int, Int]:
    """Return when the next interval begins from each point on, and when the one before it ends."""
    following = places(spans.start, at, side="left")
    return np.append(spans.start, FAR)[following], np.append(spans.end, -FAR)[following - 1]
