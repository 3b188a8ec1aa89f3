"""A rate as its two counts, its Wilson interval, and how both are rounded for publication.

The published records round twice: an interval's bounds to six decimals as rates, then to one in
percent. Nothing else in this room rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Rate", "exact_rate", "published_bound", "published_rate", "wilson_interval"]

PERCENT_DECIMALS = 1
BOUND_DECIMALS = 6


def wilson_interval(k: ArrayLike, n: ArrayLike, z: float) -> NDArray[np.float64]:
    """Return the Wilson score interval of each rate k / n, unrounded.

    ``(p + z²/2n ± z·sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n)`` with p = k / n (Wilson 1927; paper,
    section 2.5), clipped to [0, 1]; exactly 0 below k = 0 and exactly 1 above k = n.

    Parameters
    ----------
    k, n : int array of the same shape
        Successes and trials, ``0 <= k <= n``, ``n >= 1``.
    z : float
        Normal quantile of the confidence level.

    Returns
    -------
    float64 array of shape (..., 2)
        Low and high, rates in [0, 1].

    Raises
    ------
    ValueError
        Some n is 0 (there is no interval), or some k is not in [0, n].

    Examples
    --------
    >>> wilson_interval([137], [306], 1.959964).round(6).tolist()
    [[0.392989, 0.503733]]
    """
    successes, trials = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if np.any(trials < 1) or np.any(successes < 0) or np.any(successes > trials):
        raise ValueError("a Wilson interval needs 0 <= k <= n and n >= 1")
    p = successes / trials
    z2n = z * z / trials
    half = z * np.sqrt(p * (1 - p) / trials + z2n / (4 * trials))
    low = (p + z2n / 2 - half) / (1 + z2n)
    high = (p + z2n / 2 + half) / (1 + z2n)
    low = np.where(successes == 0, 0.0, np.clip(low, 0.0, 1.0))
    high = np.where(successes == trials, 1.0, np.clip(high, 0.0, 1.0))
    return np.stack([low, high], axis=-1)


def published_bound(bound: float) -> float:
    """Return an interval's bound in percent, rounded as the published records round it.

    The upper bound of 33 in 40, which rounding once would make 68.1:

    >>> published_bound(0.6805000953869541)
    68.0
    """
    return round(100 * round(bound, BOUND_DECIMALS), PERCENT_DECIMALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How many of how many; no percentage is stored.

    Parameters
    ----------
    k, n : int
        ``0 <= k <= n``.

    Raises
    ------
    ValueError
        k is not in [0, n].
    """

    k: int
    n: int

    def __post_init__(self) -> None:
        """Refuse counts that are no rate."""
        if not 0 <= self.k <= self.n:
            raise ValueError(f"{self.k} of {self.n} is no rate; expected 0 <= k <= n")

    @property
    def value(self) -> Fraction | None:
        """The exact rate in [0, 1]; None without a trial."""
        return Fraction(self.k, self.n) if self.n else None

    @property
    def percent(self) -> float | None:
        """The rate in percent, as the nearest float; None without a trial."""
        return 100 * self.k / self.n if self.n else None

    @property
    def published(self) -> float | None:
        """The rate in percent to one decimal; None without a trial."""
        return None if self.percent is None else round(self.percent, PERCENT_DECIMALS)

    def interval(self, z: float) -> tuple[float, float] | None:
        """Return the Wilson interval as rates in [0, 1], unrounded; None without a trial."""
        if self.n == 0:
            return None
        low, high = wilson_interval(self.k, self.n, z).tolist()
        return low, high

    def published_interval(self, z: float) -> tuple[float, float] | None:
        """Return the Wilson interval in percent as published; None without a trial."""
        bounds = self.interval(z)
        return None if bounds is None else (published_bound(bounds[0]), published_bound(bounds[1]))


def published_rate(rate: Rate, z: float) -> dict[str, Any]:
    """Return ``score, lo, hi, n, passed`` of a rate, as every slice of a record has them.

    >>> published_rate(Rate(k=0, n=0), 1.959964)
    {'score': None, 'lo': None, 'hi': None, 'n': 0, 'passed': 0}
    """
    low, high = rate.published_interval(z) or (None, None)
    return {"score": rate.published, "lo": low, "hi": high, "n": rate.n, "passed": rate.k}


def exact_rate(rate: Rate, z: float) -> dict[str, float | None]:
    """Return ``score, lo, hi`` of a rate in percent without rounding."""
    bounds = rate.interval(z)
    low, high = (None, None) if bounds is None else (100 * bounds[0], 100 * bounds[1])
    return {"score": rate.percent, "lo": low, "hi": high}
