"""How far two sides agree on each question: a judge and a person, two persons, two judges.

A question left undetermined (by the judge) or answered "unsure" (by a person) is counted apart: it
is no agreement and no disagreement. Everything is counted over all calls at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from inquesto_core.compare.kappa import Kappa, cohen_kappa
from inquesto_core.score.rate import Rate

__all__ = ["ANSWERS", "QuestionAgreement", "Weighted", "paired_answers", "question_agreements"]

#: What one side said; null verdict = undetermined or unsure.
ANSWERS: dict[str, pl.DataType | type[pl.DataType]] = {
    "call_id": pl.String,
    "question": pl.String,
    "verdict": pl.Boolean,
    "turn": pl.Int64,
    "reason": pl.String,
}

_KEY = ("call_id", "question")
_CELLS = {"both_true": (1, 1), "first_only": (1, 0), "second_only": (0, 1), "both_false": (0, 0)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """The same figures for all calls that the sample stands for.

    Parameters
    ----------
    stands_for : float
        Sum of the weights: answers of the run that these stand for.
    effective_n : float
        Kish's effective number, ``(sum w)² / sum w²``.
    agreement, precision, recall : float or None
        Rates in [0, 1].
    """

    stands_for: float
    effective_n: float
    agreement: float | None
    kappa: Kappa
    precision: float | None
    recall: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAgreement:
    """Two sides' answers to one question.

    Parameters
    ----------
    pairs : int
        Calls that both sides were asked about.
    undetermined_first, undetermined_second : int
        Of these, the ones that a side left open; a call may be in both.
    both_true, first_only, second_only, both_false : int
        The rest, by who said true.
    precision, recall : Rate
        Of the first side's true, with the second as the truth.
    weighted : Weighted or None
        Where the calls were drawn with unequal weights.
    """

    question: str
    pairs: int
    undetermined_first: int
    undetermined_second: int
    both_true: int
    first_only: int
    second_only: int
    both_false: int
    kappa: Kappa
    weighted: Weighted | None

    @property
    def n(self) -> int:
        """Calls that both sides answered with true or false."""
        return self.both_true + self.first_only + self.second_only + self.both_false

    @property
    def agreement(self) -> Rate:
        """Share of n on which both said the same."""
        return Rate(k=self.both_true + self.both_false, n=self.n)

    @property
    def precision(self) -> Rate:
        """Share of the first side's true that the second side calls true."""
        return Rate(k=self.both_true, n=self.both_true + self.first_only)

    @property
    def recall(self) -> Rate:
        """Share of the second side's true that the first side calls true."""
        return Rate(k=self.both_true, n=self.both_true + self.second_only)


def paired_answers(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Return what both sides said where both were asked, sorted by call and question.

    Parameters
    ----------
    first, second : polars.DataFrame
        Columns of `ANSWERS`, a row a call and question; ``second`` may have ``weight``.

    Returns
    -------
    polars.DataFrame
        ``call_id, question, first, first_turn, first_reason``, the same of ``second``, ``weight``
        (1 where there is none).
    """
    sides = [
        frame.select(
            *_KEY,
            pl.col("verdict").alias(name),
            pl.col("turn").alias(f"{name}_turn"),
            pl.col("reason").alias(f"{name}_reason"),
            *((pl.col("weight"),) if "weight" in frame.columns else ()),
        )
        for name, frame in (("first", first), ("second", second))
    ]
    pairs = sides[0].join(sides[1], on=_KEY, how="inner").sort(_KEY)
    return pairs if "weight" in pairs.columns else pairs.with_columns(weight=pl.lit(1.0))


def question_agreements(pairs: pl.DataFrame, *, z: float) -> tuple[QuestionAgreement, ...]:
    """Return the agreement on each question of `pairs`, by name.

    Parameters
    ----------
    pairs : `paired_answers`
    z : float
        Normal quantile of the confidence level.
    """
    first, second, weight = pl.col("first"), pl.col("second"), pl.col("weight")
    answered = first.is_not_null() & second.is_not_null()
    cells = {
        name: (first == bool(one)) & (second == bool(two)) for name, (one, two) in _CELLS.items()
    }
    counts = (
        pairs.group_by("question")
        .agg(
            pl.len().alias("pairs"),
            first.null_count().alias("undetermined_first"),
            second.null_count().alias("undetermined_second"),
            *(rule.sum().alias(name) for name, rule in cells.items()),
            *(weight.filter(rule).sum().alias(f"w_{name}") for name, rule in cells.items()),
            weight.filter(answered).pow(2).sum().alias("squares"),
            (weight.filter(answered).n_unique() > 1).alias("is_weighted"),
        )
        .sort("question")
    )
    return tuple(_agreement(row, z) for row in counts.iter_rows(named=True))


def _table(row: dict[str, float], prefix: str = "") -> list[list[float]]:
    table = [[0.0, 0.0], [0.0, 0.0]]
    for name, (one, two) in _CELLS.items():
        table[one][two] = float(row[prefix + name])
    return table


def _agreement(row: dict[str, float], z: float) -> QuestionAgreement:
    whole = ("pairs", "undetermined_first", "undetermined_second", *_CELLS)
    return QuestionAgreement(
        question=str(row["question"]),
        **{name: int(row[name]) for name in whole},
        kappa=cohen_kappa(_table(row), z),
        weighted=_weighted(row, z) if row["is_weighted"] else None,
    )


def _weighted(row: dict[str, float], z: float) -> Weighted:
    both, judge = row["w_both_true"], row["w_first_only"]
    other, neither = row["w_second_only"], row["w_both_false"]
    total = both + judge + other + neither
    effective = total**2 / row["squares"]
    return Weighted(
        stands_for=total,
        effective_n=effective,
        agreement=(both + neither) / total,
        kappa=cohen_kappa(_table(row, "w_"), z, effective_n=effective),
        precision=both / (both + judge) if both + judge else None,
        recall=both / (both + other) if both + other else None,
    )
