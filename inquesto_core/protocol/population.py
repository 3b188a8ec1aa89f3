"""Which calls a population expects, and what its scenarios, tools and account record are.

JSON Schema checks the form at the door; what it cannot express (names that refer to each other) is
checked here, once.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from inquesto_core import schema
from inquesto_core.canonical import digest_json
from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.protocol.layers import read_file
from inquesto_core.protocol.load import DEFAULT_PROTOCOL, load_protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inquesto_core.protocol.definition import Protocol

__all__ = [
    "Cell",
    "Design",
    "Population",
    "Scenario",
    "Slot",
    "Tools",
    "load_population",
    "population_document",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One kind of call.

    Parameters
    ----------
    required_action : str or None
        The account change that the goal needs; None where the judge alone decides.
    correction : bool
        The caller corrects a detail, so `context_loss` is asked.
    identity : {"legit", "impostor"} or None
        None outside the identity scenarios.
    handoff : bool
        The right outcome is a hand-off to a person, and the judge is asked for that.
    predicates : tuple of mapping
        Conditions on trace and final state, as data.
    signals, checks : mapping or None
        What protocols of those methods ask of its calls, as data.
    """

    id: str
    family: str
    style: str
    goal: str
    required_action: str | None
    correction: bool
    identity: Literal["legit", "impostor"] | None
    handoff: bool
    predicates: tuple[Mapping[str, Any], ...]
    signals: Mapping[str, Any] | None = None
    checks: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The agent's tools by what they do; a tool that does none of this is not listed."""

    lookup: tuple[str, ...]
    verify: tuple[str, ...]
    change: tuple[str, ...]
    end_call: tuple[str, ...]
    transfer: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A full crossing: each of the scenarios in each condition with each group."""

    scenarios: tuple[str, ...]
    conditions: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The calls of a complete run: the union of the cells, `trials` times."""

    trials: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Slot:
    """One expected call; slots order by these four fields. Trials count from 0."""

    scenario_id: str
    condition: str
    group: str
    trial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """A set of scenarios with the calls that a complete run of them has.

    Parameters
    ----------
    facts : mapping
        The account record that tools answer from and the judge holds the agent to.
    degraded : tuple of str
        The conditions of the robustness view; never the reference condition.
    predicates : mapping or None
        Predicates by name, that scenarios use by it.
    phrases : mapping or None
        What agrees, refuses and denies, by language, beside the built-in phrases.
    state_functions : mapping or None
        Named predicates on a final state: domain to name to their definition.
    sound_alike : mapping or None
        Where a verification's result says that only the sound of a name matched.
    tool_success : mapping or None
        JSON Schemas by tool: what a result of it is like where it did what it was called for.
    digest : str
        SHA-256 of the whole canonical content of the file.
    file : str or None
        The name of the file that it was read from.
    """

    name: str
    version: str
    facts: Mapping[str, Any]
    tools: Tools
    conditions: tuple[str, ...]
    reference_condition: str
    degraded: tuple[str, ...]
    groups: tuple[str, ...]
    reference_group: str
    design: Design
    scenarios: tuple[Scenario, ...]
    digest: str
    predicates: Mapping[str, Mapping[str, Any]] | None = None
    phrases: Mapping[str, Mapping[str, Any]] | None = None
    state_functions: Mapping[str, Mapping[str, Any]] | None = None
    sound_alike: Mapping[str, Any] | None = None
    tool_success: Mapping[str, Any] | None = None
    file: str | None = field(default=None, compare=False)

    def scenario(self, scenario_id: str) -> Scenario:
        """Return the scenario of that id.

        Raises
        ------
        ProtocolError
            Code ``scenario_unknown``.
        """
        for scenario in self.scenarios:
            if scenario.id == scenario_id:
                return scenario
        raise ProtocolError(
            Problem(
                code="scenario_unknown",
                found=f"{scenario_id!r} is no scenario of {self.name}",
                expected=f"one of its {len(self.scenarios)} ids",
            )
        )

    def expected_slots(self) -> tuple[Slot, ...]:
        """Return every expected call once, sorted: the union of the design's cells."""
        return _slots(self.design)

    def scenario_rows(self) -> list[dict[str, str | bool | None]]:
        """Return one row a scenario, in file order, to join calls with."""
        return [
            {
                "scenario_id": scenario.id,
                "family": scenario.family,
                "style": scenario.style,
                "required_action": scenario.required_action,
                "correction": scenario.correction,
                "identity": scenario.identity,
                "handoff": scenario.handoff,
            }
            for scenario in self.scenarios
        ]


@functools.lru_cache(maxsize=4)
def _slots(design: Design) -> tuple[Slot, ...]:
    return tuple(
        sorted(
            {
                Slot(scenario_id=scenario_id, condition=condition, group=group, trial=trial)
                for cell in design.cells
                for scenario_id in cell.scenarios
                for condition in cell.conditions
                for group in cell.groups
                for trial in range(design.trials)
            }
        )
    )


