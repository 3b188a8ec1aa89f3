"""The corrected score, against the published values of Lang and Reiczigel's examples."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from inquesto_core.compare.calibration import Measured, calibrate, rogan_gladen

Z = 1.959964


def share(k, n):
    return Measured(value=k / n, n=n)


@pytest.mark.parametrize(
    ("passed", "n", "sensitivity", "specificity", "low", "high", "digits"),
    [
        pytest.param(4060, 11284, (178, 179), (358, 359), 0.349, 0.372, 3, id="example 1"),
        pytest.param(51, 2971, (32, 33), (20, 20), 0.0, 0.053, 3, id="example 2"),
        pytest.param(712, 11862, (8, 10), (12, 12), 0.0, 0.147, 3, id="example 3"),
        pytest.param(259, 509, (84, 127), (96, 109), 0.58, 0.87, 2, id="example 4"),
        pytest.param(51, 509, (23, 41), (187, 195), 0.037, 0.195, 3, id="example 4, second test"),
    ],
)
def test_intervals_are_the_published_ones(passed, n, sensitivity, specificity, low, high, digits):
    """Lang and Reiczigel 2014, examples 1 to 4."""
    found = rogan_gladen(
        passed, n, sensitivity=share(*sensitivity), specificity=share(*specificity), z=Z
    )
    assert (round(found.low, digits), round(found.high, digits)) == (low, high)


@pytest.mark.parametrize(
    ("passed", "n", "sensitivity", "specificity", "value"),
    [
        pytest.param(23, 150, 0.96, 0.89, 0.051, id="brucellosis, 5.1 per 100"),
        pytest.param(6, 151, 0.964, 0.927, 0.0, id="Helicobacter, cut at 0"),
    ],
)
def test_the_estimate_is_that_of_rogan_and_gladen(passed, n, sensitivity, specificity, value):
    """Worked examples of epiR's epi.prev."""
    found = rogan_gladen(
        passed,
        n,
        sensitivity=Measured(value=sensitivity, n=1e9),
        specificity=Measured(value=specificity, n=1e9),
        z=Z,
    )
    assert round(found.value, 3) == value
    assert found.is_cut == (value == 0.0)


@pytest.mark.parametrize(
    ("sensitivity", "refused"),
    [pytest.param(5, True, id="exactly 1"), pytest.param(6, False, id="just above 1")],
)
def test_a_judge_that_is_no_better_than_a_coin_corrects_nothing(sensitivity, refused):
    found = rogan_gladen(30, 100, sensitivity=share(sensitivity, 10), specificity=share(5, 10), z=Z)
    assert (found.value is None) == refused
    assert ("coin" in (found.refused or "")) == refused


def test_a_perfect_judge_leaves_the_score_as_it_is():
    found = rogan_gladen(137, 306, sensitivity=share(90, 90), specificity=share(90, 90), z=Z)
    assert found.value == pytest.approx(137 / 306)
    assert found.low < 137 / 306 < found.high


def test_no_call_is_no_rate():
    with pytest.raises(ValueError, match="no rate"):
        rogan_gladen(0, 0, sensitivity=share(9, 10), specificity=share(9, 10), z=Z)


def test_the_interval_holds_the_true_rate_about_as_often_as_it_says():
    generator = np.random.Generator(np.random.PCG64(5))
    truth, sure, spared, held = 0.6, 0.9, 0.8, 0
    times = 2_000
    for _ in range(times):
        rate = truth * sure + (1 - truth) * (1 - spared)
        found = rogan_gladen(
            int(generator.binomial(306, rate)),
            306,
            sensitivity=share(int(generator.binomial(40, sure)), 40),
            specificity=share(int(generator.binomial(40, spared)), 40),
            z=Z,
        )
        held += found.low <= truth <= found.high
    assert 0.935 <= held / times <= 0.985


def outcomes(both, judge_only, labels_only, neither, *, weight=1.0):
    cells = [(True, True)] * both + [(True, False)] * judge_only
    cells += [(False, True)] * labels_only + [(False, False)] * neither
    frame = pl.DataFrame(cells, schema={"judge": pl.Boolean, "labels": pl.Boolean}, orient="row")
    return frame.with_columns(weight=pl.lit(weight))


def test_weights_undo_that_failures_were_drawn_more_often():
    """A sheet drawn by the judge's outcome: unweighted, its sensitivity would be another one."""
    drawn = pl.concat([outcomes(18, 2, 0, 0, weight=40.0), outcomes(0, 0, 5, 15, weight=10.0)])
    found = calibrate(drawn, [("A", 800, 1000)], z=Z)
    sure, spared = 720 / (720 + 50), 150 / (150 + 80)
    assert found.sensitivity.value == pytest.approx(sure)
    assert found.specificity.value == pytest.approx(spared)
    # What the strata say directly: 18 of 20 of 800, and 5 of 20 of 200.
    assert found.scores[0].value == pytest.approx((800 * 18 / 20 + 200 * 5 / 20) / 1000)
    assert found.sensitivity.n == pytest.approx((18 * 40 + 5 * 10) ** 2 / (18 * 1600 + 5 * 100))


def test_open_calls_are_left_out_and_counted():
    frame = outcomes(20, 4, 3, 20)
    opened = frame.with_columns(labels=pl.when(pl.int_range(pl.len()) > 0).then("labels"))
    found = calibrate(opened, [("A", 50, 100)], z=Z)
    assert (found.left_out, found.both_pass) == (1, 19)
    assert found.inconclusive is None


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        pytest.param((10, 2, 2, 15), "fewer than 30 labelled calls", id="29 calls"),
        pytest.param((40, 2, 2, 2), "fewer than 5 calls fail", id="4 failed calls"),
    ],
)
def test_few_labels_are_inconclusive(cells, why):
    assert why in calibrate(outcomes(*cells), [("A", 50, 100)], z=Z).inconclusive


def test_labels_of_one_outcome_alone_correct_nothing():
    found = calibrate(outcomes(40, 0, 2, 0), [("A", 50, 100), ("B", 0, 0)], z=Z)
    assert [each.agent for each in found.scores] == ["A"]
    assert found.scores[0].refused == "no labelled call fails by the labels"
    assert found.document()["is_estimate"] is True
