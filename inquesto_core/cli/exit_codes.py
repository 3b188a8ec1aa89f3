"""The exit codes of the contract, and which error has which."""

from __future__ import annotations

from inquesto_core.errors import (
    BundleError,
    IncomparableError,
    InquestoError,
    InstrumentError,
    ProtocolError,
    SchemaError,
    StoreError,
    VerificationError,
)

__all__ = ["BAD_INPUT", "INTERRUPTED", "NOT_EVALUATED", "code_of"]

BAD_INPUT = 3
NOT_EVALUATED = 4
INTERRUPTED = 130

_CODES: tuple[tuple[type[InquestoError], int], ...] = (
    (VerificationError, 1),
    (ProtocolError, 2),
    (IncomparableError, 2),
    (BundleError, BAD_INPUT),
    (SchemaError, BAD_INPUT),
    (InstrumentError, 4),
    (StoreError, 5),
)

#: Errors that are a wrong argument and not a failed disk or model.
_USAGE = frozenset(
    {
        "not_a_run",
        "not_a_store",
        "call_unknown",
        "out_is_the_run",
        "out_exists",
        "out_not_empty",
        "judge_unknown",
        "key_exists",
        "key_open",
        "key_unreadable",
        "option_unused",
        "platform_unknown",
        "remote_credentials",
        "remote_name",
        "remote_not_allowed",
        "remote_settings",
        "run_method",
        "scheme_unknown",
        "threshold_unreachable",
    }
)


#: Errors of files that were given, and not of this machine's disk.
_DAMAGED = frozenset({"run_damaged"})


def code_of(error: InquestoError) -> int:
    """Return the exit code for a library error."""
    if error.problem.code in _DAMAGED:
        return BAD_INPUT
    if error.problem.code in _USAGE:
        return 2
    return next((code for kind, code in _CODES if isinstance(error, kind)), 5)
