"""Read a file that somebody named, and never wait for one that is none."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_file_bytes"]


def read_file_bytes(path: Path, most: int = -1) -> bytes:
    """Return the bytes of a file, or its first `most`.

    Raises
    ------
    OSError
        It cannot be read; or it is a pipe, a socket or a device, whose bytes may never come.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is a pipe, a socket or a device")
    with path.open("rb") as file:
        return file.read(most)
