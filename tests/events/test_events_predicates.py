from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest
from decide_loop import GOOD, Case, Tool, decide_all, good, scenario, small_population

from inquesto_core.errors import ProtocolError
from inquesto_core.events.predicates import (
    KINDS,
    PREDICATES,
    check_predicates,
    predicates_hold,
)
from inquesto_core.protocol import load_protocol
from inquesto_core.shipped import schemas_folder

PROTOCOL = load_protocol("inquesto-0.1")


def evaluated(*predicates, cases=None, **fields):
    population = small_population(scenario("own", predicates=predicates))
    found = cases or [Case(scenario_id="own", verdicts=GOOD, **fields)]
    return decide_all(found, protocol=PROTOCOL, population=population)


def value(predicate, **fields):
    return evaluated(predicate, **fields).predicates["value"].item()


def evidence(predicate, **fields):
    return evaluated(predicate, **fields).predicates["evidence"].item()


CALLED = {"kind": "tool_called", "tool": "refund"}
NOT_CALLED = {"kind": "tool_not_called", "tool": "refund"}


@pytest.mark.parametrize(
    ("tools", "called"),
    [
        ((), False),
        (good("cancel"), False),
        (good("refund"), True),
        ((Tool(name="refund", status="unknown"),), True),
        ((Tool(name="refund", status="error"),), False),
        ((Tool(name="refund", status="cancelled"),), False),
        ((Tool(name="refund", status="missing"),), False),
    ],
)
def test_a_tool_is_called_when_it_was_performed(tools, called):
    assert value(CALLED, tools=tools) is called
    assert value(NOT_CALLED, tools=tools) is not called


@pytest.mark.parametrize(
    "predicate",
    [
        CALLED,
        NOT_CALLED,
        {"kind": "tool_count", "tool": "refund", "max": 1},
        {"kind": "tool_order", "before": "verify", "after": "refund"},
        {"kind": "tool_arguments", "tool": "refund", "schema": {}},
    ],
    ids=lambda predicate: predicate["kind"],
)
def test_without_a_trace_a_predicate_on_tools_is_undetermined(predicate):
    assert value(predicate, tools=None) is None
    assert evidence(predicate, tools=None) == "no trace"


@pytest.mark.parametrize(
    ("limits", "holds"),
    [
        ({"min": 1}, [False, True, True, True]),
        ({"max": 2}, [True, True, True, False]),
        ({"min": 1, "max": 2}, [False, True, True, False]),
        ({"min": 2, "max": 2}, [False, False, True, False]),
    ],
)
def test_a_count_lies_within_its_limits_inclusive(limits, holds):
    predicate = {"kind": "tool_count", "tool": "refund", **limits}
    for times, expected in enumerate(holds):
        assert value(predicate, tools=good(*["refund"] * times)) is expected


ORDER = {"kind": "tool_order", "before": "verify", "after": "refund"}


@pytest.mark.parametrize(
    ("tools", "holds"),
    [
        (good("verify", "refund"), True),
        (good("refund", "verify"), False),
        (good("refund", "verify", "refund"), False),
        (good("refund"), False),
        (good("verify"), True),
        ((), True),
        ((Tool(name="verify", result=False), *good("refund")), False),
        ((Tool(name="verify", status="error"), *good("refund")), False),
        ((Tool(name="verify", status="error"), *good("verify", "refund")), True),
        ((Tool(name="refund", status="error"), *good("verify", "refund")), True),
    ],
)
def test_order_asks_for_an_earlier_success_before_every_performed_call(tools, holds):
    assert value(ORDER, tools=tools) is holds


@pytest.mark.parametrize(
    ("tools", "holds"),
    [
        ((Tool(name="verify", result={"match": True, "status": "locked"}), *good("refund")), True),
        ((Tool(name="verify", result={"match": False}), *good("refund")), False),
        (good("verify", "refund"), None),
        ((*good("verify"), Tool(name="verify", result={"match": True}), *good("refund")), True),
        (good("refund", "verify"), False),
        (good("verify"), True),
    ],
)
def test_a_population_says_what_a_success_is_and_without_a_result_nobody_knows(tools, holds):
    asked = {"required": ["match"], "properties": {"match": {"const": True}}}
    own = small_population(scenario("own", predicates=[ORDER]))
    cases = [Case(scenario_id="own", verdicts=GOOD, tools=tools)]
    people = replace(own, tool_success={"verify": asked})
    found = decide_all(cases, protocol=PROTOCOL, population=people)
    assert found.predicates["value"].item() is holds


