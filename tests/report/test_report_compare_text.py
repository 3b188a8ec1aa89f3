"""What a reader of a comparison is told first, and that nothing from outside steers it."""

from __future__ import annotations

import importlib.util
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from inquesto_core.compare.barge_in_pairs import barge_in_differences
from inquesto_core.compare.bootstrap import Estimate
from inquesto_core.compare.calibration import calibrate
from inquesto_core.compare.corrected import LabelledSide, corrected_comparison
from inquesto_core.compare.cost_pairs import cost_differences, priced_pairs
from inquesto_core.compare.gates import parse_gates, pass_gates
from inquesto_core.compare.slices import cluster_sums
from inquesto_core.compare.stage_pairs import SideStages, stage_differences
from inquesto_core.report.compare_figures import (
    interval_words,
    milliseconds,
    points,
    signed,
    wait_words,
)
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
    empty = found.pairing.pairs.clear().select("scenario_id", "outcome", listed="condition")
    lines = comparison_lines(found, moved=empty, details={"a": {}, "b": {}}, severity={})
    return "\n".join(lines)


def answer(found, number):
    """Return what the first screen says to a question."""
    screen = shown(found).partition("\n\n")[2].partition("\n\n")[0]
    text = f"\n{screen}".partition(f"\n{number}. ")[2]
    return text.partition(f"\n{number + 1}. ")[0]


def table(found, number):
    """Return the figures below that screen, under the same number."""
    figures = shown(found).split("\n\n", 2)[2]
    return f"\n{figures}".partition(f"\n{number}. ")[2].partition("\n\n")[0]


def said(text):
    return " ".join(text.split())


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
    assert "Not shown. A passes 96, B 96 of the 144 calls; anything from −" in answer(
        tables.compared(a, little), 1
    )
    assert "Fixed 2, broken 2, still failing 46" in table(tables.compared(a, little), 1)


def test_few_scenarios_cannot_tell():
    few = tables.agent_calls().filter(pl.col("scenario_id") < "s09")
    assert "Cannot tell (fewer than 10 scenarios)." in answer(tables.compared(few), 1)


def test_more_critical_errors_are_a_yes_only_where_chance_does_not_do_it():
    a = tables.agent_calls()
    one = tables.compared(a, tables.with_event(a, "false_accept", [1]))
    text = said(answer(one, 2))
    assert "Not shown: more were seen, but that may be chance: 2 → 3 calls of 144 with one" in text
    new = "1 call has an S5 error under B and none under A, which may be chance (1 → 2: +0.7 points"
    assert new in text
    assert "- false_accept" in table(one, 2)
    many = tables.compared(a, tables.with_event(a, "false_accept", WORSE))
    sure = said(answer(many, 2))
    assert "Yes: 2 → 42 calls of 144 with one (+27.8 points, 95 % CI +" in sure
    assert "chance" not in sure
    fewer = tables.compared(tables.with_event(a, "false_accept", WORSE), a)
    assert "No, they fell: 42 → 2 calls" in answer(fewer, 2)


def test_all_critical_severities_are_one_answer_and_their_rows_stand_below():
    a = tables.agent_calls()
    b = tables.with_event(tables.with_event(a, "false_accept", [1]), "wrong_info", [1, 2])
    found = tables.compared(a, b)
    assert "2 → 4 calls of 144 with one" in said(answer(found, 2))
    rows = [line.removeprefix("   any ").split()[:7] for line in table(found, 2).splitlines()]
    assert ["S4", "or", "S5", "2", "4", "2", "0"] in rows
    assert ["S5", "1", "2", "1", "0"] in [row[:5] for row in rows]
    assert ["S4", "1", "3", "2", "0"] in [row[:5] for row in rows]


def test_as_many_errors_in_other_calls_are_no_relief():
    a = tables.agent_calls()
    b = tables.with_event(a, "unverified_action", [3], value=False)
    text = " ".join(
        answer(tables.compared(a, tables.with_event(b, "unverified_action", [6])), 2).split()
    )
    assert "No more than before: 2 → 2 calls" in text
    assert "1 call has an S5 error under B and none under A, which may be chance (1 → 1" in text


