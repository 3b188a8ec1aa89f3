"""The DSSE envelope around a statement, and the bytes that are signed.

Written in one form (`envelope_bytes`): what a signature does not cover, as the id of a key or white
space, is then still a change that is seen.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from inquesto_core import schema
from inquesto_core.canonical import pretty_bytes
from inquesto_core.errors import Problem, VerificationError

if TYPE_CHECKING:
    from inquesto_core.attest.keys import SigningKey

__all__ = [
    "PAYLOAD_TYPE",
    "Envelope",
    "Signature",
    "envelope_bytes",
    "pre_authentication",
    "read_envelope",
    "signed",
]

#: The media type of an in-toto statement.
PAYLOAD_TYPE = "application/vnd.in-toto+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A signature, and the id of the key that is said to have made it.

    Parameters
    ----------
    keyid : str
        SHA-256 of the public key's DER form (`inquesto_core.attest.keys`).
    """

    keyid: str
    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A statement's bytes and who signed them, in the order of signing."""

    payload: bytes
    signatures: tuple[Signature, ...] = ()


def pre_authentication(payload: bytes) -> bytes:
    """Return the bytes that are signed: DSSE's pre-authentication encoding.

    >>> pre_authentication(b"{}")
    b'DSSEv1 28 application/vnd.in-toto+json 2 {}'
    """
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def signed(envelope: Envelope, key: SigningKey) -> Envelope:
    """Return the envelope with the key's signature at the end; one that it had gives way."""
    others = tuple(each for each in envelope.signatures if each.keyid != key.keyid)
    made = key.sign(pre_authentication(envelope.payload))
    return replace(envelope, signatures=(*others, Signature(keyid=key.keyid, signature=made)))


def envelope_bytes(envelope: Envelope) -> bytes:
    """Return the one written form of an envelope."""
    return pretty_bytes(
        {
            "payload": base64.b64encode(envelope.payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [
                {"keyid": each.keyid, "sig": base64.b64encode(each.signature).decode()}
                for each in envelope.signatures
            ],
        }
    )


def read_envelope(data: bytes, *, file: str | None = None) -> Envelope:
    """Return the envelope in `data`.

    Raises
    ------
    SchemaError
        It is not strict JSON, or not what the schema ``envelope`` says.
    VerificationError
        ``envelope_form``: it says the same in other bytes than `envelope_bytes` writes.
    """
    value = schema.load(data, "envelope", file=file)
    try:
        envelope = Envelope(
            payload=base64.b64decode(value["payload"], validate=True),
            signatures=tuple(
                Signature(
                    keyid=each["keyid"], signature=base64.b64decode(each["sig"], validate=True)
                )
                for each in value["signatures"]
            ),
        )
    except (binascii.Error, ValueError) as exc:
        raise VerificationError(_form(f"is not base64: {exc}", file)) from exc
    if envelope_bytes(envelope) != data:
        raise VerificationError(_form("is not written as `seal` writes it", file))
    return envelope


def _form(found: str, file: str | None) -> Problem:
    return Problem(
        code="envelope_form",
        file=file,
        found=found,
        expected="payload, payloadType, signatures, one space of indent, plain base64",
        remedy="restore the file that was written; docs/auditing.md shows its form",
    )
