"""The rules that a gate may have: what each finds in a comparison, with the sentence why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.bootstrap import LEAST_CLUSTERS
from inquesto_core.compare.latency_pairs import NEVER
from inquesto_core.compare.regression import FAILS, HOLDS, NOT_RUN, OPEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inquesto_core.compare.bootstrap import Estimate
    from inquesto_core.compare.run_comparison import RunComparison

__all__ = ["FAILED", "PASSED", "RULES", "UNDECIDED"]

PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"

Verdict = tuple[str, str]


def _state(holds: bool) -> str:
    return PASSED if holds else FAILED


def _calls(count: int) -> str:
    return f"{count} call" if count == 1 else f"{count} calls"


def _points(value: float) -> str:
    return f"{100 * value:+.1f} points".replace("-", "−")


def _least_paired(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    pairs, left = found.outcomes.n, found.left_out
    share = 100 * pairs / (pairs + left) if pairs + left else 0.0
    text = f"{pairs} pairs, {_calls(left)} without a partner: {share:.1f} % are paired"
    return _state(share >= options["percent"]), f"{text}; at least {options['percent']} % asked"


def _severity_rows(options: Mapping[str, Any], found: RunComparison) -> pl.DataFrame:
    return found.severities.filter(pl.col("severity") == options["severity"])


def _undecided_events(rows: pl.DataFrame) -> int:
    return int(rows["open"].sum())


def _no_new_events(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    rows, name = _severity_rows(options, found), f"S{options['severity']}"
    if rows.is_empty():
        return UNDECIDED, f"the protocol has no event of severity {name}"
    new = int(rows["appeared"].sum())
    if new:
        names = found.events.filter(
            (pl.col("severity") == options["severity"]) & (pl.col("appeared") > 0)
        )
        kinds = ", ".join(f"{event} {count}" for event, count in names["event", "appeared"].rows())
        return FAILED, f"{_calls(new)} with an {name} event under B and none under A: {kinds}"
    return _open_or_passed(rows, f"no call has an {name} event under B and none under A")


def _events_not_above(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    rows, name = _severity_rows(options, found), f"S{options['severity']}"
    if rows.is_empty():
        return UNDECIDED, f"the protocol has no event of severity {name}"
    a, b = int(rows["a"].sum()), int(rows["b"].sum())
    allowed = options.get("allow", 0)
    text = f"calls with an {name} event: {a} under A, {b} under B"
    if allowed:
        text += f"; {allowed} more are allowed"
    return (FAILED, text) if b > a + allowed else _open_or_passed(rows, text)


def _open_or_passed(rows: pl.DataFrame, text: str) -> Verdict:
    unknown = _undecided_events(rows)
    if unknown:
        return UNDECIDED, f"{text}; but in {_calls(unknown)} nobody can tell"
    return PASSED, text


def _score_not_below(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    margin, probability = options["margin_points"] / 100, options["probability"]
    score = found.score
    if score.value is None:
        return UNDECIDED, "no pair to compare scores on"
    text = f"score of B minus A: {_points(score.value)}"
    if score.inconclusive is not None:
        return UNDECIDED, f"{text}, inconclusive: {score.inconclusive}"
    # Without a moved pair there are no resamples: the exact interval's end stands in.
    bound = score.lower_bound(probability)
    bound = score.low if bound is None else bound
    if bound is None:
        return UNDECIDED, f"{text}, without an interval"
    claim = f"not below {_points(bound)} with probability {probability}"
    wanted = f"a loss of at most {100 * margin:.1f} points is accepted"
    return _state(bound >= -margin), f"{text}, {claim}; {wanted}"


def _latency(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    share = options["percentile"] / 100
    waits = next((each for each in found.waits if each.kind == options.get("turns", "all")), None)
    each = next((q for q in waits.quantiles if q.share == share), None) if waits else None
    if waits is None or each is None or each.b is None:
        return UNDECIDED, f"no wait of B to take p{options['percentile']} of"
    unit = "" if found.waits_of == "turns" else " of the calls' medians"
    text = f"p{options['percentile']}{unit} of the wait: A {_wait(each.a)}, B {_wait(each.b)}"
    if "max_ms" in options and each.b > options["max_ms"]:
        return FAILED, f"{text}; at most {options['max_ms']} ms asked"
    if "max_increase_ms" not in options:
        return PASSED, text
    return _increase(options, text, each, waits.n_a)


def _increase(options: Mapping[str, Any], text: str, each: Any, n_a: int) -> Verdict:
    """Return whether a quantile grows by no more than is accepted, surely enough."""
    if not n_a:
        return UNDECIDED, f"{text}; A has no wait to compare with"
    if each.a == NEVER:
        none = f"{text}: such a wait has no answer in either"
        return (PASSED, text) if each.b != NEVER else (FAILED, none)
    probability = options.get("probability", 0.95)
    bound = each.upper_bound(probability)
    if each.difference.inconclusive is not None or bound is None:
        return UNDECIDED, f"{text}, inconclusive: {each.difference.inconclusive}"
    claim = f"B − A is not above {_wait(bound)} with probability {probability}"
    if bound == NEVER:
        claim = "B − A has no upper limit: some of the slowest waits have no answer"
    wanted = f"{options['max_increase_ms']} ms more are accepted"
    return _state(bound <= options["max_increase_ms"]), f"{text}; {claim}; {wanted}"


def _wait(value: float | None) -> str:
    if value is None:
        return "–"
    return "no answer" if value == NEVER else f"{value:.0f} ms"


def _unanswered_not_above(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    waits = next((each for each in found.waits if each.kind == "all"), None)
    if waits is None or not waits.n_a or not waits.n_b:
        return UNDECIDED, "no wait of both sides"
    a, b = waits.unanswered_a / waits.n_a, waits.unanswered_b / waits.n_b
    text = f"waits without any answer: A {100 * a:.1f} %, B {100 * b:.1f} %"
    allowed = options.get("allow_points", 0)
    text += f"; at most {allowed} points more asked" if allowed else "; no more than under A asked"
    return _state(100 * (b - a) <= allowed), text


def _least_n(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    least, clusters = options["n"], options.get("clusters", 0)
    slices = [each for each in found.slices if each.column in options["by"]]
    small = [each for each in slices if each.n < least or each.clusters < clusters]
    what = "scenarios" if found.cluster == "scenario_id" else f"values of {found.cluster}"
    asked = f"{least} pairs" + (f" ({clusters} {what})" if clusters else "")
    if not slices:
        return UNDECIDED, "there is no slice to count"
    if not small:
        return PASSED, f"each of {len(slices)} slices has at least {asked}"
    shown = ", ".join(
        f"{each.column} {each.value} has {each.n} pairs of {each.clusters} {what}"
        for each in small[:5]
    )
    more = f", and {len(small) - 5} more" if len(small) > 5 else ""
    return FAILED, f"{shown}{more}; at least {asked} asked in each slice"


def _slices_not_worse(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    level = 1 - found.resampling.level
    slices = [each for each in found.slices if each.column in options["by"]]
    worse = [
        each
        for each in slices
        if each.adjusted is not None and each.adjusted <= level and (each.difference.value or 0) < 0
    ]
    if worse:
        shown = ", ".join(
            f"{each.column} {each.value} {_points(each.difference.value or 0)}" for each in worse
        )
        return FAILED, f"B is worse in {shown} (corrected for {len(slices)} slices)"
    open_slices = [each for each in slices if each.difference.inconclusive is not None]
    text = f"no slice of {len(slices)} is shown to be worse under B"
    if open_slices or not slices:
        names = ", ".join(f"{each.column} {each.value}" for each in open_slices[:5])
        return UNDECIDED, f"{text}; inconclusive: {names or 'all, as there is none'}"
    return PASSED, text


def _cost_not_above(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    costs = [
        each for each in found.costs if each.currency == options.get("currency", each.currency)
    ]
    if not costs:
        return UNDECIDED, "no cost is told" + (" in that currency" if found.costs else "")
    if len(costs) > 1:
        names = " and ".join(sorted(each.currency or "no currency" for each in costs))
        return UNDECIDED, f"costs are told in {names}: name one with currency"
    cost, n = costs[0], found.outcomes.n
    told = 100 * cost.pairs / n
    least = options.get("least_told_percent", 95)
    if told < least:
        return UNDECIDED, f"the cost of {told:.1f} % of pairs is told; at least {least} % asked"
    is_call = options.get("per", "call") == "call"
    a, b = (cost.a, cost.b) if is_call else (cost.per_pass_a, cost.per_pass_b)
    what, unit = "a call" if is_call else "a passed call", cost.currency or "(no currency)"
    if b is None:
        return UNDECIDED, "no call passes under B: there is no cost of a passed call"
    shown = "–" if a is None else f"{a:.4f}"
    text = f"cost of {what}: A {shown}, B {b:.4f} {unit}"
    if "max_cost" in options and b > options["max_cost"]:
        return FAILED, f"{text}; at most {options['max_cost']} asked"
    if "max_increase_percent" not in options:
        return PASSED, text
    return _cost_increase(options, text, a, cost.difference if is_call else cost.per_pass)


def _cost_increase(
    options: Mapping[str, Any], text: str, a: float | None, difference: Estimate
) -> Verdict:
    """Return whether a cost grows by no more than is accepted, surely enough."""
    if a is None or difference.value is None:
        return UNDECIDED, f"{text}; A has none to compare with"
    probability = options.get("probability", 0.95)
    bound = difference.upper_bound(probability)
    if bound is None and difference.clusters >= LEAST_CLUSTERS:
        bound = difference.value  # it is the same in every cluster
    elif difference.inconclusive is not None or bound is None:
        return UNDECIDED, f"{text}, inconclusive: {difference.inconclusive}"
    accepted = options["max_increase_percent"]
    claim = f"B − A is not above {bound:+.4f} with probability {probability}".replace("-", "−")
    wanted = f"{accepted} % more are accepted"
    return _state(bound <= a * accepted / 100), f"{text}; {claim}; {wanted}"


def _regressions_hold(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    if found.regressions is None:
        return UNDECIDED, "no regression set is given (--regression)"
    of_all = options.get("of", "all") == "all"
    asked = [pair for pair in found.regressions if of_all or pair[0].outcome == HOLDS]
    what = "in the regression set" if of_all else "that A has mended"
    counts = Counter(two.outcome for _, two in asked)
    text = f"of the failures {what} ({len(asked)}) B mends {counts[HOLDS]}"
    allowed, again = options.get("allow", 0), [two for _, two in asked if two.outcome == FAILS]
    if len(again) > allowed:
        shown = ", ".join(f"{two.failure.call_id} ({', '.join(two.again)})" for two in again[:5])
        more = f", and {len(again) - 5} more" if len(again) > 5 else ""
        limit = f"; {allowed} are allowed" if allowed else ""
        return FAILED, f"{text}, there again {len(again)}: {shown}{more}{limit}"
    unknown = counts[OPEN] + counts[NOT_RUN]
    if unknown:
        return UNDECIDED, f"{text}; of {unknown} nobody can tell (open, or not run)"
    return PASSED, text


#: What a rule's name in the file does.
RULES: dict[str, Callable[[Mapping[str, Any], RunComparison], Verdict]] = {
    "least_paired": _least_paired,
    "no_new_events": _no_new_events,
    "events_not_above": _events_not_above,
    "score_not_below": _score_not_below,
    "latency": _latency,
    "unanswered_not_above": _unanswered_not_above,
    "least_n": _least_n,
    "slices_not_worse": _slices_not_worse,
    "cost_not_above": _cost_not_above,
    "regressions_hold": _regressions_hold,
}
