"""How data lies in a page: JSON, compressed, as text that no page can take for its own.

What a person reads is made harmless here, once for everything that is packed: control,
bidirectional and invisible characters are shown as escapes. The page itself writes text and never
markup.
"""

from __future__ import annotations

import base64
import gzip
import math
from typing import TYPE_CHECKING, Any

from inquesto_core.canonical import canonical_bytes
from inquesto_core.report.escape import escape_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["coded", "pack", "shown"]

_LEVEL = 9


def shown(value: Any) -> Any:
    r"""Return a value whose texts may be read as they are; a line break stays one.

    >>> shown({"a": ["x\u202ey\nz"]})
    {'a': ['x\\u202ey\nz']}
    """
    if isinstance(value, str):
        return "\n".join(map(escape_terminal, value.split("\n")))
    if isinstance(value, dict):
        return {key: shown(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [shown(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def pack(value: Any) -> str:
    """Return a value as gzip of JSON in base64, the same text for the same value.

    Raises
    ------
    ValueError
        It holds what JSON cannot say.
    """
    data = gzip.compress(canonical_bytes(shown(value)), _LEVEL, mtime=0)
    return base64.b64encode(data).decode("ascii")


def coded(values: Iterable[Any]) -> dict[str, Sequence[Any]]:
    """Return a column as its different values and each row's place among them.

    >>> coded(["a", None, "a"])
    {'values': ['a', None], 'at': [0, 1, 0]}
    """
    places: dict[Any, int] = {}
    at = [places.setdefault(value, len(places)) for value in values]
    return {"values": list(places), "at": at}
