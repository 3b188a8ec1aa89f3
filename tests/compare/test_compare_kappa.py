from __future__ import annotations

import math

import numpy as np
import pytest

from inquesto_core.compare import cohen_kappa, kappa_variance
from inquesto_core.compare.kappa import LEAST_ANSWERS, LEAST_N

Z = 1.959964

#: Two dermatologists, SAS/STAT user's guide, PROC FREQ getting started: 0.3449 (0.2030, 0.4868).
SKIN = [[10, 4, 1, 0], [5, 10, 12, 2], [2, 4, 12, 5], [0, 2, 6, 13]]


@pytest.mark.parametrize(
    ("table", "kappa", "variance"),
    [
        # statsmodels 0.15.0, stats.inter_rater.cohens_kappa: kappa and var_kappa
        ([[0, 4, 1], [0, 8, 0], [0, 1, 5]], 0.48416289592760187, 0.019047747796775216),
        ([[75, 1, 4], [5, 4, 1], [0, 0, 10]], 0.676470588235294, 0.007691808048275295),
        ([[41, 3], [4, 27]], 0.8066298342541436, 0.004832678254706287),
        ([[20, 5], [10, 15]], 0.4, 0.016128),
    ],
)
def test_kappa_and_its_variance_are_those_of_statsmodels(table, kappa, variance):
    found = kappa_variance(table)
    assert found == pytest.approx((kappa, variance), rel=1e-12)


def test_kappa_and_its_interval_are_those_of_the_published_example():
    kappa, variance = kappa_variance(SKIN)
    half = Z * math.sqrt(variance)
    shown = [round(value, 4) for value in (kappa, kappa - half, kappa + half)]
    assert shown == [0.3449, 0.2030, 0.4868]


def test_swapping_the_raters_or_the_answers_changes_nothing():
    table = np.array([[41, 3], [4, 27]])
    kappa = cohen_kappa(table, Z)
    for other in (table.T, table[::-1, ::-1]):
        swapped = cohen_kappa(other, Z)
        assert (swapped.value, swapped.low, swapped.high) == pytest.approx(
            (kappa.value, kappa.low, kappa.high)
        )


def test_full_agreement_has_an_interval_below_one():
    kappa = cohen_kappa([[20, 0], [0, 20]], Z)
    assert kappa.value == 1
    assert kappa.high == 1
    assert 0.7 < kappa.low < 0.95


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([[0, 0], [0, 0]], "no call was answered by both"),
        ([[50, 0], [0, 0]], "both gave one answer throughout"),
        ([[0, 0], [0, 50]], "both gave one answer throughout"),
    ],
    ids=["nothing", "all true", "all false"],
)
def test_where_chance_alone_agrees_there_is_no_kappa(table, why):
    kappa = cohen_kappa(table, Z)
    assert (kappa.value, kappa.low, kappa.high, kappa.inconclusive) == (None, None, None, why)


def test_one_side_constant_is_kappa_zero():
    assert cohen_kappa([[30, 10], [0, 0]], Z).value == 0


@pytest.mark.parametrize(
    ("table", "is_said"),
    [
        ([[LEAST_ANSWERS, 0], [0, LEAST_N - LEAST_ANSWERS]], False),
        ([[LEAST_ANSWERS, 0], [0, LEAST_N - LEAST_ANSWERS - 1]], True),
        ([[LEAST_ANSWERS - 1, 0], [0, LEAST_N]], True),
        ([[LEAST_ANSWERS - 1, 0], [1, LEAST_N]], True),
    ],
    ids=["just enough", "one call too few", "an answer too few", "too few of one rater's"],
)
def test_below_the_least_numbers_kappa_is_inconclusive(table, is_said):
    assert (cohen_kappa(table, Z).inconclusive is not None) is is_said


def test_weights_move_kappa_and_do_not_add_calls():
    plain = cohen_kappa([[10, 5], [5, 20]], Z)
    weighted = cohen_kappa([[100, 50], [50, 200]], Z, effective_n=40)
    assert (weighted.value, weighted.low) == pytest.approx((plain.value, plain.low))


@pytest.mark.parametrize("n", [30, 100, 200])
@pytest.mark.parametrize("prevalence", [0.5, 0.2])
@pytest.mark.parametrize("accuracy", [0.8, 0.95, 0.99])
def test_the_interval_covers_the_true_kappa(n, prevalence, accuracy):
    p = np.array(
        [
            [prevalence * accuracy, prevalence * (1 - accuracy)],
            [(1 - prevalence) * (1 - accuracy), (1 - prevalence) * accuracy],
        ]
    )
    truth, _ = kappa_variance(p)
    tables = np.random.default_rng(1).multinomial(n, p.ravel(), size=1000).reshape(-1, 2, 2)
    told = [kappa for table in tables if not (kappa := cohen_kappa(table, Z)).inconclusive]
    covered = np.mean([kappa.low <= truth <= kappa.high for kappa in told])
    assert len(told) > 300
    assert covered >= 0.93
