"""Two agents over the same 144 calls, as tables: what a comparison is made of."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from inquesto_core.compare.bootstrap import Resampling
from inquesto_core.compare.latency_pairs import NEVER, wait_difference
from inquesto_core.compare.paired import cause_counts, moved_causes, pair_calls
from inquesto_core.compare.repeats import repeats
from inquesto_core.compare.run_comparison import SideFacts, compare_pairs
from inquesto_core.protocol import load_protocol
from inquesto_core.score.tables import EVENT_PREFIX

PROTOCOL = load_protocol("inquesto-0.1")
QUICK = Resampling(resamples=1_000)
SCENARIOS = tuple(f"s{at:02}" for at in range(12))
CONDITIONS, GROUPS = ("clean", "telephone", "babble"), ("g1", "g2", "g3", "g4")


def agent_calls() -> pl.DataFrame:
    """Return 12 scenarios × 3 conditions × 4 groups: a third fails, one with S4, one with S5."""
    rows = []
    for at, (scenario, condition, group) in enumerate(
        itertools.product(SCENARIOS, CONDITIONS, GROUPS)
    ):
        slow = at % 3 == 0
        rows.append(
            {
                "scenario_id": scenario,
                "condition": condition,
                "group": group,
                "trial": 0,
                "call_id": f"call-{at:03}",
                "state": "scored",
                "passed": not slow,
                "goal": True,
                **{EVENT_PREFIX + event.name: False for event in PROTOCOL.events},
                EVENT_PREFIX + "slow_turn": slow,
                EVENT_PREFIX + "wrong_info": at == 0,
                EVENT_PREFIX + "unverified_action": at == 3,
                "n_talk_over": at % 2,
                "n_agent_turns": 5 + at % 3,
                "duration_ms": 60_000 + 100 * (at % 7),
                "agent_voiced_ms": 20_000 + 10 * (at % 11),
            }
        )
    return pl.DataFrame(rows)


def agent_waits(never: int = 0, slow: int = 0) -> pl.DataFrame:
    """Return 20 waits a scenario; of all, some never answered, and some of 4 s."""
    rows = [
        {"cluster": scenario, "value_ms": 600.0 + 10 * at + 7 * nth, "n": 1}
        for nth, scenario in enumerate(SCENARIOS)
        for at in range(20)
    ]
    for at in range(never):
        rows[at * 19]["value_ms"] = NEVER
    for at in range(slow):
        rows[at * 7]["value_ms"] = 4000.0
    return pl.DataFrame(rows)


def compared(a=None, b=None, *, waits=None, by=("condition", "group"), **given):
    """Return agent B beside agent A; whatever is not given is the same for both."""
    one = agent_calls() if a is None else a
    two = one if b is None else b
    pairing = pair_calls(one, two)
    pairs = pairing.pairs.with_columns(cluster="scenario_id")
    pairing = type(pairing)(pairs=pairs, left_out=pairing.left_out)
    moved = moved_causes(pairs.filter(pl.col("outcome") != "still_passing"), PROTOCOL)
    waits_a, waits_b = (agent_waits(), agent_waits()) if waits is None else waits
    repeated = {end: repeats(frame) for end, frame in (("a", one), ("b", two))}
    sides = (
        SideFacts(run="RUN", agent=name, fingerprint=f"sha256:{name}", citation="Inquesto …")
        for name in given.pop("names", ("one", "two"))
    )
    first, second = sides
    return compare_pairs(
        pairing,
        a=first,
        b=second,
        protocol=PROTOCOL,
        population="test",
        cluster="scenario_id",
        by=by,
        resampling=QUICK,
        causes=cause_counts(moved),
        waits=(wait_difference(waits_a, waits_b, kind="all", resampling=QUICK),),
        waits_of="turns",
        censored=None,
        repeats={end: each for end, each in repeated.items() if each is not None},
        notes=given.pop("notes", ()),
    )


def with_event(calls: pl.DataFrame, event: str, places, *, value=True) -> pl.DataFrame:
    """Return the calls with an event put in or taken out at some places, and passed anew."""
    here = pl.int_range(pl.len()).is_in(list(places))
    column = EVENT_PREFIX + event
    calls = calls.with_columns(
        pl.when(here).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    )
    failing = [EVENT_PREFIX + each.name for each in PROTOCOL.events if each.severity >= 3]
    return calls.with_columns(passed=pl.col("goal") & ~pl.any_horizontal(failing))


class Tables:
    """What tests build comparisons with."""

    protocol = PROTOCOL
    resampling = QUICK
    agent_calls = staticmethod(agent_calls)
    agent_waits = staticmethod(agent_waits)
    compared = staticmethod(compared)
    with_event = staticmethod(with_event)


@pytest.fixture(scope="session")
def tables():
    """Return the builders of two agents' tables."""
    return Tables
