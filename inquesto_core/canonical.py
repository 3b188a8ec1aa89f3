"""JSON in and out: strict reading (of TOML too), canonical bytes, SHA-256 digests.

Reading refuses what two readers could read differently: NaN and infinities (also as overflowing
numbers), duplicate keys, bytes that are not UTF-8, lone surrogates; the error says at which byte,
line and column. A leading byte order mark is allowed. Writing is one form: keys sorted by code
point, no white space, UTF-8, shortest floats.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from inquesto_core.errors import Problem, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "at_line",
    "canonical_bytes",
    "digest_bytes",
    "digest_json",
    "pretty_bytes",
    "strict_json",
    "strict_toml",
]

#: Deeper nesting is refused: the recursive reader and every walker behind it stay bounded.
MAX_DEPTH = 64
#: Of an integer: some readers stop at 4,300, and nothing that is counted has as many.
MAX_DIGITS = 64


#: What a reader could take differently: a number, a key that stands twice, a text, the depth.
_Hazard: TypeAlias = Literal["number", "key", "text", "depth"]

#: A text (with the colon that makes it a key), a bracket, or any other word or mark.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<key>\s*:)?|[][{}]|[^][{}\s,:"]+')


class _NotStrict(ValueError):
    def __init__(self, hazard: _Hazard, found: str, expected: str) -> None:
        super().__init__(found)
        self.hazard, self.found, self.expected = hazard, found, expected


def _refuse_constant(token: str) -> Any:
    raise _NotStrict("number", f"has the token {token}", "a finite number or null")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _NotStrict("number", f"has the number {text[:24]}", "a finite number or null")
    return value


def _bounded_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        found = f"has a number of {len(text)} digits"
        raise _NotStrict("number", found, f"at most {MAX_DIGITS} digits")
    return int(text)


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise _NotStrict("key", f"has the key {json.dumps(key)[:80]} twice", "every key once")
        out[key] = value
    return out


def _too_deep() -> _NotStrict:
    return _NotStrict("depth", f"is nested deeper than {MAX_DEPTH}", "flatter JSON")


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _walk(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, str):
        if _has_surrogate(value):
            raise _NotStrict("text", "has a lone surrogate", "valid Unicode text")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _walk(key, depth + 1)
            _walk(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _walk(inner, depth + 1)


def _is_strict_word(word: str) -> bool:
    """Return whether a word that JSON knows is one that every reader takes alike."""
    if word in {"true", "false", "null"}:
        return True
    try:
        json.loads(
            word, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded_int
        )
    except _NotStrict:
        return False
    return True


def _hazards(text: str) -> Iterator[tuple[_Hazard, int]]:
    """Yield the hazards of a text that is JSON up to them, each kind in the reader's order.

    The reader's hooks are told no position. This second reading, only of text that was refused,
    finds it: a key that stands twice is met at the end of its object, everything else in place.
    """
    keys: list[set[str]] = []  # of the open objects and lists
    twice: list[int | None] = []
    for token in _TOKEN.finditer(text):
        first, at = token[0][0], token.start()
        if first in "]}":
            keys.pop()
            repeated = twice.pop()
            if repeated is not None:
                yield "key", repeated
            continue
        if len(keys) > MAX_DEPTH:
            yield "depth", at
        if first in "[{":
            keys.append(set())
            twice.append(None)
        elif first != '"':
            if not _is_strict_word(token[0]):
                yield "number", at
        else:
            value = json.loads(token[0].removesuffix(token["key"] or ""))
            if _has_surrogate(value):
                yield "text", at
            if token["key"]:
                if value in keys[-1] and twice[-1] is None:
                    twice[-1] = at
                keys[-1].add(value)


def _place(data: bytes, at: int) -> str:
    """Return where byte `at` of `data` stands; lines and columns count characters from 1."""
    before = data[:at].decode("utf-8-sig")
    line_start = before.rfind("\n") + 1
    return f"line {before.count(chr(10)) + 1} column {len(before) - line_start + 1} (byte {at})"


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
        nested too deep. The problem's pointer is the place: ``line 3 column 12 (byte 40)``.

    Examples
    --------
    >>> strict_json(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    text = ""
    try:
        text = data[start:].decode("utf-8", errors="strict")
        value = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_bounded_int,
            object_pairs_hook=_unique,
        )
        _walk(value, 0)
    except UnicodeDecodeError as exc:
        at, found, expected = start + exc.start, "is not UTF-8", "UTF-8 text"
    except json.JSONDecodeError as exc:
        at, found, expected = start + _bytes_before(text, exc.pos), f"has {exc.msg}", "valid JSON"
    except (_NotStrict, RecursionError) as exc:
        refusal = exc if isinstance(exc, _NotStrict) else _too_deep()
        place = next(place for hazard, place in _hazards(text) if hazard == refusal.hazard)
        at = start + _bytes_before(text, place)
        found, expected = refusal.found, refusal.expected
    else:
        return value
    problem = Problem(
        code="json_invalid", found=found, expected=expected, file=file, pointer=_place(data, at)
    )
    raise SchemaError(problem)


def _bytes_before(text: str, at: int) -> int:
    return len(text[:at].encode("utf-8"))


def at_line(problem: Problem, line: int) -> Problem:
    """Return what `strict_json` found in one line of a file, with its place in that file.

    Parameters
    ----------
    line : int
        From 1.
    """
    column = _COLUMN.search(problem.pointer or "")
    place = f"line {line} {column[0]}" if column else f"line {line}"
    return replace(problem, pointer=place)


_COLUMN = re.compile(r"column \d+")
_TOML_PLACE = re.compile(r"\s*\(at (line \d+), (column \d+)\)$")


def strict_toml(data: bytes, *, file: str, code: str) -> Any:
    """Return the JSON value that a TOML file holds: no date in it, and no number without an end.

    Raises
    ------
    SchemaError
        With the `code` that is given; the pointer is line and column, or the value's place.

    Examples
    --------
    >>> strict_toml(b"a = [1, 2.5]", file="x.toml", code="toml")
    {'a': [1, 2.5]}
    """
    import tomllib

    found, pointer = "", None
    try:
        value = tomllib.loads(data.decode("utf-8-sig"))
        pointer, found = _not_json(value, "", 0)
    except UnicodeDecodeError as exc:
        pointer, found = f"byte {exc.start}", "is not UTF-8"
    except RecursionError:
        found = f"is nested deeper than {MAX_DEPTH}"
    except ValueError as exc:
        told, at_end, _ = str(exc).partition(" (at end of document)")
        place = _TOML_PLACE.search(told)
        if place or at_end:
            last = data.rstrip().count(b"\n") + 1
            pointer = " ".join(place.groups()) if place else f"line {last}"
        found = f"is no TOML: {_TOML_PLACE.sub('', told)[:200]}"
    if not found:
        return value
    raise SchemaError(
        Problem(
            code=code,
            file=file,
            pointer=pointer,
            found=found,
            expected="a TOML file of texts, finite numbers, true and false",
        )
    )


def _not_json(value: Any, pointer: str, depth: int) -> tuple[str | None, str]:
    """Return where the first value stands that JSON does not have, and what it is."""
    if depth > MAX_DEPTH:
        return pointer, f"is nested deeper than {MAX_DEPTH}"
    if isinstance(value, dict | list):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in members:
            step = str(key).replace("~", "~0").replace("/", "~1")
            place, found = _not_json(inner, f"{pointer}/{step}", depth + 1)
            if found:
                return place, found
        return None, ""
    if isinstance(value, float) and not math.isfinite(value):
        return pointer, f"is {value}"
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        return pointer, f"has a number of more than {MAX_DIGITS} digits"
    if isinstance(value, str | int | float):
        return None, ""
    return pointer, f"is the date or time {value}"


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
