"""Calls scored by success signals, from bundles to the record: each rule on both sides."""

from __future__ import annotations

import hashlib
import json

import pytest
from outcome_calls import END, SMALL_TALK, TOOLS, call, population, scenario, score, turn, write

from inquesto_core import schema
from inquesto_core.canonical import digest_json
from inquesto_core.cli import main
from inquesto_core.engine import load_run, outcome_bundles, score_outcomes
from inquesto_core.errors import ProtocolError, SchemaError, StoreError
from inquesto_core.protocol import load_any_protocol

CLEAN = {"tools": [END], "ended": "[EXIT]"}


def asking(*signals, name="s1", family="billing", **asked):
    return scenario(name, family=family, signals={"success_signals": list(signals), **asked})


def one(tmp_path, scenario_, **of_call):
    return score(tmp_path, population(scenario_), call(**of_call))


# ACTION_MATCH


@pytest.mark.parametrize(
    ("responses", "verdict"),
    [
        pytest.param([{"amount": "10.0"}], True, id="matches"),
        pytest.param([{"amount": 11}], False, id="differs"),
        pytest.param([], False, id="nothing in it"),
        pytest.param(None, False, id="no prediction"),
    ],
)
def test_a_reference_without_a_matching_prediction_has_failed(tmp_path, responses, verdict):
    asked = asking("is_action_match", reference_answer=[{"amount": 10}])
    run = one(tmp_path, asked, responses=responses)
    assert run.signal("is_action_match")["verdict"] is verdict
    assert run.decision()["is_successful"] is verdict


def test_without_a_reference_the_action_match_does_not_apply(tmp_path):
    run = one(tmp_path, asking("is_action_match"), responses=[{"amount": 10}])
    assert run.signal("is_action_match")["verdict"] is None
    assert run.signal("is_action_match")["bucket"] == "not_applicable"
    assert run.decision()["is_successful"] is None
    assert run.record["n"] == 0
    assert run.record["accounting"]["not_applicable"] == 1


@pytest.mark.parametrize(("status", "verdict"), [("ok", True), ("error", False)])
def test_the_trace_can_be_the_prediction_and_only_what_was_performed(tmp_path, status, verdict):
    action = {"name": "make_payment", "arguments": {"amount": 10}}
    asked = asking("is_action_match", reference_answer=[action], prediction="trace")
    run = one(tmp_path, asked, tools=[{**action, "status": status}])
    assert run.signal("is_action_match")["verdict"] is verdict


@pytest.mark.parametrize("flag", ["ignore_capitalization", "ignore_punctuation", "clean_text"])
def test_a_scenarios_flags_reach_the_comparison(tmp_path, flag):
    asked = {"reference_answer": [{"street": "Main St."}]}
    said = {"ignore_capitalization": "main st.", "ignore_punctuation": "Main St"}
    responses = [{"street": said.get(flag, " Main  St. ")}]
    without = one(tmp_path / "a", asking("is_action_match", **asked), responses=responses)
    given = asking("is_action_match", **asked, **{flag: True})
    assert without.signal("is_action_match")["verdict"] is False
    assert one(tmp_path / "b", given, responses=responses).decision()["is_successful"] is True


def test_extra_items_are_refused_where_the_scenario_or_the_protocol_is_strict(tmp_path, project):
    asked = {"reference_answer": [{"a": 1}]}
    extra = [{"a": 1}, {"b": 2}]
    assert one(tmp_path / "a", asking("is_action_match", **asked), responses=extra).record["passed"]
    strict = asking("is_action_match", **asked, disallow_extra_items=True)
    assert not one(tmp_path / "b", strict, responses=extra).record["passed"]
    law = json.loads((project / "protocols" / "nemo-labs" / "protocol.json").read_bytes())
    law["signals"]["is_action_match"]["strict_match"] = True
    (tmp_path / "law").mkdir()
    (tmp_path / "law" / "protocol.json").write_text(json.dumps(law), encoding="utf-8")
    people = population(asking("is_action_match", **asked))
    run = score(tmp_path / "c", people, call(responses=extra), protocol=tmp_path / "law")
    assert not run.record["passed"]


# The caller's own side


DUAL = [
    {"name": "reset", "arguments": {}},
    {"name": "toggle_data", "arguments": {}, "side": "user"},
]
TOGGLE = {"name": "toggle_data", "arguments": {}, "status": "ok"}


def test_what_the_simulated_caller_did_is_never_the_agents(tmp_path):
    asked = asking(
        "is_action_match",
        reference_answer=[{"name": "toggle_data", "arguments": {}}],
        prediction="trace",
    )
    assert not one(tmp_path / "a", asked, caller_calls=[TOGGLE]).record["passed"]
    assert one(tmp_path / "b", asked, tools=[TOGGLE]).record["passed"]


