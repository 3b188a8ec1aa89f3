from __future__ import annotations

import pytest
from predicate_calls import outcome, tool

KEYED = {"kind": "exactly_once", "tool": "refund", "key": "idempotency_key"}
PLAIN = {"kind": "exactly_once", "tool": "refund"}


def refund(key=None, amount=49, **more):
    arguments = {"amount": amount} | ({} if key is None else {"idempotency_key": key})
    return tool("refund", arguments=arguments, **more)


@pytest.mark.parametrize(
    ("tools", "by_arguments", "by_key"),
    [
        ([], False, False),
        ([refund()], True, True),
        ([refund(), refund()], False, False),
        ([refund(), refund(amount=50)], True, True),
        ([refund(), refund(amount=49.0)], False, False),
        ([refund("k"), refund("k", amount=50)], True, False),
        ([refund("k"), refund("l")], True, True),
        ([refund("k"), refund()], True, True),
        ([refund("k"), refund("k", status="error")], True, True),
        ([refund(), tool("lookup"), tool("lookup")], True, True),
        ([tool("refund", arguments=None)], True, True),
        ([tool("refund", arguments=None), refund()], None, None),
        ([tool("refund", arguments=None), refund("k"), refund("k")], False, False),
    ],
)
def test_nothing_is_done_twice(tools, by_arguments, by_key):
    assert outcome(PLAIN, tools=tools)[0] is by_arguments
    assert outcome(KEYED, tools=tools)[0] is by_key


def test_the_evidence_names_what_was_done_again_with_its_ids():
    tools = [refund(id="x1"), tool("lookup"), refund(id="x2")]
    value, evidence = outcome(PLAIN, tools=tools)
    assert value is False
    assert evidence.endswith("the same again: tool_calls/0 (x1), tool_calls/2 (x2)")


def test_a_key_that_cannot_be_read_is_an_error():
    predicate = {**PLAIN, "key": "length(amount)"}
    value, evidence = outcome(predicate, tools=[refund()])
    assert value is False
    assert "cannot be read" in evidence


ANSWER = {
    "kind": "tool_results",
    "tool": "refund",
    "schema": {"required": ["done"], "properties": {"done": {"const": True}}},
}


@pytest.mark.parametrize(
    ("results", "every", "some"),
    [
        ([], False, False),
        ([{"done": True}], True, True),
        (['{"done": true}'], True, True),
        (['"{\\"done\\": true}"'], True, True),
        ([{"done": False}], False, False),
        ([{"done": True}, {"done": False}], False, True),
        ([{"done": True}, None], None, True),
        ([None], None, None),
        ([{"done": False}, None], False, None),
    ],
)
def test_results_are_held_to_a_schema(results, every, some):
    tools = [tool("refund", result=result) for result in results]
    assert outcome(ANSWER, tools=tools)[0] is every
    assert outcome({**ANSWER, "match": "some"}, tools=tools)[0] is some


def test_what_is_wrong_with_a_result_is_named_by_path_and_keyword():
    tools = [tool("refund", result={"done": 1}, id="r1")]
    assert outcome(ANSWER, tools=tools)[1] == (
        "refund performed 1 times: tool_calls/0 (r1); "
        "other results: tool_calls/0 (r1) (/done: const)"
    )


@pytest.mark.parametrize("kind", ["tool_called", "tool_not_called"])
def test_the_users_own_tool_calls_are_never_the_agents(kind):
    theirs = [tool("restart_phone")]
    is_called = kind == "tool_called"
    predicate = {"kind": kind, "tool": "restart_phone"}
    assert outcome(predicate, theirs=theirs)[0] is not is_called
    assert outcome({**predicate, "side": "agent"}, theirs=theirs)[0] is not is_called
    assert outcome({**predicate, "side": "user"}, theirs=theirs)[0] is is_called
    assert outcome({**predicate, "side": "user"}, tools=theirs)[0] is not is_called


@pytest.mark.parametrize("kind", ["tool_called", "tool_not_called"])
def test_what_the_caller_did_is_undetermined_where_the_trace_does_not_tell_it(kind):
    asked = {"kind": kind, "tool": "restart_phone", "side": "user"}
    told = "what the caller did with tools is not told"
    assert outcome(asked, theirs=None) == (None, told)


def test_evidence_of_the_callers_tools_names_the_callers_table():
    asked = {"kind": "tool_called", "tool": "restart_phone", "side": "user"}
    theirs = [tool("restart_phone", id="u1")]
    told = "restart_phone performed by the caller 1 times: caller_calls/0 (u1)"
    assert outcome(asked, theirs=theirs) == (True, told)


def test_without_a_trace_what_the_user_did_is_undetermined():
    predicate = {"kind": "tool_called", "tool": "restart_phone", "side": "user"}
    assert outcome(predicate, tools=None) == (None, "no trace")
