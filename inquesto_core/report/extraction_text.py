"""A system's extracted fields beside the reviewed ones, as lines of text and as JSON values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.report.counted import counted
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH
from inquesto_core.report.text_table import text_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.compare.extraction import Extraction

__all__ = ["extraction_document", "extraction_lines"]

#: Values of critical fields that are listed; the JSON has all.
_LISTED = 20


def extraction_document(found: Extraction) -> dict[str, Any]:
    """Return the counts a field, every outcome, and every place that a field cites."""
    rows = [
        {
            **row,
            "extracted": _value(row["extracted"]),
            "reviewed": _value(row["reviewed"]),
        }
        for row in found.outcomes.to_dicts()
    ]
    return {
        "contract": {"name": found.contract.name, "version": found.contract.version},
        "n_reviewed": found.n_reviewed,
        "n_extracted": found.n_extracted,
        "n_not_reviewed": found.n_not_reviewed,
        "unknown_fields": list(found.unknown_fields),
        "fields": found.fields.to_dicts(),
        "outcomes": rows,
        "supports": found.supports.to_dicts(),
    }


def extraction_lines(found: Extraction) -> list[str]:
    """Return a table of the fields, the critical values that are not right, and what is cited."""
    return list(_lines(found))


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _lines(found: Extraction) -> Iterator[str]:
    yield (
        f"Contract {escape_terminal(found.contract.name)} "
        f"{escape_terminal(found.contract.version)}: {counted(found.n_reviewed, 'call')} reviewed, "
        f"{found.n_extracted} extracted"
    )
    if found.n_not_reviewed:
        yield f"  {found.n_not_reviewed} extracted calls were not reviewed: they are not counted"
    if found.unknown_fields:
        names = ", ".join(found.unknown_fields)
        yield from wrap_columns(
            escape_terminal(f"fields that the contract does not have: {names}"),
            WIDTH,
            first="  ",
            rest="    ",
        )
    yield ""
    rows = found.fields.to_dicts()
    header = ("field", "n", "right", "of these none", "wrong", "invented", "missing", "invalid")
    columns = (
        "n", "right", "right_missing", "wrong", "wrong_invented", "missing", "invalid",
        "no_extraction",
    )  # fmt: skip
    yield from text_table(
        (*header, "no record"),
        [(row["field"], *(str(row[key]) for key in columns)) for row in rows],
    )
    yield from _critical(found)
    yield from _cited(found)


def _critical(found: Extraction) -> Iterator[str]:
    names = [rule.name for rule in found.contract.fields if rule.critical]
    rows = found.outcomes.filter(pl.col("field").is_in(names) & (pl.col("outcome") != "right"))
    if rows.is_empty():
        return
    yield ""
    yield "Critical fields that are not right"
    for row in rows.head(_LISTED).iter_rows(named=True):
        said = "nothing" if row["extracted"] is None else row["extracted"]
        told = "nothing" if row["reviewed"] is None else row["reviewed"]
        text = f"{row['call_id']} {row['field']}: {row['outcome']}: {said}, reviewed {told}"
        yield from wrap_columns(escape_terminal(text), WIDTH, first="  ", rest="    ")
    if rows.height > _LISTED:
        yield f"  and {rows.height - _LISTED} more, in --json"


def _cited(found: Extraction) -> Iterator[str]:
    if found.supports.is_empty():
        return
    yield ""
    if found.supports["support"].is_null().all():
        yield f"{found.supports.height} places are cited; --run RUN checks that they are there"
        return
    counts = found.supports.group_by("support").len().sort("support").iter_rows()
    yield "Cited: " + " · ".join(f"{str(name).replace('_', ' ')} {n}" for name, n in counts)
    bad = found.supports.filter(~pl.col("support").is_in(["found", "no_transcript"]))
    for row in bad.head(_LISTED).iter_rows(named=True):
        text = f"{row['call_id']} {row['field']}: {row['support'].replace('_', ' ')}"
        if row["quote"] is not None:
            text += f': "{row["quote"]}"'
        yield from wrap_columns(escape_terminal(text), WIDTH, first="  ", rest="    ")
