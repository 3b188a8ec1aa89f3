from __future__ import annotations

import polars as pl
import pytest

from inquesto_core.compare.paired import (
    event_moves,
    moved_causes,
    outcome_counts,
    pair_calls,
    severity_moves,
)


def test_a_pair_is_the_same_scenario_condition_group_and_trial(tables):
    a = tables.agent_calls()
    b = a.sample(fraction=1.0, shuffle=True, seed=1).with_columns(pl.col("call_id") + "-b")
    pairs = pair_calls(a, b).pairs
    assert pairs.height == a.height
    assert (pairs["call_id_a"] + "-b" == pairs["call_id_b"]).all()
    other_trial = a.with_columns(trial=pl.lit(1, dtype=pl.Int64))
    assert pair_calls(a, other_trial).pairs.is_empty()


def test_every_pair_is_broken_fixed_still_failing_or_still_passing(tables):
    a = tables.agent_calls()
    b = tables.with_event(a, "slow_turn", [1, 2])  # both passed
    b = tables.with_event(b, "slow_turn", [0, 6, 9], value=False)  # 0 fails for another reason
    counts = outcome_counts(pair_calls(a, b).pairs)
    assert (counts.broken, counts.fixed) == (2, 2)
    assert counts.still_failing == 48 - 2
    assert counts.n == 144
    assert counts.passed_b - counts.passed_a == 0


def test_calls_without_a_partner_in_n_are_counted_with_the_reason(tables):
    a = tables.agent_calls()
    b = a.with_columns(
        state=pl.when(pl.int_range(pl.len()) < 2)
        .then(pl.lit("excluded"))
        .when(pl.int_range(pl.len()) == 5)
        .then(pl.lit("not_evaluated"))
        .otherwise("state")
    ).filter(pl.int_range(pl.len()) != 7)
    found = pair_calls(a, b)
    assert found.pairs.height == 140
    assert found.left_out.rows() == [
        ("a", "absent", 1, 1),
        ("a", "excluded", 2, 1),
        ("a", "not_evaluated", 1, 1),
    ]


def test_a_call_recorded_again_after_an_exclusion_is_the_one_that_is_paired(tables):
    a = tables.agent_calls()
    again = a.head(1).with_columns(state=pl.lit("excluded"), call_id=pl.lit("first attempt"))
    found = pair_calls(a, pl.concat([again, a]))
    assert found.pairs.height == 144
    assert found.left_out.is_empty()


def test_two_complete_calls_of_one_slot_are_no_pair(tables):
    a = tables.agent_calls()
    with pytest.raises(pl.exceptions.ComputeError, match="1:1"):
        pair_calls(a, pl.concat([a, a.head(1)]))


def test_events_are_counted_on_both_sides_and_by_what_moved(tables):
    a = tables.agent_calls()
    b = tables.with_event(a, "wrong_info", [0], value=False)
    b = tables.with_event(b, "wrong_info", [8, 9])
    moves = event_moves(pair_calls(a, b).pairs, tables.protocol)
    row = moves.filter(pl.col("event") == "wrong_info").row(0, named=True)
    assert (row["a"], row["b"], row["appeared"], row["went"], row["open"]) == (1, 2, 2, 1, 0)
    assert moves["severity"].is_sorted(descending=True)


def test_a_call_with_two_events_of_one_severity_counts_once(tables):
    a = tables.agent_calls()
    b = tables.with_event(tables.with_event(a, "false_accept", [4]), "unverified_action", [4])
    row = severity_moves(pair_calls(a, b).pairs, tables.protocol).row(0, named=True)
    assert (row["severity"], row["a"], row["b"], row["appeared"]) == (5, 1, 2, 1)


def test_an_event_that_a_side_cannot_tell_is_open_and_in_no_other_count(tables):
    a = tables.agent_calls()
    b = a.with_columns(event_false_accept=pl.when(pl.int_range(pl.len()) > 3).then(False))
    row = (
        event_moves(pair_calls(a, b).pairs, tables.protocol)
        .filter(pl.col("event") == "false_accept")
        .row(0, named=True)
    )
    assert (row["a"], row["b"], row["open"]) == (0, 0, 4)


def test_the_causes_of_a_move_are_what_fails_one_side_only_most_severe_first(tables):
    a = tables.agent_calls()
    b = tables.with_event(tables.with_event(a, "slow_turn", [1]), "false_accept", [1])
    b = b.with_columns(goal=pl.when(pl.int_range(pl.len()) == 1).then(False).otherwise("goal"))
    rows = moved_causes(pair_calls(a, b).pairs, tables.protocol)
    assert rows["appeared"][1].to_list() == ["false_accept", "slow_turn", "goal"]
    assert rows["went"][1].to_list() == []
    assert rows["stayed"][1].to_list() == []
    assert rows["stayed"][0].to_list() == ["wrong_info", "slow_turn"]


def test_swapping_the_sides_swaps_what_is_broken_and_fixed(tables):
    a = tables.agent_calls()
    b = tables.with_event(a, "slow_turn", [1, 2, 4])
    one, two = outcome_counts(pair_calls(a, b).pairs), outcome_counts(pair_calls(b, a).pairs)
    assert (one.broken, one.fixed) == (two.fixed, two.broken) == (3, 0)


def test_the_score_differs_between_unpaired_calls_against_b_and_for_b(tables):
    a = tables.agent_calls()
    b = a.filter(pl.int_range(pl.len()) > 9)
    found = tables.compared(a, b)
    low, high = found.bounds
    # Of ten calls that only A has, six pass: against B it fails all, for B it passes all.
    assert (low, high) == pytest.approx((-6 / 144, 4 / 144))
    assert tables.compared(a, a).bounds is None
