"""The predicates of a call's scenario with their values and evidence, as rows and as lines.

They are evaluated anew from the run's tables, by the rules that decided its goal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates import PREDICATES, scenario_predicates
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import Protocol
    from inquesto_core.protocol.population import Population

__all__ = ["predicate_lines", "predicate_rows"]

_SAYS = {True: "holds", False: "does not hold", None: "undetermined"}

#: Longer evidence is cut: it may name fifty differences of a state.
_SHOWN_CHARACTERS = 800


def predicate_rows(
    tables: Mapping[str, pl.DataFrame],
    wanted: pl.Expr,
    protocol: Protocol,
    population: Population | None,
) -> pl.DataFrame:
    """Return the predicates of the calls for which `wanted` is true; none without a population."""
    if population is None:
        return pl.DataFrame(schema=PREDICATES)
    own = {name: table.filter(wanted) for name, table in tables.items() if "call_id" in table}
    return scenario_predicates(own, protocol=protocol, population=population)


def predicate_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return a line a predicate: its place in the scenario's list, kind, value, evidence."""
    lines: list[str] = []
    for row in facts["predicates"]:
        evidence = row["evidence"] or ""
        if len(evidence) > _SHOWN_CHARACTERS:
            evidence = evidence[: _SHOWN_CHARACTERS - 1] + "…"
        text = f"{row['index']} {row['kind']} {_SAYS[row['value']]}: {evidence}"
        lines += wrap_columns(escape_terminal(text), WIDTH, first="  ", rest="    ")
    return lines
