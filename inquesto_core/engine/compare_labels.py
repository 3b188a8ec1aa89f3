"""Labels of a comparison: whose calls they are, and both scores corrected by what they tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.compare import parse_labels
from inquesto_core.compare.calibration import calibrate
from inquesto_core.compare.corrected import (
    CorrectedComparison,
    LabelledSide,
    corrected_comparison,
)
from inquesto_core.compare.slices import cluster_sums
from inquesto_core.engine.agreement import answers_of_labels, refuse_other_calls, sheet_key_of
from inquesto_core.engine.calibration import labelled_outcomes
from inquesto_core.errors import IncomparableError, InquestoError, Problem, StoreError
from inquesto_core.evidence import TABLES
from inquesto_core.places import read_file_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inquesto_core.compare.run_comparison import RunComparison
    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population, Protocol

__all__ = ["corrected_by_labels"]

#: Labels of another run's calls; what else is wrong with a file is wrong with it for both.
_OF_ANOTHER_RUN = frozenset({"labels_invalid", "calls_differ"})
Labelled = tuple[str, str, pl.DataFrame]


def corrected_by_labels(
    found: RunComparison,
    runs: tuple[StoredRun, StoredRun],
    labels: Sequence[str | Path],
    *,
    key: str | Path | None,
    protocol: Protocol,
    population: Population,
) -> CorrectedComparison:
    """Return both scores of a comparison corrected by labels.

    Parameters
    ----------
    runs : pair of StoredRun
        A's and B's; they may be the same.
    labels : sequence of path
        One file, of calls of either run, for both sides; or A's and then B's.
    key : path, optional
        ``key.json`` of the labelled sheet, where it does not lie beside the labels.

    Raises
    ------
    IncomparableError
        ``no_verdicts``: no judge decided; ``key_missing``, ``calls_differ``.
    SchemaError
        ``labels_invalid``.
    """
    for stored in runs:
        _refuse_judge_free(stored)
    if len(labels) == 2:
        given = [
            _labelled([(side, stored)], path, key, protocol, population)
            for side, stored, path in zip("ab", runs, labels, strict=True)
        ]
    else:
        both = [("a", runs[0])]
        if runs[1].folder.resolve() != runs[0].folder.resolve():
            both.append(("b", runs[1]))
        given = [_labelled(both, labels[0], key, protocol, population)] * 2
    counts = found.outcomes
    passed = (counts.passed_a, counts.passed_b)
    sides = [
        LabelledSide(
            labeller=labeller,
            calls_of=calls_of,
            calibration=calibrate(outcomes, [(side.agent, k, counts.n)], z=protocol.z),
        )
        for (labeller, calls_of, outcomes), side, k in zip(
            given, (found.a, found.b), passed, strict=True
        )
    ]
    return corrected_comparison(
        sides[0],
        sides[1],
        cluster_sums(found.pairing.pairs),
        is_shared=len(labels) == 1,
        resampling=found.resampling,
    )


def _refuse_judge_free(stored: StoredRun) -> None:
    judge = (stored.manifest.get("evidence") or {}).get("judge") or {}
    if judge.get("kind") == "none":
        raise IncomparableError(
            Problem(
                code="no_verdicts",
                found=f"{stored.folder.name} was scored without a judge",
                expected="runs whose judge labels can be held against",
                remedy="score with --judge recorded, pinned or gguf:PATH",
            )
        )


def _labelled(
    runs: Sequence[tuple[str, StoredRun]],
    path: str | Path,
    key: str | Path | None,
    law: Protocol,
    people: Population,
) -> Labelled:
    """Return labeller, whose calls they are, and the outcomes, of the first run that has them."""
    first: InquestoError | None = None
    for side, stored in runs:
        try:
            labeller, outcomes = _outcomes(stored, Path(path), key, law, people)
        except InquestoError as exc:
            if exc.problem.code not in _OF_ANOTHER_RUN or len(runs) == 1:
                raise
            first = first or exc
        else:
            return labeller, side, outcomes
    raise first or ValueError("labels of no run")


def _outcomes(
    stored: StoredRun, path: Path, key: str | Path | None, law: Protocol, people: Population
) -> tuple[str, pl.DataFrame]:
    try:
        data = read_file_bytes(path)
    except OSError as exc:
        raise StoreError(
            Problem(
                code="not_readable",
                found=f"{path.name} cannot be read: {exc.strerror}",
                expected="a readable file",
            )
        ) from exc
    file = parse_labels(data, file=path.name)
    sheet = sheet_key_of([file], [path], key)
    names = [label.name for label in file.labels] if sheet is None else list(sheet.shown)
    calls = _only(stored, names)
    if sheet is not None:
        refuse_other_calls(calls, sheet, law, people)
    answers = answers_of_labels(file, sheet, calls, law)
    return file.labeller, labelled_outcomes(calls, answers, protocol=law, population=people)


def _only(stored: StoredRun, names: Iterable[str]) -> StoredRun:
    """Return a run with the tables of these calls alone, partition by partition."""
    ours = pl.col("call_id").is_in(sorted(set(names)))
    columns = {name: tuple(kinds) for name, kinds in TABLES.items() if stored.has_table(name)}
    held = [
        {name: table.filter(ours) for name, table in stored.part(part, columns).items()}
        for part in stored.parts
    ]
    return replace(
        stored,
        decisions=pl.concat(stored.part_decisions(part).filter(ours) for part in stored.parts),
        tables={name: pl.concat([each[name] for each in held]) for name in columns},
    )
