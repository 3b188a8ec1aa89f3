"""Agreement of a run's judge with labels or with another run, from their files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare import (
    ANSWERS,
    outcome_difference,
    parse_key,
    parse_labels,
    rank_runs,
    refuse_labels,
    with_half,
)
from inquesto_core.compare.report import AgreementReport, Side, compare_sides
from inquesto_core.engine.calibration import calibration_of_run
from inquesto_core.engine.judging import asked_calls
from inquesto_core.engine.labelling import KEY_FILE, shown_digest
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.stored import StoredRun, load_run
from inquesto_core.errors import IncomparableError, Problem, StoreError
from inquesto_core.events.judged import judged_questions
from inquesto_core.events.trace import trace_facts
from inquesto_core.places import read_file_bytes
from inquesto_core.schema import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare import LabelFile, Ranking, SheetKey
    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "agreement_with_labels",
    "agreement_with_run",
    "answers_of_labels",
    "ranking_of_runs",
    "refuse_other_calls",
    "sheet_key_of",
]

#: File of a bundle that two judges of one call may differ in.
_VERDICTS_FILE = "verdicts.json"
_NAMED = 3


def agreement_with_run(
    run: str | Path,
    other: str | Path,
    *,
    half: str = "both",
    protocol: str | Path | None = None,
    population: str | Path | None = None,
) -> AgreementReport:
    """Return how two judges of the same calls agree, and what that does to the score.

    Parameters
    ----------
    half : {"both", "development", "held-out"}

    Raises
    ------
    IncomparableError
        ``no_verdicts``, ``no_common_calls``, ``calls_differ``.
    """
    first, second = load_run(run), load_run(other)
    law = protocol_of_run(first, protocol)
    people = population_of_run(first, population, protocol=law)
    common = _common_calls(first, second)
    sides = [
        _judge_side(stored, Path(name), names_run=True)
        for stored, name in ((first, run), (second, other))
    ]
    halves = with_half(first.decisions.select("call_id", "scenario_id"), people)
    decisions = [stored.decisions for stored in (first, second)]
    if half != "both":
        within = set(halves.filter(pl.col("half") == half)["call_id"])
        common = [name for name in common if name in within]
    comparison = compare_sides(
        sides[0],
        sides[1],
        halves=halves,
        facts=_facts(first, law, people),
        half=half,
        protocol=law,
        outcomes=outcome_difference(decisions[0], decisions[1], common),
    )
    return AgreementReport(comparisons=(comparison,), z=law.z)


def agreement_with_labels(
    run: str | Path,
    labels: Sequence[str | Path],
    *,
    key: str | Path | None = None,
    half: str = "both",
    protocol: str | Path | None = None,
    population: str | Path | None = None,
) -> AgreementReport:
    """Return how a run's judge agrees with each labeller, and two labellers with each other.

    Parameters
    ----------
    labels : sequence of path
        A CSV file a labeller, one or two.
    key : path, optional
        ``key.json`` of the sheet that the labels are of; by default looked for beside the first
        file and one folder up.
    half : {"both", "development", "held-out"}

    Raises
    ------
    SchemaError
        ``labels_invalid``: a label file is not what it should be, or labels what the run lacks.
    IncomparableError
        ``no_verdicts``, ``key_missing``, ``calls_differ``, ``same_labeller``.
    """
    stored = load_run(run)
    law = protocol_of_run(stored, protocol)
    people = population_of_run(stored, population, protocol=law)
    files = [parse_labels(_read(path), file=Path(path).name) for path in labels]
    names = [file.labeller for file in files]
    if len(set(names)) < len(names):
        raise IncomparableError(
            Problem(
                code="same_labeller",
                found=f"both label files are of {names[0]!r}",
                expected="two labellers",
            )
        )
    sheet = sheet_key_of(files, labels, key)
    if sheet is not None:
        refuse_other_calls(stored, sheet, law, people)
    judge = _judge_side(stored, Path(run))
    people_sides = [
        Side(
            kind="labeller",
            name=file.labeller,
            answers=answers_of_labels(file, sheet, stored, law),
        )
        for file in files
    ]
    pairs = [(judge, side) for side in people_sides]
    if len(people_sides) == 2:
        pairs.append((people_sides[0], people_sides[1]))
    halves = with_half(stored.decisions.select("call_id", "scenario_id"), people)
    facts = _facts(stored, law, people)
    within = halves if half == "both" else halves.filter(pl.col("half") == half)
    calibrations = {
        side.name: calibration_of_run(
            stored,
            side.answers.join(within, on="call_id", how="semi"),
            protocol=law,
            population=people,
        )
        for side in people_sides
    }
    return AgreementReport(
        comparisons=tuple(
            compare_sides(
                one,
                two,
                halves=halves,
                facts=facts,
                half=half,
                protocol=law,
                calibration=calibrations[two.name] if one is judge else None,
            )
            for one, two in pairs
        ),
        z=law.z,
        unlabelled=sum(file.unlabelled for file in files),
    )


def ranking_of_runs(paths: Sequence[str | Path]) -> Ranking:
    """Return several runs, or records, by score and by each other reading of it.

    Parameters
    ----------
    paths : sequence of path
        Run folders, or ``.json`` files of records.

    Raises
    ------
    InquestoError
        A file is no record, or as `rank_runs` and `load_run`.
    """
    records: list[dict[str, Any]] = []
    for path in map(Path, paths):
        if path.is_dir():
            records += load_run(path).records.values()
        else:
            records.append(load(_read(path), "record", file=path.name))
    return rank_runs(records)


def _read(path: str | Path) -> bytes:
    try:
        return read_file_bytes(Path(path))
    except OSError as exc:
        raise StoreError(
            Problem(
                code="not_readable",
                found=f"{Path(path).name} cannot be read: {exc.strerror}",
                expected="a readable file",
            )
        ) from exc


def _facts(stored: StoredRun, law: Protocol, people: Population) -> pl.DataFrame:
    calls, tools = stored.tables["calls"], stored.tables["tool_calls"]
    return trace_facts(calls, tools, protocol=law, population=people)


def _judge_side(stored: StoredRun, path: Path, *, names_run: bool = False) -> Side:
    verdicts = stored.tables["verdicts"]
    if verdicts.is_empty():
        raise IncomparableError(
            Problem(
                code="no_verdicts",
                found=f"{path.name} holds no judge's answer",
                expected="a run with verdicts",
                remedy="score with --judge recorded, pinned or gguf:PATH",
            )
        )
    models = verdicts["model"].drop_nulls().unique().sort().to_list()
    name = " and ".join(models[:_NAMED]) or "that is not named"
    name += f" of {path.name}" if names_run else ""
    return Side(kind="judge", name=name, answers=verdicts.select(ANSWERS.keys()))


def _common_calls(first: StoredRun, second: StoredRun) -> list[str]:
    """Return the calls of both runs, once it is sure that they are the same calls."""
    inputs = [_inputs(stored) for stored in (first, second)]
    common = sorted(inputs[0].keys() & inputs[1].keys())
    if not common:
        raise IncomparableError(
            Problem(
                code="no_common_calls",
                found="the two runs have no call in common",
                expected="two runs of the same calls",
            )
        )
    other = [name for name in common if inputs[0][name] != inputs[1][name]]
    if other:
        raise _other_calls(other, len(common), "the same files but verdicts.json in both runs")
    return common


def _inputs(stored: StoredRun) -> dict[str, dict[str, str]]:
    by_call: dict[str, dict[str, str]] = {}
    for row in stored.inputs.iter_rows(named=True):
        if row["file"] != _VERDICTS_FILE:
            by_call.setdefault(row["call"], {})[row["file"]] = row["sha256"]
    return by_call


def _other_calls(names: Sequence[str], total: int, expected: str) -> IncomparableError:
    shown = ", ".join(map(repr, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")
    return IncomparableError(
        Problem(
            code="calls_differ",
            found=f"{len(names)} of {total} calls are others under the same id: {shown}",
            expected=expected,
        )
    )


def sheet_key_of(
    files: Sequence[LabelFile], paths: Sequence[str | Path], given: str | Path | None
) -> SheetKey | None:
    """Return the key of the labelled sheet; None where labels name calls themselves.

    Raises
    ------
    IncomparableError
        ``key_missing``.
    """
    if not any(file.by_item for file in files):
        return None
    beside = Path(paths[0]).parent
    places = [Path(given)] if given is not None else [beside / KEY_FILE, beside.parent / KEY_FILE]
    for place in places:
        if place.is_file():
            return parse_key(_read(place), file=place.name)
    raise IncomparableError(
        Problem(
            code="key_missing",
            found=f"{KEY_FILE} is not beside the labels, nor one folder up",
            expected="the key of the sheet that was labelled",
            remedy=f"name it with --key; `judge sheet` wrote it as {KEY_FILE}",
        )
    )


def refuse_other_calls(
    stored: StoredRun, sheet: SheetKey, law: Protocol, people: Population
) -> None:
    """Refuse a sheet whose calls this run lacks, or whose text is another here."""
    calls = {
        call.call_id: shown_digest(call)
        for call in asked_calls(stored.tables, protocol=law, population=people)
        if call.call_id in sheet.shown
    }
    other = sorted(name for name, digest in sheet.shown.items() if calls.get(name) != digest)
    if other:
        raise _other_calls(other, len(sheet.shown), "the goal and transcript that were labelled")


def answers_of_labels(
    file: LabelFile, sheet: SheetKey | None, stored: StoredRun, law: Protocol
) -> pl.DataFrame:
    """Return a labeller's answers by call, every name in them known."""
    items: dict[str, dict[str, Any]] = {}
    if file.by_item and sheet is not None:
        items = {row["item"]: row for row in sheet.items.to_dicts()}
    known = set(stored.decisions["call_id"].drop_nulls())
    questions = judged_questions(law)
    rows = []
    for label in file.labels:
        if file.by_item:
            item = items.get(label.name)
            if item is None:
                found = f"names the item {label.name!r}"
                refuse_labels(file.file, label.line, found, "an item of the sheet")
            if item["question"] != label.question:
                found = f"names the question {label.question!r}"
                refuse_labels(file.file, label.line, found, f"{item['question']}, as the sheet")
            call_id, weight = item["call_id"], item["weight"]
        else:
            call_id, weight = label.name, 1.0
            if call_id not in known:
                found = f"names the call {call_id!r}"
                refuse_labels(file.file, label.line, found, "a call of the run")
        if label.question not in questions:
            found = f"names the question {label.question!r}"
            refuse_labels(file.file, label.line, found, "one of " + ", ".join(sorted(questions)))
        rows.append(
            {
                "call_id": call_id,
                "question": label.question,
                "verdict": label.verdict,
                "turn": None,
                "reason": label.note or None,
                "weight": weight,
            }
        )
    return pl.DataFrame(rows, schema={**ANSWERS, "weight": pl.Float64}, orient="row")
