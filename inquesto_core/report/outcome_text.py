"""A record of signals or checks as a person reads it: the citation line, then 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.escape import clip_columns, display_width, escape_terminal, wrap_columns
from inquesto_core.report.terminal import NOTHING, WIDTH
from inquesto_core.score.completion import BANDS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["outcome_lines"]

_NAME_COLUMNS = 26

Record = dict[str, Any]
Rates = list[tuple[str, "Mapping[str, Any]", str]]


def outcome_lines(record: Record) -> list[str]:
    """Return a record of either method as lines of text."""
    parts = [
        [escape_terminal(record["citation"])],
        wrap_columns(escape_terminal(str(record["agent"])), WIDTH, first="Agent: ", rest="  "),
        *(_signals(record) if record["method"] == "signals" else _checks(record)),
        _repeats(record["repeats"]),
        _accounting(record["accounting"]),
    ]
    lines: list[str] = []
    for part in filter(None, parts):
        lines += [*([""] if lines else []), *part]
    return lines


def _signals(record: Record) -> list[list[str]]:
    rates = [
        (name, row["gating"], _aside(row))
        for name, row in record["signals"].items()
        if row["computed"]["n"] or row["not_applicable"]
    ]
    ends = record["ends"]
    reasons = ", ".join(f"{name} {count}" for name, count in ends["reasons"].items())
    stalled = record["stalled"]
    return [
        _table(
            "Success",
            [
                ("successful", record, ""),
                ("task, without clean exit", record["task_success"], ""),
                ("all attempts", record["raw"], "with excluded ones"),
            ],
        ),
        _table("Signals that count", rates),
        _table("By domain", [(name, rate, "") for name, rate in record["by_domain"].items()]),
        _by_latency(record),
        _cost(record.get("cost")),
        [
            *_wrap(
                f"End-of-call tool called in {_k_of_n(ends['tool_called'])} calls. Ends: "
                f"{reasons or 'none'}."
            ),
            *(
                _wrap(
                    f"Stalled calls: {stalled['calls']}; forced to fail, in the n, and out of the "
                    "rates of the signals."
                )
                if stalled["calls"]
                else []
            ),
        ],
        _table("Guidance to the caller", [("read and done", record["guidance"], "never counts")])
        if record["guidance"]["n"]
        else [],
    ]


def _aside(row: Mapping[str, Any]) -> str:
    notes = []
    elsewhere = row["computed"]["n"] - row["gating"]["n"]
    if elsewhere:
        passed = row["computed"]["passed"] - row["gating"]["passed"]
        notes.append(f"elsewhere {passed}/{elsewhere}")
    unanswered = row.get("not_answered", 0)  # not told by records of earlier versions
    if row["not_applicable"] > unanswered:
        notes.append(f"N/A {row['not_applicable'] - unanswered}")
    if unanswered:
        notes.append(f"not answered {unanswered}")
    return ", ".join(notes)


def _checks(record: Record) -> list[list[str]]:
    verifiers, transfers = record["verifiers"], record["transfers"]
    believed, alike, cost = record["believed"], record["sound_alike_only"], record["cost"]
    more = []
    if believed["calls"]:
        more += _wrap(
            f"Of {believed['calls']} calls that the caller took for a success "
            f"{believed['failed']['passed']} fail ({_percent(believed['failed']['score'])} %)."
        )
    if alike["rate"]["passed"]:
        more += _wrap(
            f"{alike['rate']['passed']} of all attempts were verified by sound alone; "
            f"{alike['passed']} of them passed."
        )
    more += _cost(cost)
    agreement = [(name, rate, "") for name, rate in verifiers["agreement"].items() if rate["n"]]
    return [
        _table(
            "Completion",
            [("counted attempts", record, ""), ("all attempts", record["raw"], "")],
        ),
        _table(
            "Assertions",
            [
                *((name, rate, "") for name, rate in record["assertions"].items()),
                ("gate held, change failed", record["gate_passed_changes_failed"], ""),
            ],
        ),
        _by("By number of requests", record["by_requests"]),
        _by("By persona", record["by_persona"]),
        _by("By background", record["by_background"]),
        _by("By last use case", record["by_last_use_case"]),
        _by_latency(record),
        _table("Both verifiers agree", agreement) if agreement else [],
        _table("Transfers by a tool call", [("of calls with a trace", transfers["rate"], "")]),
        more,
    ]


def _by(title: str, rates: Mapping[str, Any]) -> list[str]:
    return _table(title, [(name, rate, "") for name, rate in rates.items()]) if rates else []


def _cost(cost: Mapping[str, Any] | None) -> list[str]:
    if cost is None or cost["per_completed_call"] is None:
        return []
    return _wrap(f"Cost per completed call: {cost['per_completed_call']:g}.")


def _by_latency(record: Record) -> list[str]:
    """Return success by median reply latency; nothing where no call has one."""
    held = record.get("by_latency", {})
    known = {name: held[name] for name in BANDS if name in held}
    return _by("By median reply latency", known) if set(known) - {BANDS[-1]} else []


def _repeats(repeats: Mapping[str, Any]) -> list[str]:
    if not repeats["by_k"] or repeats["by_k"][-1]["k"] < 2:
        return []
    lines = ["Repeats of one task     some pass   all pass   tasks"]
    lines += [
        f"  {'k = ' + str(row['k']):<22}{_percent(row['pass_at_k']):>9}"
        f"{_percent(row['pass_hat_k']):>11}{row['tasks']:>8}"
        for row in repeats["by_k"]
    ]
    same = repeats["consistency"]
    return lines + _wrap(
        f"Tasks that always pass {same['all_passed']}, sometimes {same['mixed']}, never "
        f"{same['all_failed']}."
    )


def _accounting(counts: Mapping[str, Any]) -> list[str]:
    parts = [f"{counts['calls']} calls", f"{counts['scored']} scored"]
    parts += [
        f"{name.replace('_', ' ')} {counts[name]}"
        for name in ("agent_fault", "not_applicable", "missing", "unexpected")
        if counts[name]
    ]
    parts += [
        f"{name.replace('_', ' ')} {count} ({reason.replace('_', ' ')})"
        for name in ("excluded", "not_evaluated")
        for reason, count in counts[name].items()
    ]
    return _wrap("Calls: " + " · ".join(parts))


def _table(title: str, rates: Rates) -> list[str]:
    lines = [f"{title:<{_NAME_COLUMNS + 2}} score  {'95% CI':<11}  {'n':>6}"]
    for name, rate, note in rates:
        shown = clip_columns(escape_terminal(str(name)), _NAME_COLUMNS)
        gap = " " * (_NAME_COLUMNS - display_width(shown))
        line = f"  {shown}{gap}{_rate(rate)}  {escape_terminal(note)}".rstrip()
        lines.append(clip_columns(line, WIDTH))
    return lines


def _rate(rate: Mapping[str, Any]) -> str:
    if "lo" in rate:
        low, high = rate["lo"], rate["hi"]
    else:
        low, high = rate["ci95"] or (None, None)
    interval = NOTHING if low is None else f"{low:.1f}–{high:.1f}"
    return f"{_percent(rate['score']):>6}  {interval:<11}  {rate['n']:>6}"


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"


def _k_of_n(rate: Mapping[str, Any]) -> str:
    return f"{rate['passed']} of {rate['n']}"


def _wrap(text: str) -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, rest="  ")
