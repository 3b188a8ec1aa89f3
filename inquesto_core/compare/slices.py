"""The comparison within each value of a column: which groups gain, which lose, which cannot tell.

A pooled gain can hide a loss where few calls are. So every slice stands with its own n, clusters,
rates and interval, and one with fewer than `LEAST_CALLS` pairs or `LEAST_CLUSTERS` clusters is
*inconclusive*, whatever its figures are. Where many slices are tested, one of them moves by chance:
their p-values are corrected together (Holm 1979), and a slice counts as moved by the corrected one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl
from scipy.special import betaincinv

from inquesto_core.compare.bootstrap import Estimate, Sums, studentised, too_few

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare.bootstrap import Resampling

__all__ = [
    "LEAST_CALLS",
    "SliceDifference",
    "WorstGroup",
    "cluster_sums",
    "exact_rate_interval",
    "holm",
    "paired_difference",
    "slice_differences",
    "worst_group",
]

#: Fewer pairs leave a slice inconclusive.
LEAST_CALLS = 30

#: What stands for a call whose value of a column is not known.
UNKNOWN = "(not known)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceDifference:
    """The pairs of one value of a column.

    Parameters
    ----------
    n, clusters : int
        Pairs, and clusters that they are of.
    passed_a, passed_b, broken, fixed : int
    rate_a, rate_b : Estimate
        Pass rates over these pairs.
    difference : Estimate
        Rate of B minus rate of A.
    adjusted : float or None
        p-value after correction for all slices that are tested; None = it is not tested.
    """

    column: str
    value: str
    n: int
    clusters: int
    passed_a: int
    passed_b: int
    broken: int
    fixed: int
    rate_a: Estimate
    rate_b: Estimate
    difference: Estimate
    adjusted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstGroup:
    """The slice of a column with the lowest rate under one agent, beside all other calls.

    Parameters
    ----------
    side : {"a", "b"}
    gap : Estimate
        Rate of the other calls minus that of the slice. Its interval has the level
        ``1 - (1 - level) / slices``, since the worst of several is chosen by looking.
    """

    column: str
    side: str
    value: str
    rate: float
    others: float
    n: int
    gap: Estimate


def paired_difference(sums: pl.DataFrame, *, resampling: Resampling) -> Estimate:
    """Return the pass rate of B minus that of A over the same pairs.

    Where no pair moved, or as many one way as the other in every cluster, the difference is 0 and
    the interval is an exact one that takes pairs as independent (`_even_bound`).

    Parameters
    ----------
    sums : polars.DataFrame
        One row a cluster: ``n, passed_a, passed_b, broken, fixed``.
    """
    moved = sums["passed_b"] - sums["passed_a"]
    estimate = studentised(Sums.of(moved, sums["n"]), resampling=resampling, bounds=(-1.0, 1.0))
    n = int(sums["n"].sum())
    if n and estimate.low is None and estimate.value == 0:
        high = _even_bound(int(sums["broken"].sum()), n, level=resampling.level)
        return Estimate(
            value=0.0,
            low=-high,
            high=high,
            p_value=1.0,
            clusters=sums.height,
            inconclusive=too_few(sums.height),
        )
    return estimate


def _even_bound(each_way: int, n: int, *, level: float) -> float:
    """Return how far from 0 a difference can be of which as many pairs moved one way as the other.

    By Clopper and Pearson: of moved pairs, the share that moved one way; and at least what 0 moved
    pairs in n allow.
    """
    _, none_moved = exact_rate_interval(0, n, level=level)
    if not each_way:
        return none_moved
    _, share = exact_rate_interval(each_way, 2 * each_way, level=level)
    return max(none_moved, (2 * share - 1) * 2 * each_way / n)


def _side_rate(sums: pl.DataFrame, side: str, resampling: Resampling) -> Estimate:
    passed, n = sums[f"passed_{side}"], sums["n"]
    estimate = studentised(Sums.of(passed, n), resampling=resampling, bounds=(0.0, 1.0))
    if estimate.value in (0.0, 1.0):
        low, high = exact_rate_interval(int(passed.sum()), int(n.sum()), level=resampling.level)
        return Estimate(value=estimate.value, low=low, high=high, clusters=estimate.clusters)
    return estimate


def exact_rate_interval(k: int, n: int, *, level: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of k in n; it takes the n calls as independent.

    Examples
    --------
    >>> [round(bound, 4) for bound in exact_rate_interval(0, 20, level=0.95)]
    [0.0, 0.1684]
    """
    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
    return low, high


