"""What the agent meant to say beside what was played, and marks of interruption that nothing bears.

Where a platform tells both (``text`` and ``heard_text``), only what was heard is a statement: the
judge, the predicates and the counts read that. Here is counted what the caller never heard.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.spoken_entities import Heard, find_entities
from inquesto_core.evidence.spoken_words import spoken_words

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Delivery", "delivery"]

_MARK = re.compile(r"[\[(<]\s*(?:was\s+)?interrupted[^\])>]*[\])>]|\b(?:__|##)interrupted\b", re.I)
_COUNTED = (
    "n_turns", "n_told", "n_cut", "n_words", "n_heard", "marked", "marked_stale",
    "cut_without_barge_in",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Agent turns as written and as heard.

    Parameters
    ----------
    n_turns, n_told : int
        Agent turns, and those of which the platform tells what was heard.
    n_cut : int
        Of these, turns that say fewer words than were written.
    n_words, n_heard : int
        Words written and heard in turns that are told.
    said, heard : mapping of kind to int
        Entities written in turns that are told, and those that were heard whole.
    marked, marked_stale : int
        Turns with a mark of interruption in their text; those during which the caller's sound shows
        no barge-in. A mark is no evidence: it decides nothing.
    cut_without_barge_in : int
        Turns cut short during which the sound shows no barge-in.
    """

    n_turns: int
    n_told: int
    n_cut: int
    n_words: int
    n_heard: int
    said: Mapping[str, int]
    heard: Mapping[str, int]
    marked: int
    marked_stale: int
    cut_without_barge_in: int


def delivery(transcript: pl.DataFrame, barge_ins: pl.DataFrame, calls: pl.DataFrame) -> Delivery:
    """Return the counts over all agent turns.

    Parameters
    ----------
    transcript, barge_ins : evidence tables
    calls : evidence table
        Without evaluated timing a call shows no barge-in and none is missed: its marks are counted
        and are never stale.
    """
    turns = transcript.filter(pl.col("speaker") == "agent").join(
        calls.filter(pl.col("timing_reasons").list.len() == 0).select("call_id", timed=True),
        on="call_id",
        how="left",
    )
    spoken_into = _spoken_into(turns, barge_ins)
    said: Counter[str] = Counter()
    heard: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    texts = turns.select("call_id", "position", "text", "heard_text", "timed", "start_ms")
    for row in texts.iter_rows(named=True):
        text, played = row["text"] or "", row["heard_text"]
        is_timed = bool(row["timed"]) and row["start_ms"] is not None
        is_stale = is_timed and (row["call_id"], row["position"]) not in spoken_into
        counts["n_turns"] += 1
        if _MARK.search(text):
            counts["marked"] += 1
            counts["marked_stale"] += is_stale
        if played is None:
            continue
        words, got = len(spoken_words(text)), len(spoken_words(played))
        counts["n_told"] += 1
        counts["n_words"] += words
        counts["n_heard"] += got
        counts["n_cut"] += got < words
        counts["cut_without_barge_in"] += got < words and is_stale
        for entity in find_entities(text):
            said[entity.kind] += 1
        _count_heard(text, played, heard)
    return Delivery(
        **{name: counts[name] for name in _COUNTED},
        said=dict(sorted(said.items())),
        heard={kind: heard[kind] for kind in sorted(said)},
    )


def _count_heard(text: str, played: str, heard: Counter[str]) -> None:
    """Add the entities of a turn that were heard, each as often as it was."""
    written: Counter[tuple[str, str]] = Counter(
        (entity.kind, entity.text) for entity in find_entities(text)
    )
    there = Heard(played)
    for (kind, shown), number in written.items():
        heard[kind] += min(number, there.mentions(shown, kind))


def _spoken_into(turns: pl.DataFrame, barge_ins: pl.DataFrame) -> set[tuple[str, int]]:
    """Return the agent turns during which the caller began to speak."""
    joined = turns.select("call_id", "position", "start_ms", "end_ms").join(
        barge_ins.select("call_id", "at_ms"), on="call_id"
    )
    within = joined.filter(
        (pl.col("start_ms") <= pl.col("at_ms"))
        & (pl.col("at_ms") <= pl.col("end_ms").fill_null(pl.col("at_ms")))
    )
    return set(within.select("call_id", "position").iter_rows())
