"""EVA: the record folder of one simulated call; its `result.json` is the export.

Both sides have a file of their own of one start, at the rate of the server. When that start was is
said nowhere, so instants of the logs are left out and order is kept. The event log's times of audio
are not speech: an end can lie far behind the sound, and a reply latency from them be negative. What
the caller said is the simulator's text, what the agent said is what the simulator heard. Paths are
those of the machine that ran it; the last part counts. `session` is left out of states.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.bundle import Ended, FinalState, Inferred, ToolCall, TranscriptTurn
from inquesto_core.errors import Problem
from inquesto_core.importers.draft import Draft, ImportOptions, Side, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node
from inquesto_core.importers.record_folder import part_beside, rows_beside
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.tool_calls import Result, paired, requested

if TYPE_CHECKING:
    from inquesto_core.bundle.call import EndedBy, Speaker, ToolStatus

__all__ = ["IMPORTER"]

_TRIAL = re.compile(r"trial_([0-9]{1,6})")
_SPOKEN: dict[str, Speaker] = {"user_speech": "caller", "assistant_speech": "agent"}
_FILES: tuple[tuple[Side, str, str], ...] = (
    ("caller", "audio_user_path", "audio_user.wav"),
    ("agent", "audio_assistant_path", "audio_assistant.wav"),
)
_STATUS: dict[str, ToolStatus] = {"success": "ok", "error": "error"}
_ENDED_BY: dict[str, EndedBy] = {
    "goodbye": "caller",
    "transfer": "agent",
    "timeout": "system",
    "inactivity_timeout": "system",
    "error": "system",
}


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the one record that a `result.json` is."""
    return (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a record folder says."""
    record = call.needed_text("record_id")
    trial = _TRIAL.fullmatch(export.parent.name)
    tools, problems = _tools(export)
    reason = call.label("conversation_ended_reason")
    return Draft(
        call_id=record if trial is None else f"{record}-{trial[0]}",
        platform="eva",
        tracks=tuple(_track(call, *file) for file in _FILES),
        ended=Ended(by=_ENDED_BY.get(reason or "", "unknown"), reason=reason),
        tools=tools,
        turns=_turns(export),
        state=_state(export),
        scenario={} if trial is None else {"trial": int(trial[1])},
        facts=known_facts({"tag.record": (record,)}),
        inferred=_inferred(reason, export),
        problems=problems,
    )


def _track(call: Node, side: Side, key: str, usual: str) -> Track:
    path = call.text(key)
    return Track(
        names=(usual,) if path is None else (path, usual),
        side=side,
        known_by="EVA writes both sides from one start",
    )


def _turns(export: Path) -> tuple[TranscriptTurn, ...] | None:
    rows = rows_beside(export, "user_simulator_events.jsonl", "elevenlabs_events.jsonl")
    if rows is None:
        return None
    return tuple(
        TranscriptTurn(speaker=_SPOKEN[kind], text=row.text("data", "text") or "")
        for row in rows
        if (kind := row.text("type")) in _SPOKEN and kind is not None
    )


def _tools(export: Path) -> tuple[tuple[ToolCall, ...] | None, tuple[Problem, ...]]:
    log = part_beside(export, "audit_log.json")
    if log is None or log.get("transcript") is None:
        return None, ()
    tools: list[ToolCall] = []
    results: list[Result] = []
    problems: list[Problem] = []
    for row in log.rows("transcript"):
        kind = row.text("message_type")
        if kind == "tool_call":
            value = row.need("value")
            tool, told = requested(
                value,
                call_id=None,
                name=value.needed_text("tool"),
                arguments=value.get("parameters"),
            )
            tools.append(tool)
            problems += told
        elif kind == "tool_response":
            value = row.need("value")
            results.append(
                Result(
                    row=value,
                    id=None,
                    name=value.needed_text("tool"),
                    **_response(value.get("response")),
                )
            )
    told_calls, unmatched = paired(tools, results)
    return told_calls, (*problems, *unmatched)


def _response(node: Node | None) -> dict[str, Any]:
    value = None if node is None else node.value
    said = str(value.get("status")) if isinstance(value, dict) else ""
    return {"value": value, "status": _STATUS.get(said, "unknown")}


def _state(export: Path) -> FinalState | None:
    before = part_beside(export, "initial_scenario_db.json")
    after = part_beside(export, "final_scenario_db.json")
    expected = part_beside(export, "expected_scenario_db.json")
    if before is None or after is None:
        return None
    return FinalState(
        before=_without_session(before),
        after=_without_session(after),
        expected=None if expected is None else _without_session(expected),
    )


def _without_session(node: Node) -> dict[str, Any]:
    return {name: value for name, value in node.members().items() if name != "session"}


def _inferred(reason: str | None, export: Path) -> tuple[Inferred, ...]:
    found = []
    if reason in _ENDED_BY:
        how = f"conversation_ended_reason is {reason}"
        found.append(Inferred(field="/ended/by", value=_ENDED_BY[reason], how=how))
    how = (
        "a tool's status is that of its response; calls and responses are paired by name and order"
    )
    found.append(Inferred(field="/trace/calls/status", value="response", how=how))
    return tuple(found)


IMPORTER = Importer(
    name="eva", holds="a record", patterns=("result.json",), calls=calls, draft=draft
)
