"""Field cases of the detector: what is speech, what is not, and from when to when."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
import soundfile
import soxr
from sounds import (
    BUSY_HZ,
    DIAL_HZ,
    RINGBACK_HZ,
    arpeggio,
    cadence,
    clicks,
    modem,
    noise,
    tone,
)
from spoken import PROTOCOL, lane, latencies, listen, make_bundle, spans, spoken, timeline, vad
from synth import BASE, RATE_HZ, Script, wav_bytes

REPLIES_MS = (800, 3200)
FRAME_MS = PROTOCOL.instruments.vad.frame_ms


def put(sound, at_ms, what, side=0):
    """Add a sound to one side from a time on, in place, and return the call."""
    start = at_ms * RATE_HZ // 1000
    sound[start : start + len(what), side] += what
    return sound


def heard(folder, sound, **call):
    """Return the rows that a call of these samples fills."""
    return listen(make_bundle(folder, sound, **call))


def edges_near(found, expected, tolerance_ms):
    return len(found) == len(expected) and all(
        abs(a - b) <= tolerance_ms
        for one, other in zip(found, expected, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def is_base(rows, *, shift_ms=0, tolerance_ms=30):
    """Return whether a call has BASE's turns and latencies and no talk-over."""
    told = timeline(rows)
    utterances = [(start + shift_ms, end + shift_ms) for start, end in BASE.caller]
    return (
        edges_near(told["utterances"], utterances, tolerance_ms)
        and latencies(rows) == pytest.approx(REPLIES_MS, abs=tolerance_ms)
        and told["events"] == {"slow_turn", "slow_median"}
    )


def g711(sound, law):
    """Return a call as 8 kHz G.711 data bytes, by libsndfile's own coder."""
    held = io.BytesIO()
    at_8k = soxr.resample(sound, RATE_HZ, 8000)
    soundfile.write(held, at_8k, 8000, format="RAW", subtype={"mulaw": "ULAW", "alaw": "ALAW"}[law])
    return bytearray(held.getvalue())


def test_f22_a_gap_of_zero_bytes_in_mu_law_is_a_full_scale_run_and_no_speech(tmp_path):
    data = g711(spoken(), "mulaw")
    for frame in range(7000 * 8, 7500 * 8):
        data[2 * frame] = 0x00
    (tmp_path / "call.wav").write_bytes(wav_bytes(bytes(data), tag=7, rate_hz=8000, bits=8))
    bundle = make_bundle(tmp_path)
    rows = listen(bundle)
    assert is_base(rows)
    assert "full_scale_run" in {row["code"] for row in rows["problems"]}


@pytest.mark.parametrize(("law", "tag"), [("mulaw", 7), ("alaw", 6)])
def test_f22_both_laws_give_the_times_of_base(tmp_path, law, tag):
    data = bytes(g711(spoken(), law))
    (tmp_path / "call.wav").write_bytes(wav_bytes(data, tag=tag, rate_hz=8000, bits=8))
    assert is_base(listen(make_bundle(tmp_path)))


def test_f28_speech_clipped_by_20_db_keeps_its_edges_within_two_frames(tmp_path):
    loud = np.clip(spoken() * 10, -1, 1)
    rows = heard(tmp_path, loud)
    assert is_base(rows, tolerance_ms=2 * FRAME_MS)
    assert rows["calls"][0]["timing_reasons"] == []
    assert all(row["clipped_fraction"] > 0.001 for row in rows["media"])


@pytest.mark.parametrize(
    "offset",
    [
        pytest.param(np.full(11 * RATE_HZ, 0.2), id="constant"),
        pytest.param(0.5 * np.exp(-np.arange(11 * RATE_HZ) / RATE_HZ / 0.1), id="decaying"),
    ],
)
def test_f29_an_offset_is_no_sound_and_moves_no_edge(tmp_path, offset):
    sound = spoken()
    sound[:, 0] = 0.5 * sound[:, 0] + offset
    assert is_base(heard(tmp_path, sound))


@pytest.mark.parametrize("at_ms", [6500, 6150, 6040], ids=["apart", "near", "at_once"])
def test_f30_plucked_strings_on_the_callers_line_are_nobody_speaking(tmp_path, at_ms):
    rows = heard(tmp_path, put(spoken(), at_ms, arpeggio(2500)))
    tolerance_ms = 30 if at_ms == 6500 else 160
    assert latencies(rows) == pytest.approx(REPLIES_MS, abs=tolerance_ms)
    assert len(timeline(rows)["utterances"]) == 2


