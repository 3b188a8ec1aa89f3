"""Whether the recording keeps the transcript's clock, and the transcript's sides.

The transcript's times are another clock of the same call. Where at least ``min_anchors`` of its
turns are found as sound (`turn_anchors`), a track that was shifted, stretched, cut or played at
another rate shows: as a step between two turns, a scale, or a residual. A shift of both sides by
the same time moves no wait and is only said. Where nothing is timed, nothing is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.instruments.occupancy import align
from inquesto_core.instruments.recording_faults import fault, rate_of_scale
from inquesto_core.instruments.side_checks import swapped_fault
from inquesto_core.instruments.turn_anchors import SIDES, find_anchors, scatter_ms, timed_spurts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.bundle import Transcript
    from inquesto_core.instruments.occupancy import Alignment
    from inquesto_core.instruments.recording_faults import RecordingFault
    from inquesto_core.instruments.turn_anchors import Anchor, Int, Side, Spurt
    from inquesto_core.protocol import RecordingFaultLimits

__all__ = ["ClockCheck", "check_clock"]

#: One turn alone says nothing about what lies between.
_MIN_STEADY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockCheck:
    """What the transcript shows to be wrong, and the sides it shows to keep its clock.

    Parameters
    ----------
    faults : tuple of RecordingFault
        ``channels_swapped``, ``channel_swap_suspected``, ``clock_conflict``, ``duration_mismatch``,
        ``transcript_shifted``.
    steady : frozenset of side
        Sides of which several turns were found, all where they should be.
    """

    faults: tuple[RecordingFault, ...] = ()
    steady: frozenset[Side] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    """The anchors of a call in order, and from where on a displacement counts."""

    anchors: tuple[Anchor, ...]
    limits: RecordingFaultLimits
    scatter_ms: float

    def of(self, side: Side) -> tuple[Anchor, ...]:
        return tuple(anchor for anchor in self.anchors if anchor.side == side)

    def least(self, limit_ms: int) -> int:
        return max(limit_ms, round(self.limits.scatter_factor * self.scatter_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drift:
    """A side's fitted scale, and the largest residual of that fit."""

    side: Side
    scale: float
    residual_ms: float


def check_clock(
    transcript: Transcript | None,
    speech: Mapping[Side, Int],
    *,
    duration_ms: int,
    sample_rates_hz: Mapping[Side, int],
    limits: RecordingFaultLimits,
) -> ClockCheck:
    """Return what the transcript's times show about the recording.

    Parameters
    ----------
    speech : mapping of side to int64 array of shape (n, 2), ms, sorted, disjoint
        Where each side was measured to speak, on the call's clock.
    duration_ms : int
        Of the recording.
    sample_rates_hz : mapping of side to int
        What each file's header says.
    """
    swapped = swapped_fault(transcript, speech, limits)
    if swapped is not None and swapped.level == "timing":
        return ClockCheck(faults=(swapped,))
    found = [] if swapped is None else [swapped]
    spurts = timed_spurts(transcript, limits.pause_join_ms)
    if len(spurts) < limits.min_anchors or not any(len(part) for part in speech.values()):
        return ClockCheck(faults=tuple(found))
    alignment = align(spurts, speech, _scales(sample_rates_hz, limits), limits)
    if alignment.scale != 1.0:
        return ClockCheck(faults=(*found, _rate_fault(alignment, sample_rates_hz, limits)))
    anchors = find_anchors(spurts, speech, limits, shift_ms=alignment.shift_ms)
    if len(anchors) < limits.min_anchors:
        return ClockCheck(faults=tuple(found))
    clock = _Clock(anchors=anchors, limits=limits, scatter_ms=scatter_ms(anchors))
    conflict = _clock_fault(clock)
    wrong = [conflict] if conflict is not None else []
    wrong += _lost_time(clock)
    wrong += _beyond_end(spurts, clock, alignment, duration_ms)
    if wrong:
        return ClockCheck(faults=(*found, *wrong))
    steady = frozenset(side for side in SIDES if len(clock.of(side)) >= _MIN_STEADY)
    return ClockCheck(faults=(*found, *_shifted(clock, alignment)), steady=steady)


def _scales(rates_hz: Mapping[Side, int], limits: RecordingFaultLimits) -> list[float]:
    header_hz = rates_hz["caller"]
    if rates_hz["agent"] != header_hz:
        return []
    scales = {rate / header_hz for rate in limits.usual_rates_hz}
    return sorted(scale for scale in scales if abs(scale - 1) > limits.scale_tolerance)


