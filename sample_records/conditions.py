"""What each condition does to the caller's channel: nothing, a telephone line, a room of talkers.

This module decides noise floor, band, codec and babble. No sound moves in time.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import soundfile
import soxr
from sound import RATE_HZ, Samples

__all__ = ["carry"]

NOISE_DBFS = {"clean": -81.0, "telephone": -86.0, "babble": -81.0}  # about -80 comes out
BABBLE_DBFS = -36.0  # 10 dB below the caller
BAND_HZ = (300, 3400)
TELEPHONE_RATE_HZ = 8000


def carry(
    caller: Samples, condition: str, *, talkers: Sequence[Samples], chance: np.random.Generator
) -> Samples:
    """Return the caller's channel as it is recorded in `condition`.

    Parameters
    ----------
    caller : array
        The caller alone, at its level.
    talkers : sequence of arrays
        What each talker of the babble says, at any level.
    chance : numpy.random.Generator
        Seeded by the call: noise, and where each talker begins.
    """
    noise = chance.standard_normal(len(caller))
    if condition == "telephone":
        noise = _band(noise)
    track = caller + _at_level(noise, NOISE_DBFS[condition])
    if condition == "telephone":
        return _codec(_band(track))
    if condition == "babble":
        return track + _at_level(_babble(talkers, len(caller), chance), BABBLE_DBFS)
    return track


def _at_level(samples: Samples, dbfs: float) -> Samples:
    scaled: Samples = samples * (10 ** (dbfs / 20) / np.sqrt(np.mean(samples**2)))
    return scaled


def _band(samples: Samples) -> Samples:
    """Return the 300-3400 Hz band; the filter is symmetric, so no sound moves in time."""
    taps = np.arange(-256, 257)
    low, high = (2 * f / RATE_HZ * np.sinc(2 * f / RATE_HZ * taps) for f in BAND_HZ)
    return np.convolve(samples, (high - low) * np.hamming(len(taps)), mode="same")


def _codec(samples: Samples) -> Samples:
    """Return the channel after 8 kHz G.711 mu-law, at 16 kHz again."""
    coded = io.BytesIO()
    narrow = soxr.resample(samples, RATE_HZ, TELEPHONE_RATE_HZ)
    soundfile.write(coded, narrow, TELEPHONE_RATE_HZ, format="RAW", subtype="ULAW")
    coded.seek(0)
    heard, _ = soundfile.read(
        coded, samplerate=TELEPHONE_RATE_HZ, channels=1, format="RAW", subtype="ULAW"
    )
    wide: Samples = soxr.resample(heard, TELEPHONE_RATE_HZ, RATE_HZ)
    return wide


def _babble(talkers: Sequence[Samples], length: int, chance: np.random.Generator) -> Samples:
    """Return all talkers at one level, each from a place of its own on and over again."""
    mix = np.zeros(length)
    for talker in talkers:
        start = int(chance.integers(len(talker)))
        mix += np.resize(np.roll(_at_level(talker, 0.0), -start), length)
    return mix
