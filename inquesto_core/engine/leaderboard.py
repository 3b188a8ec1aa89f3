"""Records gathered from wherever they lie: files, run folders, archives, folders of any of them."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.bundle.archives import is_archive, unpack
from inquesto_core.canonical import canonical_bytes
from inquesto_core.compare.leaderboard import Entry, Leaderboard, build_leaderboard
from inquesto_core.engine.call_outcomes import told_costs
from inquesto_core.engine.stored import MANIFEST, open_run
from inquesto_core.errors import InquestoError, Problem, StoreError
from inquesto_core.places import read_file_bytes
from inquesto_core.schema import load
from inquesto_core.score.completion import cost_of_pass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.score.completion import CostOfPass

__all__ = ["MAX_DEPTH", "leaderboard"]

#: Folders are searched this deep below what is named.
MAX_DEPTH = 8

_Costs = dict[str, tuple["Decimal", str | None]]


def leaderboard(
    sources: Sequence[str | Path],
    *,
    costs: str | Path | None = None,
    bundles: Sequence[str | Path] = (),
) -> Leaderboard:
    """Return the records in any number of places as one table.

    Parameters
    ----------
    sources : sequence of path
        Files of records, run folders, ``.zip``/``.tar``/``.tar.gz``/``.tgz`` of either, folders of
        any of these. One record that is reached twice stands once.
    costs : path, optional
        Rows ``call_id``, ``cost``, ``currency``: what the calls of the runs cost.
    bundles : sequence of path
        The runs' bundles, whose tags tell the cost; a file of costs goes before them.

    Raises
    ------
    IncomparableError
        ``no_records``, ``records_differ``.
    InquestoError
        What is named itself is no record, run or archive. What a folder holds besides records is
        passed over and stands in the notes.
    """
    gathered = _Gathered(costs=told_costs(costs, bundles))
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        for source in map(Path, sources):
            gathered.add(source, source.name, Path(scratch))
    return build_leaderboard(list(gathered.entries.values()), notes=gathered.notes)


@dataclass(slots=True)
class _Gathered:
    """Records as they are found, by what they say."""

    costs: _Costs
    entries: dict[str, Entry] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _unpacked: int = 0

    def add(self, path: Path, name: str, scratch: Path, depth: int = 0) -> None:
        if path.is_dir():
            self._add_folder(path, name, scratch, depth)
        elif is_archive(path.name):
            self._unpacked += 1
            into = scratch / str(self._unpacked)
            unpack(path, into)
            self._add_folder(into, name, scratch, depth)
        else:
            self._keep(load(_bytes(path), "record", file=path.name), name, ())

    def _add_folder(self, folder: Path, name: str, scratch: Path, depth: int) -> None:
        if (folder / MANIFEST).is_file():
            stored = open_run(folder)
            for record in stored.records.values():
                self._keep(record, name, _costs_of(stored, record, self.costs))
            return
        for child in sorted(folder.iterdir()):
            shown = f"{name}/{child.name}"
            is_wanted = child.is_dir() or child.suffix == ".json" or is_archive(child.name)
            if child.is_symlink() or not is_wanted:
                continue
            if depth >= MAX_DEPTH:
                self.notes.append(f"{shown} lies deeper than {MAX_DEPTH} folders and was not read")
                continue
            try:
                self.add(child, shown, scratch, depth + 1)
            except InquestoError as exc:
                self.notes.append(f"{shown} was passed over: {exc}")

    def _keep(self, record: dict[str, Any], name: str, costs: tuple[CostOfPass, ...]) -> None:
        key = hashlib.sha256(canonical_bytes(record)).hexdigest()
        if key not in self.entries or costs:
            self.entries[key] = Entry(source=name, record=record, costs=costs)


def _bytes(path: Path) -> bytes:
    try:
        return read_file_bytes(path)
    except OSError as exc:
        raise StoreError(
            Problem(
                code="not_readable",
                found=f"{path.name} cannot be read: {exc.strerror}",
                expected="a readable file",
            )
        ) from exc


def _costs_of(
    stored: StoredRun, record: Mapping[str, Any], costs: _Costs
) -> tuple[CostOfPass, ...]:
    """Return what an agent's calls in n cost, by currency."""
    if not costs:
        return ()
    wanted = ["call_id", "agent_fingerprint", "passed"]
    decisions = pl.concat(stored.part_decisions(part, wanted) for part in stored.parts)
    own = pl.col("agent_fingerprint").eq_missing(pl.lit(record["agent_fingerprint"]))
    return cost_of_pass(decisions.filter(own), costs)
