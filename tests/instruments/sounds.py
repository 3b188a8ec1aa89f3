"""Sounds of a telephone line that are nobody speaking, 16 kHz, float32."""

from __future__ import annotations

import numpy as np
from synth import RATE_HZ

RINGBACK_HZ, DIAL_HZ, BUSY_HZ = (440.0, 480.0), (350.0, 440.0), (480.0, 620.0)


def tone(hz, duration_ms, *, rms=0.05):
    """Return the sum of equal partials at `hz`."""
    time = np.arange(duration_ms * RATE_HZ // 1000) / RATE_HZ
    sound = sum(np.sin(2 * np.pi * each * time) for each in np.atleast_1d(hz))
    return (sound * rms / np.sqrt(np.mean(sound**2))).astype(np.float32)


def cadence(hz, on_ms, off_ms, count):
    """Return a tone that comes and goes `count` times."""
    pause = np.zeros(off_ms * RATE_HZ // 1000, np.float32)
    return np.concatenate([tone(hz, on_ms), pause] * count)


def arpeggio(duration_ms, *, note_ms=250, ring_ms=600, seed=1):
    """Return plucked strings (Karplus-Strong), one after the other."""
    rng = np.random.default_rng(seed)
    out = np.zeros(duration_ms * RATE_HZ // 1000, np.float32)
    notes = (261.6, 329.6, 392.0, 523.3, 392.0, 329.6)
    for number, start in enumerate(range(0, len(out), note_ms * RATE_HZ // 1000)):
        string = rng.uniform(-1, 1, int(RATE_HZ / notes[number % len(notes)]))
        rung = []
        for _ in range(ring_ms * RATE_HZ // 1000 // len(string) + 1):
            rung.append(string)
            string = 0.996 * 0.5 * (string + np.roll(string, -1))
        pluck = 0.2 * np.concatenate(rung)[: min(ring_ms * RATE_HZ // 1000, len(out) - start)]
        out[start : start + len(pluck)] += pluck
    return out


def modem(duration_ms):
    """Return a fax answer: V.21 at 300 bit/s on 980 and 1180 Hz."""
    bits = np.random.default_rng(5).integers(0, 2, duration_ms * 300 // 1000 + 1)
    hz = np.where(bits, 1180.0, 980.0).repeat(RATE_HZ // 300 + 1)[: duration_ms * RATE_HZ // 1000]
    return (0.07 * np.sin(np.cumsum(2 * np.pi * hz / RATE_HZ))).astype(np.float32)


def noise(duration_ms, dbfs, *, pink=False, seed=0):
    """Return white or pink noise of a level."""
    count = duration_ms * RATE_HZ // 1000
    sound = np.random.default_rng(seed).standard_normal(count)
    if pink:
        spectrum = np.fft.rfft(sound)
        spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
        spectrum[0] = 0
        sound = np.fft.irfft(spectrum, count)
    return (sound * 10 ** (dbfs / 20) / np.sqrt(np.mean(sound**2))).astype(np.float32)


def clicks(duration_ms, click_ms, *, every_ms=700):
    """Return loud noise bursts of `click_ms`."""
    out = np.zeros(duration_ms * RATE_HZ // 1000, np.float32)
    for number, at in enumerate(range(0, duration_ms - click_ms, every_ms)):
        burst = noise(click_ms, -12, seed=number)
        out[at * RATE_HZ // 1000 :][: len(burst)] = burst
    return out
