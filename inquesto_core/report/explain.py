"""One call of a run, explained: the facts as JSON values, and the same facts as lines of text.

Nothing is decided here: state, goal, pass and events are those of the run's tables. `why` adds the
sentence that says which of them made the call pass or fail.
"""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.errors import Problem, StoreError
from inquesto_core.evidence.tables import TABLES
from inquesto_core.report.diagnostics_text import (
    barge_in_lines,
    heard_after,
    silence_lines,
    sound_lines,
)
from inquesto_core.report.escape import clip_columns, escape_terminal, wrap_columns
from inquesto_core.report.terminal import NOTHING, WIDTH
from inquesto_core.report.timeline_text import format_time, timeline_lines
from inquesto_core.report.why import reason_text, why

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import Protocol

__all__ = ["explain_facts", "explain_lines"]

_LISTED = (
    "segments",
    "utterances",
    "turns",
    "replies",
    "talk_overs",
    "barge_ins",
    "silences",
    "tool_results",
    "events",
    "tool_calls",
    "transcript",
    "verdicts",
    "media",
    "problems",
)

_CLOSE = 3
#: Above this many ids only those that hold the one asked for, or are held by it, are suggested.
_COMPARED_IDS = 20_000
_ARGUMENT_COLUMNS = 120

_SAYS = {True: "yes", False: "no", None: "undetermined"}

Facts = dict[str, Any]
Row = dict[str, Any]


def explain_facts(
    call_id: str, tables: Mapping[str, pl.DataFrame], decisions: pl.DataFrame, protocol: Protocol
) -> Facts:
    """Return what a run knows of one call, as JSON values.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        The evidence tables of the run, ``events`` among them.
    decisions : decision table

    Returns
    -------
    dict
        ``call``, ``decision`` (rows of those tables), ``why`` (a sentence), and every other table
        as a list of rows. A transcript row also has ``cited_by``: the questions whose verdict
        cites it. Text is as it came, not escaped.

    Raises
    ------
    StoreError
        Code ``call_unknown``, with the ids that come close.
    """
    rows = decisions.filter(pl.col("call_id") == call_id)
    if rows.is_empty():
        raise _unknown_call(call_id, decisions)
    facts: Facts = {
        "call": next(iter(_rows(tables["calls"], call_id)), dict.fromkeys(TABLES["calls"])),
        "decision": _plain(rows.row(0, named=True)),
        "why": "",
    }
    for name in _LISTED:
        facts[name] = _rows(tables[name], call_id)
        for row in facts[name]:
            del row["call_id"]
    for turn in facts["transcript"]:
        turn["cited_by"] = [
            row["question"] for row in facts["verdicts"] if row["turn"] == turn["position"]
        ]
    facts["why"] = why(facts, protocol)
    return facts


def explain_lines(
    call_id: str, tables: Mapping[str, pl.DataFrame], decisions: pl.DataFrame, protocol: Protocol
) -> list[str]:
    """Return the facts of `explain_facts` as lines of at most 80 columns, outside text escaped.

    Raises
    ------
    StoreError
        Code ``call_unknown``, with the ids that come close.
    """
    facts = explain_facts(call_id, tables, decisions, protocol)
    sections = {
        "Timeline": timeline_lines(facts),
        "Events (* = counted in the tallies)": _events(facts),
        "Caller utterances and their replies": _replies(facts),
        "Talk-overs": _talk_overs(facts),
        "Barge-ins": barge_in_lines(facts),
        "Long silences after the agent": silence_lines(facts),
        "Tool calls": _tool_calls(facts),
        "Transcript (> = cited by a verdict)": _transcript(facts),
        "Verdicts": _verdicts(facts),
        "Media": _media(facts),
        "Problems": _problems(facts),
    }
    lines = _header(facts)
    for title, body in sections.items():
        lines += ["", title, *(body or ["  none"])]
    return lines