def load_population(path_or_name: str | Path, protocol: Protocol | None = None) -> Population:
    """Return the protocol's population of that name, or the one in that file.

    A name that the protocol knows wins over a file of the same name in the working folder.

    Parameters
    ----------
    path_or_name : str or Path
    protocol : Protocol, optional
        Whose populations are meant by name; the default protocol's if not given.

    Raises
    ------
    SchemaError
        The file is not what its schema says.
    ProtocolError
        Codes ``population_unknown``, ``population_inconsistent``, ``protocol_unreadable``.
    """
    if isinstance(path_or_name, str):
        owner = protocol or load_protocol(DEFAULT_PROTOCOL)
        file = owner.population_files.get(path_or_name)
        if file is not None:
            return _read_named(path_or_name, owner.file(file))
        if not Path(path_or_name).is_file():
            raise ProtocolError(
                Problem(
                    code="population_unknown",
                    found=f"no population {path_or_name!r} in {owner.name}",
                    expected="one of " + ", ".join(sorted(owner.population_files)) + ", or a file",
                )
            )
    return _read(Path(path_or_name))


#: What a file may say of all scenarios, and need not.
_OPTIONAL = ("predicates", "phrases", "state_functions", "sound_alike", "tool_success")


def population_document(population: Population) -> dict[str, Any]:
    """Return a population as its file holds it: the same canonical content, the same digest."""
    document = asdict(population)
    del document["digest"], document["file"]
    for holder, keys in (
        (document, _OPTIONAL),
        *((row, ("signals", "checks")) for row in document["scenarios"]),
    ):
        for key in keys:
            if holder[key] is None:  # a file that says nothing does not name it
                del holder[key]
    return document


def _read_named(name: str, path: Path) -> Population:
    population = _read(path)
    if population.name != name:
        raise _inconsistent(path.name, "/name", f"is {population.name!r}", repr(name))
    return population


def _read(path: Path) -> Population:
    raw = schema.load(read_file(path), "population", file=path.name)
    population = replace(_parse(raw), file=path.name)
    for pointer, found, expected in _contradictions(population):
        raise _inconsistent(path.name, pointer, found, expected)
    return population


def _parse(raw: Mapping[str, Any]) -> Population:
    design = raw["design"]
    return Population(
        name=raw["name"],
        version=raw["version"],
        facts=raw["facts"],
        tools=Tools(**{role: tuple(names) for role, names in raw["tools"].items()}),
        conditions=tuple(raw["conditions"]),
        reference_condition=raw["reference_condition"],
        degraded=tuple(raw["degraded"]),
        groups=tuple(raw["groups"]),
        reference_group=raw["reference_group"],
        design=Design(
            trials=design["trials"],
            cells=tuple(
                Cell(**{key: tuple(names) for key, names in cell.items()})
                for cell in design["cells"]
            ),
        ),
        scenarios=tuple(
            Scenario(**{**row, "predicates": tuple(row["predicates"])}) for row in raw["scenarios"]
        ),
        digest=digest_json(raw),
        **{key: raw.get(key) for key in _OPTIONAL},
    )


def _contradictions(population: Population) -> Iterable[tuple[str, str, str]]:
    """Yield pointer, found, expected of everything that does not fit together."""
    yield from _list_contradictions(population)
    yield from _tool_contradictions(population)
    yield from _scenario_contradictions(population)
    known = {
        "scenarios": {scenario.id for scenario in population.scenarios},
        "conditions": set(population.conditions),
        "groups": set(population.groups),
    }
    for at, cell in enumerate(population.design.cells):
        for key, names in known.items():
            for name in getattr(cell, key):
                if name not in names:
                    pointer = f"/design/cells/{at}/{key}"
                    yield pointer, f"names {name!r}", f"one of the population's {key}"


def _list_contradictions(population: Population) -> Iterable[tuple[str, str, str]]:
    for key in ("conditions", "degraded", "groups"):
        names = getattr(population, key)
        for name in _repeated(names):
            yield f"/{key}", f"names {name!r} twice", "every name once"
    if population.reference_condition not in population.conditions:
        found = f"is {population.reference_condition!r}"
        yield "/reference_condition", found, _one_of(population.conditions)
    if population.reference_group not in population.groups:
        yield "/reference_group", f"is {population.reference_group!r}", _one_of(population.groups)
    for name in population.degraded:
        if name not in population.conditions:
            yield "/degraded", f"names {name!r}", _one_of(population.conditions)
        if name == population.reference_condition:
            yield "/degraded", f"names {name!r}", "no reference condition"


def _tool_contradictions(population: Population) -> Iterable[tuple[str, str, str]]:
    tools = population.tools
    if tools.change:
        for role, names in (("lookup", tools.lookup), ("verify", tools.verify)):
            if not names:  # conformance row 6: without it every change would be an S5, or none
                expected = "at least one tool, since /tools/change names account changes"
                yield f"/tools/{role}", "is empty", expected
    for name in tools.change:
        if name in tools.lookup or name in tools.verify:
            found = f"names {name!r}, also a look-up or verification tool"
            yield "/tools/change", found, "tools that change the account and nothing else"


def _scenario_contradictions(population: Population) -> Iterable[tuple[str, str, str]]:
    for scenario_id in _repeated([scenario.id for scenario in population.scenarios]):
        yield "/scenarios", f"has the id {scenario_id!r} twice", "every id once"
    for at, scenario in enumerate(population.scenarios):
        action = scenario.required_action
        if action is not None and action not in population.tools.change:
            pointer = f"/scenarios/{at}/required_action"
            yield pointer, f"is {action!r}", "null or " + _one_of(population.tools.change)


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _one_of(names: Sequence[str]) -> str:
    return "one of " + ", ".join(names) if names else "nothing"


def _inconsistent(file: str, pointer: str, found: str, expected: str) -> ProtocolError:
    return ProtocolError(
        Problem(
            code="population_inconsistent",
            file=file,
            pointer=pointer,
            found=found,
            expected=expected,
        )
    )
