"""What a WAV header promises against the bytes that are there, and how it is read all the same.

Streaming recorders leave placeholder sizes, killed ones stale or larger sizes. libsndfile reads
any size that is too large up to the end of the file; a size of 0 is overlaid with the right one on
the way, the file itself is never written.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Literal

from inquesto_core.instruments.spliced_file import Splice

__all__ = ["WavSizes", "read_wav_sizes"]

#: Sizes that no recorder measured: 2^31 less a page, as pipes get, up to all ones.
_PLACEHOLDER_FROM = 0x7FFF_0000
_ALL_ONES_64 = 0xFFFF_FFFF_FFFF_FFFF
_CONSTANT_FRAME_TAGS = frozenset({1, 3, 6, 7, 0xFFFE})
_MAX_CHUNKS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WavSizes:
    """What became of the promise in the header.

    Parameters
    ----------
    kind : {"as_promised", "placeholder", "truncated", "trailing"}
        "trailing": after the promised data come bytes that are no chunk.
    present_bytes : int
        Bytes from the start of the data to the end of the file, or to the promised end.
    difference_ms : int
        Sound that is missing ("truncated") or unpromised ("trailing"); else 0.
    splice : Splice or None
        What to overlay so that libsndfile reads it.
    """

    kind: Literal["as_promised", "placeholder", "truncated", "trailing"]
    present_bytes: int
    difference_ms: int = 0
    splice: Splice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    order: str
    is_64: bool
    size_at: int  # where the data size is written, in ds64 for a 64-bit file
    data_at: int
    promised: int
    block_align: int
    sample_rate_hz: int
    bytes_per_second: int
    has_constant_frames: bool

    def milliseconds(self, n_bytes: int) -> int:
        if self.has_constant_frames and self.block_align and self.sample_rate_hz:
            return n_bytes // self.block_align * 1000 // self.sample_rate_hz
        return n_bytes * 1000 // self.bytes_per_second if self.bytes_per_second else 0


def read_wav_sizes(fd: int, size: int) -> WavSizes | None:
    """Return how a WAV's promise and its bytes compare; None where it is no WAV with data.

    Parameters
    ----------
    fd : int
        The open file; its position is not moved.
    size : int
        Bytes in the file.
    """
    header = _read_header(fd, size)
    if header is None:
        return None
    present = size - header.data_at
    promised = header.promised
    unknown = {0xFFFF_FFFF, _ALL_ONES_64} if header.is_64 else {0xFFFF_FFFF}
    if promised in unknown or (promised > present and promised >= _placeholder_from(header)):
        splice = _right_size(header, present) if header.is_64 else None
        return WavSizes(kind="placeholder", present_bytes=present, splice=splice)
    if promised > present:
        lacking = header.milliseconds(promised) - header.milliseconds(present)
        return WavSizes(kind="truncated", present_bytes=present, difference_ms=lacking)
    if present == promised or _are_chunks(fd, header.data_at + promised, size, header.order):
        return WavSizes(kind="as_promised", present_bytes=promised)
    if promised == 0:
        return WavSizes(
            kind="placeholder", present_bytes=present, splice=_right_size(header, present)
        )
    return WavSizes(
        kind="trailing",
        present_bytes=promised,
        difference_ms=header.milliseconds(present - promised),
    )


def _placeholder_from(header: _Header) -> int:
    return 1 << 48 if header.is_64 else _PLACEHOLDER_FROM


def _right_size(header: _Header, present: int) -> Splice:
    length = present // max(1, header.block_align) * max(1, header.block_align)
    layout = header.order + ("Q" if header.is_64 else "I")
    if not header.is_64:
        length = min(length, 0xFFFF_FFFE)
    return Splice(at=header.size_at, data=struct.pack(layout, length), replaces=True)


def _read_header(fd: int, size: int) -> _Header | None:
    start = os.pread(fd, 12, 0)
    if start[:4] not in {b"RIFF", b"RIFX", b"RF64"} or start[8:12] != b"WAVE":
        return None
    order = ">" if start[:4] == b"RIFX" else "<"
    at, long_size_at, layout = 12, None, None
    for _ in range(_MAX_CHUNKS):
        head = os.pread(fd, 8, at)
        if len(head) < 8:
            return None
        name, length = head[:4], struct.unpack(order + "I", head[4:])[0]
        if name == b"data":
            break
        if name == b"ds64" and start[:4] == b"RF64":
            long_size_at = at + 16
        if name == b"fmt ":
            layout = os.pread(fd, 16, at + 8)
        at += 8 + length + (length & 1)
        if at > size:
            return None
    else:
        return None
    if layout is None or len(layout) < 16:
        return None
    tag, _, rate, per_second, align, _ = struct.unpack(order + "HHIIHH", layout)
    is_64 = long_size_at is not None and length == 0xFFFF_FFFF
    size_at = long_size_at if is_64 and long_size_at is not None else at + 4
    if is_64:
        field = os.pread(fd, 8, size_at)
        length = struct.unpack(order + "Q", field)[0]
    return _Header(
        order=order,
        is_64=is_64,
        size_at=size_at,
        data_at=at + 8,
        promised=length,
        block_align=align,
        sample_rate_hz=rate,
        bytes_per_second=per_second,
        has_constant_frames=tag in _CONSTANT_FRAME_TAGS,
    )


def _are_chunks(fd: int, at: int, size: int, order: str) -> bool:
    """Return whether the bytes from `at` on are whole chunks, or fewer than a chunk's header."""
    if at & 1 and os.pread(fd, 1, at) == b"\0":
        at += 1
    for _ in range(_MAX_CHUNKS):
        if size - at < 8:
            return True
        head = os.pread(fd, 8, at)
        if not all(0x20 <= letter < 0x7F for letter in head[:4]):
            return False
        length = struct.unpack(order + "I", head[4:])[0]
        at += 8 + length + (length & 1)
        if at > size + 1:
            return False
    return False
