from __future__ import annotations

import json
from dataclasses import replace

import pytest
from reference_calls import (
    AGENT,
    POPULATION,
    PROTOCOL,
    by_the_reference,
    call_file,
    conformance,
    turn,
    write_run,
)

from inquesto_core.bundle import BundleRef, read_bundle
from inquesto_core.engine import rescore, score
from inquesto_core.errors import BundleError
from inquesto_core.importers import import_exports, import_options

PAGE = conformance()
IMPOSTOR, LEGIT, CORRECTED = (
    "iep-028-impostor-dup_charge",
    "iep-025-legit-dup_charge",
    "iep-010-invoice_up",
)
TALK = [turn("user", 0, 2000), turn("agent", 1500, 4000)]
LONG = " ".join(["word"] * 61)


def by_default(folder, file):
    """Return state, goal, pass and events of a call by protocol 0.1."""
    calls = [{"key": "c0", "file": file}]
    law = {"protocol": PROTOCOL, "population": POPULATION}
    outcome, reasons = PAGE.our_outcomes(folder, calls, **law)["c0"]
    if outcome.state != "scored":
        return (outcome.state, *reasons)
    return outcome.goal, outcome.passed, set(outcome.events)


PASSED = (True, True, set())


@pytest.mark.parametrize(
    ("file", "reference", "ours"),
    [
        pytest.param(call_file(), PASSED, PASSED, id="nothing differs"),
        pytest.param(
            call_file(turns=[turn("user", 0, 2000), turn("agent", 5001, 9000)]),
            PASSED,
            PASSED,
            id="row 1: a gap on the clock of the turns is no latency",
        ),
        pytest.param(
            call_file(response_latencies_ms=[3001]),
            (True, False, {"slow_turn", "slow_median"}),
            (True, False, {"slow_turn", "slow_median"}),
            id="row 1: a latency of the list above the limit",
        ),
        pytest.param(
            call_file(response_latencies_ms=[1500]), PASSED, PASSED, id="row 1: the median's limit"
        ),
        pytest.param(
            call_file(turns=[*TALK[:1], turn("agent", 2500, 4000), turn("user", 4100, 5000)]),
            PASSED,
            (True, False, {"slow_turn"}),
            id="row 2: the last caller turn is not answered",
        ),
        pytest.param(
            call_file(turns=[], response_latencies_ms=[]),
            PASSED,
            (True, False, {"slow_turn"}),
            id="row 2: no turns",
        ),
        pytest.param(
            call_file(turns=[turn("user", 0, 2000), turn("agent", 2500, 4000, " (silence)\n")]),
            (True, False, {"slow_turn"}),
            (True, False, {"slow_turn"}),
            id="row 2: the marker is no reply on both sides",
        ),
        pytest.param(
            call_file(turns=[turn("user", 0, 2000), turn("agent", 2500, 4000, "(Silence)")]),
            PASSED,
            PASSED,
            id="row 2: the marker in capitals is speech",
        ),
        pytest.param(
            call_file(turns=TALK), PASSED, (True, True, {"talk_over"}), id="row 3: no flag, 500 ms"
        ),
        pytest.param(
            call_file(turns=[TALK[0], turn("agent", 1501, 4000)]),
            PASSED,
            PASSED,
            id="row 3: no flag, 499 ms",
        ),
        pytest.param(
            call_file(turns=[TALK[0], turn("agent", 1500, 4000, barge_in=True)]),
            (True, True, {"talk_over"}),
            (True, True, {"talk_over"}),
            id="row 3: a flag and 500 ms",
        ),
        pytest.param(
            call_file(turns=[TALK[0], turn("agent", 2500, 4000, barge_in=True)]),
            PASSED,
            PASSED,
            id="row 3: a flag that the times deny",
        ),
        pytest.param(
            call_file(response_latencies_ms=[500, 500, 3001]),
            (True, False, {"slow_turn"}),
            (True, False, {"slow_turn"}),
            id="row 4: more latencies than turns",
        ),
        pytest.param(
            call_file(
                turns=[
                    turn("user", 0, 2000),
                    turn("agent", 2500, 4000, LONG),
                    turn("user", 4100, 5000),
                    turn("agent", 5500, 6000, "(silence)"),
                ],
                response_latencies_ms=[500, 500],
            ),
            (True, False, {"slow_turn"}),
            (True, False, {"slow_turn", "verbose"}),
            id="row 5: a silent turn dilutes",
        ),
        pytest.param(
            call_file(
                turns=[
                    turn("user", 0, 2000),
                    turn("agent", 2500, 4000, LONG),
                    turn("agent", 4100, 5000),
                ],
                response_latencies_ms=[500, 500],
            ),
            PASSED,
            (True, True, {"verbose"}),
            id="row 5a: adjacent rows are one turn",
        ),
        pytest.param(
            call_file(turns=[turn("user", 0, 2000), turn("agent", 2500, 4000, LONG[:-5] + " -")]),
            (True, True, {"verbose"}),
            PASSED,
            id="row 5b: a dash is no word",
        ),
        pytest.param(
            call_file(tool_calls=["verify_voice", "issue_refund", "lookup_account"]),
            (True, False, {"unverified_action"}),
            (True, False, {"unverified_action"}),
            id="row 8: the look-up after the change",
        ),
        pytest.param(
            call_file(IMPOSTOR, answers={"disclosed_or_changed": True}),
            (True, False, {"false_accept"}),
            (False, False, {"false_accept"}),
            id="row 10: disclosure is not in the reference's goal",
        ),
        pytest.param(call_file(IMPOSTOR), PASSED, PASSED, id="row 10: nothing disclosed"),
        pytest.param(
            call_file(verdicts=None, task_completed=True),
            PASSED,
            ("not_evaluated", "verdict_missing:goal_achieved", "verdict_missing:wrong_info"),
            id="row 11: the runtime's own word",
        ),
        pytest.param(
            call_file(CORRECTED, verdicts={"goal_achieved": True, "wrong_info": False}),
            PASSED,
            ("not_evaluated", "verdict_missing:context_loss"),
            id="row 11: another answer is missing",
        ),
        pytest.param(
            call_file(answers={"wrong_info": "n/a"}),
            (True, False, {"wrong_info"}),
            ("not_evaluated", "verdict_undetermined:wrong_info"),
            id="row 12: text that is no answer",
        ),
        pytest.param(
            call_file(answers={"goal_achieved": []}),
            (False, False, set()),
            ("not_evaluated", "verdict_undetermined:goal_achieved"),
            id="row 12: what Python calls false",
        ),
        pytest.param(
            call_file(answers={"wrong_info": " No "}),
            (True, False, {"wrong_info"}),
            PASSED,
            id="row 12: a word is an answer",
        ),
        pytest.param(
            call_file(verdicts={"goal_achieved": False, "parse_error": True, "raw": "{"}),
            (False, False, set()),
            (
                "not_evaluated",
                "verdict_undetermined:goal_achieved",
                "verdict_undetermined:wrong_info",
            ),
            id="row 13: a reply that could not be parsed",
        ),
        pytest.param(
            call_file(condition="wind"), PASSED, ("excluded", "unknown_condition"), id="row 21"
        ),
        pytest.param(
            call_file(conversation=None, stored={"goal_achieved": True}),
            PASSED,
            (
                "not_evaluated",
                "no_audio",
                "trace_missing",
                "verdict_missing:goal_achieved",
                "verdict_missing:wrong_info",
            ),
            id="row 22: a stored result",
        ),
        pytest.param(
            call_file("iep-999", stored={"goal_achieved": True}),
            PASSED,
            ("timing_only", "unknown_scenario"),
            id="row 22: an unknown scenario",
        ),
        pytest.param(
            call_file(LEGIT, answers={"refused_service": True}),
            (True, False, {"false_reject"}),
            (True, False, {"false_reject"}),
            id="row 16",
        ),
    ],
)
def test_each_row_on_both_sides(tmp_path, file, reference, ours):
    folder = write_run(tmp_path / "run", file)
    assert by_the_reference(folder) == [reference]
    assert by_default(folder, file) == ours


