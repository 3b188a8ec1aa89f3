"""The rubric is data: every question that the protocol asks has its text."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from judged import PROTOCOL

from inquesto_core.errors import ProtocolError
from inquesto_core.events.judged import judged_questions
from inquesto_core.instruments.rubric import FORMS, load_rubric
from inquesto_core.protocol import load_protocol

RUBRIC = load_rubric(PROTOCOL)


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(PROTOCOL.folder, tmp_path / "law")
    return tmp_path / "law"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("question", sorted(judged_questions(PROTOCOL)))
def test_every_question_of_the_protocol_has_a_text_with_both_examples(question, form):
    text = RUBRIC.question_text(question, form)
    assert text.startswith("Question: ")
    for part in ("\nTrue: ", "\nFalse: ", "\nExample of true: ", "\nExample of false: "):
        assert part in text


def test_only_the_goal_question_differs_by_what_the_scenario_asks_for():
    for question in judged_questions(PROTOCOL):
        texts = {RUBRIC.question_text(question, form) for form in FORMS}
        assert len(texts) == (3 if question == "goal_achieved" else 1)


def test_the_note_of_who_calls_does_not_say_what_the_agent_found_out():
    assert RUBRIC.identity_note(None) == ""
    assert "only the transcript can show" in RUBRIC.identity_note("impostor")
    assert "verif" not in RUBRIC.identity_note("legit") + RUBRIC.identity_note("impostor")


def test_a_word_of_the_rubric_changes_its_digest_and_the_protocols(folder):
    (folder / "rubric" / "wrong_info.txt").write_text("Question: other", encoding="utf-8")
    changed = load_protocol(folder)
    assert changed.digest != PROTOCOL.digest
    assert load_rubric(changed).sha256 != RUBRIC.sha256


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("segments.json", '{"shared": ""}', "other keys"),
        ("segments.json", None, "has no segments.json"),
    ],
    ids=["keys", "absent"],
)
def test_a_rubric_that_cannot_make_a_prompt_is_refused(folder, file, text, found):
    path = folder / "rubric" / file
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ProtocolError, match=f"{found}.*rubric_incomplete"):
        load_rubric(load_protocol(folder))


def with_segments(folder, **more):
    path = folder / "rubric" / "segments.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **more}), encoding="utf-8")
    return load_protocol(folder)


@pytest.mark.parametrize(
    "markers",
    [["tool"], {"laughter": 1}, {"silence": -1}, {"silence": 2.5}, {"tool": True}, None],
    ids=str,
)
def test_markers_that_are_none_are_refused(folder, markers):
    with pytest.raises(ProtocolError, match=r"other markers.*rubric_incomplete"):
        load_rubric(with_segments(folder, markers=markers))


def test_a_rubric_may_ask_for_markers_and_ours_does_not(folder):
    asked = load_rubric(with_segments(folder, markers={"overlap": 500, "tool": 0}))
    assert asked.markers == {"overlap": 500, "tool": 0}
    assert asked.sha256 != RUBRIC.sha256
    assert RUBRIC.markers == {}


def test_a_question_without_a_text_is_refused():
    with pytest.raises(ProtocolError, match=r"no text mood\.txt.*rubric_incomplete"):
        RUBRIC.question_text("mood", "solvable")


def test_a_protocol_without_a_rubric_has_no_judge():
    pin = replace(PROTOCOL.instruments.judge, rubric=None)
    law = replace(PROTOCOL, instruments=replace(PROTOCOL.instruments, judge=pin))
    with pytest.raises(ProtocolError, match="rubric_incomplete"):
        load_rubric(law)
