"""The run folder, read back: whole, a partition, or the partition of one call."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import schema
from inquesto_core.canonical import digest_bytes
from inquesto_core.engine.partitions import WHOLE, part_of_call, parts_of, place_of_part
from inquesto_core.engine.reduction import EXTRACTED
from inquesto_core.engine.run_tables import not_as_written, read_table, run_damaged
from inquesto_core.errors import Problem, StoreError
from inquesto_core.evidence import TABLES, empty_table
from inquesto_core.protocol import (
    asking_of,
    hearing_of,
    load_population,
    measurement_digest,
)
from inquesto_core.score import JudgeUse, TranscriberUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "DECISIONS_FILE",
    "INPUTS",
    "INPUTS_FILE",
    "MANIFEST",
    "MISSING_FILE",
    "POPULATION_FILE",
    "EvidenceUse",
    "StoredRun",
    "evidence_use",
    "load_run",
    "open_run",
    "runs_in",
    "stored_use",
    "table_file",
]

MANIFEST = "manifest.json"
POPULATION_FILE = "population.json"
INPUTS_FILE = "inputs.parquet"
DECISIONS_FILE = "calls.parquet"
#: Of a run in several partitions: the expected calls that none of them has.
MISSING_FILE = "missing_calls.parquet"

_APART = {"events": "events.parquet"}

#: Columns of ``inputs.parquet``: a row a file of a bundle.
INPUTS = {"call": pl.String, "file": pl.String, "sha256": pl.String}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run as it lies on disk.

    Parameters
    ----------
    folder : Path
    records : dict of fingerprint to record
    parts : tuple of str
        Its partitions.
    outputs : dict of str to str
        The SHA-256 of each file that the run wrote, as its manifest tells it.
    population : Population or None
        What its calls were asked to be; None = written by a version that did not keep it.
    decisions, tables
        Of all partitions, or of what was asked for; empty where the run was only opened.
    as_it_lies : bool
        Its tables are read whatever the manifest says of them.
    """

    folder: Path
    records: dict[str, dict[str, Any]]
    manifest: dict[str, Any]
    parts: tuple[str, ...]
    outputs: dict[str, str] = field(default_factory=dict)
    population: Population | None = None
    decisions: pl.DataFrame = field(default_factory=pl.DataFrame)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    as_it_lies: bool = False

    @property
    def inputs(self) -> pl.DataFrame:
        """Return what the run was made of: columns `INPUTS`."""
        return self._read(INPUTS_FILE)

    @property
    def call_key(self) -> bytes | None:
        """Return the key of the hashes that stand for call ids in the records, if it was kept."""
        key = self.manifest["inputs"].get("call_key")
        return None if key is None else bytes.fromhex(key)

    def has_table(self, name: str) -> bool:
        """Return whether an evidence table was written; partitions keep none that is empty."""
        file = table_file(name)
        return file in self.outputs or any(each.endswith(f"/{file}") for each in self.outputs)

    def part(self, part: str, columns: Mapping[str, Sequence[str]]) -> dict[str, pl.DataFrame]:
        """Return these columns of the evidence tables of a partition.

        Raises
        ------
        StoreError
            ``run_damaged``: a table is not there, or not the one that was written. One that never
            was written, as by an older version, is empty.
        """
        tables = {}
        for name, wanted in columns.items():
            place = place_of_part(self.folder, part)
            file = (place / table_file(name)).relative_to(self.folder).as_posix()
            if self.outputs and file not in self.outputs:
                tables[name] = empty_table(name).select(wanted)
            else:
                tables[name] = self._read(file, wanted)
        return tables

    def part_decisions(self, part: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the decision table of a partition, or these columns of it."""
        file = place_of_part(self.folder, part) / DECISIONS_FILE
        return self._read(file.relative_to(self.folder).as_posix(), columns)

    def missing_decisions(self) -> pl.DataFrame | None:
        """Return the expected calls that no partition has; None where the only one has them."""
        if not (self.folder / MISSING_FILE).is_file():
            return None
        return self._read(MISSING_FILE)

    def _read(self, file: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        outputs = {} if self.as_it_lies else self.outputs
        return read_table(self.folder, file, outputs, columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceUse:
    """What the evidence of a run was taken with, so that another protocol can read it.

    Parameters
    ----------
    measurement, asked_with, heard_with : str
        `measurement_digest`, `asking_of` and `hearing_of` of the protocol.
    judge, transcriber
        Who answered, and who heard.
    """

    measurement: str
    asked_with: str
    heard_with: str
    judge: JudgeUse
    transcriber: TranscriberUse


def evidence_use(protocol: Protocol, judge: JudgeUse, transcriber: TranscriberUse) -> EvidenceUse:
    """Return what evidence is taken with under a protocol."""
    return EvidenceUse(
        measurement=measurement_digest(protocol),
        asked_with=asking_of(protocol),
        heard_with=hearing_of(protocol),
        judge=judge,
        transcriber=transcriber,
    )


def stored_use(stored: StoredRun) -> EvidenceUse:
    """Return what the evidence of a stored run was taken with.

    Raises
    ------
    StoreError
        ``run_without_evidence_use``: written by a version that did not keep it.
    """
    kept = stored.manifest.get("evidence")
    if kept is None:
        raise StoreError(
            Problem(
                code="run_without_evidence_use",
                found="manifest.json does not say what the evidence was taken with",
                expected="a run that this version wrote",
                remedy="score the bundles again",
            )
        )
    given = {**kept, "judge": JudgeUse(**kept["judge"])}
    return EvidenceUse(**{**given, "transcriber": TranscriberUse(**kept["transcriber"])})


def table_file(name: str) -> str:
    """Return where an evidence table lies in a run folder, or in a partition's."""
    return _APART.get(name, f"evidence/{name}.parquet")


def runs_in(path: str | Path) -> dict[str, Path]:
    """Return the runs of a folder of runs by name; anything else is the only one, named ``""``.

    Whether it is a run is for `open_run` to say.
    """
    folder = Path(path)
    if (folder / MANIFEST).is_file() or not folder.is_dir():
        return {"": folder}
    held = {each.name: each for each in sorted(folder.iterdir()) if (each / MANIFEST).is_file()}
    return held or {"": folder}


def open_run(path: str | Path, *, as_it_lies: bool = False) -> StoredRun:
    """Return a run that was written before, without any of its tables.

    Parameters
    ----------
    as_it_lies : bool
        Take records that are not those that the run wrote, for whoever tells what is changed.

    Raises
    ------
    StoreError
        ``not_a_run``, ``run_method``: the folder is no finished run, or one of another method.
        ``run_damaged``: a record or the population is not the file that the run wrote.
    """
    folder = Path(path)
    manifest_file = folder / MANIFEST
    if not manifest_file.is_file():
        raise StoreError(
            Problem(
                code="not_a_run",
                found=f"{folder.name} has no {MANIFEST}",
                expected="a folder that `score --out` wrote",
                remedy="run `inquesto-core score` first, or again: it goes on where it stopped",
            )
        )
    manifest = schema.load(manifest_file.read_bytes(), "manifest", file=MANIFEST)
    if "method" in manifest:
        raise StoreError(
            Problem(
                code="run_method",
                found=f"{folder.name} was scored by {manifest['method']}, not by failure events",
                expected="a run of a protocol such as inquesto-0.1",
                remedy="`inquesto-core explain` reads it; record.json and its tables are complete",
            )
        )
    files = [folder / "record.json", *sorted((folder / "records").glob("*.json"))]
    records = [
        schema.load(file.read_bytes(), "record", file=file.name) for file in files if file.is_file()
    ]
    outputs = {each["file"]: each["sha256"] for each in manifest.get("outputs", ())}
    if not as_it_lies:
        _refuse_edited(files, folder, outputs)
        if not records:
            raise run_damaged(f"{folder.name} has no record", "record.json, or one in records/")
    return StoredRun(
        folder=folder,
        records={str(record["agent_fingerprint"]): record for record in records},
        manifest=manifest,
        parts=tuple(parts_of(folder)),
        outputs=outputs,
        population=_stored_population(folder / POPULATION_FILE, manifest),
        as_it_lies=as_it_lies,
    )


def _refuse_edited(files: Sequence[Path], folder: Path, outputs: Mapping[str, str]) -> None:
    for file in files:
        name = file.relative_to(folder).as_posix()
        if file.is_file() and name in outputs and digest_bytes(file.read_bytes()) != outputs[name]:
            raise not_as_written(folder, name)


def load_run(
    path: str | Path, *, tables: Iterable[str] | None = None, call_id: str | None = None
) -> StoredRun:
    """Return a run that was written before, with its tables.

    Parameters
    ----------
    tables : iterable of str, optional
        The evidence tables that are read; default: all that the run has. One that was extracted
        and has no row is empty; a run in several partitions keeps none of what the reduction makes
        but the events.
    call_id : str, optional
        Only the partition that would hold this call.

    Raises
    ------
    StoreError
        Where the folder is no finished run.
    """
    stored = open_run(path)
    parts = [part_of_call(stored.folder, call_id)] if call_id is not None else stored.parts
    _refuse_unnamed(stored)
    kept = [name for name in TABLES if name in EXTRACTED or stored.has_table(name)]
    names = kept if tables is None else tables
    columns = {name: tuple(TABLES[name]) for name in names}
    held = [stored.part(part, columns) for part in parts]
    decisions = [stored.part_decisions(part) for part in parts]
    if (missing := stored.missing_decisions()) is not None:
        decisions.append(missing)
    return replace(
        stored,
        decisions=pl.concat(decisions),
        tables={name: pl.concat([each[name] for each in held]) for name in columns},
    )


def _refuse_unnamed(stored: StoredRun) -> None:
    """Raise where a table lies in a run of one partition that its manifest does not name."""
    if stored.parts != (WHOLE,) or not stored.outputs:
        return
    for name in TABLES:
        file = table_file(name)
        if file not in stored.outputs and (stored.folder / file).is_file():
            raise run_damaged(f"{MANIFEST} does not name {file}, which lies there", "its SHA-256")


def _stored_population(file: Path, manifest: dict[str, Any]) -> Population | None:
    if not file.is_file():
        return None
    population = load_population(file)
    scored_with = (manifest.get("population") or {}).get("digest", "")
    if population.digest != scored_with.removeprefix("sha256:"):
        found = f"{POPULATION_FILE} is not the population that the run was scored with"
        raise run_damaged(found, "the file that the run wrote")
    return population
