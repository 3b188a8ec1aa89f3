"""Whether the predicates of a population can be evaluated, before any call is read.

Kinds and keys are held by the schema of populations; here is what it cannot say.
"""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from inquesto_core.errors import SchemaError
from inquesto_core.events.asked_of_scenarios import contradiction
from inquesto_core.events.predicates.evaluate import members, with_inner
from inquesto_core.events.predicates.phrases import DEFAULT_LANGUAGE, languages_of
from inquesto_core.events.predicates.written import (
    path_faults,
    pointer_faults,
    schema_faults,
    tolerance_faults,
)
from inquesto_core.evidence.spoken_words import spoken_words
from inquesto_core.schema import closed_validator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from inquesto_core.errors import ProtocolError
    from inquesto_core.protocol import Population

__all__ = ["check_predicates", "check_tool_success"]

#: Pointer below the predicate, what is there, what should be.
Fault = tuple[str, str, str]

_PATHS = ("path", "key")

_COUNT = "tool_count"
#: Of some keys of a kind there must be one, and of all but counts not two.
_ONE_OF = (
    (_COUNT, ("min", "max"), "min, max or both"),
    ("state_hash", ("sha256", "against"), "one of sha256 and against"),
    ("spoken", ("amount", "digits", "phrases"), "one of amount, digits and phrases"),
)


def check_predicates(population: Population) -> None:
    """Raise at the first predicate of the population that cannot be evaluated.

    Raises
    ------
    ProtocolError
        Code ``predicate_invalid``, at the predicate: ``min`` is above ``max``; a path is no
        JMESPath; a schema is no JSON Schema or has a ``$ref``; a phrase has no word; a language has
        no phrases; not one of the keys of which one is needed; an unknown name; a named predicate
        that names another; two texts of one claim in a scenario; an end-of-call or transfer tool
        after which speech would be waited for.
    """
    check_tool_success(population)
    named = population.predicates or {}
    places = [
        *((f"/predicates/{_escaped(name)}", predicate) for name, predicate in named.items()),
        *(
            (f"/scenarios/{at}/predicates/{index}", predicate)
            for at, scenario in enumerate(population.scenarios)
            for index, predicate in enumerate(scenario.predicates)
        ),
    ]
    for pointer, predicate in places:
        inside = pointer.startswith("/predicates/")
        for beneath, each in _placed(predicate):
            for at, found, expected in _contradictions(each, population, is_named=inside):
                raise _invalid(population, pointer + beneath + at, found, expected)
    for number, scenario in enumerate(population.scenarios):
        for index, found in _claim_twice(scenario.predicates, named):
            pointer = f"/scenarios/{number}/predicates/{index}"
            raise _invalid(population, pointer, found, "one text for each question of a scenario")


def check_tool_success(population: Population) -> None:
    """Raise at the first tool of which a population says by no JSON Schema what a success is.

    Raises
    ------
    ProtocolError
        Code ``predicate_invalid``.
    """
    named = {tool for names in astuple(population.tools) for tool in names} | set(
        _before(population)
    )
    for tool, asked in (population.tool_success or {}).items():
        if tool not in named:
            expected = f"one of {', '.join(sorted(named))}"
            found = "is a tool that nothing asks a success of"
            raise _invalid(population, f"/tool_success/{_escaped(tool)}", found, expected)
        for at, found, expected in _schema_contradictions(asked):
            pointer = f"/tool_success/{_escaped(tool)}{at.removeprefix('/schema')}"
            raise _invalid(population, pointer, found, expected)


def _before(population: Population) -> Iterator[str]:
    """Yield the tools that some predicate asks to have succeeded."""
    asked = [*(population.predicates or {}).values()]
    asked += [each for one in population.scenarios for each in one.predicates]
    for predicate in asked:
        for _, each in _placed(predicate):
            if each["kind"] == "tool_order":
                yield each["before"]


