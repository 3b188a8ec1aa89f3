"""What was found of an event type, as rows of table ``events``, and which of them counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.evidence.tables import TABLES, empty_table, sort_table

if TYPE_CHECKING:
    from inquesto_core.protocol import EventType

__all__ = ["occurrences"]


def occurrences(frame: pl.DataFrame, event: EventType) -> pl.DataFrame:
    """Return the rows of `frame` as occurrences of one event type, the first of a call counted.

    Parameters
    ----------
    frame : polars.DataFrame
        ``call_id`` and any further columns of table ``events``; in the order in which a call's
        occurrences rank. Its ``source`` wins over the event type's.
    """
    columns = TABLES["events"]
    given = frame.select(name for name in frame.columns if name in columns)
    source = pl.col("source") if "source" in given.columns else pl.lit(event.source)
    ranked = given.with_columns(
        type=pl.lit(event.name),
        severity=pl.lit(event.severity, dtype=pl.Int64),
        source=source,
        counted=pl.int_range(pl.len()).over("call_id") == 0,
    )
    empty = empty_table("events").cast({"call_id": frame.schema["call_id"]})
    table = pl.concat([empty, ranked], how="diagonal")
    return sort_table("events", table)
