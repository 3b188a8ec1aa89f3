"""Where a protocol's content lies: in its own folder, and in the one that it extends.

A ``protocol.json`` with the key ``extends`` holds only what it says otherwise: objects are merged
key by key, any other value takes the place of the extended one, and a file that the folder lacks is
the extended folder's. What counts everywhere (schema, digest, differences) is the whole that comes
of it, so that a change of the extended folder is a change here too. One protocol extends one
shipped protocol that extends none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inquesto_core.canonical import strict_json
from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.places import read_file_bytes
from inquesto_core.shipped import protocols_folder

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "PROTOCOL_FILE",
    "file_names",
    "merged",
    "protocol_document",
    "protocol_folders",
    "read_file",
    "read_json",
]

PROTOCOL_FILE = "protocol.json"

#: Explains the folder to people; never read by the engine, so outside the digest.
README = "README.md"

_EXTENDS = "extends"
#: Longer names are cut in the message.
_SHOWN_CHARACTERS = 60


def read_file(path: Path) -> bytes:
    """Return the bytes of a file of a protocol.

    Raises
    ------
    ProtocolError
        Code ``protocol_unreadable``.
    """
    try:
        return read_file_bytes(path)
    except OSError as exc:
        raise ProtocolError(
            Problem(
                code="protocol_unreadable",
                file=path.name,
                found=f"cannot be read ({exc.strerror})",
                expected="a readable file",
            )
        ) from exc


def protocol_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folder itself, then the one that it extends, if any.

    Raises
    ------
    ProtocolError
        ``protocol_extends``: what it extends is not shipped, or extends another.
    """
    own = _own_document(folder)
    if not isinstance(own, dict) or _EXTENDS not in own:
        return (folder,)
    name = own[_EXTENDS]
    shipped = {path.parent.name: path.parent for path in protocols_folder().glob("*/protocol.json")}
    below = shipped.get(name) if isinstance(name, str) else None
    if below is None or below == folder or _EXTENDS in _own_document(below):
        raise ProtocolError(
            Problem(
                code="protocol_extends",
                file=PROTOCOL_FILE,
                pointer=f"/{_EXTENDS}",
                found=f"is {str(name)[:_SHOWN_CHARACTERS]!r}",
                expected="the name of another shipped protocol that extends none",
            )
        )
    return folder, below


def _own_document(folder: Path) -> Any:
    path = folder / PROTOCOL_FILE
    return strict_json(read_file(path), file=PROTOCOL_FILE) if path.is_file() else None


def protocol_document(folder: Path) -> Any:
    """Return ``protocol.json`` whole: what it says, over what it extends.

    Raises
    ------
    SchemaError
        It is not strict JSON.
    ProtocolError
        ``protocol_extends``, ``protocol_unreadable``.
    """
    own, *below = (
        strict_json(read_file(at / PROTOCOL_FILE), file=PROTOCOL_FILE)
        for at in protocol_folders(folder)
    )
    if not below:
        return own
    return merged(below[0], {key: value for key, value in own.items() if key != _EXTENDS})


def merged(below: Any, over: Any) -> Any:
    """Return `below` with what `over` says otherwise.

    >>> merged({"a": {"b": 1, "c": [2, 3]}}, {"a": {"c": [4]}, "d": None})
    {'a': {'b': 1, 'c': [4]}, 'd': None}
    """
    if not isinstance(below, dict) or not isinstance(over, dict):
        return over
    return below | {key: merged(below.get(key), value) for key, value in over.items()}


def file_names(folder: Path) -> dict[str, Path]:
    """Return the files of one folder but its README and hidden ones: relative POSIX path to place.

    Raises
    ------
    ProtocolError
        Code ``protocol_link``: a link, whose target the digest would not hold.
    """
    found = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or name.as_posix() == README:
            continue
        if path.is_symlink():
            raise ProtocolError(
                Problem(
                    code="protocol_link",
                    file=name.as_posix(),
                    found="is a symbolic link",
                    expected="a file or folder",
                )
            )
        if path.is_file():
            found[name.as_posix()] = path
    return found


def read_json(folder: Path, name: str, path: Path) -> Any:
    """Return what a ``.json`` file of the protocol says; ``protocol.json`` says it whole."""
    if name == PROTOCOL_FILE:
        return protocol_document(folder)
    return strict_json(read_file(path), file=name)
