"""One call of a run, with everything that explains it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.engine.compat import require_evidence
from inquesto_core.engine.partitions import WHOLE
from inquesto_core.engine.reduction import DERIVED, READ, Reading, reduce_part, slots_of_run
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.stored import load_run, stored_use
from inquesto_core.evidence import TABLES, empty_table

if TYPE_CHECKING:
    from pathlib import Path

    from inquesto_core.engine.stored import StoredRun

__all__ = ["load_call"]


def load_call(run: str | Path, call_id: str, *, protocol: str | Path | None = None) -> StoredRun:
    """Return a run with the tables of the partition that would hold a call.

    A run in several partitions does not keep what the reduction makes of a call; it is made again.

    Parameters
    ----------
    protocol : str or path, optional
        As for `protocol_of_run`.

    Raises
    ------
    InquestoError
        As `load_run`, `require_evidence` and `protocol_of_run`.
    """
    stored = load_run(run, call_id=call_id)
    require_evidence(stored)
    if stored.parts == (WHOLE,) and stored.tables.keys() >= set(DERIVED):
        return stored
    held = {
        name: table.filter(pl.col("call_id") == call_id) for name, table in stored.tables.items()
    }
    tables = {name: held.get(name, empty_table(name)) for name in TABLES}
    if tables["calls"].is_empty():
        return replace(stored, tables=tables)
    law = protocol_of_run(stored, protocol)
    people, use = population_of_run(stored, protocol=law), stored_use(stored)
    reading = Reading(protocol=law, population=people, judge=use.judge, transcriber=use.transcriber)
    _, twice = slots_of_run([tables["calls"]], protocol=law, population=people)
    reduced = reduce_part({name: tables[name] for name in READ}, reading, twice=twice)
    return replace(stored, tables={**tables, **reduced.derived})
