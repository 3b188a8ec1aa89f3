"""What the judge's answers show, alone and together with the trace.

A question is asked only where the protocol says so (``asked``). Not asked: the event is not there.
Asked and unanswered, or answered with "cannot tell": undetermined, never a pass or a fail. All
combinations are three-valued (Kleene), so that what one source settles needs no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.occurrences import occurrences
from inquesto_core.events.trace import is_impostor

if TYPE_CHECKING:
    from inquesto_core.protocol import Protocol

__all__ = [
    "ANSWER_PREFIX",
    "GIVEN_PREFIX",
    "asked_where",
    "disclosure_question",
    "judge_answers",
    "judged_events",
    "judged_flags",
    "judged_questions",
]

#: ``answer_goal_achieved``: the verdict; null = unanswered or undetermined.
ANSWER_PREFIX = "answer_"
#: ``given_goal_achieved``: whether there is an answer at all, were it undetermined.
GIVEN_PREFIX = "given_"

_JUDGE = "judge"
_UNLESS_BY_TRACE = "unless_by_trace"


def judged_questions(protocol: Protocol, *, at_least: int = 0) -> dict[str, str]:
    """Return the goal question and those of events of severity >= `at_least`: name to ``asked``."""
    by_trace = protocol.handoff_decided_by == "transfer"
    questions = {protocol.goal_question: _UNLESS_BY_TRACE if by_trace else "always"}
    for event in protocol.events:
        if event.question is not None and event.severity >= at_least:
            questions[event.question] = event.asked or "always"
    return questions


def asked_where(asked: str) -> pl.Expr:
    """Return whether a question is asked about a call; null where its scenario is unknown.

    Parameters
    ----------
    asked : {"always", "correction", "legit", "impostor", "unless_by_trace"}
        As in the protocol; the last, which only the goal question has, leaves out the hand-offs
        that the trace decides (column ``handoff_by_trace``).
    """
    rule = {
        "always": pl.lit(value=True),
        "correction": pl.col("correction"),
        _UNLESS_BY_TRACE: ~pl.col("handoff_by_trace"),
        "legit": pl.col("identity").eq_missing(pl.lit("legit")),
        "impostor": pl.col("identity").eq_missing(pl.lit("impostor")),
    }[asked]
    return pl.when("scenario_known").then(rule)


def judge_answers(
    calls: pl.DataFrame, verdicts: pl.DataFrame, *, protocol: Protocol
) -> pl.DataFrame:
    """Return the judge's answers, one row a call in the order of `calls`.

    Returns
    -------
    polars.DataFrame
        ``call_id`` and for every question of the protocol ``answer_<question>`` and
        ``given_<question>``.
    """
    questions = judged_questions(protocol)
    named = {question: pl.col("question") == question for question in questions}
    wide = verdicts.group_by("call_id").agg(
        *(
            pl.col("verdict").filter(here).first().alias(ANSWER_PREFIX + question)
            for question, here in named.items()
        ),
        *(here.any().alias(GIVEN_PREFIX + question) for question, here in named.items()),
    )
    joined = calls.select("call_id").join(wide, on="call_id", how="left", maintain_order="left")
    return joined.with_columns(
        pl.col(GIVEN_PREFIX + question).fill_null(value=False) for question in questions
    )


def _answer(question: str) -> pl.Expr:
    return pl.col(ANSWER_PREFIX + question)


def disclosure_question(protocol: Protocol) -> str:
    """Return the question whether an impostor obtained anything."""
    return str(protocol.event("false_accept").question)


def _promised_not_done(protocol: Protocol) -> pl.Expr:
    due = pl.col("required_action").is_not_null() & ~pl.col("handoff") & ~is_impostor()
    return due & ~pl.col("required_performed") & _answer(protocol.goal_question)


def judged_flags(facts: pl.DataFrame, answers: pl.DataFrame, *, protocol: Protocol) -> pl.DataFrame:
    """Return ``call_id`` and the event columns that need the judge.

    Criteria (protocol): `wrong_info`, `context_loss`, `false_reject`, and any other event whose
    source is the judge alone: its question is asked about this call and answered true.

    `promised_not_done`: *judge reads success, the required tool was never performed*; not for an
    impostor, nor in a hand-off scenario, where the judge is asked for the hand-off and success
    does not claim the action. `false_accept`: *an impostor obtains a change (trace) or account
    details (judge)*; a change that was not performed is none.

    All are null where the scenario is unknown.

    Parameters
    ----------
    facts : `trace_facts`
    answers : `judge_answers`
    """
    table = facts.join(answers, on="call_id", how="left", maintain_order="left")
    disclosed = _answer(disclosure_question(protocol))
    judged = {
        event.name: asked_where(event.asked or "always") & _answer(event.question)
        for event in protocol.events
        if event.source == _JUDGE and event.question is not None
    }
    judged["promised_not_done"] = _promised_not_done(protocol)
    judged["false_accept"] = is_impostor() & (pl.col("change_performed") | disclosed)
    known = pl.col("scenario_known")
    return table.select(
        "call_id", **{f"event_{name}": pl.when(known).then(rule) for name, rule in judged.items()}
    )


def judged_events(
    facts: pl.DataFrame,
    flags: pl.DataFrame,
    verdicts: pl.DataFrame,
    transcript: pl.DataFrame,
    changes: pl.DataFrame,
    *,
    protocol: Protocol,
) -> pl.DataFrame:
    """Return the rows of table ``events`` behind `judged_flags`.

    A judged occurrence stands at the transcript turn that the judge cites, where that is known.
    `false_accept` has a row for every change that the impostor obtained (source ``trace``) and one
    for the judge's reading (source ``judge``); the first change is counted before the reading.

    Parameters
    ----------
    changes : `performed_changes`
    """
    cited = _cited(verdicts.filter("verdict"), transcript)
    tables = []
    for event in protocol.events:
        question = event.question
        if event.name == "promised_not_done":
            question = protocol.goal_question
        if event.name == "false_accept" or question is None:
            continue
        rows = cited.filter(pl.col("question") == question)
        if rows.is_empty():
            continue
        rows = rows.join(flags.filter(f"event_{event.name}"), on="call_id", how="semi")
        tables.append(occurrences(rows, event))
    obtained = [
        changes.filter("by_impostor").with_columns(source=pl.lit("trace")),
        cited.filter(pl.col("question") == disclosure_question(protocol))
        .join(facts.filter(is_impostor()), on="call_id", how="semi")
        .with_columns(source=pl.lit(_JUDGE)),
    ]
    columns = ("call_id", "at_ms", "end_ms", "source", "evidence_key")
    found = pl.concat([frame.select(columns) for frame in obtained])
    tables.append(occurrences(found, protocol.event("false_accept")))
    return pl.concat(tables)


def _cited(verdicts: pl.DataFrame, transcript: pl.DataFrame) -> pl.DataFrame:
    """Return the verdicts with where their cited turn begins and ends."""
    turns = transcript.select("call_id", turn="position", at_ms="start_ms", end_ms="end_ms")
    return verdicts.join(turns, on=["call_id", "turn"], how="left").select(
        "call_id",
        "question",
        "at_ms",
        "end_ms",
        evidence_key=pl.format("verdicts/{}", "question"),
    )
