"""What a statement says of a run: its files, bundles, protocol and models, each by its digest."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.attest import Statement, Subject
from inquesto_core.canonical import strict_json
from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.stored import MANIFEST, POPULATION_FILE
from inquesto_core.errors import Problem, StoreError
from inquesto_core.protocol.layers import file_names
from inquesto_core.score.record import HASH_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Protocol

__all__ = [
    "LISTED_FILES",
    "SEAL_FILE",
    "bundle_subjects",
    "call_hash",
    "digest_of",
    "plain_digest",
    "protocol_subjects",
    "record_files",
    "run_files",
    "statement_of_run",
]

#: Where the envelope lies in a run folder.
SEAL_FILE = "seal.dsse.json"
#: Runs of more files of bundles name the table of them instead.
LISTED_FILES = 10_000

_BUNDLE_PARTS = frozenset(
    f"{name}.json"
    for name in ("call", "trace", "transcript", "state", "timing", "measured", "verdicts")
)
#: What the engine reads in a run folder, or another could take for its.
_READ = ("*.parquet", "evidence/*.parquet", "parts/**/*.parquet", "record.json", "records/*.json")


def statement_of_run(stored: StoredRun, law: Protocol) -> Statement:
    """Return the statement about a run, the same whoever asks.

    Parameters
    ----------
    stored : StoredRun
        An opened run whose files are those that its manifest tells.
    law : Protocol
        The one that it was scored with.

    Raises
    ------
    StoreError
        ``run_damaged``.
    """
    manifest, inputs = stored.manifest, stored.inputs
    listed = inputs.height <= LISTED_FILES
    subjects = [
        *(Subject(name=f"run/{file}", sha256=sha) for file, sha in stored.outputs.items()),
        Subject(name=f"run/{MANIFEST}", sha256=digest_of(stored.folder / MANIFEST)),
        *protocol_subjects(law),
        *_model_subjects(manifest),
        *(bundle_subjects(inputs, call_name_key(inputs)) if listed else ()),
    ]
    about = {
        "protocol": _plain(manifest["protocol"], ("name", "digest", "status")),
        "population": _plain(manifest["population"], ("name", "digest")),
        "engine": {"version": manifest["engine"]["version"]},
        "evidence": manifest.get("evidence"),
        "inputs": {
            "calls": inputs["call"].n_unique(),
            "files": inputs.height,
            "listed": listed,
        },
    }
    records = {file: stored.records[name] for file, name in record_files(stored).items()}
    return Statement(subjects=tuple(sorted(subjects)), records=records, about=about)


def record_files(stored: StoredRun) -> dict[str, str]:
    """Return file to agent fingerprint of a run's records."""
    files = [stored.folder / "record.json", *sorted((stored.folder / "records").glob("*.json"))]
    return {
        file.relative_to(stored.folder).as_posix(): str(
            strict_json(file.read_bytes(), file=file.name)["agent_fingerprint"]
        )
        for file in files
        if file.is_file()
    }


def run_files(folder: Path) -> set[str]:
    """Return the files of a run folder that are read as part of it, but its manifest."""
    found = {path for pattern in _READ for path in folder.glob(pattern) if path.is_file()}
    names = {path.relative_to(folder).as_posix() for path in found}
    return names | ({POPULATION_FILE} if (folder / POPULATION_FILE).is_file() else set())


def protocol_subjects(law: Protocol) -> Iterator[Subject]:
    """Yield each file that a protocol consists of, the rubric's too, by its bytes."""
    for at, folder in enumerate(law.folders):
        name = law.name if at == 0 else folder.name
        for file, path in file_names(folder).items():
            yield Subject(name=f"protocol/{name}/{file}", sha256=digest_of(path))


def _model_subjects(manifest: Mapping[str, Any]) -> Iterator[Subject]:
    for model in manifest.get("models") or ():
        if model.get("sha256"):
            yield Subject(name=f"model/{model['name']}", sha256=plain_digest(model["sha256"]))


def bundle_subjects(inputs: pl.DataFrame, key: bytes) -> Iterator[Subject]:
    """Yield each file of each bundle under the hash of its call's id.

    A recording's name may be a number that was called: recordings are counted instead, by name.

    Parameters
    ----------
    inputs : polars.DataFrame
        Columns call, file, sha256.
    key : bytes
        `call_name_key` of these.
    """
    for (call_id,), rows in inputs.sort("call", "file").group_by("call", maintain_order=True):
        name, recordings = call_hash(str(call_id), key), 0
        for file, sha256 in rows.select("file", "sha256").iter_rows():
            shown = file
            if file not in _BUNDLE_PARTS:
                recordings += 1
                shown = f"recording-{recordings}"
            yield Subject(name=f"bundle/{name}/{shown}", sha256=sha256)


def call_hash(call_id: str, key: bytes) -> str:
    """Return what stands for a call's id, in a record's ``accounting`` too."""
    return hmac.new(key, call_id.encode(), "sha256").hexdigest()[:HASH_CHARACTERS]


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, read now and whole.

    Raises
    ------
    StoreError
        ``run_damaged``: it cannot be read.
    """
    try:
        with path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError as exc:
        raise StoreError(
            Problem(
                code="run_damaged",
                file=path.name,
                found=f"cannot be read: {exc.strerror}",
                expected="the file that was written",
            )
        ) from exc


def plain_digest(digest: str) -> str:
    """Return a digest without the name of its kind before it."""
    return digest.removeprefix("sha256:")


def _plain(told: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {**{key: told[key] for key in keys}, "digest": plain_digest(told["digest"])}
