"""Each question is asked alone and once, and an answer that is none is undetermined."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from judged import PROTOCOL, SETTINGS, Backend, Store, asked

from inquesto_core.evidence import TABLES
from inquesto_core.instruments.judge import Judge, JudgeModel, judge_calls
from inquesto_core.instruments.judge_prompt import question_segment
from inquesto_core.instruments.rubric import load_rubric

RUBRIC = load_rubric(PROTOCOL)
FACTS = {"plan": "Pro"}


def judge(backend=None, store=None, **changes):
    model = JudgeModel(backend=backend or Backend(), name="m", sha256="0" * 64)
    given = {"model": model, "rubric": RUBRIC, "facts": FACTS, "settings": SETTINGS}
    return Judge(**{**given, "store": store or Store(), **changes})


def rows_of(calls, judge_):
    return judge_calls(calls, judge_, progress=lambda done, total: None)


A = asked("A", "Hello.", "Refund me.", "Done.", questions=("goal_achieved", "wrong_info"))
B = asked("B", "Hi.", "Cancel it.", questions=("goal_achieved",))


def test_an_answer_is_a_row_of_the_evidence_with_all_that_it_rests_on():
    backend = Backend('true,"turn":2,"reason":"refunded"}')
    first, second = rows_of([A], judge(backend))
    assert set(first) <= set(TABLES["verdicts"])
    assert (first["verdict"], first["turn"], first["reason"]) == (True, 2, "refunded")
    assert (first["p_true"], first["p_false"]) == (0.9, 0.1)
    assert first["raw"] == '{"verdict":true,"turn":2,"reason":"refunded"}'
    assert (first["model"], first["source"]) == ("m", "judge")
    assert first["rubric_sha256"] == RUBRIC.sha256
    assert first["answer_key"] != second["answer_key"]


def test_segments_are_shared_between_a_calls_questions_and_between_calls():
    backend = Backend()
    rows_of([A, B], judge(backend))
    first, second, third = backend.asked
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]
    assert first[0] == third[0]


def test_calls_of_one_goal_share_what_they_begin_with_and_others_the_first_words_alone():
    def begins_alike(one, other):
        return sum(a == b for a, b in zip(one[:-2], other[:-2], strict=False))

    same = replace(B, goal=A.goal)
    other = replace(B, goal=f"{A.goal[:6]}, but not the rest")
    backend = Backend()
    rows_of([replace(A, questions=("goal_achieved",)), same, other], judge(backend))
    first, second, third = backend.asked
    goal = len(backend.tokenise(f" {A.goal}"))
    assert sum(map(len, first[1 : begins_alike(first, second)])) >= goal - 8
    assert begins_alike(first, third) == 3  # S0, and two pieces that end within seven characters


def test_a_claim_that_begins_like_no_question_shares_the_call_alone():
    claims = (("told", "Question: Did the agent tell the day?"), ("kind", "Is the agent kind?"))
    backend = Backend()
    rows_of([replace(A, claims=claims)], judge(backend))
    *_, question, alike, other = backend.asked
    assert alike[:-1] == question[:-1]
    assert other[:-1] == question[:-2]
    whole = question_segment(RUBRIC, claims[1][1], backend.tokenise, backend.chat)
    assert other[-1] == whole


def test_nothing_is_asked_twice():
    backend, store = Backend(), Store()
    once = rows_of([A, B], judge(backend, store))
    again = rows_of([B, A], judge(backend, store))
    assert len(backend.asked) == 3
    assert sorted(once, key=str) == sorted(again, key=str)


@pytest.mark.parametrize(
    "change",
    [
        {"rubric": replace(RUBRIC, sha256="1" * 64)},
        {"settings": replace(SETTINGS, batch_tokens=256)},
        {"facts": {"plan": "Basic"}},
        {"model": JudgeModel(backend=Backend(), name="m", sha256="1" * 64)},
    ],
    ids=["rubric", "parameters", "facts", "model"],
)
def test_an_answer_counts_only_for_what_gave_it(change):
    store = Store()
    rows_of([B], judge(store=store))
    rows_of([B], judge(store=store, **change))
    assert len(store.kept) == 2


def test_another_build_is_asked_again():
    store, other = Store(), Backend()
    other.build = "another build"
    rows_of([B], judge(store=store))
    rows_of([B], judge(other, store))
    assert len(other.asked) == 1


@pytest.mark.parametrize(
    "text", ["", 'true,"turn":1,"reason":"cut', 'true,"turn":9,"reason":"x"}', "true"]
)
def test_an_answer_that_is_not_one_legal_object_is_undetermined_and_kept_whole(text):
    (row,) = rows_of([B], judge(Backend(text)))
    assert (row["verdict"], row["undetermined"]) == (None, "judge_unparseable")
    assert row["raw"] == '{"verdict":' + text


@pytest.mark.parametrize("p", [(0.5, 0.5), (math.nan, math.nan)], ids=["tie", "not-finite"])
def test_a_verdict_that_is_no_likelier_than_its_opposite_is_undetermined(p):
    (row,) = rows_of([B], judge(Backend(p=p)))
    assert (row["verdict"], row["undetermined"]) == (None, "undecided")


def test_f51_a_bad_answer_among_ten_leaves_nine_and_itself_undetermined():
    backend = Backend()
    calls = [asked(f"{at}", f"Call {at}.") for at in range(10)]
    whole = backend.ask

    def stumble(segments, **more):
        said = whole(segments, **more)
        return replace(said, text=" and " + said.text) if len(backend.asked) == 4 else said

    backend.ask = stumble
    rows = rows_of(calls, judge(backend))
    assert [row["call_id"] for row in rows if row["verdict"] is None] == ["3"]
    assert sum(row["verdict"] is True for row in rows) == 9


def test_a_call_without_a_transcript_is_not_asked_about():
    backend = Backend()
    (row,) = rows_of([replace(B, turns=None)], judge(backend))
    assert (row["verdict"], row["undetermined"], backend.asked) == (None, "no_transcript", [])


def test_a_prompt_is_asked_up_to_the_last_token_that_leaves_room_for_an_answer():
    backend = Backend()
    ((_, prompt),) = judge(backend).prompts(B)
    backend.context_tokens = prompt.length + SETTINGS.max_answer_tokens
    assert rows_of([B], judge(backend))[0]["verdict"] is True
    backend.context_tokens -= 1
    assert rows_of([B], judge(backend))[0]["undetermined"] == "too_long"


def test_f55_the_pin_has_no_chance_in_it():
    assert not {"seed", "temperature", "top_k", "top_p"} & set(SETTINGS.values())


def test_progress_counts_calls():
    told = []
    judge_calls([A, B], judge(), progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize("texts", [(), ("", "  "), ("\n",)], ids=["no turn", "blank", "a line end"])
def test_a_transcript_without_a_word_is_not_judged(texts):
    backend = Backend()
    (row,) = rows_of([asked("A", *texts)], judge(backend))
    assert (row["verdict"], row["undetermined"]) == (None, "no_transcript")
    assert backend.asked == []
