"""The model through llama.cpp: the same bits in any order, from a cold or a warm cache."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judged import PROTOCOL, SETTINGS, Store, asked
from tiny_gguf import write_tiny_gemma2

from inquesto_core.instruments.judge import Judge, JudgeModel, judge_calls
from inquesto_core.instruments.judge_llama import LlamaJudge
from inquesto_core.instruments.rubric import load_rubric

pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: extra `judge`")
gguf = pytest.importorskip("gguf", reason="gguf is not installed: it writes the tiny model")

RUBRIC = load_rubric(PROTOCOL)
TINY = replace(SETTINGS, batch_tokens=64)
QUESTIONS = ("goal_achieved", "wrong_info")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_tiny_gemma2(tmp_path_factory.mktemp("gguf") / "tiny.gguf", gguf)


@pytest.fixture(scope="module")
def backend(tiny):
    loaded = LlamaJudge(tiny, settings=TINY, threads=1)
    yield loaded
    loaded.close()


def judge(backend_, settings=TINY):
    model = JudgeModel(backend=backend_, name="tiny", sha256="0" * 64)
    facts = {"plan": "Pro"}
    return Judge(model=model, rubric=RUBRIC, facts=facts, settings=settings, store=Store())


def rows_of(calls, backend_, settings=TINY):
    rows = judge_calls(calls, judge(backend_, settings), progress=lambda done, total: None)
    return {(row["call_id"], row["question"]): row for row in rows}


CALLS = [
    asked("A", "Hello.", "Refund me.", "I have refunded it.", questions=QUESTIONS),
    asked("B", "Hi.", "Cancel my plan.", questions=QUESTIONS),
    asked("C", "Hello.", "Refund me.", "No.", questions=QUESTIONS, form="handoff"),
]


def test_every_answer_is_legal_or_undetermined_and_keeps_its_probabilities(backend):
    for row in rows_of(CALLS, backend).values():
        assert row["raw"].startswith('{"verdict":')
        assert 0 < row["p_true"] < 1
        assert 0 < row["p_false"] < 1
        if row["verdict"] is None:
            assert row["undetermined"]
        else:
            assert row["verdict"] == (row["p_true"] > row["p_false"])
            assert row["turn"] is None or 0 <= row["turn"] < 3


def test_shared_segments_are_evaluated_once(tiny):
    loaded = LlamaJudge(tiny, settings=TINY, threads=1)
    rows = rows_of(CALLS[:1], loaded)
    prompts = [prompt for _, prompt in judge(loaded).prompts(CALLS[0])]
    once = len(prompts[0].shared) + len(prompts[0].call) + len(prompts[0].lead)
    assert prompts[0].lead
    own = sum(len(prompt.question) for prompt in prompts)
    written = sum(len(row["raw"]) for row in rows.values())
    assert once + own < loaded.evaluated_tokens <= once + own + written
    loaded.close()


def test_every_prompt_has_one_begin_of_text_and_our_four_control_tokens_only(backend):
    chat = backend.chat
    for call in CALLS:
        for _, prompt in judge(backend).prompts(call):
            tokens = [token for segment in prompt.segments for token in segment]
            found = [token for token in tokens if token in chat.control]
            turns = [chat.turn_start, chat.turn_end, chat.turn_start]
            assert found == [*chat.bos, *turns]


def test_a_turn_that_is_cited_is_one_of_many(backend):
    call = asked("A", *["word"] * 123)
    (row,) = rows_of([call], backend).values()
    assert row["turn"] is None or 0 <= row["turn"] < 123
