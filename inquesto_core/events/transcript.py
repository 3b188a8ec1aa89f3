"""What a call's transcript shows: whether the agent talks at length.

The words are those that were heard where the transcript knows them (table ``transcript``,
``n_words``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.occurrences import occurrences

if TYPE_CHECKING:
    from inquesto_core.protocol import Protocol

__all__ = ["transcript_events", "transcript_flags", "verbosity"]


def verbosity(calls: pl.DataFrame, transcript: pl.DataFrame) -> pl.DataFrame:
    """Return how many words the agent of every call spoke, in how many turns.

    Rows of the agent with no caller row between them are one turn; rows without a word are no
    part of any. The reference counts rows, and ``"(silence)"`` as a word: its means are lower.

    Returns
    -------
    polars.DataFrame
        ``call_id, words, turns``, one row a call in the order of `calls`; null without a
        transcript.
    """
    spoken = transcript.filter((pl.col("speaker") == "caller") | (pl.col("n_words") > 0)).sort(
        "call_id", "position"
    )
    is_agent = pl.col("speaker") == "agent"
    same_call = pl.col("call_id") == pl.col("call_id").shift(1)
    follows_agent = (same_call & is_agent.shift(1)).fill_null(value=False)
    counts = (
        spoken.select(
            "call_id",
            words=pl.when(is_agent).then("n_words"),
            turns=(is_agent & ~follows_agent).cast(pl.Int64),
        )
        .group_by("call_id")
        .agg(pl.col("words").sum(), pl.col("turns").sum())
    )
    has = pl.col("has_transcript").fill_null(value=False)
    joined = calls.select("call_id", "has_transcript").join(
        counts, on="call_id", how="left", maintain_order="left"
    )
    return joined.select(
        "call_id",
        *(pl.when(has).then(pl.col(name).fill_null(0)).alias(name) for name in ("words", "turns")),
    )


def _limit(protocol: Protocol) -> pl.Expr:
    return int(protocol.event("verbose").parameters["mean_words"]) * pl.col("turns")


def transcript_flags(spoken: pl.DataFrame, *, protocol: Protocol) -> pl.DataFrame:
    """Return ``call_id`` and ``event_verbose``.

    Criterion (protocol, `verbose`): *mean words per agent turn > 60*, compared exactly as
    ``words > 60 * turns`` (exclusive). No transcript: null; no agent turn with words: false.

    Parameters
    ----------
    spoken : `verbosity`
    """
    return spoken.select("call_id", event_verbose=pl.col("words") > _limit(protocol))


def transcript_events(spoken: pl.DataFrame, *, protocol: Protocol) -> pl.DataFrame:
    """Return a row of table ``events`` for every verbose call.

    ``value`` is the agent's words and ``threshold`` the most that many turns may have
    (60 a turn), so that nothing is divided. It is about the whole call: ``at_ms`` is null.

    Parameters
    ----------
    spoken : `verbosity`
    """
    verbose = spoken.with_columns(threshold=_limit(protocol))
    verbose = verbose.filter(pl.col("words") > pl.col("threshold"))
    rows = verbose.select("call_id", "threshold", value="words", evidence_key=pl.lit("transcript"))
    return occurrences(rows, protocol.event("verbose"))
