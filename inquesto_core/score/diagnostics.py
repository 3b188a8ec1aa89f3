"""Timing quantities outside the score, summed over the complete calls.

They say how an agent waits, interrupts, yields and fills silence; none passes or fails a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from inquesto_core.score.tables import EVENT_PREFIX
from inquesto_core.score.views import complete_calls
from inquesto_core.timeline.barge_ins import KINDS, OUTCOMES
from inquesto_core.timeline.tool_waits import RESULT_OUTCOMES, SPOKE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from inquesto_core.protocol.definition import Protocol

__all__ = ["nearest_rank", "timing_diagnostics"]

PERCENTILES = (50, 90, 95, 99)
SHARE_DECIMALS = 3
#: Who ends a call, in the words of call.json.
ENDED_BY = ("agent", "caller", "system", "unknown")

_WORD_COUNTS = (
    "n_words",
    "substitutions",
    "deletions",
    "insertions",
    "negations",
    "numbers",
)

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
    decisions: pl.DataFrame, evidence: Mapping[str, pl.DataFrame], *, protocol: Protocol
) -> dict[str, Any]:
    """Return the record's ``diagnostics``: counts and percentiles over the complete calls.

    Parameters
    ----------
    decisions : decision table
    evidence : mapping of str to polars.DataFrame
        Tables calls, replies, talk_overs, barge_ins, silences, tool_results, events, and
        word_errors where calls were heard. Rows of other calls than the complete ones are left
        out, and those of the sound of a call whose timing is not evaluated.

    Returns
    -------
    dict
        ``long_without_slow_turn`` counts calls in which a wait or a dead air inside an agent turn
        is longer than slow_turn's limit and no slow_turn stands; ``occurrences`` counts every
        event found, also those that the tallies do not count. ``transcripts`` is None where no
        call has both the platform's transcript and our own.
    """
    complete = complete_calls(decisions)
    ours = complete.select("call_id")
    calls = evidence["calls"]
    untimed = calls.filter(pl.col("timing_reasons").list.len() > 0).select("call_id")
    timed = ours.join(untimed, on="call_id", how="anti")
    heard = {
        name: evidence[name].join(timed, on="call_id", how="semi")
        for name in ("replies", "talk_overs", "barge_ins", "silences", "tool_results")
    }
    replied = heard["replies"].filter(pl.col("status") == "replied")
    return {
        "calls": complete.height,
        **{name: int(complete[column].sum()) for name, column in _SUMS.items()},
        "latency_ms": _percentiles(replied["latency_ms"]),
        "latency_by_tool": _latency_by_tool(replied),
        "after_tool_result": _after_tool_result(heard["tool_results"]),
        "long_without_slow_turn": _long_without_slow_turn(complete, protocol),
        "talk_over": _talk_over(heard["talk_overs"], protocol),
        "barge_in": _barge_in(heard["barge_ins"]),
        "silence": _silence(heard["silences"], calls, protocol),
        "talk": _talk(complete),
        "transcripts": _transcripts(evidence.get("word_errors"), ours),
        "occurrences": _tally(evidence["events"].join(ours, on="call_id", how="semi")["type"]),
    }


def _percentiles(values: pl.Series) -> dict[str, int | None]:
    """Return how many values there are, and their percentiles."""
    known = values.drop_nulls().to_numpy()
    ranks = zip(PERCENTILES, nearest_rank(known, PERCENTILES), strict=True)
    return {"n": int(known.size), **{f"p{p}": value for p, value in ranks}}


def _counts(values: pl.Series, names: tuple[str, ...]) -> dict[str, int]:
    found = dict(values.drop_nulls().value_counts().rows())
    return {name: found.get(name, 0) for name in names}


def _latency_by_tool(replied: pl.DataFrame) -> dict[str, Any]:
    tool = pl.col("tool_in_wait")
    return {
        "with_tool": _percentiles(replied.filter(tool)["latency_ms"]),
        "without_tool": _percentiles(replied.filter(~tool)["latency_ms"]),
        "unknown_n": replied.filter(tool.is_null()).height,
    }


def _after_tool_result(results: pl.DataFrame) -> dict[str, Any]:
    others = tuple(name for name in RESULT_OUTCOMES if name != RESULT_OUTCOMES[SPOKE])
    return {
        "first_sound_ms": _percentiles(results["first_sound_ms"]),
        **_counts(results["outcome"], others),
    }


def _barge_in(barge_ins: pl.DataFrame) -> dict[str, Any]:
    """Return yield or keep by what the caller did, and how long real attempts took to be heard."""
    told = tuple(name for name in OUTCOMES if name is not None)
    of_kind = {kind: barge_ins.filter(pl.col("kind") == kind) for kind in KINDS}
    return {
        "n": barge_ins.height,
        **{kind: _counts(rows["outcome"], told) for kind, rows in of_kind.items()},
        "untold": barge_ins["outcome"].null_count(),
        "yield_ms": _percentiles(of_kind["attempt"]["yield_ms"]),
    }


def _silence(silences: pl.DataFrame, calls: pl.DataFrame, protocol: Protocol) -> dict[str, Any]:
    """Return how long silences end; those in which a tool call ran are the agent's, and apart."""
    working = pl.col("tool_inside").fill_null(value=False)
    quiet = silences.filter(~working)
    ended = quiet.join(calls.select("call_id", "ended_by"), on="call_id", how="left").select(
        pl.when(pl.col("outcome") == "agent_hung_up")
        .then(pl.lit("agent"))
        .when(pl.col("outcome") == "call_ended")
        .then(pl.col("ended_by").fill_null("unknown"))
        .alias("by")
    )
    spoke = {
        name: quiet.filter(pl.col("outcome") == name)["value_ms"]
        for name in ("agent_spoke", "caller_spoke")
    }
    return {
        "above_ms": int(protocol.event("slow_turn").parameters["latency_ms"]),
        "reprompt_ms": _percentiles(spoke["agent_spoke"]),
        "caller_spoke_ms": _percentiles(spoke["caller_spoke"]),
        "ended_by": _counts(ended["by"], ENDED_BY),
        "with_tool": silences.filter(working).height,
    }


