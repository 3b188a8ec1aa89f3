"""The run folder: how a run is written, and read back."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__, schema
from inquesto_core.canonical import canonical_bytes, digest_bytes, pretty_bytes
from inquesto_core.errors import Problem, StoreError
from inquesto_core.evidence import TABLES
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.protocol import (
    asking_of,
    hearing_of,
    load_population,
    measurement_digest,
    population_document,
)
from inquesto_core.score import JudgeUse, TranscriberUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inquesto_core.engine.reduction import RunResult
    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "INPUTS",
    "EvidenceUse",
    "RunFolder",
    "StoredRun",
    "evidence_use",
    "load_run",
    "stored_use",
    "table_file",
]

_KEPT = "unfinished"
_MANIFEST = "manifest.json"
_POPULATION = "population.json"
_APART = {"events": "events.parquet"}
_INPUTS = "inputs.parquet"

#: Columns of ``inputs.parquet``: a row a file of a bundle.
INPUTS = {"call": pl.String, "file": pl.String, "sha256": pl.String}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run as it lies on disk.

    Parameters
    ----------
    population : Population or None
        What its calls were asked to be; None = written by a version that did not keep it.
    inputs : polars.DataFrame
        Columns `INPUTS`: what the run was made of.
    """

    records: dict[str, dict[str, Any]]
    decisions: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    manifest: dict[str, Any]
    population: Population | None = None
    inputs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=INPUTS))


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


