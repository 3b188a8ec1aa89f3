"""A regression set as a person reads it: what was cut, and what became of it under two agents."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from inquesto_core.report.counted import counted
from inquesto_core.report.escape import escape_terminal, wrap_columns
from inquesto_core.report.terminal import WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare.regression import FailureCheck, RegressionSet

__all__ = ["checked_lines", "set_lines"]

_SAYS = {
    "holds": "mended",
    "fails": "still there",
    "open": "open",
    "not_run": "without a usable call",
}


def set_lines(held: RegressionSet) -> list[str]:
    """Return what a regression set holds."""
    lines = _wrap(
        f"Regression set: {counted(len(held.failures), 'failure')} of {held.population[0]}"
    )
    for each in held.failures:
        absent = ", ".join(f"no {name}" for name in each.absent)
        must = "goal reached" + (f", {absent}" if absent else "")
        lines += _wrap(
            f"S{each.severity} {each.category}: {each.call_id} of {each.agent or 'no name'} "
            f"({each.fingerprint or 'no fingerprint'}); must hold: {must}",
            first="  ",
            rest="    ",
        )
    return lines


def checked_lines(a: Sequence[FailureCheck], b: Sequence[FailureCheck]) -> list[str]:
    """Return what became of a set's failures under A and B, apart from any score."""
    lines = ["Regression set (apart: these calls were chosen because they failed)"]
    for name, checks in (("A", a), ("B", b)):
        counts = Counter(each.outcome for each in checks)
        told = ", ".join(f"{counts[key]} {text}" for key, text in _SAYS.items() if counts[key])
        lines += _wrap(
            f"{name}: of {counted(len(checks), 'failure')} {told}", first="  ", rest="    "
        )
    for one, two in zip(a, b, strict=True):
        failure = one.failure
        again = f" ({', '.join(two.again)})" if two.again else ""
        lines += _wrap(
            f"S{failure.severity} {failure.category}, {failure.call_id}: A {_SAYS[one.outcome]}, "
            f"B {_SAYS[two.outcome]}{again}",
            first="  - ",
            rest="    ",
        )
    return lines


def _wrap(text: str, *, first: str = "", rest: str = "  ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=first, rest=rest)
