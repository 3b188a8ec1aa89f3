"""Which folders a manifest names, row by row, and which of its rows say nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inquesto_core.canonical import at_line, strict_json
from inquesto_core.errors import BundleError, Problem, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["MANIFEST_SUFFIXES", "manifest_rows"]

MANIFEST_SUFFIXES = (".jsonl", ".parquet")

#: One row is a path and perhaps a few columns more.
MAX_ROW_BYTES = 64 * 1024
_ROW_CODE = "manifest_row"
_NO_COLUMN = "there is no column bundle"


def manifest_rows(manifest: Path) -> Iterator[tuple[str, str | Problem]]:
    """Yield for each row of a manifest where it stands, and the path it names or what is wrong.

    Parameters
    ----------
    manifest : Path
        ``.jsonl``: one object a line with the key ``bundle``, blank lines allowed; ``.parquet``:
        a text column ``bundle``. Other keys and columns are ignored.

    Raises
    ------
    BundleError
        Code ``manifest_unreadable``: the file as a whole cannot be read.
    """
    rows = _jsonl_rows if manifest.suffix.lower() == ".jsonl" else _parquet_rows
    try:
        for place, value in rows(manifest):
            usable = isinstance(value, Problem) or (
                isinstance(value, str) and value != "" and value.isprintable()
            )
            yield place, value if usable else _row_problem(place, "names no bundle")
    except (OSError, ValueError) as exc:
        reason = "it is no whole Parquet file"
        if isinstance(exc, OSError) and exc.strerror:
            reason = exc.strerror
        elif str(exc) == _NO_COLUMN:
            reason = _NO_COLUMN
        raise BundleError(
            Problem(
                code="manifest_unreadable",
                found=f"cannot be read: {reason}",
                expected="a .jsonl or .parquet file of bundle locations",
                file=manifest.name,
            )
        ) from exc


def _jsonl_rows(manifest: Path) -> Iterator[tuple[str, Any]]:
    with manifest.open("rb") as lines:
        number = 0
        while line := lines.readline(MAX_ROW_BYTES + 1):
            number += 1
            place = f"line {number}"
            if len(line) > MAX_ROW_BYTES:
                while line and not line.endswith(b"\n"):
                    line = lines.readline(MAX_ROW_BYTES)
                yield place, _row_problem(place, f"is longer than {MAX_ROW_BYTES} bytes")
            elif line.strip():
                try:
                    row = strict_json(line)
                except SchemaError as exc:
                    told = at_line(exc.problem, number)
                    yield place, replace(told, code=_ROW_CODE)
                else:
                    yield place, row.get("bundle") if isinstance(row, dict) else None


def _parquet_rows(manifest: Path) -> Iterator[tuple[str, Any]]:
    from pyarrow import parquet

    with parquet.ParquetFile(manifest) as table:
        if "bundle" not in table.schema_arrow.names:
            raise ValueError(_NO_COLUMN)
        number = 0
        for batch in table.iter_batches(columns=["bundle"]):
            for value in batch.column(0).to_pylist():
                number += 1
                yield f"row {number}", value


def _row_problem(place: str, found: str) -> Problem:
    return Problem(code=_ROW_CODE, found=found, expected='a row {"bundle": "path"}', pointer=place)
