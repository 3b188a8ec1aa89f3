"""A leaderboard as a person reads it in a terminal, and as JSON.

Tables 2 and 3 of the paper are printed in blocks of at most 80 columns; in Markdown and CSV
(`leaderboard_files`) a record is one row.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from inquesto_core.compare.ranking import LEAST_RUNS
from inquesto_core.report.escape import clip_columns, escape_terminal, wrap_columns
from inquesto_core.report.published import NOTHING, agent_label, score_rows, threshold_rows
from inquesto_core.report.terminal import WIDTH
from inquesto_core.report.text_table import text_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inquesto_core.compare.leaderboard import Entry, Findings, Leaderboard
    from inquesto_core.compare.ranking import Ranking
    from inquesto_core.score.completion import CostOfPass

__all__ = ["board_document", "board_labels", "board_lines", "board_tables", "finding_sentences"]

_AGENT_COLUMNS = 28
_SHORT = {
    "score": "score",
    "judge-free": "jf",
    "transcript-only": "tx",
}

Table = tuple[list[str], list[list[str]]]


def board_labels(board: Leaderboard) -> list[str]:
    """Return how each row's agent is called: model and window, before them names that differ."""
    names = {str(record["agent"]) for record in board.records}
    labels = [agent_label(record) for record in board.records]
    if len(names) < 2:
        return labels
    return [
        label if label.startswith(str(record["agent"])) else f"{record['agent']} · {label}"
        for label, record in zip(labels, board.records, strict=True)
    ]


def board_tables(board: Leaderboard) -> tuple[Table, Table]:
    """Return the cells of Tables 2 and 3 with their headings: every row as the paper prints it.

    Beside the paper's columns stand ``overlap``, ``n``, and the cost of a call and of a passed
    call where any is told.
    """
    rows = []
    has_costs = any(row.entry.costs for row in board.rows)
    labels = board_labels(board)
    for row, label, cells in zip(board.rows, labels, score_rows(board.records), strict=True):
        _, score, interval, *others = cells.items()
        shown = dict([("Agent", label), score, interval])
        shown |= {"overlap": row.overlap or NOTHING, "n": str(row.entry.record["n"])}
        shown |= dict(others)
        if has_costs:
            shown["cost/call"] = _costs(row.entry.costs, passed=False)
            shown["cost/pass"] = _costs(row.entry.costs, passed=True)
        rows.append(shown)
    steps = [
        row | {"Agent": label}
        for row, label in zip(threshold_rows(board.records), labels, strict=True)
    ]
    return _table(rows), _table(steps)


def _table(rows: Sequence[Mapping[str, str]]) -> Table:
    headings = list(dict.fromkeys(name for row in rows for name in row))
    return headings, [[row.get(name, NOTHING) for name in headings] for row in rows]


def _costs(costs: Iterable[CostOfPass], *, passed: bool) -> str:
    told = []
    for cost in costs:
        per = cost.per_pass if passed else (cost.total / cost.n_told if cost.n_told else None)
        if per is not None:
            told.append(f"{per:.4f} {cost.currency or ''}".rstrip())
    return ", ".join(told) or NOTHING


def board_lines(board: Leaderboard) -> list[str]:
    """Return a leaderboard as lines of text, outside text escaped."""
    lines: list[str] = []
    if board.rows:
        (names, rows), (steps, scores) = board_tables(board)
        groups, events = names.index("F") + 1, names.index("S3/4/5")
        after = names.index("audio-only") + 1
        lines += [*_block(names, rows, range(1, groups)), ""]
        lines += [*_block(names, rows, range(groups, events)), ""]
        both = [row + score[1:] for row, score in zip(rows, scores, strict=True)]
        thresholds = range(len(names), len(names) + len(steps) - 1)
        lines += [*_block(names + steps[1:], both, [*range(events, after), *thresholds]), ""]
        if after < len(names):
            lines += [*_block(names, rows, range(after, len(names))), ""]
        lines += _legend(board)
        lines += _marks(board)
    if board.ranking is not None and board.findings is not None:
        lines += ["", "What the records say together"]
        for sentence in finding_sentences(board.findings, board.ranking):
            lines += _wrap(sentence, first="  ", rest="    ")
        lines += ["", *_correlations(board)]
    lines += _timing_only(board.timing_only)
    for note in board.notes:
        lines += _wrap(f"note: {note}", rest="  ")
    return lines


def _wrap(text: str, *, first: str = "", rest: str = "") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)


def _block(
    names: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[int]
) -> list[str]:
    cells = [[_clipped(row[0]), *(row[at] for at in columns)] for row in rows]
    return text_table([names[0], *(names[at] for at in columns)], cells)


def _clipped(label: str) -> str:
    """Return a label that fits, its endpointing window kept."""
    name, slash, window = escape_terminal(label).rpartition(" / ")
    if not slash or len(window) > _AGENT_COLUMNS // 2:
        return clip_columns(escape_terminal(label), _AGENT_COLUMNS)
    return clip_columns(name, _AGENT_COLUMNS - len(slash + window)) + slash + window


def _legend(board: Leaderboard) -> list[str]:
    legend = (
        "IS: share of calls that pass, in percent, with its 95 % Wilson interval. overlap: two "
        "agents that share a letter have overlapping intervals; this table does not tell them "
        "apart (`compare` does, over the same calls). B R I F: behavior, robustness, identity, "
        "fairness. tx-only: the score without audio-derived events; audio-only: failed calls that "
        "fail on these alone. S2+ … S5: the score where a call fails on that severity or worse."
    )
    if any(row.entry.costs for row in board.rows):
        legend += " cost: of a call in n, and of all of them for each that passed."
    return _wrap(legend)


