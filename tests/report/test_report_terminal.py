from __future__ import annotations

import copy
import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.report.escape import (
    clip_columns,
    display_width,
    escape_cell,
    escape_terminal,
    wrap_columns,
)
from inquesto_core.report.terminal import score_lines


def rate(score, lo, hi, n, passed=0, **more):
    return {"score": score, "lo": lo, "hi": hi, "n": n, "passed": passed, **more}


EMPTY = rate(None, None, None, 0)
RECORD = {
    "citation": "Inquesto v0.1 [draft] = 44.8% (95% CI 39.3–50.4; n = 306); views B 42",
    "agent": "example agent",
    "agent_fingerprint": "f1",
    "score": 44.8,
    "n": 306,
    "passed": 137,
    "views": {
        "behavior": rate(41.7, 24.5, 61.2, 24),
        "robustness": rate(46.1, 39.4, 53.0, 204, gap_vs_clean=-3.9),
        "identity": {**EMPTY, "false_accepts": 0, "false_rejects": 2},
        "fairness": rate(
            40.5, 30.0, 52.0, 74, worst_group="uk", by_group={"uk": rate(40.5, 30.0, 52.0, 74)}
        ),
    },
    "failures_by_severity": {"S1": 0, "S2": 130, "S3": 80, "S4": 0, "S5": 11},
    "failures_by_type": {"talk_over": 130, "slow_turn": 80, "false_accept": 11},
    "definition": {
        "fail_at": 3,
        "severity": {"talk_over": 2, "slow_turn": 3, "false_accept": 5},
    },
    "severity_sensitivity": {
        "S2": rate(43.5, 38.0, 49.1, 300, threshold=2, undetermined_n=6),
        "S3": rate(44.8, 39.3, 50.4, 306, threshold=3, undetermined_n=0),
        "S4": rate(58.0, 52.0, 63.0, 306, threshold=4, undetermined_n=0),
        "S5": rate(58.2, 52.2, 63.2, 306, threshold=5, undetermined_n=0),
    },
    "audio_only": {
        "failed": 169,
        "failed_only_on_audio_events": 39,
        "score_if_transcript_only": 57.5,
    },
    "judge_free": rate(60.1, 54.0, 66.0, 306, vacuous_n=9),
    "accounting": {
        "expected": 312,
        "total": 312,
        "in_n": 306,
        "scored": 300,
        "agent_fault": 6,
        "excluded_n": 2,
        "excluded": {"mono_recording": 2},
        "not_evaluated_n": 4,
        "not_evaluated": {"call_missing": 3, "verdict_missing:wrong_info": 1},
        "excluded_as_failures": rate(44.5, 39.0, 50.1, 308),
    },
    "bounds": {"low": 44.2, "high": 45.5, "open_n": 4, "known_fail_n": 1},
    "timing_uncertainty": {"borderline_n": 5, "score_low": 43.8, "score_high": 45.4},
    "diagnostics": {
        "latency_ms": {"n": 900, "p50": 820, "p95": 2140},
        "latency_by_tool": {"with_tool": {"n": 310, "p50": 1900}},
        "barge_in": {
            "attempt": {"yielded": 10, "kept": 2},
            "backchannel": {"yielded": 1, "kept": 4},
            "yield_ms": {"n": 10, "p50": 420},
        },
    },
    "signature": {"text": "inquesto:0.1|judge:recorded"},
}


def cells(record):
    """Return the lines with one space between their cells."""
    return [" ".join(line.split()) for line in score_lines(record)]


def changed(**fields):
    return {**copy.deepcopy(RECORD), **fields}


def test_the_citation_line_is_first_and_the_signature_last_both_whole():
    lines = score_lines(RECORD)
    assert lines[0] == RECORD["citation"]
    assert lines[-1] == "Signature: inquesto:0.1|judge:recorded"


def test_the_reading_is_one_sentence():
    assert "137 of 306 calls reached their goal without a functional failure." in score_lines(
        RECORD
    )


def test_latency_and_barge_ins_have_a_line_each():
    lines = score_lines(RECORD)
    assert "Latency ms: p50 820, p95 2140 (n = 900); with a tool call p50 1900 (n = 310)" in lines
    assert "Barge-ins yielded to: 10 of 12, p50 420 ms; backchannels: 1 of 5" in lines


def test_without_a_judge_the_reading_says_so():
    lines = score_lines(changed(signature={"text": "inquesto:0.1|judge:none"}))
    assert "no judge was asked" in " ".join(lines)


def test_a_run_without_a_complete_call_has_no_score():
    nothing = dict.fromkeys(RECORD["severity_sensitivity"])
    record = changed(
        n=0,
        passed=0,
        score=None,
        views=dict.fromkeys(RECORD["views"], EMPTY),
        judge_free={**EMPTY, "vacuous_n": 0},
        severity_sensitivity={name: {**EMPTY, "threshold": int(name[1])} for name in nothing},
        audio_only={
            "failed": 0,
            "failed_only_on_audio_events": 0,
            "score_if_transcript_only": None,
        },
        timing_uncertainty={"borderline_n": 0, "score_low": None, "score_high": None},
    )
    lines = score_lines(record)
    assert "No call could be scored." in lines
    assert not any("None" in line or "0.0" in line for line in lines)


def test_a_view_has_score_interval_and_n_and_an_empty_one_dashes():
    lines = cells(RECORD)
    assert "behavior 41.7 24.5–61.2 24" in lines
    assert "robustness 46.1 39.4–53.0 204 gap to clean: -3.9" in lines
    assert "identity – – 0 false rejects: 2" in lines
    assert "fairness 40.5 30.0–52.0 74 worst group: uk" in lines
    assert "- uk 40.5 30.0–52.0 74" in lines


