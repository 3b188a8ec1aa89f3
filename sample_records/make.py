"""Make the sample calls: flite speech on a known timeline, with trace, transcript, labels and truth.

    python sample_records/make.py [--out FOLDER]

Needs flite 2.2 on the PATH (Debian: `apt-get install flite`) and the project's own packages. There
is no clock and no unseeded chance in it: run again, it writes the same files. The words and the
timing are in `dialogues.py`; the scenarios and facts are cut from the billing population.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from dialogues import DIALOGUES, Dialogue, Line  # noqa: E402

from inquesto_core.canonical import (  # noqa: E402
    digest_bytes,
    digest_json,
    pretty_bytes,
    strict_json,
)

Samples = NDArray[np.float64]
Segments = tuple[tuple[int, int], ...]

BILLING = HERE.parent / "protocols/inquesto-0.1/populations/billing-0.1.json"
SIDES = ("caller", "agent")

RATE_HZ = 16_000
PER_MS = RATE_HZ // 1000
EDGE_DB = 40.0  # an edge: where the level is this far below the clip's loudest 5 ms
FRAME_MS = 5
SILENCE_MS = 100  # an inner silence of at least this splits a clip's truth
FADE_MS = 20  # kept on either side of the edges, so that a clip does not click
LEVEL_DBFS = {"caller": -26.0, "agent": -26.0}
NOISE_DBFS = -80.0
BITS = 13  # the noise fills what is below; FLAC then packs the zero bits away
SPEAK_MS = 90  # from the end of the agent's last tool call to its first sound
BETWEEN_TOOLS_MS = 10

CALLER_VOICES = {"us_female": "slt", "us_male": "rms", "uk_male": "awb"}
AGENT_CONFIG: dict[str, Any] = {
    "model": "sample-script",
    "voice": "flite-kal16",
    "endpointing_ms": 700,
    "temperature": 0,
}
AGENT_VOICE = "kal16"
AGENT_NAME = "BillingAgent"
FIRST_CALL = datetime.fromisoformat("2026-10-05T09:00:00+00:00")

#: What is written one way and said another.
SPOKEN: tuple[tuple[str, str], ...] = (
    (r"m\.ruiz@newmail\.example", "m dot ruiz, at newmail dot example"),
    (r"\$(\d\d)", r"\1 dollars"),
    (r"August 3\b", "August third"),
    (r"\b(\d)(\d)(\d)(\d)\b", r"\1 \2 \3 \4"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a line does to the caller's channel: to each clip first, then to the whole channel."""

    shape: Callable[[Samples], Samples]
    carry: Callable[[Samples], Samples]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One line's speech; `samples` begins FADE_MS before the first edge, `segments` at it."""

    samples: Samples
    segments: Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One line on the recording's time axis, and the turn of the transcript that it belongs to."""

    line: Line
    clip: Clip
    start_ms: int
    turn: int

    @property
    def segments(self) -> Segments:
        return tuple((self.start_ms + a, self.start_ms + b) for a, b in self.clip.segments)

    @property
    def end_ms(self) -> int:
        return self.segments[-1][1]


def active_segments(samples: Samples) -> Segments:
    """Return where a clip sounds, in ms from its start.

    Sounding: a millisecond whose surrounding 5 ms are within 40 dB of the clip's loudest 5 ms.
    Silences shorter than 100 ms belong to the sound around them.
    """
    half = FRAME_MS // 2
    count = len(samples) // PER_MS
    energy = (samples[: count * PER_MS].reshape(count, PER_MS) ** 2).sum(axis=1)
    smooth = np.convolve(energy, np.ones(FRAME_MS))[half : half + count]
    sounding = smooth >= smooth.max() * 10 ** (-EDGE_DB / 10)
    change = np.flatnonzero(np.diff(np.r_[False, sounding, False].astype(np.int8)))
    found: list[tuple[int, int]] = []
    for start, end in change.reshape(-1, 2).tolist():
        if found and start - found[-1][1] < SILENCE_MS:
            start = found.pop()[0]
        found.append((start, end))
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
    return soxr.resample(heard, 8000, RATE_HZ)


