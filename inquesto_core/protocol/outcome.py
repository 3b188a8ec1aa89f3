"""Protocols whose method is not failure events: success signals, and checks against a task.

Both decide a call by what came of it: trace, final state, transcript and recorded answers. They
listen to no recording, so they pin no instrument and have no severities, timeline or views.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "ASSERTIONS",
    "METHODS",
    "SIGNALS",
    "ChecksProtocol",
    "Consent",
    "EndReasons",
    "JudgeOf",
    "Method",
    "OutcomeProtocol",
    "SignalsProtocol",
    "parse_outcome",
]

Method: TypeAlias = Literal["events", "signals", "checks"]

METHODS: tuple[Method, ...] = ("events", "signals", "checks")

#: The six signals, in the order in which they are shown.
SIGNALS = (
    "is_action_match",
    "db_state_match",
    "db_state_assertion",
    "nl_assertion",
    "judge_passed",
    "clean_exit",
)

#: The three assertions of a task, in the order in which they are shown.
ASSERTIONS = ("verification", "changes", "spoken")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOf:
    """Who is asked where a model judges: the judge of another protocol, in words of one's own.

    Parameters
    ----------
    protocol : str
        The shipped protocol whose judge is pinned.
    rubric : str
        The folder of this protocol that holds every word of the questions.
    """

    protocol: str
    rubric: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeProtocol:
    """What both kinds have.

    Parameters
    ----------
    performed_statuses : tuple of str
        Tool-call statuses that count as performed.
    criteria : mapping of str to str
        What each signal or assertion asks, in words.
    agent_fault_reasons : tuple of str
        ``ended.reason`` of calls that the agent's side broke off: failed, and in n.
    excluded_reasons : tuple of str
        Reasons for which a call may be left out of n.
    judge : JudgeOf or None
        None = only recorded answers are read.
    digest : str
        SHA-256 over the canonical content of the folder.
    """

    name: str
    label: str
    version: str
    status: Literal["draft", "released"]
    source: str
    method: Method
    confidence_level: float
    z: float
    performed_statuses: tuple[str, ...]
    criteria: Mapping[str, str]
    agent_fault_reasons: tuple[str, ...]
    excluded_reasons: tuple[str, ...]
    judge: JudgeOf | None
    folder: Path
    digest: str
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndReasons:
    """Which words of the bridge and the simulator mean which end of a call.

    Parameters
    ----------
    exit, inactivity, timeout : tuple of str
        Values of ``ended.reason``.
    simulator_tag : str
        The tag under which the simulator says how it ended, `simulator_success` being a success.
    """

    exit: tuple[str, ...]
    inactivity: tuple[str, ...]
    timeout: tuple[str, ...]
    simulator_tag: str
    simulator_success: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalsProtocol(OutcomeProtocol):
    """A protocol of six success signals.

    Parameters
    ----------
    min_agent_turns : int
        A call with fewer completed agent turns is stalled, unless its scenario says otherwise.
    strict_match : bool
        Extra items are refused everywhere, not only where a scenario says so.
    pass_rates : mapping of str to float
        Of the two signals that are a share of assertions; reached exactly.
    judge_threshold : float
        Inclusive.
    default_policy : {"tool-only", "valid-terminal-state"}
        Of the end of a call, unless its scenario names one.
    cost_tag : str or None
        As of `ChecksProtocol`; None = no cost is told.
    """

    min_agent_turns: int
    relative_tolerance: float
    absolute_tolerance: float
    strict_match: bool
    pass_rates: Mapping[str, float]
    nl_question: str
    judge_question: str
    judge_threshold: float
    guidance_question: str
    default_policy: str
    ends: EndReasons
    cost_tag: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """Words by which a caller agrees, and those that take an agreement back."""

    yes: tuple[str, ...]
    no: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksProtocol(OutcomeProtocol):
    """A protocol of three assertions a call.

    Parameters
    ----------
    verifiers : tuple of {"llm", "code"}
        Whose verdict decides a check: the first that has one.
    question : str
        What the model verifier's answers are named by: ``<question>:<check id>``.
    believed_tag, believed_values
        The tag, and its values, by which the caller took the call for a success.
    cost_tag : str
        The tag that holds what the call cost, as a decimal number.
    """

    verifiers: tuple[str, ...]
    question: str
    consent: Consent
    believed_tag: str
    believed_values: tuple[str, ...]
    cost_tag: str


def parse_outcome(raw: Mapping[str, Any], folder: Path, digest: str) -> OutcomeProtocol:
    """Return the protocol that a ``protocol.json``, valid under its method's schema, says."""
    judge = raw.get("judge")
    common = {
        "name": raw["protocol"],
        "label": raw["label"],
        "version": raw["version"],
        "status": raw["status"],
        "source": raw["source"],
        "method": raw["method"],
        "confidence_level": raw["confidence"]["level"],
        "z": raw["confidence"]["z"],
        "performed_statuses": tuple(raw["performed_statuses"]),
        **{key: tuple(reasons) for key, reasons in raw["accounting"].items()},
        "judge": None if judge is None else JudgeOf(protocol=judge["as"], rubric=judge["rubric"]),
        "folder": folder,
        "digest": digest,
        "raw": raw,
    }
    return _signals(raw, common) if raw["method"] == "signals" else _checks(raw, common)


def _signals(raw: Mapping[str, Any], common: Mapping[str, Any]) -> SignalsProtocol:
    rows = raw["signals"]
    match, claims, judge = rows["is_action_match"], rows["nl_assertion"], rows["judge_passed"]
    ends = rows["clean_exit"]
    return SignalsProtocol(
        **common,
        criteria={name: rows[name]["criterion"] for name in SIGNALS},
        min_agent_turns=raw["min_agent_turns"],
        relative_tolerance=match["relative_tolerance"],
        absolute_tolerance=match["absolute_tolerance"],
        strict_match=match["strict_match"],
        pass_rates={name: row["pass_rate"] for name, row in rows.items() if "pass_rate" in row},
        nl_question=claims["question"],
        judge_question=judge["question"],
        judge_threshold=judge["threshold"],
        guidance_question=raw["guidance_question"],
        default_policy=ends["default_policy"],
        ends=EndReasons(
            exit=tuple(ends["exit_reasons"]),
            inactivity=tuple(ends["inactivity_reasons"]),
            timeout=tuple(ends["timeout_reasons"]),
            simulator_tag=ends["simulator_tag"],
            simulator_success=tuple(ends["simulator_success"]),
        ),
        cost_tag=raw.get("cost_tag"),
    )


def _checks(raw: Mapping[str, Any], common: Mapping[str, Any]) -> ChecksProtocol:
    return ChecksProtocol(
        **common,
        criteria={name: raw["assertions"][name]["criterion"] for name in ASSERTIONS},
        verifiers=tuple(raw["verifiers"]),
        question=raw["question"],
        consent=Consent(yes=tuple(raw["consent"]["yes"]), no=tuple(raw["consent"]["no"])),
        believed_tag=raw["believed"]["tag"],
        believed_values=tuple(raw["believed"]["values"]),
        cost_tag=raw["cost_tag"],
    )
