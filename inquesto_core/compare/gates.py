"""Whether B may replace A: ordered conditions from a file, each with the sentence why.

The order is the reader's: the first gate that does not hold is why. All are evaluated, so that one
run tells everything. A gate that cannot be decided (fewer than ten clusters, nothing measured) does
not hold, unless its file says so: not knowing is no ground for a release.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import schema
from inquesto_core.compare.latency_pairs import NEVER
from inquesto_core.errors import Problem, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inquesto_core.compare.run_comparison import RunComparison

__all__ = ["Gate", "GateResult", "GatesVerdict", "parse_gates", "pass_gates"]

PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"
_SCHEMA = "gates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One condition.

    Parameters
    ----------
    rule : str
        Which; its own options stand in `options`.
    undecided_passes : bool
        Whether a gate that cannot be decided holds.
    """

    name: str
    rule: str
    options: Mapping[str, Any]
    undecided_passes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What a gate says.

    Parameters
    ----------
    state : {"passed", "failed", "undecided"}
    sentence : str
        Why; text from outside stands in it as it came.
    """

    gate: Gate
    state: str
    sentence: str

    @property
    def holds(self) -> bool:
        """Whether it does not stand in the way."""
        return self.state == PASSED or (self.state == UNDECIDED and self.gate.undecided_passes)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatesVerdict:
    """All gates, in the file's order."""

    results: tuple[GateResult, ...]

    @property
    def first_failed(self) -> GateResult | None:
        """The first that does not hold; None = B may replace A, as far as these gates see."""
        return next((each for each in self.results if not each.holds), None)

    def document(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        return {
            "passed": self.first_failed is None,
            "gates": [
                {
                    "name": each.gate.name,
                    "rule": each.gate.rule,
                    "state": each.state,
                    "holds": each.holds,
                    "sentence": each.sentence,
                }
                for each in self.results
            ],
        }


def parse_gates(data: bytes, *, file: str) -> tuple[Gate, ...]:
    """Return the gates of a TOML file, in order.

    Raises
    ------
    SchemaError
        ``gates_invalid``: no TOML, or a gate has a name twice. ``schema``: a rule or option is not
        what ``schemas/gates.schema.json`` says.
    """
    try:
        value = tomllib.loads(data.decode("utf-8-sig"), parse_float=_finite)
    except RecursionError as exc:
        raise _invalid("is nested too deeply", "a TOML file of gates", file) from exc
    except ValueError as exc:  # what is no UTF-8, no TOML, or no finite number
        raise _invalid(f"is no TOML: {exc}", "a TOML file of gates", file) from exc
    schema.validate(value, _SCHEMA, file=file)
    gates = [_gate(each) for each in value["gate"]]
    for gate in gates:
        if gate.rule == "latency" and not {"max_ms", "max_increase_ms"} & gate.options.keys():
            raise _invalid(
                f"has the gate {gate.name!r} without a limit", "max_ms or max_increase_ms", file
            )
    names = [gate.name for gate in gates]
    for name in names:
        if names.count(name) > 1:
            raise _invalid(f"has the gate {name!r} twice", "every name once", file)
    return tuple(gates)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text}")
    return number


def _invalid(found: str, expected: str, file: str) -> SchemaError:
    return SchemaError(Problem(code="gates_invalid", found=found, expected=expected, file=file))


def _gate(row: Mapping[str, Any]) -> Gate:
    own = ("name", "rule", "when_undecided")
    return Gate(
        name=row.get("name", row["rule"].replace("_", " ")),
        rule=row["rule"],
        options={key: value for key, value in row.items() if key not in own},
        undecided_passes=row.get("when_undecided", "fail") == "pass",
    )


def columns_of(gates: tuple[Gate, ...]) -> tuple[str, ...]:
    """Return the columns that gates look into the slices of."""
    found = (column for gate in gates for column in gate.options.get("by", ()))
    return tuple(dict.fromkeys(found))


def pass_gates(gates: tuple[Gate, ...], comparison: RunComparison) -> GatesVerdict:
    """Return what each gate says of a comparison."""
    results = []
    for gate in gates:
        state, sentence = RULES[gate.rule](gate.options, comparison)
        results.append(GateResult(gate=gate, state=state, sentence=sentence))
    return GatesVerdict(results=tuple(results))


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
    text = f"{pairs} pairs, {_calls(left)} in n on one side only: {share:.1f} % are paired"
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
        return (PASSED, text) if each.b != NEVER else (FAILED, f"{text}: never answered in both")
    probability = options.get("probability", 0.95)
    bound = each.upper_bound(probability)
    if each.difference.inconclusive is not None or bound is None:
        return UNDECIDED, f"{text}, inconclusive: {each.difference.inconclusive}"
    claim = f"B − A is not above {_wait(bound)} with probability {probability}"
    wanted = f"{options['max_increase_ms']} ms more are accepted"
    return _state(bound <= options["max_increase_ms"]), f"{text}; {claim}; {wanted}"


def _wait(value: float | None) -> str:
    if value is None:
        return "–"
    return "never" if value == NEVER else f"{value:.0f} ms"


def _unanswered_not_above(options: Mapping[str, Any], found: RunComparison) -> Verdict:
    waits = next((each for each in found.waits if each.kind == "all"), None)
    if waits is None or not waits.n_a or not waits.n_b:
        return UNDECIDED, "no wait of both sides"
    a, b = waits.unanswered_a / waits.n_a, waits.unanswered_b / waits.n_b
    text = f"never answered: A {100 * a:.1f} %, B {100 * b:.1f} % of waits"
    return _state(100 * (b - a) <= options.get("allow_points", 0)), text


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
        f"{each.column} {each.value} has {each.n} ({each.clusters})" for each in small[:5]
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
}
