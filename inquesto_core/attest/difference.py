"""Where two JSON values differ, as JSON pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["differing_pointers"]


def differing_pointers(left: Any, right: Any, *, at: str = "") -> Iterator[str]:
    """Yield the pointer of each innermost value that is not the same, of either kind too.

    >>> list(differing_pointers({"a": [1, 2], "b": 1}, {"a": [1, 3], "c": 1}))
    ['/a/1', '/b', '/c']
    >>> list(differing_pointers(1, True))
    ['']
    """
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            inner = f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
            if key in left and key in right:
                yield from differing_pointers(left[key], right[key], at=inner)
            else:
                yield inner
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for position, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from differing_pointers(one, other, at=f"{at}/{position}")
    elif type(left) is not type(right) or left != right:
        yield at
