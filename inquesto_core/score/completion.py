"""What a passed call costs, and how many pass at which waiting time."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import polars as pl

__all__ = [
    "BANDS",
    "LATENCY_BANDS_MS",
    "CostOfPass",
    "completion_by_latency",
    "cost_of_pass",
    "latency_band",
    "transcript_latency",
]

#: Upper ends of the bands of a call's median reply latency, inclusive; the last band has none.
LATENCY_BANDS_MS = (800, 1500, 3000)

#: The names of the bands, from the shortest; the last is of calls without a median.
BANDS = (
    *(f"at most {high} ms" for high in LATENCY_BANDS_MS),
    f"more than {LATENCY_BANDS_MS[-1]} ms",
    "no median",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOfPass:
    """The cost of the calls in n, of one currency.

    Parameters
    ----------
    currency : str or None
    n_told, n_not_told : int
        Calls in n whose cost is told, and those whose is not: these are in no quotient.
    passed : int
        Of those told.
    total : Decimal
        Over those told; divided by `passed` it is the cost of a passed call, failed ones included.
    """

    currency: str | None
    n_told: int
    n_not_told: int
    passed: int
    total: Decimal

    @property
    def per_pass(self) -> Decimal | None:
        """What one passed call costs, failed ones included; none where none passed."""
        return self.total / self.passed if self.passed else None


def cost_of_pass(
    decisions: pl.DataFrame, costs: dict[str, tuple[Decimal, str | None]]
) -> tuple[CostOfPass, ...]:
    """Return the cost of a passed call, a currency each.

    Parameters
    ----------
    decisions : decision table
    costs : dict of call id to (cost, currency)
    """
    outcomes = dict(
        decisions.filter(pl.col("passed").is_not_null()).select("call_id", "passed").iter_rows()
    )
    told = {call_id: costs[call_id] for call_id in sorted(outcomes) if call_id in costs}
    return tuple(
        CostOfPass(
            currency=currency,
            n_told=sum(own == currency for _, own in told.values()),
            n_not_told=len(outcomes) - len(told),
            passed=sum(own == currency and outcomes[each] for each, (_, own) in told.items()),
            total=sum((cost for cost, own in told.values() if own == currency), Decimal(0)),
        )
        for currency in sorted({own for _, own in told.values()}, key=str)
    )


def completion_by_latency(decisions: pl.DataFrame) -> list[tuple[str, int, int]]:
    """Return, a band of the median reply latency each, its name, the calls that passed, and all.

    Calls in n without a median stand in a band of their own, *no median*.
    """
    known = decisions.filter(pl.col("passed").is_not_null()).with_columns(band=latency_band())
    held = {name: known.filter(pl.col("band") == name) for name in BANDS}
    return [(name, int(ours["passed"].sum()), ours.height) for name, ours in held.items()]


def latency_band() -> pl.Expr:
    """Return the name of the band that ``median_latency_ms`` lies in."""
    median = pl.col("median_latency_ms")
    upper = zip(BANDS, LATENCY_BANDS_MS, strict=False)
    return pl.coalesce(
        *(pl.when(median <= high).then(pl.lit(name)) for name, high in upper),
        pl.when(median.is_not_null()).then(pl.lit(BANDS[-2])),
        pl.lit(BANDS[-1]),
    )


def transcript_latency(transcript: pl.DataFrame) -> pl.DataFrame:
    """Return each call's median reply latency by the times of its transcript, where it has some.

    From the end of a caller turn to the beginning of the agent turn behind it; 0 where the agent
    began before that end.

    Returns
    -------
    polars.DataFrame
        ``call_id, median_latency_ms``.
    """
    turns = transcript.sort("call_id", "position").with_columns(
        before=pl.col("speaker").shift(1).over("call_id"),
        ended_ms=pl.col("end_ms").shift(1).over("call_id"),
    )
    replies = turns.filter((pl.col("speaker") == "agent") & (pl.col("before") == "caller"))
    wait = (pl.col("start_ms") - pl.col("ended_ms")).clip(lower_bound=0)
    return (
        replies.with_columns(wait=wait)
        .drop_nulls("wait")
        .group_by("call_id")
        .agg(median_latency_ms=pl.col("wait").median())
        .sort("call_id")
    )
