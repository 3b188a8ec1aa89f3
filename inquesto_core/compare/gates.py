"""Whether B may replace A: ordered conditions from a file, each with the sentence why.

The order is the reader's: the first gate that does not hold is why. All are evaluated, so that one
run tells everything. A gate that cannot be decided (fewer than ten clusters, nothing measured) does
not hold, unless its file says so: not knowing is no ground for a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inquesto_core import schema
from inquesto_core.canonical import strict_toml
from inquesto_core.compare.gate_rules import PASSED, RULES, UNDECIDED
from inquesto_core.errors import Problem, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.compare.run_comparison import RunComparison

__all__ = ["Gate", "GateResult", "GatesVerdict", "parse_gates", "pass_gates"]

#: Of a rule, options of which one has to be there.
_LIMITS = {
    "latency": ("max_ms", "max_increase_ms"),
    "cost_not_above": ("max_cost", "max_increase_percent"),
}
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
    value = strict_toml(data, file=file, code="gates_invalid")
    schema.validate(value, _SCHEMA, file=file)
    gates = [_gate(each) for each in value["gate"]]
    for gate in gates:
        limits = _LIMITS.get(gate.rule)
        if limits is not None and not set(limits) & gate.options.keys():
            raise _invalid(f"has the gate {gate.name!r} without a limit", " or ".join(limits), file)
    names = [gate.name for gate in gates]
    for name in names:
        if names.count(name) > 1:
            raise _invalid(f"has the gate {name!r} twice", "every name once", file)
    return tuple(gates)


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
