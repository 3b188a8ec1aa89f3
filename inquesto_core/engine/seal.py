"""Seal a run, and verify one: what the commands `seal` and `verify` are calls of."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core import schema
from inquesto_core.attest import (
    Check,
    Envelope,
    authenticity,
    envelope_bytes,
    read_envelope,
    read_public,
    read_signing,
    signed,
    statement_bytes,
)
from inquesto_core.attest.difference import differing_pointers
from inquesto_core.canonical import strict_json
from inquesto_core.engine.attest import SEAL_FILE, statement_of_run
from inquesto_core.engine.attest_deep import deep_checks
from inquesto_core.engine.attest_files import (
    check_files,
    check_models,
    check_protocol,
    check_records,
    stored_models,
)
from inquesto_core.engine.attest_rederive import check_rederived
from inquesto_core.engine.compat import require_evidence
from inquesto_core.engine.executors import choose_executor
from inquesto_core.engine.run_protocol import population_of_run
from inquesto_core.engine.stored import MANIFEST, open_run
from inquesto_core.errors import (
    InquestoError,
    Problem,
    ProtocolError,
    StoreError,
    VerificationError,
)
from inquesto_core.places import allowed_schemes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inquesto_core.attest import Statement
    from inquesto_core.engine.attest_files import FilesFound
    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Protocol

__all__ = ["Sealed", "Verification", "seal", "verify"]

_REDERIVATION = "re-derivation"
#: A run of a protocol without failure events, which nothing here derives again.
_OTHER_METHOD = "run_method"
_DEEP = ("bundles", "evidence", "events")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """What `seal` did.

    Parameters
    ----------
    file : Path
        The envelope.
    keyid : str
        Of the key that signed.
    subjects, signatures : int
        How many things the statement is about, and how many have signed it by now.
    """

    file: Path
    keyid: str
    subjects: int
    signatures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What each check of a run says, in order; they are numbered from 1."""

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Return whether no check failed; what was not checked holds nothing and breaks nothing."""
        return all(check.outcome != "failed" for check in self.checks)


def _ignore(done: int, total: int) -> None:
    """Show no progress."""


def seal(run: str | Path, *, key: str | Path, protocol: str | Path | None = None) -> Sealed:
    """Sign what a run is and was made of; a run that is sealed gets one more signature.

    Nothing is signed that does not hold: the files, the protocol and the re-derivation of the
    records are checked first.

    Parameters
    ----------
    run : path
        A run folder.
    key : path
        A private key's file, as `make_keys` writes it.
    protocol : str or path, optional
        The protocol that the run was scored with; the shipped one of its name by default.

    Raises
    ------
    VerificationError
        ``seal_refused``: a check of the run fails. ``seal_differs``: what is sealed already is
        another statement than the run gives now.
    StoreError
        ``not_a_run``, ``run_damaged``, ``seal_unwritable``, and as `read_signing`.
    ProtocolError
        As `inquesto_core.engine.protocol_of_run`.
    """
    signing, folder = read_signing(key), Path(run)
    stored = open_run(folder, as_it_lies=True)
    checks, law = _own_checks(folder, stored, None, protocol, ())
    failed = next((check for check in checks if check.outcome == "failed"), None)
    if failed is not None:
        raise VerificationError(
            Problem(
                code="seal_refused",
                found=f"{failed.name}: {failed.faults[0]}",
                expected="a run that holds",
                remedy="see `verify`; score the bundles again, and seal that",
            )
        )
    if law is None:
        raise ProtocolError(_protocol_needed(checks))
    statement = statement_of_run(stored, law)
    payload, file = statement_bytes(statement), folder / SEAL_FILE
    envelope = signed(_envelope_so_far(file, payload), signing)
    _write_whole(file, envelope_bytes(envelope))
    return Sealed(
        file=file,
        keyid=signing.keyid,
        subjects=len(statement.subjects),
        signatures=len(envelope.signatures),
    )


def _protocol_needed(checks: Sequence[Check]) -> Problem:
    gap = next(gap for check in checks for gap in check.gaps if check.name == "protocol")
    return Problem(
        code="run_protocol_unknown",
        found=gap.partition(";")[0],
        expected="the protocol that scored the run",
        remedy="name its folder with --protocol",
    )


def _envelope_so_far(file: Path, payload: bytes) -> Envelope:
    if not file.is_file():
        return Envelope(payload=payload)
    envelope = read_envelope(file.read_bytes(), file=file.name)
    if envelope.payload != payload:
        there, now = strict_json(envelope.payload, file=file.name), strict_json(payload)
        first = next(differing_pointers(there, now), "its form")
        raise VerificationError(
            Problem(
                code="seal_differs",
                file=file.name,
                found=f"seals another statement than this run gives now, first at {first}",
                expected="the same statement, so that one more can sign it",
                remedy=f"see `verify`; to seal the run anew, move {file.name} away",
            )
        )
    return envelope


def _write_whole(file: Path, data: bytes) -> None:
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.chmod(0o600)
        temporary.replace(file)
    except OSError as exc:
        temporary.unlink(missing_ok=True)
        raise StoreError(
            Problem(
                code="seal_unwritable",
                file=file.name,
                found=f"cannot be written: {exc.strerror}",
                expected="a run folder that can be written",
            )
        ) from exc


def verify(
    run: str | Path,
    *,
    keys: Sequence[str | Path] = (),
    threshold: int | None = None,
    deep: bool = False,
    sources: Sequence[str | Path] = (),
    protocol: str | Path | None = None,
    models: Sequence[str | Path] = (),
    allow_remote: Sequence[str] = (),
    workers: int = 0,
    progress: Callable[[int, int], None] = _ignore,
) -> Verification:
    """Return what each check of a run says; nothing is written, and no connection opened.

    Parameters
    ----------
    run : path
        A run folder, sealed or not.
    keys : sequence of path
        Public keys' files.
    threshold : int, optional
        How many of `keys` must have signed; default: all of them.
    deep : bool
        Measure the bundles in `sources` again.
    protocol : str or path, optional
        The protocol that the run was scored with; the shipped one of its name by default.
    models : sequence of path
        Files of models that no protocol pins.
    workers : int
        Processes that measure; 0 = this one.

    Raises
    ------
    StoreError
        ``not_a_run``, ``run_method``, and as `read_public`.
    VerificationError
        ``threshold_unreachable``: more signatures are asked for than keys were given.
    """
    public = [read_public(path) for path in keys]
    ids = {key.keyid for key in public}
    if threshold is not None and not 1 <= threshold <= len(ids):
        raise VerificationError(
            Problem(
                code="threshold_unreachable",
                found=f"{threshold} signatures are asked for, and {len(ids)} keys given",
                expected=f"1 to {len(ids)}" if ids else "public keys with --pub",
            )
        )
    folder, allowed = Path(run), allowed_schemes(allow_remote)
    envelope = folder / SEAL_FILE
    if not (folder / MANIFEST).is_file() and not envelope.is_file():
        open_run(folder, as_it_lies=True)  # says that it is no run
    data = envelope.read_bytes() if envelope.is_file() else None
    told = authenticity(data, public, threshold=threshold, file=SEAL_FILE)
    stored, opened = _opened(folder)
    checks, law = _own_checks(folder, stored, told.statement, protocol, models, opened=opened)
    rest: tuple[Check, ...] = ()
    if deep:
        rest = _deep(
            stored,
            law,
            sources,
            broken=checks[0].outcome == "failed",
            allowed=allowed,
            workers=workers,
            progress=progress,
        )
    else:
        why = "only --deep looks at the bundles"
        rest = tuple(Check(name=name, outcome="not_checked", says=why) for name in _DEEP)
    return Verification(checks=(*told.checks, *checks, *rest))


def _opened(folder: Path) -> tuple[StoredRun | None, str]:
    """Return the run, or why it cannot be opened."""
    try:
        return open_run(folder, as_it_lies=True), ""
    except InquestoError as exc:
        if exc.problem.code == _OTHER_METHOD:
            raise
        return None, str(exc)


def _own_checks(
    folder: Path,
    stored: StoredRun | None,
    statement: Statement | None,
    protocol: str | Path | None,
    models: Sequence[str | Path],
    *,
    opened: str = "",
) -> tuple[tuple[Check, ...], Protocol | None]:
    """Return the checks of what lies in the run folder and on this machine, and the protocol."""
    found = _files(folder, stored, statement, opened)
    if MANIFEST in found.changed:
        stored, opened = None, f"{MANIFEST} is not what was sealed"
    law_check, law = check_protocol(stored, statement, protocol)
    told = {} if stored is None else stored_models(stored)
    if statement is not None:
        told = statement.under("model")
    checks = (
        found.check,
        check_records(folder, statement, found.changed),
        law_check,
        check_models(told, law, models),
        _rederived(stored, law, found.changed, opened),
    )
    return checks, law


def _files(
    folder: Path, stored: StoredRun | None, statement: Statement | None, opened: str
) -> FilesFound:
    if statement is not None:
        return check_files(folder, statement.under("run"), is_sealed=True)
    if stored is not None:
        return check_files(folder, stored.outputs, is_sealed=False)
    outputs, why = _outputs_alone(folder)
    found = check_files(folder, outputs, is_sealed=False)
    if found.check.faults:
        return found
    return type(found)(check=Check(name="files", outcome="failed", says=why, faults=(opened,)))


def _outputs_alone(folder: Path) -> tuple[dict[str, str], str]:
    """Return what the manifest of a run that cannot be opened tells of its files, if it does."""
    try:
        manifest = schema.load((folder / MANIFEST).read_bytes(), "manifest", file=MANIFEST)
    except (InquestoError, OSError):
        return {}, "the manifest cannot be read, and nothing else tells what the files were"
    outputs = {each["file"]: each["sha256"] for each in manifest.get("outputs", ())}
    return outputs, "the run cannot be opened"


def _rederived(
    stored: StoredRun | None, law: Protocol | None, changed: frozenset[str], opened: str
) -> Check:
    if stored is None:
        return _not(_REDERIVATION, f"the run cannot be opened: {opened}")
    if law is None:
        return _not(_REDERIVATION, "the protocol that scored the run is not at hand")
    try:
        require_evidence(stored)
        people = population_of_run(stored, protocol=law)
        return check_rederived(stored, law, people, changed=changed)
    except InquestoError as exc:
        if exc.problem.code == "run_without_evidence":
            return _not(_REDERIVATION, str(exc))
        return Check(
            name=_REDERIVATION,
            outcome="failed",
            says="the evidence cannot be reduced",
            faults=(str(exc),),
        )


def _not(name: str, why: str) -> Check:
    return Check(name=name, outcome="not_checked", says=why)


def _deep(
    stored: StoredRun | None,
    law: Protocol | None,
    sources: Sequence[str | Path],
    *,
    broken: bool,
    allowed: frozenset[str],
    workers: int,
    progress: Callable[[int, int], None],
) -> tuple[Check, ...]:
    if stored is None or law is None or broken:
        why = "the run's own files do not hold"
        if not broken:
            why = "the run or its protocol is not at hand"
        return tuple(_not(name, why) for name in _DEEP)
    try:
        require_evidence(stored)
        people = population_of_run(stored, protocol=law)
    except InquestoError as exc:
        return tuple(_not(name, str(exc)) for name in _DEEP)
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        return deep_checks(
            stored,
            law,
            people,
            sources,
            allowed=allowed,
            scratch=Path(scratch),
            executor=choose_executor("local", workers=workers),
            progress=progress,
        )
