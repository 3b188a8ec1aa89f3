"""Whether a call succeeded by its signals: a strict AND over its whitelist, and what overrides it.

- A signal that does not apply takes no part; where none of the whitelist applies, neither does the
  verdict (``N/A``).
- A stalled call, with fewer completed agent turns than it needs, is forced to fail. It stays in the
  denominator, and out of the rates of the single signals.
- Task success is the same without the clean exit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.signals_asked import judged_table, whitelist_table
from inquesto_core.protocol import SIGNALS
from inquesto_core.score.attempts import (
    IN_N,
    NO_TRACE,
    NO_TRANSCRIPT,
    accounting,
    attempt_states,
    cost_of,
    rate_of,
    rates_by,
    repeats,
)
from inquesto_core.score.completion import latency_band, transcript_latency
from inquesto_core.score.outcome_record import outcome_record

if TYPE_CHECKING:
    from inquesto_core.events.signals import Found
    from inquesto_core.protocol import Population, SignalsProtocol

__all__ = ["BUCKETS", "decide_signals", "signals_record"]

#: Of ``success_breakdown``.
BUCKETS = ("passed", "failed", "not_applicable", "excluded")

_CLEAN_EXIT = "clean_exit"


def decide_signals(
    calls: pl.DataFrame,
    transcript: pl.DataFrame,
    found: Found,
    *,
    protocol: SignalsProtocol,
    population: Population,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the decision on every call, and its signals with their buckets.

    Parameters
    ----------
    calls : polars.DataFrame
        As for `attempt_states`, with ``condition, group, trial, agent_fingerprint, cost`` and
        ``has_transcript``.
    transcript : evidence table
    found : Found

    Returns
    -------
    decisions : polars.DataFrame
        One row a call, sorted. ``is_successful`` and ``is_task_successful`` are null where nothing
        applies, or the call is not evaluated.
    signals : polars.DataFrame
        `inquesto_core.events.signals.SIGNAL_ROWS` with ``whitelisted`` and ``bucket``.
    """
    asked = whitelist_table(population).with_columns(whitelisted=pl.lit(value=True))
    signals = (
        found.signals.join(
            calls.select("call_id", "scenario_id"), on="call_id", how="left", maintain_order="left"
        )
        .join(asked, on=["scenario_id", "signal"], how="left", maintain_order="left")
        .with_columns(pl.col("whitelisted").fill_null(value=False))
        .with_columns(bucket=_bucket())
        .drop("scenario_id")
    )
    counts = pl.col("whitelisted") & pl.col("verdict").is_not_null()
    task = counts & (pl.col("signal") != _CLEAN_EXIT)
    verdicts = signals.group_by("call_id").agg(
        succeeded=pl.when(counts.any()).then((pl.col("verdict") | ~counts).all()),
        task_succeeded=pl.when(task.any()).then((pl.col("verdict") | ~task).all()),
        judge_score=_value_of("judge_passed"),
        db_state_assertion_pass_rate=_value_of("db_state_assertion"),
        nl_assertion_pass_rate=_value_of("nl_assertion"),
    )
    frame = _with_turns(calls, transcript, protocol, population)
    ends = found.ends.drop("clean", "stop_kind")
    for other in (verdicts, ends, found.hashes, transcript_latency(transcript)):
        frame = frame.join(other, on="call_id", how="left", maintain_order="left")
    unknown_end = signals.filter(
        (pl.col("signal") == _CLEAN_EXIT) & pl.col("whitelisted") & pl.col("verdict").is_null()
    )
    hangs = pl.col("call_id").is_in(unknown_end["call_id"].implode())
    is_stalled = pl.col("stalled").fill_null(value=False)  # and failed, whatever its end
    frame = _open(frame, hangs & ~is_stalled, reason=NO_TRACE)
    known = pl.col("state") != "not_evaluated"
    stalled = pl.col("stalled").fill_null(value=False)
    fault = pl.col("state") == "agent_fault"
    decisions = frame.with_columns(
        is_successful=pl.when(known).then(
            pl.when(stalled | fault).then(statement=False).otherwise("succeeded")
        ),
        is_task_successful=pl.when(known).then(
            pl.when(stalled | fault).then(statement=False).otherwise("task_succeeded")
        ),
    ).drop("succeeded", "task_succeeded")
    return decisions.sort("call_id"), signals


def _bucket() -> pl.Expr:
    return (
        pl.when(~pl.col("whitelisted"))
        .then(pl.lit("excluded"))
        .when(pl.col("verdict").is_null() & (pl.col("signal") == _CLEAN_EXIT))
        .then(None)  # not known: the call is not evaluated, or has stalled
        .when(pl.col("verdict").is_null())
        .then(pl.lit("not_applicable"))
        .when("verdict")
        .then(pl.lit("passed"))
        .otherwise(pl.lit("failed"))
    )


def _value_of(signal: str) -> pl.Expr:
    return pl.col("value").filter(pl.col("signal") == signal).first()