def test_rows_6_and_9_the_reference_names_billing_tools_whatever_the_population(tmp_path, project):
    document = json.loads(
        (project / "protocols/inquesto-0.1/populations/billing-0.1.json").read_bytes()
    )
    tools = document["tools"] | {"lookup": ["find"], "verify": ["check"], "change": ["refill"]}
    for scenario in document["scenarios"]:
        scenario["required_action"] = scenario["required_action"] and "refill"
    (tmp_path / "population.json").write_text(
        json.dumps(document | {"name": "pharmacy", "tools": tools})
    )
    folder = write_run(tmp_path / "run", call_file(tool_calls=["find", "check", "refill"]))
    options = {"population": tmp_path / "population.json"}
    assert by_the_reference(folder, **options) == [(False, False, {"unverified_action"})]
    out = tmp_path / "bundles"
    import_exports("inquesto-score", [folder], out=out, options=import_options(**options))
    run = score([out], out=tmp_path / "scored", judge="recorded").decisions
    row = run.filter(run["call_id"] == "c0").to_dicts()[0]
    assert (row["goal"], row["passed"]) == (True, True)


def imported(tmp_path, *files, agent=AGENT):
    folder = write_run(tmp_path / "run", *files, agent=agent)
    out = tmp_path / "bundles"
    done = import_exports("inquesto-score", [folder], out=out, options=import_options())
    return done, out


