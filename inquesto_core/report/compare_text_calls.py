"""The calls that moved or fail under both, one by one, with what fails them on which side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.report.compare_text_answers import cause_words, critical_names, plural
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inquesto_core.compare.run_comparison import RunComparison

    Row = Mapping[str, Any]
    Details = Mapping[str, Mapping[str, Mapping[str, Any]]]

__all__ = ["moved_lines"]

_CRITICAL = "critical"
#: Of a call that fails under both: where each cause stands, and whose call tells of it.
_SIDES = (("appeared", "b", "B only"), ("went", "a", "A only"), ("stayed", "b", "both"))


def moved_lines(
    found: RunComparison, moved: pl.DataFrame, details: Details, severity: Mapping[str, int]
) -> list[str]:
    """Return the calls with a new critical event, then the first of each outcome.

    Parameters
    ----------
    moved : polars.DataFrame
        As `comparison_lines` takes it.
    """
    lists = {
        name: moved.filter(moved["listed"] == name).to_dicts()
        for name in (_CRITICAL, "broken", "fixed", "still_failing")
    }
    of = {name: rows[0]["of"] if rows else 0 for name, rows in lists.items()}
    counts = found.outcomes
    lines: list[str] = []
    if lists[_CRITICAL]:
        text = f"{plural(of[_CRITICAL], 'call')} with a new {critical_names(found)} event"
        lines += _wrap(f"{text} (under B and not under A), the gravest first:")
        lines += _calls(lists[_CRITICAL], of[_CRITICAL], details, severity, say_outcome=True)
    for outcome, side, total in (("broken", "b", counts.broken), ("fixed", "a", counts.fixed)):
        if total:
            text = f"{total} {outcome}, each by the gravest thing that fails it under "
            lines += _wrap(f"{text}{side.upper()}: {cause_words(found, outcome)}")
            lines += _above(total, of[outcome], moved)
        lines += _calls(lists[outcome], of[outcome], details, severity)
    if counts.still_failing:
        lines += _wrap(f"{counts.still_failing} fail under both")
        lines += _above(counts.still_failing, of["still_failing"], moved)
        lines += _calls(lists["still_failing"], of["still_failing"], details, severity)
    if found.causes.height:
        text = (
            "By its gravest: each call that moved counts once. The rows of 2 count every call with "
            "an event, whatever else it has and whether or not it moved."
        )
        lines += wrap_columns(text, WIDTH, first="   ", rest="   ")
    return lines


def _above(total: int, here: int, moved: pl.DataFrame) -> list[str]:
    """Return how many calls of an outcome stand in the list before, where there is one."""
    if moved.is_empty() or here == total:
        return []
    return [f"     {total - here} of them {'stands' if total - here == 1 else 'stand'} above"]


def _calls(
    rows: list[dict[str, Any]],
    of: int,
    details: Details,
    severity: Mapping[str, int],
    *,
    say_outcome: bool = False,
) -> Iterator[str]:
    for row in rows:
        yield from _call(row, details, severity, say_outcome=say_outcome)
    if of > len(rows):
        yield f"     and {of - len(rows)} more: --json prints and --out DIR writes all of them"


def _wrap(text: str, *, first: str = "   ", rest: str = "     ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)


def _call(
    row: Row, details: Details, severity: Mapping[str, int], *, say_outcome: bool
) -> list[str]:
    slot = " ".join(str(row[key]) for key in ("scenario_id", "condition", "group"))
    slot += f" {row['trial']}" if row["trial"] else ""
    is_failing = row["outcome"] == "still_failing"
    if say_outcome:
        slot += ", fails under both" if is_failing else f", {row['outcome']}"
    lines = _wrap(slot, first="     ", rest="       ")
    told = [
        (cause, side, f"{where}: " if is_failing else "")
        for column, side, where in _SIDES
        if is_failing or column == ("went" if row["outcome"] == "fixed" else "appeared")
        for cause in row[column]
    ]
    for cause, side, where in told:
        known = details[side].get(row[f"call_id_{side}"], {"events": {}, "goal": None})
        text = where + _cause(cause, known, severity)
        lines += _wrap(text, first="       ", rest="         ")
    if not told:
        lines += _wrap("no event or goal of it differs; see both calls", first="       ")
    ids = f"A {row['call_id_a']} · B {row['call_id_b']}"
    return lines + _wrap(ids, first="       ", rest="         ")


def _cause(cause: str, known: Mapping[str, Any], severity: Mapping[str, int]) -> str:
    if cause == "goal":
        verdict = known["goal"]
        reason = None if verdict is None or verdict["verdict"] else verdict["reason"]
        return f"goal not reached: {reason}" if reason else "goal not reached"
    if cause == "agent_fault":
        return "agent fault: the agent's side cut the call off"
    text = f"S{severity.get(cause, '?')} {cause}"
    event = known["events"].get(cause)
    return text if event is None else text + _measured(event)


def _measured(event: Mapping[str, Any]) -> str:
    """Return what was measured of an event; of a wait, whether it ended in a reply."""
    value, limit = event["value"], event["threshold"]
    if value is None or limit is None:
        return ""
    unit = " ms" if event["source"] == "audio" else ""
    if event.get("no_reply"):
        return f" (no reply within {value}{unit}, limit {limit}{unit})"
    told = " until the reply" if event.get("no_reply") is False else ""
    return f" ({value}{unit}{told}, limit {limit}{unit})"
