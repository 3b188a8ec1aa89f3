"""Calls made of numbers: speech-like sound at exact times, written in any container.

BASE and OVL are those of the field cases: times in ms, intervals half-open.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import soundfile

from inquesto_core.bundle import Agent, AudioFile, Bundle, Call, ChannelOffsets

RATE_HZ = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """When each side sounds, and how long the call is."""

    caller: tuple[tuple[int, int], ...]
    agent: tuple[tuple[int, int], ...]
    duration_ms: int


BASE = Script(
    caller=((1000, 2000), (5000, 6000)), agent=((2800, 4000), (9200, 10_000)), duration_ms=11_000
)
OVL = Script(caller=((1000, 3000),), agent=((2400, 4000),), duration_ms=5000)


def speech_like(n_samples, rate_hz=RATE_HZ, pitch_hz=120.0, seed=0):
    """Return a pulse train through three formant resonators with 4 Hz modulation, RMS 0.1."""
    rng = np.random.default_rng(seed)
    sound = np.zeros(n_samples)
    sound[np.arange(0, n_samples, rate_hz / pitch_hz).astype(int)] = 1.0
    sound += 1e-3 * rng.standard_normal(n_samples)
    spectrum = np.fft.rfft(sound, 2 * n_samples)
    hz = np.fft.rfftfreq(2 * n_samples, 1 / rate_hz)
    response = sum(
        1.0 / (1.0 + ((hz - centre) / width) ** 2) ** 1.5
        for centre, width in ((600.0, 90.0), (1200.0, 120.0), (2600.0, 180.0))
    )
    sound = np.fft.irfft(spectrum * response)[:n_samples]
    sound *= 1.0 + 0.5 * np.sin(2 * np.pi * 4.0 * np.arange(n_samples) / rate_hz)
    sound *= 0.1 / np.sqrt(np.mean(sound**2))
    sound[0], sound[-1] = 0.1, 0.1  # so that the edges can be measured
    return sound.astype(np.float32)


def side(intervals, duration_ms, rate_hz=RATE_HZ, *, pitch_hz=120.0, seed=0):
    """Return one channel with speech-like sound in the intervals and digital silence elsewhere."""
    sound = np.zeros(duration_ms * rate_hz // 1000, dtype=np.float32)
    for number, (start_ms, end_ms) in enumerate(intervals):
        start, end = start_ms * rate_hz // 1000, end_ms * rate_hz // 1000
        sound[start:end] = speech_like(end - start, rate_hz, pitch_hz, seed=seed + number)
    return sound


def stereo(script=BASE, rate_hz=RATE_HZ):
    """Return the call as an array of shape (frames, 2): caller left, agent right."""
    return np.stack(
        [
            side(script.caller, script.duration_ms, rate_hz, pitch_hz=120.0, seed=1),
            side(script.agent, script.duration_ms, rate_hz, pitch_hz=190.0, seed=101),
        ],
        axis=1,
    )


def write_sound(path, sound, rate_hz=RATE_HZ, *, format=None, codec=None):  # noqa: A002
    """Write an array in any container libsndfile writes, and return its path."""
    sound = np.atleast_2d(np.asarray(sound).T).T
    kind = format or path.suffix[1:].upper()
    with soundfile.SoundFile(
        path, "w", rate_hz, sound.shape[1], subtype=codec, format=kind
    ) as file:
        for at in range(0, len(sound), 4096):  # libsndfile's Vorbis writer dies of large blocks
            file.write(sound[at : at + 4096])
    return path


def wav_bytes(data, *, tag=1, channels=2, rate_hz=RATE_HZ, bits=16, sizes=None, tail=b""):
    """Return a WAV of raw data bytes; `sizes` replaces the (RIFF, data) sizes of the header."""
    align = channels * bits // 8
    riff, size = sizes or (36 + len(data) + len(tail), len(data))
    head = struct.pack("<4sI4s4sIHHIIHH", b"RIFF", riff, b"WAVE", b"fmt ", 16, tag, channels,
                       rate_hz, rate_hz * align & 0xFFFFFFFF, align, bits)  # fmt: skip
    return head + struct.pack("<4sI", b"data", size) + data + tail


def pcm16(sound):
    """Return an array in [-1, 1] as 16-bit little-endian bytes, clipped."""
    return np.clip(np.round(np.asarray(sound) * 32768), -32768, 32767).astype("<i2").tobytes()


def bundle_of(root, *entries, offsets=(0, 0), problems=(), digests=()):
    """Return a bundle whose call names these audio entries; default one file, caller left."""
    call = Call(
        call_id="0412",
        agent=Agent(name="Billing agent"),
        audio=entries or (AudioFile(file="call.wav", caller=0, agent=1),),
        channel_offset_ms=ChannelOffsets(caller=offsets[0], agent=offsets[1]),
    )
    return Bundle(call=call, root=root, problems=tuple(problems), digests=tuple(digests))


def onset_ms(samples, share=0.5):
    """Return when a 16 kHz channel first reaches a share of its largest value."""
    size = np.abs(samples)
    return float(np.argmax(size >= share * size.max())) * 1000 / RATE_HZ
