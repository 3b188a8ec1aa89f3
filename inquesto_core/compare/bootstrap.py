"""Intervals for what is measured in clusters of calls that are not independent.

Calls of one scenario resemble each other: one more of the same scenario tells less than one of
another. So whole clusters are drawn, with all their calls and trials. The statistic is a ratio of
sums over clusters (a rate, a mean), or the difference of two, and every cluster enters as its sums,
so that an archive costs what a small run costs.

The interval is the symmetric studentised one (Hall 1988): the error of each resample is divided by
its own standard error, and the quantile of the absolute values widens the estimate's. A resample of
a dozen clusters may draw a few of them many times, and its standard error is then close to
nothing; so the sample's own variance is mixed into it with the weight of `PRIOR_CLUSTERS` clusters.
Coverage of it, of the percentile interval and of the naive one that draws single calls:
``benchmarks/compare_coverage.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "LEAST_CLUSTERS",
    "Estimate",
    "Resampling",
    "Sums",
    "json_number",
    "naive_interval",
    "percentile_interval",
    "resample_counts",
    "studentised",
    "too_few",
]

#: Fewer clusters leave an estimate inconclusive: their spread says too little about others.
LEAST_CLUSTERS = 10

#: How many clusters' weight the sample's own variance has in that of a resample.
PRIOR_CLUSTERS = 2.0

#: Numbers of one block of resamples, so that memory does not grow with their count.
_BLOCK = 4_000_000

#: Draws of clusters in all resamples together; of more than some thousand clusters, fewer resamples
#: say the same.
_DRAWS = 40_000_000
_LEAST_RESAMPLES = 1_000

#: Relative differences of this size are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How often clusters are drawn again, from which seed, and what the intervals hold.

    Parameters
    ----------
    level : float
        Share of such intervals that hold the true value.
    """

    resamples: int = 10_000
    seed: int = 1
    level: float = 0.95

    def generator(self) -> np.random.Generator:
        """Return a generator that begins at the seed: every statistic has the same resamples."""
        return np.random.Generator(np.random.PCG64(self.seed))

    def times(self, clusters: int) -> int:
        """Return how often so many clusters are drawn: `resamples`, or fewer of thousands."""
        return min(self.resamples, max(_LEAST_RESAMPLES, _DRAWS // max(clusters, 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """A ratio of two sums, cluster by cluster.

    Parameters
    ----------
    total, size : float64 array of shape (clusters,)
        The ratio is ``total.sum() / size.sum()``: passed calls by calls, or milliseconds by calls.
    """

    total: NDArray[np.float64]
    size: NDArray[np.float64]

    @classmethod
    def of(cls, total: ArrayLike, size: ArrayLike) -> Sums:
        """Return the sums of any two columns of one length."""
        return cls(
            total=np.asarray(total, dtype=np.float64), size=np.asarray(size, dtype=np.float64)
        )

    @property
    def ratio(self) -> float | None:
        """The ratio; None where there is nothing to divide by."""
        size = float(self.size.sum())
        return float(self.total.sum()) / size if size > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its interval.

    Parameters
    ----------
    value : float or None
        None where there is nothing to estimate it from.
    low, high : float or None
        May be infinite; None where there is no interval.
    p_value : float or None
        Of the hypothesis that the value is 0.
    clusters : int
        How many the interval was drawn from.
    inconclusive : str or None
        Why the interval must not be relied upon; None = it may.
    errors : float64 array
        Absolute studentised errors of the resamples, sorted, and `scale`, by which they become the
        value's: what one-sided bounds are read off.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    clusters: int = 0
    inconclusive: str | None = None
    errors: NDArray[np.float64] | None = None
    scale: float = 0.0

    def lower_bound(self, probability: float) -> float | None:
        """Return the value that the true one is not below with this probability, one-sided.

        It is the lower end of the symmetric interval of level ``2 · probability - 1``.
        """
        return self._bound(probability, -1.0)

    def upper_bound(self, probability: float) -> float | None:
        """Return the value that the true one is not above with this probability, one-sided."""
        return self._bound(probability, 1.0)

    def _bound(self, probability: float, sign: float) -> float | None:
        if self.value is None or self.errors is None:
            return None
        return self.value + sign * _quantile(self.errors, 2 * probability - 1) * self.scale

    def document(self) -> dict[str, float | int | str | None]:
        """Return the estimate as JSON values; an infinite wait is the text ``never``."""
        return {
            "value": json_number(self.value),
            "low": json_number(self.low),
            "high": json_number(self.high),
            "p_value": self.p_value,
            "clusters": self.clusters,
            "resamples": 0 if self.errors is None else len(self.errors),
            "inconclusive": self.inconclusive,
        }


def json_number(value: float | None) -> float | str | None:
    """Return a number as JSON has it: an infinite wait, which was never answered, is a text."""
    if value is None or np.isfinite(value):
        return value
    return "never" if value > 0 else "-never"


def _quantile(ordered: NDArray[np.float64], level: float) -> float:
    """Return the smallest of the sorted values that at least this share of them do not exceed."""
    at = int(np.ceil(level * len(ordered) - 1e-9)) - 1
    return float(ordered[min(max(at, 0), len(ordered) - 1)])


def resample_counts(clusters: int, resampling: Resampling) -> Iterator[NDArray[np.float64]]:
    """Yield how often each cluster is drawn in each resample, some resamples at a time.

    Yields
    ------
    float64 array of shape (resamples of the block, clusters)
        Each row sums to `clusters`.
    """
    generator = resampling.generator()
    share = np.full(clusters, 1.0 / clusters)
    block = max(1, _BLOCK // clusters)
    times = resampling.times(clusters)
    for begin in range(0, times, block):
        rows = min(block, times - begin)
        yield generator.multinomial(clusters, share, size=rows).astype(np.float64)


def studentised(
    sums: Sums,
    minus: Sums | None = None,
    *,
    resampling: Resampling,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Estimate:
    """Return a ratio, or the difference of two, with its studentised cluster-bootstrap interval.

    The standard error is the linearised one of a ratio of cluster sums, with ``C / (C - 1)``.

    Parameters
    ----------
    sums : Sums
    minus : Sums, optional
        Of the same clusters in the same order; its ratio is taken away.
    bounds : pair of float
        What the interval is cut to: a rate is in [0, 1], a difference of rates in [-1, 1].

    Returns
    -------
    Estimate
        Inconclusive below `LEAST_CLUSTERS`. Where the clusters do not differ at all there are no
        errors to draw: the interval then grants that as many other clusters as may have been missed
        by chance, ``1 - (1 - level)^(1 / clusters)`` of them, lie at either bound; of an unbounded
        value, and of 0, there is none.
    """
    ratios = [sums] if minus is None else [sums, minus]
    columns = np.stack([side for each in ratios for side in (each.total, each.size)], axis=1)
    columns = columns[(columns != 0).any(axis=1)]
    clusters = len(columns)
    if any(each.ratio is None for each in ratios):
        return Estimate(value=None, clusters=clusters, inconclusive="no call to compare")
    value, variance = _estimated(columns)
    few = too_few(clusters)
    if variance <= 0:
        return _uniform(value, clusters, resampling.level, bounds)
    errors = np.concatenate(
        [
            _errors(counts, columns, value, variance)
            for counts in resample_counts(clusters, resampling)
        ]
    )
    errors.sort()
    scale = float(np.sqrt(variance))
    half = _quantile(errors, resampling.level) * scale
    beyond = len(errors) - int(np.searchsorted(errors, abs(value) / scale, side="left"))
    return Estimate(
        value=value,
        low=max(value - half, bounds[0]),
        high=min(value + half, bounds[1]),
        p_value=(1 + beyond) / (1 + len(errors)),
        clusters=clusters,
        inconclusive=few,
        errors=errors,
        scale=scale,
    )


def _uniform(value: float, clusters: int, level: float, bounds: tuple[float, float]) -> Estimate:
    """Return a value that is the same in every cluster."""
    few = too_few(clusters)
    if clusters < 2 or value == 0 or not np.isfinite(bounds).all():
        reason = few or "every cluster says the same"
        return Estimate(value=value, clusters=clusters, inconclusive=reason)
    alike = (1 - level) ** (1 / clusters)
    low, high = (value * alike + (1 - alike) * bound for bound in bounds)
    return Estimate(
        value=value,
        low=max(low, bounds[0]),
        high=min(high, bounds[1]),
        p_value=1.0 if low <= 0 <= high else 2.0 ** (1 - clusters),
        clusters=clusters,
        inconclusive=few,
    )


def _estimated(columns: NDArray[np.float64]) -> tuple[float, float]:
    """Return a value and its linearised variance; 0 where clusters differ by rounding alone."""
    clusters = len(columns)
    values, _ = _ratios(np.ones((1, clusters)), columns)
    sums = columns.sum(axis=0)
    slopes = np.empty_like(sums)
    slopes[::2] = 1 / sums[1::2]
    slopes[1::2] = -sums[::2] / sums[1::2] ** 2
    slopes[2:] *= -1
    moves = columns @ slopes
    size = float((np.abs(columns) @ np.abs(slopes)).sum())
    if clusters < 2 or float(np.abs(moves).sum()) <= _ROUNDING * size:
        return float(values[0]), 0.0
    return float(values[0]), float(moves @ moves) * clusters / (clusters - 1)


def too_few(clusters: int) -> str | None:
    """Return why so few clusters leave an estimate inconclusive; None = they are enough."""
    return f"fewer than {LEAST_CLUSTERS} clusters" if clusters < LEAST_CLUSTERS else None


def _ratios(
    counts: NDArray[np.float64], columns: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return value and linearised variance of each row of counts; NaN where a size is 0."""
    clusters, width = columns.shape
    sums = counts @ columns
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = sums[:, ::2] / sums[:, 1::2]
        slopes = np.empty_like(sums)
        slopes[:, ::2] = 1 / sums[:, 1::2]
        slopes[:, 1::2] = -ratios / sums[:, 1::2]
    signs = np.array([1.0, -1.0])[: width // 2]
    slopes *= np.repeat(signs, 2)
    variance = np.zeros(len(counts))
    with np.errstate(invalid="ignore", over="ignore"):
        for one in range(width):
            for two in range(one, width):
                products = counts @ (columns[:, one] * columns[:, two])
                variance += (1 if one == two else 2) * slopes[:, one] * slopes[:, two] * products
        values = ratios @ signs
    return values, np.maximum(variance, 0.0) * clusters / max(clusters - 1, 1)


def _errors(
    counts: NDArray[np.float64], columns: NDArray[np.float64], value: float, variance: float
) -> NDArray[np.float64]:
    """Return the absolute studentised error of each resample; one without a value has none."""
    values, variances = _ratios(counts, columns)
    own = PRIOR_CLUSTERS / len(columns)
    found = np.abs(values - value) / np.sqrt((1 - own) * variances + own * variance)
    return found[np.isfinite(found)]


def percentile_interval(
    sums: Sums, minus: Sums | None = None, *, resampling: Resampling
) -> tuple[float, float]:
    """Return the percentile interval of clusters drawn again, for comparison.

    It is too narrow where clusters are few.
    """
    ratios = [sums] if minus is None else [sums, minus]
    columns = np.stack([side for each in ratios for side in (each.total, each.size)], axis=1)
    values = np.concatenate(
        [_ratios(counts, columns)[0] for counts in resample_counts(len(columns), resampling)]
    )
    return _ends(values[np.isfinite(values)], resampling.level)


def naive_interval(values: ArrayLike, *, resampling: Resampling) -> tuple[float, float]:
    """Return the percentile interval of the mean of single calls drawn again, for comparison.

    It takes calls of one cluster as independent, which they are not.
    """
    levels, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    n = int(counts.sum())
    drawn = resampling.generator().multinomial(n, counts / n, size=resampling.resamples)
    return _ends(drawn @ levels / n, resampling.level)


def _ends(values: NDArray[np.float64], level: float) -> tuple[float, float]:
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], method="inverted_cdf").tolist()
    return low, high
