"""Silences that a protocol may count as a slow turn: waits for the agent, and dead air in its turn.

They are the two diagnostics ``longest_unanswered_ms`` and ``longest_dead_air_ms`` told one by one,
but for what an end-of-call or transfer tool explains: as for replies, such a tool from the
utterance's begin to ``end_call_censors_ms`` after its end leaves no wait, and once one has started
there is no dead air.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from inquesto_core.timeline.axis import FAR, first_from, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.timeline import Limits, Timeline

    Int = NDArray[np.int64]

__all__ = ["LongSilences", "find_long_silences", "silence_table"]


class LongSilences(NamedTuple):
    """Silences longer than ``silence_ms``, waits first, each kind in order of time.

    Parameters
    ----------
    call, start, value_ms : int64 arrays of shape (n,)
        ``start`` on the axis.
    place : int64 array of shape (n,)
        Index of the utterance that waits, or of the turn that holds the silence.
    waits : int
        How many of them are waits.
    """

    call: Int
    start: Int
    value_ms: Int
    place: Int
    waits: int


def find_long_silences(timeline: Timeline, limits: Limits) -> LongSilences:
    """Return the silences of more than ``silence_ms`` that are waits, and those in agent turns.

    A wait goes from the end of the first utterance of a run without an agent onset, while no agent
    group sounds, to the next onset or the window's end.
    """
    waits, dead = _waits(timeline, limits), _dead_air(timeline, limits)
    call, start, value_ms, place = (np.concatenate(pair) for pair in zip(waits, dead, strict=True))
    return LongSilences(call, start, value_ms, place, waits=len(waits[0]))


def _waits(timeline: Timeline, limits: Limits) -> tuple[Int, Int, Int, Int]:
    said, groups = timeline.floor.utterances, timeline.floor.groups
    index = timeline.replies.next_group
    silent = np.append(groups.end, -FAR)[index - 1] <= said.end
    onset = np.append(groups.start, FAR)[index]
    window_end = timeline.floor.window_to[said.call]
    until = np.minimum(onset, window_end)
    tool = first_from(timeline.axis.end_call, said.start)
    hung_up = (tool <= said.end + limits.end_call_censors_ms[said.call]) & (tool < until)
    wait = np.where(silent & ~hung_up, until - said.end, 0)
    found = np.flatnonzero(wait > limits.silence_ms[said.call])
    # Several utterances may wait for one onset: the first has waited longest.
    _, first = np.unique(np.stack([said.call[found], until[found]]), axis=1, return_index=True)
    kept = found[np.sort(first)]
    return said.call[kept], said.end[kept], wait[kept], kept


def _dead_air(timeline: Timeline, limits: Limits) -> tuple[Int, Int, Int, Int]:
    groups, axis = timeline.floor.groups, timeline.axis
    turn = timeline.floor.turn_of_group
    call, start, end = groups.call[1:], groups.end[:-1], groups.start[1:]
    before = np.append(axis.end_call, -FAR)[places(axis.end_call, end, side="right") - 1]
    is_over = before >= axis.base[call]
    long_enough = end - start > limits.silence_ms[call]
    kept = np.flatnonzero((turn[1:] == turn[:-1]) & long_enough & ~is_over)
    return call[kept], start[kept], (end - start)[kept], turn[1:][kept]


def silence_table(timeline: Timeline, limits: Limits) -> pl.DataFrame:
    """Return the long silences, as occurrences are told.

    Columns ``call_id, at_ms, end_ms, value, threshold, margin_ms, evidence_key``.
    """
    found, floor = find_long_silences(timeline, limits), timeline.floor
    is_wait = np.arange(len(found.call)) < found.waits
    first = np.where(
        is_wait,
        places(floor.utterances.call, found.call, side="left"),
        places(floor.turns.call, found.call, side="left"),
    )
    at, limit = found.start - timeline.axis.base[found.call], limits.silence_ms[found.call]
    table = pl.DataFrame(
        {
            "call_id": timeline.axis.call_ids.gather(found.call),
            "at_ms": at,
            "end_ms": at + found.value_ms,
            "value": found.value_ms,
            "threshold": limit,
            "margin_ms": found.value_ms - limit,
            "is_wait": is_wait,
            "place": found.place - first,
        }
    )
    lies_in = pl.when("is_wait").then(pl.lit("replies")).otherwise(pl.lit("turns"))
    key = pl.format("{}/{}", lies_in, "place")
    return table.select(pl.exclude("is_wait", "place"), evidence_key=key)
