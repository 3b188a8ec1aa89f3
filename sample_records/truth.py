"""truth.json: where each line sounds to the millisecond, and what a call should score.

This module decides nothing about timing rules: `expected` is what the plain loop in
`tests/reference`, which shares nothing with the engine, reads from the exact segments. Events that
are no matter of timing, and the goal, are the script's own words.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dialogues import Dialogue
from placing import SIDES, Placed, Script

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/reference"))

from timeline_loop import Limits, Timeline, fragile_limits, measure

__all__ = ["AUDIO_EVENTS", "truth"]

AUDIO_EVENTS = frozenset({"slow_turn", "slow_median", "talk_over", "repeated_talk_over"})
MILD_EVENTS = frozenset({"verbose", "slow_median", "talk_over"})
#: How far a limit is moved to see whether the outcome hangs on it.
MOVES_MS = (50, 100, 200)


def truth(script: Script, condition: str, voices: dict[str, str]) -> dict[str, Any]:
    """Return truth.json of one call."""
    dialogue = script.dialogue
    heard = tuple(script.segments(side) for side in SIDES)
    timeline = measure(heard[0], heard[1], (0, script.end_ms), Limits())
    return {
        "call_id": dialogue.call_id(condition),
        "shows": dialogue.shows,
        "condition": condition,
        "voices": voices,
        "recording_ms": script.end_ms,
        "lines": [_line(one) for one in script.placed],
        "segments_ms": dict(zip(SIDES, heard, strict=True)),
        "expected": {**_expected(timeline), "fragile_limits": _fragile(heard, script.end_ms)},
        "claims": _claims(script.placed),
        "events": sorted(dialogue.events),
        "goal": dialogue.goal,
        "state": _state(dialogue),
        "fault": dialogue.fault,
        "pass": _passes(dialogue),
    }


def _state(dialogue: Dialogue) -> str:
    if dialogue.exclusion is not None:
        return "excluded"
    return "scored" if dialogue.fault is None else "agent_fault"


def _passes(dialogue: Dialogue) -> bool | None:
    if dialogue.exclusion is not None:
        return None
    mild = set(dialogue.events) <= MILD_EVENTS
    return dialogue.goal and mild and dialogue.fault is None


def _line(one: Placed) -> dict[str, Any]:
    return {
        "speaker": one.line.speaker,
        "turn": one.turn,
        "text": one.line.text,
        "heard_text": one.line.heard_text,
        "segments_ms": one.segments,
    }


def _expected(timeline: Timeline) -> dict[str, Any]:
    return {
        "utterances_ms": [(each.start, each.end) for each in timeline.utterances],
        "agent_turns_ms": [(each.start, each.end) for each in timeline.turns],
        "talk_overs": [
            {
                "at_ms": each.at_ms,
                "value_ms": each.value_ms,
                "margin_ms": each.margin_ms,
                "kind": each.kind,
                "short": each.short,
            }
            for each in timeline.counted_talk_overs
        ],
        "replies": [
            {
                "caller_start_ms": each.start,
                "caller_end_ms": each.end,
                "status": each.status,
                "latency_ms": each.latency_ms,
                "waited_ms": each.waited_ms,
            }
            for each in timeline.replies
        ],
        "twice_median_latency_ms": timeline.twice_median_latency_ms,
        "events": sorted(timeline.events),
    }


def _fragile(heard: tuple[list[tuple[int, int]], ...], end_ms: int) -> dict[str, list[str]]:
    """Return the limits that the outcome hangs on, by how far they are moved."""
    window = (0, end_ms)
    return {
        str(move): sorted(fragile_limits(heard[0], heard[1], window, Limits(), move))
        for move in MOVES_MS
    }


def _claims(placed: tuple[Placed, ...]) -> list[dict[str, Any]]:
    """Return where the agent says that a change is made, and whether a tool made it by then."""
    found = []
    for at, one in enumerate(placed):
        if one.line.claims is None:
            continue
        done = {
            tool.name
            for past in placed[: at + 1]
            for tool in past.line.tools
            if tool.status == "ok"
        }
        performed = one.line.claims in done
        found.append({"turn": one.turn, "tool": one.line.claims, "performed": performed})
    return found
