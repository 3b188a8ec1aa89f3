"""Whether the required action was performed with the arguments that the scenario states.

A scenario states arguments by its ``tool_arguments`` predicates on the required action. They are
conditions of the goal like any other predicate; whether an action with other arguments *was
performed* is the protocol's to say (``goal.required_arguments_must_match``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates import predicates_hold, scenario_predicates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol import Population, Protocol, Scenario

__all__ = ["with_required_arguments"]


def with_required_arguments(
    facts: pl.DataFrame,
    calls: pl.DataFrame,
    tool_calls: pl.DataFrame,
    *,
    protocol: Protocol,
    population: Population,
) -> pl.DataFrame:
    """Return `facts`, where ``required_performed`` asks for the stated arguments as well.

    With ``required_arguments_must_match`` false, or where the scenario states none, the name of the
    tool is enough, as in the published records (conformance row 7: *update_card with the wrong
    number counts as done*). With it, each stated schema must be met by some performed call of the
    tool: a wrong attempt before the right one is no omission. Arguments that nobody can read leave
    it null. A required action that was only performed otherwise is then one that was promised and
    not done where the judge reads success, so that more calls fail than without the switch.

    Parameters
    ----------
    facts : `trace_facts`
    calls, tool_calls : evidence tables of those names
    """
    if not protocol.required_arguments_must_match:
        return facts
    stated = replace(
        population,
        scenarios=tuple(
            replace(scenario, predicates=_stated(scenario)) for scenario in population.scenarios
        ),
    )
    met = predicates_hold(
        scenario_predicates(
            {"calls": calls, "tool_calls": tool_calls}, protocol=protocol, population=stated
        )
    ).with_columns(is_stated=pl.lit(value=True))
    joined = facts.join(met, on="call_id", how="left", maintain_order="left")
    performed = pl.col("required_performed")
    is_stated = pl.col("is_stated").fill_null(value=False)
    return joined.with_columns(
        required_performed=pl.when(is_stated).then(performed & pl.col("hold")).otherwise(performed)
    ).select(facts.columns)


def _stated(scenario: Scenario) -> tuple[Mapping[str, Any], ...]:
    """Return what the scenario states of the arguments, each to be met by one call at least."""
    return tuple(
        {**predicate, "match": "some"}
        for predicate in scenario.predicates
        if predicate["kind"] == "tool_arguments" and predicate["tool"] == scenario.required_action
    )
