"""The names, numbers, amounts, dates, times and codes of a text, and whether another text has them.

An entity is compared in one form, whether it was spoken or written: *Z K three F F W* and
``ZK3FFW`` are one code, *March twenty-fifth* and ``March 25`` one date, *eight fifty-five a.m.* and
``8.55 am`` one time, *one hundred fifteen dollars* and ``$115`` one amount. The form is that of the
normaliser `inquesto_core.evidence.spoken_words`; amounts are compared by value. In a code *Charlie*
is C and *dash* nothing; in a date ``2-6`` is two numbers; a time that leaves out its half of the
day is kept, one with the other half is not. An entity counts as kept only whole: a code that lacks
a letter, or holds one more, is lost.

Names are found only where they are given: capitals in a transcript tell no name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquesto_core.events.money_words import MONTHS
from inquesto_core.events.spoken_amounts import Amount, read_amounts
from inquesto_core.evidence.spoken_cardinals import Group, Token, number_groups, tokenise
from inquesto_core.evidence.spoken_words import spoken_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["KINDS", "Entity", "find_entities", "is_kept", "mentions"]

KINDS = ("amount", "date", "time", "code", "number", "name")

_WEEKDAYS = frozenset(
    {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"},
)
#: Words that a time may hold or leave out.
_TIME_FILL = frozenset({"oclock", "point", "clock"})
_HALVES = frozenset({"a m", "p m"})
#: Between figures of a date: *December 2-6* is no twenty-sixth.
_SPAN = re.compile(r"(?<=\d)[-/](?=\d)")
_HYPHENS = frozenset({"dash", "hyphen"})
_SPELLING = {
    word: word[0]
    for word in (
        "alpha", "alfa", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india",
        "juliet", "juliett", "kilo", "lima", "mike", "november", "oscar", "papa", "quebec",
        "romeo", "sierra", "tango", "uniform", "victor", "whiskey", "whisky", "yankee", "zulu",
    )
} | {"xray": "x"}  # fmt: skip
_CLOCK = re.compile(r"\d{1,2}[:.]\d{2}$")
_ISO_DATE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}$")
#: One letter that stands alone and is a word.
_WORDS_OF_ONE_LETTER = frozenset({"a", "i"})
#: Shortest code that is found without a digit: fewer letters are initials.
_LETTERS_OF_A_CODE = 3
_DAYPARTS = frozenset({"am", "pm", "o'clock", "oclock"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """One entity of a text.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    text : str
        As it stands there.
    start, end : int
        Characters, half-open.
    """

    kind: str
    text: str
    start: int
    end: int


def is_kept(entity: str, kind: str, heard: str, *, said: str | None = None) -> bool:
    """Return whether a text holds an entity whole, in whatever form.

    Parameters
    ----------
    entity : str
        As spoken or as written.
    kind : str
        One of `KINDS`.
    heard : str
        The turn that should hold it.
    said : str, optional
        The turn that holds it: what it says twice must be heard twice.

    Examples
    --------
    >>> is_kept("Z K three F F W", "code", "my code is ZK3-FFW")
    True
    >>> is_kept("Z K three F F W", "code", "my code is ZK3FF")
    False
    """
    wanted = 1 if said is None else max(1, mentions(entity, kind, said))
    return mentions(entity, kind, heard) >= wanted


def mentions(entity: str, kind: str, text: str) -> int:
    """Return how often a text holds an entity whole; several amounts as often as the rarest."""
    if kind == "amount":
        wanted = read_amounts(entity) or read_amounts(f"the amount is {entity}")
        if wanted:
            return _amount_mentions(wanted, text)
    joined = _count_joined(entity, kind, text)
    return max(joined, _time_mentions(entity, text)) if kind == "time" else joined


def _count_joined(entity: str, kind: str, text: str) -> int:
    pieces = "".join(_pieces(entity, kind))
    return _count(_pieces(text, kind), pieces) if pieces else 0


def _amount_mentions(wanted: Sequence[Amount], text: str) -> int:
    """Return how often every amount of `wanted` is there, were it without its unit."""
    there = read_amounts(text)
    tokens = tokenise(text)
    plain = [
        group.value
        for groups in _number_runs(tokens)
        for group in groups
        if not any(one.start <= tokens[groups[0].first].start < one.end for one in there)
    ]
    return min(
        sum(one.may_be(other.value) for other in there)
        + sum(value in (one.value, *one.other_values) for value in plain)
        for one in wanted
    )


def _number_runs(tokens: Sequence[Token]) -> Iterator[tuple[Group, ...]]:
    at = 0
    while at < len(tokens):
        groups = number_groups(tokens, at)
        if groups:
            yield groups
        at = groups[-1].last if groups else at + 1


def _pieces(text: str, kind: str) -> list[str]:
    """Return a text's words in the one form of a kind."""
    if kind == "date":
        text = _SPAN.sub(" to ", text)
    pieces = list(spoken_pieces(text))
    if kind == "time":
        return [piece for piece in pieces if piece not in _TIME_FILL]
    if kind == "code":
        said = [_SPELLING.get(piece, piece) for piece in pieces]
        return [piece for piece in said if piece not in _HYPHENS]
    return pieces


