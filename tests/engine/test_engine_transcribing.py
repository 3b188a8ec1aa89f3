"""Who hears a run's calls, and whose words are read."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from inquesto_core.engine import score, transcribing
from inquesto_core.engine.transcribing import (
    choose_transcriber,
    needs_transcriber,
    with_heard_text,
)
from inquesto_core.errors import InstrumentError
from inquesto_core.events.transcript import verbosity
from inquesto_core.evidence import make_table
from inquesto_core.instruments.model_files import find_model_file
from inquesto_core.instruments.model_parts import pinned_model
from inquesto_core.instruments.transcriber_settings import transcriber_settings
from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("auto", False), ("none", False), ("pinned", True), ("folder:x", True)],
)
def test_only_a_named_model_is_looked_for(spec, expected):
    assert needs_transcriber(spec) is expected


@pytest.mark.parametrize("spec", ["", "folder:", "base", "PINNED"])
def test_a_word_that_names_no_transcriber_is_refused(spec):
    with pytest.raises(InstrumentError, match="is no transcriber") as caught:
        needs_transcriber(spec)
    assert caught.value.problem.code == "transcriber_unknown"


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setattr(transcribing.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(InstrumentError, match="needs faster-whisper") as caught:
        choose_transcriber("pinned", PROTOCOL)
    assert caught.value.problem.code == "extra_missing"
    assert "asr" in caught.value.problem.remedy


@pytest.mark.parametrize(
    "lacking", ["model.bin", "config.json", "tokenizer.json", "vocabulary.txt"]
)
def test_a_folder_that_is_no_model_says_what_it_lacks(lacking, tmp_path, monkeypatch):
    monkeypatch.setattr(transcribing.importlib.util, "find_spec", lambda _name: object())
    for name in {"model.bin", "config.json", "tokenizer.json", "vocabulary.txt"} - {lacking}:
        (tmp_path / name).write_text("x", encoding="utf-8")
    with pytest.raises(InstrumentError, match=f"holds no {lacking}") as caught:
        choose_transcriber(f"folder:{tmp_path}", PROTOCOL)
    assert caught.value.problem.code == "model_missing"


def test_a_missing_pinned_model_stops_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(transcribing.importlib.util, "find_spec", lambda _name: object())
    monkeypatch.setenv("INQUESTO_MODELS", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InstrumentError, match="not on this machine"):
        score([tmp_path], out=tmp_path / "RUN", transcriber="pinned")
    assert not (tmp_path / "RUN").exists()


def heard_tables():
    calls = [
        {"call_id": "bare", "has_transcript": False},
        {"call_id": "full", "has_transcript": True},
        {"call_id": "silent", "has_transcript": False},
        {"call_id": "unheard", "has_transcript": False},
    ]
    turn = {"call_id": "full", "position": 0, "speaker": "agent", "source": "platform"}
    tables = {
        "calls": make_table("calls", calls),
        "transcript": make_table("transcript", [{**turn, "text": "Hello", "n_words": 1}]),
        "words": make_table("words", []),
    }
    heard = [
        {"call_id": call_id, "position": 0, "speaker": "agent", "text": "yellow sub", "n_words": 2}
        for call_id in ("bare", "full")
    ]
    words = [
        {"call_id": "bare", "speaker": "agent", "position": at, "turn": turn, "word": word}
        for at, (turn, word) in enumerate([(0, "yellow"), (None, "you"), (0, "sub")])
    ]
    asr = {
        "asr_turns": make_table("asr_turns", heard),
        "asr_words": make_table("asr_words", words),
    }
    return with_heard_text(tables, asr, pl.Series(["bare", "full", "silent"]), "base")


def test_heard_text_is_read_only_where_a_call_brings_no_transcript():
    rows = heard_tables()["transcript"].select("call_id", "text", "source", "origin").rows()
    assert rows == [("bare", "yellow sub", "asr", "base"), ("full", "Hello", "platform", None)]


def test_words_that_were_left_out_are_not_read():
    words = heard_tables()["words"].select("position", "word", "source").rows()
    assert words == [(0, "yellow", "asr"), (1, "sub", "asr")]


def test_a_call_that_was_heard_has_a_transcript_were_it_of_nothing():
    calls = heard_tables()["calls"]
    assert dict(calls.select("call_id", "has_transcript").rows()) == {
        "bare": True,
        "full": True,
        "silent": True,
        "unheard": False,
    }


def test_verbose_counts_the_words_of_the_transcript_that_is_read():
    tables = heard_tables()
    counted = verbosity(tables["calls"], tables["transcript"])
    assert counted.rows() == [
        ("bare", 2, 1),
        ("full", 1, 1),
        ("silent", 0, 0),
        ("unheard", None, None),
    ]


@pytest.fixture(scope="module")
def models():
    """Return the pinned model's folder, or skip: real words need the real model."""
    pytest.importorskip("faster_whisper", reason="faster-whisper is not installed: extra `asr`")
    found = find_model_file(PROTOCOL.instruments.asr)
    if found.state != "ok":
        pytest.skip("faster-whisper-base is not here: name its folder in INQUESTO_MODELS")
    return found.path.parent


