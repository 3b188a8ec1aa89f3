"""Changes to a file that know its form: values of JSON, TOML and CSV, fields of binary headers.

Every function takes a `random.Random` and bytes and returns bytes; the same seed, the same bytes.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

__all__ = ["mutated"]


class _Raw:
    """Text that stands in JSON as it is: what no value of Python is written as."""

    def __init__(self, text: str) -> None:
        self.text = text


_LONG = 200_000
_NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2, 0.5, -0.5, 2**31, -(2**31) - 1, 2**53 + 1, 2**63, -(2**63) - 1, 10**40, 10**70,
    1e308, -1e308, 5e-324, _Raw("1e400"), _Raw("-1e400"), _Raw("NaN"), _Raw("Infinity"),
    _Raw("-0"), _Raw("-0.0"), _Raw("1E5"), _Raw("01"), _Raw("1_000"), _Raw("0x10"),
)  # fmt: skip
_TEXTS: tuple[Any, ...] = (
    "", " ", "\t", "\n", "a\nb", "a\rb", "\0", "a\0b", "\x1b[2J\x1b[31m", "\x7f", "\x9b31m",
    "\u202egnp.exe", "\u2066x\u2069", "\u200b", "\ufeff", "e\u0301", "\U0001f600", "\ufffe",
    "null", "true", "NaN", "-1", "1e400", "1_000", "=1+1", "@x", "+1", "-x", "%s%n", "{0}",
    "$HOME", "../../../outside", "..", ".", "/", "/etc/passwd", "a/../../b", "..\\..\\b", "C:\\x",
    "//host/x", "file:///etc/passwd", "https://example.invalid/x", "s3://bucket/x", "call.json",
    "CON", "<script>alert(1)</script>", "</script><!--", "]]>", "&lt;", "'\"`", "| a | b |",
    "[x](y)", "w " * 3000, "nine " * 3000, "1" * 5000, "a" * _LONG, "\u00e9" * 300, "(" * 3000,
    "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", "2026-02-30", "2026-13-01T25:61:61Z",
    "sha256:" + "0" * 64, "f" * 64, "(a+)+$", "^(([a-z])+.)+$",
    _Raw('"\\ud800"'), _Raw('"\\udfff\\ud800"'), _Raw('"\\u0000"'), _Raw('"\\x"'),
)  # fmt: skip
_SHAPES: tuple[Any, ...] = ([], {}, [None], [[]], {"": {}}, None, True, False)


def _deep(rng: random.Random) -> Any:
    """Return lists or objects nested about as deep as is allowed, or far deeper."""
    depth = rng.choice((30, 63, 64, 65, 66, 1000, 100_000))
    if rng.random() < 0.5:
        return _Raw("[" * depth + "]" * depth)
    return _Raw('{"a":' * depth + "1" + "}" * depth)


def _scalar(rng: random.Random) -> Any:
    return rng.choice(rng.choice((_NUMBERS, _TEXTS, _TEXTS, _SHAPES)))


def _other_type(rng: random.Random, value: Any) -> Any:
    made = {
        "text": str(value)[:200],
        "list": [value],
        "object": {"value": value},
        "number": len(str(value)),
        "bool": bool(value),
        "null": None,
    }
    return made[rng.choice(sorted(made))]


def _near(rng: random.Random, value: Any) -> Any:
    """Return a value of the same type that is a little off."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((-1, 1, 1000, -1000, 10**6, 10**9, -2 * value))
    if isinstance(value, float):
        return value * rng.choice((-1, 1e-9, 1e9, 0.999))
    if isinstance(value, str):
        at = rng.randint(0, len(value))
        return rng.choice(
            (value[:at], value[at:], value + value, value.upper(), value[:at] + "\0" + value[at:],
             value[::-1], " " + value, value + " ", value[:at] + "\u202e" + value[at:])
        )  # fmt: skip
    if isinstance(value, list):
        kept = copy.copy(value)
        rng.shuffle(kept)
        return rng.choice((kept, value + value, value[1:], value[:1], value * 300, []))
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: value[key] for key in keys[: rng.randint(0, len(keys))]}
    return 0


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value[:50]):
            yield from _places(inner, (*path, at))


