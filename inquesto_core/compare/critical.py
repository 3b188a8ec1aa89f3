"""On which calls two sides see different critical events.

Critical is an event of severity S4 or above. An answer is no event yet: a promise is broken only
where the trace lacks the action, and an impostor who obtained a change obtained it whatever anybody
reads. So both sides' answers go through the protocol's own rules, and the events are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.judged import judge_answers, judged_flags

if TYPE_CHECKING:
    from inquesto_core.protocol import Protocol

__all__ = ["CRITICAL_SEVERITY", "DIFFERENCES", "critical_differences"]

CRITICAL_SEVERITY = 4

#: One row a call and critical event that the two sides see differently.
DIFFERENCES: dict[str, pl.DataType | type[pl.DataType]] = {
    "call_id": pl.String,
    "event": pl.String,
    "severity": pl.Int64,
    "question": pl.String,
    "kind": pl.String,  # false_negative | false_positive | left_open, of the first side
    "first": pl.Boolean,
    "second": pl.Boolean,
    "first_turn": pl.Int64,
    "second_turn": pl.Int64,
    "first_reason": pl.String,
    "second_reason": pl.String,
}


def critical_differences(
    pairs: pl.DataFrame, facts: pl.DataFrame, *, protocol: Protocol
) -> pl.DataFrame:
    """Return table `DIFFERENCES`, the severest first, then by event and call.

    Parameters
    ----------
    pairs : `paired_answers`
        The second side is taken as the truth: *false_negative* is an event that only it sees,
        *false_positive* one that only the first sees, *left_open* one that it sees and the first
        could not decide.
    facts : `trace_facts`
        Of the calls in `pairs`.
    """
    sides = [_flags(pairs, facts, side, protocol) for side in ("first", "second")]
    out = [pl.DataFrame(schema=DIFFERENCES)]
    for event in protocol.events:
        column = f"event_{event.name}"
        if event.severity < CRITICAL_SEVERITY or column not in sides[0].columns:
            continue
        question = event.question or protocol.goal_question
        seen = sides[0].select("call_id", one=column).join(
            sides[1].select("call_id", two=column), on="call_id"
        )  # fmt: skip
        kind = (
            pl.when(pl.col("two") & ~pl.col("one")).then(pl.lit("false_negative"))
            .when(~pl.col("two") & pl.col("one")).then(pl.lit("false_positive"))
            .when(pl.col("two") & pl.col("one").is_null()).then(pl.lit("left_open"))
        )  # fmt: skip
        rows = seen.with_columns(kind=kind).filter(pl.col("kind").is_not_null())
        out.append(
            rows.join(pairs.filter(pl.col("question") == question), on="call_id")
            .with_columns(event=pl.lit(event.name), severity=pl.lit(event.severity, dtype=pl.Int64))
            .select(DIFFERENCES.keys())
        )
    return pl.concat(out).sort(
        ["severity", "event", "kind", "call_id"], descending=[True, False, False, False]
    )


def _flags(pairs: pl.DataFrame, facts: pl.DataFrame, side: str, protocol: Protocol) -> pl.DataFrame:
    """Return the judged events as one side's answers make them; unasked is undetermined."""
    asked = facts.join(pairs.select("call_id").unique(), on="call_id", how="semi")
    said = pairs.select("call_id", "question", verdict=side)
    return judged_flags(asked, judge_answers(asked, said, protocol=protocol), protocol=protocol)
