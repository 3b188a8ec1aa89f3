"""The audio events of calls whose timing a runtime reported: no recording, so nothing measured.

What stands in the tables ``reported_turns`` and ``reported_latencies`` is taken as reported: times
in the order of the turns, and waits on the runtime's own clock, which may start after its
endpointing window. The limits are those of measured timing. There is no timing uncertainty, for
nobody knows it, so that no such call is borderline; the citation says ``[timing reported]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.occurrences import occurrences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol import Protocol

__all__ = [
    "ReportedTimes",
    "reported_events",
    "reported_flags",
    "reported_statistics",
    "reported_timing",
]

_AGENT = pl.col("speaker") == "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTimes:
    """What runtimes reported of the calls whose reported timing is evaluated.

    Parameters
    ----------
    turns : polars.DataFrame
        ``reported_turns`` with ``overlap_ms`` of an agent turn (from its start to the end of the
        last caller turn before it), ``talks_over`` (that is at least the limit and counts),
        ``is_short`` (at least the limit, of a short turn that ends within it), ``gap_ms`` (the
        other way round, where a caller turn is just before it) and ``no_reply``: an agent turn
        without a word, or a caller turn with no agent turn after it.
    waits : polars.DataFrame
        ``reported_latencies`` with ``is_slow`` (above the limit), and ``at_ms`` and ``turn`` of the
        agent turn where the call has one latency for each; else null.
    calls : polars.DataFrame
        One row a call: its counts, ``n_slow`` and latency statistics.
    """

    turns: pl.DataFrame
    waits: pl.DataFrame
    calls: pl.DataFrame


def reported_timing(tables: Mapping[str, pl.DataFrame], *, protocol: Protocol) -> ReportedTimes:
    """Return what `tables` say of calls with reported timing, all calls at once.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        Evidence tables calls, reported_turns, reported_latencies.
    """
    slow_ms = protocol.event("slow_turn").parameters["latency_ms"]
    talk_over = protocol.event("talk_over").parameters
    ours = (
        tables["calls"]
        .filter(pl.col("timing_source") == "reported", pl.col("timing_reasons").list.len() == 0)
        .select("call_id")
    )
    turns, waits = (
        tables[name].join(ours, on="call_id", how="semi").sort("call_id", "position")
        for name in ("reported_turns", "reported_latencies")
    )
    caller_end = pl.when(~_AGENT).then("end_ms").forward_fill().over("call_id")
    last_agent = pl.when(_AGENT).then("position").max().over("call_id")
    overlap = pl.when(_AGENT).then(caller_end - pl.col("start_ms"))
    follows_caller = (pl.col("speaker").shift(1) == "caller").over("call_id")
    inside = overlap >= pl.col("end_ms") - pl.col("start_ms")
    is_short = pl.col("end_ms") - pl.col("start_ms") <= protocol.timeline.short_turn_ms
    reaches = (overlap >= talk_over["overlap_ms"]).fill_null(value=False)
    unanswered = ~_AGENT & (pl.col("position") > last_agent.fill_null(-1))
    turns = turns.with_columns(
        overlap_ms=overlap,
        gap_ms=pl.when(follows_caller).then(-overlap),
        is_short=reaches & inside & is_short,
        talks_over=reaches & (pl.lit(value=bool(talk_over["count_short"])) | ~(inside & is_short)),
        no_reply=(_AGENT & pl.col("silent")) | unanswered,
    )
    waits = _located(waits.with_columns(is_slow=pl.col("latency_ms") > slow_ms), turns)
    return ReportedTimes(turns=turns, waits=waits, calls=_per_call(ours, turns, waits))


def _located(waits: pl.DataFrame, turns: pl.DataFrame) -> pl.DataFrame:
    """Return the waits with their agent turns, in calls that have as many of both."""
    agents = turns.filter(_AGENT).select(
        "call_id",
        position=pl.int_range(pl.len(), dtype=pl.Int64).over("call_id"),
        turn="position",
        at_ms="start_ms",
        n_agent_turns=pl.len().over("call_id"),
    )
    found = waits.join(agents, on=["call_id", "position"], how="left", maintain_order="left")
    is_whole = (pl.len() == pl.col("n_agent_turns").first()).over("call_id")
    return found.with_columns(pl.when(is_whole).then(pl.col("turn", "at_ms")).name.keep()).drop(
        "n_agent_turns"
    )


def _per_call(ours: pl.DataFrame, turns: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    counts = turns.group_by("call_id").agg(
        n_agent_turns=_AGENT.sum().cast(pl.Int64),
        n_utterances=(~_AGENT).sum().cast(pl.Int64),
        n_talk_over=pl.col("talks_over").sum().cast(pl.Int64),
        n_talk_over_short=pl.col("is_short").sum().cast(pl.Int64),
        n_no_reply=pl.col("no_reply").sum().cast(pl.Int64),
        longest_unanswered_ms=pl.col("gap_ms").max().clip(lower_bound=0),
    )
    latency = pl.col("latency_ms")
    timed = waits.group_by("call_id").agg(
        n_replied=pl.len().cast(pl.Int64),
        n_slow=pl.col("is_slow").sum().cast(pl.Int64),
        median_latency_ms=latency.median(),
        p95_latency_ms=latency.sort().get((pl.len() * 95 + 99) // 100 - 1),
    )
    table = ours
    for frame in (counts, timed):
        table = table.join(frame, on="call_id", how="left", maintain_order="left")
    return table.with_columns(pl.col("^n_.*$").fill_null(0))


def reported_flags(told: ReportedTimes, *, protocol: Protocol) -> pl.DataFrame:
    """Return ``call_id`` and one column an audio event, a row a call with reported timing.

    Criteria as for measured timing. A call without an agent turn had no reply: `slow_turn`. The
    reference takes no reply from its silence marker alone, and asks for its own flag before an
    overlap counts (conformance rows 2 and 3): more calls fail here.
    """
    median_ms = protocol.event("slow_median").parameters["median_ms"]
    share = protocol.event("repeated_talk_over").parameters
    over, turns = pl.col("n_talk_over"), pl.col("n_agent_turns")
    repeated = (over >= share["min_count"]) & (
        over * share["share_denominator"] >= turns * share["share_numerator"]
    )
    return told.calls.select(
        "call_id",
        event_slow_turn=(pl.col("n_slow") + pl.col("n_no_reply") > 0) | (turns == 0),
        event_slow_median=(pl.col("median_latency_ms") > median_ms).fill_null(value=False),
        event_talk_over=(over > 0) & ~repeated,
        event_repeated_talk_over=repeated,
    )


def reported_statistics(told: ReportedTimes) -> pl.DataFrame:
    """Return the timing columns of the decision table that reported timing has.

    ``longest_unanswered_ms`` is the longest gap on the clock of the turns, which no event is read
    from: it shows what the runtime's latencies leave out.
    """
    return told.calls.drop("n_slow")


def reported_events(
    told: ReportedTimes, flags: pl.DataFrame, *, protocol: Protocol
) -> pl.DataFrame:
    """Return every occurrence of the audio events in reported timing, at its turn where known.

    Parameters
    ----------
    flags : `reported_flags`
    """
    overs = _talk_overs(told.turns, protocol)
    rows = {
        "slow_turn": _slow_turns(told, protocol),
        "slow_median": _medians(told.calls, protocol),
        "talk_over": overs,
        "repeated_talk_over": overs,
    }
    tables = []
    for name, found in rows.items():
        stands = flags.filter(f"event_{name}").select("call_id")
        ours = found.join(stands, on="call_id", how="semi", maintain_order="left")
        tables.append(occurrences(ours, protocol.event(name)))
    return pl.concat(tables)


def _slow_turns(told: ReportedTimes, protocol: Protocol) -> pl.DataFrame:
    """Return slow waits, then turns without a reply, then the calls in which nobody answered."""
    slow_ms = int(protocol.event("slow_turn").parameters["latency_ms"])
    threshold = pl.lit(slow_ms, dtype=pl.Int64)
    waits = told.waits.filter("is_slow").select(
        "call_id",
        "at_ms",
        value="latency_ms",
        threshold=threshold,
        margin_ms=pl.col("latency_ms") - slow_ms,
        evidence_key=pl.format("reported_latencies/{}", "position"),
    )
    silent = told.turns.filter("no_reply").select(
        "call_id",
        at_ms=pl.when(_AGENT).then("start_ms").otherwise("end_ms"),
        threshold=threshold,
        evidence_key=pl.format("reported_turns/{}", "position"),
    )
    nobody = told.calls.filter(pl.col("n_agent_turns") == 0, pl.col("n_no_reply") == 0).select(
        "call_id", threshold=threshold, evidence_key=pl.lit("reported_turns")
    )
    return pl.concat([waits, silent, nobody], how="diagonal").sort(
        "call_id", pl.col("value"), descending=[False, True], nulls_last=True, maintain_order=True
    )


def _medians(calls: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    median_ms = int(protocol.event("slow_median").parameters["median_ms"])
    median = pl.col("median_latency_ms")
    return calls.filter(median.is_not_null()).select(
        "call_id",
        value=median.floor().cast(pl.Int64),
        threshold=pl.lit(median_ms, dtype=pl.Int64),
        margin_ms=(median - median_ms).ceil().cast(pl.Int64),
        evidence_key=pl.lit("reported_latencies"),
    )


def _talk_overs(turns: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    least_ms = int(protocol.event("talk_over").parameters["overlap_ms"])
    return turns.filter("talks_over").select(
        "call_id",
        at_ms="start_ms",
        end_ms=pl.col("start_ms") + pl.col("overlap_ms"),
        value="overlap_ms",
        threshold=pl.lit(least_ms, dtype=pl.Int64),
        margin_ms=pl.col("overlap_ms") - least_ms,
        evidence_key=pl.format("reported_turns/{}", "position"),
    )
