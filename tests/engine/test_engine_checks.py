"""Calls scored by checks, from bundles to the record: each rule on both sides."""

from __future__ import annotations

import json
import re

import pytest
from outcome_calls import PAY, TOOLS, VERIFY, call, population, scenario, score, turn, write

from inquesto_core import schema
from inquesto_core.cli import main
from inquesto_core.errors import ProtocolError, SchemaError
from inquesto_core.protocol import load_any_protocol

GATE = {"id": "gate", "kind": "verified"}
PAPERLESS = {"name": "set_paperless", "status": "ok", "arguments": {}, "start_ms": 12000}

ASK_NAME = turn("agent", "Who is calling?", 0, 1000)
NAME = turn("caller", "Ann Lee.", 1500, 2000)
QUOTE = turn("agent", "Your balance is $65.52. Shall I take a payment of $65.52?", 4000, 8000)
YES = turn("caller", "Yes, go ahead.", 8500, 9500)
DONE = turn("agent", "That is done.", 13000, 13500)
TURNS = [ASK_NAME, NAME, QUOTE, YES, DONE]


def asking(name="s1", *, verification=(GATE,), changes=(), spoken=(), **more):
    checks = {
        "requests": more.pop("requests", ["payment"]),
        "persona": more.pop("persona", "calm"),
        "verification": list(verification),
        "changes": list(changes),
        "spoken": list(spoken),
        **({"allow_other_changes": True} if more.pop("allow_other", False) else {}),
    }
    return scenario(name, checks=checks, **more)


def one(tmp_path, scenario_, *, tools=(VERIFY,), turns=TURNS, more=None, **of_call):
    people = population(scenario_, **(more or {}))
    return score(tmp_path, people, call(tools=tools, turns=turns, **of_call), protocol="vamos")


# The three assertions


@pytest.mark.parametrize(
    ("tools", "turns", "failed"),
    [
        pytest.param([VERIFY, PAY], TURNS, None, id="all pass"),
        pytest.param([PAY, VERIFY], TURNS, "verification", id="paid before verification"),
        pytest.param([VERIFY], TURNS, "changes", id="not paid"),
        pytest.param([VERIFY, PAY], [ASK_NAME, NAME], "spoken", id="not said"),
    ],
)
def test_a_call_is_completed_where_all_three_assertions_pass(tmp_path, tools, turns, failed):
    asked = asking(
        changes=[{"id": "pay", "kind": "change", "tool": "make_payment"}],
        spoken=[amount()],
    )
    decision = one(tmp_path, asked, tools=tools, turns=turns).decision()
    for name in ("verification", "changes", "spoken"):
        assert decision[name] is (name != failed)
    assert decision["completed"] is (failed is None)


def test_an_assertion_without_checks_asks_for_nothing(tmp_path):
    decision = one(tmp_path, asking()).decision()
    assert decision["spoken"] is True and decision["completed"] is True


# Verification and disclosure


@pytest.mark.parametrize(
    ("tools", "verdict"),
    [
        pytest.param([VERIFY, PAY], True, id="verified first"),
        pytest.param([PAY, VERIFY], False, id="verified after"),
        pytest.param([{**VERIFY, "result": {"verified": False}}, PAY], False, id="denied"),
        pytest.param([{**VERIFY, "status": "error"}, PAY], False, id="failed"),
        pytest.param([PAY], False, id="never verified"),
        pytest.param([], False, id="never verified, nothing done"),
        pytest.param([VERIFY], True, id="nothing done"),
    ],
)
def test_the_caller_is_verified_before_the_account_is_used(tmp_path, tools, verdict):
    asked = asking(allow_other=True)
    assert one(tmp_path, asked, tools=tools).check("gate")["code"] is verdict


def test_which_tools_are_guarded_and_whether_verification_is_needed_is_the_checks_to_say(tmp_path):
    look = {"name": "find_account", "status": "ok"}
    guarded = asking(verification=[{**GATE, "before": ["find_account"]}])
    assert one(tmp_path / "a", guarded, tools=[look, VERIFY]).check("gate")["code"] is False
    assert one(tmp_path / "b", asking(), tools=[look, VERIFY]).check("gate")["code"] is True
    relaxed = asking(verification=[{**GATE, "required": False}])
    assert one(tmp_path / "c", relaxed, tools=[]).check("gate")["code"] is True


HUSH = {
    "id": "hush",
    "kind": "not_disclosed",
    "value": 65.52,
    "tolerance": 0,
    "window": "before_verification",
}


@pytest.mark.parametrize(
    ("start", "end", "tools", "verdict"),
    [
        pytest.param(4000, 8000, [VERIFY], True, id="after verification"),
        pytest.param(1000, 2400, [VERIFY], False, id="before verification"),
        pytest.param(4000, 8000, [], False, id="never verified"),
        pytest.param(2000, 8000, [VERIFY], None, id="across its end"),
        pytest.param(None, None, [VERIFY], None, id="nobody knows when"),
    ],
)
def test_an_amount_is_not_disclosed_before_verification(tmp_path, start, end, tools, verdict):
    turns = [turn("agent", "You owe $65.52.", start, end)]
    asked = asking(verification=[HUSH])
    assert one(tmp_path, asked, tools=tools, turns=turns).check("hush")["code"] is verdict


@pytest.mark.parametrize(("said", "verdict"), [("Ann Lee lives here.", False), ("Anne-Lee?", True)])
def test_words_can_be_what_is_not_disclosed(tmp_path, said, verdict):
    check = {"id": "hush", "kind": "not_disclosed", "any_of": ["ann lee"], "window": "call"}
    run = one(tmp_path, asking(verification=[check]), turns=[turn("agent", said, 0, 900)])
    assert run.check("hush")["code"] is verdict


# Account changes


def change(name="pay", tool="make_payment", **more):
    return {"id": name, "kind": "change", "tool": tool, **more}


