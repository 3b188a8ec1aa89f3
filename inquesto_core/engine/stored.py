"""The run folder: how a run is written, and read back."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__, schema
from inquesto_core.canonical import canonical_bytes, digest_bytes, pretty_bytes
from inquesto_core.errors import Problem, StoreError
from inquesto_core.evidence import TABLES

if TYPE_CHECKING:
    from inquesto_core.engine.run import RunResult
    from inquesto_core.protocol import Population, Protocol

__all__ = ["RunFolder", "StoredRun", "load_run"]

_KEPT = "unfinished"
_MANIFEST = "manifest.json"
_APART = {"events": "events.parquet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run as it lies on disk."""

    records: dict[str, dict[str, Any]]
    decisions: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    manifest: dict[str, Any]


class RunFolder:
    """A folder that a run is written into; only its owner can read it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def kept(self) -> Path:
        """Return where measured calls wait until the run is written."""
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
            self.kept.mkdir(mode=0o700, exist_ok=True)
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc

    def write(
        self,
        result: RunResult,
        *,
        inputs: list[dict[str, Any]],
        provenance: dict[str, Any],
        protocol: Protocol,
        population: Population,
    ) -> None:
        """Write every file whole or not at all, the record last, and drop what was kept."""
        try:
            (self.path / "evidence").mkdir(mode=0o700, exist_ok=True)
            files = {
                "calls.parquet": result.decisions,
                **{
                    _APART.get(name, f"evidence/{name}.parquet"): frame
                    for name, frame in result.tables.items()
                },
            }
            written = {name: self._parquet(name, frame) for name, frame in sorted(files.items())}
            records = _record_files(result.records)
            written |= {
                name: self._bytes(name, pretty_bytes(record)) for name, record in records.items()
            }
            manifest = {
                "inputs": inputs,
                "outputs": [{"file": name, "sha256": digest} for name, digest in written.items()],
                "models": _models(provenance, protocol),
                "protocol": {
                    "name": protocol.name,
                    "digest": protocol.digest,
                    "status": protocol.status,
                },
                "population": {"name": population.name, "digest": population.digest},
                "engine": {"version": __version__},
                "parameters": {"protocol": protocol.name, "population": population.name},
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
    """Return what listened and what judged, each with its digest."""
    out = [{"name": protocol.instruments.vad.name, **provenance["vad"]}]
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


def load_run(path: str | Path) -> StoredRun:
    """Return a run that was written before.

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
        tables = {
            name: pl.read_parquet(folder / _APART.get(name, f"evidence/{name}.parquet"))
            for name in TABLES
        }
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
        tables=tables,
        manifest=manifest,
    )
