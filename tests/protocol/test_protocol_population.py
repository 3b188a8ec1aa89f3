"""The billing population is, row by row, the one that the published records were made on."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inquesto_core.canonical import digest_json
from inquesto_core.errors import InquestoError, ProtocolError, SchemaError
from inquesto_core.protocol.definition import Slice
from inquesto_core.protocol.load import load_protocol
from inquesto_core.protocol.population import (
    Population,
    Slot,
    load_population,
    population_document,
)

FILE = "populations/billing-0.1.json"

#: id, family, style, correction, identity, required action: the table of the population page.
ROWS = """
iep-001-dup_charge           | dup_charge      | neutral    |     |          | issue_refund
iep-002-dup_charge           | dup_charge      | fast       |     |          | issue_refund
iep-003-dup_charge           | dup_charge      | hesitant   |     |          | issue_refund
iep-004-cancel_sub           | cancel_sub      | fast       |     |          | cancel_subscription
iep-005-cancel_sub           | cancel_sub      | hesitant   |     |          | cancel_subscription
iep-006-cancel_sub           | cancel_sub      | correcting | yes |          | cancel_subscription
iep-007-update_card          | update_card     | hesitant   |     |          | update_card
iep-008-update_card          | update_card     | correcting | yes |          | update_card
iep-009-update_card          | update_card     | neutral    |     |          | update_card
iep-010-invoice_up           | invoice_up      | correcting | yes |          |
iep-011-invoice_up           | invoice_up      | neutral    |     |          |
iep-012-invoice_up           | invoice_up      | fast       |     |          |
iep-013-failed_order         | failed_order    | neutral    |     |          | issue_refund
iep-014-failed_order         | failed_order    | fast       |     |          | issue_refund
iep-015-failed_order         | failed_order    | hesitant   |     |          | issue_refund
iep-016-change_email         | change_email    | fast       |     |          | update_email
iep-017-change_email         | change_email    | hesitant   |     |          | update_email
iep-018-change_email         | change_email    | correcting | yes |          | update_email
iep-019-confirm_payment      | confirm_payment | hesitant   |     |          |
iep-020-confirm_payment      | confirm_payment | correcting | yes |          |
iep-021-confirm_payment      | confirm_payment | neutral    |     |          |
iep-022-escalate_refund      | escalate_refund | correcting | yes |          |
iep-023-escalate_refund      | escalate_refund | neutral    |     |          |
iep-024-escalate_refund      | escalate_refund | fast       |     |          |
iep-025-legit-dup_charge     | dup_charge      | neutral    |     | legit    | issue_refund
iep-026-legit-change_email   | change_email    | neutral    |     | legit    | update_email
iep-027-legit-cancel_sub     | cancel_sub      | neutral    |     | legit    | cancel_subscription
iep-028-impostor-dup_charge  | dup_charge      | neutral    |     | impostor |
iep-029-impostor-change_email| change_email    | neutral    |     | impostor |
iep-030-impostor-cancel_sub  | cancel_sub      | neutral    |     | impostor |
"""
EXPECTED = [[cell.strip() for cell in line.split("|")] for line in ROWS.strip().splitlines()]


@pytest.fixture(scope="module")
def billing() -> Population:
    return load_population("billing-0.1", load_protocol("inquesto-0.1"))


def slots_in(population: Population, wanted: Slice) -> list[Slot]:
    """Return the expected slots of a slice, by the plain reading of its three words."""
    conditions = {
        "all": population.conditions,
        "reference": (population.reference_condition,),
        "degraded": population.degraded,
    }[wanted.conditions]
    groups = population.groups if wanted.groups == "all" else (population.reference_group,)
    identity = {s.id for s in population.scenarios if s.identity}
    keep = {
        "included": lambda _: True,
        "excluded": lambda name: name not in identity,
        "only": lambda name: name in identity,
    }[wanted.identity]
    return [
        slot
        for slot in population.expected_slots()
        if slot.condition in conditions and slot.group in groups and keep(slot.scenario_id)
    ]


@pytest.mark.parametrize("row", EXPECTED, ids=[row[0] for row in EXPECTED])
def test_a_scenario_has_the_facts_of_its_row(billing: Population, row: list[str]) -> None:
    scenario = billing.scenario(row[0])
    assert [
        scenario.id,
        scenario.family,
        scenario.style,
        "yes" if scenario.correction else "",
        scenario.identity or "",
        scenario.required_action or "",
    ] == row


def test_the_scenarios_are_those_thirty_in_that_order(billing: Population) -> None:
    assert [scenario.id for scenario in billing.scenarios] == [row[0] for row in EXPECTED]


def test_the_table_of_the_design_page_is_the_one_written_here(shared: Path) -> None:
    page = (shared / "design" / "population-0.1.md").read_text(encoding="utf-8")
    lines = [line.strip("| \n") for line in page.splitlines() if line.startswith("| iep-")]
    rows = [[cell.strip() for cell in f"{line} |".split("|")][:6] for line in lines]
    assert [(row + [""] * 6)[:6] for row in rows] == EXPECTED


def test_only_the_two_uncorrected_escalations_are_hand_offs(billing: Population) -> None:
    handoffs = [scenario.id for scenario in billing.scenarios if scenario.handoff]
    assert handoffs == ["iep-023-escalate_refund", "iep-024-escalate_refund"]


def test_no_scenario_carries_predicates_of_its_own(billing: Population) -> None:
    assert all(scenario.predicates == () for scenario in billing.scenarios)


def test_every_goal_is_one_to_three_plain_sentences(billing: Population) -> None:
    for scenario in billing.scenarios:
        sentences = re.findall(r"\.(?: |$)", scenario.goal)
        assert scenario.goal.endswith(".") and 1 <= len(sentences) <= 4, scenario.id
    assert len({s.goal for s in billing.scenarios if s.style == "correcting"}) == 6


def test_a_correcting_goal_says_what_is_corrected_and_no_other_goal_does(
    billing: Population,
) -> None:
    says = {
        s.id for s in billing.scenarios if re.search(r"They first .*correct (it|that) to", s.goal)
    }
    assert says == {s.id for s in billing.scenarios if s.correction}


def test_the_account_record_and_the_tools_are_those_of_the_page(billing: Population) -> None:
    facts = json.dumps(billing.facts)
    for fact in (
        "4471",
        "Pro",
        "$49 per month",
        "3382",
        "Aug 3",
        "$98",
        "m.ruiz@example.com",
        "active",
        "9021",
        "3 to 5 business days",
    ):
        assert fact in facts
    assert billing.facts["last_invoice"]["line_items"] == ["$49", "$49"]
    tools = billing.tools
    assert (tools.lookup, tools.verify) == (("lookup_account",), ("verify_voice",))
    assert set(tools.change) == {
        "issue_refund",
        "update_card",
        "update_email",
        "cancel_subscription",
    }
    assert (tools.end_call, tools.transfer) == (("end_call",), ())


def test_conditions_and_groups_are_those_of_the_published_records(
    billing: Population, shared: Path
) -> None:
    for file in sorted((shared / "oracle" / "records").glob("*.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        assert tuple(record["definition"]["conditions"]) == billing.conditions
        assert tuple(record["definition"]["groups"]) == billing.groups
        assert record["definition"]["reference_group"] == billing.reference_group
        assert record["definition"]["seeds"] == billing.design.trials
        assert record["design"]["scenarios"] == len(billing.scenarios)
        assert record["n"] == len(billing.expected_slots())
        assert record["views"]["behavior"]["n"] == 24


def test_a_complete_run_has_306_calls_each_once_in_order(billing: Population) -> None:
    slots = billing.expected_slots()
    assert len(slots) == len(set(slots)) == 306
    assert list(slots) == sorted(slots)
    assert {slot.trial for slot in slots} == {0}


def test_the_expected_slots_are_the_calls_of_a_reference_run(
    billing: Population, shared: Path
) -> None:
    import gzip

    with gzip.open(shared / "oracle" / "fuzz" / "3" / "calls.jsonl.gz", "rt") as lines:
        keys = {json.loads(line)["key"] for line in lines}
    assert keys == {
        f"{slot.scenario_id}__{slot.condition}__{slot.group}__s{slot.trial}"
        for slot in billing.expected_slots()
    }


@pytest.mark.parametrize(
    ("view", "n"), [("behavior", 24), ("robustness", 204), ("identity", 18), ("fairness", 306)]
)
def test_a_view_holds_as_many_slots_as_the_paper_says(
    billing: Population, view: str, n: int
) -> None:
    assert len(slots_in(billing, load_protocol("inquesto-0.1").view(view).slice)) == n


def test_the_gap_is_taken_to_the_102_clean_calls(billing: Population) -> None:
    clean = load_protocol("inquesto-0.1").view("robustness").compared_with
    assert clean is not None
    assert len(slots_in(billing, clean)) == 102


def test_groups_hold_81_75_75_75_calls(billing: Population) -> None:
    assert Counter(slot.group for slot in billing.expected_slots()) == {
        "us_female": 81,
        "us_male": 75,
        "uk_female": 75,
        "uk_male": 75,
    }


def test_nine_goal_scenarios_have_no_required_action(billing: Population) -> None:
    vacuous = [s for s in billing.scenarios if s.identity is None and s.required_action is None]
    assert len(vacuous) == 9


def test_scenario_rows_hold_what_calls_are_joined_with(billing: Population) -> None:
    rows = billing.scenario_rows()
    assert len(rows) == 30
    assert rows[5] == {
        "scenario_id": "iep-006-cancel_sub",
        "family": "cancel_sub",
        "style": "correcting",
        "required_action": "cancel_subscription",
        "correction": True,
        "identity": None,
        "handoff": False,
    }


def test_an_unknown_scenario_is_refused(billing: Population) -> None:
    with pytest.raises(ProtocolError, match=r"iep-031.*scenario_unknown"):
        billing.scenario("iep-031")


def test_a_population_loads_by_name_by_path_and_without_a_protocol(billing: Population) -> None:
    path = load_protocol("inquesto-0.1").folder / FILE
    assert load_population("billing-0.1") == billing
    assert load_population(path) == load_population(str(path)) == billing


def test_an_unknown_population_is_refused_with_the_known_names() -> None:
    with pytest.raises(ProtocolError, match=r"billing-0\.1.*population_unknown"):
        load_population("pharmacy")
    with pytest.raises(ProtocolError, match=r"none\.json.*protocol_unreadable"):
        load_population(Path("none.json"))


def test_a_name_that_the_file_does_not_bear_is_refused(edited: Any) -> None:
    folder = edited(FILE, lambda p: p.update(name="easy"))
    with pytest.raises(ProtocolError, match=r"/name is 'easy'.*population_inconsistent"):
        load_population("billing-0.1", load_protocol(folder))
    assert load_population(folder / FILE).name == "easy"


def test_the_digest_holds_every_word_and_no_white_space(edited: Any, billing: Population) -> None:
    same = load_population(edited(FILE, lambda p: None) / FILE)
    assert same.digest == billing.digest
    for change in (
        lambda p: p["scenarios"][0].update(goal="Anything."),
        lambda p: p["facts"].update(status="closed"),
        lambda p: p.update(version="0.1.1"),
    ):
        assert load_population(edited(FILE, change) / FILE).digest != billing.digest


def test_overlapping_cells_and_trials_give_every_slot_once(edited: Any) -> None:
    def change(population: dict[str, Any]) -> None:
        cell = {"scenarios": ["iep-001-dup_charge"], "conditions": ["clean"], "groups": ["us_male"]}
        both = {**cell, "groups": ["us_female", "us_male"]}
        population["design"] = {"trials": 2, "cells": [cell, both]}

    slots = load_population(edited(FILE, change) / FILE).expected_slots()
    assert [(slot.group, slot.trial) for slot in slots] == [
        ("us_female", 0),
        ("us_female", 1),
        ("us_male", 0),
        ("us_male", 1),
    ]


CONTRADICTIONS = {
    "required_action_is_no_change_tool": (
        lambda p: p["scenarios"][0].update(required_action="lookup_account"),
        r"/scenarios/0/required_action is 'lookup_account'",
    ),
    "scenario_id_twice": (
        lambda p: p["scenarios"][1].update(id="iep-001-dup_charge"),
        r"/scenarios has the id 'iep-001-dup_charge' twice",
    ),
    "cell_names_no_scenario": (
        lambda p: p["design"]["cells"][1]["scenarios"].append("iep-099"),
        r"/design/cells/1/scenarios names 'iep-099'",
    ),
    "cell_names_no_condition": (
        lambda p: p["design"]["cells"][0]["conditions"].append("car"),
        r"/design/cells/0/conditions names 'car'",
    ),
    "cell_names_no_group": (
        lambda p: p["design"]["cells"][4].update(groups=["au_male"]),
        r"/design/cells/4/groups names 'au_male'",
    ),
    "no_lookup_tool": (lambda p: p["tools"].update(lookup=[]), r"/tools/lookup is empty"),
    "no_verification_tool": (lambda p: p["tools"].update(verify=[]), r"/tools/verify is empty"),
    "change_tool_that_verifies": (
        lambda p: p["tools"]["verify"].append("update_card"),
        r"/tools/change names 'update_card'",
    ),
    "reference_condition_unlisted": (
        lambda p: p.update(reference_condition="studio"),
        r"/reference_condition is 'studio'",
    ),
    "reference_group_unlisted": (
        lambda p: p.update(reference_group="au_male"),
        r"/reference_group is 'au_male'",
    ),
    "degraded_condition_unlisted": (
        lambda p: p["degraded"].append("car"),
        r"/degraded names 'car'",
    ),
    "degraded_reference_condition": (
        lambda p: p["degraded"].append("clean"),
        r"/degraded names 'clean'",
    ),
    "condition_twice": (lambda p: p["conditions"].append("clean"), r"/conditions.*"),
    "group_twice": (lambda p: p["groups"].append("us_male"), r"/groups.*"),
}


@pytest.mark.parametrize(("change", "said"), CONTRADICTIONS.values(), ids=list(CONTRADICTIONS))
def test_a_population_that_contradicts_itself_is_refused(
    edited: Any, change: Any, said: str
) -> None:
    folder = edited(FILE, change)
    with pytest.raises(InquestoError, match=said):
        load_population(folder / FILE)


def test_a_population_without_account_changes_needs_no_verification(edited: Any) -> None:
    def change(population: dict[str, Any]) -> None:
        population["tools"].update(lookup=[], verify=[], change=[])
        for scenario in population["scenarios"]:
            scenario["required_action"] = None

    assert load_population(edited(FILE, change) / FILE).tools.change == ()


VALID_PREDICATES = {
    "tool_called": {"kind": "tool_called", "tool": "a"},
    "tool_not_called": {"kind": "tool_not_called", "tool": "a"},
    "count_min": {"kind": "tool_count", "tool": "a", "min": 0},
    "count_max": {"kind": "tool_count", "tool": "a", "max": 3},
    "count_both": {"kind": "tool_count", "tool": "a", "min": 1, "max": 1},
    "tool_order": {"kind": "tool_order", "before": "a", "after": "b"},
    "arguments": {"kind": "tool_arguments", "tool": "a", "schema": {"type": "object"}},
    "arguments_some": {"kind": "tool_arguments", "tool": "a", "schema": False, "match": "some"},
    "equals_null": {"kind": "state_equals", "path": "card", "equals": None},
    "state_unchanged": {"kind": "state_unchanged"},
    "side": {"kind": "tool_called", "tool": "a", "side": "user"},
    "results": {"kind": "tool_results", "tool": "a", "schema": True},
    "once": {"kind": "exactly_once", "tool": "a", "key": "b"},
    "speech": {"kind": "speech_after_tool", "tool": "a", "within_ms": 0},
    "tolerance": {"kind": "state_equals", "path": "a", "equals": 1, "tolerance": 0.5},
    "set": {"kind": "state_equals", "path": "a", "equals": [], "as": "set"},
    "changes": {"kind": "state_changes", "allowed": []},
    "hash": {"kind": "state_hash", "sha256": "0" * 64, "exclude": ["/a/*"]},
    "spoken": {"kind": "spoken", "amount": {"value": 1, "tolerance": 0, "currency": "USD"}},
    "consent": {"kind": "consent", "tool": "a", "names": ["b", ["c", "d"]], "language": "pt-BR"},
    "claim": {"kind": "claim", "question": "a", "text": "Question: b?"},
    "deep": {"kind": "not", "of": {"kind": "all", "of": [{"kind": "any", "of": [
        {"kind": "named", "name": "a", "expect": False}]}]}},
}  # fmt: skip


def predicate_folder(edited: Any, predicate: Any) -> Path:
    def change(population: dict[str, Any]) -> None:
        population["scenarios"][0]["predicates"] = [{"kind": "state_unchanged"}, predicate]

    return Path(edited(FILE, change)) / FILE


@pytest.mark.parametrize("predicate", VALID_PREDICATES.values(), ids=list(VALID_PREDICATES))
def test_a_predicate_of_each_kind_is_read_as_it_stands(edited: Any, predicate: Any) -> None:
    population = load_population(predicate_folder(edited, predicate))
    assert population.scenarios[0].predicates[1] == predicate


@pytest.mark.parametrize(
    ("predicate", "said"),
    [
        ({}, r'1 has no "kind"'),
        ({"tool": "a"}, r'1 has no "kind"'),
        ({"kind": "vibes"}, r'1/kind is "vibes"; expected one of "tool_called"'),
        ({"kind": None}, r"1/kind is null"),
        ({"kind": "tool_called"}, r'1 has no "tool"'),
        ({"kind": "tool_called", "tool": ""}, r'1/tool is ""'),
        ({"kind": "tool_called", "tool": 3}, r"1/tool is 3"),
        ({"kind": "tool_called", "tool": "a", "times": 1}, r'the unknown key "times"'),
        ({"kind": "tool_not_called", "tool": "a", "max": 1}, r'the unknown key "max"'),
        ({"kind": "tool_count", "tool": "a"}, r"1 has 2 keys; expected min, max or both"),
        ({"kind": "tool_count", "tool": "a", "min": -1}, r"1/min is -1"),
        ({"kind": "tool_count", "tool": "a", "max": True}, r"1/max is true"),
        ({"kind": "tool_count", "tool": "a", "max": 1.5}, r"1/max is 1.5"),
        ({"kind": "tool_order", "before": "a"}, r'1 has no "after"'),
        ({"kind": "tool_order", "before": "a", "after": "b", "tool": "c"}, r'unknown key "tool"'),
        ({"kind": "tool_arguments", "tool": "a"}, r'1 has no "schema"'),
        ({"kind": "tool_arguments", "tool": "a", "schema": []}, r"1/schema is a list"),
        ({"kind": "tool_arguments", "tool": "a", "schema": {}, "match": "most"}, r"match is"),
        ({"kind": "state_equals", "path": "", "equals": 1}, r'1/path is ""'),
        ({"kind": "state_equals", "path": "a"}, r'1 has no "equals"'),
        ({"kind": "state_equals", "path": "a" * 1001, "equals": 1}, r"of 1001 characters"),
        ({"kind": "state_unchanged", "path": "a"}, r'the unknown key "path"'),
        ("tool_called", r"1 is .tool_called.; expected an object"),
        ({"kind": "tool_called", "tool": "a", "side": "caller"}, r"1/side is"),
        ({"kind": "tool_order", "before": "a", "after": "b", "side": "user"},
         r'the unknown key "side"'),
        ({"kind": "tool_results", "tool": "a"}, r'1 has no "schema"'),
        ({"kind": "exactly_once", "tool": "a", "key": ""}, r'1/key is ""'),
        ({"kind": "speech_after_tool", "tool": "a"}, r'1 has no "within_ms"'),
        ({"kind": "speech_after_tool", "tool": "a", "within_ms": -1}, r"1/within_ms is -1"),
        ({"kind": "state_equals", "path": "a", "equals": 1, "tolerance": -1}, r"tolerance is -1"),
        ({"kind": "state_equals", "path": "a", "equals": 1, "as": "set"}, r"1/equals is 1"),
        ({"kind": "state_equals", "path": "a", "equals": [], "as": "set", "tolerance": 1},
         r"1 has 5 keys; expected tolerance or as, not both"),
        ({"kind": "state_changes"}, r'1 has no "allowed"'),
        ({"kind": "state_changes", "allowed": ["a"]}, r'1/allowed/0 is "a"; expected a JSON'),
        ({"kind": "state_hash"}, r"1 has 1 keys; expected one of sha256 and against"),
        ({"kind": "state_hash", "against": "after"}, r'1/against is "after"'),
        ({"kind": "claim", "text": "a"}, r'1 has no "question"'),
        ({"kind": "spoken"}, r"1 has 1 keys; expected one of amount, digits and phrases"),
        ({"kind": "spoken", "digits": "4a"}, r'1/digits is "4a"'),
        ({"kind": "spoken", "amount": {"tolerance": 1}}, r'1/amount has no "value"'),
        ({"kind": "consent", "tool": "a", "names": []}, r"1/names has 0 items"),
        ({"kind": "consent", "tool": "a", "names": [[]]}, r"1/names/0 has 0 items"),
        ({"kind": "consent", "tool": "a", "names": [3]}, r"1/names/0 is 3"),
        ({"kind": "all", "of": []}, r"1/of has 0 items"),
        ({"kind": "any", "of": [{"kind": "vibes"}]}, r'1/of/0/kind is "vibes"'),
        ({"kind": "not", "of": [{"kind": "state_unchanged"}]}, r"1/of is a list"),
        ({"kind": "named"}, r'1 has no "name"'),
        ({"kind": "not", "of": {"kind": "not", "of": {"kind": "not", "of": {"kind": "not", "of": {
            "kind": "state_unchanged"}}}}}, r'1/of/of/of/kind is "not"'),
    ],
    ids=str,
)  # fmt: skip
def test_a_predicate_with_other_keys_than_its_kind_has_is_refused_at_the_door(
    edited: Any, predicate: Any, said: str
) -> None:
    with pytest.raises(SchemaError, match=rf"/scenarios/0/predicates/1.*{said.removeprefix('1')}"):
        load_population(predicate_folder(edited, predicate))


def test_named_predicates_and_phrases_are_read_as_they_stand(edited: Any) -> None:
    own = {
        "predicates": {"kept": {"kind": "state_unchanged"}},
        "phrases": {"pt": {"yes": ["sim"], "negation": ["nunca"]}},
    }
    folder = edited(FILE, lambda population: population.update(own))
    population = load_population(folder / FILE)
    assert population.predicates == own["predicates"]
    assert population.phrases == own["phrases"]
    assert digest_json(population_document(population)) == population.digest


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"predicates": {"": {"kind": "state_unchanged"}}}, "/predicates"),
        ({"predicates": {"a": {"kind": "vibes"}}}, "/predicates/a/kind"),
        ({"phrases": {"English": {"yes": ["a"]}}}, "/phrases"),
        ({"phrases": {"en": {}}}, "/phrases/en has 0 keys"),
        ({"phrases": {"en": {"maybe": ["a"]}}}, "the unknown key"),
        ({"phrases": {"en": {"yes": [""]}}}, "/phrases/en/yes/0"),
    ],
    ids=str,
)
def test_named_predicates_and_phrases_of_another_form_are_refused(
    edited: Any, own: Any, said: str
) -> None:
    folder = edited(FILE, lambda population: population.update(own))
    with pytest.raises(SchemaError, match=said):
        load_population(folder / FILE)
