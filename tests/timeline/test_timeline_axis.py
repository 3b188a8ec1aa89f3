from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.timeline.axis import places

numbers = st.lists(st.integers(-20, 20), max_size=40)


@pytest.mark.parametrize("side", ["left", "right"])
@given(points=numbers.map(sorted), at=numbers | numbers.map(sorted))
def test_places_are_those_of_a_search_in_whatever_order_is_looked_for(side, points, at):
    among, wanted = (np.array(values, dtype=np.int64) for values in (points, at))
    found = places(among, wanted, side=side)
    assert found.tolist() == np.searchsorted(among, wanted, side=side).tolist()


@pytest.mark.parametrize("side", ["left", "right"])
def test_few_places_among_many_points_are_the_same(side):
    points = np.repeat(np.arange(500, dtype=np.int64), 2)
    at = np.array([-1, 3, 3, 499, 500], dtype=np.int64)
    assert places(points, at, side=side).tolist() == np.searchsorted(points, at, side).tolist()
