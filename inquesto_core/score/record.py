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
from inquesto_core.score.citation import (
    JudgeUse,
    Standing,
    TranscriberUse,
    citation_line,
    timing_only_line,
)
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
from inquesto_core.score.tallies import counts_of, percentiles
from inquesto_core.score.views import diagnostic_views, pass_rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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

    A record of which no call belongs to a scenario is *timing-only*: no score, and its
    ``failures_by_severity``, ``failures_by_type`` and ``diagnostics`` are those of the calls whose
    timing is evaluated. Where some calls do, all of these are the calls' in n, and the others
    stand under ``timing_only`` alone.

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
    without_goal = int(cells["timing_only"].sum())
    measured = (cells, tallies, summary.lengths)
    timing_only = _is_timing_only(summary, population)
    if timing_only:
        measured = (summary.timed_cells, summary.timed_tallies, summary.timed_lengths)
    standing = Standing(
        population=None if is_default else population.name,
        total=int(cells["total"].sum()) - without_goal,
        in_n=rate.n,
        excluded=int(cells["excluded"].sum()),
        bounds=None if bounds is None else (bounds["low"], bounds["high"]),
        timing_reported=timing_reported,
        is_partial=not is_whole_design(summary.slots, population=population),
        timing_only=without_goal,
        timed=int(summary.timed_cells["n"].sum()),
    )
    parts = signature_parts(
        protocol=protocol,
        population=population,
        judge=judge,
        transcriber=heard_by,
        engine_version=__version__,
    )
    if timing_only:
        waits = percentiles(summary.timed_lengths, "latency")
        citation = timing_only_line(waits, protocol=protocol, standing=standing)
    else:
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
        **_failures(measured[0], protocol),
        "audio_only": audio_only(cells),
        "aggregation_ablation": aggregation_ablation(views),
        "severity_sensitivity": severity_sensitivity(cells, protocol=protocol),
        "design": _design(tallies, population),
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
        "accounting": _accounting(
            summary, protocol, call_key, expected=0 if timing_only else expected_count(population)
        ),
        "timing_only": _timing_only(summary, protocol) if timing_only or without_goal else None,
        "bounds": bounds,
        "timing_uncertainty": timing_uncertainty(cells, tallies, protocol=protocol),
        "diagnostics": timing_diagnostics(*measured, protocol=protocol),
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


def _is_timing_only(summary: Summary, population: Population) -> bool:
    """Return whether there are calls, and none of them belongs to a scenario of the population."""
    total, aside = (
        int(summary.cells.select(columns).sum().sum_horizontal().sum())
        for columns in (["total"], ["timing_only", "excluded"])
    )
    held = counts_of(summary.tallies, "design/scenario_id")
    placed = any(scenario.id in held for scenario in population.scenarios)
    return 0 < total == aside and not placed


def _timing_only(summary: Summary, protocol: Protocol) -> dict[str, Any]:
    """Return what timing tells of the calls without a scenario.

    Severities and types are those that sound alone can show.
    """
    audio = [event for event in protocol.events if event.source == "audio"]
    found = _failures(summary.timed_cells, protocol)
    shown = sorted({f"S{event.severity}" for event in audio})
    return {
        "calls": int(summary.cells["timing_only"].sum()),
        "timed": int(summary.timed_cells["n"].sum()),
        "events_by_severity": {name: found["failures_by_severity"][name] for name in shown},
        "events_by_type": found["failures_by_type"],
        "latency_ms": percentiles(summary.timed_lengths, "latency"),
    }


def _design(tallies: pl.DataFrame, population: Population) -> dict[str, Any]:
    """Return what the archive holds a call of, whatever became of it.

    A condition or group that the population does not have is counted, not named: it is a bundle's
    own word, and may be anybody's.
    """
    names = {key: sorted(counts_of(tallies, f"design/{key}")) for key in SLOT}
    return {
        "scenarios": len(names["scenario_id"]),
        "conditions": _known(names["condition"], population.conditions),
        "groups": _known(names["group"], population.groups),
        "seeds": len(names["trial"]),
    }


def _known(names: Sequence[str], known: Sequence[str]) -> list[str]:
    ours = [name for name in names if name in known]
    others = len(names) - len(ours)
    return [*ours, f"({others} not of the population)"] if others else ours


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
    summary: Summary, protocol: Protocol, call_key: bytes, *, expected: int
) -> dict[str, Any]:
    cells = summary.cells
    counts = {state: int(cells[state].sum()) for state in STATES}
    reasons = {
        state: dict(sorted(counts_of(summary.tallies, f"reasons/{state}").items()))
        for state in ("excluded", "not_evaluated", "timing_only")
    }
    return {
        "expected": expected,
        "total": int(cells["total"].sum()),
        "in_n": counts["scored"] + counts["agent_fault"],
        "scored": counts["scored"],
        "agent_fault": counts["agent_fault"],
        "excluded_n": counts["excluded"],
        "excluded": reasons["excluded"],
        "not_evaluated_n": counts["not_evaluated"],
        "not_evaluated": reasons["not_evaluated"],
        "timing_only_n": counts["timing_only"],
        "timing_only": reasons["timing_only"],
        "excluded_as_failures": excluded_as_failures(cells, protocol=protocol),
        "calls": _noted_calls(summary.noted, call_key),
    }


def _noted_calls(noted: pl.DataFrame, call_key: bytes) -> list[dict[str, Any]]:
    """Return the calls that are not plainly scored, sorted; one never recorded has its slot.

    Nor are those here that plainly have no scenario and are timed.
    """
    out = []
    for call_id, state, reasons, *slot in noted.iter_rows():  # a hash is not a column
        row: dict[str, Any] = {
            "call": None if call_id is None else call_hash(call_id, call_key),
            "state": state,
            "reasons": sorted(reasons or ()),
        }
        out.append(row if call_id is not None else {**row, "slot": slot})
    return sorted(out, key=lambda row: (row["call"] or "", str(row.get("slot")), row["state"]))


def call_hash(call_id: str, call_key: bytes) -> str:
    """Return what stands for a call id in a record: the same for the same inputs, and no id."""
    return hmac.new(call_key, call_id.encode(), "sha256").hexdigest()[:HASH_CHARACTERS]
