"""Files, order and workers around the pure parts: score bundles, read a run back, rescore it."""

from __future__ import annotations

from inquesto_core.engine.reduction import RunResult
from inquesto_core.engine.rescore import DIFFERENCES_FILE, Rescored, rescore
from inquesto_core.engine.run import score
from inquesto_core.engine.run_protocol import protocol_of_run
from inquesto_core.engine.stored import StoredRun, load_run
from inquesto_core.engine.validate import validate

__all__ = [
    "DIFFERENCES_FILE",
    "Rescored",
    "RunResult",
    "StoredRun",
    "load_run",
    "protocol_of_run",
    "rescore",
    "score",
    "validate",
]