def _rate_fault(
    alignment: Alignment, rates_hz: Mapping[Side, int], limits: RecordingFaultLimits
) -> RecordingFault:
    header_hz = rates_hz["caller"]
    rate_hz = rate_of_scale(alignment.scale, header_hz, limits)
    return fault(
        "clock_conflict",
        side=None,
        measured=("scale", alignment.scale, 1 + limits.scale_deviation),
        level="timing",
        found=f"recording runs {alignment.scale:.4g} times as long as the transcript's times",
        expected="one clock for both",
        remedy=f"the sound was recorded at {rate_hz} Hz, but the header says {header_hz} Hz: "
        "write the true rate",
    )


def _clock_fault(clock: _Clock) -> RecordingFault | None:
    """Return the one conflict that explains most: a drift, else a step, else a residual."""
    drifts = [drift for side in SIDES for drift in _drift(side, clock)]
    drift = max(drifts, key=lambda found: abs(found.scale - 1), default=None)
    if drift is not None and drift.residual_ms <= clock.least(clock.limits.residual_ms):
        return _drift_fault(drift, clock.limits)
    before, after, apart_ms = max(
        ((one, two, one.apart_ms(two)) for one, two in pairwise(clock.anchors)),
        key=lambda step: step[2],
    )
    if apart_ms > clock.least(clock.limits.step_ms):
        return _step_fault(clock, before, after)
    if drift is not None:
        return _drift_fault(drift, clock.limits)
    return _residual_fault(clock)


def _line(anchors: Sequence[Anchor]) -> tuple[float, float, float]:
    """Return shift, scale and largest residual of ``t_file = shift + scale * t``."""
    at = np.array([anchor.at_ms for anchor in anchors], dtype=np.float64)
    offset = np.array([anchor.offset_ms for anchor in anchors])
    centred = at - at.mean()
    slope = float(centred @ offset / max(float(centred @ centred), 1.0))
    shift = float(offset.mean() - slope * at.mean())
    line = shift + slope * at
    low = np.array([anchor.low_ms for anchor in anchors])
    high = np.array([anchor.high_ms for anchor in anchors])
    residual = np.maximum(np.maximum(low - line, line - high), 0)
    return shift, 1 + slope, float(residual.max())


def _drift(side: Side, clock: _Clock) -> list[_Drift]:
    """Return the drift of one side's anchors; none where they fit one constant displacement."""
    anchors, limits = clock.of(side), clock.limits
    if len(anchors) < limits.min_anchors:
        return []
    _, scale, residual = _line(anchors)
    least_ms: float = max(limits.min_drift_ms, limits.scatter_factor * residual)
    if not all(anchor.has_end for anchor in anchors):
        least_ms = max(least_ms, clock.least(limits.min_drift_ms))
    is_constant = _spread(anchors) <= least_ms
    if is_constant or abs(scale - 1) <= limits.scale_deviation:
        return []
    return [_Drift(side=side, scale=scale, residual_ms=residual)]


def _spread(anchors: Sequence[Anchor]) -> int:
    """Return by how much the displacements of some anchors certainly differ; may be negative."""
    return max(anchor.low_ms for anchor in anchors) - min(anchor.high_ms for anchor in anchors)


def _drift_fault(drift: _Drift, limits: RecordingFaultLimits) -> RecordingFault:
    return fault(
        "clock_conflict",
        side=drift.side,
        measured=("scale", round(drift.scale, 6), 1 + limits.scale_deviation),
        level="timing",
        found=f"{drift.side}'s track runs {drift.scale:.4f} times as long as the transcript's "
        "times",
        expected=f"within {limits.scale_deviation:g} of 1",
        remedy="a recorder that pads or drops sound stretches every wait: record on one clock",
    )


def _step_fault(clock: _Clock, before: Anchor, after: Anchor) -> RecordingFault:
    anchors, limit_ms = clock.anchors, clock.least(clock.limits.step_ms)
    step_ms = round(after.offset_ms - before.offset_ms)
    found = (
        f"{after.side}'s turn at {after.at_ms / 1000:.1f} s of the transcript stands "
        f"{after.offset_ms / 1000:+.2f} s from there, the {before.side}'s turn before it "
        f"{before.offset_ms / 1000:+.2f} s"
    )
    return fault(
        "clock_conflict",
        side=after.side if after.side == before.side else _mover(anchors, before, after),
        measured=("step_ms", step_ms, limit_ms),
        level="timing",
        found=found,
        expected=f"turns displaced alike, to within {limit_ms} ms",
        remedy=_constant_remedy(clock)
        or "the recorder moved a track; take its own recording, or leave out transcript times "
        "that are no playback times",
    )


