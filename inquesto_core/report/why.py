"""Why a call has the state and outcome that it has, as one or two sentences.

Nothing is decided here: the sentence names what the run's tables already hold. Text from outside
stands in it as it came; whoever prints it escapes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.timeline_text import format_time
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from inquesto_core.protocol.definition import Protocol

__all__ = ["reason_text", "why"]

#: What a reason code means, the part after its colon left out.
_REASONS = {
    "agent_silent": "the agent never made a sound while the caller spoke",
    "audio_missing": "an audio file is missing",
    "call_missing": "the archive does not hold the call",
    "caller_deviation": "the caller left the script",
    "channel_silent": "one side's channel is silent",
    "channels_identical": "both channels carry the same sound",
    "crash": "the agent crashed",
    "duplicate_slot": "several calls fill the same slot",
    "duplicate_call_id": "different bundles have its id",
    "exclusion_unknown": "it asks to be left out for a reason that the protocol does not have",
    "hangup_mid_call": "the agent hung up in mid-call",
    "lost_session": "the session was lost",
    "mono_recording": "both sides are on one channel",
    "predicate_undetermined": "a predicate of the scenario cannot be decided",
    "stall": "the agent stalled",
    "system_ended_agent_turn": "the system ended the call while the agent spoke",
    "timing_missing": "there is no timing",
    "timing_undetermined": "the timing cannot be decided",
    "trace_missing": "there is no readable tool trace",
    "undetermined": "what could decide the call is undetermined",
    "unknown_condition": "the population does not name its condition",
    "unknown_group": "the population does not name its speaker group",
    "unknown_scenario": "the population does not name its scenario",
    "unknown_trial": "it is not known which trial it is",
    "unreadable_bundle": "its call.json cannot be read",
    "unreadable_recording": "the recording cannot be read",
    "verdict_missing": "the judge's answer is missing",
    "verdict_undetermined": "the judge could not tell",
}
_MANY = {1: "once", 2: "twice"}

Facts = dict[str, Any]
Row = dict[str, Any]


def why(facts: Facts, protocol: Protocol) -> str:
    """Return in one or two sentences why the call has the state and outcome that it has."""
    decision = facts["decision"]
    reasons = "; ".join(reason_text(code) for code in decision["reasons"] or ())
    state, causes = decision["state"], _failing(facts, protocol)
    if state == "excluded":
        return f"Outside n: {reasons or 'no reason is stated'}."
    if state == "agent_fault":
        return f"Failed, in n, because the agent's side broke the call off: {reasons}."
    if state == "not_evaluated":
        text = f"Not evaluated, because {reasons or 'something decisive is undetermined'}."
        if decision["known_fail"]:
            text += f" It has certainly failed all the same: {'; '.join(causes)}."
        return text
    if decision["passed"]:
        text = "Passed: its goal was reached and no event is of severity "
        text += f"S{protocol.fail_at} or above."
    else:
        text = f"Failed: {'; '.join(causes)}."
    if decision["borderline"]:
        text += " Borderline: within the timing uncertainty this would change."
    return text


def reason_text(code: str) -> str:
    """Return a reason in plain words with its code; a code that has none stands alone."""
    words = _REASONS.get(code.partition(":")[0])
    return code if words is None else f"{words} ({code})"


def _failing(facts: Facts, protocol: Protocol) -> list[str]:
    """Return what fails the call, most severe first: a clause an event type, then the goal."""
    decision = facts["decision"]
    causes = sorted(
        (
            event
            for event in protocol.events
            if event.severity >= protocol.fail_at and decision.get(EVENT_PREFIX + event.name)
        ),
        key=lambda event: (-event.severity, event.name),
    )
    clauses = []
    for event in causes:
        rows = [row for row in facts["events"] if row["type"] == event.name]
        clause = f"{event.name} (S{event.severity}: {event.criterion})"
        clauses.append(clause + (f", {_occurrences(rows)}" if rows else ""))
    goal = decision["goal"]
    if goal is None and decision["passed"] is not None:
        goal = decision["goal_judge_free"]
    if goal is False:
        clauses.append(_goal_clause(facts, protocol))
    return clauses


def _occurrences(rows: list[Row]) -> str:
    times = sorted(row["at_ms"] for row in rows if row["at_ms"] is not None)
    text = f"found {_MANY.get(len(rows), f'{len(rows)} times')}"
    if times:
        text += f"{'' if len(rows) == 1 else ', first'} at {format_time(times[0])}"
    margins = [row["margin_ms"] for row in rows if row["margin_ms"] is not None]
    return text + (f", at most {max(margins)} ms over the limit" if margins else "")


def _goal_clause(facts: Facts, protocol: Protocol) -> str:
    answer = next(
        (row for row in facts["verdicts"] if row["question"] == protocol.goal_question), None
    )
    if answer is None or answer["verdict"] is None:
        return "the goal was not reached, as trace and state show"
    if answer["verdict"]:
        return "the goal was not reached: the judge read success, trace or state do not show it"
    reason = f": {answer['reason'].rstrip(' .')}" if answer["reason"] else ""
    return f"the goal was not reached, as the judge reads it{reason}"
