"""Stretches cut at tones and music: what the spectrum shows, and what the VAD keeps."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import soundfile
import soxr
from sounds import RINGBACK_HZ, arpeggio, noise, tone
from spoken import PROTOCOL, say, vad

from inquesto_core.instruments.level import level_db
from inquesto_core.instruments.not_speech import separate, without_not_speech
from inquesto_core.instruments.partials import NotSpeechLimits
from inquesto_core.instruments.speech import SpeechParameters, find_speech

PARAMETERS = SpeechParameters.of(PROTOCOL.instruments.vad.parameters)
LIMITS = NotSpeechLimits.of(PROTOCOL.instruments.not_speech)
NOTHING = np.zeros((0, 2), np.int64)
DIGIT_HZ = (770.0, 1336.0)


def kinds(sound, regions=NOTHING, *, limits=LIMITS, parameters=PARAMETERS):
    """Return the pieces of one stretch that is the whole sound."""
    stretch = np.array([[0, len(sound) // 16]])
    found = separate(
        sound, stretch, np.array(regions).reshape(-1, 2), parameters=parameters, limits=limits
    )
    return list(zip(*found.intervals.T.tolist(), found.rejected, strict=True))


def measured(sound):
    """Return a channel's stretches as the detector gives them, cut."""
    level = level_db(sound, window_ms=PARAMETERS.level_window_ms, highpass_hz=60)
    probability = vad().probabilities(sound)
    speech = find_speech(level, probability, frame_ms=32, join_ms=100, parameters=PARAMETERS)
    return without_not_speech(
        speech, sound, level, probability, frame_ms=32, parameters=PARAMETERS, limits=LIMITS
    )


@pytest.mark.parametrize(
    ("sound", "kind"),
    [
        pytest.param(tone(DIGIT_HZ, 100), "dtmf", id="digit"),
        pytest.param(tone(RINGBACK_HZ, 800), "tone", id="ringback"),
        pytest.param(tone(1000.0, 200), "tone", id="beep"),
        pytest.param(arpeggio(1500), "music", id="strings"),
    ],
)
def test_a_sound_that_the_vad_leaves_out_gets_its_kind(sound, kind):
    assert {piece[2] for piece in kinds(sound)} == {kind}


@pytest.mark.parametrize(
    ("high_db", "kind"), [(7.5, "dtmf"), (-7.5, "dtmf"), (8.5, None), (-8.5, None)]
)
def test_a_digits_tones_differ_by_at_most_8_db(high_db, kind):
    low, high = DIGIT_HZ
    pair = tone(low, 100) + 10 ** (high_db / 20) * tone(high, 100)
    assert kinds(pair.astype(np.float32)) == [(0, 100, kind)]


@pytest.mark.parametrize(("hz_factor", "kind"), [(1.016, "dtmf"), (1.021, None)])
def test_a_digits_tones_lie_on_the_keypads_grid(hz_factor, kind):
    assert kinds(tone([hz * hz_factor for hz in DIGIT_HZ], 100)) == [(0, 100, kind)]


@pytest.mark.parametrize(("noise_db", "kind"), [(-8.0, "dtmf"), (0.0, None)])
def test_a_digit_holds_four_fifths_of_the_energy(noise_db, kind):
    loud = 20 * np.log10(0.05)
    sound = tone(DIGIT_HZ, 100) + noise(100, loud + noise_db)
    assert {piece[2] for piece in kinds(sound)} == {kind}


@pytest.mark.parametrize(("length_ms", "kind"), [(160, "tone"), (120, None)])
def test_a_tone_lasts_144_ms(length_ms, kind):
    assert kinds(tone(1000.0, length_ms)) == [(0, length_ms, kind)]


@pytest.mark.parametrize(
    ("taken_ms", "kind"), [pytest.param(60, "tone", id="less"), pytest.param(120, None, id="more")]
)
def test_the_vad_may_keep_a_short_tone(taken_ms, kind):
    assert kinds(tone(1000.0, 200), [(0, taken_ms)])[0][2] == kind


def test_a_pure_digit_is_one_even_where_the_vad_lasts_after_a_word():
    assert kinds(tone(DIGIT_HZ, 100), [(0, 100)]) == [(0, 100, "dtmf")]


def test_a_gliding_partial_is_no_tone():
    time = np.arange(16_000) / 16_000
    glide = (0.05 * np.sin(2 * np.pi * (400 * time + 200 * time**2))).astype(np.float32)
    assert kinds(glide, [(0, 1000)]) == [(0, 1000, None)]


