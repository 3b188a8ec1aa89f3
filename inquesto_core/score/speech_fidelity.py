"""Whether what the agent was to say is what its voice said: entities of its text in its sound.

The text is what the platform wrote and, where it tells, what of it was played; the sound is what
our own transcriber heard on the agent's channel. An amount, a number or a code that the text has
and nobody hears was pronounced as something else, or misheard by us: which of both is for a person
who listens.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.spoken_amounts import read_amounts
from inquesto_core.events.spoken_entities import find_entities, mentions
from inquesto_core.evidence.spoken_words import spoken_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["SpeechFidelity", "speech_fidelity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechFidelity:
    """Entities of the agent's text, and those of them that its voice was heard to say.

    Parameters
    ----------
    n_calls : int
        Calls of which both are known.
    said, heard : mapping of kind to int
        Counted over the whole of a call; as often as it stands in the text, an entity has to be
        heard.
    lost : tuple of (call_id, kind, text)
        What was not heard as often as it stands in the text.
    """

    n_calls: int
    said: Mapping[str, int]
    heard: Mapping[str, int]
    lost: tuple[tuple[str, str, str], ...]


def speech_fidelity(transcript: pl.DataFrame, asr_turns: pl.DataFrame) -> SpeechFidelity:
    """Return what of the agent's text was heard in its sound, over all calls that tell both.

    Parameters
    ----------
    transcript, asr_turns : evidence tables
        Of `transcript` only what a platform wrote; what was never played was not to be heard.
    """
    written = transcript.filter(
        (pl.col("speaker") == "agent") & (pl.col("source") == "platform")
    ).with_columns(words=pl.coalesce("heard_text", "text"))
    texts = _by_call(written, "words")
    sounds = _by_call(asr_turns.filter(pl.col("speaker") == "agent"), "text")
    said: Counter[str] = Counter()
    heard: Counter[str] = Counter()
    lost = []
    shared = sorted(texts.keys() & sounds.keys())
    for call_id in shared:
        for (kind, shown), number in _entities(texts[call_id]).items():
            found = min(number, _mentions(shown, kind, sounds[call_id]))
            said[kind] += number
            heard[kind] += found
            if found < number:
                lost.append((call_id, kind, shown))
    return SpeechFidelity(
        n_calls=len(shared),
        said=dict(sorted(said.items())),
        heard={kind: heard[kind] for kind in sorted(said)},
        lost=tuple(lost),
    )


def _by_call(turns: pl.DataFrame, text: str) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    rows = turns.sort("call_id", "position").select("call_id", text).drop_nulls()
    for call_id, words in rows.iter_rows():
        out.setdefault(call_id, []).append(words)
    return out


def _entities(texts: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return kind and first wording of each distinct entity, with how often it stands there."""
    shown: dict[tuple[str, str], str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for text in texts:
        for entity in find_entities(text):
            amounts = read_amounts(entity.text) if entity.kind == "amount" else ()
            key = str(amounts[0].value) if amounts else "".join(spoken_words(entity.text))
            shown.setdefault((entity.kind, key), entity.text)
            counts[entity.kind, key] += 1
    return {(kind, shown[kind, key]): number for (kind, key), number in counts.items()}


def _mentions(entity: str, kind: str, texts: Sequence[str]) -> int:
    """Return how often turns hold an entity, whether in one of them or over their borders."""
    each = sum(mentions(entity, kind, text) for text in texts)
    return max(each, mentions(entity, kind, " ".join(texts)))
