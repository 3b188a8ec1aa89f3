"""Unpacking an archive from anywhere: all of it, safely, or nothing and one problem.

Headers are never trusted: bytes are counted as they are written. One member that is a link, a
device, encrypted, outside the archive or there twice makes the whole archive unusable. Archives
inside an archive stay closed.
"""

from __future__ import annotations

import errno
import gzip
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from io import RawIOBase
from typing import TYPE_CHECKING, Any, Protocol

from inquesto_core.errors import BundleError, Problem, StoreError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LIMITS", "SUFFIXES", "Limits", "is_archive", "unpack"]

_BLOCK = 1024 * 1024

#: What a tar's headers may take between two members; long names need a few kilobytes.
_HEADER_BYTES = 1024 * 1024

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What an archive may hold at most.

    Parameters
    ----------
    members : int
        Files and folders; more are refused.
    total_bytes : int
        Unpacked size of all members together.
    ratio, ratio_from_bytes : int
        A member (and the archive as a whole) that is more than `ratio` times its packed size and
        more than `ratio_from_bytes` unpacked is a bomb; both must be exceeded.
    """

    members: int = 200_000
    total_bytes: int = 64 * 1024**3
    ratio: int = 200
    ratio_from_bytes: int = 64 * 1024**2


LIMITS = Limits()


def is_archive(name: str) -> bool:
    """Return whether a file name is that of an archive we open: zip, tar, tar.gz, tgz."""
    return name.lower().endswith(SUFFIXES)


def unpack(archive: Path, into: Path, *, limits: Limits = LIMITS) -> None:
    """Write every member of `archive` under the new folder `into`, owner-readable only.

    Raises
    ------
    BundleError
        Code ``archive_bomb`` (a limit is exceeded), ``archive_member`` (a name or kind of member
        that is refused), ``link_refused``, ``archive_unreadable``. Nothing is left behind.
    StoreError
        The disk is full or read-only.
    """
    try:
        into.mkdir(mode=0o700, parents=True)
    except OSError as exc:
        raise StoreError(_disk(into, exc)) from exc
    writer = _Writer(into, limits, packed_bytes=archive.stat().st_size)
    try:
        if archive.name.lower().endswith(".zip"):
            _unpack_zip(archive, writer)
        else:
            _unpack_tar(archive, writer)
    except BundleError as exc:
        shutil.rmtree(into, ignore_errors=True)
        raise BundleError(exc.problem.at(file=archive.name)) from exc
    except OSError as exc:
        shutil.rmtree(into, ignore_errors=True)
        if exc.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}:
            raise StoreError(_disk(into, exc)) from exc
        raise BundleError(_unreadable(exc).at(file=archive.name)) from exc
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        EOFError,
        RecursionError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OverflowError,
    ) as exc:
        shutil.rmtree(into, ignore_errors=True)
        raise BundleError(_unreadable(exc).at(file=archive.name)) from exc


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Writer:
    """Writes members one by one, and counts."""

    def __init__(self, into: Path, limits: Limits, *, packed_bytes: int) -> None:
        self.into, self.limits, self.packed_bytes = into, limits, packed_bytes
        self.seen: set[str] = set()
        self.total_bytes = 0

    def begin(self, name: str) -> Path:
        """Return where a member goes, or refuse its name."""
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if (
            not parts
            or name.startswith("/")
            or ".." in parts
            or re.search(r"[\\\x00-\x1f\x7f]|^[A-Za-z]:", name)
        ):
            raise BundleError(_member(name, "leads out of the archive or is no file name"))
        key = "/".join(parts)
        if key in self.seen:
            raise BundleError(_member(name, "is there twice"))
        self.seen.add(key)
        if len(self.seen) > self.limits.members:
            raise BundleError(_bomb(f"has more than {self.limits.members} members"))
        return self.into.joinpath(*parts)

    def folder(self, name: str) -> None:
        """Make a member that is a folder."""
        if name in {".", "./"}:  # what `tar -C FOLDER .` begins with
            return
        self.begin(name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def file(
        self, name: str, source: _Readable, *, declared: int, packed_bytes: int | None
    ) -> None:
        """Write a member that is a file.

        Parameters
        ----------
        declared : int
            Its size as the archive says; another size is refused.
        packed_bytes : int or None
            What it takes in the archive, where that is known.
        """
        path = self.begin(name)
        self._check(name, declared, packed_bytes, self.total_bytes + declared)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = 0
        with path.open("xb") as target:
            path.chmod(0o600)
            while block := source.read(_BLOCK):
                written += len(block)
                self.total_bytes += len(block)
                self._check(name, written, packed_bytes, self.total_bytes)
                target.write(block)
        if written != declared:
            raise BundleError(_member(name, f"has {written} bytes where {declared} are declared"))

    def _check(self, name: str, size: int, packed_bytes: int | None, total_bytes: int) -> None:
        limits = self.limits
        if total_bytes > limits.total_bytes:
            raise BundleError(_bomb(f"unpacks to more than {limits.total_bytes} bytes"))
        if packed_bytes is not None and self._is_bomb(size, packed_bytes):
            raise BundleError(
                _bomb(f"unpacks {_quoted(name)} to over {limits.ratio} times its size")
            )
        if self._is_bomb(total_bytes, self.packed_bytes):
            raise BundleError(_bomb(f"unpacks to over {limits.ratio} times its size"))

    def _is_bomb(self, size: int, packed_bytes: int) -> bool:
        return size > self.limits.ratio_from_bytes and size > self.limits.ratio * max(
            packed_bytes, 1
        )


def _unpack_zip(archive: Path, writer: _Writer) -> None:
    with zipfile.ZipFile(archive) as source:
        members = source.infolist()
        if len(members) > writer.limits.members:
            raise BundleError(_bomb(f"has more than {writer.limits.members} members"))
        for member in members:
            # Only a Unix writer states a kind; elsewhere the upper half is zero.
            kind = stat.S_IFMT(member.external_attr >> 16)
            _refuse_kind(
                member.filename,
                link=kind == stat.S_IFLNK,
                other=kind not in {0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK},
            )
            if member.flag_bits & 0x1:
                raise BundleError(_member(member.filename, "is encrypted"))
            if not member.filename:
                raise BundleError(_member("", "has no name"))
            if member.is_dir():
                writer.folder(member.filename)
                continue
            with source.open(member) as content:
                writer.file(
                    member.filename,
                    content,
                    declared=member.file_size,
                    packed_bytes=member.compress_size,
                )


def _unpack_tar(archive: Path, writer: _Writer) -> None:
    packed = not archive.name.lower().endswith(".tar")
    with gzip.open(archive) if packed else archive.open("rb") as stream:
        bounded = _Bounded(stream)
        # Streaming: each member is met once, in order, and nothing is sought or unpacked twice.
        with tarfile.open(fileobj=bounded, mode="r|", errorlevel=2) as source:
            while (member := source.next()) is not None:
                _refuse_kind(
                    member.name,
                    link=member.issym() or member.islnk(),
                    other=not (member.isfile() or member.isdir()) or member.issparse(),
                )
                if member.isdir():
                    writer.folder(member.name)
                else:
                    content = source.extractfile(member)
                    bounded.allow(member.size)
                    if content is None:
                        raise BundleError(_member(member.name, "has no content"))
                    writer.file(member.name, content, declared=member.size, packed_bytes=None)
                bounded.allow(0)
        # The checksum of a packed stream stands at its end, behind the tar's own.
        while bounded.read(_BLOCK):
            pass


class _Bounded(RawIOBase):
    """A stream that refuses to be read further than a member's size and some headers.

    A tar's extended headers are read into memory whole, whatever size they declare; this is what
    keeps a small packed archive from filling it.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self.stream, self.budget = stream, _HEADER_BYTES

    def allow(self, size: int) -> None:
        """Let `size` bytes of content, and headers after them, be read from here on."""
        self.budget = size + _HEADER_BYTES

    def read(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes."""
        block: bytes = self.stream.read(size)
        self.budget -= len(block)
        if self.budget < 0:
            raise BundleError(_bomb(f"has headers of more than {_HEADER_BYTES} bytes"))
        return block


def _refuse_kind(name: str, *, link: bool, other: bool) -> None:
    if link:
        raise BundleError(
            Problem(
                code="link_refused",
                found=f"holds the link {_quoted(name)}",
                expected="files and folders only",
            )
        )
    if other:
        raise BundleError(_member(name, "is neither a plain file nor a folder"))


def _member(name: str, found: str) -> Problem:
    return Problem(
        code="archive_member",
        found=f"member {_quoted(name)} {found}",
        expected="plain files and folders, each once, under relative names",
        remedy="nothing of this archive is used; pack it again",
    )


def _bomb(found: str) -> Problem:
    return Problem(
        code="archive_bomb",
        found=found,
        expected="an archive of recorded calls",
        remedy="unpack it yourself and give the folder, if you trust it",
    )


def _unreadable(exc: Exception) -> Problem:
    reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
    return Problem(
        code="archive_unreadable",
        found=f"cannot be unpacked: {reason.splitlines()[0] if reason else type(exc).__name__}",
        expected="a whole zip, tar or tar.gz",
        remedy="nothing of this archive is used",
    )


def _disk(into: Path, exc: OSError) -> Problem:
    return Problem(
        code="scratch_unwritable",
        found=f"cannot unpack into {into.parent}: {exc.strerror}",
        expected="room on the disk",
        remedy="free some space, or unpack elsewhere and give the folder",
    )


def _quoted(name: str) -> str:
    return ascii(name if len(name) <= 80 else name[:79] + "…")
