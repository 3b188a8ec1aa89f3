"""A labelling sheet of a run: page and empty CSV for the labellers, the key for the owner."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.canonical import canonical_bytes, digest_json, pretty_bytes
from inquesto_core.compare import SheetKey, draw_calls, outcome_strata, sheet_items
from inquesto_core.engine.judging import asked_calls
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.stored import load_run
from inquesto_core.errors import IncomparableError, Problem, StoreError
from inquesto_core.instruments.rubric import load_rubric
from inquesto_core.places import refuse_inside
from inquesto_core.report.label_sheet import AskedItem, SheetCall, sheet_csv, sheet_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare.review_key import ReviewKey
    from inquesto_core.instruments.judge import AskedCall
    from inquesto_core.instruments.rubric import Rubric
    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "KEY_FILE",
    "WrittenSheet",
    "seeded_secret",
    "shown_digest",
    "write_sheet",
    "write_sheet_files",
]

KEY_FILE = "key.json"
PAGE_FILE = "sheet.html"
LABELS_FILE = "labels.csv"
_LABELLERS = "for_labellers"
_SHEET_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSheet:
    """A sheet as it was written.

    Parameters
    ----------
    for_labellers : Path
        Folder of the page and the CSV: all that a labeller gets.
    key : SheetKey
        As it lies in ``key.json``, beside that folder.
    without_transcript : int
        Calls of the run that cannot be labelled.
    """

    for_labellers: Path
    key: SheetKey
    without_transcript: int


def shown_digest(call: AskedCall) -> str:
    """Return the digest of what a labeller reads of a call."""
    turns = [[turn.speaker, turn.text] for turn in call.turns or ()]
    return digest_json({"goal": call.goal, "identity": call.identity, "turns": turns})


def write_sheet(
    run: str | Path,
    *,
    out: str | Path,
    n: int,
    seed: int | None = None,
    protocol: str | Path | None = None,
    population: str | Path | None = None,
) -> WrittenSheet:
    """Write a labelling sheet of `n` calls of a run, and return what was written.

    Parameters
    ----------
    out : path
        A new or empty folder.
    seed : int, optional
        Draws the same sheet again; without it the draw cannot be foreseen.
    protocol, population : str or path, optional
        Those of the run, where they cannot be found by name.

    Raises
    ------
    IncomparableError
        ``nothing_to_label``: no call has a transcript and a question.
    StoreError
        ``out_not_empty``, ``run_unwritable``, or as `load_run`.
    """
    stored = load_run(run)
    law = protocol_of_run(stored, protocol)
    people = population_of_run(stored, population, protocol=law)
    calls = {
        call.call_id: call
        for call in asked_calls(stored.tables, protocol=law, population=people)
        if call.questions
    }
    readable = {name: call for name, call in calls.items() if call.turns is not None}
    strata = outcome_strata(stored.decisions, stored.tables["verdicts"], protocol=law)
    strata = strata.filter(pl.col("call_id").is_in(list(readable)))
    if strata.is_empty():
        raise IncomparableError(
            Problem(
                code="nothing_to_label",
                found="no call of the run has a transcript and a question of the judge",
                expected="at least one",
            )
        )
    inputs = stored.inputs.to_dicts()
    secret = secrets.token_bytes(32) if seed is None else seeded_secret(seed, inputs)
    drawn = draw_calls(strata, n=n, secret=secret)
    asked = [(name, question) for name, call in readable.items() for question in call.questions]
    items = sheet_items(drawn, strata, asked, secret=secret, population=people)
    sizes = dict(strata.group_by("stratum").len().rows())
    taken = dict(drawn.group_by("stratum").len().rows())
    key = SheetKey(
        sheet=hashlib.sha256(b"sheet\0" + secret).hexdigest()[:_SHEET_DIGITS],
        secret=secret.hex(),
        protocol=(law.name, law.digest),
        population=(people.name, people.digest),
        shown={name: shown_digest(readable[name]) for name in drawn["call_id"]},
        strata=tuple((name, sizes[name], taken.get(name, 0)) for name in sorted(sizes)),
        items=items,
    )
    folder = write_sheet_files(
        Path(out),
        _sheet_calls(items, readable, load_rubric(law)),
        key=key,
        page=f"{_LABELLERS}/{PAGE_FILE}",
        answers=f"{_LABELLERS}/{LABELS_FILE}",
        protocol=law,
        population=people,
    )
    return WrittenSheet(
        for_labellers=folder / _LABELLERS, key=key, without_transcript=len(calls) - len(readable)
    )


def seeded_secret(seed: int, inputs: list[dict[str, str]]) -> bytes:
    """Return a key that the same seed and the same calls give again."""
    return hashlib.sha256(b"labelling sheet\0" + canonical_bytes([seed, inputs])).digest()


def _sheet_calls(
    items: pl.DataFrame, calls: dict[str, AskedCall], rubric: Rubric
) -> list[SheetCall]:
    by_call: dict[str, list[tuple[str, str]]] = {}
    for name, call_id, question in items.select("item", "call_id", "question").rows():
        by_call.setdefault(call_id, []).append((name, question))
    return [
        SheetCall(
            goal=calls[call_id].goal,
            identity=rubric.identity_note(calls[call_id].identity),
            turns=tuple((turn.speaker, turn.text) for turn in calls[call_id].turns or ()),
            items=tuple(
                AskedItem(
                    item=name,
                    question=question,
                    text=rubric.question_text(question, calls[call_id].form),
                )
                for name, question in named
            ),
        )
        for call_id, named in by_call.items()
    ]


def write_sheet_files(
    folder: Path,
    shown: Sequence[SheetCall],
    *,
    key: SheetKey | ReviewKey,
    page: str,
    answers: str,
    protocol: Protocol,
    population: Population,
) -> Path:
    """Write a sheet's page and empty CSV for people, and its key for the owner, and return where.

    Parameters
    ----------
    page, answers : str
        Their files within `folder`, which is new or empty.

    Raises
    ------
    StoreError
        ``out_not_empty``, ``run_unwritable``.
    """
    html = sheet_page(
        shown,
        sheet=key.sheet,
        facts=population.facts,
        instructions=load_rubric(protocol).text("instructions"),
    )
    csv = sheet_csv(item for call in shown for item in call.items)
    return _write_new_folder(
        folder,
        {page: html.encode(), answers: csv.encode(), KEY_FILE: pretty_bytes(key.document())},
    )


def _write_new_folder(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files into a new or empty folder that only its owner can read, and return it.

    Raises
    ------
    StoreError
        ``out_not_empty``, ``run_unwritable``.
    """
    refuse_inside(folder)
    try:
        if folder.exists() and any(folder.iterdir()):
            raise StoreError(
                Problem(
                    code="out_not_empty",
                    found=f"{folder.name} holds other files",
                    expected="a new or empty folder",
                    remedy="name another folder with --out; labels may belong to the sheet there",
                )
            )
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.touch(mode=0o600)
            path.write_bytes(data)
    except OSError as exc:
        raise StoreError(
            Problem(
                code="run_unwritable",
                found=f"{folder.name} cannot be written: {exc.strerror}",
                expected="a writable folder with room",
                remedy="free space or name another folder with --out",
            )
        ) from exc
    return folder
