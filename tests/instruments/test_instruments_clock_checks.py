from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from inquesto_core.bundle import Transcript, TranscriptTurn, Word
from inquesto_core.instruments.clock_checks import check_clock
from inquesto_core.instruments.intervals import joined
from inquesto_core.instruments.recording_faults import rate_of_scale
from inquesto_core.instruments.side_checks import swapped_fault
from inquesto_core.instruments.turn_anchors import find_anchors, timed_spurts
from inquesto_core.protocol import load_protocol

LIMITS = load_protocol("inquesto-0.1").recording_faults
RATES = {"caller": 16_000, "agent": 16_000}
#: Ten exchanges of turns of different lengths, one every 9 s.
CALLER = [(9000 * k + 300, 9000 * k + 2000 + 137 * k) for k in range(10)]
AGENT = [(9000 * k + 4500, 9000 * k + 6600 + 91 * k) for k in range(10)]


def transcript(caller=CALLER, agent=AGENT, *, ends=True):
    timed = [("caller", *span) for span in caller] + [("agent", *span) for span in agent]
    return Transcript(
        turns=tuple(
            TranscriptTurn(
                speaker=side, text="as you say", start_ms=start, end_ms=end if ends else None
            )
            for side, start, end in sorted(timed, key=lambda turn: turn[1])
        )
    )


def heard(caller=CALLER, agent=AGENT):
    return {
        "caller": np.array(caller, dtype=np.int64).reshape(-1, 2),
        "agent": np.array(agent, dtype=np.int64).reshape(-1, 2),
    }


def check(told, speech, duration_ms=90_000, limits=LIMITS):
    return check_clock(told, speech, duration_ms=duration_ms, sample_rates_hz=RATES, limits=limits)


def codes(found):
    return {fault.code: fault for fault in found.faults}


def later(spans, by_ms, since_ms=0):
    return [(a + by_ms, b + by_ms) if a >= since_ms else (a, b) for a, b in spans]


def test_a_recording_that_keeps_the_clock_has_no_fault_and_two_steady_sides():
    found = check(transcript(), heard())
    assert found.faults == ()
    assert found.steady == {"caller", "agent"}


@pytest.mark.parametrize("ends", [True, False], ids=["with ends", "starts alone"])
@pytest.mark.parametrize(("by_ms", "conflict"), [(-300, False), (-301, True), (301, True)])
def test_a_step_between_two_turns_counts_above_its_limit(ends, by_ms, conflict):
    speech = heard(agent=later(AGENT, by_ms, 45_000))
    found = codes(check(transcript(ends=ends), speech))
    assert ("clock_conflict" in found) == conflict
    if conflict:
        fault = found["clock_conflict"]
        assert (fault.side, fault.quantity, fault.value) == ("agent", "step_ms", by_ms)
        assert (fault.level, fault.limit) == ("timing", 300)


@pytest.mark.parametrize(("lost_ms", "mismatch"), [(-500, False), (-501, True), (-5000, True)])
def test_time_lost_inside_a_track_counts_above_its_limit(lost_ms, mismatch):
    found = codes(check(transcript(), heard(caller=later(CALLER, lost_ms, 45_000))))
    assert ("duration_mismatch" in found) == mismatch
    if mismatch:
        fault = found["duration_mismatch"]
        assert (fault.side, fault.value, fault.limit) == ("caller", lost_ms, 500)


@pytest.mark.parametrize(("scale", "conflict"), [(1.0045, False), (1.0055, True), (0.9945, True)])
def test_a_drift_counts_above_half_a_percent(scale, conflict):
    speech = {side: np.round(spans * scale).astype(np.int64) for side, spans in heard().items()}
    found = codes(check(transcript(), speech))
    assert ("clock_conflict" in found) == conflict
    if conflict:
        assert found["clock_conflict"].quantity == "scale"
        assert found["clock_conflict"].value == pytest.approx(scale, abs=1e-4)


@pytest.mark.parametrize(("true_hz", "scale"), [(8000, 0.5), (24_000, 1.5), (48_000, 3.0)])
def test_a_wrong_rate_is_named(true_hz, scale):
    speech = {side: np.round(spans * scale).astype(np.int64) for side, spans in heard().items()}
    fault = codes(check(transcript(), speech, duration_ms=round(90_000 * scale)))["clock_conflict"]
    assert fault.value == pytest.approx(scale)
    assert f"recorded at {true_hz} Hz, but the header says 16000 Hz" in fault.problem.remedy


@pytest.mark.parametrize(("turns", "conflict"), [(1, False), (2, True)])
def test_three_turns_that_are_found_are_needed(turns, conflict):
    caller, agent = CALLER[:2], AGENT[:turns]
    speech = heard(caller, later(agent, 800, 9000) if turns == 2 else later(agent, 800))
    few = check(transcript(caller, agent), speech, limits=replace(LIMITS, min_anchors=4))
    assert ("clock_conflict" in codes(few)) == conflict


def test_a_constant_shift_of_one_side_names_the_offset_to_state():
    fault = codes(check(transcript(), heard(caller=later(CALLER, 600))))["clock_conflict"]
    assert '"channel_offset_ms": {"caller": -600}' in fault.problem.remedy


