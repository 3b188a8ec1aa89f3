"""The files of one call bundle, made from its script."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from dialogues import AGENTS, Dialogue, account
from placing import Placed, Script

from inquesto_core.canonical import digest_bytes, digest_json

__all__ = ["AUDIO_FILE", "POPULATION", "call", "state", "trace", "transcript", "verdicts"]

AUDIO_FILE = "audio.ogg"
POPULATION = "sample-0.1"
SPEAK_MS = 90  # from the end of the agent's last tool call to its first sound
BETWEEN_TOOLS_MS = 10
FIRST_CALL = datetime.fromisoformat("2026-10-05T09:00:00+00:00")


def call(
    script: Script, condition: str, *, number: int, voice: str, audio: bytes
) -> dict[str, Any]:
    """Return call.json: the `number`-th call, one a quarter of an hour."""
    dialogue = script.dialogue
    started = FIRST_CALL + timedelta(minutes=15 * number)
    ended = started + timedelta(milliseconds=script.end_ms)
    config = {**AGENTS[dialogue.agent], "voice": f"kokoro-{voice}"}
    return {
        "schema_version": "1",
        "call_id": dialogue.call_id(condition),
        "population": POPULATION,
        "scenario_id": dialogue.scenario_id,
        "condition": condition,
        "group": dialogue.group,
        "trial": 0,
        "agent": {
            "name": dialogue.agent,
            "fingerprint": f"sha256:{digest_json(config)[:16]}",
            "config": config,
        },
        "platform": "sample",
        "direction": "inbound",
        "started_at": started.isoformat(timespec="milliseconds"),
        "ended_at": ended.isoformat(timespec="milliseconds"),
        "ended": dialogue.ended,
        "audio": [
            {
                "file": AUDIO_FILE,
                "sha256": digest_bytes(audio),
                "channels": {"caller": 0, "agent": 1},
                "start_ms": 0,
            }
        ],
        "channel_offset_ms": {"caller": 0, "agent": 0},
        "trace_offset_ms": 0,
        "scored_window_ms": [0, script.end_ms],
        "ignore_ms": {"caller": [], "agent": []},
        "exclusion": dialogue.exclusion,
        "inferred": [],
        "tags": {},
    }


def trace(script: Script) -> dict[str, Any]:
    """Return trace.json: each line's tools, the last one ending just before the line is heard."""
    calls: list[dict[str, Any]] = []
    for one in script.placed:
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


def transcript(script: Script) -> dict[str, Any]:
    """Return transcript.json: the script's own words, one entry for each turn."""
    turns: list[dict[str, Any]] = []
    for one in script.placed:
        if one.turn == len(turns):
            turns.append({"speaker": one.line.speaker, "text": "", "start_ms": one.start_ms})
        turn = turns[one.turn]
        _add_heard(turn, one)
        turn["text"] = f"{turn['text']} {one.line.text}".strip()
        turn["end_ms"] = one.end_ms
    return {"source": "script", "turns": turns}


def _add_heard(turn: dict[str, Any], one: Placed) -> None:
    """Note what was heard, where the turn breaks off."""
    if one.line.heard_text is not None:
        turn["heard_text"] = f"{turn['text']} {one.line.heard_text}".strip()


def state(script: Script) -> dict[str, Any]:
    """Return state.json: the account before the call, and with what the tools changed in it."""
    after = account()
    for one in script.placed:
        for tool in one.line.tools:
            after.update(tool.state if tool.status == "ok" else {})
    return {"before": {"account": account()}, "after": {"account": after}}


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