def test_none_in_n_comes_with_its_bound():
    a = tables.with_event(tables.agent_calls(), "unverified_action", [3], value=False)
    text = said(table(tables.compared(a), 2))
    assert "No S5 in 144 calls of A or B does not prove that there are none: up to 2.1 %" in text
    assert "both take calls as independent" in text
    none = tables.with_event(a, "wrong_info", [0], value=False)
    assert "None was seen under either in 144 calls, which leaves up to 2.1 % possible" in said(
        answer(tables.compared(none), 2)
    )


def test_waits_that_are_never_answered_are_said_though_too_few_to_decide():
    found = tables.compared(waits=(tables.agent_waits(), tables.agent_waits(never=2)))
    text = " ".join(answer(found, 3).split())
    lost = "Worse, which may be chance: waits without any answer 0 of 240 → 2 of 240 (slow turns,"
    assert lost in text
    rows = said(table(found, 3))
    assert "without any answer 0/240 2/240" in rows
    assert "counts as longer than all others" in rows


def test_slower_waits_are_a_no():
    slow = tables.agent_waits().with_columns(value_ms=pl.col("value_ms") * 1.5)
    text = answer(tables.compared(waits=(tables.agent_waits(), slow)), 3)
    assert "   No: median wait 733 ms → 1100 ms" in text


def test_cost_is_said_not_to_be_there_and_passes_that_cost_more_are_shown():
    text = said(answer(worse(), 4))
    assert "Not told (give --costs or --bundles). Calls are about as long (60.3 → 60.3 s)" in text
    assert "for each call that passes, 90.4 → 131.6 s are spent." in text
    assert "seconds for each pass" in table(worse(), 4)


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


def listed(name, outcome, *, of=1, call="hasty", **causes):
    """Return a row of the calls that are shown."""
    lists = {"appeared": [], "went": [], "stayed": []} | causes
    return pl.DataFrame(
        {
            "scenario_id": ["s1"],
            "condition": ["clean"],
            "group": ["g"],
            "trial": [0],
            "outcome": [outcome],
            "call_id_a": ["one"],
            "call_id_b": [call],
            "listed": [name],
            "of": [of],
            **{key: [value] for key, value in lists.items()},
        },
        schema_overrides=dict.fromkeys(lists, pl.List(pl.String)),
    )


def calls_shown(found, rows, events=None):
    details = {"a": {}, "b": {"hasty": {"events": events or {}, "goal": None}}}
    severity = {event.name: event.severity for event in tables.protocol.events}
    lines = comparison_lines(found, moved=pl.concat(rows), details=details, severity=severity)
    return said("\n".join(lines).partition("\n5. Calls that moved")[2])


def test_a_call_with_a_new_critical_event_is_named_though_it_failed_before():
    rows = [
        listed("critical", "still_failing", appeared=["unverified_action"], stayed=["goal"]),
        listed("still_failing", "still_failing", of=7, went=["slow_turn"]),
    ]
    text = calls_shown(worse(), rows)
    assert "1 call with a new S4 or S5 event (under B and not under A), the gravest first:" in text
    assert "s1 clean g, fails under both B only: S5 unverified_action both: goal not" in text
    assert "48 fail under both 41 of them stand above s1 clean g A only: S3 slow_turn" in text
    assert "and 6 more: --json prints and --out DIR writes all of them" in text
    assert "The rows of 2 count every call with an event, whatever else it has" in text


@pytest.mark.parametrize(
    ("no_reply", "words"),
    [
        (True, "S3 slow_turn (no reply within 4195 ms, limit 3000 ms)"),
        (False, "S3 slow_turn (4195 ms until the reply, limit 3000 ms)"),
        (None, "S3 slow_turn (4195 ms, limit 3000 ms)"),
    ],
)
def test_a_wait_without_a_reply_does_not_read_like_an_answer(no_reply, words):
    event = {"value": 4195, "threshold": 3000, "source": "audio", "no_reply": no_reply}
    rows = [listed("broken", "broken", appeared=["slow_turn"])]
    assert words in calls_shown(worse(), rows, {"slow_turn": event})


