"""Edges and utterances on the built calls: measured sound against timing known by construction."""

from __future__ import annotations

import json

import numpy as np
import pytest
import soundfile
from test_timeline_measure import as_loop_tells, measured

from inquesto_core.bundle import BundleRef, read_bundle
from inquesto_core.instruments import SileroVad, measure_call
from inquesto_core.instruments.level import FLOOR_DB, level_db
from inquesto_core.instruments.vad import find_model
from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")
GOOD_LINES = {"clean", "tel", "telsteep", "low35", "dc", "clipped"}
TOLERANCE_MS = 50


@pytest.fixture(scope="module")
def vad():
    return SileroVad(PROTOCOL.instruments.vad)


def test_the_model_is_the_pinned_one():
    assert find_model(PROTOCOL.instruments.vad).name == "silero_vad_16k_sequence.onnx"


def test_the_length_of_blocks_changes_no_bit(vad, monkeypatch):
    noise = np.random.default_rng(7).normal(0, 0.05, 16_000 * 5 + 77).astype(np.float32)
    whole = vad.probabilities(noise)
    monkeypatch.setattr("inquesto_core.instruments.vad._BLOCK_FRAMES", 3)
    assert np.array_equal(vad.probabilities(noise), whole)
    assert len(whole) == -(-len(noise) // 512)


def test_digital_silence_is_at_the_floor_and_an_offset_is_no_sound():
    still = np.full(16_000, 0.2, np.float32)
    levels = level_db(still, window_ms=5, highpass_hz=60)
    assert len(levels) == 1000
    assert levels[500:].max() < -100
    assert level_db(np.zeros(160, np.float32), window_ms=5, highpass_hz=60).max() == FLOOR_DB


def bundle_of(folder, tmp_path, truth):
    made = tmp_path / truth["call_id"]
    made.mkdir()
    samples, rate = soundfile.read(folder / "call.flac", dtype="int16")
    soundfile.write(made / "audio.wav", samples, rate)
    audio = [{"file": "audio.wav", "channels": {"caller": 0, "agent": 1}}]
    call = {"schema_version": "1", "call_id": "x", "agent": {"name": "a"}, "audio": audio}
    (made / "call.json").write_text(json.dumps(call))
    return read_bundle(BundleRef(path=made, label="x"))


def has_margin(truth):
    expected = truth["expected"]
    waits = [reply.get("latency_ms", reply.get("waited_ms")) for reply in expected["replies"]]
    margins = [abs(over["margin_ms"]) for over in expected["talk_overs"]]
    margins += [abs(wait - 3000) for wait in waits if wait is not None]
    if expected["twice_median_latency_ms"] is not None:
        margins.append(abs(expected["twice_median_latency_ms"] - 3000) / 2)
    return not expected["fragile_limits"] and all(margin > TOLERANCE_MS for margin in margins)


def near(found, expected):
    return len(found) == len(expected) and all(
        abs(a - b) <= TOLERANCE_MS
        for one, other in zip(found, expected, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def test_nine_of_ten_good_lines_are_measured_as_they_were_built(shared, vad, tmp_path):
    equal, unequal, onsets = 0, [], []
    for path in sorted(shared.glob("audio/dev/*/truth.json")):
        truth = json.loads(path.read_bytes())
        if truth["condition"]["name"] not in GOOD_LINES:
            continue
        rows = measure_call(bundle_of(path.parent, tmp_path, truth), protocol=PROTOCOL, vad=vad)
        sides = {
            side: [
                (row["start_ms"], row["end_ms"])
                for row in rows["segments"]
                if row["channel"] == side and row["rejected"] is None
            ]
            for side in ("caller", "agent")
        }
        window = (0, rows["calls"][0]["duration_ms"])
        (mine,) = as_loop_tells(*measured([(sides["caller"], sides["agent"], window, ())]))
        expected = truth["expected"]
        is_equal = (
            near(mine["utterances"], expected["utterances_ms"])
            and near(mine["turns"], expected["agent_turns_ms"])
            and [status for status, _ in mine["replies"]]
            == [reply["status"] for reply in expected["replies"]]
            and mine["events"] == {event["type"] for event in expected["events"]}
        )
        if len(mine["utterances"]) == len(expected["utterances_ms"]):
            onsets += [
                found[0] - true[0]
                for found, true in zip(mine["utterances"], expected["utterances_ms"], strict=True)
            ]
        if has_margin(truth):
            equal += is_equal
            unequal += [] if is_equal else [truth["call_id"]]
    print(f"equal {equal}, not {unequal}; |onset| p95 {np.percentile(np.abs(onsets), 95)} ms")
    assert equal >= 0.9 * (equal + len(unequal)), unequal
    assert np.percentile(np.abs(onsets), 95) <= 20
