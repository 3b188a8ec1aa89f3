"""What another protocol changed in a run, as a person reads it and as JSON: the summary first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.compare import CHANGES
from inquesto_core.report.escape import escape_terminal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.compare import DifferenceCounts
    from inquesto_core.protocol import Change

__all__ = ["difference_lines", "difference_summary"]

#: A pointer is shown without the file that nearly all of them are in.
_FILE = "protocol.json#/"
#: What says who a protocol is, and nothing of what it does.
_NAMES = tuple(f"{_FILE}{key}" for key in ("label", "protocol", "source", "status", "version"))
_WORDS = "/criterion"

Record = dict[str, Any]


def difference_summary(
    before: Mapping[str, Record],
    after: Mapping[str, Record],
    differences: DifferenceCounts,
    changes: Sequence[Change],
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return what changed as numbers: scores, calls by what became of them, events, rules.

    Parameters
    ----------
    before, after : mapping of fingerprint to record
    changes : sequence of Change
        Between both protocols.
    """
    counts = dict(differences.changes.select("change", "n").rows())
    told = {name: counts.get(name, 0) for name in CHANGES[:-1]}
    causes: dict[str, dict[str, int]] = {}
    for cause, direction, count in differences.causes.sort("cause", "direction").rows():
        causes.setdefault(cause, {})[direction] = count
    return {
        "agents": [
            {
                "agent": after[name]["agent"],
                "agent_fingerprint": name,
                "before": _shown_score(before.get(name)),
                "after": _shown_score(after[name]),
            }
            for name in sorted(after)
        ],
        "calls": {
            "total": differences.calls,
            **told,
            "same": differences.calls - sum(told.values()),
        },
        "causes": causes,
        "rules": [
            {"pointer": each.pointer, "before": each.before, "after": each.after}
            for each in changes
            if each.pointer not in _NAMES and not each.pointer.endswith(_WORDS)
        ],
        "notes": list(notes),
    }


def _shown_score(record: Record | None) -> dict[str, Any] | None:
    if record is None:
        return None
    names = ("protocol", "score", "ci95", "n", "passed", "citation")
    return {name: record[name] for name in names}


def difference_lines(
    summary: Mapping[str, Any], differences: DifferenceCounts, *, kept_in: str
) -> list[str]:
    """Return the difference as lines: the scores, the counts, the rules, the first calls.

    Parameters
    ----------
    kept_in : str
        Where all of it is written.
    """
    lines: list[str] = []
    for agent in summary["agents"]:
        if agent["before"] is not None:
            lines.append(f"before  {escape_terminal(agent['before']['citation'])}")
        lines += [f"after   {escape_terminal(agent['after']['citation'])}", ""]
    lines += [*(f"note: {escape_terminal(note)}" for note in summary["notes"])]
    counts = summary["calls"]
    told = [name for name in CHANGES if counts[name] or name in ("broken", "fixed")]
    shown = " · ".join(f"{name.replace('_', ' ')} {counts[name]}" for name in told)
    lines.append(f"Calls: {counts['total']}; {shown}")
    if summary["causes"]:
        lines.append("Causes, in calls")
    for cause, directions in summary["causes"].items():
        told = [f"{name.replace('_', ' ')} {count}" for name, count in directions.items()]
        lines.append(f"  {escape_terminal(cause):<20} {' · '.join(told)}")
    if summary["rules"]:
        lines.append("Rules that differ")
    lines += [
        f"  {_short(rule['pointer'])}: {_value(rule['before'])} → {_value(rule['after'])}"
        for rule in summary["rules"]
    ]
    return [*lines, *_call_lines(differences, kept_in)]


def _call_lines(differences: DifferenceCounts, kept_in: str) -> list[str]:
    """Return the first calls in which anything changed, and how many there are beside them."""
    told = int(differences.changes["n"].sum())
    if told == 0:
        return ["No call changed in anything, and none fails under both."]
    by_call: dict[str, list[dict[str, Any]]] = {}
    for row in differences.first.iter_rows(named=True):
        by_call.setdefault(row["call_id"], []).append(row)
    lines = ["Calls in which something changed"] if by_call else []
    for call_id, rows in by_call.items():
        lines.append(f"  {rows[0]['change'].replace('_', ' ')}: {escape_terminal(call_id)}")
        lines += [f"    {_cause(row)}" for row in rows if row["cause"] is not None]
        if rows[0]["change"] == "newly_not_evaluated":
            lines.append(f"    because {escape_terminal(', '.join(rows[0]['reasons']))}")
    if differences.changed_n > len(by_call):
        lines.append(f"  and {differences.changed_n - len(by_call)} more")
    idle = told - differences.changed_n
    if idle:
        lines.append(f"{idle} calls fail under both, and nothing of them changed")
    return [*lines, f"All of it, call by call: {escape_terminal(kept_in)}"]


def _cause(row: Mapping[str, Any]) -> str:
    """Return one cause with what moved it."""
    text = f"{escape_terminal(row['cause'])} {row['direction'].replace('_', ' ')}"
    parts = []
    if row["value"] is not None:
        parts.append(f"value {row['value']}")
    old, new = row["threshold_before"], row["threshold_after"]
    if old is not None or new is not None:
        parts.append(
            f"threshold {_value(old)} → {_value(new)}" if old != new else f"threshold {new}"
        )
    parts += [_short(pointer) for pointer in row["rules"]]
    return f"{text} ({'; '.join(parts)})" if parts else text


def _short(pointer: str) -> str:
    return escape_terminal(pointer.removeprefix(_FILE))


def _value(value: object) -> str:
    return "–" if value is None else escape_terminal(str(value))
