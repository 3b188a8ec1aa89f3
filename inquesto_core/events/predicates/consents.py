"""The predicate ``consent``: before a tool is performed, the caller has said yes to what it does.

1. An agent turn *names* the action if it has a phrase of every entry of ``names``.
2. A later caller turn *agrees* or *refuses* by the phrases of its language (`Phrases.answer`).
3. Consent is given at a moment if of the caller's turns that agree or refuse after a turn that
   names, and that have ended by then, the last one agrees.
4. The predicate is true if consent is given when each performed `tool` starts, and so where none
   is performed.

A turn that is still going on when the tool starts, and would change the answer, leaves it
undetermined, and so do times that are not known, unless nobody agreed in the whole call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates.facts_said import NO_TRANSCRIPT
from inquesto_core.events.predicates.outcome import concluded
from inquesto_core.events.predicates.phrases import DEFAULT_LANGUAGE, phrases_of
from inquesto_core.events.predicates.spoken_text import (
    each_text_once,
    place_of,
    sentences,
    texts_heard,
)
from inquesto_core.events.predicates.tools import NO_TRACE, place
from inquesto_core.evidence.spoken_words import spoken_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.events.predicates.part import Part

__all__ = ["consent"]


def consent(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide whether the caller agreed before every performed `tool`."""
    answers = _answers(part, predicate)
    known = answers.filter(pl.col("answer").is_not_null())
    done = part.performed(predicate["tool"])
    judged = _judged(done, known)
    per_call = answers.group_by("call", maintain_order=True).agg(
        wordless=pl.col("heard").is_null().any(),
        agreed=(pl.col("answer") & True).fill_null(value=False).any(),
        untimed=(
            pl.col("answer").is_not_null()
            & (pl.col("start_ms").is_null() | pl.col("end_ms").is_null())
        ).any(),
    )
    rows = judged.join(per_call, on="call", how="left", maintain_order="left")
    unclear = pl.col("start_ms").is_null() | pl.col("untimed") | pl.col("straddles")
    given = (
        pl.when(pl.col("wordless") & ~pl.col("given"))
        .then(None)
        .when(pl.col("agreed").not_().fill_null(value=True))
        .then(statement=False)
        .when(unclear)
        .then(None)
        .otherwise("given")
    )
    rows = rows.with_columns(consented=given)
    summary = rows.group_by("call", maintain_order=True).agg(
        value=pl.col("consented").all(ignore_nulls=False),
        told=pl.concat_str(
            place(),
            pl.when("consented")
            .then(pl.concat_str(pl.lit(" after a yes in transcript/"), "yes_at"))
            .when(pl.col("consented").is_null())
            .then(pl.lit(": whether a yes came before is not known"))
            .otherwise(pl.lit(" without a yes that counts")),
        ).str.join("; "),
    )
    frame = part.beside(summary)
    tool = predicate["tool"]
    text = pl.col("told").fill_null(pl.lit(f"{tool} performed 0 times"))
    # Where the tool was never performed, nothing was done without consent.
    value = pl.when(pl.col("told").is_null()).then(statement=True).otherwise("value")
    return concluded(frame, value, text, lacking=(NO_TRACE, NO_TRANSCRIPT))


def _answers(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Return the transcript with ``answer``: the caller says yes (true) or no to what is named."""
    names = [_alternatives(entry) for entry in predicate["names"]]
    language = predicate.get("language", DEFAULT_LANGUAGE)
    phrases = phrases_of(part.evidence.population, language)
    rows = texts_heard(part.rows("transcript"))
    is_agent = pl.col("speaker") == "agent"
    rows = each_text_once(rows, lambda text: _names(text, names), "names")
    rows = each_text_once(rows, lambda text: phrases.answer(sentences(text)) is True, "agrees")
    rows = each_text_once(rows, lambda text: phrases.answer(sentences(text)) is False, "refuses")
    named = (is_agent & pl.col("names").fill_null(value=False)).cast(pl.Int64)
    rows = rows.with_columns(was_named=named.cum_sum().over("call") > 0)
    asked = ~is_agent & pl.col("was_named")
    return rows.with_columns(
        answer=pl.when(asked & pl.col("agrees"))
        .then(statement=True)
        .when(asked & pl.col("refuses"))
        .then(statement=False)
    )


def _alternatives(entry: str | Sequence[str]) -> list[tuple[str, ...]]:
    return [spoken_words(text) for text in ([entry] if isinstance(entry, str) else entry)]


def _names(text: str, names: Sequence[Sequence[tuple[str, ...]]]) -> bool:
    words = tuple(word for sentence in sentences(text) for word in sentence)
    return all(any(place_of(words, phrase) is not None for phrase in entry) for entry in names)


def _judged(done: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return the tool calls with ``given``, ``straddles`` and ``yes_at``."""
    timed = known.drop_nulls(["start_ms", "end_ms"]).select(
        "call", "answer", "position", turn_start="start_ms", turn_end="end_ms"
    )
    at = done.sort("start_ms", nulls_last=True).with_columns(at_ms=pl.col("start_ms").fill_null(-1))
    ended = timed.select("call", "turn_end", last="answer", yes_at="position").sort("turn_end")
    begun = timed.select("call", "turn_start", "turn_end", under_way="answer").sort("turn_start")
    found = at.sort("at_ms").join_asof(
        ended, left_on="at_ms", right_on="turn_end", by="call", check_sortedness=False
    )
    found = found.join_asof(
        begun.rename({"turn_end": "still_to"}),
        left_on="at_ms",
        right_on="turn_start",
        by="call",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    given = pl.col("last").fill_null(value=False)
    straddles = (pl.col("still_to") > pl.col("at_ms")) & (pl.col("under_way") != given)
    return found.with_columns(
        given=given,
        straddles=straddles.fill_null(value=False),
        yes_at=pl.col("yes_at").cast(pl.String).fill_null("?"),
    ).sort("call", "position")