def _talk(complete: pl.DataFrame) -> dict[str, Any]:
    """Return the sound of both sides, and the agent's share of what either said."""
    caller, agent = (int(complete[f"{side}_voiced_ms"].sum()) for side in ("caller", "agent"))
    both = caller + agent
    return {
        "caller_ms": caller,
        "agent_ms": agent,
        "overlap_ms": int(complete["overlap_ms"].sum()),
        "agent_share": round(agent / both, SHARE_DECIMALS) if both else None,
    }


def _transcripts(errors: pl.DataFrame | None, ours: pl.DataFrame) -> dict[str, Any] | None:
    """Return how far our own transcripts differ from the platform's, in words."""
    counted = None if errors is None else errors.join(ours, on="call_id", how="semi")
    if counted is None or counted.is_empty():
        return None
    return {
        "normaliser": str(counted["normaliser"].max()),
        "calls": counted["call_id"].n_unique(),
        **{
            side: {name: int(rows[name].sum()) for name in _WORD_COUNTS}
            for side in ("caller", "agent")
            for rows in (counted.filter(pl.col("speaker") == side),)
        },
    }


def _long_without_slow_turn(complete: pl.DataFrame, protocol: Protocol) -> dict[str, Any]:
    limit_ms = int(protocol.event("slow_turn").parameters["latency_ms"])
    quiet = complete.filter(pl.col(EVENT_PREFIX + "slow_turn").eq_missing(other=False))
    return {
        "above_ms": limit_ms,
        "unanswered": quiet.filter(pl.col("longest_unanswered_ms") > limit_ms).height,
        "dead_air": quiet.filter(pl.col("longest_dead_air_ms") > limit_ms).height,
    }


def _talk_over(overs: pl.DataFrame, protocol: Protocol) -> dict[str, Any]:
    """Return the counted talk-overs by kind, and the short ones, counted or not."""
    counted = overs.filter(pl.col("counted"))
    reaches = pl.col("value_ms") >= protocol.event("talk_over").parameters["overlap_ms"]
    return {
        "counted": counted.height,
        "over_speech": counted.filter(pl.col("kind") == "over_speech").height,
        "cut_in": counted.filter(pl.col("kind") == "cut_in").height,
        "short": overs.filter("short", reaches, ~pl.col("simultaneous")).height,
        "simultaneous_starts": overs.filter(pl.col("simultaneous")).height,
    }


def _tally(names: pl.Series) -> dict[str, int]:
    counts = names.drop_nulls().value_counts().rows()
    return dict(sorted(counts, key=lambda row: (-row[1], row[0])))
