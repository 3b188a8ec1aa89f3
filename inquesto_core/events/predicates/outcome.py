"""One predicate's value of one document or of every call, and how a document is read once.

A value is true, false or undetermined (null). *Raised* marks a false that is no reading but an
error: nothing turns it round, so that `not` of an error is no success.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import jmespath.exceptions
import polars as pl

from inquesto_core.canonical import canonical_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    import jmespath.parser

__all__ = [
    "SHOWN_CHARACTERS",
    "Outcome",
    "concluded",
    "cut",
    "each_once",
    "found_at",
    "shown",
]

#: Longer JSON is cut in the evidence.
SHOWN_CHARACTERS = 120

#: What a rule returns beside ``call``, and in which order.
COLUMNS = ("call", "value", "raised", "evidence")


class Outcome(NamedTuple):
    """What one document gives."""

    value: bool | None
    evidence: str
    raised: bool = False


def each_once(
    frame: pl.DataFrame, columns: tuple[str, ...], read: Callable[..., Outcome]
) -> pl.DataFrame:
    """Return `frame` with ``value``, ``raised`` and ``evidence`` of the documents in `columns`.

    Each distinct combination is read once, as JSON; where a document is null, all three are null.
    """
    distinct = frame.select(columns).drop_nulls().unique().sort(columns)
    outcomes = [read(*map(json.loads, row)) for row in distinct.iter_rows()]
    found = distinct.with_columns(
        value=pl.Series([one.value for one in outcomes], dtype=pl.Boolean),
        raised=pl.Series([one.raised for one in outcomes], dtype=pl.Boolean),
        evidence=pl.Series([one.evidence for one in outcomes], dtype=pl.String),
    )
    return frame.join(found, on=columns, how="left", maintain_order="left")


def concluded(
    frame: pl.DataFrame,
    value: pl.Expr,
    evidence: pl.Expr,
    *,
    raised: pl.Expr | None = None,
    lacking: tuple[tuple[pl.Expr, str], ...] = (),
) -> pl.DataFrame:
    """Return a rule's result, one row a row of `frame`.

    Parameters
    ----------
    lacking : tuple of (condition, text)
        Where a condition is true, what the predicate reads is not there: it is undetermined, and
        the text is its evidence. The first that is true counts.
    """
    error = pl.lit(value=False) if raised is None else raised.fill_null(value=False)
    value = pl.when(error).then(statement=False).otherwise(value)
    for condition, text in reversed(lacking):
        value = pl.when(condition).then(None).otherwise(value)
        error = error & ~condition
        evidence = pl.when(condition).then(pl.lit(text)).otherwise(evidence)
    return frame.select("call", value=value, raised=error, evidence=evidence)


class Found(NamedTuple):
    """What a JMESPath expression gives, as canonical JSON too, or what it says where it cannot."""

    value: Any
    text: str
    error: str | None


def found_at(expression: jmespath.parser.ParsedResult, document: Any) -> Found:
    """Return what a JMESPath expression gives on a document."""
    try:
        value = expression.search(document)
        text = canonical_bytes(value).decode("utf-8")
    except (jmespath.exceptions.JMESPathError, ArithmeticError, TypeError, ValueError) as exc:
        # A function met a value that it is not defined for.
        return Found(None, "", str(exc).splitlines()[0][:SHOWN_CHARACTERS])
    return Found(value, text, None)


def shown(value: Any) -> str:
    """Return a JSON value on one line, cut."""
    return cut(canonical_bytes(value).decode("utf-8"))


def cut(text: str) -> str:
    """Return a text that is no longer than is shown."""
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
