"""The page of one call: what `explain_facts` knows, as the page draws it.

Everything that a page says is worded here; the page itself only lays out. A *span* is
``[start_ms, end_ms]``. Cells of a table are texts, or ``{"text", "at"}`` where they name a moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.report.boundary_text import STAGE_TEXTS
from inquesto_core.report.call_text import (
    barge_in_text,
    event_place,
    heard_after_text,
    reply_text,
    silence_text,
    talk_over_text,
    words_at,
)
from inquesto_core.report.heard_text import channel_texts, problem_texts, state_texts
from inquesto_core.report.reasons import REJECTED
from inquesto_core.report.terminal import NOTHING
from inquesto_core.report.timeline_text import format_time
from inquesto_core.report.transcripts_text import asr_texts
from inquesto_core.report.verdict_text import answer_words, giver_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["call_page", "clip_label"]

_GOAL = {True: "goal reached", False: "goal not reached", None: "goal undetermined"}
_HOLDS = {True: "holds", False: "does not hold", None: "undetermined"}
_SIDES = {"caller": "C", "agent": "A"}

Facts = dict[str, Any]
Row = dict[str, Any]


def call_page(facts: Facts, *, outcome: str, agent: str, redacted: bool = False) -> Row:
    """Return a call's page as JSON values; text from outside as it came.

    Parameters
    ----------
    facts : dict
        As `explain_facts` returns it, or that redacted.
    outcome : str
        One of `html_calls.OUTCOMES`.
    redacted : bool
        Whether what was said and done is left out, which the page then says.
    """
    decision = facts["decision"]
    return {
        "call": decision["call_id"],
        "outcome": outcome,
        "why": facts["why"],
        "chips": list(_chips(facts)),
        "facts": [[name, text] for name, text in _facts(facts, agent) if text],
        "line": _timeline(facts),
        "redacted": redacted,
        "boundary": list(_boundary(facts)),
        "predicates": [
            [f"{row['index']} {row['kind']}", _HOLDS[row["value"]], row["evidence"]]
            for row in facts["predicates"]
        ],
        "events": _events(facts),
        "criteria": facts["criteria"],
        "undecided": facts["undecided_events"],
        "replies": _replies(facts),
        "moments": [
            {"title": title, "rows": [[text, at] for text, at in rows]}
            for title, rows in (
                ("Talk-overs", [(talk_over_text(r), r["at_ms"]) for r in facts["talk_overs"]]),
                ("Barge-ins", [(barge_in_text(r), r["at_ms"]) for r in facts["barge_ins"]]),
                ("Long silences", [(silence_text(r), r["at_ms"]) for r in facts["silences"]]),
            )
            if rows
        ],
        "tools": list(_tools(facts)),
        "states": state_texts(facts),
        "transcript": list(_transcript(facts)),
        "verdicts": list(_verdicts(facts)),
        "judge": giver_texts(facts),
        "own_transcript": asr_texts(facts),
        "heard": [[row["channel"], channel_texts(facts, row)] for row in facts["media"]],
        "problems": problem_texts(facts),
        "missing": [
            name
            for name, flag in (
                ("tool trace", "has_trace"),
                ("transcript", "has_transcript"),
                ("verdicts", "has_verdicts"),
            )
            if facts["call"][flag] is False
        ],
    }


def _chips(facts: Facts) -> Iterator[str]:
    decision = facts["decision"]
    yield "counts in n" if facts["in_n"] else "not in n"
    if decision["state"] != "timing_only":
        yield _GOAL[decision["goal"]]
    yield f"worst event S{decision['worst_severity']}" if decision["worst_severity"] else "no event"
    if decision["borderline"]:
        yield "borderline"
    if decision["fragile_limits"]:
        yield "close to a limit: " + ", ".join(decision["fragile_limits"])


def _boundary(facts: Facts) -> Iterator[str]:
    """Yield where a failed call first departs from what was expected."""
    row = facts["boundary"]
    if row is None:
        return
    if row["first"] is None:
        yield "No stage shows it: the goal is read as not reached, and nothing else departs."
    else:
        where = event_place(row["evidence_key"])
        yield f"{row['first'].replace('_', ' ')}: {STAGE_TEXTS[row['first']]} (see {where})."
    if row["unknown_before"]:
        names = ", ".join(stage.replace("_", " ") for stage in row["unknown_before"])
        yield f"Not known of what comes before it: {names}."


def _facts(facts: Facts, agent: str) -> Iterator[tuple[str, str | None]]:
    call, decision = facts["call"], facts["decision"]
    yield "Caller wants", facts["wants"]
    yield "Agent", agent
    for key, name in (
        ("scenario_id", "Scenario"),
        ("condition", "Condition"),
        ("group", "Speaker group"),
        ("trial", "Trial"),
        ("identity", "Identity"),
    ):
        yield name, None if decision[key] is None else str(decision[key])
    yield "Platform", call["platform"]
    ended = [call["ended_by"], call["ended_reason"]]
    yield "Ended by", ", ".join(filter(None, ended))
    yield from _timing(facts)


def _timing(facts: Facts) -> Iterator[tuple[str, str | None]]:
    call, decision = facts["call"], facts["decision"]
    reasons = call["timing_reasons"] or ()
    if reasons or call["timing_source"] is None:
        told = "; ".join(facts["reasons"].get(code, code) for code in reasons)
        yield "Timing", f"not evaluated: {told or 'there is none'}"
        return
    median, p95 = decision["median_latency_ms"], decision["p95_latency_ms"]
    latency = "no reply to time" if median is None else f"median {median:g} ms, p95 {p95} ms"
    yield "Reply latency", f"{latency} ({call['timing_source']})"
    for key, name in (
        ("longest_unanswered_ms", "Longest wait"),
        ("longest_dead_air_ms", "Longest silence in an agent turn"),
    ):
        yield name, f"{decision[key]} ms" if decision[key] else None
    if decision["overlap_ms"] is not None:
        caller, both = decision["caller_voiced_ms"], decision["overlap_ms"]
        yield (
            "Speech",
            f"caller {caller / 1000:.1f} s, agent {decision['agent_voiced_ms'] / 1000:.1f} s, "
            f"both at once {both / 1000:.1f} s",
        )


def _timeline(facts: Facts) -> Row:
    call = facts["call"]
    return {
        "end": _end_ms(facts),
        "window": [call["window_from_ms"], call["window_to_ms"]],
        "sound": {
            side: [
                [row["start_ms"], row["end_ms"]]
                + (
                    [REJECTED.get(row["rejected"], ("", row["rejected"]))[1]]
                    * bool(row["rejected"])
                )
                for row in facts["segments"]
                if row["channel"] == side
            ]
            for side in _SIDES
        },
        "joined": {
            side: [[row["start_ms"], row["end_ms"], row["position"]] for row in facts[table]]
            for side, table in (("caller", "utterances"), ("agent", "turns"))
        },
        "waits": [
            [row["clock_ms"], row["clock_ms"] + took, row["status"], row["utterance"], took]
            for row in facts["replies"]
            for took in (row["waited_ms"] if row["latency_ms"] is None else row["latency_ms"],)
            if row["clock_ms"] is not None and took is not None
        ],
        "tools": [
            [row["start_ms"], row["end_ms"], row["position"], row["name"], row["status"]]
            for row in facts["tool_calls"]
            if row["start_ms"] is not None
        ],
    }


def _end_ms(facts: Facts) -> int:
    call = facts["call"]
    times = [call["duration_ms"], call["window_to_ms"]]
    for name in ("segments", "utterances", "turns", "tool_calls", "events"):
        times += [row.get(key) for row in facts[name] for key in ("start_ms", "at_ms", "end_ms")]
    return max((time for time in times if time is not None), default=0)


def _events(facts: Facts) -> list[Row]:
    ordered = sorted(
        facts["events"], key=lambda row: (row["at_ms"] is None, row["at_ms"] or 0, row["type"])
    )
    return [
        {
            "type": row["type"],
            "severity": row["severity"],
            "at": row["at_ms"],
            "end": row["end_ms"],
            "value": row["value"],
            "threshold": row["threshold"],
            "margin": row["margin_ms"],
            "source": row["source"],
            "place": event_place(row["evidence_key"]),
            "counted": row["counted"],
            "turn": _cited_turn(facts, row["evidence_key"]),
        }
        for row in ordered
    ]


def _cited_turn(facts: Facts, key: str) -> int | None:
    """Return the line of the transcript that an event's verdict cites."""
    table, _, question = key.partition("/")
    for row in facts["verdicts"]:
        if table == "verdicts" and row["question"] == question:
            return None if row["turn"] is None else int(row["turn"])
    return None


