from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import replace

import numpy as np
import pytest
import soundfile
from synth import BASE, bundle_of, onset_ms, pcm16, side, stereo, wav_bytes, write_sound

from inquesto_core.bundle import AudioFile
from inquesto_core.errors import Problem
from inquesto_core.instruments.audio import decode_call
from inquesto_core.instruments.extract import media_limits
from inquesto_core.protocol import load_protocol

LIMITS = media_limits(load_protocol("inquesto-0.1"))
STEREO = AudioFile(file="call.wav", caller=0, agent=1)


def decode(root, *entries, limits=LIMITS, **about):
    return decode_call(bundle_of(root, *entries, **about), limits=limits)


def decode_bytes(root, data, name="call.wav", **about):
    (root / name).write_bytes(data)
    return decode(root, AudioFile(file=name, caller=0, agent=1), **about)


def codes(recording):
    return [problem.code for problem in recording.problems]


def sounding_ms(samples):
    """Where a channel sounds: its first and last sample above -40 dBFS, as half-open ms."""
    places = np.flatnonzero(np.abs(samples) > 0.01)
    return round(places[0] / 16), round((places[-1] + 1) / 16)


def base_as(root, name, rate_hz=16_000, **kind):
    write_sound(root / name, stereo(rate_hz=rate_hz), rate_hz, **kind)
    return decode(root, AudioFile(file=name, caller=0, agent=1))


CONTAINERS = {
    "PCM_U8": ("call.wav", {"codec": "PCM_U8"}),
    "PCM_16": ("call.wav", {"codec": "PCM_16"}),
    "PCM_24": ("call.wav", {"codec": "PCM_24"}),
    "PCM_32": ("call.wav", {"codec": "PCM_32"}),
    "FLOAT": ("call.wav", {"codec": "FLOAT"}),
    "DOUBLE": ("call.wav", {"codec": "DOUBLE"}),
    "ULAW": ("call.wav", {"codec": "ULAW"}),
    "ALAW": ("call.wav", {"codec": "ALAW"}),
    "extensible": ("call.wav", {"format": "WAVEX", "codec": "PCM_16"}),
    "RF64": ("call.rf64", {"format": "RF64", "codec": "PCM_16"}),
    "W64": ("call.w64", {"format": "W64", "codec": "PCM_16"}),
    "AIFF": ("call.aiff", {"format": "AIFF", "codec": "PCM_16"}),
    "FLAC": ("call.flac", {"codec": "PCM_16"}),
    "VORBIS": ("call.ogg", {"codec": "VORBIS"}),
    "OPUS": ("call.opus", {"format": "OGG", "codec": "OPUS"}),
    "MP3": ("call.mp3", {"codec": "MPEG_LAYER_III"}),
}


