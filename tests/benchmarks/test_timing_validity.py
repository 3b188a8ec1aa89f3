"""The metrics of timing validity on calls small enough to check by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from benchmarks.timing_baselines import energy_segments, silero_segments
from benchmarks.timing_clips import Clip, compare_clips
from benchmarks.timing_figures import ALL, by_condition, figures, uncertainty
from benchmarks.timing_metrics import (
    CallErrors,
    Counts,
    class_of,
    compare_call,
    join_runs,
    margin_ms,
    pair_nearest,
    sum_up,
)
from benchmarks.timing_plots import distribution_svg
from benchmarks.timing_truth import Events, Reply, Sound, TalkOver, Truth, apply_rules, read_truths
from benchmarks.timing_validity import main
from inquesto_core.protocol import load_protocol

JSON_KEYS = [
    "condition",
    "calls",
    "onsets_true",
    "onsets_found",
    "onset_abs_p50_ms",
    "onset_abs_p95_ms",
    "offset_abs_p50_ms",
    "offset_abs_p95_ms",
    "offset_bias_ms",
    "latency_abs_p50_ms",
    "latency_abs_p95_ms",
    "false_segments_per_min",
    "talk_over",
    "slow_or_none",
    "not_evaluated_calls",
]


def sound(caller=(), agent=(), duration_ms=60_000):
    return Sound(caller=tuple(caller), agent=tuple(agent), duration_ms=duration_ms)


def events(*, utterances=(), turns=(), talk_overs=(), replies=()):
    return Events(
        agent_turns=tuple(turns),
        utterances=tuple(utterances),
        talk_overs=tuple(TalkOver(at_ms=at, value_ms=value) for at, value in talk_overs),
        replies=tuple(
            Reply(start_ms=a, end_ms=b, status=status, value_ms=value)
            for a, b, status, value in replies
        ),
    )


def truth(condition="clean", *, heard=None, told=None, core_ends=None, **hanging):
    return Truth(
        call_id="call",
        condition=condition,
        audio=Path("call.flac"),
        caller_channel=0,
        agent_channel=1,
        sound=heard or sound(),
        core_ends=core_ends or {},
        events=told or events(),
        **hanging,
    )


def compare(true, heard=None, measured=None, *, is_evaluated=True):
    return compare_call(
        true,
        heard or sound(),
        measured or events(),
        is_evaluated=is_evaluated,
        talk_over_ms=500,
        slow_turn_ms=3000,
    )


@pytest.mark.parametrize(
    ("condition", "name", "margin"),
    [
        ("clean", "clean", 50),
        ("low35", "clean", 50),
        ("dc", "clean", 50),
        ("clipped", "clean", 50),
        ("tel", "telephone", 60),
        ("telsteep", "telephone", 60),
        ("echo20_60", "echo", 40),
        ("babble10", "babble", 150),
        ("crowd10", "babble", 150),
        ("tv10", "television", 150),
        ("television", "television", 150),
        ("tv5", "background_hard", 150),
        ("tel_babble10", "background_hard", 150),
        ("tel_crowd10", "background_hard", 150),
    ],
)
def test_a_condition_has_the_class_and_margin_of_the_words_in_its_name(condition, name, margin):
    assert (class_of(condition), margin_ms(condition)) == (name, margin)


def test_segments_are_one_run_over_a_pause_of_300_ms_and_two_over_301():
    assert join_runs([(1300, 1500), (0, 1000)]) == [(0, 1500)]
    assert join_runs([(0, 1000), (1301, 1500)]) == [(0, 1000), (1301, 1500)]


def test_an_onset_600_ms_away_is_found_and_one_601_ms_away_is_missed():
    assert pair_nearest([1000], [1600], within_ms=600) == [(0, 0)]
    assert pair_nearest([1000], [1601], within_ms=600) == []


def test_one_measured_onset_stands_for_one_true_onset_only():
    assert pair_nearest([1000, 1500], [1400], within_ms=600) == [(1, 0)]


def test_as_many_onsets_are_paired_as_can_be():
    assert pair_nearest([1000, 1500], [1450, 2050], within_ms=600) == [(0, 0), (1, 1)]


def test_errors_of_a_run_are_measured_minus_true_at_both_ends():
    true = truth(heard=sound([(1000, 2000)]))
    found = compare(true, sound([(1010, 1980)]))
    assert (found.onset_ms, found.offset_ms) == ((10,), (-20,))
    assert (found.runs_true, found.false_segments) == (1, 0)


def test_a_run_in_two_pieces_ends_early_by_its_own_end_though_its_offset_is_found():
    true = truth(heard=sound([(1000, 9000)]))
    found = compare(true, sound([(1000, 4000), (4400, 9000)]))
    assert (found.offset_ms, found.own_end_ms) == ((0,), (-5000,))


@pytest.mark.parametrize(
    ("condition", "error"),
    [("clean", -100), ("tel", -100), ("echo20_60", -100), ("babble10", 0), ("crowd10", 0)],
)
def test_offsets_are_held_to_the_core_under_a_background_and_to_the_outer_edge_elsewhere(
    condition, error
):
    true = truth(condition, heard=sound([(1000, 2000)]), core_ends={2000: 1900})
    assert compare(true, sound([(1000, 1900)])).offset_ms == (error,)


def test_a_run_without_a_core_edge_is_held_to_its_outer_edge():
    true = truth("tv10", heard=sound([(1000, 2000), (2500, 3000)]), core_ends={3000: 2900})
    assert compare(true, sound([(1000, 2000), (2500, 2900)])).offset_ms == (0, 0)


def test_a_measured_run_is_false_only_where_the_caller_says_nothing():
    true = truth(heard=sound([(1000, 2000)]))
    found = compare(true, sound([(1999, 2500), (2900, 3000)]))
    assert found.false_segments == 1
    touching = compare(true, sound([(2000, 2500)]))
    assert touching.false_segments == 1


@pytest.mark.parametrize(
    ("at_ms", "counts"),
    [(5300, Counts(tp=1)), (5301, Counts(fn=1, fp=1))],
    ids=["300 ms away", "301 ms away"],
)
def test_a_talk_over_is_found_within_300_ms_of_its_agent_onset(at_ms, counts):
    told = events(utterances=[(1000, 7000)], turns=[(5000, 8000)], talk_overs=[(5000, 2000)])
    found = events(talk_overs=[(at_ms, 7000 - at_ms)])
    assert compare(truth(told=told), measured=found).talk_over == counts


def test_two_measured_talk_overs_do_not_both_answer_to_one():
    told = events(utterances=[(1000, 7000)], turns=[(5000, 8000)], talk_overs=[(5000, 2000)])
    found = events(talk_overs=[(4900, 2100), (5200, 1800)])
    assert compare(truth(told=told), measured=found).talk_over == Counts(tp=1, fp=1)


@pytest.mark.parametrize(
    ("condition", "value", "counts"),
    [
        ("clean", 550, Counts(margin_excluded=1)),
        ("clean", 551, Counts(fn=1)),
        ("tel", 560, Counts(margin_excluded=1)),
        ("tel", 561, Counts(fn=1)),
        ("echo30_120", 540, Counts(margin_excluded=1)),
        ("echo30_120", 541, Counts(fn=1)),
        ("babble10", 650, Counts(margin_excluded=1)),
        ("babble10", 651, Counts(fn=1)),
    ],
)
def test_a_true_talk_over_within_the_margin_does_not_count(condition, value, counts):
    told = events(
        utterances=[(1000, 5000 + value)], turns=[(5000, 9000)], talk_overs=[(5000, value)]
    )
    assert compare(truth(condition, told=told)).talk_over == counts


def test_a_true_talk_over_within_the_margin_does_not_count_as_a_hit_either():
    told = events(utterances=[(1000, 5510)], turns=[(5000, 9000)], talk_overs=[(5000, 510)])
    found = events(talk_overs=[(5000, 505)])
    assert compare(truth(told=told), measured=found).talk_over == Counts(margin_excluded=1)


@pytest.mark.parametrize(
    ("true_value", "counts"),
    [(450, Counts(margin_excluded=1)), (449, Counts(fp=1))],
)
def test_a_measured_talk_over_is_excluded_by_the_true_value_at_its_place(true_value, counts):
    told = events(utterances=[(1000, 5000 + true_value)], turns=[(5000, 9000)])
    found = events(talk_overs=[(5010, 520)])
    assert compare(truth(told=told), measured=found).talk_over == counts


def test_a_measured_talk_over_where_no_agent_turn_begins_has_no_margin():
    told = events(utterances=[(1000, 5500)], turns=[(2000, 9000)])
    found = events(talk_overs=[(5000, 500)])
    assert compare(truth(told=told), measured=found).talk_over == Counts(fp=1)


def test_a_talk_over_that_hangs_on_a_fragile_limit_is_excluded_hit_missed_or_invented():
    told = events(utterances=[(1000, 9000)], turns=[(5000, 9500)], talk_overs=[(5000, 4000)])
    fragile = truth(told=told, hanging_talk_overs=(5000,))
    hit = compare(fragile, measured=events(talk_overs=[(5000, 4000)]))
    invented = compare(
        truth(hanging_talk_overs=(5000,)), measured=events(talk_overs=[(5200, 3800)])
    )
    assert hit.talk_over == compare(fragile).talk_over == Counts(margin_excluded=1)
    assert invented.talk_over == Counts(margin_excluded=1)


SLOW = (1000, 2000, "replied", 4000)


@pytest.mark.parametrize(
    ("true", "found", "counts"),
    [
        (SLOW, (1000, 2010, "replied", 3001), Counts(tp=1)),
        (SLOW, (1000, 2010, "no_reply", 5000), Counts(tp=1)),
        (SLOW, (1000, 2010, "replied", 3000), Counts(fn=1)),
        (SLOW, (2000, 2500, "replied", 4000), Counts(fn=1, fp=1)),
        ((1000, 2000, "no_reply", 6000), (1000, 2010, "censored", 900), Counts(fn=1)),
        ((1000, 2000, "replied", 900), (1000, 1500, "replied", 3400), Counts(fp=1)),
        ((1000, 2000, "overlapped", None), (1000, 1500, "no_reply", 3400), Counts(fp=1)),
        ((1000, 2000, "replied", 3050), (1000, 2000, "replied", 3050), Counts(margin_excluded=1)),
        ((1000, 2000, "replied", 3051), (1000, 2000, "replied", 3051), Counts(tp=1)),
        ((1000, 2000, "replied", 2950), (1000, 2000, "replied", 3010), Counts(margin_excluded=1)),
        ((1000, 2000, "replied", 2950), (1000, 2000, "replied", 2950), Counts()),
        ((1000, 2000, "censored", 2960), (1000, 1990, "no_reply", 3010), Counts(margin_excluded=1)),
    ],
    ids=[
        "more than 3000 ms",
        "never",
        "3000 ms is not slow",
        "no shared time is another utterance",
        "no reply taken for censored",
        "an early end makes a slow reply",
        "no statistic is no slow reply",
        "50 ms over",
        "51 ms over",
        "50 ms under, measured as slow",
        "near the threshold and no event",
        "a wait near the threshold",
    ],
)
def test_slow_or_no_reply_is_counted_by_utterance(true, found, counts):
    told, measured = events(replies=[true]), events(replies=[found])
    assert compare(truth(told=told), measured=measured).slow_or_none == counts


def test_of_an_utterance_in_two_pieces_the_last_one_answers_for_it():
    told = events(replies=[(1000, 9000, "replied", 4000)])
    measured = events(replies=[(1000, 6000, "censored", 1200), (7200, 9000, "replied", 4000)])
    found = compare(truth(told=told), measured=measured)
    assert found.slow_or_none == Counts(tp=1)
    assert found.latency_ms == (0,)


def test_a_slow_reply_that_hangs_on_a_fragile_limit_is_excluded():
    told = events(replies=[SLOW])
    fragile = truth(told=told, hanging_slow=(2000,))
    assert compare(fragile).slow_or_none == Counts(margin_excluded=1)
    extra = compare(truth(hanging_slow=(2000,)), measured=events(replies=[SLOW]))
    assert extra.slow_or_none == Counts(margin_excluded=1)


def test_latency_errors_are_of_replies_on_both_sides_only():
    told = events(replies=[(0, 1000, "replied", 700), (5000, 6000, "no_reply", 4000)])
    measured = events(replies=[(0, 990, "replied", 730), (5000, 6000, "replied", 3900)])
    assert compare(truth(told=told), measured=measured).latency_ms == (30,)


def test_a_call_that_is_not_evaluated_is_counted_and_leaves_every_figure_alone():
    true = truth(heard=sound([(1000, 2000)]), told=events(talk_overs=[(1500, 900)]))
    assert compare(true, is_evaluated=False) == CallErrors(calls=1, not_evaluated=1)


def test_a_condition_has_the_figures_of_its_evaluated_calls():
    true = truth(heard=sound([(1000, 2000)], duration_ms=30_000))
    parts = [
        compare(true, sound([(1010, 2000), (9000, 9500)])),
        compare(true, sound([(1030, 1960)])),
        compare(true, is_evaluated=False),
    ]
    row = figures("clean", sum_up(parts))
    assert list(row) == JSON_KEYS
    assert (row["calls"], row["not_evaluated_calls"], row["onsets_true"]) == (3, 1, 2)
    assert (row["onset_abs_p50_ms"], row["onset_abs_p95_ms"]) == (20, 29)
    assert (row["offset_bias_ms"], row["false_segments_per_min"]) == (-20, 1)
    assert row["talk_over"] == {"tp": 0, "fn": 0, "fp": 0, "margin_excluded": 0}


def test_a_figure_of_nothing_is_null():
    row = figures("tv5", CallErrors(calls=2, not_evaluated=2))
    empty = [key for key, value in row.items() if value is None]
    assert empty == [key for key in JSON_KEYS if key.endswith(("_ms", "_per_min"))]


def test_conditions_stand_by_class_and_all_at_the_end():
    truths = [truth(name) for name in ("tv10", "tel", "clean")]
    errors = {"call": CallErrors(calls=1)}
    parts = by_condition(truths, errors)
    assert list(parts) == ["clean", "tel", "tv10", ALL]
    assert parts[ALL].calls == 3


def test_the_uncertainty_is_what_95_percent_of_boundary_errors_do_not_exceed():
    told = uncertainty(
        {"clean": CallErrors(onset_ms=(1,) * 19 + (90,), offset_ms=(-7,) * 18 + (-80,) * 2)}
    )
    assert told["clean"] == {
        "boundaries": 40,
        "onset_ms": 1,
        "offset_ms": 80,
        "both_ms": 80,
        "wider_ms": 80,
    }


def test_a_clip_is_held_to_the_run_that_begins_nearest_to_its_label():
    clip = Clip(
        name="a", kind="", audio=Path("a"), caller_channel=0, agent_channel=1, onset_ms=3000
    )
    near = compare_clips([clip], {"a": [(500, 900), (2950, 3200), (3400, 4000)]})
    assert near[0].error_ms == -50
    assert compare_clips([clip], {"a": []})[0].error_ms is None


def test_silero_defaults_drop_short_speech_bridge_short_silence_and_pad():
    frames = np.zeros(100, np.float32)
    frames[10:30] = 0.9
    frames[20:23] = 0.1  # 96 ms
    frames[40:47] = 0.9  # 224 ms
    frames[60:80] = 0.9
    frames[70:74] = 0.4  # not below 0.35
    assert silero_segments(frames, 100 * 512) == [(290, 990), (1890, 2590)]


def test_silero_defaults_end_speech_in_160_ms_of_silence_and_with_the_sound():
    frames = np.full(40, 0.9, np.float32)
    frames[12:17] = 0.1
    assert silero_segments(frames, 40 * 512 - 100) == [(0, 414), (514, 1274)]
    frames[12] = 0.9
    assert silero_segments(frames, 40 * 512 - 100) == [(0, 1274)]


def test_energy_segments_follow_the_sound_within_a_hop_and_bridge_the_hangover():
    samples = np.random.default_rng(1).normal(0, 1e-4, 16_000 * 6).astype(np.float32)
    for start, end in ((1000, 2000), (2150, 2500), (4000, 4500)):
        samples[start * 16 : end * 16] *= 1000
    found = energy_segments(samples)
    assert np.abs(np.array(found) - [(1000, 2500), (4000, 4500)]).max() <= 10


@pytest.mark.parametrize("samples", [np.zeros(16_000, np.float32), np.zeros(0, np.float32)])
def test_energy_segments_of_silence_are_none(samples):
    assert energy_segments(samples) == []


def test_a_drawing_has_a_panel_a_class_and_ends_below_the_top_by_what_was_missed():
    drawing = distribution_svg("t", {"clean": {"engine": ([0, 600], 4), "silero": ([], 0)}})
    assert drawing.count("<polyline") == 1
    assert drawing.count("<g ") == 1


def test_a_written_truth_without_expected_has_the_events_of_its_segments(tmp_path):
    protocol = load_protocol("inquesto-0.1")
    write_call(tmp_path / "one", caller=[(1.0, 3.0)], agent=[(2.4, 4.0)])
    (found,) = read_truths(tmp_path, protocol)
    assert [(t.at_ms, t.value_ms) for t in found.events.talk_overs] == [(2400, 600)]
    assert found.core_ends == {3000: 2900}
    assert found.sound.duration_ms == 6000


def test_an_event_that_a_moved_limit_unmakes_hangs_on_it(tmp_path):
    protocol = load_protocol("inquesto-0.1")
    # A pause of 1020 ms parts the utterance; one of 1000 ms or less would not have.
    write_call(tmp_path / "one", caller=[(1.0, 2.0), (3.02, 5.0)], agent=[(2.2, 5.5)])
    (found,) = read_truths(tmp_path, protocol)
    assert (found.events.talk_overs, found.hanging_talk_overs) == ((), (2200,))


def test_the_shared_truth_is_what_the_turn_rules_give(shared):
    protocol = load_protocol("inquesto-0.1")
    truths = read_truths(shared / "audio" / "dev", protocol)
    ruled = apply_rules({truth.call_id: truth.sound for truth in truths}, protocol)
    assert {t.call_id: t.events for t in truths} == ruled


def test_a_folder_without_calls_is_named(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "expected CALL/truth.json" in capsys.readouterr().err


def test_a_run_writes_the_figures_the_page_and_the_drawings(tmp_path, capsys):
    write_call(tmp_path / "calls" / "one", caller=[(1.0, 3.0)], agent=[(3.4, 4.0)])
    page = tmp_path / "docs" / "page.md"
    options = ["--json", "f.json", "--markdown", "docs/page.md", "--plots", "docs/plots"]
    paths = [str(tmp_path / o) if not o.startswith("--") else o for o in options]
    assert main([str(tmp_path / "calls"), *paths, "--workers", "1", "--uncertainty"]) == 0
    told = json.loads((tmp_path / "f.json").read_text())
    assert list(told) == ["engine", "silero", "energy"]
    assert [row["condition"] for row in told["energy"]] == ["clean", "all"]
    assert told["energy"][0]["onsets_found"] == 1
    assert all(list(row) == JSON_KEYS for rows in told.values() for row in rows)
    assert "(plots/onsets.svg)" in page.read_text()
    assert (page.parent / "plots" / "offsets.svg").is_file()
    assert '"both_ms"' in capsys.readouterr().out


def test_a_call_that_the_engine_cannot_measure_is_named_and_left_to_the_baselines(tmp_path, capsys):
    write_call(tmp_path / "one", caller=[(1.0, 3.0)], agent=[(1.0, 3.0)], is_twice=True)
    assert main([str(tmp_path), "--json", str(tmp_path / "f.json"), "--workers", "1"]) == 0
    told = json.loads((tmp_path / "f.json").read_text())
    assert [told[name][0]["not_evaluated_calls"] for name in told] == [1, 0, 0]
    assert [told[name][0]["onsets_true"] for name in told] == [0, 1, 1]
    assert "not evaluated: one: channels_identical" in capsys.readouterr().out


def write_call(folder, *, caller, agent, seconds=6, is_twice=False):
    """Write a call of noise bursts and its truth, core edges 100 ms before the ends."""
    folder.mkdir(parents=True)
    samples = np.random.default_rng(1).normal(0, 1e-4, (16_000 * seconds, 2))
    said = []
    for channel, (side, spans) in enumerate((("caller", caller), ("agent", agent))):
        for start, end in spans:
            samples[round(start * 16_000) : round(end * 16_000), channel] *= 1000
            said.append({"channel": side, "segments_s": [[start, end]], "core_end_s": end - 0.1})
    if is_twice:
        samples[:, 1] = samples[:, 0]
    soundfile.write(folder / "call.wav", samples, 16_000)
    told = {"condition": {"name": "clean"}, "utterances": said}
    (folder / "truth.json").write_text(json.dumps(told))
