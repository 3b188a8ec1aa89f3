"""Opening the files of a bundle: regular files inside its folder, over no link."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from inquesto_core.errors import BundleError, Problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["MAX_JSON_BYTES", "hash_file", "leaves_bundle", "open_inside", "read_whole"]

#: A larger JSON part is refused unread.
MAX_JSON_BYTES = 64 * 1024 * 1024

_BLOCK = 1024 * 1024


def leaves_bundle(name: str) -> bool:
    """Return whether a file name would leave its bundle on any system: absolute, or with ``..``."""
    path = name.replace("\\", "/")
    parts = path.split("/")
    return path.startswith("/") or ".." in parts or parts[0].endswith(":")


def open_inside(root: Path, name: str) -> BinaryIO:
    """Return the file `name` of the bundle `root`, open for reading.

    Parameters
    ----------
    root : Path
        The bundle's folder; it may itself be reached over links.
    name : str
        Relative, with forward slashes.

    Raises
    ------
    BundleError
        Code ``path_outside_bundle``, ``link_refused`` (any part of `name` is a symbolic link),
        ``file_missing`` (not there, not a regular file, or not to be opened).
    """
    if leaves_bundle(name):
        raise BundleError(_path_outside(name))
    try:
        path = root
        for part in name.split("/"):
            path = path / part
            if path.is_symlink():
                raise BundleError(_link(name))
        # Not blocking: a named pipe must be refused, not waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as exc:
        found = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise BundleError(_missing(name, f"cannot be opened: {found}")) from exc
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BundleError(_missing(name, "is not a regular file"))
    return os.fdopen(descriptor, "rb")


def read_whole(source: BinaryIO, name: str) -> bytes:
    """Return all bytes of an open JSON part.

    Raises
    ------
    BundleError
        Code ``file_missing`` (cannot be read), ``file_too_large`` above `MAX_JSON_BYTES`.
    """
    try:
        data = source.read(MAX_JSON_BYTES + 1)
    except OSError as exc:
        raise BundleError(_missing(name, f"cannot be read: {exc.strerror}")) from exc
    if len(data) > MAX_JSON_BYTES:
        raise BundleError(
            Problem(
                code="file_too_large",
                found=f"is larger than {MAX_JSON_BYTES} bytes",
                expected=f"at most {MAX_JSON_BYTES} bytes",
                file=name,
            )
        )
    return data


def hash_file(root: Path, name: str) -> str:
    """Return the hex SHA-256 of a file of the bundle, in blocks; raises as `open_inside`."""
    digest = hashlib.sha256()
    with open_inside(root, name) as source:
        try:
            while block := source.read(_BLOCK):
                digest.update(block)
        except OSError as exc:
            raise BundleError(_missing(name, f"cannot be read: {exc.strerror}")) from exc
    return digest.hexdigest()


def _path_outside(name: str) -> Problem:
    return Problem(
        code="path_outside_bundle",
        found="leads out of the bundle",
        expected="a relative path inside the bundle",
        file=name,
    )


def _link(name: str) -> Problem:
    return Problem(
        code="link_refused",
        found="is, or lies behind, a symbolic link",
        expected="a file in the bundle itself",
        remedy="copy the file into the bundle",
        file=name,
    )


def _missing(name: str, found: str) -> Problem:
    return Problem(code="file_missing", found=found, expected="a readable file", file=name)
