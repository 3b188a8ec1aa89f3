"""What a transcript file says was said, and which of its times can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.bundle.call import Transcript, TranscriptTurn, Word
from inquesto_core.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["build_transcript"]


def build_transcript(value: Mapping[str, Any]) -> tuple[Transcript, list[Problem]]:
    """Return the transcript in a valid ``transcript.json``, with warnings about its times.

    Writers that have no times fill in zeros; where all are zero they are taken as unknown, rather
    than everything as said at once. A turn or word that ends before it starts has no times either
    (warning ``transcript_time_reversed``).
    """
    rows = value["turns"]
    turns_known = not _all_zero(rows)
    words_known = not _all_zero(word for row in rows for word in row.get("words") or ())
    problems: list[Problem] = []
    turns = []
    for at, row in enumerate(rows):
        start_ms, end_ms = _times(row, f"/turns/{at}", problems, known=turns_known)
        words = [
            (word["word"], *_times(word, f"/turns/{at}/words/{place}", problems, known=words_known))
            for place, word in enumerate(row.get("words") or ())
        ]
        turns.append(
            TranscriptTurn(
                speaker=row["speaker"],
                text=row["text"],
                heard_text=row.get("heard_text"),
                start_ms=start_ms,
                end_ms=end_ms,
                words=tuple(
                    Word(word=word, start_ms=begins_ms, end_ms=ends_ms)
                    for word, begins_ms, ends_ms in words
                ),
            )
        )
    return Transcript(source=value.get("source"), turns=tuple(turns)), problems


def _all_zero(rows: Iterable[Mapping[str, Any]]) -> bool:
    times = [row.get(name) for row in rows for name in ("start_ms", "end_ms")]
    return all(at_ms in {0, None} for at_ms in times)


def _times(
    row: Mapping[str, Any], pointer: str, problems: list[Problem], *, known: bool
) -> tuple[int | None, int | None]:
    start_ms, end_ms = row.get("start_ms"), row.get("end_ms")
    if not known:
        return None, None
    if start_ms is not None and end_ms is not None and end_ms < start_ms:
        problems.append(
            Problem(
                code="transcript_time_reversed",
                found=f"ends {start_ms - end_ms} ms before it starts",
                expected="an end at or after the start",
                remedy="both times are taken as unknown",
                file="transcript.json",
                pointer=pointer,
                level="warning",
            )
        )
        return None, None
    return (
        None if start_ms is None else int(start_ms),
        None if end_ms is None else int(end_ms),
    )