def _get(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def _set(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    _get(value, path[:-1])[path[-1]] = new
    return value


def _change_value(rng: random.Random, value: Any, path: tuple[Any, ...]) -> Any:
    here = _get(value, path)
    kind = rng.randrange(6)
    if kind == 0:
        new = _near(rng, here)
    elif kind == 1:
        new = _other_type(rng, here)
    elif kind == 2 and rng.random() < 0.2:
        new = _deep(rng)
    elif kind == 3:
        found = list(_places(value))
        new = copy.deepcopy(_get(value, rng.choice(found)))
    else:
        new = _scalar(rng)
    return _set(value, path, new)


def _change_keys(rng: random.Random, value: Any, path: tuple[Any, ...]) -> Any:
    """Take a member away, add one, put one under another name, or double it."""
    here = _get(value, path)
    if isinstance(here, dict) and here:
        key = rng.choice(list(here))
        kind = rng.randrange(4)
        if kind == 0:
            del here[key]
        elif kind == 1:
            here[rng.choice(("", "x", "\u202e", "a" * 5000, "__proto__", "$ref", key + " "))] = (
                _scalar(rng)
            )
        elif kind == 2:
            here[rng.choice((key.upper(), key + "s", "_" + key))] = here.pop(key)
        else:
            here[_Twice(key)] = _scalar(rng)
    elif isinstance(here, list) and here:
        at = rng.randrange(len(here))
        kind = rng.randrange(3)
        if kind == 0:
            del here[at]
        elif kind == 1:
            here.insert(at, copy.deepcopy(here[at]))
        else:
            here.insert(at, _scalar(rng))
    else:
        return _set(value, path, _scalar(rng))
    return value


class _Twice(str):
    """A key that is another object to a dict, and the same text in a file."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash((str(self), "again"))

    def __eq__(self, other: object) -> bool:
        return self is other


def _json_text(value: Any) -> str:
    if isinstance(value, _Raw):
        return value.text
    if isinstance(value, dict):
        members = (f"{json.dumps(str(key))}: {_json_text(each)}" for key, each in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _change_tree(rng: random.Random, value: Any, text_of: Callable[[Any], str]) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = list(_places(value))
        path = rng.choice(found)
        change = _change_value if rng.random() < 0.6 else _change_keys
        value = change(rng, value, path)
        if isinstance(value, _Raw):
            break
    return text_of(value).encode("utf-8", errors="surrogatepass")


def _mutated_json(rng: random.Random, data: bytes) -> bytes:
    return _change_tree(rng, json.loads(data), _json_text)


def _mutated_lines(rng: random.Random, data: bytes) -> bytes:
    """Change one row of JSON Lines, or its lines."""
    lines = data.decode().split("\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(8)
    if kind < 5 and lines[at].strip():
        lines[at] = _mutated_json(rng, lines[at].encode()).decode("utf-8", "surrogatepass")
    elif kind == 5:
        lines.insert(at, lines[at])
    elif kind == 6:
        del lines[at]
    else:
        lines[at] = lines[at][: len(lines[at]) // 2]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _toml_text(value: Any) -> str:
    if isinstance(value, _Raw):
        return value.text
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        members = (f"{json.dumps(str(key))} = {_toml_text(each)}" for key, each in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_text, value)) + "]"
    if value is None:
        return "nan"
    if isinstance(value, float) and value != value:  # noqa: PLR0124
        return "nan"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _toml_document(value: Any) -> str:
    if not isinstance(value, dict):
        return f"x = {_toml_text(value)}\n"
    return "".join(f"{json.dumps(str(key))} = {_toml_text(each)}\n" for key, each in value.items())


def _mutated_toml(rng: random.Random, data: bytes) -> bytes:
    import tomllib

    return _change_tree(rng, tomllib.loads(data.decode()), _toml_document)


_CELLS = (
    "", " ", "1_000", "1e400", "1e+308", "-1", "nan", "inf", "0x10", "1,5", '"', '""', "=1+1", "@x",
    "\0", "\x1b[31m", "\u202ex", "\u0661\u0662", "a" * _LONG, "x;y", "true", "TRUE", "yes", "null",
    "\n", "'", "1" * 400, "../x", "\ufeff", "0.1", "1e-400", "  5 ", "+5", "\u00a05",
)  # fmt: skip


def _mutated_csv(rng: random.Random, data: bytes) -> bytes:
    rows = list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(rows))
        row = rows[at]
        kind = rng.randrange(9)
        if kind < 4 and row:
            row[rng.randrange(len(row))] = rng.choice(_CELLS)
        elif kind == 4:
            rows.insert(at, list(row))
        elif kind == 5 and len(rows) > 1:
            del rows[at]
        elif kind == 6 and row:
            del row[rng.randrange(len(row))]
        elif kind == 7:
            row.append(rng.choice(_CELLS))
        else:
            rng.shuffle(row)
    target = io.StringIO(newline="")
    csv.writer(target, lineterminator=rng.choice(("\n", "\r\n", "\r"))).writerows(rows)
    text = target.getvalue().encode("utf-8", "surrogatepass")
    return text if rng.random() < 0.8 else _mutated_text(rng, text)


def _mutated_text(rng: random.Random, data: bytes) -> bytes:
    """Change lines of any text, or what it is written in."""
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(9)
    if kind == 0:
        lines[at] = rng.choice([t for t in _TEXTS if isinstance(t, str)]).encode()
    elif kind == 1:
        lines.insert(at, lines[at])
    elif kind == 2:
        del lines[at]
    elif kind == 3:
        lines[at] = lines[at] * rng.choice((2, 100))
    elif kind == 4:
        return data.decode("utf-8", "replace").encode("utf-16")
    elif kind == 5:
        return b"\xef\xbb\xbf" + data
    elif kind == 6:
        return data.replace(b"\n", b"\r")
    elif kind == 7:
        lines[at] += rng.choice((b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\0"))
    else:
        rng.shuffle(lines)
    return b"\n".join(lines)


_WORDS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def _mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """Write numbers into a header or a footer, flip, cut, double or put in bytes anywhere."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        if not out:
            return bytes(out)
        kind = rng.randrange(8)
        head = min(len(out), rng.choice((16, 64, 256, 4096)))
        at = rng.randrange(head) if rng.random() < 0.7 else len(out) - 1 - rng.randrange(head)
        if kind < 3:
            form = rng.choice(("<H", ">H", "<I", ">I", "<Q"))
            raw = struct.pack(form, rng.choice(_WORDS) & (256 ** struct.calcsize(form) - 1))
            out[at : at + len(raw)] = raw
        elif kind == 3:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        elif kind == 4:
            del out[rng.randrange(len(out)) :]
        elif kind == 5:
            del out[at : at + rng.choice((1, 2, 4, 100))]
        elif kind == 6:
            out[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 64))))
        else:
            part = out[at : at + 2000]
            out[at:at] = part
    return bytes(out)


def _whole(rng: random.Random, data: bytes) -> bytes:
    """Return what a file may be instead of itself, whatever its form."""
    return rng.choice(
        (b"", b"\0" * 1000, data[: len(data) // 2], data + data, b"\xff\xfe", b"{}", b"[]", b"null",
         b"PK\x03\x04", b"RIFF", b"\x1f\x8b\x08", b" " * 1_000_000, data[::-1], b"{" * 100_000)
    )  # fmt: skip


_BY_FORM: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "json": _mutated_json,
    "jsonl": _mutated_lines,
    "toml": _mutated_toml,
    "csv": _mutated_csv,
    "text": _mutated_text,
    "bytes": _mutated_bytes,
}


def mutated(rng: random.Random, data: bytes, form: str) -> bytes:
    """Return a file's bytes, changed by its form; now and then as bytes, or replaced whole."""
    chance = rng.random()
    if chance < 0.05:
        return _whole(rng, data)
    if chance < 0.12:
        return _mutated_bytes(rng, data)
    return _BY_FORM[form](rng, data)
