from __future__ import annotations

import math

import polars as pl
import pytest
from decision_cases import (
    decision,
    decisions,
    fuzz_run,
    no_evidence,
    published_records,
    summary,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core.evidence.tables import make_table
from inquesto_core.protocol import load_protocol
from inquesto_core.score.rate import Rate, exact_rate, published_rate
from inquesto_core.score.sensitivity import (
    aggregation_ablation,
    audio_only,
    judge_free_decisions,
    judge_free_variant,
    passes_at,
    severity_sensitivity,
)
from inquesto_core.score.views import pass_rate

PROTOCOL = load_protocol("inquesto-0.1")
NAMES = [event.name for event in PROTOCOL.events]


def sensitivity(rows):
    return severity_sensitivity(summary(PROTOCOL, rows).cells, protocol=PROTOCOL)


def rescued(rows):
    return audio_only(summary(PROTOCOL, rows).cells)


@pytest.mark.parametrize("seed", [1, 2, 3, 9, 35])
def test_thresholds_and_audio_only_are_those_of_the_reference(shared, seed):
    table, record = fuzz_run(shared, seed, PROTOCOL)
    for name, row in sensitivity(table).items():
        expected = record["severity_sensitivity"][name]
        assert {key: row[key] for key in expected} == expected
    mine = rescued(table)
    assert {key: mine[key] for key in record["audio_only"]} == record["audio_only"]


def test_every_published_threshold_row_is_the_rate_of_some_count(shared):
    for record in published_records(shared).values():
        by_score = {Rate(k=k, n=306).published: k for k in range(307)}
        rows = record["severity_sensitivity"]
        for row in rows.values():
            rate = published_rate(Rate(k=by_score[row["score"]], n=306), PROTOCOL.z)
            assert (rate["lo"], rate["hi"]) == (row["lo"], row["hi"])
        assert by_score[rows["S3"]["score"]] == record["passed"]


def test_every_published_counterfactual_follows_from_counts(shared):
    for record in published_records(shared).values():
        row = record["audio_only"]
        only = row["failed_only_on_audio_events"]
        assert row["failed"] == record["n"] - record["passed"]
        assert round(only / row["failed"], 3) == row["fraction"]
        alone = Rate(k=record["passed"] + only, n=record["n"])
        assert alone.published == row["score_if_transcript_only"]


def test_every_published_ablation_follows_from_the_views(shared):
    for record in published_records(shared).values():
        views = {
            name: {**view, "exact": exact_rate(Rate(k=view["passed"], n=view["n"]), PROTOCOL.z)}
            for name, view in record["views"].items()
        }
        mine = aggregation_ablation(views)
        exact = mine.pop("exact")
        assert mine == record["aggregation_ablation"]
        assert exact["mean_of_views"] == pytest.approx(mine["mean_of_views"], abs=0.11)


def _views(*scores):
    return {str(at): {"score": score, "exact": {"score": score}} for at, score in enumerate(scores)}


def test_a_view_of_0_counts_as_a_tenth_of_a_percent_in_the_geometric_mean():
    mine = aggregation_ablation(_views(0.0, 50.0, 50.0, 50.0))
    expected = math.exp((math.log(0.1) + 3 * math.log(50)) / 4)
    assert mine["geometric_mean_of_views"] == round(expected, 1)
    assert mine["exact"]["geometric_mean_of_views"] == pytest.approx(expected)
    assert mine["min_view"] == 0.0


def test_an_empty_view_leaves_no_aggregate():
    mine = aggregation_ablation(_views(10.0, None, 20.0))
    assert mine["mean_of_views"] is None
    assert mine["exact"]["min_view"] is None
    assert aggregation_ablation({})["min_view"] is None


@pytest.mark.parametrize(
    ("event", "passing"),
    [
        ("verbose", ["S2", "S3", "S4", "S5"]),
        ("slow_median", ["S3", "S4", "S5"]),
        ("slow_turn", ["S4", "S5"]),
        ("wrong_info", ["S5"]),
        ("false_accept", []),
    ],
)
def test_an_event_fails_a_call_at_its_own_severity_and_below(event, passing):
    rows = sensitivity([decision(PROTOCOL, event)])
    assert [name for name, row in rows.items() if row["k"]] == passing
    assert {row["n"] for row in rows.values()} == {1}


def test_a_missed_goal_fails_at_every_threshold():
    assert {row["k"] for row in sensitivity([decision(PROTOCOL, goal=False)]).values()} == {0}


def test_an_agent_fault_fails_at_every_threshold_whatever_is_unknown():
    row = decision(PROTOCOL, state="agent_fault", goal=None, event_talk_over=None)
    assert {(row["k"], row["n"]) for row in sensitivity([row]).values()} == {(0, 1)}
    assert rescued([row])["failed_only_on_audio_events"] == 0


@pytest.mark.parametrize("other", [(), ("wrong_info",)], ids=["clean", "failed anyway"])
def test_an_unknown_s2_event_leaves_the_call_out_of_the_s2_rate_only(other):
    rows = sensitivity([decision(PROTOCOL, *other, event_talk_over=None), decision(PROTOCOL)])
    assert (rows["S2"]["n"], rows["S2"]["undetermined_n"], rows["S2"]["k"]) == (1, 1, 1)
    assert (rows["S3"]["n"], rows["S3"]["undetermined_n"]) == (2, 0)


def test_an_unknown_s1_event_matters_nowhere():
    rows = sensitivity([decision(PROTOCOL, event_verbose=None)])
    assert {(row["k"], row["undetermined_n"]) for row in rows.values()} == {(1, 0)}


@pytest.mark.parametrize(
    ("events", "goal", "only"),
    [
        (("slow_turn",), True, 1),
        (("repeated_talk_over", "slow_turn", "verbose"), True, 1),
        (("slow_turn",), False, 0),
        (("slow_turn", "wrong_info"), True, 0),
        (("wrong_info",), True, 0),
        (("slow_median",), True, 0),
        ((), True, 0),
    ],
)
def test_a_call_failed_only_on_audio_if_nothing_else_fails_it(events, goal, only):
    mine = rescued([decision(PROTOCOL, *events, goal=goal)])
    assert mine["failed_only_on_audio_events"] == only


def test_no_failed_call_leaves_no_fraction():
    mine = rescued([decision(PROTOCOL)])
    assert mine["fraction"] is None
    assert mine["score_if_transcript_only"] == 100.0
    assert rescued([])["score_if_transcript_only"] is None


def test_unanswered_calls_are_told_apart_among_the_audio_only_ones():
    rows = [decision(PROTOCOL, "slow_turn", n_no_reply=1), decision(PROTOCOL, "slow_turn")]
    mine = rescued(rows)
    assert (mine["failed_only_on_audio_events"], mine["with_no_reply"]) == (2, 1)


calls = st.lists(
    st.tuples(st.booleans(), st.sets(st.sampled_from(NAMES), max_size=4)), min_size=1, max_size=12
)


@settings(max_examples=30, deadline=None)
@given(calls)
def test_a_stricter_threshold_never_gives_a_higher_score(drawn):
    rows = [decision(PROTOCOL, *sorted(events), goal=goal) for goal, events in drawn]
    passed = [row["k"] for row in sensitivity(rows).values()]
    assert passed == sorted(passed)
    assert passed[1] == pass_rate(summary(PROTOCOL, rows).cells).k
    assert rescued(rows)["score_if_transcript_only"] >= sensitivity(rows)["S3"]["score"]


def test_the_rule_at_the_protocols_own_threshold_is_pass():
    table = decisions(PROTOCOL, [decision(PROTOCOL, name) for name in NAMES])
    mine = table.select(passes_at(PROTOCOL, PROTOCOL.fail_at).alias("passed"))["passed"]
    assert mine.to_list() == table["passed"].to_list()


def judge_free(rows, events=None):
    events = no_evidence()["events"] if events is None else events
    return judge_free_decisions(decisions(PROTOCOL, rows), events, protocol=PROTOCOL)


JUDGED = ["context_loss", "false_reject", "wrong_info", "promised_not_done", "false_accept"]


def test_judged_events_are_absent_without_a_judge():
    table = judge_free([decision(PROTOCOL, *NAMES, passed_judge_free=False)])
    left = [name for name in NAMES if table[f"event_{name}"].item()]
    assert left == [name for name in NAMES if name not in JUDGED]


def test_an_impostor_served_stays_where_the_trace_shows_it():
    rows = [
        decision(PROTOCOL, "false_accept", call_id=call, passed_judge_free=False)
        for call in ("by_trace", "by_judge")
    ]
    found = [
        {"call_id": "by_trace", "type": "false_accept", "severity": 5, "source": "trace"},
        {"call_id": "by_judge", "type": "false_accept", "severity": 5, "source": "judge"},
    ]
    table = judge_free(rows, make_table("events", found))
    assert table["event_false_accept"].to_list() == [True, False]
    assert table["worst_severity"].to_list() == [5, 0]


def test_a_call_open_for_want_of_a_judge_is_scored_without_one():
    row = decision(
        PROTOCOL,
        state="not_evaluated",
        reasons=["judge_missing"],
        goal=None,
        goal_judge_free=True,
        passed_judge_free=True,
        event_wrong_info=None,
    )
    table = judge_free([row])
    assert table.select("state", "passed", "goal", "event_wrong_info").row(0) == (
        "scored",
        True,
        True,
        False,
    )
    assert table["reasons"].to_list() == [[]]


@pytest.mark.parametrize(
    ("fields", "state", "passed", "known_fail"),
    [
        ({"state": "excluded", "passed_judge_free": True}, "excluded", None, False),
        ({"state": "agent_fault", "passed_judge_free": None}, "agent_fault", False, False),
        ({"passed_judge_free": None}, "not_evaluated", None, False),
        ({"passed_judge_free": None, "goal_judge_free": False}, "not_evaluated", None, True),
        ({"passed_judge_free": True, "call_id": None}, "not_evaluated", None, False),
    ],
)
def test_a_call_without_a_judge_ends_in_one_state(fields, state, passed, known_fail):
    row = judge_free([decision(PROTOCOL, **fields)]).select("state", "passed", "known_fail").row(0)
    assert row == (state, passed, known_fail)


def test_the_judge_free_variant_counts_goals_that_ask_for_nothing():
    rows = [
        decision(PROTOCOL, passed_judge_free=True, judge_free_vacuous=True),
        decision(PROTOCOL, passed_judge_free=False, judge_free_vacuous=False),
        decision(PROTOCOL, passed_judge_free=None, judge_free_vacuous=True),
    ]
    mine = judge_free_variant(summary(PROTOCOL, rows).judge_free, protocol=PROTOCOL)
    assert (mine["passed"], mine["n"], mine["vacuous_n"], mine["score"]) == (1, 2, 1, 50.0)


def test_the_judge_free_table_has_the_columns_of_a_decision_table():
    table = decisions(PROTOCOL, [decision(PROTOCOL, passed_judge_free=True)])
    assert (
        judge_free_decisions(table, no_evidence()["events"], protocol=PROTOCOL).schema
        == table.schema
    )
    empty = judge_free([])
    assert isinstance(empty, pl.DataFrame)
    assert empty.schema == table.schema
