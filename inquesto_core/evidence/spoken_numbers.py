"""Number words as digits, each digit a word of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["numbers_as_digits", "numbers_whole"]

# fmt: off
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)
_UNIT_ORDINALS = (
    "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth",
)
_TEN_NAMES = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# fmt: on
_ONES = {word: value for value, word in enumerate(_UNITS)}
_TENS = {word: 10 * value for value, word in enumerate(_TEN_NAMES, start=2)}
_ORDINALS = {
    **{word: value for value, word in enumerate(_UNIT_ORDINALS, start=3)},
    **{word.removesuffix("y") + "ieth": value for word, value in _TENS.items()},
}
#: Ordinals that end a number only after tens: *first* and *second* alone stay words.
_SMALL_ORDINALS = {"first": 1, "second": 2}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
#: No scale word is read behind as much: a number that is said has an end.
_LARGEST = 10**30
_REPEATS = {"double": 2, "triple": 3}
_NOUGHT = frozenset({"oh", "o"})


def numbers_as_digits(words: Sequence[str]) -> list[str]:
    """Return `words` with every number, spelled or in digits, as one word a digit.

    >>> numbers_as_digits("one hundred and five on the twenty first".split())
    ['1', '0', '5', 'on', 'the', '2', '1']
    """
    return [piece for word in numbers_whole(words) for piece in _digits(word)]


def numbers_whole(words: Sequence[str]) -> list[str]:
    """Return `words` with every number, spelled or in digits, as one word.

    Numbers said one behind another stay apart, digits said one by one too.

    >>> numbers_whole("flight four seventy two at eight fifty five".split())
    ['flight', '4', '72', 'at', '8', '55']
    """
    out: list[str] = []
    at = 0
    while at < len(words):
        taken, digits = _number(words, at)
        if taken:
            out.append("".join(digits))
            at += taken
        elif words[at] in _NOUGHT and _beside_digit(out, words, at):
            out.append("0")
            at += 1
        else:
            out.append(words[at])
            at += 1
    return out


def _digits(word: str) -> Sequence[str]:
    return word if word.isdecimal() else (word,)


def _beside_digit(out: list[str], words: Sequence[str], at: int) -> bool:
    """Return whether a digit was just said, and another one comes or the text ends."""
    follows = at + 1 == len(words) or bool(_number(words, at + 1)[0]) or words[at + 1] in _NOUGHT
    return bool(out) and out[-1].isdigit() and follows


def _number(words: Sequence[str], at: int) -> tuple[int, list[str]]:
    """Return how many words from `at` on are one number, and its digits."""
    word = words[at]
    if word.isdecimal():
        return 1, list(word)
    if word in _REPEATS and at + 1 < len(words) and _ONES.get(words[at + 1], 10) < 10:
        return 2, [str(_ONES[words[at + 1]])] * _REPEATS[word]
    taken, value = _below_hundred(words, at)
    if not taken and word == "a" and at + 1 < len(words) and words[at + 1] in _SCALES:
        taken, value = 1, 1
    if not taken:
        return 0, []
    return _scaled(words, at, taken, value)


def _below_hundred(words: Sequence[str], at: int) -> tuple[int, int]:
    if at >= len(words):
        return 0, 0
    word = words[at]
    for small in (_ONES, _ORDINALS):
        if word in small:
            return 1, small[word]
    if word not in _TENS:
        return 0, 0
    ones = words[at + 1] if at + 1 < len(words) else ""
    value = {**_ONES, **_ORDINALS, **_SMALL_ORDINALS}.get(ones, 0)
    return (2, _TENS[word] + value) if 0 < value < 10 else (1, _TENS[word])


def _scaled(words: Sequence[str], at: int, taken: int, value: int) -> tuple[int, list[str]]:
    """Carry a number on over *hundred*, *thousand*, *million*, with *and* before what follows."""
    total, scale_before = 0, None
    while at + taken < len(words) and words[at + taken] in _SCALES and value < _LARGEST:
        scale = _SCALES[words[at + taken]]
        if scale_before is not None and scale >= scale_before and scale != 1000:
            break
        value *= scale
        taken += 1
        scale_before = scale
        skip = int(at + taken < len(words) and words[at + taken] == "and")
        more, rest = _below_hundred(words, at + taken + skip)
        if not more:
            continue
        following = words[at + taken + skip + more : at + taken + skip + more + 1]
        if scale == 100 or not following or following[0] not in _SCALES:
            value += rest
            taken += skip + more
        else:
            total, value = total + value, rest
            taken += skip + more
            scale_before = None
    return taken, list(str(total + value))
