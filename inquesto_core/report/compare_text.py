"""A comparison as a person reads it: the questions of a release, each answered in its first words.

Plain text of at most 80 columns. Every difference is B minus A.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.compare.bootstrap import LEAST_CLUSTERS
from inquesto_core.compare.repeats import zero_failure_bound
from inquesto_core.compare.slices import LEAST_CALLS
from inquesto_core.report.compare_figures import (
    estimate_words,
    interval_words,
    is_above,
    is_below,
    points,
    signed,
    wait_words,
)
from inquesto_core.report.escape import clip_columns, display_width, escape_terminal, wrap_columns
from inquesto_core.report.terminal import NOTHING, WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from inquesto_core.compare.bootstrap import Estimate
    from inquesto_core.compare.cost_pairs import CostDifference
    from inquesto_core.compare.gates import GatesVerdict
    from inquesto_core.compare.latency_pairs import WaitDifference
    from inquesto_core.compare.run_comparison import RunComparison
    from inquesto_core.compare.slices import SliceDifference, WorstGroup

__all__ = ["comparison_lines", "gate_lines"]

_KINDS = {
    "all": "all turns",
    "with_tool": "with a tool",
    "in_tool": "- median in the tool",
    "beside_tool": "- median of the rest",
    "without_tool": "without a tool",
}
#: Parts of answered waits: nothing of them is unanswered.
_PARTS = ("in_tool", "beside_tool")
_MEDIAN = 0.5
_QUANTILES = {_MEDIAN: "median", 0.95: "p95"}
_NAME = 26
_COUNTED = 23
_SHOWN_SLICES = 40
_SHOWN_FLIPS = 3


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
        The first calls that broke or were fixed, with ``appeared`` and ``went``.
    details : mapping
        By side and call id: ``events`` and ``goal`` of these calls.
    severity : mapping of event type to severity
    """
    parts = [
        _heading(found),
        _success(found),
        _critical(found),
        _responsive(found),
        _cost(found),
        _moved(found, moved, details, severity),
        _slices(found),
        _repeats(found),
        _method(found),
    ]
    lines: list[str] = []
    for part in filter(None, parts):
        lines += [*([""] if lines else []), *part]
    return lines


