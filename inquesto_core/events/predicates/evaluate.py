"""What evaluates each kind of predicate, what it reads, and how predicates are put together.

``all``, ``any`` and ``not`` are three-valued (Kleene): undetermined never becomes true beside what
is true. An error is false, and `not` leaves it false.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates.claims import claim
from inquesto_core.events.predicates.consents import consent
from inquesto_core.events.predicates.documents import tool_documents
from inquesto_core.events.predicates.facts_said import spoken
from inquesto_core.events.predicates.repeats import exactly_once
from inquesto_core.events.predicates.states import (
    state_changes,
    state_equals,
    state_hash_equals,
    state_unchanged,
)
from inquesto_core.events.predicates.time_limits import speech_after_tool, tool_after_speech
from inquesto_core.events.predicates.tools import tool_count, tool_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from inquesto_core.events.predicates.part import Part
    from inquesto_core.protocol import Population, Scenario

    Rule = Callable[[Part, Mapping[str, Any]], pl.DataFrame]

__all__ = [
    "GROUPS",
    "KINDS",
    "asked_claims",
    "columns_read",
    "evaluate",
    "is_judged",
    "members",
    "with_inner",
]

_TEXTS = ("call_id", "position", "speaker", "start_ms", "end_ms", "text", "heard_text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of predicate: its rule, and the columns of evidence beyond the usual ones."""

    rule: Rule
    reads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_TRACE = {"tool_calls": ("id",)}

LEAVES: Mapping[str, Kind] = {
    "tool_called": Kind(rule=tool_count, reads=_TRACE),
    "tool_not_called": Kind(rule=tool_count, reads=_TRACE),
    "tool_count": Kind(rule=tool_count, reads=_TRACE),
    "tool_order": Kind(rule=tool_order, reads={"tool_calls": ("id", "result")}),
    "tool_arguments": Kind(rule=tool_documents, reads={"tool_calls": ("id", "arguments")}),
    "tool_results": Kind(rule=tool_documents, reads={"tool_calls": ("id", "result")}),
    "exactly_once": Kind(rule=exactly_once, reads={"tool_calls": ("id", "arguments")}),
    "speech_after_tool": Kind(rule=speech_after_tool, reads=_TRACE),
    "tool_after_speech": Kind(rule=tool_after_speech, reads={**_TRACE, "transcript": _TEXTS}),
    "state_equals": Kind(rule=state_equals, reads={"states": ("after",)}),
    "state_unchanged": Kind(rule=state_unchanged, reads={"states": ("before", "after")}),
    "state_changes": Kind(rule=state_changes, reads={"states": ("before", "after")}),
    "state_hash": Kind(rule=state_hash_equals, reads={"states": ("before", "after", "expected")}),
    "claim": Kind(rule=claim),
    "spoken": Kind(rule=spoken, reads={"transcript": _TEXTS}),
    "consent": Kind(rule=consent, reads={**_TRACE, "transcript": _TEXTS}),
}
#: What puts predicates together.
GROUPS = ("all", "any", "not", "named")
#: The kinds of the schema of populations, in its order.
KINDS = (*LEAVES, *GROUPS)


def members(predicate: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the predicates that a group holds itself; none where it is no group, or named."""
    if predicate["kind"] in ("all", "any"):
        return tuple(predicate["of"])
    return (predicate["of"],) if predicate["kind"] == "not" else ()


def with_inner(
    predicate: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """Yield a predicate and all that it holds, named ones looked up, depth first."""
    yield predicate
    if predicate["kind"] == "named":
        yield from with_inner(named[predicate["name"]], named)
    for inner in members(predicate):
        yield from with_inner(inner, named)


def is_judged(predicate: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a judge answers any part of a predicate."""
    return any(each["kind"] == "claim" for each in with_inner(predicate, named))


def asked_claims(scenario: Scenario, population: Population) -> dict[str, str]:
    """Return what a judge is asked about a scenario's calls for its claims: question to text."""
    named = population.predicates or {}
    return {
        each["question"]: each["text"]
        for predicate in scenario.predicates
        for each in with_inner(predicate, named)
        if each["kind"] == "claim" and "text" in each
    }


def columns_read(
    predicate: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]
) -> dict[str, set[str]]:
    """Return the columns of evidence that a predicate reads beyond the usual ones, by table."""
    found: dict[str, set[str]] = {}
    for each in with_inner(predicate, named):
        if each["kind"] in LEAVES:
            for table, columns in LEAVES[each["kind"]].reads.items():
                found.setdefault(table, set()).update(columns)
        if each.get("side") == "user":
            found.setdefault("calls", set()).add("has_caller_calls")
    return found


def evaluate(
    part: Part, predicate: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    """Return ``call, value, raised, evidence`` of every call of `part`, in their order."""
    kind = predicate["kind"]
    if kind in LEAVES:
        return LEAVES[kind].rule(part, predicate)
    if kind == "named":
        name, found = predicate["name"], evaluate(part, named[predicate["name"]], named)
        text = pl.concat_str(pl.lit(f"{name}: "), "evidence")
        if predicate.get("expect", True):
            return found.with_columns(evidence=text)
        return _negated(found).with_columns(
            evidence=pl.concat_str(text, pl.lit("; expected false"))
        )
    if kind == "not":
        found = _negated(evaluate(part, predicate["of"], named))
        return found.with_columns(evidence=pl.concat_str(pl.lit("not: "), "evidence"))
    return _together(kind, [evaluate(part, inner, named) for inner in predicate["of"]])


def _negated(found: pl.DataFrame) -> pl.DataFrame:
    return found.with_columns(value=~pl.col("value") & ~pl.col("raised"))


def _together(kind: str, found: list[pl.DataFrame]) -> pl.DataFrame:
    """Return the Kleene conjunction or disjunction of frames that have the same calls."""
    wide = pl.DataFrame(
        {
            f"{name}_{at}": frame[name]
            for at, frame in enumerate(found)
            for name in ("value", "raised", "evidence")
        }
    )
    values = [pl.col(f"value_{at}") for at in range(len(found))]
    any_raised = pl.any_horizontal(pl.col(f"raised_{at}") for at in range(len(found)))
    value = pl.all_horizontal(values) if kind == "all" else pl.any_horizontal(values)
    told = pl.concat_str(
        *(
            pl.concat_str(
                pl.lit("("),
                pl.col(f"value_{at}").cast(pl.String).fill_null("undetermined"),
                pl.lit(") "),
                pl.col(f"evidence_{at}"),
            )
            for at in range(len(found))
        ),
        separator="; ",
    )
    return wide.select(
        value=value, evidence=pl.concat_str(pl.lit(f"{kind}: "), told), any_raised=any_raised
    ).select(
        found[0]["call"],
        "value",
        raised=pl.col("any_raised") & ~pl.col("value").fill_null(value=True),
        evidence="evidence",
    )
