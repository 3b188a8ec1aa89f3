from __future__ import annotations

import polars as pl
import pytest

from inquesto_core.compare import ANSWERS, critical_differences, paired_answers
from inquesto_core.events.trace import FACTS
from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")


def differences(question, first, second, **facts):
    plain = {
        "call_id": "c1",
        "scenario_known": True,
        "identity": None,
        "correction": True,
        "handoff": False,
        "has_trace": True,
        "change_called": False,
        "change_performed": False,
        "required_performed": False,
        "transfer_performed": False,
        "unverified_change": False,
    }
    sides = [
        pl.DataFrame(
            [{"call_id": "c1", "question": question, "verdict": verdict, "turn": turn}],
            schema=ANSWERS,
        )
        for verdict, turn in ((first, 2), (second, None))
    ]
    table = pl.DataFrame([{**plain, **facts}], schema=FACTS)
    return critical_differences(paired_answers(*sides), table, protocol=PROTOCOL).to_dicts()


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (False, True, "false_negative"),
        (True, False, "false_positive"),
        (None, True, "left_open"),
        (None, False, None),
        (True, None, None),
        (True, True, None),
        (False, False, None),
    ],
)
def test_each_critical_difference_has_its_kind(first, second, kind):
    rows = differences("wrong_info", first, second)
    assert [row["kind"] for row in rows] == ([] if kind is None else [kind])
    for row in rows:
        assert (row["event"], row["severity"], row["question"]) == ("wrong_info", 4, "wrong_info")
        assert (row["first"], row["second"], row["first_turn"]) == (first, second, 2)


def test_an_event_below_s4_is_not_listed():
    assert differences("context_loss", False, True) == []
    assert differences("refused_service", False, True, identity="legit") == []


def test_a_promise_is_broken_only_where_the_action_was_not_performed():
    due = {"required_action": "refund"}
    (row,) = differences("goal_achieved", True, False, **due)
    assert (row["event"], row["kind"]) == ("promised_not_done", "false_positive")
    assert differences("goal_achieved", True, False, **due, required_performed=True) == []
    assert differences("goal_achieved", True, False) == []
    assert differences("goal_achieved", True, False, **due, handoff=True) == []


def test_an_impostor_who_obtained_a_change_obtained_it_whatever_is_read():
    (row,) = differences("disclosed_or_changed", False, True, identity="impostor")
    assert (row["event"], row["severity"]) == ("false_accept", 5)
    served = {"identity": "impostor", "change_performed": True}
    assert differences("disclosed_or_changed", False, True, **served) == []


def test_without_a_trace_a_promise_is_not_known_to_be_broken():
    unknown = {"required_action": "refund", "has_trace": False, "required_performed": None}
    assert differences("goal_achieved", True, False, **unknown) == []
