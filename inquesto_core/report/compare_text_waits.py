"""How long callers wait under both agents: measured waits, and below them what platforms report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.compare.barge_in_pairs import ATTEMPT
from inquesto_core.report.compare_figures import (
    NO_ANSWER,
    UNSURE,
    interval_words,
    milliseconds,
    points,
    signed,
    wait_words,
)
from inquesto_core.report.compare_text_answers import clusters_words, plural
from inquesto_core.report.escape import clip_columns, escape_terminal, wrap_columns
from inquesto_core.report.terminal import NOTHING, WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.compare.latency_pairs import WaitDifference
    from inquesto_core.compare.run_comparison import RunComparison
    from inquesto_core.compare.stage_pairs import StageDifference

__all__ = ["figure_row", "wait_lines"]

_NAME = 24
_MEDIAN = 0.5
_QUANTILES = {_MEDIAN: "median", 0.95: "p95"}
_GROUPS = {
    "all": "all waits",
    "with_tool": "waits in which a tool ran",
    "without_tool": "waits in which no tool ran",
}
#: Beside a quantile that falls on a wait without an answer.
_MARK = "*"
_BARGE_INS = {ATTEMPT: "barge-ins", "backchannel": "backchannels"}
#: Of the waits with a tool, how long it ran and how long they were beside it.
_PARTS = {"in_tool": "in the tool, median", "beside_tool": "beside it, median"}


def figure_row(
    name: str, cells: tuple[str, str], shown: str, *, indent: int = 3, width: int = _NAME
) -> str:
    """Return a line of a table: a name, the figures of A and B, and their difference."""
    a, b = cells
    left = f"{' ' * indent}{name}"
    return clip_columns(f"{left:<{width + 3}}{a:>10}{b:>10}   {shown}".rstrip(), WIDTH)


def wait_lines(found: RunComparison) -> list[str]:
    """Return the table of waits, of talk-overs, and of what is not in it."""
    lines = [figure_row("", ("A", "B"), "B − A, ms or points (95 % CI)")]
    for wait in found.waits:
        lines += _waits(wait, of_calls=found.waits_of == "calls")
    for mean in found.conduct:
        cells = [NOTHING if each is None else f"{100 * each:.1f} %" for each in (mean.a, mean.b)]
        shown = interval_words(mean.difference, points)
        lines.append("   how often the agent begins while the caller speaks")
        lines.append(figure_row("of its turns", (cells[0], cells[1]), shown, indent=5))
    lines += _barge_ins(found)
    for note in _notes(found, "\n".join(lines)):
        lines += _wrap(note)
    return lines + _stage_lines(found)


def _waits(wait: WaitDifference, *, of_calls: bool) -> Iterator[str]:
    if wait.kind in _PARTS:
        middle = next(each for each in wait.quantiles if each.share == _MEDIAN)
        cells = (wait_words(middle.a), wait_words(middle.b))
        shown = interval_words(middle.difference, milliseconds)
        yield figure_row(_PARTS[wait.kind], cells, shown, indent=5)
        return
    group = "each call's median wait" if of_calls else _GROUPS[wait.kind]
    counts = [str(wait.n_a), str(wait.n_b)]
    if wait.cut_short is not None and any(wait.cut_short):
        cut = zip(counts, wait.cut_short, strict=True)
        counts = [f"{count} + {more} cut short" for count, more in cut]
    unit = " calls" if of_calls else ""
    yield f"   {group} (A {counts[0]}, B {counts[1]}{unit})"
    for each in wait.quantiles:
        cells = (wait_words(each.a), wait_words(each.b))
        shown = interval_words(each.difference, milliseconds)
        name = _QUANTILES[each.share] + (_MARK if NO_ANSWER in cells else "")
        yield figure_row(name, cells, shown, indent=5)
    if not of_calls:
        cells = (f"{wait.unanswered_a}/{wait.n_a}", f"{wait.unanswered_b}/{wait.n_b}")
        shown = interval_words(wait.unanswered, points)
        yield figure_row("without any answer", cells, shown, indent=5)


def _barge_ins(found: RunComparison) -> Iterator[str]:
    if found.barge_ins:
        yield "   how often the agent yields to a caller who begins while it speaks"
    for each in found.barge_ins:
        cells = (f"{each.yielded_a}/{each.n_a}", f"{each.yielded_b}/{each.n_b}")
        # Barge-ins are few: tenths of a point would say more than they know.
        shown = interval_words(each.difference, lambda value: signed(value, 0.01, 0))
        yield figure_row(_BARGE_INS.get(each.kind, each.kind), cells, shown, indent=5)


def _notes(found: RunComparison, table: str) -> Iterator[str]:
    yield (
        "A wait is measured in the recording, from when the caller stops to when the agent is "
        "heard; one in twenty is longer than p95."
    )
    is_lost = any(wait.unanswered_a or wait.unanswered_b for wait in found.waits)
    if is_lost and found.slow_turns is not None and found.waits_of == "turns":
        yield (
            "A wait without any answer is a slow_turn too (2): the caller waited for longer than "
            "its limit, and no reply came."
        )
    if NO_ANSWER in table or "no limit" in table or is_lost:
        yield (
            "A wait without any answer counts as longer than all others; 'no limit' is the end of "
            "an interval that reaches one."
        )
    if NO_ANSWER in table:
        yield (
            f"{_MARK} '{NO_ANSWER}': so many of these waits were never answered that the figure "
            "falls on one of them (for p95, one in twenty), which has no length."
        )
    if found.barge_ins:
        yield ("To a barge-in it should yield; over a backchannel ('mm-hm') it may speak on.")
    if UNSURE in table:
        yield f"'{UNSURE}': too few {clusters_words(found)} to rely on the interval."
    if found.censored is not None and any(found.censored):
        a, b = found.censored
        yield (
            f"Cut short: {plural(a, 'wait')} of A and {b} of B that the call ended in, so that "
            "nobody knows whether an answer would have come. They are in no figure here."
        )
    if found.waits_of == "calls" and found.waits[0].n_a + found.waits[0].n_b:
        yield (
            "Runs in partitions keep no single waits: each call counts with the median of its own, "
            "and one with as many unanswered turns as answered ones as unanswered."
        )


def _stage_lines(found: RunComparison) -> list[str]:
    if not found.stages:
        return []
    first = found.stages[0]
    sides = [
        f"{letter}: {' and '.join(sources) or 'nothing'}, of {calls} of {found.outcomes.n} calls"
        for letter, sources, calls in (
            ("A", first.sources_a, first.calls_a),
            ("B", first.sources_b, first.calls_b),
        )
    ]
    lines = ["", "   Stages of an answer, as the platform reports them; not measured here"]
    lines += _wrap(f"Reported by {'; '.join(sides)}.")
    lines.append(figure_row("", ("A", "B"), "B − A, ms (95 % CI)"))
    for stage in found.stages:
        lines += _stage(stage)
    if not first.is_comparable:
        lines += _wrap(
            "No difference is given: platforms begin and end these stages at different moments, "
            "so that only figures of one and the same platform can be compared."
        )
    lines += _wrap("They need not add up to the wait, and may overlap. No gate reads them.")
    return lines


def _stage(stage: StageDifference) -> Iterator[str]:
    yield f"   {stage.stage} (n: A {stage.n_a}, B {stage.n_b})"
    for each in stage.quantiles:
        cells = (wait_words(each.a), wait_words(each.b))
        shown = interval_words(each.difference, milliseconds) if stage.is_comparable else NOTHING
        yield figure_row("median" if each.share == _MEDIAN else "p95", cells, shown, indent=5)


def _wrap(text: str) -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first="   ", rest="   ")
