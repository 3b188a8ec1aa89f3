"""Two scores corrected for a judge's errors, and their difference."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import polars as pl
import pytest

from inquesto_core.compare.bootstrap import Resampling
from inquesto_core.compare.calibration import Measured, calibrate
from inquesto_core.compare.corrected import (
    LabelledSide,
    corrected_comparison,
    corrected_difference,
)

QUICK = Resampling(resamples=1_000)
RIGHT = (Measured(value=1.0, n=1e9), Measured(value=1.0, n=1e9))


def sums(clusters=12, size=12, a=9, b=6):
    """Return clusters that differ by a call up or down."""
    return pl.DataFrame(
        {
            "n": [size] * clusters,
            "passed_a": [a + at % 2 for at in range(clusters)],
            "passed_b": [b - at % 3 for at in range(clusters)],
        }
    )


def difference(table, a, b=None):
    shared = b is None
    return corrected_difference(table, a, a if shared else b, is_shared=shared, resampling=QUICK)


def test_a_judge_without_errors_leaves_the_difference_as_it_is():
    table = sums()
    found = difference(table, RIGHT)
    raw = (table["passed_b"].sum() - table["passed_a"].sum()) / table["n"].sum()
    assert found.value == pytest.approx(raw)
    assert found.low < raw < found.high
    assert found.inconclusive is None


def test_a_judge_that_errs_alike_on_both_shrinks_a_difference_which_the_labels_give_back():
    rates = (Measured(value=0.9, n=1e9), Measured(value=0.8, n=1e9))
    table = sums()
    assert difference(table, rates).value == pytest.approx(difference(table, RIGHT).value / 0.7)


def test_few_labels_widen_the_interval():
    few, many = (
        difference(sums(), (Measured(value=0.9, n=n), Measured(value=0.8, n=n))) for n in (20, 2000)
    )
    assert few.high - few.low > 1.3 * (many.high - many.low)


def test_a_judge_that_is_lenient_with_one_agent_hides_what_its_own_labels_show():
    lenient = (Measured(value=1.0, n=1e9), Measured(value=0.5, n=1e9))
    table = sums(a=6, b=6).with_columns(passed_b=pl.col("passed_a"))
    assert difference(table, RIGHT).value == 0
    assert difference(table, RIGHT, lenient).value < -0.3


def test_few_scenarios_and_labels_that_leave_all_open_are_inconclusive():
    assert difference(sums(clusters=9), RIGHT).inconclusive == "fewer than 10 clusters"
    weak = (Measured(value=0.7, n=5), Measured(value=0.6, n=5))
    assert "more than a coin" in difference(sums(), weak).inconclusive


def labelled(passed, n, *, right=20, wrong=0):
    outcomes = pl.DataFrame(
        {
            "judge": [True] * right + [False] * right + [True] * wrong,
            "labels": [True] * right + [False] * (right + wrong),
            "weight": [1.0] * (2 * right + wrong),
        }
    )
    calibration = calibrate(outcomes, [("agent", passed, n)], z=1.959964)
    return LabelledSide(labeller="ann", calls_of="a", calibration=calibration)


def test_both_scores_stand_raw_and_corrected_and_all_of_it_is_an_estimate():
    table = sums()
    totals = table.select(pl.all().sum()).row(0, named=True)
    a, b = (labelled(totals[f"passed_{side}"], totals["n"], wrong=5) for side in "ab")
    found = corrected_comparison(a, b, table, is_shared=True, resampling=QUICK)
    document = found.document()
    assert document["is_estimate"] is True
    assert document["a"]["score"]["passed"] == totals["passed_a"]
    assert document["b"]["score"]["value"] < totals["passed_b"] / totals["n"]
    assert document["a"]["specificity"]["value"] == pytest.approx(0.8)
    assert document["difference"]["value"] == pytest.approx(
        document["b"]["score"]["value"] - document["a"]["score"]["value"]
    )


def test_few_labels_make_the_difference_inconclusive_with_their_reason():
    sides = [labelled(9, 12, right=5), labelled(6, 12, right=5)]
    found = corrected_comparison(*sides, sums(), is_shared=False, resampling=QUICK)
    assert found.difference.inconclusive == "fewer than 30 labelled calls"


def test_a_side_without_a_correction_has_no_difference():
    outcomes = pl.DataFrame({"judge": [True] * 40, "labels": [True] * 40, "weight": [1.0] * 40})
    calibration = calibrate(outcomes, [("agent", 9, 12)], z=1.96)
    side = LabelledSide(labeller="ann", calls_of="a", calibration=calibration)
    found = corrected_comparison(side, side, sums(), is_shared=True, resampling=QUICK)
    assert found.difference.value is None
    assert found.difference.inconclusive == "no labelled call fails by the labels"


def test_the_interval_holds_the_true_difference_about_as_often_as_it_says(project):
    place = project / "benchmarks" / "compare_coverage.py"
    spec = importlib.util.spec_from_file_location("compare_coverage_labels", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    held = module.corrected_coverage(24, labels=120, populations=150, resamples=499)
    # 150 populations tell 95 per cent to within 3.6.
    assert 0.90 <= held <= 1.0
    assert np.isfinite(held)
