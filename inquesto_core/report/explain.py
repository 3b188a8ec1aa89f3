"""One call of a run, explained: the facts as JSON values, and as lines for a terminal."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.errors import Problem, StoreError
from inquesto_core.report.escape import escape_terminal
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["explain_facts", "explain_lines"]

_COLUMNS = 64
_SHOWN = (
    "media",
    "segments",
    "utterances",
    "turns",
    "replies",
    "talk_overs",
    "events",
    "tool_calls",
    "transcript",
    "verdicts",
    "problems",
)

Facts = dict[str, Any]


def explain_facts(call_id: str, tables: dict[str, pl.DataFrame], decisions: pl.DataFrame) -> Facts:
    """Return what a run knows of one call, as JSON values.

    Raises
    ------
    StoreError
        Code ``call_unknown``, with the ids that come close.
    """
    rows = decisions.filter(pl.col("call_id") == call_id)
    if rows.is_empty():
        known = decisions["call_id"].drop_nulls().to_list()
        close = difflib.get_close_matches(call_id, known, n=3)
        raise StoreError(
            Problem(
                code="call_unknown",
                found=f"the run has no call {call_id}",
                expected="one of its call ids" + (f", such as {', '.join(close)}" if close else ""),
                remedy="see call_id in calls.parquet",
            )
        )
    decision = rows.row(0, named=True)
    call = tables["calls"].filter(pl.col("call_id") == call_id).row(0, named=True)
    of_call = {
        name: tables[name].filter(pl.col("call_id") == call_id).drop("call_id").rows(named=True)
        for name in _SHOWN
    }
    return {"decision": decision, "call": call, "why": _why(decision, of_call), **of_call}


def _why(decision: Facts, of_call: dict[str, list[Facts]]) -> str:
    state = decision["state"]
    if state == "excluded":
        return f"outside n: {', '.join(decision['reasons'])}"
    if state == "not_evaluated":
        return f"not evaluated: {', '.join(decision['reasons'])}"
    if state == "agent_fault":
        return f"failed, the agent's side broke off: {', '.join(decision['reasons'])}"
    failing = sorted(
        {
            (-event["severity"], event["type"])
            for event in of_call["events"]
            if event["severity"] >= 3 and decision.get(EVENT_PREFIX + event["type"])
        }
    )
    causes = [f"{name} (S{-severity})" for severity, name in failing]
    if decision["goal"] is False:
        causes.insert(0, "the goal was not reached")
    if causes:
        return "failed: " + ", ".join(causes)
    return "passed: goal reached, no failure of S3 or above"


def _lane(
    spans: Iterable[tuple[int, int]], low: int, scale: float, mark: str, lane: list[str]
) -> None:
    for start, end in spans:
        first = max(0, int((start - low) / scale))
        last = min(len(lane), max(first + 1, round((end - low) / scale)))
        for column in range(first, last):
            lane[column] = mark


def _timeline(facts: Facts) -> list[str]:
    duration = facts["call"]["duration_ms"]
    if not duration:
        return ["no timeline: the recording carries none"]
    step = 20_000 if duration <= 120_000 else 60_000
    lines = [f"Timeline, {step // 1000} s a row ('=' speaking, '.' rejected, 'x' both at once,"]
    lines.append("          'T' tool call, '!' event)")
    segments = facts["segments"]
    for low in range(0, duration, step):
        scale = step / _COLUMNS
        lanes = {}
        for side in ("caller", "agent"):
            lane = [" "] * _COLUMNS
            for mark, rejected in ((".", True), ("=", False)):
                _lane(
                    (
                        (row["start_ms"], row["end_ms"])
                        for row in segments
                        if row["channel"] == side
                        and (row["rejected"] is not None) == rejected
                        and row["end_ms"] > low
                        and row["start_ms"] < low + step
                    ),
                    low,
                    scale,
                    mark,
                    lane,
                )
            lanes[side] = lane
        both = [a == "=" == b for a, b in zip(lanes["caller"], lanes["agent"], strict=True)]
        marks = [" "] * _COLUMNS
        for rows, key, mark in (
            (facts["tool_calls"], "start_ms", "T"),
            (facts["events"], "at_ms", "!"),
        ):
            for row in rows:
                at = row[key]
                if at is not None and low <= at < low + step:
                    marks[int((at - low) / scale)] = mark
        for side, lane in lanes.items():
            drawn = "".join(
                "x" if twice else letter for letter, twice in zip(lane, both, strict=True)
            )
            lines.append(f"{low / 1000 if side == 'caller' else '':>6} {side:<6} |{drawn}|")
        if any(mark != " " for mark in marks):
            lines.append(f"{'':14}|{''.join(marks)}|".replace("|", " "))
    return lines


def _time(value: int | None) -> str:
    return "      –" if value is None else f"{value / 1000:7.2f}"


def _events(facts: Facts) -> list[str]:
    lines = ["Events   time s  sev  value  threshold  margin  source"]
    for row in facts["events"]:
        numbers = " ".join(
            f"{'–' if row[key] is None else row[key]:>7}"
            for key in ("value", "threshold", "margin_ms")
        )
        lines.append(
            f"  {row['type']:<19}{_time(row['at_ms'])}  S{row['severity']} {numbers}"
            f"  {row['source']}"
        )
    return lines if facts["events"] else ["Events   none"]


def _replies(facts: Facts) -> list[str]:
    lines = ["Caller utterances and what became of them"]
    for row in facts["replies"]:
        took = row["latency_ms"] if row["latency_ms"] is not None else row["waited_ms"]
        lines.append(
            f"  {_time(row['start_ms'])} –{_time(row['end_ms'])}  {row['status']:<12}"
            f"{'' if took is None else f'{took} ms'}"
        )
    return lines


def _shorten(text: str | None, width: int) -> str:
    shown = escape_terminal(text or "")
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def _words(facts: Facts) -> list[str]:
    cited = {row["turn"] for row in facts["verdicts"] if row["turn"] is not None}
    lines = ["Tool calls"] if facts["tool_calls"] else ["Tool calls  none"]
    for row in facts["tool_calls"]:
        lines.append(
            f"  {_time(row['start_ms'])}  {_shorten(row['name'], 22)}"
            f"({_shorten(row['arguments'], 34)}) {row['status']}"
        )
        lines.append(f"           -> {_shorten(row['result'], 64)}")
    lines.append("Transcript (* = cited by a verdict)")
    for row in facts["transcript"]:
        mark = "*" if row["position"] in cited else " "
        lines.append(
            f" {mark}{row['position']:>3} {_time(row['start_ms'])}  {row['speaker']:<6} "
            f"{_shorten(row['heard_text'] or row['text'], 56)}"
        )
    lines.append("Verdicts")
    for row in facts["verdicts"]:
        says = {True: "yes", False: "no", None: "undetermined"}[row["verdict"]]
        turn = "" if row["turn"] is None else f" (turn {row['turn']})"
        lines.append(
            f"  {_shorten(row['question'], 22):<22} {says:<12} {_shorten(row['reason'], 34)}{turn}"
        )
    return lines


def explain_lines(facts: Facts) -> list[str]:
    """Return the facts as lines of at most 80 columns, readable without colour."""
    decision = facts["decision"]
    place = " · ".join(
        escape_terminal(str(decision[key]))
        for key in ("scenario_id", "condition", "group")
        if decision[key]
    )
    margin = ["fragile limits: " + ", ".join(decision["fragile_limits"])]
    return [
        f"Call {escape_terminal(decision['call_id'])}   {place}",
        f"{decision['state']}: {escape_terminal(facts['why'])}",
        *(
            ["borderline: within the timing uncertainty its pass flips"]
            if decision["borderline"]
            else []
        ),
        *(margin if decision["fragile_limits"] else []),
        "",
        *_timeline(facts),
        "",
        *_events(facts),
        "",
        *_replies(facts),
        "",
        *_words(facts),
        *(["", "Problems"] if facts["problems"] else []),
        *(f"  {escape_terminal(row['message'])}" for row in facts["problems"]),
    ]
