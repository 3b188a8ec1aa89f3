"""Labels that a person gave, as a CSV file: read strictly, one line said about what is wrong.

The columns are ``item`` (of a labelling sheet) or ``call_id``, then ``question``, ``verdict``
(true, false, unsure, or empty: not labelled), ``labeller``, ``note``. One file is one labeller's.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from inquesto_core.errors import Problem, SchemaError

__all__ = ["BY_CALL", "BY_ITEM", "VERDICTS", "Label", "LabelFile", "parse_labels", "refuse_labels"]

BY_ITEM = ("item", "question", "verdict", "labeller", "note")
BY_CALL = ("call_id", *BY_ITEM[1:])
VERDICTS = {"true": True, "false": False, "unsure": None}

_FORMULA = ("'=", "'+", "'-", "'@")
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person answered to one question about one call.

    Parameters
    ----------
    line : int
        Of the file, from 1.
    name : str
        Item or call id.
    verdict : bool or None
        None = unsure.
    """

    line: int
    name: str
    question: str
    verdict: bool | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelFile:
    """One labeller's file.

    Parameters
    ----------
    by_item : bool
        Whether names are items of a sheet, or call ids.
    unlabelled : int
        Rows whose verdict is empty.
    """

    file: str
    labeller: str
    by_item: bool
    labels: tuple[Label, ...]
    unlabelled: int


def parse_labels(data: bytes, *, file: str) -> LabelFile:
    """Return the labels of a file.

    Parameters
    ----------
    data : bytes
        UTF-8, with or without a byte order mark; CSV with commas, as RFC 4180 has it.
    file : str
        Named in errors.

    Raises
    ------
    SchemaError
        Code ``labels_invalid``, with file and line.
    """
    rows = _rows(data, file)
    at, header = next(rows, (1, []))
    if sorted(header) not in (sorted(BY_ITEM), sorted(BY_CALL)):
        expected = f"{','.join(BY_ITEM)} or {','.join(BY_CALL)}"
        refuse_labels(file, at, f"has the columns {_shown(','.join(header))}", expected)
    by_item = "item" in header
    labels: list[Label] = []
    first_line: dict[tuple[str, str], int] = {}
    labellers: dict[str, int] = {}
    unlabelled = 0
    for line, cells in rows:
        if len(cells) != len(header):
            refuse_labels(
                file, line, f"has {len(cells)} cells", f"{len(header)}, as the first line"
            )
        row = dict(zip(header, map(_unescaped, cells), strict=True))
        name, question = row["item" if by_item else "call_id"], row["question"]
        if not name or not question:
            refuse_labels(file, line, "names no call or no question", "both in every line")
        before = first_line.setdefault((name, question), line)
        if before != line:
            found = f"labels {_shown(name)} {_shown(question)} again"
            refuse_labels(file, line, found, f"each once; it stands in line {before}")
        verdict = row["verdict"].strip().lower()
        if not verdict:
            unlabelled += 1
            continue
        if verdict not in VERDICTS:
            found = f"has the verdict {_shown(row['verdict'])}"
            refuse_labels(file, line, found, "true, false, unsure or nothing")
        labellers.setdefault(row["labeller"].strip(), line)
        labels.append(
            Label(
                line=line,
                name=name,
                question=question,
                verdict=VERDICTS[verdict],
                note=row["note"],
            )
        )
    if not labels:
        refuse_labels(file, at, "holds no label", "true, false or unsure in at least one line")
    if len(labellers) > 1 or "" in labellers:
        line = labellers.get("", max(labellers.values()))
        found = "names no labeller" if "" in labellers else "names another labeller"
        refuse_labels(file, line, found, "one labeller a file, named in every labelled line")
    return LabelFile(
        file=file,
        labeller=next(iter(labellers)),
        by_item=by_item,
        labels=tuple(labels),
        unlabelled=unlabelled,
    )


def refuse_labels(file: str, line: int, found: str, expected: str) -> NoReturn:
    """Say what is wrong with a line of a label file.

    Raises
    ------
    SchemaError
        Code ``labels_invalid``.
    """
    raise SchemaError(
        Problem(
            code="labels_invalid",
            file=file,
            pointer=f"line {line}",
            found=found,
            expected=expected,
        )
    )


def _rows(data: bytes, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line that each row begins in, and its cells; empty lines are passed over."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        refuse_labels(file, line, f"is not UTF-8 (byte {exc.start})", "UTF-8 text")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            refuse_labels(file, line, f"is no CSV: {exc}", "cells with commas, quotes doubled")
        if cells:
            yield line, cells


def _unescaped(cell: str) -> str:
    """Return a cell without the apostrophe that keeps spreadsheets from taking it for a formula."""
    return cell[1:] if cell.startswith(_FORMULA) else cell


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
