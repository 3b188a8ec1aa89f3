"""The published record: every field of the public records under its name, then our own.

It holds numbers, names from the protocol and population, and short values from an allow-list. Free
text stays out: other values become digests, and calls are named by a keyed hash of their id.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.canonical import digest_json
from inquesto_core.score.bounds import (
    STATES,
    excluded_as_failures,
    score_bounds,
    timing_uncertainty,
)
from inquesto_core.score.citation import JudgeUse, Standing, TranscriberUse, citation_line
from inquesto_core.score.diagnostics import timing_diagnostics
from inquesto_core.score.sensitivity import (
    aggregation_ablation,
    audio_only,
    judge_free_variant,
    severity_sensitivity,
)
from inquesto_core.score.signature import format_signature, signature_parts
from inquesto_core.score.slots import expected_count, is_whole_design
from inquesto_core.score.tables import EVENT_PREFIX, SLOT
from inquesto_core.score.tallies import counts_of
from inquesto_core.score.views import diagnostic_views, pass_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import Protocol
    from inquesto_core.protocol.population import Population
    from inquesto_core.score.summary import Summary

__all__ = ["CONFIG_FIELDS", "AgentIdentity", "JudgeUse", "TranscriberUse", "build_record"]

#: Agent settings that stand in a record as they are, if they are short.
CONFIG_FIELDS = (
    "model",
    "stt",
    "tts",
    "endpointing_ms",
    "interrupt_sensitivity",
    "max_context_turns",
    "temperature",
    "language",
)
SHORT_CHARACTERS = 80
HASH_CHARACTERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentIdentity:
    """The agent that was scored, as its calls name it."""

    name: str
    fingerprint: str | None
    config: Mapping[str, Any]
    runtime: str | None


def build_record(
    summary: Summary,
    *,
    protocol: Protocol,
    population: Population,
    default_population_digest: str,
    agent: AgentIdentity,
    judge: JudgeUse,
    transcriber: TranscriberUse | None = None,
    timing_reported: bool,
    call_key: bytes,
    provenance: Mapping[str, Any],
    evaluated_at: str | None,
) -> dict[str, Any]:
    """Return the record of one agent's calls; the order of their rows never matters.

    Parameters
    ----------
    summary : Summary
        All calls of one agent; without a judge (``judge.kind`` is ``none``) a judge-free one.
    default_population_digest : str
        Digest of the population that the plain citation line is reserved for. A name is no proof:
        a population is the default one by its content.
    transcriber : TranscriberUse, optional
        Default: no call's words are those of a transcriber.
    timing_reported : bool
        Some call's timing was told by its runtime and not measured.
    call_key : bytes
        Key of the hashes that stand for call ids in ``accounting``.
    provenance : mapping
        Digests of what went in, as JSON; taken over as it is.
    evaluated_at : str or None
        ``YYYY-MM-DD``.
    """
    heard_by = transcriber or TranscriberUse(kind="none")
    cells, tallies = summary.cells, summary.tallies
    is_default = population.digest == default_population_digest
    rate = pass_rate(cells)
    interval = rate.published_interval(protocol.z)
    views = diagnostic_views(cells, protocol=protocol, population=population)
    bounds = score_bounds(cells)
    standing = Standing(
        population=None if is_default else population.name,
        total=int(cells["total"].sum()),
        in_n=rate.n,
        excluded=int(cells["excluded"].sum()),
        bounds=None if bounds is None else (bounds["low"], bounds["high"]),
        timing_reported=timing_reported,
        is_partial=not is_whole_design(summary.slots, population=population),
    )
    parts = signature_parts(
        protocol=protocol,
        population=population,
        judge=judge,
        transcriber=heard_by,
        engine_version=__version__,
    )
    citation = citation_line(
        rate, views, protocol=protocol, judge=judge, transcriber=heard_by, standing=standing
    )
    return {
        "protocol": protocol.name,
        "agent": agent.name,
        "agent_fingerprint": agent.fingerprint,
        "score": rate.published,
        "ci95": None if interval is None else list(interval),
        "n": rate.n,
        "passed": rate.k,
        "views": views,
        **_failures(cells, protocol),
        "audio_only": audio_only(cells),
        "aggregation_ablation": aggregation_ablation(views),
        "severity_sensitivity": severity_sensitivity(cells, protocol=protocol),
        "design": _design(tallies),
        "definition": _definition(protocol, population),
        "evaluated_at": evaluated_at,
        "runtime": agent.runtime,
        "config": _public_config(agent.config),
        "population": {
            "name": population.name,
            "version": population.version,
            "scenarios": len(population.scenarios),
            "sha256": population.digest,
            "default": is_default,
        },
        "citation": citation,
        "judge_free": judge_free_variant(summary.judge_free, protocol=protocol),
        "accounting": _accounting(summary, protocol, population, call_key),
        "bounds": bounds,
        "timing_uncertainty": timing_uncertainty(cells, tallies, protocol=protocol),
        "diagnostics": timing_diagnostics(cells, tallies, summary.lengths, protocol=protocol),
        "provenance": dict(provenance),
        "signature": {"text": format_signature(parts)},
    }


def _failures(cells: pl.DataFrame, protocol: Protocol) -> dict[str, dict[str, int]]:
    """Return the tallies over the complete calls: one event a type and call."""
    counts = {event.name: int(cells[EVENT_PREFIX + event.name].sum()) for event in protocol.events}
    severities = {f"S{severity.level}": 0 for severity in protocol.severities}
    for event in protocol.events:
        severities[f"S{event.severity}"] += counts[event.name]
    found = sorted(
        ((name, count) for name, count in counts.items() if count),
        key=lambda row: (-row[1], row[0]),
    )
    return {"failures_by_severity": severities, "failures_by_type": dict(found)}


def _design(tallies: pl.DataFrame) -> dict[str, Any]:
    """Return what the archive holds a call of, whatever became of it."""
    names = {key: sorted(counts_of(tallies, f"design/{key}")) for key in SLOT}
    return {
        "scenarios": len(names["scenario_id"]),
        "conditions": names["condition"],
        "groups": names["group"],
        "seeds": len(names["trial"]),
    }


def _definition(protocol: Protocol, population: Population) -> dict[str, Any]:
    return {
        "version": protocol.version,
        "testset": population.name,
        "conditions": list(population.conditions),
        "groups": list(population.groups),
        "reference_group": population.reference_group,
        "seeds": population.design.trials,
        "severity": {event.name: event.severity for event in protocol.events},
        "fail_at": protocol.fail_at,
        "judge_model": protocol.instruments.judge.name,
        "latency_ms": {
            "s2_median": protocol.event("slow_median").parameters["median_ms"],
            "s3_turn": protocol.event("slow_turn").parameters["latency_ms"],
        },
    }


def _public_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with every value that is not a short allow-listed one as a digest."""
    out = {}
    for key, value in sorted(config.items()):
        if key in CONFIG_FIELDS and _is_short(value):
            out[key] = value
        else:
            name = key if key.isidentifier() and len(key) <= SHORT_CHARACTERS else _digest(key)
            out[name] = _digest(value)
    return out


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= SHORT_CHARACTERS and value.isprintable()
    return value is None or isinstance(value, (bool, int, float))


