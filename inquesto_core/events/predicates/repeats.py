"""The predicate that nothing is done twice: ``exactly_once``.

Two performed calls of a tool are the same thing done twice if they have the same idempotency key,
or, where one of them has none or none is named, the same arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jmespath
import polars as pl

from inquesto_core.canonical import canonical_bytes
from inquesto_core.events.predicates.json_values import as_one_number
from inquesto_core.events.predicates.outcome import Outcome, concluded, each_once, found_at
from inquesto_core.events.predicates.tools import (
    performed_text,
    place,
    side_of,
    untold,
    with_tool,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.events.predicates.part import Part

__all__ = ["exactly_once"]


def exactly_once(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide whether `tool` was performed, and no two of its calls do the same."""
    path = predicate.get("key")
    expression = None if path is None else jmespath.compile(path)

    def identity(arguments: Any) -> Outcome:
        error = None
        if expression is not None:
            key, _, error = found_at(expression, arguments)
            if key is not None:
                return Outcome(value=True, evidence="key " + _text(key))
        if error is not None:
            return Outcome(value=False, evidence=f"{path} cannot be read: {error}", raised=True)
        return Outcome(value=True, evidence="arguments " + _text(arguments))

    side = side_of(predicate)
    rows = each_once(part.performed(predicate["tool"], side), ("arguments",), identity)
    # The key tells two calls apart only if both have one.
    rows = rows.with_columns(
        same=pl.len().over("call", "evidence"), unread=pl.col("evidence").is_null()
    )
    twice = (pl.col("same") > 1) & ~pl.col("unread")
    several = pl.len() > 1
    summary = rows.group_by("call", maintain_order=True).agg(
        repeated=twice.any(),
        unclear=pl.col("unread").any() & several,
        any_raised=pl.col("raised").any(),
        error=pl.col("evidence").filter(pl.col("raised")).first(),
    )
    named = (
        rows.filter(twice)
        .group_by("call", maintain_order=True)
        .agg(repeats=place(side).str.join(", "))
    )
    frame = with_tool(part, part.calls, part.performed(predicate["tool"], side), "tool", side)
    for found in (summary, named):
        frame = frame.join(found, on="call", how="left", maintain_order="left")
    value = (
        pl.when(pl.col("tool_n") == 0)
        .then(statement=False)
        .when("repeated")
        .then(statement=False)
        .when("unclear")
        .then(None)
        .otherwise(statement=True)
    )
    performed = performed_text(predicate)
    text = (
        pl.when("any_raised")
        .then("error")
        .when("repeated")
        .then(pl.concat_str(performed, pl.lit("; the same again: "), pl.col("repeats")))
        .when("unclear")
        .then(pl.concat_str(performed, pl.lit("; some arguments are not known")))
        .otherwise(performed)
    )
    return concluded(frame, value, text, raised=pl.col("any_raised"), lacking=untold(predicate))


def _text(value: Any) -> str:
    return canonical_bytes(as_one_number(value)).decode("utf-8")
