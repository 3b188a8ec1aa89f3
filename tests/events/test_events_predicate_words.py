from __future__ import annotations

import pytest
from predicate_calls import outcome, tool, turn

AMOUNT = {"kind": "spoken", "amount": {"value": 65.52}}
DIGITS = {"kind": "spoken", "digits": "4471"}
PHRASE = {"kind": "spoken", "phrases": ["business days", "working days"]}


def said(*words, speaker="agent"):
    return [turn(speaker, each) for each in words]


@pytest.mark.parametrize(
    ("predicate", "words", "holds"),
    [
        (AMOUNT, "Your balance is sixty-five fifty-two.", True),
        (AMOUNT, "Your balance is $65.52.", True),
        (AMOUNT, "Your balance is $65.53.", False),
        (AMOUNT, "Your zip code is sixty-five fifty-two.", False),
        ({**AMOUNT, "amount": {"value": 65.5, "tolerance": 0.02}}, "That is $65.52.", True),
        ({**AMOUNT, "amount": {"value": 65.5, "tolerance": 0.01}}, "That is $65.52.", False),
        ({**AMOUNT, "amount": {"value": 65.52, "currency": "EUR"}}, "It is $65.52.", False),
        ({**AMOUNT, "amount": {"value": 65.52, "currency": "USD"}}, "It is $65.52.", True),
        (DIGITS, "Account forty-four seventy-one, right?", True),
        (DIGITS, "Account 4 4 7 1.", True),
        (DIGITS, "Account 44719.", False),
        (DIGITS, "I see 4471, 2 charges.", True),
        (PHRASE, "In 3 to 5 Business Days.", True),
        (PHRASE, "Business is slow. Days pass.", False),
    ],
)
def test_a_fact_is_said_in_any_form(predicate, words, holds):
    assert outcome(predicate, said=said("Hello.", words))[0] is holds
    negated = {"kind": "not", "of": predicate}
    assert outcome(negated, said=said("Hello.", words))[0] is not holds


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        ("It is not $65.52.", False),
        ("It isn't $65.52.", False),
        ("It is $65.52, not 60.", True),
        ("I do not know. It is $65.52.", True),
        ("It is not that, it is $65.52.", True),
        ("It is in no way $65.52, it is $60.", False),
        ("It is not $65.52. I mean, it is $65.52.", True),
    ],
)
def test_what_is_denied_was_not_said_where_that_is_asked(words, holds):
    assert outcome({**AMOUNT, "unless_denied": True}, said=said(words))[0] is holds
    assert outcome(AMOUNT, said=said(words))[0] is True


@pytest.mark.parametrize(
    ("before", "words", "holds"),
    [
        pytest.param("How much is it?", "Sixty-five fifty-two.", True, id="asked for"),
        pytest.param("What is my account number?", "Sixty-five fifty-two.", False, id="another"),
        pytest.param("How much is flight twelve?", "Sixty-five fifty-two.", False, id="nearer"),
        pytest.param("Hello.", "Sixty-five fifty-two.", False, id="nothing"),
        pytest.param("How much is it?", "It is 65.52 degrees.", False, id="its own topic"),
        pytest.param("How much is it?", "$10, and code sixty-five fifty-two.", False, id="second"),
    ],
)
def test_a_bare_amount_takes_its_topic_from_the_turn_before(before, words, holds):
    turns = [turn("caller", before), turn("agent", words)]
    assert outcome(AMOUNT, said=turns)[0] is holds
    assert outcome(AMOUNT, said=[turns[0], turn("agent", "Well."), turns[1]])[0] is False


def test_a_population_adds_negations_of_its_own_language():
    predicate = {**PHRASE, "phrases": ["dias"], "unless_denied": True, "language": "pt"}
    phrases = {"pt": {"negation": ["não"]}}
    assert outcome(predicate, said=said("não dias"), phrases=phrases)[0] is False
    assert outcome(predicate, said=said("mais dias"), phrases=phrases)[0] is True


def test_words_that_the_caller_never_heard_were_not_said():
    turns = [turn("agent", "It is $65.52.", heard_text="It is")]
    value, evidence = outcome(AMOUNT, said=turns)
    assert value is False
    assert evidence == 'agent says {"value":65.52} in no turn'


@pytest.mark.parametrize(
    ("caller_at", "holds"),
    [
        pytest.param(400, False, id="the caller breaks in"),
        pytest.param(1000, False, id="as it ends"),
        pytest.param(1001, True, id="nobody breaks in"),
        pytest.param(None, False, id="nobody knows when"),
    ],
)
def test_a_stale_mark_of_interruption_takes_no_word_back(caller_at, holds):
    turns = [
        turn("agent", "It is $65.52.", 0, 1000, heard_text="It is"),
        turn("caller", "Oh.", caller_at, None),
    ]
    assert outcome(AMOUNT, said=turns)[0] is holds


