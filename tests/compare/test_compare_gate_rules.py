"""Gates on what is no score: cost, and failures that were reviewed before."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import polars as pl
import pytest

from inquesto_core.compare.cost_pairs import cost_differences
from inquesto_core.compare.gates import parse_gates, pass_gates
from inquesto_core.compare.regression import Failure, FailureCheck
from inquesto_core.shipped import schemas_folder

RECOMMENDED = (schemas_folder() / "gates-recommended.toml").read_bytes()


def said(found, **gate):
    text = "format = 1\n[[gate]]\n"
    text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in gate.items())
    (result,) = pass_gates(parse_gates(text.encode(), file="gates.toml"), found).results
    return result


def costing(tables, found, *, b=1.0, told=1.0, currency="USD", more=()):
    """Return a comparison whose calls cost about 20 cents under A, and `b` times that under B."""
    pairs = found.pairing.pairs.with_columns(
        call_id_a=pl.format("a{}", pl.int_range(pl.len())),
        call_id_b=pl.format("b{}", pl.int_range(pl.len())),
    )
    costs = dict(more)
    for at in range(int(pairs.height * told)):
        cost = Decimal(180 + at % 7 * 5) / 1000
        costs[f"a{at}"] = (cost, currency)
        costs[f"b{at}"] = ((cost * Decimal(str(b))).quantize(Decimal("0.0001")), currency)
    costs = cost_differences(pairs, costs, resampling=tables.resampling)
    return replace(found, costs=costs)


def test_a_candidate_that_is_as_good_and_dearer_passes_all_recommended_gates_but_not_cost(tables):
    found = costing(tables, tables.compared(), b=1.3)
    assert pass_gates(parse_gates(RECOMMENDED, file="x"), found).first_failed is None
    result = said(found, rule="cost_not_above", max_increase_percent=10)
    assert result.state == "failed"
    assert "cost of a call: A 0.1948, B 0.2532 USD; B − A is not above +0.0" in result.sentence


@pytest.mark.parametrize(
    ("limit", "state"), [({"max_cost": 0.195}, "passed"), ({"max_cost": 0.194}, "failed")]
)
def test_a_call_may_cost_at_most_its_limit(tables, limit, state):
    found = costing(tables, tables.compared())
    assert said(found, rule="cost_not_above", **limit).state == state


@pytest.mark.parametrize(("percent", "state"), [(0, "passed"), (100, "passed")])
def test_a_cost_that_is_the_same_in_every_pair_has_not_risen(tables, percent, state):
    found = costing(tables, tables.compared())
    result = said(found, rule="cost_not_above", max_increase_percent=percent)
    assert result.state == state


def test_a_passed_call_pays_for_those_that_fail(tables):
    a = tables.agent_calls()
    lost = a.with_row_index("at").filter(pl.col("passed"))["at"].to_list()[::2]
    found = costing(tables, tables.compared(a, tables.with_event(a, "slow_turn", lost)))
    per_call = {"rule": "cost_not_above", "max_increase_percent": 10}
    assert said(found, **per_call).state == "passed"
    result = said(found, **per_call, per="passed_call")
    assert result.state == "failed"
    assert "cost of a passed call: A 0.2922, B 0.5844 USD" in result.sentence


def test_where_nobody_passes_there_is_no_cost_of_a_pass(tables):
    a = tables.agent_calls()
    found = costing(tables, tables.compared(a, tables.with_event(a, "slow_turn", range(144))))
    result = said(found, rule="cost_not_above", per="passed_call", max_cost=1)
    assert (result.state, result.holds) == ("undecided", False)
    assert "no call passes under B" in result.sentence


def test_a_cost_that_is_not_told_or_of_two_currencies_is_undecided(tables):
    gate = {"rule": "cost_not_above", "max_cost": 1}
    assert said(tables.compared(), **gate).sentence == "no cost is told"
    half = costing(tables, tables.compared(), told=0.5)
    assert said(half, **gate).sentence.startswith("the cost of 50.0 % of pairs is told")
    assert said(half, **gate, least_told_percent=50).state == "passed"
    other = [(f"{side}{at}", (Decimal(1), "EUR")) for side in "ab" for at in range(72, 144)]
    both = costing(tables, tables.compared(), told=0.5, more=other)
    assert said(both, **gate).sentence == "costs are told in EUR and USD: name one with currency"
    assert said(both, **gate, currency="EUR", least_told_percent=50).state == "passed"
    assert said(both, **gate, currency="INR").sentence == "no cost is told in that currency"


def checked(outcome, call_id, again=()):
    failure = Failure(
        call_id=call_id,
        bundle="calls/x",
        scenario_id="s",
        condition="clean",
        group="g",
        trial=0,
        category="false_accept",
        severity=5,
        agent="one",
        fingerprint=None,
        events=(),
        absent=("false_accept",),
        note="",
        files=(),
    )
    return FailureCheck(failure=failure, calls=("x",), outcome=outcome, again=again)


def with_set(found, *rows):
    pairs = [
        (checked(a, f"c{at}"), checked(b, f"c{at}", ("false_accept",) if b == "fails" else ()))
        for at, (a, b) in enumerate(rows)
    ]
    return replace(found, regressions=tuple(pairs))


def test_a_candidate_that_repeats_a_reviewed_failure_passes_all_gates_but_that_one(tables):
    found = with_set(tables.compared(), ("holds", "fails"), ("fails", "holds"))
    assert pass_gates(parse_gates(RECOMMENDED, file="x"), found).first_failed is None
    result = said(found, rule="regressions_hold")
    assert result.state == "failed"
    assert result.sentence == (
        "of the failures in the regression set (2) B mends 1, there again 1: c0 (false_accept)"
    )


@pytest.mark.parametrize(
    ("rows", "options", "state"),
    [
        ([("fails", "holds")], {}, "passed"),
        ([("fails", "fails")], {}, "failed"),
        ([("fails", "fails")], {"of": "held_under_a"}, "passed"),
        ([("holds", "fails")], {"of": "held_under_a"}, "failed"),
        ([("fails", "fails"), ("fails", "holds")], {"allow": 1}, "passed"),
        ([("fails", "fails"), ("fails", "fails")], {"allow": 1}, "failed"),
        ([("fails", "open")], {}, "undecided"),
        ([("fails", "not_run"), ("fails", "holds")], {}, "undecided"),
        ([("holds", "not_run"), ("holds", "fails")], {}, "failed"),
    ],
    ids=[
        *("mended", "still there", "not asked of what A fails", "mended by A, back under B"),
        *("allowed", "above what is allowed", "open", "not run", "failed and not run"),
    ],
)
def test_reviewed_failures_have_to_be_mended(tables, rows, options, state):
    assert (
        said(with_set(tables.compared(), *rows), rule="regressions_hold", **options).state == state
    )


def test_without_a_set_nobody_can_tell(tables):
    result = said(tables.compared(), rule="regressions_hold")
    assert (result.state, result.holds) == ("undecided", False)
    assert "--regression" in result.sentence
