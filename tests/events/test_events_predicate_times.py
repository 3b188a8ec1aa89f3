from __future__ import annotations

import pytest
from predicate_calls import outcome, tool, turn

SPEAKS = {"kind": "speech_after_tool", "tool": "lookup", "within_ms": 3000}


def wait(position, at_ms, kind, first=None):
    return {"position": position, "at_ms": at_ms, "outcome": kind, "first_sound_ms": first}


@pytest.mark.parametrize(
    ("row", "utterances", "holds"),
    [
        (wait(0, 5000, "spoke", 3000), [], True),
        (wait(0, 5000, "spoke", 3001), [], False),
        (wait(0, 5000, "agent_speaking"), [], True),
        (wait(0, 5000, "caller_first"), [(8000, 9000)], True),
        (wait(0, 5000, "caller_first"), [(8001, 9000)], False),
        (wait(0, 5000, "caller_first"), [(4000, 5500), (9000, 9500)], True),
        (wait(0, 57_000, "no_sound"), [], True),
        (wait(0, 56_999, "no_sound"), [], False),
    ],
)
def test_no_wait_after_a_result_is_longer_than_the_limit(row, utterances, holds):
    tools = [tool("lookup", 1000, row["at_ms"])]
    found = outcome(SPEAKS, tools=tools, waits=[row], utterances=utterances)
    assert found[0] is holds


def test_a_later_result_does_not_end_the_wait():
    tools = [tool("lookup", 1000, 2000), tool("verify", 2100, 4000)]
    waits = [wait(0, 2000, "later_result"), wait(1, 4000, "spoke", 1500)]
    value, evidence = outcome(SPEAKS, tools=tools, waits=waits)
    assert value is False
    assert evidence == "3500 ms of silence after tool_calls/0, at most 3000"


@pytest.mark.parametrize(
    ("fields", "value", "evidence"),
    [
        ({"tools": None}, None, "no trace"),
        ({"timed": False}, None, "timing is not evaluated"),
        ({"tools": [tool("lookup", 1000)]}, None, "when lookup ended is not known"),
        ({"tools": []}, True, "no result of lookup is waited for"),
        ({"tools": [tool("lookup", 1, 2, status="error")]}, True, "no result of lookup"),
    ],
)
def test_without_times_a_limit_after_a_tool_is_undetermined(fields, value, evidence):
    found = outcome(SPEAKS, **{"tools": [tool("lookup", 1000, 2000)], **fields})
    assert found[0] is value
    assert evidence in found[1]


ASKED = {
    "kind": "tool_after_speech",
    "tool": "to_human",
    "speaker": "caller",
    "says": ["speak to a person", "a human"],
    "within_ms": 5000,
}
SAID = [
    turn("agent", "Shall I get a human?", 0, 1000),
    turn("caller", "Let me speak to a person, please.", 2000, 4000),
    turn("caller", "A human!", 20_000, 21_000),
]


@pytest.mark.parametrize(
    ("start", "holds"), [(4000, True), (2000, True), (9000, True), (9001, False), (1999, False)]
)
def test_a_tool_starts_in_time_after_the_first_turn_that_says_it(start, holds):
    assert outcome(ASKED, tools=[tool("to_human", start)], said=SAID)[0] is holds


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"said": None}, None),
        ({"tools": None}, None),
        ({"tools": []}, False),
        ({"tools": [tool("to_human")]}, None),
        ({"tools": [tool("to_human"), tool("to_human", 5000)]}, True),
        ({"said": [turn("caller", "Just a person?", 1, 2)]}, True),
        ({"said": [turn("caller", None, 1, 2)]}, None),
        ({"said": [turn("caller", "a human", 1, None)]}, None),
        ({"said": [turn("agent", "a human", 1, 2)]}, True),
    ],
)
def test_without_words_or_times_a_limit_after_speech_is_undetermined(fields, value):
    assert outcome(ASKED, **{"tools": [tool("to_human", 9002)], "said": SAID, **fields})[0] is value