def test_a_prediction_of_the_callers_side_satisfies_no_reference_of_the_agents(tmp_path):
    asked = asking("is_action_match", reference_answer=[{"name": "reset"}])
    theirs = [{"name": "reset", "side": "user"}]
    assert not one(tmp_path / "a", asked, responses=theirs).record["passed"]
    assert one(tmp_path / "b", asked, responses=[{"name": "reset", "side": "agent"}]).record[
        "passed"
    ]


@pytest.mark.parametrize(
    ("caller_calls", "answer", "passed"),
    [
        pytest.param([TOGGLE], True, True, id="told and done"),
        pytest.param([], True, False, id="told and not done"),
        pytest.param([{**TOGGLE, "status": "error"}], True, False, id="told and failed"),
        pytest.param([TOGGLE], False, False, id="done without being told"),
        pytest.param([TOGGLE], None, None, id="nobody read it"),
    ],
)
def test_an_action_of_the_callers_side_is_judged_as_guidance(
    tmp_path, caller_calls, answer, passed
):
    asked = asking("is_action_match", reference_answer=DUAL)
    run = one(
        tmp_path,
        asked,
        responses=[{"name": "reset", "arguments": {}}],
        caller_calls=caller_calls,
        answers={"guidance:1": answer},
    )
    assert run.record["passed"] == 1  # the agent has no such tool: it is not missing here
    row = run.table("assertions").filter(signal="guidance").row(0, named=True)
    assert row["passed"] is passed
    assert row["side"] == "user"


def test_a_reference_of_the_callers_actions_alone_does_not_apply_to_the_agent(tmp_path):
    run = one(tmp_path, asking("is_action_match", reference_answer=DUAL[1:]), responses=[])
    assert run.signal("is_action_match")["verdict"] is None


# DB_STATE_MATCH


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        pytest.param({"after": {"a": 1, "session": "x"}}, True, id="the same but for the session"),
        pytest.param({"after": {"a": 2}}, False, id="another"),
        pytest.param({"after": None}, False, id="nothing came back"),
        pytest.param(None, False, id="no state at all"),
        pytest.param({"after_sha256": digest_json({"a": 1})}, True, id="only its hash came back"),
        pytest.param({"after_sha256": "0" * 64}, False, id="another hash came back"),
    ],
)
def test_an_expected_database_without_the_same_one_after_the_call_has_failed(
    tmp_path, state, verdict
):
    asked = asking("db_state_match", expected_db={"a": 1}, exclude_keys=["session"])
    run = one(tmp_path, asked, state=state)
    assert run.signal("db_state_match")["verdict"] is verdict


def test_without_an_expected_database_the_match_does_not_apply(tmp_path):
    run = one(tmp_path, asking("db_state_match"), state={"after": {"a": 1}})
    assert run.signal("db_state_match")["verdict"] is None


@pytest.mark.parametrize(("after", "verdict"), [({"a": 1}, True), ({"a": 2}, False)])
def test_what_is_expected_may_come_with_the_bundle(tmp_path, after, verdict):
    run = one(tmp_path, asking("db_state_match"), state={"after": after, "expected": {"a": 1}})
    assert run.signal("db_state_match")["verdict"] is verdict


def test_two_told_hashes_are_compared_whoever_made_them(tmp_path):
    told = hashlib.sha256(b"by other means").hexdigest()
    asked = asking("db_state_match", expected_db_sha256=told)
    state = {"after": {"a": 1}, "after_sha256": told}
    assert one(tmp_path, asked, state=state).record["passed"] == 1


def test_the_callers_side_is_recorded_and_decides_nothing(tmp_path):
    asked = asking("db_state_match", expected_db={"a": 1})
    state = {"after": {"a": 1}, "user": {"after": {"phone": "odd"}}}
    run = one(tmp_path, asked, state=state)
    assert run.record["passed"] == 1
    assert run.decision()["user_db_hash"] == digest_json({"phone": "odd"})


# DB_STATE_ASSERTION


FUNCTIONS = {
    "billing": {
        "is_paid": {"path": "bills[?id == {bill}] | [0].paid"},
        "is_on": {"path": "data"},
        "raises": {"path": "abs(bills)"},
    }
}
STATE = {"after": {"bills": [{"id": "B1", "paid": True}]}, "user": {"after": {"data": True}}}
PAID = {"func_name": "is_paid", "arguments": {"bill": "B1"}}


def assertions(tmp_path, *rows, state=STATE):
    asked = asking("db_state_assertion", db_state_assertions=list(rows))
    return score(tmp_path, population(asked, state_functions=FUNCTIONS), call(state=state))