@pytest.mark.parametrize(
    ("tool", "verdict"),
    [
        pytest.param(PAY, True, id="succeeded"),
        pytest.param({**PAY, "status": "error"}, False, id="failed"),
        pytest.param({**PAY, "result": {"success": False}}, False, id="denied by its result"),
        pytest.param({**PAY, "result": '{"success": false}'}, False, id="denied in text"),
        pytest.param({**PAY, "status": "cancelled"}, False, id="cancelled"),
    ],
)
def test_a_change_is_inferred_from_a_successful_result(tmp_path, tool, verdict):
    run = one(tmp_path, asking(changes=[change()]), tools=[VERIFY, tool])
    assert run.check("pay")["code"] is verdict


def test_what_the_agent_only_says_it_did_is_no_change(tmp_path):
    turns = [*TURNS, turn("agent", "I have made the payment of $65.52.", 14000, 15000)]
    run = one(tmp_path, asking(changes=[change()]), turns=turns)
    assert run.check("pay")["code"] is False


@pytest.mark.parametrize(
    ("amount_", "tolerance", "verdict"),
    [
        (65.52, 0, True),
        ("65.52", 0, True),
        (65.53, 0, False),
        (65.53, 0.01, True),
        (65.54, 0.01, False),
        ("much", 100, False),
        (True, 100, False),
        (None, 100, False),
    ],
)
def test_required_values_are_met_within_their_tolerance(tmp_path, amount_, tolerance, verdict):
    wanted = [{"path": "amount", "value": 65.52, "tolerance": tolerance}]
    tool = {**PAY, "arguments": {"amount": amount_}}
    run = one(tmp_path, asking(changes=[change(arguments=wanted)]), tools=[VERIFY, tool])
    assert run.check("pay")["code"] is verdict


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        ({"plan": {"months": 6}}, True),
        ('{"plan": {"months": 6.0}}', True),
        ({"plan": {"months": 7}}, False),
        (None, None),
    ],
)
def test_required_values_are_read_from_results_too(tmp_path, result, verdict):
    wanted = [{"path": "plan.months", "equals": 6}]
    tool = {**PAY, "result": result}
    run = one(tmp_path, asking(changes=[change(result=wanted)]), tools=[VERIFY, tool])
    assert run.check("pay")["code"] is verdict


@pytest.mark.parametrize(
    ("tools", "verdicts"),
    [
        pytest.param([PAY, PAPERLESS], (True, True), id="in order"),
        pytest.param([PAPERLESS, PAY], (True, False), id="in the other order"),
        pytest.param([PAPERLESS, PAY, PAPERLESS], (True, True), id="again, in order"),
        pytest.param([PAPERLESS], (False, True), id="the first is missing"),
    ],
)
def test_changes_are_made_in_order(tmp_path, tools, verdicts):
    asked = asking(changes=[change(), change("paper", "set_paperless")], allow_other=True)
    run = one(tmp_path, asked, tools=[VERIFY, *tools])
    assert (run.check("pay")["code"], run.check("paper")["code"]) == verdicts


def test_two_equal_changes_need_two_calls(tmp_path):
    asked = asking(changes=[change("a"), change("b")])
    assert one(tmp_path / "a", asked, tools=[VERIFY, PAY]).check("b")["code"] is False
    again = {**PAY, "start_ms": 12000, "end_ms": 12500}
    assert one(tmp_path / "b", asked, tools=[VERIFY, PAY, again]).check("b")["code"] is True


@pytest.mark.parametrize(
    ("tools", "allowed", "verdict"),
    [
        pytest.param([PAY], False, True, id="only what was required"),
        pytest.param([PAY, PAPERLESS], False, False, id="another"),
        pytest.param([PAY, PAY], False, False, id="the same twice"),
        pytest.param([PAY, {**PAPERLESS, "status": "error"}], False, True, id="another failed"),
        pytest.param([PAY, PAPERLESS], True, None, id="another is allowed"),
    ],
)
def test_no_other_change_is_made(tmp_path, tools, allowed, verdict):
    run = one(tmp_path, asking(changes=[change()], allow_other=allowed), tools=[VERIFY, *tools])
    rows = run.table("checks").filter(check="no_other_change")["code"].to_list()
    assert rows == ([] if verdict is None else [verdict])


# Consent


CONSENT = {
    "id": "consent",
    "kind": "consent",
    "tool": "make_payment",
    "value": 65.52,
    "tolerance": 0,
    "topic": ["payment", "pay"],
}


def no(text, start=8500):
    return turn("caller", text, start, start + 900)


@pytest.mark.parametrize(
    ("turns", "verdict"),
    [
        pytest.param([QUOTE, YES], True, id="put, agreed, done"),
        pytest.param(
            [turn("agent", "The balance is $65.52. Shall I pay it?", 4000, 8000), YES],
            True,
            id="put in two sentences",
        ),
        pytest.param(
            [turn("agent", "The balance is $65.52.", 4000, 8000), YES], False, id="never put"
        ),
        pytest.param(
            [
                turn("caller", "How much is the payment?", 2100, 3900),
                turn("agent", "Sixty-five fifty-two. Shall I go ahead?", 4000, 8000),
                YES,
            ],
            True,
            id="put in answer to a question",
        ),
        pytest.param(
            [
                turn("caller", "I want to make a payment.", 2100, 3900),
                turn("agent", "Your balance is $65.52.", 4000, 8000),
                YES,
            ],
            False,
            id="another amount than was spoken of before",
        ),
        pytest.param([QUOTE], False, id="never agreed"),
        pytest.param([QUOTE, no("No, not today.")], False, id="refused"),
        pytest.param(
            [QUOTE, no("No."), no("Oh, go ahead.", 9400)], True, id="refused, then agreed"
        ),
        pytest.param([QUOTE, YES, no("Wait, stop.", 9600)], False, id="agreed, then took it back"),
        pytest.param([QUOTE, no("No, yes, well.")], None, id="both at once"),
        pytest.param([QUOTE, no("The weather.")], False, id="something else"),
        pytest.param([YES, QUOTE], False, id="a yes before it was put"),
        pytest.param([QUOTE, turn("caller", "Yes.", 10500, 10900)], False, id="a yes afterwards"),
        pytest.param(
            [turn("agent", "Shall I take a payment of $70?", 4000, 8000), YES], False, id="not this"
        ),
        pytest.param(
            [turn("agent", "A payment of $65.52 is due.", None, None), turn("caller", "Yes.")],
            None,
            id="nobody knows when",
        ),
    ],
)
def test_consent_is_given_before_the_action(tmp_path, turns, verdict):
    asked = asking(changes=[change(), CONSENT])
    run = one(tmp_path, asked, tools=[VERIFY, PAY], turns=turns)
    assert run.check("consent")["code"] is verdict


