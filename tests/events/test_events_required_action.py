"""Whether an action with other arguments than the scenario states counts as performed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from decide_loop import GOOD, Case, Tool, decide_all, good, scenario, small_population

from inquesto_core.protocol import load_protocol

LENIENT = load_protocol("inquesto-0.1")
STRICT = replace(LENIENT, required_arguments_must_match=True)
FIFTY = {"properties": {"amount": {"const": 50}}, "required": ["amount"]}
STATED = {"kind": "tool_arguments", "tool": "refund", "schema": FIFTY}


def refund(amount, status="ok"):
    arguments = None if amount is None else {"amount": amount}
    return Tool(name="refund", arguments=arguments, status=status)


def decided(*tools, protocol, predicates=(STATED,), **fields):
    population = small_population(
        scenario("own", required_action="refund", predicates=predicates, **fields)
    )
    trace = (*good("lookup", "verify"), *tools)
    case = Case(scenario_id="own", tools=trace, verdicts=GOOD)
    return decide_all([case], protocol=protocol, population=population)


def performed(*tools, **about):
    return decided(*tools, **about).facts["required_performed"].item()


@pytest.mark.parametrize(
    ("tools", "by_name", "by_arguments"),
    [
        ((), False, False),
        ((refund(50),), True, True),
        ((refund(49),), True, False),
        ((refund(49), refund(50)), True, True),
        ((refund(50), refund(49)), True, True),
        ((refund(49), refund(50, status="error")), True, False),
        ((refund(None),), True, None),
        ((refund(None), refund(50)), True, True),
        ((Tool(name="cancel", arguments={"amount": 50}),), False, False),
    ],
)
def test_the_protocol_says_whether_the_stated_arguments_are_part_of_the_action(
    tools, by_name, by_arguments
):
    assert performed(*tools, protocol=LENIENT) is by_name
    assert performed(*tools, protocol=STRICT) is by_arguments


def test_0_1_counts_an_action_by_its_name():
    assert LENIENT.required_arguments_must_match is False


@pytest.mark.parametrize("match", ["every", "some"])
def test_a_wrong_attempt_beside_the_right_one_is_no_omission(match):
    predicates = ({**STATED, "match": match},)
    assert performed(refund(49), refund(50), protocol=STRICT, predicates=predicates) is True


def test_every_stated_schema_must_be_met():
    twenty = {**STATED, "schema": {"properties": {"amount": {"const": 20}}}, "match": "some"}
    predicates = ({**STATED, "match": "some"}, twenty)
    assert performed(refund(50), protocol=STRICT, predicates=predicates) is False
    assert performed(refund(50), refund(20), protocol=STRICT, predicates=predicates) is True


@pytest.mark.parametrize(
    "predicates",
    [(), ({**STATED, "tool": "lookup"},), ({"kind": "tool_called", "tool": "refund"},)],
    ids=["none", "of_another_tool", "of_another_kind"],
)
def test_where_no_arguments_are_stated_the_name_is_enough(predicates):
    assert performed(refund(49), protocol=STRICT, predicates=predicates) is True


def test_an_action_with_other_arguments_was_promised_and_not_done():
    lenient, strict = (
        decided(refund(49), protocol=protocol).call() for protocol in (LENIENT, STRICT)
    )
    assert (lenient["event_promised_not_done"], strict["event_promised_not_done"]) == (False, True)
    # The predicate is a condition of the goal either way.
    assert (lenient["goal"], strict["goal"]) == (False, False)
    assert strict["worst_severity"] == 4


def test_arguments_that_cannot_be_read_leave_the_call_open():
    row = decided(refund(None), protocol=STRICT).call()
    assert (row["state"], row["event_promised_not_done"]) == ("not_evaluated", None)
    assert row["reasons"] == ["predicate_undetermined:tool_arguments"]


def test_without_a_trace_nothing_is_known_of_the_action():
    population = small_population(scenario("own", required_action="refund", predicates=(STATED,)))
    case = Case(scenario_id="own", tools=None, verdicts=GOOD)
    found = decide_all([case], protocol=STRICT, population=population)
    assert found.facts["required_performed"].item() is None
