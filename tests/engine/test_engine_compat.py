from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner
from reference_calls import (
    AGENT,
    POPULATION,
    PROTOCOL,
    SEEDS,
    call_file,
    conformance,
    turn,
    write_oracle,
    write_run,
)

from inquesto_core.cli import cli
from inquesto_core.engine import (
    load_call,
    load_run,
    rescore,
    rescore_reference,
    score_as_reference,
)
from inquesto_core.errors import BundleError, StoreError

PAGE = conformance()
OURS = {"provenance", "signature"}


@pytest.fixture(scope="module")
def oracle(shared, tmp_path_factory):
    """Return the oracle's runs on disk, and what --compat reference makes of them."""
    folder = write_oracle(shared, tmp_path_factory.mktemp("oracle"))
    return folder, rescore_reference([folder])


def test_goal_pass_and_events_of_every_oracle_call_are_the_references(shared, oracle):
    _, found = oracle
    events = {}
    for call, name, severity in found.events.rows():
        events.setdefault(call, []).append((name, severity))
    mine = {
        (found.runs.folders[row["run"]].name, row["key"]): (
            row["goal"],
            row["passed"],
            sorted(events.get(row["call"], [])),
        )
        for row in found.calls.iter_rows(named=True)
    }
    expected = {}
    for seed in SEEDS:
        for call in PAGE.oracle_calls(shared / "oracle" / "fuzz" / str(seed)):
            told = call["expected"]
            shown = sorted((event["type"], event["severity"]) for event in told["events"])
            expected[str(seed), call["key"]] = (told["goal_achieved"], told["pass"], shown)
    assert mine == expected


def test_every_field_of_every_oracle_record_is_the_references(shared, oracle):
    _, found = oracle
    assert len(found.records) == len(SEEDS)
    for folder, record in zip(found.runs.folders, found.records, strict=True):
        file = shared / "oracle" / "fuzz" / folder.name / "inquesto-record.json"
        expected = json.loads(file.read_bytes())
        assert {**record, "evaluated_at": expected["evaluated_at"]} == expected


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_by_default_the_first_runs_have_the_references_goals_and_passes(shared, seed):
    folder = shared / "oracle" / "fuzz" / str(seed)
    calls = PAGE.oracle_calls(folder)
    ours = PAGE.our_outcomes(folder, calls, protocol=PROTOCOL, population=POPULATION)
    for call in calls:
        theirs, (mine, _) = PAGE.reference_outcome(call), ours[call["key"]]
        assert (mine.state, mine.goal, mine.passed) == ("scored", theirs.goal, theirs.passed)


@pytest.mark.parametrize("seed", [1, 3, 37, 44])
def test_every_call_that_differs_is_listed_with_the_rows_that_explain_it(shared, project, seed):
    folder = shared / "oracle" / "fuzz" / str(seed)
    found = list(PAGE.differences(folder, PROTOCOL, POPULATION))
    assert all(rows for _, _, rows, _, _ in found)
    with (project / "docs" / "conformance_calls.csv").open(newline="") as file:
        listed = [row for row in list(csv.reader(file))[1:] if row[0] == str(seed)]
    assert listed == [[at, key, " ".join(rows), *both] for at, key, rows, *both in found]


def test_a_difference_that_its_file_gives_no_cause_for_is_unexplained():
    call = {"file": call_file(), "expected": {"identity": None}}
    theirs = PAGE.Outcome(state="scored", goal=True, passed=True, events=frozenset())
    for event in ("slow_turn", "talk_over", "verbose", "wrong_info"):
        ours = PAGE.Outcome(state="scored", goal=True, passed=True, events=frozenset({event}))
        assert PAGE.rows_that_explain(call, theirs, ours, ()) == ()


def test_a_run_of_one_call_has_the_references_bounds_for_empty_slices(tmp_path):
    folder = write_run(tmp_path / "few", call_file(group="us_male", condition="babble"))
    record = rescore_reference([folder]).records[0]
    empty = {"score": None, "lo": 0.0, "hi": 0.0, "n": 0, "passed": 0}
    assert record["views"]["behavior"] == empty
    assert record["views"]["robustness"]["gap_vs_clean"] is None
    assert list(record["views"]["fairness"]["by_group"]) == ["us_male"]
    assert record["aggregation_ablation"]["mean_of_views"] is None
    assert record["citation"] == (
        "Inquesto v0.1 = 100.0% (95% CI 20.7–100.0; n = 1); views B — · R 100 · I — · F 100"
    )


