from __future__ import annotations

import numpy as np
import pytest
from synth import OVL, speech_like, stereo

from inquesto_core.instruments.channel_checks import are_identical, is_silent
from inquesto_core.instruments.extract import media_limits
from inquesto_core.instruments.resample import Resampler
from inquesto_core.protocol import load_protocol

LIMITS = media_limits(load_protocol("inquesto-0.1"))
MONO = stereo(OVL).sum(axis=1)
DITHER = np.random.default_rng(5).integers(-1, 2, MONO.size) / 32768


def native_late(lag, rate_hz):
    """Return a mono copy late by whole samples of another rate, both at 16 kHz."""
    sound = speech_like(2 * rate_hz, rate_hz)
    pair = []
    for moved in (sound, np.concatenate([np.zeros(lag, np.float32), sound[:-lag]])):
        resampler = Resampler(rate_hz)
        resampler.push(moved)
        pair.append(resampler.finish())
    return pair


def noise(seed):
    return np.random.default_rng(seed).standard_normal(80_000)


def roll(sound, lag):
    return np.roll(sound, lag)


SAME = {
    "exact": (MONO, MONO),
    "gain 0.8": (MONO, 0.8 * MONO),
    "one bit of dither": (MONO, MONO + DITHER),
    "one sample late": (MONO, roll(MONO, 1)),
    "two samples early": (MONO, roll(MONO, -2)),
    "polarity": (MONO, -MONO),
    "all at once": (MONO, -0.8 * roll(MONO, 1) + DITHER),
    "one sample late at 44.1 kHz": native_late(1, 44_100),
    "one sample late at 8 kHz": native_late(1, 8000),
    "19 dB apart": (MONO, MONO * 10 ** (-19 / 20)),
}
APART = {
    "two sides": tuple(stereo(OVL).T),
    "three samples late": (noise(1), roll(noise(1), 3)),
    "21 dB apart": (MONO, MONO * 10 ** (-21 / 20)),
    "both sides leak": (MONO, stereo(OVL)[:, 0] + 0.3 * stereo(OVL)[:, 1]),
    "noise 28 dB below": (noise(1), noise(1) + noise(2) * 10 ** (-28 / 20)),
    "silence twice": (np.zeros(16_000), np.zeros(16_000)),
    "silence beside speech": (MONO, np.zeros(MONO.size)),
    "nothing": (np.zeros(0), np.zeros(0)),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_one_sound_on_two_sides_is_found(pair):
    first, second = (np.asarray(sound, dtype=np.float32) for sound in pair)
    assert are_identical(first, second, LIMITS)
    assert are_identical(second, first, LIMITS)


@pytest.mark.parametrize("pair", APART.values(), ids=APART.keys())
def test_two_sounds_are_not_taken_for_one(pair):
    first, second = (np.asarray(sound, dtype=np.float32) for sound in pair)
    assert not are_identical(first, second, LIMITS)
    assert not are_identical(second, first, LIMITS)


@pytest.mark.parametrize(("below_db", "identical"), [(29, False), (31, True)])
def test_what_differs_by_less_than_30_db_below_is_one_sound(below_db, identical):
    first = noise(1).astype(np.float32)
    second = (noise(1) + noise(2) * 10 ** (-below_db / 20)).astype(np.float32)
    assert are_identical(first, second, LIMITS) == identical


def test_the_blocks_do_not_matter():
    sound = np.random.default_rng(2).standard_normal(700_000).astype(np.float32)
    assert are_identical(sound, np.roll(sound, 2), LIMITS)
    assert not are_identical(sound, np.roll(sound, 300_000), LIMITS)


@pytest.mark.parametrize(("level_db", "silent"), [(-70.1, True), (-69.9, False)])
@pytest.mark.parametrize(
    "at", [0, 300_000, 319_990], ids=["first frame", "second block", "last part frame"]
)
def test_one_frame_at_the_floor_is_sound(level_db, silent, at):
    sound = np.zeros(319_995, dtype=np.float32)
    start = at // 320 * 320
    sound[start : start + 320] = 10 ** (level_db / 20)
    assert is_silent(sound, LIMITS) == silent


def test_no_sample_is_silence():
    assert is_silent(np.zeros(0, dtype=np.float32), LIMITS)
