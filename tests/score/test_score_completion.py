from __future__ import annotations

from decimal import Decimal

import polars as pl

from inquesto_core.score.completion import completion_by_latency, cost_of_pass, transcript_latency

DECISIONS = pl.DataFrame(
    {
        "call_id": ["a", "b", "c", "d", None],
        "passed": [True, False, True, None, None],
        "median_latency_ms": [800.0, 800.5, None, 100.0, None],
    }
)


def test_a_passed_call_costs_what_the_failed_ones_cost_too():
    (found,) = cost_of_pass(
        DECISIONS, {"a": (Decimal("0.10"), "USD"), "b": (Decimal("0.20"), "USD")}
    )
    assert (found.n_told, found.n_not_told, found.passed) == (2, 1, 1)
    assert found.per_pass == Decimal("0.30")


def test_a_call_outside_n_costs_nothing_here_and_currencies_are_never_added():
    costs = {"a": (Decimal(1), "USD"), "c": (Decimal(2), None), "d": (Decimal(9), "USD")}
    found = cost_of_pass(DECISIONS, costs)
    assert [(each.currency, each.total) for each in found] == [
        (None, Decimal(2)),
        ("USD", Decimal(1)),
    ]


def test_where_none_passed_there_is_no_cost_of_a_pass():
    (found,) = cost_of_pass(DECISIONS, {"b": (Decimal(1), "USD")})
    assert found.per_pass is None


def test_bands_of_latency_include_their_upper_end_and_hold_every_call_in_n():
    found = {name: (passed, n) for name, passed, n in completion_by_latency(DECISIONS)}
    assert found["at most 800 ms"] == (1, 1)
    assert found["at most 1500 ms"] == (0, 1)
    assert found["no median"] == (1, 1)
    assert sum(n for _, n in found.values()) == 3


def test_a_transcripts_waits_are_from_a_callers_end_to_the_reply_behind_it():
    turns = pl.DataFrame(
        [
            ("a", 0, "agent", 0, 900),
            ("a", 1, "caller", 1000, 2000),
            ("a", 2, "agent", 2600, 3000),
            ("a", 3, "agent", 9000, 9100),
            ("a", 4, "caller", 10_000, 11_000),
            ("a", 5, "agent", 10_900, 12_000),
            ("b", 0, "caller", 0, None),
            ("b", 1, "agent", 500, 600),
        ],
        schema=["call_id", "position", "speaker", "start_ms", "end_ms"],
        orient="row",
    )
    assert transcript_latency(turns).rows() == [("a", 300.0)]
