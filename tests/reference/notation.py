"""A small notation for two-channel timelines, so that a test shows the call it is about.

``"C 0-1500 | A 2000-3500 4200-5000"``: C is the caller, A the agent, milliseconds throughout.
A side may appear more than once, in any order.
"""

from __future__ import annotations

import re

Interval = tuple[int, int]

_SIDES = {"C": "caller", "A": "agent"}
_RANGE = re.compile(r"(-?\d+)-(-?\d+)")


def make_segments(notation: str) -> dict[str, list[Interval]]:
    """Return the segments of both sides, each sorted by start.

    Raises
    ------
    ValueError
        A part does not begin with C or A, or a range is not ``start-end`` with start <= end.

    Examples
    --------
    >>> make_segments("C 0-1500 | A 2000-3500 4200-5000")
    {'caller': [(0, 1500)], 'agent': [(2000, 3500), (4200, 5000)]}
    """
    segments: dict[str, list[Interval]] = {"caller": [], "agent": []}
    for part in notation.split("|"):
        words = part.split()
        if not words:
            continue
        if words[0] not in _SIDES:
            raise ValueError(f"{part.strip()!r} begins with {words[0]!r}; expected C or A")
        for word in words[1:]:
            segments[_SIDES[words[0]]].append(_read_range(word))
    for side in segments.values():
        side.sort()
    return segments


def _read_range(word: str) -> Interval:
    match = _RANGE.fullmatch(word)
    if match is None:
        raise ValueError(f"{word!r} is no range; expected start-end in ms")
    start, end = int(match[1]), int(match[2])
    if end < start:
        raise ValueError(f"{word!r} ends before it starts")
    return start, end
