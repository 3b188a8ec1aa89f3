"""Which call of one run stands beside which of another, and what became of it.

A pair is one slot of the population: the same scenario, condition, speaker group and trial. Only
pairs whose both calls are in n tell of a difference; what stands alone is counted, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.score.tables import EVENT_PREFIX, SLOT
from inquesto_core.score.views import is_complete

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from inquesto_core.protocol import Protocol

__all__ = [
    "FAULT",
    "GOAL",
    "OUTCOMES",
    "OutcomeCounts",
    "Pairing",
    "cause_counts",
    "critical_column",
    "event_moves",
    "moved_causes",
    "outcome_counts",
    "pair_calls",
    "severity_column",
    "severity_moves",
]

#: What became of a pair from A to B, in the order in which it is told.
OUTCOMES = ("broken", "fixed", "still_failing", "still_passing")

#: The causes that are no event: a call that the agent's side broke off, a goal not reached.
FAULT, GOAL = "agent_fault", "goal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The pairs of two runs, and the calls that have none.

    Parameters
    ----------
    pairs : polars.DataFrame
        One row a pair: `SLOT`, ``outcome``, and every other column twice, with ``_a`` and ``_b``.
    left_out : polars.DataFrame
        ``side, reason, n, passed``: complete calls without a complete partner, by what the other
        run has in their slot (``absent``, ``excluded``, ``not_evaluated``).
    """

    pairs: pl.DataFrame
    left_out: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """The pairs by what became of them."""

    broken: int
    fixed: int
    still_failing: int
    still_passing: int

    @property
    def n(self) -> int:
        """All pairs."""
        return self.broken + self.fixed + self.still_failing + self.still_passing

    @property
    def passed_a(self) -> int:
        """Pairs that pass under A."""
        return self.broken + self.still_passing

    @property
    def passed_b(self) -> int:
        """Pairs that pass under B."""
        return self.fixed + self.still_passing


def pair_calls(a: pl.DataFrame, b: pl.DataFrame) -> Pairing:
    """Return the calls of two runs side by side.

    Parameters
    ----------
    a, b : polars.DataFrame
        `SLOT`, ``state``, ``passed`` and any further column, the same in both: calls of one agent
        each. No two complete calls of one run fill the same slot.
    """
    keys = list(SLOT)
    complete = [frame.filter(is_complete()) for frame in (a, b)]
    rest = [name for name in a.columns if name not in keys]
    one, two = (
        frame.rename({name: f"{name}_{side}" for name in rest})
        for frame, side in zip(complete, "ab", strict=True)
    )
    pairs = one.join(two, on=keys, how="inner", validate="1:1", maintain_order="left")
    was, now = pl.col("passed_a"), pl.col("passed_b")
    outcome = (
        pl.when(was & ~now)
        .then(pl.lit("broken"))
        .when(~was & now)
        .then(pl.lit("fixed"))
        .when(now)
        .then(pl.lit("still_passing"))
        .otherwise(pl.lit("still_failing"))
        .cast(pl.Enum(OUTCOMES))
    )
    left = [
        _alone(complete[0], b, side="a"),
        _alone(complete[1], a, side="b"),
    ]
    return Pairing(pairs=pairs.with_columns(outcome=outcome), left_out=pl.concat(left))


def _alone(complete: pl.DataFrame, other: pl.DataFrame, *, side: str) -> pl.DataFrame:
    """Return ``side, reason, n, passed`` of the complete calls that the other run has not."""
    keys = list(SLOT)
    partners = other.filter(is_complete()).select(keys)
    alone = complete.join(partners, on=keys, how="anti")
    # One slot may hold several calls that are out of n: any of them says why.
    why = other.filter(~is_complete()).group_by(keys).agg(pl.col("state").min())
    told = alone.select(*keys, "passed").join(
        why.select(*keys, reason=pl.col("state").cast(pl.String)), on=keys, how="left"
    )
    return (
        told.group_by(pl.col("reason").fill_null("absent"))
        .agg(n=pl.len().cast(pl.Int64), passed=pl.col("passed").sum().cast(pl.Int64))
        .select(pl.lit(side).alias("side"), "reason", "n", "passed")
        .sort("reason")
    )


def outcome_counts(pairs: pl.DataFrame) -> OutcomeCounts:
    """Return how many pairs are broken, fixed, still failing and still passing."""
    counts = dict(pairs.group_by("outcome").len().rows())
    return OutcomeCounts(**{name: int(counts.get(name, 0)) for name in OUTCOMES})


