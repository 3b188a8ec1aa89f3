from __future__ import annotations

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.compare import HALVES, half_of, with_half
from inquesto_core.events.judged import asked_where, judged_questions
from inquesto_core.protocol import load_population, load_protocol

BILLING = load_population("billing-0.1")

#: Numbers of its scenarios in the held-out half.
HELD_OUT = "001 002 004 009 010 012 013 016 018 020 021 023 025 027 028"


def calls_of(*scenario_ids):
    return pl.DataFrame(
        {"call_id": [f"c{at}" for at in range(len(scenario_ids))], "scenario_id": scenario_ids},
        schema={"call_id": pl.String, "scenario_id": pl.String},
    )


def billing_halves():
    calls = calls_of(*(scenario.id for scenario in BILLING.scenarios))
    return dict(with_half(calls, BILLING).select("scenario_id", "half").rows())


def test_the_split_of_the_billing_scenarios_never_changes():
    """A scenario that moved would bring calls that a rubric was worked on with over."""
    held_out = sorted(name for name, half in billing_halves().items() if half == "held-out")
    assert " ".join(name[4:7] for name in held_out) == HELD_OUT


def test_every_question_is_asked_in_both_halves_about_equally():
    halves = billing_halves()
    rows = pl.DataFrame(
        BILLING.scenario_rows(), schema_overrides={"identity": pl.String}, infer_schema_length=None
    ).with_columns(scenario_known=pl.lit(value=True))
    for asked in judged_questions(load_protocol("inquesto-0.1")).values():
        counts = Counter(halves[name] for name in rows.filter(asked_where(asked))["scenario_id"])
        assert set(counts) == set(HALVES)
        assert abs(counts["development"] - counts["held-out"]) <= 1


def test_all_calls_of_a_scenario_are_in_one_half():
    scenario = BILLING.scenarios[0].id
    found = with_half(calls_of(scenario, scenario), BILLING)["half"].to_list()
    assert found == [billing_halves()[scenario]] * 2


def test_an_unknown_scenario_goes_by_its_name_and_a_call_without_one_by_its_own():
    found = with_half(calls_of("odd", "odd", None, None), BILLING)["half"].to_list()
    assert found == [half_of("odd"), half_of("odd"), half_of("c2"), half_of("c3")]


@given(st.permutations(BILLING.scenarios[:6]))
def test_the_order_of_the_calls_never_matters(scenarios):
    names = [scenario.id for scenario in scenarios]
    found = with_half(calls_of(*names), BILLING)["half"].to_list()
    assert found == [billing_halves()[name] for name in names]


def test_the_halves_of_many_names_are_about_even():
    held_out = sum(half_of(f"call-{at}") == "held-out" for at in range(4000))
    assert 1850 < held_out < 2150
