from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from decide_loop import GOOD, NO_TIMING_EVENTS, Case, decide_all, good, small_population, tables

from inquesto_core.protocol import load_protocol
from inquesto_core.score.accounting import exclusions
from inquesto_core.score.slots import call_slots, missing_slots

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = small_population()
PLAIN = Case(tools=good("lookup", "verify", "refund"), verdicts=GOOD)
UNKNOWN = dict.fromkeys(NO_TIMING_EVENTS)


def decided(*cases, population=POPULATION, judge_free=False):
    return decide_all(list(cases), protocol=PROTOCOL, population=population, judge_free=judge_free)


def standing(**fields):
    row = decided(replace(PLAIN, **fields)).call()
    return row["state"], row["reasons"]


SCORED = ("scored", [])


# Excluded


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"exclusion_reason": "caller_deviation"}, ["caller_deviation"]),
        ({"ended_reason": "network"}, ["lost_session"]),
        ({"ended_reason": "recorder_fault", "ended_by": "system"}, ["lost_session"]),
        ({"condition": "moon"}, ["unknown_condition"]),
        ({"condition": None}, ["unknown_condition"]),
        ({"group": "nobody"}, ["unknown_group"]),
        ({"group": None, "condition": "moon"}, ["unknown_condition", "unknown_group"]),
        ({"exclusion_reason": "lost_session", "ended_reason": "network"}, ["lost_session"]),
    ],
    ids=str,
)
def test_a_benchmark_fault_takes_the_call_out_with_its_reason(fields, reasons):
    assert standing(**fields) == ("excluded", reasons)
    row = decided(replace(PLAIN, **fields)).call()
    assert (row["passed"], row["passed_judge_free"], row["known_fail"]) == (None, None, False)


def test_an_excluded_call_is_out_whatever_else_is_known_of_it():
    worse = {"ended_by": "agent", "exclusion_reason": "caller_deviation", "ended_reason": "crash"}
    assert standing(**worse, tools=good("refund")) == ("excluded", ["caller_deviation"])


@pytest.mark.parametrize("reason", PROTOCOL.accounting.excluded_reasons)
def test_every_reason_that_the_protocol_has_takes_a_call_out(reason):
    assert standing(exclusion_reason=reason) == ("excluded", [reason])


@pytest.mark.parametrize("reason", ["the agent was unlucky", "Caller_Deviation", "duplicate_slot"])
def test_a_reason_of_ones_own_neither_takes_a_call_out_nor_lets_it_be_scored(reason):
    """Were it excluded, any failed call could be; were it scored, a benchmark fault might count."""
    assert standing(exclusion_reason=reason) == ("not_evaluated", ["exclusion_unknown"])
    failed = replace(PLAIN, exclusion_reason=reason, tools=good("refund"))
    for judge_free in (False, True):
        row = decided(failed, judge_free=judge_free).call()
        assert (row["state"], row["passed"], row["known_fail"]) == ("not_evaluated", None, True)


def test_a_reason_of_ones_own_hides_no_agent_fault():
    found = standing(exclusion_reason="bad day", ended_by="agent", ended_reason="crash")
    assert found == ("agent_fault", ["crash"])


def test_a_call_with_a_reason_of_its_own_may_be_recorded_again():
    found = decided(replace(PLAIN, exclusion_reason="bad day"), replace(PLAIN, call_id="c2"))
    assert found.call("c1")["reasons"] == ["exclusion_unknown"]
    assert found.call("c2")["state"] == "scored"


# Timing only


