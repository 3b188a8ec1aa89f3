"""What was found of an event type, as rows of table ``events``, and which of them counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.evidence.tables import TABLES

if TYPE_CHECKING:
    from inquesto_core.protocol import EventType

__all__ = ["occurrences"]


def occurrences(frame: pl.DataFrame, event: EventType) -> pl.DataFrame:
    """Return the rows of `frame` as occurrences of one event type, the first of a call counted.

    Parameters
    ----------
    frame : polars.DataFrame
        ``call_id`` and any further columns of table ``events``; in the order in which a call's
        occurrences rank, which stays. Its ``source`` wins over the event type's.
    """
    told = {
        "source": pl.lit(event.source),
        **{name: pl.col(name) for name in frame.columns},
        "type": pl.lit(event.name),
        "severity": pl.lit(event.severity, dtype=pl.Int64),
        "counted": pl.col("call_id").is_first_distinct(),
    }
    return frame.select(
        told.get(name, pl.lit(None, dtype=dtype)).alias(name)
        for name, dtype in TABLES["events"].items()
    )