def _said(facts: Facts, speaker: str, start_ms: int, end_ms: int) -> str:
    return " ".join(
        row["text"] if row["heard_text"] is None else row["heard_text"]
        for row in words_at(facts, speaker, start_ms, end_ms)
    )


def _replies(facts: Facts) -> list[Row]:
    return [
        {
            "label": f"C{row['utterance']}",
            "at": row["start_ms"],
            "span": f"{format_time(row['start_ms'])}–{format_time(row['end_ms'])}",
            "text": reply_text(row),
            "said": _said(facts, "caller", row["start_ms"], row["end_ms"]),
            "events": sorted(
                event["type"]
                for event in facts["events"]
                if event["evidence_key"] == f"replies/{row['utterance']}"
            ),
        }
        for row in facts["replies"]
    ]


def _tools(facts: Facts) -> Iterator[Row]:
    after = {row["position"]: row for row in facts["tool_results"]}
    for row in facts["tool_calls"]:
        heard, position = after.get(row["position"]), row["position"]
        given = row["arguments"] if row["arguments"] is not None else row["raw_arguments"]
        yield {
            "label": f"T{position}",
            "at": row["start_ms"],
            "span": _tool_span(row),
            "name": row["name"],
            "status": row["status"],
            "given": given,
            "result": row["result"],
            "then": None if heard is None else heard_after_text(heard),
            "events": sorted(
                event["type"]
                for event in facts["events"]
                if event["evidence_key"] == f"tool_calls/{position}"
            ),
        }


