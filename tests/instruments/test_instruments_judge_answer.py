"""Only one exact form is an answer; everything else is undetermined."""

from __future__ import annotations

import re

import pytest
from judged import SETTINGS

from inquesto_core.instruments.judge_answer import answer_grammar, longest_answer, read_answer

LIMIT = SETTINGS.max_reason_characters


def read(text, n_turns=3):
    return read_answer(text, n_turns=n_turns, max_reason_characters=LIMIT)


def answer(verdict="true", turn="1", reason="said so"):
    return f'{{"verdict":{verdict},"turn":{turn},"reason":"{reason}"}}'


def test_a_legal_answer_is_read():
    found = read(answer())
    assert (found.verdict, found.turn, found.reason) == (True, 1, "said so")
    assert read(answer(verdict="false", turn="null", reason="")).turn is None


@pytest.mark.parametrize(
    "text", ["Step 1 of 3: looks good", "excellent", "", "true", "1", '"true"', "null"]
)
def test_f50_no_number_keyword_or_default_is_an_answer(text):
    assert read(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": ',
        '{"verdict":"pass"' + " " * 500,
        answer()[:-1],
        answer() + " ",
        answer() + answer(),
        answer(verdict="null"),
        answer(verdict='"true"'),
        answer(turn="-1"),
        answer(turn="01"),
        answer(turn="1.0"),
        '{"turn":1,"verdict":true,"reason":"x"}',
        answer().replace(",", ", "),
        answer(reason='a"b'),
        answer(reason="a\\nb"),
        answer(reason="a\nb"),
        answer(reason="é"),
        "```json\n" + answer() + "\n```",
    ],
)
def test_f52_a_cut_off_padded_or_other_text_is_undetermined(text):
    assert read(text) is None


def test_a_cited_turn_is_one_of_the_call():
    assert read(answer(turn="2"), n_turns=3).turn == 2
    assert read(answer(turn="3"), n_turns=3) is None
    assert read(answer(turn="0"), n_turns=0) is None


def test_a_reason_has_its_longest_length():
    assert read(answer(reason="r" * LIMIT)) is not None
    assert read(answer(reason="r" * (LIMIT + 1))) is None


@pytest.mark.parametrize("n_turns", [0, 1, 2, 10, 11, 25, 100, 101, 121, 1000, 1999])
def test_the_grammar_takes_exactly_the_turns_of_the_call(n_turns):
    turns = answer_grammar(n_turns, max_reason_characters=LIMIT).splitlines()[1]
    alternatives = turns.removeprefix("turn ::= ").split(" | ")
    pattern = re.compile("|".join(re.sub(r'[" ]', "", one) for one in alternatives))
    assert pattern.fullmatch("null")
    legal = [number for number in range(n_turns + 120) if pattern.fullmatch(str(number))]
    assert legal == list(range(n_turns))
    assert not pattern.fullmatch("00")
    assert not pattern.fullmatch("-1")


def test_the_grammar_has_no_free_white_space_and_bounded_text():
    grammar = answer_grammar(3, max_reason_characters=LIMIT)
    assert f"character{{0,{LIMIT}}}" in grammar
    assert "*" not in grammar
    assert "+" not in grammar


def test_the_longest_legal_answer_fits_the_pinned_token_limit():
    longest = longest_answer(1_000_000, max_reason_characters=LIMIT)
    text = answer(verdict="false", turn="999999", reason="r" * LIMIT)
    assert len(text) - len('{"verdict":') == longest <= SETTINGS.max_answer_tokens