@pytest.mark.parametrize("by_ms", [-4000, 1500, 7000])
def test_a_shift_of_both_sides_is_only_said(by_ms):
    caller, agent = later(CALLER, 8000), later(AGENT, 8000)
    speech = heard(later(caller, by_ms), later(agent, by_ms))
    found = check(transcript(caller, agent), speech, duration_ms=120_000)
    (fault,) = found.faults
    assert (fault.code, fault.level) == ("transcript_shifted", "warning")
    assert fault.value == pytest.approx(by_ms, abs=1)


@pytest.mark.parametrize(("duration_ms", "mismatch"), [(85_000, False), (84_999, True)])
def test_a_turn_that_begins_after_the_recording_has_ended_counts_above_its_limit(
    duration_ms, mismatch
):
    found = codes(check(transcript(), heard(agent=AGENT[:-1]), duration_ms=duration_ms))
    assert ("duration_mismatch" in found) == mismatch


@pytest.mark.parametrize("seed", range(20))
def test_times_that_are_written_loosely_are_no_fault_of_the_recording(seed):
    rng = np.random.default_rng(seed)
    loose = [
        [tuple(int(at + rng.uniform(-150, 150)) for at in span) for span in spans]
        for spans in (CALLER, AGENT)
    ]
    assert check(transcript(*loose), heard()).faults == ()


@pytest.mark.parametrize("seed", range(20))
def test_starts_of_generation_instead_of_playback_are_no_fault_of_the_recording(seed):
    rng = np.random.default_rng(seed)
    early = [(int(a - rng.uniform(200, 1500)), b) for a, b in AGENT]
    assert check(transcript(CALLER, early), heard()).faults == ()


def test_nothing_timed_or_nothing_heard_is_nothing_found():
    untimed = Transcript(turns=(TranscriptTurn(speaker="agent", text="hello"),))
    for told in (None, Transcript(), untimed):
        assert check(told, heard([], AGENT)).faults == ()
    assert check(transcript(), heard([], [])).faults == ()


def test_words_say_when_a_turn_was_spoken():
    words = (
        Word(word="as", start_ms=1000, end_ms=1100),
        Word(word="you", start_ms=1200, end_ms=1900),
    )
    turn = TranscriptTurn(speaker="agent", text="as you", start_ms=0, end_ms=9000, words=words)
    (spurt,) = timed_spurts(Transcript(turns=(turn,)), LIMITS.pause_join_ms)
    assert (spurt.start_ms, spurt.end_ms) == (1000, 1900)


@pytest.mark.parametrize(("gap_ms", "count"), [(500, 1), (501, 2)])
def test_turns_of_one_side_are_one_up_to_the_pause_limit(gap_ms, count):
    told = transcript([(0, 1000), (1000 + gap_ms, 3000)], [])
    assert len(timed_spurts(told, LIMITS.pause_join_ms)) == count
    spans = np.array([(0, 1000), (1000 + gap_ms, 3000)])
    assert len(joined(spans, LIMITS.pause_join_ms)) == count


@pytest.mark.parametrize(("longer_ms", "found"), [(150, 1), (151, 0)])
def test_an_anchor_is_as_long_as_its_turn(longer_ms, found):
    spurts = timed_spurts(transcript([(1000, 2000)], []), LIMITS.pause_join_ms)
    speech = heard([(1000, 2000 + longer_ms)], [])
    assert len(find_anchors(spurts, speech, LIMITS)) == found


@pytest.mark.parametrize(
    ("scale", "rate_hz"), [(1.0, None), (0.5, 8000), (1.49, 24_000), (1.3, None)]
)
def test_a_scale_names_a_usual_rate_within_one_percent(scale, rate_hz):
    assert rate_of_scale(scale, 16_000, LIMITS) == rate_hz


def test_exchanged_sides_are_swapped_and_the_map_is_to_be_corrected():
    found = check(transcript(), heard(AGENT, CALLER))
    (fault,) = found.faults
    assert (fault.code, fault.level) == ("channels_swapped", "timing")
    assert "exchange" in fault.problem.remedy
    assert found.steady == frozenset()


def untimed(caller_words, agent_words):
    return Transcript(
        turns=(
            TranscriptTurn(speaker="agent", text="word " * agent_words),
            TranscriptTurn(speaker="caller", text="word " * caller_words),
        )
    )


@pytest.mark.parametrize(("agent_words", "suspected"), [(35, False), (36, True)])
def test_a_side_that_speaks_faster_than_anyone_raises_a_suspicion(agent_words, suspected):
    speech = heard([(1000, 13_000)], [(0, 5000)])
    fault = swapped_fault(untimed(20, agent_words), speech, LIMITS)
    assert (fault is not None) == suspected
    if fault is not None:
        assert (fault.code, fault.side, fault.level) == (
            "channel_swap_suspected",
            "agent",
            "warning",
        )
        assert fault.value == pytest.approx(7.2)


@pytest.mark.parametrize(("lead_ms", "suspected"), [(500, False), (501, True)])
def test_another_side_that_sounds_first_raises_a_suspicion(lead_ms, suspected):
    told = transcript([], [(400, 1400)])
    speech = heard([(0, 1000)], [(lead_ms, lead_ms + 1000)])
    fault = swapped_fault(told, speech, LIMITS)
    assert (fault is not None) == suspected
    if fault is not None:
        assert (fault.code, fault.quantity, fault.value) == (
            "channel_swap_suspected",
            "lead_ms",
            lead_ms,
        )
