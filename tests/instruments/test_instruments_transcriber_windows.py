"""Which sound is heard together, and where it lies in the call."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.instruments.transcriber_settings import transcriber_settings
from inquesto_core.instruments.transcriber_windows import sound_of, speech_pieces, speech_windows
from inquesto_core.protocol import load_protocol

SETTINGS = transcriber_settings(load_protocol("inquesto-0.1").instruments.asr)


def ms(*pairs):
    return np.array(pairs, np.int64).reshape(-1, 2)


def sound(duration_ms):
    return np.arange(1, duration_ms * 16 + 1, dtype=np.float32)


def windows(*speech, duration_ms=100_000, rejected=()):
    found = speech_windows(sound(duration_ms), ms(*speech), ms(*rejected), SETTINGS)
    return [[(p.at_ms, p.start_ms, p.end_ms) for p in window.pieces] for window in found]


def test_without_speech_there_is_nothing_to_hear():
    assert windows() == []


def test_a_segment_is_heard_with_a_little_of_what_is_beside_it():
    assert windows((1000, 2000)) == [[(0, 800, 2200)]]
    assert windows((100, 900), duration_ms=1000) == [[(0, 0, 1000)]]


def test_pieces_keep_their_pause_up_to_the_longest():
    assert windows((1000, 2000), (2800, 3000)) == [[(0, 800, 2200), (1800, 2600, 3200)]]
    assert windows((1000, 2000), (9000, 9500)) == [[(0, 800, 2200), (1900, 8800, 9700)]]


@pytest.mark.parametrize(
    ("rejected", "piece"),
    [
        pytest.param((2100, 2300), (800, 2100), id="after"),
        pytest.param((700, 950), (950, 2200), id="before"),
        pytest.param((2000, 3000), (800, 2000), id="touching"),
        pytest.param((2200, 3000), (800, 2200), id="just_out_of_reach"),
    ],
)
def test_no_padding_reaches_into_what_is_rejected(rejected, piece):
    (found,) = speech_pieces(ms((1000, 2000)), ms(rejected), duration_ms=9000, pad_ms=200).tolist()
    assert tuple(found) == piece


def test_a_window_is_closed_where_the_next_piece_would_make_it_too_long():
    limit = SETTINGS.window_ms
    first = limit - 400 - 500 - 1400
    fits = [(1000, 1000 + first), (50_000, 51_000)]
    assert len(windows(*fits)) == 1
    assert len(windows((1000, 1001 + first), (50_000, 51_000))) == 2


def test_speech_that_does_not_pause_is_cut_where_it_is_quietest():
    loud = np.ones(60_000 * 16, np.float32)
    loud[26_000 * 16 : 26_020 * 16] = 0
    found = speech_windows(loud, ms((0, 40_000)), ms(), SETTINGS)
    assert [(w.pieces[0].start_ms, w.pieces[-1].end_ms) for w in found] == [
        (0, 26_010),
        (26_010, 40_200),
    ]
    assert max(window.length_ms for window in found) <= SETTINGS.window_ms


def test_a_window_holds_its_pieces_and_silence():
    samples = sound(20_000)
    (window,) = speech_windows(samples, ms((1000, 2000), (9000, 9500)), ms(), SETTINGS)
    heard = sound_of(window, samples)
    assert heard.size == window.length_ms * 16
    np.testing.assert_array_equal(heard[: 1400 * 16], samples[800 * 16 : 2200 * 16])
    assert not heard[1400 * 16 : 1900 * 16].any()
    np.testing.assert_array_equal(heard[1900 * 16 :], samples[8800 * 16 : 9700 * 16])


@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(30, 40_000)), min_size=1, max_size=8))
def test_every_segment_is_heard_once_in_windows_short_enough(lengths):
    at, speech = 0, []
    for gap, length in lengths:
        speech.append((at + gap, at + gap + length))
        at += gap + length
    samples = np.zeros((at + 500) * 16, np.float32)
    found = speech_windows(samples, ms(*speech), ms(), SETTINGS)
    pieces = [piece for window in found for piece in window.pieces]
    assert all(window.length_ms <= SETTINGS.window_ms for window in found)
    assert all(one.end_ms <= other.start_ms for one, other in pairwise(pieces))
    heard = np.zeros(at + 500, int)
    for piece in pieces:
        heard[piece.start_ms : piece.end_ms] += 1
    assert all((heard[start:end] == 1).all() for start, end in speech)
