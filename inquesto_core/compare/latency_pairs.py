"""How long callers wait under one agent and under another, the unanswered ones kept in.

A caller who never gets an answer has waited longer than any that does: such a wait is infinite, it
stands above all others in every quantile, and a quantile that reaches it is *never*. Leaving it out
would make an agent that drops its slowest turns look fast. A wait that the call's end cut short
before anything could be told (*censored*) is no wait of either kind; how many there were is said.

Quantiles are nearest-rank. Their differences get the percentile interval of clusters drawn again,
its tails widened as a t quantile is wider than a normal one (the expanded percentile interval of
Hesterberg 2015): a quantile has no standard error that holds in few clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import ndtr, stdtrit

from inquesto_core.compare.bootstrap import (
    Estimate,
    Sums,
    resample_counts,
    studentised,
    too_few,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from inquesto_core.compare.bootstrap import Resampling

__all__ = [
    "NEVER",
    "QuantileDifference",
    "WaitDifference",
    "call_waits",
    "quantile_differences",
    "reply_waits",
    "tool_time",
    "wait_difference",
    "weighted_quantiles",
    "widened_tail",
]

#: How long a caller waits who is never answered.
NEVER = float("inf")

#: Median and 95th percentile.
SHARES = (0.5, 0.95)

#: Distinct waits that resamples tell apart; of more, neighbours are drawn as one.
_MOST_VALUES = 2_048
#: Numbers of one block of resampled histograms.
_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileDifference:
    """A quantile of the waits of both sides.

    Parameters
    ----------
    share : float
        0.5 is the median.
    a, b : float or None
        Milliseconds; infinite = never answered; None = no wait.
    difference : Estimate
        b - a.
    draws : float64 array
        Differences of the resamples, sorted.
    """

    share: float
    a: float | None
    b: float | None
    difference: Estimate
    draws: NDArray[np.float64]

    def upper_bound(self, probability: float) -> float | None:
        """Return what the difference does not exceed with this probability, one-sided."""
        if not len(self.draws):
            return None
        tail = widened_tail(1 - probability, self.difference.clusters)
        return float(np.quantile(self.draws, 1 - tail, method="inverted_cdf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitDifference:
    """Waits of one kind under both agents.

    Parameters
    ----------
    kind : str
        ``all``, ``with_tool``, ``without_tool``; of the waits with a tool, the time in which one
        ran (``in_tool``) and the rest of each (``beside_tool``).
    n_a, n_b : int
        Waits, the unanswered ones among them.
    quantiles : tuple of QuantileDifference
    unanswered_a, unanswered_b : int
    unanswered : Estimate
        Difference of their shares, b - a.
    cut_short : tuple of int or None
        Waits of A and of B that the end of the call cut short (*censored*): in no figure. None
        where nobody can tell.
    """

    kind: str
    n_a: int
    n_b: int
    quantiles: tuple[QuantileDifference, ...]
    unanswered_a: int
    unanswered_b: int
    unanswered: Estimate
    cut_short: tuple[int, int] | None = None


def reply_waits(replies: pl.DataFrame, clusters: pl.DataFrame) -> pl.DataFrame:
    """Return the waits of paired calls: ``cluster, value_ms, tool_in_wait, n``.

    Parameters
    ----------
    replies : table ``replies``
    clusters : polars.DataFrame
        ``call_id, cluster`` of the paired calls; others' replies are left out.
    """
    value = pl.when(pl.col("status") == "no_reply").then(NEVER).otherwise("latency_ms")
    return (
        replies.filter(pl.col("status").is_in(["replied", "no_reply"]))
        .join(clusters, on="call_id", how="inner")
        .group_by("cluster", "tool_in_wait", value_ms=value.cast(pl.Float64))
        .agg(n=pl.len().cast(pl.Int64))
    )


def call_waits(pairs: pl.DataFrame, side: str) -> pl.DataFrame:
    """Return one wait a call where single waits are not kept: its median of the answered ones.

    A call in which at least half of the waits were never answered has an infinite median. The
    column ``tool_in_wait`` is null: a call's median does not tell.

    Parameters
    ----------
    pairs : polars.DataFrame
        ``cluster`` and, with the suffix of the side, ``n_replied, n_no_reply, median_latency_ms``.
    side : {"a", "b"}
    """
    replied, lost = pl.col(f"n_replied_{side}"), pl.col(f"n_no_reply_{side}")
    value = pl.when(lost >= replied).then(NEVER).otherwise(pl.col(f"median_latency_ms_{side}"))
    return (
        pairs.filter(replied + lost > 0)
        .group_by("cluster", value_ms=value.cast(pl.Float64))
        .agg(n=pl.len().cast(pl.Int64))
        .with_columns(tool_in_wait=pl.lit(None, dtype=pl.Boolean))
    )


def tool_time(
    replies: pl.DataFrame, tool_calls: pl.DataFrame, clusters: pl.DataFrame
) -> pl.DataFrame:
    """Return how long a tool ran in each answered wait that has one, and the rest of the wait.

    Returns
    -------
    polars.DataFrame
        ``cluster, in_tool_ms, rest_ms``; time in which several tools run counts once.
    """
    waits = replies.filter((pl.col("status") == "replied") & pl.col("tool_in_wait")).select(
        "call_id", "utterance", "latency_ms", from_ms="clock_ms"
    )
    waits = waits.join(clusters, on="call_id", how="inner")
    until = pl.col("from_ms") + pl.col("latency_ms")
    inside = (
        waits.join(tool_calls.select("call_id", "start_ms", "end_ms").drop_nulls(), on="call_id")
        .with_columns(
            start_ms=pl.max_horizontal("start_ms", "from_ms"),
            end_ms=pl.min_horizontal("end_ms", until),
        )
        .filter(pl.col("start_ms") < pl.col("end_ms"))
        .sort("call_id", "utterance", "start_ms")
    )
    key = ["call_id", "utterance"]
    reached = pl.col("end_ms").cum_max().shift(1).over(key).fill_null(0)
    new = (pl.col("end_ms") - pl.max_horizontal("start_ms", reached)).clip(lower_bound=0)
    inside = inside.with_columns(new=new).group_by(key).agg(in_tool_ms=pl.col("new").sum())
    told = waits.join(inside, on=key, how="left").with_columns(pl.col("in_tool_ms").fill_null(0))
    return told.select("cluster", "in_tool_ms", rest_ms=pl.col("latency_ms") - pl.col("in_tool_ms"))


def wait_difference(
    a: pl.DataFrame,
    b: pl.DataFrame,
    *,
    kind: str,
    resampling: Resampling,
    cut_short: tuple[int, int] | None = None,
) -> WaitDifference:
    """Return how the waits of both sides differ.

    Parameters
    ----------
    a, b : polars.DataFrame
        ``cluster, value_ms, n`` of the calls that are paired.
    cut_short : pair of int, optional
        Beside them.
    """
    lost = [_by_cluster(frame) for frame in (a, b)]
    both = lost[0].join(lost[1], on="cluster", how="full", coalesce=True, suffix="_b")
    both = both.fill_null(0).sort("cluster")
    sums = [Sums.of(both["lost" + end], both["n" + end]) for end in ("", "_b")]
    return WaitDifference(
        kind=kind,
        n_a=int(both["n"].sum()),
        n_b=int(both["n_b"].sum()),
        quantiles=quantile_differences(a, b, resampling=resampling),
        unanswered_a=int(both["lost"].sum()),
        unanswered_b=int(both["lost_b"].sum()),
        unanswered=studentised(sums[1], sums[0], resampling=resampling, bounds=(-1.0, 1.0)),
        cut_short=cut_short,
    )


def _by_cluster(waits: pl.DataFrame) -> pl.DataFrame:
    never = pl.col("value_ms").is_infinite()
    return waits.group_by("cluster").agg(n=pl.col("n").sum(), lost=pl.col("n").filter(never).sum())


def quantile_differences(
    a: pl.DataFrame, b: pl.DataFrame, *, resampling: Resampling, shares: Sequence[float] = SHARES
) -> tuple[QuantileDifference, ...]:
    """Return the quantiles of both sides with the interval of their difference.

    Parameters
    ----------
    a, b : polars.DataFrame
        ``cluster, value_ms, n``.
    shares : sequence of float in (0, 1)
    """
    names = pl.concat([a["cluster"], b["cluster"]]).unique().sort()
    values = np.unique(np.concatenate([a["value_ms"].to_numpy(), b["value_ms"].to_numpy()]))
    points = [_quantiles(frame, shares) for frame in (a, b)]
    clusters, no_draws = len(names), np.empty((0, len(shares)))
    if a.is_empty() or b.is_empty() or clusters < 2:
        draws = no_draws
    else:
        groups = _groups(values)
        tables = [_histogram(frame, names, values, groups) for frame in (a, b)]
        draws = _draws(tables, values[np.append(groups[1:], len(values)) - 1], shares, resampling)
    return tuple(
        _quantile_difference(
            share, points[0][at], points[1][at], draws[:, at], clusters, resampling.level
        )
        for at, share in enumerate(shares)
    )


def _quantiles(waits: pl.DataFrame, shares: Sequence[float]) -> list[float | None]:
    """Return the quantiles of a column of waits; None of none."""
    if waits.is_empty():
        return [None] * len(shares)
    counts = waits.group_by("value_ms").agg(pl.col("n").sum()).sort("value_ms")
    row = counts["n"].to_numpy().astype(np.float64)[None, :]
    found: list[float | None] = weighted_quantiles(row, counts["value_ms"].to_numpy(), shares)[
        0
    ].tolist()
    return found


def _groups(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where each group of neighbouring values begins."""
    groups = min(len(values), _MOST_VALUES)
    return np.unique(np.linspace(0, len(values), groups, endpoint=False).astype(np.int64))