def test_f30_speech_within_music_is_found_and_the_music_is_not(tmp_path):
    script = Script(caller=((3500, 4600),), agent=((6000, 7000),), duration_ms=8000)
    sound = spoken(script)
    put(sound, 200, arpeggio(700))
    put(sound, 1100, arpeggio(2300, seed=2))
    ((start, end),) = timeline(heard(tmp_path, sound))["utterances"]
    shared_ms = min(end, 4600) - max(start, 3500)
    assert shared_ms / (max(end, 4600) - min(start, 3500)) >= 0.7


def test_f31_ringback_at_the_head_is_no_turn(tmp_path):
    ring = np.zeros((6 * RATE_HZ, 2), np.float32)
    ring[:, 0] = cadence(RINGBACK_HZ, 2000, 4000, 1)
    rows = heard(tmp_path, np.concatenate([ring, spoken()]))
    assert is_base(rows, shift_ms=6000)


@pytest.mark.parametrize(
    ("what", "at_ms"),
    [
        pytest.param(tone((697.0, 1209.0), 100), 7000, id="digit"),
        pytest.param(tone((697.0, 1209.0), 100), 6150, id="digit_after_a_word"),
        pytest.param(tone((941.0, 1477.0), 100), 4850, id="digit_before_a_word"),
        pytest.param(tone(DIAL_HZ, 2000), 6200, id="dial"),
        pytest.param(cadence(BUSY_HZ, 500, 500, 3), 6200, id="busy"),
        pytest.param(tone(1000.0, 400), 6150, id="beep_after_a_word"),
        pytest.param(tone(1400.0, 200), 4700, id="beep_before_a_word"),
        pytest.param(tone(2100.0, 2500), 6200, id="fax"),
        pytest.param(modem(2000), 6500, id="modem"),
    ],
)
def test_f31_call_tones_leave_the_latencies_as_they_are(tmp_path, what, at_ms):
    assert is_base(heard(tmp_path, put(spoken(), at_ms, what)))


@pytest.mark.parametrize("file", ["dtmf_1.wav", "dtmf_5.wav", "tone_beep.flac"])
def test_f31_recorded_digits_and_beeps_after_a_word_are_nobody_speaking(shared, tmp_path, file):
    sound, rate_hz = soundfile.read(shared / "audio/real" / file, dtype="float32")
    what = soxr.resample(sound, rate_hz, RATE_HZ)
    assert is_base(heard(tmp_path, put(spoken(), 6200, what)))


@pytest.mark.parametrize("quieter_db", [20, 30, 40])
def test_f32_quiet_speech_has_the_edges_of_loud_speech(tmp_path, quieter_db):
    sound = spoken()
    sound[:, 0] *= 10 ** (-quieter_db / 20)
    rows = heard(tmp_path, put(sound, 0, noise(BASE.duration_ms, -95)))
    assert is_base(rows)
    assert rows["calls"][0]["timing_reasons"] == []


@pytest.mark.parametrize(
    "noise_dbfs", [pytest.param(-75, id="under_noise"), pytest.param(-95, id="in_quiet")]
)
def test_f32_speech_too_quiet_to_measure_is_refused(tmp_path, noise_dbfs):
    sound = spoken()
    sound[:, 0] *= 10 ** (-60 / 20)
    rows = heard(tmp_path, put(sound, 0, noise(BASE.duration_ms, noise_dbfs)))
    assert "low_level" in rows["calls"][0]["timing_reasons"]


@pytest.mark.parametrize("dbfs", [-60, -75, -90])
def test_f32_a_caller_who_is_silent_is_not_called_quiet(tmp_path, dbfs):
    sound = spoken()
    sound[:, 0] = noise(BASE.duration_ms, dbfs)
    rows = heard(tmp_path, sound)
    assert "low_level" not in rows["calls"][0]["timing_reasons"]
    assert spans(rows)["caller"] == []


def test_f33_onset_is_the_first_sample_and_blocks_change_nothing(tmp_path, monkeypatch):
    script = Script(caller=((1000, 3000),), agent=(), duration_ms=4000)
    whole = spans(heard(tmp_path / "whole", spoken(script)))["caller"]
    monkeypatch.setattr("inquesto_core.instruments.vad._BLOCK_FRAMES", 1)
    monkeypatch.setattr("inquesto_core.instruments.vad_forward._STRETCH", 1)
    assert spans(heard(tmp_path / "frame_by_frame", spoken(script)))["caller"] == whole
    assert whole[0][0] == pytest.approx(1000, abs=FRAME_MS)
    assert whole[-1][1] == pytest.approx(3000, abs=FRAME_MS)


