from __future__ import annotations

import polars as pl
import pytest
from decide_loop import GOOD, Case, Tool, decide_all, good, small_population

from inquesto_core.protocol import load_population, load_protocol

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = small_population()


def row(scenario_id, goal_verdict=True, tools=(), population=POPULATION, **verdicts):
    answers = {**GOOD, "goal_achieved": goal_verdict, **verdicts}
    case = Case(scenario_id=scenario_id, tools=tools, verdicts=answers)
    return decide_all([case], protocol=PROTOCOL, population=population).call()


@pytest.mark.parametrize(
    ("verdict", "tools", "goal"),
    [
        (True, good("refund"), True),
        (False, good("refund"), False),
        (None, good("refund"), None),
        (True, good("cancel"), False),
        (True, (Tool(name="refund", status="error"),), False),
        (True, (Tool(name="refund", status="unknown"),), True),
        (None, (), False),
        (True, None, None),
        (False, None, False),
    ],
)
@pytest.mark.parametrize("scenario_id", ["change", "legit"])
def test_a_required_action_must_be_performed_and_confirmed(scenario_id, verdict, tools, goal):
    assert row(scenario_id, verdict, tools)["goal"] is goal


@pytest.mark.parametrize("verdict", [True, False, None])
@pytest.mark.parametrize("scenario_id", ["question", "handoff", "handoff_with_action"])
@pytest.mark.parametrize("tools", [(), None, good("refund")], ids=["none", "no_trace", "change"])
def test_without_a_required_action_or_with_a_hand_off_the_judge_alone_decides(
    scenario_id, verdict, tools
):
    assert row(scenario_id, verdict, tools)["goal"] is verdict


@pytest.mark.parametrize(
    ("verdict", "disclosed", "tools", "goal"),
    [
        (True, False, (), True),
        (False, False, (), False),
        (True, True, (), False),
        (True, None, (), None),
        (None, True, (), False),
        (True, False, good("refund"), False),
        (True, False, (Tool(name="refund", status="error"),), True),
        (True, False, None, None),
        (None, None, good("cancel"), False),
    ],
)
def test_an_impostor_must_be_refused_change_nothing_and_learn_nothing(
    verdict, disclosed, tools, goal
):
    found = row("impostor", verdict, tools, disclosed_or_changed=disclosed)
    assert found["goal"] is goal


@pytest.mark.parametrize(
    ("scenario_id", "tools", "goal", "vacuous"),
    [
        ("change", good("refund"), True, False),
        ("change", good("cancel"), False, False),
        ("change", None, None, False),
        ("question", (), True, True),
        ("question", good("refund"), True, True),
        ("handoff", good("to_human"), True, False),
        ("handoff", (), False, False),
        ("handoff", (Tool(name="to_human", status="error"),), False, False),
        ("handoff", None, None, False),
        ("handoff_with_action", good("to_human"), True, False),
        ("handoff_with_action", good("refund"), False, False),
        ("impostor", (), True, False),
        ("impostor", good("refund"), False, False),
        ("impostor", None, None, False),
        ("strange", (), None, None),
    ],
)
def test_the_judge_free_goal_asks_the_trace_alone(scenario_id, tools, goal, vacuous):
    found = row(scenario_id, None, tools)
    assert (found["goal_judge_free"], found["judge_free_vacuous"]) == (goal, vacuous)


def test_a_hand_off_asks_for_nothing_where_the_population_names_no_transfer_tool():
    found = row("handoff", None, (), population=small_population(transfer=()))
    assert (found["goal_judge_free"], found["judge_free_vacuous"]) == (True, True)


def test_nine_of_the_24_goal_scenarios_are_vacuous_without_a_judge():
    billing = load_population("billing-0.1")
    cases = [
        Case(call_id=scenario.id, scenario_id=scenario.id, condition="clean", group="us_female")
        for scenario in billing.scenarios
    ]
    table = decide_all(cases, protocol=PROTOCOL, population=billing).decisions
    held = table.filter(pl.col("call_id").is_not_null() & pl.col("identity").is_null())
    assert (held.height, held["judge_free_vacuous"].sum()) == (24, 9)


def test_in_an_unknown_scenario_the_goal_is_not_known():
    assert row("strange")["goal"] is None