def _wrap(text: str, *, first: str = "  ", rest: str = "  ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)


def _question(number: int, question: str, answer: str) -> list[str]:
    return [f"{number}. {question}", *_wrap(answer, first="   ", rest="   ")]


def _heading(found: RunComparison) -> list[str]:
    lines = []
    for letter, side in (("A", found.a), ("B", found.b)):
        lines += _wrap(f"{side.agent}, of {side.run}", first=f"{letter}  ", rest="   ")
        lines += _wrap(side.citation, first="   ", rest="   ")
    text = f"{found.outcomes.n} pairs: the same scenario, condition, group and trial in both."
    for side, reason, n, _ in found.pairing.left_out.iter_rows():
        other = "B" if side == "a" else "A"
        text += f" {n} {_plural(n, 'call')} of {side.upper()} left out: {reason} in {other}."
    lines += _wrap(text, first="", rest="")
    for note in found.notes:
        lines += _wrap(f"note: {note}", first="", rest="  ")
    return lines


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _verdict(found: RunComparison) -> str:
    score = found.score
    if score.value is None:
        return "Cannot tell: there is nothing to compare."
    if score.inconclusive is not None:
        return f"Cannot tell: {score.inconclusive}."
    if is_above(score):
        return "Yes."
    if is_below(score):
        return "No, it fell."
    low, high = points(score.low), points(score.high)
    return f"Not shown: anything from {low} to {high} points fits these calls."


def _success(found: RunComparison) -> list[str]:
    counts = found.outcomes
    lines = _question(1, "Did task success improve?", _verdict(found))
    lines += _wrap(
        f"Calls that pass (goal reached, nothing of severity S{found.fail_at} or above): "
        f"A {counts.passed_a}, B {counts.passed_b} of {counts.n}; "
        f"B − A {estimate_words(found.score, points, 'points')}.",
        first="   ",
        rest="     ",
    )
    lines += _wrap(
        f"Goal reached, whatever else happened: A {found.goal_a}, B {found.goal_b} of "
        f"{found.goal_n}; B − A {estimate_words(found.goal, points, 'points')}.",
        first="   ",
        rest="     ",
    )
    p_value = "below 0.001" if found.mcnemar_p < 0.001 else f"{found.mcnemar_p:.3f}"
    lines += _wrap(
        f"Fixed {counts.fixed}, broken {counts.broken}, still failing {counts.still_failing}, "
        f"still passing {counts.still_passing}. McNemar's exact p {p_value}, which takes calls as "
        "independent; the interval does not.",
        first="   ",
        rest="     ",
    )
    if found.bounds is not None:
        low, high = (points(each) for each in found.bounds)
        lines += _wrap(
            f"With the {found.left_out} unpaired {_plural(found.left_out, 'call')} against B or "
            f"for B: {low} to {high} points.",
            first="   ",
            rest="     ",
        )
    return lines


def _critical(found: RunComparison) -> list[str]:
    rows = found.severities.filter(found.severities["severity"] > found.fail_at).to_dicts()
    names = " and ".join(f"S{row['severity']}" for row in reversed(rows))
    lines = _question(2, f"Did critical errors ({names}) increase?", _critical_verdict(rows))
    width = max(6, 1 + len(str(int(found.severities["a", "b"].to_numpy().max(initial=0)))))
    titles = "".join(f"{title:>{width}}" for title in ("A", "B", "new", "gone"))
    lines.append(f"   {'calls with':<{_COUNTED}}{titles}   B − A, points")
    for row in found.severities.to_dicts():
        level = row["severity"]
        shown = interval_words(found.critical[level], points)
        lines.append(_counts(f"S{level}", row, shown, width))
        for event in found.events.filter(found.events["severity"] == level).to_dicts():
            if event["a"] or event["b"] or event["open"]:
                lines.append(_counts(f"- {event['event']}", event, "", width))
    for row in rows:
        lines += _zero(row, found.outcomes.n)
    return lines


def _critical_verdict(rows: list[dict[str, Any]]) -> str:
    def told(row: Mapping[str, Any]) -> str:
        return f"S{row['severity']} in {row['a']} → {row['b']} calls"

    more = [row for row in rows if row["b"] > row["a"]]
    fewer = [row for row in rows if row["b"] < row["a"]]
    new = sum(row["appeared"] for row in rows)
    unknown = sum(row["open"] for row in rows)
    if more:
        text = f"Yes: {', '.join(map(told, more))}."
        text += f" Fewer: {', '.join(map(told, fewer))}." if fewer else ""
    elif fewer:
        text = f"No, there are fewer: {', '.join(map(told, fewer))}."
    elif new:
        text = f"No, as many as before: {', '.join(map(told, rows))}."
    else:
        text = f"No: {', '.join(map(told, rows))}."
    if new and not more:
        text += f" But {new} {_plural(new, 'call')} had none under A and has one under B."
    if unknown:
        text += f" In {unknown} {_plural(unknown, 'pair')} nobody can tell."
    return text


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
            f"No S{row['severity']} in {n} calls of {' or '.join(sides)} is no proof of none: up "
            f"to {exact} of calls may have one (rule of three: {rule}), were calls independent.",
            first="   ",
            rest="     ",
        )


def _responsive(found: RunComparison) -> list[str]:
    lines = _question(3, "Did the conversation stay responsive?", _responsive_verdict(found))
    unit = "wait after the caller stops" if found.waits_of == "turns" else "calls' median wait"
    lines.append(f"   {unit:<{_NAME + 4}}{'A':>9}{'B':>9}   B − A")
    has_never = False
    for wait in found.waits:
        has_never |= bool(wait.unanswered_a or wait.unanswered_b)
        kind = _KINDS[wait.kind] if found.waits_of == "turns" else "all calls"
        for each in wait.quantiles:
            is_part = wait.kind in _PARTS
            name = kind if is_part else f"{_QUANTILES[each.share]}, {kind}"
            if is_part and each.share != _MEDIAN:
                continue
            shown = interval_words(each.difference, wait_words)
            lines.append(_figures(name, (wait_words(each.a), wait_words(each.b)), shown))
        if found.waits_of == "turns" and wait.kind not in _PARTS:
            lines.append(_unanswered(wait, kind))
    for mean in found.conduct:
        cells = [NOTHING if each is None else f"{100 * each:.1f} %" for each in (mean.a, mean.b)]
        shown = interval_words(mean.difference, points)
        lines.append(_figures("agent turns that talk over", (cells[0], cells[1]), shown))
    if has_never:
        lines += _wrap(
            "never: a turn that is never answered counts as a wait longer than any other.",
            first="   ",
            rest="   ",
        )
    if found.censored is not None and any(found.censored):
        a, b = found.censored
        lines += _wrap(
            f"Cut short by the call's end before it could be told, in no row: A {a}, B {b}.",
            first="   ",
            rest="   ",
        )
    if found.waits_of == "calls" and found.waits[0].n_a + found.waits[0].n_b:
        lines += _wrap(
            "Archives keep no single waits: each call counts with the median of its own, and one "
            "with as many unanswered turns as answered ones as never.",
            first="   ",
            rest="   ",
        )
    return lines