def test_an_agent_fault_is_called_one():
    a = tables.agent_calls()
    here = pl.int_range(pl.len()) == 1
    fault = a.with_columns(
        state=pl.when(here).then(pl.lit("agent_fault")).otherwise("state"),
        goal=pl.when(here).then(pl.lit(False)).otherwise("goal"),
        passed=pl.col("passed") & ~here,
    )
    found = tables.compared(a, fault)
    assert "Broken by (a call counts once, by its gravest): agent fault" in said(answer(found, 5))
    assert found.document()["causes"] == [{"outcome": "broken", "cause": "agent_fault", "n": 1}]
    rows = [listed("broken", "broken", appeared=["agent_fault", "goal"])]
    assert "agent fault: the agent's side cut the call off goal not reached" in calls_shown(
        found, rows
    )


def with_barge_ins(found, a, b):
    """Return a comparison with attempts in twelve scenarios, so many of five yielded to."""
    sides = [
        pl.DataFrame(
            {
                "kind": "attempt",
                "cluster": [f"s{at:02}" for at in range(12)],
                "yielded": [each + (at % 2) for at in range(12)],
                "n": 5,
            },
            schema_overrides={"n": pl.Int64},
        )
        for each in (a, b)
    ]
    made = barge_in_differences(*sides, resampling=tables.resampling)
    return replace(found, barge_ins=made)


def test_an_agent_that_yields_less_is_said_to_and_stands_in_the_table():
    found = with_barge_ins(tables.compared(), 3, 0)
    assert "No: barge-ins yielded to 42 of 60 → 6 of 60." in said(answer(found, 3))
    assert "barge-ins 42/60 6/60 −60" in said(table(found, 3))
    assert found.document()["barge_ins"][0]["yielded_b"] == 6
    better = with_barge_ins(tables.compared(), 0, 3)
    assert "Yes, and better: barge-ins yielded to" in said(answer(better, 3))
    assert "barge-in" not in answer(tables.compared(), 3)


def test_a_lower_p95_is_not_better_while_slow_turns_rise():
    slow, fast = tables.agent_waits(slow=20), tables.agent_waits()
    a = tables.agent_calls()
    lower = said(answer(tables.compared(waits=(slow, fast)), 3))
    assert "slowest twentieth of waits (p95) 4000 ms → 833 ms" in lower
    more = tables.compared(a, tables.with_event(a, "slow_turn", [1]), waits=(slow, fast))
    text = said(answer(more, 3))
    assert "slowest twentieth" not in text
    assert "Worse, which may be chance: calls with a slow turn 48 → 49 of 144" in text


def test_waits_cut_short_stand_beside_the_n_of_waits():
    found = tables.compared()
    found = replace(found, waits=(replace(found.waits[0], cut_short=(31, 25)),), censored=(31, 25))
    text = said(table(found, 3))
    assert "all waits (A 240 + 31 cut short, B 240 + 25 cut short)" in text
    assert "31 waits of A and 25 of B that the call ended in" in text


def test_a_quantile_without_an_answer_has_a_footnote():
    text = said(table(tables.compared(waits=(tables.agent_waits(), tables.agent_waits(13))), 3))
    assert "p95* " in text
    assert "* 'no answer': so many of these waits were never answered" in text
    assert "A wait without any answer is a slow_turn too (2)" in text


def test_a_call_that_moved_stands_with_its_reason_and_both_ids():
    moved = listed("broken", "broken", of=12, call=HOSTILE, appeared=["slow_turn", "goal"])
    event = {"value": 4195, "threshold": 3000, "source": "audio"}
    goal = {"verdict": False, "reason": HOSTILE}
    details = {"a": {}, "b": {HOSTILE: {"events": {"slow_turn": event}, "goal": goal}}}
    lines = comparison_lines(worse(), moved=moved, details=details, severity={"slow_turn": 3})
    text = "\n".join(lines)
    assert "S3 slow_turn (4195 ms, limit 3000 ms)" in text
    assert "goal not reached: \\x1b[31m<b>" in text
    assert "\x1b" not in text
    assert "and 11 more: --json prints and --out DIR" in text