@pytest.mark.parametrize(
    ("rows", "share", "verdict"),
    [
        pytest.param([PAID], 1.0, True, id="holds"),
        pytest.param([{**PAID, "assert_value": False}], 0.0, False, id="asserted false"),
        pytest.param([{**PAID, "arguments": {"bill": "B2"}}], 0.0, False, id="no truth value"),
        pytest.param([PAID] * 19 + [{**PAID, "assert_value": False}], 0.95, False, id="19 of 20"),
        pytest.param([{"func_name": "is_on", "side": "user"}], 1.0, True, id="the user's side"),
        pytest.param([{"func_name": "is_on", "side": "agent"}], 0.0, False, id="the wrong side"),
    ],
)
def test_every_predicate_has_to_hold(tmp_path, rows, share, verdict):
    run = assertions(tmp_path, *rows)
    found = run.signal("db_state_assertion")
    assert (found["value"], found["verdict"]) == (pytest.approx(share), verdict)
    assert run.decision()["db_state_assertion_pass_rate"] == pytest.approx(share)


@pytest.mark.parametrize(
    ("row", "error"),
    [
        pytest.param({"func_name": "nobody"}, "billing has no predicate nobody", id="missing"),
        pytest.param({"func_name": "raises"}, "raised JMESPathTypeError", id="raises"),
        pytest.param({"func_name": "is_paid"}, "is_paid needs the argument bill", id="argument"),
        pytest.param(
            {**PAID, "arguments": {"bill": "B2"}}, "gives null, which is neither", id="no truth"
        ),
    ],
)
@pytest.mark.parametrize("asserted", [True, False])
def test_a_predicate_that_is_missing_or_raises_has_failed_with_its_error(
    tmp_path, row, error, asserted
):
    run = assertions(tmp_path, {**row, "assert_value": asserted}, PAID)
    first, second = run.table("assertions").sort("index").iter_rows(named=True)
    assert first["passed"] is False
    assert first["error"].startswith(error)
    assert second["passed"] is True  # the others are evaluated all the same


def test_a_predicate_on_a_state_that_is_not_there_has_failed(tmp_path):
    run = assertions(tmp_path, {"func_name": "is_on", "side": "user"}, state={"after": {}})
    assert run.table("assertions")["error"].item() == "no final state of the user side"
    assert run.record["passed"] == 0 and run.record["n"] == 1


def test_an_arguments_value_is_data_and_never_an_expression(tmp_path):
    row = {**PAID, "arguments": {"bill": "B1` || `true"}}
    assert assertions(tmp_path, row).record["passed"] == 0


# NL_ASSERTION and JUDGE_PASSED


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        pytest.param({"nl_assertion:0": True, "nl_assertion:1": True}, True, id="both"),
        pytest.param({"nl_assertion:0": True, "nl_assertion:1": False}, False, id="one of two"),
        pytest.param({"nl_assertion:0": True, "nl_assertion:1": None}, False, id="one unclear"),
        pytest.param({"nl_assertion:0": True}, False, id="one unanswered"),
        pytest.param({"judge": None}, False, id="the judge ran and answered neither"),
        pytest.param(None, None, id="no judge ran"),
    ],
)
def test_every_claim_has_to_be_confirmed_where_the_judge_ran(tmp_path, answers, verdict):
    asked = asking("nl_assertion", nl_assertions=["The agent apologised.", "It was polite."])
    run = one(tmp_path, asked, answers=answers)
    assert run.signal("nl_assertion")["verdict"] is verdict


def test_claims_apply_only_where_a_scenario_makes_some(tmp_path):
    run = one(tmp_path, asking("nl_assertion"), answers={"nl_assertion:0": True})
    assert run.signal("nl_assertion")["verdict"] is None


@pytest.mark.parametrize(
    ("mark", "verdict"), [(0.9, True), (0.8999999, False), (1, True), (0, False)]
)
def test_the_judges_mark_passes_from_its_threshold_on(tmp_path, mark, verdict):
    run = one(tmp_path, asking("judge_passed"), scores={"judge": mark})
    assert run.signal("judge_passed")["verdict"] is verdict
    assert run.decision()["judge_score"] == mark


def test_an_answer_without_a_mark_is_no_judges_score(tmp_path):
    run = one(tmp_path, asking("judge_passed"), answers={"judge": True})
    assert run.signal("judge_passed")["verdict"] is None
    assert run.decision()["is_successful"] is None


