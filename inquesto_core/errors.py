"""What can go wrong, and how it is said.

    InquestoError
    ├── BundleError          a call that cannot be read or used
    ├── SchemaError          a JSON file that is not what its schema says
    ├── ProtocolError        a protocol or population that is unknown or inconsistent
    ├── InstrumentError      a model or codec that is missing, wrong or failed
    ├── StoreError           a run or evidence folder that cannot be read or written
    ├── IncomparableError    two things that must not be set side by side
    └── VerificationError    a check that did not hold

A library error never exits and never prints. Each carries one `Problem`: where, what was found,
what was expected, what to do next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

__all__ = [
    "BundleError",
    "IncomparableError",
    "InquestoError",
    "InstrumentError",
    "Problem",
    "ProtocolError",
    "SchemaError",
    "StoreError",
    "VerificationError",
]


#: Characters of one part of a problem's line, and how many of them are its end.
_LONGEST_PART, _LONGEST_END = 700, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, in one line.

    Parameters
    ----------
    code : str
        Machine name (``wav_truncated``); listed in ``docs/problems.md``.
    found, expected : str
        What stands there, and what should.
    remedy : str
        What to do next; may be empty where it is obvious.
    call_id, file, pointer : str or None
        Where: the call, the file inside its bundle, the JSON pointer or byte offset.
    level : {"error", "warning"}
        A warning is for people and never changes a result by itself.
    """

    code: str
    found: str
    expected: str = ""
    remedy: str = ""
    call_id: str | None = None
    file: str | None = None
    pointer: str | None = None
    level: Literal["error", "warning"] = "error"

    def at(self, *, call_id: str | None = None, file: str | None = None) -> Problem:
        """Return the same problem with the places filled in that are still unknown."""
        return replace(self, call_id=self.call_id or call_id, file=self.file or file)

    def __str__(self) -> str:
        """Return ``call 0412: trace.json /calls/3/start_ms is -20; expected …; … [code]``.

        Of a part that is very long, for it quotes what somebody wrote, the middle is left out.
        """
        place = " ".join(_short(part) for part in (self.file, self.pointer) if part)
        head = f"call {_short(self.call_id)}: " if self.call_id else ""
        found = _short(self.found)
        body = f"{place} {found}" if place else found
        if self.expected:
            body += f"; expected {_short(self.expected)}"
        if self.remedy:
            body += f"; {self.remedy}"
        return f"{head}{body} [{self.code}]"


def _short(text: str) -> str:
    if len(text) <= _LONGEST_PART:
        return text
    return f"{text[: _LONGEST_PART - _LONGEST_END]} … {text[-_LONGEST_END:]}"


class InquestoError(Exception):
    """Anything this library raises on purpose.

    Parameters
    ----------
    problem : Problem or str
        What is wrong; a plain string becomes a problem with the code ``error``.
    """

    def __init__(self, problem: Problem | str) -> None:
        self.problem = (
            problem if isinstance(problem, Problem) else Problem(code="error", found=problem)
        )
        super().__init__(str(self.problem))

    def __reduce__(self) -> tuple[type[InquestoError], tuple[Problem]]:
        """Let the error cross a process border whole."""
        return type(self), (self.problem,)


class BundleError(InquestoError):
    """A call that cannot be read or used."""


class SchemaError(InquestoError):
    """A JSON file that is not what its schema says."""


class ProtocolError(InquestoError):
    """A protocol or population that is unknown or inconsistent."""


class InstrumentError(InquestoError):
    """A model or codec that is missing, is not the pinned one, or failed."""


class StoreError(InquestoError):
    """A run or evidence folder that cannot be read or written."""


class IncomparableError(InquestoError):
    """Two things that must not be set side by side."""


class VerificationError(InquestoError):
    """A check that did not hold."""
