"""Tokens of a text with their places, and the numbers among them, in words or in digits.

English number words; digits in any language. What only looks like a number (a date, a time of day,
a phone number, an ordinal, a code of letters and digits) is one token that is no number. What a
number counts is not decided here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BEGINNINGS",
    "LONGEST_RUN",
    "Group",
    "Numbers",
    "Token",
    "number_groups",
    "tokenise",
]

# fmt: off
_ONES = {word: value for value, word in enumerate((
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen"))}
_TENS = {word: 10 * value for value, word in enumerate(
    ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), start=2)}
_TENS["fourty"] = 40
_ORDINALS = frozenset((
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth",
    "eighteenth", "nineteenth", "twentieth", "thirtieth", "fortieth", "fiftieth", "sixtieth",
    "seventieth", "eightieth", "ninetieth", "hundredth", "thousandth", "millionth"))
# fmt: on
_SCALES = {
    "thousand": 1000,
    "lakh": 100_000,
    "lakhs": 100_000,
    "million": 1_000_000,
    "mil": 1_000_000,
    "crore": 10_000_000,
    "crores": 10_000_000,
    "billion": 1_000_000_000,
}
_HUNDRED = frozenset({"hundred", "hundreds"})
_NOUGHT = frozenset({"oh", "o"})
_SUFFIXES = {"k": 1000, "m": 1_000_000, "bn": 1_000_000_000}

#: The words that a number can begin with.
BEGINNINGS = frozenset({*_ONES, *_TENS, *_NOUGHT, "a", "an", "half", "quarter"})

#: More numbers said one behind another are read in parts; the longest IBAN has 34 characters.
LONGEST_RUN = 40

_TOKEN = re.compile(
    r"""
    (?P<meridiem>\b[apAP]\.\ ?[mM]\b\.?|\b[apAP]\ [mM]\b)
  | (?P<opaque>
        \d{1,2}:\d{2}(?::\d{2})?
      | \d{1,4}([/.-])\d{1,2}\3\d{1,4}(?![\w])
      | \+\d[\d ()-]{6,}\d
      | \(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b | \b\d{3}-\d{4}\b | \b\d+(?:-\d+){2,}
      | \#\s?\d[\w-]*
      | \d+(?:st|nd|rd|th)\b
      | \d+\.\d+\.[\d.]*\d
    )
  | (?P<number>
        (?: \d{1,3}(?:\.\d{3})+,\d{2} | \d{1,3}(?:,\d{3})+(?:\.\d+)?
          | \d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)? | \d+,\d{2}(?!,?\d) | \d+\.\d+ | \.\d+ | \d+ )
        (?!\w|[.,]\d)
      | (?:\d+(?:\.\d+)?)(?=(?:k|K|m|M|bn|p)(?!\w|-\w))
    )
  | (?P<word>[^\W\d_]+(?:['’][^\W\d_]+)*(?!\w))
  | (?P<mixed>\w+)
  | (?P<sign>[^\w\s-]|(?<!\w)-|-(?!\w))
  | (?P<dash>-)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a text: ``number``, ``word``, ``sign``, ``ordinal`` or ``opaque``.

    Parameters
    ----------
    kind : str
    text : str
        As written; `low` is its lower case.
    start, end : int
        Characters, half-open.
    """

    kind: str
    text: str
    low: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Group:
    """One number as it is said in one breath.

    Parameters
    ----------
    value : Decimal
    kind : str
        ``digit`` 1 to 9, ``two`` two digits (*fifty-two*, *oh five*, ``05``), ``zero``, ``exact``
        anything larger or with decimals, ``scaled`` one that ends in a scale word.
    places : int
        Decimal places as said.
    first, last : int
        Tokens, half-open.
    written : bool
        Whether it stands in digits.
    """

    value: Decimal
    kind: str
    places: int
    first: int
    last: int
    written: bool


def tokenise(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text; white space and hyphens inside words are none.

    >>> [token.low for token in tokenise("Sixty-five, or $9.50 at 4:30?")]
    ['sixty', 'five', ',', 'or', '$', '9.50', 'at', '4:30', '?']
    """
    out: list[Token] = []
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or "opaque"
        if kind == "dash" and not _between_numbers(text, found.start()):
            continue
        out.append(_token(kind, found))
    return tuple(out)


def _between_numbers(text: str, at: int) -> bool:
    return text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()


def _token(kind: str, found: re.Match[str]) -> Token:
    text = found[0]
    low = text.lower().replace("’", "'")
    kinds = {"meridiem": "word", "mixed": "opaque", "dash": "sign"}
    kind = kinds.get(kind, kind)
    if kind == "word" and low in _ORDINALS:
        kind = "ordinal"
    if kind == "word" and low[:1] in "ap" and low.replace(".", "").replace(" ", "")[1:] == "m":
        low = low.replace(".", "").replace(" ", "")
    return Token(kind, text, low, found.start(), found.end())


class Numbers:
    """The numbers of a text, each read once however often it is asked for.

    Parameters
    ----------
    tokens : sequence of Token
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self._groups: dict[int, Group | None] = {}

    def _group(self, at: int) -> Group | None:
        if at not in self._groups:
            self._groups[at] = _group(self.tokens, at)
        return self._groups[at]

    def run(self, at: int) -> tuple[Group, ...]:
        """Return the numbers that follow each other from token `at` on, nothing between them.

        At most `LONGEST_RUN` of them, so that reading a text of numbers alone takes time in
        proportion to its length.
        """
        out: list[Group] = []
        group = self._group(at)
        while group is not None and len(out) < LONGEST_RUN:
            out.append(group)
            group = self._group(group.last)
        if out and group is None and _is_of_an_ordinal(self.tokens, out[-1]):
            out.pop()
        return tuple(out)

    def first(self, at: int) -> Group | None:
        """Return the first of `run`, or none."""
        group = self._group(at)
        if group is None or not _is_of_an_ordinal(self.tokens, group):
            return group
        return None


def number_groups(tokens: Sequence[Token], at: int) -> tuple[Group, ...]:
    """Return the numbers that follow each other from token `at` on, at most `LONGEST_RUN`.

    >>> [str(g.value) for g in number_groups(tokenise("sixty-five fifty-two"), 0)]
    ['65', '52']
    >>> [str(g.value) for g in number_groups(tokenise("one thousand, two hundred oh six"), 0)]
    ['1200', '6']
    """
    return Numbers(tokens).run(at)


def _is_of_an_ordinal(tokens: Sequence[Token], group: Group) -> bool:
    """Return whether a number is the tens of an ordinal, as in *twenty fifth*."""
    is_before = group.last < len(tokens) and tokens[group.last].kind == "ordinal"
    return is_before and not group.written


def _low(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].low if at < len(tokens) else ""


def _group(tokens: Sequence[Token], at: int) -> Group | None:
    if at >= len(tokens):
        return None
    if tokens[at].kind == "number":
        return _written_group(tokens, at)
    if tokens[at].kind != "word" or tokens[at].low not in BEGINNINGS:
        return None
    return _half(tokens, at) or _spoken_group(tokens, at)


def _written_group(tokens: Sequence[Token], at: int) -> Group:
    """Return a number in digits, with the scale that stands behind it."""
    text = tokens[at].text
    value, places = _literal(text)
    last = at + 1
    following = _low(tokens, last)
    scale = None
    if last < len(tokens) and tokens[last].start == tokens[at].end:
        scale = _SUFFIXES.get(following)
    elif following in _HUNDRED:
        scale = 100
    else:
        scale = _SCALES.get(following)
    if scale is not None:
        return Group(value * scale, "scaled", 0, at, last + 1, True)
    return Group(value, _written_kind(text, value, places), places, at, last, True)


def _written_kind(text: str, value: Decimal, places: int) -> str:
    if places or "," in text:
        return "exact"
    if len(text) == 2:
        return "two"
    if len(text) == 1:
        return "digit" if value else "zero"
    return "exact"


def _literal(text: str) -> tuple[Decimal, int]:
    """Return what digits say and how many decimals they have; a comma before two ends is one."""
    if re.fullmatch(r"(?:\d{1,3}(?:\.\d{3})+|\d+),\d{2}", text):
        text = text.replace(".", "").replace(",", ".")
    text = text.replace(",", "")
    return Decimal(text), len(text.partition(".")[2])


def _half(tokens: Sequence[Token], at: int) -> Group | None:
    """Return *half a million*, *a quarter of a million*: a part of a scale."""
    if tokens[at].low not in {"a", "half", "quarter"}:
        return None
    words = [_low(tokens, place) for place in range(at, at + 5)]
    for said, part in (
        (("half", "a"), Decimal("0.5")),
        (("a", "quarter", "of", "a"), Decimal("0.25")),
        (("quarter", "of", "a"), Decimal("0.25")),
    ):
        scale = words[len(said)] if len(words) > len(said) else ""
        if tuple(words[: len(said)]) == said and scale in {*_SCALES, "hundred"}:
            value = part * _SCALES.get(scale, 100)
            return Group(value, "scaled", 0, at, at + len(said) + 1, False)
    return None


def _spoken_group(tokens: Sequence[Token], at: int) -> Group | None:
    last, value, kind = _below_hundred(tokens, at)
    if kind is None:
        if _low(tokens, at) not in {"a", "an"} or not _is_scale(_low(tokens, at + 1)):
            return None
        last, value, kind = at + 1, 1, "digit"
    if kind == "oh":
        return Group(Decimal(value), "two", 0, at, last, False)
    last, part, kind = _with_fraction(tokens, last, Decimal(value), kind)
    if _low(tokens, last) in _HUNDRED or _low(tokens, last) in _SCALES:
        last, part, kind = _scaled(tokens, last, part)
        return Group(part, kind, 0, at, last, False)
    if kind != "point":
        return Group(part, kind, 0, at, last, False)
    places = max(0, -int(part.as_tuple().exponent))
    return Group(part, "exact", places, at, last, False)


def _scaled(tokens: Sequence[Token], last: int, part: Decimal) -> tuple[int, Decimal, str]:
    """Carry a number on over scale words and what follows them; return end, value and kind."""
    total, before, kind = Decimal(0), Decimal("Infinity"), "exact"
    while True:
        word = _low(tokens, last)
        if word in _HUNDRED and 0 < part < 100:
            part *= 100
            last, rest = _rest(tokens, last + 1, limit=100)
            part += rest
            kind = "exact" if rest else "scaled"
            continue
        scale = _SCALES.get(word)
        if scale is None or scale >= before or not part:
            return last, total + part, kind
        total += part * scale
        before = Decimal(scale)
        if _is_and_a_half(tokens, last + 1):
            return last + 4, total + before / 2, "scaled"
        last, more = _rest(tokens, last + 1, limit=scale)
        part = Decimal(more)
        kind = "exact" if more else "scaled"


def _is_scale(word: str) -> bool:
    return word in _HUNDRED or word in _SCALES


def _is_and_a_half(tokens: Sequence[Token], at: int) -> bool:
    return [_low(tokens, at + step) for step in range(3)] == ["and", "a", "half"]


def _with_fraction(
    tokens: Sequence[Token], last: int, value: Decimal, kind: str
) -> tuple[int, Decimal, str]:
    """Carry on over *and a half* before a scale or unit, and over *point five two*."""
    if _is_and_a_half(tokens, last):
        return last + 3, value + Decimal("0.5"), "point"
    if _low(tokens, last) != "point":
        return last, value, kind
    digits, at = "", last + 1
    while True:
        taken, said, below = _below_hundred(tokens, at)
        if below is None and _low(tokens, at) in _NOUGHT:
            taken, said, below = at + 1, 0, "zero"
        if below is None:
            break
        digits += f"{said:02d}" if below == "oh" else str(said)
        at = taken
    return (at, value + Decimal(f"0.{digits}"), "point") if digits else (last, value, kind)


def _rest(tokens: Sequence[Token], at: int, *, limit: int) -> tuple[int, int]:
    """Return what a scale word carries on with, below `limit`, and the token behind it.

    A comma may stand behind a scale above hundred. *One hundred and two hundred* is two numbers.
    """
    start = at
    if _low(tokens, at) == "," and limit > 100:
        at += 1
    if _low(tokens, at) == "and":
        at += 1
    last, value, kind = _below_hundred(tokens, at)
    if kind is None or not value:
        return start, 0
    if kind == "oh":
        return start, 0
    if limit == 100:
        return (start, 0) if _low(tokens, last) in _HUNDRED else (last, value)
    following = _low(tokens, last)
    if _SCALES.get(following, 0) >= limit:
        return start, 0
    return last, value


def _below_hundred(tokens: Sequence[Token], at: int) -> tuple[int, int, str | None]:
    """Return the token behind a number below hundred, its value, its kind, or no kind."""
    if at >= len(tokens) or tokens[at].kind != "word":
        return at, 0, None
    word = tokens[at].low
    if word in _NOUGHT:
        ones = _ONES.get(_low(tokens, at + 1), 10)
        return (at + 2, ones, "oh") if 0 < ones < 10 else (at, 0, None)
    if word in _ONES:
        value = _ONES[word]
        return at + 1, value, "zero" if value == 0 else "digit" if value < 10 else "two"
    if word not in _TENS:
        return at, 0, None
    ones = _ONES.get(_low(tokens, at + 1), 0)
    if 0 < ones < 10:
        return at + 2, _TENS[word] + ones, "two"
    return at + 1, _TENS[word], "two"
