"""The level of a channel every millisecond, in dB full scale, low rumble removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import butter, sosfilt

from inquesto_core.instruments.resample import SAMPLE_RATE_HZ, SAMPLES_PER_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.instruments.arrays import Samples

__all__ = ["FLOOR_DB", "level_db"]

#: Digital silence.
FLOOR_DB = -120.0
#: Milliseconds filtered at a time: bounds the memory, changes no result.
_BLOCK_MS = 60_000


def level_db(samples: Samples, *, window_ms: int, highpass_hz: float) -> NDArray[np.float32]:
    """Return the short-time level around every millisecond.

    A high-pass takes out what a constant or decaying offset, hum and handling noise would add. The
    window is centred and odd; the last, partial millisecond counts as a whole one.

    Parameters
    ----------
    samples : float32 array of shape (n,), 16 kHz
    window_ms : int
        Odd length of the mean-square window.
    highpass_hz : float
        Corner of a second-order Butterworth filter.

    Returns
    -------
    float32 array of shape (ceil(n / 16),), dB, at least `FLOOR_DB`
    """
    sections = butter(2, highpass_hz, "highpass", fs=SAMPLE_RATE_HZ, output="sos")
    state = np.zeros((sections.shape[0], 2))
    span = -(-len(samples) // SAMPLES_PER_MS)
    energy = np.zeros(span)
    for first in range(0, span, _BLOCK_MS):
        piece = samples[first * SAMPLES_PER_MS : (first + _BLOCK_MS) * SAMPLES_PER_MS]
        filtered, state = sosfilt(sections, piece.astype(np.float64), zi=state)
        filtered = np.pad(filtered, (0, -len(filtered) % SAMPLES_PER_MS))
        rows = filtered.reshape(-1, SAMPLES_PER_MS)
        energy[first : first + len(rows)] = np.einsum("ij,ij->i", rows, rows)
    half = window_ms // 2
    total = np.concatenate([[0.0], np.cumsum(np.pad(energy, (half, half)))])
    mean = (total[window_ms:] - total[:-window_ms]) / (window_ms * SAMPLES_PER_MS)
    floor = 10.0 ** (FLOOR_DB / 10.0)
    decibels = 10.0 * np.log10(np.maximum(mean, floor))
    return np.asarray(decibels, dtype=np.float32)
