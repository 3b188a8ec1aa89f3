"""Files, order and workers around the pure parts: score bundles, read a run back, rescore it."""

from __future__ import annotations

from inquesto_core.engine.compare import Compared, compare
from inquesto_core.engine.compat import rescore_reference, score_as_reference
from inquesto_core.engine.leaderboard import leaderboard
from inquesto_core.engine.one_call import load_call
from inquesto_core.engine.outcome_run import OutcomeResult, score_outcomes
from inquesto_core.engine.outcome_stored import OutcomeRun, load_outcome
from inquesto_core.engine.redact import Redacted, redact
from inquesto_core.engine.regression import check_regressions, cut_failures
from inquesto_core.engine.remote_run import run_at_hand, run_to_write
from inquesto_core.engine.report import WrittenReport, report
from inquesto_core.engine.rescore import DIFFERENCES_FILE, Rescored, rescore
from inquesto_core.engine.review import estimate_review, sample
from inquesto_core.engine.run import score
from inquesto_core.engine.run_protocol import protocol_of_run
from inquesto_core.engine.run_result import RunResult
from inquesto_core.engine.seal import Sealed, Verification, seal, verify
from inquesto_core.engine.stored import StoredRun, load_run, runs_in
from inquesto_core.engine.validate import validate

__all__ = [
    "DIFFERENCES_FILE",
    "Compared",
    "OutcomeResult",
    "OutcomeRun",
    "Redacted",
    "Rescored",
    "RunResult",
    "Sealed",
    "StoredRun",
    "Verification",
    "WrittenReport",
    "check_regressions",
    "compare",
    "cut_failures",
    "estimate_review",
    "leaderboard",
    "load_call",
    "load_outcome",
    "load_run",
    "protocol_of_run",
    "redact",
    "report",
    "rescore",
    "rescore_reference",
    "run_at_hand",
    "run_to_write",
    "runs_in",
    "sample",
    "score",
    "score_as_reference",
    "score_outcomes",
    "seal",
    "validate",
    "verify",
]
