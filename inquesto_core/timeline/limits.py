"""The limits of the timeline and of the timing events, one value a call.

Limits are kept as arrays over calls because the measured uncertainty differs between calls: moving
a limit by each call's own uncertainty shows which calls hang on it (protocol section 3.8).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.protocol import Protocol

    Int = NDArray[np.int64]

__all__ = ["STRUCTURE", "VALUES", "Limits", "protocol_limits"]

#: Limits that decide what is an utterance, a turn, a reply; ``wholly_inside_slack_ms`` is 0 by the
#: protocol's words ("wholly inside") and moves as the others do.
STRUCTURE = (
    "ipu_gap_ms",
    "agent_pause_join_ms",
    "caller_pause_join_ms",
    "min_voiced_ms",
    "simultaneous_start_ms",
    "simultaneous_overlap_ms",
    "backchannel_max_ms",
    "overrun_ms",
    "wholly_inside_slack_ms",
)

#: Thresholds that a measured value is compared with; moving one is moving the value.
VALUES = ("talk_over_ms", "slow_turn_ms", "slow_median_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Every limit as an int64 array of shape (calls,), ms."""

    ipu_gap_ms: Int
    agent_pause_join_ms: Int
    caller_pause_join_ms: Int
    min_voiced_ms: Int
    simultaneous_start_ms: Int
    simultaneous_overlap_ms: Int
    short_turn_ms: Int
    backchannel_max_ms: Int
    overrun_ms: Int
    end_call_censors_ms: Int
    wholly_inside_slack_ms: Int
    talk_over_ms: Int
    slow_turn_ms: Int
    slow_median_ms: Int

    def moved(self, name: str, by: Int) -> Limits:
        """Return the limits with one of them moved by a number of ms a call."""
        return replace(self, **{name: getattr(self, name) + by})

    def reach_ms(self) -> int:
        """Return the longest time that any limit bridges."""
        return max(int(getattr(self, field.name).max(initial=0)) for field in fields(self))


def protocol_limits(protocol: Protocol, calls: int) -> Limits:
    """Return the protocol's limits for a number of calls."""
    line = protocol.timeline
    numbers = {
        "ipu_gap_ms": line.ipu_gap_ms,
        "agent_pause_join_ms": line.agent_pause_join_ms,
        "caller_pause_join_ms": line.caller_pause_join_ms,
        "min_voiced_ms": line.min_voiced_ms,
        "simultaneous_start_ms": line.simultaneous_start_ms,
        "simultaneous_overlap_ms": line.simultaneous_overlap_ms,
        "short_turn_ms": line.short_turn_ms,
        "backchannel_max_ms": line.backchannel_max_ms,
        "overrun_ms": line.overrun_ms,
        "end_call_censors_ms": line.end_call_censors_ms,
        "wholly_inside_slack_ms": 0,
        "talk_over_ms": protocol.event("talk_over").parameters["overlap_ms"],
        "slow_turn_ms": protocol.event("slow_turn").parameters["latency_ms"],
        "slow_median_ms": protocol.event("slow_median").parameters["median_ms"],
    }
    return Limits(
        **{name: np.full(calls, value, dtype=np.int64) for name, value in numbers.items()}
    )
