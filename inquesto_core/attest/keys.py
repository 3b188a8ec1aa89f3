"""Ed25519 keys in files: made once, never written over, read by any tool that knows PEM.

The private key is PKCS#8 without a password, readable by its owner only; the public one is a
SubjectPublicKeyInfo. Both are known by the SHA-256 of the latter's DER form. `cryptography` is
imported here alone, and only when a key is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.errors import InstrumentError, Problem, StoreError
from inquesto_core.places import read_file_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

__all__ = ["PublicKey", "SigningKey", "make_keys", "read_public", "read_signing"]

#: How the name of the public half ends.
PUBLIC_SUFFIX = ".pub"
#: A key file is a few hundred bytes.
_MOST_BYTES = 64 * 1024
_BASE64 = re.compile(rb"[A-Za-z0-9+/]+=*")
_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A private key; `keyid` is that of its public half."""

    keyid: str
    _key: Ed25519PrivateKey = field(repr=False)

    def sign(self, data: bytes) -> bytes:
        """Return the Ed25519 signature of `data`, the same each time."""
        return self._key.sign(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicKey:
    """A public key, and the name of the file it came from."""

    keyid: str
    name: str
    _key: Ed25519PublicKey = field(repr=False)

    def has_signed(self, signature: bytes, data: bytes) -> bool:
        """Return whether `signature` is this key's of `data`."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, data)
        except InvalidSignature:
            return False
        return True


def make_keys(path: str | Path) -> tuple[Path, Path]:
    """Make a key pair; return the files of the private key and of the public one.

    Parameters
    ----------
    path : path
        The private key's file; the public one lies beside it with ``.pub`` at the end.

    Raises
    ------
    StoreError
        ``key_exists``: one of the files is there. ``key_unwritable``.
    InstrumentError
        ``extra_missing``.
    """
    _, serialization, ed25519 = _cryptography()
    private, public = Path(path), Path(f"{path}{PUBLIC_SUFFIX}")
    for file in (private, public):
        if os.path.lexists(file):
            raise _exists(file)
    made = ed25519.Ed25519PrivateKey.generate()
    secret = made.private_bytes(
        encoding=serialization.Encoding.PEM,
        format=serialization.PrivateFormat.PKCS8,
        encryption_algorithm=serialization.NoEncryption(),
    )
    shown = made.public_key().public_bytes(
        encoding=serialization.Encoding.PEM, format=serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _write_new(private, secret)
    try:
        _write_new(public, shown)
    except StoreError:
        private.unlink()
        raise
    return private, public


def read_signing(path: str | Path) -> SigningKey:
    """Return the private key in a PEM file.

    Raises
    ------
    StoreError
        ``key_unreadable``: no file, no Ed25519 private key, or one with a password.
        ``key_open``: others than its owner may read it.
    InstrumentError
        ``extra_missing``.
    """
    unreadable, serialization, ed25519 = _cryptography()
    file = Path(path)
    data = _read(file, "a private key as `keygen` makes it")
    if file.stat().st_mode & _BY_OTHERS:
        raise StoreError(
            Problem(
                code="key_open",
                file=file.name,
                found="may be read by others than its owner",
                expected="a private key of its owner's only",
                remedy="make a new one with `keygen`, or `chmod 600` it if nobody has read it",
            )
        )
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except unreadable as exc:
        raise _no_pem(file, data, "PRIVATE KEY") from exc
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _no_key(file, "an Ed25519 private key", None)
    return SigningKey(keyid=_keyid(key.public_key()), _key=key)


def read_public(path: str | Path) -> PublicKey:
    """Return the public key in a PEM file.

    Raises
    ------
    StoreError
        ``key_unreadable``.
    InstrumentError
        ``extra_missing``.
    """
    unreadable, serialization, ed25519 = _cryptography()
    file = Path(path)
    data = _read(file, "a public key as `keygen` makes it")
    try:
        key = serialization.load_pem_public_key(data)
    except unreadable as exc:
        raise _no_pem(file, data, "PUBLIC KEY") from exc
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise _no_key(file, "an Ed25519 public key", None)
    return PublicKey(keyid=_keyid(key), name=file.name, _key=key)


def _cryptography() -> tuple[tuple[type[Exception], ...], Any, Any]:
    """Return what reading a key raises, and the two modules that keys need."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as exc:
        raise InstrumentError(
            Problem(
                code="extra_missing",
                found="cryptography is not installed",
                expected="the extra `sign`",
                remedy="bin/setup sign in a checkout, else pip install 'inquesto-core[sign]'",
            )
        ) from exc
    return (ValueError, TypeError, UnsupportedAlgorithm), serialization, ed25519


def _keyid(key: Ed25519PublicKey) -> str:
    from cryptography.hazmat.primitives import serialization

    return hashlib.sha256(
        key.public_bytes(
            encoding=serialization.Encoding.DER,
            format=serialization.PublicFormat.SubjectPublicKeyInfo,
        )
    ).hexdigest()


def _read(file: Path, expected: str) -> bytes:
    try:
        return read_file_bytes(file, _MOST_BYTES)
    except OSError as exc:
        raise _no_key(file, expected, exc) from exc


def _write_new(file: Path, data: bytes) -> None:
    """Write a file that its owner alone can read and that was not there before."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError as exc:
        raise _exists(file) from exc
    except OSError as exc:
        raise _unwritable(file, exc) from exc
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(data)
    except OSError as exc:
        with contextlib.suppress(OSError):
            file.unlink()
        raise _unwritable(file, exc) from exc


def _exists(file: Path) -> StoreError:
    return StoreError(
        Problem(
            code="key_exists",
            file=file.name,
            found="is there already",
            expected="a name that no file has: a key is never written over",
            remedy="name another with --out",
        )
    )


def _unwritable(file: Path, exc: OSError) -> StoreError:
    return StoreError(
        Problem(
            code="key_unwritable",
            file=file.name,
            found=f"cannot be written: {exc.strerror}",
            expected="a folder that is there and has room",
            remedy="name another place with --out",
        )
    )


def _no_pem(file: Path, data: bytes, label: str) -> StoreError:
    """Say at which line a file is no PEM; of a key itself nothing is shown."""
    expected = f"a {label.lower()} as `keygen` makes it"
    lines = [line.rstrip(b"\r") for line in data.rstrip(b"\r\n").split(b"\n")]
    first, last = (f"-----{word} {label}-----" for word in ("BEGIN", "END"))
    fault: tuple[int, str] | None = None
    if lines[0] != first.encode():
        fault = 1, f"is not {first}"
    elif lines[-1] != last.encode():
        fault = len(lines), f"is not {last}"
    else:
        bad = (at for at, line in enumerate(lines[1:-1], 2) if not _BASE64.fullmatch(line))
        at = next(bad, None)
        fault = None if at is None else (at, "is no Base64")
    if fault is None:
        return _no_key(file, expected, None)
    problem = Problem(
        code="key_unreadable",
        file=file.name,
        pointer=f"line {fault[0]}",
        found=fault[1],
        expected=expected,
    )
    return StoreError(problem)


def _no_key(file: Path, expected: str, exc: Exception | None) -> StoreError:
    why = f" ({exc.strerror})" if isinstance(exc, OSError) and exc.strerror else ""
    return StoreError(
        Problem(code="key_unreadable", file=file.name, found=f"is no key{why}", expected=expected)
    )