def _figures(name: str, cells: tuple[str, str], shown: str) -> str:
    a, b = cells
    return clip_columns(f"   {name:<{_NAME + 4}}{a:>9}{b:>9}   {shown}".rstrip(), WIDTH)


def _unanswered(wait: WaitDifference, kind: str) -> str:
    cells = (f"{wait.unanswered_a}/{wait.n_a}", f"{wait.unanswered_b}/{wait.n_b}")
    return _figures(f"never answered, {kind}", cells, interval_words(wait.unanswered, points))


def _responsive_verdict(found: RunComparison) -> str:
    wait = found.waits[0]
    fact = ""
    if wait.unanswered_a != wait.unanswered_b and not _moves(wait.unanswered):
        fact = (
            f" Never answered: {wait.unanswered_a} → {wait.unanswered_b} waits, too few to say "
            "more than that."
        )
    if all(each.difference.inconclusive is not None for each in wait.quantiles):
        return f"Cannot tell: {wait.quantiles[0].difference.inconclusive}.{fact}"
    better, worse = _conduct_moves(found)
    if better and worse:
        return f"In part: {', '.join(better)}; but {', '.join(worse)}.{fact}"
    if worse:
        return f"No: {', '.join(worse)}.{fact}"
    if better:
        return f"Yes, and better: {', '.join(better)}.{fact}"
    return f"No change is shown.{fact}"


def _moves(estimate: Estimate) -> int:
    """Return -1 or 1 where a difference is surely below or above 0, else 0."""
    return int(is_above(estimate)) - int(is_below(estimate))


def _conduct_moves(found: RunComparison) -> tuple[list[str], list[str]]:
    """Return what is surely better under B, and what is surely worse."""
    wait = found.waits[0]
    told = []
    for each in wait.quantiles:
        name = _QUANTILES[each.share]
        change = f"{name} wait ({wait_words(each.a)} → {wait_words(each.b)})"
        told.append((each.difference, f"shorter {change}", f"longer {change}"))
    told.append(
        (wait.unanswered, "fewer turns are never answered", "more turns are never answered")
    )
    told += [
        (each.difference, "it talks over callers less", "it talks over callers more")
        for each in found.conduct
    ]
    better = [less for estimate, less, _ in told if _moves(estimate) < 0]
    worse = [more for estimate, _, more in told if _moves(estimate) > 0]
    return better, worse


def _cost(found: RunComparison) -> list[str]:
    told = "Not told (--costs, --bundles)." if not found.costs else ""
    answer = " ".join(filter(None, [told, *map(_cost_answer, found.costs)]))
    lines = _question(4, "What happened to cost?", answer)
    for cost in found.costs:
        lines += _cost_rows(cost, found.outcomes.n)
    lines += _wrap("On the line:", first="   ", rest="   ")
    lines.append(f"   {'':<{_NAME + 4}}{'A':>9}{'B':>9}   B − A")
    for mean in found.effort:
        cells = [NOTHING if each is None else f"{each / 1000:.1f}" for each in (mean.a, mean.b)]
        shown = interval_words(mean.difference, lambda value: signed(value, 1000, 1))
        lines.append(_figures(mean.name, (cells[0], cells[1]), shown))
    counts, spent = found.outcomes, found.effort[0]
    per_pass = (
        _per_pass(spent.a, counts.n, counts.passed_a),
        _per_pass(spent.b, counts.n, counts.passed_b),
    )
    lines.append(_figures("seconds a passed call", per_pass, "(all seconds / passes)"))
    return lines