def test_the_gate_that_decides_stands_last():
    a = tables.agent_calls()
    found = tables.compared(a, tables.with_event(a, "false_accept", [1]))
    lines = gate_lines(pass_gates(parse_gates(GATES, file="x"), found))
    assert "  FAILS no new events: 1 call with an S5 event" in lines[1]
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
    assert "has 36 pairs of 12 scenarios" in cases[2].find("failure").get("message")


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
    [(0.125, "+12.5"), (-0.125, "−12.5"), (0.0004, "0.0"), (None, "–")],
)
def test_a_difference_has_its_sign_but_nothing_that_rounds_to_zero(value, words):
    assert points(value) == words
    assert signed(-1500, 1000, 1) == "−1.5"
    assert (milliseconds(-550.0), wait_words(550.0)) == ("−550", "550 ms")


def test_an_inconclusive_figure_is_marked():
    few = Estimate(value=0.1, low=-0.1, high=0.3, inconclusive="fewer than 10 clusters")
    assert interval_words(few, points) == "+10.0 (−10.0 to +30.0) unsure"
    assert interval_words(Estimate(value=0.0), points) == "0.0 (the same in all)"


def stage_side(source, more=0.0):
    rows = [
        {"stage": "model", "cluster": f"s{nth:02}", "value_ms": 300.0 + at + more, "n": 1}
        for nth in range(12)
        for at in range(10)
    ]
    values = pl.DataFrame(rows, schema_overrides={"n": pl.Int64})
    return SideStages(values=values, calls=12, sources=(source,))


def with_stages(a, b):
    stages = stage_differences(a, b, resampling=tables.resampling)
    return replace(tables.compared(), stages=stages)


def test_stages_are_said_to_be_reported_with_their_n_and_interval():
    text = shown(with_stages(stage_side("vapi"), stage_side("vapi", 40.0)))
    assert "Stages of an answer, as the platform reports them; not measured here" in text
    assert "Reported by A: vapi, of 12 of 144 calls; B: vapi, of 12 of 144 calls." in said(text)
    assert "model (n: A 120, B 120) median 304 ms 344 ms +40 (+40 to +40)" in said(text)
    assert "No gate reads them." in said(text)


def test_stages_of_two_platforms_have_no_difference_and_a_hostile_name_steers_nothing():
    text = shown(with_stages(stage_side("vapi"), stage_side(HOSTILE, 40.0)))
    assert "median 304 ms 344 ms –" in said(text)
    assert "only figures of one and the same platform can be compared" in said(text)
    assert "\x1b" not in text


def corrected(found, *, labeller="ann"):
    outcomes = pl.DataFrame(
        {
            "judge": [True] * 20 + [False] * 20 + [True] * 5,
            "labels": [True] * 20 + [False] * 25,
            "weight": [1.0] * 45,
        }
    )
    counts = found.outcomes
    sides = [
        LabelledSide(
            labeller=labeller,
            calls_of="a",
            calibration=calibrate(outcomes, [("x", passed, counts.n)], z=1.96),
        )
        for passed in (counts.passed_a, counts.passed_b)
    ]
    made = corrected_comparison(
        *sides,
        cluster_sums(found.pairing.pairs),
        is_shared=True,
        resampling=tables.resampling,
    )
    return replace(found, corrected=made)


def test_corrected_scores_stand_apart_from_the_raw_ones_as_an_estimate():
    plain = worse()
    found = corrected(plain, labeller=HOSTILE)
    text = said(answer(found, 1))
    assert "Corrected for the judge's errors about −26.0 points, an estimate (see 8)." in text
    text = said(shown(found).partition("8. If the judge errs: an estimate")[2])
    assert "by labels of" in text
    assert "45 labelled calls; of those that pass by the labels the judge passes 100.0 %" in text
    assert "A: as judged 66.7 % of 144; corrected about 58.3 % (95 % CI" in text
    assert "B − A, corrected: about −" in text
    assert "\x1b" not in text
    assert table(found, 1) == table(plain, 1)


def priced(costs):
    """Return a comparison whose calls are a0, b0, a1 …, with what these costs tell."""
    found = worse()
    pairs = found.pairing.pairs.with_columns(
        call_id_a=pl.format("a{}", pl.int_range(pl.len())),
        call_id_b=pl.format("b{}", pl.int_range(pl.len())),
    )
    told = cost_differences(pairs, costs, resampling=tables.resampling) if costs else ()
    return replace(found, priced=priced_pairs(pairs, costs), costs=told)


