"""Two detectors that anyone can have: Silero VAD at its defaults, and an energy VAD.

Neither knows the other channel, echo or background; both get the recording as it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import soundfile
import soxr

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

__all__ = ["energy_segments", "read_channels", "silero_segments"]

Interval = tuple[int, int]

SAMPLE_RATE_HZ = 16_000
_PER_MS = SAMPLE_RATE_HZ // 1000

#: The published defaults of Silero's `get_speech_timestamps`.
_FRAME = 512
_THRESHOLD, _RELEASE = 0.5, 0.35
_MIN_SPEECH_MS, _MIN_SILENCE_MS, _PAD_MS = 250, 100, 30

#: The energy VAD: level over 20 ms every 10 ms, between a quiet and a loud percentile.
_WINDOW_MS, _HOP_MS = 20, 10
_QUIET_PERCENTILE, _LOUD_PERCENTILE = 10, 95
_ON_SHARE, _OFF_SHARE = 0.5, 0.35
_HANGOVER_MS, _MIN_SOUND_MS = 200, 60
_LOWEST_DB, _LEAST_RANGE_DB = -90.0, 6.0


def read_channels(path: Path, *channels: int) -> tuple[Samples, ...]:
    """Return channels of a recording at 16 kHz, otherwise as they were written."""
    samples, rate_hz = soundfile.read(str(path), dtype="float32", always_2d=True)
    if rate_hz != SAMPLE_RATE_HZ:
        samples = soxr.resample(samples, rate_hz, SAMPLE_RATE_HZ)
    return tuple(np.ascontiguousarray(samples[:, index]) for index in channels)


def silero_segments(probability: NDArray[np.float32], samples: int) -> list[Interval]:
    """Return speech as Silero's `get_speech_timestamps` does with its default parameters.

    Speech begins with a frame of at least 0.5 and ends with the first frame below 0.35 that no
    frame of at least 0.5 follows within 100 ms. What lasts 250 ms or less is dropped; the rest
    grows by 30 ms at each side, which no pause of more than 100 ms is too short for.

    Parameters
    ----------
    probability : float32 array of shape (frames,)
    samples : int
        Length of the sound at 16 kHz.
    """
    spans: list[tuple[int, int]] = []
    start = quiet_from = None
    for index, value in enumerate(probability):
        at = index * _FRAME
        if value >= _THRESHOLD:
            quiet_from = None
            start = at if start is None else start
        elif value < _RELEASE and start is not None:
            quiet_from = at if quiet_from is None else quiet_from
            if at - quiet_from >= _MIN_SILENCE_MS * _PER_MS:
                spans.append((start, quiet_from))
                start = quiet_from = None
    if start is not None:
        spans.append((start, samples))
    pad = _PAD_MS * _PER_MS
    return [
        (round(max(0, low - pad) / _PER_MS), round(min(samples, high + pad) / _PER_MS))
        for low, high in spans
        if high - low > _MIN_SPEECH_MS * _PER_MS
    ]


def energy_segments(samples: Samples) -> list[Interval]:
    """Return where a channel is loud.

    The level is the RMS of 20 ms around every tenth millisecond, the mean removed. Sound begins at
    half way between the 10th and the 95th percentile of all levels in dB, and ends where the level
    falls below 35 % of the way and stays there for a hangover of 200 ms, which is not part of it.
    Less than 60 ms is no speech, nor is anything in a channel whose percentiles lie within 6 dB.

    Parameters
    ----------
    samples : float32 array of shape (n,), 16 kHz
    """
    if len(samples) < _HOP_MS * _PER_MS:
        return []
    level = _level_db(samples)
    quiet, loud = np.percentile(level, [_QUIET_PERCENTILE, _LOUD_PERCENTILE])
    if loud - quiet < _LEAST_RANGE_DB:
        return []
    on, off = (quiet + share * (loud - quiet) for share in (_ON_SHARE, _OFF_SHARE))
    spans: list[Interval] = []
    start: int | None = None
    last = 0
    for index, value in enumerate(level):
        at = index * _HOP_MS
        if value >= on and start is None:
            start = at
        if start is None:
            continue
        if value >= off:
            last = at + _HOP_MS
        elif at - last >= _HANGOVER_MS:
            spans.append((start, last))
            start = None
    if start is not None:
        spans.append((start, last))
    return [(a, b) for a, b in spans if b - a >= _MIN_SOUND_MS]


def _level_db(samples: Samples) -> NDArray[np.float64]:
    """Return the level around every tenth millisecond, at least `_LOWEST_DB`."""
    half = (_WINDOW_MS - _HOP_MS) * _PER_MS // 2
    power = np.square(samples.astype(np.float64) - samples.mean(dtype=np.float64))
    total = np.concatenate([[0.0], np.cumsum(np.pad(power, half))])
    starts = np.arange(0, len(samples) - _HOP_MS * _PER_MS + 1, _HOP_MS * _PER_MS)
    mean = (total[starts + _WINDOW_MS * _PER_MS] - total[starts]) / (_WINDOW_MS * _PER_MS)
    decibels = 10.0 * np.log10(np.maximum(mean, 1e-12))
    return np.asarray(np.maximum(decibels, _LOWEST_DB), dtype=np.float64)
