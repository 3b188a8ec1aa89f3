"""One call of a run, explained: the facts as JSON values, and the same facts as lines of text.

Nothing is decided here: state, goal, pass and events are those of the run's tables. `why` adds the
sentence that says which of them made the call pass or fail.
"""

from __future__ import annotations

import difflib
import math
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.errors import Problem, StoreError
from inquesto_core.evidence.tables import TABLES
from inquesto_core.report.boundary_text import boundary_lines
from inquesto_core.report.call_text import (
    barge_in_lines,
    event_lines,
    reply_lines,
    silence_lines,
    talk_over_lines,
    tool_lines,
    transcript_lines,
)
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.heard_text import heard_lines, problem_lines, sound_lines, state_lines
from inquesto_core.report.predicate_text import predicate_lines, predicate_rows
from inquesto_core.report.reasons import reason_text
from inquesto_core.report.terminal import WIDTH
from inquesto_core.report.timeline_text import timeline_lines
from inquesto_core.report.transcripts_text import asr_lines
from inquesto_core.report.verdict_text import verdict_lines, verdict_margin
from inquesto_core.report.why import why
from inquesto_core.score.boundary import first_boundaries
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inquesto_core.protocol.definition import Protocol
    from inquesto_core.protocol.population import Population

__all__ = ["explain_facts", "explain_lines", "facts_of_calls"]

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
    "states",
    "transcript",
    "asr_turns",
    "word_errors",
    "transcript_differences",
    "verdicts",
    "media",
    "problems",
)

#: What is not a table of the run: the predicates of the call's scenario.
_PREDICATES = "predicates"

_CLOSE = 3
#: Above this many ids only those that hold the one asked for, or are held by it, are suggested.
_COMPARED_IDS = 20_000
#: States of a call that is one of the n.
_IN_N = ("scored", "agent_fault")
#: Section that a file fills, and whether the call has it.
_FILES = {"tool calls": "has_trace", "transcript": "has_transcript", "verdicts": "has_verdicts"}
_OUTCOMES = {True: "PASSED", False: "FAILED"}
_OPEN_OUTCOMES = {
    "excluded": "EXCLUDED",
    "not_evaluated": "NOT EVALUATED",
    "timing_only": "TIMING ONLY",
}

Facts = dict[str, Any]
Row = dict[str, Any]


def explain_facts(
    call_id: str,
    tables: Mapping[str, pl.DataFrame],
    decisions: pl.DataFrame,
    protocol: Protocol,
    population: Population | None = None,
) -> Facts:
    """Return what a run knows of one call, as JSON values.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        The evidence tables of the run, ``events`` among them.
    decisions : decision table
    population : Population, optional
        Whose scenarios tell what the caller wants; not told without it.

    Returns
    -------
    dict
        ``call``, ``decision`` (rows of those tables), ``wants`` (the scenario's goal), ``in_n``,
        ``why`` (a sentence), ``boundary`` (a row of `first_boundaries` where the call failed),
        ``reasons`` (what each reason code of the state and of the timing means),
        ``undecided_events``, ``criteria`` (of the event types found), ``severities``, ``limits``,
        and every other table as a list of rows. ``predicates`` are those of the scenario, with
        their values and evidence. ``words_left_out`` counts what the transcriber gave where
        nobody speaks. A transcript row also has ``cited_by``: the questions whose verdict cites it;
        a verdict has ``margin``, the lead of the likelier word as a share of both, ``fragile``, and
        ``pinned``: the protocol's judge gave it (None = it was stored with the call).
        Text is as it came, not escaped.

    Raises
    ------
    StoreError
        Code ``call_unknown``, with the ids that come close.
    """
    if decisions.filter(pl.col("call_id") == call_id).is_empty():
        raise _unknown_call(call_id, decisions)
    return next(facts_of_calls([call_id], tables, decisions, protocol, population))


