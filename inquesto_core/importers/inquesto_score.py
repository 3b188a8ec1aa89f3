"""Run folders of the public reference implementation: ``agent.json`` and ``calls/<key>.json``.

They hold no audio. Timing is what the runtime reported: the times of turns, and a latency for each
agent turn; it goes into `timing.json` and is marked wherever it is used. Read strictly, where the
reference reads what Python calls true: an answer that is neither true, false, yes nor no is
undetermined, and so is a reply of the judge that could not be parsed. What else differs is told row
by row in ``docs/conformance.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import (
    Answer,
    Inferred,
    RecordedVerdicts,
    ReportedTiming,
    ReportedTurn,
    ToolCall,
    TranscriptTurn,
)
from inquesto_core.bundle.reference_run import AGENT_FILE, SILENCE_MARKER
from inquesto_core.canonical import strict_json
from inquesto_core.errors import BundleError, Problem
from inquesto_core.importers.draft import Draft, ImportOptions
from inquesto_core.importers.exports import read_bytes
from inquesto_core.importers.fields import Node, problem_at
from inquesto_core.importers.registry import Importer
from inquesto_core.score.reference_record import REFERENCE_POPULATION

if TYPE_CHECKING:
    from inquesto_core.bundle.call import Speaker

__all__ = ["IMPORTER"]

_SOURCE = "inquesto-score"
_SPEAKERS: dict[str, Speaker] = {"user": "caller", "agent": "agent"}
#: Question and the key of its reason.
_QUESTIONS = {
    "goal_achieved": "goal_reason",
    "wrong_info": "wrong_info_reason",
    "context_loss": "context_loss_reason",
    "disclosed_or_changed": "disclosed_or_changed_reason",
    "refused_service": "refused_service_reason",
}
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_UNSTATED = "not stated"


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the one call in a call file."""
    return (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a call file, and the run folder's ``agent.json``, say."""
    agent = _agent(export, options)
    result, conversation = call.need("result"), call.get("conversation")
    call_id = export.name.removesuffix(".json")
    about = Draft(
        call_id=call_id,
        platform=agent.label("runtime") or _SOURCE,
        is_recorded=False,
        agent_name=agent.label("name") or export.parent.parent.name,
        agent_fingerprint=agent.label("fingerprint"),
        agent_config=_config(agent),
        scenario={
            "scenario_id": result.needed_text("scenario_id"),
            "condition": result.needed_text("condition"),
            "group": result.needed_text("group"),
            "trial": result.need("seed").value,
        },
        inferred=(
            Inferred(field="/call_id", value=call_id, how="the name of the call's file"),
            Inferred(field="/agent", value=agent.label("name"), how=f"{AGENT_FILE} of the run"),
        ),
    )
    if conversation is None or not conversation.members():
        return _without_conversation(about, call)
    return _with_conversation(about, conversation)


def _agent(export: Path, options: ImportOptions) -> Node:
    file = export.parent.parent / AGENT_FILE
    if not file.is_file():
        return Node({}, AGENT_FILE)
    agent = Node(strict_json(read_bytes(file, AGENT_FILE), file=AGENT_FILE), AGENT_FILE)
    digest = agent.text("population", "sha256")
    if digest not in {None, REFERENCE_POPULATION["sha256"]} and options.population is None:
        raise BundleError(
            Problem(
                code="population_unknown",
                file=AGENT_FILE,
                pointer="/population",
                found=f"names another population than the reference's own, {digest}",
                expected="the population that the calls were made for",
                remedy="give its file with --population",
            )
        )
    return agent


def _config(agent: Node) -> dict[str, Any]:
    config = agent.get("config")
    return {} if config is None else dict(config.members())


def _without_conversation(about: Draft, call: Node) -> Draft:
    problem = problem_at(
        call,
        code="conversation_missing",
        found="holds no conversation",
        expected="what the call's result was made of",
        remedy="the stored result is not trusted; the call is not evaluated",
        level="warning",
    )
    return replace(about, problems=(problem,))


def _with_conversation(about: Draft, conversation: Node) -> Draft:
    rows = conversation.rows("turns")
    turns = tuple(_turn(row) for row in rows)
    latencies = tuple(_whole(row) for row in conversation.rows("response_latencies_ms"))
    agent_turns = sum(turn.speaker == "agent" for turn in turns)
    timing = tuple(
        ReportedTurn(
            speaker=turn.speaker,
            start_ms=turn.start_ms or 0,
            end_ms=turn.end_ms or 0,
            silent=turn.heard_text is not None,
        )
        for turn in turns
    )
    problems = [*_disagreeing(rows, turns)]
    if len(latencies) != agent_turns:
        problems.append(
            problem_at(
                conversation,
                code="latencies_incomplete",
                found=f"has {len(latencies)} latencies for {agent_turns} agent turns",
                expected="one an agent turn",
                remedy="they count, but nobody can tell at which turn",
                level="warning",
            )
        )
    return replace(
        about,
        tools=tuple(
            ToolCall(position=at, name=row.text() or "", status="unknown")
            for at, row in enumerate(conversation.rows("tool_calls"))
        ),
        turns=turns,
        timing=ReportedTiming(source=_SOURCE, turns=timing, latencies_ms=latencies),
        verdicts=_verdicts(conversation.get("metadata", "verdicts")),
        problems=tuple(problems),
    )


def _turn(row: Node) -> TranscriptTurn:
    speaker = _SPEAKERS.get(row.needed_text("speaker"))
    if speaker is None:
        row.need("speaker").refuse(f"is {row.need('speaker').shown()}", '"user" or "agent"')
    text = row.text("text") or ""
    nothing = speaker == "agent" and text.strip() in {"", SILENCE_MARKER}
    return TranscriptTurn(
        speaker=speaker,
        text=text,
        heard_text="" if nothing else None,
        start_ms=_time(row, "start_ms"),
        end_ms=_time(row, "end_ms"),
    )


def _time(row: Node, name: str) -> int:
    node = row.get(name)
    return 0 if node is None else _whole(node)


def _whole(node: Node) -> int:
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        node.refuse(f"is {node.shown()}", "whole milliseconds")
    return node.value


def _disagreeing(rows: Sequence[Node], turns: Sequence[TranscriptTurn]) -> list[Problem]:
    """Return a warning where flags say otherwise than times whether the caller still spoke."""
    caller_end_ms: int | None = None
    odd = []
    for row, turn in zip(rows, turns, strict=True):
        if turn.speaker == "caller":
            caller_end_ms = turn.end_ms
            continue
        overlaps = caller_end_ms is not None and caller_end_ms > (turn.start_ms or 0)
        if bool(row.flag("barge_in")) != overlaps:
            odd.append(row)
    if not odd:
        return []
    return [
        problem_at(
            odd[0],
            code="barge_in_disagrees",
            found=f"and {len(odd)} agent turns in all have a flag that their times deny",
            expected="barge_in where the agent starts before the caller ends",
            remedy="times are read, flags are not",
            level="warning",
        )
    ]


def _verdicts(told: Node | None) -> RecordedVerdicts | None:
    if told is None or not told.members():
        return None
    members = told.members()
    unparsed = bool(members.get("parse_error"))
    answers = []
    for question, reason in sorted(_QUESTIONS.items()):
        if unparsed:
            lost = Answer(question=question, verdict=None, reason="the judge's reply had no JSON")
            answers.append(lost)
        elif question in members:
            verdict = _read(members[question])
            why = members.get(reason)
            why = why if isinstance(why, str) and why else None
            if verdict is None:
                why = f"the answer is {Node(members[question], '').shown()}"
            answers.append(Answer(question=question, verdict=verdict, reason=why))
    return RecordedVerdicts(model=told.label("model") or _UNSTATED, answers=tuple(answers))


def _read(answer: Any) -> bool | None:
    if isinstance(answer, str):
        return _WORDS.get(answer.strip().lower())
    return answer if isinstance(answer, bool) else None


IMPORTER = Importer(
    name="inquesto-score",
    holds="a call file of a run",
    patterns=("calls/*.json",),
    calls=calls,
    draft=draft,
)
