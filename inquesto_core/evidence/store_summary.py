"""How much of what a store holds, and by which instruments it was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.evidence.entries import open_entry

if TYPE_CHECKING:
    from inquesto_core.evidence.store import EvidenceStore

__all__ = ["Part", "summarise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The entries of one kind by one pin.

    Parameters
    ----------
    size : int
        Bytes of their values, as they were before packing.
    """

    kind: str
    made_by: str
    entries: int
    calls: int
    size: int


def summarise(store: EvidenceStore) -> list[Part]:
    """Return what a store holds whole, sorted by kind and pin."""
    schema = {"kind": pl.String, "made_by": pl.String, "call_id": pl.String, "size": pl.UInt32}
    whole = (open_entry(path.read_bytes()) for path in store.loose_files())
    loose = pl.DataFrame(
        [
            (entry.kind, entry.made_by, entry.call_id, len(entry.value))
            for entry in whole
            if entry is not None
        ],
        schema=schema,
        orient="row",
    )
    packed = [pack.summary().cast(schema) for pack in store.packs() if pack.is_whole()]  # type: ignore[arg-type]
    table = (
        pl.concat([loose, *packed])
        .group_by("kind", "made_by")
        .agg(
            entries=pl.len(),
            calls=pl.col("call_id").n_unique(),
            size=pl.col("size").cast(pl.Int64).sum(),
        )
        .sort("kind", "made_by")
    )
    return [Part(**row) for row in table.iter_rows(named=True)]
