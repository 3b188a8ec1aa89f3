"""What one check of a run says: passed, failed with what, or not checked with why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Check", "Outcome", "outcome_of"]

Outcome = Literal["passed", "failed", "not_checked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check.

    Parameters
    ----------
    name : str
        What was looked at; checks are numbered in the order in which they are given.
    outcome : {"passed", "failed", "not_checked"}
    says : str
        In a sentence: what holds, or why nothing was looked at.
    faults : tuple of str
        What does not hold, each with the thing it is about first.
    gaps : tuple of str
        What this check would have looked at and could not, and why.
    """

    name: str
    outcome: Outcome
    says: str
    faults: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def outcome_of(
    name: str, says: str, faults: list[str], gaps: list[str] | None = None, *, looked: bool = True
) -> Check:
    """Return the check of that name: failed if there is a fault, else whether it was made.

    Parameters
    ----------
    looked : bool
        Whether anything at all was looked at.
    """
    outcome: Outcome = "failed" if faults else "passed" if looked else "not_checked"
    return Check(
        name=name, outcome=outcome, says=says, faults=tuple(faults), gaps=tuple(gaps or ())
    )
