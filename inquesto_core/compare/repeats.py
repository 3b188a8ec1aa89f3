"""What repeated trials of the same slot tell: how often an agent succeeds, and how steadily.

With c successes in n trials of a slot, both figures are unbiased and are means over slots:
``pass^k``, that k trials *all* succeed, is ``C(c, k) / C(n, k)``; ``pass@k``, that *at least one*
of k does, is ``1 - C(n - c, k) / C(n, k)``. The second says what could be reached by trying again,
and no caller tries again: it is never a rate of success.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.special import gammaln

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Repeats", "TrialRates", "repeats", "zero_failure_bound"]

#: How many trials are asked about, as far as slots have them.
ASKED_K = (1, 2, 3, 5, 8)
_RULE = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRates:
    """The mean over the slots that have at least k trials.

    Parameters
    ----------
    all_pass : float
        pass^k: all of k trials succeed.
    any_pass : float
        pass@k: at least one of them does; no rate of success where k > 1.
    """

    k: int
    slots: int
    all_pass: float
    any_pass: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """The trials of one run.

    Parameters
    ----------
    slots, trials : int
        Slots with more than one complete trial, and their trials.
    rates : tuple of TrialRates
    flips : polars.DataFrame
        ``scenario_id, slots, trials, flip_rate``, least steady first: the share of pairs of trials
        of one slot that disagree, over the scenario's slots.
    """

    slots: int
    trials: int
    rates: tuple[TrialRates, ...]
    flips: pl.DataFrame


def repeats(calls: pl.DataFrame, *, outcome: str = "passed") -> Repeats | None:
    """Return what the trials of each slot tell; None where no slot has two.

    Parameters
    ----------
    calls : polars.DataFrame
        Complete calls of one agent: ``scenario_id, condition, group`` and `outcome`.
    """
    slots = (
        calls.group_by("scenario_id", "condition", "group")
        .agg(n=pl.len().cast(pl.Int64), c=pl.col(outcome).sum().cast(pl.Int64))
        .filter(pl.col("n") > 1)
    )
    if slots.is_empty():
        return None
    n, c = (slots[name].to_numpy().astype(np.float64) for name in ("n", "c"))
    n_i, c_i = pl.col("n"), pl.col("c")
    flips = (
        slots.group_by("scenario_id")
        .agg(
            slots=pl.len().cast(pl.Int64),
            trials=n_i.sum(),
            flip_rate=(c_i * (n_i - c_i) * 2).sum() / (n_i * (n_i - 1)).sum(),
        )
        .sort(["flip_rate", "scenario_id"], descending=[True, False])
    )
    return Repeats(
        slots=slots.height,
        trials=int(n.sum()),
        rates=tuple(_rates(n, c, k) for k in ASKED_K if (n >= k).any()),
        flips=flips,
    )


def _rates(n: NDArray[np.float64], c: NDArray[np.float64], k: int) -> TrialRates:
    enough = n >= k
    n, c = n[enough], c[enough]
    return TrialRates(
        k=k,
        slots=int(enough.sum()),
        all_pass=float(_share(c, n, k).mean()),
        any_pass=float(1 - _share(n - c, n, k).mean()),
    )


def _share(c: NDArray[np.float64], n: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return C(c, k) / C(n, k); 0 where c < k."""
    held = np.maximum(c, k)
    logs = gammaln(held + 1) - gammaln(held - k + 1) - gammaln(n + 1) + gammaln(n - k + 1)
    return np.where(c >= k, np.exp(logs), 0.0)


def zero_failure_bound(n: int, *, level: float = 0.95) -> dict[str, float | int | bool] | None:
    """Return how frequent a failure can be that none of n calls had; None where n is 0.

    ``exact`` is ``1 - (1 - level)^(1/n)``, the upper Clopper-Pearson bound of 0 in n, one-sided;
    ``rule_of_three`` is 3 / n, its approximation at 95 % (Hanley and Lippman-Hand 1983). Both take
    the n calls as independent; calls of few scenarios say less.

    Examples
    --------
    >>> bound = zero_failure_bound(306)
    >>> round(bound["exact"], 5), round(bound["rule_of_three"], 5)
    (0.00974, 0.0098)
    """
    if n < 1:
        return None
    return {
        "n": n,
        "exact": float(-np.expm1(np.log1p(-level) / n)),
        "rule_of_three": min(1.0, _RULE / n),
        "assumes_independence": True,
    }
