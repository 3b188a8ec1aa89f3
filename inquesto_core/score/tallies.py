"""Tallies and histograms: how often each name, and each length in milliseconds, was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["counts_of", "histogram", "nearest_rank", "percentiles", "tally"]

PERCENTILES = (50, 90, 95, 99)

#: Up to so many times as many places as values, a place each is cheaper than sorting.
_SPARSE = 8


def tally(what: str, names: pl.Series) -> pl.DataFrame:
    """Return ``what, name, n`` of a column of names; null is none."""
    known = names.cast(pl.String).drop_nulls().alias("name")
    counts = known.value_counts(name="n")
    return counts.select(pl.lit(what).alias("what"), "name", pl.col("n").cast(pl.Int64))


def histogram(what: str, values_ms: pl.Series) -> pl.DataFrame:
    """Return ``what, value_ms, n`` of a column of lengths; null is none."""
    values, counts = _counted(values_ms.cast(pl.Int64).drop_nulls().to_numpy())
    columns = {"what": pl.String, "value_ms": pl.Int64, "n": pl.Int64}
    return pl.DataFrame({"what": what, "value_ms": values, "n": counts}, schema=columns)


def _counted(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct values, sorted, and how often each stands."""
    if values.size == 0 or values.min() < 0 or values.max() > _SPARSE * values.size:
        return np.unique(values, return_counts=True)
    counts = np.bincount(values)
    found = np.flatnonzero(counts)
    return found, counts[found]


def counts_of(tallies: pl.DataFrame, what: str) -> dict[str, int]:
    """Return name to count of one of the tallies."""
    return dict(tallies.filter(pl.col("what") == what).select("name", "n").rows())


def percentiles(lengths: pl.DataFrame, what: str) -> dict[str, int | None]:
    """Return how many lengths there are in one of the histograms, and their percentiles."""
    found = lengths.filter(pl.col("what") == what)
    values, counts = (found[name].to_numpy() for name in ("value_ms", "n"))
    ranks = zip(PERCENTILES, nearest_rank(values, PERCENTILES, counts=counts), strict=True)
    return {"n": int(counts.sum()), **{f"p{p}": value for p, value in ranks}}


def nearest_rank(
    values: NDArray[np.int64],
    percentiles: Iterable[int],
    *,
    counts: NDArray[np.int64] | None = None,
) -> list[int | None]:
    """Return each percentile by nearest rank: the ceil(p·n/100)-th smallest of the n values.

    Parameters
    ----------
    values : int64 array
        In any order.
    percentiles : int
        ``1 <= p <= 100``.
    counts : int64 array of the same shape, optional
        How often each value stands; default once.

    Returns
    -------
    list of int or None
        Members of `values`; None where there is none.

    Examples
    --------
    >>> nearest_rank(np.array([15, 20, 35, 40, 50]), (30, 40, 50, 100))
    [20, 20, 35, 50]
    """
    if values.size == 0:
        return [None for _ in percentiles]
    order = np.argsort(values, kind="stable")
    standing = np.ones_like(values) if counts is None else counts[order]
    upto = np.cumsum(standing)
    total = int(upto[-1])
    ranks = [-(-p * total // 100) for p in percentiles]
    return [int(values[order][np.searchsorted(upto, rank)]) for rank in ranks]
