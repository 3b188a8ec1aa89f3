"""Labelled calls of a run decided again, with the labels in place of the judge's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.compare.calibration import Calibration, calibrate
from inquesto_core.engine.reduction import READ, Reading, reduce_part, slots_of_run
from inquesto_core.evidence import TABLES, empty_table
from inquesto_core.score import JudgeUse, TranscriberUse

if TYPE_CHECKING:
    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population, Protocol

__all__ = ["calibration_of_run", "labelled_outcomes"]


def calibration_of_run(
    stored: StoredRun, answers: pl.DataFrame, *, protocol: Protocol, population: Population
) -> Calibration:
    """Return how the run's outcomes compare with those that a labeller's answers make.

    Parameters
    ----------
    stored, answers, protocol, population
        As for `labelled_outcomes`.
    """
    scores = [
        (str(record["agent"]), int(record["passed"]), int(record["n"]))
        for record in stored.records.values()
    ]
    outcomes = labelled_outcomes(stored, answers, protocol=protocol, population=population)
    return calibrate(outcomes, scores, z=protocol.z)


def labelled_outcomes(
    stored: StoredRun, answers: pl.DataFrame, *, protocol: Protocol, population: Population
) -> pl.DataFrame:
    """Return ``call_id, judge, labels, weight``: each labelled call's outcome under either.

    Everything but the judged answers stays: timing, tool calls, state. A labelled call of which a
    question that is asked has no label, or is unsure, is open, and left out.

    Parameters
    ----------
    stored : StoredRun
        With all tables of the labelled calls.
    answers : polars.DataFrame
        ``call_id, question, verdict, weight`` of one labeller.
    """
    ids = answers["call_id"].unique().sort()
    tables = {
        name: stored.tables.get(name, empty_table(name)).filter(
            pl.col("call_id").is_in(ids.implode())
        )
        for name in READ
    }
    tables["verdicts"] = _as_verdicts(answers, tables["verdicts"])
    _, twice = slots_of_run([tables["calls"]], protocol=protocol, population=population)
    reading = Reading(
        protocol=protocol,
        population=population,
        judge=JudgeUse(kind="recorded"),
        transcriber=TranscriberUse(kind="none"),
    )
    decided = reduce_part(tables, reading, twice=twice, keep=()).decisions
    labels = decided.select("call_id", labels="passed")
    # Of the questions of a call, the goal's is asked of every call of its stratum.
    weights = (
        answers.with_columns(is_goal=pl.col("question") == protocol.goal_question)
        .sort("call_id", "is_goal", descending=[False, True])
        .group_by("call_id", maintain_order=True)
        .agg(pl.col("weight").first())
    )
    return (
        stored.decisions.select("call_id", judge="passed")
        .join(labels, on="call_id")
        .join(weights, on="call_id")
    )


def _as_verdicts(answers: pl.DataFrame, like: pl.DataFrame) -> pl.DataFrame:
    """Return a labeller's answers as the table of verdicts."""
    given = answers.select("call_id", "question", "verdict")
    missing = [
        pl.lit(None).cast(dtype).alias(name)
        for name, dtype in TABLES["verdicts"].items()
        if name not in given.columns
    ]
    return given.with_columns(missing).select(like.columns).cast(like.schema)