def facts_of_calls(
    call_ids: Sequence[str],
    tables: Mapping[str, pl.DataFrame],
    decisions: pl.DataFrame,
    protocol: Protocol,
    population: Population | None = None,
) -> Iterator[Facts]:
    """Yield `explain_facts` of each call that the decision table has, each table read once."""
    wanted = pl.col("call_id").is_in(pl.Series(call_ids, dtype=pl.String).implode())
    held = {name: _rows_by_call(tables[name].filter(wanted)) for name in ("calls", *_LISTED)}
    held[_PREDICATES] = _rows_by_call(predicate_rows(tables, wanted, protocol, population))
    left_out = tables["asr_words"].filter(wanted & pl.col("dropped").is_not_null())
    words_left_out = dict(left_out.group_by("call_id").len().iter_rows())
    decided = {row["call_id"]: row for row in decisions.filter(wanted).iter_rows(named=True)}
    boundaries = _boundaries(decisions.filter(wanted), tables, protocol, population)
    for call_id in call_ids:
        if call_id in decided:
            rows = {name: by_call.get(call_id, []) for name, by_call in held.items()}
            yield _facts(
                _plain(decided[call_id]),
                rows,
                words_left_out.get(call_id, 0),
                protocol,
                population,
                boundaries.get(call_id),
            )


def _boundaries(
    decisions: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    protocol: Protocol,
    population: Population | None,
) -> dict[str, Row]:
    """Return where each failed call first departs; nothing where no scenario is known."""
    if population is None:
        return {}
    found = first_boundaries(decisions, tables, protocol=protocol, population=population)
    return {row.pop("call_id"): row for row in found.to_dicts()}


def _facts(
    decision: Row,
    rows: dict[str, list[Row]],
    words_left_out: int,
    protocol: Protocol,
    population: Population | None,
    boundary: Row | None,
) -> Facts:
    facts: Facts = {
        "call": next(iter(rows["calls"]), dict.fromkeys(TABLES["calls"])),
        "decision": decision,
        "wants": None,
        "why": "",
        "boundary": boundary,
    }
    for scenario in population.scenarios if population is not None else ():
        if scenario.id == decision["scenario_id"]:
            facts["wants"] = scenario.goal
    facts["in_n"] = decision["state"] in _IN_N
    undetermined = {row["question"]: row["undetermined"] for row in rows["verdicts"]}
    facts["reasons"] = {
        code: reason_text(code, undetermined)
        for code in (
            *(decision["reasons"] or ()),
            *(facts["call"]["timing_reasons"] or ()),
        )
    }
    facts["undecided_events"] = [
        event.name for event in protocol.events if decision.get(EVENT_PREFIX + event.name) is None
    ]
    near, judge = protocol.instruments.foreground.parameters, protocol.instruments.judge.parameters
    facts["limits"] = {"max_doubt": near["max_doubt"], "fragile_margin": judge["fragile_margin"]}
    for name in (*_LISTED, _PREDICATES):
        facts[name] = [{key: row[key] for key in row if key != "call_id"} for row in rows[name]]
    facts["severities"] = [
        {"level": each.level, "name": each.name, "fails": each.level >= protocol.fail_at}
        for each in protocol.severities
    ]
    facts["criteria"] = {
        event.name: event.criterion
        for event in protocol.events
        if any(row["type"] == event.name for row in facts["events"])
    }
    for answer in facts["verdicts"]:
        answer["pinned"] = (
            answer["model_sha256"] == protocol.instruments.judge.sha256
            if answer["source"] == "judge"
            else None
        )
        answer["margin"] = verdict_margin(answer)
        answer["fragile"] = (
            None
            if answer["verdict"] is None or answer["margin"] is None
            else answer["margin"] < judge["fragile_margin"]
        )
    facts["words_left_out"] = words_left_out
    for turn in facts["transcript"]:
        turn["cited_by"] = [
            row["question"] for row in facts["verdicts"] if row["turn"] == turn["position"]
        ]
    facts["why"] = why(facts, protocol)
    return facts


def explain_lines(
    call_id: str,
    tables: Mapping[str, pl.DataFrame],
    decisions: pl.DataFrame,
    protocol: Protocol,
    population: Population | None = None,
) -> list[str]:
    """Return the facts of `explain_facts` as lines of at most 80 columns, outside text escaped.

    Raises
    ------
    StoreError
        Code ``call_unknown``, with the ids that come close.
    """
    facts = explain_facts(call_id, tables, decisions, protocol, population)
    sections = {
        "First departure from what was expected": boundary_lines(facts),
        "Timeline": timeline_lines(facts),
        "Events (* = the one of its type that is counted)": event_lines(facts),
        "Caller utterances (C), what became of them, what they say (L)": reply_lines(facts),
        "Talk-overs: agent turns (A) that begin inside a caller utterance": talk_over_lines(facts),
        "Barge-ins of the caller": barge_in_lines(facts),
        "Long silences after the agent": silence_lines(facts),
        "Tool calls (T)": tool_lines(facts),
        "Predicates of the scenario": predicate_lines(facts),
        "Account, before -> after": state_lines(facts),
        "Transcript (L, > = cited by a verdict)": transcript_lines(facts),
        "Our own transcript beside this one (L)": asr_lines(facts),
        "Verdicts": verdict_lines(facts),
        "What was heard on each side": heard_lines(facts),
        "Problems and recording faults": problem_lines(facts),
    }
    lines = _header(facts)
    for title, body in sections.items():
        lines += ["", title, *body] if body else []
    return lines + _empty(facts, [title for title, body in sections.items() if not body])


