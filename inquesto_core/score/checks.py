"""Whether a call passed its three assertions, and what is told of many such calls.

An assertion passes where all of its checks do; a call is completed where all of its assertions
pass. Both are three-valued: where a verdict is missing that decides, the call is not evaluated, be
another check failed or not, so that membership of n never depends on the outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.checks_asked import scenario_facts
from inquesto_core.protocol import ASSERTIONS
from inquesto_core.score.attempts import (
    IN_N,
    accounting,
    attempt_states,
    cost_of,
    rate_of,
    rates_by,
    repeats,
)
from inquesto_core.score.completion import latency_band
from inquesto_core.score.outcome_record import outcome_record

if TYPE_CHECKING:
    from inquesto_core.protocol import ChecksProtocol, Population

__all__ = ["CHECK_UNDETERMINED", "checks_record", "decide_checks"]

CHECK_UNDETERMINED = "check_undetermined"


def decide_checks(
    calls: pl.DataFrame,
    checks: pl.DataFrame,
    *,
    protocol: ChecksProtocol,
    population: Population,
) -> pl.DataFrame:
    """Return the decision on every call, sorted.

    Parameters
    ----------
    calls : polars.DataFrame
        As for `attempt_states`, with ``condition, group, trial, agent_fingerprint, has_trace,
        believed, cost, transferred, sound_alike_only, median_latency_ms``.
    checks : polars.DataFrame
        `inquesto_core.events.checks.CHECK_ROWS`.

    Returns
    -------
    polars.DataFrame
        Among others ``verification, changes, spoken`` and ``completed``; ``known_fail`` says of a
        call that is not evaluated that some check has failed.
    """
    by_assertion = checks.group_by("call_id", "assertion").agg(passed=_all_of("verdict"))
    wide = calls.select("call_id")
    for name in ASSERTIONS:
        ours = by_assertion.filter(pl.col("assertion") == name)
        wide = wide.join(
            ours.select("call_id", pl.col("passed").alias(name)),
            on="call_id",
            how="left",
            maintain_order="left",
        )
    asked = checks.select("call_id", "assertion").unique()
    for name in ASSERTIONS:  # an assertion without checks asks for nothing
        due = asked.filter(pl.col("assertion") == name).select("call_id", due=pl.lit(value=True))
        wide = (
            wide.join(due, on="call_id", how="left", maintain_order="left")
            .with_columns(pl.when("due").then(name).otherwise(statement=True).alias(name))
            .drop("due")
        )
    completed = pl.all_horizontal(*ASSERTIONS)
    states = attempt_states(calls, protocol=protocol, population=population)
    keys = ("call_id", "scenario_id", "condition", "group", "trial", "agent_fingerprint")
    told = (
        "has_trace",
        "believed",
        "cost",
        "transferred",
        "sound_alike_only",
        "median_latency_ms",
    )
    frame = (
        calls.select(*keys, *told)
        .join(states, on="call_id", how="left", maintain_order="left")
        .join(wide, on="call_id", how="left", maintain_order="left")
        .join(scenario_facts(population), on="scenario_id", how="left", maintain_order="left")
        .with_columns(completed=completed)
    )
    fault = pl.col("state") == "agent_fault"
    unclear = pl.any_horizontal(*(pl.col(name).is_null() for name in ASSERTIONS))
    untold = (pl.col("state") == "scored") & unclear
    closed = pl.col("state") == "not_evaluated"
    return (
        frame.with_columns(
            state=pl.when(untold).then(pl.lit("not_evaluated")).otherwise("state"),
            reasons=pl.when(untold)
            .then(pl.concat_list("reasons", pl.lit(CHECK_UNDETERMINED)))
            .otherwise("reasons"),
            known_fail=(untold | closed)
            & pl.any_horizontal(*(~pl.col(name) for name in ASSERTIONS)).fill_null(value=False),
        )
        .with_columns(
            completed=pl.when(fault)
            .then(statement=False)
            .when(pl.col("state") != "not_evaluated")
            .then("completed"),
        )
        .sort("call_id")
    )


def _all_of(column: str) -> pl.Expr:
    value = pl.col(column)
    return (
        pl.when((~value).fill_null(value=False).any())
        .then(statement=False)
        .when(value.is_null().any())
        .then(None)
        .otherwise(statement=True)
    )


def checks_record(
    decisions: pl.DataFrame,
    checks: pl.DataFrame,
    *,
    protocol: ChecksProtocol,
    population: Population,
    about: dict[str, Any],
) -> dict[str, Any]:
    """Return the record of one agent's calls.

    Parameters
    ----------
    decisions : polars.DataFrame
        As `decide_checks` returns it, of this agent.
    checks : polars.DataFrame
        Of this agent.
    about : dict
        ``agent, agent_fingerprint, judge, evaluated_at, provenance``.
    """
    z = protocol.z
    counted = decisions.filter(pl.col("state").is_in(list(IN_N)))
    rate = rate_of(counted, "completed", z=z)
    counts = accounting(decisions, "completed", population=population)
    gate = counted.drop_nulls(["verification", "changes"]).with_columns(
        only_changes_failed=pl.col("verification") & ~pl.col("changes")
    )
    raw = rate_of(decisions, "completed", z=z)
    beside = f"; all attempts {raw['score']:.1f}% (n = {raw['n']})" if raw["n"] else ""
    own = {
        "method": "checks",
        "raw": raw,
        "assertions": {name: rate_of(counted, name, z=z) for name in ASSERTIONS},
        "gate_passed_changes_failed": rate_of(gate, "only_changes_failed", z=z),
        "verifiers": _verifiers(checks, z),
        "by_requests": rates_by(counted, "requests", "completed", z=z),
        "by_persona": rates_by(counted, "persona", "completed", z=z),
        "by_background": rates_by(counted, "condition", "completed", z=z),
        "by_last_use_case": rates_by(counted, "last_use_case", "completed", z=z),
        "by_latency": rates_by(counted.with_columns(band=latency_band()), "band", "completed", z=z),
        "transfers": _transfers(counted, z),
        "believed": _believed(counted, z),
        "sound_alike_only": _sound_alike(decisions, z),
        "cost": cost_of(counted, "completed"),
        "repeats": repeats(counted, "completed"),
    }
    return outcome_record(
        own,
        rate=rate,
        counts=counts,
        without_judge="code verifier",
        beside=beside,
        protocol=protocol,
        population=population,
        about=about,
    )


def _verifiers(checks: pl.DataFrame, z: float) -> dict[str, Any]:
    """Return how often both verifiers say the same, over checks on which both have a verdict."""
    both = checks.with_columns(agree=pl.col("code") == pl.col("llm"))
    kinds = {"all": rate_of(both, "agree", z=z), **rates_by(both, "kind", "agree", z=z)}
    named = both.with_columns(check=pl.format("{}/{}", "assertion", "check"))
    decided = checks.with_columns(pl.col("decided_by").fill_null("nobody"))
    return {
        "agreement": kinds,
        "by_check": rates_by(named, "check", "agree", z=z),
        "decided_by": dict(decided.group_by("decided_by").len().sort("decided_by").iter_rows()),
    }


def _transfers(counted: pl.DataFrame, z: float) -> dict[str, Any]:
    """Return transfers over the calls with a trace, and how well they meet the hand-offs asked."""
    traced = counted.filter(pl.col("has_trace")).with_columns(
        contained=~pl.col("transferred"),
        right=pl.col("transferred") == pl.col("handoff"),
    )
    return {
        "rate": rate_of(traced, "transferred", z=z),
        "by_persona": rates_by(traced, "persona", "transferred", z=z),
        "precision": rate_of(traced.filter("transferred"), "right", z=z),
        "recall": rate_of(traced.filter("handoff"), "right", z=z),
        "containment": rate_of(traced, "contained", z=z),
    }


def _believed(counted: pl.DataFrame, z: float) -> dict[str, Any]:
    """Return how many calls their caller took for a success, and the share of them that fail."""
    ours = counted.filter(pl.col("believed") & pl.col("completed").is_not_null())
    failed = ours.with_columns(failed=~pl.col("completed"))
    return {"calls": ours.height, "failed": rate_of(failed, "failed", z=z)}


def _sound_alike(decisions: pl.DataFrame, z: float) -> dict[str, Any]:
    """Return how many of all attempts, excluded ones too, were verified by sound alone."""
    traced = decisions.filter(pl.col("has_trace"))
    ours = traced.filter("sound_alike_only")
    return {
        "rate": rate_of(traced, "sound_alike_only", z=z),
        "passed": int(ours["completed"].fill_null(value=False).sum()),
    }
