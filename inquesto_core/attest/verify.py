"""Whether an envelope is authentic: who signed it, how many of those who were asked for, and what.

A signature counts if it fits a key that the verifier brought, whatever id stands beside it; an id
that is not that key's own was changed, and fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquesto_core.attest.check import Check, outcome_of
from inquesto_core.attest.envelope import pre_authentication, read_envelope
from inquesto_core.attest.statement import read_statement
from inquesto_core.errors import InquestoError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.attest.envelope import Envelope
    from inquesto_core.attest.keys import PublicKey
    from inquesto_core.attest.statement import Statement

__all__ = ["Authenticity", "authenticity"]

_ENVELOPE, _SIGNATURES, _STATEMENT = "envelope", "signatures", "statement"
#: Hex digits that tell two keys apart to a reader.
_SHOWN_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticity:
    """What an envelope is worth.

    Parameters
    ----------
    checks : tuple of Check
        ``envelope``, ``signatures``, ``statement``.
    statement : Statement or None
        What it says, where nothing of that failed: later checks may rest on it.
    """

    checks: tuple[Check, ...]
    statement: Statement | None


def authenticity(
    data: bytes | None, keys: Sequence[PublicKey], *, threshold: int | None = None, file: str
) -> Authenticity:
    """Return what an envelope is worth to a holder of these keys.

    Parameters
    ----------
    data : bytes or None
        The envelope's file; None = there is none.
    threshold : int, optional
        How many of `keys` must have signed; default: all of them.
    file : str
        What the envelope's file is called.
    """
    if data is None:
        return _unsealed(bool(keys), file)
    try:
        envelope = read_envelope(data, file=file)
    except InquestoError as exc:
        return _unreadable(exc, file)
    form = Check(name=_ENVELOPE, outcome="passed", says=f"{file} is a DSSE envelope")
    signatures = _signatures(envelope, keys, threshold, file)
    try:
        statement = read_statement(envelope.payload)
    except InquestoError as exc:
        told = Check(
            name=_STATEMENT,
            outcome="failed",
            says="the statement cannot be read",
            faults=(f"{file}: {exc}",),
        )
        return Authenticity(checks=(form, signatures, told), statement=None)
    told = Check(
        name=_STATEMENT,
        outcome="passed",
        says=f"an in-toto statement about {len(statement.subjects)} subjects",
    )
    is_sound = signatures.outcome != "failed"
    return Authenticity(checks=(form, signatures, told), statement=statement if is_sound else None)


def _unsealed(is_asked: bool, file: str) -> Authenticity:
    faults = [f"{file}: is not there, and a key was given"] if is_asked else []
    why = "the run is not sealed: it is held to its own manifest, which whoever changed it can too"
    envelope = outcome_of(_ENVELOPE, why, faults, looked=False)
    rest = tuple(_skipped(name, "there is no envelope") for name in (_SIGNATURES, _STATEMENT))
    return Authenticity(checks=(envelope, *rest), statement=None)


def _unreadable(exc: InquestoError, file: str) -> Authenticity:
    place = "" if str(exc).startswith(file) else f"{file}: "
    envelope = outcome_of(_ENVELOPE, "the envelope cannot be read", [f"{place}{exc}"])
    rest = tuple(
        _skipped(name, "the envelope cannot be read") for name in (_SIGNATURES, _STATEMENT)
    )
    return Authenticity(checks=(envelope, *rest), statement=None)


def _skipped(name: str, why: str) -> Check:
    return Check(name=name, outcome="not_checked", says=why)


def _signatures(
    envelope: Envelope, keys: Sequence[PublicKey], threshold: int | None, file: str
) -> Check:
    if not keys:
        ids = ", ".join(f"{each.keyid[:_SHOWN_DIGITS]}…" for each in envelope.signatures)
        return _skipped(
            _SIGNATURES, f"no public key was given (--pub); signed by {ids or 'nobody'}"
        )
    data, faults, gaps = pre_authentication(envelope.payload), [], []
    fitting: dict[str, PublicKey] = {}
    by_id = {key.keyid: key for key in keys}
    for at, each in enumerate(envelope.signatures):
        key = next((key for key in keys if key.has_signed(each.signature, data)), None)
        if key is not None:
            fitting[key.keyid] = key
            if each.keyid != key.keyid:
                faults.append(
                    f"{file}: signature {at} is of {key.name}, and names the key "
                    f"{each.keyid[:_SHOWN_DIGITS]}…"
                )
        elif each.keyid in by_id:
            faults.append(
                f"{file}: the signature of {by_id[each.keyid].name} does not fit the statement"
            )
        else:
            gaps.append(f"signature {at}: no key {each.keyid[:_SHOWN_DIGITS]}… was given")
    wanted = len(by_id) if threshold is None else threshold
    if len(fitting) < wanted:
        missing = [key.name for key in by_id.values() if key.keyid not in fitting]
        faults.append(
            f"{file}: signed by {len(fitting)} of the keys given, and {wanted} must have signed; "
            f"not by {', '.join(missing)}"
        )
    names = ", ".join(key.name for key in fitting.values()) or "none of the keys given"
    return outcome_of(
        _SIGNATURES, f"signed by {names} ({len(fitting)} of at least {wanted})", faults, gaps
    )
