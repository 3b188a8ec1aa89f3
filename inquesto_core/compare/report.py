"""What is compared with what: sides, halves, questions, misses, as one value and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.agreement import QuestionAgreement, paired_answers, question_agreements
from inquesto_core.compare.critical import critical_differences
from inquesto_core.compare.halves import HALVES, SPLIT_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare.calibration import Calibration
    from inquesto_core.compare.kappa import Kappa
    from inquesto_core.compare.outcomes import OutcomeDifference
    from inquesto_core.protocol import Protocol
    from inquesto_core.score.rate import Rate

__all__ = ["BOTH", "AgreementReport", "Comparison", "Scope", "Side", "compare_sides"]

BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Whose answers these are.

    Parameters
    ----------
    kind : str
        ``judge`` or ``labeller``.
    answers : polars.DataFrame
        Columns of `ANSWERS`, and ``weight`` where they were drawn.
    """

    kind: str
    name: str
    answers: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The agreement within one half of the scenarios, or in both."""

    half: str
    questions: tuple[QuestionAgreement, ...]
    critical: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two sides.

    Parameters
    ----------
    only_first, only_second : int
        Answers about a call and question that the other side was not asked.
    outcomes : OutcomeDifference or None
        Of two runs.
    calibration : Calibration or None
        Of a judge beside a labeller: the scores corrected for its errors.
    """

    first: Side
    second: Side
    only_first: int
    only_second: int
    scopes: tuple[Scope, ...]
    outcomes: OutcomeDifference | None = None
    calibration: Calibration | None = None

    @property
    def has_truth(self) -> bool:
        """Whether the second side is a person, and the first is measured against it."""
        return (self.first.kind, self.second.kind) == ("judge", "labeller")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementReport:
    """All comparisons of a call of the command, and where their figures come from."""

    comparisons: tuple[Comparison, ...]
    z: float
    unlabelled: int = 0

    def document(self) -> dict[str, Any]:
        """Return the report as JSON values; rates are in [0, 1]."""
        return {
            "split": SPLIT_NAME,
            "z": self.z,
            "unlabelled": self.unlabelled,
            "comparisons": [_comparison(each, self.z) for each in self.comparisons],
        }


def compare_sides(
    first: Side,
    second: Side,
    *,
    halves: pl.DataFrame,
    facts: pl.DataFrame,
    half: str,
    protocol: Protocol,
    outcomes: OutcomeDifference | None = None,
    calibration: Calibration | None = None,
) -> Comparison:
    """Return how two sides agree, in both halves together and apart, or in the one named.

    Parameters
    ----------
    halves : polars.DataFrame
        ``call_id, half`` of every call.
    facts : `trace_facts`
    half : {"both", "development", "held-out"}
    """
    pairs = paired_answers(first.answers, second.answers).join(
        halves.select("call_id", "half"), on="call_id", how="left", maintain_order="left"
    )
    wanted: Sequence[str] = (BOTH, *HALVES) if half == BOTH else (half,)
    scopes = []
    for name in wanted:
        within = pairs if name == BOTH else pairs.filter(pl.col("half") == name)
        scopes.append(
            Scope(
                half=name,
                questions=question_agreements(within, z=protocol.z),
                critical=critical_differences(within, facts, protocol=protocol),
            )
        )
    return Comparison(
        first=first,
        second=second,
        only_first=first.answers.height - pairs.height,
        only_second=second.answers.height - pairs.height,
        scopes=tuple(scopes),
        outcomes=outcomes,
        calibration=calibration,
    )


def _comparison(comparison: Comparison, z: float) -> dict[str, Any]:
    return {
        **{
            name: {"kind": side.kind, "name": side.name}
            for name, side in (("first", comparison.first), ("second", comparison.second))
        },
        "only_first": comparison.only_first,
        "only_second": comparison.only_second,
        "halves": [
            {
                "half": scope.half,
                "questions": [_question(each, comparison, z) for each in scope.questions],
                "critical": scope.critical.to_dicts(),
            }
            for scope in comparison.scopes
        ],
        "outcomes": None if comparison.outcomes is None else _outcomes(comparison.outcomes, z),
        "calibration": None
        if comparison.calibration is None
        else comparison.calibration.document(),
    }


def _question(each: QuestionAgreement, comparison: Comparison, z: float) -> dict[str, Any]:
    counts = ("pairs", "undetermined_first", "undetermined_second")
    cells = ("both_true", "first_only", "second_only", "both_false")
    out: dict[str, Any] = {
        "question": each.question,
        **{name: getattr(each, name) for name in (*counts, "n", *cells)},
        "agreement": _rate(each.agreement, z),
        "kappa": _kappa(each.kappa),
    }
    if comparison.has_truth:
        out |= {"precision": _rate(each.precision, z), "recall": _rate(each.recall, z)}
    weighted = each.weighted
    out["weighted"] = None
    if weighted is not None:
        out["weighted"] = {
            "stands_for": weighted.stands_for,
            "effective_n": weighted.effective_n,
            "agreement": weighted.agreement,
            "kappa": _kappa(weighted.kappa),
        }
        if comparison.has_truth:
            out["weighted"] |= {"precision": weighted.precision, "recall": weighted.recall}
    return out


def _outcomes(outcomes: OutcomeDifference, z: float) -> dict[str, Any]:
    names = (
        "common",
        "first_undecided",
        "second_undecided",
        "n",
        "both_passed",
        "first_only",
        "second_only",
        "both_failed",
    )
    return {
        **{name: getattr(outcomes, name) for name in names},
        "first": _rate(outcomes.first, z),
        "second": _rate(outcomes.second, z),
        "flipped": list(outcomes.flipped),
    }


def _rate(rate: Rate, z: float) -> dict[str, Any]:
    low, high = rate.interval(z) or (None, None)
    return {
        "k": rate.k,
        "n": rate.n,
        "value": rate.k / rate.n if rate.n else None,
        "low": low,
        "high": high,
    }


def _kappa(kappa: Kappa) -> dict[str, Any]:
    return {
        "value": kappa.value,
        "low": kappa.low,
        "high": kappa.high,
        "inconclusive": kappa.inconclusive,
    }
