"""What an export's times are: integer milliseconds, of a unit that is known and never guessed.

A platform's importer names the unit of each field; a mapping names it in words. A number's size
says nothing: 900 may be milliseconds or seconds. A date and time without a zone is no instant.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NoReturn

from inquesto_core.bundle import Inferred
from inquesto_core.errors import SchemaError
from inquesto_core.importers.fields import Node, problem_at

__all__ = [
    "MAX_TIME_MS",
    "UNIT_WORDS",
    "Unit",
    "instant_ms",
    "instant_text",
    "milliseconds",
    "second_text",
    "since",
    "start_note",
]

Unit = Literal["s", "ms", "us", "ns", "iso", "mail"]

#: The largest time in a bundle.
MAX_TIME_MS = 2**31 - 1

_FACTOR = {"s": Decimal(1000), "ms": Decimal(1), "us": Decimal("0.001"), "ns": Decimal("0.000001")}
#: Units of numbers, for people.
UNIT_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,12})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: 9999-12-31T23:59:59.999Z
_LAST_INSTANT_MS = 253_402_300_799_999
#: 2000-01-01: no platform recorded a call before it.
_FIRST_CALL_MS = 946_684_800_000


def milliseconds(node: Node, unit: Unit) -> int:
    """Return a time or an instant in whole milliseconds, ties to even.

    Parameters
    ----------
    node : Node
        A number, or a number as text; for ``iso`` an ISO 8601 date and time with its zone, for
        ``mail`` one as mail headers write it.
    unit : {"s", "ms", "us", "ns", "iso", "mail"}
        An instant's milliseconds are counted from 1970.

    Raises
    ------
    SchemaError
        Code ``export_time``.

    Examples
    --------
    >>> milliseconds(Node(1772403727.947, "x"), "s")
    1772403727947
    >>> milliseconds(Node("1772403727947", "x"), "ms")
    1772403727947
    """
    if unit in {"iso", "mail"}:
        return _instant_ms(node, unit)
    value = node.value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and _NUMBER.fullmatch(value)):
        _refuse(node, f"a number of {UNIT_WORDS[unit]}")
    found = Decimal(repr(value) if is_number else value) * _FACTOR[unit]
    if abs(found) > _LAST_INSTANT_MS:
        _refuse(node, f"a time in {UNIT_WORDS[unit]}")
    return int(found.to_integral_value())


def instant_ms(node: Node, unit: Unit) -> int:
    """Return the instant of a call, ms from 1970; one before 2000 is of another unit, and refused.

    Raises
    ------
    SchemaError
        Code ``export_time``.
    """
    at_ms = milliseconds(node, unit)
    if at_ms >= _FIRST_CALL_MS:
        return at_ms
    counted = "" if unit in {"iso", "mail"} else f", which in {UNIT_WORDS[unit]} is {_dated(at_ms)}"
    raise SchemaError(
        problem_at(
            node,
            code="export_time",
            found=f"is {node.shown()}{counted}, before there were such calls",
            expected="an instant from 2000 on"
            + ("" if unit in {"iso", "mail"} else f", in {UNIT_WORDS[unit]} from 1970"),
            remedy="check the field's unit: it is never guessed from the number",
        )
    )


def _dated(at_ms: int) -> str:
    return instant_text(at_ms) if at_ms >= 0 else "before 1970"


def since(node: Node, unit: Unit, start_ms: int) -> int:
    """Return how long after the instant `start_ms` a field's instant is, ms; may be negative."""
    found_ms = milliseconds(node, unit) - start_ms
    if abs(found_ms) > MAX_TIME_MS:
        raise SchemaError(
            problem_at(
                node,
                code="export_time",
                found=f"is {node.shown()}, {found_ms} ms from the start of the recording",
                expected=f"an instant within {MAX_TIME_MS} ms of it",
                remedy="check that both are of the same call",
            )
        )
    return found_ms


def instant_text(at_ms: int) -> str:
    """Return an instant as `call.json` states it.

    >>> instant_text(1772403727947)
    '2026-03-01T22:22:07.947Z'
    """
    moment = _EPOCH + timedelta(milliseconds=at_ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{at_ms % 1000:03d}Z"


def start_note(said_ms: int | None) -> tuple[Inferred, ...]:
    """Return that the recording's start was said by the user, if it was."""
    if said_ms is None:
        return ()
    how = "when the recording began was said on the command line"
    return (Inferred(field="/started_at", value=instant_text(said_ms), how=how),)


def second_text(at_ms: int) -> str:
    """Return an instant that is known to the second.

    >>> second_text(1772403727000)
    '2026-03-01T22:22:07Z'
    """
    return instant_text(at_ms).partition(".")[0] + "Z"


def _instant_ms(node: Node, unit: Unit) -> int:
    text: Any = node.value
    if not isinstance(text, str) or not text.isascii():
        _refuse(node, "a date and time with its zone")
    try:
        moment = datetime.fromisoformat(text) if unit == "iso" else parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        _refuse(node, "a date and time with its zone, such as 2026-01-31T09:30:00Z")
    if moment.tzinfo is None:
        _refuse(node, "a date and time with its zone, such as 2026-01-31T09:30:00Z")
    try:
        found_ms = (moment - _EPOCH) // timedelta(milliseconds=1)
    except OverflowError:
        _refuse(node, "a date and time of this calendar")
    if not 0 <= found_ms <= _LAST_INSTANT_MS:
        _refuse(node, "a date and time from 1970 on")
    return found_ms


def _refuse(node: Node, expected: str) -> NoReturn:
    raise SchemaError(
        problem_at(node, code="export_time", found=f"is {node.shown()}", expected=expected)
    )