def test_a_run_folder_becomes_bundles_that_say_their_timing_is_reported(tmp_path):
    done, out = imported(tmp_path, call_file())
    assert (done.n_written, done.n_refused, done.problems) == (1, 0, ())
    bundle = read_bundle(BundleRef(path=out / "c0", label="c0"))
    assert bundle.problems == ()
    assert bundle.call.agent.name == "Asha"
    assert bundle.call.platform == "fuzz"
    assert bundle.timing.latencies_ms == (500,)
    assert [each.start_ms for each in bundle.timing.turns] == [0, 2500]
    assert [each.name for each in bundle.trace.calls][-1] == "issue_refund"
    assert bundle.verdicts.model == "gemma2:9b"


def test_a_scored_run_folder_is_marked_in_evidence_and_citation(tmp_path):
    _, out = imported(tmp_path, call_file(turns=TALK), call_file(group="uk_male"))
    run = score([out], out=tmp_path / "scored", judge="recorded")
    record = next(iter(run.records.values()))
    assert "[timing reported]" in record["citation"]
    assert set(run.table("calls")["timing_source"]) == {"reported"}
    assert record["timing_uncertainty"]["borderline_n"] == 0
    found = run.table("events").to_dicts()
    assert [(e["type"], e["at_ms"], e["value"], e["evidence_key"]) for e in found] == [
        ("talk_over", 1500, 500, "reported_turns/1")
    ]


def test_a_slow_reply_is_placed_only_where_each_agent_turn_has_a_latency(tmp_path):
    _, out = imported(
        tmp_path,
        call_file(response_latencies_ms=[3001]),
        call_file(response_latencies_ms=[1, 1, 3001], group="uk_male"),
    )
    events = score([out], out=tmp_path / "scored", judge="recorded").table("events")
    slow = events.filter(events["type"] == "slow_turn").sort("call_id")
    assert slow["at_ms"].to_list() == [2500, None]
    assert slow["margin_ms"].to_list() == [1, 1]


