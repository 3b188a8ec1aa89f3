"""Where two transcripts of one voice differ, word by word: word error by jiwer.

``(substitutions + deletions + insertions) / words`` of the reference; from 0, lower is better,
above 1 where more is inserted than said. The alignment is the shortest; of several as short,
jiwer's. Words are those that the caller gives, normalised by `inquesto_core.evidence.spoken_words`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquesto_core.evidence.spoken_words import is_negation, is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["WordDifference", "WordError", "word_error"]


#: First index, and the one behind the last, in the reference, then in the hypothesis.
Span = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordDifference:
    """One place where words differ, with the whole of a number that does.

    Parameters
    ----------
    at, heard_at : int
        Index of its first word in the reference and in the hypothesis; where there is no word, of
        the word that would follow.
    words, heard : tuple of str
        What stands there; one of them may be empty.
    """

    at: int
    heard_at: int
    words: tuple[str, ...]
    heard: tuple[str, ...]

    @property
    def is_negation(self) -> bool:
        """Whether one side denies more often than the other."""
        return _those(self.words, is_negation) != _those(self.heard, is_negation)

    @property
    def is_number(self) -> bool:
        """Whether the digits are not the same, in the same order."""
        return list(filter(is_number, self.words)) != list(filter(is_number, self.heard))


def _those(words: Sequence[str], wanted: Callable[[str], bool]) -> Counter[str]:
    return Counter(filter(wanted, words))


@dataclass(frozen=True, slots=True, kw_only=True)
class WordError:
    """Counts over one alignment, and the places where it differs, in order."""

    n_words: int
    n_heard: int
    substitutions: int
    deletions: int
    insertions: int
    differences: tuple[WordDifference, ...]

    @property
    def errors(self) -> int:
        """Words to change, take out or put in."""
        return self.substitutions + self.deletions + self.insertions


def word_error(reference: Sequence[str], heard: Sequence[str]) -> WordError:
    """Return how `heard` differs from `reference`, both normalised words.

    Where nothing was said every word heard is an insertion.
    """
    if not reference or not heard:
        place = WordDifference(at=0, heard_at=0, words=tuple(reference), heard=tuple(heard))
        return WordError(
            n_words=len(reference),
            n_heard=len(heard),
            substitutions=0,
            deletions=len(reference),
            insertions=len(heard),
            differences=(place,) if reference or heard else (),
        )
    import jiwer

    aligned = jiwer.process_words(" ".join(reference), " ".join(heard))
    spans = [
        (chunk.ref_start_idx, chunk.ref_end_idx, chunk.hyp_start_idx, chunk.hyp_end_idx)
        for chunk in aligned.alignments[0]
        if chunk.type != "equal"
    ]
    return WordError(
        n_words=len(reference),
        n_heard=len(heard),
        substitutions=aligned.substitutions,
        deletions=aligned.deletions,
        insertions=aligned.insertions,
        differences=tuple(
            WordDifference(
                at=low,
                heard_at=start,
                words=tuple(reference[low:high]),
                heard=tuple(heard[start:end]),
            )
            for low, high, start, end in _joined(spans, reference, heard)
        ),
    )


def _joined(spans: Sequence[Span], reference: Sequence[str], heard: Sequence[str]) -> list[Span]:
    """Return the places where words differ: neighbours are one, and a number is never cut apart."""
    out: list[Span] = []
    for span in spans:
        low, high, start, end = _with_whole_number(span, reference, heard)
        if out and (out[-1][1] >= low or out[-1][3] >= start):
            low, _, start, _ = out.pop()
        out.append((low, high, start, end))
    return out


def _with_whole_number(span: Span, reference: Sequence[str], heard: Sequence[str]) -> Span:
    """Return a place with the digits beside it that both sides share, if digits differ there."""
    low, high, start, end = span
    if any(map(is_number, (*reference[low:high], *heard[start:end]))):
        while low and start and is_number(reference[low - 1]) and is_number(heard[start - 1]):
            low, start = low - 1, start - 1
        while (
            high < len(reference)
            and end < len(heard)
            and is_number(reference[high])
            and is_number(heard[end])
        ):
            high, end = high + 1, end + 1
    return low, high, start, end
