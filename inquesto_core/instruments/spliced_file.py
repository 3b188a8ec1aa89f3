"""A file read with a few bytes changed or put before it, while the file itself stays as it is."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["Splice", "SplicedFile"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Splice:
    """Bytes that stand at `at`: instead of the file's own, or in front of what follows from there.

    Parameters
    ----------
    at : int
        Byte offset in the file on disk.
    data : bytes
    replaces : bool
        True: instead of as many bytes there. False: the file begins with `data` and goes on with
        its own bytes from `at`.
    """

    at: int
    data: bytes
    replaces: bool


class SplicedFile(io.RawIOBase):
    """The file behind `fd`, read-only, with a splice.

    Parameters
    ----------
    fd : int
        The open file; stays open, its position is not moved.
    size : int
        Bytes in the file.
    splice : Splice
    """

    def __init__(self, fd: int, size: int, splice: Splice) -> None:
        super().__init__()
        self._fd = fd
        self._splice = splice
        data = len(splice.data)
        self._from = splice.at if splice.replaces else 0
        self._shift = 0 if splice.replaces else splice.at - data
        self._size = size if splice.replaces else size - splice.at + data
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position in the spliced file."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to `offset` from the start, the position or the end, and return the position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill `buffer` from the position on and return how many bytes there were."""
        view = memoryview(buffer).cast("B")
        start, end = self._position, min(self._position + len(view), self._size)
        if end <= start:
            return 0
        piece_from, piece_to = self._from, self._from + len(self._splice.data)
        at = start
        while at < end:
            if piece_from <= at < piece_to:
                chunk = self._splice.data[at - piece_from : end - piece_from]
            else:
                stop = piece_from if at < piece_from < end else end
                chunk = os.pread(self._fd, stop - at, at + self._shift)
            if not chunk:
                break
            view[at - start : at - start + len(chunk)] = chunk
            at += len(chunk)
        self._position = at
        return at - start
