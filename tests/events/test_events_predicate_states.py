from __future__ import annotations

import copy
import json

import pytest
from predicate_calls import outcome

from inquesto_core.events.predicates.json_values import (
    differences,
    path_pattern,
    same_value,
    state_hash,
    without,
)
from inquesto_core.events.predicates.states import NAMED_DIFFERENCES

EQUALS = {"kind": "state_equals", "path": "refund"}


@pytest.mark.parametrize(
    ("after", "holds"),
    [(49.5, True), (49.51, True), (49.49, True), (49.511, False), ("49.5", False), (None, False)],
)
def test_a_number_may_lie_as_far_away_as_the_tolerance_and_no_farther(after, holds):
    predicate = {**EQUALS, "equals": 49.5, "tolerance": 0.01}
    assert outcome(predicate, state={"after": {"refund": after}})[0] is holds


def test_a_tolerance_holds_inside_what_is_compared():
    predicate = {**EQUALS, "equals": [{"n": 1}], "tolerance": 1}
    assert outcome(predicate, state={"after": {"refund": [{"n": 2}]}})[0] is True
    assert outcome(predicate, state={"after": {"refund": [{"n": True}]}})[0] is False


@pytest.mark.parametrize(
    ("after", "holds"),
    [
        (["b", "a"], True),
        (["b", "a", "a"], True),
        (["a"], False),
        (["a", "b", "c"], False),
        ("ab", False),
        (None, False),
    ],
)
def test_a_set_has_no_order_and_nothing_twice(after, holds):
    predicate = {**EQUALS, "equals": ["a", "b"], "as": "set"}
    assert outcome(predicate, state={"after": {"refund": after}})[0] is holds


def test_one_and_one_point_zero_are_one_item_and_true_is_another():
    predicate = {**EQUALS, "equals": [1], "as": "set"}
    assert outcome(predicate, state={"after": {"refund": [1.0, 1]}})[0] is True
    assert outcome(predicate, state={"after": {"refund": [True]}})[0] is False


def test_a_path_that_cannot_be_read_on_a_state_is_false_with_its_error():
    predicate = {"kind": "state_equals", "path": "length(n)", "equals": 1}
    value, evidence = outcome(predicate, state={"after": {"n": 5}})
    assert value is False
    assert evidence.startswith("length(n) cannot be read: ")


@pytest.mark.parametrize("group", [{"kind": "not"}, {"kind": "any"}, {"kind": "named"}])
def test_an_error_is_turned_round_by_nothing(group):
    raising = {"kind": "state_equals", "path": "length(n)", "equals": 1}
    predicate = {
        "not": {"kind": "not", "of": raising},
        "any": {"kind": "not", "of": {"kind": "any", "of": [raising]}},
        "named": {"kind": "named", "name": "broken", "expect": False},
    }[group["kind"]]
    value, evidence = outcome(predicate, state={"after": {"n": 5}}, named={"broken": raising})
    assert value is False
    assert "cannot be read" in evidence


BEFORE = {"card": "3382", "orders": {"a": {"state": "open", "n": 1}, "b": {"state": "open"}}}


def changed(**orders):
    return {**BEFORE, "orders": {**BEFORE["orders"], **orders}}


@pytest.mark.parametrize(
    ("allowed", "after", "holds", "told"),
    [
        ([], BEFORE, True, "changed: nothing"),
        (["/card"], {**BEFORE, "card": "9021"}, True, '/card was "3382", is "9021"'),
        ([], {**BEFORE, "card": "9021"}, False, 'not allowed: /card was "3382", is "9021"'),
        (["/orders/*/state"], changed(a={"state": "shut", "n": 1}), True, "/orders/a/state"),
        (["/orders/*/state"], changed(a={"state": "shut", "n": 2}), False, "/orders/a/n was 1"),
        (["/orders/a"], changed(a={"state": "shut", "n": 2}), True, "/orders/a/n"),
        (["/orders/a"], changed(b={}), False, '/orders/b/state was "open", is not there'),
        (["/orders/c"], changed(c=1), True, "/orders/c was not there, is 1"),
    ],
)
def test_only_allowed_paths_may_differ_from_before(allowed, after, holds, told):
    predicate = {"kind": "state_changes", "allowed": allowed}
    value, evidence = outcome(predicate, state={"before": BEFORE, "after": after})
    assert value is holds
    assert told in evidence


@pytest.mark.parametrize("kind", ["state_changes", "state_unchanged", "state_hash"])
def test_without_a_state_file_or_the_state_before_it_is_undetermined(kind):
    more = {"state_changes": {"allowed": []}, "state_hash": {"against": "before"}}
    predicate = {"kind": kind, **more.get(kind, {})}
    assert outcome(predicate) == (None, "no state")
    assert outcome(predicate, state={"after": {}}) == (None, "no state")


