"""Mappings: what they must say, and tables, lines and files beside each other that they read."""

from __future__ import annotations

import pytest
from exported import base_audio, read, refusal, run_import, write_json
from platform_exports import (
    GENERIC_MAPPING,
    generic_call,
)

from inquesto_core.errors import SchemaError
from inquesto_core.importers import import_options


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"units": "s"}, ""),
        ({"recording_started": {"from": "/started"}}, "/recording_started"),
        ({"recording_started": {"from": "/started", "unit": "s"}}, "/recording_started/unit"),
        ({"turns": {"speaker": "role", "text": "t", "start": "at"}}, "/turns/start"),
        ({"audio": []}, "/audio"),
        ({"turns": {"speaker": {"map": {"a": "agent"}}, "text": "t"}}, "/turns/speaker"),
    ],
    ids=["unknown_key", "no_unit", "no_instant", "time_without_unit", "no_audio", "from_nowhere"],
)
def test_a_mapping_that_leaves_something_to_be_guessed_is_refused(tmp_path, change, pointer):
    path = write_json(tmp_path / "mapping.json", {**GENERIC_MAPPING, **change})
    with pytest.raises(SchemaError, match=rf"mapping.json {pointer}.*\[schema\]"):
        import_options(mapping=path)


def test_a_mapping_may_be_toml(tmp_path):
    path = tmp_path / "mapping.toml"
    path.write_text('schema_version = "1"\n[call]\ncall_id = "id"\n')
    assert import_options(mapping=path).mapping == {
        "schema_version": "1",
        "call": {"call_id": "id"},
    }
    path.write_text("schema_version = 2026-01-01\n")
    with pytest.raises(SchemaError, match="mapping_invalid"):
        import_options(mapping=path)


def test_an_unmapped_speaker_is_refused_by_its_row(tmp_path):
    call = generic_call()
    call["turns"][2]["role"] = "operator"
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [call]})
    mapping = write_json(tmp_path / "mapping.json", GENERIC_MAPPING)
    base_audio(tmp_path / "in" / "g-1.wav")
    problem = refusal("generic", source, tmp_path / "out", mapping=mapping)
    assert (problem.code, problem.pointer) == ("export_field", "/calls/0/turns/2/role")
    assert "bot, system, user" in problem.expected


def test_an_instant_without_a_known_start_of_the_recording_is_refused(tmp_path):
    mapping = {name: part for name, part in GENERIC_MAPPING.items() if name != "recording_started"}
    path = write_json(tmp_path / "mapping.json", mapping)
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [generic_call()]})
    base_audio(tmp_path / "in" / "g-1.wav")
    problem = refusal("generic", source, tmp_path / "refused", mapping=path)
    assert (problem.code, problem.pointer) == ("export_time", "/calls/0/tools/0/from")
    said = {"mapping": path, "recording_started": "2026-03-01T22:22:07Z"}
    done = run_import("generic", source, tmp_path / "out", **said)
    assert read(done.folders[0]).trace.calls[0].start_ms == 6400


def test_a_table_of_rows_is_grouped_into_calls(tmp_path):
    folder = tmp_path / "in"
    for call_id in ("c-1", "c-2"):
        base_audio(folder / f"{call_id}.wav")
    (folder / "rows.csv").write_text(
        "Call ID,Kind,Who,Text,At (s),Tool,Args\n"
        "c-1,turn,customer,Hello,1.0,,\n"
        "c-2,turn,customer,Hi,1.0,,\n"
        'c-1,tool,,,6.4,issue_refund,"{""amount"": 50}"\n'
        "c-1,turn,bot,Done,9.2,,\n",
        encoding="utf-8-sig",
    )
    time = {"from": "At (s)", "unit": "s"}
    mapping = {
        "schema_version": "1",
        "group_by": "Call ID",
        "call": {"call_id": "Call ID", "agent": {"value": "x"}},
        "audio": [{"caller_channel": {"value": 0}, "agent_channel": {"value": 1}}],
        "turns": {
            "where": {"Kind": "turn"},
            "speaker": {"from": "Who", "map": {"customer": "caller", "bot": "agent"}},
            "text": "Text",
            "start": time,
        },
        "tools": {"where": {"Kind": "tool"}, "name": "Tool", "arguments": "Args", "start": time},
    }
    path = write_json(tmp_path / "mapping.json", mapping)
    done = run_import("generic", folder / "rows.csv", tmp_path / "out", mapping=path)
    assert {problem.code for problem in done.problems} <= {"recording_repeated"}
    first, second = map(read, done.folders)
    assert [turn.text for turn in first.transcript.turns] == ["Hello", "Done"]
    assert dict(first.trace.calls[0].arguments) == {"amount": 50}
    assert (first.trace.calls[0].start_ms, first.trace.calls[0].status) == (6400, "unknown")
    assert second.trace.calls == ()


def test_turns_may_lie_in_a_file_beside_the_calls(tmp_path):
    folder = tmp_path / "in"
    base_audio(folder / "c-1.wav")
    (folder / "calls.csv").write_text("id,agent\nc-1,x\n")
    (folder / "turns.jsonl").write_text(
        '{"call": "c-1", "who": "caller", "text": "Hello"}\n'
        '{"call": "c-9", "who": "caller", "text": "Elsewhere"}\n'
    )
    mapping = {
        "schema_version": "1",
        "call": {"call_id": "id", "agent": "agent"},
        "audio": [{"caller_channel": {"value": 1}, "agent_channel": {"value": 0}}],
        "turns": {"file": "turns.jsonl", "join": "call", "speaker": "who", "text": "text"},
    }
    path = write_json(tmp_path / "mapping.json", mapping)
    done = run_import("generic", folder / "calls.csv", tmp_path / "out", mapping=path)
    assert [turn.text for turn in read(done.folders[0]).transcript.turns] == ["Hello"]


def test_a_key_that_no_call_has_is_told_with_those_that_it_has(tmp_path):
    call = {**GENERIC_MAPPING["call"], "ended_at": {"from": "/endd", "unit": "epoch_s"}}
    path = write_json(tmp_path / "mapping.json", {**GENERIC_MAPPING, "call": call})
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [generic_call()]})
    base_audio(tmp_path / "in" / "g-1.wav")
    (problem,) = (
        problem
        for problem in run_import("generic", source, tmp_path / "out", mapping=path).problems
        if problem.code == "mapped_key_missing"
    )
    assert problem.found.startswith("has no endd; keys are ")
    assert problem.level == "warning"
