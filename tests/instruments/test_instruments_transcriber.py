"""What becomes of the words that a model gives: field cases F38 and F40, turns, what is kept."""

from __future__ import annotations

import numpy as np
import pytest

from inquesto_core.evidence import make_table
from inquesto_core.instruments.transcriber import (
    NO_SPEECH,
    HeardSide,
    HeardWord,
    Transcriber,
    heard_rows,
    words_in_speech,
)
from inquesto_core.instruments.transcriber_settings import transcriber_settings
from inquesto_core.instruments.transcriber_whisper import WindowWord
from inquesto_core.instruments.transcriber_windows import Piece, Window
from inquesto_core.protocol import load_protocol

SETTINGS = transcriber_settings(load_protocol("inquesto-0.1").instruments.asr)


def ms(*pairs):
    return np.array(pairs, np.int64).reshape(-1, 2)


def word(text, start_ms, end_ms, probability=1.0):
    return WindowWord(word=text, start_ms=start_ms, end_ms=end_ms, probability=probability)


def said(text, start_ms, end_ms, dropped=None):
    return HeardWord(word=text, start_ms=start_ms, end_ms=end_ms, probability=1.0, dropped=dropped)


class Backend:
    """Says the same words of every window, and remembers how many it heard."""

    build = "fake 1"

    def __init__(self, *words):
        self.words = words
        self.heard = 0

    def hear_all(self, sounds):
        self.heard += len(sounds)
        return tuple(self.words for _ in sounds)


class Store(dict):
    find = dict.get
    keep = dict.__setitem__


def transcriber(backend, store=None, **changes):
    return Transcriber(
        backend=backend,
        sha256="0" * 64,
        settings=SETTINGS,
        store=Store() if store is None else store,
        **changes,
    )


def side(*speech, rejected=(), duration_ms=10_000, seed=0):
    samples = np.random.default_rng(seed).standard_normal(duration_ms * 16).astype(np.float32)
    return HeardSide(samples=samples, speech=ms(*speech), rejected=ms(*rejected))


TWO = Window(
    pieces=(
        Piece(at_ms=0, start_ms=1000, end_ms=2000),
        Piece(at_ms=1000, start_ms=5000, end_ms=6000),
    )
)
SPEECH = ms((1000, 2000), (5000, 6000))


def placed(*words, window=TWO, speech=SPEECH):
    pieces = words_in_speech(window, words, speech)
    return [(w.start_ms, w.end_ms, w.dropped) for piece in pieces for w in piece]


def test_f40_a_word_in_the_second_segment_has_its_time_in_the_call():
    assert placed(word("now", 1400, 1600)) == [(5400, 5600, None)]
    assert placed(word("then", 400, 600)) == [(1400, 1600, None)]


def test_a_word_over_a_splice_lies_where_more_of_it_is_and_not_in_what_was_left_out():
    assert placed(word("a", 700, 1100)) == [(1700, 2000, None)]
    assert placed(word("b", 900, 1400)) == [(5000, 5400, None)]


def test_the_times_are_cut_to_speech():
    window = Window(pieces=(Piece(at_ms=0, start_ms=800, end_ms=2200),))
    assert placed(word("a", 0, 400), window=window) == [(1000, 1200, None)]
    assert placed(word("b", 1000, 1400), window=window) == [(1800, 2000, None)]


def test_a_word_without_length_is_one_step_long():
    assert placed(word("a", 400, 400)) == [(1400, 1420, None)]


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "dropped"),
    [(1200, 1400, None), (1200, 1400, NO_SPEECH), (1390, 1390, NO_SPEECH)],
    ids=["touches_by_a_millisecond", "begins_where_speech_ends", "in_the_padding"],
)
def test_f38_a_word_whose_times_hold_no_speech_is_left_out(start_ms, end_ms, dropped):
    window = Window(pieces=(Piece(at_ms=0, start_ms=800, end_ms=2200),))
    speech = ms((1000, 2001 if dropped is None else 2000))
    (found,) = placed(word("you", start_ms, end_ms), window=window, speech=speech)
    assert found[2] == dropped


def test_f38_a_channel_without_speech_has_no_words_and_is_not_heard():
    backend = Backend(word("Thank", 0, 500), word("you", 500, 900))
    assert transcriber(backend).hear(side(rejected=((0, 9000),))) == ()
    assert backend.heard == 0


