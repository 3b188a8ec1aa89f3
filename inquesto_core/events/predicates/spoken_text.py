"""What a turn says, read once a distinct text: phrases, numbers, amounts, and what is denied.

Words are those of `evidence.spoken_words`, so that case, punctuation and the spelling of numbers
make no difference. A phrase lies within one sentence.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.interruptions import cut_turns
from inquesto_core.evidence.spoken_words import spoken_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "DENIED_WITHIN",
    "Sentence",
    "each_text_once",
    "is_denied",
    "place_of",
    "sentences",
    "texts_heard",
]

#: A negation denies what begins at most this many words behind it.
DENIED_WITHIN = 4

#: Where a sentence ends: what is said on either side is not one phrase or number.
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|(?<=,)\s+|\n+")

#: Distinct texts whose words are kept between one predicate and the next.
_KEPT_TEXTS = 65_536

Sentence = tuple[str, ...]


@functools.lru_cache(maxsize=_KEPT_TEXTS)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the words of a text, sentence by sentence; a comma with a space ends one too.

    >>> sentences("Yes, go ahead. It's $49.")
    (('yes',), ('go', 'ahead'), ('it', 'is', '4', '9', 'dollars'))
    """
    said = (spoken_words(part) for part in _SENTENCE_END.split(text))
    return tuple(words for words in said if words)


def place_of(words: Sentence, phrase: Sentence) -> int | None:
    """Return where a phrase first stands in a sentence; None = nowhere.

    >>> place_of(("please", "go", "ahead"), ("go", "ahead"))
    1
    """
    length = len(phrase)
    for at in range(len(words) - length + 1):
        if words[at : at + length] == phrase:
            return at
    return None


def is_denied(before: Sequence[str], negations: Iterable[Sentence]) -> bool:
    """Return whether the words before something deny it."""
    last = tuple(before[-DENIED_WITHIN:])
    return any(place_of(last, phrase) is not None for phrase in negations)


def texts_heard(rows: pl.DataFrame) -> pl.DataFrame:
    """Return turns of whole calls with ``heard``: what was played, where that is known.

    A mark that says so of a turn into which nobody spoke is stale: all of it was heard.
    """
    cut = cut_turns(rows, key="call")
    stale = cut.filter(~pl.col("interrupted")).select(
        "call", "position", is_stale=pl.lit(value=True)
    )
    placed = rows.join(stale, on=["call", "position"], how="left", maintain_order="left")
    heard = pl.when("is_stale").then("text").otherwise(pl.coalesce("heard_text", "text"))
    return placed.with_columns(heard=heard).drop("is_stale")


def each_text_once(rows: pl.DataFrame, read: Callable[[str], bool], name: str) -> pl.DataFrame:
    """Return `rows` with the Boolean `name` of the text in ``heard``; null where there is none."""
    distinct = rows.select("heard").drop_nulls().unique().sort("heard")
    found = distinct.with_columns(
        pl.Series(name, [read(text) for text in distinct["heard"]], dtype=pl.Boolean)
    )
    return rows.join(found, on="heard", how="left", maintain_order="left")
