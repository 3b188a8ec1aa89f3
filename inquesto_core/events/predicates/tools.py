"""Predicates on which tools were performed, how often and in which order.

Calls that were cancelled, failed or never answered did nothing, so that they satisfy no
``tool_called`` and break no ``tool_not_called``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates.outcome import concluded
from inquesto_core.events.tool_result import with_success

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.events.predicates.part import Part

__all__ = [
    "NO_TRACE",
    "performed_text",
    "place",
    "places",
    "side_of",
    "tool_count",
    "tool_order",
    "untold",
    "with_tool",
]

NO_TRACE = (~pl.col("has_trace"), "no trace")
_NOT_TOLD = (~pl.col("has_caller_calls"), "what the caller did with tools is not told")

#: Where the tool calls of each side stand.
_TABLES = {"agent": "tool_calls", "user": "caller_calls"}


def side_of(predicate: Mapping[str, Any]) -> str:
    """Return whose tool calls a predicate reads: the agent's, or the user's own."""
    return str(predicate.get("side", "agent"))


def untold(predicate: Mapping[str, Any]) -> tuple[tuple[pl.Expr, str], ...]:
    """Return where the tool calls that a predicate reads are not known, and why."""
    return (NO_TRACE,) if side_of(predicate) == "agent" else (NO_TRACE, _NOT_TOLD)


def place(side: str = "agent") -> pl.Expr:
    """Return where a side's tool call stands (``tool_calls/3``), and its id if it has one."""
    at = pl.concat_str(pl.lit(f"{_TABLES[side]}/"), pl.col("position").cast(pl.String))
    named = pl.concat_str(at, pl.lit(" ("), pl.col("id"), pl.lit(")"))
    return pl.when(pl.col("id").is_null()).then(at).otherwise(named)


def places(rows: pl.DataFrame, name: str, side: str = "agent") -> pl.DataFrame:
    """Return for every call how often, first where, and where the rows are."""
    first = rows.group_by("call", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias(f"{name}_n"),
        pl.col("position").first().alias(f"{name}_first"),
        place(side).first().alias(f"{name}_at"),
    )
    if first.height == rows.height:
        return first
    # Joining text group by group takes ten times as long as taking it where there is one alone.
    several = rows.filter(pl.col("call").is_duplicated())
    joined = several.group_by("call", maintain_order=True).agg(
        place(side).str.join(", ").alias(f"{name}_all")
    )
    told = first.join(joined, on="call", how="left", maintain_order="left")
    return told.with_columns(pl.coalesce(f"{name}_all", f"{name}_at").alias(f"{name}_at")).drop(
        f"{name}_all"
    )


def with_tool(
    part: Part, frame: pl.DataFrame, rows: pl.DataFrame, name: str, side: str = "agent"
) -> pl.DataFrame:
    """Return the calls in `frame` with `places` of these rows; none is 0 times."""
    joined = frame.join(places(rows, name, side), on="call", how="left", maintain_order="left")
    return joined.with_columns(pl.col(f"{name}_n").fill_null(0))


def performed_text(predicate: Mapping[str, Any]) -> pl.Expr:
    """Return how often and where the tool of `with_tool` (``tool``) was performed."""
    by = " by the caller" if side_of(predicate) == "user" else ""
    times = pl.concat_str(
        pl.lit(f"{predicate['tool']} performed{by} "),
        pl.col("tool_n").cast(pl.String),
        pl.lit(" times"),
    )
    where = pl.concat_str(times, pl.lit(": "), pl.col("tool_at"))
    return pl.when(pl.col("tool_n") > 0).then(where).otherwise(times)


def tool_count(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide by how often `tool` was performed."""
    low, high = predicate.get("min"), predicate.get("max")
    if predicate["kind"] == "tool_called":
        low = 1
    elif predicate["kind"] == "tool_not_called":
        high = 0
    side = side_of(predicate)
    frame = with_tool(part, part.calls, part.performed(predicate["tool"], side), "tool", side)
    count, value = pl.col("tool_n"), pl.lit(value=True)
    if low is not None:
        value &= count >= low
    if high is not None:
        value &= count <= high
    return concluded(frame, value, performed_text(predicate), lacking=untold(predicate))


def tool_order(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide at the first `after`: the one with the least before it. None at all is in order."""
    before, after = predicate["before"], predicate["after"]
    outcomes = with_success(
        part.performed(before),
        statuses=part.evidence.protocol.performed_statuses,
        population=part.evidence.population,
    )
    frame = with_tool(part, part.calls, outcomes.filter("succeeded"), "before")
    frame = with_tool(part, frame, outcomes.filter(pl.col("succeeded").is_null()), "perhaps")
    frame = with_tool(part, frame, part.performed(after), "after")
    first = pl.col("after_first")
    in_order = (pl.col("before_first") < first).fill_null(value=False)
    perhaps = ~in_order & (pl.col("perhaps_first") < first).fill_null(value=False)
    never = pl.lit("never")
    text = pl.concat_str(
        pl.lit(f"{before} succeeded: "),
        pl.col("before_at").fill_null(never),
        pl.when(perhaps)
        .then(pl.format("; no result is recorded of {}", "perhaps_at"))
        .otherwise(pl.lit("")),
        pl.lit(f"; {after} performed: "),
        pl.col("after_at").fill_null(never),
    )
    value = pl.when(perhaps).then(None).otherwise(first.is_null() | in_order)
    return concluded(frame, value, text, lacking=(NO_TRACE,))
