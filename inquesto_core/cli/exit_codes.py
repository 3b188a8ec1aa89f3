"""The exit codes of the contract, and which error has which."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from inquesto_core.errors import (
    BundleError,
    IncomparableError,
    InquestoError,
    InstrumentError,
    Problem,
    ProtocolError,
    SchemaError,
    StoreError,
    VerificationError,
)

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "NOT_EVALUATED",
    "code_of",
    "code_of_system",
    "system_problem",
]

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
        "out_inside",
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


#: Errors of what was given and is there, and not of this machine's disk or of what is asked.
_DAMAGED = frozenset(
    {
        "checks_invalid",
        "no_records",
        "not_readable",
        "population_inconsistent",
        "predicate_invalid",
        "run_damaged",
        "signals_invalid",
    }
)


#: What a file or folder that was given may be: not ours to read, gone meanwhile, of another kind.
_GIVEN = frozenset(
    {
        errno.EACCES,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EPERM,
    }
)


def code_of_system(error: OSError) -> int:
    """Return the exit code for what the system refused and no command answers itself."""
    return BAD_INPUT if error.errno in _GIVEN else 5


def system_problem(error: OSError) -> Problem:
    """Return how that is said."""
    name = "a file" if error.filename is None else Path(os.fsdecode(error.filename)).name
    return Problem(
        code="not_readable",
        found=f"{name} cannot be used: {error.strerror or error}",
        expected="files and folders that you may read, and room to write",
        remedy="see `ls -l` and `df`",
    )


def code_of(error: InquestoError) -> int:
    """Return the exit code for a library error."""
    if error.problem.code in _DAMAGED:
        return BAD_INPUT
    if error.problem.code in _USAGE:
        return 2
    return next((code for kind, code in _CODES if isinstance(error, kind)), 5)