def _marks(board: Leaderboard) -> list[str]:
    """Return which rows are not citable as they stand, and why."""
    held: dict[str, list[str]] = {}
    for row, label in zip(board.rows, board_labels(board), strict=True):
        for mark in row.marks:
            held.setdefault(mark, []).append(label)
    lines = []
    for mark, agents in held.items():
        whom = "all" if len(agents) == len(board.rows) > 1 else ", ".join(agents)
        lines += _wrap(f"{mark}: {whom}", rest="  ")
    if {mark for mark in held if mark.startswith("[judge")} and len(
        {tuple(m for m in row.marks if m.startswith("[judge")) for row in board.rows}
    ) > 1:
        lines += _wrap("These agents were not judged alike: their order may come from that.")
    return lines


def finding_sentences(found: Findings, ranking: Ranking) -> list[str]:
    """Return the sentences of the paper's sections 4.1 to 4.4, with these records' figures."""
    said = []
    if found.failed:
        said.append(
            f"{found.audio_only} of {found.failed} failed calls "
            f"({100 * found.audio_only / found.failed:.0f} %) fail on audio-derived events alone."
        )
    names = {
        "transcript-only": "Without audio-derived events the score",
        "judge-free": "Without the judge the score",
        "mean of views": "The mean of the four views",
        "geometric mean of views": "Their geometric mean",
        "min view": "Their minimum",
    }
    for reading in ranking.readings:
        if reading.difference is None:
            continue
        subject = names.get(reading.name, f"The score where a call {reading.name}")
        way = "higher" if reading.difference >= 0 else "lower"
        of = "" if reading.n == len(ranking.runs) else f", over {reading.n} of the records"
        said.append(f"{subject} is {abs(reading.difference):.1f} points {way} on average{of}.")
    if found.worst_group is not None:
        agent, group, points = found.worst_group
        said.append(
            f"The worst speaker group falls {-points:.1f} points below the reference group: "
            f"{group} of {agent}."
        )
    said.append(
        f"Impostors were served in {found.false_accepts} calls, verified callers refused in "
        f"{found.false_rejects}."
    )
    if found.identity is not None:
        low, high = found.identity
        said.append(f"The identity view ranges from {low:.0f} to {high:.0f}.")
    return said


def _short(name: str) -> str:
    return _SHORT.get(name) or name.removeprefix("fails at ") + "+"


def _correlations(board: Leaderboard) -> list[str]:
    """Return both coefficients as one square: rho above the diagonal, tau below it."""
    pairs = [each for each in board.correlations if each.rho is not None]
    if not pairs:
        few = f"Order: fewer than {LEAST_RUNS} records, or all equal: nothing is said."
        return _wrap(few)
    names = list(dict.fromkeys(name for each in board.correlations for name in _ends(each)))
    names = [name for name in names if any(name in _ends(each) for each in pairs)]
    cells = {}
    for each in pairs:
        cells[each.first, each.second] = f"{each.rho:.2f}"
        cells[each.second, each.first] = f"{each.tau:.2f}"
    header = ["Order", *map(_short, names)]
    rows = [
        [one, *("" if one == two else cells.get((one, two), NOTHING) for two in names)]
        for one in names
    ]
    legend = (
        "Above the diagonal Spearman's rho, below it Kendall's tau-b, over the records that have "
        "both. Few records leave a wide margin."
    )
    return [*text_table(header, rows), *_wrap(legend)]


def _ends(each: Any) -> tuple[str, str]:
    return each.first, each.second


def _timing_only(entries: Sequence[Entry]) -> list[str]:
    if not entries:
        return []
    rows = []
    for entry in entries:
        told = entry.record["timing_only"]
        waits = told["latency_ms"]
        events = ", ".join(f"{name} {n}" for name, n in told["events_by_type"].items())
        rows.append(
            [
                clip_columns(escape_terminal(str(entry.record["agent"])), _AGENT_COLUMNS),
                str(told["calls"]),
                str(told["timed"]),
                *(NOTHING if waits[at] is None else str(waits[at]) for at in ("p50", "p95")),
                events or NOTHING,
            ]
        )
    title = "Timing only: calls without a scenario have no goal, hence no score and no rank"
    header = ("Agent", "calls", "timed", "median ms", "p95 ms", "events")
    return ["", *_wrap(title), *text_table(header, rows)]


def board_document(board: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard as JSON values; rates in percent, money as text."""
    ranking, findings = board.ranking, board.findings
    return {
        "protocol": board.protocol,
        "rows": [
            {
                "rank": at,
                "source": row.entry.source,
                "overlap": row.overlap,
                "marks": list(row.marks),
                "costs": [_cost(cost) for cost in row.entry.costs],
                "record": dict(row.entry.record),
            }
            for at, row in enumerate(board.rows, 1)
        ],
        "readings": [] if ranking is None else [asdict(each) for each in ranking.readings],
        "correlations": [asdict(each) for each in board.correlations],
        "findings": None if findings is None else asdict(findings),
        "timing_only": [
            {"source": entry.source, "record": dict(entry.record)} for entry in board.timing_only
        ],
        "notes": list(board.notes),
    }


def _cost(cost: CostOfPass) -> dict[str, Any]:
    per_call = cost.total / cost.n_told if cost.n_told else None
    return {
        "currency": cost.currency,
        "n_told": cost.n_told,
        "n_not_told": cost.n_not_told,
        "passed": cost.passed,
        "total": str(cost.total),
        "per_call": None if per_call is None else f"{per_call:.6f}",
        "per_passed_call": None if cost.per_pass is None else f"{cost.per_pass:.6f}",
    }
