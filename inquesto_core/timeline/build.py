"""From segments to IPUs, agent groups, caller utterances and agent turns (protocol 3.1-3.4).

Works on the axis of `axis`: one pass over any number of calls. A limit is one number for all calls
or one a call, so that the same code measures what a moved limit would change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.timeline.axis import Spans, clip, join, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.timeline.limits import Limits

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]

__all__ = ["Floor", "build_floor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """Who held the floor when, in all calls.

    Parameters
    ----------
    window_from, window_to : int64 array of shape (calls,), axis ms
        The scored window of each call.
    caller_ipus, agent_ipus : Spans
        Those of kept utterances and of kept groups.
    groups, turns, utterances : Spans
        Kept agent groups, agent turns, kept caller utterances.
    turn_of_group : int64 array
        Index of the turn that each group is part of.
    faint_groups, faint_utterances : Spans
        Those with less than ``min_voiced_ms`` of sound, which are kept nowhere else.
    caller_segments, agent_segments : Spans
        All sound in the window.
    all_caller_ipus, all_agent_ipus : Spans
        Those of faint utterances and groups too.
    """

    window_from: Int
    window_to: Int
    caller_ipus: Spans
    agent_ipus: Spans
    groups: Spans
    turns: Spans
    turn_of_group: Int
    utterances: Spans
    faint_groups: Spans
    faint_utterances: Spans
    caller_segments: Spans
    agent_segments: Spans
    all_caller_ipus: Spans
    all_agent_ipus: Spans

    @property
    def dropped(self) -> Int:
        """Return how many faint utterances and groups each call has."""
        calls = len(self.window_from)
        return np.bincount(self.faint_groups.call, minlength=calls).astype(np.int64) + np.bincount(
            self.faint_utterances.call, minlength=calls
        )


def _pauses(spans: Spans) -> Int:
    return spans.start[1:] - spans.end[:-1]


def _of(limit: Int, spans: Spans) -> Int:
    """Return each pair's limit, the one of its call."""
    return limit[spans.call[:-1]]


def _ipus(segments: Spans, limits: Limits) -> Spans:
    joined, _ = join(segments, _pauses(segments) < _of(limits.ipu_gap_ms, segments))
    # A gap too short to part two IPUs is sound.
    return replace(joined, voiced=joined.end - joined.start)


def _agent_groups(ipus: Spans, limits: Limits) -> tuple[Spans, Spans, Spans]:
    """Return the kept groups, the dropped ones, and the IPUs of the kept."""
    groups, owner = join(ipus, _pauses(ipus) <= _of(limits.agent_pause_join_ms, ipus))
    heard = groups.voiced >= limits.min_voiced_ms[groups.call]
    return groups.where(heard), groups.where(~heard), ipus.where(heard[owner])


def _had_its_say(groups: Spans, pause_from: Int, pause_to: Int) -> Bool:
    """Whether an agent group lies wholly inside each pause (the first to start ends first)."""
    index = places(groups.start, pause_from, side="left")
    ends = np.append(groups.end, np.iinfo(np.int64).max)
    return ends[index] <= pause_to


def _utterances(ipus: Spans, groups: Spans, limits: Limits) -> tuple[Spans, Spans, Spans]:
    """Return the kept utterances, the dropped ones, and the IPUs of the kept."""
    slack = _of(limits.wholly_inside_slack_ms, ipus)
    answered = _had_its_say(groups, ipus.end[:-1] - slack, ipus.start[1:] + slack)
    near = _pauses(ipus) <= _of(limits.caller_pause_join_ms, ipus)
    utterances, owner = join(ipus, near & ~answered)
    heard = utterances.voiced >= limits.min_voiced_ms[utterances.call]
    return utterances.where(heard), utterances.where(~heard), ipus.where(heard[owner])


def _turns(groups: Spans, caller_ipus: Spans) -> tuple[Spans, Int]:
    """Join groups over any pause throughout which the caller was silent; and whose each is."""
    after = places(caller_ipus.end, groups.end[:-1], side="right")
    starts = np.append(caller_ipus.start, np.iinfo(np.int64).max)
    return join(groups, starts[after] >= groups.start[1:])


def build_floor(
    *, caller: Spans, agent: Spans, window_from: Int, window_to: Int, limits: Limits
) -> Floor:
    """Return the utterances, groups and turns of every call.

    Parameters
    ----------
    caller, agent : Spans
        Segments of each side, united, on the axis.
    window_from, window_to : int64 array of shape (calls,), axis ms
        Scored windows; segments are cut to them.
    limits : Limits
        One value a call.
    """
    caller, agent = clip(caller, window_from, window_to), clip(agent, window_from, window_to)
    caller_all, agent_all = _ipus(caller, limits), _ipus(agent, limits)
    groups, faint_groups, agent_ipus = _agent_groups(agent_all, limits)
    utterances, faint_utterances, caller_ipus = _utterances(caller_all, groups, limits)
    turns, turn_of_group = _turns(groups, caller_ipus)
    return Floor(
        window_from=window_from,
        window_to=window_to,
        caller_ipus=caller_ipus,
        agent_ipus=agent_ipus,
        groups=groups,
        turns=turns,
        turn_of_group=turn_of_group,
        utterances=utterances,
        faint_groups=faint_groups,
        faint_utterances=faint_utterances,
        caller_segments=caller,
        agent_segments=agent,
        all_caller_ipus=caller_all,
        all_agent_ipus=agent_all,
    )
