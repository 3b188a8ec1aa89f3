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

#: What decides only where the protocol says so: structure by `Limits.count_short`, a threshold by
#: `Limits.count_silence`.
_SHORT, _SILENCE = "short_turn_ms", "silence_ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Every limit as an int64 array of shape (calls,), ms.

    Parameters
    ----------
    count_short : bool
        A short agent turn wholly inside an utterance is a talk-over like any other.
    count_silence : bool
        A silence of more than ``silence_ms`` is a slow turn.
    """

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
    silence_ms: Int
    count_short: bool
    count_silence: bool

    @property
    def structure(self) -> tuple[str, ...]:
        """Return the limits that decide structure under this protocol."""
        return STRUCTURE if self.count_short else (*STRUCTURE, _SHORT)

    @property
    def values(self) -> tuple[str, ...]:
        """Return the thresholds that a value is compared with under this protocol."""
        return (*VALUES, _SILENCE) if self.count_silence else VALUES

    def moved(self, name: str, by: Int) -> Limits:
        """Return the limits with one of them moved by a number of ms a call."""
        return replace(self, **{name: getattr(self, name) + by})

    def of(self, calls: Int) -> Limits:
        """Return the limits of some calls, by index."""
        names = (field.name for field in fields(self))
        values = ((name, getattr(self, name)) for name in names)
        return replace(
            self, **{name: value[calls] for name, value in values if not isinstance(value, bool)}
        )

    def reach_ms(self) -> int:
        """Return the longest time that any limit bridges."""
        limits = (getattr(self, field.name) for field in fields(self))
        return max(int(limit.max(initial=0)) for limit in limits if not isinstance(limit, bool))


def protocol_limits(protocol: Protocol, calls: int) -> Limits:
    """Return the protocol's limits for a number of calls."""
    line = protocol.timeline
    talk_over, slow_turn = (protocol.event(name).parameters for name in ("talk_over", "slow_turn"))
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
        "talk_over_ms": talk_over["overlap_ms"],
        "slow_turn_ms": slow_turn["latency_ms"],
        "slow_median_ms": protocol.event("slow_median").parameters["median_ms"],
        "silence_ms": slow_turn["silence_ms"],
    }
    return Limits(
        **{name: np.full(calls, value, dtype=np.int64) for name, value in numbers.items()},
        count_short=bool(talk_over["count_short"]),
        count_silence=bool(slow_turn["count_silence"]),
    )
