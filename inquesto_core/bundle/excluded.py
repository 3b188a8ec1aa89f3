"""A fault of a recording for which the bundle itself takes the call out is said, and no error."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquesto_core.bundle.call import Call
    from inquesto_core.errors import Problem

__all__ = ["as_excluded"]

#: A recording's fault, and the exclusion that states it.
_EXCLUDED_FOR = {"mono_input": "mono_recording", "audio_unreadable": "unreadable_recording"}


def as_excluded(problems: Iterable[Problem], call: Call) -> list[Problem]:
    """Return the problems; those that `call` is excluded for are warnings."""
    asked = call.exclusion
    if asked is None:
        return list(problems)
    return [
        replace(problem, level="warning")
        if _EXCLUDED_FOR.get(problem.code) == asked.reason
        else problem
        for problem in problems
    ]
