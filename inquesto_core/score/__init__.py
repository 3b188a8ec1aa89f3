"""From evidence to a score: pass rule, accounting, rates, views, record and citation line."""

from __future__ import annotations

from inquesto_core.score.citation import JudgeUse, TranscriberUse
from inquesto_core.score.decisions import decision_table
from inquesto_core.score.record import AgentIdentity, build_record

__all__ = ["AgentIdentity", "JudgeUse", "TranscriberUse", "build_record", "decision_table"]
