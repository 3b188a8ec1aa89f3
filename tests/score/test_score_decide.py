from __future__ import annotations

import gzip
import json
from dataclasses import replace

import polars as pl
import pytest
from decide_loop import (
    GOOD,
    NO_TIMING_EVENTS,
    Case,
    Loop,
    Tool,
    decide_all,
    good,
    small_population,
    tables,
    with_parameter,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score.bounds import STATES
from inquesto_core.score.tables import DECISIONS

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = small_population()
DONE = good("lookup", "verify", "refund")


def decided(*cases, protocol=PROTOCOL, population=POPULATION, judge_free=False):
    return decide_all(list(cases), protocol=protocol, population=population, judge_free=judge_free)


def timing(**events):
    return {**NO_TIMING_EVENTS, **events}


# Against the slow loop

TOOL_NAMES = ("lookup", "lookup_by_mail", "verify", "verify_pin", "refund", "cancel", "to_human")
QUESTIONS = tuple(GOOD)
three = st.sampled_from((True, False, None))

tools = st.lists(
    st.builds(
        Tool,
        name=st.sampled_from((*TOOL_NAMES, "chat")),
        status=st.sampled_from(("ok", "ok", "unknown", "error", "cancelled", "missing")),
        result=st.sampled_from((None, True, False, {"verified": False}, {"ok": True}, " Denied")),
    ),
    max_size=5,
)
said = st.lists(
    st.tuples(st.sampled_from(("caller", "agent")), st.sampled_from((0, 1, 59, 60, 61, 121))),
    max_size=5,
)
answered = st.fixed_dictionaries({}, optional=dict.fromkeys(QUESTIONS, three))
settled = st.fixed_dictionaries(dict.fromkeys(QUESTIONS, st.booleans()))


def cases(**fields):
    usual = {
        "scenario_id": st.sampled_from(
            (*[each.id for each in POPULATION.scenarios] * 4, "strange", None)
        ),
        "condition": st.sampled_from(("clean", "noisy", "clean", "noisy", "moon", None)),
        "group": st.sampled_from(("near", "far", "near", "far", "nobody")),
        "trial": st.sampled_from((0, 0, 1, 2, 3, 4, None)),
        "fingerprint": st.sampled_from(("f", "f", "g", None)),
        "ended_by": st.sampled_from(("agent", "caller", "system", "unknown", None)),
        "ended_reason": st.sampled_from((None, None, "crash", "network", "goodbye")),
        "exclusion_reason": st.sampled_from((None,) * 6 + ("caller_deviation", "bad day")),
        "timing_source": st.sampled_from(("measured", "measured", "reported", None)),
        "timing_reasons": st.sampled_from(((),) * 5 + (("channel_silent",), ("mono_input",))),
        "tools": st.one_of(st.none(), tools, tools),
        "said": st.one_of(st.none(), said, said),
        "verdicts": st.one_of(st.none(), answered, settled, settled),
        "n_utterances": st.integers(0, 1),
        "turn_ends_ms": st.sampled_from(((), (2_000,), (59_900, 2), (59_901,), (60_000,))),
        "timing": st.one_of(
            st.fixed_dictionaries(dict.fromkeys(NO_TIMING_EVENTS, three)),
            st.just(NO_TIMING_EVENTS),
        ),
    }
    return st.lists(st.builds(Case, **{**usual, **fields}), max_size=8).map(_numbered)


def _numbered(found):
    return [replace(case, call_id=f"{at:04d}") for at, case in enumerate(found)]


def _key(row):
    slot = (row["scenario_id"], row["condition"], row["group"], row["trial"])
    return (row["call_id"] or "~", str(row["agent_fingerprint"]), str(slot))


@pytest.mark.parametrize("judge_free", [False, True], ids=["judged", "judge_free"])
@pytest.mark.parametrize("must_succeed", [False, True], ids=["called", "succeeded"])
@settings(max_examples=30, deadline=None)
@given(found=cases())
def test_the_tables_decide_every_call_as_the_slow_loop_does(found, must_succeed, judge_free):
    protocol = with_parameter(PROTOCOL, "unverified_action", verification_must_succeed=must_succeed)
    loop = Loop(protocol, POPULATION, judge_free=judge_free)
    table = decided(*found, protocol=protocol, judge_free=judge_free).decisions
    expected = sorted(loop.decide(found), key=_key)
    assert sorted(table.to_dicts(), key=_key) == [
        {name: row[name] for name in table.columns} for row in expected
    ]


@settings(max_examples=30, deadline=None)
@given(found=cases())
def test_every_call_and_every_expected_slot_ends_in_exactly_one_state(found):
    table = decided(*found).decisions
    held = table.filter(pl.col("call_id").is_not_null())
    assert held["call_id"].to_list() == [case.call_id for case in found]
    assert set(table["state"]) <= {*STATES}
    in_n = pl.col("state").is_in(["scored", "agent_fault"])
    assert table.select((in_n == pl.col("passed").is_not_null()).all()).item()
    assert table.select((~(pl.col("passed") & pl.col("known_fail"))).fill_null(True).all()).item()
    plain = pl.col("state") == "scored"
    assert table.select((plain == (pl.col("reasons").list.len() == 0)).all()).item()
    assert table.select((pl.col("reasons").list.sort() == pl.col("reasons")).all()).item()


@settings(max_examples=30, deadline=None)
@given(found=cases(), judge_free=st.booleans())
def test_the_order_of_the_calls_never_matters(found, judge_free):
    forward = decided(*found, judge_free=judge_free)
    backward = decide_all(
        {name: frame.reverse() for name, frame in tables(found).items()},
        protocol=PROTOCOL,
        population=POPULATION,
        judge_free=judge_free,
    )
    assert forward.decisions.equals(backward.decisions)
    assert forward.events.sort(pl.all()).equals(backward.events.sort(pl.all()))


@settings(max_examples=30, deadline=None)
@given(found=cases(), others=st.data())
def test_membership_of_n_does_not_depend_on_how_a_known_quantity_turned_out(found, others):
    """Flip every known answer and timing event: what was open stays open, what was not stays in."""

    def flipped(values):
        return {
            name: value if value is None else others.draw(st.booleans())
            for name, value in values.items()
        }

    again = [
        replace(
            case,
            verdicts=None if case.verdicts is None else flipped(case.verdicts),
            timing=flipped(case.timing),
        )
        for case in found
    ]
    columns = ("call_id", "state", "reasons")
    for judge_free in (False, True):
        assert (
            decided(*found, judge_free=judge_free)
            .decisions.select(columns)
            .equals(decided(*again, judge_free=judge_free).decisions.select(columns))
        )


@settings(max_examples=30, deadline=None)
@given(found=cases(verdicts=settled), data=st.data())
def test_taking_evidence_away_never_makes_a_call_pass(found, data):
    worse = [
        replace(
            case,
            verdicts={
                question: verdict if data.draw(st.booleans()) else None
                for question, verdict in case.verdicts.items()
            },
            tools=case.tools if data.draw(st.booleans()) else None,
        )
        for case in found
    ]
    before, after = decided(*found).decisions, decided(*worse).decisions
    passed = before.filter("passed")["call_id"]
    assert after.filter("passed")["call_id"].is_in(passed.implode()).all()


# The pass rule


def test_a_call_that_reached_its_goal_without_a_failure_passes():
    row = decided(Case(tools=DONE, verdicts=GOOD)).call()
    assert (row["state"], row["reasons"], row["passed"]) == ("scored", [], True)
    assert (row["goal"], row["worst_severity"], row["known_fail"]) == (True, 0, False)


@pytest.mark.parametrize(
    ("event", "severity", "passed"),
    [
        ("slow_median", 2, True),
        ("talk_over", 2, True),
        ("slow_turn", 3, False),
        ("repeated_talk_over", 3, False),
    ],
)
def test_an_event_fails_the_call_from_severity_three_on(event, severity, passed):
    row = decided(Case(tools=DONE, verdicts=GOOD, timing=timing(**{event: True}))).call()
    assert (row["worst_severity"], row["passed"]) == (severity, passed)
    assert row["known_fail"] is not passed


def test_a_goal_that_was_not_reached_fails_the_call():
    row = decided(Case(tools=DONE, verdicts={**GOOD, "goal_achieved": False})).call()
    assert (row["goal"], row["passed"], row["worst_severity"]) == (False, False, 0)


@pytest.mark.parametrize("event", ["slow_median", "talk_over"])
def test_an_unknown_event_below_the_threshold_does_not_matter(event):
    row = decided(Case(tools=DONE, verdicts=GOOD, timing=timing(**{event: None}))).call()
    assert (row["state"], row["passed"]) == ("scored", True)


@pytest.mark.parametrize("event", ["slow_turn", "repeated_talk_over"])
def test_an_unknown_event_at_the_threshold_leaves_the_call_open(event):
    row = decided(Case(tools=DONE, verdicts=GOOD, timing=timing(**{event: None}))).call()
    assert (row["state"], row["reasons"]) == ("not_evaluated", ["timing_undetermined"])
    assert (row["passed"], row["known_fail"]) == (None, False)


def test_unmeasured_timing_leaves_the_call_open_with_its_reasons():
    unknown = dict.fromkeys(NO_TIMING_EVENTS)
    row = decided(
        Case(
            tools=DONE,
            verdicts=GOOD,
            timing=unknown,
            timing_reasons=("mono_input", "clock_conflict"),
        )
    ).call()
    assert row["reasons"] == ["clock_conflict", "mono_input"]
    row = decided(Case(tools=DONE, verdicts=GOOD, timing=unknown, timing_source=None)).call()
    assert row["reasons"] == ["timing_missing"]


def test_a_known_failure_leaves_an_open_call_open_and_is_told():
    row = decided(
        Case(tools=good("refund"), verdicts={**GOOD, "wrong_info": None}),
    ).call()
    assert row["state"] == "not_evaluated"
    assert row["reasons"] == ["verdict_undetermined:wrong_info"]
    assert (row["passed"], row["known_fail"], row["worst_severity"]) == (None, True, 5)


def test_an_unjudged_impostor_who_was_served_is_open_as_one_who_was_not():
    served = Case(scenario_id="impostor", tools=good("refund"), verdicts={})
    refused = Case(call_id="c2", scenario_id="impostor", group="far", tools=(), verdicts={})
    found = decided(served, refused)
    assert found.call("c1")["reasons"] == found.call("c2")["reasons"]
    assert found.call("c1")["known_fail"] is True
    assert found.call("c2")["known_fail"] is False


def test_a_call_without_timing_flags_is_open():
    evidence = tables([Case(tools=DONE, verdicts=GOOD)])
    evidence["timing_flags"] = evidence["timing_flags"].clear()
    row = decide_all(evidence, protocol=PROTOCOL, population=POPULATION).call()
    assert (row["state"], row["reasons"]) == ("not_evaluated", ["timing_undetermined"])


def test_other_timing_flags_change_only_what_they_decide():
    evidence = tables([Case(tools=DONE, verdicts=GOOD)])
    moved = {
        **evidence,
        "timing_flags": tables([Case(timing=timing(slow_turn=True))])["timing_flags"],
    }
    first = decide_all(evidence, protocol=PROTOCOL, population=POPULATION).call()
    then = decide_all(moved, protocol=PROTOCOL, population=POPULATION).call()
    changed = {name for name in first if first[name] != then[name]}
    assert changed == {
        "event_slow_turn",
        "worst_severity",
        "passed",
        "passed_judge_free",
        "known_fail",
    }


# Without a judge


def test_without_a_judge_the_judge_free_quantities_decide():
    row = decided(Case(tools=DONE, verdicts=None), judge_free=True).call()
    assert (row["state"], row["reasons"], row["passed"]) == ("scored", [], True)
    assert (row["goal"], row["goal_judge_free"]) == (None, True)


def test_without_a_judge_recorded_answers_are_not_read():
    wrong = {**GOOD, "wrong_info": True, "goal_achieved": False}
    row = decided(Case(tools=DONE, verdicts=wrong), judge_free=True).call()
    assert (row["passed"], row["event_wrong_info"]) == (True, None)


def test_the_judge_free_pass_stands_beside_the_judged_one():
    row = decided(Case(tools=DONE, verdicts={**GOOD, "wrong_info": True})).call()
    assert (row["passed"], row["passed_judge_free"]) == (False, True)


def test_the_judge_free_pass_of_a_missing_trace_is_undetermined():
    row = decided(Case(scenario_id="question", tools=None, verdicts=GOOD)).call()
    assert row["reasons"] == ["trace_missing"]
    assert (row["goal_judge_free"], row["passed_judge_free"]) == (True, None)


def test_what_the_judge_alone_reads_of_an_impostor_is_absent_without_it():
    told = Case(scenario_id="impostor", tools=(), verdicts={**GOOD, "disclosed_or_changed": True})
    row = decided(told).call()
    assert (row["event_false_accept"], row["passed"]) == (True, False)
    assert row["passed_judge_free"] is True


# Form


def test_the_columns_are_those_of_the_decision_table_in_its_order():
    table = decided(Case()).decisions
    ours = [name for name in table.columns if not name.startswith("event_")]
    assert ours == [name for name in DECISIONS if name in ours]
    assert {name: table.schema[name] for name in ours} == {
        name: pl.List(pl.String) if name == "reasons" else DECISIONS[name] for name in ours
    }
    assert table.columns[len(ours) :] == [f"event_{event.name}" for event in PROTOCOL.events]


def test_no_call_at_all_leaves_every_expected_slot_open():
    table = decided().decisions
    assert table.height == len(POPULATION.expected_slots())
    assert table["reasons"].to_list() == [["call_missing"]] * table.height
    assert table["call_id"].null_count() == table.height


# Against the public reference's own decisions

SHOWN = {
    "wrong_info",
    "context_loss",
    "false_reject",
    "promised_not_done",
    "unverified_action",
    "false_accept",
}


def _as_case(line):
    conversation = line["file"]["conversation"]
    meta = conversation["metadata"]
    verdicts = {k: v for k, v in (meta.get("verdicts") or {}).items() if k in GOOD}
    expected = line["expected"]
    return Case(
        call_id=line["key"],
        scenario_id=expected["scenario_id"],
        condition=expected["condition"],
        group=expected["group"],
        trial=0,
        tools=tuple(Tool(name=name, status="unknown") for name in conversation["tool_calls"]),
        verdicts=verdicts,
    )


@pytest.mark.parametrize("seed", range(21))
def test_goal_and_events_of_trace_and_judge_are_those_of_the_reference(shared, seed):
    billing = load_population("billing-0.1")
    text = gzip.decompress((shared / f"oracle/fuzz/{seed}/calls.jsonl.gz").read_bytes())
    lines = [json.loads(line) for line in text.splitlines()]
    found = decided(*(_as_case(line) for line in lines), population=billing)
    rows = {row["call_id"]: row for row in found.decisions.to_dicts()}
    unjudged = {
        line["key"]
        for line in lines
        if "goal_achieved" not in (line["file"]["conversation"]["metadata"].get("verdicts") or {})
    }
    assert len(unjudged) < len(lines) / 5
    for line in lines:
        row, expected = rows[line["key"]], line["expected"]
        missing = [reason for reason in row["reasons"] if reason.startswith("verdict_missing")]
        # Row 11: the runtime's own word stands in for the judge there, and here nothing does.
        assert bool(missing) == (line["key"] in unjudged), line["tags"]
        if missing:
            continue
        names = {event["type"] for event in expected["events"]} & SHOWN
        assert {name for name in SHOWN if row[f"event_{name}"]} == names, line["tags"]
        # Row 10: disclosure is part of our goal, and of the reference's events only.
        disclosed = row["identity"] == "impostor" and "false_accept" in names
        assert row["goal"] == (expected["goal_achieved"] and not disclosed), line["tags"]
