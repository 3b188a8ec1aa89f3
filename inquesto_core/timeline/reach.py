"""Which calls a limit could decide otherwise, were it moved a little.

A timeline is a row of comparisons. Where none of a call's values lies as near to a limit as the
limit is moved, each comes out as before, and so does all that follows from it: such a call need not
be measured again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.timeline.axis import FAR, places
from inquesto_core.timeline.replies import CENSORED, NO_REPLY, REPLIED, simultaneous_candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from inquesto_core.timeline.axis import Spans
    from inquesto_core.timeline.limits import Limits
    from inquesto_core.timeline.measure import Timeline

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]
    #: Index of a call, and a value that the limit is compared with in it.
    Compared = tuple[Int, Int]

__all__ = ["COMPARED", "calls_within_reach"]


def calls_within_reach(timeline: Timeline, limits: Limits, name: str, reach_ms: Int) -> Bool:
    """Return which calls hold a value at most `reach_ms` from the limit `name`, shape (calls,).

    Parameters
    ----------
    timeline : Timeline
        As measured under `limits`.
    name : str
        One of `COMPARED`.
    reach_ms : int64 array of shape (calls,)
    """
    found = np.zeros(len(timeline.axis), dtype=bool)
    limit = getattr(limits, name)
    for call, value in COMPARED[name](timeline, limits):
        found[call[np.abs(value - limit[call]) <= reach_ms[call]]] = True
    return found


def _pauses(spans: Spans) -> Compared:
    same = spans.call[1:] == spans.call[:-1]
    return spans.call[1:][same], (spans.start[1:] - spans.end[:-1])[same]


def _ipu_gap(timeline: Timeline, _: Limits) -> Iterator[Compared]:
    floor = timeline.floor
    yield _pauses(floor.caller_segments)
    yield _pauses(floor.agent_segments)


def _agent_pause_join(timeline: Timeline, _: Limits) -> Iterator[Compared]:
    yield _pauses(timeline.floor.all_agent_ipus)


def _caller_pause_join(timeline: Timeline, _: Limits) -> Iterator[Compared]:
    yield _pauses(timeline.floor.all_caller_ipus)


def _min_voiced(timeline: Timeline, _: Limits) -> Iterator[Compared]:
    floor = timeline.floor
    for spans in (floor.groups, floor.utterances, floor.faint_groups, floor.faint_utterances):
        yield spans.call, spans.voiced


def _nearest(points: Int, at: Int) -> Iterator[Int]:
    """Yield each distance from `at` to the next of the sorted `points`, and to the one before."""
    index = places(points, at, side="left")
    yield np.append(points, FAR)[index] - at
    yield np.append(points, -FAR)[index - 1] - at


def _wholly_inside_slack(timeline: Timeline, limits: Limits) -> Iterator[Compared]:
    """Yield how far before a pause of the caller a group begins, and after it one ends.

    Only a pause that is short enough to join may be parted by a group.
    """
    ipus, groups = timeline.floor.all_caller_ipus, timeline.floor.groups
    call = ipus.call[1:]
    is_short = ipus.start[1:] - ipus.end[:-1] <= limits.caller_pause_join_ms[call]
    joined = np.flatnonzero((call == ipus.call[:-1]) & is_short)
    call, slack = call[joined], limits.wholly_inside_slack_ms[call[joined]]
    for distance in _nearest(groups.start, ipus.end[joined] - slack):
        yield call, slack - distance
    for distance in _nearest(groups.end, ipus.start[joined + 1] + slack):
        yield call, slack + distance


def _simultaneous_start(timeline: Timeline, limits: Limits) -> Iterator[Compared]:
    floor, found = timeline.floor, timeline.talk_overs
    said = floor.utterances
    yield (
        floor.turns.call[found.turn],
        floor.turns.start[found.turn] - said.start[found.utterance],
    )
    near = limits.simultaneous_start_ms[said.call]
    for sign in (-1, 1):
        for distance in _nearest(floor.groups.start, said.start + sign * near):
            yield said.call, near + distance


def _simultaneous_overlap(timeline: Timeline, limits: Limits) -> Iterator[Compared]:
    floor, found = timeline.floor, timeline.talk_overs
    said, onset = floor.utterances, floor.turns.start[found.turn]
    stop = np.minimum(floor.turns.end[found.turn], said.end[found.utterance])
    yield floor.turns.call[found.turn], stop - onset
    candidate, shared = simultaneous_candidates(floor, limits, timeline.replies.begun)
    yield said.call[candidate], shared[candidate]


def _short_turn(timeline: Timeline, _: Limits) -> Iterator[Compared]:
    turns, found = timeline.floor.turns, timeline.talk_overs
    yield turns.call[found.turn], (turns.end - turns.start)[found.turn]


def _talk_over(timeline: Timeline, _: Limits) -> Iterator[Compared]:
    yield timeline.floor.turns.call[timeline.talk_overs.turn], timeline.talk_overs.value_ms


def _spoken_into(timeline: Timeline) -> tuple[Spans, Int]:
    """Return the utterances within an agent group, and how far it goes on past each."""
    said, groups = timeline.floor.utterances, timeline.floor.groups
    group = timeline.replies.group
    past = np.append(groups.end, -FAR)[group] - said.end
    within = (group >= 0) & (past > 0)
    return said.where(within), past[within]


def _backchannel_max(timeline: Timeline, _: Limits) -> Iterator[Compared]:
    said, _past = _spoken_into(timeline)
    yield said.call, said.end - said.start


def _overrun(timeline: Timeline, _: Limits) -> Iterator[Compared]:
    said, past = _spoken_into(timeline)
    yield said.call, past


def _slow_turn(timeline: Timeline, _: Limits) -> Iterator[Compared]:
    """Yield latencies and waits; what an end-of-call tool cut short is a wait all the same."""
    status = timeline.replies.status
    timed = (status == REPLIED) | (status == NO_REPLY) | (status == CENSORED)
    yield timeline.floor.utterances.call[timed], timeline.replies.value_ms[timed]


#: What each limit that the uncertainty moves is compared with, but for those of whole calls.
COMPARED: Mapping[str, Callable[[Timeline, Limits], Iterator[Compared]]] = {
    "ipu_gap_ms": _ipu_gap,
    "agent_pause_join_ms": _agent_pause_join,
    "caller_pause_join_ms": _caller_pause_join,
    "min_voiced_ms": _min_voiced,
    "wholly_inside_slack_ms": _wholly_inside_slack,
    "simultaneous_start_ms": _simultaneous_start,
    "simultaneous_overlap_ms": _simultaneous_overlap,
    "short_turn_ms": _short_turn,
    "backchannel_max_ms": _backchannel_max,
    "overrun_ms": _overrun,
    "talk_over_ms": _talk_over,
    "slow_turn_ms": _slow_turn,
}