@pytest.mark.parametrize(
    ("said", "phrases", "verdict"),
    [
        pytest.param("Righto.", None, False, id="no word of the protocol's"),
        pytest.param("Righto.", {"en": {"yes": ["righto"]}}, True, id="the population's"),
        pytest.param("No problem.", None, False, id="read as a refusal"),
        pytest.param("No problem.", {"en": {"yes": ["no problem"]}}, True, id="a yes with a no"),
        pytest.param(
            "Ja, gerne.", {"en": {"yes": ["righto"]}}, False, id="a language that nobody named"
        ),
        pytest.param(
            "Ja, gerne.", {"de": {"yes": ["passt schon"]}}, True, id="what is built in for it"
        ),
        pytest.param("Nein, danke.", {"de": {"yes": ["passt schon"]}}, False, id="refused in it"),
        pytest.param("Sim.", {"pt": {"yes": ["sim"]}}, True, id="a language of one's own"),
        pytest.param(
            "Sim, mas não hoje.",
            {"pt": {"yes": ["sim"], "negation": ["não"]}},
            None,
            id="taken back",
        ),
    ],
)
def test_a_populations_phrases_agree_and_refuse_beside_the_protocols(
    tmp_path, said, phrases, verdict
):
    turns = [QUOTE, turn("caller", said, 8500, 9500)]
    more = {} if phrases is None else {"phrases": phrases}
    asked = asking(changes=[change(), CONSENT])
    run = one(tmp_path, asked, tools=[VERIFY, PAY], turns=turns, more=more)
    assert run.check("consent")["code"] is verdict


@pytest.mark.parametrize(
    ("wait", "band"),
    [
        pytest.param(800, "at most 800 ms", id="at the edge"),
        pytest.param(801, "at most 1500 ms", id="behind it"),
        pytest.param(None, "no median", id="not told"),
    ],
)
def test_completion_is_told_by_the_median_wait_of_the_transcript(tmp_path, wait, band):
    reply = None if wait is None else 2000 + wait
    turns = [NAME, turn("agent", "Thank you.", reply, None)]
    run = one(tmp_path, asking(), turns=turns)
    assert {name: rate["n"] for name, rate in run.record["by_latency"].items()} == {band: 1}
    assert run.decision()["median_latency_ms"] == wait


def test_what_was_never_done_needed_no_consent(tmp_path):
    assert one(tmp_path, asking(changes=[CONSENT]), turns=[]).check("consent")["code"] is True


# Transfers


@pytest.mark.parametrize("expected", [True, False])
def test_a_transfer_is_a_tool_call_and_no_promise(tmp_path, expected):
    asked = asking(changes=[{"id": "move", "kind": "transfer", "expected": expected}])
    moved = [VERIFY, {"name": "transfer_to_human", "status": "ok"}]
    promise = [*TURNS, turn("agent", "I am transferring you to a person.", 14000, 15000)]
    failed = [VERIFY, {"name": "transfer_to_human", "status": "error"}]
    assert one(tmp_path / "a", asked, tools=moved).check("move")["code"] is expected
    assert one(tmp_path / "b", asked, turns=promise).check("move")["code"] is not expected
    assert one(tmp_path / "c", asked, tools=failed).check("move")["code"] is not expected


# What is said


def amount(**more):
    return {
        "id": "balance",
        "kind": "spoken_amount",
        "value": 65.52,
        "tolerance": 0,
        "topic": ["balance", "owe"],
        "window": "call",
        **more,
    }


@pytest.mark.parametrize(
    "said",
    [
        "Your balance is $65.52.",
        "Your balance is sixty-five fifty-two.",
        "Your balance is sixty-five dollars and fifty-two cents.",
        "You owe us 65 dollars and 52 cents.",
        "Your BALANCE: 65.52 dollars, due in May.",
        "I have your balance here. It's $65.52.",
        "$65.52 is your balance.",
        "A payment of $20 is due, and your balance is $65.52.",
        "Your balance is $65.52, and $99999999999999999999999999 is no sum.",
    ],
)
def test_a_required_amount_is_said_in_any_form(tmp_path, said):
    run = one(tmp_path, asking(spoken=[amount()]), turns=[turn("agent", said, 0, 900)])
    assert run.check("balance")["code"] is True, run.check("balance")["evidence"]


@pytest.mark.parametrize(
    "said",
    [
        "Your balance is $65.53.",
        "Your balance is here; your post code is 6552.",
        "Your balance is fine. There are sixty-five payments over fifty-two weeks.",
        "Your balance is $20. The late fee is $65.52.",
        "The fee is $65.52.",
        "Goodbye.",
    ],
)
def test_another_amount_or_topic_is_not_what_was_required(tmp_path, said):
    run = one(tmp_path, asking(spoken=[amount()]), turns=[turn("agent", said, 0, 900)])
    assert run.check("balance")["code"] is False, run.check("balance")["evidence"]


