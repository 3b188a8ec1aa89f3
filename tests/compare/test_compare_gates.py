from __future__ import annotations

import json

import polars as pl
import pytest

from inquesto_core.compare.gate_rules import RULES
from inquesto_core.compare.gates import columns_of, parse_gates, pass_gates
from inquesto_core.errors import SchemaError
from inquesto_core.shipped import schemas_folder

RECOMMENDED = (schemas_folder() / "gates-recommended.toml").read_bytes()


def gates(*rows, **first):
    text = "format = 1\n"
    for row in [*rows, first] if first else rows:
        text += "[[gate]]\n"
        text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in row.items())
    return parse_gates(text.encode(), file="gates.toml")


def said(found, **gate):
    (result,) = pass_gates(gates(**gate), found).results
    return result


def failing(found):
    verdict = pass_gates(parse_gates(RECOMMENDED, file="x"), found)
    return [each.gate.name for each in verdict.results if not each.holds]


def test_an_agent_that_is_as_good_passes_the_recommended_gates(tables):
    found = tables.compared()
    verdict = pass_gates(parse_gates(RECOMMENDED, file="x"), found)
    assert [each.state for each in verdict.results] == ["passed"] * 8
    assert verdict.first_failed is None


def left_out(tables):
    a = tables.agent_calls()
    b = a.filter(pl.int_range(pl.len()) % 13 != 0)
    return tables.compared(a, b)


def new_s5_for_an_old_one(tables):
    a = tables.agent_calls()
    b = tables.with_event(a, "unverified_action", [3], value=False)
    return tables.compared(a, tables.with_event(b, "unverified_action", [6]))


def s4_in_a_call_that_failed_before(tables):
    a = tables.agent_calls()
    return tables.compared(a, tables.with_event(a, "wrong_info", [9]))


def a_little_worse_everywhere(tables):
    a = tables.agent_calls()
    return tables.compared(a, tables.with_event(a, "slow_turn", [1, 20, 40, 58, 77, 100, 121, 143]))


def some_callers_never_answered(tables):
    return tables.compared(waits=(tables.agent_waits(), tables.agent_waits(never=4)))


def slow_tail(tables):
    return tables.compared(waits=(tables.agent_waits(), tables.agent_waits(slow=20)))


def one_group_pays(tables):
    a = tables.agent_calls().with_row_index("at")
    lost = a.filter((pl.col("group") == "g4") & pl.col("passed"))["at"].to_list()
    won = a.filter((pl.col("group") != "g4") & ~pl.col("passed"))["at"].to_list()[2:]
    a = a.drop("at")
    b = tables.with_event(a, "slow_turn", lost)
    return tables.compared(a, tables.with_event(b, "slow_turn", won, value=False))