def _cost_answer(cost: CostDifference) -> str:
    """Return what became of a call's cost, in a sentence."""
    unit, found = cost.currency or "(no currency)", cost.difference
    moved = f"{cost.a:.4f} → {cost.b:.4f} {unit}"
    if found.low is None and found.clusters >= LEAST_CLUSTERS:
        return f"Alike in every cluster: a call costs {moved}."
    if found.inconclusive:
        return f"Inconclusive: a call costs {moved} ({found.inconclusive})."
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return f"Not shown to have changed: a call costs {moved}."
    return f"{'It rose' if found.low > 0 else 'It fell'}: a call costs {moved}."


def _cost_rows(cost: CostDifference, n: int) -> list[str]:
    unit = cost.currency or "(no currency)"
    lines = [f"   {unit:<{_NAME + 4}}{'A':>9}{'B':>9}"]
    lines.append(_figures("a call", (f"{cost.a:.4f}", f"{cost.b:.4f}"), ""))
    per_pass = [
        NOTHING if each is None else f"{each:.4f}" for each in (cost.per_pass_a, cost.per_pass_b)
    ]
    lines.append(_figures("a passed call", (per_pass[0], per_pass[1]), "(all cost / passes)"))
    shown = interval_words(cost.difference, lambda value: signed(value, 1, 4))
    lines += _wrap(f"B − A, a call: {shown}", first="   ", rest="   ")
    if cost.pairs < n:
        lines += _wrap(f"of {cost.pairs} of {n} pairs", first="   ", rest="   ")
    return lines


def _per_pass(mean_ms: float | None, n: int, passed: int) -> str:
    return NOTHING if mean_ms is None or not passed else f"{mean_ms * n / passed / 1000:.1f}"


def _moved(
    found: RunComparison,
    moved: pl.DataFrame,
    details: Mapping[str, Mapping[str, Mapping[str, Any]]],
    severity: Mapping[str, int],
) -> list[str]:
    counts = found.outcomes
    answer = (
        f"{counts.broken} broken (passed under A, fail under B), {counts.fixed} fixed; "
        f"{counts.still_failing} fail under both."
    )
    lines = _question(5, "Which calls moved, and why?", answer)
    for outcome, side, total in (("broken", "b", counts.broken), ("fixed", "a", counts.fixed)):
        rows = moved.filter(moved["outcome"] == outcome).to_dicts()
        if rows:
            who = "B" if side == "b" else "A"
            lines += _wrap(
                f"{outcome} by what fails the call under {who}: {_causes(found, outcome)}",
                first="   ",
                rest="     ",
            )
        for row in rows:
            lines += _call(row, side, details[side], severity)
        if total > len(rows):
            lines.append(f"     and {total - len(rows)} more: --out DIR writes all of them")
    return lines


def _causes(found: RunComparison, outcome: str) -> str:
    rows = found.causes.filter(found.causes["outcome"] == outcome)
    return ", ".join(
        f"{'nothing that is told' if cause is None else cause.replace('_', ' ')} {count}"
        for cause, count in rows.select("cause", "n").iter_rows()
    )


def _call(
    row: Mapping[str, Any],
    side: str,
    details: Mapping[str, Mapping[str, Any]],
    severity: Mapping[str, int],
) -> list[str]:
    slot = " ".join(str(row[key]) for key in ("scenario_id", "condition", "group"))
    slot += f" {row['trial']}" if row["trial"] else ""
    lines = _wrap(slot, first="     ", rest="       ")
    known = details.get(row[f"call_id_{side}"], {"events": {}, "goal": None})
    causes = row["appeared"] if side == "b" else row["went"]
    for cause in causes:
        lines += _wrap(_cause(cause, known, severity), first="       ", rest="         ")
    if not causes:
        lines += _wrap("no event or goal of it differs; see both calls", first="       ")
    ids = f"A {row['call_id_a']} · B {row['call_id_b']}"
    return lines + _wrap(ids, first="       ", rest="         ")


def _cause(cause: str, known: Mapping[str, Any], severity: Mapping[str, int]) -> str:
    if cause == "goal":
        verdict = known["goal"]
        reason = None if verdict is None or verdict["verdict"] else verdict["reason"]
        return f"goal not reached: {reason}" if reason else "goal not reached"
    if cause == "agent_fault":
        return "the agent's side broke the call off"
    text = f"S{severity.get(cause, '?')} {cause}"
    event = known["events"].get(cause)
    if event is not None and event["value"] is not None and event["threshold"] is not None:
        unit = " ms" if event["source"] == "audio" else ""
        text += f" ({event['value']}{unit}, limit {event['threshold']}{unit})"
    return text


