"""What of an agent's words was heard: those that ended before its sound was cut off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inquesto_core.bundle import Word

__all__ = ["heard_until"]


def heard_until(words: Iterable[Word], until_ms: int) -> str:
    """Return the words that end at or before `until_ms`; one without a time counts as heard."""
    return " ".join(word.word for word in words if word.end_ms is None or word.end_ms <= until_ms)
