"""A review sheet and its estimates as a person reads them in a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from inquesto_core.report.counted import counted
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import NOTHING, WIDTH
from inquesto_core.report.text_table import text_table

if TYPE_CHECKING:
    from inquesto_core.compare.review_estimates import QuestionEstimate, ReviewEstimates
    from inquesto_core.compare.review_key import ReviewKey
    from inquesto_core.compare.weighted_rate import WeightedRate

__all__ = ["estimate_lines", "review_lines"]


def review_lines(key: ReviewKey, *, apart: int, without_transcript: int) -> list[str]:
    """Return what was drawn, what was added, and who gets which file."""
    drawn = sum(taken for _, taken in key.strata.values())
    calls = sum(held for held, _ in key.strata.values())
    lines = _wrap(
        f"Review sheet {key.sheet}: {drawn} of {calls} calls, drawn with seed {key.seed}; and "
        f"{counted(apart, 'critical failure')} not drawn, apart: no rate knows of "
        f"{'it' if apart == 1 else 'them'}."
    )
    rows = [
        (name, str(held), str(taken), f"{held / taken:.2f}")
        for name, (held, taken) in key.strata.items()
    ]
    lines += ["", *text_table(("Stratum", "calls", "drawn", "each stands for"), rows), ""]
    if without_transcript:
        lines += _wrap(
            f"Without a transcript: {counted(without_transcript, 'call')}. Listen "
            "(`report --audio`), or answer unsure."
        )
    return lines + _wrap(
        "Give the reviewers the folder for_reviewers and nothing else. Keep key.json; then "
        "`sample --estimate` reads the CSV that they send back."
    )


def estimate_lines(found: ReviewEstimates) -> list[str]:
    """Return the estimates with their intervals, and what became of the critical failures."""
    whose = "" if found.agent is None else f" of {found.agent}"
    lines = _wrap(
        f"{found.reviewer} on {counted(found.drawn, 'call')} drawn from {found.calls}{whose}: "
        f"estimates for all {found.calls}."
    )
    lines += ["", *text_table(("", "estimate", "95 % CI", "calls", "open", "the run"), [
        row for each in found.questions for row in _rows(each)
    ])]  # fmt: skip
    for each in found.questions:
        if each.rate.inconclusive:
            lines += _wrap(f"? {each.question}: {each.rate.inconclusive}.")
    critical = found.critical
    seen = critical.in_sample + critical.apart
    lines += [
        "",
        *_wrap(
            f"Critical failures that the run sees: {seen}, {critical.in_sample} in the sample and "
            f"{critical.apart} apart. Confirmed {critical.confirmed}, not confirmed "
            f"{critical.refuted}, open {critical.open_n}. Those apart are in no estimate above."
        ),
    ]
    if critical.missed:
        lines += _wrap(
            f"Only the reviewer sees one in {counted(len(critical.missed), 'call')} of the sample: "
            + ", ".join(critical.missed)
        )
    return lines


def _rows(each: QuestionEstimate) -> list[tuple[str, ...]]:
    run = f"{100 * each.run_true / each.run_n:.1f} %" if each.run_n else NOTHING
    return [
        (each.question, *_figures(each.rate), run),
        ("- as the run says", *_figures(each.agreement), ""),
    ]


def _figures(rate: WeightedRate) -> tuple[str, str, str, str]:
    counts = (str(rate.answered), str(rate.unanswered))
    if rate.value is None or rate.low is None or rate.high is None:
        return (NOTHING, NOTHING, *counts)
    mark = " ?" if rate.inconclusive else ""
    low, high = 100 * rate.low, 100 * rate.high
    bounds = "all reviewed" if math.isinf(rate.effective_n) else f"{low:.1f} to {high:.1f}{mark}"
    return (f"{100 * rate.value:.1f} %", bounds, *counts)


def _wrap(text: str) -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, rest="  ")
