"""The calibration of a judge: how a rated trace becomes a call, a record and a label."""

from __future__ import annotations

import polars as pl
import pytest

from benchmarks.judge_calibration import (
    READINGS,
    asked_call,
    labels,
    ordering,
    read_traces,
    record_of,
    report,
)

TRACE = {
    "id": 7,
    "expected_rating": 2,
    "description": "The agent invented a rule.",
    "trace": [
        {"event_type": "agent_utterance", "utterance": "Hello."},
        {"event_type": "tool_call", "tool_name": "look_up", "params": {}},
        {"event_type": "tool_response", "tool_name": "look_up", "response": {"seat": "12A"}},
        {"event_type": "user_utterance", "utterance": "My seat?"},
    ],
}


def test_the_judge_reads_the_words_and_the_record_and_no_rating():
    call = asked_call(TRACE)
    assert [(turn.speaker, turn.text) for turn in call.turns] == [
        ("agent", "Hello."),
        ("caller", "My seat?"),
    ]
    assert record_of(TRACE) == {"tool_results": [{"tool": "look_up", "result": {"seat": "12A"}}]}
    assert "invented" not in repr((call, record_of(TRACE)))


def test_the_middle_rating_is_left_open_or_an_error():
    said = [labels([TRACE], reading)["verdict"].to_list() for reading in READINGS.values()]
    assert said == [[None], [True]]


def test_the_figures_are_printed_for_each_reading_and_half(capsys):
    answers = labels([TRACE], {2: True}).with_columns(
        undetermined=pl.lit(None, dtype=pl.String), p_true=pl.lit(0.6), p_false=pl.lit(0.2)
    )
    report(answers, [TRACE])
    printed = capsys.readouterr().out
    assert "1 and 2 are errors; both: agree 1/1 precision 1/1 recall 1/1" in printed


@pytest.mark.parametrize(
    ("p_true", "area"),
    [([0.9, 0.8, 0.2, 0.1], 1.0), ([0.1, 0.2, 0.8, 0.9], 0.0), ([0.5] * 4, 0.5)],
)
def test_the_probabilities_are_told_apart_by_their_order(p_true, area):
    traces = [{**TRACE, "id": at, "expected_rating": 1 if at < 2 else 3} for at in range(4)]
    rated = labels(traces, {1: True, 3: False})
    answers = rated.select("call_id", p_true=pl.Series(p_true)).with_columns(
        p_false=1 - pl.col("p_true")
    )
    assert ordering(answers, rated) == area
    assert ordering(answers[:2], rated) is None


def test_the_rated_traces_are_read(shared):
    traces = read_traces(shared / "calibration" / "eva" / "faithfulness.jsonl")
    assert len(traces) == 137
    assert all(asked_call(trace).turns for trace in traces)
    rated = [labels(traces, reading)["verdict"] for reading in READINGS.values()]
    assert [(each.sum(), each.null_count()) for each in rated] == [(57, 28), (85, 0)]