def _empty(facts: Facts, titles: list[str]) -> list[str]:
    """Return which sections have nothing to show, those apart whose file the call lacks."""
    lacks = {name for name, flag in _FILES.items() if not facts["call"][flag]}
    names = [re.split(r" \(|,|:", title)[0].lower() for title in titles]
    lines: list[str] = []
    for label, found in (
        ("None", [name for name in names if name not in lacks]),
        ("Not known, as the call has no such file", [name for name in names if name in lacks]),
    ):
        lines += _wrap(f"{label}: {'; '.join(found)}", first="", rest="  ") if found else []
    return ["", *lines] if lines else []


def _plain(row: Row) -> Row:
    """Return a row whose numbers JSON can say: what is not finite is not known."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def _rows_by_call(table: pl.DataFrame) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in table.iter_rows(named=True):
        found.setdefault(row["call_id"], []).append(_plain(row))
    return found


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
    state = str(decision["state"])
    goal = {True: "goal reached", False: "goal not reached", None: "goal undetermined"}
    worst = decision["worst_severity"]
    status = [
        _OUTCOMES.get(decision["passed"]) or _OPEN_OUTCOMES.get(state, "NOT DECIDED"),
        "counts in n" if facts["in_n"] else "not in n",
        *([state.replace("_", " ")] if state in _IN_N else []),
        "no scenario, no goal" if state == "timing_only" else goal[decision["goal"]],
        f"worst event S{worst}" if worst else "no event",
    ]
    place = {
        "scenario_id": "scenario",
        "condition": "condition",
        "group": "group",
        "trial": "trial",
        "identity": "identity",
    }
    origin = {
        "agent_name": "agent",
        "platform": "platform",
        "ended_by": "ended by",
        "ended_reason": "reason",
    }
    lines = [
        *_wrap(str(decision["call_id"]), first="Call ", rest="  "),
        *_wrap(_named(decision, place) or "no scenario, condition or group is named"),
    ]
    lines += _wrap(_named(call, origin)) if _named(call, origin) else []
    lines += _wrap(f"goal: {facts['wants']}") if facts["wants"] else []
    lines += ["", *_wrap(" · ".join(status), first="", rest="  ")]
    return [*lines, *_wrap(facts["why"], first="", rest="  "), "", *_timing(facts)]


def _timing(facts: Facts) -> list[str]:
    call, decision = facts["call"], facts["decision"]
    if call["timing_reasons"] or call["timing_source"] is None:
        reasons = "; ".join(map(reason_text, call["timing_reasons"] or ())) or "there is none"
        lines = _wrap(f"timing not evaluated: {reasons}")
        if facts["segments"]:
            lines += _wrap("what was heard is shown below, and no event is taken from it")
        return lines
    median, p95 = decision["median_latency_ms"], decision["p95_latency_ms"]
    latency = "no reply to time" if median is None else f"median {median:g} ms, p95 {p95} ms"
    counts = {
        "n_utterances": "caller utterances",
        "n_replied": "replied to",
        "n_no_reply": "without reply",
        "n_agent_turns": "agent turns",
        "n_talk_over": "talk-overs",
        "n_barge_in": "barge-ins",
    }
    lines = _wrap(f"reply latency: {latency} (timing {call['timing_source']})")
    lines += _wrap(_named(decision, counts)) if _named(decision, counts) else []
    if decision["longest_unanswered_ms"] is not None:
        lines += _wrap(f"longest wait of the caller: {decision['longest_unanswered_ms']} ms")
    if decision["longest_dead_air_ms"]:
        lines += _wrap(f"longest silence in an agent turn: {decision['longest_dead_air_ms']} ms")
    lines += sound_lines(decision)
    if decision["fragile_limits"]:
        lines += _wrap("close to a limit: " + ", ".join(decision["fragile_limits"]))
    return lines
