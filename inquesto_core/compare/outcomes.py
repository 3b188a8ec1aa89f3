"""What another judge of the same calls does to their outcome and to the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.score.rate import Rate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OutcomeDifference", "outcome_difference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDifference:
    """The outcomes of the calls that two runs have in common.

    Parameters
    ----------
    common : int
        Calls in both runs.
    first_undecided, second_undecided : int
        Of these, not passed and not failed in that run.
    both_passed, first_only, second_only, both_failed : int
        Calls decided in both runs, by which of them passes the call.
    flipped : tuple of str
        Ids of the calls that one passes and the other fails, sorted.
    """

    common: int
    first_undecided: int
    second_undecided: int
    both_passed: int
    first_only: int
    second_only: int
    both_failed: int
    flipped: tuple[str, ...]

    @property
    def n(self) -> int:
        """Calls decided in both runs."""
        return self.both_passed + self.first_only + self.second_only + self.both_failed

    @property
    def first(self) -> Rate:
        """The first run's score over n."""
        return Rate(k=self.both_passed + self.first_only, n=self.n)

    @property
    def second(self) -> Rate:
        """The second run's score over n."""
        return Rate(k=self.both_passed + self.second_only, n=self.n)


def outcome_difference(
    first: pl.DataFrame, second: pl.DataFrame, calls: Sequence[str]
) -> OutcomeDifference:
    """Return how the outcomes of `calls` differ between two decision tables."""
    wanted = pl.DataFrame({"call_id": calls}, schema={"call_id": pl.String})
    both = (
        wanted.join(first.select("call_id", one="passed"), on="call_id")
        .join(second.select("call_id", two="passed"), on="call_id")
        .sort("call_id")
    )
    one, two = pl.col("one"), pl.col("two")
    counts = both.select(
        common=pl.len(),
        first_undecided=one.null_count(),
        second_undecided=two.null_count(),
        both_passed=(one & two).sum(),
        first_only=(one & ~two).sum(),
        second_only=(~one & two).sum(),
        both_failed=(~one & ~two).sum(),
    ).row(0, named=True)
    return OutcomeDifference(
        **{name: int(count) for name, count in counts.items()},
        flipped=tuple(both.filter(one != two)["call_id"]),
    )
