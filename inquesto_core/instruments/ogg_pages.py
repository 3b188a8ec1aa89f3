"""Whether an Ogg stream is whole: libsndfile reads to the last page there is and says nothing.

Pages are followed by their headers; their checksums are the decoder's to hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["OggPages", "read_ogg_pages"]

_HEADER = 27
_LAST_PAGE = 0x04


@dataclass(frozen=True, slots=True, kw_only=True)
class OggPages:
    """What the pages say.

    Parameters
    ----------
    is_cut : bool
        The last page ends beyond the end of the file.
    has_end : bool
        Every stream has its last page.
    n_gaps : int
        Places where pages are missing or bytes are no page.
    """

    is_cut: bool
    has_end: bool
    n_gaps: int


def read_ogg_pages(data: mmap) -> OggPages | None:
    """Return how whole the stream is, None where the file is no Ogg."""
    if data[:4] != b"OggS":
        return None
    size, at, gaps = len(data), 0, 0
    numbers: dict[int, int] = {}
    ended: set[int] = set()
    while at < size:
        if data[at : at + 4] != b"OggS":
            at = data.find(b"OggS", at)
            gaps += 1
            if at < 0:
                break
        head = data[at : at + _HEADER]
        n_segments = head[26] if len(head) == _HEADER else 0
        lengths = data[at + _HEADER : at + _HEADER + n_segments]
        end = at + _HEADER + n_segments + sum(lengths)
        if len(head) < _HEADER or len(lengths) < n_segments or end > size:
            return OggPages(is_cut=True, has_end=False, n_gaps=gaps)
        serial, number = (
            int.from_bytes(head[14:18], "little"),
            int.from_bytes(head[18:22], "little"),
        )
        gaps += number != numbers.get(serial, number - 1) + 1
        numbers[serial] = number
        if head[5] & _LAST_PAGE:
            ended.add(serial)
        at = end
    return OggPages(is_cut=False, has_end=ended == numbers.keys(), n_gaps=gaps)