def _time_mentions(entity: str, text: str) -> int:
    """Return how often a time is there, where neither side says another half of the day."""
    wanted, half = _clock(_pieces(entity, "time"))
    there = _pieces(text, "time")
    found, low = 0, 0
    while low < len(there):
        high = low + len(wanted)
        if there[low:high] == wanted and not _is_cut(there, low - 1, low):
            told = " ".join(there[high : high + 2])
            is_other = half and told in _HALVES and told != half
            if not is_other and not (there[high : high + 1] and there[high].isdigit()):
                found += 1
                low = high - 1
        low += 1
    return found


def _clock(pieces: list[str]) -> tuple[list[str], str | None]:
    """Return the words of a time without its half of the day, and that."""
    for at in range(len(pieces) - 1):
        half = " ".join(pieces[at : at + 2])
        if half in _HALVES and at and pieces[at - 1].isdigit():
            return (pieces[:at], half) if at + 2 == len(pieces) else (pieces, None)
    return pieces, None


def _count(pieces: Sequence[str], wanted: str) -> int:
    """Return how often neighbouring pieces, put together, are `wanted`, cut inside no number."""
    found, low = 0, 0
    while low < len(pieces):
        high, joined = low, pieces[low]
        while joined != wanted and wanted.startswith(joined) and high + 1 < len(pieces):
            high += 1
            joined += pieces[high]
        is_whole = not _is_cut(pieces, low - 1, low) and not _is_cut(pieces, high, high + 1)
        is_found = joined == wanted and is_whole
        found += is_found
        low = high + 1 if is_found else low + 1
    return found


def _is_cut(pieces: Sequence[str], left: int, right: int) -> bool:
    """Return whether digits said one by one go on over a border."""
    if left < 0 or right >= len(pieces):
        return False
    return all(len(pieces[at]) == 1 and pieces[at].isdigit() for at in (left, right))


def find_entities(text: str, *, names: Iterable[str] = ()) -> tuple[Entity, ...]:
    """Return the entities of a text in the order in which they stand, none inside another.

    Parameters
    ----------
    text : str
    names : iterable of str
        The names to look for: people, places, products. Letter case does not matter.

    Examples
    --------
    >>> [(one.kind, one.text) for one in find_entities("Code Z K three F F W on March 5th at 4 PM")]
    [('code', 'Z K three F F W'), ('date', 'March 5th'), ('time', '4 PM')]
    """
    tokens = tokenise(text)
    taken = [False] * len(text)
    found: list[Entity] = []

    def add(kind: str, start: int, end: int) -> None:
        if not any(taken[start:end]):
            taken[start:end] = [True] * (end - start)
            found.append(Entity(kind=kind, text=text[start:end], start=start, end=end))

    for name in names:
        for place in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            add("name", place.start(), place.end())
    for amount in read_amounts(text):
        add("amount", amount.start, amount.end)
    for kind, reader in (("date", _date), ("time", _time), ("code", _code), ("number", _number)):
        at = 0
        while at < len(tokens):
            last = reader(tokens, at)
            if last > at:
                add(kind, tokens[at].start, tokens[last - 1].end)
            at = max(at + 1, last)
    return tuple(sorted(found, key=lambda one: one.start))


def _low(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].low if 0 <= at < len(tokens) else ""


def _after_number(tokens: Sequence[Token], at: int) -> int:
    """Return the token behind a number or an ordinal at `at`, or `at`."""
    groups = number_groups(tokens, at)
    last = groups[-1].last if groups else at
    while last < len(tokens) and last < at + 2 and _is_ordinal(tokens[last]):
        last += 1
    if last == at and _low(tokens, at + 1) and tokens[at].kind == "word":
        # number_groups leaves out tens before an ordinal: *twenty fifth*
        behind = tokens[at + 1] if at + 1 < len(tokens) else None
        if behind is not None and _is_ordinal(behind) and _is_tens(tokens[at]):
            last = at + 2
    return last