@pytest.mark.parametrize(
    ("candidate", "gate"),
    [
        (left_out, "the same calls"),
        (new_s5_for_an_old_one, "no new S5"),
        (s4_in_a_call_that_failed_before, "S4 not above"),
        (a_little_worse_everywhere, "score not below"),
        (some_callers_never_answered, "answers all callers"),
        (slow_tail, "slowest waits"),
        (one_group_pays, "no slice is worse"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_each_recommended_gate_stops_a_candidate_that_all_others_let_pass(tables, candidate, gate):
    assert failing(candidate(tables)) == [gate]


def test_too_few_calls_in_a_slice_stop_a_release_and_leave_the_slices_undecided(tables):
    few = tables.agent_calls().filter((pl.col("group") != "g4") | (pl.col("condition") == "clean"))
    assert failing(tables.compared(few)) == ["enough calls in each slice", "no slice is worse"]


def test_the_first_gate_that_does_not_hold_is_why(tables):
    a = tables.agent_calls()
    b = tables.with_event(tables.with_event(a, "wrong_info", [9]), "false_accept", [1])
    verdict = pass_gates(parse_gates(RECOMMENDED, file="x"), tables.compared(a, b))
    assert verdict.first_failed.gate.name == "no new S5"
    assert verdict.first_failed.sentence == (
        "1 call with an S5 event under B and none under A: false_accept 1"
    )
    document = verdict.document()
    assert document["passed"] is False
    assert [each["state"] for each in document["gates"]][:3] == ["passed", "failed", "failed"]


@pytest.mark.parametrize(("allow", "state"), [(0, "failed"), (1, "passed")])
def test_as_many_more_events_as_are_allowed_pass(tables, allow, state):
    found = s4_in_a_call_that_failed_before(tables)
    result = said(found, rule="events_not_above", severity=4, allow=allow)
    assert result.state == state


@pytest.mark.parametrize(("margin", "state"), [(50, "passed"), (0, "failed")])
def test_a_score_may_be_below_by_the_margin(tables, margin, state):
    result = said(
        a_little_worse_everywhere(tables),
        rule="score_not_below",
        margin_points=margin,
        probability=0.95,
    )
    assert result.state == state


def test_more_certainty_asks_for_a_wider_margin(tables):
    found = a_little_worse_everywhere(tables)
    bound = -found.score.lower_bound(0.95) * 100
    at = {"rule": "score_not_below", "margin_points": bound + 0.01}
    assert said(found, **at, probability=0.95).state == "passed"
    assert said(found, **at, probability=0.99).state == "failed"


def test_events_that_nobody_can_tell_leave_a_gate_undecided_which_does_not_hold(tables):
    a = tables.agent_calls()
    unknown = a.with_columns(event_false_accept=pl.lit(None, dtype=pl.Boolean))
    result = said(tables.compared(a, unknown), rule="no_new_events", severity=5)
    assert (result.state, result.holds) == ("undecided", False)
    assert "nobody can tell" in result.sentence


def test_an_undecided_gate_holds_where_its_file_says_so(tables):
    few = tables.agent_calls().filter(pl.col("scenario_id") < "s05")
    gate = {"rule": "score_not_below", "margin_points": 5, "probability": 0.95}
    for b in (few, tables.with_event(few, "slow_turn", [1, 14])):
        found = tables.compared(few, b)
        strict, lenient = said(found, **gate), said(found, **gate, when_undecided="pass")
        assert strict.state == lenient.state == "undecided"
        assert (strict.holds, lenient.holds) == (False, True)
        assert "fewer than 10 clusters" in strict.sentence


@pytest.mark.parametrize(("limit", "state"), [(833, "passed"), (832, "failed")])
def test_a_quantile_of_the_wait_may_be_at_most_its_limit(tables, limit, state):
    found = tables.compared()
    b = found.waits[0].quantiles[1].b
    assert b == 833
    assert said(found, rule="latency", percentile=95, max_ms=limit).state == state


def test_a_wait_that_is_never_answered_is_above_every_limit(tables):
    found = tables.compared(waits=(tables.agent_waits(), tables.agent_waits(never=13)))
    result = said(found, rule="latency", percentile=95, max_ms=1_000_000)
    assert result.state == "failed"
    assert "B no answer" in result.sentence


def test_a_difference_without_an_upper_limit_says_so_in_words(tables):
    found = tables.compared(waits=(tables.agent_waits(), tables.agent_waits(never=12)))
    result = said(found, rule="latency", percentile=95, max_increase_ms=500)
    assert result.state == "failed"
    assert "B − A has no upper limit: some of the slowest waits have no answer" in result.sentence
    assert "never" not in result.sentence


def test_waits_of_a_kind_that_nobody_has_are_undecided(tables):
    result = said(tables.compared(), rule="latency", percentile=50, max_ms=1, turns="with_tool")
    assert result.state == "undecided"


def test_gates_name_the_columns_that_they_look_into():
    assert columns_of(parse_gates(RECOMMENDED, file="x")) == ("condition", "group")


def test_every_rule_of_the_schema_is_built_and_every_built_one_is_in_the_schema():
    shipped = json.loads((schemas_folder() / "gates.schema.json").read_bytes())
    assert set(shipped["$defs"]["gate"]["properties"]["rule"]["enum"]) == set(RULES)


def test_the_example_of_the_schema_is_the_recommended_file():
    import tomllib

    example = json.loads((schemas_folder() / "examples" / "gates.json").read_bytes())
    assert example == tomllib.loads(RECOMMENDED.decode())


@pytest.mark.parametrize(
    ("text", "code", "found"),
    [
        ("format = 1\n[[gate]\n", "gates_invalid", "no TOML"),
        (b"\xff", "gates_invalid", "not UTF-8"),
        ("format = 1", "schema", "gate"),
        ("format = 2\n[[gate]]\nrule='least_n'\nby=['group']\nn=3", "schema", "2"),
        ("format = 1\n[[gate]]\nrule='no_new_event'\nseverity=5", "schema", "no_new_event"),
        ("format = 1\n[[gate]]\nrule='no_new_events'\nseverity=6", "schema", "6"),
        ("format = 1\n[[gate]]\nrule='no_new_events'\nseverity=5\nallow=1", "schema", "allow"),
        ("format = 1\n[[gate]]\nrule='latency'\npercentile=95", "gates_invalid", "a limit"),
        ("x=" + "[" * 5000, "gates_invalid", "nested deeper"),
        (
            "format=1\n[[gate]]\nrule='score_not_below'\nmargin_points=nan\nprobability=0.9",
            "gates_invalid",
            "is nan",
        ),
        (
            "format=1\n[[gate]]\nrule='latency'\npercentile=95\nname='p'\nturns='all'",
            "gates_invalid",
            "'p' without a limit",
        ),
        ("format=1\n[[gate]]\nrule='cost_not_above'\nper='call'", "gates_invalid", "a limit"),
        ("format=1\n[[gate]]\nrule='cost_not_above'\nmax_cost=-1", "schema", "-1"),
        ("format=1\n[[gate]]\nrule='regressions_hold'\nof='some'", "schema", "some"),
        (
            "format = 1\n[[gate]]\nrule='unanswered_not_above'\n[[gate]]\n"
            "rule='unanswered_not_above'",
            "gates_invalid",
            "twice",
        ),
    ],
    ids=[
        *("broken", "bytes", "none", "format", "rule", "severity", "option", "limit", "deep"),
        *("nan", "limit beside others", "cost without a limit", "cost", "of", "twice"),
    ],
)
def test_a_file_that_is_no_gates_file_says_what_is_wrong(text, code, found):
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(SchemaError, match=code) as caught:
        parse_gates(data, file="gates.toml")
    assert found in str(caught.value)
    assert caught.value.problem.file == "gates.toml"