def test_a_stored_event_counts_as_often_as_it_stands(tmp_path):
    event = {"type": "slow_turn", "severity": 3, "at_ms": 10, "detail": "stored"}
    stored = {"goal_achieved": True, "events": [event, event]}
    folder = write_run(tmp_path / "run", call_file(conversation=None, stored=stored))
    record = rescore_reference([folder]).records[0]
    assert (record["passed"], record["failures_by_type"]) == (0, {"slow_turn": 2})


def test_turns_without_flag_or_times_have_the_references_defaults(tmp_path):
    turns = [{"speaker": "user", "text": "a"}, {"speaker": "agent", "text": "b"}]
    folder = write_run(tmp_path / "run", call_file(turns=turns))
    assert rescore_reference([folder]).records[0]["passed"] == 1


def test_the_median_of_halves_is_above_the_limit(tmp_path):
    turns = [turn("user", 0, 1), turn("agent", 2, 3)] * 2
    files = [call_file(turns=turns, response_latencies_ms=[1500, last]) for last in (1500, 1501)]
    found = rescore_reference([write_run(tmp_path / "run", *files)])
    assert found.events.rows() == [(1, "slow_median", 2)]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("{", "JSONDecodeError"),
        ('{"result": {}}', "KeyError"),
        ("[]", "TypeError|AttributeError"),
        (json.dumps(call_file()) + "{}", "more after its value"),
        (json.dumps(call_file(response_latencies_ms=["x"])), "could not convert"),
        (json.dumps(call_file()).replace("[500]", "[NaN]"), "no number"),
    ],
    ids=["cut off", "no result", "no object", "two values", "text", "NaN"],
)
def test_a_call_file_that_the_reference_cannot_read_is_named(tmp_path, content, found):
    folder = write_run(tmp_path / "run", call_file())
    (folder / "calls" / "c1.json").write_text(content)
    with pytest.raises(BundleError, match=f"c1.json|{found}") as caught:
        rescore_reference([folder])
    assert caught.value.problem.code == "reference_call_unreadable"


def test_bundles_are_no_run_of_the_reference(tmp_path):
    with pytest.raises(BundleError, match="reference_run_missing"):
        rescore_reference([tmp_path])


def test_the_command_writes_the_references_record_and_leaves_the_run_as_it_is(tmp_path):
    folder = write_run(tmp_path / "run", call_file(), call_file(group="uk_male", turns=[]))
    before = {file: file.read_bytes() for file in folder.rglob("*.json")}
    out = tmp_path / "out"
    args = ["score", str(folder), "--compat", "reference", "--out", str(out), "--json"]
    done = CliRunner().invoke(cli, [*args, "--evaluated-at", "2026-01-31"], standalone_mode=False)
    assert done.return_value == 0, done.output
    record = json.loads((out / "record.json").read_bytes())
    assert json.loads(done.stdout) == record
    expected = rescore_reference([folder], evaluated_at="2026-01-31").records[0]
    assert {key: value for key, value in record.items() if key not in OURS} == expected
    assert record["provenance"]["timing"] == "reported"
    assert {file: file.read_bytes() for file in folder.rglob("*.json")} == before
    stored = load_run(out, tables=("events",))
    assert stored.decisions["passed"].to_list() == [True, True]
    assert stored.decisions["agent_fingerprint"].to_list() == [AGENT["fingerprint"]] * 2


def test_several_runs_have_a_record_each(tmp_path):
    for at in range(2):
        write_run(tmp_path / "runs" / f"r{at}", call_file(), agent=None)
    records = score_as_reference([tmp_path / "runs"], out=tmp_path / "out")
    assert [record["agent"] for record in records] == ["r0", "r1"]
    assert len(list((tmp_path / "out" / "records").iterdir())) == 2
    names = load_run(tmp_path / "out", tables=()).decisions["call_id"].to_list()
    assert names == ["r0/c0", "r1/c0"]


def test_compat_has_its_own_judge(tmp_path):
    folder = write_run(tmp_path / "run", call_file())
    args = ["score", str(folder), "--compat", "reference", "--judge", "none", "--out", "x"]
    done = CliRunner().invoke(cli, args)
    assert done.exit_code == 2
    assert "its own judge" in done.output


def test_a_run_without_evidence_is_neither_explained_nor_rescored(tmp_path):
    folder = write_run(tmp_path / "run", call_file())
    score_as_reference([folder], out=tmp_path / "out")
    with pytest.raises(StoreError, match="import inquesto-score"):
        load_call(tmp_path / "out", "c0")
    with pytest.raises(StoreError, match="run_without_evidence"):
        rescore(tmp_path / "out", protocol="inquesto-0.1", out=tmp_path / "again")
