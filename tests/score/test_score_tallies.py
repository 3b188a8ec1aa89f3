from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from inquesto_core.score.tallies import histogram


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([], id="none"),
        pytest.param([0, 3, 3, None, 1], id="dense"),
        pytest.param([7, 2**40, 7], id="sparse"),
        pytest.param([-5, 2, -5], id="negative"),
    ],
)
def test_a_histogram_counts_each_length_once(values):
    found = histogram("waits", pl.Series(values, dtype=pl.Int64))
    assert found.schema == {"what": pl.String, "value_ms": pl.Int64, "n": pl.Int64}
    known = Counter(value for value in values if value is not None)
    assert found.rows() == [("waits", value, n) for value, n in sorted(known.items())]