def test_a_topic_that_stands_further_off_is_unclear(tmp_path):
    turns = [turn("agent", "I looked at your balance. The fee is $65.52.", 0, 900)]
    assert one(tmp_path, asking(spoken=[amount()]), turns=turns).check("balance")["code"] is None


def test_the_callers_question_gives_a_bare_answer_its_topic(tmp_path):
    asked = asking(spoken=[amount()])
    answer = turn("agent", "Sixty-five fifty-two.", 2000, 3000)
    about = turn("caller", "What is my balance?", 0, 900)
    other = turn("caller", "What is my zip code?", 0, 900)
    assert one(tmp_path / "a", asked, turns=[about, answer]).check("balance")["code"] is True
    assert one(tmp_path / "b", asked, turns=[other, answer]).check("balance")["code"] is False


def test_what_the_caller_says_is_no_statement_of_the_agents(tmp_path):
    turns = [turn("caller", "My balance is $65.52.", 0, 900)]
    assert one(tmp_path, asking(spoken=[amount()]), turns=turns).check("balance")["code"] is False


@pytest.mark.parametrize(
    ("said", "tolerance", "verdict"),
    [("$65.52", 0, True), ("$65.57", 0.05, True), ("$65.58", 0.05, False), ("$65.47", 0.05, True)],
)
def test_the_tolerance_is_the_greatest_difference_that_is_none(tmp_path, said, tolerance, verdict):
    turns = [turn("agent", f"Your balance is {said}.", 0, 900)]
    run = one(tmp_path, asking(spoken=[amount(tolerance=tolerance)]), turns=turns)
    assert run.check("balance")["code"] is verdict


@pytest.mark.parametrize(("currency", "verdict"), [("USD", True), ("GBP", False)])
def test_another_currency_is_another_amount(tmp_path, currency, verdict):
    turns = [turn("agent", "Your balance is sixty-five dollars and fifty-two cents.", 0, 900)]
    run = one(tmp_path, asking(spoken=[amount(currency=currency)]), turns=turns)
    assert run.check("balance")["code"] is verdict


@pytest.mark.parametrize(
    ("window", "start", "verdict"),
    [
        ("call", 0, True),
        ("after_verification", 4000, True),
        ("after_verification", 1000, False),
        ("before_verification", 1000, True),
        ("before_verification", 4000, False),
        ("after:make_payment", 12000, True),
        ("after:make_payment", 4000, False),
        ("before:make_payment", 4000, True),
        ("before:make_payment", 12000, False),
        ("after:never_called", 4000, False),
        ("before:never_called", 4000, True),
        ("after_verification", 2600, None),
    ],
)
def test_evidence_counts_inside_its_window(tmp_path, window, start, verdict):
    turns = [turn("agent", "Your balance is $65.52.", start, start + 900)]
    asked = asking(spoken=[amount(window=window)], allow_other=True)
    run = one(tmp_path, asked, tools=[VERIFY, PAY], turns=turns)
    assert run.check("balance")["code"] is verdict


TEXT = {"id": "due", "kind": "spoken_text", "any_of": ["past due", "overdue"], "window": "call"}


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Your bill is past due.", True),
        ("Your bill is PAST, due today", True),
        ("It is overdue!", True),
        ("You're past-due.", True),
        ("It is past its due date.", False),
        ("Nothing is overduely late.", False),
    ],
)
def test_required_words_are_whole_words(tmp_path, said, verdict):
    run = one(tmp_path, asking(spoken=[TEXT]), turns=[turn("agent", said, 0, 900)])
    assert run.check("due")["code"] is verdict


def test_required_words_have_their_topic_in_the_turn_or_the_one_before(tmp_path):
    asked = asking(spoken=[{**TEXT, "topic": ["bill"]}])
    here = [turn("agent", "The bill is overdue.", 0, 900)]
    before = [turn("caller", "And the bill?", 0, 900), turn("agent", "Overdue.", 1000, 1900)]
    nowhere = [turn("agent", "Overdue.", 0, 900)]
    for at, (turns, verdict) in enumerate([(here, True), (before, True), (nowhere, False)]):
        assert one(tmp_path / str(at), asked, turns=turns).check("due")["code"] is verdict


# Words that were not heard


CUT = {"heard_text": "Your balance is"}
BEYOND = "Your balance is $65.52."


@pytest.mark.parametrize(
    ("others", "start", "end", "verdict"),
    [
        pytest.param([turn("caller", "Wait", 800, 1500)], 0, 900, False, id="interrupted"),
        pytest.param([turn("caller", "Thanks", 1500, 1900)], 0, 900, True, id="a stale marker"),
        pytest.param([], 0, 900, True, id="nobody else spoke"),
        pytest.param([turn("caller", "Wait", None, None)], 0, 900, None, id="nobody knows who"),
        pytest.param([turn("caller", "Wait", 800, 1500)], None, None, None, id="nobody knows when"),
    ],
)
def test_unheard_words_are_no_statement_and_a_stale_marker_hides_none(
    tmp_path, others, start, end, verdict
):
    turns = [turn("agent", BEYOND, start, end, **CUT), *others]
    run = one(tmp_path, asking(spoken=[amount()]), turns=turns)
    assert run.check("balance")["code"] is verdict


def test_what_was_heard_of_an_interrupted_turn_counts(tmp_path):
    turns = [
        turn("agent", BEYOND + " Anything else?", 0, 900, heard_text=BEYOND),
        turn("caller", "Wait", 800, 1500),
    ]
    assert one(tmp_path, asking(spoken=[amount()]), turns=turns).check("balance")["code"] is True


# Two verifiers


