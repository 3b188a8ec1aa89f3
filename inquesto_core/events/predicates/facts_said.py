"""The predicate ``spoken``: a side says an amount, a number or a phrase in some turn.

What the caller never heard was not said. Without a transcript it is undetermined; where the words
of a turn are not known it can be true and not false.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates.outcome import concluded, shown
from inquesto_core.events.predicates.phrases import DEFAULT_LANGUAGE, phrases_of
from inquesto_core.events.predicates.spoken_text import (
    each_text_once,
    is_denied,
    place_of,
    sentences,
    texts_heard,
)
from inquesto_core.events.spoken_amounts import read_amounts, speaks_of_money
from inquesto_core.evidence.spoken_words import is_number, spoken_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from inquesto_core.events.predicates.part import Part
    from inquesto_core.events.predicates.spoken_text import Sentence

__all__ = ["NO_TRANSCRIPT", "spoken"]

NO_TRANSCRIPT = (~pl.col("has_transcript"), "no transcript")


def spoken(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide whether `speaker` says the value in some turn."""
    speaker = predicate.get("speaker", "agent")
    rows = _after_money(texts_heard(part.rows("transcript")), predicate)
    rows = rows.filter(pl.col("speaker") == speaker)
    said = pl.concat(
        each_text_once(
            rows.filter(pl.col("after_money") == after),
            _reader(part, predicate, after_money=after),
            "said",
        )
        for after in (False, True)
    ).sort("call", "position")
    summary = said.group_by("call", maintain_order=True).agg(
        is_said=pl.col("said").any(ignore_nulls=False),
        turns=pl.len(),
        where=pl.format("transcript/{}", pl.col("position").filter("said")).str.join(", "),
    )
    frame = part.beside(summary)
    value = pl.when(pl.col("turns").is_null()).then(statement=False).otherwise("is_said")
    what = _told(predicate)
    text = (
        pl.when(pl.col("is_said"))
        .then(pl.concat_str(pl.lit(f"{speaker} says {what}: "), pl.col("where")))
        .when(pl.col("is_said").is_null() & pl.col("turns").is_not_null())
        .then(pl.lit(f"the words of some turn of the {speaker} are not known"))
        .otherwise(pl.lit(f"{speaker} says {what} in no turn"))
    )
    return concluded(frame, value, text, lacking=(NO_TRANSCRIPT,))


def _after_money(turns: pl.DataFrame, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Return turns with ``after_money``: an amount is asked for, and the turn before is on money.

    Whoever spoke it, that is what a bare number at the beginning of a turn answers.
    """
    if "amount" not in predicate:
        return turns.with_columns(after_money=pl.lit(value=False))
    before = turns.select("call", "position", heard=pl.col("heard").shift(1).over("call"))
    read = each_text_once(before, speaks_of_money, "after_money")
    return turns.with_columns(read["after_money"].fill_null(value=False))


def _reader(
    part: Part, predicate: Mapping[str, Any], *, after_money: bool
) -> Callable[[str], bool]:
    if "amount" in predicate:
        found = _amounts(predicate["amount"], after_money=after_money)
    elif "digits" in predicate:
        found = _digits(predicate["digits"])
    else:
        found = _phrases(predicate["phrases"])
    if not predicate.get("unless_denied", False):
        return lambda text: next(found(text), None) is not None
    language = predicate.get("language", DEFAULT_LANGUAGE)
    negations = phrases_of(part.evidence.population, language).negation
    return lambda text: any(not is_denied(before, negations) for before in found(text))


def _told(predicate: Mapping[str, Any]) -> str:
    return next(
        shown(predicate[key]) for key in ("amount", "digits", "phrases") if key in predicate
    )


# Each gives, for every place where a text says the value, the words of its sentence before it.


def _amounts(
    amount: Mapping[str, Any], *, after_money: bool
) -> Callable[[str], Iterator[Sentence]]:
    value = Decimal(str(amount["value"]))
    tolerance = Decimal(str(amount.get("tolerance", 0)))
    currency = amount.get("currency")

    def found(text: str) -> Iterator[Sentence]:
        for at, each in enumerate(read_amounts(text, money_is_topic=after_money)):
            if each.by_earlier_topic and at:
                continue
            known = currency is None or each.currency in (None, currency)
            if known and each.may_be(value, tolerance=tolerance):
                before = sentences(text[: each.start].rstrip(" .!?;,") + " ")
                yield before[-1] if before and _goes_on(text, each.start) else ()

    return found


def _goes_on(text: str, start: int) -> bool:
    """Return whether the words before a place are of its sentence."""
    return not text[:start].rstrip().endswith((".", "!", "?", ";", ","))


def _digits(digits: str) -> Callable[[str], Iterator[Sentence]]:
    wanted = tuple(digits)

    def found(text: str) -> Iterator[Sentence]:
        for words in sentences(text):
            for at, word in enumerate(words):
                begins = is_number(word) and (at == 0 or not is_number(words[at - 1]))
                if begins and _run(words, at) == wanted:
                    yield words[:at]

    return found


def _run(words: Sentence, at: int) -> Sentence:
    """Return the digits that are said in one go from a place on."""
    until = at
    while until < len(words) and is_number(words[until]):
        until += 1
    return words[at:until]


def _phrases(texts: list[str]) -> Callable[[str], Iterator[Sentence]]:
    wanted = [spoken_words(text) for text in texts]

    def found(text: str) -> Iterator[Sentence]:
        for words in sentences(text):
            for phrase in wanted:
                at = place_of(words, phrase)
                if at is not None:
                    yield words[:at]

    return found
