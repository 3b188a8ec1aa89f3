"""How long an MP3 without an info frame really is.

libsndfile then guesses the length from the first frame's bit rate, and reads no further than its
guess: a file of variable rate loses its end. Here the frames are counted, and an info frame with
that count is put in front on the way; the file itself is never written.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquesto_core.instruments.spliced_file import Splice

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["info_frame_splice"]

_MPEG_1_KBPS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_MPEG_2_KBPS = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_RATES_HZ = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}
_INFO_RATE_INDEX = 9  # long enough a frame at every sample rate
_RESYNC_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    head: int
    length: int
    side_bytes: int


def info_frame_splice(data: mmap) -> Splice | None:
    """Return the info frame to put before an MPEG layer III stream that has none, else None.

    None also for a stream whose frames cannot be followed (free bit rate, other layers): libsndfile
    then says how long it is.
    """
    first_at = _first_frame(data)
    first = None if first_at is None else _read_frame(data, first_at)
    if first_at is None or first is None or _has_info(data, first_at, first):
        return None
    n_frames = _count_frames(data, first_at)
    if n_frames < 2:
        return None
    head = (first.head & ~(0xF << 12) & ~(1 << 9)) | _INFO_RATE_INDEX << 12 | 1 << 16
    frame = _parse_head(head)
    if frame is None:
        return None
    content = b"Xing" + struct.pack(">II", 1, n_frames)
    before = struct.pack(">I", head) + bytes(frame.side_bytes)
    return Splice(at=first_at, data=(before + content).ljust(frame.length, b"\0"), replaces=False)


def _first_frame(data: mmap) -> int | None:
    at = 0
    while data[at : at + 3] == b"ID3" and len(data) >= at + 10:
        size = data[at + 6 : at + 10]
        at += 10 + (size[0] << 21 | size[1] << 14 | size[2] << 7 | size[3])
    return at if _read_frame(data, at) is not None else None


def _read_frame(data: mmap, at: int) -> _Frame | None:
    head = data[at : at + 4]
    return _parse_head(struct.unpack(">I", head)[0]) if len(head) == 4 else None


def _parse_head(head: int) -> _Frame | None:
    version, layer = head >> 19 & 3, head >> 17 & 3
    kbps_index, rate_index = head >> 12 & 15, head >> 10 & 3
    if head >> 21 != 0x7FF or version == 1 or layer != 1 or rate_index == 3:
        return None
    if kbps_index in {0, 15}:
        return None
    is_mpeg_1, is_mono = version == 3, head >> 6 & 3 == 3
    kbps = (_MPEG_1_KBPS if is_mpeg_1 else _MPEG_2_KBPS)[kbps_index]
    slots = (144_000 if is_mpeg_1 else 72_000) * kbps // _RATES_HZ[version][rate_index]
    side = (17 if is_mono else 32) if is_mpeg_1 else (9 if is_mono else 17)
    return _Frame(head=head, length=slots + (head >> 9 & 1), side_bytes=side)


def _has_info(data: mmap, at: int, frame: _Frame) -> bool:
    after_side = at + 4 + frame.side_bytes
    for place in (after_side, after_side + 2):  # two bytes later behind a checksum
        if data[place : place + 4] in {b"Xing", b"Info"}:
            return bool(data[place + 7] & 1)
    return data[at + 36 : at + 40] == b"VBRI"


def _count_frames(data: mmap, at: int) -> int:
    size, count = len(data), 0
    while at + 4 <= size:
        frame = _read_frame(data, at)
        if frame is None:
            resumed = _resync(data, at + 1)
            if resumed is None:
                break
            at = resumed
            continue
        if at + frame.length > size:
            break
        count += 1
        at += frame.length
    return count


def _resync(data: mmap, at: int) -> int | None:
    """Return where two frames follow each other next, within what a decoder would skip."""
    end = min(len(data), at + _RESYNC_BYTES)
    while True:
        at = data.find(b"\xff", at, end)
        if at < 0:
            return None
        frame = _read_frame(data, at)
        if frame is not None and _read_frame(data, at + frame.length) is not None:
            return at
        at += 1
