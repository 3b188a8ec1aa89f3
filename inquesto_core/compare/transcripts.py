"""Two transcripts of a call side by side: how far they differ, and where.

The platform's is the reference, though it need not be right: it is what the agent acted on. Places
where a *not* or a number differs stand apart, since one of them may turn a call round and ten
spellings do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.word_error import word_error
from inquesto_core.evidence.spoken_words import NORMALISER, spoken_words

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["compared_rows"]

_SIDES = ("caller", "agent")

Row = dict[str, Any]


def compared_rows(
    transcript: pl.DataFrame, asr_turns: pl.DataFrame, call_ids: pl.Series
) -> dict[str, list[Row]]:
    """Return the rows of tables ``word_errors`` and ``transcript_differences``.

    Parameters
    ----------
    transcript : evidence table
        The platforms' transcripts alone. What was heard counts where it differs from what was
        written.
    asr_turns : evidence table
    call_ids : polars.Series
        The calls that were heard, were it nothing.
    """
    written = transcript.with_columns(text=pl.coalesce("heard_text", "text")).sort(
        "call_id", "position"
    )
    theirs, ours = _by_call(written), _by_call(asr_turns.sort("call_id", "position"))
    rows: dict[str, list[Row]] = {"word_errors": [], "transcript_differences": []}
    for call_id in sorted(theirs.keys() & set(call_ids)):
        for speaker in _SIDES:
            mine = [turn for turn in ours.get(call_id, ()) if turn["speaker"] == speaker]
            said = [turn for turn in theirs[call_id] if turn["speaker"] == speaker]
            _compare(call_id, speaker, said, mine, rows)
    return rows


def _by_call(turns: pl.DataFrame) -> dict[str, list[Row]]:
    out: dict[str, list[Row]] = {}
    columns = ("call_id", "speaker", "position", "start_ms", "text")
    for row in turns.select(columns).iter_rows(named=True):
        out.setdefault(row["call_id"], []).append(row)
    return out


def _compare(
    call_id: str, speaker: str, said: list[Row], mine: list[Row], rows: dict[str, list[Row]]
) -> None:
    """Add the rows of one side of a call."""
    words, turn_of = _flat(said)
    own, own_turn_of = _flat(mine)
    found = word_error(words, own)
    places = found.differences
    rows["word_errors"].append(
        {
            "call_id": call_id,
            "speaker": speaker,
            "normaliser": NORMALISER,
            "n_words": found.n_words,
            "n_own_words": found.n_heard,
            "substitutions": found.substitutions,
            "deletions": found.deletions,
            "insertions": found.insertions,
            "negations": sum(place.is_negation for place in places),
            "numbers": sum(place.is_number for place in places),
        }
    )
    for position, place in enumerate(places):
        turn, own_turn = _turn_at(turn_of, place.at), _turn_at(own_turn_of, place.heard_at)
        at = own_turn or turn
        rows["transcript_differences"].append(
            {
                "call_id": call_id,
                "speaker": speaker,
                "position": position,
                "at_ms": None if at is None else at["start_ms"],
                "turn": None if turn is None else turn["position"],
                "own_turn": None if own_turn is None else own_turn["position"],
                "words": " ".join(place.words),
                "own_words": " ".join(place.heard),
                "is_negation": place.is_negation,
                "is_number": place.is_number,
            }
        )


def _flat(turns: Iterable[Row]) -> tuple[list[str], list[Row]]:
    """Return the words of turns, and the turn of each."""
    words: list[str] = []
    of: list[Row] = []
    for turn in turns:
        said = spoken_words(turn["text"] or "")
        words += said
        of += [turn] * len(said)
    return words, of


def _turn_at(turns: list[Row], at: int) -> Row | None:
    """Return the turn of a word, of the last one where the word would stand behind it."""
    return turns[min(at, len(turns) - 1)] if turns else None