@pytest.mark.parametrize(
    ("turns", "value"),
    [
        (None, None),
        ([], False),
        ([turn("caller", "$65.52")], False),
        ([turn("agent", None)], None),
        ([turn("agent", None), turn("agent", "$65.52")], True),
        ([turn("caller", None), turn("agent", "hello")], False),
    ],
)
def test_without_words_what_was_said_is_undetermined(turns, value):
    assert outcome(AMOUNT, said=turns)[0] is value


def test_the_evidence_of_a_fact_is_the_turns_that_say_it():
    turns = [*said("Hi", "$65.52"), *said("What, $65.52?", speaker="caller"), *said("Yes, $65.52")]
    assert outcome(AMOUNT, said=turns)[1].endswith(": transcript/1, transcript/3")
    theirs = {**AMOUNT, "speaker": "caller"}
    assert outcome(theirs, said=turns)[1].endswith(": transcript/2")


# Consent

CONSENT = {"kind": "consent", "tool": "refund", "names": ["refund", ["$49", "the charge"]]}
QUESTION = turn("agent", "Shall I refund the charge?", 0, 2000)


def consented(*turns, start=10_000, **more):
    tools = [tool("refund", start)]
    return outcome(CONSENT, **{"tools": tools, "said": list(turns), **more})


@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ("Yes.", True),
        ("Yeah, go ahead please.", True),
        ("No problem, do it.", True),
        ("Why not.", True),
        ("No.", False),
        ("Yes. No, wait.", False),
        ("Yes, but not today.", False),
        ("Please do not do it.", False),
        ("Don't go ahead.", False),
        ("What charge?", False),
        ("I am not sure.", False),
        ("Hm.", False),
    ],
)
def test_only_an_explicit_yes_is_consent(answer, holds):
    assert consented(QUESTION, turn("caller", answer, 3000, 4000))[0] is holds


YES = turn("caller", "Yes.", 3000, 4000)


@pytest.mark.parametrize(
    ("turns", "holds"),
    [
        ([YES], False),
        ([turn("caller", "Yes.", 0, 1), turn("agent", "I will refund $49.", 2, 3)], False),
        ([turn("agent", "Shall I refund it?", 0, 1), YES], False),
        ([turn("caller", "Refund the charge!", 0, 1), YES], False),
        ([QUESTION, YES, turn("agent", "So I refund $49 now.", 5000, 6000)], True),
        ([QUESTION, YES, turn("caller", "No, stop!", 5000, 6000)], False),
        ([QUESTION, YES, turn("caller", "Hello?", 5000, 6000)], True),
        ([QUESTION, turn("caller", "No.", 3000, 4000), turn("caller", "Okay.", 5000, 6000)], True),
        ([QUESTION, turn("caller", "Yes.", 3000, 10_000)], True),
        ([QUESTION, turn("caller", "Yes.", 3000, 10_001)], None),
        ([QUESTION, turn("caller", "Yes.", 10_000, 10_500)], False),
        ([QUESTION, YES, turn("caller", "Yes, yes.", 9000, 10_500)], True),
        ([QUESTION, YES, turn("caller", "No!", 9000, 10_500)], None),
        ([QUESTION, turn("caller", "Yes.", None, None)], None),
        ([QUESTION, turn("caller", "No.", None, None)], False),
        ([QUESTION, turn("caller", None, 3000, 4000)], None),
        ([], False),
    ],
)
def test_the_yes_comes_after_the_agent_names_it_and_before_the_tool(turns, holds):
    assert consented(*turns)[0] is holds


def test_every_performed_call_of_the_tool_needs_consent():
    tools = [tool("refund", 2500), tool("refund", 10_000, id="r2")]
    value, evidence = consented(QUESTION, YES, tools=tools)
    assert value is False
    assert evidence == (
        "tool_calls/0 without a yes that counts; tool_calls/1 (r2) after a yes in transcript/1"
    )


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"said": None}, None),
        ({"tools": None}, None),
        ({"tools": []}, True),
        ({"tools": [tool("refund", 10_000, status="error")], "said": []}, True),
        ({"tools": [tool("refund")]}, None),
        ({"tools": [tool("refund")], "said": [QUESTION]}, False),
    ],
)
def test_without_transcript_or_times_consent_is_undetermined(fields, value):
    assert consented(QUESTION, YES, **fields)[0] is value


def test_other_languages_and_phrases_of_the_population_agree_too():
    turns = [turn("agent", "Soll ich die refund für the charge machen?", 0, 1)]
    german = {**CONSENT, "language": "de"}
    for words, holds in (("Ja, gerne.", True), ("Yes.", False), ("Ja, aber nicht heute", False)):
        answer = [*turns, turn("caller", words, 2, 3)]
        assert outcome(german, tools=[tool("refund", 9)], said=answer)[0] is holds
    answer = [QUESTION, turn("caller", "Righto.", 3000, 4000)]
    assert outcome(CONSENT, tools=[tool("refund", 9000)], said=answer)[0] is False
    more = {"en": {"yes": ["righto"]}}
    assert outcome(CONSENT, tools=[tool("refund", 9000)], said=answer, phrases=more)[0] is True