CONDITIONS = {
    "clean": Condition(shape=_unchanged, carry=_unchanged),
    "telephone": Condition(shape=_telephone_band, carry=_telephone_codec),
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


def place(dialogue: Dialogue) -> tuple[Placed, ...]:
    """Return the dialogue's lines, each spoken once and put on the time axis."""
    shape = CONDITIONS[dialogue.condition].shape
    placed: list[Placed] = []
    for line in dialogue.lines:
        if line.speaker == "caller":
            clip = cut(shape(synthesise(line.text, CALLER_VOICES[dialogue.group])))
        else:
            clip = cut(synthesise(line.text, AGENT_VOICE))
        before = placed[-1] if placed else None
        same = before is not None and before.line.speaker == line.speaker
        placed.append(
            Placed(
                line=line,
                clip=clip,
                start_ms=(before.end_ms if before else 0) + line.gap_ms,
                turn=(before.turn + (not same)) if before else 0,
            )
        )
    return tuple(placed)


def channel(dialogue: Dialogue, placed: tuple[Placed, ...], side: str, end_ms: int) -> Samples:
    """Return one side's channel: its clips at their level, then what the line does to them."""
    own = [one for one in placed if one.line.speaker == side]
    gain = level([one.clip for one in own], LEVEL_DBFS[side])
    track = np.zeros(end_ms * PER_MS)
    for one in own:
        start = (one.start_ms - FADE_MS) * PER_MS
        track[start : start + len(one.clip.samples)] += gain * one.clip.samples
    if side == "agent":
        return track
    condition = CONDITIONS[dialogue.condition]
    chance = np.random.default_rng(int(digest_bytes(dialogue.call_id.encode())[:16], 16))
    noise = condition.shape(chance.standard_normal(len(track)))
    noise *= 10 ** (NOISE_DBFS / 20) / np.sqrt(np.mean(noise**2))
    return condition.carry(track + noise)


def trace(placed: tuple[Placed, ...]) -> dict[str, Any]:
    """Return trace.json: each line's tools, the last one ending just before the line is heard."""
    calls: list[dict[str, Any]] = []
    for one in placed:
        tools = one.line.tools
        spent = sum(tool.takes_ms + BETWEEN_TOOLS_MS for tool in tools) - BETWEEN_TOOLS_MS
        start = one.start_ms - SPEAK_MS - spent
        for tool in tools:
            calls.append(
                {
                    "id": f"tool-{len(calls) + 1}",
                    "name": tool.name,
                    "arguments": tool.arguments,
                    "raw_arguments": None,
                    "result": tool.result,
                    "status": tool.status,
                    "start_ms": start,
                    "end_ms": start + tool.takes_ms,
                }
            )
            start += tool.takes_ms + BETWEEN_TOOLS_MS
    return {"calls": calls}


def transcript(placed: tuple[Placed, ...]) -> dict[str, Any]:
    """Return transcript.json: the script's own words, one entry for each turn."""
    turns: list[dict[str, Any]] = []
    for one in placed:
        if one.turn == len(turns):
            turns.append({"speaker": one.line.speaker, "text": "", "start_ms": one.start_ms})
        turn = turns[one.turn]
        turn["text"] = f"{turn['text']} {one.line.text}".strip()
        turn["end_ms"] = one.end_ms
    return {"source": "script", "turns": turns}


def verdicts(dialogue: Dialogue) -> dict[str, Any]:
    """Return verdicts.json: the author's labels."""
    answers = {
        label.question: {"verdict": label.verdict, "reason": label.reason, "turn": label.turn}
        for label in dialogue.labels
    }
    return {
        "model": "author-labels",
        "model_sha256": None,
        "rubric_sha256": None,
        "answers": answers,
    }


def moments(placed: tuple[Placed, ...], end_ms: int) -> list[dict[str, Any]]:
    """Return what the script does to the caller: every reply, cut-in and missing reply."""
    found: list[dict[str, Any]] = []
    for before, one in zip(placed, placed[1:], strict=False):
        if (before.line.speaker, one.line.speaker) == SIDES:
            kind = "talk_over" if one.line.gap_ms < 0 else "reply"
            value = abs(one.line.gap_ms)
            found.append({"kind": kind, "turn": one.turn, "at_ms": one.start_ms, "value_ms": value})
    last = placed[-1]
    if last.line.speaker == "caller" and end_ms - last.end_ms >= 3000:
        wait = end_ms - last.end_ms
        found.append({"kind": "no_reply", "turn": last.turn, "at_ms": end_ms, "value_ms": wait})
    return found


def truth(dialogue: Dialogue, placed: tuple[Placed, ...], end_ms: int) -> dict[str, Any]:
    """Return truth.json: exact edges of what is heard, and what the call should score."""
    lines = [
        {
            "speaker": one.line.speaker,
            "turn": one.turn,
            "text": one.line.text,
            "segments_ms": one.segments,
        }
        for one in placed
    ]
    segments = {
        side: [pair for one in placed if one.line.speaker == side for pair in one.segments]
        for side in SIDES
    }
    claims = [
        {
            "turn": one.turn,
            "tool": one.line.claims,
            "performed": any(
                tool.name == one.line.claims for past in placed[: at + 1] for tool in past.line.tools
            ),
        }
        for at, one in enumerate(placed)
        if one.line.claims
    ]
    worst_fails = bool(set(dialogue.events) - {"verbose", "slow_median", "talk_over"})
    return {
        "call_id": dialogue.call_id,
        "shows": dialogue.shows,
        "condition": dialogue.condition,
        "voices": {"caller": CALLER_VOICES[dialogue.group], "agent": AGENT_VOICE},
        "recording_ms": end_ms,
        "lines": lines,
        "segments_ms": segments,
        "moments": moments(placed, end_ms),
        "claims": claims,
        "events": dialogue.events,
        "goal": dialogue.goal,
        "pass": dialogue.goal and not worst_fails,
    }


def call(dialogue: Dialogue, number: int, end_ms: int, audio: bytes) -> dict[str, Any]:
    """Return call.json: one call an hour, each as long as its recording."""
    started = FIRST_CALL + timedelta(hours=number)
    ended = started + timedelta(milliseconds=end_ms)
    return {
        "schema_version": "1",
        "call_id": dialogue.call_id,
        "population": "sample-0.1",
        "scenario_id": dialogue.scenario_id,
        "condition": dialogue.condition,
        "group": dialogue.group,
        "trial": 0,
        "agent": {
            "name": AGENT_NAME,
            "fingerprint": f"sha256:{digest_json(AGENT_CONFIG)[:16]}",
            "config": AGENT_CONFIG,
        },
        "platform": "sample",
        "direction": "inbound",
        "started_at": started.isoformat(timespec="milliseconds"),
        "ended_at": ended.isoformat(timespec="milliseconds"),
        "ended": {"by": "caller", "reason": dialogue.ended_reason},
        "audio": [
            {
                "file": "audio.flac",
                "sha256": digest_bytes(audio),
                "channels": {"caller": 0, "agent": 1},
                "start_ms": 0,
            }
        ],
        "channel_offset_ms": {"caller": 0, "agent": 0},
        "trace_offset_ms": 0,
        "scored_window_ms": [0, end_ms],
        "ignore_ms": {"caller": [], "agent": []},
        "exclusion": None,
        "inferred": [],
        "tags": {},
    }


def flac(caller: Samples, agent: Samples) -> bytes:
    """Return the two channels as FLAC, rounded to BITS bits."""
    steps = np.rint(np.stack([caller, agent], axis=1) * 2 ** (BITS - 1))
    frames = (steps * 2 ** (16 - BITS)).astype(np.int16)
    written = io.BytesIO()
    soundfile.write(written, frames, RATE_HZ, format="FLAC", subtype="PCM_16", compression_level=1)
    return written.getvalue()


def population() -> dict[str, Any]:
    """Return population.json: of the billing population what the dialogues use, one cell a slice."""
    whole = strict_json(BILLING.read_bytes(), file=BILLING.name)
    used = {one.scenario_id for one in DIALOGUES}
    slices = sorted({(one.condition, one.group) for one in DIALOGUES})
    cells = [
        {
            "scenarios": sorted(
                one.scenario_id for one in DIALOGUES if (one.condition, one.group) == key
            ),
            "conditions": [key[0]],
            "groups": [key[1]],
        }
        for key in slices
    ]
    return {
        **whole,
        "name": "sample-0.1",
        "version": "0.1",
        "conditions": [name for name in whole["conditions"] if name in CONDITIONS],
        "degraded": [name for name in whole["degraded"] if name in CONDITIONS],
        "groups": [name for name in whole["groups"] if name in CALLER_VOICES],
        "design": {"trials": 1, "cells": cells},
        "scenarios": [one for one in whole["scenarios"] if one["id"] in used],
    }


def make(dialogue: Dialogue, number: int, out: Path) -> int:
    """Write one bundle and its truth; return the length of its recording in ms."""
    placed = place(dialogue)
    end_ms = max(one.end_ms for one in placed) + dialogue.tail_ms
    audio = flac(*(channel(dialogue, placed, side, end_ms) for side in SIDES))
    folder = out / dialogue.call_id
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "audio.flac").write_bytes(audio)
    for name, value in (
        ("call", call(dialogue, number, end_ms, audio)),
        ("trace", trace(placed)),
        ("transcript", transcript(placed)),
        ("verdicts", verdicts(dialogue)),
        ("truth", truth(dialogue, placed, end_ms)),
    ):
        (folder / f"{name}.json").write_bytes(pretty_bytes(value))
    return end_ms


def main() -> None:
    """Write the population and every bundle."""
    parser = argparse.ArgumentParser(description="Make the sample calls.")
    parser.add_argument("--out", type=Path, default=HERE, help="where to write (default: here)")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    (out / "population.json").write_bytes(pretty_bytes(population()))
    for number, dialogue in enumerate(DIALOGUES):
        length = make(dialogue, number, out)
        sys.stdout.write(f"{dialogue.call_id}: {length / 1000:.1f} s\n")


if __name__ == "__main__":
    main()