def event_moves(pairs: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    """Return how many calls have each event under A and B, and in how many it came or went.

    Returns
    -------
    polars.DataFrame
        ``event, severity, a, b, appeared, went, open``, most severe first; ``open`` counts pairs
        in which a side does not tell, which are in no other column.
    """
    rows = []
    for event in sorted(protocol.events, key=lambda each: (-each.severity, each.name)):
        was, now = (pl.col(f"{EVENT_PREFIX}{event.name}_{side}") for side in "ab")
        told = was.is_not_null() & now.is_not_null()
        counts = pairs.select(
            a=(told & was).sum(),
            b=(told & now).sum(),
            appeared=(~was & now).sum(),
            went=(was & ~now).sum(),
            open=(~told).sum(),
        ).row(0)
        rows.append((event.name, event.severity, *map(int, counts)))
    columns = ("event", "severity", "a", "b", "appeared", "went", "open")
    schema = {name: pl.String if name == "event" else pl.Int64 for name in columns}
    return pl.DataFrame(rows, schema=schema, orient="row")


def severity_moves(pairs: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    """Return the same by severity: a call has a severity if it has any event of it.

    Returns
    -------
    polars.DataFrame
        ``severity, a, b, appeared, went, open``, most severe first.
    """
    rows = []
    for level in sorted({event.severity for event in protocol.events}, reverse=True):
        was, now = (severity_column(protocol, level, side) for side in "ab")
        told = was.is_not_null() & now.is_not_null()
        counts = pairs.select(
            a=(told & was).sum(),
            b=(told & now).sum(),
            appeared=(~was & now).sum(),
            went=(was & ~now).sum(),
            open=(~told).sum(),
        ).row(0)
        rows.append((level, *map(int, counts)))
    columns = ("severity", "a", "b", "appeared", "went", "open")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Int64), orient="row")


def severity_column(protocol: Protocol, level: int, side: str) -> pl.Expr:
    """Return whether a side's call has an event of a severity; null = nobody can tell."""
    return _any_event(protocol, {level}, side)


def critical_column(protocol: Protocol, side: str) -> pl.Expr:
    """Return whether a side's call has an event above the failing severity; null as above."""
    levels = {event.severity for event in protocol.events if event.severity > protocol.fail_at}
    return _any_event(protocol, levels, side)


def _any_event(protocol: Protocol, levels: Set[int], side: str) -> pl.Expr:
    names = [
        f"{EVENT_PREFIX}{event.name}_{side}"
        for event in protocol.events
        if event.severity in levels
    ]
    return pl.any_horizontal(names) if names else pl.lit(value=False)


def moved_causes(pairs: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    """Return `pairs` with ``appeared``, ``went`` and ``stayed``: what fails a call on which side.

    Only under B, only under A, and under both. All are lists, most severe first, of the events of
    severity ``fail_at`` and above; then `FAULT`, where the agent's side broke the call off, and
    `GOAL`, where the goal was not reached (in the first two: but under the other side).
    """
    names = [
        event.name
        for event in sorted(protocol.events, key=lambda each: (-each.severity, each.name))
        if event.severity >= protocol.fail_at
    ]
    return pairs.with_columns(
        appeared=_fails_only(names, "b", "a"),
        went=_fails_only(names, "a", "b"),
        stayed=_fails_in_both(names),
    )


def cause_counts(moved: pl.DataFrame) -> pl.DataFrame:
    """Return how many broken and fixed calls each cause stands first in: ``outcome, cause, n``.

    Parameters
    ----------
    moved : `moved_causes`
    """
    side = pl.when(pl.col("outcome") == "broken").then("appeared").otherwise("went")
    return (
        moved.filter(pl.col("outcome").is_in(["broken", "fixed"]))
        .group_by(pl.col("outcome").cast(pl.String), cause=side.list.first())
        .agg(n=pl.len().cast(pl.Int64))
        .sort(["outcome", "n", "cause"], descending=[False, True, False], nulls_last=True)
    )


def _fails_only(events: Sequence[str], side: str, other: str) -> pl.Expr:
    def has(column: str, end: str) -> pl.Expr:
        return pl.col(f"{column}_{end}").fill_null(value=False)

    parts = [
        pl.when(has(EVENT_PREFIX + name, side) & ~has(EVENT_PREFIX + name, other)).then(
            pl.lit(name)
        )
        for name in events
    ]
    missed = pl.col(f"goal_{side}").eq(other=False) & pl.col(f"goal_{other}").eq(other=True)
    fault = (pl.col(f"state_{side}") == FAULT) & (pl.col(f"state_{other}") == "scored")
    # A call that was broken off rarely reaches its goal: why it did not stands first.
    parts += [
        pl.when(fault).then(pl.lit(FAULT)),
        pl.when(missed.fill_null(value=False)).then(pl.lit(GOAL)),
    ]
    return pl.concat_list(parts).list.drop_nulls()


def _fails_in_both(events: Sequence[str]) -> pl.Expr:
    columns = {name: f"{EVENT_PREFIX}{name}" for name in events}
    fails = {
        **{name: [pl.col(f"{column}_{side}") for side in "ab"] for name, column in columns.items()},
        FAULT: [pl.col(f"state_{side}") == FAULT for side in "ab"],
        GOAL: [pl.col(f"goal_{side}").eq(other=False) for side in "ab"],
    }
    parts = [
        pl.when((a & b).fill_null(value=False)).then(pl.lit(name)) for name, (a, b) in fails.items()
    ]
    return pl.concat_list(parts).list.drop_nulls()
