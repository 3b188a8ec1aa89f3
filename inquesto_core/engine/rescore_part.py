"""One partition of a run under another protocol: read, reduced, compared, and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.compare import Reading as ReadRun
from inquesto_core.compare import call_differences, count_differences
from inquesto_core.engine.partitions import WHOLE
from inquesto_core.engine.reduction import DERIVED, EXTRACTED, reduce_part
from inquesto_core.engine.run_folder import RunFolder
from inquesto_core.engine.stored import table_file
from inquesto_core.events.needs import columns_needed
from inquesto_core.evidence import TABLES, empty_table

if TYPE_CHECKING:
    from pathlib import Path

    from inquesto_core.compare import DifferenceCounts
    from inquesto_core.engine.reduction import Reading, Told
    from inquesto_core.engine.remeasure import Remeasuring
    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Change, Protocol

__all__ = ["SHOWN_CALLS", "PartRescored", "RescoringPart"]

#: Calls that are told to whoever asked.
SHOWN_CALLS = 20

_EVENTS = ("call_id", "type", "at_ms", "value", "threshold", "counted")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRescored:
    """What a partition tells of the run, what differs in it, and what was written of it."""

    told: Told
    counts: DifferenceCounts
    written: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RescoringPart:
    """What is done with a partition.

    Parameters
    ----------
    stored : StoredRun
        The run before.
    out : Path
        The run folder that is written.
    twice : polars.DataFrame
        `slots_taken_twice` of the whole run.
    before : Protocol or None
        That of `stored`; None = it is not at hand.
    was_judge_free, drops_verdicts : bool
        There was no judge; there is none now.
    missing : polars.DataFrame
        Decisions on calls that the run lacks, which stand with the only partition.
    again : Remeasuring, optional
        Where calls are measured anew.
    """

    stored: StoredRun
    out: Path
    reading: Reading
    twice: pl.DataFrame
    before: Protocol | None
    was_judge_free: bool
    drops_verdicts: bool
    changes: tuple[Change, ...]
    missing: pl.DataFrame
    again: Remeasuring | None = None

    def __call__(self, part: str) -> PartRescored:
        """Return what a partition is under the other protocol, and write it."""
        law, folder = self.reading.protocol, RunFolder(self.out)
        tables, written = self._evidence(part, folder)
        keep = DERIVED if part == WHOLE else ("events",)
        reduced = reduce_part(tables, self.reading, twice=self.twice, keep=keep)
        decisions = self.stored.part_decisions(part)
        differences = call_differences(
            ReadRun(
                decisions=decisions,
                events=self.stored.part(part, {"events": _EVENTS})["events"],
                judge_free=self.was_judge_free,
            ),
            ReadRun(
                decisions=reduced.decisions,
                events=reduced.derived["events"],
                judge_free=self.drops_verdicts,
            ),
            was=self.before,
            now=law,
            changes=self.changes,
        )
        written |= folder.write_part(
            part,
            reduced.derived,
            decisions=pl.concat([reduced.decisions, self.missing]),
            differences=differences,
        )
        return PartRescored(
            told=reduced.told,
            counts=count_differences(differences, reduced.decisions, shown=SHOWN_CALLS),
            written=written,
        )

    def _evidence(
        self, part: str, folder: RunFolder
    ) -> tuple[dict[str, pl.DataFrame], dict[str, str]]:
        """Return the evidence of a partition, and what of it was written, or taken over."""
        nothing = {"verdicts": empty_table("verdicts")} if self.drops_verdicts else {}
        if self.again is not None:
            whole = {name: tuple(TABLES[name]) for name in EXTRACTED}
            tables = {**self.again.part(self.stored.part(part, whole)), **nothing}
            return tables, folder.write_part(part, tables)
        kept = [table_file(name) for name in EXTRACTED if name not in nothing]
        written = folder.take_over(part, kept, run=self.stored.folder, digests=self.stored.outputs)
        written |= folder.write_part(part, nothing)
        columns = columns_needed(self.reading.protocol, self.reading.population)
        return {**self.stored.part(part, columns), **nothing}, written
