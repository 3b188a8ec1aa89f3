"""Files, order and workers around the pure parts: score a set of bundles, read a run back."""

from __future__ import annotations

from inquesto_core.engine.run import RunResult, score
from inquesto_core.engine.run_protocol import protocol_of_run
from inquesto_core.engine.stored import StoredRun, load_run
from inquesto_core.engine.validate import validate

__all__ = ["RunResult", "StoredRun", "load_run", "protocol_of_run", "score", "validate"]
