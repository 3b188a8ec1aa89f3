from __future__ import annotations

from dataclasses import replace

from decide_loop import GOOD, Case, Tool, decide_all, good, small_population, tables

from inquesto_core.protocol import load_protocol
from inquesto_core.score.escalation import escalation, verification

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = small_population()
PLAIN = Case(tools=good("lookup", "verify", "refund"), verdicts=GOOD)


def decided(*cases):
    return decide_all(list(cases), protocol=PROTOCOL, population=POPULATION)


def test_hand_overs_stand_on_denominators_of_their_own():
    moved = (*good("lookup", "verify", "refund"), Tool(name="to_human", start_ms=9000))
    found = decided(
        PLAIN,
        replace(PLAIN, call_id="c2", fingerprint="f2", tools=moved),
        replace(
            PLAIN, call_id="c3", fingerprint="f3", scenario_id="handoff", tools=good("to_human")
        ),
        replace(PLAIN, call_id="c4", fingerprint="f4", scenario_id="handoff", tools=()),
        replace(PLAIN, call_id="c5", fingerprint="f5", verdicts={**GOOD, "goal_achieved": False}),
        replace(
            PLAIN, call_id="c6", fingerprint="f6", exclusion_reason="lost_session", tools=moved
        ),
    )
    counts = escalation(found.facts, found.decisions)
    assert (counts.n, counts.transferred) == (5, 2)
    assert (counts.wanted, counts.wanted_transferred) == (2, 1)
    assert (counts.not_wanted, counts.contained, counts.contained_passed) == (3, 2, 1)


def test_a_promised_or_failed_transfer_is_none():
    failed = (Tool(name="to_human", status="error", start_ms=1),)
    found = decided(replace(PLAIN, scenario_id="handoff", tools=failed))
    assert escalation(found.facts, found.decisions).transferred == 0


def by_sound(value):
    return (
        Tool(name="lookup", start_ms=0),
        Tool(name="verify", start_ms=1000, result=value),
        Tool(name="refund", start_ms=2000),
    )


def verified(*results):
    cases = [
        replace(PLAIN, call_id=f"c{at}", fingerprint=f"f{at}", tools=by_sound(result))
        for at, result in enumerate(results)
    ]
    return verification(
        tables(cases)["tool_calls"],
        decided(*cases).decisions,
        verify=POPULATION.tools.verify,
        performed=PROTOCOL.performed_statuses,
    )


def test_a_verification_by_sound_alone_is_counted_and_one_by_spelling_is_not():
    found = verified(
        {"verified": True, "match_type": "soundex"},
        {"verified": True, "match": "Sounds like"},
        {"verified": True, "match_type": "exact"},
        {"verified": True, "note": "soundex was off"},
        None,
    )
    assert (found.n, found.by_sound_only, found.by_sound_only_passed) == (5, 2, 2)


def test_a_second_verification_by_spelling_is_not_by_sound_alone():
    twice = (
        Tool(name="lookup", start_ms=0),
        Tool(name="verify", start_ms=1, result={"match_type": "soundex"}),
        Tool(name="verify_pin", start_ms=2, result={"match_type": "exact"}),
    )
    case = replace(PLAIN, tools=twice)
    found = verification(
        tables([case])["tool_calls"],
        decided(case).decisions,
        verify=POPULATION.tools.verify,
        performed=PROTOCOL.performed_statuses,
    )
    assert (found.n, found.by_sound_only) == (1, 0)