def test_the_model_verifier_decides_and_the_code_where_it_has_no_answer(tmp_path):
    asked = asking(changes=[change()])
    answers = {"check:gate": False, "check:pay": None}
    run = one(tmp_path, asked, tools=[VERIFY, PAY], answers=answers)
    gate, pay = run.check("gate"), run.check("pay")
    assert (gate["code"], gate["llm"], gate["verdict"], gate["decided_by"]) == (
        True,
        False,
        False,
        "llm",
    )
    assert (pay["code"], pay["llm"], pay["verdict"], pay["decided_by"]) == (
        True,
        None,
        True,
        "code",
    )
    assert run.record["verifiers"]["decided_by"] == {"code": 2, "llm": 1}


def test_a_protocol_can_let_the_code_decide(tmp_path, project):
    law = json.loads((project / "protocols" / "vamos" / "protocol.json").read_bytes())
    law["verifiers"] = ["code", "llm"]
    (tmp_path / "law").mkdir()
    (tmp_path / "law" / "protocol.json").write_text(json.dumps(law), encoding="utf-8")
    run = score(
        tmp_path,
        population(asking()),
        call(tools=[VERIFY], answers={"check:gate": False}),
        protocol=tmp_path / "law",
    )
    assert run.check("gate")["decided_by"] == "code"
    assert run.record["passed"] == 1


def test_agreement_is_told_per_check_over_those_on_which_both_have_a_verdict(tmp_path):
    people = population(asking(changes=[change()]), trials=3)
    calls = [
        call("a", tools=[VERIFY, PAY], answers={"check:gate": True, "check:pay": False}),
        call("b", tools=[VERIFY, PAY], answers={"check:gate": True}, trial=1),
        call("c", tools=[VERIFY, PAY], trial=2),
    ]
    run = score(tmp_path, people, *calls, protocol="vamos")
    told = run.record["verifiers"]
    assert (told["agreement"]["all"]["passed"], told["agreement"]["all"]["n"]) == (2, 3)
    assert told["by_check"]["verification/gate"]["score"] == 100.0
    assert (told["by_check"]["changes/pay"]["passed"], told["by_check"]["changes/pay"]["n"]) == (
        0,
        1,
    )
    without = score(tmp_path / "none", people, *calls, protocol="vamos", judge="none")
    assert without.record["verifiers"]["agreement"]["all"]["n"] == 0
    assert "[code verifier]" in without.record["citation"]


@pytest.mark.parametrize(("answer", "state"), [(None, "not_evaluated"), (True, "scored")])
def test_a_check_that_nobody_decides_leaves_the_call_open(tmp_path, answer, state):
    turns = [turn("agent", "I looked at your balance. The fee is $65.52.", 0, 900)]
    run = one(tmp_path, asking(spoken=[amount()]), turns=turns, answers={"check:balance": answer})
    assert run.decision()["state"] == state
    assert run.record["n"] == int(state == "scored")


def test_a_failed_check_beside_an_open_one_is_known_to_fail_and_stays_out_of_n(tmp_path):
    turns = [turn("agent", "I looked at your balance. The fee is $65.52.", 0, 900)]
    run = one(tmp_path, asking(spoken=[amount()]), turns=turns, tools=[])
    decision = run.decision()
    assert (decision["state"], decision["known_fail"], decision["completed"]) == (
        "not_evaluated",
        True,
        None,
    )
    assert run.record["n"] == 0


def test_without_trace_or_transcript_the_code_knows_nothing(tmp_path):
    asked = asking(changes=[change()], spoken=[amount()])
    run = one(tmp_path, asked, trace=False, turns=None)
    assert {row["code"] for row in run.table("checks").iter_rows(named=True)} == {None}
    assert run.record["accounting"]["not_evaluated"] == {"check_undetermined": 1}


# Rates, exclusions, repeats


def many(tmp_path, *calls, scenarios=None, **more):
    people = population(*(scenarios or [asking()]), **more)
    return score(tmp_path, people, *calls, protocol="vamos")


def passing(name, **more):
    return call(name, tools=[VERIFY], turns=TURNS, **more)


def failing(name, **more):
    return call(name, tools=[], turns=TURNS, **more)


def test_excluded_calls_stand_beside_the_counted_ones_with_their_reasons(tmp_path):
    run = many(
        tmp_path,
        passing("a"),
        failing("b", trial=1),
        passing("c", trial=2, exclusion={"reason": "caller_deviation", "detail": None}),
        failing("d", trial=3, exclusion={"reason": "verifier_error", "detail": None}),
        failing("e", trial=4, exclusion={"reason": "lost_session", "detail": None}),
        trials=5,
    )
    assert (run.record["passed"], run.record["n"]) == (1, 2)
    assert (run.record["raw"]["passed"], run.record["raw"]["n"]) == (2, 5)
    assert run.record["accounting"]["excluded"] == {
        "caller_deviation": 1,
        "lost_session": 1,
        "verifier_error": 1,
    }
    assert "all attempts 40.0% (n = 5)" in run.record["citation"]


@pytest.mark.parametrize(("reason", "n"), [("crash", 2), ("goodbye", 2)])
def test_a_failure_of_the_agents_side_counts_as_a_miss(tmp_path, reason, n):
    run = many(tmp_path, passing("a"), passing("b", trial=1, ended=reason), trials=2)
    assert run.record["n"] == n
    assert run.record["passed"] == (1 if reason == "crash" else 2)
    assert run.record["accounting"]["agent_fault"] == int(reason == "crash")


def test_completion_is_told_by_requests_persona_background_and_last_use_case(tmp_path):
    scenarios = [
        asking("two", requests=["balance", "payment"], persona="angry"),
        asking("three", requests=["balance", "payment", "plan"], persona="calm"),
    ]
    run = many(
        tmp_path,
        passing("a", scenario_id="two"),
        failing("b", scenario_id="two", condition="tv"),
        passing("c", scenario_id="three"),
        passing("d", scenario_id="three", condition="tv"),
        scenarios=scenarios,
        conditions=("clean", "tv"),
    )
    told = {
        name: {key: (row["passed"], row["n"]) for key, row in run.record[name].items()}
        for name in ("by_requests", "by_persona", "by_background", "by_last_use_case")
    }
    assert told == {
        "by_requests": {"2": (1, 2), "3": (2, 2)},
        "by_persona": {"angry": (1, 2), "calm": (2, 2)},
        "by_background": {"clean": (2, 2), "tv": (1, 2)},
        "by_last_use_case": {"payment": (1, 2), "plan": (2, 2)},
    }


