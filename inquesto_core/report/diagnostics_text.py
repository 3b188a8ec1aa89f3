"""What is measured of a call outside its score, as lines of text: docs/diagnostics.md says how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH
from inquesto_core.report.timeline_text import format_time

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["barge_in_lines", "heard_after", "silence_lines", "sound_lines"]

_SILENCE_ENDS = {
    "agent_spoke": "the agent speaks again",
    "caller_spoke": "the caller speaks",
    "agent_hung_up": "the agent ends or hands over the call",
    "call_ended": "the call ends",
}
_NOT_HEARD = {
    "agent_speaking": "the agent is speaking",
    "caller_first": "the caller speaks first",
    "later_result": "another result comes first",
    "no_sound": "nothing is heard",
}

Row = dict[str, Any]


def _wrap(text: str) -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first="  ", rest="    ")


def sound_lines(decision: Mapping[str, Any]) -> list[str]:
    """Return how long each side sounds; nothing where it was not measured."""
    if decision["overlap_ms"] is None:
        return []
    seconds = (
        f"{label} {decision[key] / 1000:.1f} s"
        for key, label in (
            ("caller_voiced_ms", "caller"),
            ("agent_voiced_ms", "agent"),
            ("overlap_ms", "both at once"),
        )
    )
    return _wrap("sound: " + " · ".join(seconds))


def barge_in_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return a line a barge-in: where the caller spoke into which turn, and whether it yielded."""
    lines = []
    for row in facts["barge_ins"]:
        length = row["caller_end_ms"] - row["at_ms"]
        beyond = row["agent_end_ms"] - row["caller_end_ms"]
        outcome = {
            "yielded": f"the agent stops after {row['yield_ms']} ms",
            "kept": f"the agent goes on for {beyond} ms after it",
        }.get(row["outcome"], "the window closes first")
        lines += _wrap(
            f"utterance {row['utterance']} at {format_time(row['at_ms'])} into turn {row['turn']}, "
            f"{row['kind']} of {length} ms: {outcome}"
        )
    return lines


def silence_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return a line a long silence after the agent: how long, and how it ends."""
    lines = []
    for row in facts["silences"]:
        working = " (a tool call runs)" if row["tool_inside"] else ""
        lines += _wrap(
            f"from {format_time(row['at_ms'])} for {row['value_ms']} ms{working}, "
            f"then {_SILENCE_ENDS[row['outcome']]}"
        )
    return lines


def heard_after(facts: Mapping[str, Any], position: int) -> str | None:
    """Return when the agent is first heard after a tool call's result, or why that is not told."""
    for row in facts["tool_results"]:
        if row["position"] == position:
            heard = f"the agent is heard {row['first_sound_ms']} ms after the result"
            return _NOT_HEARD.get(row["outcome"], heard)
    return None
