"""How a run is written: each partition for itself, and last what makes it a run."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import shutil
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__, schema
from inquesto_core.canonical import canonical_bytes, digest_bytes, pretty_bytes
from inquesto_core.engine.cpu_class import cpu_class
from inquesto_core.engine.partitions import PARTS_FOLDER, place_of_part
from inquesto_core.engine.stored import (
    DECISIONS_FILE,
    INPUTS_FILE,
    MANIFEST,
    MISSING_FILE,
    POPULATION_FILE,
    table_file,
)
from inquesto_core.errors import Problem, StoreError
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.places import refuse_inside
from inquesto_core.protocol import population_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from inquesto_core.engine.stored import EvidenceUse
    from inquesto_core.protocol import Population, Protocol

__all__ = ["DIFFERENCES_FILE", "About", "RunFolder"]

#: Where the call-by-call difference to the run before lies, in each partition.
DIFFERENCES_FILE = "differences.parquet"

_KEPT = "unfinished"


def _share(place: Path, target: Path) -> None:
    """Let `target` be the file at `place`: both on one disk, else, and of a link, a copy."""
    if not place.is_symlink():
        with contextlib.suppress(OSError):
            os.link(place, target)
            return
    shutil.copyfile(place, target)


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
            Where it holds something else, lies inside a run or bundle, or cannot be written.
        """
        refuse_inside(self.path)
        try:
            ours = (self.path / MANIFEST).is_file() or self.kept.is_dir()
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

    def write_part(
        self,
        part: str,
        tables: Mapping[str, pl.DataFrame],
        *,
        decisions: pl.DataFrame | None = None,
        differences: pl.DataFrame | None = None,
    ) -> dict[str, str]:
        """Write tables of a partition, each whole or not at all; return the SHA-256 of each file.

        Parameters
        ----------
        part : str
            A name of `split_calls`.
        tables : mapping of table to polars.DataFrame
            Evidence tables.
        """
        files = {table_file(name): frame for name, frame in tables.items()}
        if decisions is not None:
            files[DECISIONS_FILE] = decisions
        if differences is not None:
            files[DIFFERENCES_FILE] = differences
        try:
            return {
                name: self._parquet(name, files[name[len(prefix) :]])
                for prefix in (_prefix(part),)
                for name in sorted(prefix + file for file in files)
            }
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc

    def write_inputs(self, inputs: pl.DataFrame) -> dict[str, str]:
        """Write what the run is made of, columns `INPUTS`; return the SHA-256 of the file."""
        try:
            return {INPUTS_FILE: self._parquet(INPUTS_FILE, inputs)}
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc

    def take_over(
        self, part: str, files: Iterable[str], *, run: Path, digests: Mapping[str, str]
    ) -> dict[str, str]:
        """Let a partition have files of another run, as they lie there; return their SHA-256.

        What is written is never written again, so that both can share what is on disk.
        """
        out = {}
        try:
            for file in files:
                name = _prefix(part) + file
                place, known = place_of_part(run, part) / file, digests.get(name)
                if not place.is_file():
                    continue
                temporary = self._temporary(name)
                _share(place, temporary)
                out[name] = self._replace(name, temporary, digest=known)
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc
        return out

    def finish(
        self,
        records: Mapping[str, dict[str, Any]],
        *,
        parts: Mapping[str, str],
        missing: pl.DataFrame | None,
        about: About,
    ) -> None:
        """Write what makes the partitions a run, the manifest last, and drop what was kept.

        Parameters
        ----------
        records : mapping of fingerprint to record
        parts : mapping of file to SHA-256
            What was written of the partitions.
        missing : polars.DataFrame or None
            Decisions on the expected calls that a run in several partitions lacks.
        """
        protocol, population = about.protocol, about.population
        try:
            written = dict(parts)
            if missing is not None:
                written[MISSING_FILE] = self._parquet(MISSING_FILE, missing)
            files = _record_files(records)
            written |= {
                name: self._bytes(name, pretty_bytes(record)) for name, record in files.items()
            }
            document = pretty_bytes(population_document(population))
            written[POPULATION_FILE] = self._bytes(POPULATION_FILE, document)
            manifest = {
                "inputs": {
                    "file": INPUTS_FILE,
                    "rows": about.inputs_n,
                    "call_key": about.call_key.hex(),
                },
                "outputs": [
                    {"file": name, "sha256": digest} for name, digest in sorted(written.items())
                ],
                "models": _models(about.provenance, protocol),
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
                    "evaluated_at": about.evaluated_at,
                },
                "evidence": asdict(about.evidence),
                **({} if about.rescored_from is None else {"rescored_from": about.rescored_from}),
                "platform": {
                    "machine": platform.machine(),
                    "cpu": cpu_class(),
                    "python": platform.python_version(),
                },
                "times": {"written_at": datetime.now(UTC).isoformat(timespec="seconds")},
            }
            self._seal(manifest, written)
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc

    def write_outcome(
        self,
        records: Mapping[str, dict[str, Any]],
        *,
        schema_name: str,
        tables: Mapping[str, pl.DataFrame],
        population: Population,
        manifest: Mapping[str, Any],
    ) -> None:
        """Write a run of a protocol without failure events whole, the manifest last.

        Parameters
        ----------
        records : mapping of fingerprint to record
            Valid under `schema_name`.
        tables : mapping of file to polars.DataFrame
        manifest : mapping
            But for its outputs.
        """
        try:
            written = {name: self._parquet(name, frame) for name, frame in tables.items()}
            for name, record in _record_files(records, schema_name).items():
                written[name] = self._bytes(name, pretty_bytes(record))
            document = pretty_bytes(population_document(population))
            written[POPULATION_FILE] = self._bytes(POPULATION_FILE, document)
            outputs = [{"file": name, "sha256": each} for name, each in sorted(written.items())]
            self._seal({**manifest, "outputs": outputs}, written)
        except OSError as exc:
            raise _unwritable(self.path, exc) from exc

    def _seal(self, manifest: Mapping[str, Any], written: Iterable[str]) -> None:
        schema.validate(manifest, "manifest", file=MANIFEST)
        self._bytes(MANIFEST, pretty_bytes(manifest))
        self._drop_others({*written, MANIFEST})
        shutil.rmtree(self.kept, ignore_errors=True)

    def _drop_others(self, written: set[str]) -> None:
        """Take away what an earlier run, or one that was killed while it wrote, has left."""
        for path in self._ours():
            if path.relative_to(self.path).as_posix() not in written:
                path.unlink(missing_ok=True)
        for folder in self.path.glob(f"{PARTS_FOLDER}/*/"):
            for inner in (folder / "evidence", folder):
                if inner.is_dir() and not any(inner.iterdir()):
                    inner.rmdir()

    def _ours(self) -> Iterator[Path]:
        yield from self.path.rglob("*.tmp")
        for pattern in ("*.parquet", "evidence/*.parquet", "record.json", "records/*.json"):
            yield from self.path.glob(pattern)
        yield from self.path.glob(f"{PARTS_FOLDER}/**/*.parquet")

    def _temporary(self, name: str) -> Path:
        path = self.path / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        temporary.unlink(missing_ok=True)
        return temporary

    def _replace(self, name: str, temporary: Path, *, digest: str | None = None) -> str:
        if digest is None:
            digest = digest_bytes(temporary.read_bytes())
        temporary.chmod(0o600)
        temporary.replace(self.path / name)
        return digest

    def _parquet(self, name: str, frame: pl.DataFrame) -> str:
        temporary = self._temporary(name)
        try:
            frame.write_parquet(temporary)
        except pl.exceptions.PolarsError as exc:
            # Which error of the system it was is not told.
            raise OSError(errno.EIO, f"{name} was cut short, as on a full disk") from exc
        return self._replace(name, temporary)

    def _bytes(self, name: str, data: bytes) -> str:
        temporary = self._temporary(name)
        temporary.write_bytes(data)
        return self._replace(name, temporary)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a run's manifest says of it.

    Parameters
    ----------
    provenance : dict
        As in the records.
    inputs_n : int
        Rows of ``inputs.parquet``.
    call_key : bytes
        Key of the hashes that stand for call ids in the records.
    evaluated_at : str or None
        As it was given.
    rescored_from : dict, optional
        The run whose evidence this is.
    """

    protocol: Protocol
    population: Population
    evidence: EvidenceUse
    provenance: dict[str, Any]
    inputs_n: int
    call_key: bytes
    evaluated_at: str | None
    rescored_from: dict[str, Any] | None = None


def _prefix(part: str) -> str:
    return f"{PARTS_FOLDER}/{part}/" if part else ""


def _models(provenance: dict[str, Any], protocol: Protocol) -> list[dict[str, Any]]:
    """Return what listened, what heard words and what judged, each with its digest."""
    out = []
    if "vad" in provenance:
        out.append({"name": protocol.instruments.vad.name, **provenance["vad"]})
    if "asr" in provenance:
        asr = provenance["asr"]
        out.append({"name": asr["model"], "sha256": asr["sha256"], "runtime": asr["library"]})
    if "judge" in provenance:
        judge = provenance["judge"]
        out.append({"name": judge["model"], "sha256": judge["sha256"], "runtime": judge["library"]})
    return out


def _record_files(
    records: Mapping[str, dict[str, Any]], schema_name: str = "record"
) -> dict[str, dict[str, Any]]:
    for record in records.values():
        schema.validate(record, schema_name, file="record.json")
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
