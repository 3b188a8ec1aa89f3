"""The score corrected for the errors of the judge, as a person reads it: an estimate beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.compare.calibration import Calibration, CorrectedScore, Measured

__all__ = ["calibration_lines", "judge_errors"]


def calibration_lines(found: Calibration) -> list[str]:
    """Return what the judge's errors are worth, and each score with its correction."""
    told = found.both_pass + found.judge_only + found.labels_only + found.both_fail
    open_n = f" ({found.left_out} more are open)" if found.left_out else ""
    lines = _wrap(
        f"The score, corrected for the judge's errors (an estimate), from {told} labelled "
        f"calls{open_n}"
    )
    lines += _wrap(_capital(_shares(found)), indent="  ")
    for score in found.scores:
        lines += _wrap("; ".join(_score(score)), indent="  ")
    if found.inconclusive:
        lines += _wrap(f"? inconclusive: {found.inconclusive}.", indent="  ")
    return lines


def judge_errors(found: Calibration) -> str:
    """Return how often the judge is right on labelled calls, as part of a sentence."""
    told = found.both_pass + found.judge_only + found.labels_only + found.both_fail
    open_n = f" ({found.left_out} more open)" if found.left_out else ""
    text = f"{told} labelled calls{open_n}; {_shares(found)}"
    return f"{text} Inconclusive: {found.inconclusive}." if found.inconclusive else text


def _shares(found: Calibration) -> str:
    return (
        f"of those that pass by the labels the judge passes {_share(found.sensitivity)} "
        f"(sensitivity); of those that fail it fails {_share(found.specificity)} (specificity). "
        f"{found.judge_only} pass only under the judge, {found.labels_only} only by the labels."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _share(measured: Measured | None) -> str:
    return "none" if measured is None else f"{100 * measured.value:.1f} %"


def _score(score: CorrectedScore) -> Iterator[str]:
    yield f"{score.agent}: as judged {100 * score.passed / score.n:.1f} % (n = {score.n})"
    if score.value is None or score.low is None or score.high is None:
        yield f"not corrected: {score.refused}"
        return
    yield (
        f"corrected about {100 * score.value:.1f} % (95 % CI {100 * score.low:.1f} to "
        f"{100 * score.high:.1f})"
    )
    if score.is_cut:
        yield "the correction left 0 to 100 % and was cut: score and labels do not fit together"


def _wrap(text: str, *, indent: str = "") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=indent, rest=indent + "  ")
