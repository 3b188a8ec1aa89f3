"""One agent's part of a report: its record, in the order in which a reader asks.

Nothing is decided here that the record does not hold, but slices and distributions, which are
counted over the run's own tables in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.report.html_meaning import explained_marks, reading_sentence
from inquesto_core.report.html_redact import HIDDEN
from inquesto_core.report.html_slices import (
    LATENCY_BINS,
    Waits,
    crossing,
    in_n,
    slice_rates,
    waits_of,
    with_scenario,
)
from inquesto_core.report.reasons import REASONS
from inquesto_core.report.verdict_text import verdict_margin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import EventType, Protocol
    from inquesto_core.protocol.population import Population

__all__ = ["agent_view"]

_VIEW_WORDS = {
    "behavior": "the reference condition and speaker group, no identity checks",
    "robustness": "degraded lines, all speaker groups",
    "identity": "calls that test who is calling",
    "fairness": "the speaker group with the lowest rate",
}
#: Columns that a slice may be of, and what it is called.
_SLICES = {
    "condition": "Condition",
    "group": "Speaker group",
    "family": "Scenario family",
    "style": "Caller style",
    "identity": "Identity",
    "scenario_id": "Scenario",
}
#: A distribution reaches at least so far.
_SPAN_MS = 6000
#: A slice with more values is cut off, and says so.
_MANY = 60

Record = dict[str, Any]
Row = dict[str, Any]


def agent_view(
    record: Record,
    *,
    index: int,
    tables: Mapping[str, pl.DataFrame],
    decisions: pl.DataFrame,
    protocol: Protocol,
    population: Population | None,
) -> Row:
    """Return what the template shows of one agent.

    Parameters
    ----------
    record : dict
        As the run holds it.
    index : int
        Place of the agent among those of the report.
    tables : mapping
        ``replies`` and ``verdicts`` of the whole run, empty where it keeps none.
    decisions : decision table
        Of the whole run.
    """
    fingerprint = pl.lit(record["agent_fingerprint"])
    ours = with_scenario(
        decisions.filter(pl.col("agent_fingerprint").eq_missing(fingerprint)), population
    )
    accounting = record.get("accounting")
    return {
        "index": index,
        "record": record,
        "name": str(record["agent"]),
        "has_score": bool(record["n"]),
        "timing_only": record.get("timing_only") is not None
        and not (accounting or {}).get("expected"),
        "reading": reading_sentence(record, protocol),
        "marks": explained_marks(record["citation"]),
        "views": _views(record),
        "severities": _severities(record, protocol),
        "types": _types(record, protocol),
        "thresholds": _thresholds(record, protocol),
        "accounting": None if accounting is None else _accounting(accounting),
        "latency": _latency(record, tables["replies"], ours, protocol),
        "slices": _slices(ours, protocol),
        "crossing": crossing(ours, "group", "condition", protocol=protocol),
        "answers": _answers(tables["verdicts"], ours, protocol),
        "failed": ours.filter(in_n() & ~pl.col("passed").fill_null(value=False)).height,
        "fragile": ours.filter(pl.col("fragile_limits").list.len() > 0).height,
    }


def _views(record: Record) -> list[Row]:
    rows = []
    for name, view in record["views"].items():
        notes = []
        if view.get("worst_group") is not None:
            notes.append(f"lowest: {view['worst_group']}")
        if view.get("gap_vs_clean") is not None:
            gap = view["gap_vs_clean"]
            notes.append(f"{abs(gap):.1f} points {'above' if gap < 0 else 'below'} the clean line")
        notes += [
            f"{key.replace('_', ' ')}: {view[key]}"
            for key in ("false_accepts", "false_rejects")
            if view.get(key) is not None
        ]
        rows.append(
            {
                "name": name,
                "what": _VIEW_WORDS.get(name, ""),
                "notes": notes,
                "rate": view,
                "groups": list(view.get("by_group", {}).items()),
            }
        )
    return rows


def _severities(record: Record, protocol: Protocol) -> list[Row]:
    counts = record["failures_by_severity"]
    most = max([*counts.values(), 1])
    return [
        {
            "level": each.level,
            "name": each.name,
            "count": counts.get(f"S{each.level}", 0),
            "share": 100 * counts.get(f"S{each.level}", 0) / most,
            "fails": each.level >= protocol.fail_at,
        }
        for each in sorted(protocol.severities, key=lambda each: -each.level)
    ]


def _types(record: Record, protocol: Protocol) -> list[Row]:
    found = record["failures_by_type"]
    return [
        {
            "name": event.name,
            "severity": event.severity,
            "source": event.source,
            "criterion": event.criterion,
            "count": found.get(event.name, 0),
        }
        for event in sorted(
            protocol.events,
            key=lambda event: (-event.severity, -found.get(event.name, 0), event.name),
        )
    ]


def _thresholds(record: Record, protocol: Protocol) -> list[Row]:
    return [
        {
            "name": name,
            "rate": {"n": record["n"], **part},
            "meaning": part["meaning"],
            "is_score": part["threshold"] == protocol.fail_at,
            "undetermined": part.get("undetermined_n", 0),
        }
        for name, part in record["severity_sensitivity"].items()
    ]


def _accounting(rows: Row) -> Row:
    return {
        "timing_only_n": 0,
        **rows,
        "why": [
            {
                "state": words,
                "code": code,
                "words": REASONS.get(code.partition(":")[0], ""),
                "count": count,
            }
            for key, words in (
                ("excluded", "excluded"),
                ("not_evaluated", "not evaluated"),
                ("timing_only", "timing only"),
            )
            for code, count in (rows.get(key) or {}).items()
        ],
    }


def _latency(
    record: Record, replies: pl.DataFrame, decisions: pl.DataFrame, protocol: Protocol
) -> Row | None:
    """Return the distributions; None where no timing is in the record."""
    measured = record.get("diagnostics")
    if measured is None:
        return None
    limits = [limit for event in protocol.events if (limit := _latency_limit(event))]
    bin_ms = -(-2 * max([*limits, _SPAN_MS // 2]) // LATENCY_BINS)
    timed = decisions.filter(in_n()) if record["n"] else decisions
    groups: list[tuple[str, list[Waits]]] = []
    if not replies.is_empty():
        groups.append(("All calls", waits_of(replies, timed, None, bin_ms=bin_ms)))
        groups += [
            (words, waits_of(replies, timed, column, bin_ms=bin_ms))
            for column, words in (("condition", "By condition"), ("group", "By speaker group"))
        ]
    span = bin_ms * LATENCY_BINS
    return {
        "groups": [(words, rows) for words, rows in groups if any(row.n for row in rows)],
        "span_ms": span,
        "limits": [(each, 100 * each / span) for each in sorted(limits)],
        "measured": measured,
    }


def _latency_limit(event: EventType) -> int | None:
    """Return the wait above which an event is found, where it is one of waits."""
    limit = event.parameters.get("latency_ms", event.parameters.get("median_ms"))
    return limit if isinstance(limit, int) else None


def _slices(decisions: pl.DataFrame, protocol: Protocol) -> list[Row]:
    out = []
    for column, words in _SLICES.items():
        rows = slice_rates(decisions, column, protocol=protocol)
        if column in {"identity", "family", "style"}:
            rows = [row for row in rows if row["value"] is not None]
        if len(rows) > 1:
            out.append(
                {
                    "column": column,
                    "name": words,
                    "rows": rows[:_MANY],
                    "left_out": max(len(rows) - _MANY, 0),
                }
            )
    return out


def _answers(verdicts: pl.DataFrame, decisions: pl.DataFrame, protocol: Protocol) -> list[Row]:
    """Return how each question was answered, how often not at all, and how often barely."""
    ours = verdicts.join(decisions.select("call_id"), on="call_id", how="semi")
    limit = float(protocol.instruments.judge.parameters["fragile_margin"])
    known = {event.question for event in protocol.events} | {protocol.goal_question}
    rows: dict[str, Row] = {}
    for row in ours.iter_rows(named=True):
        name = row["question"] if row["question"] in known else HIDDEN
        counts = rows.setdefault(
            name, {"name": name, "yes": 0, "no": 0, "undetermined": 0, "fragile": 0, "sure": 0}
        )
        key = {True: "yes", False: "no", None: "undetermined"}[row["verdict"]]
        counts[key] += 1
        margin = verdict_margin(row)
        if margin is not None:
            counts["sure"] += 1
            counts["fragile"] += margin < limit
    return [rows[name] for name in sorted(rows)]
