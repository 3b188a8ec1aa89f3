"""Predicates on which tools were performed, how often and in which order.

Calls that were cancelled, failed or never answered did nothing, so that they satisfy no
``tool_called`` and break no ``tool_not_called``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates.outcome import concluded
from inquesto_core.events.trace import with_success

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
    "with_tool",
]

NO_TRACE = (~pl.col("has_trace"), "no trace")


def side_of(predicate: Mapping[str, Any]) -> str:
    """Return whose tool calls a predicate reads: the agent's, or the user's own."""
    return str(predicate.get("side", "agent"))


def place() -> pl.Expr:
    """Return where a row of ``tool_calls`` stands (``tool_calls/3``), and its id if it has one."""
    at = pl.concat_str(pl.lit("tool_calls/"), pl.col("position").cast(pl.String))
    named = pl.concat_str(at, pl.lit(" ("), pl.col("id"), pl.lit(")"))
    return pl.when(pl.col("id").is_null()).then(at).otherwise(named)


def places(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return for every call how often, first where, and where the rows are."""
    first = rows.group_by("call", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias(f"{name}_n"),
        pl.col("position").first().alias(f"{name}_first"),
        place().first().alias(f"{name}_at"),
    )
    if first.height == rows.height:
        return first
    # Joining text group by group takes ten times as long as taking it where there is one alone.
    several = rows.filter(pl.col("call").is_duplicated())
    joined = several.group_by("call", maintain_order=True).agg(
        place().str.join(", ").alias(f"{name}_all")
    )
    told = first.join(joined, on="call", how="left", maintain_order="left")
    return told.with_columns(pl.coalesce(f"{name}_all", f"{name}_at").alias(f"{name}_at")).drop(
        f"{name}_all"
    )


def with_tool(part: Part, frame: pl.DataFrame, rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the calls in `frame` with `places` of these rows; none is 0 times."""
    joined = frame.join(places(rows, name), on="call", how="left", maintain_order="left")
    return joined.with_columns(pl.col(f"{name}_n").fill_null(0))


def performed_text(tool: str) -> pl.Expr:
    """Return how often and where the tool of `with_tool` (``tool``) was performed."""
    times = pl.concat_str(
        pl.lit(f"{tool} performed "), pl.col("tool_n").cast(pl.String), pl.lit(" times")
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
    frame = with_tool(
        part, part.calls, part.performed(predicate["tool"], side_of(predicate)), "tool"
    )
    count, value = pl.col("tool_n"), pl.lit(value=True)
    if low is not None:
        value &= count >= low
    if high is not None:
        value &= count <= high
    return concluded(frame, value, performed_text(predicate["tool"]), lacking=(NO_TRACE,))


def tool_order(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide at the first `after`: the one with the least before it. None at all is in order."""
    before, after = predicate["before"], predicate["after"]
    earlier = part.performed(before)
    succeeded = with_success(earlier, protocol=part.evidence.protocol).filter("succeeded")
    frame = with_tool(part, part.calls, succeeded, "before")
    frame = with_tool(part, frame, part.performed(after), "after")
    in_order = (pl.col("before_first") < pl.col("after_first")).fill_null(value=False)
    never = pl.lit("never")
    text = pl.concat_str(
        pl.lit(f"{before} succeeded: "),
        pl.col("before_at").fill_null(never),
        pl.lit(f"; {after} performed: "),
        pl.col("after_at").fill_null(never),
    )
    return concluded(frame, pl.col("after_first").is_null() | in_order, text, lacking=(NO_TRACE,))
