"""Who hears a run's calls and who answers about them, partition by partition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inquesto_core.engine.judging import judge_run
from inquesto_core.engine.transcribing import transcribe_run
from inquesto_core.score import JudgeUse, TranscriberUse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from inquesto_core.bundle import BundleRef
    from inquesto_core.engine.executors import Executor
    from inquesto_core.engine.judging import ChosenJudge
    from inquesto_core.engine.transcribing import ChosenTranscriber
    from inquesto_core.places import Location
    from inquesto_core.protocol import Population, Protocol

__all__ = ["Answering"]

#: What hearers and judges say of themselves that adds up over partitions.
_ADDED = {
    "asr": ("calls", "read", "words", "dropped"),
    "judge": ("asked", "undetermined", "fragile"),
}


@dataclass(kw_only=True)
class Answering:
    """Who hears and who answers, partition by partition, and what is to be said of it."""

    protocol: Protocol
    population: Population
    used: JudgeUse
    judge: ChosenJudge | None
    transcriber: ChosenTranscriber | None
    kept: Location
    executor: Executor
    workers: int
    judge_progress: Callable[[int, int], None]
    transcriber_progress: Callable[[int, int], None]
    heard_by: TranscriberUse = field(default_factory=lambda: TranscriberUse(kind="none"))
    provenance: dict[str, Any] = field(default_factory=dict)

    def answered(
        self, tables: dict[str, pl.DataFrame], refs: Mapping[str, BundleRef]
    ) -> dict[str, pl.DataFrame]:
        """Return the tables of a partition that hearing and answering change."""
        changed: dict[str, pl.DataFrame] = {}
        if self.transcriber is not None:
            heard = transcribe_run(
                tables,
                {call_id: refs[call_id] for call_id in tables["calls"]["call_id"]},
                self.transcriber,
                protocol=self.protocol,
                kept=self.kept,
                workers=self.workers,
                executor=self.executor,
                progress=self.transcriber_progress,
            )
            changed |= heard.tables
            if heard.use.kind != "none":
                self.heard_by = heard.use
            self._tell("asr", heard.provenance)
        if self.judge is not None:
            answers = judge_run(
                {**tables, **changed},
                self.judge,
                protocol=self.protocol,
                population=self.population,
                kept=self.kept,
                executor=self.executor,
                progress=self.judge_progress,
            )
            changed["verdicts"] = answers.verdicts
            self._tell("judge", answers.provenance)
        elif self.used.kind == "none":
            changed["verdicts"] = tables["verdicts"].clear()
        return changed

    def _tell(self, who: str, told: dict[str, Any]) -> None:
        before = self.provenance.get(who, {})
        added = {name: before.get(name, 0) + told[name] for name in _ADDED[who]}
        self.provenance[who] = {**told, **added}
