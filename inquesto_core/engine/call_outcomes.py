"""What lies around a run's score: first departures, hand-overs, delivery, cost, waiting."""

from __future__ import annotations

import re
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.bundle import find_bundles, read_bundle
from inquesto_core.engine.compat import require_evidence
from inquesto_core.engine.keyed_rows import read_keyed_rows, refuse_row
from inquesto_core.engine.partitions import WHOLE
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.stored import load_run
from inquesto_core.errors import BundleError, IncomparableError, Problem
from inquesto_core.events.trace import trace_facts
from inquesto_core.score.boundary import first_boundaries
from inquesto_core.score.call_outcomes import CallOutcomes
from inquesto_core.score.completion import completion_by_latency, cost_of_pass
from inquesto_core.score.delivery import delivery
from inquesto_core.score.escalation import escalation, verification
from inquesto_core.score.speech_fidelity import speech_fidelity

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COST_TAG", "CURRENCY_TAG", "outcomes_of_run", "told_costs"]

#: Tags of call.json that tell what a call cost.
COST_TAG = "cost"
CURRENCY_TAG = "cost_currency"

_TABLES = (
    "calls",
    "media",
    "word_errors",
    "transcript_differences",
    "tool_calls",
    "states",
    "transcript",
    "asr_turns",
    "barge_ins",
)
#: Dearer than any call: a cost is not a phone number.
_MOST = Decimal(1_000_000)

_WRITTEN = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")

Costs = dict[str, tuple[Decimal, str | None]]


def outcomes_of_run(
    run: str | Path,
    *,
    costs: str | Path | None = None,
    bundles: str | Path | None = None,
    protocol: str | Path | None = None,
    population: str | Path | None = None,
) -> CallOutcomes:
    """Return what lies around a run's score.

    Parameters
    ----------
    costs : path, optional
        Rows ``call_id``, ``cost``, ``currency`` where it is told; JSON Lines or CSV.
    bundles : path, optional
        The run's bundles, whose tags `COST_TAG` and `CURRENCY_TAG` tell the cost. A file of costs
        goes before them.
    protocol, population
        As for `protocol_of_run` and `population_of_run`.

    Raises
    ------
    SchemaError
        ``rows_invalid``: a cost that is none.
    """
    stored = load_run(run, tables=_TABLES)
    require_evidence(stored)
    law = protocol_of_run(stored, protocol)
    people = population_of_run(stored, population, protocol=law)
    tables, decisions = stored.tables, stored.decisions
    facts = trace_facts(tables["calls"], tables["tool_calls"], protocol=law, population=people)
    told = told_costs(costs, () if bundles is None else [bundles])
    if told and not told.keys() & set(decisions["call_id"].cast(pl.String)):
        raise IncomparableError(
            Problem(
                code="no_common_calls",
                found="no call whose cost is told is one of the run",
                expected="the call ids of calls.parquet",
            )
        )
    tools = people.tools
    return CallOutcomes(
        boundaries=first_boundaries(decisions, tables, protocol=law, population=people),
        escalation=escalation(facts, decisions) if tools.transfer else None,
        verification=verification(
            tables["tool_calls"],
            decisions,
            verify=tuple(tools.verify),
            performed=tuple(law.performed_statuses),
        )
        if tools.verify
        else None,
        delivery=delivery(tables["transcript"], tables["barge_ins"], tables["calls"])
        if stored.parts == (WHOLE,)
        else None,
        fidelity=speech_fidelity(tables["transcript"], tables["asr_turns"]),
        costs=cost_of_pass(decisions, told),
        by_latency=completion_by_latency(decisions),
    )


def told_costs(costs: str | Path | None, bundles: Sequence[str | Path]) -> Costs:
    """Return cost and currency by call id.

    Parameters
    ----------
    costs : path or None
        JSON Lines or CSV: ``call_id``, ``cost``, ``currency``; goes before bundles.
    bundles : sequence of path
        Bundles whose tags `COST_TAG` and `CURRENCY_TAG` tell.

    Raises
    ------
    SchemaError
        ``rows_invalid``: a cost that is none, or a call twice.
    """
    told: Costs = {}
    for source in bundles:
        told |= _costs_of_bundles(source)
    if costs is not None:
        told |= _costs_of_file(costs)
    return told


def _costs_of_file(path: str | Path) -> Costs:
    name = Path(path).name
    out: Costs = {}
    for place, row in read_keyed_rows(path, required=("call_id", "cost")):
        if row["call_id"] in out:
            refuse_row(name, place, f"is {row['call_id']!r} again", "each call once")
        out[row["call_id"]] = (
            _cost(row["cost"], name, place),
            _currency(row.get("currency"), name, place),
        )
    return out


def _costs_of_bundles(source: str | Path) -> Costs:
    """Return what the tags of bundles tell; a bundle that cannot be read tells nothing."""
    out: Costs = {}
    with tempfile.TemporaryDirectory() as scratch:
        found = find_bundles([source], scratch=Path(scratch))
        if not found.refs:
            raise BundleError(
                Problem(
                    code="no_bundles",
                    found=f"{Path(source).name} holds no call bundle",
                    expected="the run's bundles, whose tags tell the cost",
                )
            )
        for ref in found.refs:
            call = read_bundle(ref).call
            if COST_TAG in call.tags:
                place = f"call {call.call_id}"
                out[call.call_id] = (
                    _cost(call.tags[COST_TAG], "call.json", place),
                    _currency(call.tags.get(CURRENCY_TAG), "call.json", place),
                )
    return out


def _cost(value: Any, file: str, place: str) -> Decimal:
    cost = _number(value)
    if cost is None or not 0 <= cost <= _MOST:
        refuse_row(file, place, f"has the cost {str(value)[:40]!r}", "a number from 0, as 0.21")
    return cost


def _number(value: Any) -> Decimal | None:
    """Return a number as JSON has it, or as a person writes one: digits, and a point if need be."""
    if isinstance(value, str):
        return Decimal(value.strip()) if _WRITTEN.fullmatch(value.strip()) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return Decimal(str(value))


def _currency(value: Any, file: str, place: str) -> str | None:
    if value is None or value == "":
        return None
    if not isinstance(value, str) or not re.fullmatch("[A-Za-z]{3}", value):
        refuse_row(file, place, f"has the currency {str(value)[:40]!r}", "three letters, as USD")
    return value.upper()
