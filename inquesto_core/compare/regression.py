"""A regression set: reviewed failures, each with what must hold where it is asked again.

A set is chosen *because* its calls failed. Its rate says nothing of other calls and is never part
of a score: where an agent is no better, a call that failed by chance passes the next time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import schema
from inquesto_core.errors import IncomparableError, Problem
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.protocol import Protocol

__all__ = [
    "AGENT_FAULT",
    "FAILS",
    "GOAL",
    "HOLDS",
    "NOT_RUN",
    "OPEN",
    "REGRESSION_KIND",
    "Failure",
    "FailureCheck",
    "FailureEvent",
    "RegressionSet",
    "check_failures",
    "failure_category",
    "parse_regression",
]

REGRESSION_KIND = "regression"
GOAL, AGENT_FAULT = "goal", "agent_fault"
HOLDS, FAILS, OPEN, NOT_RUN = "holds", "fails", "open", "not_run"
_SLOT = ("scenario_id", "condition", "group")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureEvent:
    """A counted event of the failed call; time null where it has none."""

    type: str
    severity: int
    at_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One reviewed failure.

    Parameters
    ----------
    bundle : str
        Folder of its bundle, from that of the set.
    scenario_id, condition, group, trial
        The slot in which another agent is asked the same.
    category : str
        Its gravest event, `GOAL`, or `AGENT_FAULT`.
    agent, fingerprint : str or None
        The configuration that failed.
    events : tuple of FailureEvent
    absent : tuple of str
        Events that must not be there again; the goal must be reached.
    files : tuple of (file, sha256)
        The bundle's files, as the run read them.
    """

    call_id: str
    bundle: str
    scenario_id: str
    condition: str | None
    group: str | None
    trial: int | None
    category: str
    severity: int
    agent: str | None
    fingerprint: str | None
    events: tuple[FailureEvent, ...]
    absent: tuple[str, ...]
    note: str
    files: tuple[tuple[str, str], ...]

    def document(self) -> dict[str, Any]:
        """Return the failure as ``regression.json`` holds it."""
        return {
            "call_id": self.call_id,
            "bundle": self.bundle,
            "slot": {name: getattr(self, name) for name in (*_SLOT, "trial")},
            "category": self.category,
            "severity": self.severity,
            "agent": {"name": self.agent, "fingerprint": self.fingerprint},
            "events": [asdict(event) for event in self.events],
            "must_hold": {"goal": True, "absent": list(self.absent)},
            "note": self.note,
            "files": [{"file": name, "sha256": digest} for name, digest in self.files],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionSet:
    """All failures of a set, sorted by call id."""

    protocol: tuple[str, str]
    population: tuple[str, str]
    reviewer: str | None
    failures: tuple[Failure, ...]

    def document(self) -> dict[str, Any]:
        """Return the set as ``regression.json`` holds it."""
        return {
            "schema_version": "1",
            "kind": REGRESSION_KIND,
            "protocol": dict(zip(("name", "digest"), self.protocol, strict=True)),
            "population": dict(zip(("name", "digest"), self.population, strict=True)),
            "reviewer": self.reviewer,
            "failures": [each.document() for each in self.failures],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCheck:
    """A failure beside an agent's calls in the same slot.

    Parameters
    ----------
    outcome : str
        ``holds``: the goal is reached and none of its events is there, in every trial; ``fails``;
        ``open``: a trial cannot tell; ``not_run``: there is no such call.
    again : tuple of str
        What is there again: events, or `GOAL`.
    """

    failure: Failure
    calls: tuple[str, ...]
    outcome: str
    again: tuple[str, ...]


def parse_regression(data: bytes, *, file: str) -> RegressionSet:
    """Return the set in a file.

    Raises
    ------
    SchemaError
        It is no ``regression.json``.
    """
    raw = schema.load(data, "regression", file=file)
    return RegressionSet(
        protocol=(raw["protocol"]["name"], raw["protocol"]["digest"]),
        population=(raw["population"]["name"], raw["population"]["digest"]),
        reviewer=raw["reviewer"],
        failures=tuple(_failure(each) for each in raw["failures"]),
    )


def _failure(raw: dict[str, Any]) -> Failure:
    return Failure(
        call_id=raw["call_id"],
        bundle=raw["bundle"],
        **raw["slot"],
        category=raw["category"],
        severity=raw["severity"],
        agent=raw["agent"]["name"],
        fingerprint=raw["agent"]["fingerprint"],
        events=tuple(FailureEvent(**event) for event in raw["events"]),
        absent=tuple(raw["must_hold"]["absent"]),
        note=raw["note"],
        files=tuple((each["file"], each["sha256"]) for each in raw["files"]),
    )


def failure_category(
    row: dict[str, Any], *, protocol: Protocol
) -> tuple[str, int, tuple[str, ...]]:
    """Return category, severity and failing events of a call that does not pass.

    Parameters
    ----------
    row : dict
        Of the decision table.

    Raises
    ------
    IncomparableError
        ``call_not_failed``.
    """
    if row["passed"] is not False:
        state = "passes" if row["passed"] else f"is {row['state']}"
        raise IncomparableError(
            Problem(
                code="call_not_failed",
                found=f"call {row['call_id']} {state}",
                expected="a call that failed",
            )
        )
    worst = sorted(protocol.events, key=lambda event: -event.severity)
    failing = [
        event
        for event in worst
        if event.severity >= protocol.fail_at and row[EVENT_PREFIX + event.name]
    ]
    names = tuple(event.name for event in failing)
    if failing:
        return failing[0].name, failing[0].severity, names
    return (AGENT_FAULT if row["state"] == "agent_fault" else GOAL), protocol.fail_at, names


def check_failures(
    failures: Sequence[Failure], decisions: pl.DataFrame
) -> tuple[FailureCheck, ...]:
    """Return what became of each failure in an agent's calls.

    Parameters
    ----------
    decisions : decision table
        Of one agent.

    Raises
    ------
    IncomparableError
        ``regression_differs``: an event that the run's protocol does not have.
    """
    unknown = {name for each in failures for name in each.absent} - {
        name.removeprefix(EVENT_PREFIX) for name in decisions.columns
    }
    if unknown:
        raise IncomparableError(
            Problem(
                code="regression_differs",
                found=f"the set names the event {min(unknown)!r}, which the run does not know",
                expected="a run of the set's protocol",
            )
        )
    usable = decisions.filter(
        pl.col("call_id").is_not_null() & ~pl.col("state").is_in(["excluded", "timing_only"])
    )
    return tuple(_check(each, usable) for each in failures)


def _check(failure: Failure, decisions: pl.DataFrame) -> FailureCheck:
    same = [pl.col(name).eq_missing(pl.lit(getattr(failure, name))) for name in _SLOT]
    calls = decisions.filter(pl.all_horizontal(same)).sort("trial", "call_id").to_dicts()
    again: dict[str, None] = {}
    is_open = False
    for call in calls:
        for name in failure.absent:
            seen = call[EVENT_PREFIX + name]
            again |= {name: None} if seen else {}
            is_open |= seen is None
        if call["state"] == AGENT_FAULT:
            again[AGENT_FAULT] = None
        elif call["goal"] is False:
            again[GOAL] = None
        is_open |= call["goal"] is None
    outcome = FAILS if again else OPEN if is_open else HOLDS
    return FailureCheck(
        failure=failure,
        calls=tuple(call["call_id"] for call in calls),
        outcome=outcome if calls else NOT_RUN,
        again=tuple(again),
    )
