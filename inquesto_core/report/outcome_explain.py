"""One call of a run of signals or checks: what each says, and on what grounds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.errors import Problem, StoreError
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import NOTHING, WIDTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol import Population

__all__ = ["outcome_explain_lines", "outcome_facts"]

_VERDICTS = {True: "yes", False: "NO", None: "N/A"}
#: Of every call; where it has no verdict, nobody knows.
_ALWAYS_APPLIES = "clean_exit"
_TOLD = {True: "yes", False: "NO", None: "not known"}
_CHECKED = {True: "yes", False: "NO", None: "?"}
_SHOWN_IDS = 3

Facts = dict[str, Any]
Row = dict[str, Any]


def outcome_facts(
    call_id: str,
    decisions: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    population: Population,
    *,
    method: str,
) -> Facts:
    """Return what a run knows of one call, as JSON values.

    Returns
    -------
    dict
        ``method``, ``decision`` (a row of ``calls.parquet``), ``wants`` (the scenario's goal), and
        each table as a list of rows. Text is as it came, not escaped.

    Raises
    ------
    StoreError
        Code ``call_unknown``.
    """
    rows = decisions.filter(pl.col("call_id") == call_id)
    if rows.is_empty():
        known = decisions["call_id"].sort().head(_SHOWN_IDS).to_list()
        raise StoreError(
            Problem(
                code="call_unknown",
                found=f"the run has no call {call_id!r}",
                expected=f"one of its {decisions.height} call ids, such as "
                + ", ".join(map(repr, known)),
                remedy="the ids stand in calls.parquet",
            )
        )
    decision = rows.row(0, named=True)
    wants = [each.goal for each in population.scenarios if each.id == decision["scenario_id"]]
    held = {
        name: [
            {key: value for key, value in row.items() if key != "call_id"}
            for row in table.filter(pl.col("call_id") == call_id).iter_rows(named=True)
        ]
        for name, table in tables.items()
    }
    return {
        "method": method,
        "decision": decision,
        "wants": wants[0] if wants else None,
        **held,
    }


def outcome_explain_lines(facts: Facts) -> list[str]:
    """Return the facts of `outcome_facts` as lines of at most 80 columns, outside text escaped."""
    decision = facts["decision"]
    place = {"scenario": "scenario_id", "condition": "condition", "group": "group"}
    named = " · ".join(f"{label} {decision[key]}" for label, key in place.items() if decision[key])
    lines = [*_wrap(f"Call {decision['call_id']}", first="")]
    lines += _wrap(named) if named else []
    lines += _wrap(f"goal: {facts['wants']}") if facts["wants"] else []
    body = _signal_sections(facts) if facts["method"] == "signals" else _check_sections(facts)
    tools = {
        "Tool calls of the agent (T)": facts["tool_calls"],
        "Tool calls of the caller's own side": facts["caller_calls"],
    }
    sections = {
        **body,
        **{title: [line for row in rows for line in _tool(row)] for title, rows in tools.items()},
        "Transcript (L)": [line for row in facts["transcript"] for line in _turn(row)],
        "Problems": [line for row in facts["problems"] for line in _wrap(row["message"])],
    }
    for title, section in sections.items():
        lines += ["", title, *section] if section else []
    return lines


def _signal_sections(facts: Facts) -> dict[str, list[str]]:
    decision = facts["decision"]
    status = [
        _outcome(decision["state"], decision["is_successful"], "SUCCESSFUL"),
        f"task without clean exit: {_VERDICTS[decision['is_task_successful']]}",
    ]
    if decision["stalled"]:
        status.append(
            f"stalled: {decision['agent_turns']} of {decision['min_agent_turns']} agent turns"
        )
    why = _wrap(" · ".join(status), first="")
    why += _reasons(decision)
    end = {
        "end-of-call tool called": _TOLD[decision["end_conversation_tool_called"]],
        "policy": decision["conversation_end_policy"],
        "reason": decision["conversation_end_reason"],
        "bridge": decision["stop_reason"] or NOTHING,
    }
    hashes = [
        f"{name.replace('_', ' ')} {decision[name]}"
        for name in ("expected_db_hash", "final_db_hash", "user_db_hash")
        if decision[name]
    ]
    signals: list[str] = []
    buckets: dict[str, list[str]] = {}
    for row in facts["signals"]:
        counts = "counts" if row["whitelisted"] else "does not count"
        is_open = row["verdict"] is None and row["signal"] == _ALWAYS_APPLIES
        verdict = "not known" if is_open else _VERDICTS[row["verdict"]]
        signals += _wrap(f"{row['signal']}: {verdict}, {counts}; {row['evidence']}")
        buckets.setdefault(row["bucket"] or "not_known", []).append(row["signal"])
    for bucket, names in sorted(buckets.items()):
        why += _wrap(f"{bucket.replace('_', ' ')}: {', '.join(names)}")
    return {
        "Verdict": why,
        "Signals": signals,
        "Assertions": [line for row in facts["assertions"] for line in _assertion(row)],
        "End": _wrap(" · ".join(f"{label}: {value}" for label, value in end.items())),
        "Databases": [line for text in hashes for line in _wrap(text)],
    }


def _assertion(row: Row) -> list[str]:
    said = row["error"] or row["evidence"] or ""
    text = f"{row['signal']}:{row['index']} ({row['side']}) {_CHECKED[row['passed']]} {row['name']}"
    return _wrap(f"{text}: {said}" if said else text)


def _check_sections(facts: Facts) -> dict[str, list[str]]:
    decision = facts["decision"]
    why = _wrap(_outcome(decision["state"], decision["completed"], "COMPLETED"), first="")
    why += _reasons(decision)
    if decision["known_fail"]:
        why += _wrap("some check failed all the same")
    sections: dict[str, list[str]] = {"Verdict": why}
    for row in facts["checks"]:
        title = f"Assertion {row['assertion']}: {_CHECKED[decision[row['assertion']]]}"
        lines = sections.setdefault(title, [])
        by = row["decided_by"] or "nobody"
        both = f"code {_CHECKED[row['code']]}, model {_CHECKED[row['llm']]}"
        lines += _wrap(
            f"{row['check']} ({row['kind']}): {_CHECKED[row['verdict']]} by {by}; {both}"
        )
        asked = _asked(json.loads(row["asked"]))
        lines += _wrap(f"asks: {asked}", first="    ", rest="      ") if asked else []
        lines += _wrap(f"code: {row['evidence']}", first="    ", rest="      ")
        if row["llm_evidence"]:
            lines += _wrap(f"model: {row['llm_evidence']}", first="    ", rest="      ")
    return sections


def _asked(check: Row) -> str:
    """Return what a check asks, in words."""
    parts = [f"{check['tool']}"] if "tool" in check else []
    parts += [_wanted(check)] if "value" in check else []
    for key in ("arguments", "result"):
        parts += [f"{key} {value['path']} {_wanted(value)}" for value in check.get(key, ())]
    parts += [
        f"{key.replace('_', ' ')} {', '.join(check[key])}"
        for key in ("any_of", "topic", "before")
        if key in check
    ]
    parts += [
        f"{key} {json.dumps(check[key])}"
        for key in ("currency", "window", "expected", "required")
        if key in check
    ]
    return "; ".join(parts)


def _wanted(value: Row) -> str:
    if "equals" in value:
        return json.dumps(value["equals"], ensure_ascii=False)
    return f"{value['value']} ± {value['tolerance']}"


def _outcome(state: str, passed: bool | None, word: str) -> str:
    if state == "not_evaluated":
        return "NOT EVALUATED"
    text = {True: word, False: "FAILED", None: "N/A: nothing that counts applies"}[passed]
    return text if state == "scored" else f"{text} ({state.replace('_', ' ')})"


def _reasons(decision: Row) -> list[str]:
    reasons = [reason.replace("_", " ") for reason in decision["reasons"] or ()]
    return _wrap("because: " + ", ".join(reasons)) if reasons else []


def _tool(row: Row) -> list[str]:
    at = "" if row["start_ms"] is None else f" at {row['start_ms']} ms"
    result = "" if row["result"] is None else f" -> {row['result']}"
    return _wrap(
        f"T{row['position']} {row['name']} ({row['status']}){at} {row['arguments']}{result}"[:400]
    )


def _turn(row: Row) -> list[str]:
    heard = row["heard_text"]
    text = row["text"] if heard is None else heard
    cut = "" if heard is None or heard == row["text"] else f" [written: {row['text']}]"
    return _wrap(f"L{row['position']} {row['speaker']}: {text}{cut}")


def _wrap(text: str, *, first: str = "  ", rest: str = "    ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)
