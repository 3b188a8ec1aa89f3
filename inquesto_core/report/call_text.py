"""What happened in a call, as lines of text: events, waits, tool calls, words.

A label says what a number counts: ``C2`` a caller utterance, ``A2`` an agent turn, ``T2`` a tool
call, ``L2`` a line of the transcript. Numbers are those of the tables, from 0.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from inquesto_core.report.escape import clip_columns, escape_terminal, wrap_columns
from inquesto_core.report.terminal import NOTHING, WIDTH
from inquesto_core.report.timeline_text import format_time

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "barge_in_lines",
    "barge_in_text",
    "event_lines",
    "event_place",
    "heard_after_text",
    "reply_lines",
    "reply_text",
    "silence_lines",
    "silence_text",
    "talk_over_lines",
    "talk_over_text",
    "tool_lines",
    "transcript_lines",
    "words_at",
]

_VALUE_COLUMNS = 480
_LABELS = {"replies": "C", "talk_overs": "A", "tool_calls": "T"}
_NO_WAIT = {
    "overlapped": "no wait: the agent speaks from before its start to past its end",
    "simultaneous": "no wait: both began at once",
}
_SILENCE_ENDS = {
    "agent_spoke": "the agent speaks again",
    "caller_spoke": "the caller speaks",
    "agent_hung_up": "the agent ends or hands over the call",
    "call_ended": "the call ends",
}
_NOT_HEARD = {
    "agent_speaking": "the agent is speaking as the result comes",
    "caller_first": "the caller speaks next",
    "later_result": "another result comes before the agent speaks",
    "no_sound": "nothing is heard after the result",
}
_KINDS = {
    "over_speech": "while the caller speaks",
    "cut_in": "in a pause of the caller's",
    "attempt": "an attempt to interrupt",
    "backchannel": "a backchannel by its length",
}

Facts = dict[str, Any]
Row = dict[str, Any]


def _wrap(text: str, *, first: str = "  ", rest: str = "    ") -> list[str]:
    return wrap_columns(escape_terminal(text), WIDTH, first=escape_terminal(first), rest=rest)


def _number(value: int | None) -> str:
    return NOTHING if value is None else str(value)


def _span(row: Row) -> str:
    if row["end_ms"] is None and row["start_ms"] is not None:
        return f"from {format_time(row['start_ms'])}"
    return f"{format_time(row['start_ms'])}–{format_time(row['end_ms'])}"


def words_at(facts: Mapping[str, Any], speaker: str, start_ms: int, end_ms: int) -> list[Row]:
    """Return the transcript rows of a speaker that lie more than half within a stretch."""
    return [
        row
        for row in facts["transcript"]
        if row["speaker"] == speaker
        and row["start_ms"] is not None
        and row["end_ms"] is not None
        and 2 * (min(row["end_ms"], end_ms) - max(row["start_ms"], start_ms))
        > row["end_ms"] - row["start_ms"]
    ]


def _quoted(facts: Facts, speaker: str, start_ms: int, end_ms: int) -> list[str]:
    """Return what the transcript has a party say there, in one line."""
    rows = words_at(facts, speaker, start_ms, end_ms)
    if not rows:
        return []
    text = " ".join(row["text"] if row["heard_text"] is None else row["heard_text"] for row in rows)
    places = ", ".join(f"L{row['position']}" for row in rows)
    room = WIDTH - len(places) - 11
    return [f'      {places}: "{clip_columns(escape_terminal(text), room)}"']


def event_place(key: str) -> str:
    """Return the label of the evidence that an event points at."""
    table, _, name = key.partition("/")
    if table in _LABELS and name:
        return f"{_LABELS[table]}{name}"
    return f"verdict {name}" if table == "verdicts" else key


def _source(row: Row) -> str:
    """Return what an event was taken from, and where there."""
    place = event_place(row["evidence_key"])
    return row["source"] if place == row["source"] else f"{row['source']}: {place}"


def _events_at(facts: Facts, table: str, position: int) -> str:
    """Return the types of the events that point at a piece of evidence."""
    key = f"{table}/{position}"
    types = sorted({row["type"] for row in facts["events"] if row["evidence_key"] == key})
    return f"  [{', '.join(types)}]" if types else ""


def _severity_legend(facts: Facts) -> str:
    """Return what the severities mean, and which fail a call."""
    scale = facts["severities"]
    names = ", ".join(f"S{each['level']} {each['name']}" for each in scale)
    failing = min((each["level"] for each in scale if each["fails"]), default=None)
    return names + ("" if failing is None else f"; S{failing} and above fail the call")


def event_lines(facts: Facts) -> list[str]:
    """Return a line an event in order of time, then the types that the evidence leaves open."""
    lines: list[str] = []
    told: set[str] = set()
    if facts["events"]:
        head = f"{'time':>10}{'value':>7}{'limit':>7}{'margin':>8}"
        lines.append(f"  {'type':<19}S {head}  from")
    ordered = sorted(
        facts["events"], key=lambda row: (row["at_ms"] is None, row["at_ms"] or 0, row["type"])
    )
    for row in ordered:
        margin = NOTHING if row["margin_ms"] is None else f"{row['margin_ms']:+d}"
        line = (
            f" {'*' if row['counted'] else ' '}{row['type']:<19}{row['severity']} "
            f"{format_time(row['at_ms']):>10}{_number(row['value']):>7}"
            f"{_number(row['threshold']):>7}{margin:>8}"
        )
        lines += _wrap(_source(row), first=f"{line}  ", rest=" " * 58)
        if row["type"] not in told:
            told.add(row["type"])
            lines += _wrap(facts["criteria"].get(row["type"], ""), first="    ", rest="      ")
    if facts["events"]:
        lines += _wrap(_severity_legend(facts))
    if facts["undecided_events"]:
        lines += _wrap("not decided: " + ", ".join(facts["undecided_events"]))
    return lines


def reply_text(row: Row) -> str:
    """Return what became of a caller utterance."""
    tool = ", a tool call within" if row["tool_in_wait"] else ""
    return {
        "replied": f"reply after {row['latency_ms']} ms{tool}",
        "no_reply": f"NO REPLY: waited {row['waited_ms']} ms{tool}",
        "censored": f"open: the wait is cut off after {row['waited_ms']} ms, so it "
        f"counts as nothing{tool}",
    }.get(row["status"]) or _NO_WAIT.get(row["status"], str(row["status"]))


def reply_lines(facts: Facts) -> list[str]:
    """Return what became of each caller utterance, and what it says."""
    lines = []
    for row in facts["replies"]:
        mark = _events_at(facts, "replies", row["utterance"])
        begin = f"  C{row['utterance']:<3} {_span(row)}  "
        lines += _wrap(f"{reply_text(row)}{mark}", first=begin, rest=" " * 8)
        lines += _quoted(facts, "caller", row["start_ms"], row["end_ms"])
    return lines


def talk_over_text(row: Row) -> str:
    """Return where an agent turn begins inside a caller utterance, and of which kind that is."""
    marks = [
        name
        for name, is_so in (
            (_KINDS.get(row["kind"], str(row["kind"])), True),
            ("a short turn", row["short"]),
            ("a simultaneous start", row["simultaneous"]),
            ("not counted", not row["counted"]),
        )
        if is_so
    ]
    return (
        f"A{row['turn']} begins at {format_time(row['at_ms'])}, {row['value_ms']} ms before "
        f"C{row['utterance']} ends: {', '.join(marks)}"
    )


def talk_over_lines(facts: Facts) -> list[str]:
    """Return where an agent turn begins inside a caller utterance, and by how much."""
    lines = []
    for row in facts["talk_overs"]:
        lines += _wrap(f"{talk_over_text(row)}{_events_at(facts, 'talk_overs', row['turn'])}")
        turn = next((each for each in facts["turns"] if each["position"] == row["turn"]), None)
        lines += _quoted(facts, "agent", turn["start_ms"], turn["end_ms"]) if turn else []
    return lines


def barge_in_text(row: Row) -> str:
    """Return where the caller speaks into an agent turn, and whether the agent yields."""
    length = row["caller_end_ms"] - row["at_ms"]
    beyond = row["agent_end_ms"] - row["caller_end_ms"]
    outcome = {
        "yielded": f"the agent stops {row['yield_ms']} ms after its start",
        "kept": f"the agent goes on for {beyond} ms past its end",
    }.get(row["outcome"], "the scored window closes before that is told")
    return (
        f"C{row['utterance']} at {format_time(row['at_ms'])} into A{row['turn']}, {length} ms, "
        f"{_KINDS.get(row['kind'], row['kind'])}: {outcome}"
    )


def barge_in_lines(facts: Facts) -> list[str]:
    """Return where the caller speaks into an agent turn, and whether the agent yields."""
    return [line for row in facts["barge_ins"] for line in _wrap(barge_in_text(row))]


def silence_text(row: Row) -> str:
    """Return how long a silence after the agent is, and how it ends."""
    working = " (a tool call runs)" if row["tool_inside"] else ""
    return (
        f"from {format_time(row['at_ms'])} for {row['value_ms']} ms{working}, "
        f"then {_SILENCE_ENDS[row['outcome']]}"
    )


def silence_lines(facts: Facts) -> list[str]:
    """Return how long each long silence after the agent is, and how it ends."""
    return [line for row in facts["silences"] for line in _wrap(silence_text(row))]


def heard_after_text(row: Row) -> str:
    """Return when the agent is heard after a tool's result."""
    spoke = f"the agent is heard {row['first_sound_ms']} ms after the result"
    return _NOT_HEARD.get(row["outcome"], spoke)