def test_repeats_tell_whether_some_and_whether_all_attempts_pass(tmp_path):
    scenarios = [asking("x"), asking("y"), asking("z")]
    calls = [
        *(passing(f"x{at}", scenario_id="x", trial=at) for at in range(3)),
        *(failing(f"y{at}", scenario_id="y", trial=at) for at in range(3)),
        passing("z0", scenario_id="z"),
        failing("z1", scenario_id="z", trial=1),
        failing("z2", scenario_id="z", trial=2),
    ]
    told = many(tmp_path, *calls, scenarios=scenarios, trials=3).record["repeats"]
    # z passes 1 of 3: at k = 2 some pass in 2 of 3 pairs, all in none.
    assert told["by_k"] == [
        {"k": 1, "tasks": 3, "pass_at_k": 44.4, "pass_hat_k": 44.4},
        {"k": 2, "tasks": 3, "pass_at_k": 55.6, "pass_hat_k": 33.3},
        {"k": 3, "tasks": 3, "pass_at_k": 66.7, "pass_hat_k": 33.3},
    ]
    assert told["consistency"] == {"all_passed": 1, "mixed": 1, "all_failed": 1}


def test_the_share_of_calls_that_the_caller_took_for_a_success_and_that_fail(tmp_path):
    run = many(
        tmp_path,
        passing("a", tags={"caller_outcome": "success"}),
        failing("b", tags={"caller_outcome": "success"}, trial=1),
        failing("c", tags={"caller_outcome": "gave up"}, trial=2),
        failing("d", trial=3),
        trials=4,
    )
    assert run.record["believed"]["calls"] == 2
    assert run.record["believed"]["failed"]["score"] == 50.0


def test_how_often_the_gate_holds_and_the_change_fails(tmp_path):
    run = many(
        tmp_path,
        call("a", tools=[VERIFY], turns=TURNS),
        call("b", tools=[VERIFY, PAY], turns=TURNS, trial=1),
        scenarios=[asking(changes=[change()])],
        trials=2,
    )
    assert run.record["gate_passed_changes_failed"]["score"] == 50.0


def test_transfers_have_a_denominator_of_their_own(tmp_path):
    moved = [VERIFY, {"name": "transfer_to_human", "status": "ok"}]
    scenarios = [asking("x", persona="angry"), asking("y", handoff=True)]
    run = many(
        tmp_path,
        call("a", tools=moved, scenario_id="x"),
        call("b", tools=moved, scenario_id="y"),
        call("c", tools=[VERIFY], scenario_id="y", trial=1),
        call(
            "d",
            trace=False,
            scenario_id="x",
            trial=1,
            answers={"check:gate": True, "check:no_other_change": True},
        ),
        scenarios=scenarios,
        trials=2,
    )
    told = run.record["transfers"]
    assert (told["rate"]["passed"], told["rate"]["n"]) == (2, 3)  # one call has no trace
    assert run.record["n"] == 4
    assert (told["precision"]["passed"], told["precision"]["n"]) == (1, 2)
    assert (told["recall"]["passed"], told["recall"]["n"]) == (1, 2)
    assert (told["containment"]["passed"], told["containment"]["n"]) == (1, 3)


def test_verifications_by_sound_alone_are_counted_over_all_attempts(tmp_path):
    alike = {**VERIFY, "result": {"verified": True, "match": "sound"}}
    left_out = {"reason": "lost_session", "detail": None}
    run = many(
        tmp_path,
        call("a", tools=[alike], turns=TURNS),
        call("b", tools=[alike, VERIFY], turns=TURNS, trial=1),
        call("c", tools=[alike], turns=TURNS, trial=2, exclusion=left_out),
        trials=3,
        sound_alike={"path": "match", "equals": "sound"},
    )
    told = run.record["sound_alike_only"]
    assert (told["rate"]["passed"], told["rate"]["n"], told["passed"]) == (2, 3, 2)


@pytest.mark.parametrize(
    ("costs", "each"), [(("0.20", "0.40"), 0.6), (("0.20", None), None), (("0.20", "-1"), None)]
)
def test_cost_is_told_per_completed_call_where_every_call_has_one(tmp_path, costs, each):
    first, second = ({} if cost is None else {"cost": cost} for cost in costs)
    run = many(tmp_path, passing("a", tags=first), failing("b", tags=second, trial=1), trials=2)
    assert run.record["cost"]["per_completed_call"] == each


# What is refused


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        pytest.param(scenario(), "has no checks", id="says nothing"),
        pytest.param(asking(changes=[change("gate")]), "twice", id="an id twice"),
        pytest.param(asking(changes=[change("no_other_change")]), "twice", id="a reserved id"),
        pytest.param(asking(changes=[change(tool="dance")]), "is 'dance'", id="no such tool"),
        pytest.param(
            asking(changes=[change(arguments=[{"path": "a[", "equals": 1}])]),
            "no JMESPath",
            id="a broken path",
        ),
        pytest.param(asking(spoken=[{**TEXT, "any_of": ["?!"]}]), "has '?!'", id="no words"),
    ],
)
def test_checks_that_cannot_be_asked_are_refused(tmp_path, asked, found):
    with pytest.raises(ProtocolError, match=rf"{re.escape(found)}.*checks_invalid"):
        one(tmp_path, asked)


