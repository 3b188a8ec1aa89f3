"""The normaliser inquesto-words-1: each rule by what it makes alike, and what it keeps apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.evidence.spoken_words import NORMALISER, is_negation, is_number, spoken_words

SAID = [
    "a", "an", "oh", "o", "double", "five", "twenty", "first", "third", "hundred", "thousand",
    "and", "4", "4th", "1,000", "$5.50", "don't", "p.m.", "um", "no", "point", "million", "it's",
]  # fmt: skip


def test_the_rules_have_a_name():
    assert NORMALISER == "inquesto-words-1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("Hello,  WORLD!", "hello world"),
        ("(laughs) Yes [noise] <unk>", "yes"),
        ("don't can't won't isn't", "do not can not will not is not"),
        ("I'll, we've, they're, I'm, it's", "i will we have they are i am it is"),
        ("Anna's dog’s", "annas dogs"),
        ("cannot", "can not"),
        ("U.S. at 3 p.m. or 3 pm, 9 AM", "u s at 3 p m or 3 p m 9 a m"),
        ("I am", "i am"),
        ("OK, O.K. okay", "okay okay okay"),
        ("um, I uh-huh mm yes", "i yes"),
        ("anna@example.com", "anna at example dot com"),
        ("e-mail E mail email", "email email email"),
        ("50% & more", "5 0 percent and more"),
        (
            "$49 $49.00 $49.50 £5.20",
            "4 9 dollars 4 9 dollars 4 9 dollars 5 0 cents 5 pounds 2 0 pence",
        ),
        ("3:00 and 3:30", "3 and 3 3 0"),
        ("1,000 4.5", "1 0 0 0 4 point 5"),
        ("1st 2nd 3rd 15th", "first second 3 1 5"),
        ("first second third fifteenth twenty-first", "first second 3 1 5 2 1"),
        ("four oh seven, oh no", "4 0 7 oh no"),
        ("double four triple seven double trouble", "4 4 7 7 7 double trouble"),
        ("a hundred and five, a dog", "1 0 5 a dog"),
        ("two hundred thousand", "2 0 0 0 0 0"),
        ("one million two hundred thousand and five", "1 2 0 0 0 0 5"),
        ("colour color", "colour color"),
        ("don’t", "do not"),
        ("ﬁne", "fine"),
    ],
)
def test_a_text_says_these_words(text, words):
    assert " ".join(spoken_words(text)) == words


@pytest.mark.parametrize(
    "text",
    ["4471", "forty-four seventy-one", "four four seven one", "4-4-7-1", "double four seven one"],
)
def test_an_account_number_is_one_thing_however_it_is_spelled(text):
    assert spoken_words(text) == ("4", "4", "7", "1")


@pytest.mark.parametrize(
    ("one", "other"),
    [("forty nine", "49"), ("fourteen", "40"), ("I can", "I can't"), ("fifteenth", "fifth")],
)
def test_only_spelling_is_taken_away(one, other):
    assert (spoken_words(one) == spoken_words(other)) == (one == "forty nine")


def test_digits_and_denials_are_known():
    words = spoken_words("No, it isn't 5 and nobody said never")
    assert [word for word in words if is_negation(word)] == ["no", "not", "nobody", "never"]
    assert [word for word in words if is_number(word)] == ["5"]


@given(st.text(max_size=60) | st.lists(st.sampled_from(SAID), max_size=12).map(" ".join))
def test_any_text_has_words_and_words_say_themselves(text):
    words = spoken_words(text)
    assert all(word and not word.isspace() for word in words)
    assert spoken_words(" ".join(words)) == words
