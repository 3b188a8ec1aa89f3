"""`models`: what is here, what is not, and how it is fetched."""

from __future__ import annotations

import hashlib

import pytest

from inquesto_core import cli
from inquesto_core.cli import models
from inquesto_core.instruments.model_files import models_folder
from inquesto_core.instruments.model_parts import ModelPart, PinnedModel, pinned_model
from inquesto_core.protocol import load_protocol

MAIN, SMALL = b"weights" * 1000, b"{}"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "INQUESTO_MODELS", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)


def part(name, data):
    sha256 = hashlib.sha256(data).hexdigest()
    return ModelPart(name=name, sha256=sha256, size_bytes=len(data), sources=())


@pytest.fixture
def stick(tmp_path, monkeypatch):
    """Return a disk with the files of two small models that stand for the pinned ones."""
    beside = (part("config.json", SMALL),)
    small = {
        "judge": PinnedModel(name="j", main=part("j.gguf", MAIN), beside=(), terms="the terms"),
        "asr": PinnedModel(name="a", main=part("a.bin", MAIN[1:]), beside=beside, terms=None),
    }
    monkeypatch.setattr(models, "_models", lambda _: small)
    folder = tmp_path / "stick"
    folder.mkdir()
    for name, data in (("x", MAIN), ("y", MAIN[1:]), ("config.json", SMALL)):
        (folder / name).write_bytes(data)
    return folder


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as exit_:
        cli.main(["models", *map(str, arguments)])
    printed = capsys.readouterr()
    return exit_.value.code, printed.out, printed.err


def test_pull_brings_every_model_and_the_others_find_them(capsys, stick):
    vad, *others = run(capsys, "list")[1].splitlines()
    assert vad.split()[0] == "vad" and vad.split()[3] == "ok" and vad.endswith(".onnx")
    assert [line.split()[2] for line in others] == ["missing", "missing"]
    code, said, shown = run(capsys, "pull", "--from", stick)
    assert code == 0
    assert (
        "judge  j  fetched  ~/.cache/inquesto-core/models/j/j.gguf  (its terms: the terms)" in said
    )
    assert f"j.gguf: {len(MAIN)} of {len(MAIN)} bytes" in shown
    assert run(capsys, "pull")[1].count("  ok  ") == 2
    code, said, _ = run(capsys, "verify")
    assert (code, said.count("  ok  ")) == (0, 3)


def test_a_model_without_its_small_files_is_incomplete_until_they_are_fetched(capsys, stick):
    run(capsys, "pull", "--from", stick)
    (models_folder() / "a" / "config.json").unlink()
    assert "asr  a  incomplete" in run(capsys, "list")[1]
    code, said, _ = run(capsys, "verify")
    assert code == 4
    assert "a.bin does not have beside it config.json" in said
    assert run(capsys, "pull", "--role", "asr", "--from", stick)[0] == 0
    assert run(capsys, "verify")[0] == 0


def test_what_cannot_be_had_is_exit_4_and_the_rest_is_fetched(capsys, stick):
    (stick / "x").unlink()
    code, said, complaint = run(capsys, "pull", "--from", stick)
    assert code == 4
    assert "asr  a  fetched" in said
    assert "j.gguf could not be had" in complaint


def test_one_file_is_not_given_for_every_model(capsys, stick):
    code, _, complaint = run(capsys, "pull", "--from", stick / "x")
    assert code == 2
    assert "--role judge or --role asr" in complaint
    assert run(capsys, "pull", "--role", "judge", "--from", stick / "x")[0] == 0


def test_every_pinned_model_has_a_known_source_over_https():
    pins = load_protocol("inquesto-0.1").instruments
    for pin in (pins.judge, pins.asr):
        model = pinned_model(pin)
        for one in (model.main, *model.beside):
            assert one.sources
            assert all(source.startswith("https://") for source in one.sources)


def test_a_folder_without_the_file_is_named_with_what_was_looked_for(capsys, tmp_path, stick):
    (tmp_path / "empty").mkdir()
    code, _, complaint = run(capsys, "pull", "--role", "judge", "--from", tmp_path / "empty")
    assert code == 4
    assert f"empty holds no file of {len(MAIN)} bytes" in complaint