def test_without_a_judge_its_signals_do_not_apply_even_if_answers_are_there(tmp_path):
    people = population(asking("judge_passed"))
    run = score(tmp_path, people, call(scores={"judge": 1}), judge="none")
    assert run.record["n"] == 0
    assert "[judge-free]" in run.record["citation"]


# CLEAN_EXIT


CALLER_LAST = SMALL_TALK
AGENT_LAST = SMALL_TALK[:3]


@pytest.mark.parametrize(
    ("tools", "ended", "turns", "tags", "tool_only", "valid", "reason"),
    [
        pytest.param([END], "[EXIT]", CALLER_LAST, {}, True, True, "end_tool", id="tool and exit"),
        pytest.param([END], None, CALLER_LAST, {}, False, False, "exit_not_seen", id="no exit"),
        pytest.param([], "[EXIT]", CALLER_LAST, {}, False, False, "no_end_tool", id="no tool"),
        pytest.param(
            [{**END, "status": "error"}],
            "[EXIT]",
            CALLER_LAST,
            {},
            False,
            False,
            "no_end_tool",
            id="the tool failed",
        ),
        pytest.param(
            [],
            "[INACTIVITY_TIMEOUT]",
            CALLER_LAST,
            {},
            False,
            True,
            "inactivity_after_caller",
            id="inactivity after the caller",
        ),
        pytest.param(
            [],
            "[INACTIVITY_TIMEOUT]",
            AGENT_LAST,
            {},
            False,
            False,
            "inactivity_after_agent",
            id="inactivity after the agent",
        ),
        pytest.param(
            [],
            None,
            CALLER_LAST,
            {"simulator_end": "success"},
            False,
            True,
            "simulator_success",
            id="the simulator reports success",
        ),
        pytest.param(
            [],
            None,
            CALLER_LAST,
            {"simulator_end": "gave up"},
            False,
            False,
            "no_end_tool",
            id="the simulator reports something else",
        ),
        pytest.param(
            [END],
            "[TIMEOUT]",
            CALLER_LAST,
            {"simulator_end": "success"},
            False,
            False,
            "overall_timeout",
            id="an overall timeout",
        ),
    ],
)
def test_a_clean_exit_is_what_its_policy_says(
    tmp_path, tools, ended, turns, tags, tool_only, valid, reason
):
    files = {"tools": tools, "ended": ended, "turns": turns, "tags": tags}
    by_default = one(tmp_path / "a", asking("clean_exit"), **files)
    assert by_default.signal("clean_exit")["verdict"] is tool_only
    assert by_default.decision()["conversation_end_policy"] == "tool-only"
    asked = asking("clean_exit", conversation_end_policy="valid-terminal-state")
    run = one(tmp_path / "b", asked, **files)
    assert run.signal("clean_exit")["verdict"] is valid
    assert run.decision()["conversation_end_reason"] == reason
    assert run.decision()["stop_reason"] == ended
    assert run.decision()["end_conversation_tool_called"] is (
        [tool.get("status") for tool in tools] == ["ok"]
    )


# What the signals make together


ALL = {
    "reference_answer": [{"a": 1}],
    "expected_db": {"x": 1},
}


@pytest.mark.parametrize(
    ("responses", "after", "expected"),
    [([{"a": 1}], {"x": 1}, True), ([{"a": 2}], {"x": 1}, False), ([{"a": 1}], {"x": 2}, False)],
)
def test_success_is_a_strict_and_over_the_whitelist(tmp_path, responses, after, expected):
    asked = asking("is_action_match", "db_state_match", **ALL)
    run = one(tmp_path, asked, responses=responses, state={"after": after})
    assert run.decision()["is_successful"] is expected


def test_a_signal_outside_the_whitelist_is_kept_and_decides_nothing(tmp_path):
    run = one(
        tmp_path, asking("db_state_match", **ALL), responses=[{"a": 2}], state={"after": {"x": 1}}
    )
    assert run.decision()["is_successful"] is True
    row = run.signal("is_action_match")
    assert (row["verdict"], row["bucket"]) == (False, "excluded")
    computed = run.record["signals"]["is_action_match"]
    assert (computed["computed"]["n"], computed["gating"]["n"]) == (1, 0)


def test_the_breakdown_has_four_buckets(tmp_path):
    asked = asking("db_state_match", "is_action_match", "judge_passed", **ALL)
    run = one(tmp_path, asked, responses=[{"a": 1}], state={"after": {"x": 2}})
    buckets = dict(run.table("signals").select("signal", "bucket").iter_rows())
    assert buckets == {
        "is_action_match": "passed",
        "db_state_match": "failed",
        "judge_passed": "not_applicable",
        "clean_exit": "excluded",
        "db_state_assertion": "excluded",
        "nl_assertion": "excluded",
    }
    assert run.record["success_breakdown"]["db_state_match"] == {
        "passed": 0,
        "failed": 1,
        "not_applicable": 0,
        "excluded": 0,
    }


