"""The answers to a release's questions, a sentence or two each, before any table.

An answer says *yes* or *no* only where the interval of the difference does not hold 0. What was
counted more often and may be chance is said with both: the counts, and that they may be chance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from inquesto_core.compare.bootstrap import LEAST_CLUSTERS
from inquesto_core.compare.repeats import zero_failure_bound
from inquesto_core.report.compare_figures import (
    is_above,
    is_below,
    points,
    signed,
    wait_words,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.compare.bootstrap import Estimate
    from inquesto_core.compare.cost_pairs import CostDifference
    from inquesto_core.compare.run_comparison import RunComparison

__all__ = [
    "cause_words",
    "clusters_words",
    "cost_answer",
    "critical_answer",
    "critical_names",
    "moved_answer",
    "plural",
    "responsive_answer",
    "success_answer",
]

_SHOWN_CAUSES = 4


def plural(count: int, word: str) -> str:
    """Return a count with its word: ``1 call``, ``2 calls``."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def clusters_words(found: RunComparison) -> str:
    """Return what is drawn again, in the plural."""
    return "scenarios" if found.cluster == "scenario_id" else f"values of {found.cluster}"


def _why(found: RunComparison, estimate: Estimate) -> str:
    return (estimate.inconclusive or "").replace("clusters", clusters_words(found))


def _span(estimate: Estimate) -> str:
    """Return a difference of two shares with its interval."""
    text = f"{points(estimate.value)} points"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text}, 95 % CI {points(estimate.low)} to {points(estimate.high)}"


def success_answer(found: RunComparison) -> str:
    """Return whether more calls pass."""
    counts, score = found.outcomes, found.score
    if score.value is None:
        return "Cannot tell: there is nothing to compare."
    told = f"A passes {counts.passed_a}, B {counts.passed_b} of the {counts.n} calls"
    if score.inconclusive is not None:
        return f"Cannot tell ({_why(found, score)}). {told}."
    if is_above(score):
        return f"Yes. {told} ({_span(score)})."
    if is_below(score):
        return f"No, it fell. {told} ({_span(score)})."
    low, high = points(score.low), points(score.high)
    return f"Not shown. {told}; anything from {low} to {high} points fits these calls."


def critical_names(found: RunComparison) -> str:
    """Return the severities above the failing one, as they are named."""
    levels = sorted(level for level in found.critical if level > found.fail_at)
    return " or ".join(f"S{level}" for level in levels)


def critical_answer(found: RunComparison) -> str:
    """Return whether more calls have a critical error, and of which kind there are new ones."""
    calls = found.critical_calls
    if not critical_names(found):
        return "The protocol has no events above the failing severity."
    told = f"{calls.a} → {plural(calls.b, 'call')} of {calls.n} with one"
    parts = [_critical_claim(found, told)]
    rows = [row for row in found.severities.to_dicts() if row["severity"] > found.fail_at]
    for row in rows:
        level, moved = row["severity"], found.critical[row["severity"]]
        if is_above(moved) and not is_above(calls.difference):
            parts.append(f"S{level} rose: {row['a']} → {row['b']} calls.")
    worst = next((row for row in rows if row["appeared"]), None)
    if worst is not None:
        has = "has" if worst["appeared"] == 1 else "have"
        parts.append(
            f"{plural(worst['appeared'], 'call')} {has} an S{worst['severity']} error under B and "
            "none under A."
        )
    if calls.open:
        parts.append(f"In {plural(calls.open, 'pair')} nobody can tell.")
    return " ".join(parts)


def _critical_claim(found: RunComparison, told: str) -> str:
    calls, moved = found.critical_calls, found.critical_calls.difference
    if calls.a == calls.b == 0:
        bound = zero_failure_bound(calls.n)
        rest = (
            "" if bound is None else f", which leaves up to {100 * bound['exact']:.1f} % possible"
        )
        return f"None was seen under either in {plural(calls.n, 'call')}{rest}."
    if is_above(moved):
        return f"Yes: {told} ({_span(moved)})."
    if is_below(moved):
        return f"No, they fell: {told} ({_span(moved)})."
    if calls.a == calls.b:
        return f"No more than before: {told}."
    kind = "more" if calls.b > calls.a else "fewer"
    if moved.inconclusive is not None and moved.clusters < LEAST_CLUSTERS:
        return f"Cannot tell ({_why(found, moved)}): {told}."
    return f"Not shown: {kind} were seen, but that may be chance: {told} ({_span(moved)})."


