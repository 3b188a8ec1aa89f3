"""The audio's events, from the timeline of all calls.

The criteria are those of the protocol's table: *a reply > 3000 ms after the caller stops, or no
reply*; *median reply latency > 1500 ms*; *an agent turn starts >= 500 ms before the caller
utterance it lands in ends*; *talk-over on >= 1/3 of agent turns, and on >= 2; replaces talk_over*.
The public reference reads its runtime's own latency list; we measure from the caller's last voiced
sound, so that an endpointing window counts and slow events can only become more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from inquesto_core.events.long_silences import find_long_silences
from inquesto_core.events.occurrences import occurrences
from inquesto_core.timeline import COMPARED, calls_within_reach, measure_talk, measure_timeline
from inquesto_core.timeline.axis import FAR, rows_of
from inquesto_core.timeline.barge_ins import KEPT, find_barge_ins
from inquesto_core.timeline.replies import NO_REPLY, REPLIED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.protocol import Protocol
    from inquesto_core.timeline import Limits, Timeline
    from inquesto_core.timeline.replies import TalkOvers

    Int = NDArray[np.int64]
    Status = NDArray[np.int8]
    Bool = NDArray[np.bool_]

__all__ = [
    "AUDIO_EVENTS",
    "Moves",
    "TimingFlags",
    "call_statistics",
    "moved_outcomes",
    "timing_events",
    "timing_flags",
    "twice_median",
]

AUDIO_EVENTS = ("slow_turn", "slow_median", "talk_over", "repeated_talk_over")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingFlags:
    """Whether each audio event stands, bool arrays of shape (calls,)."""

    slow_turn: Bool
    slow_median: Bool
    talk_over: Bool
    repeated_talk_over: Bool

    def frame(self, timeline: Timeline) -> pl.DataFrame:
        """Return ``call_id`` and one column an event."""
        columns = {f"event_{name}": getattr(self, name) for name in AUDIO_EVENTS}
        return pl.DataFrame({"call_id": timeline.axis.call_ids, **columns})

    def of(self, calls: Int) -> TimingFlags:
        """Return those of some calls, by index."""
        return TimingFlags(**{name: getattr(self, name)[calls] for name in AUDIO_EVENTS})

    def differ(self, other: TimingFlags) -> Bool:
        """Return in which calls an event stands in one of the two and not in the other."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in AUDIO_EVENTS)
        return np.asarray(np.any([one != two for one, two in pairs], axis=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """What moving one limit or value by the timing uncertainty does.

    Parameters
    ----------
    flags : polars.DataFrame
        ``call_id`` and the events as `TimingFlags.frame` has them, one row a call and move that
        changes one.
    fragile : dict of str to bool array of shape (calls,)
        Structural limits whose move changes a status, an event or a count.
    """

    flags: pl.DataFrame
    fragile: dict[str, Bool]


def _count(call: Int, calls: int) -> Int:
    return np.bincount(call, minlength=calls).astype(np.int64)


def twice_median(timeline: Timeline) -> tuple[Int, Bool]:
    """Return twice each call's median reply latency, ms, and whether the call has one."""
    value = timeline.latencies.value_ms
    count = _count(timeline.latencies.call, len(timeline.axis))
    first = np.cumsum(count) - count
    known = count > 0
    low = np.append(value, 0)[np.where(known, first + (count - 1) // 2, -1)]
    high = np.append(value, 0)[np.where(known, first + count // 2, -1)]
    return np.where(known, low + high, 0), known


def _slow(timeline: Timeline, limits: Limits) -> Bool:
    status, value = timeline.replies.status, timeline.replies.value_ms
    limit = limits.slow_turn_ms[timeline.floor.utterances.call]
    return np.asarray(((status == REPLIED) & (value > limit)) | (status == NO_REPLY))


def timing_flags(timeline: Timeline, limits: Limits, *, protocol: Protocol) -> TimingFlags:
    """Return which audio events stand in each call."""
    calls = len(timeline.axis)
    said, turns, found = timeline.floor.utterances, timeline.floor.turns, timeline.talk_overs
    doubled, known = twice_median(timeline)
    over = _count(turns.call[found.turn[found.counted]], calls)
    share = protocol.event("repeated_talk_over").parameters
    repeated = (over >= int(share["min_count"])) & (
        over * int(share["share_denominator"])
        >= _count(turns.call, calls) * int(share["share_numerator"])
    )
    slow = _count(said.call[_slow(timeline, limits)], calls)
    if limits.count_silence:
        slow += _count(find_long_silences(timeline, limits).call, calls)
    return TimingFlags(
        slow_turn=slow > 0,
        slow_median=known & (doubled > 2 * limits.slow_median_ms),
        talk_over=(over > 0) & ~repeated,
        repeated_talk_over=repeated,
    )


def _differ(one: Status, other: Status, call_one: Int, call_other: Int, calls: int) -> Bool:
    """Return in which calls two rows of numbers, sorted by call, are not the same."""
    count_one, count_other = _count(call_one, calls), _count(call_other, calls)
    differs = count_one != count_other
    same_one, same_other = ~differs[call_one], ~differs[call_other]
    unequal = one[same_one] != other[same_other]
    return np.asarray(differs | (_count(call_one[same_one][unequal], calls) > 0))


def _counted(line: Timeline) -> Int:
    over = line.talk_overs
    return _count(line.floor.turns.call[over.turn[over.counted]], len(line.axis))


def _changed(base: Timeline, calls: Int, moved: Timeline) -> Bool:
    """Return in which of the `calls`, measured again as `moved`, a status or a count is another."""
    rows, place = rows_of(base.floor.utterances.call, calls)
    statuses = _differ(
        base.replies.status[rows],
        moved.replies.status,
        place,
        moved.floor.utterances.call,
        len(calls),
    )
    turns = _count(base.floor.turns.call, len(base.axis))[calls]
    return np.asarray(
        statuses
        | (turns != _count(moved.floor.turns.call, len(calls)))
        | (_counted(base)[calls] != _counted(moved))
    )


def _within_reach(timeline: Timeline, limits: Limits, name: str, reach_ms: Int) -> Bool:
    """Return which calls hold a value at most `reach_ms` from a limit: no other can change."""
    if name in COMPARED:
        return calls_within_reach(timeline, limits, name, reach_ms)
    if name == "slow_median_ms":
        doubled, known = twice_median(timeline)
        near = np.abs(doubled - 2 * limits.slow_median_ms) <= 2 * reach_ms
        return np.asarray(known & near)
    long = find_long_silences(timeline, limits.moved(name, -reach_ms - 1))
    limit = limits.silence_ms[long.call]
    found = np.zeros(len(timeline.axis), dtype=bool)
    found[long.call[np.abs(long.value_ms - limit) <= reach_ms[long.call]]] = True
    return found


def moved_outcomes(
    limits: Limits,
    base: Timeline,
    flags: TimingFlags,
    uncertainty_ms: Int,
    *,
    protocol: Protocol,
) -> Moves:
    """Return what each limit's and value's move by plus and minus the uncertainty changes.

    Only calls that hold a value as near to the limit are measured again: all of them at once, a
    call as often as limits are near, and each time twice.

    Parameters
    ----------
    base : Timeline
    flags : TimingFlags
        `timing_flags` of it.
    uncertainty_ms : int64 array of shape (calls,)
        The measured timing uncertainty of each call's condition class.
    """
    names = (*limits.structure, *limits.values)
    near = [np.flatnonzero(_within_reach(base, limits, name, uncertainty_ms)) for name in names]
    count = [len(calls) for calls in near]
    calls = np.tile(np.concatenate(near), 2)
    limit = np.tile(np.repeat(np.arange(len(names)), count), 2)
    by = uncertainty_ms[calls] * np.repeat((-1, 1), sum(count))
    moved_limits = limits.of(calls)
    for index, name in enumerate(names):
        moved_limits = moved_limits.moved(name, np.where(limit == index, by, 0))
    line = measure_timeline(base.axis.of(calls), moved_limits)
    moved = timing_flags(line, moved_limits, protocol=protocol)
    differ = moved.differ(flags.of(calls))
    touched = differ | _changed(base, calls, line)
    fragile = {name: np.zeros(len(base.axis), dtype=bool) for name in limits.structure}
    for index, name in enumerate(names):
        if name in fragile:
            fragile[name][calls[touched & (limit == index)]] = True
    return Moves(flags=moved.frame(line).filter(pl.Series(differ)), fragile=fragile)


def _max_by_call(call: Int, value: Int, calls: int) -> tuple[Int, Bool]:
    out = np.zeros(calls, dtype=np.int64)
    np.maximum.at(out, call, value)
    return out, _count(call, calls) > 0


def _unanswered(timeline: Timeline) -> tuple[Int, Bool]:
    """Return the longest wait from the first utterance end of a run without agent onset."""
    said, groups = timeline.floor.utterances, timeline.floor.groups
    index = timeline.replies.next_group
    silent = np.append(groups.end, -FAR)[index - 1] <= said.end
    onset = np.append(groups.start, FAR)[index]
    until = np.minimum(onset, timeline.floor.window_to[said.call])
    wait = np.where(silent, np.maximum(until - said.end, 0), 0)
    return _max_by_call(said.call, wait, len(timeline.axis))


def _dead_air(timeline: Timeline) -> tuple[Int, Bool]:
    """Return the longest silence inside an agent turn: a pause between groups of one turn."""
    groups, turns = timeline.floor.groups, timeline.floor.turns
    turn = timeline.floor.turn_of_group
    inside = turn[1:] == turn[:-1]
    pause = (groups.start[1:] - groups.end[:-1])[inside]
    longest, _ = _max_by_call(groups.call[1:][inside], pause, len(timeline.axis))
    return longest, _count(turns.call, len(timeline.axis)) > 0


def _nullable(values: Int, known: Bool) -> pl.Series:
    return (
        pl.DataFrame({"v": values, "k": known})
        .select(pl.when("k").then(pl.col("v").cast(pl.Int64)))
        .to_series()
    )


def _reaches(found: TalkOvers, limits: Limits, call: Int) -> Bool:
    """Return which are long enough and no simultaneous start, whether they count or not."""
    return np.asarray((found.value_ms >= limits.talk_over_ms[call]) & ~found.simultaneous)


def call_statistics(timeline: Timeline, limits: Limits) -> pl.DataFrame:
    """Return the timing columns of the decision table, one row a timed call."""
    calls = len(timeline.axis)
    floor, found, status = timeline.floor, timeline.talk_overs, timeline.replies.status
    value = timeline.latencies.value_ms
    doubled, known = twice_median(timeline)
    count = _count(timeline.latencies.call, calls)
    rank = np.cumsum(count) - count + np.maximum(-(-count * 95 // 100) - 1, 0)
    p95 = np.append(value, 0)[np.where(known, rank, -1)]
    owner = floor.turns.call[found.turn]
    said = floor.utterances.call
    talk, barged = measure_talk(floor), find_barge_ins(timeline, limits)
    barge_in_call = said[barged.utterance]
    return pl.DataFrame(
        {
            "call_id": timeline.axis.call_ids,
            "median_latency_ms": _nullable(doubled, known) / 2,
            "p95_latency_ms": _nullable(p95, known),
            "n_utterances": _count(said, calls),
            "n_agent_turns": _count(floor.turns.call, calls),
            "n_replied": _count(said[status == REPLIED], calls),
            "n_no_reply": _count(said[status == NO_REPLY], calls),
            "n_talk_over": _count(owner[found.counted], calls),
            "n_talk_over_short": _count(owner[found.short & _reaches(found, limits, owner)], calls),
            "n_simultaneous": _count(owner[found.simultaneous], calls),
            "n_dropped_sounds": floor.dropped,
            "longest_unanswered_ms": _nullable(*_unanswered(timeline)),
            "longest_dead_air_ms": _nullable(*_dead_air(timeline)),
            "n_barge_in": _count(barge_in_call, calls),
            "n_barge_in_kept": _count(
                barge_in_call[(barged.outcome == KEPT) & ~barged.backchannel], calls
            ),
            "caller_voiced_ms": talk.caller_ms,
            "agent_voiced_ms": talk.agent_ms,
            "overlap_ms": talk.overlap_ms,
        }
    )


def timing_events(
    tables: dict[str, pl.DataFrame],
    flags: pl.DataFrame,
    statistics: pl.DataFrame,
    silences: pl.DataFrame | None = None,
    *,
    protocol: Protocol,
) -> pl.DataFrame:
    """Return every occurrence of the audio events, with value, threshold and margin.

    Parameters
    ----------
    tables : dict
        ``replies`` and ``talk_overs`` as the timeline gives them.
    flags, statistics : polars.DataFrame
        `TimingFlags.frame` and `call_statistics`, of those calls only whose timing is evaluated.
    silences : polars.DataFrame, optional
        `silence_table` where the protocol counts long silences.
    """
    slow = int(protocol.event("slow_turn").parameters["latency_ms"])
    median = int(protocol.event("slow_median").parameters["median_ms"])
    overlap = int(protocol.event("talk_over").parameters["overlap_ms"])
    replies = (
        tables["replies"]
        .filter((pl.col("latency_ms") > slow) | (pl.col("status") == "no_reply"))
        .with_columns(value=pl.coalesce("latency_ms", "waited_ms"))
        .select(
            "call_id",
            "value",
            at_ms="clock_ms",
            end_ms=pl.col("clock_ms") + pl.col("value"),
            threshold=pl.lit(slow, dtype=pl.Int64),
            margin_ms=pl.col("value") - slow,
            evidence_key=pl.format("replies/{}", "utterance"),
        )
    )
    waits = replies if silences is None else pl.concat([replies, silences], how="diagonal")
    waits = waits.sort("call_id", pl.col("value"), descending=[False, True], maintain_order=True)
    medians = statistics.filter(pl.col("median_latency_ms") > median).select(
        "call_id",
        value=pl.col("median_latency_ms").floor().cast(pl.Int64),
        threshold=pl.lit(median, dtype=pl.Int64),
        margin_ms=(pl.col("median_latency_ms") - median).ceil().cast(pl.Int64),
        evidence_key=pl.lit("replies"),
    )
    overs = (
        tables["talk_overs"]
        .filter("counted")
        .select(
            "call_id",
            "at_ms",
            end_ms="caller_end_ms",
            value="value_ms",
            threshold=pl.lit(overlap, dtype=pl.Int64),
            margin_ms=pl.col("value_ms") - overlap,
            evidence_key=pl.format("talk_overs/{}", "turn"),
        )
        .sort("call_id", "at_ms")
    )
    named = {
        "slow_turn": waits,
        "slow_median": medians,
        "talk_over": overs,
        "repeated_talk_over": overs,
    }
    return pl.concat(
        occurrences(
            rows.join(flags.filter(f"event_{name}"), on="call_id", how="semi"),
            protocol.event(name),
        )
        for name, rows in named.items()
    )
