"""How much of what a store holds, and by which instruments it was made."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from inquesto_core.evidence.store import EvidenceStore

__all__ = ["Part", "Summary", "summarise"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a store holds whole, sorted by kind and pin, and how many files are not whole."""

    parts: list[Part]
    damaged: int


def summarise(store: EvidenceStore) -> Summary:
    """Return what a store holds."""
    schema = {"kind": pl.String, "made_by": pl.String, "call_id": pl.String, "size": pl.UInt32}
    read = [entry for _, entry in store.loose_entries()]
    damaged = sum(entry is None for entry in read)
    loose = pl.DataFrame(
        [
            (entry.kind, entry.made_by, entry.call_id, len(entry.value))
            for entry in read
            if entry is not None
        ],
        schema=schema,
        orient="row",
    )
    packed = []
    for pack in store.packs():
        with contextlib.suppress(FileNotFoundError):  # written anew by another
            if not pack.is_whole():
                damaged += 1
            else:
                packed.append(pack.summary().cast(schema))  # type: ignore[arg-type]
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
    parts = [Part(**row) for row in table.iter_rows(named=True)]
    return Summary(parts=parts, damaged=damaged)