def _value(text: str) -> str:
    """Return JSON with a space after each mark, so that lines break between values."""
    try:
        spaced = json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        spaced = text
    return clip_columns(escape_terminal(spaced), _VALUE_COLUMNS)


def tool_lines(facts: Facts) -> list[str]:
    """Return each tool call with its arguments and result, and when the agent is heard after it."""
    after = {row["position"]: row for row in facts["tool_results"]}
    lines = []
    for row in facts["tool_calls"]:
        given = row["arguments"] if row["arguments"] is not None else row["raw_arguments"]
        mark = _events_at(facts, "tool_calls", row["position"])
        begin = f"  T{row['position']:<3} {_span(row)} {row['status']}  "
        lines += _wrap(f"{row['name']}{mark}", first=begin, rest="       ")
        if given:
            lines += _wrap(_value(given), first="       given  ", rest=" " * 14)
        if row["result"] is not None:
            lines += _wrap(_value(row["result"]), first="       result ", rest=" " * 14)
        heard = after.get(row["position"])
        if heard is not None:
            lines += _wrap(heard_after_text(heard), first="       then   ", rest="")
    return lines


def transcript_lines(facts: Facts) -> list[str]:
    """Return what was said, the cited lines marked, and what was written but never heard."""
    lines = []
    for row in facts["transcript"]:
        heard = row["text"] if row["heard_text"] is None else row["heard_text"]
        begin = (
            f" {'>' if row['cited_by'] else ' '}L{row['position']:<3} "
            f"{format_time(row['start_ms']):>9} {row['speaker']:<6} "
        )
        rest = " " * len(begin)
        lines += _wrap(heard or "(nothing)", first=begin, rest=rest)
        if row["heard_text"] is not None and row["heard_text"] != row["text"]:
            lines += _wrap(f"(written, not all heard: {row['text']})", first=rest, rest=rest)
        if row["cited_by"]:
            lines += _wrap(f"<- {', '.join(row['cited_by'])}", first=rest, rest=rest)
    return lines