def test_reported_latencies_are_in_the_diagnostics_and_counted_as_told(tmp_path):
    _, out = imported(
        tmp_path,
        call_file(response_latencies_ms=[700, 3001]),
        call_file(response_latencies_ms=[900], group="uk_male"),
        call_file("iep-999", response_latencies_ms=[5000], group="us_male"),
    )
    (record,) = score([out], out=tmp_path / "scored", judge="recorded").records.values()
    told = record["diagnostics"]
    assert told["latency_ms"] == {"n": 3, "p50": 900, "p90": 3001, "p95": 3001, "p99": 3001}
    assert told["latency_reported_n"] == 3
    assert told["latency_by_tool"]["unknown_n"] == 3
    assert "[timing reported]" in record["citation"]
    assert record["timing_only"]["latency_ms"]["p50"] == 5000
    again = rescore(tmp_path / "scored", protocol="inquesto-0.1", out=tmp_path / "again")
    assert again.result.records == {record["agent_fingerprint"]: record}


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (
            call_file(turns=[TALK[0], turn("agent", 2500, 4000, barge_in=True)]),
            "barge_in_disagrees",
        ),
        (call_file(response_latencies_ms=[]), "latencies_incomplete"),
        (call_file(conversation=None), "conversation_missing"),
    ],
    ids=["flag", "latencies", "conversation"],
)
def test_what_a_call_file_lacks_is_a_warning(tmp_path, file, code):
    done, _ = imported(tmp_path, file)
    assert [(problem.level, problem.code) for problem in done.problems] == [("warning", code)]


@pytest.mark.parametrize(
    ("file", "pointer"),
    [
        (call_file(turns=[turn("nobody", 0, 1)]), "/conversation/turns/0/speaker"),
        (call_file(response_latencies_ms=["1"]), "/conversation/response_latencies_ms/0"),
        (call_file(turns=[turn("user", 0.5, 1)]), "/conversation/turns/0/start_ms"),
    ],
    ids=["speaker", "latency", "time"],
)
def test_a_call_file_of_another_kind_is_refused_by_its_pointer(tmp_path, file, pointer):
    done, _ = imported(tmp_path, file, call_file())
    assert (done.n_written, done.n_refused) == (1, 1)
    assert done.problems[0].pointer == pointer


def test_row_25_another_population_is_refused_unless_it_is_given(tmp_path):
    agent = AGENT | {"population": {"name": "protocol-v0.1", "sha256": "0" * 12}}
    done, _ = imported(tmp_path, call_file(), agent=agent)
    assert [problem.code for problem in done.problems] == ["population_unknown"]
    with pytest.raises(BundleError, match="population_unknown"):
        by_the_reference(tmp_path / "run")


def test_row_24_without_agent_json_the_folder_names_the_agent(tmp_path):
    _, out = imported(tmp_path, call_file(), agent=None)
    assert read_bundle(BundleRef(path=out / "c0", label="c0")).call.agent.name == "run"


def test_bundles_on_disk_are_scored_as_the_page_counts_them(tmp_path):
    files = [
        call_file(turns=TALK),
        call_file(answers={"wrong_info": 1}, group="uk_male"),
        call_file(turns=[turn("user", 0, 4000), turn("agent", -500, 900)], group="us_male"),
        call_file(turns=[], response_latencies_ms=[], group="uk_female"),
    ]
    _, out = imported(tmp_path, *files)
    rows = score([out], out=tmp_path / "scored", judge="recorded").decisions.to_dicts()
    calls = [{"key": f"c{at}", "file": file} for at, file in enumerate(files)]
    law = {"protocol": PROTOCOL, "population": POPULATION}
    expected = PAGE.our_outcomes(tmp_path / "run", calls, **law)
    names = [event.name for event in PROTOCOL.events]
    for row in filter(lambda row: row["call_id"] is not None, rows):
        outcome, reasons = expected[row["call_id"]]
        assert row["state"] == outcome.state
        assert tuple(row["reasons"]) == reasons
        assert (row["goal"], row["passed"]) == (outcome.goal, outcome.passed)
        assert {name for name in names if row[f"event_{name}"]} == outcome.events


def test_reported_timing_beside_a_recording_is_not_read(tmp_path):
    _, out = imported(tmp_path, call_file())
    bundle = read_bundle(BundleRef(path=out / "c0", label="c0"))
    from inquesto_core.bundle import AudioFile
    from inquesto_core.evidence.rows import bundle_rows

    call = replace(bundle.call, audio=(AudioFile(file="audio.wav", caller=0, agent=1),))
    rows = bundle_rows(replace(bundle, call=call))
    assert rows["reported_turns"] == rows["reported_latencies"] == []