@pytest.mark.parametrize(
    ("codec", "rate_hz"),
    [
        (codec, rate_hz)
        for codec in CONTAINERS
        for rate_hz in (8000, 16_000, 24_000, 44_100, 48_000)
        if (codec, rate_hz) != ("OPUS", 44_100)  # Opus has no such rate
    ],
)
def test_every_codec_at_every_rate_keeps_length_and_onsets(tmp_path, codec, rate_hz):
    name, kind = CONTAINERS[codec]
    click = np.zeros((2 * rate_hz, 2), dtype=np.float32)
    click[rate_hz // 2 : rate_hz // 2 + rate_hz // 1000, 0] = 0.8
    click[3 * rate_hz // 2 : 3 * rate_hz // 2 + rate_hz // 1000, 1] = 0.8
    write_sound(tmp_path / name, click, rate_hz, **kind)

    recording = decode(tmp_path, AudioFile(file=name, caller=0, agent=1))

    assert (recording.exclusion_reason, recording.timing_reasons, codes(recording)) == (
        None,
        (),
        [],
    )
    assert recording.duration_ms == 2000
    assert recording.caller.samples.size == recording.agent.samples.size == 32_000
    assert recording.caller.samples.dtype == np.float32
    assert recording.caller.sample_rate_hz == rate_hz
    assert recording.caller.missing_ms == 0
    assert onset_ms(recording.caller.samples) == pytest.approx(500, abs=1)
    assert onset_ms(recording.agent.samples) == pytest.approx(1500, abs=1)


@pytest.mark.parametrize("codec", CONTAINERS)
def test_base_sounds_where_its_script_says_in_every_codec(tmp_path, codec):
    name, kind = CONTAINERS[codec]
    recording = base_as(tmp_path, name, **kind)
    assert recording.duration_ms == 11_000
    slack = 16 if codec in {"VORBIS", "OPUS", "MP3"} else 3  # their pre-echo is quiet, not absent
    assert sounding_ms(recording.caller.samples) == pytest.approx((1000, 6000), abs=slack)
    assert sounding_ms(recording.agent.samples) == pytest.approx((2800, 10_000), abs=slack)


def test_sixteen_kilohertz_samples_are_not_touched_but_for_their_mean(tmp_path):
    sound = stereo()
    write_sound(tmp_path / "call.wav", sound, codec="FLOAT")
    recording = decode(tmp_path)
    expected = sound[:, 0] - np.float32(sound[:, 0].mean(dtype=np.float64))
    np.testing.assert_array_equal(recording.caller.samples, expected)
    assert not recording.caller.samples.flags.writeable


def test_what_a_channel_came_from_is_told(tmp_path):
    base_as(tmp_path, "call.wav", codec="PCM_16")
    agent = decode(tmp_path).agent
    data = (tmp_path / "call.wav").read_bytes()
    assert (agent.file, agent.format, agent.codec) == ("call.wav", "WAV", "PCM_16")
    assert (agent.channel_index, agent.frames, agent.duration_ms) == (1, 176_000, 11_000)
    assert agent.sha256 == hashlib.sha256(data).hexdigest()
    given = decode(tmp_path, digests=[("call.wav", "ab" * 32)])
    assert given.agent.sha256 == "ab" * 32


@pytest.mark.parametrize(("frames", "rate_hz", "ms"), [(8001, 8000, 1000), (44_099, 44_100, 999)])
def test_duration_is_frames_over_the_native_rate_rounded_down(tmp_path, frames, rate_hz, ms):
    write_sound(tmp_path / "call.wav", np.full((frames, 2), 0.1), rate_hz)
    assert decode(tmp_path).duration_ms == ms


@pytest.mark.parametrize(
    ("rate_hz", "accepted"), [(3999, False), (4000, True), (192_000, True), (192_001, False)]
)
def test_rates_from_4_to_192_khz_are_read(tmp_path, rate_hz, accepted):
    write_sound(tmp_path / "call.wav", stereo(rate_hz=rate_hz)[: 2 * rate_hz], rate_hz)
    recording = decode(tmp_path)
    assert codes(recording) == ([] if accepted else ["sample_rate_unsupported"])
    assert recording.exclusion_reason == (None if accepted else "unreadable_recording")


# Who is on which channel (F01, F06, F10, F11, F09)


def test_exchanged_channels_with_their_map_give_the_same_sides(tmp_path):
    write_sound(tmp_path / "call.wav", stereo())
    write_sound(tmp_path / "swapped.wav", stereo()[:, ::-1])
    straight = decode(tmp_path)
    swapped = decode(tmp_path, AudioFile(file="swapped.wav", caller=1, agent=0))
    np.testing.assert_array_equal(straight.caller.samples, swapped.caller.samples)
    np.testing.assert_array_equal(straight.agent.samples, swapped.agent.samples)


def test_a_mapped_channel_of_many_is_picked(tmp_path):
    sound = np.zeros((16_000, 6), dtype=np.float32)
    sound[4000, 2], sound[8000, 5] = 0.5, 0.5
    write_sound(tmp_path / "call.wav", sound)
    recording = decode(tmp_path, AudioFile(file="call.wav", caller=5, agent=2))
    assert onset_ms(recording.caller.samples) == 500
    assert onset_ms(recording.agent.samples) == 250


@pytest.mark.parametrize(
    "entry",
    [STEREO, AudioFile(file="call.wav", caller=0, agent=0), AudioFile(file="call.wav")],
    ids=["both", "one", "none"],
)
def test_a_call_of_one_channel_is_a_mono_recording_whatever_its_map(tmp_path, entry):
    write_sound(tmp_path / "call.wav", stereo().sum(axis=1))
    recording = decode(tmp_path, entry)
    assert (codes(recording), recording.exclusion_reason) == (["mono_input"], "mono_recording")
    assert recording.caller is None
    assert recording.problems[0].call_id == "0412"


def test_a_real_mixed_call_is_a_mono_recording(shared):
    entry = AudioFile(file="eva_demo_mixed.mp3", caller=0, agent=1)
    assert decode(shared / "audio" / "real", entry).exclusion_reason == "mono_recording"


@pytest.mark.parametrize(("index", "missing"), [(1, False), (2, True), (-1, True)])
def test_a_channel_beyond_the_file_is_missing(tmp_path, index, missing):
    write_sound(tmp_path / "call.wav", stereo())
    recording = decode(tmp_path, AudioFile(file="call.wav", caller=0, agent=index))
    assert codes(recording) == (["channel_missing"] if missing else [])
    assert recording.exclusion_reason == ("unreadable_recording" if missing else None)


def two_files(root, caller, agent, rate_hz=16_000, agent_rate_hz=16_000, **caller_entry):
    write_sound(root / "caller.wav", caller, rate_hz)
    write_sound(root / "agent.wav", agent, agent_rate_hz)
    return (
        AudioFile(file="caller.wav", caller=0, **caller_entry),
        AudioFile(file="agent.wav", agent=0),
    )


def test_the_shorter_of_two_files_is_padded_at_its_end(tmp_path):
    both = stereo()
    entries = two_files(tmp_path, both[: 6200 * 16, 0], both[:, 1])
    recording = decode(tmp_path, *entries)
    assert recording.duration_ms == 11_000
    assert recording.caller.duration_ms == 6200
    assert recording.caller.samples.size == recording.agent.samples.size == 176_000
    assert sounding_ms(recording.caller.samples) == (1000, 6000)
    assert not recording.caller.samples[6200 * 16 :].any()


def test_two_files_may_have_two_rates(tmp_path):
    caller = side(BASE.caller, BASE.duration_ms, 8000)
    entries = two_files(tmp_path, caller, stereo()[:, 1], rate_hz=8000)
    recording = decode(tmp_path, *entries)
    assert sounding_ms(recording.caller.samples) == pytest.approx((1000, 6000), abs=2)
    assert (recording.caller.sample_rate_hz, recording.agent.sample_rate_hz) == (8000, 16_000)


def test_a_file_that_starts_late_sounds_late(tmp_path):
    agent = side(((500, 2000),), 6000)
    entries = two_files(tmp_path, side(((300, 1300),), 3500), agent, start_ms=2500)
    recording = decode(tmp_path, *entries)
    assert sounding_ms(recording.caller.samples) == (2800, 3800)
    assert sounding_ms(recording.agent.samples) == (500, 2000)
    assert recording.duration_ms == 6000
    assert recording.caller.shift_ms == 2500


def test_a_negative_offset_moves_a_late_track_back(tmp_path):
    late = stereo()
    late[:, 0] = np.concatenate([np.zeros(8000, np.float32), late[:-8000, 0]])
    write_sound(tmp_path / "call.wav", late)
    assert sounding_ms(decode(tmp_path).caller.samples) == (1500, 6500)
    recording = decode(tmp_path, offsets=(-500, 0))
    assert sounding_ms(recording.caller.samples) == (1000, 6000)
    assert sounding_ms(recording.agent.samples) == (2800, 10_000)
    assert (recording.duration_ms, codes(recording)) == (11_000, [])


def test_sound_moved_before_the_start_is_said(tmp_path):
    write_sound(tmp_path / "call.wav", stereo())
    recording = decode(tmp_path, offsets=(-1500, 0))
    assert codes(recording) == ["audio_before_start"]
    assert recording.problems[0].level == "warning"
    assert recording.exclusion_reason is None


@pytest.mark.parametrize(
    ("offset", "empty"), [(-10_999, False), (-11_000, True), (-(10**15), True)]
)
def test_a_track_moved_wholly_before_the_start_is_empty(tmp_path, offset, empty):
    write_sound(tmp_path / "call.wav", stereo())
    recording = decode(tmp_path, offsets=(offset, 0))
    assert recording.exclusion_reason == ("unreadable_recording" if empty else None)
    assert ("audio_empty" in codes(recording)) == empty


def test_a_start_beyond_any_call_is_refused_and_not_allocated(tmp_path):
    write_sound(tmp_path / "call.wav", stereo())
    recording = decode(tmp_path, AudioFile(file="call.wav", caller=0, agent=1, start_ms=10**15))
    assert codes(recording) == ["audio_too_long"]


# What read_bundle found


@pytest.mark.parametrize(
    "code",
    [
        "audio_missing",
        "audio_digest_mismatch",
        "path_outside_bundle",
        "link_refused",
        "file_too_large",
    ],
)
def test_a_file_that_read_bundle_refuses_is_not_opened(tmp_path, code):
    write_sound(tmp_path / "call.wav", stereo())
    problem = Problem(code=code, found="is not there", file="call.wav")
    recording = decode(tmp_path, problems=[problem])
    assert (recording.exclusion_reason, recording.problems) == ("unreadable_recording", ())


def test_a_refused_link_elsewhere_leaves_the_recording_alone(tmp_path):
    write_sound(tmp_path / "call.wav", stereo())
    problem = Problem(code="link_refused", found="is a link", file="trace.json")
    assert decode(tmp_path, problems=[problem]).exclusion_reason is None


@pytest.mark.parametrize("said", [True, False], ids=["said by read_bundle", "not said"])
def test_an_unknown_channel_map_has_no_timing_and_is_no_exclusion(tmp_path, said):
    write_sound(tmp_path / "call.wav", stereo())
    problem = Problem(
        code="unknown_channel_map", found="maps the caller to 0 channels", pointer="/audio"
    )
    recording = decode(tmp_path, AudioFile(file="call.wav", agent=1), problems=[problem] * said)
    assert recording.timing_reasons == ("unknown_channel_map",)
    assert recording.exclusion_reason is None
    assert recording.caller is None


def test_both_sides_on_one_channel_is_mono(tmp_path):
    problem = Problem(code="mono_input", found="has both sides on one channel", pointer="/audio")
    assert decode(tmp_path, problems=[problem]).exclusion_reason == "mono_recording"


def test_a_call_without_audio_has_no_timing(tmp_path):
    bundle = bundle_of(tmp_path)
    object.__setattr__(bundle.call, "audio", ())
    recording = decode_call(bundle, limits=LIMITS)
    assert (recording.timing_reasons, recording.exclusion_reason) == (("no_audio",), None)


def test_a_missing_file_or_a_folder_or_a_link_is_unreadable(tmp_path):
    for make in (
        lambda path: None,
        lambda path: path.mkdir(),
        lambda path: path.symlink_to(tmp_path / "other.wav"),
    ):
        write_sound(tmp_path / "other.wav", stereo())
        make(tmp_path / "call.wav")
        recording = decode(tmp_path)
        assert (codes(recording), recording.exclusion_reason) == (
            ["audio_unreadable"],
            "unreadable_recording",
        )
        if (tmp_path / "call.wav").is_dir():
            (tmp_path / "call.wav").rmdir()


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "call.wav")
    assert codes(decode(tmp_path)) == ["audio_unreadable"]


# WAV sizes (F20, F21)


@pytest.mark.parametrize(
    "sizes",
    [(0xFFFFFFFF, 0xFFFFFFFF), (0, 0), (36, 0), (0x7FFFF024, 0x7FFFF000)],
    ids=["all ones", "zero", "zero data", "pipe"],
)
def test_a_placeholder_size_is_read_to_the_end(tmp_path, sizes):
    recording = decode_bytes(tmp_path, wav_bytes(pcm16(stereo()), sizes=sizes))
    assert codes(recording) == ["wav_size_placeholder"]
    assert recording.timing_reasons == ()
    assert (recording.agent.frames, recording.duration_ms, recording.agent.missing_ms) == (
        176_000,
        11_000,
        0,
    )
    assert sounding_ms(recording.agent.samples) == (2800, 10_000)


def test_a_wrong_riff_size_alone_is_nothing(tmp_path):
    data = pcm16(stereo())
    recording = decode_bytes(tmp_path, wav_bytes(data, sizes=(0, len(data))))
    assert (codes(recording), recording.caller.frames) == ([], 176_000)


def test_an_rf64_placeholder_is_read_to_the_end(tmp_path):
    write_sound(tmp_path / "whole.rf64", stereo(), format="RF64", codec="PCM_16")
    data = bytearray((tmp_path / "whole.rf64").read_bytes())
    size_at = data.find(b"ds64") + 16
    data[size_at : size_at + 8] = b"\xff" * 8
    data[data.find(b"data") + 4 : data.find(b"data") + 8] = b"\xff" * 4
    recording = decode_bytes(tmp_path, bytes(data))
    assert codes(recording) == ["wav_size_placeholder"]
    assert recording.caller.frames == 176_000


@pytest.mark.parametrize(
    "extra", [b"", b"\x01", b"\x01\x02\x03"], ids=["whole frame", "odd byte", "three bytes"]
)
def test_a_truncated_wav_is_decoded_as_far_as_it_goes_and_carries_no_timing(tmp_path, extra):
    whole = pcm16(stereo())
    data = whole[: 8000 * 16 * 4] + extra
    recording = decode_bytes(tmp_path, wav_bytes(data, sizes=(36 + len(whole), len(whole))))
    assert codes(recording) == ["wav_truncated"]
    assert "3.000 s" in recording.problems[0].found
    assert recording.problems[0].level == "warning"
    assert (recording.caller.frames, recording.duration_ms, recording.caller.missing_ms) == (
        128_000,
        8000,
        3000,
    )
    assert recording.timing_reasons == ("wav_truncated",)
    assert recording.exclusion_reason is None


@pytest.mark.parametrize(("missing_ms", "reasons"), [(100, ()), (101, ("wav_truncated",))])
def test_no_more_than_100_ms_missing_still_carries_timing(tmp_path, missing_ms, reasons):
    data = pcm16(stereo())
    size = len(data) + missing_ms * 64
    recording = decode_bytes(tmp_path, wav_bytes(data, sizes=(36 + size, size)))
    assert (recording.caller.missing_ms, recording.timing_reasons) == (missing_ms, reasons)
    assert codes(recording) == ["wav_truncated"]


def test_an_odd_byte_at_the_end_of_a_whole_wav_is_left_out(tmp_path):
    data = pcm16(stereo()) + b"\x05"
    recording = decode_bytes(tmp_path, wav_bytes(data))
    assert (codes(recording), recording.caller.frames) == ([], 176_000)


@pytest.mark.parametrize(("known_ms", "reasons"), [(10_900, ()), (1000, ("wav_trailing_bytes",))])
def test_sound_after_the_promised_end_is_said_and_not_read(tmp_path, known_ms, reasons):
    data = pcm16(stereo() + 0.25)
    recording = decode_bytes(tmp_path, wav_bytes(data, sizes=(36, known_ms * 64)))
    assert codes(recording) == ["wav_trailing_bytes"]
    assert (recording.duration_ms, recording.timing_reasons) == (known_ms, reasons)


def test_chunks_after_the_data_are_no_sound(tmp_path):
    tail = b"LIST" + struct.pack("<I", 5) + b"hello\0" + b"bext" + struct.pack("<I", 2) + b"ab"
    recording = decode_bytes(tmp_path, wav_bytes(pcm16(stereo()), tail=tail))
    assert (codes(recording), recording.caller.frames) == ([], 176_000)
    empty = decode_bytes(tmp_path, wav_bytes(b"", tail=tail))
    assert codes(empty) == ["audio_empty"]


def test_the_bundle_is_never_written(tmp_path):
    data = wav_bytes(pcm16(stereo()), sizes=(0, 0))
    decode_bytes(tmp_path, data)
    assert (tmp_path / "call.wav").read_bytes() == data


# G.711 (F22)


@pytest.mark.parametrize(
    ("tag", "code", "value"),
    [
        (7, 0xFF, 0),
        (7, 0x7F, 0),
        (7, 0x80, 32124),
        (7, 0x00, -32124),
        (6, 0xD5, 8),
        (6, 0x55, -8),
        (6, 0xAA, 32256),
        (6, 0x2A, -32256),
    ],
)
def test_g711_codes_decode_to_their_values(tmp_path, tag, code, value):
    # 10 s of one other code beside 1 sample of it keep the mean known and the run short.
    rest = 0xFF if tag == 7 else 0xD5
    base = 0 if tag == 7 else 8
    data = bytearray([rest, rest] * 16_000)
    data[2 * 8000] = code
    caller = decode_bytes(tmp_path, wav_bytes(bytes(data), tag=tag, bits=8)).caller
    mean = (15_999 * base + value) / 16_000 / 32768
    assert caller.dc_offset == pytest.approx(mean, abs=1e-9)
    assert caller.samples[8000] == pytest.approx(value / 32768 - mean, abs=1e-7)
    assert caller.codec == {7: "ULAW", 6: "ALAW"}[tag]


def mu_law_gap(gap_ms):
    write = np.full((11_000 * 8, 2), 0xFF, dtype=np.uint8)
    write[3000 * 8 : 3000 * 8 + gap_ms * 8, 0] = 0x00
    write[1000 * 8 : 2000 * 8, 0] = np.resize([0x90, 0x10, 0xA0, 0x20], 8000)
    return wav_bytes(write.tobytes(), tag=7, bits=8, rate_hz=8000)


@pytest.mark.parametrize(
    ("gap_ms", "flagged"), [(19, False), (20, True), (3000, True), (7000, True)]
)
def test_a_zero_filled_mu_law_gap_of_20_ms_or_more_is_silence_and_no_sound(
    tmp_path, gap_ms, flagged
):
    recording = decode_bytes(tmp_path, mu_law_gap(gap_ms))
    caller = recording.caller
    assert codes(recording) == (["full_scale_run"] if flagged else [])
    assert caller.constant_full_scale_ms == (gap_ms if flagged else 0)
    inside = np.abs(caller.samples[3001 * 16 : (3000 + gap_ms - 1) * 16])
    assert (inside.max() < 0.01) == flagged
    assert recording.agent.constant_full_scale_ms == 0


# Floats, clipping, offsets (F23, F27, F28, F29)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 2.2e9])
@pytest.mark.parametrize("codec", ["FLOAT", "DOUBLE"])
@pytest.mark.parametrize("frame", [1000, 150_000])
def test_a_sample_that_is_no_number_refuses_the_recording(tmp_path, bad, codec, frame):
    sound = stereo().astype(np.float64)
    sound[frame, 1] = bad
    sound[frame + 7, 1] = bad
    write_sound(tmp_path / "call.wav", sound, codec=codec)
    recording = decode(tmp_path)
    assert (codes(recording), recording.exclusion_reason) == (
        ["bad_samples"],
        "unreadable_recording",
    )
    assert f"frame {frame} of channel 1" in recording.problems[0].found


def test_floats_on_the_scale_of_whole_numbers_are_read(tmp_path):
    write_sound(tmp_path / "call.wav", stereo() * 2.0**31, codec="FLOAT")
    assert (codes(decode(tmp_path)), decode(tmp_path).timing_reasons) == ([], ())


def test_float_values_beyond_one_neither_wrap_nor_clip(tmp_path):
    sound = np.zeros((16_000, 2), dtype=np.float32)
    sound[1000, 0], sound[2000, 0], sound[1000, 1] = 3.7, -3.7, 0.5
    write_sound(tmp_path / "call.wav", sound, codec="FLOAT")
    caller = decode(tmp_path).caller
    assert caller.samples[1000] == pytest.approx(3.7)
    assert caller.samples[2000] == pytest.approx(-3.7)
    assert caller.peak_dbfs == pytest.approx(20 * np.log10(3.7), abs=1e-4)


def test_full_scale_keeps_its_sign(tmp_path):
    square = np.where(np.arange(16_000) // 40 % 2, 32767, -32768).astype("<i2")
    data = np.stack([square, np.zeros_like(square)], axis=1).tobytes()
    recording = decode_bytes(tmp_path, wav_bytes(data))
    assert recording.caller.samples.min() == pytest.approx(-1, abs=1e-4)
    assert recording.caller.samples.max() == pytest.approx(1, abs=1e-4)
    assert recording.caller.peak_dbfs == 0
    assert 20 * np.log10(np.sqrt(np.mean(recording.caller.samples**2))) == pytest.approx(
        0, abs=0.01
    )
    assert recording.caller.constant_full_scale_ms == 0


@pytest.mark.parametrize("value", [32767, -32768])
def test_a_frame_of_constant_full_scale_is_silence(tmp_path, value):
    data = np.full((16_000, 2), value, dtype="<i2").tobytes()
    recording = decode_bytes(tmp_path, wav_bytes(data))
    assert codes(recording) == ["full_scale_run", "full_scale_run"]
    assert recording.caller_silent
    assert recording.agent_silent
    assert not recording.caller.samples.any()


def test_clipping_is_reported_and_refuses_nothing(tmp_path):
    data = pcm16(stereo() * 10)
    caller = decode_bytes(tmp_path, wav_bytes(data)).caller
    raw = np.abs(np.frombuffer(data, "<i2").reshape(-1, 2)[:, 0].astype(float) / 32768) >= 0.999
    edges = np.flatnonzero(np.diff(np.concatenate([[0], raw.astype(int), [0]])))
    lengths = edges[1::2] - edges[::2]
    assert caller.clipped_fraction == lengths[lengths >= 3].sum() / 176_000
    assert caller.clipped_fraction > 0.01
    assert sounding_ms(caller.samples) == pytest.approx((1000, 6000), abs=2)


@pytest.mark.parametrize(("run", "clipped"), [(2, 0), (3, 3)])
@pytest.mark.parametrize("at", [1000, (1 << 16) - 1], ids=["inside a block", "across two blocks"])
def test_clipped_samples_count_from_three_in_a_row(tmp_path, run, clipped, at):
    sound = np.zeros((100_000, 2))
    sound[at : at + run, 0] = 1.0
    write_sound(tmp_path / "call.wav", sound)
    assert decode(tmp_path).caller.clipped_fraction == clipped / 100_000


@pytest.mark.parametrize("codec", ["ULAW", "ALAW"])
def test_g711_clips_at_its_own_largest_value(tmp_path, codec):
    write_sound(tmp_path / "call.wav", np.clip(stereo() * 10, -1, 1), codec=codec)
    assert decode(tmp_path).caller.clipped_fraction > 0.01


def test_the_mean_is_removed_and_reported(tmp_path):
    write_sound(tmp_path / "call.wav", stereo() + np.array([0.2, 0.0]), codec="FLOAT")
    write_sound(tmp_path / "plain.wav", stereo(), codec="FLOAT")
    moved = decode(tmp_path).caller
    plain = decode(tmp_path, AudioFile(file="plain.wav", caller=0, agent=1)).caller
    assert moved.dc_offset == pytest.approx(0.2, abs=1e-3)
    np.testing.assert_allclose(moved.samples, plain.samples, atol=1e-6)
    assert abs(float(moved.samples.mean(dtype=np.float64))) < 1e-6


def test_the_mean_is_removed_after_resampling_too(tmp_path):
    write_sound(tmp_path / "call.wav", np.full((8000, 2), 0.2), 8000, codec="FLOAT")
    recording = decode(tmp_path)
    assert recording.caller.dc_offset == pytest.approx(0.2)
    assert np.abs(recording.caller.samples[160:-160]).max() < 1e-4


# One side silent, one sound twice (F07, F04)


@pytest.mark.parametrize(("level_db", "silent"), [(None, True), (-75, True), (-65, False)])
def test_a_side_without_sound_is_reported(tmp_path, level_db, silent):
    sound = stereo().astype(np.float64)
    sound[:, 1] = 0
    if level_db is not None:
        sound[:, 1] = np.random.default_rng(7).standard_normal(len(sound)) * 10 ** (level_db / 20)
    write_sound(tmp_path / "call.wav", sound, codec="PCM_24")
    recording = decode(tmp_path)
    assert (recording.caller_silent, recording.agent_silent) == (False, silent)
    assert recording.timing_reasons == ()
    assert (recording.agent.peak_dbfs is None) == (level_db is None)


def test_two_copies_of_a_mono_call_carry_no_timing(tmp_path):
    mono = stereo().sum(axis=1)
    write_sound(tmp_path / "call.wav", np.stack([mono, mono], axis=1))
    recording = decode(tmp_path)
    assert recording.timing_reasons == ("channels_identical",)
    assert recording.exclusion_reason is None


# Too long, cut off, hostile


@pytest.mark.parametrize(("limit", "codes_"), [(11_000, ["audio_too_long"]), (11_001, [])])
def test_a_recording_as_long_as_the_limit_is_refused_by_its_header(tmp_path, limit, codes_):
    write_sound(tmp_path / "call.wav", stereo())
    recording = decode(tmp_path, limits=replace(LIMITS, max_duration_ms=limit))
    assert codes(recording) == codes_
    assert recording.exclusion_reason == ("unreadable_recording" if codes_ else None)


def flac_with_total(data, total):
    data = bytearray(data)
    data[21] = data[21] & 0xF0 | total >> 32
    data[22:26] = struct.pack(">I", total & 0xFFFFFFFF)
    return bytes(data)


def test_a_flac_that_does_not_say_its_length_is_read_whole(tmp_path):
    data = flac_with_total(write_sound(tmp_path / "whole.flac", stereo()).read_bytes(), 0)
    recording = decode_bytes(tmp_path, data)
    assert (codes(recording), recording.duration_ms) == ([], 11_000)


def test_a_flac_that_does_not_say_its_length_and_breaks_off_is_truncated(tmp_path):
    data = flac_with_total(write_sound(tmp_path / "whole.flac", stereo()).read_bytes(), 0)
    recording = decode_bytes(tmp_path, data[: len(data) // 2])
    assert recording.timing_reasons == ("audio_truncated",)
    assert recording.caller.missing_ms is None


def test_one_that_turns_out_too_long_is_stopped_while_decoding(tmp_path):
    data = flac_with_total(write_sound(tmp_path / "whole.flac", stereo()).read_bytes(), 0)
    recording = decode_bytes(tmp_path, data, limits=replace(LIMITS, max_duration_ms=8000))
    assert codes(recording) == ["audio_too_long"]


def test_a_gigantic_claim_with_little_data_is_refused_at_once(tmp_path):
    data = flac_with_total(
        write_sound(tmp_path / "whole.flac", stereo()).read_bytes(), (1 << 36) - 1
    )
    assert codes(decode_bytes(tmp_path, data)) == ["audio_too_long"]


@pytest.mark.parametrize("name", ["call.flac", "call.mp3", "call.ogg"])
def test_a_truncated_stream_is_decoded_as_far_as_it_goes_and_carries_no_timing(tmp_path, name):
    data = write_sound(tmp_path / name, stereo()).read_bytes()
    recording = decode_bytes(tmp_path, data[: len(data) * 7 // 10], name)
    assert codes(recording) == ["audio_truncated"]
    assert recording.timing_reasons == ("audio_truncated",)
    assert 2000 < recording.duration_ms < 10_900
    missing = recording.caller.missing_ms
    assert missing is None if name == "call.ogg" else missing == 11_000 - recording.duration_ms


def test_a_truncated_flac_keeps_every_sample_before_the_cut(tmp_path):
    data = write_sound(tmp_path / "whole.flac", stereo()).read_bytes()
    recording = decode_bytes(tmp_path, data[: len(data) * 7 // 10])
    n = recording.caller.frames
    whole = soundfile.read(tmp_path / "whole.flac", dtype="float32")[0][:n, 0]
    np.testing.assert_array_equal(
        recording.caller.samples, whole - np.float32(whole.mean(dtype=np.float64))
    )


def test_a_damaged_flac_ends_at_the_damage(tmp_path):
    data = bytearray(write_sound(tmp_path / "whole.flac", stereo()).read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(range(200))
    recording = decode_bytes(tmp_path, bytes(data))
    assert recording.timing_reasons == ("audio_truncated",)
    assert 1000 < recording.duration_ms < 10_000


def ogg_pages(data):
    starts = [at for at in range(len(data)) if data[at : at + 4] == b"OggS"]
    return [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]


def test_an_ogg_that_lacks_a_page_is_damaged(tmp_path):
    pages = ogg_pages(write_sound(tmp_path / "whole.ogg", stereo()).read_bytes())
    del pages[len(pages) // 2]
    recording = decode_bytes(tmp_path, b"".join(pages))
    assert "audio_damaged" in codes(recording)
    assert "audio_damaged" in recording.timing_reasons


def test_an_ogg_without_its_last_mark_is_only_warned_of(tmp_path):
    pages = ogg_pages(write_sound(tmp_path / "whole.ogg", stereo()).read_bytes())
    recording = decode_bytes(tmp_path, b"".join(pages[:-1]))
    assert codes(recording) == ["ogg_unfinished"]
    assert recording.timing_reasons == ()


def ogg_checksum(page):
    """The CRC of Ogg: polynomial 0x04C11DB7, no reflection, over the page with an empty field."""
    crc = 0
    for byte in page[:22] + bytes(4) + page[26:]:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc & 0x80000000 else 0)) & 0xFFFFFFFF
    return struct.pack("<I", crc)


@pytest.mark.parametrize(("pre_skip", "late_ms"), [(0, 6.5), (312, 0), (3840, -73.5)])
def test_opus_pre_skip_is_counted_at_48_khz(tmp_path, pre_skip, late_ms):
    click = np.zeros((16_000, 2), dtype=np.float32)
    click[8000:8016] = 0.8
    write_sound(tmp_path / "whole.ogg", click, format="OGG", codec="OPUS")
    pages = ogg_pages((tmp_path / "whole.ogg").read_bytes())
    head = bytearray(pages[0])
    at = head.find(b"OpusHead") + 10
    assert struct.unpack("<H", head[at : at + 2])[0] == 312
    head[at : at + 2] = struct.pack("<H", pre_skip)
    head[22:26] = ogg_checksum(bytes(head))
    recording = decode_bytes(tmp_path, bytes(head) + b"".join(pages[1:]), "call.ogg")
    assert onset_ms(recording.caller.samples) == pytest.approx(500 + late_ms, abs=1)
    assert recording.duration_ms == pytest.approx(1000 + late_ms, abs=1)


def without_info_frame(data):
    second = next(at for at in range(50, len(data)) if data[at : at + 2] == data[:2])
    return data[second:]


def test_an_mp3_without_info_frame_is_read_to_its_end(tmp_path):
    data = without_info_frame(write_sound(tmp_path / "whole.mp3", stereo()).read_bytes())
    with soundfile.SoundFile(tmp_path / "whole.mp3") as whole:
        frames = whole.frames
    recording = decode_bytes(tmp_path, data)
    assert (codes(recording), recording.timing_reasons) == ([], ())
    assert recording.caller.frames == pytest.approx(frames, abs=2400)
    # Without the info frame the encoder's delay stays: late, and both sides alike.
    assert 0 <= sounding_ms(recording.caller.samples)[0] - 1000 <= 72
    assert 0 <= sounding_ms(recording.agent.samples)[1] - 10_000 <= 90


@pytest.mark.parametrize("mode", ["CONSTANT", "VARIABLE"])
@pytest.mark.parametrize("has_info", [True, False], ids=["info frame", "none"])
def test_a_long_mp3_does_not_drift(tmp_path, mode, has_info):
    click = np.zeros(8000 * 300, dtype=np.float32)
    click[8000 * 299] = 0.9
    with soundfile.SoundFile(
        tmp_path / "a.mp3", "w", 8000, 2, format="MP3", bitrate_mode=mode
    ) as file:
        file.write(np.stack([click, click[::-1]], axis=1))
    data = (tmp_path / "a.mp3").read_bytes()
    recording = decode_bytes(tmp_path, data if has_info else without_info_frame(data), "call.mp3")
    late = 0 if has_info else 72  # 576 samples of encoder delay at 8 kHz
    assert onset_ms(recording.caller.samples) == pytest.approx(299_000 + late, abs=10)


HOSTILE = {
    "one byte": b"R",
    "random bytes": np.random.default_rng(3).bytes(5000),
    "riff of zeros": b"RIFF" + bytes(400),
    "header without fmt": b"RIFF\x24\0\0\0WAVEdata\x04\0\0\0abcd",
    "header cut": wav_bytes(b"")[:30],
    "no channels": wav_bytes(bytes(4000), channels=0),
    "rate 0": wav_bytes(bytes(4000), rate_hz=0),
    "unknown codec": wav_bytes(bytes(4000), tag=0x1234),
    "text": b'{"error": "recording expired"}' * 20,
    "flac magic only": b"fLaC",
    "ogg magic only": b"OggS",
    "mp3 sync only": b"\xff\xf3\x88\x64",
    "id3 loop": b"ID3\x04\0\0\0\0\0\0" * 50,
    "endless chunks": b"RIFF\0\0\0\0WAVE" + b"LIST\0\0\0\0" * 20_000,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_sound_is_refused(tmp_path, data):
    recording = decode_bytes(tmp_path, data)
    assert recording.exclusion_reason == "unreadable_recording"
    assert codes(recording) == ["audio_unreadable"]
    assert "Error opening" not in recording.problems[0].found
    assert len(str(recording.problems[0])) < 500


@pytest.mark.parametrize(
    "data",
    [
        b"",
        wav_bytes(b""),
        wav_bytes(b"", sizes=(704_036, 704_000)),
        wav_bytes(b"", sizes=(0xFFFFFFFF,) * 2),
    ],
    ids=["no byte", "no data", "promised only", "placeholder only"],
)
def test_what_holds_no_sound_is_empty(tmp_path, data):
    recording = decode_bytes(tmp_path, data)
    assert (codes(recording), recording.exclusion_reason) == (
        ["audio_empty"],
        "unreadable_recording",
    )


def test_a_thousand_channels_and_a_rate_of_1_are_no_danger(tmp_path):
    many = decode_bytes(tmp_path, wav_bytes(bytes(2000 * 4), channels=1000))
    assert many.duration_ms == 0
    assert many.caller.frames == 4
    assert codes(decode_bytes(tmp_path, wav_bytes(bytes(4000), rate_hz=1))) == [
        "sample_rate_unsupported"
    ]


@pytest.mark.parametrize(
    ("name", "data", "remedy"),
    [
        ("call.ulaw", b"\xff\x7e" * 4000, "wrap them in a WAV"),
        ("call.raw", bytes(4000), "wrap them in a WAV"),
        ("call.m4a", b"\0\0\0\x20ftypM4A " + bytes(400), "MP4"),
        ("call.webm", b"\x1aE\xdf\xa3" + bytes(400), "WebM"),
    ],
)
def test_the_remedy_says_what_to_do_with_it(tmp_path, name, data, remedy):
    recording = decode_bytes(tmp_path, data, name)
    assert codes(recording) == ["audio_unreadable"]
    assert remedy in recording.problems[0].remedy


@pytest.mark.parametrize("name", ["call.au", "call.snd", "call.raw", "call.mp3"])
def test_a_files_ending_decides_nothing(tmp_path, name):
    recording = decode_bytes(tmp_path, wav_bytes(pcm16(stereo())), name)
    assert (codes(recording), recording.duration_ms) == ([], 11_000)


def test_an_ending_makes_no_sound_of_bytes(tmp_path):
    assert codes(decode_bytes(tmp_path, bytes(range(256)) * 20, "call.au")) == ["audio_unreadable"]


def test_every_bad_file_of_two_is_named(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"no")
    (tmp_path / "b.wav").write_bytes(b"")
    recording = decode(
        tmp_path, AudioFile(file="a.wav", caller=0), AudioFile(file="b.wav", agent=0)
    )
    assert [(p.file, p.code) for p in recording.problems] == [
        ("a.wav", "audio_unreadable"),
        ("b.wav", "audio_empty"),
    ]


def test_decoding_twice_gives_the_same_bytes(tmp_path):
    write_sound(tmp_path / "call.wav", stereo(rate_hz=8000), 8000, codec="ULAW")
    first, second = decode(tmp_path), decode(tmp_path)
    assert first.caller.samples.tobytes() == second.caller.samples.tobytes()


def test_a_real_call_is_read_as_its_truth_says(shared):
    folder = shared / "audio" / "dev" / "dev000_lat_0.2_0.4_0.7_1.0_clean"
    recording = decode(folder, AudioFile(file="call.flac", caller=0, agent=1))
    assert (codes(recording), recording.timing_reasons) == ([], ())
    assert (recording.caller_silent, recording.agent_silent) == (False, False)
    assert recording.caller.samples.size == soundfile.info(folder / "call.flac").frames