def test_every_word_kept_touches_speech():
    backend = Backend(*(word(str(at), at * 100, at * 100 + 80) for at in range(25)))
    speech = ((1000, 1500), (1600, 2100), (7000, 7400))
    heard = transcriber(backend).hear(side(*speech))
    assert {w.dropped for w in heard} == {None, NO_SPEECH}
    for w in heard:
        touches = any(low < w.end_ms and w.start_ms < high for low, high in speech)
        assert touches == (w.dropped is None)


def test_what_was_heard_is_not_heard_again():
    backend, store = Backend(word("yes", 300, 600)), Store()
    first = transcriber(backend, store).hear(side((1000, 2000)))
    assert transcriber(backend, store).hear(side((1000, 2000))) == first
    assert backend.heard == 1
    transcriber(backend, store).hear(side((1000, 2000), seed=1))
    assert backend.heard == 2


def test_another_model_or_build_hears_anew():
    backend, store = Backend(word("yes", 300, 600)), Store()
    transcriber(backend, store).hear(side((1000, 2000)))
    other = Backend(word("no", 300, 600))
    other.build = "fake 2"
    (found,) = transcriber(other, store).hear(side((1000, 2000)))
    assert found.word == "no"


def rows(**heard):
    found = heard_rows("c1", heard, turn_pause_ms=SETTINGS.turn_pause_ms)
    return {name: make_table(name, part) for name, part in found.items()}


def turns(**heard):
    return rows(**heard)["asr_turns"].select("speaker", "text", "start_ms", "end_ms").rows()


def test_words_are_one_turn_up_to_the_longest_pause():
    near = (said("Yes,", 0, 300), said("please.", 1300, 1700))
    far = (said("Yes,", 0, 300), said("please.", 1301, 1700))
    assert turns(caller=near) == [("caller", "Yes, please.", 0, 1700)]
    assert [row[1] for row in turns(caller=far)] == ["Yes,", "please."]


def test_a_pause_in_which_the_other_side_begins_parts_two_turns():
    agent = (said("Hello.", 0, 500), said("Sure.", 1200, 1500))
    assert [row[1] for row in turns(agent=agent, caller=(said("Hi.", 600, 900),))] == [
        "Hello.",
        "Hi.",
        "Sure.",
    ]


def test_words_left_out_are_kept_as_evidence_and_are_in_no_turn():
    found = rows(
        caller=(said("Yes", 0, 300), said("you", 400, 600, NO_SPEECH), said("no", 700, 900))
    )
    assert found["asr_turns"]["text"].to_list() == ["Yes no"]
    assert found["asr_turns"]["n_words"].to_list() == [2]
    assert found["asr_words"].select("turn", "dropped").rows() == [
        (0, None),
        (None, NO_SPEECH),
        (0, None),
    ]


def test_a_side_that_says_nothing_has_no_turn():
    assert turns(caller=(), agent=(said("x", 0, 10, NO_SPEECH),)) == []


class Forgetful:
    """Passes over all of a window but its first half second, unless it is short enough."""

    build = "fake 1"

    def __init__(self):
        self.lengths = []

    def hear_all(self, sounds):
        self.lengths += [sound.size // 16 for sound in sounds]
        return tuple(
            (word("first", 250, 450),)
            if sound.size > 3000 * 16
            else tuple(word(f"w{at}", 200 + at, 300 + at) for at in range(0, 1000, 100))
            for sound in sounds
        )


@pytest.mark.parametrize(("length_ms", "times"), [(499, 1), (500, 2)])
def test_a_piece_without_a_word_is_heard_again_alone(length_ms, times):
    backend = Forgetful()
    heard = transcriber(backend).hear(side((1000, 2300), (5000, 5000 + length_ms)))
    texts = [w.word for w in heard]
    # The first piece lacks words too, and is heard again from 1000 ms on.
    assert texts[0] == "w0" and len(backend.lengths) == 1 + times
    assert ("w100" in texts[10:]) == (times == 2)


@pytest.mark.parametrize(("end_ms", "again"), [(2199, False), (2200, True)])
def test_a_piece_of_which_a_second_has_no_word_is_heard_again(end_ms, again):
    backend = Forgetful()
    transcriber(backend).hear(side((1000, end_ms), (5000, 5400), (7000, 7400)))
    assert (len(backend.lengths) == 2) == again


def test_hearing_again_counts_only_where_it_gives_more():
    backend = Backend(word("one", 250, 450))
    heard = transcriber(backend).hear(side((1000, 2500), (5000, 5400)))
    assert [w.word for w in heard] == ["one"]
    assert backend.heard == 2


def test_a_window_of_one_piece_is_not_heard_twice():
    backend = Backend()
    transcriber(backend).hear(side((1000, 9000)))
    assert backend.heard == 1
