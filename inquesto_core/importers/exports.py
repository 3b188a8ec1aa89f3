"""Which files are exports, and which calls a file holds.

A source is a file, a folder with exports at any depth, or a pattern. A JSON file holds one document
or a list of calls; in a file of lines each line is a document, and one that cannot be read is
refused alone.
"""

from __future__ import annotations

import csv
import glob
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inquesto_core.bundle.files import MAX_JSON_BYTES
from inquesto_core.canonical import at_line, strict_json
from inquesto_core.errors import BundleError, Problem, SchemaError
from inquesto_core.importers.fields import Node
from inquesto_core.places import read_file_bytes

__all__ = ["Export", "documents", "find_exports", "read_bytes"]

_MAX_DEPTH = 32
#: Parts of a bundle that lie beside an export: read with it, and no exports themselves.
_SIDE_FILES = (".trace.json", ".transcript.json", ".state.json", ".verdicts.json")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Export:
    """A file of a platform, and the name by which errors speak of it."""

    label: str
    path: Path


def find_exports(
    sources: Sequence[str | Path], patterns: Sequence[str]
) -> tuple[tuple[Export, ...], tuple[Problem, ...]]:
    """Return the exports in sources, sorted by source and name, and what holds none.

    Parameters
    ----------
    sources : sequence of path
        Files, folders or patterns with ``*``.
    patterns : sequence of str
        File names that are exports where a folder is given.
    """
    exports: dict[Path, Export] = {}
    problems = []
    for source in sources:
        found = list(_exports_of(str(source), patterns))
        if not found:
            problems.append(
                Problem(
                    code="export_missing",
                    file=str(source),
                    found="holds no export" if Path(source).exists() else "is not there",
                    expected="a file, or a folder with " + " or ".join(patterns),
                )
            )
        for export in found:
            exports.setdefault(export.path.absolute(), export)
    return tuple(exports.values()), tuple(problems)


def _exports_of(source: str, patterns: Sequence[str]) -> Iterator[Export]:
    path = Path(source)
    if path.is_dir():
        for inner in _walk(path):
            if _is_side_file(inner):
                continue
            if any(inner.match(pattern) for pattern in patterns):
                yield Export(label=inner.relative_to(path).as_posix(), path=inner)
    elif path.is_file():
        yield Export(label=path.name, path=path)
    elif glob.has_magic(source):
        for name in sorted(glob.glob(source, recursive=True)):  # noqa: PTH207
            if not _is_side_file(Path(name)):
                yield from _exports_of(name, patterns)


def _is_side_file(path: Path) -> bool:
    return path.name.lower().endswith(_SIDE_FILES)


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if len(Path(root).relative_to(folder).parts) >= _MAX_DEPTH:
            folders.clear()
        for name in sorted(files):
            path = Path(root, name)
            if not name.startswith(".") and not path.is_symlink():
                yield path


def read_bytes(path: Path, label: str) -> bytes:
    """Return a file's bytes; one that is too large or cannot be read is refused."""
    try:
        data = read_file_bytes(path, MAX_JSON_BYTES + 1)
    except OSError as exc:
        raise BundleError(
            Problem(
                code="file_missing",
                file=label,
                found=f"cannot be read: {exc.strerror}",
                expected="a readable file",
            )
        ) from exc
    if len(data) > MAX_JSON_BYTES:
        raise BundleError(
            Problem(
                code="file_too_large",
                file=label,
                found=f"is larger than {MAX_JSON_BYTES} bytes",
                expected=f"at most {MAX_JSON_BYTES} bytes",
                remedy="export fewer calls a file",
            )
        )
    return data


def documents(export: Export) -> Iterator[Node | Problem]:
    """Yield the JSON documents of an export, and what is wrong with those that cannot be read."""
    suffix = export.path.suffix.lower()
    try:
        data = read_bytes(export.path, export.label)
        if suffix == ".csv":
            yield _table(data, export.label)
        elif suffix in {".jsonl", ".ndjson"}:
            yield from _lines(data, export.label)
        else:
            yield Node(strict_json(data, file=export.label), export.label)
    except (BundleError, SchemaError) as exc:
        yield exc.problem


def _lines(data: bytes, label: str) -> Iterator[Node | Problem]:
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield Node(strict_json(line, file=label), label, f"line {number} ")
        except SchemaError as exc:
            yield at_line(exc.problem, number)


def _table(data: bytes, label: str) -> Node:
    """Return a CSV as a list of objects; an empty cell is null, as what is absent."""
    try:
        text = data.decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        names = list(reader.fieldnames or ())
        rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as exc:
        raise SchemaError(_no_table(label, f"is no CSV: {exc}")) from exc
    separator = _other_separator(names)
    if separator:
        problem = _no_table(label, f"has one column, whose head holds {separator}")
        raise SchemaError(
            replace(problem, remedy=f"write commas between cells instead of {separator}")
        )
    if len(set(names)) != len(names):
        raise SchemaError(_no_table(label, "names a column twice"))
    for at, row in enumerate(rows):
        if None in row or None in row.values():
            problem = _no_table(label, f"has another number of cells than the head's {len(names)}")
            raise SchemaError(replace(problem, pointer=f"/{at}"))
    cells = [{name: cell or None for name, cell in row.items()} for row in rows]
    return Node(cells, label)


def _other_separator(names: Sequence[str]) -> str:
    """Return what seems to stand between cells instead of commas; empty = nothing."""
    if len(names) != 1:
        return ""
    known = {";": "semicolons (;)", "\t": "tabs", "|": "bars (|)"}
    return next((words for sign, words in known.items() if sign in names[0]), "")


def _no_table(label: str, found: str) -> Problem:
    return Problem(
        code="export_field",
        file=label,
        found=found,
        expected="UTF-8 text, one head line, as many cells in every line",
    )