def test_events_are_counted_by_severity_and_type_worst_first():
    lines = score_lines(RECORD)
    assert "  S1 0 · S2 130 · S3 80 · S4 0 · S5 11" in lines
    found = [line.split() for line in lines if line.startswith("  S") and "·" not in line]
    assert [row for row in found if len(row) == 3] == [
        ["S5", "false_accept", "11"],
        ["S3", "slow_turn", "80"],
        ["S2", "talk_over", "130"],
    ]


def test_every_threshold_has_its_interval_and_the_score_is_marked():
    lines = cells(RECORD)
    assert "S2+ 43.5 38.0–49.1 300 6 undetermined" in lines
    assert "S3+ 44.8 39.3–50.4 306 the score" in lines
    assert "S5+ 58.2 52.2–63.2 306" in lines


def test_nothing_is_left_out_of_the_accounting():
    text = " ".join(" ".join(score_lines(RECORD)).split())
    for expected in (
        "Transcript only: 57.5; 39 of 169 failed calls fail by audio events alone.",
        "Judge-free: 60.1 (95% CI 54.0–66.0; n = 306); 9 of these goals",
        "Calls: 312 (expected 312); in n 306: scored 300, agent fault 6",
        "excluded 2: mono_recording 2",
        "not evaluated 4: call_missing 3, verdict_missing:wrong_info 1",
        "score with the excluded calls as failures: 44.5",
        "score with the 4 open calls all failed or all passed, but 1 that fail in any case: "
        "44.2 to 45.5",
        "borderline calls 5; score within the timing uncertainty: 43.8 to 45.4",
    ):
        assert expected in text


def make_decisions():
    return pl.DataFrame(
        {
            "call_id": ["a", "b", "c", "d", "\x1b[2J", None],
            "agent_fingerprint": ["f1", "f1", "f1", "f2", "f1", "f1"],
            "worst_severity": [0, 5, 2, 5, 3, 0],
            "passed": [True, False, False, False, None, None],
            "known_fail": [False, False, False, True, True, False],
        }
    )


def test_the_calls_to_look_at_first_are_the_worst_failed_ones_of_this_agent():
    lines = score_lines(RECORD, make_decisions())
    at = lines.index("Look first at (inquesto-core explain RUN CALL)")
    assert lines[at + 1 : at + 4] == ["  S5    b", "  S3    \\x1b[2J", "  goal  c"]
    assert lines[at + 4] == ""


def test_without_a_failed_call_there_is_nothing_to_look_at():
    lines = score_lines(RECORD, make_decisions().head(1))
    assert not any(line.startswith("Look") for line in lines)


@given(name=st.text(max_size=120))
def test_no_line_but_citation_and_signature_is_wider_than_a_terminal(name):
    record = changed(agent=name)
    record["views"]["fairness"] |= {"worst_group": name, "by_group": {name: EMPTY}}
    record["accounting"]["excluded"] = {name: 2}
    lines = score_lines(record)
    assert max(map(display_width, lines[1:-1])) <= 80
    assert not any("\x1b" in line or "\n" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("\x1b[31m", "\\x1b[31m", id="escape_sequence"),
        pytest.param("\x9b31m", "\\x9b31m", id="c1_control"),
        pytest.param("a\r\nb\tc", "a\\r\\nb\\tc", id="line_breaks"),
        pytest.param("\u202egnp.exe", "\\u202egnp.exe", id="bidi_override"),
        pytest.param("\u2066x\u2069", "\\u2066x\\u2069", id="bidi_isolate"),
        pytest.param("a\u200bb\ufeff", "a\\u200bb\\ufeff", id="zero_width"),
        pytest.param("\u2028", "\\u2028", id="line_separator"),
        pytest.param("\U000e0041", "\\U000e0041", id="tag_character"),
        pytest.param("a\ufe0f\u3164", "a\\ufe0f\\u3164", id="drawn_as_nothing"),
        pytest.param("\ud800", "\\ud800", id="lone_surrogate"),
        pytest.param("naïve 日本 – ok", "naïve 日本 – ok", id="plain_text"),
    ],
)
def test_what_steers_or_hides_is_shown(text, expected):
    assert escape_terminal(text) == expected


@pytest.mark.parametrize("mark", list("=+-@＝＋－＠"))
def test_a_cell_that_a_spreadsheet_would_run_is_quoted(mark):
    assert escape_cell(f"{mark}1") == f"'{mark}1"
    assert escape_cell(f"  {mark}1") == f"'  {mark}1"
    assert escape_cell(f"1{mark}") == f"1{mark}"


def test_a_cell_survives_a_csv_round_trip_on_one_line():
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([escape_cell('x,"y"\n=z'), escape_cell("")])
    assert out.getvalue().count("\n") == 1
    assert next(csv.reader(io.StringIO(out.getvalue()))) == ['x,"y"\\n=z', ""]


@given(text=st.text(max_size=100), columns=st.integers(8, 40))
def test_wrapped_text_fits_and_loses_nothing_but_spaces(text, columns):
    shown = escape_terminal(text)
    lines = wrap_columns(shown, columns, first="> ", rest="  ")
    assert all(display_width(line) <= columns for line in lines)
    joined = "".join(line[2:] for line in lines)
    assert joined.replace(" ", "") == shown.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "expected"), [("abcd", "abcd"), ("abcde", "abc…"), ("日本", "日本"), ("日本語", "日…")]
)
def test_clipped_text_keeps_within_its_columns(text, expected):
    assert clip_columns(text, 4) == expected
