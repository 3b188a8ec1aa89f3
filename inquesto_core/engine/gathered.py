"""The evidence of a run that is being scored: in memory where one partition holds it, else on disk.

A run in several partitions has never more than one of them in memory. Their evidence lies where it
will stay, so that nothing is written twice that does not change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.engine.partitions import WHOLE, place_of_part, split_calls
from inquesto_core.engine.reduction import EXTRACTED, tables_of
from inquesto_core.engine.stored import table_file
from inquesto_core.evidence import TABLES, empty_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inquesto_core.engine.extract import Extracted
    from inquesto_core.engine.run_folder import RunFolder

__all__ = ["Gathered"]


class Gathered:
    """The tables `EXTRACTED` of a run, by partition.

    Parameters
    ----------
    folder : RunFolder
    extracted : sequence of Extracted
        One a call, sorted by call id.
    """

    def __init__(self, folder: RunFolder, extracted: Sequence[Extracted]) -> None:
        self.written: dict[str, str] = {}
        self._folder = folder
        self._held: dict[str, pl.DataFrame] = {}
        by_call = {item.call_id: item for item in extracted}
        split = split_calls(by_call)
        self.parts = tuple(split)
        for part, calls in split.items():
            self.put(part, tables_of(by_call[call_id].rows for call_id in calls))

    @property
    def is_whole(self) -> bool:
        """Return whether one partition holds the run."""
        return self.parts == (WHOLE,)

    def tables(self, part: str, names: Iterable[str] = EXTRACTED) -> dict[str, pl.DataFrame]:
        """Return tables of a partition."""
        if self.is_whole:
            return {name: self._held[name] for name in names}
        return {name: self._read(part, name) for name in names}

    def calls(self) -> Iterable[pl.DataFrame]:
        """Yield the table ``calls`` of each partition."""
        for part in self.parts:
            yield self.tables(part, ("calls",))["calls"]

    def put(self, part: str, tables: dict[str, pl.DataFrame]) -> None:
        """Let these tables stand in the place of those that a partition has."""
        if self.is_whole:
            self._held |= tables
            return
        filled = {name: table for name, table in tables.items() if not table.is_empty()}
        for name in tables.keys() - filled.keys():
            self.written.pop(self._file(part, name), None)
        self.written |= self._folder.write_part(part, filled)

    def _file(self, part: str, name: str) -> str:
        place = place_of_part(self._folder.path, part) / table_file(name)
        return place.relative_to(self._folder.path).as_posix()

    def _read(self, part: str, name: str) -> pl.DataFrame:
        file = self._file(part, name)
        if file not in self.written:
            return empty_table(name)
        return pl.read_parquet(self._folder.path / file, columns=list(TABLES[name]))
