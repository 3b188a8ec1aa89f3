"""Real models, loaded and decoded: always a legal answer, and the same bits however they are asked.

The tiny Gemma 2 has the pinned model's architecture and runs everywhere; the stand-ins are small
models that people use.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from judged import SETTINGS, asked
from real_judge import (
    STAND_INS,
    generated_calls,
    is_legal,
    judge_of,
    rows_of,
    rows_of_fresh_model,
    rows_of_two_workers,
    stand_in_path,
)
from tiny_gguf import CONTROL, LAYERS, WINDOW, write_tiny_gemma2

from inquesto_core.instruments.judge_llama import LlamaJudge

pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: extra `judge`")
gguf = pytest.importorskip("gguf", reason="gguf is not installed: it writes the tiny model")

#: A short reason: what is compared is how a prompt comes to be evaluated.
BRIEF = replace(SETTINGS, max_reason_characters=24)
QUESTIONS = ("goal_achieved", "wrong_info")
CALLS = [
    asked("A", "Hello.", "Refund the charge.", "I have refunded it.", questions=QUESTIONS),
    asked("B", "Hi.", "Cancel my plan.", questions=QUESTIONS),
    asked("C", "Hello.", "Refund the charge.", "No.", questions=QUESTIONS, form="handoff"),
    asked("D", questions=QUESTIONS),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_tiny_gemma2(tmp_path_factory.mktemp("gguf") / "tiny.gguf", gguf)


@pytest.fixture(params=STAND_INS, ids=lambda stand_in: stand_in.name)
def stand_in(request):
    return stand_in_path(request.param)


def assert_every_answer_is_legal(path, calls):
    """Ask about all calls; return the rows."""
    rows = rows_of_fresh_model(path, calls)
    for call in calls:
        (question,) = call.questions
        assert is_legal(rows[call.call_id, question], call.turns), call.call_id
    return list(rows.values())


def assert_same_bits_however_asked(path, calls):
    """Compare whole rows, probabilities and text included, with those of calls asked cold."""
    expected = {}
    for call in calls:
        expected |= rows_of_fresh_model(path, [call], settings=BRIEF)
    warm = LlamaJudge(path, settings=BRIEF, threads=1)
    shuffled = random.Random(3).sample(calls, len(calls))
    for order in (calls, calls[::-1], shuffled, calls):
        assert rows_of(warm, order, BRIEF) == expected
    warm.close()
    assert rows_of_fresh_model(path, calls, threads=2, settings=BRIEF) == expected
    assert rows_of_two_workers(path, calls, settings=BRIEF) == expected


def test_the_tiny_model_is_a_gemma_2_with_all_that_is_its_own(tiny):
    from gguf import GGUFReader

    fields = GGUFReader(tiny).fields
    assert fields["general.architecture"].contents() == "gemma2"
    assert fields["gemma2.attn_logit_softcapping"].contents() == 50
    assert fields["gemma2.final_logit_softcapping"].contents() == 30
    assert fields["gemma2.attention.sliding_window"].contents() == WINDOW
    loaded = LlamaJudge(tiny, settings=SETTINGS, threads=1)
    ((_, prompt), _) = judge_of(loaded).prompts(CALLS[0])
    assert LAYERS >= 2  # every other layer looks through the window
    assert prompt.length > 4 * WINDOW
    assert set(CONTROL) <= set(loaded.chat.control)
    loaded.close()


def test_sixty_generated_calls_get_legal_answers_of_both_kinds(tiny):
    rows = assert_every_answer_is_legal(tiny, generated_calls(60, seed=1))
    assert {row["verdict"] for row in rows} == {True, False}


@pytest.mark.slow
def test_a_thousand_generated_calls_get_legal_answers(tiny):
    rows = assert_every_answer_is_legal(tiny, generated_calls(1100, seed=2))
    assert len({row["answer_key"] for row in rows if row.get("undetermined") is None}) > 1000


@pytest.mark.slow
def test_thirty_generated_calls_get_legal_answers_of_a_stand_in(stand_in):
    assert_every_answer_is_legal(stand_in, generated_calls(30, seed=3))


def test_f53_f54_f56_order_state_threads_and_workers_change_no_bit(tiny):
    assert_same_bits_however_asked(tiny, CALLS)


@pytest.mark.slow
def test_f53_f54_f56_order_state_threads_and_workers_change_no_bit_of_a_stand_in(stand_in):
    assert_same_bits_however_asked(stand_in, CALLS[:3])


@pytest.mark.slow
@pytest.mark.parametrize("threads", [4, 8])
def test_f54_more_threads_than_processors_change_no_bit(tiny, threads):
    one = rows_of_fresh_model(tiny, CALLS[:1], settings=BRIEF)
    assert rows_of_fresh_model(tiny, CALLS[:1], threads=threads, settings=BRIEF) == one


def test_a_reason_may_begin_with_a_brace(tiny):
    """The quote before it opens the reason and must not be taken for the answer's end."""
    loaded = LlamaJudge(tiny, settings=SETTINGS, threads=1)
    grammar = 'root ::= ("true" | "false") ",\\"turn\\":null,\\"reason\\":\\"}}\\"}"'
    ((_, prompt),) = judge_of(loaded).prompts(asked("A", "Hi."))
    raw = loaded.ask(prompt.segments, grammar=grammar, max_tokens=60)
    assert raw.text.endswith(',"turn":null,"reason":"}}"}')
    loaded.close()
