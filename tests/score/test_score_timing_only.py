"""Calls without a scenario: what a record tells of them alone, and beside a score."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest
from decision_cases import complete_run, decision, decisions, no_evidence, summary

from inquesto_core import schema
from inquesto_core.canonical import canonical_bytes
from inquesto_core.evidence.tables import make_table
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.report.terminal import score_lines
from inquesto_core.score import summarise
from inquesto_core.score.record import AgentIdentity, JudgeUse, build_record
from inquesto_core.score.summary import add_summaries

PROTOCOL = load_protocol("inquesto-0.1")
RELEASED = replace(PROTOCOL, status="released")
POPULATION = load_population("billing-0.1", PROTOCOL)
OF_OTHERS = [f"event_{event.name}" for event in PROTOCOL.events if event.source != "audio"]


def timed(call_id, *events, reasons=("no_scenario",)):
    """Return a call without a scenario; of one with a further reason no event is known."""
    row = decision(PROTOCOL, *events, call_id=call_id, state="timing_only", goal=None)
    untold = [name for name in row if name.startswith("event_")] if len(reasons) > 1 else OF_OTHERS
    place = dict.fromkeys(("scenario_id", "condition", "group"))
    return row | place | dict.fromkeys(untold) | {"reasons": list(reasons)}


def replies(**latencies):
    rows = [
        {
            "call_id": call_id,
            "utterance": at,
            "start_ms": 1000 * at,
            "end_ms": 1000 * at + 500,
            "status": "replied",
            "latency_ms": latency,
            "tool_in_wait": False,
        }
        for call_id, given in latencies.items()
        for at, latency in enumerate(given)
    ]
    return make_table("replies", rows)


def calls(*names):
    return make_table(
        "calls", [{"call_id": name, "timing_reasons": [], "ended_by": "caller"} for name in names]
    )


def record_of(rows, *, protocol=RELEASED, judge_free=False, **options):
    evidence = {
        name: options.pop(name) for name in ("replies", "calls", "events") if name in options
    }
    told = summary(protocol, rows, population=POPULATION, judge_free=judge_free, **evidence)
    return build(told, protocol=protocol, judge_free=judge_free, **options)


def build(told, *, protocol=RELEASED, judge_free=False, **options):
    given = {
        "timing_reported": False,
        "default_population_digest": POPULATION.digest,
        **options,
    }
    return build_record(
        told,
        protocol=protocol,
        population=POPULATION,
        agent=AgentIdentity(name="A", fingerprint=None, config={}, runtime=None),
        judge=JudgeUse(kind="none") if judge_free else JudgeUse(kind="recorded"),
        call_key=b"key",
        provenance={},
        evaluated_at=None,
        **given,
    )


THREE = [timed("a", "slow_turn", "slow_median"), timed("b", "talk_over"), timed("c")]
WAITS = {
    "replies": replies(a=[800, 3200], b=[400], c=[600]),
    "calls": calls("a", "b", "c"),
}


@pytest.mark.parametrize("judge_free", [False, True], ids=["judged", "judge-free"])
def test_without_any_scenario_the_record_tells_of_timing_and_of_no_rate(judge_free):
    record = record_of(THREE, judge_free=judge_free, **WAITS)
    schema.validate(json.loads(canonical_bytes(record)), "record")
    assert record["citation"] == (
        "Inquesto timing-only v0.1: reply latency p50 600 ms, p95 3200 ms (n = 4 in 3 calls)"
    )
    assert (record["score"], record["ci95"], record["n"], record["passed"]) == (None, None, 0, 0)
    assert record["bounds"] is None
    assert {view["n"] for view in record["views"].values()} == {0}
    assert record["failures_by_severity"] == {"S1": 0, "S2": 2, "S3": 1, "S4": 0, "S5": 0}
    assert record["failures_by_type"] == {"slow_median": 1, "slow_turn": 1, "talk_over": 1}
    assert record["diagnostics"]["calls"] == 3
    assert record["diagnostics"]["latency_ms"]["p50"] == 600
    assert record["timing_only"] == {
        "calls": 3,
        "timed": 3,
        "events_by_severity": {"S2": 2, "S3": 1},
        "events_by_type": {"slow_median": 1, "slow_turn": 1, "talk_over": 1},
        "latency_ms": {"n": 4, "p50": 600, "p90": 3200, "p95": 3200, "p99": 3200},
    }
    held = record["accounting"]
    assert (held["expected"], held["total"], held["in_n"]) == (0, 3, 0)
    assert (held["timing_only_n"], held["timing_only"]) == (3, {"no_scenario": 3})
    assert held["calls"] == []


def test_calls_whose_timing_is_not_evaluated_are_counted_and_in_no_figure():
    untimed = timed("d", reasons=("channels_identical", "no_scenario"))
    record = record_of([*THREE, untimed], **WAITS)
    assert record["citation"] == (
        "Inquesto timing-only v0.1 [timing not evaluated 1/4]: "
        "reply latency p50 600 ms, p95 3200 ms (n = 4 in 3 calls)"
    )
    assert record["accounting"]["timing_only"] == {"channels_identical": 1, "no_scenario": 4}
    assert (record["timing_only"]["calls"], record["timing_only"]["timed"]) == (4, 3)
    (named,) = record["accounting"]["calls"]
    assert named["reasons"] == ["channels_identical", "no_scenario"]


@pytest.mark.parametrize(
    ("options", "rows", "head"),
    [
        ({"protocol": PROTOCOL}, THREE, "Inquesto timing-only v0.1 [draft]: reply"),
        ({"timing_reported": True}, THREE, "Inquesto timing-only v0.1 [timing reported]: reply"),
        (
            {"default_population_digest": "another"},
            THREE,
            "Inquesto timing-only v0.1/billing-0.1: reply",
        ),
        (
            {},
            [*THREE, timed("x") | {"state": "excluded", "reasons": ["mono_recording"]}],
            "Inquesto timing-only v0.1 [excluded 1/4]: reply",
        ),
        (
            {},
            [timed("x") | {"state": "excluded", "reasons": ["mono_recording"]}],
            "Inquesto timing-only v0.1 [excluded 1/1]: no reply was timed (0 calls)",
        ),
    ],
    ids=["draft", "reported", "another population", "one mono", "mono alone"],
)
def test_what_limits_it_stands_in_the_line(options, rows, head):
    evidence = WAITS if len(rows) > 1 else {}
    citation = record_of(rows, **evidence, **options)["citation"]
    assert citation.startswith(head)
    assert not {"%", "CI", "judge"} & set(citation.replace("[", " ").split())


def test_beside_a_score_they_are_counted_and_in_no_n():
    run = complete_run(PROTOCOL, POPULATION)
    alone, both = record_of(run), record_of([*run, *THREE], **WAITS)
    assert both["citation"] == alone["citation"].replace(" = ", " [3 more timing-only] = ", 1)
    for name in ("score", "ci95", "n", "passed", "views", "failures_by_type", "bounds"):
        assert both[name] == alone[name], name
    assert both["severity_sensitivity"] == alone["severity_sensitivity"]
    assert both["diagnostics"]["latency_ms"] == alone["diagnostics"]["latency_ms"]
    assert alone["timing_only"] is None
    assert both["timing_only"]["events_by_severity"] == {"S2": 2, "S3": 1}
    assert both["timing_only"]["latency_ms"]["n"] == 4
    held = both["accounting"]
    assert (held["expected"], held["total"], held["in_n"]) == (306, 309, 306)
    assert held["excluded_as_failures"] == alone["accounting"]["excluded_as_failures"]
    assert held["timing_only"] == {"no_scenario": 3}


def test_a_missing_call_is_none_that_lost_its_scenario():
    """Taking the scenario off a failed call opens its slot: it does not leave n in silence."""
    run = complete_run(PROTOCOL, POPULATION)
    missing = run[0] | {"call_id": None, "state": "not_evaluated", "passed": None, "goal": None}
    record = record_of([missing, *run[1:], timed("a")])
    assert "[incomplete 305/306; 99.7–100.0 %]" in record["citation"]
    assert "[1 more timing-only]" in record["citation"]


def test_the_parts_of_an_archive_add_up_to_it():
    table = decisions(PROTOCOL, [*THREE, decision(PROTOCOL, call_id="s")])
    evidence = {**no_evidence(), **WAITS}
    of = {"protocol": RELEASED, "population": POPULATION, "judge_free": False}
    whole = build(summarise(table, evidence, **of))
    parts = [
        summarise(table.filter(pl.col("call_id").is_in(names)), evidence, **of)
        for names in (["a", "s"], ["b"], ["c"])
    ]
    assert build(add_summaries(parts)) == whole


def test_a_person_reads_no_rate_where_there_is_none():
    text = score_lines(record_of(THREE, **WAITS))
    assert text[0].startswith("Inquesto timing-only v0.1")
    assert any("without a pass rate" in line for line in text)
    shown = "\n".join(text[:-1])
    assert "Views" not in shown and "CI" not in shown and "%" not in shown
    assert "S2 2 · S3 1" in shown
    assert "timing only 3: no_scenario 3" in shown


def test_a_person_reads_of_them_beside_a_score():
    run = complete_run(PROTOCOL, POPULATION)
    shown = " ".join("\n".join(score_lines(record_of([*run, *THREE], **WAITS))).split())
    assert "timing only 3: no_scenario 3" in shown
    assert "these are in no n; timed 3: slow_median 1, slow_turn 1, talk_over 1" in shown
