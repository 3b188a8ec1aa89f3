"""Failure events: one file a family, each from evidence tables to flags and occurrences."""

from __future__ import annotations

from inquesto_core.events.detect import Detection, detect
from inquesto_core.events.predicates import check_predicates
from inquesto_core.events.trace import scenario_table

__all__ = ["Detection", "check_predicates", "detect", "scenario_table"]
