"""Calls of synthesised voices at exact times, cut from the sample calls' own clean channels."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import soundfile
from synth import BASE, RATE_HZ, write_sound
from test_timeline_measure import as_loop_tells, measured

from inquesto_core.bundle import BundleRef, read_bundle
from inquesto_core.instruments import SileroVad, measure_call
from inquesto_core.instruments.audio import decode_call
from inquesto_core.instruments.extract import media_limits
from inquesto_core.instruments.recording_checks import check_recording
from inquesto_core.instruments.recording_faults import stated_faults
from inquesto_core.protocol import load_protocol

SAMPLES = Path(__file__).resolve().parents[2] / "sample_records"
PROTOCOL = load_protocol("inquesto-0.1")
SIDES = ("caller", "agent")
_HOP = RATE_HZ // 100


def _clean_calls():
    for path in sorted(SAMPLES.glob("**/truth.json")):
        truth = json.loads(path.read_bytes())
        (audio,) = path.parent.glob("audio.*")
        if truth["condition"] == "clean":
            yield truth, audio


@functools.cache
def voice(side):
    """Return half a minute of one side's speech without pauses, RMS 0.1."""
    parts, wanted = [], 30 * RATE_HZ
    for truth, audio in _clean_calls():
        sound, rate_hz = soundfile.read(audio, dtype="float32")
        assert rate_hz == RATE_HZ
        lane = sound[:, SIDES.index(side)]
        for start, end in truth["segments_ms"][side]:
            if end - start >= 600:
                parts.append(lane[start * 16 + 800 : end * 16 - 800])
        if sum(map(len, parts)) >= wanted:
            break
    speech = np.concatenate(parts)[:wanted]
    return speech * np.float32(0.1 / np.sqrt(np.mean(speech**2)))


def say(side, n_samples, seed):
    """Return `n_samples` of a side's voice that begin and end in loud sound."""
    speech = voice(side)
    level = np.sqrt(np.mean(speech[: len(speech) // _HOP * _HOP].reshape(-1, _HOP) ** 2, axis=1))
    loud = np.flatnonzero(level > 0.1)
    last = (n_samples - 1) // _HOP
    fits = [k for k in loud if k + last < len(level) and level[k + last] > 0.1]
    start = fits[seed * 7919 % len(fits)] * _HOP
    return speech[start : start + n_samples]


def lane(side, intervals, duration_ms):
    """Return one channel at 16 kHz: speech in the intervals (ms), digital silence elsewhere."""
    sound = np.zeros(duration_ms * 16, dtype=np.float32)
    for number, (start, end) in enumerate(intervals):
        sound[start * 16 : end * 16] = say(side, (end - start) * 16, number)
    return sound


def spoken(script=BASE):
    """Return a call as an array of shape (frames, 2): caller left, agent right."""
    lanes = [lane(side, getattr(script, side), script.duration_ms) for side in SIDES]
    return np.stack(lanes, axis=1)


def turns_of(script=BASE):
    """Return the script as transcript turns with true times, in order."""
    turns = [
        {"speaker": side, "text": f"words number {k}", "start_ms": start, "end_ms": end}
        for side in SIDES
        for k, (start, end) in enumerate(getattr(script, side))
    ]
    return sorted(turns, key=lambda turn: turn["start_ms"])


def make_bundle(folder, sound=None, *, rate_hz=RATE_HZ, turns=None, name="call.wav", **call):
    """Write a bundle and read it; `sound` None = the files are there, `call` has their entries."""
    folder.mkdir(parents=True, exist_ok=True)
    if sound is not None:
        write_sound(folder / name, sound, rate_hz, codec=call.pop("codec", "PCM_16"))
    about = {
        "schema_version": "1",
        "call_id": "0412",
        "agent": {"name": "Billing agent"},
        "audio": [{"file": name, "channels": {"caller": 0, "agent": 1}}],
        **call,
    }
    (folder / "call.json").write_text(json.dumps(about))
    if turns is not None:
        (folder / "transcript.json").write_text(json.dumps({"turns": turns}))
    return read_bundle(BundleRef(path=folder, label="0412"))


@functools.cache
def vad():
    return SileroVad(PROTOCOL.instruments.vad)


def listen(bundle):
    """Return the rows of every table that a bundle fills."""
    return measure_call(bundle, protocol=PROTOCOL, vad=vad())


def spans(rows):
    """Return each side's accepted stretches of speech, ms."""
    return {
        side: [
            (row["start_ms"], row["end_ms"])
            for row in rows["segments"]
            if row["channel"] == side and row["rejected"] is None
        ]
        for side in SIDES
    }


def timeline(rows):
    """Return what the protocol's rules make of the speech: turns, replies, events."""
    sides = spans(rows)
    window = (rows["calls"][0]["window_from_ms"], rows["calls"][0]["window_to_ms"])
    (told,) = as_loop_tells(*measured([(sides["caller"], sides["agent"], window, ())]))
    return told


def latencies(rows):
    """Return the latency of every reply, ms."""
    return [ms for status, ms in timeline(rows)["replies"] if status == "replied"]


def faults(bundle, rows):
    """Return the recording's faults, the measured speech beside the transcript."""
    recording = decode_call(bundle, limits=media_limits(PROTOCOL))
    speech = {
        side: np.array(found, dtype=np.int64).reshape(-1, 2) for side, found in spans(rows).items()
    }
    return check_recording(bundle, recording, speech, protocol=PROTOCOL)


def stated(bundle):
    """Return the faults that need nobody to listen."""
    return stated_faults(bundle, decode_call(bundle, limits=media_limits(PROTOCOL)), PROTOCOL)