def some_costs(n, *units, step=1):
    return {
        f"{side}{at}": (Decimal(200 + (60 + at % 7) * (side == "b")) / 1000, unit)
        for side, unit in zip("ab", units, strict=True)
        for at in range(0, n, step)
    }


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ({}, "Not told: what --costs or --bundles name holds no cost of any call."),
        (
            {"a1": (Decimal(1), "USD"), "x": (Decimal(1), "USD")},
            "Not told: 0 of 144 pairs are priced on both sides. Of 2 calls with a cost, 1 are A's "
            "of these pairs and 0 B's.",
        ),
        (
            some_costs(144, "USD", None),
            "Not told: 144 of 144 pairs are priced, none of them in one currency (A USD, B (no "
            "currency is named)).",
        ),
        (some_costs(144, "USD", "USD", step=3), "48 of 144 pairs priced in USD. It rose: a call"),
        (some_costs(144, None, None), "It rose: a call costs 0.2000 → 0.2630 (no currency is"),
        (some_costs(12, "USD", "USD"), "12 of 144 pairs priced in USD. Cannot tell (fewer than 10"),
    ],
    ids=["none", "one side", "two currencies", "some pairs", "no currency", "one scenario"],
)
def test_cost_says_what_was_found_where_it_was_looked_for(costs, words):
    text = said(answer(priced(costs), 4))
    assert words in text
    assert "give --costs" not in text
    assert "cluster" not in text


def test_cost_is_answered_with_a_pass_beside_a_call():
    found = worse()
    pairs = found.pairing.pairs.with_columns(
        call_id_a=pl.format("a{}", pl.int_range(pl.len())),
        call_id_b=pl.format("b{}", pl.int_range(pl.len())),
    )
    costs = {f"a{at}": (Decimal(200 + at % 5) / 1000, "USD") for at in range(144)}
    costs |= {f"b{at}": (Decimal(260 + at % 7) / 1000, "USD") for at in range(144)}
    found = replace(found, costs=cost_differences(pairs, costs, resampling=tables.resampling))
    text = said(answer(found, 4))
    assert "It rose: a call costs 0.2020 → 0.2630 USD, one that passes 0.3030 → 0.5737" in text
    assert "a call +0.0610, 95 % CI +0.0608 to +0.0612" in text
    rows = said(table(found, 4))
    assert "a call 0.2020 0.2630 +0.0610 (+0.0608 to +0.0612)" in rows
    assert "for each pass 0.3030 0.5737 +0.2707 (+0." in rows


def test_what_calls_without_a_partner_could_change_is_said_in_words():
    a = tables.agent_calls()
    text = said(table(tables.compared(a, a.filter(pl.int_range(pl.len()) > 9)), 1))
    assert (
        "10 calls have no partner. Had the missing ones come out as badly for B as can be, the "
        "difference would be −4.2 points; as well as can be, +2.8." in text
    )


def test_each_slice_says_what_became_of_its_calls():
    found = worse()
    text = said(table(found, 6))
    moves = text.partition("broken/fixed/failing under both: babble ")[2].split(",")[0]
    pairs = found.pairing.pairs.filter(pl.col("condition") == "babble")
    counts = dict(pairs.group_by("outcome").len().rows())
    assert moves == f"{counts['broken']}/0/{counts['still_failing']}"
    rows = [each for each in found.document()["slices"] if each["value"] == "babble"]
    assert rows[0]["still_failing"] == counts["still_failing"]


def test_a_stranger_finds_no_word_that_means_two_things():
    found = corrected(with_stages(stage_side("vapi"), stage_side("livekit")))
    text = shown(found)
    verdict = gate_lines(pass_gates(parse_gates(GATES, file="x"), found))
    for word in ("?", "never", "in no row", "goal 1", "median of the rest", "On the line"):
        answers = text.replace("improve?", "").replace("increase?", "").replace("responsive?", "")
        answers = answers.replace("to cost?", "").replace("moved?", "").replace("which calls?", "")
        assert word not in answers + "\n".join(verdict), word


def test_the_answers_fit_on_the_first_screen():
    screens = [shown(found).split("\n\n") for found in (worse(), tables.compared())]
    for heading, answers, *_ in screens:
        assert heading.count("\n") + answers.count("\n") + 3 <= 25
