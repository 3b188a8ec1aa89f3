"""A timeline as evidence tables: times of a call's own clock, indices as places in the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from inquesto_core.evidence import TABLES
from inquesto_core.timeline.axis import FAR
from inquesto_core.timeline.barge_ins import KINDS, OUTCOMES, YIELDED, find_barge_ins
from inquesto_core.timeline.replies import CENSORED, NO_REPLY, REPLIED, STATUSES
from inquesto_core.timeline.silences import SILENCE_OUTCOMES, find_silences
from inquesto_core.timeline.tool_waits import (
    RESULT_OUTCOMES,
    SPOKE,
    find_tool_results,
    ran_within,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inquesto_core.timeline.axis import Spans
    from inquesto_core.timeline.limits import Limits
    from inquesto_core.timeline.measure import CallAxis, Timeline

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]

__all__ = ["diagnostic_tables", "timeline_tables"]


def _positions(call: Int) -> Int:
    """Return each row's place among its call's rows (rows are sorted by call)."""
    if len(call) == 0:
        return call
    first = np.flatnonzero(np.concatenate([[True], call[1:] != call[:-1]]))
    return np.arange(len(call)) - np.repeat(first, np.diff(np.append(first, len(call))))


def _frame(name: str, ids: pl.Series, call: Int, columns: dict[str, object]) -> pl.DataFrame:
    data = {"call_id": ids.gather(call), **columns}
    return pl.DataFrame(data, schema={**TABLES[name], "call_id": ids.dtype})


def _span_table(name: str, axis: CallAxis, spans: Spans) -> pl.DataFrame:
    base = axis.base[spans.call]
    columns: dict[str, object] = {
        "position": _positions(spans.call),
        "start_ms": spans.start - base,
        "end_ms": spans.end - base,
        "voiced_ms": spans.voiced,
    }
    return _frame(name, axis.call_ids, spans.call, columns)


def _known(values: Int, mask: Bool) -> pl.Series:
    return pl.Series(values, dtype=pl.Int64).zip_with(
        pl.Series(mask), pl.Series([None], dtype=pl.Int64).new_from_index(0, len(values))
    )


def _words(words: Sequence[str | None], index: NDArray[np.integer] | Bool) -> pl.Series:
    return pl.Series(words, dtype=pl.String).gather(index.astype(np.int64))


def _tool_ran(axis: CallAxis, call: Int, since: Int, until: Int, asked: Bool) -> pl.Series:
    """Return whether a tool call ran in a stretch; null where not asked, or it may have unseen."""
    ran = ran_within(axis.tools, since, until)
    told = pl.DataFrame({"ran": ran, "known": asked & (ran | axis.tools.is_whole[call])})
    return told.select(pl.when("known").then("ran")).to_series()


def timeline_tables(timeline: Timeline) -> dict[str, pl.DataFrame]:
    """Return ``utterances``, ``turns``, ``replies`` and ``talk_overs`` of a timeline."""
    axis, floor = timeline.axis, timeline.floor
    said, turns, found = floor.utterances, floor.turns, timeline.talk_overs
    base = axis.base[said.call]
    status, value = timeline.replies.status, timeline.replies.value_ms
    waited = (status == NO_REPLY) | (status == CENSORED)
    clock = timeline.replies.clock
    is_timed = clock != FAR
    replies: dict[str, object] = {
        "utterance": _positions(said.call),
        "start_ms": said.start - base,
        "end_ms": said.end - base,
        "status": _words(STATUSES, status),
        "clock_ms": _known(clock - base, is_timed),
        "latency_ms": _known(value, status == REPLIED),
        "waited_ms": _known(value, waited),
        "tool_in_wait": _tool_ran(axis, said.call, clock, clock + value, is_timed),
    }
    call = turns.call[found.turn]
    talk_overs: dict[str, object] = {
        "turn": _positions(turns.call)[found.turn],
        "utterance": _positions(said.call)[found.utterance],
        "at_ms": turns.start[found.turn] - axis.base[call],
        "caller_end_ms": said.end[found.utterance] - axis.base[call],
        "value_ms": found.value_ms,
        "kind": _words(("over_speech", "cut_in"), found.cut_in),
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


def diagnostic_tables(timeline: Timeline, limits: Limits) -> dict[str, pl.DataFrame]:
    """Return ``barge_ins``, ``silences`` and ``tool_results`` of a timeline."""
    return {
        "barge_ins": _barge_ins(timeline, limits),
        "silences": _silences(timeline, limits),
        "tool_results": _tool_results(timeline),
    }


def _barge_ins(timeline: Timeline, limits: Limits) -> pl.DataFrame:
    axis, floor = timeline.axis, timeline.floor
    found = find_barge_ins(timeline, limits)
    call = floor.utterances.call[found.utterance]
    base = axis.base[call]
    columns: dict[str, object] = {
        "utterance": _positions(floor.utterances.call)[found.utterance],
        "turn": _positions(floor.turns.call)[found.turn],
        "at_ms": floor.utterances.start[found.utterance] - base,
        "caller_end_ms": floor.utterances.end[found.utterance] - base,
        "agent_end_ms": floor.groups.end[found.group] - base,
        "kind": _words(KINDS, found.backchannel),
        "outcome": _words(OUTCOMES, found.outcome),
        "yield_ms": _known(found.yield_ms, found.outcome == YIELDED),
    }
    return _frame("barge_ins", axis.call_ids, call, columns)


def _silences(timeline: Timeline, limits: Limits) -> pl.DataFrame:
    axis = timeline.axis
    found = find_silences(timeline, limits)
    base = axis.base[found.call]
    columns: dict[str, object] = {
        "turn": _positions(timeline.floor.turns.call)[found.turn],
        "at_ms": found.start - base,
        "end_ms": found.end - base,
        "value_ms": found.end - found.start,
        "outcome": _words(SILENCE_OUTCOMES, found.outcome),
        "tool_inside": _tool_ran(
            axis, found.call, found.start, found.end, np.ones(len(found.call), dtype=bool)
        ),
    }
    return _frame("silences", axis.call_ids, found.call, columns)


def _tool_results(timeline: Timeline) -> pl.DataFrame:
    axis = timeline.axis
    tools = axis.tools
    found = find_tool_results(timeline.floor, tools)
    in_trace = np.lexsort((tools.position, tools.call))
    call, outcome = tools.call[in_trace], found.outcome[in_trace]
    columns: dict[str, object] = {
        "position": tools.position[in_trace],
        "at_ms": tools.ended[in_trace] - axis.base[call],
        "outcome": _words(RESULT_OUTCOMES, outcome),
        "first_sound_ms": _known(found.first_sound_ms[in_trace], outcome == SPOKE),
    }
    return _frame("tool_results", axis.call_ids, call, columns)
