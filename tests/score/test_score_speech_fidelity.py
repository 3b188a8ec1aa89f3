"""What of the agent's text its voice was heard to say."""

from __future__ import annotations

import pytest

from inquesto_core.evidence import make_table
from inquesto_core.score.speech_fidelity import speech_fidelity


def found(written, heard, *, played=None, source="platform", speaker="agent"):
    turns = [
        {"call_id": "c", "position": at, "speaker": speaker, "text": text, "heard_text": played}
        for at, text in enumerate(written)
    ]
    sound = [
        {"call_id": "c", "position": at, "speaker": "agent", "text": text}
        for at, text in enumerate(heard)
    ]
    return speech_fidelity(
        make_table("transcript", [{**turn, "source": source} for turn in turns]),
        make_table("asr_turns", sound),
    )


@pytest.mark.parametrize(
    ("heard", "kept"),
    [
        pytest.param("That is sixty-five dollars and fifty-two cents.", 1, id="in another form"),
        pytest.param("That is sixteen dollars and fifty-two cents.", 0, id="as another amount"),
        pytest.param("That is due.", 0, id="not at all"),
    ],
)
def test_an_amount_of_the_text_has_to_be_heard(heard, kept):
    seen = found(["That is $65.52."], [heard])
    assert (dict(seen.said), dict(seen.heard)) == ({"amount": 1}, {"amount": kept})
    assert seen.lost == (() if kept else (("c", "amount", "$65.52"),))


def test_as_often_as_it_is_written_it_has_to_be_heard():
    twice = ["Code AB12CD.", "Again, AB12CD."]
    assert found(twice, ["code A B one two C D", "A B one two C D"]).lost == ()
    assert len(found(twice, ["code A B one two C D"]).lost) == 1


def test_what_was_never_played_was_not_to_be_heard():
    assert found(["It is $65.52 in all."], ["It is"], played="It is").said == {}


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"source": "asr"}, id="the text is our own transcriber's"),
        pytest.param({"speaker": "caller"}, id="the caller's"),
    ],
)
def test_only_a_platforms_text_of_the_agent_is_compared(how):
    assert found(["It is $65.52."], ["hello"], **how).n_calls == 0


def test_a_call_without_a_second_hearing_tells_nothing():
    assert found(["It is $65.52."], []).n_calls == 0
