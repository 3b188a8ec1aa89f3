"""The gain before the VAD: normal sound untouched, quiet sound raised, too quiet refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from spoken import PROTOCOL

from inquesto_core.instruments.level import FLOOR_DB
from inquesto_core.instruments.vad_level import VadGain, VadLevelLimits, low_level, vad_gain

LIMITS = VadLevelLimits.of(PROTOCOL.instruments.vad_level)
NOTHING = np.zeros((0, 2), np.int64)


def level(sound_db, *, sound_ms=1000, quiet_db=-90.0):
    """Return a level of sound amid quiet, ms."""
    out = np.full(10_000, quiet_db, np.float32)
    out[2000 : 2000 + sound_ms] = sound_db
    return out


def gain(levels):
    return vad_gain(levels, floor_percentile=10, floor_margin_db=10, limits=LIMITS)


@pytest.mark.parametrize(
    ("loud_db", "expected"),
    [
        pytest.param(-45.0, 1.0, id="normal"),
        pytest.param(-45.1, 10 ** (20.1 / 20), id="quiet"),
        pytest.param(-65.0, 100.0, id="very_quiet"),
        pytest.param(0.0, 1.0, id="never_lowered"),
    ],
)
def test_only_quiet_sound_is_raised_and_to_the_target(loud_db, expected):
    assert gain(level(loud_db)).gain == pytest.approx(expected, rel=1e-4)
    assert gain(level(loud_db)).loud_dbfs == pytest.approx(loud_db)


@pytest.mark.parametrize(("sound_ms", "loud_db"), [(300, -50.0), (299, None)])
def test_too_little_sound_says_nothing_about_the_level(sound_ms, loud_db):
    assert gain(level(-50.0, sound_ms=sound_ms)).loud_dbfs == loud_db


def test_steady_noise_is_raised_and_digital_silence_is_not():
    assert gain(np.full(5000, -75.0, np.float32)).gain == pytest.approx(10 ** (50 / 20))
    assert gain(np.full(5000, FLOOR_DB, np.float32)).gain == 1.0
    assert gain(np.zeros(0, np.float32)) == VadGain(loud_dbfs=None, gain=1.0)


@pytest.mark.parametrize(
    ("lift", "taken_ms", "found_ms", "refused"),
    [
        pytest.param(VadGain(loud_dbfs=-63.1, gain=80.0), 1000, 1000, True, id="below_the_floor"),
        pytest.param(VadGain(loud_dbfs=-63.0, gain=80.0), 1000, 1000, False, id="at_the_floor"),
        pytest.param(VadGain(loud_dbfs=None, gain=80.0), 1000, 329, True, id="under_noise"),
        pytest.param(VadGain(loud_dbfs=None, gain=80.0), 1000, 330, False, id="above_noise"),
        pytest.param(VadGain(loud_dbfs=None, gain=80.0), 299, 0, False, id="hardly_any_speech"),
        pytest.param(VadGain(loud_dbfs=-30.0, gain=1.0), 1000, 0, False, id="normal_level"),
    ],
)
def test_a_channel_is_too_quiet_where_speech_is_taken_and_not_found(
    lift, taken_ms, found_ms, refused
):
    regions = np.array([[2000, 2000 + taken_ms]])
    speech = np.array([[2000, 2000 + found_ms]]) if found_ms else NOTHING
    assert low_level(lift, regions, speech, LIMITS) == refused


def test_every_limit_is_the_protocols():
    names = {field.name for field in dataclasses.fields(VadLevelLimits)}
    assert names == set(PROTOCOL.instruments.vad_level)