@pytest.mark.parametrize(
    ("role", "check"),
    [
        ("verify", {"verification": [GATE]}),
        ("transfer", {"changes": [{"id": "t", "kind": "transfer", "expected": True}]}),
    ],
)
def test_a_check_of_a_role_without_a_tool_is_refused(tmp_path, role, check):
    tools = {**TOOLS, role: [], "change": [], "lookup": []}
    hush = {"id": "hush", "kind": "not_disclosed", "any_of": ["x"], "window": "call"}
    asked = asking(**{"verification": [hush], **check})
    with pytest.raises(ProtocolError, match=f"tools/{role} is empty"):
        one(tmp_path, asked, more={"tools": tools})


@pytest.mark.parametrize(
    "check",
    [
        pytest.param({**amount(), "topic": []}, id="no topic"),
        pytest.param({k: v for k, v in amount().items() if k != "tolerance"}, id="no tolerance"),
        pytest.param({k: v for k, v in amount().items() if k != "window"}, id="no window"),
        pytest.param(amount(window="sometime"), id="no such window"),
        pytest.param({**amount(), "kind": "verified"}, id="of another assertion"),
    ],
)
def test_a_spoken_check_says_value_tolerance_window_and_topic(tmp_path, check):
    with pytest.raises(SchemaError, match=r"/scenarios/0/checks/spoken/0"):
        one(tmp_path, asking(spoken=[check]))


def test_consent_says_what_was_put_to_the_caller(tmp_path):
    check = {"id": "consent", "kind": "consent", "tool": "make_payment"}
    with pytest.raises(SchemaError, match=r"/scenarios/0/checks/changes/0"):
        one(tmp_path, asking(changes=[check]))


# The run


def test_the_record_is_valid_and_does_not_depend_on_the_order_of_calls(tmp_path):
    calls = [passing("a"), failing("b", trial=1)]
    first = many(tmp_path / "a", *calls, trials=2)
    second = many(tmp_path / "b", *reversed(calls), trials=2)
    schema.validate(first.record, "checks_record")
    assert first.record == second.record
    assert (first.folder / "checks.parquet").read_bytes() == (
        second.folder / "checks.parquet"
    ).read_bytes()


def test_an_unrelated_tool_call_never_completes_a_call(tmp_path):
    asked = asking(changes=[change()])
    extra = {"name": "weather", "status": "ok", "result": {"ok": True}}
    for at, tools in enumerate([[VERIFY], [VERIFY, PAY]]):
        with_it = one(tmp_path / f"{at}a", asked, tools=[*tools, extra])
        without = one(tmp_path / f"{at}b", asked, tools=tools)
        assert with_it.decision()["completed"] == without.decision()["completed"]


def test_the_command_scores_and_explains(tmp_path, capsys):
    asked = asking(changes=[change(), CONSENT], spoken=[amount()])
    files = call(tools=[VERIFY, PAY], turns=TURNS, answers={"check:balance": False})
    source = write(tmp_path / "calls", population(asked), [files])
    run = str(tmp_path / "run")

    def code_of(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main(list(arguments))
        return exit_.value.code

    assert code_of("score", str(source), "--protocol", "vamos", "--out", run) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("vamos/small = 0.0%")
    assert max(map(len, shown.splitlines()[1:])) <= 80
    assert code_of("explain", run, "c1") == 0
    shown = capsys.readouterr().out
    assert "balance (spoken_amount): NO by llm; code yes, model NO" in shown
    assert "put at transcript/2" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_shipped_protocol_lets_the_model_verifier_decide_first():
    assert load_any_protocol("vamos").verifiers == ("llm", "code")


def test_a_change_that_nearly_fits_says_what_it_has_otherwise(tmp_path):
    wanted = {
        "id": "pay",
        "kind": "change",
        "tool": "make_payment",
        "arguments": [{"path": "amount", "value": 65.52, "tolerance": 0.01}],
    }
    paid = {**PAY, "arguments": {"amount": 65.25}}
    found = one(tmp_path, asking(changes=[wanted], allow_other=True), tools=[VERIFY, paid])
    row = found.check("pay")
    assert row["code"] is False
    assert row["evidence"] == (
        "no such change succeeded; in tool_calls/1 amount is 65.25, asked 65.52"
    )


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        pytest.param(
            [
                VERIFY,
                {**PAY, "arguments": {"amount": 1, "account": "B"}},
                {**PAY, "arguments": {"amount": 1, "account": "A"}},
            ],
            "no such change succeeded; in tool_calls/2 amount is 1, asked 65.52",
            id="the one with less that is otherwise",
        ),
        pytest.param(
            [
                VERIFY,
                {
                    **PAY,
                    "arguments": {"amount": 65.52, "account": "A"},
                    "result": {"status": "declined"},
                },
            ],
            "no such change succeeded; in tool_calls/1 the result is no success",
            id="denied",
        ),
    ],
)
def test_the_nearest_change_is_the_one_that_is_named(tmp_path, tools, told):
    arguments = [
        {"path": "amount", "value": 65.52, "tolerance": 0},
        {"path": "account", "equals": "A"},
    ]
    wanted = {"id": "pay", "kind": "change", "tool": "make_payment", "arguments": arguments}
    found = one(tmp_path, asking(changes=[wanted], allow_other=True), tools=tools)
    assert (found.check("pay")["code"], found.check("pay")["evidence"]) == (False, told)


def test_a_near_change_behind_an_earlier_one_is_named(tmp_path):
    pay = {"id": "pay", "kind": "change", "tool": "make_payment"}
    then = {
        "id": "then",
        "kind": "change",
        "tool": "make_payment",
        "arguments": [{"path": "amount", "value": 20, "tolerance": 0}],
    }
    tools = [VERIFY, PAY, {**PAY, "arguments": {"amount": 21}}]
    found = one(tmp_path, asking(changes=[pay, then], allow_other=True), tools=tools)
    assert found.check("then")["evidence"] == (
        "no such change after tool_calls/1; in tool_calls/2 amount is 21, asked 20"
    )


