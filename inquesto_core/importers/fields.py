"""How a field of an export is read: its kind is checked, and what is wrong is said by its pointer.

An export is written by others. What a field is not, nobody takes it for: a text is no number, a
null is absent, and a field that must be there and is not is one `SchemaError` with the file, the
JSON pointer, what was found and what was expected.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from inquesto_core.errors import Problem, SchemaError

__all__ = ["LABEL_CHARACTERS", "Node", "problem_at"]

#: Longer names are refused by the bundle's schema.
LABEL_CHARACTERS = 200

_SHOWN_CHARACTERS = 60
_MAX_COUNT = 1_000_000
_KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number"}


@dataclass(frozen=True, slots=True)
class Node:
    """A value in an export, and where it stands.

    Parameters
    ----------
    value : JSON value
    file : str
        The export, as errors name it.
    pointer : str
        JSON pointer inside it; of a line in a file of lines ``line 12 /a/b``.
    """

    value: Any
    file: str
    pointer: str = ""

    def refuse(self, found: str, expected: str, remedy: str = "") -> NoReturn:
        """Raise what is wrong with this field."""
        raise SchemaError(
            problem_at(self, code="export_field", found=found, expected=expected, remedy=remedy)
        )

    def get(self, *path: str) -> Node | None:
        """Return what stands under keys inside each other; None where one is absent or null."""
        node = self
        for key in path:
            members = node.members()
            if members.get(key) is None:
                return None
            node = Node(members[key], node.file, f"{node.pointer}/{_escaped(key)}")
        return node

    def need(self, *path: str) -> Node:
        """Return what stands under keys inside each other; one that is absent is refused."""
        node = self
        for key in path:
            inner = node.get(key)
            if inner is None:
                node.refuse(f"has no {_shown(key)}", f"the key {_shown(key)}")
            node = inner
        return node

    def members(self) -> dict[str, Any]:
        """Return the members of an object."""
        if not isinstance(self.value, dict):
            self.refuse(f"is {_shown(self.value)}", "an object")
        return self.value

    def rows(self, *path: str) -> tuple[Node, ...]:
        """Return the items of the list at a path; none where it is absent."""
        node = self.get(*path) if path else self
        if node is None:
            return ()
        if not isinstance(node.value, list):
            node.refuse(f"is {_shown(node.value)}", "a list")
        return tuple(
            Node(item, node.file, f"{node.pointer}/{at}") for at, item in enumerate(node.value)
        )

    def text(self, *path: str) -> str | None:
        """Return the text at a path, None where it is absent."""
        value = self._of_kind(str, path)
        return None if value is None else str(value)

    def needed_text(self, *path: str) -> str:
        """Return the text at a path; an absent or empty one is refused."""
        node = self.need(*path)
        text = node.text()
        if not text:
            node.refuse('is ""', "text")
        return text

    def label(self, *path: str) -> str | None:
        """Return a short text at a path that can name something; empty = None."""
        node = self.get(*path)
        if node is None:
            return None
        text = node.text() or ""
        if len(text) > LABEL_CHARACTERS or not text.replace(" ", "x").isprintable():
            node.refuse(
                f"is {_shown(text)}",
                f"text of 1 to {LABEL_CHARACTERS} characters without control characters",
            )
        return text.strip() or None

    def flag(self, *path: str) -> bool | None:
        """Return true or false at a path, None where it is absent."""
        value = self._of_kind(bool, path)
        return None if value is None else bool(value)

    def count(self, *path: str) -> int | None:
        """Return a whole number from 0 to 1000000 at a path, None where it is absent."""
        node = self.get(*path)
        if node is None:
            return None
        value = node.value
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_COUNT:
            node.refuse(f"is {_shown(value)}", f"an integer from 0 to {_MAX_COUNT}")
        return value

    def _of_kind(self, kind: type, path: tuple[str, ...]) -> Any:
        node = self.get(*path)
        if node is None or node.value is None:
            return None
        if not isinstance(node.value, kind):
            node.refuse(f"is {_shown(node.value)}", _KINDS[kind])
        return node.value

    def shown(self) -> str:
        """Return the value as an error shows it."""
        return _shown(self.value)


def problem_at(node: Node, *, code: str, **said: Any) -> Problem:
    """Return a problem that stands at a field; `said` are further parts of it."""
    return Problem(code=code, file=node.file, pointer=node.pointer.strip() or None, **said)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"{_KINDS[type(value)]} of {len(value)}"
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
