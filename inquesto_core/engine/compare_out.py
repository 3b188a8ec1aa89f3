"""The folder of a comparison: all its figures, and every pair that does not pass on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.canonical import pretty_bytes
from inquesto_core.errors import Problem, StoreError
from inquesto_core.places import refuse_inside

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

__all__ = ["PAIRS_FILE", "REPORT_FILE", "write_comparison"]

REPORT_FILE = "compare.json"
PAIRS_FILE = "pairs.parquet"


def write_comparison(folder: Path, document: dict[str, Any], moved: pl.DataFrame) -> None:
    """Write the comparison; only its owner can read it.

    Parameters
    ----------
    moved : polars.DataFrame
        As `every_moved` gives it.

    Raises
    ------
    StoreError
        ``out_inside``; ``out_not_empty``: the folder holds something else. ``run_unwritable``.
    """
    refuse_inside(folder)
    try:
        if folder.is_dir() and any(folder.iterdir()) and not (folder / REPORT_FILE).is_file():
            raise StoreError(
                Problem(
                    code="out_not_empty",
                    found=f"{folder.name} holds other files",
                    expected="a new or empty folder, or an earlier comparison",
                    remedy="name another folder with --out",
                )
            )
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        moved.write_parquet(folder / PAIRS_FILE)
        (folder / PAIRS_FILE).chmod(0o600)
        (folder / REPORT_FILE).write_bytes(pretty_bytes(document))
        (folder / REPORT_FILE).chmod(0o600)
    except OSError as exc:
        raise _unwritable(folder, exc) from exc


def _unwritable(path: Path, exc: OSError) -> StoreError:
    return StoreError(
        Problem(
            code="run_unwritable",
            found=f"{path.name} cannot be written: {exc.strerror}",
            expected="a writable folder with room",
            remedy="free space or name another place",
        )
    )
