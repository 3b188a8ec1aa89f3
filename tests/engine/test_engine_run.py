"""Bundles in, record bytes out: the same whatever the order and workers; bad input is stated."""

from __future__ import annotations

import json
import shutil
import zipfile

import numpy as np
import polars as pl
import pytest
import soundfile

from inquesto_core import engine
from inquesto_core.errors import BundleError, ProtocolError, StoreError
from inquesto_core.evidence.store import EvidenceStore

FIRST, SECOND = "hasty-001-dup_charge-clean", "hasty-003-dup_charge-telephone"


def record_bytes(sources, out, **options):
    engine.score(sources, out=out, **options)
    return (out / "record.json").read_bytes()


@pytest.fixture(scope="module")
def golden(twelve_calls, tmp_path_factory):
    out = tmp_path_factory.mktemp("golden") / "RUN"
    return engine.score([twelve_calls], out=out), out


def test_the_sample_calls_are_scored_as_their_scripts_say(golden, twelve_calls):
    result, _ = golden
    assert result.is_complete
    assert not result.has_bad_input
    (record,) = result.records.values()
    assert record["n"] == 12
    decisions = {row["call_id"]: row for row in result.decisions.rows(named=True)}
    for path in sorted(twelve_calls.glob("*/truth.json")):
        truth = json.loads(path.read_bytes())
        row = decisions[path.parent.name]
        found = {
            name.removeprefix("event_")
            for name, value in row.items()
            if name.startswith("event_") and value
        }
        assert found == set(truth["events"]), path.parent.name
        assert row["passed"] == truth["pass"], path.parent.name


def test_the_order_of_inputs_and_the_workers_change_no_byte(golden, twelve_calls, tmp_path):
    _, out = golden
    folders = sorted((path.parent for path in twelve_calls.glob("*/call.json")), reverse=True)
    population = twelve_calls / "population.json"
    again = record_bytes(folders, tmp_path / "RUN", population=population, workers=2)
    assert again == (out / "record.json").read_bytes()


def test_an_interrupted_run_goes_on_and_gives_the_same_bytes(golden, twelve_calls, tmp_path):
    _, out = golden
    seen = []

    def stop(done, total):
        seen.append(total)
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.score([twelve_calls], out=tmp_path / "RUN", progress=stop)
    assert len(list(EvidenceStore.of(tmp_path / "RUN" / "unfinished").loose_files())) == 5
    again = record_bytes([twelve_calls], tmp_path / "RUN")
    assert again == (out / "record.json").read_bytes()
    assert not (tmp_path / "RUN" / "unfinished").exists()


def test_a_store_is_filled_once_and_gives_the_same_bytes_ever_after(
    golden, twelve_calls, tmp_path, monkeypatch
):
    _, out = golden
    kept = tmp_path / "STORE"
    first = record_bytes([twelve_calls], tmp_path / "RUN", store=kept)
    assert first == (out / "record.json").read_bytes()
    (pack,) = EvidenceStore.of(kept).packs()
    assert len(list(pack.entries())) == 12
    monkeypatch.setattr("inquesto_core.engine.extract.measure_call", refuse)
    assert record_bytes([twelve_calls], tmp_path / "RUN2", store=kept) == first
    assert not (tmp_path / "RUN2" / "unfinished" / "loose").exists()


def test_only_what_is_missing_or_damaged_is_measured_again(golden, twelve_calls, tmp_path):
    _, out = golden
    kept = tmp_path / "STORE"
    record_bytes([twelve_calls], tmp_path / "RUN", store=kept)
    (pack,) = (kept / "packs").iterdir()
    pack.write_bytes(pack.read_bytes()[:-1] + b"?")
    assert (
        record_bytes([twelve_calls], tmp_path / "RUN2", store=kept)
        == (out / "record.json").read_bytes()
    )
    assert EvidenceStore.of(kept).verify() == []


def refuse(*_args, **_more):
    raise AssertionError("nothing is to be measured")


