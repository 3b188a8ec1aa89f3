"""Timing quantities outside the score, summed over the complete calls.

They say how an agent waits, interrupts, yields and fills silence; none passes or fails a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.score.tables import EVENT_PREFIX
from inquesto_core.score.tallies import counts_of, histogram, percentiles, tally
from inquesto_core.score.views import is_complete
from inquesto_core.timeline.barge_ins import KINDS, OUTCOMES
from inquesto_core.timeline.tool_waits import RESULT_OUTCOMES, SPOKE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import Protocol

__all__ = [
    "diagnostic_columns",
    "diagnostic_lengths",
    "diagnostic_tallies",
    "heard_evidence",
    "timing_diagnostics",
]

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


_TALK = ("caller_voiced_ms", "agent_voiced_ms", "overlap_ms")
_SIDES = ("caller", "agent")
_OF_SOUND = ("replies", "talk_overs", "barge_ins", "silences", "tool_results")
#: Waits that a runtime told, where there is no recording to measure.
_REPORTED = "reported_latencies"


def diagnostic_columns(protocol: Protocol) -> dict[str, pl.Expr]:
    """Return what is summed over calls: counts of the timeline, sound, long waits unflagged."""
    limit_ms = _slow_turn_ms(protocol)
    quiet = is_complete() & pl.col(EVENT_PREFIX + "slow_turn").eq_missing(other=False)
    counted = {name: pl.when(is_complete()).then(name) for name in (*_SUMS.values(), *_TALK)}
    return {
        **counted,
        "quiet_unanswered": quiet & (pl.col("longest_unanswered_ms") > limit_ms),
        "quiet_dead_air": quiet & (pl.col("longest_dead_air_ms") > limit_ms),
    }


def _slow_turn_ms(protocol: Protocol) -> int:
    return int(protocol.event("slow_turn").parameters["latency_ms"])


def heard_evidence(
    complete: pl.DataFrame, evidence: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Return the evidence with only what counts: that of the calls in n, and of evaluated sound.

    Parameters
    ----------
    complete : decision table of the calls in n
    evidence : mapping of str to polars.DataFrame
        As `summarise` takes it. Rows of other calls are left out, and those of the sound of a call
        whose timing is not evaluated.
    """
    ours, calls = complete.select("call_id"), evidence["calls"]
    untimed = calls.filter(pl.col("timing_reasons").list.len() > 0).select("call_id")
    timed = ours.join(untimed, on="call_id", how="anti")
    of_sound = [*_OF_SOUND, *([_REPORTED] if _REPORTED in evidence else [])]
    of_calls = [name for name in ("events", "word_errors") if name in evidence]
    wanted = {**dict.fromkeys(of_sound, timed), **dict.fromkeys(of_calls, ours)}
    return {"calls": calls} | {
        # Nearly always that is all of them.
        name: evidence[name]
        if 0 < some.height == calls.height
        else evidence[name].join(some, on="call_id", how="semi")
        for name, some in wanted.items()
    }


