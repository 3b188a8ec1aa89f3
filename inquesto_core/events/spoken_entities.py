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
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from inquesto_core.events.money_words import MONTHS
from inquesto_core.events.spoken_amounts import Amount, read_amounts
from inquesto_core.evidence.spoken_cardinals import (
    LONGEST_RUN,
    Group,
    Numbers,
    Token,
    tokenise,
)
from inquesto_core.evidence.spoken_words import spoken_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from decimal import Decimal

__all__ = ["KINDS", "LONGEST", "Entity", "Heard", "Names", "find_entities", "is_kept", "mentions"]

#: Characters of the longest entity.
LONGEST = 300

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
    return Heard(text).mentions(entity, kind)


class Heard:
    """A text in which entities are looked for; what is read of it is read once.

    Parameters
    ----------
    text : str
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._pieces: dict[str, _Pieces] = {}
        self._money: tuple[Counter[Decimal], Counter[Decimal]] | None = None

    def mentions(self, entity: str, kind: str) -> int:
        """Return how often the text holds an entity whole, in whatever form."""
        if kind == "amount":
            wanted = read_amounts(entity) or read_amounts(f"the amount is {entity}")
            if wanted:
                return self._amounts(wanted)
        pieces = self._pieces_of(kind)
        joined = "".join(_pieces(entity, kind))
        found = pieces.count(joined) if joined else 0
        return max(found, pieces.count_time(entity)) if kind == "time" else found

    def _pieces_of(self, kind: str) -> _Pieces:
        form = kind if kind in {"date", "time", "code"} else ""
        if form not in self._pieces:
            self._pieces[form] = _Pieces(_pieces(self.text, form))
        return self._pieces[form]

    def _amounts(self, wanted: Sequence[Amount]) -> int:
        """Return how often every amount of `wanted` is there, were it without its unit."""
        if self._money is None:
            self._money = _money_and_numbers(self.text)
        there, plain = self._money
        readings = [{one.value, *one.other_values} for one in wanted]
        return min(sum(there[value] + plain[value] for value in own) for own in readings)


def _money_and_numbers(text: str) -> tuple[Counter[Decimal], Counter[Decimal]]:
    """Return the amounts of a text, and the numbers of it that are none."""
    there, tokens = read_amounts(text), tokenise(text)
    is_money = bytearray(len(text))
    for one in there:
        is_money[one.start : one.end] = b"\1" * (one.end - one.start)
    plain = Counter(
        group.value
        for groups in _number_runs(tokens)
        if not is_money[tokens[groups[0].first].start]
        for group in groups
    )
    return Counter(one.value for one in there), plain


def _number_runs(tokens: Sequence[Token]) -> Iterator[tuple[Group, ...]]:
    at, numbers = 0, Numbers(tokens)
    while at < len(tokens):
        groups = numbers.run(at)
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


class _Pieces:
    """The words of a text in one form, and where each stands."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = pieces
        self.joined = "".join(pieces)
        ends = list(accumulate(map(len, pieces)))
        #: Where each begins in `joined`, and behind each where it ends.
        self.begins = {
            end - len(piece): at for at, (end, piece) in enumerate(zip(ends, pieces, strict=True))
        }
        self.ends = {end: at for at, end in enumerate(ends)}

    def count(self, wanted: str) -> int:
        """Return how often neighbours, put together, are `wanted`, cut inside no number."""
        found = place = 0
        while (place := self.joined.find(wanted, place)) >= 0:
            low, high = self.begins.get(place), self.ends.get(place + len(wanted))
            if low is None or high is None or self._is_cut(low, high):
                place += 1
            else:
                found, place = found + 1, place + len(wanted)
        return found

    def _is_cut(self, low: int, high: int) -> bool:
        return _is_cut(self.pieces, low - 1, low) or _is_cut(self.pieces, high, high + 1)

    def count_time(self, entity: str) -> int:
        """Return how often a time is there, where neither side says another half of the day."""
        wanted, half = _clock(_pieces(entity, "time"))
        joined, there = "".join(wanted), self.pieces
        found = place = 0
        while joined and (place := self.joined.find(joined, place)) >= 0:
            low = self.begins.get(place)
            place += 1
            high = 0 if low is None else low + len(wanted)
            if low is None or there[low:high] != wanted or _is_cut(there, low - 1, low):
                continue
            told = " ".join(there[high : high + 2])
            is_other = half and told in _HALVES and told != half
            if not is_other and not (there[high : high + 1] and there[high].isdigit()):
                found, place = found + 1, place - 1 + len(joined)
        return found


