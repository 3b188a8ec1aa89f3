"""A stored run under another protocol: the same record as scoring anew, and what changed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from inquesto_core import cli, engine
from inquesto_core.canonical import digest_bytes
from inquesto_core.compare import CHANGES, DIFFERENCES
from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.stored import table_file
from inquesto_core.errors import ProtocolError, SchemaError, StoreError

DRAFT = "inquesto-0.2-draft"
#: A slow reply of a call that fails by it alone, a denied verification before a change, a plain
#: good call, talk-overs.
CALLS = (
    "steady/steady-015-failed_order-babble",
    "hasty/hasty-028-impostor-dup_charge-babble",
    "steady/steady-001-dup_charge-clean",
    "hasty/hasty-003-dup_charge-clean",
)
SLOW, DENIED, GOOD, OVER = (Path(name).name for name in CALLS)


@pytest.fixture(scope="module")
def bundles(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles")
    shutil.copy(project / "sample_records" / "population.json", folder)
    for name in CALLS:
        shutil.copytree(project / "sample_records" / name, folder / Path(name).name)
    return folder


@pytest.fixture(scope="module")
def run(bundles, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "RUN"
    engine.score([bundles], out=out)
    return out


def files(folder: Path) -> dict[str, str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): digest_bytes(path.read_bytes()) for path in found}


def records(folder: Path) -> dict[str, str]:
    return {name: sha for name, sha in files(folder).items() if "record" in name}


def of_ones_own(folder: Path, **said: Any) -> Path:
    folder.mkdir(exist_ok=True)
    text = json.dumps({"extends": "inquesto-0.1", "protocol": "ours-1", **said})
    (folder / "protocol.json").write_text(text, encoding="utf-8")
    return folder


def slower(folder: Path, latency_ms: int) -> Path:
    return of_ones_own(folder, events={"slow_turn": {"latency_ms": latency_ms}})


def row(done: engine.Rescored, call_id: str, cause: str) -> dict[str, Any]:
    here = (pl.col("call_id") == call_id) & (pl.col("cause") == cause)
    return done.differences.row(by_predicate=here, named=True)


def change(done: engine.Rescored, call_id: str) -> str:
    found = done.differences.filter(pl.col("call_id") == call_id)["change"].unique()
    return found[0] if len(found) else "same"


def test_a_run_rescored_under_its_own_protocol_is_the_same_run(run, tmp_path):
    before = files(run)
    done = engine.rescore(run, protocol="inquesto-0.1", out=tmp_path / "AGAIN")
    again = files(tmp_path / "AGAIN")
    apart = {"manifest.json", "differences.parquet"}
    assert {name: sha for name, sha in again.items() if name not in apart} == {
        name: sha for name, sha in before.items() if name not in apart
    }
    assert files(run) == before
    assert done.differences["cause"].drop_nulls().is_empty()


def test_a_rescored_record_is_the_record_of_scoring_anew(run, bundles, tmp_path):
    engine.rescore(run, protocol=DRAFT, out=tmp_path / "RESCORED")
    engine.score([bundles], out=tmp_path / "SCORED", protocol=DRAFT)
    assert records(tmp_path / "RESCORED") == records(tmp_path / "SCORED")


BLOCKED = """
import sys
for name in ("soundfile", "onnxruntime", "llama_cpp", "faster_whisper", "ctranslate2"):
    sys.modules[name] = None
from inquesto_core import engine
from inquesto_core.engine import extract, remeasure
def refuse(*_, **__):
    raise AssertionError("a bundle was read")
