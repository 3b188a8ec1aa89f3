"""Long silences after the agent has spoken: how each ends, and after how long.

A caller who stays silent should be asked again, not left alone or hung up on. An agent turn goes on
over any pause in which the caller is silent, so that a second question lies *inside* a turn; what
is looked at is therefore the silence after each agent group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.timeline.axis import FAR, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.timeline.limits import Limits
    from inquesto_core.timeline.measure import Timeline

    Int = NDArray[np.int64]

__all__ = ["SILENCE_OUTCOMES", "Silences", "find_silences"]

SILENCE_OUTCOMES = ("agent_spoke", "caller_spoke", "agent_hung_up", "call_ended")
_AGENT_SPOKE, _CALLER_SPOKE, _AGENT_HUNG_UP, _CALL_ENDED = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silences:
    """One row a long silence, in order of time.

    Parameters
    ----------
    call : int64 array
        Index of the call.
    turn : int64 array
        Index into the floor's turns: the one that the silence follows or lies in.
    start, end : int64 array, axis ms
    outcome : int8 array
        Index into `SILENCE_OUTCOMES`.
    """

    call: Int
    turn: Int
    start: Int
    end: Int
    outcome: NDArray[np.int8]


def find_silences(timeline: Timeline, limits: Limits) -> Silences:
    """Return the silences of both sides after an agent group that are longer than ``slow_turn_ms``.

    One ends with the next onset, the start of a tool that ends or hands over the call, or the
    window; for the window's end exactly ``slow_turn_ms`` is long enough. None is taken while the
    caller speaks, or once such a tool has started.
    """
    floor, axis = timeline.floor, timeline.axis
    call, start = floor.groups.call, floor.groups.end
    onset = np.append(floor.groups.start, FAR)[1:]
    utterance = places(floor.utterances.start, start, side="left")
    said = np.append(floor.utterances.start, FAR)[utterance]
    end_call = places(axis.end_call, start, side="left")
    tool = np.append(axis.end_call, FAR)[end_call]
    window_end = floor.window_to[call]
    outcome = np.select(
        [
            (onset <= said) & (onset <= tool) & (onset < window_end),
            (said <= tool) & (said < window_end),
            tool < window_end,
        ],
        [_AGENT_SPOKE, _CALLER_SPOKE, _AGENT_HUNG_UP],
        default=_CALL_ENDED,
    ).astype(np.int8)
    end = np.choose(outcome, [onset, said, tool, window_end])
    long_enough = end - start > limits.slow_turn_ms[call] - (outcome == _CALL_ENDED)
    before = np.append(axis.end_call, -FAR)[end_call - 1]
    is_over = (before >= axis.base[call]) | (tool == start)
    is_speaking = (np.append(floor.utterances.end, -FAR)[utterance - 1] > start) | (said == start)
    kept = np.flatnonzero(~is_speaking & ~is_over & long_enough)
    return Silences(
        call=call[kept],
        turn=floor.turn_of_group[kept],
        start=start[kept],
        end=end[kept],
        outcome=outcome[kept],
    )
