"""What `score` and `rescore` return: the records, what they say of the run, and where it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inquesto_core.engine.stored import load_run

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from inquesto_core.engine.reduction import Totals
    from inquesto_core.errors import Problem

__all__ = ["RunResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run gave.

    Parameters
    ----------
    records : dict of str to dict
        The record of each agent, by fingerprint.
    folder : Path
        The run folder.
    totals : Totals
    problems : tuple of Problem
        What was wrong with the sources themselves; those of calls are the table ``problems``.
    """

    records: dict[str, dict[str, Any]]
    folder: Path
    totals: Totals
    problems: tuple[Problem, ...] = ()

    @property
    def has_bad_input(self) -> bool:
        """Whether some source or bundle was unusable, wholly or in part."""
        return any(problem.level == "error" for problem in self.problems) or self.totals.errors > 0

    @property
    def is_complete(self) -> bool:
        """Whether no call is open."""
        return self.totals.open_n == 0

    @property
    def decisions(self) -> pl.DataFrame:
        """Return the decision table, read from the run folder."""
        return load_run(self.folder, tables=()).decisions

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the evidence tables, read from the run folder."""
        return load_run(self.folder).tables

    def table(self, name: str) -> pl.DataFrame:
        """Return one evidence table, read from the run folder."""
        return load_run(self.folder, tables=(name,)).tables[name]
