"""Whether the files of a run, its protocol and its models are those that were sealed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.attest import Check
from inquesto_core.attest.check import outcome_of
from inquesto_core.attest.difference import differing_pointers
from inquesto_core.canonical import strict_json
from inquesto_core.engine.attest import SEAL_FILE, digest_of, plain_digest, run_files
from inquesto_core.engine.run_protocol import protocol_of_run
from inquesto_core.engine.stored import MANIFEST
from inquesto_core.errors import InquestoError, InstrumentError, ProtocolError
from inquesto_core.instruments.model_files import find_model_file
from inquesto_core.instruments.vad import find_model
from inquesto_core.protocol.layers import file_names
from inquesto_core.shipped import protocols_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inquesto_core.attest import Statement
    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.instruments.model_files import FilePin
    from inquesto_core.protocol import Protocol

__all__ = [
    "FilesFound",
    "check_files",
    "check_models",
    "check_protocol",
    "check_records",
    "stored_models",
]

_SHOWN_POINTERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesFound:
    """What became of a run's files.

    Parameters
    ----------
    check : Check
    changed : frozenset of str
        Files that are not what was written, or are not there.
    """

    check: Check
    changed: frozenset[str] = field(default_factory=frozenset)


def check_files(folder: Path, told: Mapping[str, str], *, is_sealed: bool) -> FilesFound:
    """Return whether each file of a run is the one that was sealed.

    Parameters
    ----------
    told : mapping of file to SHA-256
        As the statement tells, or without one the manifest.
    """
    faults, changed = [], set()
    for file, sha256 in sorted(told.items()):
        path = folder / file
        if not _stays_inside(file) or path.is_symlink() or not path.is_file():
            faults.append(f"{file}: is not there")
            changed.add(file)
        elif digest_of(path) != sha256:
            faults.append(
                f"{file}: is not the file that was {'sealed' if is_sealed else 'written'}"
            )
            changed.add(file)
    extra = run_files(folder) - told.keys()
    faults += [f"{file}: lies in the run and was never part of it" for file in sorted(extra)]
    by = SEAL_FILE if is_sealed else MANIFEST
    says = f"{len(told) - len(changed)} of {len(told)} files have the SHA-256 that {by} tells"
    return FilesFound(check=outcome_of("files", says, faults), changed=frozenset(changed))


def _stays_inside(file: str) -> bool:
    return not Path(file).is_absolute() and ".." not in Path(file).parts


def check_records(folder: Path, statement: Statement | None, changed: frozenset[str]) -> Check:
    """Return whether the records in the statement are those in the run folder."""
    if statement is None:
        return Check(name="records", outcome="not_checked", says="no statement holds them")
    faults, compared = [], 0
    for file, record in sorted(statement.records.items()):
        if file in changed:
            continue
        path = folder / file
        if not path.is_file():
            faults.append(f"{file}: is in the statement and not in the run")
            continue
        compared += 1
        found = list(differing_pointers(strict_json(path.read_bytes(), file=file), record))
        if found:
            shown = ", ".join(found[:_SHOWN_POINTERS])
            faults.append(f"{file}: the statement says otherwise at {shown}")
    says = f"{compared} of {len(statement.records)} records are those in {SEAL_FILE}"
    return outcome_of("records", says, faults, looked=compared > 0)


def check_protocol(
    stored: StoredRun | None, statement: Statement | None, given: str | Path | None
) -> tuple[Check, Protocol | None]:
    """Return whether the protocol at hand is the one that scored the run, and it."""
    told = {} if statement is None else statement.under("protocol")
    faults = list(_changed_files(told, statement, given))
    law, gaps = None, []
    if stored is None:
        gaps.append("its digest: the run cannot be opened")
    else:
        try:
            law = protocol_of_run(stored, given)
        except (ProtocolError, InquestoError) as exc:
            if given is None and exc.problem.code == "run_protocol_unknown":
                gaps.append(str(exc))
            elif not faults:
                faults.append(f"protocol: {exc}")
    if law is None:
        says = "the protocol that scored the run is not at hand, or is another"
    elif law.status == "released":
        says = f"{law.name} has the digest of its release, as RELEASED lists it"
    else:
        says = f"{law.name} has the digest that scored the run; it is a {law.status}, not released"
    return outcome_of("protocol", says, faults, gaps, looked=law is not None), law


def _changed_files(
    told: Mapping[str, str], statement: Statement | None, given: str | Path | None
) -> Iterator[str]:
    """Yield a line a file of the protocol that is not what was sealed."""
    if statement is None:
        return
    own = str(statement.about["protocol"]["name"])
    folders: dict[str, dict[str, str]] = {}
    for name, sha256 in told.items():
        layer, _, file = name.partition("/")
        folders.setdefault(layer, {})[file] = sha256
    for layer, files in folders.items():
        is_given = layer == own and given is not None and Path(given).is_dir()
        folder = Path(str(given)) if is_given else protocols_folder() / layer
        if not folder.is_dir():
            continue
        for file, sha256 in files.items():
            path = folder / file
            if not _stays_inside(file) or not path.is_file():
                yield f"protocol/{layer}/{file}: is not there"
            elif digest_of(path) != sha256:
                yield f"protocol/{layer}/{file}: is not the file that was sealed"
        try:
            extra = file_names(folder).keys() - files.keys()
        except ProtocolError as exc:
            yield f"protocol/{layer}: {exc}"
            continue
        yield from (f"protocol/{layer}/{file}: was never part of it" for file in sorted(extra))


def check_models(
    told: Mapping[str, str], law: Protocol | None, shown: Sequence[str | Path]
) -> Check:
    """Return whether the models at hand are those that measured, heard and answered.

    Parameters
    ----------
    told : mapping of name to SHA-256
    shown : sequence of path
        Files of models that no protocol pins.
    """
    if law is None:
        return Check(name="models", outcome="not_checked", says="the protocol is not at hand")
    faults: list[str] = []
    gaps: list[str] = []
    held = 0
    by_digest = {digest_of(Path(path)): Path(path) for path in shown}
    for name, sha256 in sorted(told.items()):
        try:
            path = by_digest.get(sha256) or _model_at_hand(name, sha256, law)
        except InstrumentError as exc:
            is_absent = exc.problem.code == "model_missing"
            (gaps if is_absent else faults).append(f"model/{name}: {exc}")
            continue
        if path is None:
            named = next((each for each in by_digest.values() if each.name == name), None)
            if named is not None:
                faults.append(f"model/{name}: {named.name} is not the file that was used")
            else:
                gaps.append(f"model/{name}: no file of it was shown (--model)")
        elif digest_of(path) != sha256:
            faults.append(f"model/{name}: {path.name} is not the file that was used")
        else:
            held += 1
    says = f"{held} of {len(told)} model files are those that were used"
    return outcome_of("models", says, faults, gaps, looked=held > 0 or not told)


def _model_at_hand(name: str, sha256: str, law: Protocol) -> Path | None:
    """Return where a pinned model lies here; its digest is still to be taken, and not from memory.

    Raises
    ------
    InstrumentError
        ``model_missing``, ``model_not_pinned``.
    """
    pins = law.instruments
    if name == pins.vad.name and sha256 == pins.vad.sha256:
        return find_model(pins.vad)
    pinned: tuple[FilePin, ...] = (pins.judge, pins.asr)
    for pin in pinned:
        if plain_digest(pin.sha256) == sha256:
            return find_model_file(pin).path
    return None


def stored_models(stored: StoredRun) -> dict[str, str]:
    """Return the models of a run as its manifest tells them: name to SHA-256."""
    models = stored.manifest.get("models")
    return {
        str(model["name"]): plain_digest(str(model["sha256"]))
        for model in (models if isinstance(models, list) else ())
        if isinstance(model, dict) and {"name", "sha256"} <= model.keys() and model["sha256"]
    }