def amount(tool_id_free_amount, **fields):
    return Tool(name="refund", arguments={"amount": tool_id_free_amount}, **fields)


FIFTY = {"properties": {"amount": {"const": 50}}, "required": ["amount"]}


@pytest.mark.parametrize(
    ("tools", "every", "some"),
    [
        ((), False, False),
        ((amount(50),), True, True),
        ((amount(49),), False, False),
        ((amount(50), amount(49)), False, True),
        ((amount(50), amount(49, status="error")), True, True),
        ((Tool(name="refund"),), False, False),
        ((Tool(name="refund", arguments=None),), None, None),
        ((Tool(name="refund", arguments=None), amount(49)), False, None),
        ((Tool(name="refund", arguments=None), amount(50)), None, True),
    ],
)
def test_arguments_are_held_to_a_schema(tools, every, some):
    predicate = {"kind": "tool_arguments", "tool": "refund", "schema": FIFTY}
    assert value(predicate, tools=tools) is every
    assert value({**predicate, "match": "every"}, tools=tools) is every
    assert value({**predicate, "match": "some"}, tools=tools) is some


def equals(path, wanted):
    return {"kind": "state_equals", "path": path, "equals": wanted}


AFTER = {"card": "9021", "refunds": [{"amount": 49}, {"amount": 5}], "open": True, "n": 1}


@pytest.mark.parametrize(
    ("path", "wanted", "holds"),
    [
        ("card", "9021", True),
        ("card", "3382", False),
        ("refunds[*].amount", [49, 5], True),
        ("refunds[?amount > `10`].amount | [0]", 49, True),
        ("length(refunds)", 2, True),
        ("missing", None, True),
        ("missing", "x", False),
        ("n", 1.0, True),
        ("n", True, False),
        ("open", 1, False),
        ("open", True, True),
        ("refunds[1]", {"amount": 5.0}, True),
        ("refunds[1]", {"amount": 5, "more": 1}, False),
        ("length(n)", 1, False),
    ],
)
def test_the_state_after_the_call_is_read_by_a_path(path, wanted, holds):
    assert value(equals(path, wanted), state=({}, AFTER)) is holds


def test_without_a_state_after_the_call_a_predicate_on_it_is_undetermined():
    assert value(equals("card", "9021")) is None
    assert value(equals("card", "9021"), state=({}, None)) is None
    assert evidence(equals("card", "9021")) == "no state"


@pytest.mark.parametrize(
    ("state", "holds"),
    [
        (({"a": 1, "b": [2]}, {"b": [2], "a": 1}), True),
        (({"a": 1}, {"a": 1.0}), True),
        (({"a": 1}, {"a": True}), False),
        (({"a": 1}, {"a": 1, "b": None}), False),
        (({"a": [1, 2]}, {"a": [2, 1]}), False),
        (({"a": 1}, None), None),
        ((None, {"a": 1}), None),
        (None, None),
    ],
)
def test_an_unchanged_state_is_the_state_before_the_call(state, holds):
    assert value({"kind": "state_unchanged"}, state=state) is holds


@pytest.mark.parametrize(
    ("predicate", "fields", "text"),
    [
        (CALLED, {}, "refund performed 0 times"),
        (CALLED, {"tools": good("a", "refund", "refund")},
         "refund performed 2 times: tool_calls/1, tool_calls/2"),
        (ORDER, {"tools": good("refund")},
         "verify succeeded: never; refund performed: tool_calls/0"),
        (equals("card", "1"), {"state": ({}, AFTER)}, 'card is "9021", expected "1"'),
        ({"kind": "state_unchanged"}, {"state": ({}, {"a": 1})},
         "the state has changed: /a was not there, is 1"),
        ({"kind": "tool_arguments", "tool": "refund", "schema": FIFTY},
         {"tools": (amount(50), amount(49))},
         "refund performed 2 times: tool_calls/0, tool_calls/1; other arguments: tool_calls/1 "
         "(/amount: const)"),
    ],
)  # fmt: skip
def test_the_evidence_says_what_was_found_and_where(predicate, fields, text):
    assert evidence(predicate, **fields) == text


def test_long_values_are_cut_in_the_evidence():
    text = evidence(equals("long", "x"), state=({}, {"long": "y" * 1000}))
    assert len(text) < 200
    assert "…" in text


