"""Two agents over the same calls: every figure that a decision between them needs, as one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.bootstrap import Estimate, Resampling, Sums, studentised, too_few
from inquesto_core.compare.comparison_document import comparison_document
from inquesto_core.compare.mcnemar import mcnemar_exact
from inquesto_core.compare.paired import (
    OutcomeCounts,
    Pairing,
    critical_column,
    event_moves,
    outcome_counts,
    severity_column,
    severity_moves,
)
from inquesto_core.compare.slices import (
    SliceDifference,
    WorstGroup,
    cluster_sums,
    paired_difference,
    slice_differences,
    worst_group,
)
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare.barge_in_pairs import BargeInDifference
    from inquesto_core.compare.corrected import CorrectedComparison
    from inquesto_core.compare.cost_pairs import CostDifference, PricedPairs
    from inquesto_core.compare.latency_pairs import WaitDifference
    from inquesto_core.compare.regression import FailureCheck
    from inquesto_core.compare.repeats import Repeats
    from inquesto_core.compare.stage_pairs import StageDifference
    from inquesto_core.protocol import Protocol

__all__ = [
    "SLOW_TURN",
    "CriticalCalls",
    "MeanDifference",
    "RunComparison",
    "SideFacts",
    "compare_pairs",
    "mean_differences",
]


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
class CriticalCalls:
    """Calls with an event of a kind: any above the failing severity, or one type.

    Parameters
    ----------
    a, b : int
        Calls of each side, of the `n` pairs in which both sides can tell.
    appeared, went : int
        Under B and not under A; under A and not under B.
    open : int
        Pairs in which a side cannot tell.
    difference : Estimate
        Of their share, b - a.
    """

    a: int
    b: int
    n: int
    appeared: int
    went: int
    open: int
    difference: Estimate

    def document(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        names = ("a", "b", "n", "appeared", "went", "open")
        counts = {name: getattr(self, name) for name in names}
        return {**counts, "difference": self.difference.document()}


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
    critical_calls : CriticalCalls
        Of all severities above the failing one together.
    causes : polars.DataFrame
        `cause_counts`.
    waits : tuple of WaitDifference
    waits_of : {"turns", "calls"}
        Whether single waits were kept, or only each call's median.
    barge_ins : tuple of BargeInDifference
        How often the agent yields to callers; empty where runs in partitions do not tell.
    slow_turns : CriticalCalls or None
        Calls with a `SLOW_TURN`; None where the protocol has no such event.
    conduct, effort : tuple of MeanDifference
        How often the agent talks over callers; how long calls are, and how long for each pass.
    slices, worst : tuple
    repeats : dict of str to Repeats
        By side, where slots have several trials.
    notes : tuple of str
        What else differs, and what could not be told.
    costs : tuple of CostDifference
        By currency; empty where no cost is told.
    priced : PricedPairs or None
        What the costs that were given say of these pairs; None where none were given.
    stages : tuple of StageDifference
        What platforms report of their answers; empty where no trace carries it.
    regressions : tuple of (FailureCheck, FailureCheck) or None
        Of a regression set, under A and under B; None where none was given.
    corrected : CorrectedComparison or None
        Both scores corrected by labels, an estimate.
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
    critical_calls: CriticalCalls
    causes: pl.DataFrame
    waits: tuple[WaitDifference, ...]
    waits_of: str
    censored: tuple[int, int] | None
    slow_turns: CriticalCalls | None
    conduct: tuple[MeanDifference, ...]
    effort: tuple[MeanDifference, ...]
    slices: tuple[SliceDifference, ...]
    worst: tuple[WorstGroup, ...]
    repeats: dict[str, Repeats]
    notes: tuple[str, ...]
    barge_ins: tuple[BargeInDifference, ...] = ()
    costs: tuple[CostDifference, ...] = ()
    priced: PricedPairs | None = None
    stages: tuple[StageDifference, ...] = ()
    regressions: tuple[tuple[FailureCheck, FailureCheck], ...] | None = None
    corrected: CorrectedComparison | None = None

    @property
    def left_out(self) -> int:
        """How many calls of either side have no pair."""
        return int(self.pairing.left_out["n"].sum())

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON values; rates are in [0, 1], times in milliseconds."""
        return comparison_document(self)


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
        few = too_few(min(int((each.size > 0).sum()) for each in (a, b)))
        if difference.value is not None and few is not None:
            difference = replace(difference, inconclusive=few)
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


def _calls_with(
    pairs: pl.DataFrame, was: pl.Expr, now: pl.Expr, resampling: Resampling
) -> CriticalCalls:
    """Return how many calls have what `was` says of A's and `now` of B's."""
    difference, a, b, n = _share_difference(pairs, was, now, resampling)
    moved = pairs.select(appeared=(~was & now).sum(), went=(was & ~now).sum())
    appeared, went = map(int, moved.row(0))
    return CriticalCalls(
        a=a,
        b=b,
        n=n,
        appeared=appeared,
        went=went,
        open=pairs.height - n,
        difference=difference,
    )


def _slow_turns(
    pairs: pl.DataFrame, protocol: Protocol, resampling: Resampling
) -> CriticalCalls | None:
    if all(event.name != SLOW_TURN for event in protocol.events):
        return None
    was, now = (pl.col(f"{EVENT_PREFIX}{SLOW_TURN}_{side}") for side in "ab")
    return _calls_with(pairs, was, now, resampling)


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
    ("seconds for each pass", "duration_ms", "passed"),
)
#: The event of a wait that is too long, or was never answered.
SLOW_TURN = "slow_turn"


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
        critical_calls=_calls_with(
            pairs, critical_column(protocol, "a"), critical_column(protocol, "b"), resampling
        ),
        causes=causes,
        waits=waits,
        waits_of=waits_of,
        censored=censored,
        slow_turns=_slow_turns(pairs, protocol, resampling),
        conduct=mean_differences(pairs, CONDUCT, resampling=resampling),
        effort=mean_differences(pairs, EFFORT, resampling=resampling),
        slices=slice_differences(pairs, by, resampling=resampling),
        worst=tuple(gap for gap in gaps if gap is not None),
        repeats=repeats,
        notes=tuple(notes),
    )
