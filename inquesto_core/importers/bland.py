"""Bland: a call object, or a list of them.

A row says when it was made and not when it was spoken; `call_length` counts minutes. The recording
mixes both sides. What the agent did is told in words (``agent-action``) and is no trace: its
actions are unknown. Whom ``robot`` stands for is not confirmed; such rows are refused until the
user says.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle import Ended, Inferred, TranscriptTurn
from inquesto_core.importers.costs import cost_left_out
from inquesto_core.importers.draft import Draft, ImportOptions, Track
from inquesto_core.importers.facts import known_facts
from inquesto_core.importers.fields import Node, problem_at
from inquesto_core.importers.registry import Importer
from inquesto_core.importers.roles import role_of

if TYPE_CHECKING:
    from inquesto_core.bundle.call import EndedBy, Speaker
    from inquesto_core.errors import Problem

__all__ = ["IMPORTER"]

_ROLES = {"user": "caller", "assistant": "agent", "agent-action": "other"}
_ENDED_BY: dict[str, EndedBy] = {"USER": "caller", "ASSISTANT": "agent"}


def calls(document: Node, options: ImportOptions) -> Sequence[Node]:
    """Return the calls in a document."""
    return document.rows() if isinstance(document.value, list) else (document,)


def draft(call: Node, export: Path, options: ImportOptions) -> Draft:
    """Return what a call object says."""
    rows = call.rows("transcripts")
    ended = call.text("call_ended_by")
    address = call.text("recording_url")
    how = f"call_ended_by is {ended}"
    return Draft(
        call_id=call.needed_text("call_id"),
        platform="bland",
        tracks=(
            Track(
                names=() if address is None else (address,),
                ask="record the sides apart: the vendor's own recording is a mix",
            ),
        ),
        direction=_direction(call),
        ended=Ended(by=_ENDED_BY.get(ended or "", "unknown")),
        turns=None if call.get("transcripts") is None else _turns(rows, options),
        facts=known_facts(
            {
                "number": (call.text("from"), call.text("to")),
                "agent_id": (call.text("pathway_id"),),
                "direction": (_direction(call),),
            },
            call.get("variables"),
            call.get("metadata"),
        ),
        inferred=(
            *(
                (Inferred(field="/ended/by", value=_ENDED_BY[ended], how=how),)
                if ended in _ENDED_BY
                else ()
            ),
            *cost_left_out(call.get("price"), "the currency of price is not confirmed"),
        ),
        problems=_coarse(rows),
    )


def _direction(call: Node) -> str | None:
    is_inbound = call.flag("inbound")
    return None if is_inbound is None else "inbound" if is_inbound else "outbound"


def _turns(rows: Sequence[Node], options: ImportOptions) -> tuple[TranscriptTurn, ...]:
    turns = []
    for row in rows:
        meaning = role_of(row, "user", _ROLES, options)
        if meaning in {"caller", "agent"}:
            speaker: Speaker = "caller" if meaning == "caller" else "agent"
            turns.append(TranscriptTurn(speaker=speaker, text=row.text("text") or ""))
    return tuple(turns)


def _coarse(rows: Sequence[Node]) -> tuple[Problem, ...]:
    timed = [row for row in rows if row.get("created_at") is not None]
    if not timed:
        return ()
    problem = problem_at(
        timed[0].need("created_at"),
        code="times_left_out",
        found=f"is the first of {len(timed)} instants of writing, not of speech; they are left out",
        expected="times of speech",
        remedy="the order is kept",
        level="warning",
    )
    return (problem,)


IMPORTER = Importer(name="bland", holds="a call object", calls=calls, draft=draft)
