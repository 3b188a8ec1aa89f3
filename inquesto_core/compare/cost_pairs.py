"""What the calls of two agents cost, pair by pair."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.bootstrap import Estimate, Resampling, Sums, studentised, too_few

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = ["CostDifference", "Costs", "PricedPairs", "cost_differences", "priced_pairs"]

Costs = dict[str, tuple["Decimal", str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostDifference:
    """The pairs whose cost is told on both sides, in one currency.

    Parameters
    ----------
    pairs, not_told : int
        Pairs of it; pairs of the comparison that are of no currency at all.
    a, b : float
        Cost of a call.
    difference : Estimate
        Of a call's cost, b - a.
    per_pass_a, per_pass_b : float or None
        All that was spent, by the calls that pass; None where none does.
    per_pass : Estimate
        Of that, b - a; inconclusive where fewer than ten clusters have a call that passes on either
        side.
    """

    currency: str | None
    pairs: int
    not_told: int
    a: float
    b: float
    difference: Estimate
    per_pass_a: float | None
    per_pass_b: float | None
    per_pass: Estimate

    def document(self) -> dict[str, Any]:
        """Return the costs as JSON values."""
        return {
            "currency": self.currency,
            "pairs": self.pairs,
            "pairs_not_told": self.not_told,
            "per_call": {"a": self.a, "b": self.b, "difference": self.difference.document()},
            "per_passed_call": {
                "a": self.per_pass_a,
                "b": self.per_pass_b,
                "difference": self.per_pass.document(),
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedPairs:
    """What the costs that were given say of the calls that are compared.

    Parameters
    ----------
    told : int
        Calls whose cost was given, whichever they are.
    calls_a, calls_b : int
        Of these, the paired calls of each side.
    pairs : int
        Pairs with a cost on both sides, in whatever currency.
    two_currencies : int
        Of these, the ones whose sides name different ones: they are in no difference.
    currencies_a, currencies_b : tuple of str or None
        None = a cost without a currency.
    """

    told: int
    calls_a: int
    calls_b: int
    pairs: int
    two_currencies: int
    currencies_a: tuple[str | None, ...]
    currencies_b: tuple[str | None, ...]

    def document(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return asdict(self)


def priced_pairs(pairs: pl.DataFrame, costs: Costs) -> PricedPairs:
    """Return how many of the pairs have a cost, and in which currencies.

    Parameters
    ----------
    pairs : polars.DataFrame
        ``call_id`` of both sides.
    costs : dict of call id to (cost, currency)
    """
    rows = [[costs.get(name) for name in pairs[f"call_id_{side}"].to_list()] for side in ("a", "b")]
    named = [
        tuple(sorted({each[1] for each in side if each is not None}, key=str)) for side in rows
    ]
    both = [
        (one[1], two[1])
        for one, two in zip(*rows, strict=True)
        if one is not None and two is not None
    ]
    return PricedPairs(
        told=len(costs),
        calls_a=sum(each is not None for each in rows[0]),
        calls_b=sum(each is not None for each in rows[1]),
        pairs=len(both),
        two_currencies=sum(one != two for one, two in both),
        currencies_a=named[0],
        currencies_b=named[1],
    )


def cost_differences(
    pairs: pl.DataFrame, costs: Costs, *, resampling: Resampling
) -> tuple[CostDifference, ...]:
    """Return the costs of both sides, by currency; currencies are never added.

    Parameters
    ----------
    pairs : polars.DataFrame
        ``cluster``, and ``call_id`` and ``passed`` of both sides.
    costs : dict of call id to (cost, currency)
    """
    told = pl.DataFrame(
        [(name, float(cost), currency) for name, (cost, currency) in sorted(costs.items())],
        schema={"call_id": pl.String, "cost": pl.Float64, "currency": pl.String},
        orient="row",
    )
    for side in "ab":
        named = told.rename({name: f"{name}_{side}" for name in told.columns})
        pairs = pairs.join(named, on=f"call_id_{side}", how="left", maintain_order="left")
    known = pairs.drop_nulls(["cost_a", "cost_b"]).filter(
        pl.col("currency_a").eq_missing(pl.col("currency_b"))
    )
    return tuple(
        _difference(
            own,
            currency=own["currency_a"][0],
            of=pairs.height - known.height,
            resampling=resampling,
        )
        for own in known.partition_by("currency_a", maintain_order=True)
    )


def _difference(
    own: pl.DataFrame, *, currency: str | None, of: int, resampling: Resampling
) -> CostDifference:
    table = (
        own.group_by("cluster")
        .agg(
            pl.col("cost_a", "cost_b").sum(),
            pl.col("passed_a", "passed_b").sum().cast(pl.Int64),
            n=pl.len(),
        )
        .sort("cluster")
    )
    a, b = (Sums.of(table[f"cost_{side}"], table["n"]) for side in "ab")
    spent = [float(own[f"cost_{side}"].sum()) for side in "ab"]
    passed = [int(own[f"passed_{side}"].sum()) for side in "ab"]
    per_pass = [cost / k if k else None for cost, k in zip(spent, passed, strict=True)]
    return CostDifference(
        currency=currency,
        pairs=own.height,
        not_told=of,
        a=spent[0] / own.height,
        b=spent[1] / own.height,
        difference=studentised(b, a, resampling=resampling),
        per_pass_a=per_pass[0],
        per_pass_b=per_pass[1],
        per_pass=_per_pass(table, resampling),
    )


def _per_pass(table: pl.DataFrame, resampling: Resampling) -> Estimate:
    """Return the difference of what a passed call costs, calls that fail paid for by it."""
    a, b = (Sums.of(table[f"cost_{side}"], table[f"passed_{side}"]) for side in "ab")
    found = studentised(b, a, resampling=resampling)
    few = too_few(min(int((each.size > 0).sum()) for each in (a, b)))
    if found.value is None or few is None:
        return found
    return replace(found, inconclusive=f"{few} with a passed call")
