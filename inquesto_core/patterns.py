"""Regular expressions that come from outside: none may take a time that grows without bound.

Python tries one way after the other, which for ``(a+)+$`` are twice as many with each letter. A
pattern is therefore handed to it only where there is little to try: a pattern with one choice at
most, on a short text. Everything else is followed through all ways at once (Thompson's
construction), in time in proportion to text and pattern. What cannot be followed so (look-around,
references to groups) is refused in a pattern that has a choice.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["MOST_STATES", "PatternRefused", "Searching", "compile_pattern", "compile_python"]

#: A longer pattern, counted repeats written out, is refused.
MOST_STATES = 5000
_MOST_LETTERS = 2000
#: One choice is tried at each letter and up to the end: on a long text that is its square.
_SHORT_TEXT = 2000
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


class PatternRefused(ValueError):
    """A text that is no regular expression, or one that may not be used."""


class Searching(Protocol):
    """What tells whether a text holds a match."""

    def search(self, text: str, /) -> object:
        """Return something true where it does."""


@cache
def compile_pattern(pattern: str) -> Searching:
    """Return what searches texts for a pattern.

    Raises
    ------
    PatternRefused
        No regular expression; too long; or look-around or a reference beside a choice.

    Examples
    --------
    >>> bool(compile_pattern("^(a+)+$").search("a" * 40 + "!"))
    False
    >>> bool(compile_pattern("b.*d.*$").search("abcde"))
    True
    """
    if len(pattern) > _MOST_LETTERS:
        raise PatternRefused(f"a pattern of more than {_MOST_LETTERS} characters")
    try:
        compiled = compile_python(pattern)
        tree = _parser().parse(compiled.pattern)
    except (re.error, OverflowError, RecursionError) as exc:
        raise PatternRefused(f"{exc}: {pattern[:60]!r}") from exc
    choices = _choices(tree)
    if not choices:
        return compiled
    ways = _Ways(tree, compiled.flags)
    return _ByLength(compiled, ways) if choices == 1 else ways


@cache
def compile_python(pattern: str) -> re.Pattern[str]:
    """Return a pattern of our own as Python searches with it.

    JSON Schema's ``$`` is the end of the text; Python's also matches before a last line feed.
    """
    return re.compile(re.sub(r"(?<!\\)((?:\\\\)*)\$$", r"\1\\Z", pattern))


def _parser() -> Any:
    """Return the standard library's own reader of patterns, which has no public name."""
    from re import _parser as parser  # type: ignore[attr-defined]

    return parser


def _name(operator: object) -> str:
    return str(operator)


def _choices(tree: Iterable[Any]) -> int:
    """Return at how many parts there is more than one way on; several where one lies in another."""
    total = 0
    for operator, given in tree:
        name = _name(operator)
        if name in _REPEATS:
            low, high, inner = given
            within = _choices(inner)
            total += 2 * within if low == high else 1 + 2 * within
        elif name == "BRANCH":
            total += 1 + 2 * sum(map(_choices, given[1]))
        else:
            total += sum(_choices(inner) for inner in _inner(name, given))
    return total


def _inner(name: str, given: Any) -> list[Any]:
    """Return the parts of an operator that hold others, but for repeats and branches."""
    if name == "SUBPATTERN":
        return [given[-1]]
    if name == "ATOMIC_GROUP":
        return [given]
    if name in {"ASSERT", "ASSERT_NOT"}:
        return [given[1]]
    return []


class _ByLength:
    """A pattern with one choice: Python's own on a short text, all ways at once on a long one."""

    def __init__(self, compiled: re.Pattern[str], ways: _Ways) -> None:
        self.compiled, self.ways = compiled, ways

    def search(self, text: str, /) -> object:
        """Return something true where the text holds a match."""
        return (self.compiled if len(text) <= _SHORT_TEXT else self.ways).search(text)


