"""The calls of a comparison one by one: all that do not pass under both, and those that are shown.

A text shows every call with a new critical event, whether or not it moved, and the first ones of
each outcome beside these. What a program reads is cut nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.engine.compare_side import call_ids
from inquesto_core.score.tables import SLOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.engine.compare_side import Side
    from inquesto_core.protocol import Protocol

__all__ = ["CRITICAL", "every_moved", "shown_calls"]

#: The list of calls with an event above the failing severity under B and not under A.
CRITICAL = "critical"
_OUTCOMES = ("broken", "fixed", "still_failing")
#: Calls of a list that a text shows; those with a new critical event are few, or the least of it.
_SHOWN = {CRITICAL: 50, "broken": 10, "fixed": 10, "still_failing": 10}


def every_moved(moved: pl.DataFrame, sides: Sequence[Side], law: Protocol) -> pl.DataFrame:
    """Return the calls that broke, were fixed or fail under both, by outcome, the gravest first.

    Parameters
    ----------
    moved : `moved_causes`
        Of all pairs but those that pass under both.

    Returns
    -------
    polars.DataFrame
        `SLOT`, ``outcome, call_id_a, call_id_b, appeared, went, stayed``.
    """
    worst = _worst(pl.col("appeared"), law)
    worst = pl.when(pl.col("outcome") == "fixed").then(_worst(pl.col("went"), law)).otherwise(worst)
    rows = moved.with_columns(worst=worst).sort("outcome", *SLOT)
    # Of many alike calls, one of each scenario comes first.
    nth = pl.int_range(pl.len()).over("outcome", "worst", "scenario_id")
    rows = rows.with_columns(nth=nth).sort(
        ["outcome", "worst", "nth", *SLOT], descending=[False, True, *[False] * (1 + len(SLOT))]
    )
    rows = rows.with_columns(
        call_ids(side, rows[f"at_{end}"]).alias(f"call_id_{end}")
        for side, end in zip(sides, "ab", strict=True)
    )
    return rows.select(*SLOT, "outcome", "call_id_a", "call_id_b", "appeared", "went", "stayed")


def shown_calls(moved: pl.DataFrame, law: Protocol) -> pl.DataFrame:
    """Return the calls that a text shows, with ``listed`` and ``of``: how many that list has.

    Parameters
    ----------
    moved : `every_moved`
    """
    appeared = _worst(pl.col("appeared"), law)
    rows = moved.with_columns(
        worst=appeared, listed=pl.col("outcome").cast(pl.String), row=pl.int_range(pl.len())
    ).with_columns(
        listed=pl.when(pl.col("worst") > law.fail_at).then(pl.lit(CRITICAL)).otherwise("listed")
    )
    rows = rows.with_columns(of=pl.len().over("listed").cast(pl.Int64))
    parts = [
        rows.filter(pl.col("listed") == name)
        .sort("worst", "row", descending=[True, False])
        .head(_SHOWN[name])
        for name in (CRITICAL, *_OUTCOMES)
    ]
    return pl.concat(parts).drop("worst", "row")


def _worst(causes: pl.Expr, law: Protocol) -> pl.Expr:
    """Return the severity of the first of some causes; 0 of none, and of what is no event."""
    ranks = {event.name: event.severity for event in law.events}
    return causes.list.first().replace_strict(ranks, default=0, return_dtype=pl.Int64)
