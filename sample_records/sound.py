"""Speech from flite, what a telephone line does to it, and where it sounds.

This module decides what an edge is, how loud a side speaks, and what each condition is; `make.py`
puts the clips on a timeline.
"""

from __future__ import annotations

import io
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

__all__ = [
    "CONDITIONS",
    "FADE_MS",
    "PER_MS",
    "Clip",
    "Condition",
    "Samples",
    "Segments",
    "active_segments",
    "cut",
    "flac",
    "level",
    "synthesise",
]

Samples = NDArray[np.float64]
Segments = tuple[tuple[int, int], ...]

RATE_HZ = 16_000
PER_MS = RATE_HZ // 1000
EDGE_DB = 40.0  # an edge: where the level is this far below the clip's loudest 5 ms
FRAME_MS = 5
SILENCE_MS = 100  # an inner silence of at least this splits a clip's truth
FADE_MS = 20  # kept on either side of the edges, so that a clip does not click
BITS = 13  # the noise fills what is below; FLAC then packs the zero bits away
GATE_DB, GATE_SLOPE = 35.0, 5  # below this level a clip falls five times as steeply

#: What is written one way and said another.
SPOKEN: tuple[tuple[str, str], ...] = (
    (r"m\.ruiz@newmail\.example", "m dot ruiz, at newmail dot example"),
    (r"\$(\d\d)", r"\1 dollars"),
    (r"August 3\b", "August third"),
    (r"\b(\d)(\d)(\d)(\d)\b", r"\1 \2 \3 \4"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a line does to the caller's channel: to each clip first, then to the whole channel.

    `noise_dbfs` is what goes in; with the line's own rounding about -80 dBFS comes out.
    """

    shape: Callable[[Samples], Samples]
    carry: Callable[[Samples], Samples]
    noise_dbfs: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One line's speech; `samples` begins FADE_MS before the first edge, `segments` at it."""

    samples: Samples
    segments: Segments


def relative_level_db(samples: Samples) -> Samples:
    """Return, for each millisecond, the level of the 5 ms around it below the loudest such 5 ms."""
    half = FRAME_MS // 2
    count = len(samples) // PER_MS
    energy = (samples[: count * PER_MS].reshape(count, PER_MS) ** 2).sum(axis=1)
    smooth = np.convolve(energy, np.ones(FRAME_MS))[half : half + count]
    relative: Samples = 10 * np.log10(np.maximum(smooth / smooth.max(), 1e-12))
    return relative


def gate(samples: Samples) -> Samples:
    """Return the clip with its soft edges made steep.

    Where an edge lies then hardly depends on noise or codec: recording and truth agree.
    """
    below_db = np.minimum(relative_level_db(samples) + GATE_DB, 0.0)
    gain_db = np.repeat(below_db * (GATE_SLOPE - 1), PER_MS)
    return samples[: len(gain_db)] * 10 ** (gain_db / 20)


def active_segments(samples: Samples, silence_ms: int = SILENCE_MS) -> Segments:
    """Return where a clip sounds, in ms from its start.

    Sounding: a millisecond whose surrounding 5 ms are within 40 dB of the clip's loudest 5 ms.
    Silences shorter than `silence_ms` belong to the sound around them.
    """
    sounding = relative_level_db(samples) >= -EDGE_DB
    change = np.flatnonzero(np.diff(np.r_[False, sounding, False].astype(np.int8)))
    found: list[tuple[int, int]] = []
    for start, end in change.reshape(-1, 2).tolist():
        joins = bool(found) and start - found[-1][1] < silence_ms
        found.append((found.pop()[0] if joins else start, end))
    return tuple(found)


def _unchanged(samples: Samples) -> Samples:
    return samples


def _telephone_band(samples: Samples) -> Samples:
    """Return the 300-3400 Hz band; the filter is symmetric, so no sound moves in time."""
    taps = np.arange(-256, 257)
    low, high = (2 * f / RATE_HZ * np.sinc(2 * f / RATE_HZ * taps) for f in (300, 3400))
    return np.convolve(samples, (high - low) * np.hamming(len(taps)), mode="same")


def _telephone_codec(samples: Samples) -> Samples:
    """Return the channel after 8 kHz G.711 mu-law, at 16 kHz again."""
    coded = io.BytesIO()
    narrow = soxr.resample(samples, RATE_HZ, 8000)
    soundfile.write(coded, narrow, 8000, format="RAW", subtype="ULAW")
    coded.seek(0)
    heard, _ = soundfile.read(coded, samplerate=8000, channels=1, format="RAW", subtype="ULAW")
    wide: Samples = soxr.resample(heard, 8000, RATE_HZ)
    return wide


CONDITIONS = {
    "clean": Condition(shape=_unchanged, carry=_unchanged, noise_dbfs=-81.0),
    "telephone": Condition(shape=_telephone_band, carry=_telephone_codec, noise_dbfs=-86.0),
}


def synthesise(text: str, voice: str) -> Samples:
    """Return flite's reading of `text`, at 16 kHz, with half a second of silence on both sides."""
    for written, said in SPOKEN:
        text = re.sub(written, said, text)
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "line.wav"
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", str(wav)], check=True)
        samples, rate_hz = soundfile.read(wav)
    return np.pad(soxr.resample(samples, rate_hz, RATE_HZ), RATE_HZ // 2)


def cut(samples: Samples) -> Clip:
    """Return the clip from its first edge to its last, with a short fade outside both."""
    samples = gate(samples)
    segments = active_segments(samples)
    first, last = segments[0][0], segments[-1][1]
    kept = samples[(first - FADE_MS) * PER_MS : (last + FADE_MS) * PER_MS].copy()
    ramp = np.linspace(0.0, 1.0, FADE_MS * PER_MS)
    kept[: len(ramp)] *= ramp
    kept[-len(ramp) :] *= ramp[::-1]
    return Clip(samples=kept, segments=tuple((a - first, b - first) for a, b in segments))


def level(clips: list[Clip], dbfs: float) -> float:
    """Return the gain that brings the sounding parts of a channel's clips to `dbfs`."""
    sounding = [
        clip.samples[(FADE_MS + a) * PER_MS : (FADE_MS + b) * PER_MS]
        for clip in clips
        for a, b in clip.segments
    ]
    power = float(np.mean(np.concatenate(sounding) ** 2))
    return float(10 ** (dbfs / 20) / np.sqrt(power))


def flac(caller: Samples, agent: Samples) -> bytes:
    """Return the two channels as FLAC, rounded to BITS bits."""
    steps = np.rint(np.stack([caller, agent], axis=1) * 2 ** (BITS - 1))
    frames = (steps * 2 ** (16 - BITS)).astype(np.int16)
    written = io.BytesIO()
    soundfile.write(written, frames, RATE_HZ, format="FLAC", subtype="PCM_16", compression_level=1)
    return written.getvalue()