def _is_tens(token: Token) -> bool:
    return token.low in {"twenty", "thirty"}


def _is_ordinal(token: Token) -> bool:
    return token.kind == "ordinal" or bool(re.fullmatch(r"\d+(?:st|nd|rd|th)", token.low))


def _date(tokens: Sequence[Token], at: int) -> int:
    """Return the token behind a date that begins at `at`, or `at`."""
    if tokens[at].kind == "opaque" and _ISO_DATE.match(tokens[at].low):
        return at + 1
    low = _low(tokens, at)
    if low in MONTHS and not (low in {"may", "march", "mar", "sat"} and tokens[at].text.islower()):
        last = _after_number(tokens, at + 1)
        if last == at + 1:
            return at
        year = last + 1 if _low(tokens, last) == "," else last
        behind = _after_number(tokens, year)
        return behind if behind > year and _is_year(tokens, year) else last
    behind = _after_number(tokens, at)
    if behind > at and _is_ordinal(tokens[behind - 1]):
        place = behind + 1 if _low(tokens, behind) == "of" else behind
        return place + 1 if _low(tokens, place) in MONTHS else at
    if behind > at and _low(tokens, behind) in MONTHS and tokens[behind].text[:1].isupper():
        return behind + 1
    return at + 1 if low in _WEEKDAYS else at


def _is_year(tokens: Sequence[Token], at: int) -> bool:
    groups = number_groups(tokens, at)
    values = [int(group.value) for group in groups]
    return bool(values) and (
        1900 <= values[0] < 2100 or (len(values) == 2 and values[0] in {19, 20})
    )


def _time(tokens: Sequence[Token], at: int) -> int:
    """Return the token behind a time of day that begins at `at`, or `at`."""
    if tokens[at].kind == "opaque" and _CLOCK.match(tokens[at].low):
        return at + 2 if _low(tokens, at + 1) in _DAYPARTS else at + 1
    groups = number_groups(tokens, at)
    if not groups:
        return at
    last = groups[-1].last
    if _low(tokens, last) in _DAYPARTS:
        behind = last + 1
        return behind + 1 if _low(tokens, behind) in {"am", "pm"} else behind
    return at


def _code(tokens: Sequence[Token], at: int) -> int:
    """Return the token behind letters and digits said one by one, or written as one, or `at`."""
    letters = digits = mixed = 0
    last = at
    while last < len(tokens):
        token = tokens[last]
        if token.low == "-" and last > at and _is_part_of_code(_at(tokens, last + 1)):
            last += 1
            continue
        groups = number_groups(tokens, last)
        if token.kind == "opaque" and re.fullmatch(r"(?=.*\d)(?=.*[^\W\d_])\w+", token.low):
            mixed += 0 if _is_ordinal(token) else 1
            last += 1
        elif groups and groups[0].kind in {"digit", "zero", "two"}:
            digits += 1
            last = groups[0].last
        elif _is_letter(token):
            letters += 1
            last += 1
        elif token.kind == "word" and token.text.isupper() and 2 <= len(token.text) <= 8:
            letters += len(token.text)
            last += 1
        else:
            break
    if last > at and mixed == 0 and digits and letters == 0:
        return at
    if last > at and not (mixed or (digits and letters) or letters >= _LETTERS_OF_A_CODE):
        return at
    return _without_words(tokens, at, last)


def _at(tokens: Sequence[Token], at: int) -> Token | None:
    return tokens[at] if at < len(tokens) else None


def _is_letter(token: Token) -> bool:
    return token.kind == "word" and len(token.text) == 1 and token.text.isupper()


def _is_part_of_code(token: Token | None) -> bool:
    return token is not None and (
        token.kind in {"opaque", "number"} or _is_letter(token) or token.kind == "word"
    )


def _without_words(tokens: Sequence[Token], at: int, last: int) -> int:
    """Return the end of a code, or `at` where it is a word such as *I* beside a number."""
    if last - at <= 2 and any(
        _low(tokens, place) in _WORDS_OF_ONE_LETTER for place in range(at, last)
    ):
        return at
    return last


def _number(tokens: Sequence[Token], at: int) -> int:
    """Return the token behind numbers that follow each other, or `at`; a lone *one* is a word."""
    groups = number_groups(tokens, at)
    if not groups:
        return at
    if len(groups) == 1 and groups[0].value == 1 and not groups[0].written:
        return at
    return groups[-1].last