def test_a_state_that_is_to_be_as_expected_and_has_no_expected_is_false_and_not_undetermined():
    predicate = {"kind": "state_hash", "against": "expected"}
    assert outcome(predicate) == (None, "no state")
    assert outcome(predicate, state={"expected": {}}) == (None, "no state")
    value, evidence = outcome(predicate, state={"after": {}})
    assert value is False
    assert evidence == "nothing to compare with: state.json has no expected"
    turned = {"kind": "not", "of": predicate}
    assert outcome(turned, state={"after": {}})[0] is False
    assert outcome({"kind": "not", "of": turned}, state={"after": {}})[0] is False
    named = {"kind": "named", "name": "n", "expect": False}
    assert outcome(named, named={"n": predicate}, state={"after": {}})[0] is False
    assert outcome(predicate, state={"after": {}, "expected": {}})[0] is True


def test_a_hash_is_that_of_canonical_json_without_what_is_left_out():
    wanted = state_hash({"a": 1, "b": {"kept": [1, 2]}})
    after = {"b": {"kept": [1.0, 2], "seen": "now"}, "session": {"id": 3}, "a": 1.0}
    predicate = {"kind": "state_hash", "sha256": wanted, "exclude": ["/session", "/b/seen"]}
    assert outcome(predicate, state={"after": after})[0] is True
    assert outcome({**predicate, "exclude": ["/session"]}, state={"after": after})[0] is False
    found = outcome({**predicate, "exclude": []}, state={"after": after})[1]
    assert found.endswith(f"expected {wanted}")


def test_a_pattern_step_stands_for_any_one_step_and_slashes_in_keys_are_written_out():
    value = {"a/b": {"x": 1, "y": [{"t": 1, "u": 2}]}, "z": 3}
    assert without(value, [path_pattern("/a~1b/y/*/t")]) == {
        "a/b": {"x": 1, "y": [{"u": 2}]},
        "z": 3,
    }
    assert without(value, [path_pattern("/*")]) == {}
    pointers = [each.pointer for each in differences(value, {"a/b": 0, "z": 3})]
    assert pointers == ["/a~1b"]


def test_more_differences_than_can_be_named_are_counted():
    after = {f"k{at:03}": at for at in range(NAMED_DIFFERENCES + 7)}
    predicate = {"kind": "state_unchanged"}
    evidence = outcome(predicate, state={"before": {}, "after": after})[1]
    assert evidence.endswith("; and 7 more")


def test_values_are_compared_as_they_are_written():
    assert same_value(0.3, 0.1 + 0.2, tolerance=0.0000001)
    assert not same_value("1", 1, tolerance=5)
    assert not same_value(True, 1, tolerance=5)


# The simulated air line's states of a real record

AGAINST = {"kind": "state_hash", "against": "expected", "exclude": ["/session"]}


@pytest.fixture(scope="module")
def air_line(shared):
    folder = shared / "imports" / "eva-1.1.2"
    if not folder.is_dir():
        pytest.skip("the shared EVA record is absent")
    return {
        name: json.loads((folder / f"{name}_scenario_db.json").read_bytes())
        for name in ("initial", "final", "expected")
    }


def against_expected(air_line, after):
    return outcome(AGAINST, state={"after": after, "expected": air_line["expected"]})


def test_the_final_state_of_a_real_record_is_the_expected_one(air_line):
    assert against_expected(air_line, air_line["final"]) == (True, "the state is that expected")
    whole = {**AGAINST, "exclude": []}
    state = {"after": air_line["final"], "expected": air_line["expected"]}
    value, evidence = outcome(whole, state=state)
    assert value is False
    assert evidence.startswith("the state is not that expected: /session was ")


def test_every_difference_of_the_initial_state_is_named(air_line):
    value, evidence = against_expected(air_line, air_line["initial"])
    assert value is False
    assert [part.split(" was ")[0] for part in evidence.split(": ", 1)[1].split("; ")] == [
        "/journeys/FL_SK621_20260320/segments/0/available_seats/main_cabin",
        "/journeys/FL_SK703_20260325/segments/0/available_seats/main_cabin",
        "/reservations/ZK3FFW/bookings/0/status",
        "/reservations/ZK3FFW/bookings/1",
        "/reservations/ZK3FFW/status",
    ]


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("/reservations/ZK3FFW/status", "cancelled"),
        ("/journeys/FL_SK703_20260325/segments/0/available_seats/main_cabin", 20),
        ("/_current_date", "2026-03-19"),
    ],
)
def test_a_single_edit_of_the_final_state_is_named(air_line, path, new):
    edited = copy.deepcopy(air_line["final"])
    *steps, last = path_pattern(path)
    place = edited
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    assert place[last] != new
    place[last] = new
    value, evidence = against_expected(air_line, edited)
    assert value is False
    assert evidence.startswith(f"the state is not that expected: {path} was ")
    assert "; " not in evidence
