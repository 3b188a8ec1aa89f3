"""What a population asks by checks: whether it can be asked, and as a table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import canonical_bytes
from inquesto_core.events.asked_of_scenarios import contradiction, refuse_contradictions
from inquesto_core.events.checks_said import WORD
from inquesto_core.events.predicates.written import path_faults
from inquesto_core.protocol import ASSERTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from inquesto_core.protocol import ChecksProtocol, Population, Scenario

__all__ = ["NO_OTHER_CHANGE", "asked_checks", "check_checks", "scenario_facts"]

#: The check that every scenario has unless it allows other changes.
NO_OTHER_CHANGE = "no_other_change"


def check_checks(population: Population, *, protocol: ChecksProtocol | Any) -> None:
    """Raise at the first scenario that cannot be scored by checks.

    Raises
    ------
    ProtocolError
        ``checks_invalid``: a scenario says nothing of checks, names one twice, asks about tools
        that the population does not name, or has a path that is no JMESPath.
    """
    if population.sound_alike is not None:
        for pointer, found, expected in _path_contradictions(
            population.sound_alike, "/sound_alike"
        ):
            raise contradiction(population, pointer, found, expected, code="checks_invalid")
    refuse_contradictions(
        population,
        lambda scenario: _contradictions(scenario, population, protocol),
        code="checks_invalid",
        page="docs/checks.md",
    )


def _contradictions(
    scenario: Scenario, population: Population, protocol: ChecksProtocol
) -> Iterator[tuple[str, str, str]]:
    asked = scenario.checks
    if asked is None:
        yield "", "has no checks", f"what {protocol.name} asks of its calls, under checks"
        return
    ids = Counter(check["id"] for name in ASSERTIONS for check in asked[name])
    ids[NO_OTHER_CHANGE] += 1
    for name, count in ids.items():
        if count > 1:
            yield "/checks", f"names the check {name!r} twice", "every id once"
    for name in ASSERTIONS:
        for index, check in enumerate(asked[name]):
            yield from _check_contradictions(check, f"/checks/{name}/{index}", population)


def _check_contradictions(
    check: Mapping[str, Any], pointer: str, population: Population
) -> Iterator[tuple[str, str, str]]:
    tools = population.tools
    if check["kind"] == "transfer" and not tools.transfer:
        yield pointer, "asks for a transfer where /tools/transfer is empty", "that tool"
    if check["kind"] == "change" and check["tool"] not in tools.change:
        yield f"{pointer}/tool", f"is {check['tool']!r}", "a tool of /tools/change"
    needs_verify = check["kind"] == "verified" or "verification" in check.get("window", "")
    if needs_verify and not tools.verify:
        yield pointer, "asks for verification where /tools/verify is empty", "that tool"
    for key in ("any_of", "topic"):
        for phrase in check.get(key, ()):
            if not WORD.search(phrase):
                yield f"{pointer}/{key}", f"has {phrase!r}", "words"
    for value in (*check.get("arguments", ()), *check.get("result", ())):
        yield from _path_contradictions(value, pointer)


def _path_contradictions(value: Mapping[str, Any], pointer: str) -> Iterator[tuple[str, str, str]]:
    for at, found, expected in path_faults(value["path"]):
        yield pointer + at, found, expected


def asked_checks(population: Population) -> pl.DataFrame:
    """Return a row a scenario and check.

    Columns ``scenario_id, assertion, index, check, kind, asked``; the last is the check as
    canonical JSON without its id, so that the same check of many scenarios is one.
    """
    rows = []
    for scenario in population.scenarios:
        asked = scenario.checks or {}
        for assertion in ASSERTIONS:
            for index, check in enumerate(asked.get(assertion, ())):
                told = {key: value for key, value in check.items() if key != "id"}
                text = canonical_bytes(told).decode()
                rows.append((scenario.id, assertion, index, check["id"], check["kind"], text))
        if asked and not asked.get("allow_other_changes", False):
            index = len(asked["changes"])
            own = (NO_OTHER_CHANGE, NO_OTHER_CHANGE, "{}")
            rows.append((scenario.id, "changes", index, *own))
    text_columns = ("scenario_id", "assertion", "check", "kind", "asked")
    return pl.DataFrame(
        [
            dict(zip((*text_columns[:2], "index", *text_columns[2:]), row, strict=True))
            for row in rows
        ],
        schema={
            "scenario_id": pl.String,
            "assertion": pl.String,
            "index": pl.Int64,
            "check": pl.String,
            "kind": pl.String,
            "asked": pl.String,
        },
        orient="row",
    )


def scenario_facts(population: Population) -> pl.DataFrame:
    """Return a row a scenario: how many requests it makes, its persona, and its last use case."""
    return pl.DataFrame(
        [
            (
                scenario.id,
                len(scenario.checks["requests"]),
                scenario.checks["persona"],
                scenario.checks["requests"][-1],
                scenario.handoff,
            )
            for scenario in population.scenarios
            if scenario.checks is not None
        ],
        schema={
            "scenario_id": pl.String,
            "requests": pl.Int64,
            "persona": pl.String,
            "last_use_case": pl.String,
            "handoff": pl.Boolean,
        },
        orient="row",
    )