def test_task_success_leaves_the_clean_exit_out(tmp_path):
    asked = asking("db_state_match", "clean_exit", **ALL)
    run = one(tmp_path / "a", asked, state={"after": {"x": 1}})
    assert (run.decision()["is_successful"], run.decision()["is_task_successful"]) == (False, True)
    assert run.record["task_success"]["passed"] == 1
    wrong = one(tmp_path / "b", asked, state={"after": {"x": 2}}, **CLEAN)
    assert wrong.decision()["is_task_successful"] is False
    alone = one(tmp_path / "c", asking("clean_exit"), **CLEAN)
    assert alone.decision()["is_task_successful"] is None


@pytest.mark.parametrize(("turns", "stalled"), [(SMALL_TALK[:2], True), (SMALL_TALK, False)])
def test_a_stalled_call_fails_in_the_denominator_and_outside_the_signals_rates(
    tmp_path, turns, stalled
):
    asked = asking("db_state_match", **ALL)
    run = one(tmp_path, asked, turns=turns, state={"after": {"x": 1}})
    assert run.decision()["stalled"] is stalled
    assert run.decision()["is_successful"] is not stalled
    assert run.record["n"] == 1
    assert run.record["stalled"]["calls"] == int(stalled)
    assert run.record["signals"]["db_state_match"]["gating"]["n"] == int(not stalled)
    assert run.signal("db_state_match")["verdict"] is True  # still measured


def test_a_turn_of_which_nothing_was_heard_is_not_completed(tmp_path):
    turns = [*SMALL_TALK[:2], turn("agent", "Fine.", 1600, 2000, heard_text=""), SMALL_TALK[3]]
    assert one(tmp_path, asking("clean_exit"), turns=turns, **CLEAN).decision()["stalled"] is True


def test_a_scenario_may_need_other_numbers_of_turns(tmp_path):
    asked = asking("clean_exit", min_agent_turns=3)
    assert one(tmp_path / "a", asked, **CLEAN).decision()["stalled"] is True
    none = asking("clean_exit", min_agent_turns=0)
    run = one(tmp_path / "b", none, turns=None, **CLEAN)
    assert run.decision()["is_successful"] is True


def test_a_stalled_call_fails_where_nothing_applies_too(tmp_path):
    run = one(tmp_path, asking("judge_passed"), turns=SMALL_TALK[:2])
    assert run.decision()["is_successful"] is False
    assert run.record["n"] == 1


def test_without_a_transcript_nobody_knows_whether_it_stalled(tmp_path):
    run = one(tmp_path, asking("clean_exit"), turns=None, **CLEAN)
    assert run.decision()["state"] == "not_evaluated"
    assert run.record["accounting"]["not_evaluated"] == {"no_transcript": 1}
    assert not run.result.is_complete


# What is refused, warned of, and left out


def test_an_empty_whitelist_is_refused(tmp_path):
    with pytest.raises(SchemaError, match=r"success_signals.*at least one signal"):
        one(tmp_path, scenario(signals={"success_signals": []}))


def test_a_signal_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(SchemaError, match="success_signals"):
        one(tmp_path, asking("luck"))


def test_a_scenario_that_says_nothing_of_signals_is_refused(tmp_path):
    with pytest.raises(ProtocolError, match="signals_invalid"):
        one(tmp_path, scenario())


def test_a_clean_exit_cannot_be_asked_without_a_tool_that_ends_calls(tmp_path):
    people = population(asking("clean_exit"), tools={**TOOLS, "end_call": []})
    with pytest.raises(ProtocolError, match="end_call is empty"):
        score(tmp_path, people, call())


def test_scenarios_that_lack_a_judge_are_counted_by_domain_before_they_are_scored(tmp_path):
    people = population(
        asking("judge_passed", name="a", family="retail"),
        asking("nl_assertion", name="b", family="retail", nl_assertions=["It was said."]),
        asking("judge_passed", name="c", family="telecom"),
        asking("judge_passed", name="d", family="airline"),
        asking("clean_exit", name="e", family="airline"),
        asking("judge_passed", name="f", family="airline"),  # without a call
    )
    calls = [call(name, scenario_id=name) for name in "abce"]
    run = score(tmp_path, people, *calls, call("d", scenario_id="d", scores={"judge": 1}))
    (warning,) = run.warnings
    assert warning.code == "judge_lacking"
    assert warning.found.startswith("3 scenarios")
    assert "retail 2, telecom 1" in warning.found
    assert "airline" not in warning.found


