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
from inquesto_core.score.bounds import excluded_as_failures, score_bounds, timing_uncertainty
from inquesto_core.score.citation import JudgeUse, Standing, TranscriberUse, citation_line
from inquesto_core.score.diagnostics import timing_diagnostics
from inquesto_core.score.sensitivity import (
    aggregation_ablation,
    audio_only,
    judge_free_decisions,
    judge_free_variant,
    severity_sensitivity,
)
from inquesto_core.score.signature import format_signature, signature_parts
from inquesto_core.score.tables import EVENT_PREFIX
from inquesto_core.score.views import complete_calls, diagnostic_views, pass_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import Protocol
    from inquesto_core.protocol.population import Population

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

_SLOT = {
    "scenario_id": pl.String,
    "condition": pl.String,
    "group": pl.String,
    "trial": pl.Int64,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentIdentity:
    """The agent that was scored, as its calls name it."""

    name: str
    fingerprint: str | None
    config: Mapping[str, Any]
    runtime: str | None


def build_record(
    decisions: pl.DataFrame,
    evidence: Mapping[str, pl.DataFrame],
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
    """Return the record of one agent's calls; the order of the rows never matters.

    Without a judge (``judge.kind`` is ``none``) every field is that of the judge-free variant.

    Parameters
    ----------
    decisions : decision table of one agent
    evidence : mapping of str to polars.DataFrame
        The agent's evidence tables calls, replies, talk_overs, barge_ins, silences,
        tool_results, events, and word_errors where calls were heard.
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
    table, events = decisions, evidence["events"]
    if judge.kind == "none":
        table = judge_free_decisions(decisions, events, protocol=protocol)
    is_default = population.digest == default_population_digest
    rate = pass_rate(table)
    interval = rate.published_interval(protocol.z)
    views = diagnostic_views(table, protocol=protocol, population=population)
    bounds = score_bounds(table)
    standing = Standing(
        population=None if is_default else population.name,
        total=table.height,
        in_n=rate.n,
        excluded=table.filter(pl.col("state") == "excluded").height,
        bounds=None if bounds is None else (bounds["low"], bounds["high"]),
        timing_reported=timing_reported,
        is_partial=_is_partial(table, population),
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
        **_failures(table, protocol),
        "audio_only": audio_only(table, protocol=protocol),
        "aggregation_ablation": aggregation_ablation(views),
        "severity_sensitivity": severity_sensitivity(table, protocol=protocol),
        "design": _design(table),
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
        "judge_free": judge_free_variant(decisions, events, protocol=protocol),
        "accounting": _accounting(table, protocol, population, call_key),
        "bounds": bounds,
        "timing_uncertainty": timing_uncertainty(table, protocol=protocol),
        "diagnostics": timing_diagnostics(table, evidence, protocol=protocol),
        "provenance": dict(provenance),
        "signature": {"text": format_signature(parts)},
    }


def _failures(decisions: pl.DataFrame, protocol: Protocol) -> dict[str, dict[str, int]]:
    """Return the tallies over the complete calls: one event a type and call."""
    complete = complete_calls(decisions)
    counts = {
        event.name: int(complete[EVENT_PREFIX + event.name].sum()) for event in protocol.events
    }
    severities = {f"S{severity.level}": 0 for severity in protocol.severities}
    for event in protocol.events:
        severities[f"S{event.severity}"] += counts[event.name]
    found = sorted(
        ((name, count) for name, count in counts.items() if count),
        key=lambda row: (-row[1], row[0]),
    )
    return {"failures_by_severity": severities, "failures_by_type": dict(found)}


def _design(decisions: pl.DataFrame) -> dict[str, Any]:
    """Return what the archive holds a call of, whatever became of it."""
    held = decisions.filter(pl.col("call_id").is_not_null())
    names = {key: sorted(held[key].drop_nulls().unique().to_list()) for key in _SLOT}
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


def _is_partial(decisions: pl.DataFrame, population: Population) -> bool:
    """Return whether a slot has no call at all, or n holds a slot twice or one not expected."""
    slots = [
        (slot.scenario_id, slot.condition, slot.group, slot.trial)
        for slot in population.expected_slots()
    ]
    expected = pl.DataFrame(slots, schema=_SLOT, orient="row")
    held = decisions.filter(pl.col("call_id").is_not_null())
    complete = complete_calls(decisions).select(_SLOT.keys())
    missing = expected.join(held, on=list(_SLOT), how="anti")
    strange = complete.join(expected, on=list(_SLOT), how="anti")
    twice = bool(complete.is_duplicated().any())
    return not missing.is_empty() or not strange.is_empty() or twice


def _accounting(
    decisions: pl.DataFrame, protocol: Protocol, population: Population, call_key: bytes
) -> dict[str, Any]:
    by_state = dict(decisions["state"].value_counts().rows())
    counts = {
        state: by_state.get(state, 0)
        for state in ("scored", "agent_fault", "excluded", "not_evaluated")
    }
    return {
        "expected": len(population.expected_slots()),
        "total": decisions.height,
        "in_n": counts["scored"] + counts["agent_fault"],
        "scored": counts["scored"],
        "agent_fault": counts["agent_fault"],
        "excluded_n": counts["excluded"],
        "excluded": _reasons(decisions, "excluded"),
        "not_evaluated_n": counts["not_evaluated"],
        "not_evaluated": _reasons(decisions, "not_evaluated"),
        "excluded_as_failures": excluded_as_failures(decisions, protocol=protocol),
        "calls": _noted_calls(decisions, call_key),
    }


def _reasons(decisions: pl.DataFrame, state: str) -> dict[str, int]:
    """Return how many calls of a state have each reason; a call may have several."""
    of_state = decisions.filter(pl.col("state") == state)
    reasons = of_state["reasons"].explode(empty_as_null=False).drop_nulls()
    return dict(sorted(reasons.value_counts().rows()))


def _noted_calls(decisions: pl.DataFrame, call_key: bytes) -> list[dict[str, Any]]:
    """Return the calls that are not plainly scored, sorted; one never recorded has its slot."""
    noted = decisions.filter((pl.col("state") != "scored") | (pl.col("reasons").list.len() > 0))
    rows = noted.select("call_id", "state", "reasons", *_SLOT).iter_rows()  # a hash is not a column
    out = []
    for call_id, state, reasons, *slot in rows:
        row: dict[str, Any] = {
            "call": None if call_id is None else _call_hash(call_id, call_key),
            "state": state,
            "reasons": sorted(reasons or ()),
        }
        out.append(row if call_id is not None else {**row, "slot": slot})
    return sorted(out, key=lambda row: (row["call"] or "", str(row.get("slot")), row["state"]))


def _call_hash(call_id: str, call_key: bytes) -> str:
    return hmac.new(call_key, call_id.encode(), "sha256").hexdigest()[:HASH_CHARACTERS]