def _histogram(
    waits: pl.DataFrame,
    names: pl.Series,
    values: NDArray[np.float64],
    groups: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return how many waits of each cluster are at most each value."""
    row = names.search_sorted(waits["cluster"]).to_numpy()
    place = np.searchsorted(groups, np.searchsorted(values, waits["value_ms"].to_numpy()), "right")
    table = np.zeros((len(names), len(groups)))
    np.add.at(table, (row, place - 1), waits["n"].to_numpy())
    return table


def _draws(
    tables: Sequence[NDArray[np.float64]],
    values: NDArray[np.float64],
    shares: Sequence[float],
    resampling: Resampling,
) -> NDArray[np.float64]:
    """Return the difference of the quantiles in each resample, shape (resamples, shares)."""
    found = []
    rows = max(1, _BLOCK // len(values))
    for counts in resample_counts(len(tables[0]), resampling):
        for begin in range(0, len(counts), rows):
            block = counts[begin : begin + rows]
            one, two = (weighted_quantiles(block @ table, values, shares) for table in tables)
            with np.errstate(invalid="ignore"):
                found.append(two - one)
    return np.concatenate(found)


def weighted_quantiles(
    counts: NDArray[np.float64], values: NDArray[np.float64], shares: Sequence[float]
) -> NDArray[np.float64]:
    """Return nearest-rank quantiles of the values of each row.

    Parameters
    ----------
    counts : float64 array of shape (rows, values)
        How often each value stands in each row.
    values : float64 array, sorted; infinity is above every wait
    shares : sequence of float in (0, 1]

    Returns
    -------
    float64 array of shape (rows, shares)
        NaN in a row without any value.
    """
    running = np.cumsum(counts, axis=1)
    total = running[:, -1]
    found = np.empty((len(counts), len(shares)))
    for at, share in enumerate(shares):
        rank = np.ceil(share * total - 1e-9)
        found[:, at] = values[np.minimum((running < rank[:, None]).sum(axis=1), len(values) - 1)]
    found[total <= 0] = np.nan
    return found


def widened_tail(tail: float, clusters: int) -> float:
    """Return the tail of resamples that leaves this tail beside the interval of few clusters."""
    degrees = clusters - 1
    return float(ndtr(np.sqrt(clusters / degrees) * stdtrit(degrees, tail)))


def _quantile_difference(
    share: float,
    a: float | None,
    b: float | None,
    draws: NDArray[np.float64],
    clusters: int,
    level: float,
) -> QuantileDifference:
    told = np.sort(draws[~np.isnan(draws)])
    value = None if a is None or b is None or (a == b == NEVER) else b - a
    reason = too_few(clusters)
    low = high = None
    if value is None:
        reason, told = "no wait to compare" if a != NEVER else "never in both", told[:0]
    elif len(told) < max(1, level * len(draws)):
        reason, told = "never in both in many resamples", told[:0]
    else:
        tail = widened_tail((1 - level) / 2, clusters)
        low, high = np.quantile(told, [tail, 1 - tail], method="inverted_cdf").tolist()
    return QuantileDifference(
        share=share,
        a=a,
        b=b,
        difference=Estimate(
            value=value, low=low, high=high, clusters=clusters, inconclusive=reason
        ),
        draws=told,
    )