@pytest.fixture
def two_calls(twelve_calls, tmp_path):
    """Return a folder of two calls, the second without its transcript."""
    folder = tmp_path / "calls"
    for name in ("hasty-001-dup_charge-clean", "hasty-006-cancel_sub-clean"):
        shutil.copytree(twelve_calls / name, folder / name)
    shutil.copy(twelve_calls / "population.json", folder)
    (folder / "hasty-006-cancel_sub-clean" / "transcript.json").unlink()
    return folder


def test_the_pinned_model_reads_what_is_missing_and_compares_what_is_there(
    models, two_calls, tmp_path
):
    first = score([two_calls], out=tmp_path / "one", transcriber="pinned", workers=2)
    (record,) = first.records.values()
    assert "[asr" not in record["citation"]
    assert "asr:faster-whisper-base@d01c3014881c" in record["signature"]["text"]
    assert (record["provenance"]["asr"]["calls"], record["provenance"]["asr"]["read"]) == (2, 1)
    sources = first.tables["transcript"].group_by("call_id").agg(pl.col("source").unique())
    assert dict(sources.rows()) == {
        "hasty-001-dup_charge-clean": ["platform"],
        "hasty-006-cancel_sub-clean": ["asr"],
    }
    text = " ".join(first.tables["transcript"].filter(pl.col("source") == "asr")["text"])
    assert "cancel" in text.lower() and "4471" in text
    errors = record["diagnostics"]["transcripts"]
    assert errors["calls"] == 1 and errors["normaliser"] == "inquesto-words-1"
    assert errors["caller"]["deletions"] + errors["caller"]["substitutions"] <= 3
    again = score([two_calls], out=tmp_path / "two", transcriber="pinned", workers=1)
    one, two = (json.dumps(list(run.records.values())) for run in (first, again))
    assert one == two


def test_another_folder_is_named_in_the_line(models, two_calls, tmp_path):
    changed = tmp_path / "mine"
    changed.mkdir()
    for file in models.iterdir():
        if file.name == "config.json":
            (changed / file.name).write_bytes(file.read_bytes() + b"\n")
        elif file.is_file():
            os.link(file, changed / file.name) if _same_disk(file, changed) else shutil.copy(
                file, changed
            )
    run = score([two_calls], out=tmp_path / "RUN", transcriber=f"folder:{changed}")
    (record,) = run.records.values()
    assert "[asr: mine]" in record["citation"]
    assert "asr:folder/mine@d01c3014881c" in record["signature"]["text"]


def _same_disk(file: Path, folder: Path) -> bool:
    return file.stat().st_dev == folder.stat().st_dev


def test_what_is_pulled_is_what_the_protocol_pins():
    settings = transcriber_settings(PROTOCOL.instruments.asr)
    beside = {part.name: part.sha256 for part in pinned_model(PROTOCOL.instruments.asr).beside}
    assert beside == {
        "config.json": settings.config_sha256,
        "tokenizer.json": settings.tokenizer_sha256,
        "vocabulary.txt": settings.vocabulary_sha256,
    }
