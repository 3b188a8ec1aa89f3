"""What a mapping says: values and times of an export by column or JSON pointer.

A mapping is data of the user's: it names every unit, every role and every channel, and what it does
not name is not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inquesto_core.canonical import canonical_bytes
from inquesto_core.errors import SchemaError
from inquesto_core.importers.clock import UNIT_WORDS, Unit, instant_ms, since
from inquesto_core.importers.fields import Node, problem_at

__all__ = [
    "called_columns",
    "called_keys",
    "chosen",
    "columns_of",
    "instant",
    "integer",
    "located",
    "moment",
    "text",
    "unit_words",
]

#: Of a part of a mapping, what is no value of a row.
_NO_VALUES = frozenset({"where", "rows", "join", "side", "words"})
_INTEGER = re.compile(r"[0-9]{1,9}")


def called_columns(mapping: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that a mapping reads from the table of calls itself, sorted."""
    own = ("call", "config", "tags", "facts", "state")
    found = {column for name in own for column in columns_of(mapping.get(name, {}))}
    found |= {column for entry in mapping.get("audio", ()) for column in columns_of(entry)}
    for name in ("recording_started", "hang_up", "transfer", "group_by"):
        found |= set(_columns_in(mapping.get(name)))
    for name in ("turns", "tools"):
        part = mapping.get(name, {})
        if "file" not in part and part.get("rows", "/rows") == "/rows":
            found |= set(columns_of(part))
    return tuple(sorted(found))


def called_keys(mapping: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a call's own object that a mapping reads or goes through, sorted."""
    own = ("call", "config", "tags", "facts", "state")
    values = [value for name in own for value in mapping.get(name, {}).values()]
    values += [mapping.get(name) for name in ("recording_started", "hang_up", "transfer")]
    places = [value.get("from") if isinstance(value, Mapping) else value for value in values]
    found = {place.lstrip("/").split("/")[0] for place in places if isinstance(place, str)}
    return tuple(sorted(found - {""}))


def columns_of(part: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that a part of a mapping names."""
    found = [*part.get("where", {})] if isinstance(part.get("where"), Mapping) else []
    for name, value in part.items():
        if name not in _NO_VALUES:
            found += _columns_in(value)
    return tuple(found)


def _columns_in(value: Any) -> tuple[str, ...]:
    """Return the one column of a value; a pointer leads elsewhere."""
    place = value.get("from") if isinstance(value, Mapping) else value
    if not isinstance(place, str) or not place or "/" in place[1:]:
        return ()
    return (place.removeprefix("/"),)


def located(row: Node, place: str) -> Node | None:
    """Return what stands at a column, or at a JSON pointer through objects and lists."""
    if not place.startswith("/"):
        return row.get(place) if place else row
    node: Node | None = row
    for part in place[1:].split("/"):
        if node is None:
            return None
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node.value, list):
            rows = node.rows()
            is_there = _INTEGER.fullmatch(key) and int(key) < len(rows)
            node = rows[int(key)] if is_there else None
        else:
            node = node.get(key)
    return None if node is None or node.value is None else node


def chosen(row: Node, value: Any) -> Node | None:
    """Return a value of the mapping as it stands in a row; with ``map`` what it is mapped to.

    Raises
    ------
    SchemaError
        The value is not among those that are mapped.
    """
    if isinstance(value, str):
        return located(row, value)
    if "value" in value:
        return Node(value["value"], row.file, row.pointer)
    found = located(row, value["from"])
    if found is None or "map" not in value:
        return found
    key = found.value if isinstance(found.value, str) else canonical_bytes(found.value).decode()
    if key not in value["map"]:
        known = ", ".join(sorted(value["map"])[:20])
        found.refuse(f"is {found.shown()}", f"a value that the mapping maps: {known}", "map it")
    return Node(value["map"][key], found.file, found.pointer)


def text(row: Node, values: Mapping[str, Any], name: str) -> str | None:
    """Return a short text that the mapping names, None for none; a number is its digits."""
    node = chosen(row, values[name]) if name in values else None
    if node is None or node.value is None:
        return None
    if isinstance(node.value, int) and not isinstance(node.value, bool):
        return str(node.value)
    return node.label()


def integer(row: Node, values: Mapping[str, Any], name: str) -> int | None:
    """Return an integer from 0 that the mapping names, None where there is none."""
    node = chosen(row, values[name]) if name in values else None
    if node is None or node.value is None:
        return None
    value = node.value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 10**9:
        node.refuse(f"is {node.shown()}", "an integer from 0")
    return value


def instant(row: Node, values: Mapping[str, Any], name: str) -> int | None:
    """Return an instant, ms from 1970, None where there is none."""
    node = located(row, values[name]["from"]) if name in values else None
    return None if node is None else instant_ms(node, _unit(values[name]["unit"]))


def moment(
    row: Node, values: Mapping[str, Any], name: str, *, recording_ms: int | None
) -> int | None:
    """Return a time from the start of the recording, ms; an instant needs to know that start.

    Raises
    ------
    SchemaError
        Code ``export_time``: an instant, and nobody says when the recording began.
    """
    node = located(row, values[name]["from"]) if name in values else None
    if node is None:
        return None
    unit: str = values[name]["unit"]
    if unit != "iso" and not unit.startswith("epoch_"):
        return since(node, _unit(unit), 0)
    if recording_ms is None:
        raise SchemaError(
            problem_at(
                node,
                code="export_time",
                found=f"is the instant {node.shown()}, and nothing says when the recording began",
                expected="recording_started in the mapping",
                remedy="map it, or say --recording-started; without it leave these times unmapped",
            )
        )
    return since(node, _unit(unit), recording_ms)


def unit_words(name: str) -> str:
    """Return a mapping's unit in words.

    >>> unit_words("epoch_ms"), unit_words("iso")
    ('milliseconds', 'an instant with its zone')
    """
    return UNIT_WORDS.get(name.removeprefix("epoch_"), "an instant with its zone")


def _unit(name: str) -> Unit:
    unit: Any = name.removeprefix("epoch_")
    return unit  # type: ignore[no-any-return]
