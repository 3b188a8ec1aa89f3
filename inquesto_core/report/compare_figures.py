"""How the figures of a comparison are written: signs, units, intervals, and what is uncertain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from inquesto_core.report.terminal import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from inquesto_core.compare.bootstrap import Estimate

__all__ = [
    "NO_ANSWER",
    "UNSURE",
    "estimate_words",
    "interval_words",
    "is_above",
    "is_below",
    "milliseconds",
    "points",
    "signed",
    "wait_words",
]


#: What stands for a wait that is never answered, and for the end of an interval that reaches one.
NO_ANSWER = "no answer"
_NO_LIMIT = "no limit"
#: Beside a figure that must not be relied upon.
UNSURE = "unsure"


def signed(value: float | None, per: float, decimals: int) -> str:
    """Return a difference with its sign; nothing that rounds to 0 has one.

    >>> signed(-0.125, 0.01, 1), signed(0.0001, 0.01, 1)
    ('−12.5', '0.0')
    """
    if value is None:
        return NOTHING
    shown = round(value / per, decimals)
    text = f"{abs(shown):.{decimals}f}"
    return text if shown == 0 else ("+" if shown > 0 else "−") + text


def points(value: float | None) -> str:
    """Return a difference of two rates in percentage points."""
    return signed(value, 0.01, 1)


def milliseconds(value: float | None) -> str:
    """Return the difference of two waits, which is finite, in milliseconds."""
    return signed(value, 1, 0)


def wait_words(value: float | None) -> str:
    """Return a wait in milliseconds; an infinite one has no answer."""
    if value is None:
        return NOTHING
    if math.isinf(value):
        return NO_ANSWER
    return f"{value:.0f} ms"


def interval_words(
    estimate: Estimate, words: Callable[[float | None], str], *, mark: bool = True
) -> str:
    """Return value and interval in short: ``−12.5 (−20.1 to −4.9)``, `UNSURE` where inconclusive.

    A difference from or to a wait without an answer has no value, and no limit where an interval
    reaches one.
    """
    if estimate.value is None:
        return NOTHING
    text = NOTHING
    if math.isfinite(estimate.value):
        text = words(estimate.value)
    if estimate.value == 0 and estimate.low is None:
        return f"{text} (the same in all)"
    if estimate.low is not None and estimate.high is not None:
        low, high = (
            _NO_LIMIT if math.isinf(each) else words(each) for each in (estimate.low, estimate.high)
        )
        text += f" ({low} to {high})"
    return f"{text} {UNSURE}" if mark and estimate.inconclusive is not None else text


def estimate_words(estimate: Estimate, words: Callable[[float | None], str], unit: str) -> str:
    """Return value and interval in a sentence."""
    if estimate.value is None:
        return NOTHING
    text = f"{words(estimate.value)} {unit}"
    if estimate.low is not None and estimate.high is not None:
        text += f" (95 % CI {words(estimate.low)} to {words(estimate.high)})"
    if estimate.inconclusive is not None:
        text += f", inconclusive: {estimate.inconclusive}"
    return text


def is_above(estimate: Estimate) -> bool:
    """Return whether the value is surely above 0."""
    return estimate.inconclusive is None and estimate.low is not None and estimate.low > 0


def is_below(estimate: Estimate) -> bool:
    """Return whether the value is surely below 0."""
    return estimate.inconclusive is None and estimate.high is not None and estimate.high < 0
