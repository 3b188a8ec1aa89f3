"""Costs of two agents over the same calls, against sums by hand."""

from __future__ import annotations

from decimal import Decimal

import polars as pl
import pytest

from inquesto_core.compare.bootstrap import Resampling
from inquesto_core.compare.cost_pairs import cost_differences

QUICK = Resampling(resamples=1_000)


def pairs(n=24):
    return pl.DataFrame(
        {
            "cluster": [f"s{at % 12}" for at in range(n)],
            "call_id_a": [f"a{at}" for at in range(n)],
            "call_id_b": [f"b{at}" for at in range(n)],
            "passed_a": [at % 2 == 0 for at in range(n)],
            "passed_b": [at % 3 == 0 for at in range(n)],
        }
    )


def costs(n=24, currency="USD"):
    told = {f"a{at}": (Decimal(at) / 100, currency) for at in range(n)}
    return told | {f"b{at}": (Decimal(at + 5 + at % 4) / 100, currency) for at in range(n)}


def test_cost_of_a_call_and_of_a_passed_call_are_the_sums_by_hand():
    (found,) = cost_differences(pairs(), costs(), resampling=QUICK)
    assert found.pairs == 24
    assert found.a == pytest.approx(0.115)
    assert found.b == pytest.approx(0.18)
    assert found.difference.value == pytest.approx(0.065)
    assert found.difference.low < 0.065 < found.difference.high
    assert found.per_pass_a == pytest.approx(24 * 0.115 / 12)
    assert found.per_pass_b == pytest.approx(24 * 0.18 / 8)


def test_currencies_are_never_added_and_pairs_of_two_are_left_out():
    told = costs() | {
        "a0": (Decimal(1), "EUR"),
        "b0": (Decimal(1), "EUR"),
        "a1": (Decimal(1), None),
    }
    del told["b2"]
    found = {each.currency: each for each in cost_differences(pairs(), told, resampling=QUICK)}
    assert {name: each.pairs for name, each in found.items()} == {"USD": 21, "EUR": 1}
    assert found["USD"].not_told == 2
    assert found["EUR"].difference.inconclusive


def test_nobody_passes_and_nothing_is_told():
    none = pairs().with_columns(passed_b=pl.lit(value=False))
    assert cost_differences(none, costs(), resampling=QUICK)[0].per_pass_b is None
    assert cost_differences(pairs(), {}, resampling=QUICK) == ()


def test_a_passed_call_has_an_interval_of_its_own_over_all_that_was_spent():
    (found,) = cost_differences(pairs(), costs(), resampling=QUICK)
    value = found.per_pass_b - found.per_pass_a
    assert found.per_pass.value == pytest.approx(value)
    assert found.per_pass.low < value < found.per_pass.high
    # Every second call passes under A, every third under B: in 6 and 4 of the 12 clusters.
    assert found.per_pass.inconclusive == "fewer than 10 clusters with a passed call"
    spread = pairs(240).with_columns(
        cluster=pl.format("s{}", pl.int_range(240) // 20),
    )
    assert cost_differences(spread, costs(240), resampling=QUICK)[0].per_pass.inconclusive is None
