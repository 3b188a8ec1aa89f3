"""What the records of signals and of checks have alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.score.attempts import citation, judge_label

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol import OutcomeProtocol, Population

__all__ = ["outcome_record"]


def outcome_record(
    own: Mapping[str, Any],
    *,
    rate: Mapping[str, Any],
    counts: dict[str, Any],
    without_judge: str,
    beside: str,
    protocol: OutcomeProtocol,
    population: Population,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a record of one agent's calls: what is its method's own, and what all have.

    Parameters
    ----------
    own : mapping
        The fields that only this method has.
    rate, counts : mapping
        What is cited, as `rate_of` gives it, and `accounting`.
    without_judge, beside : str
        What the citation names where nobody was asked, and what it says behind the rate.
    about : mapping
        ``agent, agent_fingerprint, judge, evaluated_at, provenance``.
    """
    label = judge_label(about["judge"], without=without_judge)
    return {
        "protocol": protocol.name,
        "protocol_version": protocol.version,
        "status": protocol.status,
        "agent": about["agent"],
        "agent_fingerprint": about["agent_fingerprint"],
        "citation": citation(
            dict(rate),
            counts,
            protocol=protocol,
            population=population,
            judge_label=label,
            beside=beside,
        ),
        "score": rate["score"],
        "ci95": None if rate["lo"] is None else [rate["lo"], rate["hi"]],
        "n": rate["n"],
        "passed": rate["passed"],
        **own,
        "population": {
            "name": population.name,
            "version": population.version,
            "sha256": population.digest,
            "scenarios": len(population.scenarios),
            "expected_calls": len(population.expected_slots()),
        },
        "accounting": counts,
        "judge": about["judge"],
        "definition": dict(protocol.criteria),
        "evaluated_at": about["evaluated_at"],
        "provenance": about["provenance"],
    }
