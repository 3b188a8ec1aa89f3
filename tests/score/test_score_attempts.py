"""Rates over attempts, and how repeats of one task agree, against counting by hand."""

from __future__ import annotations

from itertools import combinations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from inquesto_core.score.attempts import rate_of, rates_by, repeats

Z = 1.959964


def table(tasks):
    rows = [(name, passed) for name, attempts in tasks.items() for passed in attempts]
    return pl.DataFrame(rows, schema={"scenario_id": pl.String, "passed": pl.Boolean}, orient="row")


def by_hand(tasks, k, holds):
    """Return the mean over tasks of the share of their k-subsets for which `holds`."""
    shares = []
    for attempts in tasks.values():
        subsets = list(combinations(attempts, k))
        if subsets:
            shares.append(sum(holds(subset) for subset in subsets) / len(subsets))
    return 100 * sum(shares) / len(shares)


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from("vwxyz"), st.lists(st.booleans(), min_size=1, max_size=5), min_size=1
    )
)
def test_pass_at_k_and_pass_hat_k_are_shares_of_all_subsets(tasks):
    told = repeats(table(tasks), "passed")
    assert [row["k"] for row in told["by_k"]] == list(range(1, max(map(len, tasks.values())) + 1))
    for row in told["by_k"]:
        assert abs(row["pass_at_k"] - by_hand(tasks, row["k"], any)) <= 0.05001
        assert abs(row["pass_hat_k"] - by_hand(tasks, row["k"], all)) <= 0.05001
        assert row["tasks"] == sum(len(attempts) >= row["k"] for attempts in tasks.values())
    same = told["consistency"]
    assert sum(same.values()) == told["tasks"] == len(tasks)


def test_attempts_without_an_outcome_are_no_attempts():
    told = repeats(table({"x": [True, None, None], "y": [None]}), "passed")
    assert told["tasks"] == 1
    assert told["by_k"] == [{"k": 1, "tasks": 1, "pass_at_k": 100.0, "pass_hat_k": 100.0}]


def test_no_attempt_at_all_has_no_repeats():
    assert repeats(table({}), "passed")["by_k"] == []


def test_repeats_are_told_up_to_ten():
    assert repeats(table({"x": [True] * 12}), "passed")["by_k"][-1]["k"] == 10


def test_a_rate_counts_what_is_known():
    frame = table({"x": [True, False, None], "y": [True]})
    told = rate_of(frame, "passed", z=Z)
    assert (told["passed"], told["n"], told["score"]) == (2, 3, 66.7)
    assert rate_of(frame.clear(), "passed", z=Z)["score"] is None
    slices = rates_by(frame, "scenario_id", "passed", z=Z)
    assert {name: (row["passed"], row["n"]) for name, row in slices.items()} == {
        "x": (1, 2),
        "y": (1, 1),
    }
