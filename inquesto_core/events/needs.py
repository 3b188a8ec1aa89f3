"""Which columns of the evidence decide anything, so that the others need not be read.

What tools were told and what they answered, and what a judge wrote, is most of an archive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.events.predicates import columns_read
from inquesto_core.evidence.tables import TABLES

if TYPE_CHECKING:
    from inquesto_core.protocol import Population, Protocol

__all__ = ["columns_needed"]

_ALWAYS = {
    "calls": tuple(name for name in TABLES["calls"] if name != "has_caller_calls"),
    "segments": ("call_id", "channel", "start_ms", "end_ms", "rejected"),
    "tool_calls": ("call_id", "position", "name", "status", "start_ms", "end_ms"),
    "caller_calls": ("call_id", "position", "name", "status"),
    "transcript": ("call_id", "position", "speaker", "start_ms", "end_ms", "n_words"),
    "reported_turns": ("call_id", "position", "speaker", "start_ms", "end_ms", "silent"),
    "reported_latencies": ("call_id", "position", "latency_ms"),
    "verdicts": ("call_id", "question", "verdict", "turn"),
    "states": ("call_id",),
    "word_errors": tuple(TABLES["word_errors"]),
    "problems": ("call_id", "level"),
}


def columns_needed(protocol: Protocol, population: Population) -> dict[str, tuple[str, ...]]:
    """Return the columns of each table that `detect` and the score read."""
    more: dict[str, set[str]] = {}
    for scenario in population.scenarios:
        for predicate in scenario.predicates:
            for table, columns in columns_read(predicate, population.predicates or {}).items():
                more.setdefault(table, set()).update(columns)
    must_succeed = protocol.event("unverified_action").parameters["verification_must_succeed"]
    if must_succeed:
        more.setdefault("tool_calls", set()).add("result")
    return {
        name: (*columns, *sorted(more.get(name, set()) - set(columns)))
        for name, columns in _ALWAYS.items()
    }