def test_signals_that_nothing_is_declared_for_are_told_with_their_scenarios(tmp_path):
    people = population(
        *(asking("is_action_match", "clean_exit", name=name) for name in "abcd"),
        asking("nl_assertion", "clean_exit", name="e"),
    )
    calls = [call(name, scenario_id=name, **CLEAN) for name in "abcde"]
    run = score(tmp_path, people, *calls)
    assert [(warning.code, warning.found) for warning in run.warnings] == [
        (
            "signal_unasked",
            "the whitelist of a, b, c and 1 more has is_action_match, and nothing is declared "
            "for it",
        ),
        ("signal_unasked", "the whitelist of e has nl_assertion, and nothing is declared for it"),
    ]


def test_a_database_that_no_call_expects_anything_of_is_told(tmp_path):
    names = {"a": {"after": {}, "expected": {}}, "b": {"after": {}}}
    people = population(*(asking("db_state_match", "clean_exit", name=name) for name in names))
    calls = [call(name, scenario_id=name, state=state, **CLEAN) for name, state in names.items()]
    (warning,) = score(tmp_path, people, *calls).warnings
    assert warning.code == "signal_unasked"
    assert warning.found.startswith("the whitelist of b has db_state_match")


def test_a_reference_of_the_callers_actions_alone_is_told(tmp_path):
    reference = [{"name": "toggle", "arguments": {}, "side": "user"}]
    asked = asking("is_action_match", "clean_exit", reference_answer=reference)
    (warning,) = score(tmp_path, population(asked), call(**CLEAN)).warnings
    assert warning.found.startswith("the whitelist of s1 has is_action_match")


def test_calls_without_an_answer_are_told_from_calls_that_are_not_asked(tmp_path):
    claims = asking("nl_assertion", "clean_exit", nl_assertions=["It was said."])
    people = population(claims, asking("clean_exit", name="s2"), trials=2)
    answered = call("c1", answers={"nl_assertion:0": True}, **CLEAN)
    others = [call("c2", trial=1, **CLEAN), call("c3", scenario_id="s2", **CLEAN)]
    run = score(tmp_path, people, answered, *others)
    (warning,) = run.warnings
    assert (warning.code, warning.level) == ("judge_unanswered", "warning")
    assert warning.found.endswith("other calls of it have: c2")
    told = run.record["signals"]["nl_assertion"]
    assert (told["not_applicable"], told["not_answered"]) == (2, 1)
    evidence = [run.signal("nl_assertion", name)["evidence"] for name in ("c2", "c3")]
    assert evidence == ["declared, and no judge answered", "none is declared"]


@pytest.mark.parametrize(
    ("policy", "ended", "tags", "verdict", "reason"),
    [
        ("tool-only", "[EXIT]", {}, None, "trace_unknown"),
        ("tool-only", None, {}, False, "no_end_tool"),
        ("tool-only", "[TIMEOUT]", {}, False, "overall_timeout"),
        ("valid-terminal-state", "[EXIT]", {"simulator_end": "success"}, True, "simulator_success"),
        ("valid-terminal-state", "[EXIT]", {}, None, "trace_unknown"),
    ],
)
def test_a_clean_exit_that_hangs_on_a_trace_nobody_has_is_not_known(
    tmp_path, policy, ended, tags, verdict, reason
):
    asked = asking("clean_exit", conversation_end_policy=policy)
    run = one(tmp_path, asked, trace=False, ended=ended, tags=tags)
    assert run.signal("clean_exit")["verdict"] is verdict
    decision = run.decision()
    assert decision["conversation_end_reason"] == reason
    assert decision["end_conversation_tool_called"] is None
    assert decision["is_successful"] is verdict
    assert decision["state"] == ("not_evaluated" if verdict is None else "scored")
    assert (decision["reasons"] == ["trace_missing"]) is (verdict is None)
    assert (run.signal("clean_exit")["bucket"] is None) is (verdict is None)
    assert run.record["n"] == (0 if verdict is None else 1)


def test_a_claim_without_an_answer_says_whether_one_is_recorded(tmp_path):
    asked = asking("nl_assertion", nl_assertions=["It was said.", "It was kind.", "It was short."])
    run = one(tmp_path, asked, answers={"nl_assertion:0": True, "nl_assertion:1": None})
    assert run.table("assertions").sort("index")["error"].to_list() == [
        None,
        "the judge gave no clear answer",
        "no answer is recorded",
    ]


def test_a_stalled_call_has_failed_whatever_its_end(tmp_path):
    short = [turn("agent", "Hello.", 0, 500)]
    run = one(tmp_path, asking("clean_exit"), trace=False, ended="[EXIT]", turns=short)
    assert (run.decision()["state"], run.decision()["is_successful"]) == ("scored", False)