def cluster_sums(pairs: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Return ``n, passed_a, passed_b, broken, fixed`` of each cluster, and value of a column."""
    outcome = pl.col("outcome")
    return (
        pairs.group_by(*by, "cluster")
        .agg(
            n=pl.len().cast(pl.Int64),
            passed_a=pl.col("passed_a").sum().cast(pl.Int64),
            passed_b=pl.col("passed_b").sum().cast(pl.Int64),
            broken=(outcome == "broken").sum().cast(pl.Int64),
            fixed=(outcome == "fixed").sum().cast(pl.Int64),
        )
        .sort(*by, "cluster")
    )


def slice_differences(
    pairs: pl.DataFrame, columns: Sequence[str], *, resampling: Resampling
) -> tuple[SliceDifference, ...]:
    """Return the comparison within each value of each column, corrected over all of them.

    Parameters
    ----------
    pairs : polars.DataFrame
        ``cluster, outcome, passed_a, passed_b`` and the columns.
    """
    found = []
    for column in columns:
        named = pairs.select(
            "cluster",
            "outcome",
            "passed_a",
            "passed_b",
            value=pl.col(column).cast(pl.String).fill_null(UNKNOWN),
        )
        table = cluster_sums(named, "value")
        for (value,), sums in table.group_by("value", maintain_order=True):
            found.append(_slice(column, str(value), sums, resampling))
    tested = [each for each in found if each.difference.inconclusive is None]
    p_values = [each.difference.p_value or 1.0 for each in tested]
    adjusted = dict(zip(map(id, tested), holm(p_values), strict=True))
    return tuple(_with_adjusted(each, adjusted.get(id(each))) for each in found)


def _slice(column: str, value: str, sums: pl.DataFrame, resampling: Resampling) -> SliceDifference:
    n = int(sums["n"].sum())
    difference = _sparse(paired_difference(sums, resampling=resampling), n)
    totals = {name: int(sums[name].sum()) for name in ("passed_a", "passed_b", "broken", "fixed")}
    return SliceDifference(
        column=column,
        value=value,
        n=n,
        clusters=sums.height,
        rate_a=_sparse(_side_rate(sums, "a", resampling), n),
        rate_b=_sparse(_side_rate(sums, "b", resampling), n),
        difference=difference,
        **totals,
    )


def _sparse(estimate: Estimate, n: int) -> Estimate:
    """Return the estimate marked inconclusive where a slice has too few pairs or clusters."""
    reason = f"fewer than {LEAST_CALLS} calls" if n < LEAST_CALLS else too_few(estimate.clusters)
    return replace(estimate, inconclusive=reason or estimate.inconclusive)


def _with_adjusted(found: SliceDifference, adjusted: float | None) -> SliceDifference:
    return replace(found, adjusted=adjusted)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for how many there are, in the order given (Holm 1979).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = highest
    return adjusted


def worst_group(
    pairs: pl.DataFrame, column: str, side: str, *, resampling: Resampling
) -> WorstGroup | None:
    """Return the slice with the lowest rate that is not sparse, beside all other calls.

    None where fewer than two slices are large enough.
    """
    named = pairs.select(
        "cluster", "outcome", "passed_a", "passed_b", value=pl.col(column).cast(pl.String)
    )
    table = cluster_sums(named.drop_nulls("value"), "value")
    totals = (
        table.group_by("value")
        .agg(
            pl.col("n").sum(),
            passed=pl.col(f"passed_{side}").sum(),
            clusters=pl.len(),
        )
        .filter(pl.col("n") >= LEAST_CALLS)
        .with_columns(rate=pl.col("passed") / pl.col("n"))
        .sort("rate", "value")
    )
    if totals.height < 2:
        return None
    worst = totals.row(0, named=True)
    is_worst = pl.col("value") == worst["value"]
    both = table.group_by("cluster").agg(
        n=pl.col("n").filter(is_worst).sum(),
        k=pl.col(f"passed_{side}").filter(is_worst).sum(),
        other_n=pl.col("n").filter(~is_worst).sum(),
        other_k=pl.col(f"passed_{side}").filter(~is_worst).sum(),
    )
    both = both.sort("cluster")
    others = Sums.of(both["other_k"], both["other_n"])
    level = 1 - (1 - resampling.level) / totals.height
    gap = studentised(
        others,
        Sums.of(both["k"], both["n"]),
        resampling=replace(resampling, level=level),
        bounds=(-1.0, 1.0),
    )
    return WorstGroup(
        column=column,
        side=side,
        value=worst["value"],
        rate=worst["rate"],
        others=others.ratio or 0.0,
        n=worst["n"],
        gap=gap,
    )
