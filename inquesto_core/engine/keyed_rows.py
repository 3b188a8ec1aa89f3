"""Rows that a user brings beside a run, keyed by call id: JSON Lines or CSV, read strictly."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from inquesto_core.canonical import at_line, strict_json
from inquesto_core.errors import Problem, SchemaError
from inquesto_core.places import read_file_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["read_keyed_rows", "read_lines", "refuse_row"]

_SHOWN = 60


def read_keyed_rows(
    path: str | Path, *, required: Sequence[str]
) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of a file, each with its place, such as ``line 3``.

    Parameters
    ----------
    path : str or Path
        ``.csv``: UTF-8, commas, a header; every cell is text. Any other: one JSON object a line.
    required : sequence of str
        Keys that every row must have; ``call_id`` among them must be a text that is not empty.

    Raises
    ------
    SchemaError
        ``rows_invalid``, with file and line.
    """
    file = Path(path)
    text = read_lines(file)
    read = _csv_rows if file.suffix.lower() == ".csv" else _json_rows
    rows = list(read(text, file.name))
    if not rows:
        refuse_row(file.name, "", "holds no row", "at least one")
    for place, row in rows:
        missing = [key for key in required if key not in row]
        if missing:
            refuse_row(file.name, place, f"lacks {', '.join(missing)}", ", ".join(required))
        call_id = row.get("call_id")
        if "call_id" in required and (not isinstance(call_id, str) or not call_id):
            refuse_row(file.name, place, f"has the call_id {_shown(call_id)}", "the id of a call")
    return rows


def read_lines(path: str | Path) -> str:
    """Return a file's text, which is UTF-8 with or without a byte order mark.

    Raises
    ------
    SchemaError
        ``rows_invalid``.
    """
    file = Path(path)
    try:
        return read_file_bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        refuse_row(file.name, f"byte {exc.start}", "is not UTF-8", "UTF-8 text")
    except OSError as exc:
        refuse_row(file.name, "", f"cannot be read: {exc.strerror}", "a readable file")


def refuse_row(file: str, place: str, found: str, expected: str) -> NoReturn:
    """Say what is wrong with a row.

    Raises
    ------
    SchemaError
        Code ``rows_invalid``.
    """
    raise SchemaError(
        Problem(
            code="rows_invalid", file=file, pointer=place or None, found=found, expected=expected
        )
    )


def _json_rows(text: str, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = strict_json(line.encode(), file=file)
        except SchemaError as exc:
            told = at_line(exc.problem, number)
            refuse_row(file, told.pointer or "", told.found, told.expected)
        if not isinstance(value, dict):
            refuse_row(file, f"line {number}", "is no object", "one JSON object a line")
        yield f"line {number}", value


def _csv_rows(text: str, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    while True:
        place = f"line {reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            refuse_row(file, place, f"is no CSV: {exc}", "cells with commas, quotes doubled")
        if not cells:
            continue
        if not header:
            header = cells
            if len(set(header)) != len(header):
                refuse_row(file, place, "names a column twice", "each column once")
            continue
        if len(cells) != len(header):
            refuse_row(file, place, f"has {len(cells)} cells", f"{len(header)}, as the header has")
        yield place, dict(zip(header, cells, strict=True))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
