"""Timing quantities outside the score: summed over the complete calls, in integers.

They say how an agent waits and interrupts; none of them passes or fails a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from inquesto_core.score.tables import EVENT_PREFIX
from inquesto_core.score.views import complete_calls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from inquesto_core.protocol.definition import Protocol

__all__ = ["nearest_rank", "timing_diagnostics"]

PERCENTILES = (50, 90, 95, 99)

_SUMS = {
    "utterances": "n_utterances",
    "agent_turns": "n_agent_turns",
    "replied": "n_replied",
    "no_reply": "n_no_reply",
    "dropped_sounds": "n_dropped_sounds",
}


def nearest_rank(values: NDArray[np.int64], percentiles: Iterable[int]) -> list[int | None]:
    """Return each percentile by nearest rank: the ceil(p·n/100)-th smallest of the n values.

    Parameters
    ----------
    values : int64 array
        In any order.
    percentiles : int
        ``1 <= p <= 100``.

    Returns
    -------
    list of int or None
        Members of `values`; None where there is none.

    Examples
    --------
    >>> nearest_rank(np.array([15, 20, 35, 40, 50]), (30, 40, 50, 100))
    [20, 20, 35, 50]
    """
    ordered = np.sort(values)
    if ordered.size == 0:
        return [None for _ in percentiles]
    return [int(ordered[-(-p * ordered.size // 100) - 1]) for p in percentiles]


def timing_diagnostics(
    decisions: pl.DataFrame,
    events: pl.DataFrame,
    replies: pl.DataFrame,
    talk_overs: pl.DataFrame,
    *,
    protocol: Protocol,
) -> dict[str, Any]:
    """Return the record's ``diagnostics``: counts and percentiles over the complete calls.

    Parameters
    ----------
    decisions : decision table
    events, replies, talk_overs : evidence tables of those names
        Rows of other calls than the complete ones are left out.

    Returns
    -------
    dict
        ``long_without_slow_turn`` counts calls in which a wait or a dead air inside an agent turn
        is longer than slow_turn's limit and no slow_turn stands; ``occurrences`` counts every
        event found, also those that the tallies do not count.
    """
    complete = complete_calls(decisions)
    ours = complete.select("call_id")
    replied = replies.join(ours, on="call_id", how="semi").filter(pl.col("status") == "replied")
    latencies = replied["latency_ms"].drop_nulls().to_numpy()
    overs = talk_overs.join(ours, on="call_id", how="semi")
    ranks = zip(PERCENTILES, nearest_rank(latencies, PERCENTILES), strict=True)
    return {
        "calls": complete.height,
        **{name: int(complete[column].sum()) for name, column in _SUMS.items()},
        "latency_ms": {"n": int(latencies.size), **{f"p{p}": value for p, value in ranks}},
        "long_without_slow_turn": _long_without_slow_turn(complete, protocol),
        "talk_over": _talk_over(overs),
        "occurrences": _tally(events.join(ours, on="call_id", how="semi")["type"]),
    }


def _long_without_slow_turn(complete: pl.DataFrame, protocol: Protocol) -> dict[str, Any]:
    limit_ms = int(protocol.event("slow_turn").parameters["latency_ms"])
    quiet = complete.filter(pl.col(EVENT_PREFIX + "slow_turn").eq_missing(other=False))
    return {
        "above_ms": limit_ms,
        "unanswered": quiet.filter(pl.col("longest_unanswered_ms") > limit_ms).height,
        "dead_air": quiet.filter(pl.col("longest_dead_air_ms") > limit_ms).height,
    }


def _talk_over(overs: pl.DataFrame) -> dict[str, Any]:
    counted = overs.filter(pl.col("counted"))
    return {
        "counted": counted.height,
        "over_speech": counted.filter(pl.col("kind") == "over_speech").height,
        "cut_in": counted.filter(pl.col("kind") == "cut_in").height,
        "short": counted.filter(pl.col("short")).height,
        "simultaneous_starts": overs.filter(pl.col("simultaneous")).height,
    }


def _tally(names: pl.Series) -> dict[str, int]:
    counts = names.drop_nulls().value_counts().rows()
    return dict(sorted(counts, key=lambda row: (-row[1], row[0])))
