"""Reviewed failures beside another agent's calls: what holds, what is there again, what is open."""

from __future__ import annotations

import polars as pl
import pytest

from inquesto_core.canonical import pretty_bytes
from inquesto_core.compare.regression import (
    Failure,
    RegressionSet,
    check_failures,
    failure_category,
    parse_regression,
)
from inquesto_core.errors import IncomparableError, SchemaError
from inquesto_core.protocol import load_protocol
from inquesto_core.score.tables import EVENT_PREFIX

PROTOCOL = load_protocol("inquesto-0.1")


def call(**given):
    events = {EVENT_PREFIX + event.name: False for event in PROTOCOL.events}
    return {
        "call_id": "b-1",
        "scenario_id": "s1",
        "condition": "clean",
        "group": None,
        "trial": 0,
        "state": "scored",
        "goal": True,
        "passed": True,
        **events,
        **given,
    }


def failure(**given):
    return Failure(
        **{
            "call_id": "a-1",
            "bundle": "calls/" + "0" * 16,
            "scenario_id": "s1",
            "condition": "clean",
            "group": None,
            "trial": 0,
            "category": "wrong_info",
            "severity": 4,
            "agent": "A",
            "fingerprint": "sha256:1",
            "events": (),
            "absent": ("wrong_info",),
            "note": "",
            "files": (),
            **given,
        }
    )


@pytest.mark.parametrize(
    ("calls", "outcome", "again"),
    [
        pytest.param([call()], "holds", (), id="mended"),
        pytest.param([call(event_wrong_info=True)], "fails", ("wrong_info",), id="there again"),
        pytest.param([call(goal=False)], "fails", ("goal",), id="goal missed"),
        pytest.param([call(event_slow_turn=True)], "holds", (), id="another failure is another's"),
        pytest.param([call(event_wrong_info=None)], "open", (), id="event not told"),
        pytest.param([call(goal=None)], "open", (), id="goal not told"),
        pytest.param([call(state="agent_fault", goal=None)], "fails", ("agent_fault",), id="fault"),
        pytest.param(
            [call(), call(trial=1, goal=False)], "fails", ("goal",), id="one trial of two"
        ),
        pytest.param([call(condition="babble")], "not_run", (), id="another slot"),
        pytest.param([call(state="excluded")], "not_run", (), id="excluded"),
    ],
)
def test_what_must_hold_is_asked_of_every_call_in_the_slot(calls, outcome, again):
    schema = {"goal": pl.Boolean, "event_wrong_info": pl.Boolean, "group": pl.String}
    frame = pl.DataFrame(calls, schema_overrides=schema)
    (found,) = check_failures([failure()], frame)
    assert (found.outcome, found.again) == (outcome, again)


def test_an_event_that_the_run_does_not_know_is_refused():
    with pytest.raises(IncomparableError, match="regression_differs"):
        check_failures([failure(absent=("unheard_of",))], pl.DataFrame([call()]))


@pytest.mark.parametrize(
    ("row", "category"),
    [
        pytest.param(
            call(passed=False, event_slow_turn=True, event_wrong_info=True),
            ("wrong_info", 4, ("wrong_info", "slow_turn")),
            id="the gravest event",
        ),
        pytest.param(
            call(passed=False, event_talk_over=True, goal=False), ("goal", 3, ()), id="the goal"
        ),
        pytest.param(
            call(passed=False, state="agent_fault"), ("agent_fault", 3, ()), id="the agent's fault"
        ),
    ],
)
def test_a_failure_has_a_category(row, category):
    assert failure_category(row, protocol=PROTOCOL) == category


@pytest.mark.parametrize("passed", [True, None], ids=["passes", "open"])
def test_only_a_failed_call_is_a_failure(passed):
    with pytest.raises(IncomparableError, match="call_not_failed"):
        failure_category(call(passed=passed), protocol=PROTOCOL)


def test_a_set_is_read_as_it_was_written():
    digest = "a" * 64
    held = RegressionSet(
        protocol=("inquesto-0.1", digest),
        population=("p", digest),
        reviewer="ann",
        failures=(failure(files=(("call.json", digest),)),),
    )
    assert parse_regression(pretty_bytes(held.document()), file="regression.json") == held


@pytest.mark.parametrize("bundle", ["../x", "calls/../../etc", "/calls/" + "0" * 16])
def test_a_set_that_names_a_folder_outside_itself_is_refused(bundle):
    held = RegressionSet(
        protocol=("p", "a" * 64),
        population=("p", "a" * 64),
        reviewer=None,
        failures=(failure(bundle=bundle),),
    )
    with pytest.raises(SchemaError, match="calls/ and 16 hex"):
        parse_regression(pretty_bytes(held.document()), file="regression.json")