ONLY_AUDIO = {**NO_TIMING_EVENTS, "slow_turn": True, "slow_median": True}


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [(None, "no_scenario"), ("strange", "unknown_scenario")],
    ids=["none named", "not the population's"],
)
@pytest.mark.parametrize("judge_free", [False, True], ids=["judged", "judge-free"])
def test_a_call_without_a_scenario_is_scored_for_timing_only(scenario, reason, judge_free):
    case = replace(
        PLAIN, scenario_id=scenario, condition=None, group=None, tools=good("refund"),
        timing=ONLY_AUDIO,
    )  # fmt: skip
    row = decided(case, judge_free=judge_free).call()
    assert (row["state"], row["reasons"]) == ("timing_only", [reason])
    assert (row["goal"], row["passed"], row["passed_judge_free"]) == (None, None, None)
    assert row["known_fail"] is False
    found = {key.removeprefix("event_"): row[key] for key in row if key.startswith("event_")}
    assert {name for name, value in found.items() if value is not None} == set(NO_TIMING_EVENTS)
    assert {name for name, value in found.items() if value} == {"slow_turn", "slow_median"}
    assert row["worst_severity"] == 3, "an unverified change is not one of them"


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"timing_reasons": ("channels_identical",)}, ["channels_identical", "no_scenario"]),
        ({"timing": UNKNOWN, "timing_source": None}, ["no_scenario", "timing_missing"]),
        ({"exclusion_reason": "bad day"}, ["exclusion_unknown", "no_scenario"]),
        ({"ended_by": "agent", "ended_reason": "crash"}, ["no_scenario"]),
        ({"trial": None, "condition": "moon", "group": None}, ["no_scenario"]),
        ({"tools": None, "verdicts": None}, ["no_scenario"]),
    ],
    ids=str,
)
def test_why_its_timing_is_not_evaluated_stands_beside(fields, reasons):
    assert standing(scenario_id=None, **fields) == ("timing_only", reasons)


@pytest.mark.parametrize("reason", ["mono_recording", "lost_session"])
def test_a_call_without_a_scenario_that_is_taken_out_has_that_reason_alone(reason):
    assert standing(scenario_id=None, exclusion_reason=reason) == ("excluded", [reason])


def test_calls_without_a_scenario_share_no_slot_and_fill_none():
    bare = replace(PLAIN, scenario_id=None, call_id="b1")
    found = decided(PLAIN, bare, replace(bare, call_id="b2"))
    assert [found.call(name)["state"] for name in ("b1", "b2", "c1")] == [
        "timing_only",
        "timing_only",
        "scored",
    ]
    assert found.decisions["call_id"].null_count() == len(POPULATION.expected_slots()) - 1


def test_an_agent_without_a_call_in_a_scenario_is_expected_to_fill_no_slot():
    bare = replace(PLAIN, scenario_id=None, fingerprint="g", call_id="b1")
    missing = decided(PLAIN, bare).decisions.filter(pl.col("call_id").is_null())
    assert missing["agent_fingerprint"].unique().to_list() == ["f"]
    assert decided(bare).decisions["call_id"].null_count() == 0


NAME_ONLY = {"scenario_id": None, "condition": None, "group": None, "trial": None, "tools": None}


@pytest.mark.parametrize("reason", ["unreadable_bundle", "duplicate_call_id"])
def test_a_call_without_a_usable_call_json_is_out_with_that_reason(reason):
    state, reasons = standing(exclusion_reason=reason, fingerprint=None, **NAME_ONLY)
    assert state == "excluded"
    assert reason in reasons
    # A call.json that can be read cannot claim that it could not.
    assert standing(exclusion_reason=reason)[0] == "not_evaluated"


def test_every_one_of_several_calls_in_a_slot_is_excluded():
    found = decided(PLAIN, replace(PLAIN, call_id="c2"), replace(PLAIN, call_id="c3", group="far"))
    for call_id in ("c1", "c2"):
        row = found.call(call_id)
        assert (row["state"], row["reasons"]) == ("excluded", ["duplicate_slot"])
    assert found.call("c3")["state"] == "scored"


@pytest.mark.parametrize(
    "other",
    [{"trial": 1}, {"condition": "noisy"}, {"scenario_id": "legit"}, {"fingerprint": "g"}],
    ids=str,
)
def test_another_trial_condition_scenario_or_agent_is_another_slot(other):
    found = decided(PLAIN, replace(PLAIN, call_id="c2", **other))
    assert found.call("c1")["state"] == found.call("c2")["state"] == "scored"


def test_a_call_that_was_taken_out_may_be_recorded_again():
    found = decided(replace(PLAIN, ended_reason="network"), replace(PLAIN, call_id="c2"))
    assert found.call("c1")["reasons"] == ["lost_session"]
    assert found.call("c2")["state"] == "scored"


def test_calls_that_name_no_agent_share_a_slot():
    bare = replace(PLAIN, fingerprint=None)
    assert decided(bare, replace(bare, call_id="c2")).call()["reasons"] == ["duplicate_slot"]


