"""Real calls without a scenario, from the export to the run: timing, and never a pass rate."""

from __future__ import annotations

import json

import pytest
from exported import base_audio, run_import, write_json
from platform_exports import vapi_call

from inquesto_core import schema
from inquesto_core.engine import load_call, rescore, score
from inquesto_core.protocol import load_protocol
from inquesto_core.report.explain import explain_facts, explain_lines
from inquesto_core.report.terminal import score_lines

LINE = "Inquesto timing-only v0.1"
PLACE = {"scenario_id": "s-refund", "condition": "clean", "group": "near"}


def population():
    return {
        "name": "desk-1",
        "version": "1",
        "facts": {},
        "tools": {
            **{"lookup": ["look_up"], "verify": ["verify"], "end_call": [], "transfer": []},
            "change": ["issue_refund"],
        },
        "conditions": ["clean"],
        "reference_condition": "clean",
        "degraded": [],
        "groups": ["near"],
        "reference_group": "near",
        "design": {
            "trials": 1,
            "cells": [{"scenarios": ["s-refund"], "conditions": ["clean"], "groups": ["near"]}],
        },
        "scenarios": [
            {
                "id": "s-refund",
                "family": "refund",
                "style": "neutral",
                "goal": "Get the second charge back.",
                "required_action": "issue_refund",
                "correction": False,
                "identity": None,
                "handoff": False,
                "predicates": [],
            }
        ],
    }


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """Return a folder of three exports, their recordings beside them; one has one channel."""
    folder = tmp_path_factory.mktemp("exports")
    for name in ("v-1", "v-2", "v-3"):
        call = vapi_call(name, metadata={"case": name})
        write_json(folder / f"{name}.json", call)
        base_audio(folder / f"{name}.wav", mono=name == "v-3")
    return folder


@pytest.fixture(scope="module")
def plain(exports, tmp_path_factory):
    """Return the run of calls that were imported without a population."""
    folder = tmp_path_factory.mktemp("plain")
    run_import("vapi", exports, folder / "bundles")
    return folder, score([folder / "bundles"], out=folder / "run")


@pytest.fixture(scope="module")
def mixed(exports, tmp_path_factory):
    """Return the run of a call in a scenario, one in none and a mono one, and its population."""
    folder = tmp_path_factory.mktemp("mixed")
    people = write_json(folder / "population.json", population())
    rules = write_json(folder / "rules.json", {"rules": [{"when": {"call_id": "v-1"}, **PLACE}]})
    run_import("vapi", exports, folder / "bundles", population=people, rules=rules)
    return folder, score([folder / "bundles"], out=folder / "run")


def test_an_import_without_a_population_is_scored_for_timing_and_says_so(plain):
    _, result = plain
    (record,) = result.records.values()
    schema.validate(record, "record")
    assert record["citation"].startswith(f"{LINE} [draft] [excluded 1/3]: reply latency p50 ")
    assert "%" not in record["citation"]
    assert (record["score"], record["n"], record["bounds"]) == (None, 0, None)
    assert record["failures_by_type"] == {"slow_median": 2, "slow_turn": 2}
    assert record["timing_only"]["events_by_severity"] == {"S2": 2, "S3": 2}
    waits = record["diagnostics"]["latency_ms"]
    assert (waits["n"], waits["p50"], waits["p95"]) == (
        4,
        pytest.approx(800, abs=10),
        pytest.approx(3200, abs=10),
    )
    held = record["accounting"]
    assert (held["expected"], held["total"]) == (0, 3)
    assert held["timing_only"] == {"no_scenario": 2}
    assert held["excluded"] == {"mono_recording": 1}
    assert result.is_complete
    assert any("without a pass rate" in line for line in score_lines(record, result.decisions))


def test_no_event_of_trace_or_transcript_is_told_of_them(plain):
    _, result = plain
    assert set(result.table("events")["type"]) == {"slow_turn", "slow_median"}
    assert set(result.table("events")["source"]) == {"audio"}


def test_explain_says_that_such_a_call_neither_passes_nor_fails(plain):
    folder, _ = plain
    stored = load_call(folder / "run", "v-1")
    given = ("v-1", stored.tables, stored.decisions, load_protocol("inquesto-0.1"))
    facts = explain_facts(*given, stored.population)
    assert (facts["in_n"], facts["decision"]["state"]) == (False, "timing_only")
    text = " ".join("\n".join(explain_lines(*given, stored.population)).split())
    assert "TIMING ONLY · not in n · no scenario, no goal · worst event S3" in text
    assert "the call names no scenario (no_scenario). It neither passes nor fails" in text


def test_a_score_beside_them_is_over_the_calls_with_a_scenario(mixed):
    _, result = mixed
    (record,) = result.records.values()
    schema.validate(record, "record")
    assert record["n"] == 1
    assert " [1 more timing-only] = " in record["citation"]
    assert record["citation"].startswith("Inquesto v0.1/desk-1 [draft] [judge-free] [excluded 1/2]")
    assert (record["accounting"]["expected"], record["accounting"]["total"]) == (1, 3)
    assert record["accounting"]["timing_only"] == {"no_scenario": 1}
    assert record["timing_only"]["events_by_type"] == {"slow_median": 1, "slow_turn": 1}
    assert record["diagnostics"]["calls"] == 1
    states = dict(result.decisions.select("call_id", "state").rows())
    assert states == {"v-1": "scored", "v-2": "timing_only", "v-3": "excluded"}


@pytest.mark.parametrize("which", ["plain", "mixed"])
def test_rescoring_such_a_run_gives_the_same_record(which, request, tmp_path):
    folder, result = request.getfixturevalue(which)
    again = rescore(folder / "run", protocol="inquesto-0.1", out=tmp_path / "again")
    assert again.result.records == result.records
    other = rescore(folder / "run", protocol="inquesto-0.2-draft", out=tmp_path / "other")
    (record,) = other.result.records.values()
    assert record["timing_only"]["calls"] == (2 if which == "plain" else 1)
    assert record["citation"].startswith("Inquesto timing-only") == (which == "plain")


def test_a_scenario_that_the_population_does_not_have_is_said(exports, tmp_path):
    people = write_json(tmp_path / "population.json", population())
    run_import("vapi", exports / "v-1.json", tmp_path / "bundles")
    path = tmp_path / "bundles" / "v-1" / "call.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | PLACE | {"scenario_id": "s-9"}))
    result = score([tmp_path / "bundles"], out=tmp_path / "run", population=people)
    (record,) = result.records.values()
    assert record["citation"].startswith(f"{LINE}/desk-1 [draft]: reply latency")
    assert record["accounting"]["timing_only"] == {"unknown_scenario": 1}
    (named,) = record["accounting"]["calls"]
    assert (named["state"], named["reasons"]) == ("timing_only", ["unknown_scenario"])
