"""The tables that a report reads of a run: decisions of all calls, evidence of those with a page.

A run in several partitions keeps nothing that the reduction makes but its events; for the calls
that have a page it is made again, partition by partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.engine.partitions import WHOLE, part_of_call
from inquesto_core.engine.reduction import READ, Reading, reduce_part, slots_of_run
from inquesto_core.engine.stored import stored_use
from inquesto_core.evidence import TABLES, empty_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population, Protocol

__all__ = ["evidence_of_calls", "is_whole", "summed_tables"]

#: What is counted over all calls, where a run keeps it.
_SUMMED = ("replies", "verdicts")


def is_whole(stored: StoredRun) -> bool:
    """Return whether a run is one partition."""
    return stored.parts == (WHOLE,)


def summed_tables(stored: StoredRun) -> dict[str, pl.DataFrame]:
    """Return the tables that a report counts over all calls; empty where a run has too many."""
    if not is_whole(stored):
        return {name: empty_table(name) for name in _SUMMED}
    columns = {name: tuple(TABLES[name]) for name in _SUMMED}
    return stored.part(WHOLE, columns)


def evidence_of_calls(
    stored: StoredRun, call_ids: Sequence[str], *, protocol: Protocol, population: Population
) -> Iterator[tuple[list[str], dict[str, pl.DataFrame]]]:
    """Yield calls, in their order within a partition, with all evidence tables of them."""
    columns = {name: tuple(TABLES[name]) for name in TABLES if stored.has_table(name)}
    if is_whole(stored):
        held = stored.part(WHOLE, columns)
        yield list(call_ids), {name: held.get(name, empty_table(name)) for name in TABLES}
        return
    by_part: dict[str, list[str]] = {}
    for call_id in call_ids:
        by_part.setdefault(part_of_call(stored.folder, call_id), []).append(call_id)
    use = stored_use(stored)
    reading = Reading(
        protocol=protocol, population=population, judge=use.judge, transcriber=use.transcriber
    )
    for part, ours in by_part.items():
        wanted = pl.col("call_id").is_in(pl.Series(ours, dtype=pl.String).implode())
        held = {name: each.filter(wanted) for name, each in stored.part(part, columns).items()}
        tables = {name: held.get(name, empty_table(name)) for name in TABLES}
        _, twice = slots_of_run([tables["calls"]], protocol=protocol, population=population)
        made = reduce_part({name: tables[name] for name in READ}, reading, twice=twice)
        yield ours, {**tables, **made.derived}
