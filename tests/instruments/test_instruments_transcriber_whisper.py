"""The real model: one window, one result, whatever else is heard and by how many at once."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

pytest.importorskip("faster_whisper", reason="faster-whisper is not installed: extra `asr`")

from inquesto_core.errors import InstrumentError
from inquesto_core.evidence.spoken_words import spoken_words
from inquesto_core.instruments.model_files import find_model_file
from inquesto_core.instruments.transcriber_files import whisper_files
from inquesto_core.instruments.transcriber_settings import transcriber_settings
from inquesto_core.instruments.transcriber_whisper import WhisperTranscriber
from inquesto_core.protocol import load_protocol

PIN = load_protocol("inquesto-0.1").instruments.asr
SETTINGS = transcriber_settings(PIN)


@pytest.fixture(scope="module")
def folder():
    found = find_model_file(PIN)
    if found.state != "ok":
        pytest.skip("faster-whisper-base is not here: name its folder in INQUESTO_MODELS")
    return found.path.parent


@pytest.fixture(scope="module")
def windows(project):
    """Return three stretches of a sample call's sides."""
    sound, _ = soundfile.read(
        project / "sample_records" / "hasty" / "hasty-001-dup_charge-clean" / "audio.ogg",
        dtype="float32",
    )
    caller, agent = np.ascontiguousarray(sound.T)
    return [caller[: 16 * 8000], agent[16 * 6000 : 16 * 10_000], caller[16 * 10_000 :]]


@pytest.fixture(scope="module")
def alone(folder, windows):
    model = WhisperTranscriber(folder, settings=SETTINGS)
    return [model.hear(window) for window in windows]


def test_the_pinned_files_are_the_pinned_ones(folder):
    assert whisper_files(folder).are_pinned(PIN, SETTINGS)


def test_the_words_are_those_that_were_said(alone):
    said = spoken_words(" ".join(word.word for word in alone[0]))
    assert {"charged", "twice", "account", "4", "7", "1"} <= set(said)
    assert all(0 <= word.start_ms <= word.end_ms <= 8000 for word in alone[0])
    assert all(0 <= word.probability <= 1 for word in alone[0])


@pytest.mark.parametrize(("order", "at_once"), [((2, 0, 1), 1), ((0, 1, 2), 2), ((1, 1, 0), 2)])
def test_a_window_has_the_same_words_in_any_order_and_number(
    folder, windows, alone, order, at_once
):
    model = WhisperTranscriber(folder, settings=SETTINGS, at_once=at_once)
    heard = model.hear_all([windows[at] for at in order])
    assert heard == tuple(alone[at] for at in order)


def test_a_folder_that_cannot_be_loaded_is_refused(tmp_path):
    for name in ("model.bin", "config.json", "tokenizer.json", "vocabulary.txt"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(InstrumentError, match="cannot be loaded by faster-whisper"):
        WhisperTranscriber(tmp_path, settings=SETTINGS)