extract.read_bundle = remeasure.read_bundle = extract.measure_call = refuse
done = engine.rescore(sys.argv[1], protocol=sys.argv[2], out=sys.argv[3])
print(done.differences.height)
"""


def test_another_threshold_reads_no_recording_and_loads_no_model(run, tmp_path, project):
    law = slower(tmp_path / "law", 4000)
    told = subprocess.run(
        [sys.executable, "-c", BLOCKED, run, law, tmp_path / "OUT"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert int(told.stdout) > 0


def test_a_call_that_another_threshold_fixes_is_told_with_value_and_both_thresholds(run, tmp_path):
    value = pl.read_parquet(run / "events.parquet").filter(
        (pl.col("call_id") == SLOW) & (pl.col("type") == "slow_turn") & pl.col("counted")
    )["value"][0]
    done = engine.rescore(run, protocol=slower(tmp_path / "law", value), out=tmp_path / "OUT")
    told = row(done, SLOW, "slow_turn")
    assert (told["change"], told["direction"], told["value"]) == ("fixed", "went", value)
    assert (told["threshold_before"], told["threshold_after"]) == (3000, value)
    assert told["rules"] == ["protocol.json#/events/slow_turn/latency_ms"]
    back = engine.rescore(
        tmp_path / "OUT",
        protocol=slower(tmp_path / "other", value - 1),
        out=tmp_path / "BACK",
        run_protocol=tmp_path / "law",
    )
    told = row(back, SLOW, "slow_turn")
    assert (told["change"], told["direction"]) == ("broken", "appeared")
    assert (told["threshold_before"], told["threshold_after"]) == (value, value - 1)
    assert change(back, GOOD) == "same"


def test_an_event_that_decides_no_more_is_told_as_such(run, tmp_path):
    law = of_ones_own(tmp_path / "law", events={"repeated_talk_over": {"severity": 2}})
    done = engine.rescore(run, protocol=law, out=tmp_path / "OUT")
    told = row(done, OVER, "repeated_talk_over")
    assert (told["change"], told["direction"]) == ("fixed", "no_longer_decides")
    assert told["rules"] == ["protocol.json#/events/repeated_talk_over/severity"]


def test_a_verification_that_denied_is_none_under_the_draft(run, tmp_path):
    done = engine.rescore(run, protocol=DRAFT, out=tmp_path / "OUT")
    told = row(done, DENIED, "unverified_action")
    assert (told["change"], told["direction"]) == ("still_failing", "appeared")
    assert told["rules"] == ["protocol.json#/events/unverified_action/verification_must_succeed"]


def test_the_difference_is_written_with_its_declared_columns(run, tmp_path):
    done = engine.rescore(run, protocol=DRAFT, out=tmp_path / "OUT")
    kept = pl.read_parquet(tmp_path / "OUT" / engine.DIFFERENCES_FILE)
    assert kept.schema == pl.Schema(DIFFERENCES)
    assert kept.equals(done.differences)
    assert set(kept["change"]) <= set(CHANGES)


def test_the_new_run_says_what_it_was_made_of_and_is_explained_like_any_other(
    run, tmp_path, capsys
):
    engine.rescore(run, protocol=DRAFT, out=tmp_path / "OUT")
    origin = engine.load_run(tmp_path / "OUT").manifest["rescored_from"]
    assert origin["protocol"] == "inquesto-0.1"
    assert origin["records"] == records(run)
    with pytest.raises(SystemExit) as exit_:
        cli.main(["explain", str(tmp_path / "OUT"), DENIED])
    assert exit_.value.code in (0, None)
    assert "unverified_action" in capsys.readouterr().out


def test_the_run_itself_is_never_written_over(run):
    with pytest.raises(StoreError, match="out_is_the_run"):
        engine.rescore(run, protocol=DRAFT, out=run.parent / "." / run.name)


def test_a_protocol_that_measures_otherwise_needs_the_bundles(run, tmp_path):
    law = of_ones_own(tmp_path / "law", instruments={"not_speech": {"max_vad_share": 0.49}})
    with pytest.raises(ProtocolError, match=r"--source.*rescore_needs_sources"):
        engine.rescore(run, protocol=law, out=tmp_path / "OUT")
    assert not (tmp_path / "OUT").exists()


def test_what_is_measured_otherwise_is_measured_anew_and_a_lost_call_stays_open(
    run, bundles, tmp_path
):
    law = of_ones_own(tmp_path / "law", instruments={"not_speech": {"max_vad_share": 0.49}})
    some = tmp_path / "elsewhere"
    for call in (SLOW, GOOD):
        shutil.copytree(bundles / call, some / f"renamed-{call}")
    changed = some / OVER  # the same call with other bytes is another bundle
    shutil.copytree(bundles / OVER, changed)
    (changed / "transcript.json").write_text('{"source": "x", "turns": []}', encoding="utf-8")
    done = engine.rescore(run, protocol=law, out=tmp_path / "OUT", sources=[some])
    decisions = {row["call_id"]: row for row in done.result.decisions.rows(named=True)}
    assert {decisions[call]["state"] for call in (SLOW, GOOD)} == {"scored"}
    for call in (DENIED, OVER):
        assert decisions[call]["state"] == "not_evaluated"
        assert decisions[call]["reasons"] == ["evidence_missing"]
        assert change(done, call) == "newly_not_evaluated"
    assert any("2 calls have no bundle" in note for note in done.notes)
    engine.score([bundles], out=tmp_path / "SCORED", protocol=law)
    engine.rescore(run, protocol=law, out=tmp_path / "ALL", sources=[bundles])
    assert records(tmp_path / "ALL") == records(tmp_path / "SCORED")


def test_what_a_store_holds_is_not_measured_anew(run, bundles, tmp_path, monkeypatch):
    law = of_ones_own(tmp_path / "law", instruments={"not_speech": {"max_vad_share": 0.49}})
    asked = {"protocol": law, "sources": [bundles], "store": tmp_path / "EVIDENCE"}
    engine.rescore(run, out=tmp_path / "ONE", **asked)

    def refuse(*_args, **_more):
        raise AssertionError("nothing is to be measured")

    monkeypatch.setattr("inquesto_core.engine.extract.measure_call", refuse)
    engine.rescore(run, out=tmp_path / "TWO", **asked)
    assert records(tmp_path / "TWO") == records(tmp_path / "ONE")


def as_judged(run: Path, into: Path, asked_with: str | None = None) -> Path:
    """Return a copy of the run whose verdicts are a model's."""
    shutil.copytree(run, into)
    manifest = json.loads((into / "manifest.json").read_bytes())
    judge = {"kind": "gguf", "label": "small.gguf", "model": "small.gguf", "sha256": "a" * 64}
    manifest["evidence"]["judge"] = judge
    if asked_with is not None:
        manifest["evidence"]["asked_with"] = asked_with
    (into / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return into


@pytest.mark.parametrize("same", [True, False], ids=["same rubric", "another rubric"])
def test_a_models_answers_are_read_only_by_the_rubric_they_were_given_to(run, tmp_path, same):
    judged = as_judged(run, tmp_path / "JUDGED", None if same else "b" * 64)
    done = engine.rescore(judged, protocol=DRAFT, out=tmp_path / "OUT")
    citations = {record["citation"] for record in done.result.records.values()}
    word = "[judge: small.gguf]" if same else "[judge-free]"
    assert all(word in citation for citation in citations)
    assert done.result.tables["verdicts"].is_empty() is not same
    assert any("another rubric" in note for note in done.notes) is not same
    causes = set(done.differences["cause"].drop_nulls())
    assert causes <= {"unverified_action", "goal"}


def test_a_run_whose_protocol_is_not_at_hand_is_rescored_without_its_thresholds(run, tmp_path):
    engine.rescore(run, protocol=slower(tmp_path / "law", 9000), out=tmp_path / "OURS")
    done = engine.rescore(tmp_path / "OURS", protocol="inquesto-0.1", out=tmp_path / "OUT")
    told = row(done, SLOW, "slow_turn")
    assert (told["threshold_before"], told["threshold_after"], told["rules"]) == (None, 3000, [])
    assert any("run_protocol_unknown" in note for note in done.notes)


def test_a_run_that_does_not_say_how_its_evidence_was_taken_is_refused(run, tmp_path):
    old = tmp_path / "OLD"
    shutil.copytree(run, old)
    manifest = json.loads((old / "manifest.json").read_bytes())
    del manifest["evidence"]
    (old / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(StoreError, match="run_without_evidence_use"):
        engine.rescore(old, protocol=DRAFT, out=tmp_path / "OUT")
    manifest["evidence"] = {"measurement": "x"}
    (old / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(SchemaError, match="evidence"):
        engine.rescore(old, protocol=DRAFT, out=tmp_path / "OUT")


def test_the_command_prints_scores_first_then_calls_and_json_alone(run, tmp_path, capsys):
    def printed(*more):
        with pytest.raises(SystemExit):
            cli.main(
                ["rescore", str(run), "--protocol", DRAFT, "--out", str(tmp_path / "OUT"), *more]
            )
        return capsys.readouterr()

    lines = printed().out.splitlines()
    assert lines[0].startswith("before  Inquesto v0.1/")
    assert lines[1].startswith("after   Inquesto v0.2 (not released)/")
    assert any(re.fullmatch(r"Calls: 4; broken 0 · fixed 0 · .*", line) for line in lines)
    assert any("verification_must_succeed: false → true" in line for line in lines)
    assert lines[-1].endswith(engine.DIFFERENCES_FILE)
    told = printed("--json")
    summary = json.loads(told.out)
    assert summary["calls"]["still_failing"] == 3
    assert summary["causes"] == {"unverified_action": {"appeared": 1}}
    assert "before  Inquesto" in told.err


@pytest.mark.parametrize(
    "call", ["0412", "o'clock", 'a"b', "back\\slash", "café", "tab\t", ""], ids=ascii
)
def test_the_key_of_call_names_is_made_of_the_inputs_as_a_list(call):
    rows = [
        {"call": name, "file": "call.json", "sha256": "a" * 64} for name in ("first", call, "last")
    ]
    wanted = hashlib.sha256(b"call names\0" + repr(rows).encode()).digest()
    assert call_name_key(pl.DataFrame(rows)) == wanted
    assert call_name_key(pl.DataFrame(rows[:1])) != wanted
    none = pl.DataFrame(schema=dict.fromkeys(rows[0], pl.String))
    assert call_name_key(none) == hashlib.sha256(b"call names\0[]").digest()


def test_a_record_that_was_edited_is_not_believed(run, tmp_path):
    copy = tmp_path / "RUN"
    shutil.copytree(run, copy)
    file = next(iter([*copy.glob("record.json"), *copy.glob("records/*.json")]))
    record = json.loads(file.read_bytes())
    file.write_text(json.dumps({**record, "n": record["n"] + 1}))
    with pytest.raises(StoreError, match=r"is not as the run wrote it.*run_damaged"):
        engine.load_run(copy)


def test_a_pipe_in_a_table_s_place_is_no_table_and_is_not_waited_for(run, tmp_path):
    copy = tmp_path / "RUN"
    shutil.copytree(run, copy)
    (copy / "events.parquet").unlink()
    os.mkfifo(copy / "events.parquet")
    with pytest.raises(StoreError, match=r"events\.parquet of RUN is no file"):
        engine.load_run(copy)


def test_a_table_with_other_values_than_were_written_is_refused_though_it_is_whole(run, tmp_path):
    copy = tmp_path / "RUN"
    shutil.copytree(run, copy)
    file = copy / "evidence" / "segments.parquet"
    pl.read_parquet(file).with_columns(pl.col("end_ms") + 4000).write_parquet(file)
    with pytest.raises(StoreError, match=r"segments\.parquet of RUN is not as the run wrote it"):
        engine.rescore(copy, protocol="inquesto-0.2-draft", out=tmp_path / "OUT")


def test_a_flipped_bit_anywhere_in_a_table_is_named_with_its_file(run, tmp_path):
    copy = tmp_path / "RUN"
    shutil.copytree(run, copy)
    file = copy / "evidence" / "segments.parquet"
    whole = file.read_bytes()
    for at in range(4, len(whole), len(whole) // 23):
        changed = bytearray(whole)
        changed[at] ^= 4
        file.write_bytes(changed)
        with pytest.raises(StoreError, match=r"segments\.parquet of RUN .*run_damaged"):
            engine.load_run(copy)


def test_a_run_without_its_record_is_damaged(run, tmp_path):
    copy = tmp_path / "RUN"
    shutil.copytree(run, copy)
    for file in (*copy.glob("record.json"), *copy.glob("records/*.json")):
        file.unlink()
    with pytest.raises(StoreError, match=r"RUN has no record.*run_damaged"):
        engine.load_run(copy)


@pytest.mark.parametrize("name", ["segments", "talk_overs"])
def test_a_table_that_the_manifest_no_longer_names_is_no_empty_one(run, tmp_path, name):
    copy = tmp_path / "RUN"
    shutil.copytree(run, copy)
    call_id = engine.load_run(copy).decisions["call_id"].drop_nulls()[0]
    before = engine.load_call(copy, call_id).tables[name].filter(call_id=call_id)
    file, lies = copy / "manifest.json", table_file(name)
    manifest = json.loads(file.read_bytes())
    manifest["outputs"] = [each for each in manifest["outputs"] if each["file"] != lies]
    file.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(StoreError, match=rf"manifest.json does not name {lies}.*run_damaged"):
        engine.load_call(copy, call_id)
    (copy / lies).unlink()
    after = engine.load_call(copy, call_id).tables[name].filter(call_id=call_id)
    assert after.equals(before) is (name == "talk_overs")  # what the reduction makes is made again


def test_a_run_whose_inputs_are_a_link_is_rescored_all_the_same(run, tmp_path):
    copy = tmp_path / "RUN"
    shutil.copytree(run, copy)
    (copy / "inputs.parquet").rename(copy / "elsewhere.parquet")
    (copy / "inputs.parquet").symlink_to("elsewhere.parquet")
    engine.rescore(copy, protocol="inquesto-0.2-draft", out=tmp_path / "OUT")
    assert (copy / "elsewhere.parquet").stat().st_nlink == 1
    assert (tmp_path / "OUT" / "inputs.parquet").read_bytes() == (
        run / "inputs.parquet"
    ).read_bytes()
