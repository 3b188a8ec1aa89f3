"""A leaderboard as files: Markdown for a page, CSV for a spreadsheet, a figure as SVG.

The figure sets what agents complete against how long callers wait, and what a completed call costs
where that is told. It is drawn here, of text and plain shapes.
"""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

from inquesto_core.report.escape import escape_cell, escape_html
from inquesto_core.report.gate_files import escape_markdown
from inquesto_core.report.leaderboard_text import board_labels, board_tables, finding_sentences

if TYPE_CHECKING:
    from inquesto_core.compare.leaderboard import BoardRow, Leaderboard

__all__ = ["board_csv", "board_figure", "board_markdown"]

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 690, 30, 390


def board_markdown(board: Leaderboard) -> str:
    """Return Tables 2 and 3 and what the records say together; outside text has no meaning."""
    lines = [f"## {escape_markdown(board.protocol)}", ""]
    for header, rows in board_tables(board) if board.rows else ():
        lines += [
            "| " + " | ".join(map(escape_markdown, header)) + " |",
            "|---|" + "---:|" * (len(header) - 1),
            *("| " + " | ".join(map(escape_markdown, row)) + " |" for row in rows),
            "",
        ]
    if board.ranking is not None and board.findings is not None:
        for sentence in finding_sentences(board.findings, board.ranking):
            lines.append(f"- {escape_markdown(sentence)}")
    for row, label in zip(board.rows, board_labels(board), strict=True):
        if row.marks:
            lines.append(f"- {escape_markdown(label)}: {escape_markdown(' '.join(row.marks))}")
    for entry in board.timing_only:
        told = entry.record["timing_only"]
        lines.append(
            f"- {escape_markdown(str(entry.record['agent']))}: timing only, {told['calls']} calls "
            "without a scenario; no score"
        )
    return "\n".join(lines) + "\n"


