"""Two agents over the same calls under signals or checks: paired success, and what moved it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.mcnemar import mcnemar_exact
from inquesto_core.compare.outcome_differences import PARTS, PASSED
from inquesto_core.compare.paired import OutcomeCounts, Pairing, outcome_counts, pair_calls
from inquesto_core.compare.slices import (
    SliceDifference,
    cluster_sums,
    paired_difference,
    slice_differences,
)
from inquesto_core.score.attempts import IN_N
from inquesto_core.score.tables import SLOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare.bootstrap import Estimate, Resampling

__all__ = [
    "OutcomeComparison",
    "OutcomeSide",
    "PartDifference",
    "compare_outcome_pairs",
    "outcome_pairs",
]

#: The state of a call to which nothing applied; no pair has it.
NOT_APPLICABLE = "not_applicable"
#: Of calls of one agent in one slot; none of them can be a partner.
TWICE = "slot_taken_twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSide:
    """One side, as it was scored by itself."""

    run: str
    agent: str
    fingerprint: str
    citation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDifference:
    """One signal or assertion over the pairs in which it applies on both sides.

    Parameters
    ----------
    a, b : int
        Pairs in which it is met, of `n`.
    broken, fixed : int
        Met under A only; met under B only.
    difference : Estimate
        Of its rate, B - A.
    """

    name: str
    a: int
    b: int
    n: int
    broken: int
    fixed: int
    difference: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeComparison:
    """Agent B beside agent A.

    Parameters
    ----------
    pairing : Pairing
        Its ``pairs`` have ``cluster``, ``call_id_a``, ``call_id_b`` and ``parts``.
    score : Estimate
        Difference of the rate of success, B - A; intervals draw whole scenarios.
    parts : tuple of PartDifference
    slices : tuple of SliceDifference
    """

    a: OutcomeSide
    b: OutcomeSide
    method: str
    protocol: str
    population: str
    pairing: Pairing
    clusters: int
    outcomes: OutcomeCounts
    mcnemar_p: float
    score: Estimate
    parts: tuple[PartDifference, ...]
    slices: tuple[SliceDifference, ...]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON values; rates are in [0, 1]."""
        counts = self.outcomes
        names = ("broken", "fixed", "still_failing", "still_passing", "n", "passed_a", "passed_b")
        sides = ("run", "agent", "fingerprint", "citation")
        moved = self.pairing.pairs.filter(pl.col("outcome").is_in(["broken", "fixed"]))
        return {
            "method": self.method,
            "protocol": self.protocol,
            "population": self.population,
            **{
                end: {name: getattr(side, name) for name in sides}
                for end, side in (("a", self.a), ("b", self.b))
            },
            "success": {
                **{name: getattr(counts, name) for name in names},
                "difference": self.score.document(),
                "mcnemar_p": self.mcnemar_p,
                "clusters": self.clusters,
            },
            "left_out": self.pairing.left_out.to_dicts(),
            "parts": [
                {
                    "name": part.name,
                    **{name: getattr(part, name) for name in ("a", "b", "n", "broken", "fixed")},
                    "difference": part.difference.document(),
                }
                for part in self.parts
            ],
            "slices": [
                {
                    **{
                        name: getattr(each, name)
                        for name in (
                            "column", "value", "n", "clusters", "passed_a", "passed_b", "broken",
                            "fixed", "adjusted",
                        )
                    },
                    "difference": each.difference.document(),
                }
                for each in self.slices
            ],
            "moved": moved.select(
                *SLOT, pl.col("outcome").cast(pl.String), "call_id_a", "call_id_b", "parts"
            ).to_dicts(),
            "notes": list(self.notes),
        }  # fmt: skip


