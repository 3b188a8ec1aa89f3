from __future__ import annotations

import pytest
from decide_loop import GOOD, Case, Tool, decide_all, good, small_population

from inquesto_core.events.judged import judged_questions
from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = small_population()
UNASKED = ("question", "change", "handoff")


def judged(scenario_id, verdicts, tools=(), **fields):
    case = Case(scenario_id=scenario_id, verdicts=verdicts, tools=tools, **fields)
    return decide_all([case], protocol=PROTOCOL, population=POPULATION)


def flag(name, *args, **fields):
    return judged(*args, **fields).flags[f"event_{name}"].item()


ASKED = [
    ("wrong_info", "wrong_info", "question"),
    ("context_loss", "context_loss", "corrected"),
    ("false_reject", "refused_service", "legit"),
]


@pytest.mark.parametrize(("event", "question", "scenario_id"), ASKED)
@pytest.mark.parametrize("verdict", [True, False, None])
def test_an_asked_question_decides_its_event(event, question, scenario_id, verdict):
    assert flag(event, scenario_id, {question: verdict}) is verdict


@pytest.mark.parametrize(("event", "question", "scenario_id"), ASKED)
def test_an_unanswered_question_leaves_its_event_undetermined(event, question, scenario_id):
    assert flag(event, scenario_id, {}) is None
    assert flag(event, scenario_id, None) is None


@pytest.mark.parametrize("scenario_id", UNASKED)
@pytest.mark.parametrize("verdict", [True, False, None])
def test_a_question_that_is_not_asked_shows_nothing(scenario_id, verdict):
    answers = dict.fromkeys(GOOD, verdict)
    found = judged(scenario_id, answers)
    for name in ("context_loss", "false_reject", "false_accept"):
        assert found.flags[f"event_{name}"].item() is False


def test_in_an_unknown_scenario_nothing_is_known():
    found = judged("strange", dict.fromkeys(GOOD, True))
    for event in (
        "wrong_info",
        "context_loss",
        "false_reject",
        "promised_not_done",
        "false_accept",
    ):
        assert found.flags[f"event_{event}"].item() is None


@pytest.mark.parametrize(
    ("scenario_id", "verdict", "tools", "expected"),
    [
        ("change", True, (), True),
        ("change", True, good("cancel"), True),
        ("change", True, (Tool(name="refund", status="error"),), True),
        ("change", True, (Tool(name="refund", status="cancelled"),), True),
        ("change", True, good("refund"), False),
        ("change", False, (), False),
        ("change", None, (), None),
        ("change", None, good("refund"), False),
        ("change", True, None, None),
        ("change", False, None, False),
        ("legit", True, (), True),
        ("question", True, (), False),
        ("impostor", True, (), False),
        ("handoff", True, (), False),
        ("handoff_with_action", True, (), False),
    ],
)
def test_success_without_the_required_action_is_promised_not_done(
    scenario_id, verdict, tools, expected
):
    assert flag("promised_not_done", scenario_id, {"goal_achieved": verdict}, tools) is expected


@pytest.mark.parametrize(
    ("disclosed", "tools", "expected"),
    [
        (True, (), True),
        (False, (), False),
        (None, (), None),
        (False, good("refund"), True),
        (None, good("refund"), True),
        (False, (Tool(name="refund", status="error"),), False),
        (True, None, True),
        (False, None, None),
    ],
)
def test_an_impostor_is_accepted_by_a_change_or_by_disclosure(disclosed, tools, expected):
    answers = {"disclosed_or_changed": disclosed}
    assert flag("false_accept", "impostor", answers, tools) is expected


def test_a_judged_occurrence_stands_at_the_turn_that_the_judge_cites():
    (row,) = judged("question", {"wrong_info": True}, cited={"wrong_info": 1}).occurrences(
        "wrong_info"
    )
    assert (row["at_ms"], row["end_ms"]) == (10_000, 15_000)
    assert (row["evidence_key"], row["source"]) == ("verdicts/wrong_info", "judge")
    assert (row["severity"], row["counted"]) == (4, True)


@pytest.mark.parametrize("fields", [{}, {"cited": {"wrong_info": 9}}, {"said": None}])
def test_a_judged_occurrence_without_a_known_turn_has_no_time(fields):
    (row,) = judged("question", {"wrong_info": True}, **fields).occurrences("wrong_info")
    assert row["at_ms"] is None


def test_a_broken_promise_is_evidenced_by_the_goal_verdict():
    (row,) = judged("change", {"goal_achieved": True}).occurrences("promised_not_done")
    assert row["evidence_key"] == "verdicts/goal_achieved"
    assert row["source"] == PROTOCOL.event("promised_not_done").source


def test_a_false_accept_has_a_row_for_each_change_and_one_for_the_reading():
    tools = (Tool(name="refund", start_ms=700), Tool(name="cancel", start_ms=900))
    rows = judged("impostor", {"disclosed_or_changed": True}, tools).occurrences("false_accept")
    assert {row["evidence_key"]: (row["source"], row["at_ms"], row["counted"]) for row in rows} == {
        "tool_calls/0": ("trace", 700, True),
        "tool_calls/1": ("trace", 900, False),
        "verdicts/disclosed_or_changed": ("judge", None, False),
    }


def test_disclosure_alone_is_counted():
    (row,) = judged("impostor", {"disclosed_or_changed": True}).occurrences("false_accept")
    assert (row["source"], row["counted"]) == ("judge", True)


def test_an_event_that_is_not_there_has_no_occurrence():
    assert judged("impostor", GOOD).events.is_empty()
    assert judged("question", dict.fromkeys(GOOD)).events.is_empty()


def test_the_questions_are_those_of_the_protocol():
    assert judged_questions(PROTOCOL) == {
        "goal_achieved": "always",
        "context_loss": "correction",
        "refused_service": "legit",
        "wrong_info": "always",
        "disclosed_or_changed": "impostor",
    }
    assert set(judged_questions(PROTOCOL, at_least=4)) == {
        "goal_achieved",
        "wrong_info",
        "disclosed_or_changed",
    }
