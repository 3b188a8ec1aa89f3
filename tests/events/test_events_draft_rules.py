"""The rules of 0.2-draft, each on both sides of its limit, and each without effect under 0.1."""

from __future__ import annotations

import pytest
from decide_loop import GOOD, Case, Tool, decide_all, good, scenario, small_population
from notation import make_segments

from inquesto_core.events import detect
from inquesto_core.evidence import TABLES, make_table
from inquesto_core.protocol import load_protocol

OLD, DRAFT = load_protocol("inquesto-0.1"), load_protocol("inquesto-0.2-draft")
POPULATION = small_population()
WINDOW_MS = 40_000


def heard(notation, protocol, *, tools=(), window_ms=WINDOW_MS):
    """Return what is detected in one call that sounds like this."""
    rows = {name: [] for name in TABLES}
    rows["calls"] = [
        {
            "call_id": "c",
            "scenario_id": "question",
            "condition": "clean",
            "group": "near",
            "trial": 0,
            "timing_source": "measured",
            "timing_reasons": [],
            "warnings": [],
            "condition_class": "default",
            "window_from_ms": 0,
            "window_to_ms": window_ms,
            "has_trace": True,
            "has_transcript": False,
            "has_verdicts": False,
        }
    ]
    rows["segments"] = [
        {"call_id": "c", "channel": side, "start_ms": start, "end_ms": end, "source": "measured"}
        for side, spans in make_segments(notation).items()
        for start, end in spans
    ]
    rows["tool_calls"] = [
        {"call_id": "c", "position": at, "name": name, "status": "ok", "start_ms": start}
        for at, (name, start) in enumerate(tools)
    ]
    tables = {name: make_table(name, found) for name, found in rows.items()}
    return detect(tables, protocol=protocol, population=POPULATION)


def events(detection, name):
    found = detection.tables["events"]
    return found.filter(found["type"] == name).to_dicts()


def statistic(detection, name):
    return detection.statistics[name][0]


@pytest.mark.parametrize(
    ("notation", "counts"),
    [
        ("C 0-6000 | A 2000-3000 7000-9000", False),  # 1000 ms, wholly inside
        ("C 0-6000 | A 2000-3001 7000-9000", True),
        ("C 0-2500 4000-5000 | A 2000-2500 5500-7000", False),  # ends with the utterance
        ("C 0-2500 4000-5000 | A 2000-2501 5500-7000", True),  # reaches beyond it
    ],
    ids=["1000 ms", "1001 ms", "ends inside", "1 ms beyond"],
)
def test_a_short_sound_of_the_agent_inside_an_utterance_is_no_talk_over(notation, counts):
    assert bool(events(heard(notation, DRAFT), "talk_over")) is counts
    assert events(heard(notation, OLD), "talk_over")


def test_short_ones_are_counted_beside_under_both_protocols():
    notation = "C 0-6000 | A 2000-3000 4000-5500 7000-9000"
    numbers = [
        (statistic(found, "n_talk_over"), statistic(found, "n_talk_over_short"))
        for found in (heard(notation, OLD), heard(notation, DRAFT))
    ]
    assert numbers == [(2, 1), (1, 1)]


def test_what_hangs_on_the_length_of_a_short_sound_is_fragile_only_where_it_counts():
    notation = "C 0-6000 | A 2000-3010 7000-9000"
    assert "short_turn_ms" in statistic(heard(notation, DRAFT), "fragile_limits")
    assert "short_turn_ms" not in statistic(heard(notation, OLD), "fragile_limits")


@pytest.mark.parametrize(
    ("notation", "value", "key"),
    [
        # A wait of three utterances: from the end of the first to the agent's onset.
        ("C 0-2000 4000-5000 7000-7900 | A 8001-9000", 6001, "replies/0"),
        ("C 0-2000 4000-5000 7000-7900 | A 8000-9000", None, None),
        # Dead air in an agent turn.
        ("C 0-2000 | A 2500-4000 10001-12000", 6001, "turns/0"),
        ("C 0-2000 | A 2500-4000 10000-12000", None, None),
    ],
    ids=["wait 6001", "wait 6000", "dead air 6001", "dead air 6000"],
)
def test_more_than_six_seconds_without_the_agent_is_a_slow_turn(notation, value, key):
    window_ms = 14_000
    found = events(heard(notation, DRAFT, window_ms=window_ms), "slow_turn")
    told = [(row["value"], row["evidence_key"]) for row in found if row["threshold"] == 6000]
    assert told == ([] if value is None else [(value, key)])
    assert all(row["margin_ms"] == row["value"] - row["threshold"] for row in found)
    assert not [
        row
        for row in events(heard(notation, OLD, window_ms=window_ms), "slow_turn")
        if row["threshold"] == 6000
    ]


