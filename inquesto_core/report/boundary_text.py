"""Where a failed call first departs from what was expected, as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH
from inquesto_core.score.boundary import STAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["STAGE_TEXTS", "boundary_lines"]

#: What each stage's departure is.
STAGE_TEXTS = {
    "audio": "the caller's sound was lost or clipped",
    "recognition": "both transcripts of the caller differ in a number or a denial",
    "action": "the agent did not do what was asked, or did what it must not",
    "tool": "the tool was called and refused",
    "state": "the state is not what it should be",
    "confirmation": "what the agent said does not match",
    "turn_taking": "how the agent waited, interrupted or went on",
}

_STATUSES = {"held": "held", "departed": "departs", "unknown": "not known", "not_asked": "no ask"}


def boundary_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return the first departure, what is not known before it, and every stage's status."""
    row = facts.get("boundary")
    if row is None:
        return []
    if row["first"] is None:
        text = "no stage shows it: the goal is read as not reached, and nothing else departs"
    else:
        text = f"{row['first']}: {STAGE_TEXTS[row['first']]} (see {row['evidence_key']})"
    lines = _wrap(text)
    if row["unknown_before"]:
        lines += _wrap(f"not known of what comes before it: {_names(row)}")
    return lines + _wrap(
        " · ".join(f"{stage.replace('_', ' ')} {_STATUSES[row[stage]]}" for stage in STAGES)
    )


def _names(row: Mapping[str, Any]) -> str:
    return ", ".join(stage.replace("_", " ") for stage in row["unknown_before"])


def _wrap(text: str) -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first="  ", rest="    ")
