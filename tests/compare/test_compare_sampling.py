from __future__ import annotations

import itertools

import polars as pl
import pytest

from inquesto_core.canonical import pretty_bytes
from inquesto_core.compare import draw_calls, item_name, outcome_strata, sheet_items
from inquesto_core.compare.sheet_key import SheetKey, parse_key
from inquesto_core.evidence import make_table
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score.tables import decision_schema

PROTOCOL = load_protocol("inquesto-0.1")
BILLING = load_population("billing-0.1")
NAMES = tuple(event.name for event in PROTOCOL.events)
SECRET = b"k" * 32


def make_decisions(*rows):
    plain = {"state": "scored", "passed": True, **{f"event_{name}": False for name in NAMES}}
    full = [{"call_id": f"c{at}", **plain, **row} for at, row in enumerate(rows)]
    return pl.DataFrame(full, schema=decision_schema(NAMES))


def strata_of(*rows, open_calls=()):
    verdicts = [{"call_id": name, "question": "wrong_info"} for name in open_calls]
    found = outcome_strata(
        make_decisions(*rows), make_table("verdicts", verdicts), protocol=PROTOCOL
    )
    return dict(found.select("call_id", "stratum").rows())


FAILED = {"passed": False}


@pytest.mark.parametrize(
    ("row", "stratum"),
    [
        ({}, "passed"),
        ({"event_verbose": True}, "passed"),
        (FAILED, "failed: goal"),
        ({**FAILED, "event_slow_turn": True}, "failed: slow_turn"),
        (
            {**FAILED, "event_slow_turn": True, "event_false_accept": True},
            "failed: false_accept",
        ),
        ({**FAILED, "event_slow_median": True}, "failed: goal"),
        ({**FAILED, "state": "agent_fault"}, "failed: agent fault"),
        ({"passed": None, "state": "not_evaluated", "event_slow_turn": True}, "undetermined"),
    ],
)
def test_a_call_stands_under_its_outcome(row, stratum):
    assert strata_of(row) == {"c0": stratum}


def test_a_call_with_a_question_left_open_is_undetermined():
    assert strata_of({}, {}, open_calls=["c1"]) == {"c0": "passed", "c1": "undetermined"}


def test_excluded_and_missing_calls_are_not_drawn():
    assert strata_of({"state": "excluded"}, {"call_id": None, "state": "not_evaluated"}) == {}


def make_strata(**sizes):
    names = [(f"{name}{at}", name) for name, size in sizes.items() for at in range(size)]
    return pl.DataFrame(
        [{"call_id": call, "scenario_id": None, "stratum": name} for call, name in names],
        schema={"call_id": pl.String, "scenario_id": pl.String, "stratum": pl.String},
    ).sort("call_id")


def drawn_sizes(strata, n):
    return dict(draw_calls(strata, n=n, secret=SECRET).group_by("stratum").len().rows())


@pytest.mark.parametrize(
    ("n", "sizes"),
    [
        (1000, {"a": 100, "b": 3, "c": 1}),
        (10, {"a": 6, "b": 3, "c": 1}),
        (6, {"a": 3, "b": 2, "c": 1}),
        (3, {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_each_outcome_gives_equally_many_as_far_as_it_has_them(n, sizes):
    found = drawn_sizes(make_strata(a=100, b=3, c=1), n)
    if n == 6:  # five are settled, the sixth may come from either
        assert found in (sizes, {"a": 2, "b": 3, "c": 1})
    else:
        assert found == sizes


def test_the_draw_hangs_on_the_key_and_not_on_the_order_of_the_calls():
    strata = make_strata(a=50, b=50)
    one = draw_calls(strata, n=20, secret=SECRET)
    assert one.equals(draw_calls(strata.reverse(), n=20, secret=SECRET))
    assert not one.equals(draw_calls(strata, n=20, secret=b"x" * 32))


def test_the_order_of_the_sheet_tells_no_outcome():
    drawn = draw_calls(make_strata(a=200, b=200), n=400, secret=SECRET)["stratum"].to_list()
    firsts = sum(name == "a" for name in drawn[:200])
    assert 80 < firsts < 120
    assert 150 < sum(one != two for one, two in itertools.pairwise(drawn)) < 250


def items_of(strata, n, asked):
    drawn = draw_calls(strata, n=n, secret=SECRET)
    return sheet_items(drawn, strata, asked, secret=SECRET, population=BILLING)


def test_weights_stand_for_the_calls_of_the_run_that_are_asked():
    strata = make_strata(a=40, b=2)
    asked = [(name, "wrong_info") for name in strata["call_id"]]
    asked += [(name, "context_loss") for name in strata["call_id"] if name.startswith("a")]
    items = items_of(strata, 12, asked)
    sums = dict(items.group_by("question").agg(pl.col("weight").sum()).rows())
    assert sums == pytest.approx({"wrong_info": 42, "context_loss": 40})
    assert items.filter(stratum="b")["weight"].to_list() == [1.0, 1.0]


def test_an_item_is_named_by_a_keyed_hash():
    items = items_of(make_strata(a=3), 3, [(f"a{at}", "wrong_info") for at in range(3)])
    assert items["item"].str.contains("^[0-9a-f]{16}$").all()
    assert items["item"].n_unique() == 3
    assert item_name(SECRET, "a0", "wrong_info") in items["item"].to_list()
    assert item_name(b"x", "a0", "wrong_info") not in items["item"].to_list()


def test_a_key_is_read_as_it_was_written():
    items = items_of(make_strata(a=3), 3, [(f"a{at}", "wrong_info") for at in range(3)])
    key = SheetKey(
        sheet="0" * 16,
        secret="0" * 64,
        protocol=("inquesto-0.1", "a" * 64),
        population=("billing-0.1", "b" * 64),
        shown={"a0": "c" * 64},
        strata=(("a", 3, 3),),
        items=items,
    )
    again = parse_key(pretty_bytes(key.document()), file="key.json")
    assert again.items.equals(items)
    assert again.document() == key.document()