def test_f34_a_call_cut_within_a_word_is_measured_to_its_end(tmp_path):
    rows = heard(tmp_path, spoken()[: 9207 * RATE_HZ // 1000])
    assert rows["calls"][0]["duration_ms"] == 9207
    assert edges_near(spans(rows)["agent"][:1], BASE.agent[:1], 30)


@pytest.mark.parametrize("left_ms", [7, 1, 0])
def test_f34_a_word_that_ends_at_the_end_of_the_file_is_kept(tmp_path, left_ms):
    script = Script(caller=((500, 900),), agent=((1200, 2000),), duration_ms=2000 + left_ms)
    assert spans(heard(tmp_path, spoken(script)))["agent"][-1][1] == pytest.approx(2000, abs=8)


def test_f34_a_failing_detector_fails_the_call(tmp_path, monkeypatch):
    def broken(self, channels, *, decided_at):
        raise RuntimeError("frame of 100 ms")

    monkeypatch.setattr(type(vad()), "probabilities_of", broken)
    with pytest.raises(RuntimeError, match="frame of 100 ms"):
        heard(tmp_path, spoken())


@pytest.mark.parametrize("at_ms", [3400, 6500, 8000])
def test_f36_a_noise_of_150_ms_is_no_event(tmp_path, at_ms):
    assert is_base(heard(tmp_path, put(spoken(), at_ms, noise(150, -15))))


def test_f36_a_short_sound_under_an_agents_turn_starts_no_turn(tmp_path):
    sound = spoken()
    sound[:, 0] += lane("caller", ((3400, 3550),), BASE.duration_ms)
    assert timeline(heard(tmp_path, sound))["events"] == {"slow_turn", "slow_median"}


@pytest.mark.parametrize(
    ("length_ms", "is_turn"), [(300, True), (240, True), (150, False)], ids=["300", "240", "150"]
)
def test_f37_a_very_short_answer_starts_the_clock_from_200_ms_on(tmp_path, length_ms, is_turn):
    short = Script(
        caller=(BASE.caller[0], (5000, 5000 + length_ms)),
        agent=BASE.agent,
        duration_ms=BASE.duration_ms,
    )
    rows = heard(tmp_path, spoken(short))
    expected = [800, 9200 - 5000 - length_ms] if is_turn else [800]
    assert latencies(rows) == pytest.approx(expected, abs=30)


@pytest.mark.parametrize(
    "what",
    [
        pytest.param(np.zeros(8 * RATE_HZ, np.float32), id="digital_silence"),
        pytest.param(noise(8000, -45), id="white"),
        pytest.param(noise(8000, -45, pink=True), id="pink"),
        pytest.param(noise(8000, -70), id="comfort"),
        *(pytest.param(clicks(8000, ms), id=f"clicks_{ms}") for ms in (5, 20, 50, 150)),
        pytest.param(tone(1000.0, 8000), id="one_tone"),
        pytest.param(cadence(RINGBACK_HZ, 2000, 4000, 1), id="ringback"),
        pytest.param(cadence(BUSY_HZ, 500, 500, 8), id="busy"),
        pytest.param(modem(8000), id="modem"),
        pytest.param(arpeggio(8000), id="strings"),
    ],
)
def test_nobody_speaks_in_line_noise_tones_and_music(tmp_path, what):
    sound = np.zeros((8 * RATE_HZ, 2), np.float32)
    sound[: len(what), 0] = what[: len(sound)]
    sound[:, 1] = lane("agent", ((1000, 2000), (5000, 6000)), 8000)
    assert spans(heard(tmp_path, sound))["caller"] == []


def test_hold_music_is_nobody_speaking(shared, tmp_path):
    accepted_ms = 0
    for path in sorted((shared / "audio/dev").glob("*hold*/truth.json")):
        truth = json.loads(path.read_bytes())
        sound, _ = soundfile.read(path.parent / "call.flac", dtype="float32")
        rows = heard(tmp_path / truth["call_id"], sound)
        for music in truth["background"]:
            low, high = (round(1000 * music[f"{edge}_s"]) for edge in ("start", "end"))
            accepted_ms += sum(
                max(min(end, high) - max(start, low), 0)
                for start, end in spans(rows)[music["channel"]]
            )
    assert accepted_ms == 0
    music, rate_hz = soundfile.read(
        shared / "audio/real/moh_manolo_camp-morning_coffee.flac", dtype="float32"
    )
    alone = np.zeros((40 * RATE_HZ, 2), np.float32)
    alone[:, 0] = soxr.resample(music, rate_hz, RATE_HZ)[: len(alone)]
    alone[:, 1] = lane("agent", ((1000, 2000),), 40_000)
    assert spans(heard(tmp_path / "alone", alone))["caller"] == []
