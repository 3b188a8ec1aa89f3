"""The score corrected for how often the judge is wrong, where people have labelled some calls.

A judge that lets a tenth of the failed calls pass raises every score that it gives. Its sensitivity
(of the calls that pass by the labels, the share that it passes) and specificity (of those that
fail, the share that it fails) say by how much; the correction turns them round (Rogan and Gladen
1978). It is an estimate beside the score, never the score.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.kappa import LEAST_ANSWERS, LEAST_N

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Calibration",
    "CorrectedScore",
    "Measured",
    "calibrate",
    "measured_rates",
    "rogan_gladen",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A share as labels measured it.

    Parameters
    ----------
    value : float
        In [0, 1].
    n : float
        How many independent calls it is worth (Kish, where they were drawn with weights).
    """

    value: float
    n: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedScore:
    """A score beside its correction; an estimate.

    Parameters
    ----------
    agent : str
    passed, n : int
        The score as it is: calls that pass, of n.
    value, low, high : float or None
        The corrected rate in [0, 1], cut to it; None where there is none.
    is_cut : bool
        The correction left [0, 1]: the labels and the score do not fit together well.
    refused : str or None
        Why there is no correction.
    """

    agent: str
    passed: int
    n: int
    value: float | None
    low: float | None
    high: float | None
    is_cut: bool = False
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How the judge's outcomes compare with those that the labels make, and the scores corrected.

    Parameters
    ----------
    both_pass, judge_only, labels_only, both_fail : int
        Labelled calls by outcome; everything that is measured is the same on both sides.
    left_out : int
        Labelled calls whose outcome is open on either side, as where a question has no label.
    sensitivity, specificity : Measured or None
        None without a call of the kind.
    inconclusive : str or None
        Why the corrected intervals must not be relied upon.
    """

    both_pass: int
    judge_only: int
    labels_only: int
    both_fail: int
    left_out: int
    sensitivity: Measured | None
    specificity: Measured | None
    scores: tuple[CorrectedScore, ...]
    inconclusive: str | None

    def document(self) -> dict[str, Any]:
        """Return the calibration as JSON values; rates are in [0, 1]."""
        return {"is_estimate": True, "method": "Rogan-Gladen, Lang-Reiczigel", **asdict(self)}


def rogan_gladen(
    passed: int,
    n: int,
    *,
    sensitivity: Measured,
    specificity: Measured,
    z: float,
    agent: str = "",
) -> CorrectedScore:
    """Return a rate corrected for the errors of whoever decided the calls.

    ``(p + specificity - 1) / (sensitivity + specificity - 1)`` (Rogan and Gladen 1978). The
    interval is Lang and Reiczigel's (2014): the delta method over all three shares, after z² calls
    were added to n and two to each of the others, half of them right, and with their shift. It
    takes the labelled calls as drawn independently of the score.

    Parameters
    ----------
    passed, n : int
        ``0 <= passed <= n``, ``n >= 1``.
    sensitivity, specificity : Measured
    z : float
        Normal quantile of the confidence level.

    Returns
    -------
    CorrectedScore
        Without a value where ``sensitivity + specificity <= 1``: such a judge is no better than a
        coin, and the correction would divide by nothing or turn the score round.

    Raises
    ------
    ValueError
        `passed` is not in [0, n], or there is no call.
    """
    if n < 1 or not 0 <= passed <= n:
        raise ValueError(f"{passed} of {n} is no rate")
    if sensitivity.value + specificity.value <= 1:
        refused = (
            f"sensitivity {sensitivity.value:.2f} and specificity {specificity.value:.2f} are "
            "together not above 1: the judge tells no more than a coin"
        )
        return CorrectedScore(
            agent=agent, passed=passed, n=n, value=None, low=None, high=None, refused=refused
        )
    value = _corrected(passed / n, sensitivity.value, specificity.value)
    low, high = _interval(passed, n, sensitivity, specificity, z)
    cut = [min(1.0, max(0.0, each)) for each in (value, low, high)]
    return CorrectedScore(
        agent=agent,
        passed=passed,
        n=n,
        value=cut[0],
        low=cut[1],
        high=cut[2],
        is_cut=not 0 <= value <= 1,
    )


def _corrected(rate: float, sensitivity: float, specificity: float) -> float:
    return (rate + specificity - 1) / (sensitivity + specificity - 1)


def _interval(
    passed: int, n: int, sensitivity: Measured, specificity: Measured, z: float
) -> tuple[float, float]:
    more = n + z * z
    rate = (passed + z * z / 2) / more
    sure, spared = ((each.value * each.n + 1) / (each.n + 2) for each in (sensitivity, specificity))
    youden = sure + spared - 1
    middle = _corrected(rate, sure, spared)
    # What one call more or less of each kind moves.
    of_sure = sure * (1 - sure) / (sensitivity.n + 2)
    of_spared = spared * (1 - spared) / (specificity.n + 2)
    variance = rate * (1 - rate) / more + middle**2 * of_sure + (1 - middle) ** 2 * of_spared
    middle += 2 * z * z * (middle * of_sure - (1 - middle) * of_spared)
    half = z * math.sqrt(variance) / youden
    return middle - half, middle + half


def measured_rates(outcomes: pl.DataFrame) -> tuple[Measured | None, Measured | None]:
    """Return sensitivity and specificity from labelled calls.

    Parameters
    ----------
    outcomes : polars.DataFrame
        ``judge, labels`` (whether the call passes under either) and ``weight``, no nulls.
    """
    found: list[Measured | None] = []
    for truth in (True, False):
        own = outcomes.filter(pl.col("labels") == truth)
        weight = own["weight"]
        total = float(weight.sum())
        if not total:
            found.append(None)
            continue
        right = float(own.filter(pl.col("judge") == truth)["weight"].sum())
        found.append(Measured(value=right / total, n=total**2 / float((weight**2).sum())))
    return found[0], found[1]


def calibrate(
    outcomes: pl.DataFrame, scores: Sequence[tuple[str, int, int]], *, z: float
) -> Calibration:
    """Return the judge's outcomes beside those of the labels, and each score corrected.

    Parameters
    ----------
    outcomes : polars.DataFrame
        ``judge, labels`` (null = open) and ``weight`` of each labelled call.
    scores : sequence of (agent, passed, n)
    z : float
        Normal quantile of the confidence level.
    """
    told = outcomes.drop_nulls(["judge", "labels"])
    sensitivity, specificity = measured_rates(told)
    cells = {
        (one, two): told.filter((pl.col("judge") == one) & (pl.col("labels") == two)).height
        for one in (True, False)
        for two in (True, False)
    }
    passes, fails = (cells[True, truth] + cells[False, truth] for truth in (True, False))
    inconclusive = None
    if told.height < LEAST_N:
        inconclusive = f"fewer than {LEAST_N} labelled calls"
    elif min(passes, fails) < LEAST_ANSWERS:
        kind = "pass" if passes < fails else "fail"
        inconclusive = f"fewer than {LEAST_ANSWERS} calls {kind} by the labels"
    corrected = [
        _correct(agent, passed, n, sensitivity, specificity, z) for agent, passed, n in scores if n
    ]
    return Calibration(
        both_pass=cells[True, True],
        judge_only=cells[True, False],
        labels_only=cells[False, True],
        both_fail=cells[False, False],
        left_out=outcomes.height - told.height,
        sensitivity=sensitivity,
        specificity=specificity,
        scores=tuple(corrected),
        inconclusive=inconclusive,
    )


def _correct(
    agent: str,
    passed: int,
    n: int,
    sensitivity: Measured | None,
    specificity: Measured | None,
    z: float,
) -> CorrectedScore:
    if sensitivity is not None and specificity is not None:
        return rogan_gladen(
            passed, n, sensitivity=sensitivity, specificity=specificity, z=z, agent=agent
        )
    kind = "passes" if sensitivity is None else "fails"
    return CorrectedScore(
        agent=agent,
        passed=passed,
        n=n,
        value=None,
        low=None,
        high=None,
        refused=f"no labelled call {kind} by the labels",
    )
