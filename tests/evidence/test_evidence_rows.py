"""What a bundle says, as rows of the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from inquesto_core.bundle import (
    Agent,
    Answer,
    Bundle,
    Call,
    FinalState,
    RecordedVerdicts,
    ReportedStages,
    ReportedTiming,
    ReportedTurn,
    ToolCall,
    ToolTrace,
    Transcript,
    TranscriptTurn,
    Word,
)
from inquesto_core.evidence.rows import bundle_rows, count_words
from inquesto_core.evidence.tables import TABLES, make_table

REPORTED = ["reported_turns", "reported_latencies", "reported_stages"]
NAMES = ["tool_calls", "caller_calls", "transcript", *REPORTED, "words", "verdicts", "states"]


def bundle(**parts):
    call = Call(call_id="c1", agent=Agent(name="a"), audio=())
    return Bundle(call=call, root=Path("c1"), **parts)


FULL = bundle(
    trace=ToolTrace(
        calls=(
            ToolCall(position=0, name="look", id="t", arguments={"b": 1, "a": "é"}, result=[1]),
            ToolCall(position=2, name="refund", arguments=None, raw_arguments="{", start_ms=-5),
        ),
        caller_calls=(ToolCall(position=0, name="restart_phone", arguments={}),),
        stages=ReportedStages(source="platform", model_ms=(300, None, 420), synthesis_ms=(90,)),
    ),
    transcript=Transcript(
        source="asr",
        turns=(
            TranscriptTurn(speaker="caller", text="Well — twenty-five, please!", start_ms=0),
            TranscriptTurn(
                speaker="agent",
                text="one two three",
                heard_text="one",
                words=(Word(word="one", start_ms=10, end_ms=20),),
            ),
            TranscriptTurn(speaker="agent", text="never heard", heard_text=""),
        ),
    ),
    timing=ReportedTiming(
        source="runtime",
        turns=(ReportedTurn(speaker="agent", start_ms=-5, end_ms=900),),
        latencies_ms=(400,),
    ),
    state=FinalState(before={"x": 1}, after={"x": 2}),
    verdicts=RecordedVerdicts(
        model="m", answers=(Answer(question="goal_achieved", verdict=None, turn=1),)
    ),
)


@pytest.mark.parametrize("name", NAMES)
def test_rows_have_every_column_of_their_table(name):
    rows = bundle_rows(FULL)[name]
    assert rows
    assert all(list(row) == list(TABLES[name]) for row in rows)
    assert make_table(name, rows).height == len(rows)


def test_a_bundle_without_parts_has_empty_tables():
    assert bundle_rows(bundle()) == {name: [] for name in NAMES}


def test_arguments_and_results_are_canonical_json_and_null_where_absent():
    first, second = bundle_rows(FULL)["tool_calls"]
    assert (first["arguments"], first["result"]) == ('{"a":"é","b":1}', "[1]")
    assert (second["arguments"], second["raw_arguments"], second["result"]) == (None, "{", None)
    assert [first["position"], second["position"]] == [0, 2]
    assert second["start_ms"] == -5


def test_words_are_counted_in_what_was_heard():
    assert [row["n_words"] for row in bundle_rows(FULL)["transcript"]] == [3, 1, 0]


def test_words_know_their_turn_and_speaker():
    (word,) = bundle_rows(FULL)["words"]
    assert (word["turn"], word["position"], word["speaker"]) == (1, 0, "agent")


def test_verdicts_are_marked_as_recorded_and_stay_undetermined():
    (answer,) = bundle_rows(FULL)["verdicts"]
    assert (answer["verdict"], answer["source"], answer["turn"]) == (None, "recorded", 1)


def test_a_state_that_is_not_known_is_null():
    (state,) = bundle_rows(FULL)["states"]
    assert (state["before"], state["expected"]) == ('{"x":1}', None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("   \n\t ", 0),
        ("hello", 1),
        ("(silence)", 1),
        ("it's $49 - okay ?", 3),
        ("… — ! 'a'", 1),
        ("e-mail m.ruiz@example.com", 2),
        ("straße\u00a0acht", 2),
        ("٣ über 4", 3),
        ("_ __ 🙂", 0),
        ("こんにちは 世界", 2),
    ],
    ids=ascii,
)
def test_a_word_is_a_token_with_a_letter_or_digit(text, words):
    assert count_words(text) == words


def test_stages_are_a_row_a_figure_and_keep_their_places():
    rows = bundle_rows(FULL)["reported_stages"]
    told = [(row["stage"], row["position"], row["value_ms"], row["origin"]) for row in rows]
    assert told == [
        ("model", 0, 300, "platform"),
        ("model", 2, 420, "platform"),
        ("synthesis", 0, 90, "platform"),
    ]
