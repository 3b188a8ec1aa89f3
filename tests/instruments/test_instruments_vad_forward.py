"""The quick forward pass beside the pinned model on its runtime."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import soundfile

from inquesto_core.errors import InstrumentError
from inquesto_core.instruments import SileroVad
from inquesto_core.instruments.vad import find_model
from inquesto_core.instruments.vad_weights import read_weights
from inquesto_core.protocol import load_protocol

PIN = load_protocol("inquesto-0.1").instruments.vad
DECIDED_AT = (0.5, 0.35, 0.2)
ROUNDING = 1e-4


@pytest.fixture(scope="module")
def vad():
    return SileroVad(PIN)


@pytest.fixture(scope="module")
def voices():
    """Sound that the VAD is of two minds about: bursts of a buzz with formants, and noise."""
    rng = np.random.default_rng(3)
    time_s = np.arange(16_000 * 12 + 301) / 16_000
    pitch = 120 + 20 * np.sin(2 * np.pi * 0.7 * time_s)
    buzz = sum(
        np.sin(k * 2 * np.pi * np.cumsum(pitch) / 16_000) * np.exp(-(((k * 120 - 700) / 900) ** 2))
        for k in range(1, 25)
    )
    bursts = np.clip(np.sin(2 * np.pi * 1.7 * time_s), 0, 1)
    return [
        (0.05 * buzz * bursts + rng.normal(0, 0.002, len(time_s))).astype(np.float32),
        rng.normal(0, 0.05, len(time_s)).astype(np.float32),
    ]


def decided(probability):
    return [probability >= np.float32(limit) for limit in DECIDED_AT]


def test_probabilities_are_the_pinned_models_within_rounding(vad, voices):
    quick = vad.probabilities_of(voices, decided_at=())
    exact = [vad.probabilities(samples) for samples in voices]
    assert max(exact[0]) > 0.5 > min(exact[0])
    for one, other in zip(quick, exact, strict=True):
        assert one.dtype == np.float32
        assert np.abs(one - other).max() < ROUNDING / 2


def test_what_one_channel_gives_does_not_depend_on_the_other(vad, voices):
    both = vad.probabilities_of(voices, decided_at=())
    for samples, beside in zip(voices, both, strict=True):
        assert np.array_equal(vad.probabilities_of([samples], decided_at=())[0], beside)


@pytest.mark.parametrize("samples", [0, 1, 511, 512, 513, 512 * 256, 512 * 257 + 5])
def test_every_length_has_a_frame_for_its_last_sample(vad, samples):
    sound = np.random.default_rng(1).normal(0, 0.02, samples).astype(np.float32)
    (quick,) = vad.probabilities_of([sound], decided_at=())
    assert len(quick) == -(-samples // 512)
    assert np.allclose(quick, vad.probabilities(sound), rtol=0, atol=ROUNDING / 2)


def test_a_long_call_is_heard_in_stretches_that_carry_the_state_on(vad, voices, monkeypatch):
    whole = vad.probabilities_of(voices, decided_at=())
    monkeypatch.setattr("inquesto_core.instruments.vad_forward._STRETCH", 256)
    for one, other in zip(vad.probabilities_of(voices, decided_at=()), whole, strict=True):
        assert np.array_equal(one, other)


def test_a_channel_near_a_limit_is_heard_by_the_pinned_model_itself(vad, voices):
    exact = vad.probabilities(voices[0])
    on_the_edge = float(exact[len(exact) // 2])
    near, far = (
        vad.probabilities_of(voices, decided_at=(limit,))[0]
        for limit in (on_the_edge + ROUNDING / 2, 2.0)
    )
    assert np.array_equal(near, exact)
    assert not np.array_equal(far, exact)


def test_no_frame_of_the_built_calls_is_decided_otherwise(shared, vad):
    worst = 0.0
    for path in itertools.islice(sorted(shared.glob("audio/dev/*/call.flac")), 0, None, 12):
        both, _ = soundfile.read(path, dtype="float32", always_2d=True)
        channels = [np.ascontiguousarray(both[:, side]) for side in (0, 1)]
        exact = [vad.probabilities(samples) for samples in channels]
        for one, other in zip(
            vad.probabilities_of(channels, decided_at=DECIDED_AT), exact, strict=True
        ):
            assert all(map(np.array_equal, decided(one), decided(other)))
            worst = max(worst, float(np.abs(one - other).max()))
    assert worst < ROUNDING


def test_the_weights_are_those_of_the_pinned_file():
    weights = read_weights(find_model(PIN))
    assert weights["stft.forward_basis_buffer"].shape == (258, 1, 256)
    assert weights["onnx::LSTM_210"].shape == (1, 512, 128)
    assert all(np.isfinite(values).all() for values in weights.values())


@pytest.mark.parametrize("content", [b"\x3a\xff", b"\x3a\x05\x2a\x03\x4a\x01x", b"\x80"])
def test_a_file_that_is_no_model_is_refused(tmp_path, content):
    (tmp_path / "model.onnx").write_bytes(content)
    with pytest.raises(InstrumentError, match="is no ONNX model"):
        read_weights(tmp_path / "model.onnx")
