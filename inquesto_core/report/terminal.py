"""A record as a person reads it in a terminal: at most 80 columns but for the citation line."""

from __future__ import annotations

import textwrap
from typing import Any

from inquesto_core.report.escape import escape_terminal

__all__ = ["score_lines"]

WIDTH = 80


def _rate(part: dict[str, Any]) -> str:
    if part.get("score") is None:
        return f"    –  {'':16}n = {part.get('n', 0)}"
    return f"{part['score']:5.1f}  95% CI {part['lo']:.1f}–{part['hi']:.1f}".ljust(27) + (
        f"n = {part['n']}" if "n" in part else ""
    )


def _views(views: dict[str, Any]) -> list[str]:
    lines = ["Views (the same rate on fixed slices)"]
    for name, part in views.items():
        tail = f"   worst group {part['worst_group']}" if part.get("worst_group") else ""
        lines.append(f"  {name:<12} {_rate(part)}{escape_terminal(tail)}")
    return lines


def _events(record: dict[str, Any]) -> list[str]:
    severity = record["failures_by_severity"]
    lines = ["Events, one a type and call (S3 and above fail the call)"]
    lines.append(
        "  by severity  " + "  ".join(f"{name} {count}" for name, count in severity.items())
    )
    of_type = record["definition"]["severity"]
    for name, count in record["failures_by_type"].items():
        lines.append(f"  {name:<20} S{of_type[name]}  {count}")
    if not record["failures_by_type"]:
        lines.append("  none")
    return lines


def _readings(record: dict[str, Any]) -> list[str]:
    lines = ["Other readings"]
    for name, part in record["severity_sensitivity"].items():
        mark = "  (the score)" if part["threshold"] == record["definition"]["fail_at"] else ""
        lines.append(f"  fail at {name:<4} {_rate(part)}{mark}")
    lines.append(f"  judge-free   {_rate(record['judge_free'])}")
    audio = record["audio_only"]
    if audio["score_if_transcript_only"] is not None:
        lines.append(
            f"  transcript   {audio['score_if_transcript_only']:5.1f}  audio events removed; "
            f"{audio['failed_only_on_audio_events']} of {audio['failed']} failed calls fail by them alone"
        )
    return lines


def _reasons(counts: dict[str, int]) -> str:
    return ", ".join(f"{escape_terminal(name)} {count}" for name, count in counts.items())


def _accounting(record: dict[str, Any]) -> list[str]:
    accounting, timing = record["accounting"], record["timing_uncertainty"]
    lines = ["Accounting"]
    lines.append(
        f"  scored {accounting['scored']}  agent fault {accounting['agent_fault']}  "
        f"of {accounting['expected']} expected"
    )
    for name in ("excluded", "not_evaluated"):
        if accounting[name]:
            lines += textwrap.wrap(
                f"{name.replace('_', ' ')}: {_reasons(accounting[name])}",
                WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
            )
    lines.append(
        f"  borderline {timing['borderline_n']}: within the timing uncertainty the score is "
        f"{timing['score_low']}–{timing['score_high']}"
        if timing["score_low"] is not None
        else "  no complete call"
    )
    return lines


def score_lines(record: dict[str, Any]) -> list[str]:
    """Return a record as lines of text, the citation line first."""
    n, passed = record["n"], record["passed"]
    reading = (
        f"{passed} of {n} calls reached their goal without a functional failure."
        if n
        else "No call could be scored."
    )
    return [
        escape_terminal(record["citation"]),
        "",
        reading,
        "",
        *_views(record["views"]),
        "",
        *_events(record),
        "",
        *_readings(record),
        "",
        *_accounting(record),
        "",
        *textwrap.wrap(
            escape_terminal(record["signature"]["text"]),
            WIDTH,
            break_on_hyphens=False,
            initial_indent="signature ",
            subsequent_indent="  ",
        ),
    ]
