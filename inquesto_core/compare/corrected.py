"""Both scores of a comparison corrected for the judge's errors, and their difference.

People's labels say how often the judge is right where a call passes, and where it fails
(`calibration`). A judge that errs alike on both agents shrinks their difference, one that errs more
on one of them makes or hides one. What is given here is an estimate beside the scores, and decides
nothing.

The difference has the percentile interval of both draws together: scenarios with all their calls,
as for every other figure, and in each of them the two shares of the judge anew, as labels so few
leave them open. Its tails are widened as for a quantile.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inquesto_core.compare.bootstrap import Estimate, resample_counts, too_few
from inquesto_core.compare.calibration import Calibration
from inquesto_core.compare.latency_pairs import widened_tail

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from inquesto_core.compare.bootstrap import Resampling
    from inquesto_core.compare.calibration import CorrectedScore, Measured

__all__ = ["CorrectedComparison", "LabelledSide", "corrected_comparison", "corrected_difference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSide:
    """The labels that one side is corrected with.

    Parameters
    ----------
    labeller : str
    calls_of : {"a", "b"}
        The run whose calls were labelled.
    calibration : Calibration
        With this side's score over the pairs.
    """

    labeller: str
    calls_of: str
    calibration: Calibration

    @property
    def score(self) -> CorrectedScore:
        """The side's score and its correction."""
        return self.calibration.scores[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedComparison:
    """Both sides' scores over the pairs, corrected; an estimate.

    Parameters
    ----------
    a, b : LabelledSide
        The same labels for both, or each side's own.
    is_shared : bool
        Whether one file of labels corrects both sides.
    difference : Estimate
        b - a, corrected; without a value where either side is not corrected.
    """

    a: LabelledSide
    b: LabelledSide
    is_shared: bool
    difference: Estimate

    def document(self) -> dict[str, Any]:
        """Return the correction as JSON values; rates are in [0, 1]."""
        return {
            "is_estimate": True,
            "is_shared": self.is_shared,
            **{
                name: {
                    "labeller": side.labeller,
                    "labelled_calls_of": side.calls_of,
                    "sensitivity": _measured(side.calibration.sensitivity),
                    "specificity": _measured(side.calibration.specificity),
                    "inconclusive": side.calibration.inconclusive,
                    "score": asdict(side.score),
                }
                for name, side in (("a", self.a), ("b", self.b))
            },
            "difference": self.difference.document(),
        }


def _measured(found: Measured | None) -> dict[str, float] | None:
    return None if found is None else asdict(found)


def corrected_comparison(
    a: LabelledSide,
    b: LabelledSide,
    sums: pl.DataFrame,
    *,
    is_shared: bool,
    resampling: Resampling,
) -> CorrectedComparison:
    """Return both corrected scores with their difference.

    Parameters
    ----------
    sums : polars.DataFrame
        `cluster_sums` of the pairs.
    """
    refused = a.score.refused or b.score.refused
    sides = (a.calibration, b.calibration)
    rates = [(each.sensitivity, each.specificity) for each in sides]
    if refused is not None:
        difference = Estimate(value=None, clusters=sums.height, inconclusive=refused)
    else:
        difference = corrected_difference(
            sums, rates[0], rates[1], is_shared=is_shared, resampling=resampling
        )
        reason = a.calibration.inconclusive or b.calibration.inconclusive
        if difference.inconclusive is None and reason is not None:
            difference = Estimate(
                value=difference.value,
                low=difference.low,
                high=difference.high,
                clusters=difference.clusters,
                inconclusive=reason,
            )
    return CorrectedComparison(a=a, b=b, is_shared=is_shared, difference=difference)


def corrected_difference(
    sums: pl.DataFrame,
    a: tuple[Measured | None, Measured | None],
    b: tuple[Measured | None, Measured | None],
    *,
    is_shared: bool,
    resampling: Resampling,
) -> Estimate:
    """Return the difference of two corrected scores.

    Parameters
    ----------
    sums : polars.DataFrame
        ``n, passed_a, passed_b``, a row a cluster.
    a, b : pair of Measured
        Sensitivity and specificity, together above 1.
    is_shared : bool
        Both are the same measurement, and err together.

    Returns
    -------
    Estimate
        In [-1, 1]. Inconclusive below ten clusters, and where more than the interval's tails of the
        draws leave a judge that tells no more than a coin.
    """
    columns = sums.select("passed_a", "passed_b", "n").to_numpy().astype(np.float64)
    totals = columns.sum(axis=0)
    points = [_points(each) for each in (a, b)]
    value = float(
        _corrected(totals[1] / totals[2], *points[1])
        - _corrected(totals[0] / totals[2], *points[0])
    )
    clusters = len(columns)
    drawn = np.concatenate([counts @ columns for counts in resample_counts(clusters, resampling)])
    generator = np.random.Generator(np.random.PCG64([resampling.seed, 1]))
    first = [_drawn(each, len(drawn), generator) for each in a]
    second = first if is_shared else [_drawn(each, len(drawn), generator) for each in b]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _corrected(drawn[:, 1] / drawn[:, 2], *second) - _corrected(
            drawn[:, 0] / drawn[:, 2], *first
        )
    tells = (first[0] + first[1] > 1) & (second[0] + second[1] > 1)
    tail = widened_tail((1 - resampling.level) / 2, clusters) if clusters > 1 else 0.0
    reason = too_few(clusters)
    if tells.mean() < 1 - tail:
        reason = reason or "labels so few leave open whether the judge tells more than a coin"
    if not tells.any():
        return Estimate(value=value, clusters=clusters, inconclusive=reason)
    low, high = np.quantile(found[tells], [tail, 1 - tail], method="inverted_cdf").tolist()
    value, low, high = (min(1.0, max(-1.0, each)) for each in (value, low, high))
    return Estimate(value=value, low=low, high=high, clusters=clusters, inconclusive=reason)


def _points(rates: tuple[Measured | None, Measured | None]) -> tuple[float, float]:
    sensitivity, specificity = rates
    if sensitivity is None or specificity is None:
        raise ValueError("a judge's shares are needed")
    return sensitivity.value, specificity.value


def _drawn(
    measured: Measured | None, times: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return a share anew, as many labels as it is worth leave it open: with one label of each."""
    if measured is None:
        raise ValueError("a judge's shares are needed")
    right = measured.value * measured.n
    return generator.beta(right + 1, measured.n - right + 1, size=times)


def _corrected(
    rate: float | NDArray[np.float64],
    sensitivity: float | NDArray[np.float64],
    specificity: float | NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return a rate turned round (Rogan and Gladen), cut to [0, 1]."""
    found = (np.asarray(rate) + specificity - 1) / (np.asarray(sensitivity) + specificity - 1)
    return np.clip(found, 0.0, 1.0)
