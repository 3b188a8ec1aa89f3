"""Whether what a tool answered denies that it did what it was called for.

A call that a platform marks as done often answers that nothing was done: *denied*, *insufficient
funds*. What such an answer looks like is one closed list (docs/predicates.md); whatever is not on
it denies nothing, and a population that names its outcomes otherwise asks by ``tool_results``.
"""

from __future__ import annotations

from typing import Any

from inquesto_core.canonical import strict_json
from inquesto_core.errors import SchemaError

__all__ = [
    "ERROR_KEYS",
    "NEGATIVE_TEXTS",
    "NO_ERROR",
    "OUTCOME_KEYS",
    "WRAPPER_KEYS",
    "decoded",
    "negative_result",
]

#: Keys whose value tells how it went: ``false``, or one of `NEGATIVE_TEXTS`, denies.
OUTCOME_KEYS = frozenset(
    {
        "accepted",
        "approved",
        "authenticated",
        "authorised",
        "authorized",
        "confirmed",
        "decision",
        "match",
        "matched",
        "matches",
        "ok",
        "outcome",
        "passed",
        "result",
        "state",
        "status",
        "success",
        "successful",
        "succeeded",
        "valid",
        "verification",
        "verified",
    }
)

#: Keys that deny by holding anything but null, ``false``, nothing, or *none*.
ERROR_KEYS = frozenset({"error", "errors", "error_code", "error_message", "failure"})

#: Keys whose value is looked into, as if it were the whole.
WRAPPER_KEYS = frozenset({"body", "data", "output", "payload", "response", "result"})

#: Texts that deny, without case and surrounding white space, ``_`` and ``-`` being spaces.
NEGATIVE_TEXTS = frozenset(
    {
        "blocked",
        "declined",
        "denied",
        "error",
        "fail",
        "failed",
        "failure",
        "false",
        "forbidden",
        "insufficient funds",
        "invalid",
        "locked",
        "mismatch",
        "no",
        "no match",
        "not authenticated",
        "not authorised",
        "not authorized",
        "not found",
        "not matched",
        "not verified",
        "refused",
        "rejected",
        "timed out",
        "timeout",
        "unauthenticated",
        "unauthorised",
        "unauthorized",
        "unsuccessful",
        "unverified",
    }
)

#: A result may be JSON text of a value, or such text encoded once more, as arguments may.
_MAX_DECODES = 2

#: Texts under a key of `ERROR_KEYS` that name no error.
NO_ERROR = frozenset({"", "0", "00", "false", "n/a", "no", "no error", "none", "null", "ok"})
_MAX_DEPTH = 3


def negative_result(result: Any) -> bool:
    """Return whether a tool's result denies that it did what it was called for.

    It does if it is ``false`` or a text of `NEGATIVE_TEXTS`, or an object in which a key of
    `OUTCOME_KEYS` has such a value, or a key of `ERROR_KEYS` any. What stands under a key of
    `WRAPPER_KEYS` is looked into alike. Text that is JSON is decoded first, at most twice.

    Examples
    --------
    >>> negative_result({"status": "denied"}), negative_result({"data": {"match": False}})
    (True, True)
    >>> negative_result({"status": "active"}), negative_result({"error": None})
    (False, False)
    """
    return _denies(decoded(result), _MAX_DEPTH)


def decoded(result: Any) -> Any:
    """Return a value; a text that is JSON is decoded, as tools often give it so, at most twice."""
    for _ in range(_MAX_DECODES):
        if not isinstance(result, str):
            break
        try:
            result = strict_json(result.encode("utf-8"))
        except (SchemaError, UnicodeEncodeError):
            break
    return result


def _denies(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        return any(_member_denies(key.casefold(), held, depth) for key, held in value.items())
    return _says_no(value)


def _says_no(value: Any) -> bool:
    if isinstance(value, str):
        return " ".join(value.casefold().replace("_", " ").replace("-", " ").split()) in (
            NEGATIVE_TEXTS
        )
    return value is False


def _member_denies(key: str, value: Any, depth: int) -> bool:
    if key in ERROR_KEYS:
        is_none = value.strip().casefold() in NO_ERROR if isinstance(value, str) else not value
        return not is_none
    if key in WRAPPER_KEYS and depth > 0 and _denies(decoded(value), depth - 1):
        return True
    return key in OUTCOME_KEYS and _says_no(value)
