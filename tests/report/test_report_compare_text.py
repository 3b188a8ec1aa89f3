"""What a reader of a comparison is told first, and that nothing from outside steers it."""

from __future__ import annotations

import importlib.util
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest

from inquesto_core.compare.bootstrap import Estimate
from inquesto_core.compare.gates import parse_gates, pass_gates
from inquesto_core.report.compare_figures import interval_words, points, signed, wait_words
from inquesto_core.report.compare_text import comparison_lines, gate_lines
from inquesto_core.report.escape import display_width
from inquesto_core.report.gate_files import comparison_markdown, escape_markdown, gates_junit

HOSTILE = "\x1b[31m<b>&'\"|*_[x](javascript:1)\u202e`\n]]>"
GATES = b"""format = 1
[[gate]]
rule = "no_new_events"
severity = 5
[[gate]]
name = "answers"
rule = "unanswered_not_above"
"""


def _tables():
    place = Path(__file__).resolve().parents[1] / "compare" / "conftest.py"
    spec = importlib.util.spec_from_file_location("compare_tables", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.Tables


tables = _tables()


def shown(found):
    empty = found.pairing.pairs.clear().select("scenario_id", "outcome")
    lines = comparison_lines(found, moved=empty, details={"a": {}, "b": {}}, severity={})
    return "\n".join(lines)


def answer(found, number):
    text = shown(found)
    return text.partition(f"\n{number}. ")[2].partition("\n\n")[0]


#: Every fifth call, and more of the first scenarios: no two lose alike.
WORSE = [*range(1, 144, 5), *range(2, 40, 3)]


def worse():
    a = tables.agent_calls()
    return tables.compared(a, tables.with_event(a, "slow_turn", WORSE))


def test_a_fall_a_gain_and_what_is_not_shown_are_told_apart():
    a = tables.agent_calls()
    assert "No, it fell." in answer(worse(), 1)
    better = tables.compared(tables.with_event(a, "slow_turn", WORSE), a)
    assert "   Yes." in answer(better, 1)
    # 0 and 3 fail for another reason as well.
    little = tables.with_event(
        tables.with_event(a, "slow_turn", [1, 14]), "slow_turn", [27, 42], value=False
    )
    assert "Not shown: anything from −" in answer(tables.compared(a, little), 1)
    assert "Fixed 2, broken 2, still failing 46" in answer(tables.compared(a, little), 1)


def test_few_scenarios_cannot_tell():
    few = tables.agent_calls().filter(pl.col("scenario_id") < "s09")
    assert "Cannot tell: fewer than 10 clusters." in answer(tables.compared(few), 1)


def test_more_critical_errors_are_a_yes_even_where_the_interval_holds_zero():
    a = tables.agent_calls()
    text = answer(tables.compared(a, tables.with_event(a, "false_accept", [1])), 2)
    assert "Yes: S5 in 1 → 2 calls." in text
    assert "- false_accept" in text


def test_as_many_errors_in_other_calls_are_no_relief():
    a = tables.agent_calls()
    b = tables.with_event(a, "unverified_action", [3], value=False)
    text = " ".join(
        answer(tables.compared(a, tables.with_event(b, "unverified_action", [6])), 2).split()
    )
    assert "No, as many as before" in text
    assert "But 1 call had none under A and has one under B." in text


def test_none_in_n_comes_with_its_bound():
    a = tables.with_event(tables.agent_calls(), "unverified_action", [3], value=False)
    text = " ".join(answer(tables.compared(a), 2).split())
    assert "No S5 in 144 calls of A or B is no proof of none: up to 2.1 %" in text
    assert "were calls independent" in text


def test_waits_that_are_never_answered_are_said_though_too_few_to_decide():
    found = tables.compared(waits=(tables.agent_waits(), tables.agent_waits(never=2)))
    text = " ".join(answer(found, 3).split())
    assert "Never answered: 0 → 2 waits" in text


def test_slower_waits_are_a_no():
    slow = tables.agent_waits().with_columns(value_ms=pl.col("value_ms") * 1.5)
    text = answer(tables.compared(waits=(tables.agent_waits(), slow)), 3)
    assert "   No: longer median wait" in text


def test_cost_is_said_not_to_be_there_and_passes_that_cost_more_are_shown():
    text = answer(worse(), 4)
    assert "Not told (--costs, --bundles)" in text
    assert "seconds a passed call" in text


def test_repeats_never_call_the_best_of_k_a_success():
    a = tables.agent_calls()
    again = a.with_columns(trial=pl.lit(1, dtype=pl.Int64), passed=pl.int_range(pl.len()) % 2 == 0)
    text = shown(tables.compared(pl.concat([a, again])))
    assert "all of 2 pass (pass^2)" in text
    assert "(no rate of success)" in text
    assert "two trials disagree" in text


def test_no_line_is_wider_than_a_terminal_and_nothing_from_outside_steers_it():
    a = tables.agent_calls()
    found = tables.compared(a, names=(HOSTILE, "b" * 200), notes=(HOSTILE,))
    lines = shown(found).split("\n")
    assert max(map(display_width, lines)) <= 80
    assert "\x1b" not in "".join(lines)
    assert "\u202e" not in "".join(lines)


def test_a_call_that_moved_stands_with_its_reason_and_both_ids():
    moved = pl.DataFrame(
        {
            "scenario_id": ["s1"],
            "condition": ["clean"],
            "group": ["g"],
            "trial": [0],
            "outcome": ["broken"],
            "call_id_a": ["one"],
            "call_id_b": [HOSTILE],
            "appeared": [["slow_turn", "goal"]],
            "went": [[]],
        },
        schema_overrides={"went": pl.List(pl.String)},
    )
    event = {"value": 4195, "threshold": 3000, "source": "audio"}
    goal = {"verdict": False, "reason": HOSTILE}
    details = {"a": {}, "b": {HOSTILE: {"events": {"slow_turn": event}, "goal": goal}}}
    lines = comparison_lines(worse(), moved=moved, details=details, severity={"slow_turn": 3})
    text = "\n".join(lines)
    assert "S3 slow_turn (4195 ms, limit 3000 ms)" in text
    assert "goal not reached: \\x1b[31m<b>" in text
    assert "\x1b" not in text
    assert "more: --out DIR" in text


def test_the_gate_that_decides_stands_last():
    a = tables.agent_calls()
    found = tables.compared(a, tables.with_event(a, "false_accept", [1]))
    lines = gate_lines(pass_gates(parse_gates(GATES, file="x"), found))
    assert "  FAIL  no new events: 1 call with an S5 event" in lines[1]
    assert "B does not replace A: the gate 'no new events' is not met" in "".join(lines[-2:])
    held = gate_lines(pass_gates(parse_gates(GATES, file="x"), tables.compared(a)))
    assert held[-1] == "B may replace A, as far as these gates see."


def hostile_verdict():
    a = tables.agent_calls()
    odd = a.with_columns(group=pl.col("group") + HOSTILE)
    found = tables.compared(odd, names=(HOSTILE, HOSTILE))
    text = GATES + b'[[gate]]\nrule = "least_n"\nby = ["group"]\nn = 1000\n'
    return found, pass_gates(parse_gates(text, file="x"), found)


def test_junit_is_well_formed_whatever_stands_in_it():
    found, verdict = hostile_verdict()
    root = ET.fromstring(gates_junit(verdict, found))
    suite = root.find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    cases = suite.findall("testcase")
    assert [len(case.findall("failure")) for case in cases] == [0, 0, 1]
    assert "has 36 (12)" in cases[2].find("failure").get("message")


def test_an_undecided_gate_that_is_let_pass_is_skipped_in_junit():
    found = tables.compared()
    text = b'format = 1\n[[gate]]\nrule = "latency"\npercentile = 50\nmax_ms = 1\n'
    text += b'turns = "with_tool"\n'
    lenient = pass_gates(parse_gates(text + b'when_undecided = "pass"\n', file="x"), found)
    strict = pass_gates(parse_gates(text, file="x"), found)
    assert ET.fromstring(gates_junit(lenient, found)).get("skipped") == "1"
    assert ET.fromstring(gates_junit(strict, found)).get("failures") == "1"


def test_markdown_has_no_meaning_that_came_from_outside():
    found, verdict = hostile_verdict()
    text = comparison_markdown(found, verdict)
    assert "<b>" not in text
    assert "\x1b" not in text
    assert "[x](" not in text
    rows = [line for line in text.splitlines() if line.startswith("| least n")]
    assert len(rows) == 1
    assert rows[0].count("|") - rows[0].count("\\|") == 4
    assert "**Gate not met: least n.**" in text


def test_markdown_of_gates_that_hold_says_so_first():
    found = tables.compared()
    lines = comparison_markdown(found, pass_gates(parse_gates(GATES, file="x"), found)).splitlines()
    assert lines[:3] == ["## two in place of one", "", "**All gates hold.**"]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("a_b*c", "a\\_b\\*c"), ("<img>", "&lt;img&gt;"), ("1|2", "1\\|2"), ("@team", "\\@team")],
)
def test_markdown_marks_are_escaped(text, escaped):
    assert escape_markdown(text) == escaped


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.125, "+12.5"), (-0.125, "−12.5"), (0.0004, "0.0"), (None, "–"), (float("inf"), "never")],
)
def test_a_difference_has_its_sign_but_nothing_that_rounds_to_zero(value, words):
    assert points(value) == words
    assert signed(-1500, 1000, 1) == "−1.5"
    assert wait_words(-550.0) == "−550 ms"


def test_an_inconclusive_figure_is_marked():
    few = Estimate(value=0.1, low=-0.1, high=0.3, inconclusive="fewer than 10 clusters")
    assert interval_words(few, points) == "+10.0 (−10.0 to +30.0) ?"
    assert interval_words(Estimate(value=0.0), points) == "0.0 (the same in all)"