def test_a_call_that_names_no_trial_is_the_only_one_of_a_design_with_one():
    row = decided(replace(PLAIN, trial=None)).call()
    assert (row["state"], row["trial"]) == ("scored", 0)
    several = replace(POPULATION, design=replace(POPULATION.design, trials=2))
    row = decided(replace(PLAIN, trial=None), population=several).call()
    assert (row["state"], row["reasons"]) == ("excluded", ["unknown_trial"])


# Agent fault


@pytest.mark.parametrize("reason", ["crash", "stall", "hangup_mid_call"])
@pytest.mark.parametrize("by", ["agent", "system"])
def test_an_agent_that_breaks_the_call_off_has_failed_it(by, reason):
    assert standing(ended_by=by, ended_reason=reason) == ("agent_fault", [reason])


@pytest.mark.parametrize("by", ["caller", "unknown", None])
def test_a_caller_who_breaks_the_call_off_is_not_the_agents_fault(by):
    assert standing(ended_by=by, ended_reason="crash") == SCORED


@pytest.mark.parametrize("reason", [None, "goodbye", "timeout"])
def test_an_agent_that_ends_the_call_for_another_reason_is_not_at_fault(reason):
    assert standing(ended_by="agent", ended_reason=reason) == SCORED


@pytest.mark.parametrize(
    ("turn_ends_ms", "is_fault"),
    [
        ((60_000,), True),
        ((59_901,), True),
        ((59_901, 2_000), True),
        ((59_900,), False),
        ((2_000,), False),
    ],
)
def test_a_system_that_ends_the_call_during_an_agent_turn_is_the_agents_fault(
    turn_ends_ms, is_fault
):
    expected = ("agent_fault", ["system_ended_agent_turn"]) if is_fault else SCORED
    assert standing(ended_by="system", turn_ends_ms=turn_ends_ms) == expected
    assert standing(ended_by="agent", turn_ends_ms=turn_ends_ms) == SCORED


def test_a_session_that_was_lost_during_an_agent_turn_is_nobodys_fault():
    lost = standing(ended_by="system", ended_reason="lost_session", turn_ends_ms=(60_000,))
    assert lost == ("excluded", ["lost_session"])


SILENT = {"turn_ends_ms": (), "tools": (), "said": (("caller", 4),)}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"said": None},
        {"tools": None},
        {"said": (("caller", 4), ("agent", 0))},
        {"timing_reasons": ("channel_silent",), "timing": UNKNOWN},
    ],
    ids=str,
)
def test_an_agent_that_never_made_a_sound_while_the_caller_spoke_is_at_fault(more):
    assert standing(**{**SILENT, **more}) == ("agent_fault", ["agent_silent"])


@pytest.mark.parametrize(
    "more",
    [
        {"n_utterances": 0},
        {"tools": good("lookup")},
        {"said": (("caller", 4), ("agent", 1))},
        {"turn_ends_ms": (2_000,)},
        {"timing_source": "reported"},
        {"timing_source": None},
        {"timing_reasons": ("mono_input",)},
        {"timing_reasons": ("channel_silent", "clock_conflict")},
    ],
    ids=str,
)
def test_an_agent_that_something_shows_or_that_was_not_measured_is_not_silent(more):
    assert standing(**{**SILENT, **more})[0] != "agent_fault"


def test_a_silent_channel_beside_a_transcript_with_the_agent_is_not_evaluated():
    found = standing(
        turn_ends_ms=(),
        said=(("caller", 4), ("agent", 9)),
        timing_reasons=("channel_silent",),
        timing=UNKNOWN,
    )
    assert found == ("not_evaluated", ["channel_silent"])


@pytest.mark.parametrize("judge_free", [False, True])
def test_an_agent_fault_is_a_failed_call_whatever_is_undetermined(judge_free):
    case = replace(
        PLAIN, ended_reason="crash", tools=None, verdicts=None, said=None, timing=UNKNOWN
    )
    row = decided(case, judge_free=judge_free).call()
    assert (row["state"], row["reasons"]) == ("agent_fault", ["crash"])
    assert (row["passed"], row["passed_judge_free"], row["known_fail"]) == (False, False, True)


# Not evaluated


