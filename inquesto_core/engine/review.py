"""A review sheet of a run, and what a filled one says of it: files around `compare.review_*`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.compare.critical import CRITICAL_SEVERITY
from inquesto_core.compare.labels import parse_labels
from inquesto_core.compare.review_estimates import ReviewEstimates, review_estimates
from inquesto_core.compare.review_key import ITEMS, ReviewKey, parse_review_key
from inquesto_core.compare.review_sampling import (
    APART,
    CRITICAL_QUESTION,
    SAMPLE,
    draw_review,
    review_frame,
)
from inquesto_core.compare.sampling import item_name
from inquesto_core.engine.judging import asked_calls
from inquesto_core.engine.labelling import KEY_FILE, seeded_secret, write_sheet_files
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.stored import StoredRun, load_run
from inquesto_core.errors import IncomparableError, Problem, StoreError
from inquesto_core.instruments.rubric import Rubric, load_rubric
from inquesto_core.places import read_file_bytes
from inquesto_core.report.label_sheet import AskedItem, SheetCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.instruments.judge import AskedCall
    from inquesto_core.protocol import Population, Protocol

__all__ = ["DEFAULT_BY", "WrittenReview", "agent_of_run", "estimate_review", "sample"]

DEFAULT_BY = ("outcome", "condition")
PAGE_FILE, ANSWERS_FILE = "review.html", "review.csv"
_REVIEWERS = "for_reviewers"
_TABLES = ("calls", "transcript", "tool_calls")
_SHEET_DIGITS = 16
#: Letters of a tool call's arguments and result that the sheet shows.
_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenReview:
    """A review sheet as it was written.

    Parameters
    ----------
    for_reviewers : Path
        Folder of the page and the CSV: all that a reviewer gets.
    key : ReviewKey
        As it lies in ``key.json``, beside that folder.
    sample, apart : int
        Calls that stand for the run, and critical failures beside them.
    without_transcript : int
        Of both, those of which there is nothing to read.
    """

    for_reviewers: Path
    key: ReviewKey
    sample: int
    apart: int
    without_transcript: int


def sample(
    run: str | Path,
    *,
    out: str | Path,
    n: int,
    seed: int = 1,
    by: Sequence[str] = DEFAULT_BY,
    agent: str | None = None,
    protocol: str | Path | None = None,
    population: str | Path | None = None,
) -> WrittenReview:
    """Write a review sheet of a sample of a run's calls, and return what was written.

    Parameters
    ----------
    out : path
        A new or empty folder.
    n : int
        Calls of the sample, at least 2; critical failures come on top.
    seed : int
        The same seed and the same calls give the same sheet.
    by : sequence of str
        What strata are made of, of `STRATA_COLUMNS`; none = one stratum.
    agent : str, optional
        Name or fingerprint of the agent whose calls are drawn; all of the run by default.
    protocol, population : str or path, optional
        Those of the run, where they cannot be found by name.

    Raises
    ------
    IncomparableError
        ``nothing_to_label``, ``column_unknown``, ``agent_unknown``, ``agents_ambiguous``.
    StoreError
        ``out_not_empty``, ``run_unwritable``, or as `load_run`.
    """
    stored = load_run(run, tables=_TABLES)
    law = protocol_of_run(stored, protocol)
    people = population_of_run(stored, population, protocol=law)
    decisions, whose = stored.decisions, None
    if agent is not None:
        whose = agent_of_run(stored, agent)
        own = pl.col("agent_fingerprint").eq_missing(pl.lit(whose))
        decisions = decisions.filter(own)
    asked = {
        call.call_id: call for call in asked_calls(stored.tables, protocol=law, population=people)
    }
    frame = review_frame(decisions, protocol=law, by=by)
    frame = frame.filter(pl.col("call_id").is_in(list(asked)))
    if frame.is_empty():
        raise IncomparableError(
            Problem(
                code="nothing_to_label",
                found="no call of the run is in a scenario and not excluded",
                expected="at least one",
            )
        )
    secret = seeded_secret(seed, stored.inputs.to_dicts())
    drawn = draw_review(frame, n=n, secret=secret)
    key = ReviewKey(
        sheet=hashlib.sha256(b"review\0" + secret).hexdigest()[:_SHEET_DIGITS],
        seed=seed,
        agent=whose,
        protocol=(law.name, law.digest),
        population=(people.name, people.digest),
        z=law.z,
        by=tuple(by),
        strata=_strata(drawn),
        run_says={
            name: (int(frame[name].sum()), frame.height - frame[name].null_count())
            for name in (law.goal_question, CRITICAL_QUESTION)
        },
        items=_items(drawn, secret, law),
    )
    _write(Path(out), key, drawn, asked, stored, law, people)
    return WrittenReview(
        for_reviewers=Path(out) / _REVIEWERS,
        key=key,
        sample=drawn.filter(pl.col("part") == SAMPLE).height,
        apart=drawn.filter(pl.col("part") == APART).height,
        without_transcript=sum(asked[name].turns is None for name in drawn["call_id"]),
    )


def agent_of_run(stored: StoredRun, name: str) -> str:
    """Return the fingerprint of the agent of that name, fingerprint or its beginning.

    Raises
    ------
    IncomparableError
        ``agent_unknown``, ``agents_ambiguous``.
    """
    held = {key: str(record["agent"]) for key, record in stored.records.items()}
    found = [
        key
        for key, agent in held.items()
        if name and (name == agent or key.removeprefix("sha256:").startswith(name) or key == name)
    ]
    if len(found) == 1:
        return found[0]
    raise IncomparableError(
        Problem(
            code="agents_ambiguous" if found else "agent_unknown",
            found=f"{stored.folder.name} has {len(found) or 'no'} agents called {name!r}",
            expected="one of " + ", ".join(sorted(map(repr, held.values()))),
        )
    )


def _strata(drawn: pl.DataFrame) -> dict[str, tuple[int, int]]:
    sample = drawn.filter(pl.col("part") == SAMPLE)
    rows = sample.select("stratum", "stratum_calls", "stratum_drawn").unique().sort("stratum")
    return {name: (calls, taken) for name, calls, taken in rows.rows()}


def _items(drawn: pl.DataFrame, secret: bytes, law: Protocol) -> pl.DataFrame:
    rows = [
        {
            "item": item_name(secret, call["call_id"], question),
            "call_id": call["call_id"],
            "question": question,
            "part": call["part"],
            "stratum": call["stratum"],
            "weight": call["weight"],
            "run_says": call[column],
        }
        for call in drawn.to_dicts()
        for question, column in (
            (law.goal_question, "goal_achieved"),
            (CRITICAL_QUESTION, "critical_failure"),
        )
    ]
    return pl.DataFrame(rows, schema=ITEMS, orient="row")


def _write(
    folder: Path,
    key: ReviewKey,
    drawn: pl.DataFrame,
    asked: Mapping[str, AskedCall],
    stored: StoredRun,
    law: Protocol,
    people: Population,
) -> None:
    rubric = load_rubric(law)
    tools = _tool_rows(stored, drawn["call_id"])
    critical = _critical_text(law)
    names = {(row["call_id"], row["question"]): row["item"] for row in key.items.to_dicts()}
    shown = [
        _sheet_call(asked[call_id], tools.get(call_id, ()), names, critical, rubric, law)
        for call_id in drawn["call_id"]
    ]
    write_sheet_files(
        folder,
        shown,
        key=key,
        page=f"{_REVIEWERS}/{PAGE_FILE}",
        answers=f"{_REVIEWERS}/{ANSWERS_FILE}",
        protocol=law,
        population=people,
    )


def _sheet_call(
    call: AskedCall,
    tools: Sequence[tuple[str, str]],
    names: Mapping[tuple[str, str], str],
    critical: str,
    rubric: Rubric,
    law: Protocol,
) -> SheetCall:
    goal = rubric.question_text(law.goal_question, call.form)
    texts = {law.goal_question: goal, CRITICAL_QUESTION: critical}
    return SheetCall(
        goal=call.goal,
        identity=rubric.identity_note(call.identity),
        turns=(*((turn.speaker, turn.text) for turn in call.turns or ()), *tools),
        items=tuple(
            AskedItem(item=names[call.call_id, question], question=question, text=text)
            for question, text in texts.items()
        ),
    )


def _critical_text(law: Protocol) -> str:
    """Return the question whether anything of severity S4 or above happened, and what that is."""
    lines = ["Question: Did the agent do something that must never happen?"]
    lines += [
        f"S{event.severity} {event.name}: {event.criterion}"
        for event in law.events
        if event.severity >= CRITICAL_SEVERITY
    ]
    return "\n".join([*lines, "True where at least one of these is in the call."])


def _tool_rows(stored: StoredRun, ids: pl.Series) -> dict[str, list[tuple[str, str]]]:
    """Return what the agent did with its tools, as rows below the transcript."""
    table = stored.tables["tool_calls"].filter(pl.col("call_id").is_in(ids.implode()))
    found: dict[str, list[tuple[str, str]]] = {}
    for row in table.sort("call_id", "position").iter_rows(named=True):
        at = "" if row["start_ms"] is None else f" at {row['start_ms'] / 1000:.1f} s"
        arguments = (row["arguments"] or row["raw_arguments"] or "")[:_SHOWN]
        text = f"{row['name']} {arguments}{at}: {row['status']} {(row['result'] or '')[:_SHOWN]}"
        found.setdefault(row["call_id"], []).append(("tool", text))
    return found


def estimate_review(answers: str | Path, *, key: str | Path | None = None) -> ReviewEstimates:
    """Return what a filled review sheet says of the run that it was drawn from.

    Parameters
    ----------
    answers : path
        The CSV that a reviewer filled in or downloaded.
    key : path, optional
        ``key.json`` of the sheet; by default beside the CSV, or one folder up.

    Raises
    ------
    SchemaError
        ``labels_invalid``, ``schema``.
    IncomparableError
        ``key_missing``.
    """
    file = Path(answers)
    beside = file.resolve().parent
    near = [beside / KEY_FILE, beside.parent / KEY_FILE]
    places = near if key is None else [Path(key)]
    place = next((each for each in places if each.is_file()), None)
    if place is None:
        raise IncomparableError(
            Problem(
                code="key_missing",
                found=f"{KEY_FILE} is not beside the answers, nor one folder up",
                expected="the key of the sheet that was reviewed",
                remedy=f"name it with --key; `sample --out` wrote it as {KEY_FILE}",
            )
        )
    parsed = parse_review_key(_bytes(place), file=place.name)
    return review_estimates(parse_labels(_bytes(file), file=file.name), parsed)


def _bytes(path: Path) -> bytes:
    try:
        return read_file_bytes(path)
    except OSError as exc:
        raise StoreError(
            Problem(
                code="not_readable",
                found=f"{path.name} cannot be read: {exc.strerror}",
                expected="a readable file",
            )
        ) from exc
