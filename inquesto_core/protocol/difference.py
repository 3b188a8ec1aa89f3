"""What differs between two protocol folders, value by value.

A folder is flattened to one text a leaf: JSON files to their scalars, any other file to its digest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inquesto_core.canonical import canonical_bytes, digest_bytes
from inquesto_core.protocol.layers import PROTOCOL_FILE, read_file, read_json
from inquesto_core.protocol.release import protocol_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from inquesto_core.protocol.definition import Protocol
    from inquesto_core.protocol.outcome import OutcomeProtocol

__all__ = ["Change", "changes", "diff_protocols", "leaf_values"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One leaf that differs.

    Parameters
    ----------
    pointer : str
        ``protocol.json#/events/slow_turn/latency_ms``: the file, then the JSON pointer in it; the
        file alone where it is not JSON.
    before, after : str or None
        Canonical JSON text of the value, or ``sha256:<hex>`` of a text file; None where there is
        no such leaf.
    """

    pointer: str
    before: str | None
    after: str | None


def leaf_values(folder: Path, *, without: Collection[str] = ()) -> dict[str, str]:
    """Return pointer to value text for every leaf of every file that the digest covers.

    Parameters
    ----------
    without : collection of str
        Files that are left out.

    Raises
    ------
    SchemaError
        A ``.json`` file is not strict JSON.
    """
    values: dict[str, str] = {}
    for name, path in protocol_files(folder).items():
        if name in without:
            continue
        if name.endswith(".json"):
            values.update(_leaves(read_json(folder, name, path), f"{name}#"))
        else:
            values[name] = f"sha256:{digest_bytes(read_file(path))}"
    return values


def _leaves(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{pointer}/{index}")
    else:  # an empty container is a leaf too: filling it is a change
        yield pointer, canonical_bytes(value).decode("utf-8")


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """Return the leaves that differ, sorted by pointer."""
    return tuple(
        Change(pointer=pointer, before=before.get(pointer), after=after.get(pointer))
        for pointer in sorted(before.keys() | after.keys())
        if before.get(pointer) != after.get(pointer)
    )


def diff_protocols(
    a: Protocol | OutcomeProtocol, b: Protocol | OutcomeProtocol
) -> tuple[Change, ...]:
    """Return what `b` says differently from `a`: definition, populations and rubric texts.

    Empty exactly where the digests are equal.
    """
    # A protocol that extends another shares files with it; the definition is put together of both.
    ours, theirs = protocol_files(a.folder), protocol_files(b.folder)
    shared = {name for name, path in ours.items() if theirs.get(name) == path} - {PROTOCOL_FILE}
    return changes(leaf_values(a.folder, without=shared), leaf_values(b.folder, without=shared))
