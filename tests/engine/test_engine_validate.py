from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from reference_calls import call_file, write_run
from synth import write_sound

from inquesto_core import engine, shipped
from inquesto_core.cli import cli
from inquesto_core.errors import BundleError


def mono_bundle(folder, **call):
    """Write a bundle whose one file has one channel for both sides."""
    folder.mkdir(parents=True)
    write_sound(folder / "audio.wav", np.zeros((16_000, 1), dtype=np.float32), codec="PCM_16")
    document = {
        "schema_version": "1",
        "call_id": folder.name,
        "agent": {"name": "A"},
        "audio": [{"file": "audio.wav", "channels": {"caller": 0, "agent": 0}}],
        "inferred": [{"field": "/group", "value": "near", "how": "the tag"}],
        **call,
    }
    (folder / "call.json").write_text(json.dumps(document))
    return folder


EXCLUDED = {"exclusion": {"reason": "mono_recording", "detail": "one channel"}}


@pytest.mark.parametrize(
    ("call", "level"),
    [
        (EXCLUDED, "warning"),
        ({}, "error"),
        ({"exclusion": {"reason": "caller_deviation", "detail": ""}}, "error"),
    ],
    ids=["taken out for it", "not taken out", "taken out for something else"],
)
def test_a_mono_recording_is_no_error_where_the_call_is_taken_out_for_it(tmp_path, call, level):
    told = engine.validate([mono_bundle(tmp_path / "calls" / "m", **call)])
    assert [(p.code, p.level) for p in told.problems] == [("mono_input", level)]
    result = engine.score([tmp_path / "calls"], out=tmp_path / "run")
    assert result.has_bad_input is (level == "error")


def test_what_was_inferred_is_told_once_a_kind(tmp_path):
    for name in ("a", "b"):
        mono_bundle(tmp_path / "calls" / name, **EXCLUDED)
    told = engine.validate([tmp_path / "calls"])
    assert told.bundles == 2
    assert [kind.line() for kind in told.inferred] == [
        'inferred in 2 calls: /group = "near": the tag'
    ]
    result = CliRunner().invoke(cli, ["validate", str(tmp_path / "calls")])
    assert result.exit_code == 0
    assert 'inferred in 2 calls: /group = "near": the tag' in result.output
    assert result.output.endswith("2 bundles: 0 errors, 2 warnings\n")
    result = CliRunner().invoke(cli, ["validate", str(tmp_path / "calls"), "--json"])
    (kind,) = json.loads(result.stdout)["inferred"]
    assert (kind["field"], kind["value"], kind["calls"]) == ("/group", "near", 2)


@pytest.mark.parametrize("above", [False, True], ids=["a run", "a folder of runs"])
def test_a_run_of_the_reference_is_no_bundle_and_the_ways_to_score_it_are_named(tmp_path, above):
    folder = write_run(tmp_path / "runs" / "run", call_file())
    with pytest.raises(BundleError, match=r"run of inquesto-score.*--compat reference") as caught:
        engine.score([tmp_path / "runs" if above else folder], out=tmp_path / "out")
    assert caught.value.problem.code == "no_bundles"
    assert "import inquesto-score" in caught.value.problem.remedy


def test_any_other_folder_without_a_bundle_gets_no_such_hint(tmp_path):
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "a.json").write_text("{}")
    with pytest.raises(BundleError, match=r"holds no bundle; expected") as caught:
        engine.score([tmp_path], out=tmp_path / "out")
    assert not caught.value.problem.remedy


@pytest.mark.parametrize(
    ("change", "code"),
    [({"name": 3}, "schema"), ({"tool_success": {"nobody": True}}, "predicate_invalid")],
)
def test_a_population_beside_the_calls_that_cannot_be_asked_is_told(tmp_path, change, code):
    mono_bundle(tmp_path / "calls" / "a", **EXCLUDED)
    people = json.loads((shipped.schemas_folder() / "examples" / "population.json").read_bytes())
    file = tmp_path / "calls" / "population.json"
    file.write_text(json.dumps(people))
    assert [p.code for p in engine.validate([tmp_path / "calls"]).problems] == ["mono_input"]
    file.write_text(json.dumps({**people, **change}))
    first = engine.validate([tmp_path / "calls"]).problems[0]
    assert (first.code, first.file) == (code, "population.json")
