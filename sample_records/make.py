"""Make the sample calls: flite speech on a known timeline, with trace, transcript, labels, truth.

    python sample_records/make.py [--out FOLDER]

Needs flite 2.2 on the PATH (Debian: `apt-get install flite`) and the project's own packages. There
is no clock and no unseeded chance in it: run again, it writes the same files. The words and the
timing are in `dialogues.py`; the scenarios and facts are cut from the billing population.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from dialogues import DIALOGUES, Dialogue, Line  # noqa: E402
from sound import (  # noqa: E402
    CONDITIONS,
    FADE_MS,
    PER_MS,
    Clip,
    Samples,
    Segments,
    cut,
    flac,
    level,
    synthesise,
)

from inquesto_core.canonical import (  # noqa: E402
    digest_bytes,
    digest_json,
    pretty_bytes,
    strict_json,
)

BILLING = HERE.parent / "protocols/inquesto-0.1/populations/billing-0.1.json"
SIDES = ("caller", "agent")

LEVEL_DBFS = {"caller": -26.0, "agent": -26.0}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One line on the recording's time axis, and the turn of the transcript that it belongs to."""

    line: Line
    clip: Clip
    start_ms: int
    turn: int

    @property
    def segments(self) -> Segments:
        """Where the line sounds, in ms of the recording."""
        return tuple((self.start_ms + a, self.start_ms + b) for a, b in self.clip.segments)

    @property
    def end_ms(self) -> int:
        """Where its last sound ends."""
        return self.segments[-1][1]


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
    noise *= 10 ** (condition.noise_dbfs / 20) / np.sqrt(np.mean(noise**2))
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
    for before, one in pairwise(placed):
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
                tool.name == one.line.claims
                for past in placed[: at + 1]
                for tool in past.line.tools
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


def population() -> dict[str, Any]:
    """Return population.json: what the dialogues use of the billing population, a cell a slice."""
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
