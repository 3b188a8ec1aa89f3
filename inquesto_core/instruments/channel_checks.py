"""What two decoded channels say about the recording: one sound twice, or no sound at all.

Both are facts about the recording; what they do to the call's timing is decided by the caller.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from inquesto_core.instruments.resample import SAMPLES_PER_MS

if TYPE_CHECKING:
    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.media_limits import MediaLimits

__all__ = ["are_identical", "identical_residual_db", "is_silent", "loudest_frame_dbfs"]

_BLOCK = 1 << 18
#: Added to the fit's diagonal, relative to the energy: telephone band alone is near singular.
_RIDGE = 1e-5
#: Two equal channels leave nothing, which has no level.
_LEAST = 1e-20


def is_silent(samples: Samples, limits: MediaLimits) -> bool:
    """Return whether the RMS of every frame is below ``silent_dbfs``; True where there is none."""
    return loudest_frame_dbfs(samples, limits.silent_frame_ms) < limits.silent_dbfs


def loudest_frame_dbfs(samples: Samples, frame_ms: int) -> float:
    """Return the level of the loudest frame, RMS; minus infinity for digital silence or nothing.

    Parameters
    ----------
    samples : float32 array of shape (n,)
        16 kHz, mean removed. The last frame may be shorter.
    """
    frame, loudest = frame_ms * SAMPLES_PER_MS, 0.0
    block = frame * (_BLOCK // frame)
    for at in range(0, samples.size, block):
        part = samples[at : at + block]
        whole = part[: part.size // frame * frame].reshape(-1, frame)
        powers = np.einsum("ij,ij->i", whole, whole, dtype=np.float64) / frame
        loudest = max(loudest, float(powers.max(initial=0.0)))
        rest = part[whole.size :]
        if rest.size:
            loudest = max(loudest, float(np.square(rest, dtype=np.float64).mean()))
    return 10 * math.log10(loudest) if loudest > 0 else -math.inf


def are_identical(first: Samples, second: Samples, limits: MediaLimits) -> bool:
    """Return whether both channels carry one sound (see `identical_residual_db`)."""
    return identical_residual_db(first, second, limits) is not None


def identical_residual_db(first: Samples, second: Samples, limits: MediaLimits) -> float | None:
    """Return what is left of one sound on both channels, a mono call on two sides, else None.

    They carry one sound where they correlate (either sign) by more than ``identical_correlation``
    at a lag of at most ``identical_lag`` samples, their levels differ by no more than
    ``identical_level_db``, and a least-squares fit of the second to the first over lags up to
    ``identical_fit_lag`` leaves less than ``identical_residual_db`` of the first's energy. The fit
    over several lags, not gain alone, also finds a copy late by part of a sample, as one native
    sample is after resampling.

    Parameters
    ----------
    first, second : float32 arrays of shape (n,)
        16 kHz, mean removed.

    Returns
    -------
    float or None
        dB below the first channel, at most 0 and no less than -200; None where they are two sounds,
        or either side is digital silence.
    """
    length = max(first.size, second.size)
    near, reach = limits.identical_lag, limits.identical_fit_lag
    energy = float(_correlations(first, first, length, range(1))[0])
    other = float(_correlations(second, second, length, range(1))[0])
    if min(energy, other) <= 0.0:
        return None
    if abs(10 * np.log10(energy / other)) > limits.identical_level_db:
        return None
    cross = _correlations(first, second, length, range(-near, near + 1))
    if float(np.abs(cross).max()) / np.sqrt(energy * other) <= limits.identical_correlation:
        return None
    own = _correlations(second, second, length, range(2 * reach + 1))
    cross = _correlations(first, second, length, range(-reach, reach + 1))
    taps = np.arange(2 * reach + 1)
    system = own[np.abs(taps[:, None] - taps[None, :])]
    weights = np.linalg.solve(system + _RIDGE * other * np.eye(taps.size), cross)
    residual = energy - 2 * weights @ cross + weights @ system @ weights
    left_db = 10 * float(np.log10(max(residual / energy, _LEAST)))
    return left_db if left_db < limits.identical_residual_db else None


def _correlations(first: Samples, second: Samples, length: int, lags: range) -> NDArray[np.float64]:
    """Return ``sum(first[n + lag] * second[n])`` for each lag, zero outside either channel."""
    sums = np.zeros(len(lags), dtype=np.float64)
    for at in range(0, length, _BLOCK):
        block = second[at : at + _BLOCK]
        for place, lag in enumerate(lags):
            start = max(at + lag, 0)
            moved = first[start : max(at + lag + block.size, 0)]
            fixed = block[start - at - lag :][: moved.size]
            sums[place] += float(np.dot(moved, fixed))
    return sums