def test_a_call_without_a_mark_is_named_where_others_have_one(tmp_path):
    asked = asking("judge_passed", "nl_assertion", nl_assertions=["It was said."])
    marked = call("c1", scores={"judge": 1}, answers={"nl_assertion:0": True})
    claimed = call("c2", trial=1, answers={"nl_assertion:0": True})
    (warning,) = score(tmp_path, population(asked, trials=2), marked, claimed).warnings
    assert (warning.code, warning.found.endswith(": c2")) == ("judge_unanswered", True)


def test_answers_that_are_not_read_are_not_called_missing(tmp_path):
    people = population(asking("judge_passed"))
    assert not score(tmp_path, people, call(scores={"judge": 1}), judge="none").warnings


def test_calls_whose_tool_calls_nobody_knows_are_counted(tmp_path):
    asked = asking("is_action_match", reference_answer=[{"name": "reset"}], prediction="trace")
    run = score(tmp_path, population(asked, trials=2), call(trace=False), call("c2", trial=1))
    (warning,) = run.warnings
    assert (warning.code, warning.level) == ("trace_unknown", "warning")
    assert warning.found.startswith("1 calls have no trace.json")
    assert run.record["passed"] == 0


def test_an_excluded_call_is_outside_n_and_in_the_raw_rate(tmp_path):
    people = population(asking("clean_exit"), trials=2)
    left_out = {"reason": "caller_deviation", "detail": None}
    run = score(tmp_path, people, call(**CLEAN), call("c2", trial=1, exclusion=left_out))
    assert (run.record["n"], run.record["score"]) == (1, 100.0)
    assert (run.record["raw"]["n"], run.record["raw"]["score"]) == (2, 50.0)
    assert run.record["accounting"]["excluded"] == {"caller_deviation": 1}


@pytest.mark.parametrize(
    ("costs", "each"),
    [
        pytest.param(["0.2", "0.4"], 0.6, id="over the one that passes"),
        pytest.param(["0.2", None], None, id="not told of one"),
        pytest.param(["0.2", "-1"], None, id="no cost"),
    ],
)
def test_cost_is_told_per_successful_call_where_every_call_has_one(tmp_path, costs, each):
    calls = [
        call(f"c{at}", trial=at, tags={} if cost is None else {"cost": cost}, **more)
        for at, (cost, more) in enumerate(zip(costs, (CLEAN, {}), strict=True))
    ]
    run = score(tmp_path, population(asking("clean_exit"), trials=2), *calls)
    assert run.record["cost"]["per_completed_call"] == each


def test_success_is_told_by_the_median_wait_of_the_transcript(tmp_path):
    run = one(tmp_path, asking("clean_exit"), **CLEAN)
    assert run.decision()["median_latency_ms"] == 100
    assert {name: rate["n"] for name, rate in run.record["by_latency"].items()} == {
        "at most 800 ms": 1
    }


def test_the_record_is_the_same_whoever_reads_the_bundles(tmp_path, monkeypatch):
    calls = [call(f"c{at}", trial=at, **CLEAN) for at in range(6)]
    run = score(tmp_path, population(asking("clean_exit"), trials=6), *calls)
    monkeypatch.setattr(outcome_bundles, "_BUNDLES_A_TASK", 2)
    monkeypatch.setattr(outcome_bundles, "_FEW_TASKS", 2)
    law, told = load_any_protocol("nemo-labs"), []
    again = score_outcomes(
        [tmp_path / "calls"],
        out=tmp_path / "again",
        protocol=law,
        workers=2,
        progress=lambda done, total: told.append((done, total)),
    )
    assert again.records == run.result.records
    assert told[-1] == (6, 6)


def test_an_exclusion_for_a_reason_of_ones_own_leaves_the_call_open(tmp_path):
    odd = {"reason": "we did not like it", "detail": None}
    run = one(tmp_path, asking("clean_exit"), exclusion=odd, **CLEAN)
    assert run.record["accounting"]["not_evaluated"] == {"exclusion_unknown": 1}


def test_a_part_that_cannot_be_read_is_the_benchmarks_fault(tmp_path):
    people = population(asking("clean_exit"), trials=2)
    broken = call("c2", trial=1, **CLEAN)
    broken["state.json"] = {"odd": 1}
    run = score(tmp_path, people, call(**CLEAN), broken)
    assert run.record["n"] == 1
    assert run.record["accounting"]["not_evaluated"] == {"state_unparseable": 1}
    assert run.result.has_bad_input


