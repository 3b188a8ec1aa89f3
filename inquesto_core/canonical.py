"""JSON in and out: strict reading, canonical bytes, SHA-256 digests.

Reading refuses what two readers could read differently: NaN and infinities (also as overflowing
numbers), duplicate keys, bytes that are not UTF-8, lone surrogates. A leading byte order mark is
allowed. Writing is one form: keys sorted by code point, no white space, UTF-8, shortest floats.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

from inquesto_core.errors import Problem, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["canonical_bytes", "digest_bytes", "digest_json", "pretty_bytes", "strict_json"]

#: Deeper nesting is refused: the recursive reader and every walker behind it stay bounded.
MAX_DEPTH = 64


class _NotStrict(ValueError):
    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found)
        self.found, self.expected = found, expected


def _refuse_constant(token: str) -> Any:
    raise _NotStrict(f"has the token {token}", "a finite number or null")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _NotStrict(f"has the number {text[:24]}", "a finite number or null")
    return value


def _bounded_int(text: str) -> int:
    if len(text) > 64:
        raise _NotStrict(f"has a number of {len(text)} digits", "at most 64 digits")
    return int(text)


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise _NotStrict(f"has the key {json.dumps(key)[:80]} twice", "every key once")
        out[key] = value
    return out


def _walk(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _NotStrict(f"is nested deeper than {MAX_DEPTH}", "flatter JSON")
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise _NotStrict("has a lone surrogate", "valid Unicode text")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _walk(key, depth + 1)
            _walk(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, depth + 1)


def strict_json(data: bytes, *, file: str | None = None) -> Any:
    """Return the JSON value in `data`, read in the one way every reader agrees on.

    Parameters
    ----------
    data : bytes
        UTF-8, with or without a byte order mark.
    file : str, optional
        Named in the error.

    Raises
    ------
    SchemaError
        Code ``json_invalid``: not UTF-8, not JSON, NaN or infinite, a key twice, a lone surrogate,
        nested too deep.

    Examples
    --------
    >>> strict_json(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    try:
        text = data.decode("utf-8-sig", errors="strict")
        value = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_bounded_int,
            object_pairs_hook=_unique,
        )
        _walk(value, 0)
    except UnicodeDecodeError as exc:
        found, expected = f"is not UTF-8 at byte {exc.start}", "UTF-8 text"
    except json.JSONDecodeError as exc:
        found, expected = f"line {exc.lineno} column {exc.colno}: {exc.msg}", "valid JSON"
    except _NotStrict as exc:
        found, expected = exc.found, exc.expected
    except RecursionError:
        found, expected = f"is nested deeper than {MAX_DEPTH}", "flatter JSON"
    else:
        return value
    raise SchemaError(Problem(code="json_invalid", found=found, expected=expected, file=file))


def canonical_bytes(value: Any) -> bytes:
    r"""Return the one byte form of a JSON value: sorted keys, no white space, UTF-8.

    >>> canonical_bytes({"b": 1, "a": "é"})
    b'{"a":"\xc3\xa9","b":1}'
    """
    return json.dumps(
        value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    ).encode("utf-8")


def pretty_bytes(value: Any) -> bytes:
    """Return JSON for people and for diffs: keys in the order given, one space of indent."""
    return (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode("utf-8")


def digest_bytes(data: bytes) -> str:
    """Return the lower-case hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def digest_json(value: Any) -> str:
    """Return the SHA-256 of the canonical bytes of a JSON value."""
    return digest_bytes(canonical_bytes(value))
