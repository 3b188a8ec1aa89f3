"""Predicates on what tools were told and what they answered, by JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates.outcome import Outcome, concluded, each_once
from inquesto_core.events.predicates.tools import (
    performed_text,
    place,
    side_of,
    untold,
    with_tool,
)
from inquesto_core.events.tool_result import decoded_result
from inquesto_core.schema import closed_validator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.events.predicates.part import Part

__all__ = ["schema_outcome", "tool_documents"]

#: The column of ``tool_calls`` that a kind reads, and what it is called in the evidence.
_COLUMNS = {"tool_arguments": ("arguments", "arguments"), "tool_results": ("result", "results")}


def tool_documents(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide whether every (or some) performed `tool` has a valid document, and there is one."""
    column, word = _COLUMNS[predicate["kind"]]
    validator = closed_validator(predicate["schema"])

    def read(document: Any) -> Outcome:
        if column == "result":
            document = decoded_result(document)
        return schema_outcome(validator, document)

    side = side_of(predicate)
    rows = each_once(part.performed(predicate["tool"], side), (column,), read)
    some = predicate.get("match", "every") == "some"
    valid = pl.col("value") & ~pl.col("raised")
    wrong = rows.filter(~pl.col("value") | pl.col("raised")).select(
        "call", wrong=pl.concat_str(place(side), pl.lit(" ("), "evidence", pl.lit(")"))
    )
    summary = rows.group_by("call", maintain_order=True).agg(
        settled=(valid if some else ~valid).any(),
        unclear=valid.is_null().any(),
        any_raised=pl.col("raised").any(),
    )
    frame = with_tool(part, part.calls, part.performed(predicate["tool"], side), "tool", side)
    for found in (
        summary,
        wrong.group_by("call", maintain_order=True).agg(pl.col("wrong").str.join(", ")),
    ):
        frame = frame.join(found, on="call", how="left", maintain_order="left")
    value = (
        pl.when(pl.col("tool_n") == 0)
        .then(statement=False)
        .when("settled")
        .then(pl.lit(value=some))
        .when("unclear")
        .then(None)
        .otherwise(pl.lit(value=not some))
    )
    performed = performed_text(predicate)
    text = (
        pl.when(pl.col("wrong").is_not_null())
        .then(pl.concat_str(performed, pl.lit(f"; other {word}: "), pl.col("wrong")))
        .when("unclear")
        .then(pl.concat_str(performed, pl.lit(f"; some {word} are not known")))
        .otherwise(performed)
    )
    raised = pl.col("any_raised") & ~value.fill_null(value=True)
    return concluded(frame, value, text, raised=raised, lacking=untold(predicate))


def schema_outcome(validator: Any, document: Any) -> Outcome:
    """Return whether a document is valid, and if not where and by which keyword."""
    try:
        worst = min(
            validator.iter_errors(document),
            key=lambda error: (len(error.absolute_path), list(map(str, error.absolute_path))),
            default=None,
        )
    except (ArithmeticError, RecursionError) as exc:
        return Outcome(value=False, evidence=f"cannot be checked: {exc}", raised=True)
    if worst is None:
        return Outcome(value=True, evidence="")
    where = "".join(f"/{step}" for step in worst.absolute_path) or "the whole"
    return Outcome(value=False, evidence=f"{where}: {worst.validator or 'nothing is allowed'}")
