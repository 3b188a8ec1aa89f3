"""Runs of signals and checks decided again under another protocol, and compared."""

from __future__ import annotations

import json
import os
import re
import shutil

import polars as pl
import pytest
from outcome_calls import END, call, population, scenario, score, turn

from inquesto_core import schema
from inquesto_core.cli import main
from inquesto_core.engine import (
    compare_outcomes,
    load_outcome,
    rescore_outcomes,
    score_outcomes,
)
from inquesto_core.errors import IncomparableError, ProtocolError, StoreError
from inquesto_core.protocol import load_any_protocol

CLEAN = {"tools": [END], "ended": "[EXIT]"}
CHECKS = {
    "requests": ["payment"],
    "persona": "calm",
    "verification": [{"id": "gate", "kind": "verified", "required": False}],
    "changes": [],
    "spoken": [{"id": "hello", "kind": "spoken_text", "any_of": ["hello"], "window": "call"}],
}


def both(name="s1"):
    """Return a scenario that both methods can decide."""
    return scenario(
        name,
        signals={"success_signals": ["judge_passed", "clean_exit"]},
        checks=CHECKS,
    )


def signals_run(tmp_path, *calls, people=None):
    return score(tmp_path, people or population(both(), trials=len(calls)), *calls)


def stricter(tmp_path, project, **of_judge):
    """Return a protocol folder whose judge's mark passes from another limit on."""
    folder = tmp_path / "strict"
    shutil.copytree(project / "protocols/nemo-labs", folder)
    document = json.loads((folder / "protocol.json").read_bytes())
    document["protocol"] = "strict"
    document["signals"]["judge_passed"] |= of_judge
    (folder / "protocol.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def test_a_run_decided_again_is_the_one_that_score_gives_and_says_what_moved(tmp_path, project):
    law = stricter(tmp_path, project, threshold=0.95)
    run = signals_run(
        tmp_path,
        call("c1", scores={"judge": 0.92}, **CLEAN),
        call("c2", trial=1, scores={"judge": 0.97}, **CLEAN),
    )
    done = rescore_outcomes(run.folder, protocol=law, out=tmp_path / "again")
    anew = score_outcomes(
        [tmp_path / "calls"], out=tmp_path / "anew", protocol=load_any_protocol(law)
    )
    assert done.result.records == anew.records
    assert done.differences.select("call_id", "outcome", "parts").rows() == [
        ("c1", "broken", ["judge_passed"])
    ]
    assert pl.read_parquet(tmp_path / "again/differences.parquet").equals(done.differences)
    stored = load_outcome(tmp_path / "again")
    assert stored.manifest["rescored_from"]["protocol"] == "nemo-labs"
    schema.validate(stored.manifest, "manifest")
    assert [each.name for each in (tmp_path / "again").glob("unfinished*")] == []


@pytest.mark.parametrize(
    ("first", "second"), [("nemo-labs", "vamos"), ("vamos", "nemo-labs")], ids=["to", "from"]
)
def test_either_method_reads_what_the_other_kept(tmp_path, first, second):
    tags = {"cost": "0.5", "caller_outcome": "success", "simulator_end": "success"}
    people = population(both())
    run = score(
        tmp_path, people, call("c1", tags=tags, scores={"judge": 1.0}, **CLEAN), protocol=first
    )
    done = rescore_outcomes(run.folder, protocol=second, out=tmp_path / "again")
    anew = score_outcomes(
        [tmp_path / "calls"], out=tmp_path / "anew", protocol=load_any_protocol(second)
    )
    assert done.result.records == anew.records
    assert done.differences["parts"].to_list() in ([], [None])


def test_a_population_that_asks_nothing_of_the_method_is_refused(tmp_path):
    people = population(scenario(signals={"success_signals": ["clean_exit"]}))
    run = signals_run(tmp_path, call(**CLEAN), people=people)
    with pytest.raises(ProtocolError, match="checks_invalid"):
        rescore_outcomes(run.folder, protocol="vamos", out=tmp_path / "again")


def test_failure_events_and_outcomes_are_not_read_as_each_other(tmp_path, capsys):
    run = signals_run(tmp_path, call(**CLEAN))
    with pytest.raises(StoreError, match="run_method"):
        rescore_outcomes(run.folder, protocol="inquesto-0.1", out=tmp_path / "again")
    with pytest.raises(StoreError, match="run_method"):
        rescore_outcomes(tmp_path / "calls", protocol="vamos", out=tmp_path / "again")
    with pytest.raises(StoreError, match="out_is_the_run"):
        rescore_outcomes(run.folder, protocol="vamos", out=run.folder)
    assert not (tmp_path / "again").exists()


def test_a_record_that_was_edited_is_not_believed(tmp_path):
    run = signals_run(tmp_path, call(**CLEAN))
    file = run.folder / "record.json"
    file.write_text(file.read_text().replace('"agent": "Agent A"', '"agent": "Agent Z"'))
    with pytest.raises(StoreError, match="run_damaged"):
        load_outcome(run.folder)


@pytest.mark.parametrize(
    "file", ["calls.parquet", "signals.parquet", "evidence/transcript.parquet", "population.json"]
)
@pytest.mark.parametrize("damage", ["changed", "gone", "a pipe"])
def test_a_file_of_the_run_that_is_not_as_it_was_written_is_named(tmp_path, file, damage):
    path = signals_run(tmp_path, call(**CLEAN)).folder / file
    whole = path.read_bytes()
    path.unlink()
    if damage == "changed":
        path.write_bytes(whole.replace(b"c1", b"c2") if whole.count(b"c1") else whole + b"\n")
    elif damage == "a pipe":
        os.mkfifo(path)
    with pytest.raises(StoreError, match=rf"{re.escape(file)} of .*run_damaged"):
        load_outcome(tmp_path / "run")


def test_a_run_that_keeps_too_little_says_so(tmp_path):
    run = signals_run(tmp_path, call(**CLEAN))
    (run.folder / "evidence/verdicts.parquet").unlink()
    with pytest.raises(StoreError, match="run_without_evidence_use"):
        rescore_outcomes(run.folder, protocol="vamos", out=tmp_path / "again")


def test_the_command_rescores(tmp_path, capsys):
    run = signals_run(tmp_path, call(**CLEAN))
    out = str(tmp_path / "again")
    with pytest.raises(SystemExit) as exit_:
        main(["rescore", str(run.folder), "--protocol", "vamos", "--out", out, "--json"])
    assert exit_.value.code == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["calls"]["all"] == 1
    assert "before" in shown.err and "again/differences.parquet" in shown.err


# Comparison


def agents(tmp_path, passed_a, passed_b, **of_b):
    """Score two agents, call by call with a clean exit or without one, a scenario a call."""
    people = population(*(both(f"s{at}") for at in range(len(passed_a))))
    runs = []
    for name, passed in (("A", passed_a), ("B", passed_b)):
        more = of_b if name == "B" else {}
        calls = [
            call(
                f"{name}{at}",
                scenario_id=f"s{at}",
                agent=f"Agent {name}",
                scores={"judge": 1.0},
                **(CLEAN if ok else {}),
                **more,
            )
            for at, ok in enumerate(passed)
        ]
        runs.append(score(tmp_path / name, people, *calls).folder)
    return runs


def test_pairs_tell_what_was_broken_and_what_was_fixed_and_by_which_signal(tmp_path):
    runs = agents(tmp_path, [True, True, False, False], [True, False, True, False])
    found = compare_outcomes(*runs, resamples=1000)
    counts = found.outcomes
    assert (counts.broken, counts.fixed, counts.still_failing, counts.still_passing) == (1, 1, 1, 1)
    parts = {part.name: (part.n, part.a, part.b, part.broken, part.fixed) for part in found.parts}
    assert parts == {"judge_passed": (4, 4, 4, 0, 0), "clean_exit": (4, 2, 2, 1, 1)}
    moved = {row["outcome"]: row for row in found.document()["moved"]}
    assert moved["broken"]["call_id_a"] == "A1" and moved["broken"]["parts"] == ["clean_exit"]
    assert found.mcnemar_p == 1.0
    assert found.score.value == 0.0


def test_calls_without_a_known_outcome_on_both_sides_are_no_pair(tmp_path):
    people = population(both("s0"), both("s1"))
    one = score(
        tmp_path / "A",
        people,
        call("A0", scenario_id="s0", **CLEAN),
        call("A1", scenario_id="s1", **CLEAN),
    )
    two = score(
        tmp_path / "B",
        people,
        call("B0", scenario_id="s0", agent="B", turns=None, **CLEAN),
        call("B1", scenario_id="s1", agent="B", **CLEAN),
        call("B2", scenario_id="s1", agent="B", **CLEAN),
    )
    with pytest.raises(IncomparableError, match="no_pairs"):
        compare_outcomes(one.folder, two.folder)


@pytest.mark.parametrize(
    ("column", "code"), [("persona", None), ("nobody", "column_unknown")], ids=["known", "unknown"]
)
def test_slices_are_of_the_columns_of_decisions(tmp_path, column, code):
    people = population(both())
    runs = [
        score(tmp_path / name, people, call(name, agent=name, **CLEAN), protocol="vamos").folder
        for name in "AB"
    ]
    if code is None:
        (each,) = compare_outcomes(*runs, by=[column], resamples=1000).slices
        assert (each.value, each.n) == ("calm", 1)
    else:
        with pytest.raises(IncomparableError, match=code):
            compare_outcomes(*runs, by=[column])


def test_runs_that_differ_in_more_than_the_agent_are_refused(tmp_path):
    people = population(both())
    runs = [
        score(tmp_path / protocol, people, call(**CLEAN), protocol=protocol).folder
        for protocol in ("nemo-labs", "vamos")
    ]
    with pytest.raises(IncomparableError, match="runs_not_comparable"):
        compare_outcomes(*runs)
    free = score(tmp_path / "free", people, call(**CLEAN), judge="none").folder
    with pytest.raises(IncomparableError, match="judge"):
        compare_outcomes(runs[0], free)


def test_an_agent_is_not_compared_with_itself_in_one_run(tmp_path):
    run = signals_run(tmp_path, call(**CLEAN)).folder
    with pytest.raises(IncomparableError, match="same_run_twice"):
        compare_outcomes(run)


def test_two_agents_of_one_run_are_named(tmp_path):
    people = population(both())
    run = score(
        tmp_path, people, call("A0", agent="A", **CLEAN), call("B0", agent="B", **CLEAN)
    ).folder
    with pytest.raises(IncomparableError, match="agents_ambiguous"):
        compare_outcomes(run)
    with pytest.raises(IncomparableError, match="agent_unknown"):
        compare_outcomes(run, agents=("A", "Z"))
    assert compare_outcomes(run, agents=("A", "B"), resamples=1000).outcomes.n == 1


def test_the_command_compares(tmp_path, capsys):
    people = population(both())
    runs = [
        score(
            tmp_path / name,
            people,
            call(name, agent=f"Agent {name}", turns=[turn("agent", "x"), turn("agent", "y")]),
        ).folder
        for name in "AB"
    ]
    with pytest.raises(SystemExit) as exit_:
        main(["compare", *map(str, runs), "--json", "--out", str(tmp_path / "cmp")])
    assert exit_.value.code == 0
    shown = capsys.readouterr()
    assert "A  Agent A, of run" in shown.err
    assert json.loads(shown.out)["success"]["n"] == 1
    assert json.loads((tmp_path / "cmp/compare.json").read_bytes())["method"] == "signals"
    with pytest.raises(SystemExit) as exit_:
        main(["compare", *map(str, runs), "--gates", "recommended"])
    assert exit_.value.code == 2
    assert "--gates goes with runs of failure events only" in capsys.readouterr().err


def test_compare_counts_a_signal_where_score_does(tmp_path):
    short = [turn("agent", "Hello.", 0, 500)]
    clean = scenario("s2", signals={"success_signals": ["clean_exit"]})
    people = population(both(), clean, trials=2)
    run = score(
        tmp_path,
        people,
        call("c1", scores={"judge": 0.95}, **CLEAN),
        call("c2", trial=1, scores={"judge": 0.95}, turns=short, **CLEAN),
        call("c3", scenario_id="s2", scores={"judge": 0.1}, **CLEAN),
        call("c4", scenario_id="s2", trial=1, scores={"judge": 0.95}, **CLEAN),
    )
    ours = {
        name: (rate["passed"], rate["n"])
        for name, each in run.record["signals"].items()
        if (rate := each["gating"])["n"]
    }
    assert ours == {"judge_passed": (1, 1), "clean_exit": (3, 3)}
    again = shutil.copytree(run.folder, tmp_path / "again")
    shown = compare_outcomes(run.folder, again, resamples=1000)
    assert {part.name: (part.a, part.n) for part in shown.parts} == ours
