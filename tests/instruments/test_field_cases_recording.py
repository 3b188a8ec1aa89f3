"""Field cases F04-F14, F17, F19-F29 and F34: faults of recorders, each stated value.

BASE is the synthetic call of the field cases with real synthesised voices: latencies of 800 and
3200 ms, one slow turn, a slow median, no talk-over. What F22, F26 and F27 say of single samples and
header fields stands in test_instruments_audio.
"""

from __future__ import annotations

import numpy as np
import pytest
import soundfile
from spoken import (
    PROTOCOL,
    SIDES,
    faults,
    lane,
    latencies,
    listen,
    make_bundle,
    say,
    spans,
    spoken,
    stated,
    timeline,
    turns_of,
)
from synth import BASE, RATE_HZ, Script, pcm16, wav_bytes, write_sound

from inquesto_core.instruments.audio import decode_call
from inquesto_core.instruments.decode_file import decode_file
from inquesto_core.instruments.extract import media_limits
from inquesto_core.instruments.level import level_db

FRAME_MS = PROTOCOL.instruments.vad.frame_ms
LIMITS = PROTOCOL.recording_faults
BASE_EVENTS = {"slow_turn", "slow_median"}
SEPARATE = [
    {"file": "caller.wav", "channels": {"caller": 0}},
    {"file": "agent.wav", "channels": {"agent": 0}},
]
#: A minute: eight exchanges, every turn 2.0 s, every reply 1.0 s after it.
MINUTE = Script(
    caller=tuple((k * 7500 + 500, k * 7500 + 2500) for k in range(8)),
    agent=tuple((k * 7500 + 3500, k * 7500 + 5500) for k in range(8)),
    duration_ms=60_000,
)


def near(ms, slack=FRAME_MS):
    return pytest.approx(ms, abs=slack)


def by_code(found, level="timing"):
    return {fault.code: fault for fault in found if fault.level == level}


def reasons(rows):
    return rows["calls"][0]["timing_reasons"]