def board_csv(board: Leaderboard) -> str:
    """Return a row a record, with counts and unrounded rates beside the printed ones; CRLF."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    rows = [_csv_row(*each) for each in zip(board.rows, board_labels(board), strict=True)]
    rows += [
        {"agent": str(entry.record["agent"]), "source": entry.source, "kind": "timing_only"}
        for entry in board.timing_only
    ]
    header = list(dict.fromkeys(name for row in rows for name in row))
    writer.writerow(map(escape_cell, header))
    for row in rows:
        writer.writerow(_cell(row.get(name)) for name in header)
    return out.getvalue()


def _cell(value: Any) -> str | int | float:
    if value is None:
        return ""
    return value if isinstance(value, int | float) else escape_cell(str(value))


def _csv_row(row: BoardRow, label: str) -> dict[str, Any]:
    record = row.entry.record
    low, high = record["ci95"] or (None, None)
    groups = record["views"]["fairness"]["by_group"]
    found = {
        "agent": label,
        "source": row.entry.source,
        "kind": "score",
        "score": record["score"],
        "low": low,
        "high": high,
        "overlap": row.overlap,
        "n": record["n"],
        "passed": record["passed"],
        **{
            name: record["views"][name]["score"]
            for name in ("behavior", "robustness", "identity", "fairness")
        },
        **{f"group {name}": view["score"] for name, view in groups.items()},
        **{name: record["failures_by_severity"][name] for name in ("S3", "S4", "S5")},
        "transcript_only": record["audio_only"]["score_if_transcript_only"],
        "failed_only_on_audio": record["audio_only"]["failed_only_on_audio_events"],
        **{f"{name}+": part["score"] for name, part in record["severity_sensitivity"].items()},
        "marks": " ".join(row.marks),
    }
    for cost in row.entry.costs:
        unit = cost.currency or "no currency"
        found[f"cost a call, {unit}"] = float(cost.total / cost.n_told) if cost.n_told else None
        per_pass = cost.per_pass
        found[f"cost a passed call, {unit}"] = None if per_pass is None else float(per_pass)
    return found


def board_figure(board: Leaderboard) -> str:
    """Return the figure as SVG: an agent a circle, its interval a line, its cost the area.

    Agents whose record tells no reply latency cannot be placed, and are named below the figure.
    """
    labelled = list(zip(board.rows, board_labels(board), strict=True))
    placed = [each for each in labelled if _is_placed(each[0])]
    left_out = [label for row, label in labelled if not _is_placed(row)]
    most = max((_median(row) or 0 for row, _ in placed), default=0) or 1000
    step = 10 ** math.floor(math.log10(most))
    end = math.ceil(most * 1.15 / step) * step
    parts = [_axes(end)]
    dearest = max((cost for row, _ in placed if (cost := _cost(row)) is not None), default=None)
    parts += [_circle(row, label, end, dearest) for row, label in placed]
    notes = ["Area: cost of a passed call."] if dearest is not None else []
    if left_out:
        notes.append(f"No latency told: {', '.join(left_out)}")
    parts += [
        f'<text x="{_LEFT}" y="{_HEIGHT - 14 + 12 * at}" font-size="10">{escape_html(note)}</text>'
        for at, note in enumerate(notes)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">\n'
        "<title>Completion against waiting time and cost</title>\n"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _is_placed(row: BoardRow) -> bool:
    return _median(row) is not None and row.entry.record["n"] > 0


def _median(row: BoardRow) -> int | None:
    waits = (row.entry.record.get("diagnostics") or {}).get("latency_ms") or {}
    median: int | None = waits.get("p50")
    return median


def _cost(row: BoardRow) -> float | None:
    """Return the cost of a passed call where it is told in one currency."""
    costs = row.entry.costs
    if len(costs) != 1 or costs[0].per_pass is None:
        return None
    return float(costs[0].per_pass)


def _axes(end: float) -> str:
    lines = [
        f'<path d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}" fill="none" stroke="#333"/>',
        f'<text x="{_LEFT}" y="18">calls that pass, %</text>',
        f'<text x="{_RIGHT}" y="{_BOTTOM + 32}" text-anchor="end">median reply latency, ms</text>',
    ]
    lines += [
        f'<path d="M{_LEFT} {_y(percent):.1f}H{_RIGHT}" stroke="#ddd"/>'
        f'<text x="{_LEFT - 8}" y="{_y(percent) + 4:.1f}" text-anchor="end">{percent}</text>'
        for percent in range(0, 101, 25)
    ]
    lines += [
        f'<text x="{_x(at, end):.1f}" y="{_BOTTOM + 16}" text-anchor="middle">{at:.0f}</text>'
        for at in (end * part / 4 for part in range(5))
    ]
    return "\n".join(lines)


def _x(ms: float, end: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * ms / end


def _y(percent: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * percent / 100


def _circle(row: BoardRow, label: str, end: float, dearest: float | None) -> str:
    record, cost = row.entry.record, _cost(row)
    x, y = _x(_median(row) or 0, end), _y(100 * record["passed"] / record["n"])
    radius = 5.0
    if dearest and cost is not None:
        radius = max(3.0, 22.0 * math.sqrt(cost / dearest))
    told = row.entry.costs[0] if cost is not None else None
    if told is not None:
        label += f", {cost:.4f} {told.currency or ''}".rstrip() + " a passed call"
    low, high = record["ci95"]
    anchor = "end" if x > (_LEFT + _RIGHT) / 2 else "start"
    beside = x - radius - 5 if anchor == "end" else x + radius + 5
    return (
        f'<path d="M{x:.1f} {_y(low):.1f}V{_y(high):.1f}" stroke="#1f5fa8"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#1f5fa8" fill-opacity="0.35" '
        f'stroke="#1f5fa8"/><text x="{beside:.1f}" y="{y - 4:.1f}" '
        f'text-anchor="{anchor}">{escape_html(label)}</text>'
    )