def _mover(anchors: Sequence[Anchor], before: Anchor, after: Anchor) -> Side:
    """Return which of two neighbours stands further from where most turns stand."""
    usual = float(np.median([anchor.offset_ms for anchor in anchors]))
    return max((after, before), key=lambda anchor: abs(anchor.offset_ms - usual)).side


def _constant_remedy(clock: _Clock) -> str:
    """Return which offset to state, where each side is displaced by one constant time."""
    sides = {side: clock.of(side) for side in SIDES}
    least_ms = clock.least(clock.limits.min_drift_ms)
    if any(len(mine) < 2 or _spread(mine) > least_ms for mine in sides.values()):
        return ""
    shifts = {
        side: round(float(np.median([anchor.offset_ms for anchor in mine])))
        for side, mine in sides.items()
    }
    late: Side = "caller" if shifts["caller"] > shifts["agent"] else "agent"
    by_ms = abs(shifts["caller"] - shifts["agent"])
    return (
        f'if the {late}\'s track is late by {by_ms} ms, state "channel_offset_ms": '
        f'{{"{late}": -{by_ms}}}'
    )


def _residual_fault(clock: _Clock) -> RecordingFault | None:
    _, _, residual_ms = _line(clock.anchors)
    limit_ms = clock.least(clock.limits.residual_ms)
    if residual_ms <= limit_ms:
        return None
    return fault(
        "clock_conflict",
        side=None,
        measured=("residual_ms", round(residual_ms), limit_ms),
        level="timing",
        found=f"turns stand up to {residual_ms / 1000:.2f} s from the transcript's clock",
        expected=f"within {limit_ms} ms of one straight line",
        remedy="record on one clock",
    )


def _lost_time(clock: _Clock) -> list[RecordingFault]:
    """Return, a side, how much of its track is lost or added between its first and last anchor."""
    found, limit_ms = [], clock.least(clock.limits.duration_ms)
    for side in SIDES:
        mine = clock.of(side)
        if len(mine) < 2 or mine[0].apart_ms(mine[-1]) <= limit_ms:
            continue
        lost_ms = round(mine[-1].offset_ms - mine[0].offset_ms)
        word = "added to" if lost_ms > 0 else "missing from"
        found.append(
            fault(
                "duration_mismatch",
                side=side,
                measured=("duration_difference_ms", lost_ms, limit_ms),
                level="timing",
                found=f"{abs(lost_ms) / 1000:.2f} s are {word} the {side}'s track between "
                f"{mine[0].at_ms / 1000:.1f} s and {mine[-1].at_ms / 1000:.1f} s of the transcript",
                expected=f"at most {limit_ms} ms",
                remedy="what follows stands at wrong times: record silence as silence",
            )
        )
    return found


def _beyond_end(
    spurts: Sequence[Spurt], clock: _Clock, alignment: Alignment, duration_ms: int
) -> list[RecordingFault]:
    """Return a fault where turns begin after the recording has ended."""
    shift, limit_ms = _common_shift(clock, alignment), clock.least(clock.limits.duration_ms)
    last = max(spurts, key=lambda spurt: spurt.start_ms)
    over_ms = round(last.start_ms + shift - duration_ms)
    if over_ms <= limit_ms:
        return []
    return [
        fault(
            "duration_mismatch",
            side=last.side,
            measured=("duration_difference_ms", -over_ms, limit_ms),
            level="timing",
            found=f"recording ends {over_ms / 1000:.2f} s before the {last.side}'s last turn",
            expected="all of the transcript's turns inside the recording",
            remedy="record all of the call: a wait at its end is no missing reply",
        )
    ]


def _common_shift(clock: _Clock, alignment: Alignment) -> int:
    return alignment.shift_ms + round(float(np.median([a.offset_ms for a in clock.anchors])))


def _shifted(clock: _Clock, alignment: Alignment) -> list[RecordingFault]:
    shift, limit_ms = _common_shift(clock, alignment), clock.least(clock.limits.duration_ms)
    if abs(shift) <= limit_ms:
        return []
    return [
        fault(
            "transcript_shifted",
            side=None,
            measured=("shift_ms", shift, limit_ms),
            level="warning",
            found=f"recording stands {shift / 1000:+.2f} s from the transcript on both sides",
            expected=f"within {limit_ms} ms",
            remedy="no wait changes by it; state the transcript's times from the recording's start",
        )
    ]
