"""How well callers were understood, as lines of text and as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.recognition import MOST_CHARACTERS, slice_table
from inquesto_core.events.spoken_entities import KINDS
from inquesto_core.report.counted import counted
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH
from inquesto_core.report.text_table import percent, text_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inquesto_core.compare.recognition import Recognition

__all__ = ["recognition_document", "recognition_lines"]

_NAMES = {
    "reference": "the reference",
    "platform": "the platform's transcript",
    "asr": "our own transcript",
}
_ONCE = {"negation_lost": "a denial lost", "negation_gained": "a denial gained"}
#: Places with a denial that are listed; the JSON has all.
_LISTED = 20

Row = dict[str, Any]


def recognition_document(found: Sequence[Recognition]) -> list[Row]:
    """Return a value a pair of transcripts: sums and rates by slice, and every place."""
    return [
        {
            "reference": each.reference,
            "heard": each.heard,
            "normaliser": each.normaliser,
            "calls": each.counts["call_id"].n_unique(),
            "without_reference": each.without_reference,
            "without_heard": each.without_heard,
            "too_long": each.too_long,
            "languages_without_list": list(each.languages_without_list),
            "slices": slice_table(each.counts).to_dicts(),
            "sides": each.counts.to_dicts(),
            "places": each.places.to_dicts(),
        }
        for each in found
    ]


def recognition_lines(found: Sequence[Recognition]) -> list[str]:
    """Return a table a pair of transcripts and side, then the places where a denial differs."""
    lines: list[str] = []
    for each in found:
        lines += ["", *_one(each)] if lines else list(_one(each))
    return lines


def _one(found: Recognition) -> Iterator[str]:
    calls = found.counts["call_id"].n_unique()
    yield f"What {_NAMES[found.heard]} lost of {_NAMES[found.reference]}: {counted(calls, 'call')}"
    if found.without_reference or found.without_heard:
        yield (
            f"  left out: {counted(found.without_reference, 'call')} without the first, "
            f"{found.without_heard} without the second"
        )
    if found.too_long:
        yield (
            f"  not compared: {counted(found.too_long, 'side')} of more than {MOST_CHARACTERS:,} "
            "characters"
        )
    table = slice_table(found.counts)
    for speaker in table["speaker"].unique().sort():
        rows = table.filter(pl.col("speaker") == speaker).to_dicts()
        yield ""
        yield from text_table(
            (speaker, "word error", "characters", "denials lost", "gained"), list(_errors(rows))
        )
        yield ""
        yield from text_table((f"{speaker}: kept", *KINDS, "added"), list(_kept(rows)))
        empty = rows[0]["empty_references"]
        if empty:
            yield (
                f"  in no rate: {counted(empty, 'side')} without a word in the reference; "
                f"{counted(rows[0]['words_in_empty'], 'word')} heard there"
            )
    for language in found.languages_without_list:
        yield f"  denials of {escape_terminal(language)} are not counted: no list of them"
    yield from _denials(found)
    yield f"  words by {found.normaliser}"


def _slice_name(row: Row) -> str:
    if row["slice"] == "all":
        return "all"
    return f"{row['slice']} {'not told' if row['value'] is None else row['value']}"


def _told(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows but those of a column that tells nothing of any call."""
    for row in rows:
        values = {other["value"] for other in rows if other["slice"] == row["slice"]}
        if row["slice"] == "all" or values != {None}:
            yield row


def _errors(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for row in _told(rows):
        yield (
            _slice_name(row),
            percent(row["substitutions"] + row["deletions"] + row["insertions"], row["n_words"]),
            percent(row["character_errors"], row["n_characters"]),
            str(row["negations_lost"]),
            str(row["negations_gained"]),
        )


def _kept(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for row in _told(rows):
        yield (
            _slice_name(row),
            *(
                f"{row[f'{kind}_kept']}/{row[f'{kind}_said']}" if row[f"{kind}_said"] else "-"
                for kind in KINDS
            ),
            str(sum(row[f"{kind}_added"] for kind in KINDS)),
        )


def _denials(found: Recognition) -> Iterator[str]:
    rows = found.places.filter(pl.col("what").str.starts_with("negation")).to_dicts()
    for row in rows[:_LISTED]:
        text = (
            f"{row['call_id']} {row['speaker']}: {_ONCE[row['what']]}: "
            f'"{row["words"]}" heard as "{row["heard"]}"'
        )
        yield from wrap_columns(escape_terminal(text), WIDTH, first="  ", rest="    ")
    if len(rows) > _LISTED:
        yield f"  and {len(rows) - _LISTED} more, in --json"
