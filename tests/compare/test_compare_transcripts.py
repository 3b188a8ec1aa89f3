"""Two transcripts of a call: what is counted, and what stands apart."""

from __future__ import annotations

import polars as pl

from inquesto_core.compare.transcripts import compared_rows
from inquesto_core.evidence import make_table


def written(*turns, call_id="c1"):
    rows = [
        {
            "call_id": call_id,
            "position": at,
            "speaker": speaker,
            "start_ms": 1000 * at,
            "text": text,
        }
        for at, (speaker, text) in enumerate(turns)
    ]
    return make_table("transcript", rows)


def heard(*turns, call_id="c1"):
    rows = [
        {
            "call_id": call_id,
            "position": at,
            "speaker": speaker,
            "start_ms": 1000 * at + 7,
            "text": text,
        }
        for at, (speaker, text) in enumerate(turns)
    ]
    return make_table("asr_turns", rows)


def compare(transcript, turns, *call_ids):
    found = compared_rows(transcript, turns, pl.Series(call_ids or ("c1",), dtype=pl.String))
    for name, rows in found.items():
        make_table(name, rows)
    return found


def test_a_call_that_brings_no_transcript_is_not_compared():
    assert compare(written(("agent", "Hi"), call_id="other"), heard(("agent", "Hi"))) == {
        "word_errors": [],
        "transcript_differences": [],
    }


def test_a_call_in_which_nothing_was_heard_has_all_its_words_missing():
    found = compare(written(("agent", "It is 5.")), heard())
    (agent,) = (row for row in found["word_errors"] if row["speaker"] == "agent")
    assert (agent["n_words"], agent["deletions"], agent["numbers"]) == (3, 3, 1)
    assert found["transcript_differences"][0]["own_turn"] is None
    assert found["transcript_differences"][0]["at_ms"] == 0


def test_a_lost_not_and_a_wrong_number_stand_apart_with_their_lines():
    found = compare(
        written(("agent", "Hello."), ("caller", "I can't pay."), ("agent", "Your bill is $49.")),
        heard(
            ("agent", "Hello"),
            ("caller", "I can pay"),
            ("agent", "your bill is forty-five dollars"),
        ),
    )
    shown = [
        (r["speaker"], r["words"], r["own_words"], r["turn"], r["own_turn"], r["at_ms"])
        for r in found["transcript_differences"]
    ]
    assert shown == [("caller", "not", "", 1, 1, 1007), ("agent", "4 9", "4 5", 2, 2, 2007)]
    assert [row["negations"] for row in found["word_errors"]] == [1, 0]
    assert [row["numbers"] for row in found["word_errors"]] == [0, 1]
    assert {row["normaliser"] for row in found["word_errors"]} == {"inquesto-words-1"}


def test_what_was_played_counts_and_not_what_was_written():
    transcript = written(("agent", "I have refunded you and more")).with_columns(
        heard_text=pl.lit("I have refunded")
    )
    found = compare(transcript, heard(("agent", "I have refunded")))
    assert sum(row["deletions"] for row in found["word_errors"]) == 0