class _Ways:
    """A pattern as states; a state is left by a letter, by a border, or freely."""

    def __init__(self, tree: Iterable[Any], flags: int) -> None:
        self.flags = flags
        self.letters: dict[int, tuple[Callable[[str], bool], int]] = {}
        self.borders: dict[int, tuple[Callable[[str, int], bool], int]] = {}
        self.free: dict[int, list[int]] = {}
        self.count = 0
        self.first = self._state()
        self.last = self._sequence(tree, self.first)

    def _state(self) -> int:
        self.count += 1
        if self.count > MOST_STATES:
            raise PatternRefused("a pattern that is too long with its repeats written out")
        return self.count

    def _freely(self, start: int, end: int) -> None:
        self.free.setdefault(start, []).append(end)

    def _sequence(self, tree: Iterable[Any], at: int) -> int:
        for operator, given in tree:
            at = self._part(_name(operator), given, at)
        return at

    def _part(self, name: str, given: Any, at: int) -> int:
        if name in {"MAX_REPEAT", "MIN_REPEAT"}:
            low, high, inner = given
            return self._repeat(int(low), int(high), inner, at)
        if name == "BRANCH":
            end = self._state()
            for part in given[1]:
                start = self._state()
                self._freely(at, start)
                self._freely(self._sequence(part, start), end)
            return end
        if name == "SUBPATTERN":
            if given[1] or given[2]:
                raise PatternRefused("flags inside a pattern that has a choice")
            return self._sequence(given[-1], at)
        end = self._state()
        if name == "AT":
            self.borders[at] = (_border(_name(given)), end)
        else:
            self.letters[at] = (_letter(name, given, self.flags), end)
        return end

    def _repeat(self, low: int, high: int, inner: Any, at: int) -> int:
        for _ in range(low):
            at = self._sequence(inner, self._step(at))
        end = self._state()
        if high >= MOST_STATES:
            start = self._step(at)
            self._freely(start, end)
            self._freely(self._sequence(inner, self._step(start)), start)
            return end
        for _ in range(high - low):
            self._freely(at, end)
            at = self._sequence(inner, self._step(at))
        self._freely(at, end)
        return end

    def _step(self, at: int) -> int:
        """Return a new state that is reached freely, so that none is left in two ways at once."""
        new = self._state()
        self._freely(at, new)
        return new

    def search(self, text: str, /) -> bool:
        """Return whether the text holds a match."""
        here: set[int] = set()
        for place in range(len(text) + 1):
            here = self._reached({*here, self.first}, text, place)
            if self.last in here:
                return True
            if place < len(text):
                letter = text[place]
                here = {
                    end
                    for state in here
                    if state in self.letters
                    for takes, end in (self.letters[state],)
                    if takes(letter)
                }
        return False

    def _reached(self, states: set[int], text: str, place: int) -> set[int]:
        """Return these states and all that are reached from them without a letter."""
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            ways = list(self.free.get(state, ()))
            if state in self.borders:
                holds, end = self.borders[state]
                ways += [end] if holds(text, place) else []
            for end in ways:
                if end not in states:
                    states.add(end)
                    waiting.append(end)
        return states


def _border(name: str) -> Callable[[str, int], bool]:
    """Return the test of a border, as Python has it for texts."""

    def is_between_words(text: str, place: int) -> bool:
        before, behind = text[place - 1 : place] if place else "", text[place : place + 1]
        return _is_word(before) != _is_word(behind)

    tests: dict[str, Callable[[str, int], bool]] = {
        "AT_BEGINNING": lambda _, place: place == 0,
        "AT_BEGINNING_STRING": lambda _, place: place == 0,
        "AT_END": lambda text, place: text[place:] in {"", "\n"},
        "AT_END_STRING": lambda text, place: place == len(text),
        "AT_BOUNDARY": is_between_words,
        "AT_NON_BOUNDARY": lambda text, place: text != "" and not is_between_words(text, place),
    }
    return tests[name]


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _letter(name: str, given: Any, flags: int) -> Callable[[str], bool]:
    """Return the test of one letter; Python's own compiler makes it, for one letter alone."""
    if name not in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
        raise PatternRefused("look-around or a reference in a pattern that has a choice")
    parser = _parser()
    single = parser.SubPattern(parser.State(), [(getattr(parser, name), given)])
    single.state.str, single.state.flags = "", flags
    compiler = re._compiler  # type: ignore[attr-defined]
    takes = compiler.compile(single, flags)
    return lambda letter: takes.fullmatch(letter) is not None