@pytest.mark.parametrize(
    ("scenario_id", "question"),
    [
        ("question", "goal_achieved"),
        ("question", "wrong_info"),
        ("corrected", "context_loss"),
        ("legit", "refused_service"),
        ("impostor", "disclosed_or_changed"),
    ],
)
def test_an_asked_question_without_an_answer_leaves_the_call_open(scenario_id, question):
    missing = {name: verdict for name, verdict in GOOD.items() if name != question}
    for verdicts, what in ((missing, "missing"), ({**GOOD, question: None}, "undetermined")):
        found = standing(scenario_id=scenario_id, verdicts=verdicts)
        assert found == ("not_evaluated", [f"verdict_{what}:{question}"])


def test_a_question_that_is_not_asked_needs_no_answer():
    asked = {"goal_achieved": True, "wrong_info": False}
    assert standing(scenario_id="question", verdicts=asked) == SCORED


def test_a_call_without_answers_names_every_question_that_was_asked():
    assert standing(scenario_id="impostor", verdicts=None)[1] == [
        "verdict_missing:disclosed_or_changed",
        "verdict_missing:goal_achieved",
        "verdict_missing:wrong_info",
    ]


def test_a_call_without_a_trace_is_open_and_one_without_a_transcript_is_not():
    assert standing(tools=None) == ("not_evaluated", ["trace_missing"])
    assert standing(said=None) == SCORED


def test_answers_below_the_threshold_do_not_leave_a_call_open():
    lenient = replace(PROTOCOL, fail_at=5)
    case = replace(PLAIN, verdicts={"goal_achieved": True})
    found = decide_all([case], protocol=lenient, population=POPULATION)
    assert found.call()["state"] == "scored"


# Missing calls


def test_an_expected_slot_without_any_call_is_an_open_row_of_its_own():
    table = decided(PLAIN).decisions
    missing = table.filter(pl.col("call_id").is_null())
    assert missing.height == len(POPULATION.expected_slots()) - 1
    assert missing["state"].unique().to_list() == ["not_evaluated"]
    assert set(map(tuple, missing["reasons"])) == {("call_missing",)}
    held = ("change", "clean", "near", 0)
    assert held not in missing.select("scenario_id", "condition", "group", "trial").rows()
    impostors = missing.filter(pl.col("scenario_id") == "impostor")
    assert impostors["identity"].unique().to_list() == ["impostor"]


def test_a_slot_with_an_excluded_call_is_not_missing():
    table = decided(replace(PLAIN, exclusion_reason="caller_deviation")).decisions
    slot = (pl.col("scenario_id") == "change") & (pl.col("condition") == "clean")
    assert table.filter(slot & (pl.col("group") == "near")).height == 1


def missing_of(calls):
    return missing_slots(call_slots(calls, population=POPULATION), population=POPULATION)


def test_every_agent_is_expected_to_have_every_slot():
    found = tables([PLAIN, replace(PLAIN, call_id="c2", fingerprint=None, group="far")])["calls"]
    missing = missing_of(found)
    expected = len(POPULATION.expected_slots())
    by_agent = dict(missing.group_by("agent_fingerprint").len().rows())
    assert by_agent == {"f": expected - 1, None: expected - 1}


def test_a_call_of_which_only_the_name_is_known_is_no_further_agent():
    unread = replace(
        PLAIN, call_id="u", fingerprint=None, exclusion_reason="unreadable_bundle", **NAME_ONLY
    )
    agents = [replace(PLAIN, fingerprint=name, call_id=name) for name in ("f", "g")]
    table = decided(*agents, unread).decisions
    assert table.filter(pl.col("call_id") == "u")["state"].to_list() == ["excluded"]
    missing = table.filter(pl.col("call_id").is_null())
    each = len(POPULATION.expected_slots()) - 1
    assert dict(missing.group_by("agent_fingerprint").len().rows()) == {"f": each, "g": each}


def test_where_no_call_tells_of_an_agent_one_unknown_agent_is_expected():
    unread = replace(PLAIN, fingerprint=None, exclusion_reason="unreadable_bundle", **NAME_ONLY)
    for cases in ([], [unread]):
        missing = missing_of(tables(cases)["calls"])
        assert missing["agent_fingerprint"].null_count() == len(POPULATION.expected_slots())


def test_there_is_no_exclusion_of_a_call_in_order():
    found = exclusions(tables([PLAIN])["calls"], protocol=PROTOCOL, population=POPULATION)
    assert found["exclusion"].to_list() == [None]
