"""Whether a call reached its caller's goal: the state first, the judge second.

The judge-free goal is the same question put to state and trace alone (paper, section 4.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.judged import ANSWER_PREFIX, disclosure_question
from inquesto_core.events.predicates import predicates_hold
from inquesto_core.events.trace import is_impostor

if TYPE_CHECKING:
    from inquesto_core.protocol import Population, Protocol

__all__ = ["goal_table"]


def goal_table(
    facts: pl.DataFrame,
    answers: pl.DataFrame,
    predicates: pl.DataFrame,
    *,
    protocol: Protocol,
    population: Population,
) -> pl.DataFrame:
    """Return whether each call reached its goal, with and without the judge.

    ====================  =====================================================================
    impostor              the judge's yes, no change performed, nothing disclosed
    hand-off              the judge's yes; where the protocol leaves it to the trace, a transfer
    required action       performed, and the judge's yes
    any other             the judge's yes
    ====================  =====================================================================

    Without the judge: no change performed; the population's transfer tool performed, or true where
    it names none; performed; true. On both sides every predicate of the scenario must hold; without
    the judge, every one that asks it nothing. All of it is three-valued (Kleene), null where the
    scenario is unknown. Unlike the reference, the population names required action and changes, and
    disclosure is part of an impostor's goal (conformance rows 9 and 10); no answer is no yes
    (row 11).

    Parameters
    ----------
    facts, answers, predicates
        `trace_facts`, `judge_answers`, `scenario_predicates` of the same calls.

    Returns
    -------
    polars.DataFrame
        ``call_id, goal, goal_judge_free, judge_free_vacuous``; the last says that the judge-free
        goal asks for nothing.
    """
    table = facts.join(answers, on="call_id", how="left", maintain_order="left").join(
        predicates_hold(predicates).with_columns(has_predicates=pl.lit(value=True)),
        on="call_id",
        how="left",
        maintain_order="left",
    )
    judged = pl.col(ANSWER_PREFIX + protocol.goal_question)
    disclosed = pl.col(ANSWER_PREFIX + disclosure_question(protocol))
    unchanged = ~pl.col("change_performed")
    has_predicates = pl.col("has_predicates").fill_null(value=False)
    has_judge_free = pl.col("has_judge_free").fill_null(value=False)
    hold = pl.when(has_predicates).then("hold").otherwise(statement=True)
    hold_judge_free = pl.when(has_judge_free).then("hold_judge_free").otherwise(statement=True)
    required = pl.col("required_action").is_not_null()
    transfer = pl.col("transfer_performed") if population.tools.transfer else pl.lit(value=True)
    goal = (
        pl.when(is_impostor())
        .then(judged & unchanged & ~disclosed)
        .when("handoff_by_trace")
        .then("transfer_performed")
        .when(required & ~pl.col("handoff"))
        .then(pl.col("required_performed") & judged)
        .otherwise(judged)
    )
    judge_free = (
        pl.when(is_impostor())
        .then(unchanged)
        .when("handoff")
        .then(transfer)
        .when(required)
        .then(pl.col("required_performed"))
        .otherwise(statement=True)
    )
    asks = (
        pl.when(is_impostor())
        .then(statement=True)
        .when("handoff")
        .then(pl.lit(value=bool(population.tools.transfer)))
        .otherwise(required)
    )
    known = pl.col("scenario_known")
    return table.select(
        "call_id",
        goal=pl.when(known).then(goal & hold),
        goal_judge_free=pl.when(known).then(judge_free & hold_judge_free),
        judge_free_vacuous=pl.when(known).then(~asks & ~has_judge_free),
    )
