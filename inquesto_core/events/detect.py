"""All events of all calls, from the evidence tables: flags, occurrences, and what decides them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.judged import judge_answers, judged_events, judged_flags
from inquesto_core.events.long_silences import silence_table
from inquesto_core.events.predicates import scenario_predicates
from inquesto_core.events.reported import (
    reported_events,
    reported_flags,
    reported_statistics,
    reported_timing,
)
from inquesto_core.events.required_action import with_required_arguments
from inquesto_core.events.timing import (
    Moves,
    call_statistics,
    moved_outcomes,
    timing_events,
    timing_flags,
)
from inquesto_core.events.trace import performed_changes, trace_events, trace_facts, trace_flags
from inquesto_core.events.transcript import transcript_events, transcript_flags, verbosity
from inquesto_core.evidence import sort_table
from inquesto_core.timeline import (
    call_axis,
    diagnostic_tables,
    measure_timeline,
    protocol_limits,
    timeline_tables,
)

if TYPE_CHECKING:
    from inquesto_core.protocol import Population, Protocol
    from inquesto_core.timeline import Timeline

__all__ = ["Detection", "detect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What the evidence of all calls shows.

    Parameters
    ----------
    tables : dict of polars.DataFrame
        The evidence tables, with those that the timeline adds (utterances, turns, replies,
        talk_overs, barge_ins, silences, tool_results, events).
    facts, answers, predicates : polars.DataFrame
        Trace facts, judge answers and scenario predicates, a row a call.
    flags, timing_flags : polars.DataFrame
        ``call_id`` and Boolean event columns; null = undetermined, no row = no timing.
    moved_flags : polars.DataFrame
        The timing flags of a call under each move by the timing uncertainty that changes them.
    statistics : polars.DataFrame
        Timing columns of the decision table.
    """

    tables: dict[str, pl.DataFrame]
    facts: pl.DataFrame
    answers: pl.DataFrame
    predicates: pl.DataFrame
    flags: pl.DataFrame
    timing_flags: pl.DataFrame
    moved_flags: pl.DataFrame
    statistics: pl.DataFrame


def _uncertainty(calls: pl.DataFrame, call_ids: pl.Series, protocol: Protocol) -> pl.Series:
    """Return the timing uncertainty of each call, in the order of `call_ids`."""
    classes = pl.DataFrame(
        {
            "condition_class": list(protocol.timing_uncertainty_ms),
            "ms": list(protocol.timing_uncertainty_ms.values()),
        },
        schema={"condition_class": pl.String, "ms": pl.Int64},
    )
    known = calls.select("call_id", "condition_class").join(
        classes, on="condition_class", how="left"
    )
    return call_ids.to_frame("call_id").join(
        known, on="call_id", how="left", maintain_order="left"
    )["ms"]


def _fragile(timeline: Timeline, moves: Moves) -> pl.DataFrame:
    columns = [pl.Series(name, touched) for name, touched in moves.fragile.items()]
    table = pl.DataFrame([timeline.axis.call_ids.alias("call_id"), *columns])
    named = [pl.when(pl.col(name)).then(pl.lit(name)) for name in sorted(moves.fragile)]
    none = pl.lit([], dtype=pl.List(pl.String))
    told = table.filter(pl.any_horizontal(list(moves.fragile))).select(
        "call_id", fragile_limits=pl.concat_list(named).list.drop_nulls()
    )
    return (
        table.select("call_id")
        .join(told, on="call_id", how="left", maintain_order="left")
        .with_columns(pl.col("fragile_limits").fill_null(none))
    )


def _in_scenarios(events: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Return the events of calls in a scenario: of any other only the timing is told."""
    others = facts.filter(~pl.col("scenario_known")).select("call_id")
    return events if others.is_empty() else events.join(others, on="call_id", how="anti")


def detect(
    tables: dict[str, pl.DataFrame], *, protocol: Protocol, population: Population
) -> Detection:
    """Return the events of every call.

    Parameters
    ----------
    tables : dict of polars.DataFrame
        Evidence tables calls, segments, tool_calls, transcript, reported_turns,
        reported_latencies, verdicts, states.
    """
    calls, tool_calls = tables["calls"], tables["tool_calls"]
    transcript, verdicts = tables["transcript"], tables["verdicts"]
    count = calls.filter(pl.col("window_to_ms").is_not_null()).height
    limits = protocol_limits(protocol, count)
    widest = max(protocol.timing_uncertainty_ms.values())
    axis = call_axis(
        calls,
        tables["segments"],
        tool_calls,
        end_tools=(*population.tools.end_call, *population.tools.transfer),
        reach_ms=limits.reach_ms() + widest,
    )
    timeline = measure_timeline(axis, limits)
    measured = {**tables, **timeline_tables(timeline), **diagnostic_tables(timeline, limits)}
    usable = calls.filter(pl.col("timing_reasons").list.len() == 0)
    base = timing_flags(timeline, limits, protocol=protocol)
    uncertainty = _uncertainty(calls, axis.call_ids, protocol).to_numpy()
    moves = moved_outcomes(limits, timeline, base, uncertainty, protocol=protocol)
    evaluated = usable.select("call_id")
    timing, moved = (
        flags.join(evaluated, on="call_id", how="semi")
        for flags in (base.frame(timeline), moves.flags)
    )
    statistics = (
        call_statistics(timeline, limits)
        .join(_fragile(timeline, moves), on="call_id", how="left", maintain_order="left")
        .join(evaluated, on="call_id", how="semi")
    )
    silences = silence_table(timeline, limits) if limits.count_silence else None
    found = [timing_events(measured, timing, statistics, silences, protocol=protocol)]
    if (calls["timing_source"] == "reported").any():
        told = reported_timing(tables, protocol=protocol)
        reported = reported_flags(told, protocol=protocol)
        found.append(reported_events(told, reported, protocol=protocol))
        timing = pl.concat([timing, reported])
        statistics = pl.concat([statistics, reported_statistics(told)], how="diagonal")
    facts = with_required_arguments(
        trace_facts(calls, tool_calls, protocol=protocol, population=population),
        calls,
        tool_calls,
        protocol=protocol,
        population=population,
    )
    answers = judge_answers(calls, verdicts, protocol=protocol)
    judged = judged_flags(facts, answers, protocol=protocol)
    spoken = verbosity(calls, transcript)
    flags = (
        trace_flags(facts)
        .join(transcript_flags(spoken, protocol=protocol), on="call_id")
        .join(judged, on="call_id")
    )
    changes = performed_changes(facts, tool_calls, protocol=protocol, population=population)
    of_conduct = pl.concat(
        [
            trace_events(changes, protocol=protocol),
            transcript_events(spoken, protocol=protocol),
            judged_events(facts, flags, verdicts, transcript, changes, protocol=protocol),
        ]
    )
    events = pl.concat([*found, _in_scenarios(of_conduct, facts)])
    return Detection(
        tables={**measured, "events": sort_table("events", events)},
        facts=facts,
        answers=answers,
        predicates=scenario_predicates(measured, protocol=protocol, population=population),
        flags=flags,
        timing_flags=timing,
        moved_flags=moved,
        statistics=statistics,
    )
