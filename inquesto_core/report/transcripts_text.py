"""What the transcriber heard beside the transcript that a call brings, as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import NOTHING, WIDTH
from inquesto_core.report.timeline_text import format_time

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["asr_lines", "asr_texts"]

_NOTHING_SAID = "nothing"

Facts = dict[str, Any]
Row = dict[str, Any]


def _wrap(text: str, *, first: str = "  ", rest: str = "    ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=escape_terminal(first), rest=rest)


def asr_lines(facts: Facts) -> list[str]:
    """Return how far both transcripts differ, and each place where a negation or a number does.

    Where the transcript that is read is itself the transcriber's, that is said instead. Nothing
    where the call was not heard.
    """
    lines = [line for text in _summary(facts) for line in _wrap(text)]
    for row in facts["transcript_differences"]:
        if row["is_negation"] or row["is_number"]:
            first, text = _difference(row)
            lines += _wrap(text, first=f"  {first}", rest=" " * 6)
    return lines


def asr_texts(facts: Facts) -> list[str]:
    """Return what `asr_lines` says, a text each."""
    marked = (
        row for row in facts["transcript_differences"] if row["is_negation"] or row["is_number"]
    )
    return [*_summary(facts), *("".join(_difference(row)) for row in marked)]


def _summary(facts: Facts) -> Iterator[str]:
    origins = {row["origin"] for row in facts["transcript"] if row["source"] == "asr"}
    for origin in sorted(origins):
        yield f"the call brings none: this one was heard by {origin}"
    if facts["words_left_out"]:
        yield f"words left out, heard where nobody speaks: {facts['words_left_out']}"
    yield from map(_counts, facts["word_errors"])


def _counts(row: Row) -> str:
    errors = row["substitutions"] + row["deletions"] + row["insertions"]
    share = f" ({100 * errors / row['n_words']:.1f} %)" if row["n_words"] else ""
    return (
        f"{row['speaker']}: {errors} of {row['n_words']} words differ{share}: "
        f"{row['substitutions']} replaced, {row['deletions']} not heard, "
        f"{row['insertions']} added; "
        f"places with a negation {row['negations']}, with a number {row['numbers']} "
        f"({row['normaliser']})"
    )


def _difference(row: Row) -> tuple[str, str]:
    """Return where both transcripts differ, and how."""
    kinds = [name for name in ("negation", "number") if row[f"is_{name}"]]
    line = NOTHING if row["turn"] is None else f"L{row['turn']}"
    at = "" if row["at_ms"] is None else f"{format_time(row['at_ms'])} "
    return (
        f"{at}{row['speaker']} {line}: ",
        f'{" and ".join(kinds)}: written "{row["words"] or _NOTHING_SAID}", heard '
        f'"{row["own_words"] or _NOTHING_SAID}"',
    )
