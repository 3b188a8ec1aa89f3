from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from decide_loop import Case, Tool, decide_all, good, small_population, with_parameter

from inquesto_core.events.tool_result import (
    DENIAL_KEYS,
    ERROR_KEYS,
    NEGATIVE_TEXTS,
    NO_ERROR,
    OUTCOME_KEYS,
    WRAPPER_KEYS,
    negative_result,
)
from inquesto_core.events.trace import FACTS, trace_facts
from inquesto_core.evidence.tables import TABLES, empty_table
from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")
STRICT = with_parameter(PROTOCOL, "unverified_action", verification_must_succeed=True)
POPULATION = small_population()


def shown(*tools, protocol=PROTOCOL, **fields):
    return decide_all([Case(tools=tools, **fields)], protocol=protocol, population=POPULATION)


def unverified(*tools, protocol=PROTOCOL):
    return shown(*tools, protocol=protocol).flags["event_unverified_action"].item()


@pytest.mark.parametrize(
    ("names", "fires"),
    [
        (("lookup", "verify", "refund"), False),
        (("verify", "lookup", "refund"), False),
        (("lookup_by_mail", "verify_pin", "cancel"), False),
        (("lookup", "refund", "verify"), True),
        (("verify", "refund", "lookup"), True),
        (("refund",), True),
        (("refund", "lookup", "verify", "cancel"), True),
        (("lookup", "verify", "refund", "cancel"), False),
        (("lookup", "verify"), False),
        (("chat",), False),
        ((), False),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, tuple) else None,
)
def test_a_change_needs_a_lookup_and_a_verification_called_before_it(names, fires):
    assert unverified(*good(*names)) is fires


@pytest.mark.parametrize("status", ["error", "cancelled", "missing"])
def test_a_change_that_was_not_performed_is_no_change(status):
    found = shown(Tool(name="refund", status=status))
    assert found.flags["event_unverified_action"].item() is False
    facts = found.facts.row(0, named=True)
    assert (facts["change_called"], facts["change_performed"]) == (True, False)
    assert (facts["required_performed"], facts["first_change"]) == (False, None)


@pytest.mark.parametrize("status", ["ok", "unknown"])
def test_a_change_of_a_performed_status_is_one(status):
    found = shown(Tool(name="refund", status=status))
    assert found.flags["event_unverified_action"].item() is True
    assert found.facts.row(0, named=True)["required_performed"] is True


@pytest.mark.parametrize("status", ["error", "cancelled", "missing", "unknown", "ok"])
def test_a_verification_counts_as_called_whatever_became_of_it(status):
    assert unverified(*good("lookup"), Tool(name="verify", status=status), *good("refund")) is False


@pytest.mark.parametrize(
    ("verification", "fires"),
    [
        (Tool(name="verify"), False),
        (Tool(name="verify", status="unknown"), False),
        (Tool(name="verify", result={"verified": True}), False),
        (Tool(name="verify", result={"verified": False}), True),
        (Tool(name="verify", result='{"match": false}'), True),
        (Tool(name="verify", result="Not verified"), True),
        (Tool(name="verify", status="error"), True),
        (Tool(name="verify", status="cancelled"), True),
        (Tool(name="verify", status="missing"), True),
    ],
)
def test_where_it_must_succeed_a_failed_verification_does_not_count(verification, fires):
    tools = (*good("lookup"), verification, *good("refund"))
    assert unverified(*tools, protocol=STRICT) is fires
    assert unverified(*tools) is False
    again = (*tools[:-1], *good("verify_pin", "refund"))
    assert unverified(*again, protocol=STRICT) is False


@pytest.mark.parametrize(
    ("result", "denies"),
    [
        (False, True),
        ({"verified": False}, True),
        ({"success": False}, True),
        ({"match": False, "score": 0.2}, True),
        ({"ok": False}, True),
        (" NO MATCH\n", True),
        ("false", True),
        ('{"ok": false}', True),
        ('"{\\"ok\\": false}"', True),
        (True, False),
        (None, False),
        (0, False),
        ([], False),
        ({"verified": None}, False),
        ({"verified": "false"}, True),
        ({"status": "denied"}, True),
        ({"status": "NOT_FOUND"}, True),
        ({"result": "failed"}, True),
        ({"match": "no"}, True),
        ({"authenticated": False}, True),
        ({"error": "locked"}, True),
        ({"errors": [{"code": 3}]}, True),
        ({"data": {"match": False}}, True),
        ({"result": {"data": {"Status": "declined"}}}, True),
        ({"response": '{"ok": false}'}, True),
        ({"state": "denied"}, True),
        ({"payload": {"match": False}}, True),
        ({"status": "active"}, False),
        ({"error_code": "00", "error": "N/A", "failure": "no"}, False),
        ({"status": 200, "error": None, "errors": []}, False),
        ({"error": "none"}, False),
        ({"dispute": False, "fee_refunded": False}, False),
        ({"account": {"verified": False}}, False),
        ({"detail": {"verified": False}}, False),
        ({"is_verified": False}, True),
        ({"isVerified": False}, True),
        ({"isError": True, "content": []}, True),
        ({"is_error": False}, False),
        ({"denied": True}, True),
        ("denied!", True),
        ({"data": {"data": {"data": {"match": False}}}}, True),
        ({"data": {"data": {"data": {"data": {"match": False}}}}}, False),
        ({"locked": True}, False),
        ({"errorMessage": "no funds"}, True),
        ("Not verified.", True),
        ({"status": "Card declined"}, True),
        ([{"status": "denied"}], True),
        ([{"status": "denied"}, {"status": "active"}], False),
        ({"status": "cancelled"}, False),
        ("verified", False),
        ("", False),
        ("{", False),
        ("\ud800", False),
    ],
)
def test_a_negative_result_is_one_of_the_documented_forms(result, denies):
    assert negative_result(result) is denies


