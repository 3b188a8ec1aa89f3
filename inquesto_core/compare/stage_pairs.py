"""How the stages of answers differ, as the platforms of two agents report them.

Endpointing, recognition, model and synthesis are what a platform says of itself, on its own clocks.
Nothing here is measured, so nothing here decides: no event, rate or gate reads it. Two platforms
begin and end a stage at different moments, so that their figures stand side by side without a
difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.bundle.call import STAGES
from inquesto_core.compare.bootstrap import json_number
from inquesto_core.compare.latency_pairs import quantile_differences

if TYPE_CHECKING:
    from inquesto_core.compare.bootstrap import Resampling
    from inquesto_core.compare.latency_pairs import QuantileDifference

__all__ = ["NO_STAGES", "SideStages", "StageDifference", "stage_differences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideStages:
    """What is reported of a side's paired calls.

    Parameters
    ----------
    values : polars.DataFrame
        ``stage, cluster, value_ms, n``.
    calls : int
        Of how many of the paired calls anything is reported.
    sources : tuple of str
        Who reported it, sorted.
    """

    values: pl.DataFrame
    calls: int
    sources: tuple[str, ...]


#: Of a side whose platform reports nothing.
NO_STAGES = SideStages(
    values=pl.DataFrame(
        schema={
            "stage": pl.String,
            "cluster": pl.String,
            "value_ms": pl.Float64,
            "n": pl.Int64,
        }
    ),
    calls=0,
    sources=(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDifference:
    """A stage as both sides' platforms report it.

    Parameters
    ----------
    stage : str
        One of `STAGES`.
    n_a, n_b : int
        Figures reported, an answer each.
    calls_a, calls_b : int
        Paired calls of which the platform reports any stage.
    sources_a, sources_b : tuple of str
    quantiles : tuple of QuantileDifference
        Median and 95th percentile.
    """

    stage: str
    n_a: int
    n_b: int
    calls_a: int
    calls_b: int
    sources_a: tuple[str, ...]
    sources_b: tuple[str, ...]
    quantiles: tuple[QuantileDifference, ...]

    @property
    def is_comparable(self) -> bool:
        """Whether the same platform, and one alone, reports on both sides."""
        return self.sources_a == self.sources_b and len(self.sources_a) == 1

    def document(self) -> dict[str, Any]:
        """Return the stage as JSON values; without a difference where platforms differ."""
        return {
            "stage": self.stage,
            "is_reported": True,
            "n_a": self.n_a,
            "n_b": self.n_b,
            "calls_a": self.calls_a,
            "calls_b": self.calls_b,
            "sources_a": list(self.sources_a),
            "sources_b": list(self.sources_b),
            "quantiles": [
                {
                    "share": each.share,
                    "a": json_number(each.a),
                    "b": json_number(each.b),
                    "difference": each.difference.document() if self.is_comparable else None,
                }
                for each in self.quantiles
            ],
        }


def stage_differences(
    a: SideStages, b: SideStages, *, resampling: Resampling
) -> tuple[StageDifference, ...]:
    """Return the stages of which either side's platform reports anything."""
    found = []
    for stage in STAGES:
        one, two = (side.values.filter(pl.col("stage") == stage) for side in (a, b))
        if one.is_empty() and two.is_empty():
            continue
        found.append(
            StageDifference(
                stage=stage,
                n_a=int(one["n"].sum()),
                n_b=int(two["n"].sum()),
                calls_a=a.calls,
                calls_b=b.calls,
                sources_a=a.sources,
                sources_b=b.sources,
                quantiles=quantile_differences(one, two, resampling=resampling),
            )
        )
    return tuple(found)
