"""The worked examples of docs/importing.md, each read and run on the data it describes."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from exported import STARTED_MS, base_sound, run_import, write_json, write_lines
from platform_exports import CASES
from synth import write_sound

from inquesto_core.bundle import BundleRef, read_bundle
from inquesto_core.importers import import_options, platform_names


def examples(project):
    """Return the mappings of the page, and its rules."""
    page = (project / "docs" / "importing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(json|toml)\n(.*?)```", page, re.DOTALL)
    return [(kind, text) for kind, text in blocks]


@pytest.fixture
def example(project, tmp_path):
    def write(number):
        kind, text = examples(project)[number]
        path = tmp_path / f"example.{kind}"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def read(folder):
    return read_bundle(BundleRef(path=folder, label=folder.name))


def test_the_page_lists_every_platform_and_no_other(project):
    page = (project / "docs" / "importing.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"(?m)^\| `([a-z0-9-]+)` \|", page)) == platform_names()


def test_every_platform_is_tried_in_these_tests():
    assert sorted(CASES) == sorted(set(platform_names()) - {"inquesto-score"})  # has its own


def test_the_rules_of_the_page_are_rules(example):
    first, second = import_options(rules=example(0)).rules
    assert first.gives["scenario_id"] == "r-001"
    assert second.when == {"number": ("+15550100", "+15550101")}


def test_the_first_example_reads_a_json_file_a_call(example, tmp_path):
    call = {
        "id": "c-1",
        "audio": {"t0": STARTED_MS, "path": "rec/c-1.wav", "caller": "right"},
        "messages": [
            {"role": "system", "text": "prompt", "at": STARTED_MS},
            {"role": "user", "text": "Hello", "at": STARTED_MS + 1000},
        ],
        "tools": [
            {
                "id": "t",
                "name": "refund",
                "args": "{}",
                "result": 1,
                "ok": False,
                "at": STARTED_MS + 5,
            }
        ],
    }
    source = write_json(tmp_path / "in" / "c.json", call)
    write_sound(tmp_path / "in" / "c-1.wav", base_sound(), codec="PCM_16")
    done = run_import("generic", source, tmp_path / "out", mapping=example(1))
    assert done.problems == ()
    bundle = read(done.folders[0])
    assert (bundle.call.audio[0].caller, bundle.call.audio[0].agent) == (1, 0)
    assert [(turn.text, turn.start_ms) for turn in bundle.transcript.turns] == [("Hello", 1000)]
    assert [(tool.status, tool.start_ms) for tool in bundle.trace.calls] == [("error", 5)]


def test_the_second_example_reads_a_table_of_rows(example, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "rows.csv").write_text(
        "Call ID,Kind,Who,Text,Seconds,Tool,Arguments\n"
        'c-1,turn,customer,Hello,1,,\nc-1,tool,,,6.4,refund,"{""amount"": 50}"\n'
    )
    write_sound(folder / "c-1.wav", base_sound(), codec="PCM_16")
    done = run_import("generic", folder / "rows.csv", tmp_path / "out", mapping=example(2))
    assert done.problems == ()
    bundle = read(done.folders[0])
    assert [turn.start_ms for turn in bundle.transcript.turns] == [1000]
    assert [tool.start_ms for tool in bundle.trace.calls] == [6400]


def test_the_third_example_reads_a_table_beside_a_file_of_turns(example, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "calls.csv").write_text(
        "id,agent,end,intent,caller_file,agent_file,agent_delay_ms\n"
        "c-1,Billing,u,refund,a.wav,b.wav,250\n"
    )
    write_lines(
        folder / "turns.jsonl", [{"call": "c-1", "who": "agent", "text": "Hi", "span": [0.5, 1]}]
    )
    for channel, name in enumerate(("a", "b")):
        write_sound(folder / f"{name}.wav", base_sound()[:, channel], codec="PCM_16")
    rules = write_json(
        tmp_path / "rules.json", {"rules": [{"when": {"intent": "refund"}, "scenario_id": "s"}]}
    )
    done = run_import(
        "generic", folder / "calls.csv", tmp_path / "out", mapping=example(3), rules=rules
    )
    assert done.problems == ()
    bundle = read(done.folders[0])
    assert bundle.call.audio[1].start_ms == 250
    assert bundle.call.scenario_id == "s"
    assert bundle.call.ended.by == "caller"
    assert (bundle.transcript.turns[0].start_ms, bundle.transcript.turns[0].end_ms) == (500, 1000)


def test_the_examples_of_the_page_are_four(project):
    kinds = [kind for kind, _ in examples(project)]
    assert kinds == ["json", "json", "toml", "json"]
    for kind, text in examples(project):
        (json if kind == "json" else tomllib).loads(text)
