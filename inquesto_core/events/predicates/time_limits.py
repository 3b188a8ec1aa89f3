"""Predicates on the time between tools and speech.

``speech_after_tool``: no wait after a result of `tool` is longer than ``within_ms``. A wait begins
where a performed tool call ends and ends with the agent's next sound, with the caller's, or with
the scored window, whichever is first; it is 0 where either is speaking as the result comes. Results
that come before the agent is heard do not end it.

``tool_after_speech``: `tool` starts at most ``within_ms`` after the first turn of `speaker` that
says one of the phrases has ended, and not before that turn began. Where no turn says one, no limit
began, and it is true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates.facts_said import NO_TRANSCRIPT
from inquesto_core.events.predicates.outcome import concluded
from inquesto_core.events.predicates.spoken_text import (
    each_text_once,
    place_of,
    sentences,
    texts_heard,
)
from inquesto_core.events.predicates.tools import NO_TRACE, place
from inquesto_core.evidence.spoken_words import spoken_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.events.predicates.part import Part

__all__ = ["speech_after_tool", "tool_after_speech"]

_NO_TIMING = (~pl.col("is_timed"), "timing is not evaluated")


def speech_after_tool(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide by the longest wait after a result of `tool`."""
    tool, limit = predicate["tool"], predicate["within_ms"]
    rows = part.performed(tool).join(
        _waits(part), on=["call", "position"], how="left", maintain_order="left"
    )
    longest = pl.col("wait_ms").arg_max()
    summary = rows.group_by("call", maintain_order=True).agg(
        worst_ms=pl.col("wait_ms").max(),
        worst_at=place().get(longest),
        unclear=pl.col("end_ms").is_null().any(),
    )
    frame = part.beside(summary)
    value = (
        pl.when((pl.col("worst_ms") > limit).fill_null(value=False))
        .then(statement=False)
        .when(pl.col("unclear").fill_null(value=False))
        .then(None)
        .otherwise(statement=True)
    )
    text = (
        pl.when(pl.col("worst_ms").is_not_null())
        .then(
            pl.format(
                "{} ms of silence after {}, at most {}", "worst_ms", "worst_at", pl.lit(limit)
            )
        )
        .when(pl.col("unclear").fill_null(value=False))
        .then(pl.lit(f"when {tool} ended is not known"))
        .otherwise(pl.lit(f"no result of {tool} is waited for"))
    )
    return concluded(frame, value, text, lacking=(NO_TRACE, _NO_TIMING))


def _waits(part: Part) -> pl.DataFrame:
    """Return how long each result of these calls was followed by silence: ``wait_ms``."""
    results = part.rows("tool_results").sort("at_ms", "call", "position")
    heard = part.rows("utterances").select("call", "start_ms", "end_ms").sort("start_ms")
    told = results.join_asof(
        heard.rename({"start_ms": "from_ms", "end_ms": "to_ms"}),
        left_on="at_ms",
        right_on="from_ms",
        by="call",
        check_sortedness=False,
    ).join_asof(
        heard.select("call", next_ms="start_ms"),
        left_on="at_ms",
        right_on="next_ms",
        by="call",
        strategy="forward",
        check_sortedness=False,
    )
    at, outcome = pl.col("at_ms"), pl.col("outcome")
    caller = pl.when(pl.col("to_ms") > at).then(at).otherwise("next_ms")
    until = (
        pl.when(outcome == "spoke")
        .then(at + pl.col("first_sound_ms"))
        .when(outcome == "agent_speaking")
        .then(at)
        .when(outcome == "caller_first")
        .then(caller)
        .when(outcome == "no_sound")
        .then("window_to_ms")
    )
    told = (
        told.join(part.calls.select("call", "window_to_ms"), on="call", how="left")
        .sort("call", "at_ms", "position")
        .with_columns(until_ms=until)
        .with_columns(pl.col("until_ms").backward_fill().over("call"))
    )
    return told.select("call", "position", wait_ms=pl.col("until_ms") - pl.col("at_ms"))


def tool_after_speech(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide by the first start of `tool` since the turn that says it."""
    tool, speaker, limit = predicate["tool"], predicate["speaker"], predicate["within_ms"]
    wanted = [spoken_words(text) for text in predicate["says"]]

    def says(text: str) -> bool:
        return any(
            place_of(words, phrase) is not None for words in sentences(text) for phrase in wanted
        )

    rows = texts_heard(part.rows("transcript")).filter(pl.col("speaker") == speaker)
    rows = each_text_once(rows, says, "says")
    first = (
        rows.filter("says")
        .group_by("call", maintain_order=True)
        .agg(
            turn=pl.col("position").first(),
            since_ms=pl.col("start_ms").first(),
            from_ms=pl.col("end_ms").first(),
        )
    )
    wordless = rows.group_by("call").agg(wordless=pl.col("says").is_null().any())
    frame = part.beside(first).join(wordless, on="call", how="left", maintain_order="left")
    done = part.performed(tool).join(
        first.select("call", "since_ms"), on="call", how="left", maintain_order="left"
    )
    summary = done.group_by("call", maintain_order=True).agg(
        untimed=pl.col("start_ms").is_null().any(),
        started_ms=pl.col("start_ms").filter(pl.col("start_ms") >= pl.col("since_ms")).min(),
    )
    frame = frame.join(summary, on="call", how="left", maintain_order="left")
    in_time = (pl.col("started_ms") <= pl.col("from_ms") + limit).fill_null(value=False)
    is_said, untimed = pl.col("turn").is_not_null(), pl.col("untimed").fill_null(value=False)
    turn_untimed = pl.col("from_ms").is_null() | pl.col("since_ms").is_null()
    value = (
        pl.when(~is_said & pl.col("wordless").fill_null(value=False))
        .then(None)
        .when(~is_said)
        .then(statement=True)
        .when(turn_untimed)
        .then(None)
        .when(in_time)
        .then(statement=True)
        .when(untimed)
        .then(None)
        .otherwise(statement=False)
    )
    behind = pl.format(
        "{} starts {} ms after transcript/{}, at most {}",
        pl.lit(tool),
        pl.col("started_ms") - pl.col("from_ms"),
        "turn",
        pl.lit(limit),
    )
    text = (
        pl.when(~is_said)
        .then(pl.lit(f"{speaker} says it in no turn whose words are known"))
        .when(turn_untimed)
        .then(pl.format("when transcript/{} was said is not known", "turn"))
        .when(pl.col("started_ms").is_not_null())
        .then(behind)
        .when(untimed)
        .then(pl.lit(f"when {tool} started is not known"))
        .otherwise(pl.format("{} does not start after transcript/{}", pl.lit(tool), "turn"))
    )
    return concluded(frame, value, text, lacking=(NO_TRACE, NO_TRANSCRIPT))