def _with_turns(
    calls: pl.DataFrame,
    transcript: pl.DataFrame,
    protocol: SignalsProtocol,
    population: Population,
) -> pl.DataFrame:
    """Return the calls with their state, the agent's completed turns, and whether it stalled.

    A turn of which the caller heard no word is none. Without a transcript nobody knows, and the
    call is not evaluated.
    """
    needed = pl.DataFrame(
        [
            (
                scenario.id,
                scenario.family,
                (scenario.signals or {}).get("min_agent_turns", protocol.min_agent_turns),
            )
            for scenario in population.scenarios
        ],
        schema={"scenario_id": pl.String, "domain": pl.String, "min_agent_turns": pl.Int64},
        orient="row",
    )
    spoken = transcript.filter((pl.col("speaker") == "agent") & (pl.col("n_words") > 0))
    turns = spoken.group_by("call_id").agg(agent_turns=pl.len().cast(pl.Int64))
    states = attempt_states(calls, protocol=protocol, population=population)
    keys = ("call_id", "scenario_id", "condition", "group", "trial", "agent_fingerprint", "cost")
    frame = (
        calls.select(*keys, "has_transcript")
        .join(states, on="call_id", how="left", maintain_order="left")
        .join(needed, on="scenario_id", how="left", maintain_order="left")
        .join(turns, on="call_id", how="left", maintain_order="left")
    )
    has = pl.col("has_transcript")
    frame = frame.with_columns(
        agent_turns=pl.when(has).then(pl.col("agent_turns").fill_null(0))
    ).with_columns(stalled=pl.col("agent_turns") < pl.col("min_agent_turns"))
    untold = ~has & (pl.col("min_agent_turns") > 0)
    return _open(frame, untold, reason=NO_TRANSCRIPT).drop("has_transcript")


def _open(frame: pl.DataFrame, untold: pl.Expr, *, reason: str) -> pl.DataFrame:
    """Return the calls, not evaluated where they would be scored and something is not known."""
    told = pl.col("state").is_in(["scored", "not_evaluated"]) & untold
    return frame.with_columns(
        state=pl.when(told).then(pl.lit("not_evaluated")).otherwise("state"),
        reasons=pl.when(told).then(pl.concat_list("reasons", pl.lit(reason))).otherwise("reasons"),
    )


def signals_record(
    decisions: pl.DataFrame,
    signals: pl.DataFrame,
    assertions: pl.DataFrame,
    *,
    protocol: SignalsProtocol,
    population: Population,
    about: dict[str, Any],
) -> dict[str, Any]:
    """Return the record of one agent's calls.

    Parameters
    ----------
    decisions, signals
        As `decide_signals` returns them, of this agent.
    assertions : polars.DataFrame
        Of this agent.
    about : dict
        ``agent, agent_fingerprint, judge, evaluated_at, provenance``.
    """
    z = protocol.z
    counted = decisions.filter(pl.col("state").is_in(list(IN_N)))
    rate = rate_of(counted, "is_successful", z=z)
    task = rate_of(counted, "is_task_successful", z=z)
    counts = accounting(decisions, "is_successful", population=population)
    measured = rated_signals(signals, counted)
    unanswered = _unanswered(measured, counted, population)
    guided = assertions.filter(pl.col("signal") == "guidance").join(
        counted.select("call_id"), on="call_id", how="semi"
    )
    beside = f"; task success {task['score']:.1f}% (n = {task['n']})" if task["n"] else ""
    own = {
        "method": "signals",
        "task_success": task,
        "raw": rate_of(decisions, "is_successful", z=z),
        "signals": {name: _signal(measured, unanswered, name, z) for name in SIGNALS},
        "success_breakdown": {name: _buckets(measured, name) for name in SIGNALS},
        "stalled": {
            "min_agent_turns": protocol.min_agent_turns,
            "calls": int(counted["stalled"].sum()),
        },
        "by_domain": rates_by(counted, "domain", "is_successful", z=z),
        "by_condition": rates_by(counted, "condition", "is_successful", z=z),
        "by_latency": rates_by(
            counted.with_columns(band=latency_band()), "band", "is_successful", z=z
        ),
        "cost": cost_of(counted, "is_successful"),
        "guidance": rate_of(guided, "passed", z=z),
        "ends": {
            "tool_called": rate_of(counted, "end_conversation_tool_called", z=z),
            "reasons": _counts(counted, "conversation_end_reason"),
            "policies": _counts(counted, "conversation_end_policy"),
        },
        "repeats": repeats(counted, "is_successful"),
    }
    return outcome_record(
        own,
        rate=rate,
        counts=counts,
        without_judge="judge-free",
        beside=beside,
        protocol=protocol,
        population=population,
        about=about,
    )


def rated_signals(signals: pl.DataFrame, decisions: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of these calls that are in a signal's rate: no call that stalled."""
    stalled = pl.col("stalled").fill_null(value=False)
    return signals.join(decisions.filter(~stalled).select("call_id"), on="call_id", how="semi")


def _unanswered(
    measured: pl.DataFrame, decisions: pl.DataFrame, population: Population
) -> dict[str, int]:
    """Return by signal how many calls a judge was to answer for and has not."""
    asked = decisions.select("call_id", "scenario_id").join(
        judged_table(population), on="scenario_id"
    )
    open_ = measured.filter(pl.col("verdict").is_null()).join(
        asked, on=["call_id", "signal"], how="semi"
    )
    return _counts(open_, "signal")


def _signal(
    measured: pl.DataFrame, unanswered: dict[str, int], name: str, z: float
) -> dict[str, Any]:
    ours = measured.filter(pl.col("signal") == name)
    return {
        "computed": rate_of(ours, "verdict", z=z),
        "gating": rate_of(ours.filter("whitelisted"), "verdict", z=z),
        "not_applicable": int(ours["verdict"].is_null().sum()),
        "not_answered": unanswered.get(name, 0),
    }


def _buckets(measured: pl.DataFrame, name: str) -> dict[str, int]:
    found = _counts(measured.filter(pl.col("signal") == name), "bucket")
    return {bucket: found.get(bucket, 0) for bucket in BUCKETS}


def _counts(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(frame.drop_nulls(column).group_by(column).len().sort(column).iter_rows())