def outcome_pairs(
    a: pl.DataFrame, b: pl.DataFrame, *, method: str, columns: Sequence[str] = ()
) -> Pairing:
    """Return the calls of two agents side by side.

    Parameters
    ----------
    a, b : polars.DataFrame
        Decisions of one agent each, with a column for each of `PARTS`.
    columns : sequence of str
        Further columns of both; what differs within a pair is shown as what it became.
    """
    frames = [_side(frame, method, columns) for frame in (a, b)]
    pairing = pair_calls(*frames)
    pairs = pairing.pairs.with_columns(cluster=pl.col("scenario_id").fill_null("(not known)"))
    for name in columns:
        one, two = (pl.col(f"{name}_{end}").cast(pl.String) for end in "ab")
        became = pl.format("{} → {}", one.fill_null("–"), two.fill_null("–"))
        same = pl.when(one.eq_missing(two)).then(one)
        pairs = pairs.with_columns(same.otherwise(became).alias(name))
    moved = [
        pl.when(pl.col(f"{name}_a").ne_missing(pl.col(f"{name}_b"))).then(pl.lit(name))
        for name in PARTS[method]
    ]
    pairs = pairs.with_columns(parts=pl.concat_list(moved).list.drop_nulls())
    return replace(pairing, pairs=pairs.sort(SLOT))


def _side(frame: pl.DataFrame, method: str, columns: Sequence[str]) -> pl.DataFrame:
    """Return a side's calls as `pair_calls` takes them; in n are those with a known outcome."""
    told = frame.select(*SLOT, "state", "call_id", *PARTS[method], *columns, passed=PASSED[method])
    in_n = pl.col("state").is_in(list(IN_N))
    is_twice = in_n & (pl.when(in_n).then(1).otherwise(0).sum().over(list(SLOT)) > 1)
    return told.with_columns(
        state=pl.when(is_twice)
        .then(pl.lit(TWICE))
        .when(in_n & pl.col("passed").is_null())
        .then(pl.lit(NOT_APPLICABLE))
        .otherwise("state")
    )


def compare_outcome_pairs(
    pairing: Pairing,
    *,
    a: OutcomeSide,
    b: OutcomeSide,
    method: str,
    protocol: str,
    population: str,
    by: Sequence[str],
    resampling: Resampling,
    notes: Sequence[str],
) -> OutcomeComparison:
    """Return every figure of a comparison.

    Parameters
    ----------
    pairing : Pairing
        `outcome_pairs`.
    by : sequence of str
        Columns within whose values is compared.
    """
    pairs = pairing.pairs
    outcomes = outcome_counts(pairs)
    return OutcomeComparison(
        a=a,
        b=b,
        method=method,
        protocol=protocol,
        population=population,
        pairing=pairing,
        clusters=pairs["cluster"].n_unique(),
        outcomes=outcomes,
        mcnemar_p=mcnemar_exact(outcomes.broken, outcomes.fixed),
        score=paired_difference(cluster_sums(pairs), resampling=resampling),
        parts=tuple(
            part for name in PARTS[method] if (part := _part(pairs, name, resampling)) is not None
        ),
        slices=slice_differences(pairs, by, resampling=resampling),
        notes=tuple(notes),
    )


def _part(pairs: pl.DataFrame, name: str, resampling: Resampling) -> PartDifference | None:
    """Return one part's difference; None where it applies in no pair on both sides."""
    told = pairs.select("cluster", passed_a=f"{name}_a", passed_b=f"{name}_b").drop_nulls()
    if told.is_empty():
        return None
    was, now = pl.col("passed_a"), pl.col("passed_b")
    outcome = (
        pl.when(was & ~now)
        .then(pl.lit("broken"))
        .when(~was & now)
        .then(pl.lit("fixed"))
        .otherwise(pl.lit("same"))
    )
    sums = cluster_sums(told.with_columns(outcome=outcome))
    totals = {key: int(sums[key].sum()) for key in ("passed_a", "passed_b", "broken", "fixed", "n")}
    return PartDifference(
        name=name,
        a=totals["passed_a"],
        b=totals["passed_b"],
        n=totals["n"],
        broken=totals["broken"],
        fixed=totals["fixed"],
        difference=paired_difference(sums, resampling=resampling),
    )
