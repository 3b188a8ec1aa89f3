"""When two JSON values are the same, how far apart they may be, and where they differ."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from inquesto_core.canonical import canonical_bytes, digest_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Difference",
    "as_one_number",
    "differences",
    "path_pattern",
    "same_set",
    "same_value",
    "state_hash",
    "touches",
    "without",
]

#: A JSON pointer's steps; ``*`` stands for any one step.
Pattern = tuple[str, ...]

_ABSENT = object()
_ANY = "*"


class Difference(NamedTuple):
    """One place where two values differ; a side that lacks it has ``has_`` false."""

    path: Pattern
    left: Any
    right: Any
    has_left: bool
    has_right: bool

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer; the whole value is the empty one."""
        return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in self.path)


def path_pattern(pointer: str) -> Pattern:
    """Return a JSON pointer's steps.

    >>> path_pattern("/orders/*/a~1b")
    ('orders', '*', 'a/b')
    """
    return tuple(
        step.replace("~1", "/").replace("~0", "~") for step in pointer.removeprefix("/").split("/")
    )


def as_one_number(value: Any) -> Any:
    """Return a value whose whole numbers are integers, so that 49 and 49.0 are written alike."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: as_one_number(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_one_number(inner) for inner in value]
    return value


def same_value(left: Any, right: Any, *, tolerance: float = 0) -> bool:
    """Return whether two JSON values are the same: 1 and 1.0 are, 1 and true are not.

    Parameters
    ----------
    tolerance : float
        Numbers anywhere in them may be at most this far apart, as they are written: 49.51 is 0.01
        from 49.5.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            same_value(value, right[key], tolerance=tolerance) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            same_value(one, other, tolerance=tolerance)
            for one, other in zip(left, right, strict=True)
        )
    if tolerance and isinstance(left, int | float) and isinstance(right, int | float):
        return abs(Decimal(str(left)) - Decimal(str(right))) <= Decimal(str(tolerance))
    return bool(left == right)


def same_set(left: Any, right: Sequence[Any]) -> bool:
    """Return whether a value is a list of the same items, in any order and however often."""
    return isinstance(left, list) and _items(left) == _items(right)


def _items(values: Sequence[Any]) -> set[bytes]:
    return {canonical_bytes(as_one_number(value)) for value in values}


def differences(left: Any, right: Any, path: Pattern = ()) -> Iterator[Difference]:
    """Yield where two values differ, each place once, in order of the path.

    Objects are compared by key, lists by index; a place that one side lacks is one difference,
    whatever it holds.
    """
    if isinstance(left, dict) and isinstance(right, dict):
        pairs = [
            (key, left.get(key, _ABSENT), right.get(key, _ABSENT)) for key in {**left, **right}
        ]
        pairs.sort(key=lambda pair: pair[0])
    elif isinstance(left, list) and isinstance(right, list):
        longest = max(len(left), len(right))
        pairs = [(str(at), _item(left, at), _item(right, at)) for at in range(longest)]
    else:
        if not same_value(left, right):
            yield Difference(path, left, right, has_left=True, has_right=True)
        return
    for step, one, other in pairs:
        if one is _ABSENT or other is _ABSENT:
            yield Difference(
                (*path, step),
                None if one is _ABSENT else one,
                None if other is _ABSENT else other,
                has_left=one is not _ABSENT,
                has_right=other is not _ABSENT,
            )
        else:
            yield from differences(one, other, (*path, step))


def _item(values: list[Any], at: int) -> Any:
    return values[at] if at < len(values) else _ABSENT


def touches(path: Pattern, pattern: Pattern) -> bool:
    """Return whether a place is the one that a pattern names, or lies inside it."""
    return len(path) >= len(pattern) and all(
        wanted in (_ANY, step) for step, wanted in zip(path, pattern, strict=False)
    )


def without(value: Any, patterns: Sequence[Pattern]) -> Any:
    """Return a value without the places that the patterns name."""
    if not isinstance(value, dict | list) or not patterns:
        return value
    here = {pattern[0] for pattern in patterns if len(pattern) == 1}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    kept = [
        (key, without(inner, _beneath(patterns, str(key))))
        for key, inner in pairs
        if _ANY not in here and str(key) not in here
    ]
    return dict(kept) if isinstance(value, dict) else [inner for _, inner in kept]


def _beneath(patterns: Sequence[Pattern], step: str) -> list[Pattern]:
    return [pattern[1:] for pattern in patterns if len(pattern) > 1 and pattern[0] in (_ANY, step)]


def state_hash(state: Any) -> str:
    """Return the SHA-256 of a state's canonical JSON, whole numbers written as integers."""
    return digest_json(as_one_number(state))
