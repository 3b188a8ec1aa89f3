"""Files, order and workers around the pure parts: score bundles, read a run back, rescore it.

Each function is loaded when it is first asked for: a worker that reduces tables starts in a part
of the time that instruments, comparisons and reports take to load. Where a function has the name of
its module, the name is the function's.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inquesto_core.engine.compare import Compared, compare
    from inquesto_core.engine.compat import rescore_reference, score_as_reference
    from inquesto_core.engine.leaderboard import leaderboard
    from inquesto_core.engine.one_call import load_call
    from inquesto_core.engine.outcome_compare import compare_outcomes
    from inquesto_core.engine.outcome_rescore import OutcomeRescored, rescore_outcomes
    from inquesto_core.engine.outcome_run import OutcomeResult, score_outcomes
    from inquesto_core.engine.outcome_stored import OutcomeRun, is_outcome_run, load_outcome
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
    "OutcomeRescored",
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
    "compare_outcomes",
    "cut_failures",
    "estimate_review",
    "is_outcome_run",
    "leaderboard",
    "load_call",
    "load_outcome",
    "load_run",
    "protocol_of_run",
    "redact",
    "report",
    "rescore",
    "rescore_outcomes",
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

_WHERE = {
    "compare": ("Compared", "compare"),
    "compat": ("rescore_reference", "score_as_reference"),
    "leaderboard": ("leaderboard",),
    "one_call": ("load_call",),
    "outcome_compare": ("compare_outcomes",),
    "outcome_rescore": ("OutcomeRescored", "rescore_outcomes"),
    "outcome_run": ("OutcomeResult", "score_outcomes"),
    "outcome_stored": ("OutcomeRun", "is_outcome_run", "load_outcome"),
    "redact": ("Redacted", "redact"),
    "regression": ("check_regressions", "cut_failures"),
    "remote_run": ("run_at_hand", "run_to_write"),
    "report": ("WrittenReport", "report"),
    "rescore": ("DIFFERENCES_FILE", "Rescored", "rescore"),
    "review": ("estimate_review", "sample"),
    "run": ("score",),
    "run_protocol": ("protocol_of_run",),
    "run_result": ("RunResult",),
    "seal": ("Sealed", "Verification", "seal", "verify"),
    "stored": ("StoredRun", "load_run", "runs_in"),
    "validate": ("validate",),
}
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names}


class _Engine(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # What the import system sets once it has loaded a module of a function's name.
        if not (name in _MODULE_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Engine


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