def _tool_span(row: Row) -> str:
    if row["start_ms"] is None:
        return NOTHING
    start = format_time(row["start_ms"])
    return start if row["end_ms"] is None else f"{start}–{format_time(row['end_ms'])}"


def _transcript(facts: Facts) -> Iterator[Row]:
    for row in facts["transcript"]:
        heard = row["text"] if row["heard_text"] is None else row["heard_text"]
        yield {
            "line": row["position"],
            "at": row["start_ms"],
            "who": row["speaker"],
            "text": heard or "(nothing)",
            "written": row["text"] if heard != row["text"] else None,
            "cited": row["cited_by"],
        }


def _verdicts(facts: Facts) -> Iterator[Row]:
    limit = facts["limits"]["fragile_margin"]
    for row in facts["verdicts"]:
        margin = None
        if row["margin"] is not None:
            margin = (
                f"p(true) {row['p_true']:.3g}, p(false) {row['p_false']:.3g}; margin "
                f"{row['margin']:.3f} ({'fragile: less than' if row['fragile'] else 'limit'} "
                f"{limit:g})"
            )
        yield {
            "question": row["question"],
            "answer": answer_words(row),
            "turn": row["turn"],
            "reason": row["reason"],
            "margin": margin,
            "fragile": row["fragile"],
            "raw": row["raw"] if row["undetermined"] else None,
            "events": sorted(
                event["type"]
                for event in facts["events"]
                if event["evidence_key"] == f"verdicts/{row['question']}"
            ),
        }


def clip_label(events: Sequence[Mapping[str, Any]]) -> str:
    """Return what a stretch of sound is around: its events, most severe first."""
    ordered = sorted(events, key=lambda row: (-row["severity"], row["type"], row["at"] or 0))
    names = [f"{row['type']} (S{row['severity']})" for row in ordered]
    return ", ".join(dict.fromkeys(names))
