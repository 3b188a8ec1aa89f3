"""All calls on one line: interval algebra over any number of calls at once.

Times of call ``k`` are shifted by ``k * span``, where `span` exceeds every call's end by more than
any limit can bridge. What then stands sorted on one axis can be merged, searched and compared with
one numpy operation, and nothing ever reaches from one call into the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]

__all__ = [
    "FAR",
    "Spans",
    "axis_span",
    "clip",
    "covering",
    "first_from",
    "join",
    "places",
    "rows_of",
    "unite",
]

#: Later than anything on the axis.
FAR = np.int64(2**62)
#: Of so many times as many points as are looked for, most are passed over by halving.
_FEW = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Disjoint intervals of many calls, sorted along the axis.

    Parameters
    ----------
    call : int64 array of shape (n,)
        Index of the call an interval belongs to.
    start, end : int64 array of shape (n,), axis ms
        Half-open, ``start < end``.
    voiced : int64 array of shape (n,), ms
        How much of the interval is sound.
    """

    call: Int
    start: Int
    end: Int
    voiced: Int

    def __len__(self) -> int:
        """Return the number of intervals."""
        return len(self.start)

    def where(self, mask: Bool) -> Spans:
        """Return the intervals that `mask` keeps."""
        return Spans(
            call=self.call[mask],
            start=self.start[mask],
            end=self.end[mask],
            voiced=self.voiced[mask],
        )

    def of(self, calls: Int, shift: Int) -> Spans:
        """Return the intervals of some calls, in their order and as often as named.

        Parameters
        ----------
        calls, shift : int64 arrays of shape (n,)
            Indices of calls, and the axis ms by which each one's intervals are moved.
        """
        rows, place = rows_of(self.call, calls)
        return Spans(
            call=place,
            start=self.start[rows] + shift[place],
            end=self.end[rows] + shift[place],
            voiced=self.voiced[rows],
        )


def rows_of(owner: Int, calls: Int) -> tuple[Int, Int]:
    """Return the rows of some calls, in their order and as often as named, and whose each is.

    Parameters
    ----------
    owner : int64 array of shape (rows,)
        Each row's call, in rising order.
    calls : int64 array of shape (n,)
        Indices of calls.

    Returns
    -------
    tuple of int64 arrays
        Indices of rows, and for each the place in `calls` that it was taken for.
    """
    first = places(owner, calls, side="left")
    count = places(owner, calls, side="right") - first
    place = np.repeat(np.arange(len(calls), dtype=np.int64), count)
    return np.arange(len(place)) + np.repeat(first - (np.cumsum(count) - count), count), place


def places(points: Int, at: Int, *, side: Literal["left", "right"]) -> Int:
    """Return `numpy.searchsorted` of what is nearly always sorted itself, by merging both.

    What two parties do alternates, so that a merge takes a third of the time of as many searches.
    """
    n, m = len(points), len(at)
    if m * _FEW < n or np.any(at[1:] < at[:-1]):
        return np.searchsorted(points, at, side=side)
    # Of equals the first stays the first.
    both = (at, points) if side == "left" else (points, at)
    order = np.argsort(np.concatenate(both), kind="stable")
    is_at = order < m if side == "left" else order >= n
    return np.flatnonzero(is_at) - np.arange(m)


def axis_span(last_ms: int, reach_ms: int) -> int:
    """Return the axis length that one call takes: its end, and more than any limit's reach."""
    return int(last_ms) + 2 * int(reach_ms) + 1


def unite(call: Int, start: Int, end: Int) -> Spans:
    """Return the union of intervals that are sorted by start, empty ones left out.

    Touching and overlapping intervals of one call become one; its sound is its length.
    """
    solid = end > start
    call, start, end = call[solid], start[solid], end[solid]
    if len(start) == 0:
        return Spans(call=call, start=start, end=end, voiced=end - start)
    reach = np.maximum.accumulate(end)
    head = np.ones(len(start), dtype=bool)
    head[1:] = start[1:] > reach[:-1]
    first = np.flatnonzero(head)
    ends = np.maximum.reduceat(end, first)
    return Spans(call=call[first], start=start[first], end=ends, voiced=ends - start[first])


def clip(spans: Spans, low: Int, high: Int) -> Spans:
    """Return the intervals cut to their call's window.

    Parameters
    ----------
    low, high : int64 array of shape (calls,), axis ms
        The window of each call.
    """
    start = np.maximum(spans.start, low[spans.call])
    end = np.minimum(spans.end, high[spans.call])
    return unite(spans.call, start, end)


def join(spans: Spans, together: Bool) -> tuple[Spans, Int]:
    """Return `spans` with neighbours joined, and for each old interval the index of its new one.

    Parameters
    ----------
    together : bool array of shape (n - 1,)
        Whether interval ``i`` and ``i + 1`` belong together. Pairs of two calls never do.
    """
    if len(spans) == 0:
        return spans, np.zeros(0, dtype=np.int64)
    head = np.ones(len(spans), dtype=bool)
    head[1:] = ~together | (spans.call[1:] != spans.call[:-1])
    first = np.flatnonzero(head)
    last = np.append(first[1:], len(spans)) - 1
    joined = Spans(
        call=spans.call[first],
        start=spans.start[first],
        end=spans.end[last],
        voiced=np.add.reduceat(spans.voiced, first),
    )
    return joined, np.cumsum(head) - 1


def first_from(points: Int, since: Int) -> Int:
    """Return the first of the sorted `points` at or after each `since`, else `FAR`."""
    index = places(points, since, side="left")
    return np.append(points, FAR)[index]


def covering(spans: Spans, at: Int) -> Int:
    """Return the index of the interval with ``start <= at < end`` for each point, else -1."""
    index = places(spans.start, at, side="right") - 1
    ends = np.append(spans.end, -FAR)
    return np.where(ends[index] > at, index, -1)
