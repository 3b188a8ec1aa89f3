"""How far the score could be from what is known: open calls, excluded calls, timing uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.score.rate import Rate, published_rate
from inquesto_core.score.views import complete_calls, pass_rate

if TYPE_CHECKING:
    from inquesto_core.protocol.definition import Protocol

__all__ = ["excluded_as_failures", "score_bounds", "timing_uncertainty"]


def score_bounds(decisions: pl.DataFrame) -> dict[str, Any] | None:
    """Return the score over complete and open calls with the open ones all failed, all passed.

    A call that is open but certainly failed (``known_fail``) is failed in both. The score over
    complete calls need not lie between them: it leaves the known failures out.

    Returns
    -------
    dict or None
        ``low, high`` in percent to one decimal, ``passed_low, passed_high, n``, ``open_n`` and
        ``known_fail_n``; None where no call is open.
    """
    open_calls = decisions.filter(pl.col("state") == "not_evaluated")
    if open_calls.is_empty():
        return None
    known = int(open_calls["known_fail"].sum())
    score = pass_rate(decisions)
    n = score.n + open_calls.height
    low = Rate(k=score.k, n=n)
    high = Rate(k=score.k + open_calls.height - known, n=n)
    return {
        "low": low.published,
        "high": high.published,
        "passed_low": low.k,
        "passed_high": high.k,
        "n": n,
        "open_n": open_calls.height,
        "known_fail_n": known,
    }


def excluded_as_failures(decisions: pl.DataFrame, *, protocol: Protocol) -> dict[str, Any]:
    """Return the score with every excluded call counted as a failed one."""
    score = pass_rate(decisions)
    excluded = decisions.filter(pl.col("state") == "excluded").height
    return published_rate(Rate(k=score.k, n=score.n + excluded), protocol.z)


def timing_uncertainty(decisions: pl.DataFrame, *, protocol: Protocol) -> dict[str, Any]:
    """Return the score at both ends of the timing uncertainty, over the complete calls.

    ``borderline_n`` calls have a pass that flips when a value or limit moves by their class's
    uncertainty; ``fragile`` counts, a limit, the calls in which its move changes a status, an
    event or a count. A call without an answer at an end is taken there as it stands.
    """
    complete = complete_calls(decisions)
    ends = complete.select(
        low=pl.coalesce("passed_low", "passed").sum(),
        high=pl.coalesce("passed_high", "passed").sum(),
        borderline=pl.col("borderline").sum(),
    )
    limits = complete["fragile_limits"].explode(empty_as_null=False).drop_nulls()
    counts = limits.value_counts().sort(limits.name).rows() if limits.len() else []
    return {
        "ms": dict(sorted(protocol.timing_uncertainty_ms.items())),
        "borderline_n": int(ends["borderline"].item()),
        "score_low": Rate(k=int(ends["low"].item()), n=complete.height).published,
        "score_high": Rate(k=int(ends["high"].item()), n=complete.height).published,
        "passed_low": int(ends["low"].item()),
        "passed_high": int(ends["high"].item()),
        "fragile": dict(counts),
    }
