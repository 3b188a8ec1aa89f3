"""From the tables of a run of signals or checks to its records and its folder."""

from __future__ import annotations

import platform
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.canonical import digest_json
from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.outcome_checks import check_tables
from inquesto_core.engine.outcome_signals import signal_tables
from inquesto_core.engine.stored import INPUTS_FILE
from inquesto_core.errors import BundleError, Problem
from inquesto_core.events.checks_asked import check_checks
from inquesto_core.events.predicates.check import check_tool_success
from inquesto_core.events.signals_asked import check_signals
from inquesto_core.protocol import ChecksProtocol, SignalsProtocol

if TYPE_CHECKING:
    from inquesto_core.engine.outcome_bundles import OutcomeTables
    from inquesto_core.engine.outcome_signals import Made
    from inquesto_core.engine.run_folder import RunFolder
    from inquesto_core.protocol import OutcomeProtocol, Population
    from inquesto_core.score import JudgeUse

__all__ = ["EVIDENCE", "check_population", "reduced_outcomes", "tags_of", "write_outcomes"]

#: The tables that a run keeps beside its decisions.
EVIDENCE = (
    "calls",
    "tool_calls",
    "caller_calls",
    "transcript",
    "states",
    "answers",
    "verdicts",
    "problems",
)


def tags_of(protocol: OutcomeProtocol) -> dict[str, str]:
    """Return the columns that a protocol reads of calls' tags, and which tag each is."""
    if isinstance(protocol, SignalsProtocol):
        cost = {} if protocol.cost_tag is None else {"cost": protocol.cost_tag}
        return {"simulator_end": protocol.ends.simulator_tag, **cost}
    assert isinstance(protocol, ChecksProtocol)
    return {"believed": protocol.believed_tag, "cost": protocol.cost_tag}


def check_population(population: Population, protocol: OutcomeProtocol) -> None:
    """Raise where a population asks nothing that the protocol could decide.

    Raises
    ------
    ProtocolError
        ``signals_invalid``, ``checks_invalid``, ``predicate_invalid``.
    """
    check_tool_success(population)
    if isinstance(protocol, SignalsProtocol):
        check_signals(population, protocol=protocol)
    else:
        check_checks(population, protocol=protocol)


def reduced_outcomes(
    tables: OutcomeTables,
    *,
    protocol: OutcomeProtocol,
    population: Population,
    judge: JudgeUse,
    provenance: dict[str, Any],
    evaluated_at: str | None,
) -> Made:
    """Return what a protocol makes of the calls of a run.

    Parameters
    ----------
    judge : JudgeUse
        Whose the answers are.
    provenance : dict
        What stands in the records beside engine, protocol, population and inputs.

    Raises
    ------
    BundleError
        ``no_usable_bundle``.
    """
    told = {
        "engine": __version__,
        "protocol_sha256": protocol.digest,
        "population_sha256": population.digest,
        "inputs_sha256": digest_json(tables.inputs.to_dicts()),
        **provenance,
    }
    agents = _agents(tables, judge, told, evaluated_at)
    if not agents:
        raise BundleError(
            Problem(
                code="no_usable_bundle",
                found="no bundle has a readable call.json that names its agent",
                expected="at least one",
                remedy="see `inquesto-core validate`",
            )
        )
    if isinstance(protocol, SignalsProtocol):
        return signal_tables(tables, agents, protocol=protocol, population=population)
    assert isinstance(protocol, ChecksProtocol)
    return check_tables(tables, agents, protocol=protocol, population=population)


def _agents(
    tables: OutcomeTables,
    judge: JudgeUse,
    provenance: dict[str, Any],
    evaluated_at: str | None,
) -> dict[str, dict[str, Any]]:
    """Return what a record says of each agent before its calls are counted."""
    answered = tables.answers.join(
        tables.calls.select("call_id", "agent_fingerprint"), on="call_id", how="left"
    )
    rows = (
        tables.calls.drop_nulls("agent_fingerprint")
        .group_by("agent_fingerprint")
        .agg(pl.col("agent_name").min(), newest=pl.col("ended_at").str.slice(0, 10).max())
        .sort("agent_fingerprint")
    )
    out = {}
    for fingerprint, name, newest in rows.iter_rows():
        ours = answered.filter(pl.col("agent_fingerprint") == fingerprint)
        models = sorted(ours["model"].drop_nulls().unique())
        out[str(fingerprint)] = {
            "agent": name,
            "agent_fingerprint": fingerprint,
            "judge": {
                "kind": judge.kind if ours.height else "none",
                "models": models,
                "label": judge.label if ours.height else None,
            },
            "evaluated_at": evaluated_at or newest,
            "provenance": provenance,
        }
    return out


def write_outcomes(
    folder: RunFolder,
    made: Made,
    tables: OutcomeTables,
    *,
    protocol: OutcomeProtocol,
    population: Population,
    judge: JudgeUse,
    asked_with: str | None,
    provenance: dict[str, Any],
    evaluated_at: str | None,
    rescored_from: dict[str, Any] | None = None,
) -> None:
    """Write a run folder.

    Parameters
    ----------
    asked_with : str or None
        Digest of the pin and rubric that a model was asked with.
    provenance : dict
        As for `reduced_outcomes`.
    """
    evidence = {f"evidence/{name}.parquet": getattr(tables, name) for name in EVIDENCE}
    manifest = {
        "method": protocol.method,
        "inputs": {
            "file": INPUTS_FILE,
            "rows": tables.inputs.height,
            "call_key": call_name_key(tables.inputs).hex(),
        },
        "models": _models(provenance),
        "protocol": {
            "name": protocol.name,
            "digest": protocol.digest,
            "status": protocol.status,
        },
        "population": {"name": population.name, "digest": population.digest},
        "engine": {"version": __version__},
        "parameters": {
            "protocol": protocol.name,
            "population": population.name,
            "evaluated_at": evaluated_at,
            "judge": asdict(judge),
            "asked_with": asked_with,
            "provenance": provenance,
        },
        **({} if rescored_from is None else {"rescored_from": rescored_from}),
        "platform": {"machine": platform.machine(), "python": platform.python_version()},
        "times": {"written_at": datetime.now(UTC).isoformat(timespec="seconds")},
    }
    folder.write_outcome(
        made.records,
        schema_name=f"{protocol.method}_record",
        tables={**made.tables, **evidence, INPUTS_FILE: tables.inputs},
        population=population,
        manifest=manifest,
    )


def _models(provenance: dict[str, Any]) -> list[dict[str, Any]]:
    judge = provenance.get("judge")
    if judge is None:
        return []
    return [{"name": judge["model"], "sha256": judge["sha256"], "runtime": judge["library"]}]
