"""How long each side sounds in a call, and both at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.timeline.axis import FAR, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.timeline.axis import Spans
    from inquesto_core.timeline.build import Floor

    Int = NDArray[np.int64]

__all__ = ["Talk", "measure_talk"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """Sound of the kept utterances and groups, int64 arrays of shape (calls,), ms."""

    caller_ms: Int
    agent_ms: Int
    overlap_ms: Int


def measure_talk(floor: Floor) -> Talk:
    """Return how long each side, and both at once, sound in each call."""
    caller, agent = floor.caller_ipus, floor.agent_ipus
    calls = len(floor.window_to)
    shared = _sound_before(agent, caller.end) - _sound_before(agent, caller.start)
    return Talk(
        caller_ms=_sum_by_call(caller.call, caller.end - caller.start, calls),
        agent_ms=_sum_by_call(agent.call, agent.end - agent.start, calls),
        overlap_ms=_sum_by_call(caller.call, shared, calls),
    )


def _sound_before(spans: Spans, at: Int) -> Int:
    """Return how much of the axis before each point the disjoint intervals cover."""
    index = places(spans.start, at, side="right")
    covered = np.concatenate([[0], np.cumsum(spans.end - spans.start)])
    # The last interval to begin before a point may reach beyond it; before the first, none does.
    beyond = np.append(spans.end, -FAR)[index - 1] - at
    return np.asarray(covered[index] - np.maximum(beyond, 0), dtype=np.int64)


def _sum_by_call(call: Int, value: Int, calls: int) -> Int:
    out = np.zeros(calls, dtype=np.int64)
    np.add.at(out, call, value)
    return out
