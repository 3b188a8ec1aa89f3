"""Where a clip sounds, how loud a side speaks, and the recording's file.

This module decides what an edge is; `conditions.py` says what a line does to the caller's channel.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import soundfile
from numpy.typing import NDArray

__all__ = [
    "FADE_MS",
    "PER_MS",
    "RATE_HZ",
    "Clip",
    "Samples",
    "Segments",
    "active_segments",
    "break_off",
    "cut",
    "level",
    "ogg_opus",
]

Samples = NDArray[np.float64]
Segments = tuple[tuple[int, int], ...]

RATE_HZ = 16_000
PER_MS = RATE_HZ // 1000
EDGE_DB = 40.0  # an edge: where the level is this far below the clip's loudest 5 ms
FRAME_MS = 5
SILENCE_MS = 100  # an inner silence of at least this splits a clip's truth
FADE_MS = 20  # kept on either side of the edges, so that a clip does not click
GATE_DB, GATE_SLOPE = 35.0, 5  # below this level a clip falls five times as steeply
OPUS_LEVEL = 0.92  # about 26 kbit/s a channel


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


def break_off(clip: Clip, heard_ms: int) -> Clip:
    """Return the clip as it sounds where its speaker stops after `heard_ms`."""
    segments = tuple((a, min(b, heard_ms)) for a, b in clip.segments if a < heard_ms)
    samples = clip.samples.copy()
    samples[(FADE_MS + heard_ms) * PER_MS :] = 0.0
    return Clip(samples=samples, segments=segments)


def level(clips: list[Clip], dbfs: float) -> float:
    """Return the gain that brings the sounding parts of a channel's clips to `dbfs`."""
    sounding = [
        clip.samples[(FADE_MS + a) * PER_MS : (FADE_MS + b) * PER_MS]
        for clip in clips
        for a, b in clip.segments
    ]
    power = float(np.mean(np.concatenate(sounding) ** 2))
    return float(10 ** (dbfs / 20) / np.sqrt(power))


def ogg_opus(caller: Samples, agent: Samples, serial: int) -> bytes:
    """Return the two channels as Ogg Opus, the stream numbered `serial` and not by chance."""
    written = io.BytesIO()
    frames = np.stack([caller, agent], axis=1)
    soundfile.write(
        written, frames, RATE_HZ, format="OGG", subtype="OPUS", compression_level=OPUS_LEVEL
    )
    data = bytearray(written.getvalue())
    at = 0
    while at < len(data):
        n_pieces = data[at + 26]
        end = at + 27 + n_pieces + sum(data[at + 27 : at + 27 + n_pieces])
        data[at + 14 : at + 18] = serial.to_bytes(4, "little")
        data[at + 22 : at + 26] = bytes(4)
        data[at + 22 : at + 26] = _ogg_checksum(data[at:end]).to_bytes(4, "little")
        at = end
    return bytes(data)


def _checksum_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte << 24
        for _ in range(8):
            value = (value << 1) ^ (0x104C11DB7 if value & 0x80000000 else 0)
        table.append(value)
    return tuple(table)


_CHECKSUMS = _checksum_table()


def _ogg_checksum(page: bytes | bytearray) -> int:
    """Return the page's CRC-32 as Ogg defines it: not reflected, from 0."""
    value = 0
    for byte in page:
        value = ((value << 8) & 0xFFFFFFFF) ^ _CHECKSUMS[(value >> 24) ^ byte]
    return value
