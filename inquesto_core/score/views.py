"""The diagnostic views: the same pass rate over the slices that the protocol names.

Views explain the score and are never combined into it. Every slice is a sum over the cells of a
summary. Gaps and differences have the published rounding (differences of
one-decimal scores); the exact ones stand beside them under ``exact``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.score.rate import PERCENT_DECIMALS, Rate, exact_rate, published_rate
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from inquesto_core.protocol.definition import Protocol, Slice, View
    from inquesto_core.protocol.population import Population

__all__ = [
    "CELL",
    "COMPLETE",
    "diagnostic_views",
    "is_complete",
    "pass_rate",
    "published_difference",
    "view_columns",
]

#: The states that are in n.
COMPLETE = ("scored", "agent_fault")

#: What a cell of a summary is: every view is a sum over some of them.
CELL = ("condition", "group", "is_identity")


def is_complete() -> pl.Expr:
    """Return whether a call is in n: scored, or failed by the agent's own fault."""
    return pl.col("state").is_in(COMPLETE)


def view_columns(protocol: Protocol) -> dict[str, pl.Expr]:
    """Return what is summed over calls: ``n``, ``passed``, and the complete calls of each event."""
    names = (EVENT_PREFIX + event.name for event in protocol.events)
    return {
        "total": pl.lit(1),
        "n": is_complete(),
        "passed": is_complete() & pl.col("passed"),
        **{name: is_complete() & pl.col(name) for name in names},
    }


def pass_rate(cells: pl.DataFrame) -> Rate:
    """Return the score as counts: the passed ones of the complete calls."""
    return Rate(k=int(cells["passed"].sum()), n=int(cells["n"].sum()))


def published_difference(left: float | None, right: float | None) -> float | None:
    """Return left - right of one-decimal percentages to one decimal; None where one is None."""
    return None if left is None or right is None else round(left - right, PERCENT_DECIMALS)


def _exact_difference(left: Rate, right: Rate) -> float | None:
    if left.value is None or right.value is None:
        return None
    return float(100 * (left.value - right.value))


def diagnostic_views(
    cells: pl.DataFrame, *, protocol: Protocol, population: Population
) -> dict[str, Any]:
    """Return the record's ``views``, in the protocol's order.

    Parameters
    ----------
    cells : polars.DataFrame
        Those of a summary.

    An empty slice has score, bounds and difference None, and n = 0. Every group of the population
    or of a complete call stands in ``by_group``; the worst one is the lowest one-decimal score,
    the first name of the alphabet among equals, and never an empty group. ``non_identity`` is the
    same table without the identity calls, which are not spread evenly over the groups.
    """
    slices = _Cells(table=cells, population=population, z=protocol.z)
    return {view.name: slices.view(view) for view in protocol.views}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    table: pl.DataFrame
    population: Population
    z: float

    def within(self, part: Slice) -> pl.DataFrame:
        population, keep = self.population, pl.lit(value=True)
        if part.conditions == "reference":
            keep &= pl.col("condition") == population.reference_condition
        elif part.conditions == "degraded":
            keep &= pl.col("condition").is_in(population.degraded)
        if part.groups == "reference":
            keep &= pl.col("group") == population.reference_group
        if part.identity != "included":
            keep &= pl.col("is_identity") == (part.identity == "only")
        return self.table.filter(keep)

    def view(self, view: View) -> dict[str, Any]:
        cells = self.within(view.slice)
        if view.value == "worst_group":
            table = self.groups(cells)
            table["non_identity"] = self.groups(cells.filter(~pl.col("is_identity")))
            return table
        rate = pass_rate(cells)
        fields, exact = published_rate(rate, self.z), exact_rate(rate, self.z)
        if view.compared_with is not None:
            other = pass_rate(self.within(view.compared_with))
            fields["gap_vs_clean"] = published_difference(other.published, rate.published)
            exact["gap_vs_clean"] = _exact_difference(other, rate)
        fields |= {name + "s": int(cells[EVENT_PREFIX + name].sum()) for name in view.counted}
        return {**fields, "exact": exact}

    def groups(self, cells: pl.DataFrame) -> dict[str, Any]:
        told = cells.filter(pl.col("n") > 0)["group"].drop_nulls()
        names = {*self.population.groups, *told}
        rates = {name: pass_rate(cells.filter(pl.col("group") == name)) for name in sorted(names)}
        reference = rates[self.population.reference_group]
        by_group = {name: self.group(rate, reference) for name, rate in rates.items()}
        scores = {
            name: rate.published for name, rate in rates.items() if rate.published is not None
        }
        worst = min(scores, key=lambda name: (scores[name], name), default=None)
        fields = self.group(rates[worst] if worst is not None else Rate(k=0, n=0), reference)
        exact = fields.pop("exact")
        return {**fields, "worst_group": worst, "by_group": by_group, "exact": exact}

    def group(self, rate: Rate, reference: Rate) -> dict[str, Any]:
        return {
            **published_rate(rate, self.z),
            "delta_vs_reference": published_difference(rate.published, reference.published),
            "exact": {
                **exact_rate(rate, self.z),
                "delta_vs_reference": _exact_difference(rate, reference),
            },
        }
