"""Records as one table: order, overlaps, and every figure that the paper states in its text."""

from __future__ import annotations

import itertools

import pytest
from scipy.stats import kendalltau, spearmanr

from inquesto_core.compare.leaderboard import Entry, build_leaderboard, overlap_letters
from inquesto_core.compare.ranking import kendall_tau
from inquesto_core.errors import IncomparableError


@pytest.fixture
def board(shared):
    from decision_cases import published_records

    records = published_records(shared)
    return build_leaderboard([Entry(source=name, record=each) for name, each in records.items()])


def difference(board, name):
    (found,) = [each for each in board.ranking.readings if each.name == name]
    assert found.n == 13
    return found.difference


def test_a_third_of_failed_calls_fail_on_audio_alone(board):
    """Section 4.1: 33 % of failed calls."""
    assert round(100 * board.findings.audio_only / board.findings.failed) == 33


@pytest.mark.parametrize(
    ("name", "points", "within"),
    [
        pytest.param("transcript-only", 24, 0.5, id="4.1 transcript only: 24 points higher"),
        pytest.param("fails at S2", -12.8, 0.05, id="4.4 threshold S2: 12.8 lower"),
        pytest.param("fails at S4", 24.5, 0.05, id="4.4 threshold S4: 24.5 higher"),
        pytest.param("fails at S5", 25.0, 0.05, id="4.4 threshold S5: 25.0 higher"),
        pytest.param("mean of views", -0.6, 0.05, id="4.3 mean of views: -0.6"),
        pytest.param("geometric mean of views", -1.6, 0.05, id="4.3 geometric mean: -1.6"),
        pytest.param("min view", -6.9, 0.05, id="4.3 minimum: -6.9"),
    ],
)
def test_mean_differences_are_those_of_the_text(board, name, points, within):
    assert difference(board, name) == pytest.approx(points, abs=within)


def test_the_worst_group_is_as_far_below_the_reference_voice_as_the_text_says(board):
    """Section 4.3: as much as 15.3 points."""
    _, group, points = board.findings.worst_group
    assert (group, points) == ("uk_female", -15.3)


def test_served_impostors_and_refused_callers_are_those_of_the_text(board):
    """Section 4.3: 40 times and 2 times; the identity view ranges from 0 to 44."""
    found = board.findings
    assert (found.false_accepts, found.false_rejects) == (40, 2)
    assert tuple(map(round, found.identity)) == (0, 44)


def test_correlations_of_any_two_variants_are_scipys(board):
    columns = {
        "score": [100 * each["passed"] / each["n"] for each in board.records],
        "fails at S2": [each["severity_sensitivity"]["S2"]["score"] for each in board.records],
        "fails at S5": [each["severity_sensitivity"]["S5"]["score"] for each in board.records],
    }
    held = {(each.first, each.second): each for each in board.correlations}
    for one, two in itertools.combinations(columns, 2):
        found = held[one, two]
        assert found.n == 13
        assert found.rho == pytest.approx(spearmanr(columns[one], columns[two]).statistic)
        assert found.tau == pytest.approx(kendalltau(columns[one], columns[two]).statistic)
    assert held["score", "judge-free"].n == 0
    assert held["score", "judge-free"].rho is None


def test_kendalls_tau_counts_pairs_and_allows_for_ties():
    first, second = [1, 2, 2, 3], [10, 30, 20, 20]
    # Pairs untied on both sides: 1-2, 1-2', 1-3 alike, 2-3 in reverse; 5 untied on either side.
    assert kendall_tau(first, second) == pytest.approx((3 - 1) / 5)
    assert kendall_tau([1, 2], [1, 2]) is None
    assert kendall_tau([1, 1, 1], [1, 2, 3]) is None


def test_two_intervals_share_a_letter_exactly_where_they_overlap(board):
    rows = [(row.overlap, row.entry.record["ci95"]) for row in board.rows]
    for (one, first), (two, second) in itertools.combinations(rows, 2):
        overlap = first[0] <= second[1] and second[0] <= first[1]
        assert bool(set(one) & set(two)) == overlap
    assert rows[0][0] == "a"


@pytest.mark.parametrize(
    ("intervals", "letters"),
    [
        pytest.param([(30, 50), (20, 30)], ["a", "a"], id="touching is overlap"),
        pytest.param([(30, 50), (20, 29.9)], ["a", "b"], id="just apart"),
        pytest.param([(0, 100), (60, 70), (10, 20)], ["ab", "a", "b"], id="one spans two"),
        pytest.param([None, (1, 2)], ["", "a"], id="none has no letter"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_letters_by_hand(intervals, letters):
    assert overlap_letters(intervals) == letters


def test_more_than_26_intervals_apart_are_still_told_apart():
    letters = overlap_letters([(at, at + 0.5) for at in range(60, 0, -1)])
    assert len(set(letters)) == 60


def test_a_timing_only_record_stands_apart_and_is_in_no_figure(board):
    some = board.records[0]
    told = {"calls": 4, "timed": 3, "events_by_type": {}, "latency_ms": {"p50": 9, "p95": 9}}
    timed = {**some, "score": None, "ci95": None, "n": 0, "passed": 0, "timing_only": told}
    found = build_leaderboard([*(row.entry for row in board.rows), Entry(source="t", record=timed)])
    assert len(found.rows) == 13
    assert [entry.source for entry in found.timing_only] == ["t"]
    assert found.findings == board.findings
    alone = build_leaderboard([Entry(source="t", record=timed)])
    assert (alone.rows, alone.ranking, alone.findings) == ((), None, None)


def test_records_of_another_population_are_refused(board):
    ours = {**board.records[0], "population": {"name": "sample-0.1", "sha256": "a" * 64}}
    entries = [board.rows[0].entry, Entry(source="x", record=ours)]
    with pytest.raises(IncomparableError, match="records_differ"):
        build_leaderboard(entries)
    ours["population"]["default"] = True
    assert len(build_leaderboard(entries).rows) == 2


def test_nothing_at_all_is_refused():
    with pytest.raises(IncomparableError, match="no_records"):
        build_leaderboard([])
