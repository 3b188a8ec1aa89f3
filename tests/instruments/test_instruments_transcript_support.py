"""Field cases F38, F39 and F41 on a platform's transcript: words that nobody spoke are withheld."""

from __future__ import annotations

import numpy as np
import pytest
from spoken import listen, make_bundle, spoken, turns_of

from inquesto_core.bundle.call import Transcript, TranscriptTurn
from inquesto_core.instruments.transcript_support import supported_turns
from inquesto_core.protocol import load_protocol

LIMITS = load_protocol("inquesto-0.1").recording_faults


def ms(*pairs):
    return np.array(pairs, np.int64).reshape(-1, 2)


def supported(turns, *speech):
    transcript = Transcript(
        source=None,
        turns=tuple(
            TranscriptTurn(
                speaker="caller", text=text, heard_text=None, start_ms=start, end_ms=end, words=()
            )
            for text, start, end in turns
        ),
    )
    return supported_turns(transcript, {"caller": ms(*speech)}, LIMITS)


def test_f38_a_phrase_on_the_silent_tail_is_unsupported():
    turns = [("Hi", 0, 2000), ("Yes", 4000, 5000), ("Thank you for watching", 7000, 8000)]
    assert supported(turns, (0, 2000), (4000, 5000)) == (True, True, False)


@pytest.mark.parametrize(("speech_ms", "expected"), [(199, False), (200, True)])
def test_f38_a_fifth_of_its_length_is_enough(speech_ms, expected):
    turns = [("Hi", 0, 1000), ("Yes", 1000, 2000), ("you", 7000, 8000)]
    speech = (0, 1000), (1000, 2000), (7000, 7000 + speech_ms)
    # A claimed neighbour keeps the speech from being free.
    turns.append(("you", 7000, 7000 + speech_ms))
    assert supported(turns, *speech)[2] is expected


def test_f38_a_side_that_never_speaks_has_no_turns():
    assert supported([("Thank you", 1000, 2000), ("bye", 3000, 3500)]) == (False, False)


def test_f39_a_turn_stamped_over_the_silence_before_it_keeps_its_words():
    turns = [("Hello there", 0, 6000), ("Yes", 8000, 9000)]
    assert supported(turns, (5100, 6000), (8000, 9000)) == (True, True)


def test_f39_a_turn_stamped_long_before_its_speech_belongs_to_the_next_speech_that_is_free():
    turns = [("Hello there", 0, 1500), ("Yes", 40_000, 41_000)]
    assert supported(turns, (25_000, 26_500), (40_000, 41_000)) == (True, True)


def test_f39_a_turn_stamped_late_belongs_to_speech_within_reach():
    late = [("a", 0, 1000), ("b", 3500, 3900), ("c", 9000, 9900)]
    speech = (0, 1000), (2000, 2600), (9000, 9900)
    assert supported(late, *speech) == (True, True, True)
    out_of_reach = [("a", 0, 1000), ("b", 3600, 3900), ("c", 9000, 9900)]
    assert supported(out_of_reach, *speech) == (True, False, True)


def test_f41_a_turn_without_times_is_not_known():
    assert supported([("Hi", None, None), ("Yes", 0, 500)], (0, 500)) == (None, True)


def test_where_most_turns_would_go_the_clock_is_in_doubt_and_nothing_is_said():
    turns = [("a", 50_000, 51_000), ("b", 52_000, 53_000), ("c", 54_000, 55_000)]
    assert supported(turns, (0, 900)) == (None, None, None)


def test_a_side_whose_speech_is_not_known_is_left_alone():
    transcript = Transcript(
        source=None,
        turns=(
            TranscriptTurn(
                speaker="agent", text="Hi", heard_text=None, start_ms=0, end_ms=500, words=()
            ),
        ),
    )
    assert supported_turns(transcript, {"caller": ms()}, LIMITS) == (None,)


def heard_turns(folder, *more):
    rows = listen(make_bundle(folder, spoken(), turns=[*turns_of(), *more]))
    return rows, {row["text"]: row for row in rows["transcript"]}


def test_f38_what_nobody_said_is_kept_and_read_by_nobody(tmp_path):
    phrase = {
        "speaker": "caller",
        "text": "Thank you for watching",
        "start_ms": 7000,
        "end_ms": 8000,
    }
    rows, turns = heard_turns(tmp_path, phrase)
    found = turns["Thank you for watching"]
    assert (found["supported"], found["heard_text"], found["n_words"]) == (False, "", 0)
    assert [row["supported"] for row in rows["transcript"]] == [True] * 4 + [False]
    assert rows["calls"][0]["timing_reasons"] == []
    assert "transcript_unsupported" in rows["calls"][0]["warnings"]


def test_f39_a_turn_stamped_from_the_beginning_moves_no_wait_and_keeps_its_words(tmp_path):
    plain, _ = heard_turns(tmp_path / "plain")
    early = turns_of()
    early[2] = {**early[2], "text": "stamped early", "start_ms": 0, "end_ms": 6000}
    rows = listen(make_bundle(tmp_path / "early", spoken(), turns=early))
    assert rows["segments"] == plain["segments"]
    assert rows["calls"][0]["timing_reasons"] == []
    assert all(row["supported"] for row in rows["transcript"])
    assert "transcript_unsupported" not in rows["calls"][0]["warnings"]


def test_f41_a_transcript_of_zeros_keeps_its_words(tmp_path):
    turns = [{**turn, "start_ms": 0, "end_ms": 0} for turn in turns_of()]
    rows = listen(make_bundle(tmp_path, spoken(), turns=turns))
    assert {(row["supported"], row["heard_text"]) for row in rows["transcript"]} == {(None, None)}
    assert all(row["n_words"] == 3 for row in rows["transcript"])


def test_where_the_transcripts_clock_is_another_nothing_is_withheld(tmp_path):
    turns = [
        {**turn, "start_ms": turn["start_ms"] + 3000, "end_ms": turn["end_ms"] + 3000}
        for turn in turns_of()
    ]
    rows = listen(make_bundle(tmp_path, spoken(), turns=turns))
    assert not any(row["supported"] is False for row in rows["transcript"])
