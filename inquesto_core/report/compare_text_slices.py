"""Slices, the worst group and repeats of a comparison, as a person reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.compare.bootstrap import LEAST_CLUSTERS
from inquesto_core.compare.slices import LEAST_CALLS
from inquesto_core.report.compare_figures import UNSURE, estimate_words, interval_words, points
from inquesto_core.report.compare_text_answers import clusters_words, plural
from inquesto_core.report.escape import clip_columns, display_width, escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare.run_comparison import RunComparison
    from inquesto_core.compare.slices import SliceDifference, WorstGroup

__all__ = ["repeat_lines", "slice_lines"]

_NAME = 18
_SHOWN_SLICES = 40
_SHOWN_FLIPS = 3
_LEVEL = 0.05


def slice_lines(found: RunComparison) -> list[str]:
    """Return how many calls pass within each value of each column; nothing without columns."""
    if not found.slices:
        return []
    unit = "scen." if found.cluster == "scenario_id" else "clus."
    lines = [
        "6. Within which calls? Share of calls that pass, in percent",
        f"{'':<{5 + _NAME}}{'pairs':>6}{unit:>6}{'A':>6}{'B':>6}  B − A, points (95 % CI)",
    ]
    shown = found.slices[:_SHOWN_SLICES]
    for column in dict.fromkeys(each.column for each in shown):
        own = [each for each in shown if each.column == column]
        lines.append(f"   by {escape_terminal(column)}")
        lines += map(_slice, own)
        lines += _moves(own)
    if len(found.slices) > _SHOWN_SLICES:
        lines.append(f"   and {len(found.slices) - _SHOWN_SLICES} more: --json, or --out DIR")
    lines += [line for gap in found.worst for line in _worst(gap)]
    return lines + _wrap(_legend(found))


def _moves(own: Sequence[SliceDifference]) -> list[str]:
    """Return how many calls broke, were fixed, and fail under both, in each slice."""
    moves = ", ".join(
        f"{each.value} {each.broken}/{each.fixed}/{each.n - each.passed_a - each.fixed}"
        for each in own
    )
    text = f"broken/fixed/failing under both: {moves}"
    return wrap_columns(escape_terminal(text), WIDTH, first="     ", rest="       ")


def _legend(found: RunComparison) -> str:
    tested = sum(each.adjusted is not None for each in found.slices)
    text = ""
    if any(each.difference.inconclusive for each in found.slices):
        text = (
            f"{UNSURE} = inconclusive: fewer than {LEAST_CALLS} pairs or {LEAST_CLUSTERS} "
            f"{clusters_words(found)}, so that it says nothing by itself. "
        )
    if not tested:
        return f"{text}No slice is large enough to be tested."
    return f"{text}* = moved, after Holm's correction for {plural(tested, 'tested slice')}."


def _slice(each: SliceDifference) -> str:
    shown = clip_columns(escape_terminal(each.value), _NAME - 1)
    gap = " " * (_NAME - display_width(shown))
    rates = [f"{100 * (rate.value or 0):.1f}" for rate in (each.rate_a, each.rate_b)]
    mark = UNSURE if each.difference.inconclusive else ""
    if each.adjusted is not None and each.adjusted <= _LEVEL:
        mark = "*"
    words = interval_words(each.difference, points, mark=False)
    line = f"     {shown}{gap}{each.n:>6}{each.clusters:>6}{rates[0]:>6}{rates[1]:>6}  "
    return clip_columns(f"{line}{words} {mark}".rstrip(), WIDTH)


def _worst(gap: WorstGroup) -> list[str]:
    return _wrap(
        f"Worst {gap.column} under {gap.side.upper()}: {gap.value} with {100 * gap.rate:.1f} %, "
        f"the others {100 * gap.others:.1f} %; gap {estimate_words(gap.gap, points, 'points')}, "
        "widened because the worst was chosen.",
        rest="     ",
    )


def repeat_lines(found: RunComparison) -> list[str]:
    """Return how often repeated trials of one slot agree; nothing without repeats."""
    if not found.repeats:
        return []
    lines = ["7. Does the same call come out the same way again?"]
    for side, each in found.repeats.items():
        lines.append(f"   {side.upper()}: {each.trials} trials of {each.slots} slots")
        for rate in each.rates:
            name = "one trial passes" if rate.k == 1 else f"all of {rate.k} pass (pass^{rate.k})"
            text = f"     {name:<26}{100 * rate.all_pass:>6.1f} %"
            if rate.k > 1:
                text += f"   some of {rate.k}: {100 * rate.any_pass:.1f} % (no rate of success)"
            lines.append(text)
        flips = each.flips.filter(each.flips["flip_rate"] > 0).head(_SHOWN_FLIPS)
        for name, _, _, flip in flips.iter_rows():
            text = f"least steady: {name}, two trials disagree in {100 * flip:.0f} %"
            lines += wrap_columns(escape_terminal(text), WIDTH, first="     ", rest="       ")
    return lines


def _wrap(text: str, *, rest: str = "   ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first="   ", rest=rest)
