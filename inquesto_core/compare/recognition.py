"""How well callers were understood: words, characters, entities and denials, by slice.

One transcript is the reference, another what was heard. Errors are counted by side of a call and
never a mean of the calls' own rates. A side whose reference has no word has no rate; it is counted
apart, with the words heard there. Words and characters are those of the normaliser
`inquesto_core.evidence.spoken_words`; characters are those of its words with one space between.
A side of more than `MOST_CHARACTERS` in either transcript is compared in nothing; it is counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.word_error import word_error
from inquesto_core.events.spoken_amounts import read_amounts
from inquesto_core.events.spoken_entities import KINDS, Heard, Names, find_entities
from inquesto_core.evidence.negations import negations_of
from inquesto_core.evidence.spoken_words import NORMALISER, spoken_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inquesto_core.compare.word_error import WordDifference

__all__ = [
    "COUNTS",
    "MOST_CHARACTERS",
    "PLACES",
    "SLICES",
    "TURNS",
    "Recognition",
    "recognition",
    "slice_table",
]

#: One row a turn of a transcript, in order.
TURNS = {"call_id": pl.String, "speaker": pl.String, "text": pl.String, "language": pl.String}

_SUMS = (
    "n_words", "n_heard", "substitutions", "deletions", "insertions", "n_characters",
    "character_errors", "negations_lost", "negations_gained",
    *(f"{kind}_{what}" for kind in KINDS for what in ("said", "kept", "added")),
)  # fmt: skip

#: One row a side of a call that both transcripts have.
COUNTS: dict[str, Any] = {
    "call_id": pl.String,
    "speaker": pl.String,
    "group": pl.String,
    "condition": pl.String,
    "language": pl.String,
    **dict.fromkeys(_SUMS, pl.Int64),
}

#: One row a place that may change what was wanted: a denial or an entity lost or gained.
PLACES: dict[str, Any] = {
    "call_id": pl.String,
    "speaker": pl.String,
    "what": pl.String,  # negation_lost | negation_gained | entity_lost | entity_added
    "kind": pl.String,  # of the entity
    "words": pl.String,  # of the reference
    "heard": pl.String,
}

#: The columns by which calls are put together, each alone; ``all`` is every call.
SLICES = ("all", "group", "condition", "language")

#: Of one side of a call: two hours of speech without a pause. Aligning takes time by their square.
MOST_CHARACTERS = 100_000

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """What one transcript lost of another.

    Parameters
    ----------
    reference, heard : str
        What they are: ``reference``, ``platform`` or ``asr``.
    counts, places : polars.DataFrame
        Columns `COUNTS` and `PLACES`.
    without_reference, without_heard : int
        Calls that only one of both has; they are in no rate.
    too_long : int
        Sides of calls that are longer than `MOST_CHARACTERS`; they are in no rate.
    languages_without_list : tuple of str
        Languages whose denials nobody listed: theirs are not counted.
    normaliser : str
    """

    reference: str
    heard: str
    counts: pl.DataFrame
    places: pl.DataFrame
    without_reference: int
    without_heard: int
    too_long: int
    languages_without_list: tuple[str, ...]
    normaliser: str = NORMALISER


def recognition(
    reference: pl.DataFrame,
    heard: pl.DataFrame,
    calls: pl.DataFrame,
    *,
    named: tuple[str, str],
    names: Iterable[str] = (),
    negations: Mapping[str, Iterable[str]] | None = None,
) -> Recognition:
    """Return what `heard` lost of `reference`, a side of a call each.

    Parameters
    ----------
    reference, heard : polars.DataFrame
        Columns `TURNS`, in the order spoken. The language is the reference's.
    calls : polars.DataFrame
        ``call_id``, ``group``, ``condition`` of the calls that are looked at.
    named : (str, str)
        What both transcripts are.
    names : iterable of str
        The names that count as entities.
    negations : mapping of language code to words
        Beside the built-in lists.
    """
    said, got = _by_call(reference), _by_call(heard)
    rows: list[Row] = []
    places: list[Row] = []
    unlisted: set[str] = set()
    too_long = 0
    wanted_names = Names(names)
    for call in calls.sort("call_id").iter_rows(named=True):
        call_id = call["call_id"]
        if call_id not in said or call_id not in got:
            continue
        for speaker in sorted({*said[call_id], *got[call_id]}):
            mine, theirs = said[call_id].get(speaker, []), got[call_id].get(speaker, [])
            if max(map(_characters, (mine, theirs))) > MOST_CHARACTERS:
                too_long += 1
                continue
            language = next((turn["language"] for turn in mine if turn["language"]), None)
            denials = negations_of(language, negations)
            if denials is None:
                unlisted.add(str(language))
            counts, found = _side(mine, theirs, denials or frozenset(), wanted_names)
            key = {"call_id": call_id, "speaker": speaker}
            place = {name: call[name] for name in ("group", "condition")}
            rows.append({**key, **place, "language": language, **counts})
            places += [{**key, **each} for each in found]
    ids = set(calls["call_id"])
    return Recognition(
        reference=named[0],
        heard=named[1],
        counts=pl.DataFrame(rows, schema=COUNTS, orient="row"),
        places=pl.DataFrame(places, schema=PLACES, orient="row"),
        without_reference=len((ids & got.keys()) - said.keys()),
        without_heard=len((ids & said.keys()) - got.keys()),
        too_long=too_long,
        languages_without_list=tuple(sorted(unlisted)),
    )


def slice_table(counts: pl.DataFrame) -> pl.DataFrame:
    """Return the sums of `COUNTS` by speaker and slice, with their rates.

    Returns
    -------
    polars.DataFrame
        ``speaker``, ``slice`` (one of `SLICES`), ``value`` (null = not told), ``n_sides``, the sums
        over sides whose reference has words, ``word_error_rate`` and ``character_error_rate`` (null
        where there is no such side), and apart ``empty_references`` and ``words_in_empty``: sides
        whose reference has no word, and what was heard there.
    """
    has_words = pl.col("n_words") > 0
    sums = [pl.col(name).filter(has_words).sum() for name in _SUMS]
    made = [
        counts.with_columns(
            slice=pl.lit(name),
            value=pl.lit(None, dtype=pl.String) if name == "all" else pl.col(name),
        )
        .group_by("speaker", "slice", "value")
        .agg(
            has_words.sum().cast(pl.Int64).alias("n_sides"),
            *sums,
            (~has_words).sum().cast(pl.Int64).alias("empty_references"),
            pl.col("n_heard").filter(~has_words).sum().alias("words_in_empty"),
        )
        .sort("speaker", "value", nulls_last=True)
        for name in SLICES
    ]
    errors = pl.col("substitutions") + pl.col("deletions") + pl.col("insertions")
    return pl.concat(made).with_columns(
        word_error_rate=_ratio(errors, pl.col("n_words")),
        character_error_rate=_ratio(pl.col("character_errors"), pl.col("n_characters")),
    )


def _ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole)


def _by_call(turns: pl.DataFrame) -> dict[str, dict[str, list[Row]]]:
    out: dict[str, dict[str, list[Row]]] = {}
    for turn in turns.select(TURNS.keys()).iter_rows(named=True):
        out.setdefault(turn["call_id"], {}).setdefault(turn["speaker"], []).append(turn)
    return out


def _characters(turns: Sequence[Row]) -> int:
    return sum(len(turn["text"] or "") for turn in turns)


def _side(
    said: Sequence[Row], heard: Sequence[Row], denials: frozenset[str], names: Names
) -> tuple[Row, list[Row]]:
    """Return the counts of one side of a call, and its places."""
    texts = [turn["text"] or "" for turn in said], [turn["text"] or "" for turn in heard]
    words = [word for text in texts[0] for word in spoken_words(text)]
    got = [word for text in texts[1] for word in spoken_words(text)]
    found = word_error(words, got)
    counts: Row = {
        "n_words": found.n_words,
        "n_heard": found.n_heard,
        "substitutions": found.substitutions,
        "deletions": found.deletions,
        "insertions": found.insertions,
        "n_characters": len(" ".join(words)),
        "character_errors": _character_errors(" ".join(words), " ".join(got)),
        "negations_lost": 0,
        "negations_gained": 0,
    }
    places: list[Row] = []
    for place in found.differences:
        lost, gained = _denials(place, denials)
        counts["negations_lost"] += lost
        counts["negations_gained"] += gained
        for what in ("lost",) * bool(lost) + ("gained",) * bool(gained):
            shown = {"words": " ".join(place.words), "heard": " ".join(place.heard)}
            places.append({"what": f"negation_{what}", "kind": None, **shown})
    entities, entity_places = _entities(*texts, names)
    return {**counts, **entities}, places + entity_places


def _character_errors(said: str, heard: str) -> int:
    """Return the edits between two texts; jiwer takes no empty one."""
    if not said or not heard:
        return len(said) + len(heard)
    import jiwer

    found = jiwer.process_characters(said, heard)
    return found.substitutions + found.deletions + found.insertions


def _denials(place: WordDifference, denials: frozenset[str]) -> tuple[int, int]:
    """Return how many denials a place loses and how many it gains; one for another is neither."""
    change = sum(word in denials for word in place.words) - sum(
        word in denials for word in place.heard
    )
    return max(change, 0), max(-change, 0)


def _entities(said: Sequence[str], heard: Sequence[str], names: Names) -> tuple[Row, list[Row]]:
    """Return how many entities of each kind were said, kept and added, and those lost or added."""
    counts: Row = {f"{kind}_{what}": 0 for kind in KINDS for what in ("said", "kept", "added")}
    places: list[Row] = []
    there, before = _Turns(heard), _Turns(said)
    for (kind, _), (shown, number) in _found(said, names).items():
        kept = min(number, there.mentions(shown, kind))
        counts[f"{kind}_said"] += number
        counts[f"{kind}_kept"] += kept
        if kept < number:
            places.append({"what": "entity_lost", "kind": kind, "words": shown, "heard": None})
    for (kind, _), (shown, number) in _found(heard, names).items():
        added = number - min(number, before.mentions(shown, kind))
        counts[f"{kind}_added"] += added
        if added:
            places.append({"what": "entity_added", "kind": kind, "words": None, "heard": shown})
    return counts, places


def _found(texts: Sequence[str], names: Names) -> dict[tuple[str, str], tuple[str, int]]:
    """Return the distinct entities of turns, as one of them shows it, with how often it stands."""
    shown: dict[tuple[str, str], str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for text in texts:
        for entity in find_entities(text, names=names):
            key = (entity.kind, _key(entity.kind, entity.text))
            shown.setdefault(key, entity.text)
            counts[key] += 1
    return {key: (shown[key], number) for key, number in counts.items()}


def _key(kind: str, text: str) -> str:
    amounts = read_amounts(text) if kind == "amount" else ()
    return str(amounts[0].value) if amounts else "".join(spoken_words(text))


class _Turns:
    """The turns of a side, each alone and all of them on end."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.each = [Heard(text) for text in texts]
        self.joined = Heard(" ".join(texts))

    def mentions(self, entity: str, kind: str) -> int:
        """Return how often turns hold an entity, whether in one of them or over their borders."""
        apart = sum(turn.mentions(entity, kind) for turn in self.each)
        return max(apart, self.joined.mentions(entity, kind))