def _slices(found: RunComparison) -> list[str]:
    if not found.slices:
        return []
    lines = [
        f"6. Slices{'':<15}{'pairs':>6}{'scen.':>6}{'A':>7}{'B':>7}   B − A, points"
        if found.cluster == "scenario_id"
        else f"6. Slices{'':<15}{'pairs':>6}{'clus.':>6}{'A':>7}{'B':>7}   B − A, points"
    ]
    column = ""
    for each in found.slices[:_SHOWN_SLICES]:
        if each.column != column:
            column = each.column
            lines.append(f"   by {escape_terminal(column)}")
        lines.append(_slice(each))
    if len(found.slices) > _SHOWN_SLICES:
        lines.append(f"   and {len(found.slices) - _SHOWN_SLICES} more: --json, or --out DIR")
    lines += [line for gap in found.worst for line in _worst(gap)]
    tested = sum(each.adjusted is not None for each in found.slices)
    legend = f"? = inconclusive: fewer than {LEAST_CALLS} pairs or {LEAST_CLUSTERS} clusters. "
    legend += (
        f"* = moved, after Holm's correction for {tested} tested {_plural(tested, 'slice')}."
        if tested
        else "None is large enough to be tested."
    )
    return lines + _wrap(legend, first="   ", rest="   ")


def _slice(each: SliceDifference) -> str:
    shown = clip_columns(escape_terminal(each.value), 19)
    gap = " " * (20 - display_width(shown))
    rates = [f"{100 * (rate.value or 0):.1f}" for rate in (each.rate_a, each.rate_b)]
    mark = "?" if each.difference.inconclusive else ""
    if each.adjusted is not None and each.adjusted <= 0.05:
        mark = "*"
    words = interval_words(each.difference, points, mark=False)
    line = f"     {shown}{gap[:-1]}{each.n:>6}{each.clusters:>6}{rates[0]:>7}{rates[1]:>7}   "
    return clip_columns(f"{line}{words} {mark}".rstrip(), WIDTH)


def _worst(gap: WorstGroup) -> list[str]:
    text = (
        f"Worst {gap.column} under {gap.side.upper()}: {gap.value} with {100 * gap.rate:.1f} %, "
        f"the others {100 * gap.others:.1f} %; gap {estimate_words(gap.gap, points, 'points')}, "
        "widened because the worst was chosen."
    )
    return _wrap(text, first="   ", rest="     ")


def _repeats(found: RunComparison) -> list[str]:
    if not found.repeats:
        return []
    lines = ["7. Repeats: trials of one slot"]
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
            lines += _wrap(text, first="     ", rest="       ")
    return lines


def _method(found: RunComparison) -> list[str]:
    how = found.resampling
    name = "scenario" if found.cluster == "scenario_id" else found.cluster
    return _wrap(
        f"Intervals hold {100 * how.level:.0f} % : {found.clusters} clusters ({name}) drawn again "
        f"{how.resamples:,} times with all their calls and trials, studentised, seed {how.seed}. "
        "They carry over to other calls like these, not to other callers.",
        first="",
        rest="",
    )


def gate_lines(verdict: GatesVerdict) -> list[str]:
    """Return what each gate says, and the sentence that decides."""
    lines = ["Gates, in order"]
    marks = {"passed": "ok", "failed": "FAIL", "undecided": "?"}
    for each in verdict.results:
        mark = marks[each.state]
        if each.state == "undecided":
            mark = "? ok" if each.gate.undecided_passes else "? no"
        text = f"{each.gate.name}: {each.sentence}."
        lines += _wrap(text, first=f"  {mark:<5} ", rest="          ")
    failed = verdict.first_failed
    if failed is None:
        lines += _wrap("B may replace A, as far as these gates see.", first="", rest="")
    else:
        why = "is not met" if failed.state == "failed" else "cannot be decided"
        text = f"B does not replace A: the gate '{failed.gate.name}' {why}: {failed.sentence}."
        lines += _wrap(text, first="", rest="  ")
    return lines
