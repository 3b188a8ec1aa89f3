"""Entities are read in time in proportion to the text, however hostile, and to their limits."""

from __future__ import annotations

import random
import time

import pytest

from inquesto_core.events.spoken_entities import LONGEST, Names, find_entities, is_kept, mentions
from inquesto_core.evidence.spoken_cardinals import LONGEST_RUN, number_groups, tokenise
from inquesto_core.evidence.spoken_words import spoken_words

ROWS = (
    "nine ",
    "1 ",
    "twenty ",
    "A ",
    "1a ",
    "$1 ",
    "a hundred ",
    "4:30 ",
    "March 5th ",
    "half a ",
)


@pytest.mark.parametrize("piece", ROWS)
def test_no_row_of_words_takes_the_square_of_its_length(piece):
    text = piece * 6000
    before = time.process_time()
    found = find_entities(text)
    mentions(found[0].text, found[0].kind, text) if found else None
    assert time.process_time() - before < 8


def test_a_hundred_thousand_names_are_looked_for_at_once():
    names = Names([f"Maria {number}" for number in range(100_000)])
    before = time.process_time()
    found = find_entities("maria 77 met Maria 99999 and Maria. " * 200, names=names)
    assert time.process_time() - before < 8
    assert sum(one.kind == "name" for one in found) == 400


@pytest.mark.parametrize("names", [("Ana Ruiz", "Ruiz"), ("Ruiz", "Ana Ruiz")])
def test_of_two_names_that_overlap_the_one_named_first_is_found(names):
    assert [one.text for one in find_entities("for Ana Ruiz.", names=names)] == [names[0]]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("Ruiz", "Ruizes and Ruiz", [(11, 15)]),
        ("ruiz", "RUIZ", [(0, 4)]),
        ("@home", "at@home @home", [(8, 13)]),
        ("İstanbul", "in İstanbul", [(3, 11)]),
        ("", "x", []),
    ],
)
def test_a_name_is_found_as_a_word_of_its_own(name, text, found):
    assert Names([name]).places(text) == found


@pytest.mark.parametrize(("said", "read"), [(LONGEST_RUN, 1), (LONGEST_RUN + 1, 2)])
def test_a_longer_row_of_numbers_is_read_in_parts(said, read):
    text = "x " + "nine " * said + "x"
    assert len(number_groups(tokenise(text), 1)) == min(said, LONGEST_RUN)
    parts = [one for one in find_entities(text) if one.kind == "number"]
    assert len(parts) in {1, read}
    assert sum(part.text.count("nine") for part in parts) >= min(said, LONGEST_RUN)


@pytest.mark.parametrize(("length", "found"), [(LONGEST, 1), (LONGEST + 1, 0)])
def test_an_entity_has_a_longest_length(length, found):
    assert len(find_entities("n" * length, names=["n" * length])) == found


def test_scale_words_without_an_end_are_words():
    words = spoken_words("one " + "thousand " * 3000)
    assert words[:4] == ("1", "0", "0", "0")
    assert words[-1] == "thousand"


def test_mentions_are_counted_as_a_plain_search_counts_them():
    rng = random.Random(2)
    for _ in range(300):
        digits = "".join(rng.choices("12", k=rng.randint(1, 3)))
        text = " ".join(rng.choices(["12", "1", "2", "x", "112"], k=12))
        words, found, low = text.split(), 0, 0
        while low < len(words):
            high = next(
                (h for h in range(low, len(words)) if "".join(words[low : h + 1]) == digits), None
            )
            cut = high is not None and any(
                left >= 0
                and right < len(words)
                and all(w.isdigit() and len(w) == 1 for w in (words[left], words[right]))
                for left, right in ((low - 1, low), (high, high + 1))
            )
            found, low = (found + 1, high + 1) if high is not None and not cut else (found, low + 1)
        counted = mentions(digits, "number", text)
        assert counted == found, (digits, text)


def test_a_code_is_whole_or_lost():
    assert is_kept("Z K three F F W", "code", "my code is ZK3-FFW")
    assert not is_kept("Z K three F F W", "code", "my code is ZK3FF")
