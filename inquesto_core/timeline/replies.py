"""What became of each caller utterance, and which agent turns began in one (protocol 3.5-3.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.timeline.axis import FAR, covering, first_from, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.timeline.build import Floor
    from inquesto_core.timeline.limits import Limits

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]

__all__ = [
    "CENSORED",
    "NO_REPLY",
    "OVERLAPPED",
    "REPLIED",
    "SIMULTANEOUS",
    "STATUSES",
    "Latencies",
    "Replies",
    "TalkOvers",
    "find_replies",
    "find_talk_overs",
    "simultaneous_candidates",
    "sorted_latencies",
]

STATUSES = ("replied", "no_reply", "censored", "overlapped", "simultaneous")
REPLIED, NO_REPLY, CENSORED, OVERLAPPED, SIMULTANEOUS = range(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkOvers:
    """Agent turns that begin inside a caller utterance; every array has one row a turn.

    Parameters
    ----------
    turn, utterance : int64 array
        Indices into the floor's turns and utterances.
    value_ms : int64 array
        Caller end minus agent onset.
    cut_in, short, simultaneous, counted : bool array
        In a pause of the caller; an agent turn of at most ``short_turn_ms`` wholly inside; a
        simultaneous start that gave way; at least ``talk_over_ms`` and not simultaneous, nor short
        where those do not count.
    """

    turn: Int
    utterance: Int
    value_ms: Int
    cut_in: Bool
    short: Bool
    simultaneous: Bool
    counted: Bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """One row a caller utterance.

    Parameters
    ----------
    status : int8 array
        Index into `STATUSES`.
    clock : int64 array, axis ms
        When the wait began; `FAR` where no statistic is taken.
    value_ms : int64 array
        Latency where replied, time waited where no_reply or censored, else 0.
    begun, group, next_group : int64 array
        Index of the last agent group that begins before or with the utterance (-1: none does), of
        that which sounds there, else -1, and of the first that begins at its end or later.
    """

    status: NDArray[np.int8]
    clock: Int
    value_ms: Int
    begun: Int
    group: Int
    next_group: Int


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Those of the utterances that were replied to, by call and then from the shortest on.

    Parameters
    ----------
    call, value_ms : int64 array
    """

    call: Int
    value_ms: Int


def find_talk_overs(floor: Floor, limits: Limits) -> TalkOvers:
    """Return the agent turns whose onset ``a`` falls in a caller utterance, ``s <= a < e``."""
    landed = covering(floor.utterances, floor.turns.start)
    turn = np.flatnonzero(landed >= 0)
    utterance = landed[turn]
    onset, stop = floor.turns.start[turn], floor.turns.end[turn]
    start, end = floor.utterances.start[utterance], floor.utterances.end[utterance]
    call = floor.turns.call[turn]
    value = end - onset
    shared = np.minimum(stop, end) - onset
    simultaneous = (onset - start < limits.simultaneous_start_ms[call]) & (
        shared < limits.simultaneous_overlap_ms[call]
    )
    short = (stop - onset <= limits.short_turn_ms[call]) & (stop <= end)
    counted = (value >= limits.talk_over_ms[call]) & ~simultaneous
    return TalkOvers(
        turn=turn,
        utterance=utterance,
        value_ms=value,
        cut_in=covering(floor.caller_ipus, onset) < 0,
        short=short,
        simultaneous=simultaneous,
        counted=counted if limits.count_short else counted & ~short,
    )


def sorted_latencies(floor: Floor, replies: Replies) -> Latencies:
    """Return how long each reply took, sorted."""
    replied = replies.status == REPLIED
    call, value = floor.utterances.call[replied], replies.value_ms[replied]
    # One sort of numbers that hold both; a latency is never negative.
    room = int(value.max(initial=0)) + 1
    both = np.sort(call * room + value)
    # Of each call there are as many as before.
    return Latencies(call=call, value_ms=both - call * room)


