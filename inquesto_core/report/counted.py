"""A count with its word, as English has it."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, word: str, words: str | None = None) -> str:
    """Return a count with its word: one thing, several things.

    >>> counted(1, "call"), counted(0, "call"), counted(2, "entry", "entries")
    ('1 call', '0 calls', '2 entries')
    """
    return f"{number} {word if number == 1 else words or word + 's'}"
