"""A call's facts without what was said, done or named in it: what a redacted report shows.

What stays is what a record may hold: names that the population or the protocol fixes, numbers, and
codes. Everything that a bundle's author may write freely is gone, so that the rule does not depend
on what they wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from inquesto_core.protocol.definition import Protocol
    from inquesto_core.protocol.population import Population

__all__ = ["HIDDEN", "redact_decisions", "redact_facts"]

#: What stands where a name was.
HIDDEN = "(redacted)"

#: What holds codes, numbers and times alone.
_KEPT = (
    "in_n",
    "reasons",
    "undecided_events",
    "criteria",
    "severities",
    "limits",
    "words_left_out",
    "segments",
    "utterances",
    "turns",
    "replies",
    "talk_overs",
    "barge_ins",
    "silences",
    "tool_results",
    "events",
    "boundary",
)
_EMPTIED = ("states", "transcript", "asr_turns", "transcript_differences", "word_errors")

Facts = dict[str, Any]


def _known_labels(population: Population) -> dict[str, frozenset[str]]:
    """Return the labels of calls that the population fixes, by column."""
    return {
        "scenario_id": frozenset(scenario.id for scenario in population.scenarios),
        "condition": frozenset(population.conditions),
        "group": frozenset(population.groups),
    }


def redact_decisions(decisions: pl.DataFrame, population: Population) -> pl.DataFrame:
    """Return the decision table with labels that the population does not name hidden.

    Call ids stay: they join the tables, and whoever shows one shows what stands for it.
    """
    return decisions.with_columns(
        pl.when(pl.col(name).is_in(pl.Series(sorted(known), dtype=pl.String).implode()))
        .then(name)
        .when(pl.col(name).is_not_null())
        .then(pl.lit(HIDDEN))
        .alias(name)
        for name, known in _known_labels(population).items()
    )


def redact_facts(facts: Facts, *, name: str, protocol: Protocol, population: Population) -> Facts:
    """Return the facts of `explain_facts` without audio, words, names, numbers and arguments.

    Parameters
    ----------
    name : str
        What stands for the call id.

    Returns
    -------
    dict
        Of the same form; a fact that this room does not know is not in it, and ``why`` is empty,
        for the caller to word anew.
    """
    labels = _known_labels(population)
    tools = {
        tool
        for group in ("lookup", "verify", "change", "end_call", "transfer")
        for tool in getattr(population.tools, group)
    }
    questions = {event.question for event in protocol.events} | {protocol.goal_question}
    decision = {**facts["decision"], "call_id": name}
    for column, known in labels.items():
        if decision[column] not in known:
            decision[column] = None if decision[column] is None else HIDDEN
    call = {
        key: value
        for key, value in facts["call"].items()
        if isinstance(value, bool | int | float) or value is None
    }
    kept = ("timing_source", "timing_reasons", "ended_by", "condition_class", "warnings")
    call = {**dict.fromkeys(facts["call"]), **call, **{key: facts["call"][key] for key in kept}}
    return {
        **{key: facts[key] for key in _KEPT},
        **{table: [] for table in _EMPTIED},
        "call": call,
        "decision": decision,
        "wants": facts["wants"] if decision["scenario_id"] != HIDDEN else None,
        "why": "",
        "predicates": [{**row, "evidence": HIDDEN} for row in facts["predicates"]],
        "tool_calls": [
            {
                **row,
                "id": None,
                "name": row["name"] if row["name"] in tools else HIDDEN,
                "arguments": None,
                "raw_arguments": None,
                "result": None,
            }
            for row in facts["tool_calls"]
        ],
        "verdicts": [
            {**row, "reason": None, "raw": None, "model": None}
            for row in facts["verdicts"]
            if row["question"] in questions
        ],
        "media": [{**row, "file": HIDDEN} for row in facts["media"]],
        "problems": [
            {**row, "file": None, "pointer": None, "message": None} for row in facts["problems"]
        ],
    }