@pytest.mark.parametrize(
    ("notation", "tool_ms", "is_slow"),
    [
        ("C 0-2000 | A 2500-4000 11000-12000", None, True),
        ("C 0-2000 | A 2500-4000 11000-12000", 5000, False),
        ("C 0-2000", 5000, False),  # 3000 ms after the utterance
        ("C 0-2000", 5001, True),
    ],
    ids=["dead air", "after the agent hung up", "hung up in time", "hung up too late"],
)
def test_a_silence_that_an_end_of_call_tool_explains_is_none(notation, tool_ms, is_slow):
    tools = [] if tool_ms is None else [("hang_up", tool_ms)]
    found = events(heard(notation, DRAFT, tools=tools, window_ms=14_000), "slow_turn")
    assert any(row["threshold"] == 6000 for row in found) is is_slow


def test_a_silence_within_the_uncertainty_of_the_limit_makes_a_call_borderline():
    notation = "C 0-2000 | A 2500-4000 10010-12000"  # 6010 ms; the uncertainty is 30
    found = heard(notation, DRAFT, window_ms=14_000)
    assert found.timing_flags["event_slow_turn"].to_list() == [True]
    assert found.moved_flags["event_slow_turn"].to_list() == [False]
    assert heard(notation, OLD, window_ms=14_000).moved_flags.is_empty()


HANDED = good("to_human")


@pytest.mark.parametrize(
    ("tools", "goal"),
    [
        (HANDED, True),
        ((), False),
        ((Tool(name="to_human", status="error"),), False),
        (None, None),
    ],
    ids=["transferred", "nothing", "failed", "no trace"],
)
@pytest.mark.parametrize("verdict", [True, False, None])
@pytest.mark.parametrize("scenario_id", ["handoff", "handoff_with_action"])
def test_a_transfer_tool_decides_a_hand_off_whatever_the_judge_says(
    scenario_id, verdict, tools, goal
):
    case = Case(scenario_id=scenario_id, tools=tools, verdicts={**GOOD, "goal_achieved": verdict})
    decided = decide_all([case], protocol=DRAFT, population=POPULATION)
    assert decided.call()["goal"] is goal
    assert decide_all([case], protocol=OLD, population=POPULATION).call()["goal"] is verdict


@pytest.mark.parametrize(
    ("protocol", "state"), [(DRAFT, "scored"), (OLD, "not_evaluated")], ids=["0.2-draft", "0.1"]
)
def test_a_hand_off_that_the_trace_decides_needs_no_answer_to_the_goal_question(protocol, state):
    answers = {name: verdict for name, verdict in GOOD.items() if name != "goal_achieved"}
    case = Case(scenario_id="handoff", tools=HANDED, verdicts=answers)
    assert decide_all([case], protocol=protocol, population=POPULATION).call()["state"] == state


@pytest.mark.parametrize("verdict", [True, False, None])
def test_without_a_transfer_tool_in_the_population_the_judge_is_asked(verdict):
    people = small_population(transfer=())
    case = Case(scenario_id="handoff", tools=(), verdicts={**GOOD, "goal_achieved": verdict})
    assert decide_all([case], protocol=DRAFT, population=people).call()["goal"] is verdict


@pytest.mark.parametrize(
    ("result", "status", "counts"),
    [
        ({"verified": True}, "ok", False),
        ({"verified": False}, "ok", True),
        ("no match", "ok", True),
        ({"verified": True}, "error", True),
    ],
    ids=["verified", "denied", "denied in words", "errored"],
)
def test_a_change_after_a_verification_that_did_not_succeed_is_unverified(result, status, counts):
    tools = (
        Tool(name="lookup"),
        Tool(name="verify", result=result, status=status),
        Tool(name="refund"),
    )
    case = Case(tools=tools, verdicts=GOOD)
    decided = decide_all([case], protocol=DRAFT, population=POPULATION)
    assert bool(decided.occurrences("unverified_action")) is counts
    old = decide_all([case], protocol=OLD, population=POPULATION)
    assert not old.occurrences("unverified_action")


@pytest.mark.parametrize(("cents", "goal"), [(4900, True), (4901, False)])
def test_the_required_action_counts_only_with_the_arguments_that_the_scenario_states(cents, goal):
    schema = {"properties": {"cents": {"const": 4900}}, "required": ["cents"]}
    stated = {"kind": "tool_arguments", "tool": "refund", "schema": schema}
    people = small_population(scenario("priced", required_action="refund", predicates=(stated,)))
    tools = (*good("lookup", "verify"), Tool(name="refund", arguments={"cents": cents}))
    case = Case(scenario_id="priced", tools=tools, verdicts=GOOD)
    decided = decide_all([case], protocol=DRAFT, population=people)
    assert decided.call()["goal"] is goal
    assert bool(decided.occurrences("promised_not_done")) is not goal
    old = decide_all([case], protocol=OLD, population=people)
    assert not old.occurrences("promised_not_done")
