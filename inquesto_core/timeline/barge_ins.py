"""Caller utterances that begin while the agent is speaking, and whether the agent yields.

An agent that a caller interrupts should stop; one that a caller only says "mm-hm" to should not.
Sound tells the two apart by length alone, with the limits that decide replies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.timeline.axis import FAR, covering
from inquesto_core.timeline.replies import SIMULTANEOUS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.timeline.limits import Limits
    from inquesto_core.timeline.measure import Timeline

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]

__all__ = ["KEPT", "KINDS", "OUTCOMES", "UNTOLD", "YIELDED", "BargeIns", "find_barge_ins"]

KINDS = ("attempt", "backchannel")
OUTCOMES = ("yielded", "kept", None)
YIELDED, KEPT, UNTOLD = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class BargeIns:
    """One row a barge-in, in order of time.

    Parameters
    ----------
    utterance, group, turn : int64 array
        Indices into the floor's utterances, groups and turns.
    backchannel : bool array
        The utterance is at most ``backchannel_max_ms`` long.
    outcome : int8 array
        Index into `OUTCOMES`.
    yield_ms : int64 array
        From the caller's onset to the end of the agent's group.
    """

    utterance: Int
    group: Int
    turn: Int
    backchannel: Bool
    outcome: NDArray[np.int8]
    yield_ms: Int


def find_barge_ins(timeline: Timeline, limits: Limits) -> BargeIns:
    """Return the utterances ``[s, e)`` with an agent group that began before ``s`` and goes on.

    A simultaneous start is none. The agent has *kept* the floor where its group goes on for at
    least ``overrun_ms`` past ``e``, else *yielded*; where the window cuts the group off before
    that, it is not told.
    """
    floor = timeline.floor
    said, groups = floor.utterances, floor.groups
    spoken_into = timeline.replies.group
    began_before = np.append(groups.start, FAR)[spoken_into] < said.start
    is_simultaneous = timeline.replies.status == SIMULTANEOUS
    utterance = np.flatnonzero(began_before & ~is_simultaneous)
    group = spoken_into[utterance]
    call = said.call[utterance]
    start, end, stop = said.start[utterance], said.end[utterance], groups.end[group]
    kept = stop >= end + limits.overrun_ms[call]
    is_cut = stop >= floor.window_to[call]
    return BargeIns(
        utterance=utterance,
        group=group,
        turn=covering(floor.turns, start),
        backchannel=end - start <= limits.backchannel_max_ms[call],
        outcome=np.select([kept, is_cut], [KEPT, UNTOLD], default=YIELDED).astype(np.int8),
        yield_ms=stop - start,
    )
