"""One piece of evidence in the store: what it is, whose call it is of, and the proof of its bytes.

A key is the digest of everything that decides the value (inputs, instrument, parameters), so that
equal keys mean equal values; the digest beside the value tells whether it is still the one that
was kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inquesto_core.canonical import canonical_bytes, digest_bytes, strict_json
from inquesto_core.errors import SchemaError

__all__ = ["Entry", "is_key", "open_entry"]

_HEX = frozenset("0123456789abcdef")
_KEY_LENGTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A value under its key.

    Parameters
    ----------
    kind : str
        Whose evidence: ``measured``, ``answer``, ``heard``.
    key : str
        SHA-256 of what decides the value.
    call_id : str
        The one call that it is of: what is erased with it.
    made_by : str
        Digest of the instruments' pin; entries of instruments that nobody pins can be pruned.
    value : bytes
        Canonical JSON.
    """

    kind: str
    key: str
    call_id: str
    made_by: str
    value: bytes

    @property
    def sha256(self) -> str:
        """Return the digest that proves every field."""
        return digest_bytes(
            canonical_bytes([self.kind, self.key, self.call_id, self.made_by]) + self.value
        )

    def loose_bytes(self) -> bytes:
        """Return the entry as a file of its own: a line of canonical JSON, then the value."""
        head = {
            "kind": self.kind,
            "key": self.key,
            "call_id": self.call_id,
            "made_by": self.made_by,
            "sha256": self.sha256,
        }
        return canonical_bytes(head) + b"\n" + self.value

    def read(self) -> dict[str, Any]:
        """Return the value."""
        value: dict[str, Any] = strict_json(self.value)
        return value


def is_key(text: str) -> bool:
    """Return whether a text is a SHA-256 in hexadecimal, and so may be part of a file name."""
    return len(text) == _KEY_LENGTH and _HEX.issuperset(text)


def open_entry(data: bytes) -> Entry | None:
    """Return the entry that a loose file holds; None where a byte of it is not what it was."""
    head, _, value = data.partition(b"\n")
    try:
        told = strict_json(head)
        entry = Entry(
            kind=told["kind"],
            key=told["key"],
            call_id=told["call_id"],
            made_by=told["made_by"],
            value=value,
        )
        is_whole = told["sha256"] == entry.sha256
    except (SchemaError, TypeError, KeyError, AttributeError):
        return None
    return entry if is_whole else None
