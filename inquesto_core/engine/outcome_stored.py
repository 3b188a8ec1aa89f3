"""A run of a protocol of signals or checks, read back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import schema
from inquesto_core.engine.stored import MANIFEST, POPULATION_FILE
from inquesto_core.errors import Problem, StoreError
from inquesto_core.protocol import load_population

if TYPE_CHECKING:
    from inquesto_core.protocol import Population

__all__ = ["OutcomeRun", "load_outcome"]

_TABLES = {
    "signals": ("calls", "signals", "assertions"),
    "checks": ("calls", "checks"),
}
_EVIDENCE = ("tool_calls", "caller_calls", "transcript", "answers", "problems")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRun:
    """What such a run holds.

    Parameters
    ----------
    method : {"signals", "checks"}
    decisions : polars.DataFrame
        ``calls.parquet``.
    tables : mapping of str to polars.DataFrame
        ``signals`` and ``assertions``, or ``checks``; and the evidence.
    """

    method: str
    population: Population
    decisions: pl.DataFrame
    tables: dict[str, pl.DataFrame]


def load_outcome(path: str | Path) -> OutcomeRun | None:
    """Return a run of signals or checks; None where the folder is no such run.

    Raises
    ------
    StoreError
        ``run_damaged``: a table of it is not there, or not whole.
    """
    folder = Path(path)
    if not (folder / MANIFEST).is_file():
        return None
    manifest: dict[str, Any] = schema.load(
        (folder / MANIFEST).read_bytes(), "manifest", file=MANIFEST
    )
    method = manifest.get("method")
    if method not in _TABLES:
        return None
    own = {name: _read(folder, f"{name}.parquet") for name in _TABLES[method]}
    evidence = {name: _read(folder, f"evidence/{name}.parquet") for name in _EVIDENCE}
    return OutcomeRun(
        method=method,
        population=load_population(folder / POPULATION_FILE),
        decisions=own.pop("calls"),
        tables={**own, **evidence},
    )


def _read(folder: Path, file: str) -> pl.DataFrame:
    try:
        return pl.read_parquet(folder / file)
    except (OSError, pl.exceptions.PolarsError) as exc:
        raise StoreError(
            Problem(
                code="run_damaged",
                found=f"{file} of {folder.name} cannot be read: {type(exc).__name__}",
                expected="the tables that the run wrote",
                remedy="score the bundles again",
            )
        ) from exc