def _invalid(population: Population, pointer: str, found: str, expected: str) -> ProtocolError:
    return contradiction(population, pointer, found, expected, code="predicate_invalid")


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _placed(
    predicate: Mapping[str, Any], pointer: str = ""
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a predicate and those that it holds, each with its pointer."""
    yield pointer, predicate
    for at, inner in enumerate(members(predicate)):
        step = "/of" if predicate["kind"] == "not" else f"/of/{at}"
        yield from _placed(inner, pointer + step)


def _contradictions(
    predicate: Mapping[str, Any], population: Population, *, is_named: bool
) -> Iterator[Fault]:
    low, high = predicate.get("min"), predicate.get("max")
    if low is not None and high is not None and low > high:
        yield "", f"asks for {low} to {high}", "min <= max"
    for kind, keys, expected in _ONE_OF:
        told = [key for key in keys if key in predicate]
        if predicate["kind"] == kind and (len(told) != 1 and not (kind == _COUNT and told)):
            yield "", f"has {' and '.join(told) or 'none of them'}", expected
    if "schema" in predicate:
        yield from _schema_contradictions(predicate["schema"])
    for name in _PATHS:
        if name in predicate:
            yield from _beneath(f"/{name}", path_faults(predicate[name]))
    for name in ("allowed", "exclude"):
        for at, pointer in enumerate(predicate.get(name, ())):
            yield from _beneath(f"/{name}/{at}", pointer_faults(pointer))
    if predicate["kind"] == "state_equals" and "tolerance" in predicate:
        yield from _beneath("/tolerance", tolerance_faults(predicate["equals"]))
    yield from _word_contradictions(predicate, population)
    yield from _name_contradictions(predicate, population, is_named=is_named)
    tools = population.tools
    if predicate["kind"] == "speech_after_tool" and predicate["tool"] in (
        *tools.end_call,
        *tools.transfer,
    ):
        expected = "a tool after which the agent goes on speaking"
        yield "/tool", f"is {predicate['tool']!r}, which ends or hands over the call", expected


def _schema_contradictions(schema: Any) -> Iterator[Fault]:
    faults = list(_beneath("/schema", schema_faults(schema)))
    if faults:
        yield faults[0]
        return
    try:
        closed_validator(schema)
    except SchemaError as exc:
        yield "/schema", f"has a schema that {exc.problem.found}", exc.problem.expected


def _beneath(pointer: str, faults: Iterable[Fault]) -> Iterator[Fault]:
    for below, found, expected in faults:
        yield pointer + below, found, expected


def _word_contradictions(predicate: Mapping[str, Any], population: Population) -> Iterator[Fault]:
    for key in ("phrases", "says", "names"):
        for at, entry in enumerate(predicate.get(key, ())):
            for text in [entry] if isinstance(entry, str) else entry:
                if not spoken_words(text):
                    yield f"/{key}/{at}", f"is {text!r}, which says no word", "words"
    asks = predicate["kind"] == "consent" or predicate.get("unless_denied", False)
    language, known = predicate.get("language", DEFAULT_LANGUAGE), languages_of(population)
    if asks and language not in known:
        expected = f"one of {', '.join(sorted(known))}, or phrases of it in the population"
        yield "/language", f"is {language!r}, of which there are no phrases", expected


def _name_contradictions(
    predicate: Mapping[str, Any], population: Population, *, is_named: bool
) -> Iterator[Fault]:
    if predicate["kind"] != "named":
        return
    known = sorted(population.predicates or {})
    if is_named:
        expected = "no other name: named predicates do not build on each other"
        yield "/name", f"names {predicate['name']!r} in a named predicate", expected
    elif predicate["name"] not in known:
        expected = (
            f"one of {', '.join(known)}" if known else "a name of the population's predicates"
        )
        yield "/name", f"is {predicate['name']!r}, which the population does not define", expected


def _claim_twice(
    predicates: Iterable[Mapping[str, Any]], named: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[int, str]]:
    texts: dict[str, str] = {}
    for index, predicate in enumerate(predicates):
        for each in with_inner(predicate, named):
            if each["kind"] == "claim" and "text" in each:
                question, text = each["question"], each["text"]
                if texts.setdefault(question, text) != text:
                    yield index, f"asks {question!r} with another text"
