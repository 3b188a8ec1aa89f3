"""Who speaks in a row, or that it is no speech: a role that nobody has described is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from inquesto_core.errors import SchemaError
from inquesto_core.importers.fields import Node, problem_at

if TYPE_CHECKING:
    from inquesto_core.importers.draft import ImportOptions

__all__ = ["role_of"]

Meaning = TypeVar("Meaning")

_SHOWN = 40


def role_of(
    row: Node, key: str, known: Mapping[str, Meaning], options: ImportOptions
) -> Meaning | None:
    """Return what a row's role means; None where the user said to skip it.

    Raises
    ------
    SchemaError
        Code ``role_unstated``: the role is not among `known`, and taking it for silence could hide
        speech or an action.
    """
    role = row.needed_text(key)
    if role in options.skip_roles:
        return None
    if role not in known:
        raise SchemaError(
            problem_at(
                row,
                code="role_unstated",
                found=f"has the {key} {row.need(key).shown()}",
                expected="one of " + ", ".join(sorted(known)),
                remedy="if such rows are neither speech nor tool calls, say "
                f"--skip-role {role[:_SHOWN]}",
            )
        )
    return known[role]