def _plain(row: Row) -> Row:
    """Return a row whose numbers JSON can say: what is not finite is not known."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def _rows(table: pl.DataFrame, call_id: str) -> list[Row]:
    ours = table.filter(pl.col("call_id") == call_id)
    return [_plain(row) for row in ours.iter_rows(named=True)]


def _unknown_call(call_id: str, decisions: pl.DataFrame) -> StoreError:
    known = decisions["call_id"].drop_nulls()
    holds = known.str.contains(call_id, literal=True) if call_id else known.is_null()
    held = pl.DataFrame({"id": known}).select(
        pl.lit(call_id).str.contains(pl.col("id"), literal=True)
    )
    close = known.filter(holds | held.to_series()).sort().head(_CLOSE).to_list()
    if len(close) < _CLOSE and len(known) <= _COMPARED_IDS:
        others = difflib.get_close_matches(call_id, known.to_list(), n=_CLOSE)
        close = list(dict.fromkeys([*close, *others]))[:_CLOSE]
    return StoreError(
        Problem(
            code="call_unknown",
            found=f"the run has no call {call_id!r}",
            expected=f"one of its {len(known)} call ids"
            + (f", such as {', '.join(map(repr, close))}" if close else ""),
            remedy="the ids stand in calls.parquet",
        )
    )


def _wrap(text: str, *, first: str = "  ", rest: str = "    ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=escape_terminal(first), rest=rest)


def _named(row: Row, names: Mapping[str, str]) -> str:
    """Return the values that are there, each after its name."""
    return " · ".join(
        f"{label} {row[key]}" for key, label in names.items() if row[key] not in (None, "", [])
    )


def _header(facts: Facts) -> list[str]:
    call, decision = facts["call"], facts["decision"]
    outcome = {True: "PASSED", False: "FAILED", None: "NOT DECIDED"}[decision["passed"]]
    goal = {True: "goal reached", False: "goal not reached", None: "goal undetermined"}
    state = str(decision["state"]).replace("_", " ")
    worst = decision["worst_severity"]
    status = [outcome, state, goal[decision["goal"]], f"worst S{worst}" if worst else "no event"]
    place = {
        "scenario_id": "scenario",
        "condition": "condition",
        "group": "group",
        "trial": "trial",
        "identity": "identity",
    }
    lines = [
        *_wrap(str(decision["call_id"]), first="Call ", rest="  "),
        *_wrap(_named(decision, place) or "no scenario, condition or group is named"),
    ]
    origin = {"agent_name": "agent", "platform": "platform", "ended_by": "ended by"}
    lines += _wrap(_named(call, origin)) if _named(call, origin) else []
    lines += _wrap(" · ".join(status))
    if decision["reasons"]:
        lines += _wrap("reasons: " + ", ".join(decision["reasons"]))
    return [*lines, "", *_wrap(facts["why"], first="Why: ", rest="  "), "", *_timing(facts)]


def _timing(facts: Facts) -> list[str]:
    call, decision = facts["call"], facts["decision"]
    if call["timing_reasons"]:
        return _wrap("timing not evaluated: " + "; ".join(map(reason_text, call["timing_reasons"])))
    if call["timing_source"] is None:
        return ["  timing not evaluated: there is none"]
    median, p95 = decision["median_latency_ms"], decision["p95_latency_ms"]
    numbers = {
        "n_utterances": "caller utterances",
        "n_agent_turns": "agent turns",
        "n_replied": "replied",
        "n_no_reply": "no reply",
        "n_talk_over": "talk-overs",
        "longest_unanswered_ms": "longest unanswered ms",
        "longest_dead_air_ms": "longest dead air ms",
    }
    latency = "no latency" if median is None else f"median latency {median:g} ms, p95 {p95} ms"
    lines = _wrap(f"timing {call['timing_source']} · {latency} · {_named(decision, numbers)}")
    lines += sound_lines(decision)
    if decision["fragile_limits"]:
        lines += _wrap("fragile limits: " + ", ".join(decision["fragile_limits"]))
    return lines


def _number(value: int | None) -> str:
    return NOTHING if value is None else str(value)


def _events(facts: Facts) -> list[str]:
    """Return a line an event in order of time; where to look stands below where it is too long."""
    if not facts["events"]:
        return []
    lines = [f"  {'type':<19}S{'time':>11}{'value':>7}{'limit':>7}{'margin':>8}  source, evidence"]
    ordered = sorted(
        facts["events"], key=lambda row: (row["at_ms"] is None, row["at_ms"] or 0, row["type"])
    )
    for row in ordered:
        margin = NOTHING if row["margin_ms"] is None else f"{row['margin_ms']:+d}"
        line = (
            f" {'*' if row['counted'] else ' '}{row['type']:<19}{row['severity']}"
            f"{format_time(row['at_ms']):>11}{_number(row['value']):>7}"
            f"{_number(row['threshold']):>7}{margin:>8}"
        )
        where = f"{row['source']}, {row['evidence_key']}"
        lines += _wrap(where, first=f"{line}  ", rest=" " * 58)
    return lines


def _span(row: Row) -> str:
    return f"{format_time(row['start_ms'])}–{format_time(row['end_ms'])}"


def _events_at(facts: Facts, key: str) -> str:
    """Return the types of the events that point at a piece of evidence, in brackets."""
    types = sorted({row["type"] for row in facts["events"] if row["evidence_key"] == key})
    return f"  [{', '.join(types)}]" if types else ""


def _replies(facts: Facts) -> list[str]:
    lines = []
    for row in facts["replies"]:
        took = ""
        if row["latency_ms"] is not None:
            took = f"{row['latency_ms']} ms"
        elif row["waited_ms"] is not None:
            took = f"waited {row['waited_ms']} ms"
        took += ", tool" if row["tool_in_wait"] else ""
        events = _events_at(facts, f"replies/{row['utterance']}")
        line = f"{row['utterance']:>4} {_span(row):<22}{row['status']:<13}{took:<16}"
        lines.append(clip_columns(escape_terminal(line + events).rstrip(), WIDTH))
    return lines


def _talk_overs(facts: Facts) -> list[str]:
    lines = []
    for row in facts["talk_overs"]:
        marks = [
            name
            for name, is_so in (
                (str(row["kind"]).replace("_", " "), True),
                ("short", row["short"]),
                ("simultaneous start", row["simultaneous"]),
                ("not counted", not row["counted"]),
            )
            if is_so
        ]
        lines += _wrap(
            f"turn {row['turn']} at {format_time(row['at_ms'])} over utterance "
            f"{row['utterance']}, which ends {row['value_ms']} ms later: {', '.join(marks)}"
        )
    return lines


def _tool_calls(facts: Facts) -> list[str]:
    lines = []
    for row in facts["tool_calls"]:
        given = row["arguments"] if row["arguments"] is not None else row["raw_arguments"]
        shown = clip_columns(escape_terminal(given or ""), _ARGUMENT_COLUMNS)
        events = _events_at(facts, f"tool_calls/{row['position']}")
        begin = f"{row['position']:>4} {_span(row)} {row['status']}  "
        lines += _wrap(f"{row['name']}({shown}){events}", first=begin, rest="       ")
        if row["result"] is not None:
            result = clip_columns(escape_terminal(row["result"]), _ARGUMENT_COLUMNS)
            lines += _wrap(result, first="     -> ", rest="        ")
        heard = heard_after(facts, row["position"])
        lines += _wrap(heard, first="     ", rest="     ") if heard else []
    return lines


def _transcript(facts: Facts) -> list[str]:
    lines = []
    for row in facts["transcript"]:
        cited = f"  [{', '.join(row['cited_by'])}]" if row["cited_by"] else ""
        heard = row["text"] if row["heard_text"] is None else row["heard_text"]
        begin = (
            f" {'>' if cited else ' '}{row['position']:>3} {format_time(row['start_ms']):>9} "
            f"{row['speaker']:<6} "
        )
        lines += _wrap((heard or "") + cited, first=begin, rest=" " * len(begin))
        if row["heard_text"] is not None and row["heard_text"] != row["text"]:
            lines += _wrap(
                f"(as written: {row['text']})", first=" " * len(begin), rest=" " * len(begin)
            )
    return lines


def _verdicts(facts: Facts) -> list[str]:
    lines = []
    for row in facts["verdicts"]:
        turn = "" if row["turn"] is None else f" (turn {row['turn']})"
        reason = f": {row['reason']}" if row["reason"] else ""
        lines += _wrap(f"{row['question']} {_SAYS[row['verdict']]}{turn}{reason}")
    models = {(row["source"], row["model"]) for row in facts["verdicts"]}
    for source, model in sorted(models, key=str):
        lines += _wrap(f"source: {source}, model: {model or 'not named'}")
    return lines


def _media(facts: Facts) -> list[str]:
    lines = []
    for row in facts["media"]:
        parts = [f"{row['channel']}: {row['file'] or 'no file'}", row["format"], row["codec"]]
        for key, words in (
            ("channel_index", "channel {}"),
            ("sample_rate_hz", "{} Hz"),
            ("duration_ms", "{} ms"),
        ):
            parts.append(None if row[key] is None else words.format(row[key]))
        for key, label in (("active", "speech"), ("floor", "floor"), ("peak", "peak")):
            level = row[f"{key}_dbfs"]
            parts.append(f"{label} {NOTHING if level is None else f'{level:.1f} dBFS'}")
        if row["clipped_fraction"]:
            parts.append(f"clipped {100 * row['clipped_fraction']:.2f} %")
        if row["missing_ms"]:
            parts.append(f"{row['missing_ms']} ms missing")
        lines += _wrap(", ".join(filter(None, parts)))
    return lines


def _problems(facts: Facts) -> list[str]:
    lines = []
    for row in facts["problems"]:
        place = " ".join(filter(None, (row["file"], row["pointer"])))
        text = f"{row['level']} {row['code']}: {row['message']}"
        lines += _wrap(text if not place or place in text else f"{text} ({place})")
    if facts["call"]["warnings"]:
        lines += _wrap("warnings: " + ", ".join(facts["call"]["warnings"]))
    return lines
