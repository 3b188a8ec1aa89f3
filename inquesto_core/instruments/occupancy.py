"""How well the transcript's turns lie over the measured speech: as they stand, exchanged, scaled.

The measure is the correlation of two occupancies over a fine grid, both sides as one signal: 1
where each side sounds exactly when the transcript says so, about 0 where nothing agrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from inquesto_core.instruments.intervals import joined
from inquesto_core.instruments.turn_anchors import SIDES, Int, Side

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inquesto_core.instruments.turn_anchors import Spurt
    from inquesto_core.protocol import RecordingFaultLimits

__all__ = ["Alignment", "align", "fit_of"]

_GRID_MS = 50
Grid = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """The map ``t_file = scale * t + shift_ms`` under which turns and speech agree to `score`."""

    scale: float
    shift_ms: int
    score: float


def _grid(intervals: Iterable[tuple[float, float]], size: int) -> Grid:
    edges = np.zeros(size + 1)
    for start, end in intervals:
        first, last = (min(max(round(at / _GRID_MS), 0), size) for at in (start, end))
        edges[first] += 1
        edges[last] -= 1
    return np.minimum(np.cumsum(edges[:-1]), 1.0)


def _turns(spurts: Sequence[Spurt], side: Side, scale: float, size: int) -> Grid:
    """Return where a side speaks by the transcript; a turn without an end is left out."""
    return _grid(
        (
            (spurt.start_ms * scale, spurt.end_ms * scale)
            for spurt in spurts
            if spurt.side == side and spurt.end_ms is not None
        ),
        size,
    )


def _size(spurts: Sequence[Spurt], speech: Mapping[Side, Int], scale: float) -> int:
    ends = [scale * (spurt.end_ms or spurt.start_ms) for spurt in spurts]
    ends += [float(part[-1, 1]) for part in speech.values() if len(part)]
    return round(max(ends, default=0.0) / _GRID_MS) + 1


def _correlations(first: tuple[Grid, Grid], second: tuple[Grid, Grid], reach: int) -> Grid:
    """Return the correlation of both pairs for each lag of `first` from ``-reach`` to ``reach``."""
    size = len(first[0])
    n = 1 << (2 * size - 1).bit_length()
    pairs = zip(first, second, strict=True)
    spectra = [np.conj(np.fft.rfft(one, n)) * np.fft.rfft(other, n) for one, other in pairs]
    products = np.fft.irfft(spectra[0] + spectra[1], n)
    products = np.concatenate([products[n - reach :], products[: reach + 1]])
    count = 2.0 * size
    sums = [sum(float(part.sum()) for part in pair) for pair in (first, second)]
    spread = [total / count * (1 - total / count) for total in sums]
    if min(spread) <= 0:
        return np.zeros(2 * reach + 1)
    mean = sums[0] * sums[1] / count**2
    return np.asarray((products / count - mean) / np.sqrt(spread[0] * spread[1]))


def fit_of(
    spurts: Sequence[Spurt],
    speech: Mapping[Side, Int],
    limits: RecordingFaultLimits,
    *,
    scale: float = 1.0,
    exchanged: bool = False,
    reach_ms: int,
) -> Alignment:
    """Return the best shift up to `reach_ms` either way at one scale, sides exchanged or not."""
    size = _size(spurts, speech, scale) + reach_ms // _GRID_MS
    units = {side: joined(speech[side], limits.pause_join_ms * scale) for side in SIDES}
    caller, agent = (_turns(spurts, side, scale, size) for side in SIDES)
    measured = [_grid(units[side], size) for side in SIDES]
    told = (agent, caller) if exchanged else (caller, agent)
    reach = reach_ms // _GRID_MS
    scores = _correlations(told, (measured[0], measured[1]), reach)
    # Of equal scores the smallest shift.
    best = min(range(len(scores)), key=lambda k: (-round(float(scores[k]), 6), abs(k - reach)))
    return Alignment(scale=scale, shift_ms=(best - reach) * _GRID_MS, score=float(scores[best]))


def align(
    spurts: Sequence[Spurt],
    speech: Mapping[Side, Int],
    scales: Iterable[float],
    limits: RecordingFaultLimits,
) -> Alignment:
    """Return the map that fits best: as it stands, unless another fits far better.

    Parameters
    ----------
    scales : iterable of float
        What a wrong sample rate would make of the times, 1 left out.
    """
    as_it_stands = fit_of(spurts, speech, limits, reach_ms=0)
    if as_it_stands.score >= limits.occupancy_fit:
        return as_it_stands
    best = as_it_stands
    for scale in (1.0, *scales):
        found = fit_of(spurts, speech, limits, scale=scale, reach_ms=limits.search_ms)
        gain = limits.occupancy_gain if best is as_it_stands else 0.02
        if found.score >= max(limits.occupancy_fit, best.score + gain):
            best = found
    return best
