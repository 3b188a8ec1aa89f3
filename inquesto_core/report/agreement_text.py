"""Agreement and ranking as a person reads them in a terminal, at most 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.calibration_text import calibration_lines
from inquesto_core.report.escape import clip_columns, display_width, escape_terminal, wrap_columns
from inquesto_core.report.terminal import NOTHING, WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.compare.agreement import QuestionAgreement
    from inquesto_core.compare.kappa import Kappa
    from inquesto_core.compare.outcomes import OutcomeDifference
    from inquesto_core.compare.ranking import Ranking
    from inquesto_core.compare.report import AgreementReport, Comparison, Scope, Side
    from inquesto_core.score.rate import Rate

__all__ = ["agreement_lines", "ranking_lines"]

_NAME_COLUMNS = 23
_RUN_COLUMNS = 44
_SAYS = {True: "true", False: "false", None: "undetermined"}
_KINDS = {
    "false_negative": "missed",
    "false_positive": "not there",
    "left_open": "left open",
}
_LEGEND = (
    "n: calls that both answered with true or false; open: answers left undetermined or unsure, "
    "by the first and by the second, never counted as agreement. kappa: Cohen's, with a 95% "
    "interval; ? = inconclusive, the reason below."
)
_WEIGHTED = (
    "'whole run': each call counts as many times as there are calls of its outcome that it stands "
    "for; the rows above count the calls that were drawn, where failures are many."
)


def agreement_lines(report: AgreementReport) -> list[str]:
    """Return a report as lines of text, outside text escaped."""
    lines: list[str] = []
    for comparison in report.comparisons:
        lines += [*([""] if lines else []), *_comparison(comparison)]
    weighted = any(
        question.weighted is not None
        for comparison in report.comparisons
        for scope in comparison.scopes
        for question in scope.questions
    )
    lines += ["", *_wrap(_LEGEND, rest="")]
    lines += _wrap(_WEIGHTED, rest="") if weighted else []
    if report.unlabelled:
        lines += _wrap(f"{report.unlabelled} lines of the label files hold no answer.")
    return lines


def _wrap(text: str, *, first: str = "", rest: str = "  ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)


def _side(side: Side) -> str:
    return f"{side.kind} {side.name}"


def _comparison(comparison: Comparison) -> list[str]:
    lines = _wrap(f"{_side(comparison.first)}  beside  {_side(comparison.second)}")
    if comparison.only_first or comparison.only_second:
        lines += _wrap(
            "left out, as the other side was not asked: "
            f"{comparison.only_first} answers of the first, {comparison.only_second} of the second",
            first="  ",
            rest="  ",
        )
    for scope in comparison.scopes:
        lines += ["", *_scope(scope, comparison)]
    widest = comparison.scopes[0]
    lines += ["", *_critical(widest, comparison)]
    if comparison.outcomes is not None:
        lines += ["", *_outcomes(comparison.outcomes)]
    if comparison.calibration is not None:
        lines += ["", *calibration_lines(comparison.calibration)]
    return lines


def _scope(scope: Scope, comparison: Comparison) -> list[str]:
    title = "Both halves" if scope.half == "both" else f"{scope.half.capitalize()} half"
    heading = (
        f"{title:<{_NAME_COLUMNS}}{'n':>6} {'agree':>6}  {'kappa':>6}  {'95% CI':<14} {'open':>5}"
    )
    lines = [heading + (f" {'prec.':>6} {'recall':>6}" if comparison.has_truth else "")]
    if not scope.questions:
        return [*lines, "  nothing was asked of both"]
    for each in scope.questions:
        opened = f"{each.undetermined_first}/{each.undetermined_second}"
        line = _figures(each.question, f"{each.n:>6}", _share(each.agreement), each.kappa)
        line += f" {opened:>5}"
        if comparison.has_truth:
            line += f" {_share(each.precision)} {_share(each.recall)}"
        lines.append(line.rstrip())
        lines += _weighted_line(each, comparison)
    reasons = [
        f"{each.question}: {each.kappa.inconclusive}"
        for each in scope.questions
        if each.kappa.inconclusive
    ]
    return lines + (_wrap("? " + "; ".join(reasons), first="  ", rest="    ") if reasons else [])


def _weighted_line(each: QuestionAgreement, comparison: Comparison) -> list[str]:
    weighted = each.weighted
    if weighted is None:
        return []
    line = _figures(
        "- whole run",
        f"{f'~{weighted.stands_for:.0f}':>6}",
        _percent(weighted.agreement),
        weighted.kappa,
    )
    if comparison.has_truth:
        line += f"       {_percent(weighted.precision)} {_percent(weighted.recall)}"
    return [line.rstrip()]


def _figures(name: str, n: str, agreement: str, kappa: Kappa) -> str:
    shown = clip_columns(escape_terminal(name), _NAME_COLUMNS - 2)
    gap = " " * (_NAME_COLUMNS - 2 - display_width(shown))
    value = NOTHING if kappa.value is None else f"{kappa.value:.2f}"
    interval = ""
    if kappa.low is not None and kappa.high is not None:
        interval = f"{kappa.low:.2f} to {kappa.high:.2f}"
    mark = "?" if kappa.inconclusive else " "
    return f"  {shown}{gap}{n} {agreement}  {value:>6}{mark} {interval:<14}"


def _percent(value: float | None) -> str:
    return f"{NOTHING:>6}" if value is None else f"{100 * value:>6.1f}"


def _share(rate: Rate) -> str:
    return _percent(rate.k / rate.n if rate.n else None)


def _critical(scope: Scope, comparison: Comparison) -> list[str]:
    rows = scope.critical.to_dicts()
    judged = comparison.has_truth
    title = "Critical events (S4, S5) that " + (
        "the judge misses or sees wrongly" if judged else "they see differently"
    )
    if not rows:
        return [f"{title}: none."]
    return [f"{title}: {len(rows)}", *(line for row in rows for line in _difference(row, judged))]


def _difference(row: dict[str, Any], judged: bool) -> Iterator[str]:
    kind = _KINDS[row["kind"]]
    if not judged:
        kind = {"missed": "only second", "not there": "only first"}.get(kind, kind)
    head = f"S{row['severity']} {row['event']} {kind}: {row['call_id']}"
    yield from _wrap(head, first="  ", rest="    ")
    for side in ("first", "second"):
        turn = "" if row[f"{side}_turn"] is None else f" (L{row[f'{side}_turn']})"
        reason = f": {row[f'{side}_reason']}" if row[f"{side}_reason"] else ""
        said = f"{side} says {row['question']} {_SAYS[row[side]]}{turn}{reason}"
        yield from _wrap(said, first="     ", rest="       ")


def _outcomes(outcomes: OutcomeDifference) -> list[str]:
    lines = _wrap(
        f"Of {outcomes.common} calls in both runs {outcomes.n} are decided in both "
        f"(open or excluded: {outcomes.first_undecided} in the first, "
        f"{outcomes.second_undecided} in the second)."
    )
    if not outcomes.n:
        return lines
    flipped = len(outcomes.flipped)
    lines += _wrap(
        f"Their outcome differs on {flipped}: {outcomes.first_only} pass only under the first, "
        f"{outcomes.second_only} only under the second. Score over these {outcomes.n}: "
        f"{_share(outcomes.first).strip()} and {_share(outcomes.second).strip()}."
    )
    for name in outcomes.flipped:
        lines += _wrap(name, first="  ", rest="    ")
    return lines


def ranking_lines(ranking: Ranking) -> list[str]:
    """Return a ranking as lines of text, outside text escaped."""
    names = ("judge-free", "transcript-only")
    lines = [f"{'':<{_RUN_COLUMNS}}     n  score  judge-free  transcript"]
    for run in ranking.runs:
        shown = clip_columns(escape_terminal(run.agent), _RUN_COLUMNS - 1)
        gap = " " * (_RUN_COLUMNS - display_width(shown))
        free, text = (_points(run.readings.get(name)) for name in names)
        lines.append(f"{shown}{gap}{run.n:>6} {run.score:>6.1f} {free:>11} {text:>11}")
    lines += ["", f"{'Reading, beside the score':<{_RUN_COLUMNS}} runs    rho  mean difference"]
    for reading in ranking.readings:
        rho = "inconcl." if reading.rho is None else f"{reading.rho:.2f}"
        gap_text = NOTHING if reading.difference is None else f"{reading.difference:+.1f}"
        lines.append(f"  {reading.name:<{_RUN_COLUMNS - 2}} {reading.n:>4} {rho:>8} {gap_text:>14}")
    if ranking.failed:
        share = 100 * ranking.audio_only / ranking.failed
        lines += [
            "",
            *_wrap(
                f"{ranking.audio_only} of {ranking.failed} failed calls ({share:.0f} %) fail on "
                "audio-derived events alone."
            ),
        ]
    lines += [
        "",
        *_wrap(
            "rho: Spearman's rank correlation with the score over the runs that have the reading; "
            "inconcl. = fewer than three of them, or all equal. Few runs leave a wide margin.",
            rest="",
        ),
    ]
    return lines


def _points(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"
