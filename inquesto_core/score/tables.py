"""The decision table: one row a call, everything that the score is reduced from.

``calls.parquet`` of a run is this table. Event columns are true, false, or null where
the evidence does not decide.
"""

from __future__ import annotations

import polars as pl

__all__ = ["DECISIONS", "EVENT_PREFIX", "SLOT", "decision_schema"]

#: What makes a call the one that the population expects, within one agent's run.
SLOT = ("scenario_id", "condition", "group", "trial")

#: ``event_slow_turn`` is the column of the event type ``slow_turn``.
EVENT_PREFIX = "event_"

DECISIONS: dict[str, pl.DataType | type[pl.DataType]] = {
    "call_id": pl.String,  # null for an expected call that the archive does not hold
    "scenario_id": pl.String,
    "condition": pl.String,
    "group": pl.String,
    "trial": pl.Int64,
    "agent_fingerprint": pl.String,
    "identity": pl.String,  # null | legit | impostor, from the scenario
    "state": pl.String,  # scored | agent_fault | excluded | not_evaluated | timing_only
    "reasons": pl.List(pl.String),  # why it is not plainly scored; sorted
    "goal": pl.Boolean,  # null = undetermined
    "goal_judge_free": pl.Boolean,
    "judge_free_vacuous": pl.Boolean,  # the judge-free goal asks for nothing
    "worst_severity": pl.Int64,  # of the events that are certainly there; 0 = none
    "passed": pl.Boolean,  # null unless scored or agent_fault
    "passed_judge_free": pl.Boolean,  # null where the judge-free quantities are undetermined
    "known_fail": pl.Boolean,  # a failure is certain, whatever is undetermined
    "borderline": pl.Boolean,  # its pass flips within the timing uncertainty
    "passed_low": pl.Boolean,  # at the bad end of that move
    "passed_high": pl.Boolean,  # at the good end
    "fragile_limits": pl.List(pl.String),
    "median_latency_ms": pl.Float64,
    "p95_latency_ms": pl.Int64,
    "n_utterances": pl.Int64,
    "n_agent_turns": pl.Int64,
    "n_replied": pl.Int64,
    "n_no_reply": pl.Int64,
    "n_talk_over": pl.Int64,  # counted ones
    "n_talk_over_short": pl.Int64,  # those of a short agent turn, counted or not
    "n_simultaneous": pl.Int64,
    "n_dropped_sounds": pl.Int64,  # clicks and coughs below min_voiced_ms
    "longest_unanswered_ms": pl.Int64,
    "longest_dead_air_ms": pl.Int64,
    "n_barge_in": pl.Int64,  # caller utterances that begin while the agent is speaking
    "n_barge_in_kept": pl.Int64,  # of these, real attempts that the agent spoke on over
    "caller_voiced_ms": pl.Int64,
    "agent_voiced_ms": pl.Int64,
    "overlap_ms": pl.Int64,  # both sounding
}


def decision_schema(event_types: tuple[str, ...]) -> dict[str, pl.DataType | type[pl.DataType]]:
    """Return the columns of the decision table, one Boolean column an event type at the end."""
    return {**DECISIONS, **{EVENT_PREFIX + name: pl.Boolean for name in event_types}}
