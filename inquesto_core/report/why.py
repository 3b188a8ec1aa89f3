"""Why a call has the state and outcome that it has, as one or two sentences.

Nothing is decided here: the sentence names what the run's tables already hold. Text from outside
stands in it as it came; whoever prints it escapes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.call_text import words_at
from inquesto_core.report.timeline_text import format_time
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.protocol.definition import EventType, Protocol

__all__ = ["why"]

#: Longer words are not quoted; the transcript has them.
_QUOTED_CHARACTERS = 120
#: Of more reasons of one kind the first alone is told.
_LISTED_REASONS = 3
_MANY = {1: "once", 2: "twice"}

Facts = dict[str, Any]
Row = dict[str, Any]


def why(facts: Facts, protocol: Protocol) -> str:
    """Return in one or two sentences why the call has the state and outcome that it has."""
    decision = facts["decision"]
    reasons = _reasons(decision["reasons"] or (), facts)
    state, causes = decision["state"], _failing(facts, protocol)
    if state == "excluded":
        text = f"Outside n: {reasons or 'no reason is stated'}. "
        return text + "It neither passes nor fails; what it holds is shown all the same."
    if state == "timing_only":
        text = f"Scored for timing only: {reasons}. It neither passes nor fails"
        if decision.get(f"{EVENT_PREFIX}slow_turn") is None:
            return f"{text}, and its timing is not evaluated."
        found = "; ".join(_clauses(_found(facts, protocol, at_least=1), facts))
        return f"{text}; what its sound shows: {found or 'no event'}."
    if state == "agent_fault":
        text = f"Failed, because the agent's side broke the call off: {reasons}"
        return text + f"{_broken_off(facts)}. Such a call stays in n, as a failure."
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
    if any(row["pinned"] is False for row in facts["verdicts"]):
        text += " Its judge is not the one that the protocol pins: that is no score of the call."
    return text


def _reasons(codes: Sequence[str], facts: Facts) -> str:
    """Return the reasons in words; of many of one kind the first, and how many more there are."""
    by_kind: dict[str, list[str]] = {}
    for code in codes:
        by_kind.setdefault(code.partition(":")[0], []).append(facts["reasons"][code])
    told = []
    for texts in by_kind.values():
        several = len(texts) > _LISTED_REASONS
        told += texts[:1] if several else texts
        told[-1] += f", and {len(texts) - 1} more of that kind" if several else ""
    return "; ".join(told)


def _failing(facts: Facts, protocol: Protocol) -> list[str]:
    """Return what fails the call, most severe first: a clause an event type, then the goal."""
    decision = facts["decision"]
    clauses = _clauses(_found(facts, protocol, at_least=protocol.fail_at), facts)
    goal = decision["goal"]
    if goal is None and decision["passed"] is not None:
        goal = decision["goal_judge_free"]
    if goal is False:
        clauses.append(_goal_clause(facts, protocol))
    return clauses


def _found(facts: Facts, protocol: Protocol, *, at_least: int) -> list[EventType]:
    """Return the types of the call's events of that severity and above, most severe first."""
    decision = facts["decision"]
    found = (
        event
        for event in protocol.events
        if event.severity >= at_least and decision.get(EVENT_PREFIX + event.name)
    )
    return sorted(found, key=lambda event: (-event.severity, event.name))


def _clauses(types: list[EventType], facts: Facts) -> list[str]:
    clauses = []
    for event in types:
        rows = [row for row in facts["events"] if row["type"] == event.name]
        clause = f"{event.name} (S{event.severity}: {event.criterion})"
        clauses.append(clause + (f", {_occurrences(rows, facts)}" if rows else ""))
    return clauses


def _broken_off(facts: Facts) -> str:
    """Return where the recording ends and when the agent was last heard before."""
    end_ms = facts["call"]["window_to_ms"]
    if end_ms is None or not facts["turns"]:
        return ""
    turn = facts["turns"][-1]
    return (
        f"; its last turn sounds from {format_time(turn['start_ms'])} to "
        f"{format_time(turn['end_ms'])}, the call ends at {format_time(end_ms)}"
    )


def _occurrences(rows: list[Row], facts: Facts) -> str:
    ordered = sorted(rows, key=lambda row: (row["at_ms"] is None, row["at_ms"] or 0))
    first, several = ordered[0], len(rows) > 1
    text = f"found {_MANY.get(len(rows), f'{len(rows)} times')}"
    if first["at_ms"] is not None:
        text += f"{', first' if several else ''} at {format_time(first['at_ms'])}"
    margins = [row["margin_ms"] for row in rows if row["margin_ms"] is not None]
    if margins:
        text += f", {'the largest ' if several else ''}{max(margins)} ms over its limit"
    return text + _evidence(facts, first)


def _evidence(facts: Facts, event: Row) -> str:
    """Return what an event points at: a tool call, a verdict's reason, or the caller's words."""
    table, _, position = event["evidence_key"].partition("/")
    for row in facts["tool_calls"]:
        if table == "tool_calls" and position == str(row["position"]):
            return f", in the tool call T{position}, {row['name']}"
    for row in facts["verdicts"]:
        if table == "verdicts" and position == row["question"] and row["reason"]:
            line = "" if row["turn"] is None else f" (L{row['turn']} of the transcript)"
            return f": {row['reason'].rstrip(' .')}{line}"
    for row in facts["replies"]:
        if table == "replies" and position == str(row["utterance"]):
            said = words_at(facts, "caller", row["start_ms"], row["end_ms"])
            text = " ".join(each["heard_text"] or each["text"] or "" for each in said)
            short = text and len(text) <= _QUOTED_CHARACTERS
            return f', after the caller says "{text}"' if short else ""
    return ""


def _goal_clause(facts: Facts, protocol: Protocol) -> str:
    answer = next(
        (row for row in facts["verdicts"] if row["question"] == protocol.goal_question), None
    )
    unmet = _unmet(facts)
    recorded = answer is not None and answer["source"] == "recorded"
    if answer is None or answer["verdict"] is None:
        return f"the goal was not reached, as trace and state show{unmet}"
    if answer["verdict"]:
        whose = "the recorded answer is success" if recorded else "the judge read success"
        lacks = "what the scenario asks does not hold" if unmet else "trace or state do not show it"
        return f"the goal was not reached: {whose}, {lacks}{unmet}"
    reason = f": {answer['reason'].rstrip(' .')}" if answer["reason"] else ""
    line = "" if answer["turn"] is None else f" (L{answer['turn']} of the transcript)"
    whose = "as the answer recorded with the call has it" if recorded else "as the judge reads it"
    return f"the goal was not reached, {whose}{reason}{line}"


def _unmet(facts: Facts) -> str:
    """Return the first predicate of the scenario that does not hold, with its evidence."""
    for row in facts["predicates"]:
        if row["value"] is False:
            return f" (predicate {row['index']}, {row['kind']}: {row['evidence']})"
    return ""