def simultaneous_candidates(floor: Floor, limits: Limits, begun: Int) -> tuple[Bool, Int]:
    """Return which utterances begin together with an agent group, and the ms that both share.

    Parameters
    ----------
    begun : int64 array
        As in `Replies`.
    """
    said, groups = floor.utterances, floor.groups
    near = limits.simultaneous_start_ms[said.call]
    since = said.start - near
    # Groups last at least min_voiced_ms and stand more than a join apart: one candidate at most.
    index = begun + 1
    earlier = np.flatnonzero(np.append(groups.start, -FAR)[begun] > since)
    index[earlier] = places(groups.start, since[earlier], side="right")
    start = np.append(groups.start, FAR)[index]
    end = np.append(groups.end, FAR)[index]
    return start < said.start + near, np.minimum(end, said.end) - np.maximum(start, said.start)


def _simultaneous(floor: Floor, limits: Limits, begun: Int) -> Bool:
    together, shared = simultaneous_candidates(floor, limits, begun)
    return together & (shared < limits.simultaneous_overlap_ms[floor.utterances.call])


def find_replies(floor: Floor, limits: Limits, *, end_call: Int) -> Replies:
    """Return what became of each caller utterance ``[s, e)``, decided in the protocol's order.

    Parameters
    ----------
    end_call : int64 array, sorted, axis ms
        Starts of end-of-call and transfer tools. One from ``s`` to ``e + end_call_censors_ms``
        that no agent onset precedes after the clock censors the wait.
    """
    said, groups = floor.utterances, floor.groups
    call, s, e = said.call, said.start, said.end

    begun = places(groups.start, s, side="right") - 1
    at_start = np.where(np.append(groups.end, -FAR)[begun] > s, begun, -1)
    sounding = at_start >= 0
    their_end = np.where(sounding, np.append(groups.end, FAR)[at_start], e)
    overlapped = (
        sounding
        & (their_end > e)
        & ((e - s <= limits.backchannel_max_ms[call]) | (their_end >= e + limits.overrun_ms[call]))
    )
    from_end = places(groups.start, e, side="left")
    talking_at_end = (np.append(groups.start, -FAR)[from_end - 1] > s) & (
        np.append(groups.end, -FAR)[from_end - 1] > e
    )

    clock = np.maximum(e, their_end)
    onset = np.append(groups.start, FAR)[np.where(their_end > e, at_start + 1, from_end)]
    next_said = np.append(s[1:], FAR)
    next_said[np.append(call[1:] != call[:-1], True)[: len(s)]] = FAR
    window_end = floor.window_to[call]
    answered = (onset <= next_said) & (onset < window_end)

    slow = limits.slow_turn_ms[call]
    heard_more = next_said < window_end
    waited = np.where(heard_more, next_said, window_end) - clock
    unanswered = np.where(heard_more, waited > slow, waited >= slow)

    tool = first_from(end_call, s)
    hung_up = (tool <= e + limits.end_call_censors_ms[call]) & (tool < window_end) & (tool < onset)
    waited = np.where(hung_up, np.minimum(waited, tool - clock), waited)

    status = np.select(
        [
            _simultaneous(floor, limits, begun),
            talking_at_end,
            overlapped,
            hung_up,
            answered,
            unanswered,
        ],
        [SIMULTANEOUS, REPLIED, OVERLAPPED, CENSORED, REPLIED, NO_REPLY],
        default=CENSORED,
    ).astype(np.int8)
    latency = np.where(talking_at_end, 0, onset - clock)
    value = np.select(
        [status == REPLIED, (status == NO_REPLY) | (status == CENSORED)],
        [latency, np.maximum(waited, 0)],
        default=0,
    )
    timed = (status == REPLIED) | (status == NO_REPLY) | (status == CENSORED)
    start_of_wait = np.where(talking_at_end & (status == REPLIED), e, clock)
    return Replies(
        status=status,
        clock=np.where(timed, start_of_wait, FAR),
        value_ms=value.astype(np.int64),
        begun=begun,
        group=at_start,
        next_group=from_end,
    )
