"""What the agent told the caller, sentence by sentence, and when: the ground of spoken checks.

Words that the caller never heard are no statements: of an interrupted turn only what was played
counts. An interruption marker is *stale* where no caller turn begins while that turn lasts; then
the whole turn was heard. Where times are missing nobody can tell, and what only the unheard part
says is *unsure*: it makes a check neither true nor false.

An amount is *on topic* where a topic word stands before it in its sentence, as far back as the
amount before, or behind the last amount of the sentence. A sentence that begins with the amount, or
with *it*, *that* or *this*, takes its topic from the sentence before, or from the turn before. A
topic elsewhere in the neighbourhood is unsure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.interruptions import cut_turns
from inquesto_core.events.spoken_amounts import read_amounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from inquesto_core.events.spoken_amounts import Amount

__all__ = [
    "LARGEST",
    "MICRO",
    "WORD",
    "amount_table",
    "phrase_pattern",
    "said_table",
    "topic_pattern",
]

#: Amounts are compared as whole millionths.
MICRO = 1_000_000

#: Amounts beyond are nobody's bill, and no 64-bit integer.
LARGEST = 2**61

WORD = re.compile(r"\w+(?:['’]\w+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_POINTS_BACK = re.compile(r"\W*(it|it's|its|that|that's|this|which)\b", re.IGNORECASE)

#: One row an amount that a text can be read to state.
_AMOUNTS = {
    "text": pl.String,
    "micro": pl.Int64,
    "currency": pl.String,
    "needs_topic": pl.Boolean,  # money only where the turn before speaks of it
    "near": pl.String,  # where a topic is sure
    "before": pl.String,  # the sentence before, where a topic is sure if it points back
    "points_back": pl.Boolean,
    "is_first": pl.Boolean,  # of its turn: the turn before may give the topic
    "loose": pl.String,  # where a topic is unsure
    "shown": pl.String,
}


def said_table(transcript: pl.DataFrame) -> pl.DataFrame:
    """Return what the agent said, a row a turn, or two where it is not known what was heard.

    Returns
    -------
    polars.DataFrame
        ``call_id, position, start_ms, end_ms, text, sure, previous``; the last is what the turn
        before says, whoever speaks.
    """
    turns = transcript.sort("call_id", "position").with_columns(
        previous=pl.coalesce("heard_text", "text").shift(1).over("call_id").fill_null("")
    )
    agent = turns.filter(pl.col("speaker") == "agent")
    is_cut = pl.col("heard_text").is_not_null() & (pl.col("heard_text") != pl.col("text"))
    known = cut_turns(turns)
    columns = ("call_id", "position", "start_ms", "end_ms", "text", "sure", "previous")
    whole = agent.filter(~is_cut.fill_null(value=False)).with_columns(sure=pl.lit(value=True))
    stale = known.filter(pl.col("interrupted").eq_missing(pl.lit(value=False))).with_columns(
        sure=pl.lit(value=True)
    )
    heard = known.filter(pl.col("interrupted").ne_missing(pl.lit(value=False))).with_columns(
        text="heard_text", sure=pl.lit(value=True)
    )
    unsure = known.filter(pl.col("interrupted").is_null()).with_columns(sure=pl.lit(value=False))
    parts = [part.select(columns) for part in (whole, stale, heard, unsure)]
    return pl.concat(parts).sort("call_id", "position", "sure")


def amount_table(texts: Iterable[str]) -> pl.DataFrame:
    """Return every amount of every text, each text read once: columns `_AMOUNTS`."""
    rows = [row for text in sorted(set(texts)) for row in _amounts_of(text)]
    return pl.DataFrame(rows, schema=_AMOUNTS, orient="row")


def _amounts_of(text: str) -> Iterable[dict[str, object]]:
    amounts = read_amounts(text, money_is_topic=True)
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text) + 1]
    for at, amount in enumerate(amounts):
        place = _place(text, ends, amounts, at)
        for value in (amount.value, *amount.other_values):
            if abs(value * MICRO) > LARGEST:
                continue
            yield {
                "text": text,
                "micro": _micro(value),
                "currency": amount.currency,
                "needs_topic": amount.by_earlier_topic,
                "is_first": at == 0,
                "shown": text[amount.start : amount.end],
                **place,
            }


def _micro(value: Decimal) -> int:
    return int((value * MICRO).to_integral_value())


def _place(text: str, ends: list[int], amounts: Sequence[Amount], at: int) -> dict[str, object]:
    """Return where topic words are looked for around one amount."""
    amount = amounts[at]
    sentence = max(index for index, start in enumerate(ends) if start <= amount.start)
    begin, end = ends[sentence], min(ends[sentence + 1], len(text))
    earlier = [one.end for one in amounts[:at] if one.end > begin]
    later = [one.start for one in amounts[at + 1 :] if one.start < end]
    before = text[max([begin, *earlier]) : amount.start]
    after = text[amount.end : min([end, *later])]
    previous = text[ends[sentence - 1] : begin] if sentence else ""
    spent = any(ends[sentence - 1] <= one.start < begin for one in amounts) if sentence else False
    opens = not earlier and (not before.strip(" \t\"'“”") or _POINTS_BACK.match(before) is not None)
    return {
        "near": before if later else f"{before} {after}",
        "before": "" if spent or earlier else previous,
        "points_back": opens,
        "loose": after if later else "",
    }


def phrase_pattern(phrases: Iterable[str]) -> str:
    """Return a regular expression of any of the phrases as whole words, whatever stands between."""
    return r"(?i)(?:^|\W)(?:" + "|".join(map(_words, phrases)) + r")(?:$|\W)"


def topic_pattern(topic: Iterable[str] | None) -> str:
    """Return a regular expression of any topic word with any ending; of no topic: anything."""
    if topic is None:
        return ""
    return r"(?i)(?:^|\W)(?:" + "|".join(map(_words, topic)) + ")"


def _words(phrase: str) -> str:
    words = [re.escape(word.replace("’", "'")) for word in WORD.findall(phrase)]
    return r"\W+".join(words).replace("'", "['’]")
