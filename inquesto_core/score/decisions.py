"""The whole decision table: goal, state and pass of every call, and how firmly they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.score.accounting import agent_faults, call_standing, exclusions
from inquesto_core.score.decide import decide
from inquesto_core.score.goal import goal_table
from inquesto_core.score.tables import decision_schema

if TYPE_CHECKING:
    from inquesto_core.events import Detection
    from inquesto_core.protocol import Population, Protocol

__all__ = ["decision_table"]


def decision_table(
    detection: Detection,
    *,
    protocol: Protocol,
    population: Population,
    judge_free: bool,
    twice: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the decision table of all calls, one row a call, sorted by ``call_id``.

    Parameters
    ----------
    judge_free : bool
        State and pass are those of the judge-free quantities.
    twice : polars.DataFrame, optional
        `slots_taken_twice` of the archive that the calls are a part of.
    """
    tables = detection.tables
    calls = tables["calls"]
    standing = call_standing(
        exclusions(calls, protocol=protocol, population=population, twice=twice),
        agent_faults(
            calls,
            tables["tool_calls"],
            tables["transcript"],
            tables["utterances"],
            tables["turns"],
            protocol=protocol,
        ),
        detection.facts,
        detection.answers,
        detection.predicates,
        protocol=protocol,
    )
    goals = goal_table(
        detection.facts,
        detection.answers,
        detection.predicates,
        protocol=protocol,
        population=population,
    )

    decided = decide(
        calls,
        facts=detection.facts,
        goals=goals,
        standing=standing,
        flags=detection.flags,
        timing_flags=detection.timing_flags,
        protocol=protocol,
        population=population,
        judge_free=judge_free,
        moved_flags=detection.moved_flags,
    )
    schema = decision_schema(tuple(event.name for event in protocol.events))
    schema["call_id"] = calls.schema["call_id"]
    return (
        decided.join(detection.statistics, on="call_id", how="left", maintain_order="left")
        .with_columns(pl.col("fragile_limits").fill_null(pl.lit([], dtype=pl.List(pl.String))))
        .select(list(schema))
        .cast(schema)  # type: ignore[arg-type]
    )
