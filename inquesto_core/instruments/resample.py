"""How a channel of any rate becomes 16 kHz: block by block, in place in time, of exact length.

This is the one place where native samples are converted. A channel that is at 16 kHz already is
not touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import soxr

if TYPE_CHECKING:
    from inquesto_core.instruments.arrays import Samples

__all__ = ["QUALITY", "SAMPLES_PER_MS", "SAMPLE_RATE_HZ", "Resampler", "resampled_length"]

#: The rate of everything that listens.
SAMPLE_RATE_HZ = 16_000
SAMPLES_PER_MS = SAMPLE_RATE_HZ // 1000
#: soxr's quality; linear phase, so that no event moves.
QUALITY = "HQ"

#: Where a header promises more, memory comes with the sound and not with the promise.
_MOST_AT_ONCE = 30 * 60 * SAMPLE_RATE_HZ


def resampled_length(frames: int, sample_rate_hz: int) -> int:
    """Return the samples at 16 kHz of `frames` native ones, rounded half up.

    >>> resampled_length(8001, 8000), resampled_length(44_100, 44_100)
    (16002, 16000)
    """
    return (2 * frames * SAMPLE_RATE_HZ + sample_rate_hz) // (2 * sample_rate_hz)


class Resampler:
    """Takes the native samples of one channel in order and holds them at 16 kHz.

    Parameters
    ----------
    sample_rate_hz : int
        Native rate.
    expected_frames : int
        Native frames that will come, as far as known; more and fewer may.
    """

    def __init__(self, sample_rate_hz: int, expected_frames: int = 0) -> None:
        self._sample_rate_hz = sample_rate_hz
        self._frames = 0
        self._length = 0
        expected = resampled_length(expected_frames, sample_rate_hz) + SAMPLE_RATE_HZ
        self._buffer = np.zeros(min(expected, _MOST_AT_ONCE), dtype=np.float32)
        self._stream = (
            None
            if sample_rate_hz == SAMPLE_RATE_HZ
            else soxr.ResampleStream(
                sample_rate_hz, SAMPLE_RATE_HZ, 1, dtype="float32", quality=QUALITY
            )
        )

    def push(self, samples: Samples) -> None:
        """Append native samples, float32 array of shape (n,)."""
        self._frames += samples.size
        if self._stream is not None:
            samples = self._stream.resample_chunk(samples)
        self._append(samples)

    def finish(self) -> Samples:
        """Return the whole channel at 16 kHz, `resampled_length` of the frames pushed."""
        if self._stream is not None:
            self._append(self._stream.resample_chunk(np.zeros(0, dtype=np.float32), last=True))
        length = resampled_length(self._frames, self._sample_rate_hz)
        kept = min(self._length, length)
        self._buffer[kept:] = 0
        self._buffer.resize(length, refcheck=False)
        return self._buffer

    def _append(self, samples: Samples) -> None:
        needed = self._length + samples.size
        if needed > self._buffer.size:
            # In place where the allocator can: the peak is one copy of the channel, not two.
            self._buffer.resize(max(needed, 2 * self._buffer.size), refcheck=False)
        self._buffer[self._length : needed] = samples
        self._length = needed
