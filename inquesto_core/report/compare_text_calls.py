"""The calls that moved, one by one, with what fails them on one side only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.compare_text_answers import cause_words
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from inquesto_core.compare.run_comparison import RunComparison

__all__ = ["moved_lines"]


def moved_lines(
    found: RunComparison,
    moved: pl.DataFrame,
    details: Mapping[str, Mapping[str, Mapping[str, Any]]],
    severity: Mapping[str, int],
) -> list[str]:
    """Return the first calls that broke or were fixed, the gravest first."""
    counts = found.outcomes
    lines: list[str] = []
    for outcome, side, total in (("broken", "b", counts.broken), ("fixed", "a", counts.fixed)):
        rows = moved.filter(moved["outcome"] == outcome).to_dicts()
        if total:
            who = "B" if side == "b" else "A"
            text = f"{total} {outcome}, by the gravest thing that fails each under {who}: "
            lines += _wrap(text + cause_words(found, outcome), first="   ", rest="     ")
        for row in rows:
            lines += _call(row, side, details[side], severity)
        if total > len(rows):
            lines.append(f"     and {total - len(rows)} more: --out DIR writes all of them")
    return lines


def _wrap(text: str, *, first: str, rest: str) -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)


def _call(
    row: Mapping[str, Any],
    side: str,
    details: Mapping[str, Mapping[str, Any]],
    severity: Mapping[str, int],
) -> list[str]:
    slot = " ".join(str(row[key]) for key in ("scenario_id", "condition", "group"))
    slot += f" {row['trial']}" if row["trial"] else ""
    lines = _wrap(slot, first="     ", rest="       ")
    known = details.get(row[f"call_id_{side}"], {"events": {}, "goal": None})
    causes = row["appeared"] if side == "b" else row["went"]
    for cause in causes:
        lines += _wrap(_cause(cause, known, severity), first="       ", rest="         ")
    if not causes:
        text = "no event or goal of it differs; see both calls"
        lines += _wrap(text, first="       ", rest="       ")
    ids = f"A {row['call_id_a']} · B {row['call_id_b']}"
    return lines + _wrap(ids, first="       ", rest="         ")


def _cause(cause: str, known: Mapping[str, Any], severity: Mapping[str, int]) -> str:
    if cause == "goal":
        verdict = known["goal"]
        reason = None if verdict is None or verdict["verdict"] else verdict["reason"]
        return f"goal not reached: {reason}" if reason else "goal not reached"
    if cause == "agent_fault":
        return "the agent's side broke the call off"
    text = f"S{severity.get(cause, '?')} {cause}"
    event = known["events"].get(cause)
    if event is not None and event["value"] is not None and event["threshold"] is not None:
        unit = " ms" if event["source"] == "audio" else ""
        text += f" ({event['value']}{unit}, limit {event['threshold']}{unit})"
    return text
