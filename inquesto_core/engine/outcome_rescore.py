"""Decide the calls of a stored run of signals or checks again, under another such protocol.

What was read of the bundles is read from the run; nothing is listened to and nobody is asked. A
model's answers are answers to a rubric: under another there are none, and the run goes on without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import digest_bytes, strict_json
from inquesto_core.compare.outcome_differences import outcome_differences, part_verdicts
from inquesto_core.engine.outcome_judging import asking_protocol
from inquesto_core.engine.outcome_reduction import (
    check_population,
    reduced_outcomes,
    tags_of,
    write_outcomes,
)
from inquesto_core.engine.outcome_run import OutcomeResult
from inquesto_core.engine.outcome_stored import load_outcome, outcome_tables
from inquesto_core.engine.run_folder import DIFFERENCES_FILE, RunFolder
from inquesto_core.errors import Problem, StoreError
from inquesto_core.protocol import OutcomeProtocol, asking_of, load_any_protocol, load_population
from inquesto_core.score import JudgeUse

if TYPE_CHECKING:
    from inquesto_core.engine.outcome_bundles import OutcomeTables
    from inquesto_core.engine.outcome_stored import OutcomeRun

__all__ = ["OutcomeRescored", "rescore_outcomes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRescored:
    """What a run is under another protocol.

    Parameters
    ----------
    before : OutcomeRun
    result : OutcomeResult
    differences : polars.DataFrame
        `inquesto_core.compare.outcome_differences.DIFFERENT`.
    notes : tuple of str
        What could not be taken over, and why.
    """

    before: OutcomeRun
    result: OutcomeResult
    differences: pl.DataFrame
    notes: tuple[str, ...]


def rescore_outcomes(
    run: str | Path,
    *,
    protocol: str | Path,
    out: str | Path,
    population: str | Path | None = None,
) -> OutcomeRescored:
    """Return what a stored run of signals or checks is under another protocol of either method.

    Parameters
    ----------
    run : path
        A run folder; it is left as it is.
    protocol : str or path
        A name or a folder.
    population : path, optional
        What scenarios ask, where it is another than the run's.

    Raises
    ------
    StoreError
        ``run_method``: one of both decides by failure events. ``out_is_the_run``, ``run_damaged``,
        ``run_without_evidence_use``.
    ProtocolError
        ``signals_invalid``, ``checks_invalid``: the population asks nothing of that method.
    """
    if Path(out).resolve() == Path(run).resolve():
        raise StoreError(
            Problem(
                code="out_is_the_run",
                found="--out names the run itself",
                expected="another folder: a record that was issued is not rewritten",
            )
        )
    before, law = load_outcome(run), load_any_protocol(protocol)
    if before is None or not isinstance(law, OutcomeProtocol):
        raise _two_methods(Path(run), before, law.name)
    people = before.population if population is None else load_population(population)
    check_population(people, law)
    tables = _with_tags(outcome_tables(before), law)
    judge, asked_with, notes = _judge(before, law)
    if judge.kind == "none":
        tables = replace(tables, answers=tables.answers.clear(), verdicts=tables.verdicts.clear())
    parameters = before.manifest["parameters"]
    provenance: dict[str, Any] = dict(parameters.get("provenance") or {})
    if judge.kind not in {"pinned", "gguf"}:
        provenance.pop("judge", None)
    evaluated_at = parameters.get("evaluated_at")
    made = reduced_outcomes(
        tables,
        protocol=law,
        population=people,
        judge=judge,
        provenance=provenance,
        evaluated_at=evaluated_at,
    )
    differences = outcome_differences(
        before.decisions,
        made.decisions,
        methods=(before.method, law.method),
        parts=(
            part_verdicts(before.decisions, before.tables, before.method),
            part_verdicts(made.decisions, _by_name(made.tables), law.method),
        ),
    )
    folder = RunFolder(Path(out))
    folder.open()
    write_outcomes(
        folder,
        replace(made, tables={**made.tables, DIFFERENCES_FILE: differences}),
        tables,
        protocol=law,
        population=people,
        judge=judge,
        asked_with=asked_with,
        provenance=provenance,
        evaluated_at=evaluated_at,
        rescored_from=_origin(before, notes),
    )
    result = OutcomeResult(
        records=made.records,
        folder=folder.path,
        decisions=made.decisions,
        problems=(),
        call_problems=tables.problems,
    )
    return OutcomeRescored(before=before, result=result, differences=differences, notes=notes)


def _two_methods(run: Path, before: OutcomeRun | None, protocol: str) -> StoreError:
    what = "failure events" if before is None else before.method
    return StoreError(
        Problem(
            code="run_method",
            found=f"{run.name} was scored by {what}, and {protocol} decides by another method",
            expected="signals and checks among each other, or failure events under failure events",
            remedy="score the bundles under that protocol",
        )
    )


def _by_name(files: Any) -> dict[str, pl.DataFrame]:
    return {name.removesuffix(".parquet"): frame for name, frame in files.items()}


def _with_tags(tables: OutcomeTables, law: OutcomeProtocol) -> OutcomeTables:
    """Return the tables with the columns that this protocol reads of the calls' tags."""
    distinct = tables.calls.select("tags").drop_nulls().unique().sort("tags")
    read = [strict_json(text.encode()) for text in distinct["tags"]]
    asked = tags_of(law)
    known = distinct.with_columns(
        pl.Series(column, [tags.get(tag) for tags in read], dtype=pl.String)
        for column, tag in asked.items()
    )
    calls = tables.calls.drop(set(asked) & set(tables.calls.columns))
    return replace(tables, calls=calls.join(known, on="tags", how="left", maintain_order="left"))


def _judge(
    before: OutcomeRun, law: OutcomeProtocol
) -> tuple[JudgeUse, str | None, tuple[str, ...]]:
    """Return whose answers are read, what they were asked with, and what was left."""
    judge = before.judge
    if judge.kind not in {"pinned", "gguf"}:
        return judge, None, ()
    asked_with = before.manifest["parameters"]["asked_with"]
    now = None if law.judge is None else asking_of(asking_protocol(law))
    if asked_with == now:
        return judge, asked_with, ()
    note = (
        "without a judge: the run's answers were given to another rubric or judge pin than this "
        "protocol's; score the bundles with --judge pinned for answers"
    )
    return JudgeUse(kind="none"), None, (note,)


def _origin(before: OutcomeRun, notes: tuple[str, ...]) -> dict[str, Any]:
    manifest, folder = before.manifest, before.folder
    files = [folder / "record.json", *sorted((folder / "records").glob("*.json"))]
    return {
        "protocol": manifest["protocol"]["name"],
        "protocol_digest": manifest["protocol"]["digest"],
        "engine": manifest["engine"]["version"],
        "records": {
            file.relative_to(folder).as_posix(): digest_bytes(file.read_bytes())
            for file in files
            if file.is_file()
        },
        "notes": list(notes),
    }
