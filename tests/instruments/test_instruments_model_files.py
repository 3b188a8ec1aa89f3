"""A model file counts by its SHA-256, wherever it lies."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass

import pytest

from inquesto_core.errors import InstrumentError
from inquesto_core.instruments import model_files
from inquesto_core.instruments.model_files import (
    cache_folder,
    digest_of_file,
    find_model_file,
    named_model_file,
    require_model_file,
)

DATA = b"weights"


@dataclass(frozen=True)
class Pin:
    name: str = "a-judge"
    sha256: str = hashlib.sha256(DATA).hexdigest()
    size_bytes: int = len(DATA)


PIN = Pin()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Give the test a home of its own, without any model."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "INQUESTO_MODELS", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def put(path, data=DATA):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def places(home, tmp_path):
    return {
        "named folder": tmp_path / "models" / "deep" / "any-name.gguf",
        "cache": home / ".cache" / "inquesto-core" / "models" / "x.gguf",
        "ollama": home / ".ollama" / "models" / "blobs" / f"sha256-{PIN.sha256}",
    }


@pytest.mark.parametrize("place", ["named folder", "cache", "ollama"])
def test_the_pinned_file_is_found_where_it_lies(home, tmp_path, monkeypatch, place):
    monkeypatch.setenv("INQUESTO_MODELS", str(tmp_path / "models"))
    path = put(places(home, tmp_path)[place])
    assert require_model_file(PIN) == path
    assert find_model_file(PIN).state == "ok"


def test_the_first_place_that_has_it_wins(home, tmp_path, monkeypatch):
    monkeypatch.setenv("INQUESTO_MODELS", os.pathsep.join(["", str(tmp_path / "models")]))
    paths = [put(path) for path in places(home, tmp_path).values()]
    for path in paths:
        assert require_model_file(PIN) == path
        path.unlink()
    assert find_model_file(PIN).state == "missing"


def test_another_ollama_store_and_a_single_file_can_be_named(tmp_path, monkeypatch):
    path = put(tmp_path / "store" / "blobs" / f"sha256-{PIN.sha256}")
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "store"))
    assert require_model_file(PIN) == path
    monkeypatch.setenv("INQUESTO_MODELS", str(put(tmp_path / "one.gguf")))
    assert require_model_file(PIN) == tmp_path / "one.gguf"


def test_a_missing_model_says_what_is_missing_and_where_to_put_it():
    with pytest.raises(InstrumentError, match=r"a-judge is not on this machine.*model_missing"):
        require_model_file(PIN)
    with pytest.raises(InstrumentError, match=r"INQUESTO_MODELS.*~/\.cache/inquesto-core/models"):
        require_model_file(PIN)


def test_a_file_of_that_size_with_other_bytes_is_not_the_model(home):
    put(home / ".cache" / "inquesto-core" / "models" / "fake.gguf", b"w" * len(DATA))
    assert find_model_file(PIN).state == "wrong"
    with pytest.raises(InstrumentError, match=r"fake\.gguf has the SHA-256 .*model_not_pinned"):
        require_model_file(PIN)


def test_the_right_file_is_found_behind_a_wrong_one(home):
    folder = home / ".cache" / "inquesto-core" / "models"
    put(folder / "a.gguf", b"w" * len(DATA))
    right = put(folder / "b.gguf")
    assert require_model_file(PIN) == right


def test_a_digest_is_computed_once_until_the_file_changes(home, tmp_path, monkeypatch):
    read = []
    real = model_files._sha256
    monkeypatch.setattr(model_files, "_sha256", lambda path: read.append(path) or real(path))
    path = put(tmp_path / "m.gguf")
    assert digest_of_file(path) == digest_of_file(path) == PIN.sha256
    assert len(read) == 1
    os.utime(path, ns=(1, 1))
    digest_of_file(path)
    assert len(read) == 2
    put(path, b"other bytes")
    assert digest_of_file(path) == hashlib.sha256(b"other bytes").hexdigest()
    assert len(read) == 3


@pytest.mark.parametrize("kept", [b"{", b"[]", json.dumps({"x": 1}).encode()])
def test_a_damaged_digest_cache_costs_time_and_nothing_else(tmp_path, kept):
    put(cache_folder() / "digests.json", kept)
    assert digest_of_file(put(tmp_path / "m.gguf")) == PIN.sha256


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(home, tmp_path):
    put(home / ".cache")  # a file where a folder should be
    assert digest_of_file(put(tmp_path / "m.gguf")) == PIN.sha256


def test_a_named_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InstrumentError, match=r"no file 'm\.gguf'.*model_missing"):
        named_model_file(tmp_path / "m.gguf")
    own = put(tmp_path / "m.gguf", b"GGUF and more")
    assert named_model_file(own).sha256 == hashlib.sha256(b"GGUF and more").hexdigest()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.mkdir(), "there is a folder 'm.gguf'"),
        (os.mkfifo, "there is a pipe, socket or device, 'm.gguf'"),
        (
            lambda path: path.symlink_to("m.gguf"),
            "there is nothing that can be looked at, 'm.gguf'",
        ),
        (lambda path: path.symlink_to("gone"), "there is a link that leads nowhere, 'm.gguf'"),
        (lambda path: path.write_bytes(b""), "'m.gguf' is empty"),
        (lambda path: path.write_bytes(b"PK\x03\x04..."), r"'m.gguf' begins with 'PK\x03\x04'"),
        (lambda path: path.write_bytes(b"GGU"), "'m.gguf' begins with 'GGU'"),
    ],
)
def test_what_is_no_gguf_file_is_said_before_it_is_read(tmp_path, make, said):
    path = tmp_path / "m.gguf"
    make(path)
    with pytest.raises(InstrumentError, match="model_unreadable") as raised:
        named_model_file(path)
    assert raised.value.problem.found.startswith(said)


def test_a_time_of_modification_that_was_set_back_hides_no_change(tmp_path):
    path = put(tmp_path / "m.gguf")
    before = path.stat()
    assert digest_of_file(path) == PIN.sha256
    path.write_bytes(b"WEIGHTS")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert digest_of_file(path) == hashlib.sha256(b"WEIGHTS").hexdigest()
