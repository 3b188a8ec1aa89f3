"""Which calls a person is asked to label: drawn by outcome, in an order that tells nothing.

A run's calls fall into strata by outcome. Each stratum gives equally many calls as far as it has
them, so that rare failures are seen; the weights undo that. The draw and the order are by keyed
hashes: whoever holds no key learns from neither how a call ended.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.compare.halves import with_half
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.protocol import Population, Protocol

__all__ = ["ITEMS", "draw_calls", "item_name", "outcome_strata", "sheet_items"]

PASSED = "passed"
GOAL_ONLY = "failed: goal"
AGENT_FAULT = "failed: agent fault"
UNDETERMINED = "undetermined"
_FAILED = "failed: "
_NAME_DIGITS = 16

#: One row a question about a drawn call, in the order of the sheet.
ITEMS: dict[str, pl.DataType | type[pl.DataType]] = {
    "item": pl.String,
    "call_id": pl.String,
    "question": pl.String,
    "stratum": pl.String,
    "weight": pl.Float64,  # calls of the run's stratum asked this, by those drawn
    "half": pl.String,
}


def outcome_strata(
    decisions: pl.DataFrame, verdicts: pl.DataFrame, *, protocol: Protocol
) -> pl.DataFrame:
    """Return ``call_id, stratum`` of the calls in a scenario that are neither excluded nor missing.

    A call with a judged question left open, or not evaluated, is *undetermined*; a failed one
    stands under its worst event (the protocol's first of that severity), or under its goal.
    """
    left_open = verdicts.filter(pl.col("verdict").is_null())["call_id"].unique()
    worst = sorted(protocol.events, key=lambda event: -event.severity)
    failing = [event for event in worst if event.severity >= protocol.fail_at]
    by_event = [
        pl.when(pl.col(EVENT_PREFIX + event.name)).then(pl.lit(_FAILED + event.name))
        for event in failing
    ]
    stratum = pl.coalesce(
        pl.when(
            (pl.col("state") == "not_evaluated") | pl.col("call_id").is_in(left_open.implode())
        ).then(pl.lit(UNDETERMINED)),
        pl.when(pl.col("state") == "agent_fault").then(pl.lit(AGENT_FAULT)),
        pl.when(pl.col("passed")).then(pl.lit(PASSED)),
        *by_event,
        pl.lit(GOAL_ONLY),
    )
    left_out = pl.col("state").is_in(["excluded", "timing_only"])
    usable = decisions.filter(pl.col("call_id").is_not_null() & ~left_out)
    return usable.select("call_id", "scenario_id", stratum.alias("stratum")).sort("call_id")


def draw_calls(strata: pl.DataFrame, *, n: int, secret: bytes) -> pl.DataFrame:
    """Return the rows of `n` calls, one stratum after the other giving one, in the sheet's order.

    Parameters
    ----------
    strata : `outcome_strata`
    n : int
        All calls where there are no more.
    """
    ids = strata["call_id"].to_list()
    turn = pl.Series("turn", [_keyed(secret, "draw", name) for name in ids], dtype=pl.String)
    place = pl.Series("place", [_keyed(secret, "order", name) for name in ids], dtype=pl.String)
    return (
        strata.with_columns(turn, place)
        .with_columns(round=pl.col("turn").rank("ordinal").over("stratum"))
        .sort("round", "turn")
        .head(n)
        .sort("place")
        .drop("turn", "place", "round")
    )


def item_name(secret: bytes, call_id: str, question: str) -> str:
    """Return the name that a question about a call has in the sheet: 16 hex digits."""
    return _keyed(secret, "item", call_id, question)[:_NAME_DIGITS]


def sheet_items(
    drawn: pl.DataFrame,
    strata: pl.DataFrame,
    asked: Sequence[tuple[str, str]],
    *,
    secret: bytes,
    population: Population,
) -> pl.DataFrame:
    """Return table `ITEMS` of the drawn calls.

    A weight is how many calls of the run an answer stands for: of those of its stratum that are
    asked the question, as many as were drawn. Over all items of a question the weights sum to the
    calls that are asked it, those of strata apart of which none was drawn.

    Parameters
    ----------
    drawn : `draw_calls`
    strata : `outcome_strata`
    asked : sequence of (call id, question)
        Everything that is asked about any call of `strata`.
    """
    questions = pl.DataFrame(
        list(asked), schema={"call_id": pl.String, "question": pl.String}, orient="row"
    ).join(strata.select("call_id", "stratum"), on="call_id")
    chosen = drawn.with_row_index("place").select("place", "call_id", "scenario_id")
    cell = ["stratum", "question"]
    sizes = questions.group_by(cell).agg(stood_for=pl.len())
    items = chosen.join(questions, on="call_id").sort("place", "question")
    items = items.with_columns(drawn=pl.len().over(cell)).join(sizes, on=cell)
    named = [item_name(secret, *row) for row in items.select("call_id", "question").rows()]
    return (
        with_half(items, population)
        .with_columns(
            item=pl.Series(named, dtype=pl.String), weight=pl.col("stood_for") / pl.col("drawn")
        )
        .sort("place", "question")
        .select(ITEMS.keys())
    )


def _keyed(secret: bytes, *parts: str) -> str:
    return hmac.new(secret, "\0".join(parts).encode(), hashlib.sha256).hexdigest()
