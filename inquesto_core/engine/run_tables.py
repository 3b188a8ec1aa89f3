"""A table of a run, as the run wrote it, or not read at all."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.canonical import digest_bytes
from inquesto_core.errors import Problem, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["not_as_written", "read_table", "run_damaged"]


def read_table(
    folder: Path,
    file: str,
    outputs: Mapping[str, str],
    columns: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return a table of a run, whose bytes are those that its manifest tells.

    A flipped bit often leaves a whole Parquet file, with other values in it.

    Parameters
    ----------
    outputs : mapping of file to SHA-256
        What the manifest tells; a file that it does not name is read as it lies.

    Raises
    ------
    StoreError
        ``run_damaged``: the file is not there, or not the one that was written.
    """
    data = _bytes(folder, file)
    written = outputs.get(file)
    if written is not None and digest_bytes(data) != written:
        raise not_as_written(folder, file)
    try:
        return pl.read_parquet(io.BytesIO(data), columns=None if columns is None else [*columns])
    except pl.exceptions.PolarsError as exc:
        found = f"{file} of {folder.name} is no whole Parquet file"
        raise run_damaged(found, "the tables that the run wrote") from exc


def _bytes(folder: Path, file: str) -> bytes:
    found = f"{file} of {folder.name} is "
    try:
        if (folder / file).is_file():
            return (folder / file).read_bytes()
        found += "no file" if (folder / file).exists() else "not there"
    except OSError as exc:
        raise run_damaged(found + f"not read: {exc.strerror}", "a table of the run") from exc
    raise run_damaged(found, "the tables that the run wrote")


def not_as_written(folder: Path, file: str) -> StoreError:
    """Return the error that a file of a run is another than was written."""
    found = f"{file} of {folder.name} is not as the run wrote it"
    return run_damaged(found, "the file whose SHA-256 stands in manifest.json")


def run_damaged(found: str, expected: str) -> StoreError:
    """Return the error of a run that holds something else than was written."""
    return StoreError(
        Problem(
            code="run_damaged", found=found, expected=expected, remedy="score the bundles again"
        )
    )