class RunFolder:
    """A folder that a run is written into; only its owner can read it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def kept(self) -> Path:
        """Return the evidence store of a run that has none to keep: gone when it is written."""
        return self.path / _KEPT

    def open(self) -> None:
        """Make the folder, or take up one that an earlier run began.

        Raises
        ------
        StoreError
            Where it holds something else, or cannot be written.
        """
        try:
            ours = (self.path / _MANIFEST).is_file() or self.kept.is_dir()
            if self.path.is_dir() and any(self.path.iterdir()) and not ours:
                raise StoreError(
                    Problem(
                        code="out_not_empty",
                        found=f"{self.path.name} holds other files",
                        expected="a new or empty folder, or an earlier run",
                        remedy="name another folder with --out",
                    )
                )
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
            EvidenceStore.open(self.kept)
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc

    def write(
        self,
        result: RunResult,
        *,
        inputs: pl.DataFrame,
        provenance: dict[str, Any],
        protocol: Protocol,
        population: Population,
        evidence: EvidenceUse,
        evaluated_at: str | None,
        rescored_from: dict[str, Any] | None = None,
        beside: Mapping[str, pl.DataFrame] | None = None,
        taken_over: Mapping[str, Path] | None = None,
    ) -> None:
        """Write every file whole or not at all, the record last, and drop what was kept.

        Parameters
        ----------
        inputs : polars.DataFrame
            Columns `INPUTS`.
        evaluated_at : str or None
            As it was given.
        rescored_from : dict, optional
            The run whose evidence this is.
        beside : mapping of file name to polars.DataFrame, optional
            Further tables.
        taken_over : mapping of table to Path, optional
            Evidence tables that are another run's, as they lie there.
        """
        try:
            (self.path / "evidence").mkdir(mode=0o700, exist_ok=True)
            kept = {table_file(name): place for name, place in (taken_over or {}).items()}
            files = {
                "calls.parquet": result.decisions,
                _INPUTS: inputs,
                **{table_file(name): frame for name, frame in result.tables.items()},
                **(beside or {}),
            }
            written = {
                name: self._bytes(name, kept[name].read_bytes())
                if name in kept
                else self._parquet(name, files[name])
                for name in sorted({*files, *kept})
            }
            records = _record_files(result.records)
            written |= {
                name: self._bytes(name, pretty_bytes(record)) for name, record in records.items()
            }
            document = pretty_bytes(population_document(population))
            written[_POPULATION] = self._bytes(_POPULATION, document)
            manifest = {
                "inputs": {"file": _INPUTS, "rows": inputs.height},
                "outputs": [{"file": name, "sha256": digest} for name, digest in written.items()],
                "models": _models(provenance, protocol),
                "protocol": {
                    "name": protocol.name,
                    "digest": protocol.digest,
                    "status": protocol.status,
                },
                "population": {"name": population.name, "digest": population.digest},
                "engine": {"version": __version__},
                "parameters": {
                    "protocol": protocol.name,
                    "population": population.name,
                    "evaluated_at": evaluated_at,
                },
                "evidence": asdict(evidence),
                **({} if rescored_from is None else {"rescored_from": rescored_from}),
                "platform": {"machine": platform.machine(), "python": platform.python_version()},
                "times": {"written_at": datetime.now(UTC).isoformat(timespec="seconds")},
            }
            schema.validate(manifest, "manifest", file=_MANIFEST)
            self._bytes(_MANIFEST, pretty_bytes(manifest))
            shutil.rmtree(self.kept, ignore_errors=True)
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc

    def _replace(self, name: str, temporary: Path) -> str:
        temporary.chmod(0o600)
        digest = digest_bytes(temporary.read_bytes())
        temporary.replace(self.path / name)
        return digest

    def _parquet(self, name: str, frame: pl.DataFrame) -> str:
        temporary = self.path / f"{name}.{os.getpid()}.tmp"
        frame.write_parquet(temporary)
        return self._replace(name, temporary)

    def _bytes(self, name: str, data: bytes) -> str:
        path = self.path / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        temporary.write_bytes(data)
        return self._replace(name, temporary)


def _models(provenance: dict[str, Any], protocol: Protocol) -> list[dict[str, Any]]:
    """Return what listened, what heard words and what judged, each with its digest."""
    out = [{"name": protocol.instruments.vad.name, **provenance["vad"]}]
    if "asr" in provenance:
        asr = provenance["asr"]
        out.append({"name": asr["model"], "sha256": asr["sha256"], "runtime": asr["library"]})
    if "judge" in provenance:
        judge = provenance["judge"]
        out.append({"name": judge["model"], "sha256": judge["sha256"], "runtime": judge["library"]})
    return out


def _record_files(records: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    for record in records.values():
        schema.validate(record, "record", file="record.json")
    if len(records) == 1:
        return {"record.json": next(iter(records.values()))}
    return {f"records/{_short(name)}.json": record for name, record in records.items()}


def _short(fingerprint: str) -> str:
    """Return 16 hex digits for a fingerprint; whatever it is, it never becomes a path itself."""
    tail = fingerprint.removeprefix("sha256:")[:16]
    is_hex = len(tail) == 16 and all(letter in "0123456789abcdef" for letter in tail)
    return tail if is_hex else digest_bytes(canonical_bytes(fingerprint))[:16]


def _unwritable(path: Path, exc: OSError) -> StoreError:
    return StoreError(
        Problem(
            code="run_unwritable",
            found=f"{path.name} cannot be written: {exc.strerror}",
            expected="a writable folder with room",
            remedy="free space or name another folder with --out; nothing measured is lost",
        )
    )


def table_file(name: str) -> str:
    """Return where an evidence table lies in a run folder."""
    return _APART.get(name, f"evidence/{name}.parquet")


def load_run(path: str | Path, *, tables: Iterable[str] = TABLES) -> StoredRun:
    """Return a run that was written before.

    Parameters
    ----------
    tables : iterable of str
        The evidence tables that are read.

    Raises
    ------
    StoreError
        Where the folder is no finished run.
    """
    folder = Path(path)
    manifest_file = folder / _MANIFEST
    if not manifest_file.is_file():
        raise StoreError(
            Problem(
                code="not_a_run",
                found=f"{folder.name} has no {_MANIFEST}",
                expected="a folder that `score --out` wrote",
                remedy="run `inquesto-core score` first, or again: it goes on where it stopped",
            )
        )
    manifest = schema.load(manifest_file.read_bytes(), "manifest", file=_MANIFEST)
    files = [folder / "record.json", *sorted((folder / "records").glob("*.json"))]
    records = [
        schema.load(file.read_bytes(), "record", file=file.name) for file in files if file.is_file()
    ]
    try:
        read = {name: pl.read_parquet(folder / table_file(name)) for name in tables}
        inputs = pl.read_parquet(folder / _INPUTS)
        decisions = pl.read_parquet(folder / "calls.parquet")
    except (OSError, pl.exceptions.PolarsError) as exc:
        raise StoreError(
            Problem(
                code="run_damaged",
                found=f"a table of {folder.name} cannot be read: {type(exc).__name__}",
                expected="the tables that the run wrote",
                remedy="score the bundles again",
            )
        ) from exc
    return StoredRun(
        records={str(record["agent_fingerprint"]): record for record in records},
        decisions=decisions,
        tables=read,
        manifest=manifest,
        inputs=inputs,
        population=_stored_population(folder / _POPULATION, manifest),
    )


def _stored_population(file: Path, manifest: dict[str, Any]) -> Population | None:
    if not file.is_file():
        return None
    population = load_population(file)
    scored_with = (manifest.get("population") or {}).get("digest", "")
    if population.digest != scored_with.removeprefix("sha256:"):
        raise StoreError(
            Problem(
                code="run_damaged",
                found=f"{_POPULATION} is not the population that the run was scored with",
                expected="the file that the run wrote",
                remedy="score the bundles again",
            )
        )
    return population