#: A verification of which the word `locked` is no refusal, and `match` decides.
BY_MATCH = {"verify_caller": {"required": ["match"], "properties": {"match": {"const": True}}}}


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        pytest.param({"match": True, "status": "locked"}, True, id="the schema alone decides"),
        pytest.param('{"match": true}', True, id="an object in text"),
        pytest.param({"match": "yes"}, False, id="not what the schema says"),
        pytest.param({"verified": True}, False, id="what the list would take"),
        pytest.param(None, None, id="not recorded"),
    ],
)
def test_a_population_says_what_a_successful_result_is(tmp_path, result, verdict):
    verify = {**VERIFY, "result": result}
    if result is None:
        del verify["result"]
    before = {"kind": "not_disclosed", "value": 65.52, "tolerance": 0}
    gate = [GATE, {**before, "id": "before", "window": "before_verification"}]
    changes = [{"id": "pay", "kind": "change", "tool": "make_payment"}]
    asked = asking(verification=gate, changes=changes)
    found = one(tmp_path, asked, tools=[verify, PAY], more={"tool_success": BY_MATCH})
    assert found.check("gate")["code"] is verdict
    assert found.check("before")["code"] is verdict
    told = "no result is recorded of tool_calls/0"
    assert (found.check("gate")["evidence"] == told) is (verdict is None)
    assert found.check("pay")["code"] is True


def test_a_schema_of_success_that_is_none_is_refused(tmp_path):
    more = {"tool_success": {"verify_caller": {"requird": ["match"]}}}
    with pytest.raises(ProtocolError, match=r"population.json /tool_success/verify_caller has"):
        one(tmp_path, asking(), more=more)


#: What each unrecorded result is of: the case, its tools, and the verdicts of gate, pay and
#: no_other_change.
UNTOLD = {**VERIFY, "result": None}
MATCHED = {**VERIFY, "result": {"match": True}}
OTHER_CHANGE = {**PAPERLESS, "result": None}
AMOUNT = {"path": "amount", "value": 65.52, "tolerance": 0}


@pytest.mark.parametrize(
    ("tools", "asked_of", "gate", "pay", "no_other"),
    [
        pytest.param(
            [{"name": "find_account", "status": "ok"}, MATCHED, PAY],
            "find_account",
            1,
            1,
            1,
            id="a look-up",
        ),
        pytest.param([MATCHED, PAY, UNTOLD], "", 1, 1, 1, id="a second verification, later"),
        pytest.param([UNTOLD, PAY], "", None, 1, 1, id="the verification"),
        pytest.param([PAY, UNTOLD], "", 0, 1, 1, id="a verification that came too late anyway"),
        pytest.param(
            [MATCHED, PAY, OTHER_CHANGE], "set_paperless", 1, 1, None, id="another change"
        ),
        pytest.param(
            [MATCHED, {**PAY, "result": None}], "make_payment", 1, None, 1, id="the payment"
        ),
        pytest.param(
            [MATCHED, {**PAY, "result": None, "arguments": {"amount": 1}}],
            "make_payment",
            1,
            0,
            None,
            id="a payment of another amount",
        ),
    ],
)
def test_a_result_that_nobody_recorded_opens_only_what_hangs_on_it(
    tmp_path, tools, asked_of, gate, pay, no_other
):
    any_result = {asked_of: {"type": "object"}} if asked_of else {}
    wanted = {"id": "pay", "kind": "change", "tool": "make_payment", "arguments": [AMOUNT]}
    more = {"tool_success": {**BY_MATCH, **any_result}}
    found = one(tmp_path, asking(changes=[wanted]), tools=tools, more=more)
    codes = [found.check(name)["code"] for name in ("gate", "pay", "no_other_change")]
    assert codes == [None if one is None else bool(one) for one in (gate, pay, no_other)]


def test_a_window_of_success_is_open_only_where_the_unrecorded_one_moves_it(tmp_path):
    quoted = {
        "id": "quoted",
        "kind": "spoken_text",
        "any_of": ["balance"],
        "window": "after_verification",
    }
    never = {**quoted, "id": "never", "any_of": ["weather"]}
    more = {"tool_success": BY_MATCH}
    found = one(tmp_path, asking(spoken=[quoted, never]), tools=[UNTOLD, PAY], more=more)
    assert found.check("quoted")["code"] is None
    assert found.check("never")["code"] is False


def test_a_verification_of_unknown_result_is_not_one_by_sound_alone(tmp_path):
    sound = {"verify_caller": {"required": ["match"]}}
    more = {"tool_success": sound, "sound_alike": {"path": "match", "equals": "sound"}}
    alike = {**VERIFY, "result": {"match": "sound"}}
    for name, tools, n in (("a", [alike, PAY], 1), ("b", [alike, UNTOLD, PAY], 0)):
        told = one(tmp_path / name, asking(), tools=tools, more=more).record["sound_alike_only"]
        assert told["rate"]["n"] == n


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"tool_success": {"verify_calle": False}}, "/tool_success/verify_calle is a tool that"),
        ({"sound_alike": {"path": "a[", "equals": 1}}, "/sound_alike has no JMESPath"),
    ],
)
def test_what_a_population_says_of_no_tool_or_by_no_path_is_refused(tmp_path, more, said):
    with pytest.raises(ProtocolError, match=f"population.json {said}"):
        one(tmp_path, asking(), more=more)


def test_a_path_that_calls_what_there_is_not_is_refused(tmp_path):
    wanted = {"id": "pay", "kind": "change", "tool": "make_payment"}
    wanted["arguments"] = [{"path": "nofn(amount)", "equals": 1}]
    with pytest.raises(ProtocolError, match=r"calls nofn\(\), which JMESPath does not have"):
        one(tmp_path, asking(changes=[wanted]))
