"""A comparison as a person reads it: the questions of a release, answered on the first screen.

The answers stand together first, a sentence or two each; the tables that they are made of stand
below under the same numbers. Plain text of at most 80 columns. Every difference is B minus A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.compare.repeats import zero_failure_bound
from inquesto_core.report.calibration_text import judge_errors
from inquesto_core.report.compare_figures import (
    estimate_words,
    interval_words,
    is_above,
    is_below,
    points,
    signed,
)
from inquesto_core.report.compare_text_answers import (
    clusters_words,
    cost_answer,
    critical_answer,
    critical_names,
    currency_words,
    moved_answer,
    plural,
    reason_words,
    responsive_answer,
    success_answer,
)
from inquesto_core.report.compare_text_calls import moved_lines
from inquesto_core.report.compare_text_slices import repeat_lines, slice_lines
from inquesto_core.report.compare_text_waits import figure_row, wait_lines
from inquesto_core.report.escape import clip_columns, display_width, escape_terminal, wrap_columns
from inquesto_core.report.regression_text import checked_lines
from inquesto_core.report.terminal import NOTHING, WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from inquesto_core.compare.bootstrap import Estimate
    from inquesto_core.compare.cost_pairs import CostDifference
    from inquesto_core.compare.gates import GatesVerdict
    from inquesto_core.compare.run_comparison import RunComparison

__all__ = ["comparison_lines", "gate_lines"]

_COUNTED = 23
_COST_NAME = 18
_GATE_MARKS = {"passed": "holds", "failed": "FAILS", "undecided": "OPEN"}
#: Why a call has no partner, after "its partner".
_PARTNERS = {
    "absent": "was never made",
    "excluded": "is excluded",
    "not_evaluated": "could not be evaluated",
}


def comparison_lines(
    found: RunComparison,
    *,
    moved: pl.DataFrame,
    details: Mapping[str, Mapping[str, Mapping[str, Any]]],
    severity: Mapping[str, int],
) -> list[str]:
    """Return a comparison as lines of text, outside text escaped.

    Parameters
    ----------
    moved : polars.DataFrame
        The calls to show: ``listed``, in which list; ``of``, how many that list has; ``outcome``,
        and ``appeared``, ``went`` and ``stayed``, what fails them on which side.
    details : mapping
        By side and call id: ``events`` and ``goal`` of these calls.
    severity : mapping of event type to severity
    """
    parts = [
        _heading(found),
        _answers(found),
        _success(found),
        _critical(found),
        ["3. Waits", *wait_lines(found)],
        _cost(found),
        ["5. Calls that moved, or fail under both", *moved_lines(found, moved, details, severity)],
        slice_lines(found),
        repeat_lines(found),
        _corrected(found),
        _regressions(found),
        _apart(found),
        _method(found),
    ]
    lines: list[str] = []
    for part in filter(None, parts):
        lines += [*([""] if lines else []), *part]
    return lines


def _wrap(text: str, *, first: str = "   ", rest: str = "     ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)


def _heading(found: RunComparison) -> list[str]:
    lines = []
    for letter, side in (("A", found.a), ("B", found.b)):
        lines += _wrap(f"{side.agent}, of {side.run}", first=f"{letter}  ", rest="   ")
    text = (
        f"{plural(found.outcomes.n, 'pair')} of calls: the same scenario, condition, speaker group "
        "and trial under both. Every figure is of these pairs"
    )
    left = [
        f"{plural(n, 'call')} of {side.upper()} {'is' if n == 1 else 'are'} left out: "
        f"{'its' if n == 1 else 'their'} partner in {'B' if side == 'a' else 'A'} "
        f"{_PARTNERS.get(reason, reason)}"
        for side, reason, n, _ in found.pairing.left_out.iter_rows()
    ]
    lines += _wrap(". ".join([text, *left]) + ".", first="", rest="")
    for note in found.notes:
        lines += _wrap(f"note: {note}", first="", rest="  ")
    return lines


def _answers(found: RunComparison) -> list[str]:
    """Return each question with its answer."""
    names = critical_names(found)
    critical = f"Did critical errors ({names}) increase?" if names else "Critical errors?"
    corrected = found.corrected
    success = success_answer(found)
    if corrected is not None and corrected.difference.value is not None:
        difference = corrected.difference
        about = f"about {points(difference.value)} points, an estimate"
        if not is_above(difference) and not is_below(difference):
            about += " that may be chance"
        success += f" Corrected for the judge's errors {about} (see 8)."
    asked = [
        ("Did task success improve?", success),
        (critical, critical_answer(found)),
        ("Did the conversation stay responsive?", responsive_answer(found)),
        ("What happened to cost?", cost_answer(found)),
        ("Which calls moved?", moved_answer(found)),
    ]
    lines = []
    for number, (question, answer) in enumerate(asked, start=1):
        lines.append(f"{number}. {question}")
        lines += _wrap(answer, rest="   ")
    return lines


def _success(found: RunComparison) -> list[str]:
    counts = found.outcomes
    lines = ["1. Success"]
    lines += _wrap(
        f"Calls that pass (goal reached, nothing of severity S{found.fail_at} or above): "
        f"A {counts.passed_a}, B {counts.passed_b} of {counts.n}; "
        f"B − A {_estimate(found, found.score)}."
    )
    lines += _wrap(
        f"Goal reached, whatever else happened: A {found.goal_a}, B {found.goal_b} of "
        f"{found.goal_n}; B − A {_estimate(found, found.goal)}."
    )
    p_value = "below 0.001" if found.mcnemar_p < 0.001 else f"{found.mcnemar_p:.3f}"
    lines += _wrap(
        f"Fixed {counts.fixed}, broken {counts.broken}, still failing {counts.still_failing}, "
        f"still passing {counts.still_passing}. McNemar's exact p is {p_value}; it takes all calls "
        "as independent, the interval does not."
    )
    if found.bounds is not None:
        low, high = (points(each) for each in found.bounds)
        has, one = ("has", "one") if found.left_out == 1 else ("have", "ones")
        lines += _wrap(
            f"{plural(found.left_out, 'call')} {has} no partner. Had the missing {one} come out as "
            f"badly for B as can be, the difference would be {low} points; as well as can be, "
            f"{high}."
        )
    return lines


def _estimate(found: RunComparison, estimate: Estimate) -> str:
    return reason_words(found, estimate_words(estimate, points, "points"))


def _critical(found: RunComparison) -> list[str]:
    lines = ["2. Errors, by severity (S5 is the gravest)"]
    width = max(6, 1 + len(str(int(found.severities["a", "b"].to_numpy().max(initial=0)))))
    titles = "".join(f"{title:>{width}}" for title in ("A", "B", "new", "gone"))
    lines.append(f"   {'calls with':<{_COUNTED}}{titles}   B − A, points (95 % CI)")
    names, calls = critical_names(found), found.critical_calls
    if " or " in names:
        row = {name: getattr(calls, name) for name in ("a", "b", "appeared", "went")}
        lines.append(_counts(f"any {names}", row, interval_words(calls.difference, points), width))
    for row in found.severities.to_dicts():
        level = row["severity"]
        shown = interval_words(found.critical[level], points)
        lines.append(_counts(f"any S{level}", row, shown, width))
        lines += [
            _counts(f"- {event['event']}", event, "", width)
            for event in found.events.filter(found.events["severity"] == level).to_dicts()
            if event["a"] or event["b"] or event["open"]
        ]
    lines += _wrap("new: under B and not under A; gone: the reverse.")
    for row in found.severities.filter(found.severities["severity"] > found.fail_at).to_dicts():
        lines += _zero(row, found.outcomes.n)
    return lines


def _counts(name: str, row: Mapping[str, Any], shown: str, width: int) -> str:
    cells = "".join(f"{row[key]:>{width}}" for key in ("a", "b", "appeared", "went"))
    shown_name = clip_columns(escape_terminal(name), _COUNTED - 1)
    gap = " " * (_COUNTED - display_width(shown_name))
    return f"   {shown_name}{gap}{cells}   {shown}".rstrip()


def _zero(row: Mapping[str, Any], n: int) -> Iterator[str]:
    sides = [letter for letter, key in (("A", "a"), ("B", "b")) if row[key] == 0]
    bound = zero_failure_bound(n)
    if sides and bound is not None and not row["open"]:
        exact, rule = (f"{100 * bound[key]:.1f} %" for key in ("exact", "rule_of_three"))
        yield from _wrap(
            f"No S{row['severity']} in {n} calls of {' or '.join(sides)} does not prove that there "
            f"are none: up to {exact} of calls may have one (rule of three: {rule}; both take "
            "calls as independent)."
        )


def _cost(found: RunComparison) -> list[str]:
    is_told = "no cost is told" if found.priced is None else "no cost can be compared"
    lines = ["4. Cost" if found.costs else f"4. Time on the line ({is_told})"]
    for cost in found.costs:
        lines += _cost_rows(cost, found.outcomes.n)
    if found.costs and found.priced is not None and found.priced.two_currencies:
        two = plural(found.priced.two_currencies, "pair")
        lines += _wrap(f"Left out: {two} with another currency under B than under A.")
    lines.append(figure_row("", ("A", "B"), "B − A (95 % CI)"))
    for mean in found.effort:
        cells = [NOTHING if each is None else f"{each / 1000:.1f}" for each in (mean.a, mean.b)]
        shown = interval_words(mean.difference, lambda value: signed(value, 1000, 1))
        lines.append(figure_row(mean.name, (cells[0], cells[1]), shown))
    return lines + _wrap("seconds for each pass: those of all calls, by the calls that pass.")


def _cost_rows(cost: CostDifference, n: int) -> list[str]:
    unit = currency_words(cost.currency)
    lines = [figure_row(unit, ("A", "B"), "B − A (95 % CI)", width=_COST_NAME)]
    for name, pair, difference in (
        ("a call", (cost.a, cost.b), cost.difference),
        ("for each pass", (cost.per_pass_a, cost.per_pass_b), cost.per_pass),
    ):
        cells = [NOTHING if each is None else f"{each:.4f}" for each in pair]
        shown = interval_words(difference, lambda value: signed(value, 1, 4))
        lines.append(figure_row(name, (cells[0], cells[1]), shown, width=_COST_NAME))
    if cost.pairs < n:
        lines += _wrap(f"The cost of {cost.pairs} of {n} pairs is told in it.")
    return lines


def _corrected(found: RunComparison) -> list[str]:
    """Return both scores as labels correct them; an estimate."""
    corrected = found.corrected
    if corrected is None:
        return []
    lines = ["8. If the judge errs: an estimate, which nothing above uses"]
    sides = [("A and B", corrected.a)] if corrected.is_shared else []
    for letter, side in sides or (("A", corrected.a), ("B", corrected.b)):
        run = found.a.run if side.calls_of == "a" else found.b.run
        whose = f"labels of {side.labeller} on calls of {run}"
        lines += _wrap(f"{letter}, by {whose}: {judge_errors(side.calibration)}")
    for letter, side in (("A", corrected.a), ("B", corrected.b)):
        score = side.score
        text = f"{letter}: as judged {100 * score.passed / score.n:.1f} % of {score.n}"
        if score.value is None or score.low is None or score.high is None:
            text += f"; not corrected: {score.refused}"
        else:
            text += f"; corrected about {100 * score.value:.1f} %"
            text += f" (95 % CI {100 * score.low:.1f} to {100 * score.high:.1f})"
        if score.is_cut:
            text += "; it left 0 to 100 % and was cut: score and labels do not fit together"
        lines += _wrap(f"{text}.")
    if corrected.difference.value is not None:
        shown = _estimate(found, corrected.difference)
        lines += _wrap(f"B − A, corrected: about {shown}.")
    return lines


def _regressions(found: RunComparison) -> list[str]:
    if found.regressions is None:
        return []
    a, b = zip(*found.regressions, strict=True) if found.regressions else ((), ())
    return checked_lines(a, b)


def _apart(found: RunComparison) -> list[str]:
    """Return the records of both runs, whose calls may be others than the pairs."""
    lines = ["Each run by itself, with all of its calls, paired or not"]
    for letter, side in (("A", found.a), ("B", found.b)):
        lines += _wrap(side.citation, first=f"   {letter}  ", rest="      ")
    return lines


def _method(found: RunComparison) -> list[str]:
    how = found.resampling
    return _wrap(
        f"95 % CI: {found.clusters} {clusters_words(found)} are drawn again {how.resamples:,} "
        f"times with all their calls and trials, studentised, seed {how.seed}. The true difference "
        "over calls like these lies within it in 95 of 100 such comparisons; it says nothing of "
        "other callers.",
        first="",
        rest="",
    )


def gate_lines(verdict: GatesVerdict) -> list[str]:
    """Return what each gate says, and the sentence that decides."""
    lines = ["Gates, in order"]
    for each in verdict.results:
        text = f"{each.gate.name}: {each.sentence}."
        if each.state == "undecided":
            text += " This gate lets that pass." if each.holds else " That stops a release."
        lines += _wrap(text, first=f"  {_GATE_MARKS[each.state]:<5} ", rest="          ")
    failed = verdict.first_failed
    if failed is None:
        lines += _wrap("B may replace A, as far as these gates see.", first="", rest="")
    else:
        why = "is not met" if failed.state == "failed" else "cannot be decided"
        text = f"B does not replace A: the gate '{failed.gate.name}' {why}: {failed.sentence}."
        lines += _wrap(text, first="", rest="  ")
    return lines
