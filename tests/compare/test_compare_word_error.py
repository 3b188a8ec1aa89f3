"""Word error: counts against jiwer itself, and which differences matter more than others."""

from __future__ import annotations

import jiwer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.compare.word_error import word_error

WORDS = st.lists(st.sampled_from(["a", "b", "c", "not", "4", "9"]), max_size=12)


def kinds(reference, heard):
    found = word_error(reference.split(), heard.split())
    return [
        (" ".join(p.words), " ".join(p.heard), p.is_negation, p.is_number)
        for p in found.differences
    ]


@pytest.mark.parametrize(
    ("reference", "heard", "counts"),
    [
        pytest.param("", "", (0, 0, 0), id="nothing"),
        pytest.param("", "a b", (0, 0, 2), id="nothing_was_said"),
        pytest.param("a b", "", (0, 2, 0), id="nothing_was_heard"),
    ],
)
def test_a_side_without_words_needs_no_alignment(reference, heard, counts):
    found = word_error(reference.split(), heard.split())
    assert (found.substitutions, found.deletions, found.insertions) == counts
    assert found.errors == sum(counts)


def test_one_lost_not_is_told_from_a_spelling():
    assert kinds("i can not pay the colour", "i can pay the color") == [
        ("not", "", True, False),
        ("colour", "color", False, False),
    ]


def test_a_number_that_differs_is_one_difference():
    assert kinds("account 4 4 7 1 please", "account 4 4 1 7 please") == [
        ("4 4 7 1", "4 4 1 7", False, True)
    ]
    assert kinds("for 5 0 cents", "for 1 5 cents") == [("5 0", "1 5", False, True)]


def test_an_equal_text_has_no_difference():
    assert kinds("a b c", "a b c") == []


@given(reference=WORDS.filter(bool), heard=WORDS.filter(bool))
def test_counts_and_places_agree_with_each_other(reference, heard):
    found = word_error(reference, heard)
    assert found.errors / len(reference) == pytest.approx(
        jiwer.wer(" ".join(reference), " ".join(heard))
    )
    assert found.n_words - found.deletions == found.n_heard - found.insertions
    rebuilt, at = [], 0
    for place in found.differences:
        assert tuple(reference[place.at : place.at + len(place.words)]) == place.words
        rebuilt += [*reference[at : place.at], *place.heard]
        assert place.heard_at == len(rebuilt) - len(place.heard)
        at = place.at + len(place.words)
    assert rebuilt + reference[at:] == heard
