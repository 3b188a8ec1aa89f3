"""The paper's Tables 2 and 3 from any records, ours or published, as plain text.

Percentages are the record's one-decimal ones printed without decimals, as the paper prints them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["format_score_table", "format_threshold_table", "score_rows", "threshold_rows"]

_VIEWS = {"B": "behavior", "R": "robustness", "I": "identity", "F": "fairness"}
_SEVERITIES = ("S3", "S4", "S5")
NOTHING = "–"


def score_rows(records: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the cells of Table 2, one row a record by column heading, best score first.

    Records of equal score stay in the order given; those without a score come last.
    """
    ordered = _ordered(records)
    groups = _group_names(ordered)
    return [_score_row(record, groups) for record in ordered]


def threshold_rows(records: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the cells of Table 3, the score at every threshold, in the order of Table 2."""
    rows = []
    for record in _ordered(records):
        row = {"Agent": agent_label(record)}
        for name, entry in record["severity_sensitivity"].items():
            row[f"{name}+"] = _whole(entry["score"])
        rows.append(row)
    return rows


def format_score_table(records: Iterable[Mapping[str, Any]]) -> str:
    """Return Table 2 as lines of plain text; empty without a record."""
    return _lines(score_rows(records))


def format_threshold_table(records: Iterable[Mapping[str, Any]]) -> str:
    """Return Table 3 as lines of plain text; empty without a record."""
    return _lines(threshold_rows(records))


def agent_label(record: Mapping[str, Any]) -> str:
    """Return ``model / endpointing window``, or the agent's name where the model is not stated."""
    config = record["config"]
    label = str(config.get("model") or record["agent"])
    if config.get("endpointing_ms") is not None:
        label += f" / {config['endpointing_ms']} ms"
    return "".join(mark if mark.isprintable() else "?" for mark in label)


def _ordered(records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    def key(record: Mapping[str, Any]) -> float:
        return -100.0 * record["passed"] / record["n"] if record["n"] else 1.0

    return sorted(records, key=key)


def _group_names(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the groups in the order of the definitions, then any others."""
    names: dict[str, None] = {}
    for record in records:
        names |= dict.fromkeys(record["definition"]["groups"])
    for record in records:
        names |= dict.fromkeys(record["views"]["fairness"]["by_group"])
    return list(names)


def _score_row(record: Mapping[str, Any], groups: Sequence[str]) -> dict[str, str]:
    views, by_severity = record["views"], record["failures_by_severity"]
    by_group = views["fairness"]["by_group"]
    interval = record["ci95"]
    bounds = NOTHING if interval is None else ", ".join(map(_whole, interval))
    return {
        "Agent": agent_label(record),
        "IS": _whole(record["score"]),
        "95% CI": bounds if interval is None else f"[{bounds}]",
        **{letter: _whole(views[name]["score"]) for letter, name in _VIEWS.items()},
        **{name: _whole(by_group.get(name, {}).get("score")) for name in groups},
        "S3/4/5": "/".join(str(by_severity[name]) for name in _SEVERITIES),
        "tx-only": _whole(record["audio_only"]["score_if_transcript_only"]),
        "audio-only": str(record["audio_only"]["failed_only_on_audio_events"]),
    }


def _whole(percent: float | None) -> str:
    return NOTHING if percent is None else f"{percent:.0f}"


def _lines(rows: Sequence[Mapping[str, str]]) -> str:
    headings = list(dict.fromkeys(name for row in rows for name in row))
    table = [headings, *([row.get(name, NOTHING) for name in headings] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )
    return "\n".join(lines) if rows else ""
