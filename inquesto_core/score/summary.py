"""What a record is made of: small tables that add up over any partition of one agent's calls.

Every quantity of a record is a sum over calls, a percentile of whole milliseconds, or a list of the
calls that are not plainly scored. Counts, histograms and that list of two halves of an archive are
those of the whole when they are added, so that no record needs all calls at once.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.score.accounting import EXCLUSION_UNKNOWN, NO_SCENARIO, UNKNOWN_SCENARIO
from inquesto_core.score.bounds import bound_columns, fragile_limits
from inquesto_core.score.diagnostics import (
    diagnostic_columns,
    diagnostic_lengths,
    diagnostic_tallies,
    heard_evidence,
)
from inquesto_core.score.sensitivity import (
    judge_free_columns,
    judge_free_decisions,
    sensitivity_columns,
)
from inquesto_core.score.slots import slot_use
from inquesto_core.score.tables import SLOT
from inquesto_core.score.tallies import tally
from inquesto_core.score.views import CELL, is_complete, view_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inquesto_core.protocol import Population, Protocol

__all__ = ["Summary", "add_summaries", "summarise"]

#: Key columns of the tables of a summary that are added by them.
_KEYS = {
    "cells": CELL,
    "judge_free": CELL,
    "tallies": ("what", "name"),
    "lengths": ("what", "value_ms"),
    "slots": ("cell", "trial"),
    "timed_cells": CELL,
    "timed_tallies": ("what", "name"),
    "timed_lengths": ("what", "value_ms"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The calls of one agent, or some of them, as far as a record tells of them.

    Parameters
    ----------
    cells : polars.DataFrame
        One row a condition, group, and identity call or not; every further column is a sum.
    judge_free : polars.DataFrame
        The same without the judge, as far as a record tells it.
    tallies : polars.DataFrame
        ``what, name, n``: how often each name stands for it.
    lengths : polars.DataFrame
        ``what, value_ms, n``: a histogram of whole milliseconds for each.
    noted : polars.DataFrame
        ``call_id, state, reasons`` and slot of the calls that are not plainly scored.
    slots : polars.DataFrame
        As `slot_use` gives it.
    timed_cells, timed_tallies, timed_lengths : polars.DataFrame
        Cells, tallies and lengths of what timing tells of the calls without a scenario: there
        ``n`` counts those whose timing is evaluated, and every sum is over these.
    """

    cells: pl.DataFrame
    judge_free: pl.DataFrame
    tallies: pl.DataFrame
    lengths: pl.DataFrame
    noted: pl.DataFrame
    slots: pl.DataFrame
    timed_cells: pl.DataFrame
    timed_tallies: pl.DataFrame
    timed_lengths: pl.DataFrame


def summarise(
    decisions: pl.DataFrame,
    evidence: Mapping[str, pl.DataFrame],
    *,
    protocol: Protocol,
    population: Population,
    judge_free: bool,
) -> Summary:
    """Return what a record tells of these calls.

    Parameters
    ----------
    decisions : decision table of one agent
    evidence : mapping of str to polars.DataFrame
        The calls' evidence tables calls, replies, talk_overs, barge_ins, silences,
        tool_results, events, word_errors where calls were heard, and reported_latencies where a
        runtime told them.
    judge_free : bool
        There is no judge: every field is that of the judge-free variant.
    """
    without = judge_free_decisions(decisions, evidence["events"], protocol=protocol)
    table = without if judge_free else decisions
    identity = pl.col("identity").is_not_null().alias("is_identity")
    views, diagnostics = view_columns(protocol), diagnostic_columns(protocol)
    columns = {**views, **bound_columns(), **sensitivity_columns(protocol), **diagnostics}
    plain = (pl.col("state") == "scored") & (pl.col("reasons").list.len() == 0)
    # An archive of real calls may be millions of these, and a count says all of them.
    plain |= (pl.col("state") == "timing_only") & (pl.col("reasons") == [NO_SCENARIO])
    complete = table.filter(is_complete())
    heard = heard_evidence(complete, evidence)
    cells = _sums(table.with_columns(identity), columns)
    tallies = pl.concat(
        [*_states(table), *_design(table), fragile_limits(complete), *diagnostic_tallies(heard)]
    )
    lengths = diagnostic_lengths(heard)
    # Their sums are those of calls in n.
    timed = table.filter(is_timed()).with_columns(state=pl.lit("scored"))
    if timed.is_empty():
        told = (cells.select(*CELL, *views, *diagnostics).clear(), tallies.clear(), lengths.clear())
    else:
        timed_heard = heard_evidence(timed, evidence)
        told = (
            _sums(timed.with_columns(identity), {**views, **diagnostics}),
            pl.concat(diagnostic_tallies(timed_heard)),
            diagnostic_lengths(timed_heard),
        )
    return Summary(
        cells=cells,
        judge_free=_sums(without.with_columns(identity), judge_free_columns()),
        tallies=tallies,
        lengths=lengths,
        noted=table.filter(~plain).select("call_id", "state", "reasons", *SLOT),
        slots=slot_use(table, population=population),
        timed_cells=told[0],
        timed_tallies=told[1],
        timed_lengths=told[2],
    )


def is_timed() -> pl.Expr:
    """Return whether a call is scored for timing only and its timing is evaluated."""
    untold = pl.col("reasons").list.set_difference(
        [NO_SCENARIO, UNKNOWN_SCENARIO, EXCLUSION_UNKNOWN]
    )
    return (pl.col("state") == "timing_only") & (untold.list.len() == 0)


def add_summaries(summaries: Iterable[Summary]) -> Summary:
    """Return the summary of the calls of all of them; at least one, no call in two."""
    parts = list(summaries)
    added = {
        each.name: pl.concat([getattr(part, each.name) for part in parts])
        for each in fields(Summary)
    }
    for name, keys in _KEYS.items():
        added[name] = added[name].group_by(keys).agg(pl.exclude(keys).sum())
    return Summary(**added)


def _sums(table: pl.DataFrame, columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
    numbers = [expr.fill_null(0).cast(pl.Int64).alias(name) for name, expr in columns.items()]
    # Not eagerly: what several columns ask is then asked once.
    sums = table.lazy().select(*CELL, *numbers).group_by(CELL).agg(pl.exclude(CELL).sum())
    return sums.collect()


def _states(table: pl.DataFrame) -> list[pl.DataFrame]:
    """Return how many calls of a state have each reason; a call may have several."""
    return [
        tally(
            f"reasons/{state}",
            table.filter(pl.col("state") == state)["reasons"].explode(empty_as_null=False),
        )
        for state in ("excluded", "not_evaluated", "timing_only")
    ]


def _design(table: pl.DataFrame) -> list[pl.DataFrame]:
    """Return what there is a call of, whatever became of it."""
    held = table.filter(pl.col("call_id").is_not_null())
    return [tally(f"design/{name}", held[name].cast(pl.String)) for name in SLOT]