@pytest.mark.parametrize(
    ("first", "second", "goal"),
    [
        (CALLED, CALLED, True),
        (CALLED, NOT_CALLED, False),
        (CALLED, equals("a", 1), None),
        (NOT_CALLED, equals("a", 1), False),
    ],
)
def test_all_predicates_of_a_scenario_must_hold_for_its_goal(first, second, goal):
    row = evaluated(first, second, tools=good("lookup", "verify", "refund")).call()
    assert row["goal"] is goal
    assert row["goal_judge_free"] is goal
    assert row["judge_free_vacuous"] is False


def test_an_undetermined_predicate_leaves_the_call_open_even_beside_a_false_one():
    row = evaluated(NOT_CALLED, equals("a", 1), tools=good("lookup", "verify", "refund")).call()
    assert row["state"] == "not_evaluated"
    assert row["reasons"] == ["predicate_undetermined:state_equals"]
    assert row["known_fail"] is True


def test_only_calls_of_a_scenario_with_predicates_have_rows():
    cases = [
        Case(call_id="a", scenario_id="own", tools=good("refund")),
        Case(call_id="b", scenario_id="question"),
        Case(call_id="c", scenario_id="strange"),
        Case(call_id="d", scenario_id="own", group="far"),
    ]
    table = evaluated(CALLED, NOT_CALLED, cases=cases).predicates
    assert dict(table.schema) == PREDICATES
    assert table.select("call_id", "index", "value").rows() == [
        ("a", 0, True),
        ("a", 1, False),
        ("d", 0, False),
        ("d", 1, True),
    ]
    hold = predicates_hold(table).sort("call_id").select("call_id", "hold", "hold_judge_free")
    assert hold.rows() == [("a", False, False), ("d", False, False)]


def test_the_same_predicate_twice_is_evaluated_for_both_places():
    table = evaluated(CALLED, CALLED, tools=good("refund")).predicates
    assert table["index"].to_list() == [0, 1]
    assert table["value"].all()


def test_each_distinct_document_is_evaluated_once(monkeypatch):
    import jmespath.parser

    seen = []
    search = jmespath.parser.ParsedResult.search

    def counted(self, document, *rest):
        seen.append(document)
        return search(self, document, *rest)

    monkeypatch.setattr(jmespath.parser.ParsedResult, "search", counted)
    cases = [
        Case(call_id=f"{at}", scenario_id="own", trial=at, state=({}, {"card": at % 2}))
        for at in range(20)
    ]
    table = evaluated(equals("card", 1), cases=cases).predicates
    assert table["value"].sum() == 10
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("predicate", "found"),
    [
        ({"kind": "tool_count", "tool": "a", "min": 2, "max": 1}, "2 to 1"),
        (equals("a[", 1), "no JMESPath"),
        ({"kind": "tool_arguments", "tool": "a", "schema": {"type": "thing"}},
         "not a JSON Schema"),
        ({"kind": "tool_arguments", "tool": "a", "schema": {"pattern": "("}},
         "not a JSON Schema"),
        ({"kind": "tool_arguments", "tool": "a", "schema": {"$ref": "#"}}, "a reference"),
        ({"kind": "tool_arguments", "tool": "a",
          "schema": {"allOf": [{"$dynamicRef": "http://x.invalid/"}]}}, "a reference"),
    ],
)  # fmt: skip
def test_a_predicate_that_contradicts_itself_is_refused(predicate, found):
    population = small_population(scenario("own", predicates=(CALLED, predicate)))
    with pytest.raises(ProtocolError, match=r"/predicates/1.*predicate_invalid") as error:
        check_predicates(population)
    assert found in error.value.problem.found


def test_a_count_of_exactly_one_number_is_no_contradiction():
    limits = {"kind": "tool_count", "tool": "a", "min": 2, "max": 2}
    check_predicates(small_population(scenario("own", predicates=(limits,))))


def test_the_kinds_that_are_evaluated_are_those_of_the_schema():
    document = json.loads((schemas_folder() / "population.schema.json").read_bytes())
    kinds = document["$defs"]["predicate"]["properties"]["kind"]["enum"]
    assert list(KINDS) == kinds


def test_a_population_without_predicates_has_none_to_evaluate():
    found = decide_all([Case()], protocol=PROTOCOL, population=small_population())
    assert found.predicates.equals(pl.DataFrame(schema=PREDICATES))
