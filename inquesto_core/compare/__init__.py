"""Two things side by side: a judge and people, two judges, several runs.

What may not be set side by side is refused (`IncomparableError`), and too few calls or runs are
*inconclusive*, not a small difference.
"""

from __future__ import annotations

from inquesto_core import callable_room
from inquesto_core.compare.agreement import (
    ANSWERS,
    QuestionAgreement,
    Weighted,
    paired_answers,
    question_agreements,
)
from inquesto_core.compare.critical import critical_differences
from inquesto_core.compare.halves import HALVES, SPLIT_NAME, half_of, with_half
from inquesto_core.compare.kappa import Kappa, cohen_kappa, kappa_variance
from inquesto_core.compare.labels import LabelFile, parse_labels, refuse_labels
from inquesto_core.compare.outcomes import OutcomeDifference, outcome_difference
from inquesto_core.compare.ranking import Ranking, kendall_tau, rank_runs, spearman_rho
from inquesto_core.compare.rescored import (
    CHANGES,
    DIFFERENCES,
    IDLE,
    DifferenceCounts,
    Reading,
    add_difference_counts,
    call_differences,
    count_differences,
)
from inquesto_core.compare.sampling import draw_calls, item_name, outcome_strata, sheet_items
from inquesto_core.compare.sheet_key import SheetKey, parse_key

__all__ = [
    "ANSWERS",
    "CHANGES",
    "DIFFERENCES",
    "HALVES",
    "IDLE",
    "SPLIT_NAME",
    "DifferenceCounts",
    "Kappa",
    "LabelFile",
    "OutcomeDifference",
    "QuestionAgreement",
    "Ranking",
    "Reading",
    "SheetKey",
    "Weighted",
    "add_difference_counts",
    "call_differences",
    "cohen_kappa",
    "count_differences",
    "critical_differences",
    "draw_calls",
    "half_of",
    "item_name",
    "kappa_variance",
    "kendall_tau",
    "outcome_difference",
    "outcome_strata",
    "paired_answers",
    "parse_key",
    "parse_labels",
    "question_agreements",
    "rank_runs",
    "refuse_labels",
    "sheet_items",
    "spearman_rho",
    "with_half",
]

callable_room(__name__)
