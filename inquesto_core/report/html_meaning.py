"""What a citation line says, in sentences: the rate, its interval, and each mark in brackets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from inquesto_core.score.signature import parse_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import Protocol

__all__ = ["explained_marks", "reading_sentence"]

_MARK = re.compile(r"\[([^\[\]]*)\]")

#: What the mark that begins so means.
_MEANINGS = (
    ("draft", "The protocol is not released yet; its text may still change."),
    (
        "judge-free",
        "No judge was asked: goals are read from state and tool trace alone, and events that only "
        "a judge can see are absent.",
    ),
    (
        "judge: recorded labels",
        "What was said is judged by answers stored with the calls, not by the protocol's pinned "
        "judge.",
    ),
    ("judge:", "What was said is judged by this model, not by the protocol's pinned judge."),
    ("asr:", "Words were heard by this model, not by the protocol's pinned transcriber."),
    (
        "timing reported",
        "Some timing was told by the calls' own runtime instead of being measured.",
    ),
    (
        "incomplete",
        "Some calls could not be evaluated. The two percentages are the score if all of them had "
        "failed, and if all had passed.",
    ),
    (
        "excluded",
        "So many calls are outside n because the test itself went wrong; see the accounting.",
    ),
    (
        "partial",
        "These are not exactly the calls that the population asks for: some are missing, or there "
        "twice.",
    ),
)
_TIMING_ONLY = "more timing-only"


def explained_marks(citation: str) -> list[tuple[str, str]]:
    """Return each mark in brackets before the line's ``=`` and what it means.

    >>> explained_marks("Inquesto v0.1 [partial] = 1.0%")[0][0]
    '[partial]'
    """
    out = []
    for mark in _MARK.findall(citation.partition(" = ")[0]):
        meaning = next((text for begin, text in _MEANINGS if mark.startswith(begin)), "")
        if mark.endswith(_TIMING_ONLY):
            meaning = "So many calls belong to no scenario; only their timing is evaluated."
        out.append((f"[{mark}]", meaning))
    return out


def reading_sentence(record: Mapping[str, Any], protocol: Protocol) -> str:
    """Return what the score of a record says, in one or two sentences."""
    n, passed = record["n"], record["passed"]
    accounting = record.get("accounting") or {}
    if record.get("timing_only") is not None and not accounting.get("expected"):
        return (
            "No call belongs to a scenario, so none passes or fails: only the timing of the calls "
            "was scored."
        )
    if not n:
        return "No call could be scored, so there is no score."
    text = (
        f"{passed} of {n} calls reached their goal without a failure of severity "
        f"S{protocol.fail_at} or above"
    )
    if parse_signature(record["signature"]["text"]).get("judge") == "none":
        text += ", as far as state, tool trace and sound show"
    low, high = record["ci95"]
    level = f"{100 * protocol.confidence_level:g}"
    return (
        f"{text}. If these calls stand for many more of their kind, {level} of 100 intervals "
        f"made in this way hold the true rate; this one runs from {low:.1f} to {high:.1f} percent."
    )
