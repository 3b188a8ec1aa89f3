from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.compare import (
    ANSWERS,
    outcome_difference,
    paired_answers,
    question_agreements,
)

Z = 1.959964


def make_answers(verdicts, question="wrong_info", **columns):
    rows = [
        {"call_id": f"c{at}", "question": question, "verdict": verdict}
        for at, verdict in enumerate(verdicts)
    ]
    return pl.DataFrame(rows, schema=ANSWERS).with_columns(
        pl.Series(name, values) for name, values in columns.items()
    )


def agreement_of(first, second, **columns):
    pairs = paired_answers(make_answers(first), make_answers(second, **columns))
    (found,) = question_agreements(pairs, z=Z)
    return found


def test_the_four_cells_and_what_comes_of_them():
    found = agreement_of(
        [True, True, True, False, False, False, False],
        [True, True, False, True, False, False, False],
    )
    cells = (found.both_true, found.first_only, found.second_only, found.both_false)
    assert cells == (2, 1, 1, 3)
    assert (found.agreement.k, found.agreement.n) == (5, 7)
    assert (found.precision.k, found.precision.n) == (2, 3)
    assert (found.recall.k, found.recall.n) == (2, 3)
    assert found.weighted is None


def test_undetermined_and_unsure_are_counted_apart_and_never_agree():
    found = agreement_of([None, None, True, True], [None, True, None, True])
    assert (found.pairs, found.n, found.agreement.k) == (4, 1, 1)
    assert (found.undetermined_first, found.undetermined_second) == (2, 2)


def test_a_question_that_one_side_was_not_asked_is_no_pair():
    pairs = paired_answers(make_answers([True, False]), make_answers([True]))
    assert pairs["call_id"].to_list() == ["c0"]


def test_questions_are_apart_and_sorted():
    both = pl.concat([make_answers([True]), make_answers([False], question="goal_achieved")])
    found = question_agreements(paired_answers(both, both), z=Z)
    assert [each.question for each in found] == ["goal_achieved", "wrong_info"]
    assert [each.n for each in found] == [1, 1]


def test_no_pair_is_no_question():
    assert question_agreements(paired_answers(make_answers([]), make_answers([])), z=Z) == ()


def test_equal_weights_are_no_weights():
    assert agreement_of([True, False], [True, True], weight=[3.0, 3.0]).weighted is None


def test_weights_give_the_figures_of_the_calls_that_are_stood_for():
    found = agreement_of([True, True, False], [True, False, False], weight=[1.0, 1.0, 8.0]).weighted
    assert found.stands_for == 10
    assert found.agreement == pytest.approx(0.9)
    assert found.precision == pytest.approx(0.5)
    assert found.recall == 1
    assert found.effective_n == pytest.approx(100 / 66)


def test_a_weight_of_an_unsure_call_counts_nowhere():
    found = agreement_of([True, False, True], [True, False, None], weight=[2.0, 1.0, 50.0])
    assert found.weighted.stands_for == 3


@given(st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 2), max_size=20), st.randoms())
def test_the_order_of_the_calls_never_matters(verdicts, chance):
    first = make_answers([one for one, _ in verdicts])
    second = make_answers([two for _, two in verdicts])
    order = list(range(len(verdicts)))
    chance.shuffle(order)
    found = question_agreements(paired_answers(first, second), z=Z)
    assert question_agreements(paired_answers(first[order], second), z=Z) == found
    if found:
        (each,) = found
        assert each.n == sum(None not in pair for pair in verdicts)
        assert each.agreement.k == sum(one == two and one is not None for one, two in verdicts)


def make_decisions(passed):
    return pl.DataFrame(
        {"call_id": [f"c{at}" for at in range(len(passed))], "passed": passed},
        schema={"call_id": pl.String, "passed": pl.Boolean},
    )


def test_outcomes_of_two_runs_are_compared_over_the_calls_decided_in_both():
    found = outcome_difference(
        make_decisions([True, True, False, False, None, True]),
        make_decisions([True, False, True, False, True, None]),
        [f"c{at}" for at in range(6)],
    )
    assert (found.common, found.n) == (6, 4)
    assert (found.first_undecided, found.second_undecided) == (1, 1)
    assert (found.both_passed, found.first_only, found.second_only, found.both_failed) == (
        1, 1, 1, 1,
    )  # fmt: skip
    assert (found.first.k, found.second.k) == (2, 2)
    assert found.flipped == ("c1", "c2")


def test_only_the_calls_asked_for_are_compared():
    decisions = make_decisions([True, False])
    assert outcome_difference(decisions, decisions, ["c1"]).common == 1
    assert outcome_difference(decisions, decisions, []).n == 0
