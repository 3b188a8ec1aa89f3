"""Files that lie beside an export in the folder of one call, read as exports are."""

from __future__ import annotations

from pathlib import Path

from inquesto_core.canonical import strict_json
from inquesto_core.errors import Problem, SchemaError
from inquesto_core.importers.exports import Export, documents, read_bytes
from inquesto_core.importers.fields import Node
from inquesto_core.importers.recordings import is_plain_file

__all__ = ["part_beside", "rows_beside"]


def part_beside(export: Path, name: str) -> Node | None:
    """Return the JSON file `name` beside an export; None where there is none."""
    path = export.parent / name
    if not is_plain_file(path):
        return None
    return Node(strict_json(read_bytes(path, name), file=name), name)


def rows_beside(export: Path, *names: str) -> list[Node] | None:
    """Return the lines of the first of these files that is there; None where none is.

    Raises
    ------
    SchemaError
        A line cannot be read.
    """
    for name in names:
        path = export.parent / name
        if not is_plain_file(path):
            continue
        rows = []
        for row in documents(Export(label=name, path=path)):
            if isinstance(row, Problem):
                raise SchemaError(row)
            rows.append(row)
        return rows
    return None
