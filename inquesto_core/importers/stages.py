"""What a platform says of the stages of its answers: endpointing, recognition, model, synthesis.

These are the platform's own figures, on its own clocks, and each platform begins and ends a stage
where it likes. They are kept as reported and never measured against the recording. What is no
duration (negative, or above an hour) is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from inquesto_core.bundle import ReportedStages
from inquesto_core.importers.clock import milliseconds

if TYPE_CHECKING:
    from inquesto_core.importers.clock import Unit
    from inquesto_core.importers.fields import Node

__all__ = ["reported_stages", "stage_duration"]

_MOST_MS = 3_600_000


def stage_duration(node: Node | None, unit: Unit) -> int | None:
    """Return a duration in milliseconds; None where it is absent, or none."""
    if node is None:
        return None
    found_ms = milliseconds(node, unit)
    return found_ms if 0 <= found_ms <= _MOST_MS else None


def reported_stages(source: str, told: Mapping[str, Sequence[int | None]]) -> ReportedStages | None:
    """Return what is told of each stage, by its name; None where nothing is."""
    known = {
        f"{stage}_ms": tuple(values)
        for stage, values in told.items()
        if any(value is not None for value in values)
    }
    return ReportedStages(source=source, **known) if known else None
