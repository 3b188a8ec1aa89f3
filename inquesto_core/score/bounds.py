"""How far the score could be from what is known: open calls, excluded calls, timing uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.score.rate import Rate, published_rate
from inquesto_core.score.tallies import counts_of, tally
from inquesto_core.score.views import is_complete, pass_rate

if TYPE_CHECKING:
    from inquesto_core.protocol.definition import Protocol

__all__ = [
    "STATES",
    "bound_columns",
    "excluded_as_failures",
    "fragile_limits",
    "score_bounds",
    "timing_uncertainty",
]

#: Every call is in exactly one.
STATES = ("scored", "agent_fault", "excluded", "not_evaluated", "timing_only")

_FRAGILE = "fragile"


def bound_columns() -> dict[str, pl.Expr]:
    """Return what is summed over calls: each state, known failures, both ends of the timing."""
    is_open = pl.col("state") == "not_evaluated"
    return {
        **{state: pl.col("state") == state for state in STATES},
        "known_fail": is_open & pl.col("known_fail"),
        "passed_low": is_complete() & pl.coalesce("passed_low", "passed"),
        "passed_high": is_complete() & pl.coalesce("passed_high", "passed"),
        "borderline": is_complete() & pl.col("borderline"),
    }


def fragile_limits(complete: pl.DataFrame) -> pl.DataFrame:
    """Return in how many of the calls the move of each structural limit changes something."""
    return tally(_FRAGILE, complete["fragile_limits"].explode(empty_as_null=False))


def score_bounds(cells: pl.DataFrame) -> dict[str, Any] | None:
    """Return the score over complete and open calls with the open ones all failed, all passed.

    A call that is open but certainly failed (``known_fail``) is failed in both. The score over
    complete calls need not lie between them: it leaves the known failures out.

    Parameters
    ----------
    cells : polars.DataFrame
        Those of a summary.

    Returns
    -------
    dict or None
        ``low, high`` in percent to one decimal, ``passed_low, passed_high, n``, ``open_n`` and
        ``known_fail_n``; None where no call is open.
    """
    open_n, known = int(cells["not_evaluated"].sum()), int(cells["known_fail"].sum())
    if open_n == 0:
        return None
    score = pass_rate(cells)
    n = score.n + open_n
    low, high = Rate(k=score.k, n=n), Rate(k=score.k + open_n - known, n=n)
    return {
        "low": low.published,
        "high": high.published,
        "passed_low": low.k,
        "passed_high": high.k,
        "n": n,
        "open_n": open_n,
        "known_fail_n": known,
    }


def excluded_as_failures(cells: pl.DataFrame, *, protocol: Protocol) -> dict[str, Any]:
    """Return the score with every excluded call counted as a failed one."""
    score = pass_rate(cells)
    return published_rate(Rate(k=score.k, n=score.n + int(cells["excluded"].sum())), protocol.z)


def timing_uncertainty(
    cells: pl.DataFrame, tallies: pl.DataFrame, *, protocol: Protocol
) -> dict[str, Any]:
    """Return the score at both ends of the timing uncertainty, over the complete calls.

    ``borderline_n`` calls have a pass that flips when a value or limit moves by their class's
    uncertainty; ``fragile`` counts, a limit, the calls in which its move changes a status, an
    event or a count. A call without an answer at an end is taken there as it stands.
    """
    n = pass_rate(cells).n
    low, high = (Rate(k=int(cells[name].sum()), n=n) for name in ("passed_low", "passed_high"))
    return {
        "ms": dict(sorted(protocol.timing_uncertainty_ms.items())),
        "borderline_n": int(cells["borderline"].sum()),
        "score_low": low.published,
        "score_high": high.published,
        "passed_low": low.k,
        "passed_high": high.k,
        "fragile": dict(sorted(counts_of(tallies, _FRAGILE).items())),
    }
