"""Which scenario a real call belongs to: rules as data, first among them what the user says.

A rule asks for facts of the export (id, agent, number, tag, intent) and gives scenario, condition,
speaker group and trial, each a name or a fact that holds it. Two rules that give a call different
places are a refusal, not a choice. A call that no rule matches has no scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inquesto_core import schema
from inquesto_core.bundle import Inferred
from inquesto_core.errors import Problem, SchemaError

if TYPE_CHECKING:
    from inquesto_core.importers.draft import Draft
    from inquesto_core.protocol import Population

__all__ = ["Place", "ScenarioRule", "place_of", "scenario_rules"]

_FIELDS = ("scenario_id", "condition", "group", "trial")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRule:
    """What a call's facts must be, and the place that such a call has.

    Parameters
    ----------
    number : int
        0-based place in the file.
    when : mapping of fact to values
        Each fact must have one of its values.
    gives : mapping of field to value or {"from": fact}
    """

    number: int
    when: Mapping[str, tuple[str, ...]]
    gives: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in a population a call belongs; None = not known."""

    population: str | None = None
    scenario_id: str | None = None
    condition: str | None = None
    group: str | None = None
    trial: int | None = None
    inferred: tuple[Inferred, ...] = ()


def scenario_rules(value: Any, *, file: str) -> tuple[ScenarioRule, ...]:
    """Return the rules of a rules file.

    Raises
    ------
    SchemaError
        It is not what ``scenario_rules.schema.json`` says.
    """
    schema.validate(value, "scenario_rules", file=file)
    return tuple(
        ScenarioRule(
            number=number,
            when={
                fact: (wanted,) if isinstance(wanted, str) else tuple(wanted)
                for fact, wanted in rule["when"].items()
            },
            gives={field: rule[field] for field in _FIELDS if rule.get(field) is not None},
        )
        for number, rule in enumerate(value["rules"])
    )


def place_of(
    draft: Draft,
    *,
    population: Population | None,
    rules: tuple[ScenarioRule, ...],
    said: Mapping[str, Any],
) -> Place:
    """Return where a call belongs: what the user says of all, else the export, else the rules.

    Raises
    ------
    SchemaError
        Code ``scenario_ambiguous``: two rules disagree; ``scenario_unmatched``: the population has
        no such place, or the place is not whole.
    """
    facts = {**draft.facts, "call_id": (draft.call_id,)}
    if draft.agent_name is not None:
        facts.setdefault("agent", (draft.agent_name,))
    found, how = dict(draft.scenario), ""
    matched = {
        rule.number: _given(rule, facts)
        for rule in rules
        if all(set(facts.get(fact, ())) & set(wanted) for fact, wanted in rule.when.items())
    }
    for number, given in matched.items():
        for field, value in given.items():
            if found.get(field, value) != value:
                raise _ambiguous(draft, f"rule {number} gives {field} {value!r}", found[field])
            found[field] = value
        how = f"rule {number} of --rules"
    if said:
        found, how = {**found, **said}, "said on the command line"
    inferred = [
        Inferred(field=f"/{field}", value=found[field], how=how)
        for field in _FIELDS
        if how and field in found
    ]
    if population is not None and found.get("scenario_id") is not None:
        inferred += _completed(found, population)
        _check(draft, found, population)
    return Place(
        population=None if population is None else population.name,
        inferred=tuple(inferred),
        **{field: found.get(field) for field in _FIELDS},
    )


def _given(rule: ScenarioRule, facts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for field, value in rule.gives.items():
        if not isinstance(value, Mapping):
            given[field] = value
            continue
        held = facts.get(value["from"], ())
        if len(held) == 1:
            given[field] = int(held[0]) if field == "trial" and held[0].isdecimal() else held[0]
    return given


def _completed(found: dict[str, Any], population: Population) -> list[Inferred]:
    """Fill in what a population leaves no choice in."""
    inferred = []
    for field, names in (("condition", population.conditions), ("group", population.groups)):
        if found.get(field) is None and len(names) == 1:
            found[field] = names[0]
            how = f"the only {field} of population {population.name}"
            inferred.append(Inferred(field=f"/{field}", value=names[0], how=how))
    return inferred


def _check(draft: Draft, found: Mapping[str, Any], population: Population) -> None:
    known = {
        "scenario_id": tuple(scenario.id for scenario in population.scenarios),
        "condition": population.conditions,
        "group": population.groups,
    }
    for field, names in known.items():
        if found.get(field) not in names:
            option = {"scenario_id": "--scenario"}.get(field, f"--{field}")
            raise SchemaError(
                Problem(
                    code="scenario_unmatched",
                    call_id=draft.call_id,
                    found=f"has no {field}"
                    if found.get(field) is None
                    else f"has the {field} {found[field]!r}",
                    expected=f"one that population {population.name} has",
                    remedy=f"give it with {option}, or in a rule of --rules",
                )
            )


def _ambiguous(draft: Draft, found: str, other: Any) -> SchemaError:
    return SchemaError(
        Problem(
            code="scenario_ambiguous",
            call_id=draft.call_id,
            found=f"{found}, and another gives {other!r}",
            expected="rules that agree on a call",
            remedy="make the rules of --rules exclude each other",
        )
    )
