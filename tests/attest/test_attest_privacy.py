"""Marked words, planted in every free field of a bundle, reach nothing that is free of them."""

from __future__ import annotations

import json
import shutil

import pytest

from inquesto_core import engine
from inquesto_core.attest import read_envelope
from inquesto_core.engine.attest import SEAL_FILE

NUMBER = "+4915550001111"


def mark(field):
    """Return a text that is nowhere else, and says where it was planted."""
    return f"MARK{field}KRAM"


@pytest.fixture(scope="module")
def marked(project, tmp_path_factory):
    """Return a folder with one bundle that has a mark in each field that takes free text."""
    top = tmp_path_factory.mktemp("marked") / "calls"
    name = "hasty-023-escalate_refund-clean"
    source = project / "sample_records" / "hasty" / name
    folder = top / mark("folder")
    shutil.copytree(source, folder)
    (folder / "truth.json").unlink()
    shutil.copy(project / "sample_records" / "population.json", top)
    audio = f"{NUMBER}-{mark('audiofile')}.ogg"
    (folder / "audio.ogg").rename(folder / audio)
    call = json.loads((folder / "call.json").read_bytes())
    call["call_id"] = f"{NUMBER}-{mark('callid')}"
    call["audio"][0]["file"] = audio
    call["tags"] = {mark("tagname"): mark("tagvalue")}
    call["inferred"] = [{"field": "trial", "value": mark("inferred"), "how": mark("how")}]
    call["ended"]["reason"] = mark("endedreason")
    call["agent"]["config"] = {
        "voice": mark("voice"),
        "system_prompt": f"You are {mark('prompt')}. " * 20,
        mark("config name") + " with spaces": 1,
    }
    (folder / "call.json").write_text(json.dumps(call))
    tool = {
        "id": mark("toolid"),
        "name": "lookup_account",
        "arguments": {mark("argumentname"): mark("argument")},
        "raw_arguments": json.dumps({mark("argumentname"): mark("argument")}),
        "result": {"note": mark("result")},
        "status": "ok",
        "start_ms": 3000,
        "end_ms": 3100,
    }
    strange = {**tool, "id": mark("toolid2"), "name": mark("toolname"), "start_ms": 3200}
    (folder / "trace.json").write_text(json.dumps({"calls": [tool, {**strange, "end_ms": 3300}]}))
    transcript = json.loads((folder / "transcript.json").read_bytes())
    transcript["source"] = mark("source")
    for turn in transcript["turns"]:
        turn.pop("words", None)
        turn["text"] = f"{mark('said')} {turn['text']}"
        turn["heard_text"] = f"{mark('heard')} {turn['text']}"
    (folder / "transcript.json").write_text(json.dumps(transcript))
    state = {name: {"holder": mark(name)} for name in ("before", "after", "expected")}
    (folder / "state.json").write_text(json.dumps(state))
    verdicts = json.loads((folder / "verdicts.json").read_bytes())
    for answer in verdicts["answers"].values():
        answer["reason"] = mark("reason")
    (folder / "verdicts.json").write_text(json.dumps(verdicts))
    return top


@pytest.fixture(scope="module")
def run(marked, tmp_path_factory):
    folder = tmp_path_factory.mktemp("marked-run") / "run"
    engine.score([marked], out=folder)
    return folder


def found_in(data):
    text = data if isinstance(data, str) else data.decode("utf-8", errors="replace")
    return [word for word in ("MARK", "KRAM", NUMBER, NUMBER[1:]) if word in text]


def test_the_marks_are_in_the_evidence_so_that_their_absence_means_something(run):
    data = (run / "evidence" / "transcript.parquet").read_bytes()
    data += (run / "evidence" / "tool_calls.parquet").read_bytes()
    assert found_in(data)


def test_the_record_holds_no_mark(run):
    record = (run / "record.json").read_bytes()
    assert found_in(record) == []


def test_the_manifest_holds_no_mark(run):
    assert found_in((run / "manifest.json").read_bytes()) == []


def test_the_sealed_statement_holds_no_mark(run, tmp_path):
    pytest.importorskip("cryptography", reason="the extra `sign` is not installed")
    from inquesto_core.attest import make_keys

    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    key, _ = make_keys(tmp_path / "a.key")
    engine.seal(copy, key=key)
    data = (copy / SEAL_FILE).read_bytes()
    payload = read_envelope(data).payload
    assert b"recording-1" in payload
    assert found_in(data) == found_in(payload) == []


def test_redacted_bundles_hold_no_mark_in_name_or_content(marked, tmp_path):
    out = tmp_path / "shared"
    engine.redact([marked], out=out)
    files = [file for file in out.rglob("*") if file.is_file()]
    assert sorted(file.name for file in files) == [
        "call.json",
        "measured.json",
        "trace.json",
        "verdicts.json",
    ]
    for file in files:
        assert found_in(str(file.relative_to(out))) == []
        assert found_in(file.read_bytes()) == [], file.name


def test_a_run_of_redacted_bundles_holds_no_mark_anywhere(marked, tmp_path):
    out, again = tmp_path / "shared", tmp_path / "run"
    engine.redact([marked], out=out)
    engine.score([out], out=again, population=marked / "population.json")
    for file in again.rglob("*"):
        if file.is_file():
            assert found_in(file.read_bytes()) == [], file.name


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scenario_id", mark("scenario")),
        ("condition", mark("condition")),
        ("group", mark("group")),
        ("platform", mark("platform")),
        ("direction", mark("direction")),
        ("population", mark("population")),
        ("exclusion", {"reason": mark("exclusion"), "detail": mark("detail")}),
        ("started_at", "2026-10-05T09:13:57Z"),
        ("agent", {"name": mark("agent"), "fingerprint": mark("fingerprint")}),
    ],
    ids=lambda value: value if isinstance(value, str) and value.islower() else "value",
)
def test_a_redacted_call_has_no_word_that_its_population_does_not_have(
    marked, tmp_path, field, value
):
    folder = tmp_path / "calls" / "one"
    shutil.copytree(next(path for path in marked.iterdir() if path.is_dir()), folder)
    shutil.copy(marked / "population.json", tmp_path / "calls")
    call = json.loads((folder / "call.json").read_bytes())
    call[field] = value
    (folder / "call.json").write_text(json.dumps(call))
    engine.redact([tmp_path / "calls"], out=tmp_path / "shared")
    (file,) = (tmp_path / "shared").glob("*/call.json")
    assert found_in(file.read_bytes()) == []
    assert "2026" not in file.read_text()


@pytest.mark.parametrize("field", ["scenario_id", "condition", "group"])
def test_a_record_counts_a_place_that_its_population_does_not_have(marked, tmp_path, field):
    folder = tmp_path / "calls" / "one"
    shutil.copytree(next(path for path in marked.iterdir() if path.is_dir()), folder)
    shutil.copy(marked / "population.json", tmp_path / "calls")
    call = json.loads((folder / "call.json").read_bytes())
    call[field] = mark(field)
    (folder / "call.json").write_text(json.dumps(call))
    engine.score([tmp_path / "calls"], out=tmp_path / "run")
    record = (tmp_path / "run" / "record.json").read_bytes()
    assert found_in(record) == []
    design = json.loads(record)["design"]
    told = {"condition": design["conditions"], "group": design["groups"]}
    assert told.get(field, ["(1 not of the population)"]) == ["(1 not of the population)"]
