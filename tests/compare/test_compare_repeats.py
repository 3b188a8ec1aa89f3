from __future__ import annotations

import itertools

import polars as pl
import pytest
from scipy.stats import beta

from inquesto_core.compare.repeats import repeats, zero_failure_bound
from inquesto_core.compare.slices import exact_rate_interval


def trials(**slots):
    rows = [
        {"scenario_id": name, "condition": "clean", "group": "g", "passed": mark == "+"}
        for name, marks in slots.items()
        for mark in marks
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_both_figures_are_means_over_every_choice_of_k_trials(k):
    marks = {"s1": "++-+-", "s2": "---+", "s3": "++++"}
    found = next(each for each in repeats(trials(**marks)).rates if each.k == k)
    chosen = [list(itertools.combinations(each, k)) for each in marks.values()]
    every = [sum(set(c) == {"+"} for c in of) / len(of) for of in chosen]
    some = [sum("+" in c for c in of) / len(of) for of in chosen]
    assert found.all_pass == pytest.approx(sum(every) / 3)
    assert found.any_pass == pytest.approx(sum(some) / 3)


def test_one_trial_is_the_pass_rate_and_some_of_k_is_above_it():
    rates = repeats(trials(s1="+-+-", s2="++-+")).rates
    assert (rates[0].all_pass, rates[0].any_pass) == pytest.approx((0.625, 0.625))
    assert rates[1].all_pass < 0.625 < rates[1].any_pass


def test_a_slot_with_fewer_trials_than_k_is_not_asked_about_k():
    found = repeats(trials(s1="++", s2="+++++"))
    assert {each.k: each.slots for each in found.rates} == {1: 2, 2: 2, 3: 1, 5: 1}


def test_the_flip_rate_is_the_share_of_pairs_of_trials_that_disagree():
    flips = repeats(trials(s1="++--", s2="+++-", s3="++++")).flips
    shown = dict(flips.select("scenario_id", "flip_rate").rows())
    assert shown == pytest.approx({"s1": 4 / 6, "s2": 3 / 6, "s3": 0.0})
    assert flips["scenario_id"].to_list() == ["s1", "s2", "s3"]


def test_slots_with_one_trial_each_tell_nothing_of_repeats():
    assert repeats(trials(s1="+", s2="-")) is None


def test_thousands_of_trials_do_not_overflow():
    rates = repeats(trials(s1="+" * 3000 + "-" * 3000)).rates
    assert rates[-1].all_pass == pytest.approx(0.5**8, rel=0.01)


@pytest.mark.parametrize("n", [1, 10, 35, 306])
def test_no_failure_in_n_leaves_the_bound_of_clopper_and_pearson(n):
    found = zero_failure_bound(n)
    assert found["exact"] == pytest.approx(beta.ppf(0.95, 1, n))
    assert found["rule_of_three"] == min(1.0, 3 / n)
    assert found["assumes_independence"]


def test_no_call_at_all_has_no_bound():
    assert zero_failure_bound(0) is None


@pytest.mark.parametrize(("k", "n"), [(0, 20), (3, 20), (20, 20)])
def test_the_exact_interval_is_scipys(k, n):
    from scipy.stats import binomtest

    expected = binomtest(k, n).proportion_ci(method="exact")
    assert exact_rate_interval(k, n, level=0.95) == pytest.approx((expected.low, expected.high))
