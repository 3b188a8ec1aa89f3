"""What a report shows of many calls at once: pass rates of slices, and distributions of waits.

A slice's rate is `k` of `n` over complete calls with its Wilson interval, as the record has it; a
wait is a reply that was timed, in a call whose timing is evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from inquesto_core.score.rate import Rate, published_rate
from inquesto_core.score.tallies import nearest_rank

if TYPE_CHECKING:
    from inquesto_core.protocol.definition import Protocol
    from inquesto_core.protocol.population import Population

__all__ = ["LATENCY_BINS", "Waits", "crossing", "in_n", "slice_rates", "waits_of", "with_scenario"]

PERCENTILES = (50, 90, 95, 99)
#: Bars of a distribution; the last holds everything beyond.
LATENCY_BINS = 48
#: What stands for a label that is not known.
_UNKNOWN = "(not known)"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """The reply latencies of one slice.

    Parameters
    ----------
    percentiles : tuple of int or None
        p50, p90, p95 and p99, ms, by nearest rank.
    bars : tuple of float
        `LATENCY_BINS` shares of the fullest bar, each in [0, 1].
    """

    name: str
    n: int
    percentiles: tuple[int | None, ...]
    longest_ms: int | None
    bars: tuple[float, ...]


def in_n() -> pl.Expr:
    """Return whether a call is one of the n."""
    return pl.col("state").is_in(["scored", "agent_fault"])


def with_scenario(decisions: pl.DataFrame, population: Population | None) -> pl.DataFrame:
    """Return the decisions with ``family`` and ``style`` of their scenarios, null if unknown."""
    scenarios = population.scenarios if population is not None else ()
    known = pl.DataFrame(
        [(each.id, each.family, each.style) for each in scenarios],
        schema={"scenario_id": pl.String, "family": pl.String, "style": pl.String},
        orient="row",
    )
    return decisions.join(known, on="scenario_id", how="left", maintain_order="left")


def slice_rates(decisions: pl.DataFrame, column: str, *, protocol: Protocol) -> list[Row]:
    """Return ``name, score, lo, hi, n, passed`` a value of a column, over complete calls."""
    found = (
        decisions.filter(in_n())
        .group_by(pl.col(column).cast(pl.String))
        .agg(n=pl.len(), k=pl.col("passed").fill_null(value=False).sum())
        .sort(column, nulls_last=True)
    )
    return [
        {
            "name": _UNKNOWN if name is None else name,
            "value": name,
            **published_rate(Rate(k=k, n=n), protocol.z),
        }
        for name, n, k in found.iter_rows()
    ]


def crossing(
    decisions: pl.DataFrame, rows: str, columns: str, *, protocol: Protocol
) -> tuple[list[str], list[tuple[str, list[Row | None]]]]:
    """Return the values of `columns`, and for each value of `rows` its rate in each of them."""
    complete = decisions.filter(in_n()).with_columns(pl.col(rows, columns).fill_null(_UNKNOWN))
    across = complete[columns].unique().sort().to_list()
    counts = {
        (row, column): (n, k)
        for row, column, n, k in complete.group_by(rows, columns)
        .agg(n=pl.len(), k=pl.col("passed").fill_null(value=False).sum())
        .iter_rows()
    }
    table: list[tuple[str, list[Row | None]]] = []
    for row in complete[rows].unique().sort().to_list():
        cells: list[Row | None] = []
        for column in across:
            n, k = counts.get((row, column), (0, 0))
            cells.append(published_rate(Rate(k=k, n=n), protocol.z) if n else None)
        table.append((row, cells))
    return across, table


def waits_of(
    replies: pl.DataFrame, decisions: pl.DataFrame, column: str | None, *, bin_ms: int
) -> list[Waits]:
    """Return the waits of each value of a column of the decisions; of all calls without one.

    Parameters
    ----------
    replies : evidence table
    decisions : decision table
        Of the calls whose replies are meant.
    """
    timed = replies.filter(pl.col("status") == "replied").select("call_id", "latency_ms")
    keys = ["call_id", *([column] if column else [])]
    joined = timed.join(decisions.select(keys), on="call_id", how="inner")
    if column is None:
        return [_waits("all calls", joined["latency_ms"].to_numpy(), bin_ms)]
    parts = joined.group_by(column).agg("latency_ms").sort(column, nulls_last=True)
    return [
        _waits(_UNKNOWN if name is None else str(name), np.asarray(values, np.int64), bin_ms)
        for name, values in parts.iter_rows()
    ]


def _waits(name: str, values: Any, bin_ms: int) -> Waits:
    places = np.clip(values // bin_ms, 0, LATENCY_BINS - 1)
    counts = np.bincount(places.astype(np.int64), minlength=LATENCY_BINS)
    fullest = max(int(counts.max(initial=0)), 1)
    return Waits(
        name=name,
        n=int(values.size),
        percentiles=tuple(nearest_rank(values, PERCENTILES)),
        longest_ms=int(values.max()) if values.size else None,
        bars=tuple(float(count) / fullest for count in counts),
    )