def test_the_page_of_predicates_lists_every_word_that_denies(project):
    page = (project / "docs/predicates.md").read_text(encoding="utf-8")
    told = " ".join(page[page.index("a result **denies**") :].split("###")[0].split())
    listed = (NEGATIVE_TEXTS, OUTCOME_KEYS, DENIAL_KEYS, ERROR_KEYS, NO_ERROR, WRAPPER_KEYS)
    for words in listed:
        assert ", ".join(f"`{word}`" for word in sorted(words) if word) in told


def test_without_a_trace_nothing_is_known_of_it():
    found = decide_all([Case(tools=None)], protocol=PROTOCOL, population=POPULATION)
    facts = found.facts.row(0, named=True)
    trace = list(FACTS)[list(FACTS).index("first_lookup") :]
    assert facts["has_trace"] is False
    assert all(facts[name] is None for name in trace)
    assert found.flags["event_unverified_action"].item() is None
    assert found.events.is_empty()


def test_rows_of_an_unreadable_trace_are_not_read():
    table = pl.DataFrame({"call_id": ["c"], "scenario_id": ["change"], "has_trace": [None]})
    table = table.cast({"has_trace": pl.Boolean})
    tools = empty_table("tool_calls").vstack(
        pl.DataFrame(
            [{"call_id": "c", "position": 0, "name": "refund", "status": "ok"}],
            schema=TABLES["tool_calls"],
        )
    )
    facts = trace_facts(table, tools, protocol=PROTOCOL, population=POPULATION)
    assert facts["change_performed"].to_list() == [None]


def test_facts_have_their_declared_columns():
    assert dict(shown(*good("refund")).facts.schema) == FACTS


@pytest.mark.parametrize(
    ("scenario_id", "tool", "performed"),
    [
        ("change", "refund", True),
        ("change", "cancel", False),
        ("corrected", "cancel", True),
        ("question", "refund", False),
    ],
)
def test_the_required_action_is_the_one_of_the_scenario(scenario_id, tool, performed):
    found = shown(*good("lookup", "verify", tool), scenario_id=scenario_id)
    assert found.facts.row(0, named=True)["required_performed"] is performed


def test_every_unverified_change_is_an_occurrence_and_the_first_is_counted():
    found = shown(
        Tool(name="refund", start_ms=100),
        Tool(name="lookup"),
        Tool(name="cancel", start_ms=None),
        Tool(name="refund", status="error"),
        Tool(name="verify"),
        Tool(name="refund", start_ms=900),
    )
    rows = found.occurrences("unverified_action")
    assert {row["evidence_key"]: (row["at_ms"], row["counted"]) for row in rows} == {
        "tool_calls/0": (100, True),
        "tool_calls/2": (None, False),
    }
    assert {(row["severity"], row["source"]) for row in rows} == {(5, "trace")}


@pytest.mark.parametrize(
    ("tools", "fires"),
    [
        ((Tool(name="verify", result={"match": True, "status": "locked"}),), False),
        ((Tool(name="verify", result={"match": False}),), True),
        (good("verify"), None),
        ((), True),
    ],
)
def test_a_verification_whose_result_decides_and_is_not_recorded_leaves_the_call_open(tools, fires):
    asked = {"verify": {"required": ["match"], "properties": {"match": {"const": True}}}}
    people = replace(POPULATION, tool_success=asked)
    case = Case(tools=(*good("lookup"), *tools, *good("refund")))
    found = decide_all([case], protocol=STRICT, population=people)
    assert found.flags["event_unverified_action"].item() is fires
    (reasons,) = found.decisions.filter(call_id="c1")["reasons"].to_list()
    assert ("tool_result_missing" in reasons) is (fires is None)
    assert ("unverified_action" in found.events["type"].to_list()) is (fires is True)