def _digest(value: Any) -> str:
    return "sha256:" + digest_json(value)[:HASH_CHARACTERS]


def _accounting(
    summary: Summary, protocol: Protocol, population: Population, call_key: bytes
) -> dict[str, Any]:
    cells = summary.cells
    counts = {state: int(cells[state].sum()) for state in STATES}
    reasons = {
        state: dict(sorted(counts_of(summary.tallies, f"reasons/{state}").items()))
        for state in ("excluded", "not_evaluated")
    }
    return {
        "expected": expected_count(population),
        "total": int(cells["total"].sum()),
        "in_n": counts["scored"] + counts["agent_fault"],
        "scored": counts["scored"],
        "agent_fault": counts["agent_fault"],
        "excluded_n": counts["excluded"],
        "excluded": reasons["excluded"],
        "not_evaluated_n": counts["not_evaluated"],
        "not_evaluated": reasons["not_evaluated"],
        "excluded_as_failures": excluded_as_failures(cells, protocol=protocol),
        "calls": _noted_calls(summary.noted, call_key),
    }


def _noted_calls(noted: pl.DataFrame, call_key: bytes) -> list[dict[str, Any]]:
    """Return the calls that are not plainly scored, sorted; one never recorded has its slot."""
    out = []
    for call_id, state, reasons, *slot in noted.iter_rows():  # a hash is not a column
        row: dict[str, Any] = {
            "call": None if call_id is None else _call_hash(call_id, call_key),
            "state": state,
            "reasons": sorted(reasons or ()),
        }
        out.append(row if call_id is not None else {**row, "slot": slot})
    return sorted(out, key=lambda row: (row["call"] or "", str(row.get("slot")), row["state"]))


def _call_hash(call_id: str, call_key: bytes) -> str:
    return hmac.new(call_key, call_id.encode(), "sha256").hexdigest()[:HASH_CHARACTERS]