def responsive_answer(found: RunComparison) -> str:
    """Return whether callers wait longer, remain unanswered, or are talked over more."""
    wait = found.waits[0]
    moves = [*_wait_moves(found), *_conduct_moves(found)]
    better = [text for way, text in moves if way < 0]
    worse = [text for way, text in moves if way > 0]
    fact = ""
    if wait.unanswered_a != wait.unanswered_b and not _way(wait.unanswered):
        fact = (
            f" Waits without any answer: {wait.unanswered_a} of {wait.n_a} → {wait.unanswered_b} "
            f"of {wait.n_b}, which may be chance."
        )
    if all(each.difference.inconclusive is not None for each in wait.quantiles) and not moves:
        return f"Cannot tell ({_why(found, wait.quantiles[0].difference)}).{fact}"
    if better and worse:
        return f"In part. Better: {', '.join(better)}. Worse: {', '.join(worse)}.{fact}"
    if worse:
        return f"No: {', '.join(worse)}.{fact}"
    if better:
        return f"Yes, and better: {', '.join(better)}.{fact}"
    return f"No change is shown.{fact}"


def _way(estimate: Estimate) -> int:
    """Return -1 or 1 where a difference is surely below or above 0, else 0."""
    return int(is_above(estimate)) - int(is_below(estimate))


def _wait_moves(found: RunComparison) -> list[tuple[int, str]]:
    wait = found.waits[0]
    moves = []
    for each in wait.quantiles:
        way = _way(each.difference)
        name = "median wait" if each.share == 0.5 else "slowest twentieth of waits (p95)"
        moves.append((way, f"{name} {wait_words(each.a)} → {wait_words(each.b)}"))
    change = f"waits without any answer {wait.unanswered_a} → {wait.unanswered_b}"
    return [*moves, (_way(wait.unanswered), change)]


def _conduct_moves(found: RunComparison) -> list[tuple[int, str]]:
    moves = []
    for each in found.conduct:
        if each.a is not None and each.b is not None:
            change = f"{100 * each.a:.1f} → {100 * each.b:.1f} % of its turns"
            moves.append((_way(each.difference), f"it talks over callers in {change}"))
    return moves


def cost_answer(found: RunComparison) -> str:
    """Return what became of cost; where none is told, of the time on the line."""
    if found.costs:
        return " ".join(map(_cost_claim, found.costs))
    spent = found.effort[0]
    text = "Not told (give --costs or --bundles)."
    if spent.a is None or spent.b is None:
        return text
    change = f"{spent.a / 1000:.1f} → {spent.b / 1000:.1f} s"
    way = {-1: "Calls are shorter", 0: "Calls are about as long", 1: "Calls are longer"}
    text += f" {way[_way(spent.difference)]} ({change})"
    per_pass = [
        mean * found.outcomes.n / passed / 1000 if passed else math.inf
        for mean, passed in (
            (spent.a, found.outcomes.passed_a),
            (spent.b, found.outcomes.passed_b),
        )
    ]
    if all(map(math.isfinite, per_pass)):
        text += f"; for each call that passes, {per_pass[0]:.1f} → {per_pass[1]:.1f} s are spent"
    return f"{text}."


def _cost_claim(cost: CostDifference) -> str:
    """Return what became of a call's cost, in a sentence."""
    unit, found = cost.currency or "(no currency)", cost.difference
    moved = f"a call costs {cost.a:.4f} → {cost.b:.4f} {unit}"
    if cost.per_pass_a is not None and cost.per_pass_b is not None:
        moved += f", one that passes {cost.per_pass_a:.4f} → {cost.per_pass_b:.4f}"
    if found.low is None and found.clusters >= LEAST_CLUSTERS:
        return f"Alike in every cluster: {moved}."
    if found.inconclusive:
        return f"Cannot tell ({found.inconclusive}): {moved}."
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return f"Not shown to have changed: {moved}."
    low, high = (signed(each, 1, 4) for each in (found.low, found.high))
    way = "It rose" if found.low > 0 else "It fell"
    return f"{way}: {moved} (a call {signed(found.value, 1, 4)}, 95 % CI {low} to {high})."


def moved_answer(found: RunComparison) -> str:
    """Return how many calls broke and were fixed, and by what most."""
    counts = found.outcomes
    text = (
        f"{counts.broken} broken (passed under A, fail under B), {counts.fixed} fixed (the "
        f"reverse); {counts.still_failing} fail under both."
    )
    causes = cause_words(found, "broken", most=_SHOWN_CAUSES)
    return f"{text} Broken by: {causes}." if causes else text


def cause_words(found: RunComparison, outcome: str, *, most: int | None = None) -> str:
    """Return what calls broke or were fixed by, each call under its gravest cause."""
    rows = found.causes.filter(found.causes["outcome"] == outcome).select("cause", "n").rows()
    shown = rows if most is None else rows[:most]
    text = ", ".join(f"{_cause_name(cause)} {count}" for cause, count in shown)
    rest = sum(count for _, count in rows[len(shown) :])
    return f"{text}, other causes {rest}" if rest else text


_CAUSES: Mapping[str | None, str] = {
    None: "nothing that is told",
    "goal": "goal not reached, without such an event",
    "agent_fault": "the agent's side broke the call off",
}


def _cause_name(cause: str | None) -> str:
    return _CAUSES.get(cause) or str(cause).replace("_", " ")
