"""From segments to utterances, turns, talk-overs and replies, over any number of calls at once."""

from __future__ import annotations

from inquesto_core.timeline.limits import STRUCTURE, VALUES, Limits, protocol_limits
from inquesto_core.timeline.measure import (
    CallAxis,
    Timeline,
    call_axis,
    measure_timeline,
)
from inquesto_core.timeline.reach import COMPARED, calls_within_reach
from inquesto_core.timeline.tables import diagnostic_tables, timeline_tables
from inquesto_core.timeline.talk import measure_talk

__all__ = [
    "COMPARED",
    "STRUCTURE",
    "VALUES",
    "CallAxis",
    "Limits",
    "Timeline",
    "call_axis",
    "calls_within_reach",
    "diagnostic_tables",
    "measure_talk",
    "measure_timeline",
    "protocol_limits",
    "timeline_tables",
]