def _clock(pieces: list[str]) -> tuple[list[str], str | None]:
    """Return the words of a time without its half of the day, and that."""
    for at in range(len(pieces) - 1):
        half = " ".join(pieces[at : at + 2])
        if half in _HALVES and at and pieces[at - 1].isdigit():
            return (pieces[:at], half) if at + 2 == len(pieces) else (pieces, None)
    return pieces, None


def _is_cut(pieces: Sequence[str], left: int, right: int) -> bool:
    """Return whether digits said one by one go on over a border."""
    if left < 0 or right >= len(pieces):
        return False
    return all(len(pieces[at]) == 1 and pieces[at].isdigit() for at in (left, right))


class Names:
    """Names to look for, so that looking takes no longer the more there are.

    Parameters
    ----------
    names : iterable of str
        Where two overlap in a text, the one that stands first here is found.
    """

    def __init__(self, names: Iterable[str]) -> None:
        #: By the word it begins with, and its length: the name in lower case, and its rank.
        self._ranks: dict[str, dict[int, dict[str, int]]] = {}
        for rank, name in enumerate(dict.fromkeys(names)):
            if 0 < len(name) <= LONGEST:
                by_length = self._ranks.setdefault(_start(name, 0), {})
                by_length.setdefault(len(name), {}).setdefault(name.lower(), rank)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return where a text holds names as words of their own, letter case aside."""
        if not self._ranks:
            return []
        found: list[tuple[int, int, int]] = []
        for low in (start.start() for start in _STARTS.finditer(text)):
            for length, ranks in self._ranks.get(_start(text, low), {}).items():
                high = low + length
                rank = ranks.get(text[low:high].lower())
                if rank is not None and not _goes_on(text, high):
                    found.append((rank, low, high))
        return [(low, high) for _, low, high in sorted(found)]


#: Where a name may begin: at a word, or at a mark with no word before it.
_STARTS = re.compile(r"(?<!\w)\S")


def _start(text: str, at: int) -> str:
    """Return the word that begins at `at`, or the mark that stands there, in lower case."""
    word = _WORD.match(text, at)
    return (word[0] if word else text[at]).lower()


def _goes_on(text: str, at: int) -> bool:
    return at < len(text) and _WORD.match(text, at) is not None


_WORD = re.compile(r"\w+")


class _Read:
    """The tokens of a text, and the numbers that begin at each, read once."""

    def __init__(self, text: str) -> None:
        self.tokens = tokenise(text)
        self.numbers = Numbers(self.tokens)

    def low(self, at: int) -> str:
        """Return a token in lower case; nothing beyond the ends."""
        return self.tokens[at].low if 0 <= at < len(self.tokens) else ""

    def at(self, at: int) -> Token | None:
        """Return a token, or none behind the end."""
        return self.tokens[at] if at < len(self.tokens) else None


def find_entities(text: str, *, names: Names | Iterable[str] = ()) -> tuple[Entity, ...]:
    """Return the entities of a text in the order in which they stand, none inside another.

    None is longer than `LONGEST` characters: digits or letters without an end are no entity.

    Parameters
    ----------
    text : str
    names : Names or iterable of str
        The names to look for: people, places, products. Letter case does not matter.

    Examples
    --------
    >>> [(one.kind, one.text) for one in find_entities("Code Z K three F F W on March 5th at 4 PM")]
    [('code', 'Z K three F F W'), ('date', 'March 5th'), ('time', '4 PM')]
    """
    read = _Read(text)
    taken = bytearray(len(text))
    found: list[Entity] = []

    def add(kind: str, start: int, end: int) -> None:
        if end - start <= LONGEST and not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            found.append(Entity(kind=kind, text=text[start:end], start=start, end=end))

    index = names if isinstance(names, Names) else Names(names)
    for start, end in index.places(text):
        add("name", start, end)
    for amount in read_amounts(text):
        add("amount", amount.start, amount.end)
    for kind, reader in (("date", _date), ("time", _time), ("code", _code), ("number", _number)):
        at = 0
        while at < len(read.tokens):
            last = reader(read, at)
            if last > at:
                add(kind, read.tokens[at].start, read.tokens[last - 1].end)
            at = max(at + 1, last)
    return tuple(sorted(found, key=lambda one: one.start))


def _after_number(read: _Read, at: int) -> int:
    """Return the token behind a number or an ordinal at `at`, or `at`."""
    groups = read.numbers.run(at)
    last = groups[-1].last if groups else at
    while last < len(read.tokens) and last < at + 2 and _is_ordinal(read.tokens[last]):
        last += 1
    if last == at and read.low(at + 1) and read.tokens[at].kind == "word":
        # number_groups leaves out tens before an ordinal: *twenty fifth*
        behind = read.tokens[at + 1] if at + 1 < len(read.tokens) else None
        if behind is not None and _is_ordinal(behind) and _is_tens(read.tokens[at]):
            last = at + 2
    return last


def _is_tens(token: Token) -> bool:
    return token.low in {"twenty", "thirty"}


def _is_ordinal(token: Token) -> bool:
    return token.kind == "ordinal" or bool(re.fullmatch(r"\d+(?:st|nd|rd|th)", token.low))


def _date(read: _Read, at: int) -> int:
    """Return the token behind a date that begins at `at`, or `at`."""
    if read.tokens[at].kind == "opaque" and _ISO_DATE.match(read.tokens[at].low):
        return at + 1
    low = read.low(at)
    if low in MONTHS and not (
        low in {"may", "march", "mar", "sat"} and read.tokens[at].text.islower()
    ):
        last = _after_number(read, at + 1)
        if last == at + 1:
            return at
        year = last + 1 if read.low(last) == "," else last
        behind = _after_number(read, year)
        return behind if behind > year and _is_year(read, year) else last
    behind = _after_number(read, at)
    if behind > at and _is_ordinal(read.tokens[behind - 1]):
        place = behind + 1 if read.low(behind) == "of" else behind
        return place + 1 if read.low(place) in MONTHS else at
    if behind > at and read.low(behind) in MONTHS and read.tokens[behind].text[:1].isupper():
        return behind + 1
    return at + 1 if low in _WEEKDAYS else at


def _is_year(read: _Read, at: int) -> bool:
    groups = read.numbers.run(at)
    values = [int(group.value) for group in groups]
    return bool(values) and (
        1900 <= values[0] < 2100 or (len(values) == 2 and values[0] in {19, 20})
    )


def _time(read: _Read, at: int) -> int:
    """Return the token behind a time of day that begins at `at`, or `at`."""
    if read.tokens[at].kind == "opaque" and _CLOCK.match(read.tokens[at].low):
        return at + 2 if read.low(at + 1) in _DAYPARTS else at + 1
    groups = read.numbers.run(at)
    if not groups:
        return at
    last = groups[-1].last
    if read.low(last) in _DAYPARTS:
        behind = last + 1
        return behind + 1 if read.low(behind) in {"am", "pm"} else behind
    return at


def _code(read: _Read, at: int) -> int:
    """Return the token behind letters and digits said one by one, or written as one, or `at`."""
    letters = digits = mixed = 0
    last = at
    while last < len(read.tokens) and last < at + LONGEST_RUN:
        token = read.tokens[last]
        if token.low == "-" and last > at and _is_part_of_code(read.at(last + 1)):
            last += 1
            continue
        group = read.numbers.first(last)
        if token.kind == "opaque" and re.fullmatch(r"(?=.*\d)(?=.*[^\W\d_])\w+", token.low):
            mixed += 0 if _is_ordinal(token) else 1
            last += 1
        elif group is not None and group.kind in {"digit", "zero", "two"}:
            digits += 1
            last = group.last
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
    return _without_words(read, at, last)


def _is_letter(token: Token) -> bool:
    return token.kind == "word" and len(token.text) == 1 and token.text.isupper()


def _is_part_of_code(token: Token | None) -> bool:
    return token is not None and (
        token.kind in {"opaque", "number"} or _is_letter(token) or token.kind == "word"
    )


def _without_words(read: _Read, at: int, last: int) -> int:
    """Return the end of a code, or `at` where it is a word such as *I* beside a number."""
    if last - at <= 2 and any(read.low(place) in _WORDS_OF_ONE_LETTER for place in range(at, last)):
        return at
    return last


def _number(read: _Read, at: int) -> int:
    """Return the token behind numbers that follow each other, or `at`; a lone *one* is a word."""
    groups = read.numbers.run(at)
    if not groups:
        return at
    if len(groups) == 1 and groups[0].value == 1 and not groups[0].written:
        return at
    return groups[-1].last
