"""How a run of many calls lies on disk: in partitions, by a hash of each call's name.

    RUN/parts/<4 hex digits>/      calls.parquet, events.parquet, evidence/*.parquet of its calls

A run of at most `CALLS_A_PART` calls is one partition, and lies in the run folder itself; others
have a power of two of them, with no more calls each on average. A partition is reduced by itself,
so that memory does not grow with the run; which calls share one changes no record.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = [
    "CALLS_A_PART",
    "PARTS_FOLDER",
    "WHOLE",
    "part_of_call",
    "parts_of",
    "place_of_part",
    "split_calls",
]

#: What a processor's cache holds best: of twice as many, or half, each call costs a tenth more.
CALLS_A_PART = 8_192

#: Where partitions lie in a run folder.
PARTS_FOLDER = "parts"
_DIGITS = 4
#: The partition of a run that has no other.
WHOLE = ""


def split_calls(call_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of partitions, sorted, and the calls of each, in the order given."""
    calls = list(call_ids)
    bits = (max(len(calls) - 1, 0) // CALLS_A_PART).bit_length()
    found: dict[str, list[str]] = {}
    for call_id in calls:
        found.setdefault(_name(call_id, bits), []).append(call_id)
    return dict(sorted(found.items()))


def _name(call_id: str, bits: int) -> str:
    if bits == 0:
        return WHOLE
    first = int.from_bytes(hashlib.sha256(call_id.encode()).digest()[: _DIGITS // 2], "big")
    return f"{first >> (4 * _DIGITS - bits) << (4 * _DIGITS - bits):0{_DIGITS}x}"


def place_of_part(run: Path, part: str) -> Path:
    """Return the folder of a partition."""
    return run / PARTS_FOLDER / part if part else run


def parts_of(run: Path) -> list[str]:
    """Return the names of a run's partitions, sorted."""
    folder = run / PARTS_FOLDER
    if not folder.is_dir():
        return [WHOLE]
    return sorted(path.name for path in folder.iterdir() if _is_name(path.name)) or [WHOLE]


def part_of_call(run: Path, call_id: str) -> str:
    """Return the partition that holds a call, if the run has it."""
    names = parts_of(run)
    wanted = _name(call_id, 4 * _DIGITS)
    # Each is named by the first hash that it may hold.
    return max((name for name in names if name <= wanted), default=names[0])


def _is_name(name: str) -> bool:
    return len(name) == _DIGITS and all(letter in "0123456789abcdef" for letter in name)
