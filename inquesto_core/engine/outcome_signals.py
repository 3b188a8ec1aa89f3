"""Signals over the calls of a run: tables in, tables and a record an agent out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.signals import Observed, find_signals
from inquesto_core.score.attempts import told_cost
from inquesto_core.score.signals import decide_signals, signals_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.engine.outcome_bundles import OutcomeTables
    from inquesto_core.protocol import Population, SignalsProtocol

__all__ = ["Made", "signal_tables"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One row a call, the tables of the run folder by file, and a record an agent."""

    decisions: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]
    records: Mapping[str, dict[str, Any]]


def signal_tables(
    tables: OutcomeTables,
    agents: Mapping[str, dict[str, Any]],
    *,
    protocol: SignalsProtocol,
    population: Population,
) -> Made:
    """Return what the signals make of the calls of a run."""
    seen = Observed(
        calls=tables.calls,
        tool_calls=tables.tool_calls,
        caller_calls=tables.caller_calls,
        transcript=tables.transcript,
        states=tables.states,
        answers=tables.answers,
    )
    found = find_signals(seen, protocol=protocol, population=population)
    calls = tables.calls
    if "cost" not in calls.columns:
        calls = calls.with_columns(cost=pl.lit(None, dtype=pl.String))
    calls = calls.with_columns(cost=told_cost())
    decisions, signals = decide_signals(
        calls, tables.transcript, found, protocol=protocol, population=population
    )
    records = {}
    for fingerprint, about in agents.items():
        ours = decisions.filter(pl.col("agent_fingerprint") == fingerprint)
        ids = ours.select("call_id")
        records[fingerprint] = signals_record(
            ours,
            signals.join(ids, on="call_id", how="semi"),
            found.assertions.join(ids, on="call_id", how="semi"),
            protocol=protocol,
            population=population,
            about=about,
        )
    files = {
        "calls.parquet": decisions,
        "signals.parquet": signals,
        "assertions.parquet": found.assertions,
    }
    return Made(decisions=decisions, tables=files, records=records)
