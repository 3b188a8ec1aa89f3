"""A difference between two protocols is told leaf by leaf."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.protocol.difference import Change, changes, diff_protocols, leaf_values
from inquesto_core.protocol.load import load_protocol

FILE = "populations/billing-0.1.json"
LEAVES = st.dictionaries(st.text(max_size=3), st.sampled_from(["1", "null", '"a"']), max_size=5)


def test_a_protocol_does_not_differ_from_itself() -> None:
    protocol = load_protocol("inquesto-0.1")
    assert diff_protocols(protocol, protocol) == ()


def test_a_threshold_differs_at_its_pointer(edited: Any) -> None:
    def change(value: dict[str, Any]) -> None:
        value["events"]["talk_over"]["count_short"] = False

    other = load_protocol(edited("protocol.json", change))
    pointer = "protocol.json#/events/talk_over/count_short"
    assert diff_protocols(load_protocol("inquesto-0.1"), other) == (
        Change(pointer=pointer, before="true", after="false"),
    )


def test_a_population_differs_with_null_told_from_absent(edited: Any) -> None:
    def change(value: dict[str, Any]) -> None:
        value["scenarios"][0]["required_action"] = None
        value["scenarios"][0]["predicates"] = [{"kind": "tool_called", "tool": "lookup_account"}]
        value["facts"]["a/b~c"] = 1

    other = load_protocol(edited(FILE, change))
    got = {
        c.pointer: (c.before, c.after) for c in diff_protocols(load_protocol("inquesto-0.1"), other)
    }
    assert got == {
        f"{FILE}#/facts/a~1b~0c": (None, "1"),
        f"{FILE}#/scenarios/0/predicates": ("[]", None),
        f"{FILE}#/scenarios/0/predicates/0/kind": (None, '"tool_called"'),
        f"{FILE}#/scenarios/0/predicates/0/tool": (None, '"lookup_account"'),
        f"{FILE}#/scenarios/0/required_action": ('"issue_refund"', "null"),
    }


def test_a_text_file_differs_by_its_digest_and_the_readme_not_at_all(edited: Any) -> None:
    folder: Path = edited("protocol.json", lambda p: None)
    (folder / "texts").mkdir()
    (folder / "texts" / "goal.txt").write_text("Was it done?", encoding="utf-8")
    (folder / "README.md").write_text("other words", encoding="utf-8")
    (change,) = diff_protocols(load_protocol("inquesto-0.1"), load_protocol(folder))
    assert (change.pointer, change.before) == ("texts/goal.txt", None)
    assert change.after is not None and change.after.startswith("sha256:")


def test_every_leaf_value_stands_once_with_its_canonical_text() -> None:
    values = leaf_values(load_protocol("inquesto-0.1").folder)
    assert values["protocol.json#/fail_at"] == "3"
    assert values["protocol.json#/instruments/judge/rubric"] == '"rubric"'
    assert values[f"{FILE}#/scenarios/29/id"] == '"iep-030-impostor-cancel_sub"'


@given(LEAVES, LEAVES)
def test_the_difference_turned_round_swaps_before_and_after(
    a: dict[str, str], b: dict[str, str]
) -> None:
    there, back = changes(a, b), changes(b, a)
    assert [(c.pointer, c.before, c.after) for c in there] == [
        (c.pointer, c.after, c.before) for c in back
    ]
    assert (there == ()) == (a == b)
