"""A rate of a whole run from a stratified sample of its calls, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.compare.kappa import LEAST_N
from inquesto_core.score.rate import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WeightedRate", "weighted_rate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedRate:
    """A rate estimated for all calls of a run.

    Parameters
    ----------
    value, low, high : float or None
        In [0, 1]; None where nothing was answered.
    answered, unanswered : int
        Calls of the sample, by whether they tell.
    total : float or None
        Calls of the run that the claim is estimated to hold of (Horvitz and Thompson), were the
        unanswered like the answered ones.
    effective_n : float
        How many independent calls the estimate is worth; infinite where every call was answered.
    inconclusive : str or None
        Why the interval must not be relied upon.
    """

    value: float | None
    low: float | None
    high: float | None
    answered: int
    unanswered: int
    total: float | None
    effective_n: float
    inconclusive: str | None


def weighted_rate(
    answers: pl.DataFrame, strata: Mapping[str, tuple[int, int]], *, z: float
) -> WeightedRate:
    """Return the rate of true among all calls of the strata.

    Each answer counts as often as calls of its stratum it stands for. With every drawn call
    answered this is the Horvitz–Thompson estimate ``sum w y / N``; else the ratio ``R = sum w y /
    sum w`` over the answered, which takes the unanswered of a stratum for like the others. Its
    variance is linearised, stratum by stratum, ``sum N² (1 - n/N) s² / n`` with s² that of
    ``(y - R) / sum w`` and 0 for the unanswered (Särndal, Swensson and Wretman 1992, 5.6); the
    interval is Wilson's over as many calls as would have that variance, ``R (1 - R) / V``. A few
    answers of a stratum that all agree do not prove that it has no others: s² is taken with half
    an answer of either kind more. In simulated runs 95 % intervals then held the truth in 94 to
    100 % (most where strata give two calls each), without it in 77 to 96 %. Where the whole sample
    says the same, Kish's effective number stands for the variance.

    Parameters
    ----------
    answers : polars.DataFrame
        ``stratum, value`` of every drawn call; null = not answered, or unsure.
    strata : mapping of stratum to (calls, drawn)
    z : float
        Normal quantile of the confidence level.
    """
    sizes = pl.DataFrame(
        [(name, *pair) for name, pair in strata.items()],
        schema={"stratum": pl.String, "calls": pl.Int64, "drawn": pl.Int64},
        orient="row",
    )
    told = answers.join(sizes, on="stratum").with_columns(
        weight=pl.col("calls") / pl.col("drawn"), y=pl.col("value").cast(pl.Float64)
    )
    known = told.filter(pl.col("y").is_not_null())
    stands_for = float(known["weight"].sum())
    if not stands_for:
        return WeightedRate(
            value=None,
            low=None,
            high=None,
            answered=0,
            unanswered=told.height,
            total=None,
            effective_n=0.0,
            inconclusive="no call was answered",
        )
    rate = float((known["weight"] * known["y"]).sum()) / stands_for
    variance = _variance(told, rate, stands_for)
    effective = _effective(known, told, rate, variance)
    low, high = _interval(rate, effective, z)
    total = sum(calls for calls, drawn in strata.values() if drawn)
    return WeightedRate(
        value=rate,
        low=low,
        high=high,
        answered=known.height,
        unanswered=told.height - known.height,
        total=rate * total,
        effective_n=effective,
        inconclusive=f"fewer than {LEAST_N} answers" if known.height < LEAST_N else None,
    )


def _variance(told: pl.DataFrame, rate: float, stands_for: float) -> float:
    """Return the variance of the ratio; half an answer of either kind is added to each stratum."""
    added = ((1 - rate) / stands_for, -rate / stands_for)
    move = ((pl.col("y") - rate) / stands_for).fill_null(0.0)
    by_stratum = told.group_by("stratum").agg(
        pl.col("calls", "drawn").first(),
        sums=move.sum() + sum(added) / 2,
        squares=move.pow(2).sum() + (added[0] ** 2 + added[1] ** 2) / 2,
    )
    calls, drawn = by_stratum["calls"], by_stratum["drawn"]
    spread = (by_stratum["squares"] - by_stratum["sums"] ** 2 / (drawn + 1)) / drawn
    return max(0.0, float((calls * (calls - drawn) * spread / drawn).sum()))


def _effective(known: pl.DataFrame, told: pl.DataFrame, rate: float, variance: float) -> float:
    if (told["calls"] == told["drawn"]).all() and known.height == told.height:
        return math.inf
    if variance > 0 and 0 < rate < 1:
        return rate * (1 - rate) / variance
    weights = known["weight"]
    return float(weights.sum()) ** 2 / float((weights**2).sum())


def _interval(rate: float, effective: float, z: float) -> tuple[float, float]:
    if math.isinf(effective):
        return rate, rate
    n = max(effective, 1.0)
    low, high = wilson_interval([rate * n], [n], z)[0].tolist()
    return low, high
