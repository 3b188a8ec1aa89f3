"""What is measured on a channel's native samples while they pass, and what is taken out of them.

Clipping and full scale are facts of the samples as recorded: resampling would blur them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.media_limits import MediaLimits

__all__ = ["ChannelMeter"]

#: The largest value that a companded codec can say.
_CEILING = {"ULAW": 32124 / 32768, "ALAW": 32256 / 32768}


class ChannelMeter:
    """Level, mean, clipping and full-scale runs of one channel, fed block by block.

    Parameters
    ----------
    sample_rate_hz : int
    codec : str
        libsndfile's name of it.
    limits : MediaLimits
    """

    def __init__(self, *, sample_rate_hz: int, codec: str, limits: MediaLimits) -> None:
        self.frames = 0
        self.first_bad_frame: int | None = None
        self.full_scale_frames = 0
        self._largest = limits.largest_sample
        self._peak = 0.0
        self._sum = 0.0
        self._clipped = 0
        self._clip_level = limits.clip_level * _CEILING.get(codec, 1.0)
        self._clip_run = limits.clip_run
        self._clip_open = 0
        self._full_level = limits.full_scale_level
        self._full_run = max(1, -(-limits.full_scale_run_ms * sample_rate_hz // 1000))
        self._held = np.zeros(0, dtype=np.float32)
        self._silenced: float | None = None

    def pass_on(self, samples: Samples) -> Samples:
        """Return the samples to go on with: full-scale runs silenced, an undecided tail held back.

        Parameters
        ----------
        samples : float32 array of shape (n,)
            The next native samples. After a sample that is no sound (NaN, infinite, beyond
            `largest_sample`) nothing is passed on.
        """
        if not samples.size:
            return samples
        peak = max(float(samples.max()), -float(samples.min()))
        if not peak <= self._largest:  # nor where it is NaN
            is_sound = np.abs(samples) <= self._largest
            self.first_bad_frame = self.frames + int(np.argmin(is_sound))
            return samples[:0]
        self.frames += samples.size
        self._peak = max(self._peak, peak)
        self._count_clipped(samples, peak)
        if self._held.size or self._silenced is not None or peak >= self._full_level:
            samples = self._without_full_scale(samples)
        self._sum += float(samples.sum(dtype=np.float64))
        return samples

    def rest(self) -> Samples:
        """Return what is still held back, at the end of the channel."""
        held, self._held = self._held, np.zeros(0, dtype=np.float32)
        self._sum += float(held.sum(dtype=np.float64))
        return held

    @property
    def mean(self) -> float:
        """Return the mean (DC) of what was passed on; 0.0 where there was nothing."""
        return self._sum / self.frames if self.frames else 0.0

    @property
    def peak_dbfs(self) -> float | None:
        """Return the level of the largest sample, None for digital silence."""
        return 20 * math.log10(self._peak) if self._peak > 0 else None

    @property
    def clipped_fraction(self) -> float:
        """Return the share of all samples that are clipped, in [0, 1]."""
        return self._clipped / self.frames if self.frames else 0.0

    def _count_clipped(self, samples: Samples, peak: float) -> None:
        if peak < self._clip_level:
            self._clip_open = 0
            return
        starts, ends = _runs(np.abs(samples) >= self._clip_level)
        lengths = ends - starts
        if starts.size and starts[0] == 0:
            lengths[0] += self._clip_open
            if self._clip_open >= self._clip_run:
                self._clipped -= self._clip_open  # counted when its block ended
        self._clipped += int(lengths[lengths >= self._clip_run].sum())
        self._clip_open = int(lengths[-1]) if ends.size and ends[-1] == samples.size else 0

    def _without_full_scale(self, samples: Samples) -> Samples:
        joined = np.concatenate([self._held, samples])
        self._held = joined[:0]
        goes_on = 0
        if self._silenced is not None:
            other = joined != self._silenced
            goes_on = int(np.argmax(other)) if other.any() else joined.size
            self._silence(joined[:goes_on])
            if goes_on == joined.size:
                return joined
            self._silenced = None
        for start, end in self._constant_runs(joined, goes_on):
            is_last = end == joined.size
            if end - start >= self._full_run:
                self._silenced = float(joined[start]) if is_last else None
                self._silence(joined[start:end])
            elif is_last:
                self._held = joined[start:].copy()
                joined = joined[:start]
        return joined

    def _constant_runs(self, samples: Samples, after: int) -> list[tuple[int, int]]:
        """Return the runs of one full-scale value, those too short to matter left out."""
        changes = np.flatnonzero(samples[after + 1 :] != samples[after:-1]) + after + 1
        starts = np.concatenate([[after], changes])
        ends = np.concatenate([changes, [samples.size]])
        matters = (ends - starts >= self._full_run) | (ends == samples.size)
        matters &= np.abs(samples[starts]) >= self._full_level
        return list(zip(starts[matters].tolist(), ends[matters].tolist(), strict=True))

    def _silence(self, run: Samples) -> None:
        self.full_scale_frames += run.size
        run[:] = 0


def _runs(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the runs of True begin and end, half-open."""
    edges = np.diff(mask.astype(np.int8), prepend=0, append=0)
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
