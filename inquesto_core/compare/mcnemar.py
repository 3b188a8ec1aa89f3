"""Whether the calls that moved, moved more one way than the other: McNemar's exact test."""

from __future__ import annotations

from scipy.special import bdtr

__all__ = ["mcnemar_exact"]


def mcnemar_exact(first_only: int, second_only: int) -> float:
    """Return the two-sided exact p-value: were each discordant pair as likely one way as the other.

    ``min(1, 2 · P(X <= min(b, c)))`` with X binomial of ``b + c`` and one half (McNemar 1947, in
    its exact form). It takes pairs as independent; calls of one scenario are not, and then it is
    too small. The interval over clusters is what a decision stands on.

    Parameters
    ----------
    first_only, second_only : int
        Pairs that only the first, and only the second, passes.

    Examples
    --------
    >>> round(mcnemar_exact(1, 9), 6), mcnemar_exact(0, 0)
    (0.021484, 1.0)
    """
    if first_only < 0 or second_only < 0:
        raise ValueError("counts of pairs are not negative")
    least, total = min(first_only, second_only), first_only + second_only
    return min(1.0, 2 * float(bdtr(least, total, 0.5))) if total else 1.0
