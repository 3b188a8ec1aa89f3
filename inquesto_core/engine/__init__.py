"""Files, order and workers around the pure parts: score bundles, read a run back, rescore it."""

from __future__ import annotations

from inquesto_core.engine.compat import rescore_reference, score_as_reference
from inquesto_core.engine.one_call import load_call
from inquesto_core.engine.remote_run import run_at_hand, run_to_write
from inquesto_core.engine.rescore import DIFFERENCES_FILE, Rescored, rescore
from inquesto_core.engine.run import score
from inquesto_core.engine.run_protocol import protocol_of_run
from inquesto_core.engine.run_result import RunResult
from inquesto_core.engine.stored import StoredRun, load_run, runs_in
from inquesto_core.engine.validate import validate

__all__ = [
    "DIFFERENCES_FILE",
    "Rescored",
    "RunResult",
    "StoredRun",
    "load_call",
    "load_run",
    "protocol_of_run",
    "rescore",
    "rescore_reference",
    "run_at_hand",
    "run_to_write",
    "runs_in",
    "score",
    "score_as_reference",
    "validate",
]
