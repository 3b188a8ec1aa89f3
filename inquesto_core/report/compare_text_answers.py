"""The answers to a release's questions, a sentence or two each, before any table.

An answer says *yes* or *no* only where the interval of the difference does not hold 0. What was
counted more often and may be chance is said with both: the counts, and that they may be chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquesto_core.compare.barge_in_pairs import ATTEMPT
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
    from collections.abc import Iterable, Mapping

    from inquesto_core.compare.bootstrap import Estimate
    from inquesto_core.compare.cost_pairs import CostDifference
    from inquesto_core.compare.run_comparison import RunComparison

__all__ = [
    "cause_words",
    "cluster_word",
    "clusters_words",
    "cost_answer",
    "critical_answer",
    "critical_names",
    "currency_words",
    "moved_answer",
    "plural",
    "reason_words",
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


def cluster_word(found: RunComparison) -> str:
    """Return what is drawn again, one of it."""
    return "scenario" if found.cluster == "scenario_id" else f"value of {found.cluster}"


def reason_words(found: RunComparison, reason: str | None) -> str:
    """Return why a figure is inconclusive, with the name of what is drawn again."""
    text = (reason or "").replace("clusters", clusters_words(found))
    return text.replace("cluster", cluster_word(found))


def _why(found: RunComparison, estimate: Estimate) -> str:
    return reason_words(found, estimate.inconclusive)


def _chance(estimate: Estimate) -> str:
    """Return what has to be said beside a difference whose interval may hold 0."""
    return "" if estimate.value in (None, 0) or _way(estimate) else ", which may be chance"


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
        moved = found.critical[worst["severity"]]
        text = (
            f"{plural(worst['appeared'], 'call')} {has} an S{worst['severity']} error under B and "
            "none under A"
        )
        if not is_above(moved):
            span = "" if moved.low is None else f": {_span(moved)}"
            text += f", which may be chance ({worst['a']} → {worst['b']}{span})"
        parts.append(f"{text}.")
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
    better = [each.text for each in moves if each.way < 0]
    worse = [each.text for each in moves if each.way > 0]
    fact = _facts(moves)
    if all(each.difference.inconclusive is not None for each in wait.quantiles) and not (
        better or worse
    ):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """How something changed for callers.

    Parameters
    ----------
    way : int
        -1 surely better, 1 surely worse, 0 not sure.
    seen : int
        The same of the counts alone, whatever chance does.
    """

    way: int
    text: str
    seen: int = 0


def _counted(estimate: Estimate, text: str, *, more_is_better: bool = False) -> _Move:
    sign = -1 if more_is_better else 1
    value = estimate.value or 0.0
    return _Move(
        way=sign * _way(estimate), seen=sign * (int(value > 0) - int(value < 0)), text=text
    )


def _facts(moves: Iterable[_Move]) -> str:
    """Return what was counted more or less often and may be chance."""
    unsure = [each for each in moves if not each.way]
    text = ""
    for seen, name in ((1, "Worse"), (-1, "Better")):
        said = [each.text for each in unsure if each.seen == seen]
        if said:
            text += f" {name}, which may be chance: {', '.join(said)}."
    return text


def _wait_moves(found: RunComparison) -> list[_Move]:
    wait, slow = found.waits[0], found.slow_turns
    is_slower = wait.unanswered_b > wait.unanswered_a or (slow is not None and slow.b > slow.a)
    moves = []
    for each in wait.quantiles:
        way = _way(each.difference)
        name = "median wait" if each.share == 0.5 else "slowest twentieth of waits (p95)"
        # Waits that are too long or never answered are of that twentieth: it is not better.
        if each.share == 0.5 or way > 0 or not is_slower:
            moves.append(_Move(way=way, text=f"{name} {wait_words(each.a)} → {wait_words(each.b)}"))
    lost = (
        f"waits without any answer {wait.unanswered_a} of {wait.n_a} → {wait.unanswered_b} of "
        f"{wait.n_b}"
    )
    if slow is not None and found.waits_of == "turns":
        lost += " (slow turns, too)"
    moves.append(_counted(wait.unanswered, lost))
    if slow is not None:
        text = f"calls with a slow turn {slow.a} → {slow.b} of {slow.n}"
        moves.append(_counted(slow.difference, text))
    return moves


def _conduct_moves(found: RunComparison) -> list[_Move]:
    moves = []
    for each in found.conduct:
        if each.a is not None and each.b is not None:
            change = f"{100 * each.a:.1f} → {100 * each.b:.1f} % of its turns"
            moves.append(_counted(each.difference, f"it talks over callers in {change}"))
    for kind in found.barge_ins:
        if kind.kind == ATTEMPT:
            text = (
                f"barge-ins yielded to {kind.yielded_a} of {kind.n_a} → {kind.yielded_b} of "
                f"{kind.n_b}"
            )
            moves.append(_counted(kind.difference, text, more_is_better=True))
    return moves


def cost_answer(found: RunComparison) -> str:
    """Return what became of cost; where none is told, of the time on the line."""
    if found.costs:
        return " ".join(_cost_claim(found, each) for each in found.costs)
    spent, passed = found.effort[0], found.effort[-1]
    text = _no_cost(found)
    if spent.a is None or spent.b is None:
        return text
    change = f"{spent.a / 1000:.1f} → {spent.b / 1000:.1f} s"
    way = {-1: "Calls are shorter", 0: "Calls are about as long", 1: "Calls are longer"}
    text += f" {way[_way(spent.difference)]} ({change})"
    if passed.a is not None and passed.b is not None:
        text += (
            f"; for each call that passes, {passed.a / 1000:.1f} → {passed.b / 1000:.1f} s are "
            f"spent{_chance(passed.difference)}"
        )
    return f"{text}."


def _no_cost(found: RunComparison) -> str:
    """Return why no cost is told: what was found where one was looked for."""
    priced = found.priced
    if priced is None:
        return "Not told (give --costs or --bundles)."
    if not priced.told:
        return "Not told: what --costs or --bundles name holds no cost of any call."
    n = found.outcomes.n
    if not priced.pairs:
        return (
            f"Not told: 0 of {plural(n, 'pair')} are priced on both sides. Of "
            f"{plural(priced.told, 'call')} with a cost, {priced.calls_a} are A's of these pairs "
            f"and {priced.calls_b} B's."
        )
    a, b = (
        " and ".join(map(currency_words, names))
        for names in (priced.currencies_a, priced.currencies_b)
    )
    return (
        f"Not told: {priced.pairs} of {plural(n, 'pair')} are priced, none of them in one "
        f"currency (A {a}, B {b})."
    )


def currency_words(currency: str | None) -> str:
    """Return a currency as it stands behind a figure."""
    return currency or "(no currency is named)"


def _cost_claim(found: RunComparison, cost: CostDifference) -> str:
    """Return what became of a call's cost, in a sentence."""
    unit, difference = currency_words(cost.currency), cost.difference
    n, lead = found.outcomes.n, ""
    if cost.pairs < n:
        lead = f"{cost.pairs} of {plural(n, 'pair')} priced"
        lead += f" in {cost.currency}. " if cost.currency else " without a currency. "
    moved = f"a call costs {cost.a:.4f} → {cost.b:.4f} {unit}"
    if cost.per_pass_a is not None and cost.per_pass_b is not None:
        moved += (
            f", one that passes {cost.per_pass_a:.4f} → {cost.per_pass_b:.4f}"
            f"{_chance(cost.per_pass)}"
        )
    if difference.low is None and difference.clusters >= LEAST_CLUSTERS:
        return f"{lead}Alike in every {cluster_word(found)}: {moved}."
    if difference.inconclusive:
        return f"{lead}Cannot tell ({_why(found, difference)}): {moved}."
    low, high = (signed(each, 1, 4) for each in (difference.low, difference.high))
    if not _way(difference):
        return f"{lead}Not shown to have changed: {moved} (a call {low} to {high})."
    way = "It rose" if is_above(difference) else "It fell"
    value = signed(difference.value, 1, 4)
    return f"{lead}{way}: {moved} (a call {value}, 95 % CI {low} to {high})."


def moved_answer(found: RunComparison) -> str:
    """Return how many calls broke and were fixed, and by what most."""
    counts = found.outcomes
    text = (
        f"{counts.broken} broken (passed under A, fail under B), {counts.fixed} fixed (the "
        f"reverse); {counts.still_failing} fail under both."
    )
    causes = cause_words(found, "broken", most=_SHOWN_CAUSES)
    return f"{text} Broken by (a call counts once, by its gravest): {causes}." if causes else text


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
    "agent_fault": "agent fault (its side cut the call off)",
}


def _cause_name(cause: str | None) -> str:
    return _CAUSES.get(cause) or str(cause).replace("_", " ")
