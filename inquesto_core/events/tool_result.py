"""Whether what a tool answered denies that it did what it was called for.

A call that a platform marks as done often answers that nothing was done: *denied*, *insufficient
funds*. A population says by tool what a result is like that did (``tool_success``, a JSON Schema),
and that alone decides. Of the other tools what an answer that denies looks like is one closed list
(docs/predicates.md); whatever is not on it denies nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import strict_json
from inquesto_core.errors import SchemaError
from inquesto_core.schema import closed_validator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquesto_core.protocol import Population

__all__ = [
    "DENIAL_KEYS",
    "ERROR_KEYS",
    "NEGATIVE_TEXTS",
    "NO_ERROR",
    "OUTCOME_KEYS",
    "WRAPPER_KEYS",
    "decoded",
    "decoded_result",
    "negative_result",
    "with_success",
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

#: Keys that deny by being ``true``.
DENIAL_KEYS = frozenset({"declined", "denied", "failed", "refused", "rejected"})

#: Keys whose value is looked into, as if it were the whole.
WRAPPER_KEYS = frozenset({"body", "data", "output", "payload", "response", "result"})

#: Texts that deny, without case, surrounding white space and a full stop or mark at the end, ``_``
#: and ``-`` being spaces.
NEGATIVE_TEXTS = frozenset(
    {
        "blocked",
        "card declined",
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
        "payment declined",
        "payment failed",
        "refused",
        "rejected",
        "timed out",
        "timeout",
        "unauthenticated",
        "unauthorised",
        "unauthorized",
        "unsuccessful",
        "unverified",
        "verification failed",
    }
)

#: A result may be JSON text of a value, or such text encoded once more, as arguments may.
_MAX_DECODES = 2

#: Texts under a key of `ERROR_KEYS` that name no error.
NO_ERROR = frozenset({"", "0", "00", "false", "n/a", "no", "no error", "none", "null", "ok"})
_MAX_DEPTH = 3
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def with_success(
    tool_calls: pl.DataFrame, *, statuses: Iterable[str], population: Population
) -> pl.DataFrame:
    """Return tool calls with ``succeeded``: performed, and it did what it was called for.

    Parameters
    ----------
    tool_calls : polars.DataFrame
        ``name, status, result`` beside others; the result is JSON, null where none is recorded.
    statuses : iterable of str
        The statuses that count as done.

    Returns
    -------
    polars.DataFrame
        ``succeeded`` is null where a result decides (`Population.tool_success`) and none is
        recorded.
    """
    asked = population.tool_success or {}
    validators = {name: closed_validator(schema) for name, schema in asked.items()}
    pairs = tool_calls.select("name", "result").drop_nulls("result").unique().sort("name", "result")
    fits = [_fits(text, validators.get(name)) for name, text in pairs.iter_rows()]
    found = pairs.with_columns(fits=pl.Series(fits, dtype=pl.Boolean))
    joined = tool_calls.join(found, on=["name", "result"], how="left", maintain_order="left")
    untold = pl.col("name").is_in(list(validators)) & pl.col("result").is_null()
    performed = pl.col("status").is_in(list(statuses))
    did = pl.when(untold).then(None).otherwise(pl.col("fits").fill_null(value=True))
    return joined.with_columns(succeeded=performed & did).drop("fits")


def _fits(text: str, validator: Any) -> bool:
    value = strict_json(text.encode("utf-8"))
    if validator is None:
        return not negative_result(value)
    try:
        return bool(validator.is_valid(decoded_result(value)))
    except (ArithmeticError, RecursionError):  # cannot be checked, so it is not what was asked
        return False


def negative_result(result: Any) -> bool:
    """Return whether a tool's result denies that it did what it was called for.

    It does if it is ``false`` or a text of `NEGATIVE_TEXTS`; an object in which a key of
    `OUTCOME_KEYS`, with or without ``is_`` before it, has such a value, a key of `ERROR_KEYS` any,
    or one of `DENIAL_KEYS` ``true``; or a list whose every item does. What stands under a key of
    `WRAPPER_KEYS` is looked into alike. Text that is JSON is decoded first, at most twice; keys are
    read without case, ``isVerified`` as ``is_verified``.

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


def decoded_result(result: Any) -> Any:
    """Return a result, where it is the JSON text of an object or a list that value.

    Platforms write an object's text where the tool answered an object; at most twice encoded.

    >>> decoded_result('{"ok": true}'), decoded_result("42")
    ({'ok': True}, '42')
    """
    value = decoded(result)
    return value if isinstance(value, dict | list) else result


def _denies(value: Any, depth: int) -> bool:
    if isinstance(value, dict):
        return any(_member_denies(_snake(key), held, depth) for key, held in value.items())
    if isinstance(value, list):
        return bool(value) and depth > 0 and all(_denies(item, depth - 1) for item in value)
    return _says_no(value)


def _snake(key: str) -> str:
    return _WORD_START.sub("_", key).casefold()


def _says_no(value: Any) -> bool:
    if isinstance(value, str):
        words = value.casefold().strip().rstrip(".!").replace("_", " ").replace("-", " ").split()
        return " ".join(words) in NEGATIVE_TEXTS
    return value is False


def _member_denies(key: str, value: Any, depth: int) -> bool:
    key = key.removeprefix("is_")
    if key in ERROR_KEYS:
        is_none = value.strip().casefold() in NO_ERROR if isinstance(value, str) else not value
        return not is_none
    if key in WRAPPER_KEYS and depth > 0 and _denies(decoded(value), depth - 1):
        return True
    return (key in OUTCOME_KEYS and _says_no(value)) or (key in DENIAL_KEYS and value is True)
