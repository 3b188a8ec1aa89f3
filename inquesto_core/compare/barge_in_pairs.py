"""How often two agents yield to callers who begin to speak while they speak.

An agent should yield to an *attempt* to take the floor, and speak on over a *backchannel*: "mm-hm".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.bootstrap import Sums, studentised
from inquesto_core.timeline.barge_ins import KINDS

if TYPE_CHECKING:
    from inquesto_core.compare.bootstrap import Estimate, Resampling

__all__ = ["ATTEMPT", "BargeInDifference", "barge_in_counts", "barge_in_differences"]

ATTEMPT = KINDS[0]
_COUNT = pl.len().cast(pl.Int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class BargeInDifference:
    """Barge-ins of one kind under both agents.

    Parameters
    ----------
    kind : {"attempt", "backchannel"}
    yielded_a, yielded_b, n_a, n_b : int
        Barge-ins that the agent yields to, of all; one that the end of the call leaves open is in
        all, as in the record.
    difference : Estimate
        Of the share yielded to, b - a.
    """

    kind: str
    yielded_a: int
    n_a: int
    yielded_b: int
    n_b: int
    difference: Estimate

    def document(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        names = ("kind", "yielded_a", "n_a", "yielded_b", "n_b")
        counts = {name: getattr(self, name) for name in names}
        return {**counts, "difference": self.difference.document()}


def barge_in_counts(barge_ins: pl.DataFrame, clusters: pl.DataFrame) -> pl.DataFrame:
    """Return the barge-ins of paired calls: ``kind, cluster, yielded, n``.

    Parameters
    ----------
    barge_ins : table ``barge_ins``
    clusters : polars.DataFrame
        ``call_id, cluster`` of the paired calls.
    """
    yielded = (pl.col("outcome") == "yielded").fill_null(value=False)
    return (
        barge_ins.join(clusters, on="call_id", how="inner")
        .group_by("kind", "cluster")
        .agg(yielded=yielded.sum().cast(pl.Int64), n=_COUNT)
    )


def barge_in_differences(
    a: pl.DataFrame, b: pl.DataFrame, *, resampling: Resampling
) -> tuple[BargeInDifference, ...]:
    """Return how often each side yields, by kind; a kind of which neither side has any is left out.

    Parameters
    ----------
    a, b : `barge_in_counts`
    """
    found = []
    for kind in KINDS:
        one, two = (frame.filter(pl.col("kind") == kind).drop("kind") for frame in (a, b))
        both = one.join(two, on="cluster", how="full", coalesce=True, suffix="_b")
        both = both.fill_null(0).sort("cluster")
        if both.is_empty():
            continue
        sums = [Sums.of(both["yielded" + end], both["n" + end]) for end in ("", "_b")]
        found.append(
            BargeInDifference(
                kind=kind,
                yielded_a=int(both["yielded"].sum()),
                n_a=int(both["n"].sum()),
                yielded_b=int(both["yielded_b"].sum()),
                n_b=int(both["n_b"].sum()),
                difference=studentised(sums[1], sums[0], resampling=resampling, bounds=(-1.0, 1.0)),
            )
        )
    return tuple(found)
