"""From evidence to a score: pass rule, accounting, rates, views, record and citation line."""

from __future__ import annotations

from inquesto_core import callable_room
from inquesto_core.score.citation import JudgeUse, TranscriberUse
from inquesto_core.score.decisions import decision_table
from inquesto_core.score.record import AgentIdentity, build_record
from inquesto_core.score.summary import Summary, add_summaries, summarise

__all__ = [
    "AgentIdentity",
    "JudgeUse",
    "Summary",
    "TranscriberUse",
    "add_summaries",
    "build_record",
    "decision_table",
    "summarise",
]

callable_room(__name__)