def test_an_archive_of_the_calls_scores_like_the_folder(golden, twelve_calls, tmp_path):
    result, _ = golden
    archive = tmp_path / "sample_records.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for path in sorted(twelve_calls.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                target.write(path, path.relative_to(twelve_calls.parent))
    other = engine.score([archive], out=tmp_path / "RUN")
    assert other.decisions.equals(result.decisions)


def test_a_stored_run_reads_back_as_it_was(golden):
    result, out = golden
    stored = engine.load_run(out)
    assert stored.records == json.loads(json.dumps(result.records))
    assert stored.decisions.equals(result.decisions)
    assert out.stat().st_mode & 0o077 == 0


def test_the_record_holds_no_call_id_and_no_transcript(golden, twelve_calls):
    _, out = golden
    text = (out / "record.json").read_text()
    for path in twelve_calls.glob("*/transcript.json"):
        assert path.parent.name not in text
        assert all(turn["text"] not in text for turn in json.loads(path.read_bytes())["turns"])


def broken(twelve_calls, tmp_path, change):
    folder = tmp_path / "calls"
    shutil.copytree(twelve_calls, folder)
    first = folder / FIRST
    samples, rate = soundfile.read(first / "audio.ogg")
    (first / "audio.ogg").unlink()
    soundfile.write(first / "audio.flac", samples, rate)
    rewrite("call.json", lambda c: c["audio"][0].update(file="audio.flac", sha256=None))(first)
    change(first)
    return engine.score([folder], out=tmp_path / "RUN")


def rewrite(name, edit):
    def change(folder):
        value = json.loads((folder / name).read_bytes())
        edit(value)
        (folder / name).write_text(json.dumps(value))

    return change


def sound(samples, rate=16000):
    return lambda folder: soundfile.write(folder / "audio.flac", samples, rate)


def one_track(folder):
    samples, rate = soundfile.read(folder / "audio.flac")
    soundfile.write(folder / "audio.flac", samples[:, 0], rate)


def same_tracks(folder):
    samples, rate = soundfile.read(folder / "audio.flac")
    soundfile.write(folder / "audio.flac", np.repeat(samples.sum(1, keepdims=True) / 2, 2, 1), rate)


def linked(folder):
    (folder / "audio.flac").rename(folder.parent / "elsewhere.flac")
    (folder / "audio.flac").symlink_to(folder.parent / "elsewhere.flac")


def set_digest(call):
    call["audio"][0]["sha256"] = "0" * 64


BAD = {
    "missing file": (lambda f: (f / "audio.flac").unlink(), "audio_missing", "excluded"),
    "wrong digest": (rewrite("call.json", set_digest), "audio_digest_mismatch", "excluded"),
    "invalid trace": (
        lambda f: (f / "trace.json").write_text("{"),
        "trace_unparseable",
        "not_evaluated",
    ),
    "NaN in the trace": (
        lambda f: (f / "trace.json").write_text('{"calls": NaN}'),
        "trace_unparseable",
        "not_evaluated",
    ),
    "a key twice": (
        lambda f: (f / "verdicts.json").write_text('{"model": "a", "model": "b"}'),
        "verdicts_unparseable",
        "not_evaluated",
    ),
    "unknown scenario": (
        rewrite("call.json", lambda c: c.update(scenario_id="iep-999-none")),
        "unknown_scenario",
        "timing_only",
    ),
    "one channel": (one_track, "mono_input", "excluded"),
    "identical channels": (same_tracks, "channels_identical", "not_evaluated"),
    "no sound": (sound(np.zeros((0, 2))), "audio_empty", "excluded"),
    "unknown codec": (
        lambda f: (f / "audio.flac").write_bytes(b"not audio" * 99),
        "audio_unreadable",
        "excluded",
    ),
    "a link": (linked, "link_refused", "excluded"),
}


