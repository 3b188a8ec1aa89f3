"""Many entries in one Parquet file: a pack, sorted by kind and key, named by its own digest.

A pack is written once and never changed. Small row groups let one entry be read without the rest;
what was read is proven by the entry's own digest.
"""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from inquesto_core.canonical import digest_bytes
from inquesto_core.evidence.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inquesto_core.places import Place

__all__ = ["PACK_SCHEMA", "PACK_SUFFIX", "UNREADABLE", "Pack", "write_pack"]

PACK_SUFFIX = ".parquet"

#: Columns of a pack, sorted by ``kind``, then ``key``.
PACK_SCHEMA = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),
        pa.field("key", pa.string(), nullable=False),
        pa.field("call_id", pa.string(), nullable=False),
        pa.field("made_by", pa.string(), nullable=False),
        pa.field("sha256", pa.string(), nullable=False),
        pa.field("value", pa.binary(), nullable=False),  # canonical JSON
    ]
)
#: What reading a damaged pack raises.
UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError)

_ROW_GROUP = 64
#: Row groups of one pack kept in memory.
_HELD = 8


def _entry(row: dict[str, object]) -> Entry | None:
    """Return a row's entry; None where it is not what it was."""
    names = ("kind", "key", "call_id", "made_by", "value")
    entry = Entry(**{name: row[name] for name in names})  # type: ignore[arg-type]
    return entry if entry.sha256 == row["sha256"] else None


@dataclass(slots=True, kw_only=True)
class Pack:
    """One Parquet file of entries.

    Parameters
    ----------
    place : Place
        ``<SHA-256 of its bytes>.parquet``.
    """

    place: Place
    _file: pq.ParquetFile | None = None
    _rows: dict[tuple[str, str], int] = field(default_factory=dict)
    _groups: dict[int, list[dict[str, object]]] = field(default_factory=dict)

    def _opened(self) -> pq.ParquetFile:
        if self._file is None:
            self._file = pq.ParquetFile(self.place.open_table())
            names = self._file.read(columns=["kind", "key"]).to_pydict()
            pairs = zip(names["kind"], names["key"], strict=True)
            self._rows = {pair: row for row, pair in enumerate(pairs)}
        return self._file

    @property
    def name(self) -> str:
        """Return the digest that it is named by."""
        return self.place.name.removesuffix(PACK_SUFFIX)

    def __contains__(self, named: tuple[str, str]) -> bool:
        """Return whether the pack holds the entry of that kind and key."""
        self._opened()
        return named in self._rows

    def find(self, kind: str, key: str) -> Entry | None:
        """Return an entry, proven; None where it is not here or not what it was.

        Raises
        ------
        pyarrow.ArrowException, OSError
            The file cannot be read.
        """
        file = self._opened()
        row = self._rows.get((kind, key))
        if row is None:
            return None
        number, place = divmod(row, _ROW_GROUP)
        if number not in self._groups:
            while len(self._groups) >= _HELD:
                del self._groups[next(iter(self._groups))]
            self._groups[number] = file.read_row_group(number).to_pylist()
        return _entry(self._groups[number][place])

    def entries(self) -> Iterator[Entry | None]:
        """Yield every entry, None for one that is not what it was."""
        file = self._opened()
        for number in range(file.num_row_groups):
            for row in file.read_row_group(number).to_pylist():
                yield _entry(row)

    def entries_that_are_whole(self) -> list[Entry]:
        """Return those of a damaged file that can be read and are what they were."""
        found: list[Entry] = []
        try:
            groups = self._opened().num_row_groups
        except UNREADABLE:
            return found
        for number in range(groups):
            with contextlib.suppress(*UNREADABLE):
                rows = self._opened().read_row_group(number).to_pylist()
                found += [entry for entry in map(_entry, rows) if entry is not None]
        return found

    def is_whole(self) -> bool:
        """Return whether every byte of the file is what it was."""
        return digest_bytes(self.place.read()) == self.name

    def summary(self) -> pl.DataFrame:
        """Return ``kind, made_by, call_id`` and the size of each value, a row an entry."""
        columns = ["kind", "made_by", "call_id", "value"]
        table = pl.from_arrow(self._opened().read(columns=columns))
        assert isinstance(table, pl.DataFrame)
        return table.select("kind", "made_by", "call_id", size=pl.col("value").bin.size())


def write_pack(folder: Place, entries: Sequence[Entry]) -> Place:
    """Write entries as a pack, whole or not at all, and return its place."""
    ordered = sorted(entries, key=lambda entry: (entry.kind, entry.key))
    columns = {name: [getattr(entry, name) for entry in ordered] for name in PACK_SCHEMA.names}
    target = io.BytesIO()
    pq.write_table(
        pa.table(columns, schema=PACK_SCHEMA),
        target,
        row_group_size=_ROW_GROUP,
        compression="zstd",
    )
    data = target.getvalue()
    place = folder.child(f"{digest_bytes(data)}{PACK_SUFFIX}")
    place.write(data)
    return place
