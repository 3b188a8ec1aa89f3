"""Checks over the calls of a run: tables in, tables and a record an agent out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.engine.outcome_signals import Made
from inquesto_core.events.checks import CheckEvidence, find_checks
from inquesto_core.events.checks_trace import sound_alike_only, with_outcome
from inquesto_core.score.attempts import told_cost
from inquesto_core.score.checks import checks_record, decide_checks
from inquesto_core.score.completion import transcript_latency

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.engine.outcome_bundles import OutcomeTables
    from inquesto_core.protocol import ChecksProtocol, Population

__all__ = ["check_tables"]


def check_tables(
    tables: OutcomeTables,
    agents: Mapping[str, dict[str, Any]],
    *,
    protocol: ChecksProtocol,
    population: Population,
) -> Made:
    """Return what the checks make of the calls of a run."""
    seen = CheckEvidence(
        calls=tables.calls,
        tool_calls=tables.tool_calls,
        transcript=tables.transcript,
        answers=tables.answers,
    )
    checks = find_checks(seen, protocol=protocol, population=population)
    calls = _with_facts(tables, protocol, population)
    decisions = decide_checks(calls, checks, protocol=protocol, population=population)
    records = {}
    for fingerprint, about in agents.items():
        ours = decisions.filter(pl.col("agent_fingerprint") == fingerprint)
        records[fingerprint] = checks_record(
            ours,
            checks.join(ours.select("call_id"), on="call_id", how="semi"),
            protocol=protocol,
            population=population,
            about=about,
        )
    files = {"calls.parquet": decisions, "checks.parquet": checks}
    return Made(decisions=decisions, tables=files, records=records)


def _with_facts(
    tables: OutcomeTables, protocol: ChecksProtocol, population: Population
) -> pl.DataFrame:
    """Return the calls with what the record also tells: transfers, beliefs, sound, cost, waits."""
    outcomes = with_outcome(tables.tool_calls, protocol, population)
    moved = outcomes.filter(pl.col("name").is_in(list(population.tools.transfer)))
    alike = sound_alike_only(outcomes, population)
    unknown = outcomes.filter(
        pl.col("succeeded").is_null() & pl.col("name").is_in(list(population.tools.verify))
    )
    is_told = pl.col("has_trace") & ~pl.col("call_id").is_in(unknown["call_id"].implode())
    has_trace = pl.col("has_trace")
    waits = transcript_latency(tables.transcript)
    calls = tables.calls.join(waits, on="call_id", how="left", maintain_order="left")
    return calls.with_columns(
        transferred=pl.when(has_trace).then(
            pl.col("call_id").is_in(moved["call_id"].unique().implode())
        ),
        sound_alike_only=pl.when(is_told).then(pl.col("call_id").is_in(alike["call_id"].implode())),
        believed=pl.col("believed").is_in(list(protocol.believed_values)),
        cost=told_cost(),
    )