def diagnostic_lengths(heard: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the histograms of waits, in whole milliseconds.

    Parameters
    ----------
    heard : `heard_evidence`
    """
    waits = heard["replies"].select("status", "latency_ms", "tool_in_wait")
    replied = waits.filter(pl.col("status") == "replied")
    tool = pl.col("tool_in_wait")
    quiet = _quiet(heard["silences"].select("outcome", "value_ms", "tool_inside"))
    overs = heard["talk_overs"].select("value_ms", "short", "simultaneous")
    short = overs.filter("short", ~pl.col("simultaneous"))
    yields = heard["barge_ins"].select("kind", "yield_ms")
    told = pl.Series(dtype=pl.Int64)
    if _REPORTED in heard:
        told = heard[_REPORTED]["latency_ms"].cast(pl.Int64)
    found = {
        "latency": pl.concat([replied["latency_ms"].cast(pl.Int64), told]),
        "latency/reported": told,
        "latency/with_tool": replied.filter(tool)["latency_ms"],
        "latency/without_tool": replied.filter(~tool)["latency_ms"],
        "first_sound": heard["tool_results"]["first_sound_ms"],
        "yield": yields.filter(pl.col("kind") == "attempt")["yield_ms"],
        "talk_over/short": short["value_ms"],
        **{
            f"silence/{name}": quiet.filter(pl.col("outcome") == name)["value_ms"]
            for name in ("agent_spoke", "caller_spoke")
        },
    }
    return pl.concat([histogram(what, values) for what, values in found.items()])


def diagnostic_tallies(heard: Mapping[str, pl.DataFrame]) -> list[pl.DataFrame]:
    """Return how often each kind of talk-over, barge-in, silence and tool result was found.

    Parameters
    ----------
    heard : `heard_evidence`
    """
    replies, overs, barge_ins, silences, results = (heard[name] for name in _OF_SOUND)
    untold = replies.select("status", "tool_in_wait").filter(
        pl.col("status") == "replied", pl.col("tool_in_wait").is_null()
    )
    ended = _quiet(silences.select("call_id", "outcome", "tool_inside")).join(
        heard["calls"].select("call_id", "ended_by"), on="call_id", how="left"
    )
    by = (
        pl.when(pl.col("outcome") == "agent_hung_up")
        .then(pl.lit("agent"))
        .when(pl.col("outcome") == "call_ended")
        .then(pl.col("ended_by").fill_null("unknown"))
    )
    kind = pl.format("{}/{}", "kind", pl.col("outcome").fill_null("untold"))
    return [
        tally("latency/unknown", untold["status"]),
        tally("tool_result", results["outcome"]),
        *_talk_over_tallies(overs),
        tally("barge_in", barge_ins.select(kind).to_series()),
        tally("silence/ended_by", ended.select(by.alias("by")).to_series()),
        tally("silence/with_tool", silences.filter("tool_inside")["outcome"]),
        tally("occurrence", heard["events"]["type"]),
        *_word_tallies(heard.get("word_errors")),
    ]


def _quiet(silences: pl.DataFrame) -> pl.DataFrame:
    """Return the silences in which no tool call ran; those in which one did are the agent's."""
    return silences.filter(~pl.col("tool_inside").fill_null(value=False))


def _talk_over_tallies(overs: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the talk-overs by kind: those that count, and the simultaneous starts."""
    return [
        tally("talk_over/counted", overs.filter("counted")["kind"]),
        tally("talk_over/simultaneous", overs.filter("simultaneous")["kind"]),
    ]


def _word_tallies(counted: pl.DataFrame | None) -> list[pl.DataFrame]:
    """Return how far our own transcripts differ from the platform's, in words."""
    if counted is None or counted.is_empty():
        return []
    calls = counted.select("call_id", "normaliser").unique()
    sums = [
        pl.DataFrame(
            {
                "what": [f"words/{side}"] * len(_WORD_COUNTS),
                "name": list(_WORD_COUNTS),
                "n": [int(rows[name].sum()) for name in _WORD_COUNTS],
            }
        )
        for side in _SIDES
        for rows in (counted.filter(pl.col("speaker") == side),)
    ]
    return [tally("words/normaliser", calls["normaliser"]), *sums]


def timing_diagnostics(
    cells: pl.DataFrame, tallies: pl.DataFrame, lengths: pl.DataFrame, *, protocol: Protocol
) -> dict[str, Any]:
    """Return the record's ``diagnostics``: counts and percentiles over the complete calls.

    Parameters
    ----------
    cells, tallies, lengths : polars.DataFrame
        Those of a summary.

    Returns
    -------
    dict
        ``latency_reported_n`` of the waits in ``latency_ms`` were told by a runtime and not
        measured. ``long_without_slow_turn`` counts calls in which a wait or a dead air inside an
        agent turn
        is longer than slow_turn's limit and no slow_turn stands; ``occurrences`` counts every
        event found, also those that the tallies do not count. ``transcripts`` is None where no
        call has both the platform's transcript and our own.
    """
    reported_n = percentiles(lengths, "latency/reported")["n"] or 0
    return {
        "calls": int(cells["n"].sum()),
        **{name: int(cells[column].sum()) for name, column in _SUMS.items()},
        "latency_ms": percentiles(lengths, "latency"),
        "latency_reported_n": reported_n,
        "latency_by_tool": {
            "with_tool": percentiles(lengths, "latency/with_tool"),
            "without_tool": percentiles(lengths, "latency/without_tool"),
            "unknown_n": sum(counts_of(tallies, "latency/unknown").values()) + reported_n,
        },
        "after_tool_result": _after_tool_result(tallies, lengths),
        "long_without_slow_turn": {
            "above_ms": _slow_turn_ms(protocol),
            "unanswered": int(cells["quiet_unanswered"].sum()),
            "dead_air": int(cells["quiet_dead_air"].sum()),
        },
        "talk_over": _talk_over(tallies, lengths, protocol),
        "barge_in": _barge_in(tallies, lengths),
        "silence": _silence(tallies, lengths, protocol),
        "talk": _talk(cells),
        "transcripts": _transcripts(tallies),
        "occurrences": _ranked(counts_of(tallies, "occurrence")),
    }


def _after_tool_result(tallies: pl.DataFrame, lengths: pl.DataFrame) -> dict[str, Any]:
    found = counts_of(tallies, "tool_result")
    others = [name for name in RESULT_OUTCOMES if name != RESULT_OUTCOMES[SPOKE]]
    return {
        "first_sound_ms": percentiles(lengths, "first_sound"),
        **{name: found.get(name, 0) for name in others},
    }


def _barge_in(tallies: pl.DataFrame, lengths: pl.DataFrame) -> dict[str, Any]:
    """Return yield or keep by what the caller did, and how long real attempts took to be heard."""
    found = counts_of(tallies, "barge_in")
    told = [name for name in OUTCOMES if name is not None]
    return {
        "n": sum(found.values()),
        **{kind: {name: found.get(f"{kind}/{name}", 0) for name in told} for kind in KINDS},
        "untold": sum(found.get(f"{kind}/untold", 0) for kind in KINDS),
        "yield_ms": percentiles(lengths, "yield"),
    }


def _silence(tallies: pl.DataFrame, lengths: pl.DataFrame, protocol: Protocol) -> dict[str, Any]:
    """Return how long silences end; those in which a tool call ran are the agent's, and apart."""
    ended = counts_of(tallies, "silence/ended_by")
    return {
        "above_ms": _slow_turn_ms(protocol),
        "reprompt_ms": percentiles(lengths, "silence/agent_spoke"),
        "caller_spoke_ms": percentiles(lengths, "silence/caller_spoke"),
        "ended_by": {name: ended.get(name, 0) for name in ENDED_BY},
        "with_tool": sum(counts_of(tallies, "silence/with_tool").values()),
    }


def _talk(cells: pl.DataFrame) -> dict[str, Any]:
    """Return the sound of both sides, and the agent's share of what either said."""
    caller, agent, overlap = (int(cells[name].sum()) for name in _TALK)
    both = caller + agent
    return {
        "caller_ms": caller,
        "agent_ms": agent,
        "overlap_ms": overlap,
        "agent_share": round(agent / both, SHARE_DECIMALS) if both else None,
    }


def _transcripts(tallies: pl.DataFrame) -> dict[str, Any] | None:
    calls = counts_of(tallies, "words/normaliser")
    if not calls:
        return None
    sides = {side: counts_of(tallies, f"words/{side}") for side in _SIDES}
    return {
        "normaliser": max(calls),
        "calls": sum(calls.values()),
        **{side: {name: found[name] for name in _WORD_COUNTS} for side, found in sides.items()},
    }


def _talk_over(tallies: pl.DataFrame, lengths: pl.DataFrame, protocol: Protocol) -> dict[str, Any]:
    """Return the counted talk-overs by kind, and the short ones, counted or not."""
    counted = counts_of(tallies, "talk_over/counted")
    reach_ms = int(protocol.event("talk_over").parameters["overlap_ms"])
    is_short = pl.col("what") == "talk_over/short"
    short = lengths.filter(is_short, pl.col("value_ms") >= reach_ms)
    return {
        "counted": sum(counted.values()),
        "over_speech": counted.get("over_speech", 0),
        "cut_in": counted.get("cut_in", 0),
        "short": int(short["n"].sum()),
        "simultaneous_starts": sum(counts_of(tallies, "talk_over/simultaneous").values()),
    }


def _ranked(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda row: (-row[1], row[0])))