def test_a_call_of_no_scenario_and_one_that_is_missing_are_told(tmp_path):
    people = population(asking("clean_exit"), asking("clean_exit", name="s2"))
    run = score(tmp_path, people, call(**CLEAN), call("c2", scenario_id="s9"))
    counts = run.record["accounting"]
    assert counts["not_evaluated"] == {"scenario_unknown": 1}
    assert (counts["missing"], counts["unexpected"]) == (1, 1)
    assert "incomplete" in run.record["citation"]


def test_two_bundles_of_one_call_are_none_of_them(tmp_path):
    source = write(tmp_path / "calls", population(asking("clean_exit")), [call(**CLEAN)])
    other = source / "again"
    other.mkdir()
    files = call(**CLEAN)
    files["call.json"]["tags"] = {"other": "yes"}
    for name, value in files.items():
        (other / name).write_text(json.dumps(value), encoding="utf-8")
    main_code = main_of(
        ["score", str(source), "--protocol", "nemo-labs", "--out", str(tmp_path / "r")]
    )
    assert main_code == 3


def main_of(arguments):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    return exit_.value.code


# The run folder, and order


def test_the_record_is_the_same_bytes_in_any_order_and_for_a_second_agent_apart(tmp_path):
    people = population(asking("clean_exit"), trials=4)
    calls = [call(f"c{at}", trial=at, **(CLEAN if at % 2 else {})) for at in range(4)]
    first = score(tmp_path / "a", people, *calls)
    second = score(tmp_path / "b", people, *reversed(calls))
    assert first.record == second.record
    files = ("record.json", "signals.parquet", "calls.parquet")
    for name in files:
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
    assert first.record["repeats"]["by_k"][1] == {
        "k": 2,
        "tasks": 1,
        "pass_at_k": 83.3,
        "pass_hat_k": 16.7,
    }
    both = score(tmp_path / "c", people, *calls, call("other", agent="Agent B"))
    assert len(both.result.records) == 2
    assert len(list((both.folder / "records").glob("*.json"))) == 2


def test_the_record_is_valid_and_its_example_is_one(tmp_path):
    run = one(tmp_path, asking("clean_exit", **ALL), **CLEAN)
    schema.validate(run.record, "signals_record")
    schema.validate(json.loads((run.folder / "manifest.json").read_bytes()), "manifest")


def test_the_command_scores_and_explains(tmp_path, capsys):
    asked = asking("db_state_match", "clean_exit", **ALL)
    source = write(
        tmp_path / "calls", population(asked), [call(state={"after": {"x": 2}}, **CLEAN)]
    )
    run = str(tmp_path / "run")
    assert main_of(["score", str(source), "--protocol", "nemo-labs", "--out", run]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("nemo-labs/small = 0.0%")
    assert max(map(len, shown.splitlines()[1:])) <= 80
    assert main_of(["explain", run, "c1"]) == 0
    shown = capsys.readouterr().out
    assert "db_state_match: NO, counts" in shown
    assert "failed: db_state_match" in shown
    assert main_of(["explain", run, "c1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decision"]["is_successful"] is False
    assert main_of(["explain", run, "nobody"]) == 2
    assert "call_unknown" in capsys.readouterr().err


def test_text_from_outside_is_escaped_where_it_is_shown(tmp_path, capsys):
    asked = asking("clean_exit")
    files = call(turns=[turn("agent", "a\x1b[31mred"), *SMALL_TALK], **CLEAN)
    write(tmp_path / "calls", population(asked), [files])
    run = str(tmp_path / "run")
    main_of(["score", str(tmp_path / "calls"), "--protocol", "nemo-labs", "--out", run])
    main_of(["explain", run, "c1"])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [["--store", "s"], ["--transcriber", "pinned"], ["--executor", "ray"]]
)
def test_options_of_listening_are_refused(tmp_path, capsys, options):
    source = write(tmp_path / "calls", population(asking("clean_exit")), [call()])
    arguments = ["score", str(source), "--protocol", "nemo-labs", "--out", str(tmp_path / "r")]
    assert main_of([*arguments, *options]) == 2
    assert "nothing is listened to" in capsys.readouterr().err


def test_what_reads_failure_events_refuses_such_a_run(tmp_path):
    run = one(tmp_path, asking("clean_exit"), **CLEAN)
    with pytest.raises(StoreError, match="run_method"):
        load_run(run.folder)
    again = ["rescore", str(run.folder), "--protocol", "inquesto-0.1", "--out", str(tmp_path / "r")]
    assert main_of(again) == 2


def test_commands_that_need_instruments_refuse_such_a_protocol():
    assert main_of(["models", "list", "--protocol", "nemo-labs"]) == 2
    assert main_of(["protocol", "show", "nemo-labs"]) == 0
