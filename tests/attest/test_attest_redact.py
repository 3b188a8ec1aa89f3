"""Shared bundles: the timing part of their record is that of the whole ones."""

from __future__ import annotations

import json
import shutil
import stat

import polars as pl
import pytest
from click.testing import CliRunner

from inquesto_core import engine
from inquesto_core.canonical import digest_json
from inquesto_core.cli.redact import command
from inquesto_core.errors import BundleError, StoreError
from inquesto_core.protocol import load_protocol

AUDIO = [event.name for event in load_protocol("inquesto-0.1").events if event.source == "audio"]
#: What of a record is said of timing: all of it but what names calls, agents and inputs.
TIMING = ("audio_only", "timing_uncertainty", "diagnostics")


def timing_part(record):
    tallies = {name: n for name, n in record["failures_by_type"].items() if name in AUDIO}
    return {**{name: record[name] for name in TIMING}, "failures_by_type": tallies}


@pytest.fixture(scope="session")
def shared_calls(three_calls, tmp_path_factory):
    folder = tmp_path_factory.mktemp("redacted") / "shared"
    done = engine.redact([three_calls], out=folder)
    assert (done.calls, done.problems) == (3, ())
    return folder


@pytest.fixture(scope="session")
def shared_run(shared_calls, three_calls, tmp_path_factory):
    folder = tmp_path_factory.mktemp("redacted-run") / "run"
    engine.score([shared_calls], out=folder, population=three_calls / "population.json")
    return folder


def records(run):
    return {
        record["agent_fingerprint"]: record
        for record in (json.loads(file.read_bytes()) for file in run.glob("records/*.json"))
    }


def test_the_timing_part_of_the_record_is_the_same(scored, shared_run):
    whole, ours = records(scored), records(shared_run)
    assert len(whole) == 2
    assert {name: timing_part(each) for name, each in ours.items()} == {
        name: timing_part(each) for name, each in whole.items()
    }
    assert any(each["failures_by_type"] for each in whole.values())


def test_the_score_is_the_same_too_where_no_rule_reads_words(scored, shared_run):
    for name, each in records(scored).items():
        ours = records(shared_run)[name]
        assert (ours["score"], ours["n"], ours["views"]) == (
            each["score"],
            each["n"],
            each["views"],
        )


def test_the_audio_events_are_the_same_one_by_one(scored, shared_run, three_calls, shared_calls):
    told = [
        pl.read_parquet(run / "events.parquet")
        .filter(pl.col("source") == "audio")
        .drop("call_id")
        .sort("type", "at_ms", "value")
        for run in (scored, shared_run)
    ]
    assert told[0].height
    assert told[0].equals(told[1])


def test_the_line_says_that_timing_was_not_measured_here(shared_run):
    assert all("[timing reported]" in each["citation"] for each in records(shared_run).values())
    table = pl.read_parquet(shared_run / "evidence" / "problems.parquet")
    assert table["code"].unique().to_list() == ["timing_carried"]


def test_a_shared_bundle_has_the_name_that_stands_for_its_call_in_the_record(scored, shared_calls):
    names = {folder.name for folder in shared_calls.iterdir()}
    noted = {
        row["call"] for record in records(scored).values() for row in record["accounting"]["calls"]
    }
    assert noted & names
    assert all(len(name) == 16 for name in names)


def test_what_was_measured_by_other_rules_is_not_evaluated(shared_calls, three_calls, tmp_path):
    for file in shared_calls.glob("*/measured.json"):
        copy = tmp_path / "calls" / file.parent.name
        copy.mkdir(parents=True)
        for each in file.parent.iterdir():
            (copy / each.name).write_bytes(each.read_bytes())
        value = json.loads(file.read_bytes())
        value["measurement"] = digest_json("another")
        (copy / file.name).write_text(json.dumps(value))
    run = tmp_path / "run"
    engine.score([tmp_path / "calls"], out=run, population=three_calls / "population.json")
    open_calls = pl.read_parquet(run / "calls.parquet").filter(pl.col("state") == "not_evaluated")
    assert any("evidence_missing" in reasons for reasons in open_calls["reasons"])
    assert pl.read_parquet(run / "evidence" / "segments.parquet").is_empty()


@pytest.mark.parametrize(
    "change",
    [
        {"window_ms": None},
        {"window_ms": [0, 10**9]},
        {"segments": [{"speaker": "agent", "start_ms": 5, "end_ms": 5}]},
        {"segments": [{"speaker": "nobody", "start_ms": 5, "end_ms": 6}]},
    ],
    ids=["no_window", "window_outside", "empty_segment", "unknown_side"],
)
def test_a_measured_file_that_cannot_be_is_refused_and_named(shared_calls, tmp_path, change):
    from inquesto_core.bundle import read_bundle
    from inquesto_core.bundle.find import BundleRef

    source = min(shared_calls.glob("*/measured.json")).parent
    (tmp_path / "call.json").write_bytes((source / "call.json").read_bytes())
    value = json.loads((source / "measured.json").read_bytes()) | change
    (tmp_path / "measured.json").write_text(json.dumps(value))
    bundle = read_bundle(BundleRef(path=tmp_path, label="one"))
    assert bundle.measured is None
    assert "measured_unparseable" in {problem.code for problem in bundle.problems}


def test_bundles_are_not_mixed_with_what_lies_there(three_calls, tmp_path):
    (tmp_path / "note").touch()
    with pytest.raises(StoreError, match="out_not_empty"):
        engine.redact([three_calls], out=tmp_path)


def test_what_is_redacted_twice_keeps_its_timing(shared_calls, three_calls, tmp_path):
    out = tmp_path / "again"
    engine.redact([shared_calls], out=out, population=three_calls / "population.json")
    before, after = (
        sorted(file.read_text() for file in folder.glob("*/measured.json"))
        for folder in (shared_calls, out)
    )
    assert before == after


def test_a_bundle_that_cannot_be_read_is_named_and_the_others_are_written(three_calls, tmp_path):
    shutil.copytree(three_calls, tmp_path / "calls")
    (tmp_path / "calls" / "broken").mkdir()
    (tmp_path / "calls" / "broken" / "call.json").write_text("{")
    out = tmp_path / "shared"
    arguments = [str(tmp_path / "calls"), "--out", str(out)]
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert done.return_value == 3
    assert "3 bundles without words or sound in" in done.output
    assert "call calls/broken: has no call.json that can be used" in done.output
    assert len(list(out.iterdir())) == 3
    assert all(stat.S_IMODE(folder.stat().st_mode) == 0o700 for folder in (out, *out.iterdir()))


def test_a_source_without_bundles_is_an_error_and_nothing_is_written(tmp_path):
    with pytest.raises(BundleError, match="source_missing"):
        engine.redact([tmp_path / "nothing"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
