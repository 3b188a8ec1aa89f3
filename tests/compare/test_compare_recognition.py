"""Recognition: sums over a slice before anything is divided, entities and denials."""

from __future__ import annotations

import polars as pl
import pytest

from inquesto_core.compare.recognition import MOST_CHARACTERS, TURNS, recognition, slice_table
from inquesto_core.report.recognition_text import recognition_lines

CALLS = pl.DataFrame(
    {"call_id": ["a", "b", "c"], "group": ["x", "x", "y"], "condition": ["clean", "tv", "clean"]}
)


def turns(*rows, speaker="caller"):
    filled = [
        {
            "call_id": call_id,
            "speaker": speaker,
            "text": text,
            "language": language[0] if language else "en",
        }
        for call_id, text, *language in rows
    ]
    return pl.DataFrame(filled, schema=TURNS, orient="row")


def compare(reference, heard, **options):
    return recognition(reference, heard, CALLS, named=("reference", "platform"), **options)


def slices(found, **wanted):
    table = slice_table(found.counts)
    for name, value in wanted.items():
        table = table.filter(pl.col(name).eq_missing(pl.lit(value)))
    return table.to_dicts()[0]


def test_a_rate_is_errors_over_words_of_all_calls_and_no_mean_of_rates():
    found = compare(
        turns(("a", "one two three four five six seven eight nine"), ("b", "stop")),
        turns(("a", "one two three four five six seven eight nine"), ("b", "go")),
    )
    row = slices(found, slice="group", value="x")
    assert (row["substitutions"], row["n_words"]) == (1, 10)
    assert row["word_error_rate"] == pytest.approx(0.1)
    assert slices(found, slice="condition", value="tv")["word_error_rate"] == 1.0


def test_a_reference_without_a_word_stands_apart():
    found = compare(
        turns(("a", ""), ("b", "yes")), turns(("a", "thanks for watching"), ("b", "yes"))
    )
    row = slices(found, slice="all")
    assert (row["n_sides"], row["empty_references"], row["words_in_empty"]) == (1, 1, 3)
    assert (row["insertions"], row["word_error_rate"]) == (0, 0.0)


def test_a_slice_of_empty_references_has_no_rate():
    row = slices(compare(turns(("a", "")), turns(("a", "hm yes"))), slice="all")
    assert row["word_error_rate"] is None
    assert row["character_error_rate"] is None


def test_characters_are_counted_beside_words():
    row = slices(compare(turns(("a", "Thompson")), turns(("a", "Thomson"))), slice="all")
    assert (row["substitutions"], row["character_errors"], row["n_characters"]) == (1, 1, 8)


@pytest.mark.parametrize(
    ("said", "heard", "lost", "gained"),
    [
        ("I do not want this renewed", "I do want this renewed", 1, 0),
        ("book it", "don't book it", 0, 1),
        ("no, not now", "nope not now", 0, 0),
        ("I cannot", "I can't", 0, 0),
    ],
)
def test_a_denial_lost_or_gained_is_counted_and_its_place_kept(said, heard, lost, gained):
    found = compare(turns(("a", said)), turns(("a", heard)))
    row = slices(found, slice="all")
    assert (row["negations_lost"], row["negations_gained"]) == (lost, gained)
    assert found.places.height == lost + gained


def test_denials_are_those_of_the_language():
    said, heard = "abhi plan mat book karo", "abhi plan book karo"
    found = compare(turns(("a", said, "hi+en")), turns(("a", heard)))
    assert slices(found, slice="all")["negations_lost"] == 1
    unknown = compare(turns(("a", said, "xx")), turns(("a", heard)))
    assert unknown.languages_without_list == ("xx",)
    added = compare(turns(("a", said, "xx")), turns(("a", heard)), negations={"xx": ["mat"]})
    assert slices(added, slice="all")["negations_lost"] == 1


def test_entities_are_kept_lost_or_added_in_whatever_form():
    found = compare(
        turns(("a", "Z K three F F W, sixty-five dollars, on March 5th, ask Ann Lee")),
        turns(("a", "ZK3FFW, $56 on March fifth, ask anne")),
        names=["Ann Lee"],
    )
    row = slices(found, slice="all")
    assert (row["code_said"], row["code_kept"]) == (1, 1)
    assert (row["amount_said"], row["amount_kept"], row["amount_added"]) == (1, 0, 1)
    assert (row["date_said"], row["date_kept"]) == (1, 1)
    assert (row["name_said"], row["name_kept"]) == (1, 0)
    assert found.places.filter(pl.col("what") == "entity_lost")["words"].to_list() == [
        "sixty-five dollars",
        "Ann Lee",
    ]


def test_calls_that_only_one_transcript_has_are_counted_and_in_no_rate():
    found = compare(turns(("a", "yes"), ("c", "no")), turns(("a", "yes"), ("b", "hello")))
    assert found.counts["call_id"].to_list() == ["a"]
    assert (found.without_reference, found.without_heard) == (1, 1)


def test_the_order_of_calls_changes_nothing():
    rows = [("a", "one two"), ("b", "three"), ("c", "not four")]
    heard = [("a", "one"), ("b", "tree"), ("c", "four")]
    first = compare(turns(*rows), turns(*heard))
    second = compare(turns(*rows[::-1]), turns(*heard[::-1]))
    assert slice_table(first.counts).equals(slice_table(second.counts))


@pytest.mark.parametrize(("length", "too_long"), [(MOST_CHARACTERS, 0), (MOST_CHARACTERS + 1, 1)])
def test_a_side_that_is_too_long_is_counted_and_compared_in_nothing(length, too_long):
    rows = [{"call_id": "c", "speaker": "caller", "text": "x" * length, "language": "en"}]
    heard = [{**rows[0], "text": "x"}]
    calls = pl.DataFrame({"call_id": ["c"], "group": ["g"], "condition": ["clean"]})
    found = recognition(
        pl.DataFrame(rows, schema=TURNS),
        pl.DataFrame(heard, schema=TURNS),
        calls,
        named=("reference", "asr"),
    )
    assert (found.too_long, found.counts.height) == (too_long, 1 - too_long)
    said = "\n".join(recognition_lines([found]))
    assert ("not compared: 1 side of more than 100,000 characters" in said) == bool(too_long)
