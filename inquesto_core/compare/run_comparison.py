"""Two agents over the same calls: every figure that a decision between them needs, as one value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.bootstrap import Estimate, Resampling, Sums, json_number, studentised
from inquesto_core.compare.mcnemar import mcnemar_exact
from inquesto_core.compare.paired import (
    OutcomeCounts,
    Pairing,
    event_moves,
    outcome_counts,
    severity_column,
    severity_moves,
)
from inquesto_core.compare.repeats import Repeats, zero_failure_bound
from inquesto_core.compare.slices import (
    SliceDifference,
    WorstGroup,
    cluster_sums,
    paired_difference,
    slice_differences,
    worst_group,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare.cost_pairs import CostDifference
    from inquesto_core.compare.latency_pairs import WaitDifference
    from inquesto_core.protocol import Protocol

__all__ = ["MeanDifference", "RunComparison", "SideFacts", "compare_pairs", "mean_differences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFacts:
    """One side, as it was scored by itself.

    Parameters
    ----------
    run : str
        Name of its folder.
    citation : str
        The citation line of its record, over all its calls, paired or not.
    """

    run: str
    agent: str
    fingerprint: str
    citation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference:
    """A figure that is a mean over calls, or over turns, of both sides.

    Parameters
    ----------
    name : str
    a, b : float or None
    difference : Estimate
        b - a.
    """

    name: str
    a: float | None
    b: float | None
    difference: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Agent B beside agent A.

    Parameters
    ----------
    pairing : Pairing
        Its ``pairs`` have ``cluster``.
    cluster : str
        The column whose values are drawn again.
    score, goal : Estimate
        Differences of the pass rate and of the rate of goals reached, B - A.
    bounds : tuple of float or None
        The score's difference where every call that is not paired is taken against B, and for B.
    severities, events : polars.DataFrame
        `severity_moves`, `event_moves`.
    critical : dict of int to Estimate
        By severity: the difference of the share of calls with an event of it.
    causes : polars.DataFrame
        `cause_counts`.
    waits : tuple of WaitDifference
    waits_of : {"turns", "calls"}
        Whether single waits were kept, or only each call's median.
    conduct, effort : tuple of MeanDifference
        How often the agent talks over callers; how long calls are.
    slices, worst : tuple
    repeats : dict of str to Repeats
        By side, where slots have several trials.
    notes : tuple of str
        What else differs, and what could not be told.
    costs : tuple of CostDifference
        By currency; empty where no cost is told.
    """

    a: SideFacts
    b: SideFacts
    protocol: str
    population: str
    fail_at: int
    pairing: Pairing
    cluster: str
    clusters: int
    resampling: Resampling
    outcomes: OutcomeCounts
    goal_a: int
    goal_b: int
    goal_n: int
    mcnemar_p: float
    score: Estimate
    goal: Estimate
    bounds: tuple[float, float] | None
    severities: pl.DataFrame
    events: pl.DataFrame
    critical: dict[int, Estimate]
    causes: pl.DataFrame
    waits: tuple[WaitDifference, ...]
    waits_of: str
    censored: tuple[int, int] | None
    conduct: tuple[MeanDifference, ...]
    effort: tuple[MeanDifference, ...]
    slices: tuple[SliceDifference, ...]
    worst: tuple[WorstGroup, ...]
    repeats: dict[str, Repeats]
    notes: tuple[str, ...]
    costs: tuple[CostDifference, ...] = ()

    @property
    def left_out(self) -> int:
        """How many calls of either side have no pair."""
        return int(self.pairing.left_out["n"].sum())

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON values; rates are in [0, 1], times in milliseconds."""
        counts, n = self.outcomes, self.outcomes.n
        return {
            "a": asdict(self.a),
            "b": asdict(self.b),
            "protocol": self.protocol,
            "population": self.population,
            "pairs": n,
            "left_out": self.pairing.left_out.to_dicts(),
            "resampling": {
                "method": "symmetric studentised cluster bootstrap",
                "cluster": self.cluster,
                "clusters": self.clusters,
                **asdict(self.resampling),
            },
            "score": {
                "passed_a": counts.passed_a,
                "passed_b": counts.passed_b,
                **{name: getattr(counts, name) for name in ("broken", "fixed")},
                "still_failing": counts.still_failing,
                "still_passing": counts.still_passing,
                "difference": self.score.document(),
                "mcnemar_exact_p": self.mcnemar_p,
                "bounds": None if self.bounds is None else list(self.bounds),
            },
            "goal": {
                "reached_a": self.goal_a,
                "reached_b": self.goal_b,
                "n": self.goal_n,
                "difference": self.goal.document(),
            },
            "severities": [
                {
                    **row,
                    "difference": self.critical[row["severity"]].document(),
                    "none_in_a": zero_failure_bound(n) if row["a"] == 0 else None,
                    "none_in_b": zero_failure_bound(n) if row["b"] == 0 else None,
                }
                for row in self.severities.to_dicts()
            ],
            "events": self.events.to_dicts(),
            "causes": self.causes.to_dicts(),
            "waits_of": self.waits_of,
            "censored": None if self.censored is None else list(self.censored),
            "waits": [_wait(each) for each in self.waits],
            "conduct": [_mean(each) for each in self.conduct],
            "effort": [_mean(each) for each in self.effort],
            "cost": [each.document() for each in self.costs] or None,
            "slices": [_slice(each) for each in self.slices],
            "worst_groups": [_worst(each) for each in self.worst],
            "repeats": {side: _repeats(each) for side, each in self.repeats.items()},
            "notes": list(self.notes),
        }


def _wait(wait: WaitDifference) -> dict[str, Any]:
    return {
        "kind": wait.kind,
        "n_a": wait.n_a,
        "n_b": wait.n_b,
        "unanswered_a": wait.unanswered_a,
        "unanswered_b": wait.unanswered_b,
        "unanswered": wait.unanswered.document(),
        "quantiles": [
            {
                "share": each.share,
                "a": json_number(each.a),
                "b": json_number(each.b),
                "difference": each.difference.document(),
            }
            for each in wait.quantiles
        ],
    }


def _mean(mean: MeanDifference) -> dict[str, Any]:
    return {"name": mean.name, "a": mean.a, "b": mean.b, "difference": mean.difference.document()}


def _slice(found: SliceDifference) -> dict[str, Any]:
    names = ("column", "value", "n", "clusters", "passed_a", "passed_b", "broken", "fixed")
    return {
        **{name: getattr(found, name) for name in names},
        "rate_a": found.rate_a.document(),
        "rate_b": found.rate_b.document(),
        "difference": found.difference.document(),
        "p_value_holm": found.adjusted,
    }


def _worst(found: WorstGroup) -> dict[str, Any]:
    names = ("column", "side", "value", "rate", "others", "n")
    return {**{name: getattr(found, name) for name in names}, "gap": found.gap.document()}


def _repeats(found: Repeats) -> dict[str, Any]:
    return {
        "slots": found.slots,
        "trials": found.trials,
        "rates": [
            {
                "k": each.k,
                "slots": each.slots,
                "pass_hat_k": each.all_pass,
                "pass_at_k": each.any_pass,
            }
            for each in found.rates
        ],
        "flips": found.flips.to_dicts(),
    }


def mean_differences(
    pairs: pl.DataFrame,
    figures: Sequence[tuple[str, str, str | None]],
    *,
    resampling: Resampling,
) -> tuple[MeanDifference, ...]:
    """Return means of both sides, over calls or over what another column counts.

    Parameters
    ----------
    pairs : polars.DataFrame
        ``cluster`` and the columns of both sides.
    figures : sequence of (name, column, per)
        ``per`` None = per pair. A pair in which a side does not know either column is left out.
    """
    found = []
    for name, column, per in figures:
        needed = [f"{each}_{side}" for each in (column, per) if each for side in "ab"]
        told = pairs.drop_nulls(needed)
        sizes = {side: pl.len() if per is None else pl.col(f"{per}_{side}").sum() for side in "ab"}
        table = (
            told.group_by("cluster")
            .agg(
                **{f"k_{side}": pl.col(f"{column}_{side}").cast(pl.Int64).sum() for side in "ab"},
                **{f"n_{side}": size.cast(pl.Int64) for side, size in sizes.items()},
            )
            .sort("cluster")
        )
        a, b = (Sums.of(table[f"k_{side}"], table[f"n_{side}"]) for side in "ab")
        difference = studentised(b, a, resampling=resampling)
        found.append(MeanDifference(name=name, a=a.ratio, b=b.ratio, difference=difference))
    return tuple(found)


def _share_difference(
    pairs: pl.DataFrame, was: pl.Expr, now: pl.Expr, resampling: Resampling
) -> tuple[Estimate, int, int, int]:
    """Return the difference of how often two claims hold, and the counts: a, b, n."""
    told = pairs.select("cluster", a=was, b=now).drop_nulls()
    outcome = (
        pl.when(pl.col("a") & ~pl.col("b"))
        .then(pl.lit("broken"))
        .when(~pl.col("a") & pl.col("b"))
        .then(pl.lit("fixed"))
        .otherwise(pl.lit("same"))
    )
    named = told.select("cluster", passed_a="a", passed_b="b", outcome=outcome)
    sums = cluster_sums(named)
    estimate = paired_difference(sums, resampling=resampling)
    a, b, n = (int(sums[name].sum()) for name in ("passed_a", "passed_b", "n"))
    return estimate, a, b, n


def _bounds(pairing: Pairing) -> tuple[float, float] | None:
    """Return the difference with every unpaired complete call against B, and for B."""
    left = pairing.left_out
    if left.is_empty():
        return None
    pairs = pairing.pairs
    moved = int(pairs["passed_b"].sum()) - int(pairs["passed_a"].sum())
    alone = {
        side: left.filter(pl.col("side") == side).select("n", "passed").sum().row(0)
        for side in "ab"
    }
    total = pairs.height + alone["a"][0] + alone["b"][0]
    # Against B: it fails what only A holds, and A passes what only B holds; for B, the reverse.
    against = -alone["a"][1] + (alone["b"][1] - alone["b"][0])
    in_favour = (alone["a"][0] - alone["a"][1]) + alone["b"][1]
    return (moved + against) / total, (moved + in_favour) / total


#: How the agent holds the floor, and how long everybody is on the line.
CONDUCT = (("talk-overs a agent turn", "n_talk_over", "n_agent_turns"),)
EFFORT = (
    ("seconds a call", "duration_ms", None),
    ("seconds the agent speaks", "agent_voiced_ms", None),
)


def compare_pairs(
    pairing: Pairing,
    *,
    a: SideFacts,
    b: SideFacts,
    protocol: Protocol,
    population: str,
    cluster: str,
    by: Sequence[str],
    resampling: Resampling,
    causes: pl.DataFrame,
    waits: tuple[WaitDifference, ...],
    waits_of: str,
    censored: tuple[int, int] | None,
    repeats: dict[str, Repeats],
    notes: Sequence[str],
) -> RunComparison:
    """Return every figure of a comparison but the waits, which come from other tables."""
    pairs = pairing.pairs
    goal, goal_a, goal_b, goal_n = _share_difference(
        pairs, pl.col("goal_a"), pl.col("goal_b"), resampling
    )
    outcomes = outcome_counts(pairs)
    levels = sorted({event.severity for event in protocol.events}, reverse=True)
    critical = {
        level: _share_difference(
            pairs,
            severity_column(protocol, level, "a"),
            severity_column(protocol, level, "b"),
            resampling,
        )[0]
        for level in levels
    }
    gaps = [worst_group(pairs, each, side, resampling=resampling) for each in by for side in "ab"]
    return RunComparison(
        a=a,
        b=b,
        protocol=protocol.name,
        population=population,
        fail_at=protocol.fail_at,
        pairing=pairing,
        cluster=cluster,
        clusters=pairs["cluster"].n_unique(),
        resampling=resampling,
        outcomes=outcomes,
        goal_a=goal_a,
        goal_b=goal_b,
        goal_n=goal_n,
        mcnemar_p=mcnemar_exact(outcomes.broken, outcomes.fixed),
        score=paired_difference(cluster_sums(pairs), resampling=resampling),
        goal=goal,
        bounds=_bounds(pairing),
        severities=severity_moves(pairs, protocol),
        events=event_moves(pairs, protocol),
        critical=critical,
        causes=causes,
        waits=waits,
        waits_of=waits_of,
        censored=censored,
        conduct=mean_differences(pairs, CONDUCT, resampling=resampling),
        effort=mean_differences(pairs, EFFORT, resampling=resampling),
        slices=slice_differences(pairs, by, resampling=resampling),
        worst=tuple(gap for gap in gaps if gap is not None),
        repeats=repeats,
        notes=tuple(notes),
    )