def test_a_word_before_ringback_stays_and_the_ringback_goes():
    word = say("caller", 8000, 0)
    found = kinds(np.concatenate([word, tone(RINGBACK_HZ, 2000)]), [(0, 560)])
    assert [kind for *_, kind in found] == [None, "tone"]
    assert found[0][1] == pytest.approx(500, abs=40)


def test_only_what_the_vad_takes_stays_of_long_noise():
    found = kinds(noise(3000, -30), [(1000, 1300)])
    assert found == [
        (0, 1000 - PARAMETERS.attach_before_ms, "not_speech"),
        (1000 - PARAMETERS.attach_before_ms, 1300 + PARAMETERS.attach_ms, None),
        (1300 + PARAMETERS.attach_ms, 3000, "not_speech"),
    ]


@pytest.mark.parametrize(
    ("length_ms", "kind"),
    [(LIMITS.max_unvoiced_ms, None), (LIMITS.max_unvoiced_ms + 1, "not_speech")],
)
def test_long_sound_without_any_speech_is_none_however_near(length_ms, kind):
    assert kinds(noise(length_ms, -30)) == [(0, length_ms, kind)]


@pytest.mark.parametrize(("length_ms", "stays"), [(250, True), (249, False)])
def test_a_short_blip_in_long_noise_is_no_speech(length_ms, stays):
    found = kinds(noise(3000, -30), [(1000, 1000 + length_ms)])
    assert (None in {kind for *_, kind in found}) == stays


def test_short_sounds_between_music_are_music():
    music = arpeggio(1500)
    sound = np.concatenate([music, np.zeros(2400, np.float32), noise(60, -30)])
    sound = np.concatenate([sound, np.zeros(2400, np.float32), music])
    stretches = np.array([[0, 1500], [1650, 1710], [1860, 3360]])
    found = separate(sound, stretches, NOTHING, parameters=PARAMETERS, limits=LIMITS)
    assert set(found.rejected) == {"music"}
    alone = separate(sound, stretches[:2], NOTHING, parameters=PARAMETERS, limits=LIMITS)
    assert alone.rejected[-1] is None


def test_a_cut_leaves_no_silence_at_the_edge_of_speech():
    word, pause = say("caller", 12_800, 3), np.zeros(1280, np.float32)
    still = np.zeros(8000, np.float32)
    sound = np.concatenate([still, word, pause, tone(1000.0, 400), still])
    speech = measured(sound)
    assert speech.accepted[-1, 1] == pytest.approx(500 + 800, abs=20)
    assert "tone" in speech.rejected


def test_no_stretches_give_none():
    found = separate(np.zeros(1600, np.float32), NOTHING, NOTHING, parameters=PARAMETERS,
                     limits=LIMITS)  # fmt: skip
    assert found.rejected == ()
    assert found.intervals.shape == (0, 2)
    assert measured(np.zeros(1600, np.float32)).rejected == ()


def test_every_limit_is_the_protocols():
    names = {field.name for field in dataclasses.fields(NotSpeechLimits)}
    assert names == set(PROTOCOL.instruments.not_speech)


def test_no_true_speech_of_the_built_calls_is_rejected(shared):
    rejected_ms, speech_ms = 0, 0
    for path in sorted(shared.glob("audio/dev/*/truth.json")):
        truth = json.loads(path.read_bytes())
        if truth["condition"]["name"] not in {"clean", "tel", "telsteep"}:
            continue
        sound, _ = soundfile.read(path.parent / "call.flac", dtype="float32")
        for number, side in enumerate(truth["channels"]):
            found = measured(np.ascontiguousarray(sound[:, number]))
            said = np.zeros(len(sound) // 16 + 1000, dtype=bool)
            for utterance in truth["utterances"]:
                for start, end in utterance["segments_s"] if utterance["channel"] == side else ():
                    said[round(1000 * start) : round(1000 * end)] = True
            speech_ms += int(said.sum())
            for (start, end), kind in zip(found.intervals, found.rejected, strict=True):
                rejected_ms += int(said[start:end].sum()) if kind else 0
    assert speech_ms > 600_000
    assert rejected_ms == 0


@pytest.mark.parametrize(
    "file",
    ["jfk_11s.flac", "librispeech_1995_1837_0001.wav", "silero_test.wav", "tau2_check_order.wav"],
)
def test_nothing_of_recorded_speech_is_rejected(shared, file):
    sound, rate_hz = soundfile.read(shared / "audio/real" / file, dtype="float32", always_2d=True)
    at_16k = soxr.resample(sound[:, 0], rate_hz, 16_000).astype(np.float32)
    assert set(measured(at_16k).rejected) == {None}
