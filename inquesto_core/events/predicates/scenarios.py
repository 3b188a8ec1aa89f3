"""The value of every predicate of every call's scenario, as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import canonical_bytes
from inquesto_core.events.predicates.check import check_predicates
from inquesto_core.events.predicates.evaluate import evaluate, is_judged
from inquesto_core.events.predicates.part import numbered
from inquesto_core.evidence.tables import empty_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol import Population, Protocol

__all__ = ["PREDICATES", "predicates_hold", "scenario_predicates"]

#: One row a call and predicate of its scenario.
PREDICATES = {
    "call_id": pl.String,
    "index": pl.Int64,  # place in the scenario's list
    "kind": pl.String,
    "judged": pl.Boolean,  # a judge answers some part of it
    "value": pl.Boolean,  # null = undetermined
    "evidence": pl.String,
}

#: What rules read, beside the calls.
_READ = (
    "tool_calls",
    "caller_calls",
    "transcript",
    "states",
    "verdicts",
    "tool_results",
    "utterances",
)


def scenario_predicates(
    tables: Mapping[str, pl.DataFrame], *, protocol: Protocol, population: Population
) -> pl.DataFrame:
    """Return the value of every predicate of every call's scenario.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        Evidence tables ``calls``, and those of ``tool_calls, caller_calls, transcript,
        states, verdicts, tool_results, utterances`` that the predicates read; one that is not
        given has no row.

    Returns
    -------
    polars.DataFrame
        Columns `PREDICATES`, sorted by call and index; no row for a call without predicates.

    Raises
    ------
    ProtocolError
        See `check_predicates`.
    """
    check_predicates(population)
    calls, named = tables["calls"], population.predicates or {}
    asked, predicates = _asked(population)
    due = _due(calls, asked)
    schema: dict[str, Any] = {**PREDICATES, "call_id": calls.schema["call_id"]}
    if due.is_empty():
        return pl.DataFrame(schema=schema)
    read = {name: _table(tables, name, due) for name in _READ}
    evidence = numbered(read, due, protocol=protocol, population=population)
    ranges = {
        code: (first, first + count)
        for code, first, count in due.group_by("scenario")
        .agg(pl.col("call").min(), pl.len())
        .iter_rows()
    }
    values = []
    for (key,), places in asked.partition_by("key", as_dict=True, maintain_order=True).items():
        own = [ranges[code] for code in places["scenario"].unique().sort() if code in ranges]
        if own:
            part = evidence.part(own)
            found = evaluate(part, predicates[int(key)], named)
            index = places.select("scenario", "index")
            values.append(
                found.with_columns(part.calls["scenario"])
                .join(index, on="scenario", maintain_order="left")
                .with_columns(
                    kind=pl.lit(predicates[int(key)]["kind"]),
                    judged=pl.lit(is_judged(predicates[int(key)], named)),
                )
                .select("call", "index", "kind", "judged", "value", "evidence")
            )
    table = pl.concat(values).join(due.select("call", "place"), on="call", how="left")
    table = table.sort("place", "index")
    # Only ids that were given are in the table: gathering them costs less than joining text.
    ids = due.sort("call")["call_id"].gather(table["call"])
    return table.with_columns(ids.alias("call_id")).select(schema.keys()).cast(pl.Schema(schema))


def predicates_hold(predicates: pl.DataFrame) -> pl.DataFrame:
    """Return whether all predicates of a call are true (Kleene), one row a call that has some.

    Returns
    -------
    polars.DataFrame
        ``call_id``; ``hold``; ``hold_judge_free``: of those that no judge answers, null also where
        there are none; ``has_judge_free``: there are some.
    """
    free = ~pl.col("judged")
    rows = predicates.select(
        "call_id",
        is_false=(~pl.col("value")).fill_null(value=False),
        is_open=pl.col("value").is_null(),
        free=free,
    ).with_columns(
        free_false=pl.col("is_false") & pl.col("free"), free_open=pl.col("is_open") & pl.col("free")
    )
    found = rows.group_by("call_id", maintain_order=True).agg(
        pl.col("is_false", "is_open", "free", "free_false", "free_open").any()
    )

    def all_true(is_false: str, is_open: str) -> pl.Expr:
        return (
            pl.when(is_false)
            .then(statement=False)
            .when(pl.col(is_open).not_())
            .then(statement=True)
        )

    return found.select(
        "call_id",
        hold=all_true("is_false", "is_open"),
        hold_judge_free=pl.when("free").then(all_true("free_false", "free_open")),
        has_judge_free="free",
    )


def _asked(population: Population) -> tuple[pl.DataFrame, list[Mapping[str, Any]]]:
    """Return ``scenario, scenario_id, index, key``, and the distinct predicates by key."""
    keys: dict[bytes, int] = {}
    predicates: list[Mapping[str, Any]] = []
    rows = []
    for code, scenario in enumerate(population.scenarios):
        for index, predicate in enumerate(scenario.predicates):
            key = keys.setdefault(canonical_bytes(dict(predicate)), len(keys))
            if key == len(predicates):
                predicates.append(predicate)
            rows.append((code, scenario.id, index, key))
    schema = {
        "scenario": pl.UInt32,
        "scenario_id": pl.String,
        "index": pl.Int64,
        "key": pl.UInt32,
    }
    return pl.DataFrame(rows, schema=schema, orient="row"), predicates


def _due(calls: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """Return the calls that have predicates, numbered by scenario; ``place``: by id."""
    scenarios = asked.select("scenario", "scenario_id").unique()
    measured = (pl.col("timing_source") == "measured") & (
        pl.col("timing_reasons").list.len().fill_null(0) == 0
    )
    return (
        calls.select(
            "call_id",
            pl.col("scenario_id").cast(pl.String),
            "window_to_ms",
            pl.col("has_trace", "has_transcript").fill_null(value=False),
            has_caller_calls=_told(calls),
            is_timed=measured.fill_null(value=False),
        )
        .join(scenarios, on="scenario_id")
        .drop("scenario_id")
        .sort("call_id")
        .with_row_index("place")
        .sort("scenario", "place")
        .with_row_index("call")
    )


def _told(calls: pl.DataFrame) -> pl.Expr:
    """Return whether it is known what the caller did with tools; read where a predicate asks."""
    is_read = "has_caller_calls" in calls.columns
    known = pl.col("has_caller_calls") if is_read else pl.lit(None, dtype=pl.Boolean)
    return known.fill_null(value=False)


def _table(tables: Mapping[str, pl.DataFrame], name: str, due: pl.DataFrame) -> pl.DataFrame:
    if name in tables:
        return tables[name]
    return empty_table(name).with_columns(pl.col("call_id").cast(due.schema["call_id"]))
