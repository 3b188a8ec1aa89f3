"""What a reviewer's answers say of the whole run, and of its critical failures, apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.labels import refuse_labels
from inquesto_core.compare.review_sampling import APART, CRITICAL_QUESTION, SAMPLE
from inquesto_core.compare.weighted_rate import WeightedRate, weighted_rate

if TYPE_CHECKING:
    from inquesto_core.compare.labels import LabelFile
    from inquesto_core.compare.review_key import ReviewKey

__all__ = ["CriticalReview", "QuestionEstimate", "ReviewEstimates", "review_estimates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEstimate:
    """One question.

    Parameters
    ----------
    rate : WeightedRate
        Of the reviewer's *true*, over all calls of the run.
    agreement : WeightedRate
        Of calls on which the run and the reviewer say the same.
    run_true, run_n : int
        What the run says of all its calls.
    """

    question: str
    rate: WeightedRate
    agreement: WeightedRate
    run_true: int
    run_n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalReview:
    """Every call in which the run sees a critical event: all were to be reviewed.

    Parameters
    ----------
    in_sample, apart : int
        Of these calls, those that the sample drew, and those added beside it.
    confirmed, refuted, open_n : int
        By what the reviewer says; open: unsure, or not answered.
    missed : tuple of str
        Calls of the sample in which only the reviewer sees one.
    """

    in_sample: int
    apart: int
    confirmed: int
    refuted: int
    open_n: int
    missed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewEstimates:
    """All estimates of a reviewed sheet."""

    reviewer: str
    agent: str | None
    calls: int
    drawn: int
    questions: tuple[QuestionEstimate, ...]
    critical: CriticalReview

    def document(self) -> dict[str, Any]:
        """Return the estimates as JSON values; rates are in [0, 1]."""
        found = asdict(self)
        for question in found["questions"]:
            for name in ("rate", "agreement"):
                if question[name]["effective_n"] == float("inf"):
                    question[name]["effective_n"] = None
        return found


def review_estimates(labels: LabelFile, key: ReviewKey) -> ReviewEstimates:
    """Return what a reviewer's answers say of the run.

    Only the sample enters rates; what was added apart is told apart.

    Raises
    ------
    SchemaError
        ``labels_invalid``: a line is of no item of the sheet, or of another question.
    """
    answers = _answered(labels, key)
    sample = answers.filter(pl.col("part") == SAMPLE)
    questions = []
    for question in key.items["question"].unique().sort():
        own = sample.filter(pl.col("question") == question)
        same = own.select("stratum", value=pl.col("verdict") == pl.col("run_says"))
        true, told = key.run_says[question]
        questions.append(
            QuestionEstimate(
                question=question,
                rate=weighted_rate(own.select("stratum", value="verdict"), key.strata, z=key.z),
                agreement=weighted_rate(same, key.strata, z=key.z),
                run_true=true,
                run_n=told,
            )
        )
    return ReviewEstimates(
        reviewer=labels.labeller,
        agent=key.agent,
        calls=sum(calls for calls, _ in key.strata.values()),
        drawn=sum(drawn for _, drawn in key.strata.values()),
        questions=tuple(questions),
        critical=_critical(answers.filter(pl.col("question") == CRITICAL_QUESTION)),
    )


def _critical(answers: pl.DataFrame) -> CriticalReview:
    seen = answers.filter(pl.col("run_says"))
    verdict = seen["verdict"]
    missed = answers.filter(
        (pl.col("part") == SAMPLE) & ~pl.col("run_says") & pl.col("verdict").fill_null(value=False)
    )
    return CriticalReview(
        in_sample=seen.filter(pl.col("part") == SAMPLE).height,
        apart=seen.filter(pl.col("part") == APART).height,
        confirmed=int(verdict.sum()),
        refuted=int((~verdict).sum()),
        open_n=verdict.null_count(),
        missed=tuple(missed["call_id"].sort()),
    )


def _answered(labels: LabelFile, key: ReviewKey) -> pl.DataFrame:
    """Return the key's items with the reviewer's ``verdict``; null where there is none."""
    items = {row["item"]: row["question"] for row in key.items.to_dicts()}
    for label in labels.labels:
        question = items.get(label.name) if labels.by_item else None
        if question is None:
            found = f"names {label.name!r}"
            refuse_labels(labels.file, label.line, found, "an item of the review sheet")
        if question != label.question:
            found = f"names the question {label.question!r}"
            refuse_labels(labels.file, label.line, found, f"{question}, as the sheet")
    said = pl.DataFrame(
        [(label.name, label.verdict) for label in labels.labels],
        schema={"item": pl.String, "verdict": pl.Boolean},
        orient="row",
    )
    return key.items.join(said, on="item", how="left", maintain_order="left")