def at_rate(sound, rate_hz):
    """Return a 16 kHz call at another native rate."""
    native = []
    for channel in sound.T:
        n = round(len(channel) * rate_hz / RATE_HZ)
        spectrum = np.fft.rfft(channel)
        native.append(np.fft.irfft(spectrum[: n // 2 + 1], n) * (n / len(channel)))
    return np.stack(native, axis=1).astype(np.float32)


def assert_is_base(rows, slack=FRAME_MS):
    assert reasons(rows) == []
    assert latencies(rows) == near([800, 3200], slack)
    assert timeline(rows)["events"] == BASE_EVENTS


def moved(channel, at_ms, by_ms):
    """Return a channel of which everything from `at_ms` on is moved by `by_ms`."""
    out = np.zeros_like(channel)
    at, by = at_ms * 16, by_ms * 16
    out[:at] = channel[:at]
    tail = channel[at:]
    start = at + by
    out[start : start + len(tail)] = tail[: len(out) - start]
    return out


def test_base_with_real_voices_is_what_its_script_says(tmp_path):
    bundle = make_bundle(tmp_path, spoken(), turns=turns_of())
    rows = listen(bundle)
    assert_is_base(rows)
    assert timeline(rows)["overs"] == []
    assert faults(bundle, rows) == ()


MONO = {
    "exact": lambda mono, noise: mono,
    "gain 0.8": lambda mono, noise: 0.8 * mono,
    "one bit of dither": lambda mono, noise: mono + noise / 32768,
    "one sample late": lambda mono, noise: np.roll(mono, 1),
    "polarity": lambda mono, noise: -mono,
}


@pytest.mark.parametrize("copy", MONO.values(), ids=MONO.keys())
def test_f04_a_mono_call_on_both_channels_has_no_timing(tmp_path, copy):
    mono = spoken().sum(axis=1)
    noise = np.random.default_rng(4).integers(-1, 2, mono.size)
    bundle = make_bundle(tmp_path, np.stack([mono, copy(mono, noise)], axis=1))
    assert reasons(listen(bundle)) == ["channels_identical"]
    (fault,) = stated(bundle)
    assert (fault.code, fault.level, fault.limit) == ("channels_identical", "timing", -30)
    assert fault.value < -30


@pytest.mark.parametrize(("ignored", "second"), [([], 700), ([[6500, 8500]], 3200)])
def test_f05_a_third_voice_counts_unless_it_is_to_be_ignored(tmp_path, ignored, second):
    sound = spoken()
    sound[6500 * 16 : 8500 * 16, 0] = say("agent", 2000 * 16, 5)
    rows = listen(make_bundle(tmp_path, sound, ignore_ms={"caller": ignored, "agent": []}))
    assert latencies(rows)[-1] == near(second)
    assert ("slow_turn" in timeline(rows)["events"]) == (second > 3000)
    assert [r["rejected"] for r in rows["segments"]].count("ignored") == (1 if ignored else 0)


def test_f06_one_channel_is_a_mono_recording_and_a_second_human_leaves_the_caller_alone(tmp_path):
    rows = listen(make_bundle(tmp_path / "mono", spoken().sum(axis=1)))
    assert rows["calls"][0]["exclusion_reason"] == "mono_recording"
    assert "mono_input" in {row["code"] for row in rows["problems"]}
    sound = spoken()
    sound[6500 * 16 : 7500 * 16, 1] = say("caller", 1000 * 16, 9)
    rows = listen(make_bundle(tmp_path / "mixed", sound))
    assert reasons(rows) == []
    assert latencies(rows) == near([800, 500])
    assert timeline(rows)["overs"] == []


def noise_at(dbfs, size):
    return np.random.default_rng(7).normal(0, 10 ** (dbfs / 20), size).astype(np.float32)


@pytest.mark.parametrize("floor", [None, -75], ids=["zeros", "-75 dBFS noise"])
@pytest.mark.parametrize("told", [True, False], ids=["transcript has agent turns", "it has none"])
def test_f07_a_silent_agent_is_the_recorders_fault_only_where_it_is_told_to_have_spoken(
    tmp_path, floor, told
):
    sound = spoken()
    sound[:, 1] = 0.0 if floor is None else noise_at(floor, len(sound))
    turns = [turn for turn in turns_of() if told or turn["speaker"] == "caller"]
    bundle = make_bundle(tmp_path, sound, turns=turns)
    assert reasons(listen(bundle)) == (["channel_silent"] if told else [])
    (fault,) = stated(bundle)
    assert (fault.code, fault.side, fault.level) == ("agent_silent", "agent", "warning")
    assert fault.limit == -70


def test_f07_a_silent_caller_is_scored_with_a_warning(tmp_path):
    sound = spoken()
    sound[:, 0] = noise_at(-75, len(sound))
    bundle = make_bundle(tmp_path, sound)
    assert reasons(listen(bundle)) == []
    assert [(fault.code, fault.level) for fault in stated(bundle)] == [("caller_silent", "warning")]
    assert stated(bundle)[0].value == pytest.approx(-75, abs=1.5)


def test_f08_a_track_that_steps_back_at_a_chunk_boundary_is_a_clock_conflict(tmp_path):
    sound = spoken(MINUTE)
    sound[:, 1] = moved(sound[:, 1], 30_000, -1500)
    bundle = make_bundle(tmp_path, sound, turns=turns_of(MINUTE))
    rows = listen(bundle)
    assert [round(ms, -2) for ms in latencies(rows)[:4]] == [1000] * 4
    assert timeline(rows)["overs"], "unflagged it has false talk-overs"
    fault = by_code(faults(bundle, rows))["clock_conflict"]
    assert (fault.side, fault.quantity, fault.limit) == ("agent", "step_ms", 300)
    assert fault.value == near(-1500)


@pytest.mark.parametrize(("step_ms", "conflict"), [(-250, False), (-350, True)])
def test_f08_a_step_counts_from_300_ms(tmp_path, step_ms, conflict):
    sound = spoken(MINUTE)
    sound[:, 1] = moved(sound[:, 1], 30_000, step_ms)
    bundle = make_bundle(tmp_path, sound, turns=turns_of(MINUTE))
    assert ("clock_conflict" in by_code(faults(bundle, listen(bundle)))) == conflict


@pytest.mark.parametrize(("offset", "expected"), [(0, [300, 2700]), (-500, [800, 3200])])
def test_f09_a_late_caller_track_is_put_right_by_its_offset(tmp_path, offset, expected):
    sound = spoken()
    sound[:, 0] = np.roll(sound[:, 0], 500 * 16)
    rows = listen(make_bundle(tmp_path, sound, channel_offset_ms={"caller": offset, "agent": 0}))
    assert reasons(rows) == []
    assert latencies(rows) == near(expected)


def test_f09_timed_turns_show_the_offset_that_the_sound_alone_does_not(tmp_path):
    sound = spoken()
    sound[:, 0] = np.roll(sound[:, 0], 500 * 16)
    bundle = make_bundle(tmp_path, sound, turns=turns_of())
    fault = by_code(faults(bundle, listen(bundle)))["clock_conflict"]
    assert abs(fault.value) == near(500)
    assert "the caller's track is late by" in fault.problem.remedy
    assert '"channel_offset_ms": {"caller": -' in fault.problem.remedy


def separate(folder, caller_ms, **call):
    for side in SIDES:
        sound = lane(side, getattr(BASE, side), BASE.duration_ms)
        folder.mkdir(exist_ok=True)
        write_sound(
            folder / f"{side}.wav", sound[: (caller_ms if side == "caller" else 11_000) * 16]
        )
    return make_bundle(folder, audio=SEPARATE, **call)


def test_f10_the_shorter_track_is_padded_at_its_end_and_no_more_is_said(tmp_path):
    bundle = separate(tmp_path, 6200, turns=turns_of())
    rows = listen(bundle)
    assert_is_base(rows)
    assert rows["calls"][0]["duration_ms"] == 11_000
    assert faults(bundle, rows) == ()


@pytest.mark.parametrize(("timed", "level"), [(False, "timing"), (True, "warning")])
def test_f10_a_stated_duration_accuses_and_turns_in_their_places_acquit(tmp_path, timed, level):
    bundle = separate(
        tmp_path,
        6200,
        turns=turns_of() if timed else None,
        started_at="2026-01-31T09:30:00.000Z",
        ended_at="2026-01-31T09:30:11.000Z",
    )
    (fault,) = faults(bundle, listen(bundle))
    assert (fault.code, fault.side, fault.level) == ("duration_mismatch", "caller", level)
    assert (fault.value, fault.limit) == (-4800, 500)


def test_f11_a_track_that_begins_late_is_placed_by_its_start(tmp_path):
    write_sound(tmp_path / "agent.wav", lane("agent", [(500, 2000)], 6000))
    write_sound(tmp_path / "caller.wav", lane("caller", [(300, 1300)], 3500))
    caller, agent = SEPARATE
    rows = listen(make_bundle(tmp_path, audio=[{**caller, "start_ms": 2500}, agent]))
    assert spans(rows)["caller"] == [near((2800, 3800))]
    assert spans(rows)["agent"] == [near((500, 2000))]


def stretched(script, scale):
    """Return a script of which the agent's times run `scale` times as long."""
    agent = tuple((round(a * scale), round(a * scale) + b - a) for a, b in script.agent)
    return Script(caller=script.caller, agent=agent, duration_ms=round(script.duration_ms * scale))


def test_f12_a_track_that_grows_by_49_ms_a_second_is_a_clock_conflict(tmp_path):
    late = stretched(MINUTE, 1.049)
    bundle = make_bundle(tmp_path, spoken(late), turns=turns_of(MINUTE))
    rows = listen(bundle)
    last = spans(rows)["agent"][-1][0] - MINUTE.agent[-1][0]
    assert last == near(0.049 * MINUTE.agent[-1][0])
    fault = by_code(faults(bundle, rows))["clock_conflict"]
    assert (fault.side, fault.quantity) == ("agent", "scale")
    assert fault.value == pytest.approx(1.049, abs=0.001)
    assert fault.limit == 1.005
    assert 60_000 * (fault.value - 1) == pytest.approx(2940, abs=60)


def test_f12_silence_put_in_each_second_is_a_clock_conflict(tmp_path):
    sound = spoken(MINUTE)
    seconds = sound[:, 1].reshape(-1, RATE_HZ)
    agent = np.pad(seconds, ((0, 0), (0, 49 * 16))).ravel()
    caller = np.pad(sound[:, 0], (0, len(agent) - len(sound)))
    bundle = make_bundle(tmp_path, np.stack([caller, agent], axis=1), turns=turns_of(MINUTE))
    fault = by_code(faults(bundle, listen(bundle)))["clock_conflict"]
    assert fault.side == "agent"
    assert fault.quantity == "scale"
    assert fault.value == pytest.approx(1.049, abs=0.003)


@pytest.mark.parametrize(("scale", "conflict"), [(1.004, False), (1.007, True)])
def test_f12_a_drift_counts_from_half_a_percent(tmp_path, scale, conflict):
    bundle = make_bundle(tmp_path, spoken(stretched(MINUTE, scale)), turns=turns_of(MINUTE))
    assert ("clock_conflict" in by_code(faults(bundle, listen(bundle)))) == conflict


def test_f13_two_recordings_of_a_call_are_two_inputs_with_two_results(tmp_path):
    cut = np.delete(spoken(), slice(7000 * 16, 7400 * 16), axis=0)
    one = listen(make_bundle(tmp_path / "one", spoken()))
    again = listen(make_bundle(tmp_path / "again", spoken()))
    other = listen(make_bundle(tmp_path / "other", cut))
    assert one == again
    assert one["media"][0]["sha256"] != other["media"][0]["sha256"]
    assert latencies(other) == near([800, 2800])
    assert timeline(other)["events"] == {"slow_median"}


def test_f14_a_reply_placed_from_its_end_is_a_clock_conflict(tmp_path):
    moved_call = Script(
        caller=BASE.caller, agent=((2800, 4000), (8600, 9400)), duration_ms=BASE.duration_ms
    )
    bundle = make_bundle(tmp_path, spoken(moved_call), turns=turns_of())
    fault = by_code(faults(bundle, listen(bundle)))["clock_conflict"]
    assert (fault.side, fault.quantity) == ("agent", "step_ms")
    assert fault.value == near(-600)


HALF_MINUTE = Script(
    caller=((1000, 2500), (6000, 7500), (16_000, 17_500), (23_000, 24_500)),
    agent=((3500, 5000), (8500, 10_000), (18_500, 20_000), (25_500, 27_000)),
    duration_ms=30_000,
)


def without_five_seconds(folder, **call):
    """Write both tracks, 5 s of the caller's silence from 10.5 s on left out."""
    folder.mkdir(exist_ok=True)
    caller, agent = spoken(HALF_MINUTE).T
    write_sound(folder / "caller.wav", np.delete(caller, slice(10_500 * 16, 15_500 * 16)))
    write_sound(folder / "agent.wav", agent)
    return make_bundle(folder, **{"audio": SEPARATE, **call})


def test_f17_timed_turns_show_the_five_seconds_that_a_track_lacks(tmp_path):
    bundle = without_five_seconds(tmp_path, turns=turns_of(HALF_MINUTE))
    rows = listen(bundle)
    durations = {row["channel"]: row["duration_ms"] for row in rows["media"]}
    assert durations == {"caller": 25_000, "agent": 30_000}
    found = by_code(faults(bundle, rows))
    mismatch = found["duration_mismatch"]
    assert (mismatch.side, mismatch.limit) == ("caller", 500)
    assert mismatch.value == near(-5000)
    assert found["clock_conflict"].side == "caller"


STATED = {
    "of the file": {"audio": [{**SEPARATE[0], "duration_ms": 30_000}, SEPARATE[1]]},
    "of the call": {"started_at": "2026-01-31T09:30:00Z", "ended_at": "2026-01-31T09:30:30Z"},
}


@pytest.mark.parametrize("call", STATED.values(), ids=STATED.keys())
def test_f17_a_stated_duration_shows_them_too(tmp_path, call):
    (fault,) = stated(without_five_seconds(tmp_path, **call))
    assert (fault.code, fault.side, fault.level) == ("duration_mismatch", "caller", "timing")
    assert fault.value == -5000


def test_f17_different_lengths_alone_are_only_padded(tmp_path):
    assert stated(without_five_seconds(tmp_path)) == ()


@pytest.mark.parametrize(
    ("off_ms", "wrong"), [(500, False), (501, True), (-500, False), (-501, True)]
)
def test_a_file_may_differ_by_500_ms_from_its_stated_duration(tmp_path, off_ms, wrong):
    audio = [
        {"file": "call.wav", "channels": {"caller": 0, "agent": 1}, "duration_ms": 11_000 - off_ms}
    ]
    found = stated(make_bundle(tmp_path, spoken(), audio=audio))
    assert [fault.value for fault in found] == ([off_ms] * 2 if wrong else [])


def test_a_recording_shorter_than_its_call_is_only_said(tmp_path):
    times = {"started_at": "2026-01-31T09:30:00.000Z", "ended_at": "2026-01-31T09:30:14.000Z"}
    bundle = make_bundle(tmp_path, spoken(), **times)
    assert {(f.code, f.level, f.value) for f in stated(bundle)} == {
        ("duration_mismatch", "warning", -3000)
    }


WRONG_RATES = {
    "16 kHz in a 10667 Hz header": (16_000, 10_667, 1.5),
    "24 kHz labelled 16 kHz": (24_000, 16_000, 1.5),
    "8 kHz labelled 16 kHz": (8000, 16_000, 0.5),
}


@pytest.mark.parametrize(
    ("true_hz", "header_hz", "scale"), WRONG_RATES.values(), ids=WRONG_RATES.keys()
)
def test_f19_a_header_with_a_wrong_rate_shows_in_the_transcripts_times(
    tmp_path, true_hz, header_hz, scale
):
    sound = at_rate(spoken(), true_hz)
    bundle = make_bundle(tmp_path, sound, rate_hz=header_hz, turns=turns_of())
    fault = by_code(faults(bundle, listen(bundle)))["clock_conflict"]
    assert fault.quantity == "scale"
    assert fault.value == pytest.approx(scale, rel=0.001)
    assert f"recorded at {true_hz} Hz, but the header says {header_hz} Hz" in fault.problem.remedy


def test_f19_a_recording_longer_than_its_call_has_no_timing(tmp_path):
    times = {"started_at": "2026-01-31T09:30:00.000Z", "ended_at": "2026-01-31T09:30:11.000Z"}
    bundle = make_bundle(tmp_path, spoken(), rate_hz=10_667, **times)
    found = stated(bundle)
    assert {(f.code, f.level) for f in found} == {("duration_mismatch", "timing")}
    assert found[0].value == pytest.approx(16_500 - 11_000, abs=1)
    assert "recorded at 16000 Hz" in found[0].problem.remedy


@pytest.mark.parametrize(
    ("window", "found"),
    [
        (None, {("duration_mismatch", "timing", 2000)}),
        ([0, 9501], {("duration_mismatch", "timing", 2000)}),
        ([0, 9500], set()),
        ([0, 9000], set()),
    ],
    ids=["open", "closes behind the call", "within the slack", "closes with the call"],
)
def test_a_recording_that_runs_on_behind_a_window_that_closes_with_the_call_is_whole(
    tmp_path, window, found
):
    times = {"started_at": "2026-01-31T09:30:00.000Z", "ended_at": "2026-01-31T09:30:09.000Z"}
    bundle = make_bundle(tmp_path, spoken(), scored_window_ms=window, **times)
    assert {(f.code, f.level, f.value) for f in stated(bundle)} == found


def test_f19_no_window_explains_a_length_that_a_wrong_rate_does(tmp_path):
    times = {"started_at": "2026-01-31T09:30:00.000Z", "ended_at": "2026-01-31T09:30:11.000Z"}
    bundle = make_bundle(tmp_path, spoken(), rate_hz=10_667, scored_window_ms=[0, 11_000], **times)
    assert {(f.code, f.level) for f in stated(bundle)} == {("duration_mismatch", "timing")}


@pytest.mark.parametrize(("rate_hz", "conflict"), [(16_000, False), (24_000, True), (None, False)])
def test_f19_a_stated_rate_is_held_against_the_header(tmp_path, rate_hz, conflict):
    audio = [{"file": "call.wav", "channels": {"caller": 0, "agent": 1}, "sample_rate_hz": rate_hz}]
    found = by_code(stated(make_bundle(tmp_path, spoken(), audio=audio)))
    assert ("sample_rate_conflict" in found) == conflict
    if conflict:
        assert (found["sample_rate_conflict"].value, found["sample_rate_conflict"].limit) == (
            16_000,
            24_000,
        )


@pytest.mark.parametrize("rate_hz", [8000, 16_000, 24_000, 44_100, 48_000])
def test_f19_speech_is_the_same_at_every_native_rate(tmp_path, rate_hz):
    rows = listen(make_bundle(tmp_path, at_rate(spoken(), rate_hz), rate_hz=rate_hz))
    for side in SIDES:
        assert np.ravel(spans(rows)[side]).tolist() == near(np.ravel(getattr(BASE, side)).tolist())
    assert_is_base(rows)


def test_f20_a_placeholder_size_is_clamped_to_the_bytes_there_are(tmp_path):
    data = wav_bytes(pcm16(spoken()), sizes=(0xFFFFFFFF, 0xFFFFFFFF))
    (tmp_path / "call.wav").write_bytes(data)
    rows = listen(make_bundle(tmp_path))
    assert {row["frames"] for row in rows["media"]} == {176_000}
    assert rows["calls"][0]["duration_ms"] == 11_000
    assert_is_base(rows)


def test_f21_a_call_cut_before_its_reply_has_no_timing(tmp_path):
    data = pcm16(spoken())
    kept = data[: 8000 * 16 * 4 + 1]
    (tmp_path / "call.wav").write_bytes(wav_bytes(kept, sizes=(36 + len(data), len(data))))
    rows = listen(make_bundle(tmp_path))
    assert reasons(rows) == ["wav_truncated"]
    assert {row["missing_ms"] for row in rows["media"]} == {3000}
    assert rows["calls"][0]["duration_ms"] == 8000


@pytest.mark.parametrize("law", ["ULAW", "ALAW"])
def test_f22_g711_gives_the_same_latencies(tmp_path, law):
    rows = listen(make_bundle(tmp_path, at_rate(spoken(), 8000), rate_hz=8000, codec=law))
    assert {row["codec"] for row in rows["media"]} == {law}
    assert_is_base(rows)


def test_f22_a_gap_of_zero_bytes_in_mu_law_is_flagged_and_no_speech(tmp_path):
    make_bundle(tmp_path, at_rate(spoken(), 8000), rate_hz=8000, codec="ULAW")
    data = bytearray((tmp_path / "call.wav").read_bytes())
    start = data.index(b"data") + 8
    data[start + 7000 * 8 * 2 : start + 8000 * 8 * 2] = bytes(1000 * 8 * 2)
    (tmp_path / "call.wav").write_bytes(data)
    rows = listen(make_bundle(tmp_path))
    assert "full_scale_run" in {row["code"] for row in rows["problems"]}
    assert_is_base(rows)


def test_f23_a_sample_that_is_no_number_is_refused_and_a_large_one_is_not(tmp_path):
    sound = spoken()
    sound[1000, 0] = np.nan
    rows = listen(make_bundle(tmp_path / "nan", sound, codec="FLOAT"))
    assert rows["calls"][0]["exclusion_reason"] == "unreadable_recording"
    (problem,) = [row for row in rows["problems"] if row["code"] == "bad_samples"]
    assert "frame 1000" in problem["message"]
    sound[1000, 0] = 3.7
    rows = listen(make_bundle(tmp_path / "large", sound, codec="FLOAT"))
    assert rows["media"][0]["peak_dbfs"] == pytest.approx(20 * np.log10(3.7), abs=0.01)
    assert_is_base(rows)


@pytest.mark.parametrize("has_info", [True, False])
def test_f24_an_mp3_keeps_its_latencies_with_and_without_its_info_frame(tmp_path, has_info):
    kind = {"name": "call.mp3", "codec": "MPEG_LAYER_III"}
    make_bundle(tmp_path, spoken(), **kind)
    data = (tmp_path / "call.mp3").read_bytes()
    if not has_info:
        at = next(k for k in (data.find(b"Info"), data.find(b"Xing")) if k >= 0)
        following = data.index(data[:2], at)
        (tmp_path / "call.mp3").write_bytes(data[following:])
    rows = listen(make_bundle(tmp_path, name="call.mp3"))
    assert_is_base(rows)


@pytest.mark.parametrize("mode", ["CONSTANT", "VARIABLE"])
def test_f25_a_marker_at_the_end_of_25_minutes_of_mp3_is_where_it_was(tmp_path, mode):
    click = np.zeros(8000 * 1500, dtype=np.float32)
    click[8000 * 59 :: 8000 * 60] = 0.9
    path = tmp_path / "call.mp3"
    with soundfile.SoundFile(path, "w", 8000, 1, format="MP3", bitrate_mode=mode) as file:
        file.write(click)
    size = np.abs(decode_file(path, [0], media_limits(PROTOCOL)).channels[0].samples)
    last = np.flatnonzero(size >= 0.5 * size.max())[-1]
    assert last / 16 == pytest.approx(1_499_000, abs=10)
    assert size.size / 16 == pytest.approx(1_500_000, abs=150)


def test_f26_opus_lasts_as_long_as_what_went_in(tmp_path):
    with soundfile.SoundFile(
        tmp_path / "call.opus", "w", 48_000, 2, format="OGG", subtype="OPUS"
    ) as file:
        sound = at_rate(spoken(), 48_000)
        for at in range(0, len(sound), 4096):
            file.write(sound[at : at + 4096])
    rows = listen(make_bundle(tmp_path, name="call.opus"))
    assert rows["calls"][0]["duration_ms"] == 11_000
    assert_is_base(rows)


def test_f27_a_full_scale_square_wave_has_0_dbfs(tmp_path):
    square = np.where(np.arange(3 * RATE_HZ) // 8 % 2, 32767, -32768).astype("<i2")
    (tmp_path / "call.wav").write_bytes(wav_bytes(np.repeat(square, 2).tobytes()))
    recording = decode_call(make_bundle(tmp_path), limits=media_limits(PROTOCOL))
    power = float(np.mean(np.square(recording.caller.samples, dtype=np.float64)))
    assert 10 * np.log10(power) == pytest.approx(0, abs=0.01)
    levels = level_db(recording.caller.samples, window_ms=5, highpass_hz=60)
    assert float(np.median(levels[100:-100])) == pytest.approx(0, abs=0.2)


def test_f28_clipped_speech_keeps_its_edges_and_is_said(tmp_path):
    bundle = make_bundle(tmp_path, np.clip(spoken() * 10, -1, 1))
    rows = listen(bundle)
    for side in SIDES:
        assert np.ravel(spans(rows)[side]).tolist() == near(
            np.ravel(getattr(BASE, side)).tolist(), 2 * FRAME_MS
        )
    assert reasons(rows) == []
    found = {(fault.code, fault.side, fault.level) for fault in stated(bundle)}
    assert found == {("clipped", side, "warning") for side in SIDES}
    assert all(f.value > LIMITS.clipped_fraction == f.limit for f in stated(bundle))


def test_f29_a_constant_offset_changes_no_edge_and_is_said(tmp_path):
    bundle = make_bundle(tmp_path, spoken() * 0.5 + 0.2)
    rows = listen(bundle)
    assert_is_base(rows)
    assert {(fault.code, fault.level) for fault in stated(bundle)} == {("dc_offset", "warning")}
    assert stated(bundle)[0].value == pytest.approx(0.2, abs=0.005)


def test_f29_an_offset_that_dies_away_is_no_speech(tmp_path):
    sound = spoken()
    sound += (0.5 * np.exp(-np.arange(len(sound)) / RATE_HZ / 0.1)).astype(np.float32)[:, None]
    rows = listen(make_bundle(tmp_path, sound))
    assert min(start for side in SIDES for start, _ in spans(rows)[side]) == near(1000)
    assert_is_base(rows)


def test_f34_a_call_cut_in_the_middle_of_a_word_is_measured_to_its_last_sample(tmp_path):
    rows = listen(make_bundle(tmp_path, spoken()[: 9207 * 16]))
    assert rows["calls"][0]["duration_ms"] == 9207
    assert latencies(rows)[0] == near(800)
    assert all(end <= 9207 for side in SIDES for _, end in spans(rows)[side])
    last = spans(rows)["agent"][-1]
    assert last == near((2800, 4000)) or last == near((9200, 9207))


def test_f34_a_word_that_ends_7_ms_before_the_file_does_is_kept(tmp_path):
    rows = listen(make_bundle(tmp_path, spoken()[: 10_007 * 16]))
    assert spans(rows)["agent"][-1] == near((9200, 10_000))
    assert_is_base(rows)


def test_channels_that_fit_the_other_sides_turns_are_swapped(tmp_path):
    bundle = make_bundle(tmp_path, spoken()[:, ::-1].copy(), turns=turns_of())
    (fault,) = faults(bundle, listen(bundle))
    assert (fault.code, fault.level, fault.limit) == ("channels_swapped", "timing", 0.5)
    assert fault.value > 1


def test_a_transcript_whose_times_are_all_zero_says_nothing(tmp_path):
    turns = [{**turn, "start_ms": 0, "end_ms": 0} for turn in turns_of()]
    bundle = make_bundle(tmp_path, spoken(), turns=turns)
    assert faults(bundle, listen(bundle)) == ()


def test_a_row_with_a_wrong_start_is_no_fault_of_the_recording(tmp_path):
    turns = turns_of()
    turns[2]["start_ms"] = 0
    bundle = make_bundle(tmp_path, spoken(), turns=turns)
    assert faults(bundle, listen(bundle)) == ()


def test_a_transcript_shifted_on_both_sides_is_only_said(tmp_path):
    turns = [
        {**turn, "start_ms": turn["start_ms"] + 1500, "end_ms": turn["end_ms"] + 1500}
        for turn in turns_of()
    ]
    bundle = make_bundle(tmp_path, spoken(), turns=turns)
    (fault,) = faults(bundle, listen(bundle))
    assert (fault.code, fault.level) == ("transcript_shifted", "warning")
    assert fault.value == near(-1500)
