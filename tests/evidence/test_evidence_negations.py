from __future__ import annotations

import pytest

from inquesto_core.evidence.negations import NEGATIONS, negations_of
from inquesto_core.evidence.spoken_words import spoken_words


@pytest.mark.parametrize("language", sorted(NEGATIONS))
def test_every_listed_word_is_one_word_of_the_normaliser(language):
    assert all(spoken_words(word) == (word,) for word in NEGATIONS[language] - {"dont", "cannot"})


def test_a_language_is_read_by_its_first_part_and_no_language_is_english():
    assert negations_of("de-AT") == NEGATIONS["de"]
    assert negations_of("PT_br") == NEGATIONS["pt"]
    assert negations_of(None) == NEGATIONS["en"]


def test_mixed_speech_has_the_words_of_both():
    assert negations_of("hi+en") == NEGATIONS["hi"] | NEGATIONS["en"]


def test_a_user_adds_words_and_languages_and_takes_none_out():
    assert negations_of("de", {"de": ["Nimmer!"]}) == NEGATIONS["de"] | {"nimmer"}
    assert negations_of("lv", {"lv": ["nē"]}) == {"nē"}
    assert negations_of("lv") is None


def test_vowel_signs_are_no_borders_of_words():
    assert spoken_words("अभी मत book करो, नहीं!") == ("अभी", "मत", "book", "करो", "नहीं")