@pytest.mark.parametrize(("change", "code", "state"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_told_in_one_line_and_the_other_calls_are_scored(
    twelve_calls, tmp_path, change, code, state
):
    result = broken(twelve_calls, tmp_path, change)
    states = dict(result.decisions.select("call_id", "state").drop_nulls("call_id").rows())
    assert states.pop(FIRST) == state
    assert set(states.values()) == {"scored"}
    assert len(states) == 11
    told = result.tables["problems"]
    reasons = result.decisions.filter(pl.col("call_id") == FIRST)["reasons"][0].to_list()
    assert code is None or code in told["code"].to_list() or code in reasons
    assert all("\n" not in message for message in told["message"])
    (record,) = result.records.values()
    assert record["n"] == 11
    assert "Inquesto v0.1/sample-0.1 [draft] [judge: recorded labels]" in record["citation"]


def test_a_call_json_that_leaves_its_bundle_is_refused_alone(twelve_calls, tmp_path):
    result = broken(
        twelve_calls,
        tmp_path,
        rewrite("call.json", lambda c: c["audio"][0].update(file="../x.flac")),
    )
    assert result.has_bad_input
    assert result.tables["problems"]["code"].to_list() == ["path_outside_bundle"]
    states = result.decisions.group_by("state").len().sort("state").rows()
    assert states == [("excluded", 1), ("not_evaluated", 1), ("scored", 11)]


def test_different_bundles_of_one_call_id_are_none_of_them_scored(twelve_calls, tmp_path):
    result = broken(
        twelve_calls, tmp_path, rewrite("call.json", lambda c: c.update(call_id=SECOND))
    )
    row = result.decisions.filter(pl.col("call_id") == SECOND).row(0, named=True)
    assert row["state"] == "excluded"
    assert "duplicate_call_id" in row["reasons"]


def test_no_bundle_at_all_is_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BundleError, match="no_bundles"):
        engine.score([tmp_path / "empty"], out=tmp_path / "RUN")


def test_a_folder_with_other_files_is_not_written_into(twelve_calls, tmp_path):
    (tmp_path / "RUN").mkdir()
    (tmp_path / "RUN" / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="out_not_empty"):
        engine.score([twelve_calls], out=tmp_path / "RUN")


def test_without_verdicts_the_judge_free_variant_is_scored_and_says_so(twelve_calls, tmp_path):
    result = broken(twelve_calls, tmp_path, lambda folder: (folder / "verdicts.json").unlink())
    (record,) = result.records.values()
    assert "[judge-free]" in record["citation"]
    assert record["n"] == 12


def test_a_population_that_cannot_be_asked_is_refused_before_a_call_is_measured(
    twelve_calls, tmp_path
):
    calls = tmp_path / "calls"
    shutil.copytree(twelve_calls, calls)
    document = json.loads((calls / "population.json").read_bytes())
    document["scenarios"][0]["predicates"] = [
        {"kind": "tool_count", "tool": "lookup_account", "min": 3, "max": 1}
    ]
    (calls / "population.json").write_text(json.dumps(document))
    measured = []
    with pytest.raises(
        ProtocolError, match=r"population.json /scenarios/0/predicates/0 asks for 3 to 1.*invalid"
    ):
        engine.score(
            [calls], out=tmp_path / "RUN", progress=lambda done, total: measured.append(done)
        )
    assert measured == []
    assert not (tmp_path / "RUN").exists()


def test_a_store_that_is_damaged_is_told_of_and_measured_anew(twelve_calls, tmp_path):
    store = tmp_path / "EVIDENCE"
    first = record_bytes([twelve_calls], tmp_path / "ONE", store=store)
    (pack,) = (store / "packs").iterdir()
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 0x55
    pack.write_bytes(data)
    again = engine.score([twelve_calls], out=tmp_path / "TWO", store=store)
    (problem,) = again.problems
    assert (problem.code, problem.level, problem.file) == ("evidence_damaged", "warning", pack.name)
    assert (tmp_path / "TWO/record.json").read_bytes() == first
    assert EvidenceStore.of(store).verify() == []
    assert engine.score([twelve_calls], out=tmp_path / "THREE", store=store).problems == ()
