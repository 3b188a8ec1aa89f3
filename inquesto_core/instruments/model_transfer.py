"""One file of a model on its way: grown in ``<name>.part``, verified, moved into place.

What has come of a broken transfer is kept, and the next one goes on behind it. Nothing gets the
file's name but the pinned length with the pinned SHA-256; a file that is another one is removed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from inquesto_core.errors import InstrumentError, Problem, StoreError
from inquesto_core.instruments.model_connection import (
    ConnectionFailed,
    open_transfer,
    shown_address,
)
from inquesto_core.instruments.model_files import UNFINISHED, keep_digest, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inquesto_core.instruments.model_parts import ModelPart

    Progress = Callable[[str, int, int], None]

__all__ = ["PAUSES_S", "SourceFailed", "Unfinished", "unfinished"]

_CHUNK = 1 << 20
#: Room that is left on the disk beside the file itself.
_SPARE_BYTES = 64 << 20
_ROOM = "make room there, or set XDG_CACHE_HOME to a folder on another disk"
#: Pauses before another try at an address that gave nothing new; after the last it is given up.
PAUSES_S = (1.0, 3.0)


class SourceFailed(Exception):
    """A source did not give the file; the text says why."""


def _unwritable(target: Path, error: OSError) -> StoreError:
    is_full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    return StoreError(
        Problem(
            code="disk_full" if is_full else "models_unwritable",
            file=target.name,
            found=f"cannot be written in {shown_path(target.parent)} ({error.strerror})",
            remedy=_ROOM if is_full else "make that folder writable",
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfinished:
    """A file that grows; nobody else writes into it.

    Parameters
    ----------
    part : ModelPart
    target : Path
        Its place once it is verified.
    file : binary file
        Open for reading and appending.
    progress : callable
        Told the name, how many bytes are here, and how many there are.
    """

    part: ModelPart
    target: Path
    file: IO[bytes]
    progress: Progress

    @property
    def _version_note(self) -> Path:
        return Path(f"{self.file.name}.json")

    @property
    def held(self) -> int:
        """How many bytes are here."""
        return os.fstat(self.file.fileno()).st_size

    def discard(self) -> None:
        """Remove what is here."""
        self.file.truncate(0)

    def tidy(self) -> None:
        """Leave no empty file."""
        path = Path(self.file.name)
        if path.is_file() and path.stat().st_size == 0:
            path.unlink()
            self._version_note.unlink(missing_ok=True)

    # -- growing -------------------------------------------------------------------------------

    def copy(self, source: Path) -> None:
        """Take the file from a disk, and put it into place.

        Raises
        ------
        SourceFailed
            It is another file, or cannot be read.
        StoreError
            ``disk_full``, ``models_unwritable``.
        """
        try:
            self._refuse_length(source.stat().st_size)
            self.discard()
            self._require_room()
            with source.open("rb") as taken:
                self._append(iter(lambda: taken.read(_CHUNK), b""))
        except OSError as exc:
            raise SourceFailed(f"cannot be read ({exc.strerror})") from exc
        self._finish()

    def fetch(self, address: str, *, allow_http: bool) -> None:
        """Take what is still lacking over a connection, and put the file into place.

        Raises
        ------
        SourceFailed
            It is another file, or the connection gives nothing more.
        StoreError
            ``disk_full``, ``models_unwritable``.
        """
        is_resumed = self.held > 0
        self._fetch_rest(address, allow_http=allow_http)
        try:
            self._finish()
        except SourceFailed:
            if not is_resumed:
                raise
            # Its beginning may be of another version or source: once more, from the start.
            self._fetch_rest(address, allow_http=allow_http)
            self._finish()

    def _fetch_rest(self, address: str, *, allow_http: bool) -> None:
        """Fetch up to the pinned length; a try that brings something earns further ones."""
        if self.held > self.part.size_bytes:
            self.discard()
        pauses = iter(PAUSES_S)
        while (held := self.held) != self.part.size_bytes:
            self._require_room()
            reason = "the connection was cut"
            try:
                self._fetch_once(address, allow_http=allow_http)
            except ConnectionFailed as exc:
                if not exc.may_pass:
                    raise SourceFailed(str(exc)) from exc
                reason = str(exc)
            if self.held > held:
                pauses = iter(PAUSES_S)
            elif (pause := next(pauses, None)) is not None:
                time.sleep(pause)
            else:
                raise SourceFailed(reason)

    def _fetch_once(self, address: str, *, allow_http: bool) -> None:
        name = shown_address(address)
        transfer = open_transfer(
            address,
            start=self.held,
            validator=self._noted_versions().get(name),
            allow_http=allow_http,
        )
        with contextlib.closing(transfer):
            if transfer.total is not None:
                self._refuse_length(transfer.total)
            if transfer.start != self.held:
                self.discard()
            self._note_version(name, transfer.validator)
            self._append(transfer.chunks())

    def _noted_versions(self) -> dict[str, Any]:
        try:
            noted = json.loads(self._version_note.read_bytes())
        except (OSError, ValueError):
            return {}
        return noted if isinstance(noted, dict) else {}

    def _note_version(self, name: str, validator: str | None) -> None:
        try:
            self._version_note.write_text(json.dumps({name: validator}), encoding="utf-8")
        except OSError as exc:
            raise _unwritable(self.target, exc) from exc

    def _refuse_length(self, found: int) -> None:
        if found != self.part.size_bytes:
            raise SourceFailed(f"is another file: it has {found} bytes")

    def _require_room(self) -> None:
        folder = self.target.parent
        needed = self.part.size_bytes - self.held + _SPARE_BYTES
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise StoreError(
                Problem(
                    code="disk_full",
                    file=self.part.name,
                    found=f"needs {needed} bytes in {shown_path(folder)}, where {free} are free",
                    remedy=_ROOM,
                )
            )

    def _append(self, chunks: Iterator[bytes]) -> None:
        held, name, size = self.held, self.part.name, self.part.size_bytes
        for chunk in chunks:
            held += len(chunk)
            if held > size:
                self.discard()
                raise SourceFailed(f"is another file: it has more than {size} bytes")
            try:
                self.file.write(chunk)
                self.file.flush()
            except OSError as exc:
                raise _unwritable(self.target, exc) from exc
            self.progress(name, held, size)

    def _finish(self) -> None:
        """Verify the file and move it into place; another one is removed."""
        os.fsync(self.file.fileno())
        self.file.seek(0)
        found = hashlib.file_digest(self.file, "sha256").hexdigest()  # type: ignore[arg-type]
        if found != self.part.sha256:
            self.discard()
            raise SourceFailed(f"is another file and was removed: its SHA-256 is {found}")
        try:
            Path(self.file.name).replace(self.target)
        except OSError as exc:
            raise _unwritable(self.target, exc) from exc
        keep_digest(self.target, found)
        self._version_note.unlink(missing_ok=True)


@contextlib.contextmanager
def unfinished(part: ModelPart, target: Path, *, progress: Progress) -> Iterator[Unfinished]:
    """Hold the file that grows until it is moved to `target`.

    Raises
    ------
    InstrumentError
        ``pull_busy``: another process holds it.
    StoreError
        ``disk_full``, ``models_unwritable``.
    """
    path = target.with_name(target.name + UNFINISHED)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as exc:
        raise _unwritable(target, exc) from exc
    with file:
        if not _is_ours(file, path):
            raise InstrumentError(
                Problem(
                    code="pull_busy",
                    file=target.name,
                    found="is being fetched by another `models pull`",
                    remedy="wait for it",
                )
            )
        growing = Unfinished(part=part, target=target, file=file, progress=progress)
        try:
            yield growing
        finally:
            growing.tidy()


def _is_ours(file: IO[bytes], path: Path) -> bool:
    """Return whether no other process holds the file, nor has moved it into place by now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except OSError:
        return False
