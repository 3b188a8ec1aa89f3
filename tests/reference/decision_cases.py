"""Decision tables for tests: a complete run in a few words, and the oracle's runs."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.evidence.tables import TABLES, empty_table
from inquesto_core.protocol import load_population
from inquesto_core.score import Summary, summarise
from inquesto_core.score.tables import EVENT_PREFIX, decision_schema

if TYPE_CHECKING:
    from pathlib import Path

    from inquesto_core.protocol import Population, Protocol


def no_evidence() -> dict[str, pl.DataFrame]:
    """Return every evidence table, empty."""
    return {name: empty_table(name) for name in TABLES}


def decision(protocol: Protocol, *events: str, **fields: Any) -> dict[str, Any]:
    """Return one row: a scored call whose goal is met, with these events and these other fields.

    ``passed`` follows from state, goal and events unless it is given.
    """
    row: dict[str, Any] = {
        "call_id": "0001",
        "scenario_id": "iep-001-dup_charge",
        "condition": "clean",
        "group": "us_female",
        "trial": 0,
        "identity": None,
        "state": "scored",
        "reasons": [],
        "goal": True,
        "borderline": False,
        "known_fail": False,
        "n_no_reply": 0,
        **{EVENT_PREFIX + event.name: event.name in events for event in protocol.events},
        **fields,
    }
    worst = max((event.severity for event in protocol.events if event.name in events), default=0)
    row.setdefault("worst_severity", worst)
    complete = {
        "scored": bool(row["goal"]) and worst < protocol.fail_at,
        "agent_fault": False,
    }
    row.setdefault("passed", complete.get(row["state"]))
    return row


def decisions(protocol: Protocol, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Return rows as a decision table."""
    names = tuple(event.name for event in protocol.events)
    return pl.DataFrame(rows, schema=decision_schema(names), orient="row")


def summary(
    protocol: Protocol,
    rows: list[dict[str, Any]] | pl.DataFrame,
    *,
    population: Population | None = None,
    judge_free: bool = False,
    **tables: pl.DataFrame,
) -> Summary:
    """Return what a record tells of rows, with evidence that is empty but for `tables`."""
    return summarise(
        rows if isinstance(rows, pl.DataFrame) else decisions(protocol, rows),
        {**no_evidence(), **tables},
        protocol=protocol,
        population=population or load_population(protocol.default_population, protocol),
        judge_free=judge_free,
    )


def complete_run(protocol: Protocol, population: Population) -> list[dict[str, Any]]:
    """Return a row for every expected call, all passed."""
    return [
        decision(
            protocol,
            call_id=f"{at:04d}",
            scenario_id=slot.scenario_id,
            condition=slot.condition,
            group=slot.group,
            trial=slot.trial,
            identity=population.scenario(slot.scenario_id).identity,
        )
        for at, slot in enumerate(population.expected_slots())
    ]


def fuzz_run(shared: Path, seed: int, protocol: Protocol) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the calls of an oracle run, decided by the reference, and the reference's record."""
    folder = shared / "oracle" / "fuzz" / str(seed)
    rows = []
    for line in gzip.decompress((folder / "calls.jsonl.gz").read_bytes()).splitlines():
        call = json.loads(line)
        expected = call["expected"]
        rows.append(
            decision(
                protocol,
                *(event["type"] for event in expected["events"]),
                call_id=call["key"],
                scenario_id=expected["scenario_id"],
                condition=expected["condition"],
                group=expected["group"],
                trial=expected["seed"],
                identity=expected["identity"],
                goal=expected["goal_achieved"],
                passed=expected["pass"],
            )
        )
    record = json.loads((folder / "inquesto-record.json").read_bytes())
    return decisions(protocol, rows), record


def published_records(shared: Path) -> dict[str, dict[str, Any]]:
    """Return the 13 public records by file name."""
    folder = shared / "oracle" / "records"
    records = {path.stem: json.loads(path.read_bytes()) for path in sorted(folder.glob("*.json"))}
    assert len(records) == 13
    return records
