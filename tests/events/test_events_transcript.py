from __future__ import annotations

import pytest
from decide_loop import Case, decide_all, small_population

from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = small_population()


def heard(*said):
    case = Case(said=None if said == (None,) else said)
    return decide_all([case], protocol=PROTOCOL, population=POPULATION)


def verbose(*said):
    return heard(*said).flags["event_verbose"].item()


@pytest.mark.parametrize(
    ("said", "fires"),
    [
        ([("agent", 60)], False),
        ([("agent", 61)], True),
        ([("agent", 60), ("caller", 3), ("agent", 60)], False),
        ([("agent", 60), ("caller", 3), ("agent", 61)], True),
        ([("agent", 1), ("caller", 3), ("agent", 119)], False),
        ([("agent", 1), ("caller", 3), ("agent", 120)], True),
        ([("caller", 500)], False),
        ([], False),
    ],
    ids=["60", "61", "mean60", "mean60.5", "mean60of2", "mean60.5of2", "caller", "empty"],
)
def test_more_than_sixty_words_a_turn_on_average_are_verbose(said, fires):
    assert verbose(*said) is fires


def test_a_turn_without_words_is_left_out_of_the_mean():
    assert verbose(("agent", 61), ("caller", 1), ("agent", 0)) is True
    assert verbose(("agent", 0), ("caller", 1), ("agent", 0)) is False


def test_rows_of_the_agent_without_the_caller_between_are_one_turn():
    assert verbose(("agent", 40), ("agent", 21)) is True
    assert verbose(("agent", 40), ("agent", 20)) is False
    assert verbose(("agent", 40), ("caller", 0), ("agent", 21)) is False
    assert verbose(("agent", 40), ("agent", 0), ("agent", 21)) is True


def test_without_a_transcript_verbosity_is_undetermined():
    assert verbose(None) is None
    assert heard(None).events.is_empty()


def test_the_occurrence_compares_words_with_the_most_that_so_many_turns_may_have():
    (row,) = heard(("agent", 61), ("caller", 1), ("agent", 62)).occurrences("verbose")
    assert (row["value"], row["threshold"], row["severity"]) == (123, 120, 1)
    assert (row["at_ms"], row["source"], row["counted"]) == (None, "transcript", True)
    assert row["evidence_key"] == "transcript"


def test_calls_do_not_reach_into_each_other():
    cases = [
        Case(call_id="a", said=(("agent", 61),)),
        Case(call_id="b", said=(("agent", 59), ("caller", 1))),
        Case(call_id="c", said=(("agent", 61),)),
    ]
    found = decide_all(cases, protocol=PROTOCOL, population=POPULATION)
    assert found.flags.sort("call_id")["event_verbose"].to_list() == [True, False, True]
