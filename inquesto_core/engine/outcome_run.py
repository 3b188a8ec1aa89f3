"""Score call bundles under a protocol of signals or checks: find, read, ask, decide, write.

Nothing is listened to: trace, state, transcript and answers decide. Answers are recorded ones, or a
model's that is asked.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.bundle import find_bundles
from inquesto_core.engine.executors import choose_executor
from inquesto_core.engine.judging import needs_model
from inquesto_core.engine.outcome_bundles import OutcomeTables, read_outcomes
from inquesto_core.engine.outcome_judging import answered_by_model, outcome_judge
from inquesto_core.engine.outcome_reduction import (
    check_population,
    reduced_outcomes,
    tags_of,
    write_outcomes,
)
from inquesto_core.engine.population_of_calls import known_population, population_of_calls
from inquesto_core.engine.run_folder import RunFolder
from inquesto_core.errors import BundleError, Problem
from inquesto_core.events.signals_asked import (
    answered_signals,
    judged_table,
    lacking_a_judge,
    unasked_signals,
)
from inquesto_core.places import allowed_schemes
from inquesto_core.protocol import OutcomeProtocol, SignalsProtocol, asking_of
from inquesto_core.score import JudgeUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from inquesto_core.protocol import Population

__all__ = ["OutcomeResult", "score_outcomes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeResult:
    """What a run gave.

    Parameters
    ----------
    records : dict of fingerprint to record
    decisions : polars.DataFrame
        One row a call.
    problems : tuple of Problem
        What was wrong with the sources themselves.
    call_problems : polars.DataFrame
        Evidence table ``problems``.
    """

    records: Mapping[str, dict[str, Any]]
    folder: Path
    decisions: pl.DataFrame
    problems: tuple[Problem, ...]
    call_problems: pl.DataFrame

    @property
    def has_bad_input(self) -> bool:
        """Whether some source or bundle was unusable, wholly or in part."""
        bad = self.call_problems.filter(pl.col("level") == "error").height > 0
        return bad or any(problem.level == "error" for problem in self.problems)

    @property
    def is_complete(self) -> bool:
        """Whether every expected call is there and every call is evaluated."""
        return all(
            not record["accounting"]["missing"] and not record["accounting"]["not_evaluated"]
            for record in self.records.values()
        )


def _ignore_progress(done: int, total: int) -> None:
    """Show no progress."""


def _ignore_warning(problem: Problem) -> None:
    """Show no warning."""


def score_outcomes(
    sources: Sequence[str | Path],
    *,
    out: str | Path,
    protocol: OutcomeProtocol,
    population: str | Path | None = None,
    judge: str = "auto",
    gpu_layers: int | None = None,
    allow_remote: Sequence[str] = (),
    workers: int = 0,
    evaluated_at: str | None = None,
    progress: Callable[[int, int], None] = _ignore_progress,
    judge_progress: Callable[[int, int], None] = _ignore_progress,
    warn: Callable[[Problem], None] = _ignore_warning,
) -> OutcomeResult:
    """Return the records of a set of call bundles, and write the run folder `out`.

    Parameters
    ----------
    sources, out, allow_remote, workers, evaluated_at
        As `inquesto_core.engine.run.score`.
    protocol : OutcomeProtocol
    population : str or path, optional
        A file; default: the ``population.json`` beside the calls.
    judge : str
        ``auto`` and ``recorded`` read what the bundles' ``verdicts.json`` say, ``none`` does not;
        ``pinned`` and ``gguf:PATH`` ask a model anew, and read no recorded answer.
    gpu_layers : int, optional
        As `inquesto_core.engine.run.score`.
    progress, judge_progress : callable
        Told how many of how many bundles are read, and calls judged.
    warn : callable
        Told, before any call is scored, what will lack a judge.

    Raises
    ------
    InquestoError
        What makes the run as a whole impossible; a call that cannot be used is a stated state.
    """
    asked = outcome_judge(judge, protocol, gpu_layers=gpu_layers) if needs_model(judge) else None
    folder = RunFolder(Path(out))
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        found = find_bundles(sources, scratch=Path(scratch), allowed=allowed_schemes(allow_remote))
        if not found.refs:
            raise BundleError(found.problems[0] if found.problems else "no call bundle was found")
        early = known_population(population, found.populations, protocol)
        if early is not None:
            check_population(early, protocol)
        folder.open()
        tables = read_outcomes(
            found.refs,
            tags=tags_of(protocol),
            executor=choose_executor("local", workers=workers),
            progress=progress,
        )
        named = frozenset(tables.calls["population"].drop_nulls())
        people = population_of_calls(population, found.populations, named, protocol)
    check_population(people, protocol)
    provenance: dict[str, Any] = {}
    if asked is not None:
        tables, provenance["judge"] = answered_by_model(
            tables,
            asked,
            protocol=protocol,
            population=people,
            kept=folder.kept,
            progress=judge_progress,
        )
    elif judge == "none":
        tables = replace(tables, answers=tables.answers.clear())
    if isinstance(protocol, SignalsProtocol):
        is_recorded = asked is None and judge != "none"
        for problem in _warnings(tables, people, protocol, is_recorded=is_recorded):
            warn(problem)
    used = _recorded(judge) if asked is None else asked.chosen.use
    made = reduced_outcomes(
        tables,
        protocol=protocol,
        population=people,
        judge=used,
        provenance=provenance,
        evaluated_at=evaluated_at,
    )
    write_outcomes(
        folder,
        made,
        tables,
        protocol=protocol,
        population=people,
        judge=used,
        asked_with=None if asked is None else asking_of(asked.asking),
        provenance=provenance,
        evaluated_at=evaluated_at,
    )
    return OutcomeResult(
        records=made.records,
        folder=folder.path,
        decisions=made.decisions,
        problems=found.problems,
        call_problems=tables.problems,
    )


def _recorded(judge: str) -> JudgeUse:
    if judge == "none":
        return JudgeUse(kind="none")
    return JudgeUse(kind="recorded", label="recorded labels")


def _first_of(calls: pl.DataFrame) -> str:
    """Return the names of the first calls, and how many more there are."""
    more = f" and {calls.height - 3} more" if calls.height > 3 else ""
    return ", ".join(calls["call_id"].sort().head(3)) + more


def _warnings(
    tables: OutcomeTables,
    population: Population,
    protocol: SignalsProtocol,
    *,
    is_recorded: bool,
) -> Iterator[Problem]:
    """Yield what is not there though the signals of scenarios count on it."""
    expected = tables.states.filter(
        pl.col("expected").is_not_null() | pl.col("expected_sha256").is_not_null()
    )
    expecting = tables.calls.join(expected, on="call_id", how="semi")["scenario_id"].drop_nulls()
    for signal, scenarios in unasked_signals(population, expecting=set(expecting)).items():
        more = f" and {len(scenarios) - 3} more" if len(scenarios) > 3 else ""
        yield Problem(
            code="signal_unasked",
            found=f"the whitelist of {', '.join(scenarios[:3])}{more} has {signal}, and nothing "
            "is declared for it",
            expected="what it is compared with, or a whitelist without it",
            remedy="it does not apply there, and the other signals decide alone",
            level="warning",
        )
    usable = pl.col("exclusion_reason").is_null() & ~pl.col("has_trace").fill_null(value=False)
    untraced = tables.calls.filter(usable)
    if untraced.height:
        yield Problem(
            code="trace_unknown",
            found=f"{untraced.height} calls have no trace.json: what their agent did is not known: "
            f"{_first_of(untraced)}",
            expected="trace.json, with an empty list where no tool was called",
            remedy="a reference action that they ask for counts as not done, as the scoring model "
            "has it; where a clean exit counts and hangs on it, they are not evaluated",
            level="warning",
        )
    known = tables.calls.filter(pl.col("exclusion_reason").is_null())
    asked = known.join(judged_table(population), on="scenario_id")
    answered = answered_signals(tables.answers, protocol=protocol)
    judged = asked.join(answered, on=["call_id", "signal"], how="semi")
    lacking = lacking_a_judge(
        population,
        queued=set(tables.calls["scenario_id"].drop_nulls()),
        judged=set(judged.select("scenario_id", "signal").iter_rows()),
    )
    if lacking and is_recorded:
        counts = ", ".join(f"{domain} {count}" for domain, count in lacking.items())
        yield Problem(
            code="judge_lacking",
            found=f"{sum(lacking.values())} scenarios count on a judge, and none of their calls "
            f"has an answer: {counts}",
            expected="answers in verdicts.json",
            remedy="judge_passed and nl_assertion do not apply to them",
            level="warning",
        )
    silent = asked.join(answered, on=["call_id", "signal"], how="anti")
    # Of scenarios without any answer the warning above has told.
    silent = silent.join(judged, on=["scenario_id", "signal"], how="semi")
    silent = silent.select("call_id").unique().sort("call_id")
    if silent.height and is_recorded:
        yield Problem(
            code="judge_unanswered",
            found=f"{silent.height} calls have no answer of a judge that their scenario counts on "
            f"and other calls of it have: {_first_of(silent)}",
            expected="answers in verdicts.json of each, or a model that is asked",
            remedy="what only a judge could tell does not apply to them, and the other signals "
            "decide alone",
            level="warning",
        )
