"""NeMo labs voice agent: the result folder of one scenario; its `metrics.json` is the export.

`conversation_log.wav` has the user left and the agent right; the shorter side is padded at its end,
and noise may be mixed into the left. Ends of segments have been moved by 0.3 s and are not read.
Tool calls stand in both sides' contexts without times. What their own judge said is taken over as
recorded answers; what they decided from it is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import (
    Answer,
    Ended,
    FinalState,
    Inferred,
    RecordedVerdicts,
    TranscriptTurn,
)
from inquesto_core.importers.clock import milliseconds
from inquesto_core.importers.draft import Draft, ImportOptions, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node
from inquesto_core.importers.pipecat import read_messages
from inquesto_core.importers.record_folder import part_beside
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of
from inquesto_core.importers.tool_calls import status_note

if TYPE_CHECKING:
    from inquesto_core.bundle import ToolCall
    from inquesto_core.bundle.call import EndedBy, Speaker
    from inquesto_core.errors import Problem

__all__ = ["IMPORTER"]

_SEGMENTS = "conversation_log.seglst.json"
_CONTEXT = "bot_logs_agent/llm_context.json"
_CALLER_CONTEXT = "bot_logs_user/llm_context.json"
_RESPONSES = "final_agent_response.json"
_JUDGE = "judge_result.json"
_ROLES: dict[str, Speaker] = {"user": "caller", "agent": "agent"}
#: The bridge sees the exit that the agent's end-of-call tool asks for.
_ENDED_BY: dict[str, EndedBy] = {
    "[EXIT]": "agent",
    "[TIMEOUT]": "system",
    "[INACTIVITY_TIMEOUT]": "system",
}
_JUDGE_NAME = "NeMo evaluation judge"
#: Where it could not be asked or understood, it has the mark 0 and says why: that is no mark.
_FAILED = "Error:"
_REASON_CHARACTERS = 10_000
_SHA256 = re.compile(r"[0-9a-f]{64}")


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the one scenario that a `metrics.json` is of."""
    return (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a scenario's folder says."""
    scenario = call.needed_text("scenario_name")
    tools, problems = _tools(export, options, _CONTEXT)
    caller_tools, caller_problems = _tools(export, options, _CALLER_CONTEXT)
    reason = call.label("stop_reason")
    how = f"stop_reason is {reason}"
    return Draft(
        call_id=f"{export.parent.parent.name}-{scenario}",
        platform="nemo",
        tracks=(
            Track(
                names=("conversation_log.wav",),
                caller=0,
                agent=1,
                known_by="the NeMo evaluation writes the user left and the agent right",
            ),
        ),
        ended=Ended(by=_ENDED_BY.get(reason or "", "unknown"), reason=reason),
        tools=tools,
        caller_tools=caller_tools,
        responses=_responses(export),
        turns=_turns(export, options),
        state=_state(call),
        verdicts=_verdicts(call, export),
        facts=known_facts({"tag.scenario": (scenario,)}),
        inferred=(
            *status_note("the NeMo evaluation", tools),
            Inferred(field="/call_id", value=scenario, how="the run's folder and the scenario"),
            *(
                (Inferred(field="/ended/by", value=_ENDED_BY[reason], how=how),)
                if reason in _ENDED_BY
                else ()
            ),
        ),
        problems=(*problems, *caller_problems),
    )


def _turns(export: Path, options: ImportOptions) -> tuple[TranscriptTurn, ...] | None:
    segments = part_beside(export, _SEGMENTS)
    if segments is None:
        return None
    turns = []
    for row in segments.rows():
        speaker, start = role_of(row, "speaker", _ROLES, options), row.get("start_time")
        if speaker is not None:
            start_ms = None if start is None else milliseconds(start, "s")
            turns.append(
                TranscriptTurn(speaker=speaker, text=row.text("words") or "", start_ms=start_ms)
            )
    return tuple(turns)


def _tools(
    export: Path, options: ImportOptions, name: str
) -> tuple[tuple[ToolCall, ...] | None, tuple[Problem, ...]]:
    """Return the tool calls in one side's context; in its own, each side is the assistant."""
    context = part_beside(export, name)
    if context is None:
        return None, ()
    messages = context.rows() if isinstance(context.value, list) else context.rows("messages")
    _, tools, problems = read_messages(messages, options)
    return tools, problems


def _responses(export: Path) -> tuple[Mapping[str, Any], ...] | None:
    """Return what the agent gave as its result: one object that holds actions, or one a message."""
    given = part_beside(export, _RESPONSES)
    if given is None:
        return None
    rows = given.rows() if isinstance(given.value, list) else (given,)
    return tuple(row.members() for row in rows)


def _state(call: Node) -> FinalState | None:
    """Return the two hashes that were compared; the databases themselves are not kept."""
    expected = _hash(call, "db_state_expected_hash")
    actual = _hash(call, "db_state_actual_hash")
    if expected is None and actual is None:
        return None
    return FinalState(after_sha256=actual, expected_sha256=expected)


def _hash(call: Node, name: str) -> str | None:
    text = call.text(name)
    if text is not None and not _SHA256.fullmatch(text):
        call.need(name).refuse(
            f"is {text[:80]!r}", "a SHA-256 in 64 lower-case hex digits, or null"
        )
    return text


def _verdicts(call: Node, export: Path) -> RecordedVerdicts | None:
    """Return the judge's mark and its verdicts on claims, which it counts from 1."""
    judge = part_beside(export, _JUDGE)
    if judge is None:
        alone = call.get("judge_score")
        if alone is None or isinstance(alone.value, str):  # "N/A"
            return None
        mark = Answer(question="judge", verdict=None, score=_mark(call, "judge_score"))
        return RecordedVerdicts(model=_JUDGE_NAME, answers=(mark,))
    reason = judge.text("reason")
    has_failed = reason is not None and reason.startswith(_FAILED)
    answers = [
        Answer(
            question="judge",
            verdict=None,
            score=None if has_failed else _mark(judge, "score"),
            reason=_shortened(reason),
        )
    ]
    for row in judge.rows("nl_assertion_verdicts"):
        index = row.count("index")
        if index is None or index < 1:
            row.refuse(f"is of claim {index}", "index from 1")
        answers.append(
            Answer(
                question=f"nl_assertion:{index - 1}",
                verdict=None if has_failed else row.flag("passed"),
                reason=_shortened(row.text("reason")),
            )
        )
    ordered = sorted(answers, key=lambda answer: answer.question)
    return RecordedVerdicts(model=_JUDGE_NAME, answers=tuple(ordered))


def _mark(node: Node, name: str) -> float | None:
    given = node.get(name)
    if given is None:
        return None
    value = given.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        given.refuse(f"is {given.shown()}", "a mark from 0 to 1")
    return float(value)


def _shortened(text: str | None) -> str | None:
    return None if text is None else text[:_REASON_CHARACTERS]


IMPORTER = Importer(
    name="nemo", holds="a scenario's metrics", patterns=("metrics.json",), calls=calls, draft=draft
)
