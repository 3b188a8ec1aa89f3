"""Files of this machine: written under a temporary name and renamed, readable by their owner."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.places.place import Place

__all__ = ["TEMPORARY_SUFFIX", "LocalPlace"]

#: How a file is named until it is whole; one that is left was of a process that was killed.
TEMPORARY_SUFFIX = ".tmp"


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """A file or folder; see `inquesto_core.places.place.Place`."""

    path: Path

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.name

    @property
    def location(self) -> Path:
        """The path."""
        return self.path

    def child(self, *names: str) -> LocalPlace:
        """Return the place of that name in it."""
        return LocalPlace(self.path.joinpath(*names))

    def exists(self) -> bool:
        """Return whether a file lies here."""
        return self.path.is_file()

    def read(self) -> bytes:
        """Return the file's bytes; a pipe or a device is refused, as its end may never come."""
        if self.path.exists() and not self.path.is_file():
            raise OSError(errno.EINVAL, "is no regular file")
        return self.path.read_bytes()

    def open_table(self) -> Path:
        """Return the path."""
        return self.path

    def write(self, data: bytes) -> None:
        """Write a file whole or not at all; the folder is made if need be."""
        path = self.path.with_name(f"{self.path.name}.{os.getpid()}{TEMPORARY_SUFFIX}")
        with contextlib.suppress(FileExistsError):
            self.path.parent.mkdir(mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
        path.replace(self.path)

    def remove(self) -> None:
        """Take the file away."""
        self.path.unlink(missing_ok=True)

    def files(self) -> Iterator[tuple[str, LocalPlace]]:
        """Yield each file below with its path from here, sorted; no unfinished ones.

        A folder that may not be read is an error: what lies in it would be passed over in silence.
        """
        for folder, folders, names in os.walk(self.path, onerror=_unless_absent):
            folders.sort()
            here = Path(folder)
            for name in sorted(names):
                path = here / name
                if not name.endswith(TEMPORARY_SUFFIX) and path.is_file():
                    yield path.relative_to(self.path).as_posix(), LocalPlace(path)

    def is_empty(self) -> bool:
        """Return whether nothing lies below."""
        return not self.path.is_dir() or not any(self.path.iterdir())

    def move_to(self, target: Place) -> None:
        """Rename the file."""
        assert isinstance(target, LocalPlace)
        self.path.replace(target.path)

    def make_folder(self) -> None:
        """Make a folder of its owner here, and those above."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def remove_folder(self) -> None:
        """Take away everything below, as far as it can be taken."""
        shutil.rmtree(self.path, ignore_errors=True)

    @contextlib.contextmanager
    def alone(self, *, wait: bool = False) -> Iterator[bool]:
        """Hold the lock that is this file."""
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "rb+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True


def _unless_absent(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
