"""Whether a protocol folder is the one that was released under its name.

The digest covers every file of the folder but its README and hidden files. ``protocols/RELEASED``
holds the digests; a released folder never changes, and a draft is not in the list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inquesto_core.canonical import digest_bytes, digest_json, strict_json
from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.shipped import protocols_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inquesto_core.protocol.definition import Protocol

__all__ = [
    "check_release",
    "file_digests",
    "protocol_digest",
    "protocol_files",
    "read_file",
    "released",
]

#: Explains the folder to people; never read by the engine, so outside the digest.
README = "README.md"

_LINE = re.compile(r"(?P<name>[a-z0-9][a-z0-9.-]*) (?P<digest>[0-9a-f]{64})")


def read_file(path: Path) -> bytes:
    """Return the bytes of a file of a protocol.

    Raises
    ------
    ProtocolError
        Code ``protocol_unreadable``.
    """
    try:
        return path.read_bytes()
    except OSError as exc:
        raise ProtocolError(
            Problem(
                code="protocol_unreadable",
                file=path.name,
                found=f"cannot be read ({exc.strerror})",
                expected="a readable file",
            )
        ) from exc


def protocol_files(folder: Path) -> tuple[str, ...]:
    """Return the files that the digest covers, as sorted relative POSIX paths.

    Raises
    ------
    ProtocolError
        Code ``protocol_link``: a link, whose target the digest would not hold.
    """
    found = []
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
            found.append(name.as_posix())
    return tuple(sorted(found))


def file_digests(folder: Path) -> dict[str, str]:
    """Return path to SHA-256: of the canonical bytes for JSON, of the raw bytes for anything else.

    Raises
    ------
    SchemaError
        A ``.json`` file is not strict JSON.
    """
    digests = {}
    for name in protocol_files(folder):
        data = read_file(folder / name)
        is_json = name.endswith(".json")
        digests[name] = digest_json(strict_json(data, file=name)) if is_json else digest_bytes(data)
    return digests


def protocol_digest(folder: Path) -> str:
    """Return the SHA-256 of the folder: that of the canonical JSON of `file_digests`."""
    return digest_json(file_digests(folder))


def released(root: Path | None = None) -> dict[str, str]:
    """Return name to digest of every released protocol, as ``RELEASED`` lists them.

    Parameters
    ----------
    root : Path, optional
        The folder that holds ``RELEASED``; the shipped one by default.

    Raises
    ------
    ProtocolError
        ``released_invalid``: a line is not ``<name> <sha256>``, or a name stands twice.
        ``protocol_unreadable``: the list itself is missing.
    """
    path = (protocols_folder() if root is None else root) / "RELEASED"
    digests: dict[str, str] = {}
    for number, line in enumerate(read_file(path).decode("utf-8").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        if match is None or match["name"] in digests:
            raise ProtocolError(
                Problem(
                    code="released_invalid",
                    file="RELEASED",
                    pointer=f"line {number}",
                    found=f"is {text[:100]!r}",
                    expected="'<name> <sha256>', every name once",
                )
            )
        digests[match["name"]] = match["digest"]
    return digests


def check_release(protocol: Protocol, *, digests: Mapping[str, str] | None = None) -> None:
    """Raise where a protocol's status and content do not agree with the list of releases.

    Parameters
    ----------
    protocol : Protocol
    digests : mapping, optional
        Name to digest; the shipped ``RELEASED`` by default.

    Raises
    ------
    ProtocolError
        ``release_draft``: a draft under a released name. ``release_missing``: it says released
        and is not listed. ``release_changed``: its content is not what was released.
    """
    listed = (released() if digests is None else digests).get(protocol.name)
    if protocol.status == "draft":
        if listed is not None:
            raise _refusal(
                "release_draft", protocol, "is a draft under a released name", "released"
            )
        return
    if listed is None:
        raise _refusal(
            "release_missing", protocol, "says released and is not in RELEASED", "a line there"
        )
    if listed != protocol.digest:
        raise _refusal(
            "release_changed",
            protocol,
            f"has the digest {protocol.digest}",
            f"{listed}, as released",
        )


def _refusal(code: str, protocol: Protocol, found: str, expected: str) -> ProtocolError:
    remedy = "a change of meaning is a new protocol folder (docs/protocol.md)"
    return ProtocolError(
        Problem(code=code, found=f"{protocol.name} {found}", expected=expected, remedy=remedy)
    )
