"""The first departure of a failed call: each stage on both sides, and never a guess."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from decide_loop import GOOD, NO_TIMING_EVENTS, Case, decide_all, good, small_population, tables

from inquesto_core.evidence import empty_table, make_table
from inquesto_core.protocol import load_protocol
from inquesto_core.score.boundary import CLIPPED_FRACTION, STAGES, first_boundaries

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = small_population()
ACTED = good("lookup", "verify", "refund")
FAILED = {**GOOD, "goal_achieved": False}
CASE = Case(tools=ACTED, verdicts=FAILED)
CALLER = {"call_id": "c1", "channel": "caller", "missing_ms": 0, "clipped_fraction": 0.0}


def boundaries(*cases, media=(), heard=None, places=(), expected=None, people=POPULATION):
    found = tables(list(cases))
    found["media"] = make_table("media", list(media))
    found["word_errors"] = empty_table("word_errors")
    if heard is not None:
        row = {"call_id": "c1", "speaker": "caller", "n_words": heard}
        found["word_errors"] = make_table("word_errors", [row])
    rows = [
        {"call_id": "c1", "speaker": speaker, "position": at, "is_number": number}
        | {"is_negation": negation}
        for at, (speaker, number, negation) in enumerate(places)
    ]
    found["transcript_differences"] = make_table("transcript_differences", rows)
    if expected is not None:
        found["states"] = found["states"].with_columns(expected=pl.lit(expected))
    decided = decide_all(list(cases), protocol=PROTOCOL, population=POPULATION)
    return first_boundaries(
        decided.decisions, found, protocol=PROTOCOL, population=people
    ).to_dicts()


def stages(*cases, **evidence):
    (row,) = boundaries(*cases, **evidence)
    return row


def test_a_call_that_passed_has_no_row_and_one_that_is_not_there_has_none():
    assert boundaries(replace(CASE, verdicts=GOOD)) == []


def test_a_failure_that_no_stage_shows_has_no_first_departure():
    row = stages(CASE, media=[CALLER], heard=4)
    assert row["first"] is None
    assert row["evidence_key"] is None
    assert row["unknown_before"] == ["state"]
    assert row["action"] == row["tool"] == row["confirmation"] == row["turn_taking"] == "held"


@pytest.mark.parametrize(
    ("media", "wanted"),
    [
        ({}, "held"),
        ({"missing_ms": 1}, "departed"),
        ({"clipped_fraction": CLIPPED_FRACTION}, "held"),
        ({"clipped_fraction": CLIPPED_FRACTION + 0.001}, "departed"),
        ({"clipped_fraction": None}, "unknown"),
        ({"channel": "agent", "missing_ms": 9}, "unknown"),
    ],
    ids=str,
)
def test_audio_departs_where_the_callers_sound_was_lost(media, wanted):
    row = stages(CASE, media=[{**CALLER, **media}])
    assert row["audio"] == wanted
    assert (row["first"] == "audio") == (wanted == "departed")


@pytest.mark.parametrize(
    ("heard", "places", "wanted"),
    [
        (None, [], "unknown"),
        (4, [], "held"),
        (4, [("caller", False, False)], "held"),
        (4, [("agent", True, False)], "held"),
        (4, [("caller", True, False)], "departed"),
        (4, [("caller", False, False), ("caller", False, True)], "departed"),
    ],
    ids=str,
)
def test_recognition_departs_where_a_number_or_a_denial_of_the_caller_differs(
    heard, places, wanted
):
    row = stages(CASE, heard=heard, places=places, media=[CALLER])
    assert row["recognition"] == wanted
    if wanted == "departed":
        assert row["evidence_key"] == f"transcript_differences/caller/{len(places) - 1}"


def test_an_action_that_was_never_tried_departs_before_its_tool():
    row = stages(replace(CASE, tools=good("lookup", "verify")), media=[CALLER])
    assert (row["first"], row["evidence_key"], row["tool"]) == ("action", "tool_calls", "not_asked")
    assert row["unknown_before"] == ["recognition"]


@pytest.mark.parametrize(
    ("status", "wanted"),
    [("ok", "held"), ("error", "departed"), ("cancelled", "departed"), ("unknown", None)],
)
def test_a_tool_that_refused_departs(status, wanted):
    performed = PROTOCOL.performed_statuses
    wanted = wanted or ("held" if status in performed else "unknown")
    tools = (*ACTED[:2], replace(ACTED[2], status=status))
    row = stages(replace(CASE, tools=tools))
    assert (row["action"], row["tool"]) == ("held", wanted)
    if wanted == "departed":
        assert (row["first"], row["evidence_key"]) == ("tool", "tool_calls/2")


def test_a_change_before_verification_is_a_wrong_action():
    row = stages(replace(CASE, tools=good("refund", "lookup", "verify"), verdicts=GOOD))
    assert (row["first"], row["evidence_key"]) == ("action", "tool_calls/0")


def test_an_impostor_who_obtains_a_change_is_a_wrong_action_and_state():
    case = replace(CASE, scenario_id="impostor", state=({"paid": 0}, {"paid": 9}))
    row = stages(case)
    assert (row["first"], row["state"], row["tool"]) == ("action", "departed", "not_asked")


@pytest.mark.parametrize(
    ("state", "expected", "wanted"),
    [
        (None, None, "unknown"),
        (({"paid": 0}, {"paid": 9}), None, "held"),
        (({"paid": 0}, {"paid": 0}), None, "departed"),
        (({"paid": 0}, {"paid": 9}), '{"paid":9}', "held"),
        (({"paid": 0}, {"paid": 9}), '{"paid":8}', "departed"),
    ],
    ids=str,
)
def test_the_state_departs_where_it_is_not_what_it_should_be(state, expected, wanted):
    row = stages(replace(CASE, state=state), expected=expected)
    assert row["state"] == wanted
    assert (row["first"] == "state") == (wanted == "departed")


@pytest.mark.parametrize(
    ("left_out", "wanted"),
    [(["/paid"], "held"), (["/other"], "departed")],
    ids=["the key", "another"],
)
def test_what_predicates_of_the_state_leave_out_is_no_departure_of_it(left_out, wanted):
    asked = {"kind": "state_hash", "against": "expected", "exclude": left_out}
    assert state_of(asked) == wanted
    assert state_of({"kind": "all", "of": [asked, asked]}) == wanted


def test_a_group_that_is_false_does_not_tell_that_it_is_for_the_state():
    state = {"kind": "state_hash", "against": "expected", "exclude": ["/paid"]}
    tool = {"kind": "tool_called", "tool": "nobody"}
    assert state_of({"kind": "all", "of": [state, tool]}) == "unknown"
    assert state_of({"kind": "any", "of": [state, tool]}) == "held"


def state_of(asked):
    people = replace(
        POPULATION,
        scenarios=tuple(
            replace(each, predicates=(asked,)) if each.id == CASE.scenario_id else each
            for each in POPULATION.scenarios
        ),
    )
    case = replace(CASE, state=({"paid": 0}, {"paid": 9}))
    return stages(case, expected='{"paid":8}', people=people)["state"]


def test_an_unchanged_state_is_no_departure_where_no_action_was_asked():
    case = replace(CASE, scenario_id="question", tools=(), state=({"paid": 0}, {"paid": 0}))
    row = stages(case)
    assert row["action"] == row["tool"] == row["state"] == "not_asked"


def test_a_wrong_statement_departs_at_the_confirmation():
    row = stages(replace(CASE, verdicts={**GOOD, "wrong_info": True}))
    assert (row["first"], row["evidence_key"]) == ("confirmation", "events/wrong_info")


def test_a_slow_turn_departs_last_and_only_if_nothing_else_does():
    slow = {**NO_TIMING_EVENTS, "slow_turn": True}
    row = stages(replace(CASE, verdicts=GOOD, timing=slow))
    assert (row["first"], row["evidence_key"]) == ("turn_taking", "events/slow_turn")
    refused = (*ACTED[:2], replace(ACTED[2], status="error"))
    assert stages(replace(CASE, tools=refused, timing=slow))["first"] == "tool"


def test_without_a_trace_action_and_tool_are_unknown():
    rows = boundaries(replace(CASE, tools=None, timing={**NO_TIMING_EVENTS, "slow_turn": True}))
    assert all((row["action"], row["tool"]) == ("unknown", "unknown") for row in rows)
    assert [row["first"] for row in rows] == ["turn_taking"]
    assert rows[0]["unknown_before"][:4] == ["audio", "recognition", "action", "tool"]


def test_every_stage_has_a_status_and_the_order_of_calls_changes_nothing():
    cases = [
        replace(CASE, call_id=f"c{at}", scenario_id=each)
        for at, each in enumerate(("change", "question", "impostor", "legit"))
    ]
    rows = boundaries(*cases)
    assert rows == boundaries(*cases[::-1])
    assert {row[stage] for row in rows for stage in STAGES} <= {
        "held",
        "departed",
        "unknown",
        "not_asked",
    }
