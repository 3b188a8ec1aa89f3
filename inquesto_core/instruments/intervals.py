"""Half-open intervals in milliseconds or frames, int64 arrays of shape (n, 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]

__all__ = ["covered", "joined", "runs"]


def runs(mask: Bool) -> Int:
    """Return the intervals in which `mask` holds, sorted, disjoint."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return edges.reshape(-1, 2)


def joined(intervals: Int, gap: float) -> Int:
    """Return sorted intervals with neighbours joined that stand at most `gap` apart."""
    if len(intervals) == 0:
        return intervals.reshape(0, 2)
    head = np.ones(len(intervals), dtype=bool)
    head[1:] = intervals[1:, 0] - intervals[:-1, 1] > gap
    first = np.flatnonzero(head)
    return np.column_stack([intervals[first, 0], np.maximum.reduceat(intervals[:, 1], first)])


def covered(intervals: Int, span: int) -> Bool:
    """Return which of the points 0 to `span` lie in an interval, shape (span,)."""
    steps = np.zeros(span + 1, np.int64)
    np.add.at(steps, np.minimum(intervals[:, 0], span), 1)
    np.add.at(steps, np.minimum(intervals[:, 1], span), -1)
    return np.asarray(np.cumsum(steps[:-1]) > 0)
