"""Whether a protocol folder is the one that was released under its name.

The digest covers every file of the folder, and of the one that it extends (`layers`), but their
README and hidden files. ``protocols/RELEASED`` holds the digests; a released folder never changes,
and a draft is not in the list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from inquesto_core.canonical import digest_bytes, digest_json
from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.protocol.layers import file_names, protocol_folders, read_file, read_json
from inquesto_core.shipped import protocols_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inquesto_core.protocol.definition import Protocol
    from inquesto_core.protocol.outcome import OutcomeProtocol

__all__ = [
    "check_release",
    "file_digests",
    "protocol_digest",
    "protocol_files",
    "released",
]

_LINE = re.compile(r"(?P<name>[a-z0-9][a-z0-9.-]*) (?P<digest>[0-9a-f]{64})")


def protocol_files(folder: Path) -> dict[str, Path]:
    """Return the files that the digest covers, sorted: relative POSIX path to where it lies.

    Raises
    ------
    ProtocolError
        Code ``protocol_link``: a link, whose target the digest would not hold.
    """
    found: dict[str, Path] = {}
    for at in reversed(protocol_folders(folder)):
        found |= file_names(at)
    return dict(sorted(found.items()))


def file_digests(folder: Path, *, under: str = "") -> dict[str, str]:
    """Return path to SHA-256: of the canonical bytes for JSON, of the raw bytes for anything else.

    Parameters
    ----------
    under : str
        Only files whose path begins so; the paths are given without it.

    Raises
    ------
    SchemaError
        A ``.json`` file is not strict JSON.
    """
    digests = {}
    for name, path in protocol_files(folder).items():
        if name.startswith(under):
            is_json = name.endswith(".json")
            digests[name.removeprefix(under)] = (
                digest_json(read_json(folder, name, path))
                if is_json
                else digest_bytes(read_file(path))
            )
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


def check_release(
    protocol: Protocol | OutcomeProtocol, *, digests: Mapping[str, str] | None = None
) -> None:
    """Raise where a protocol's status and content do not agree with the list of releases.

    Parameters
    ----------
    protocol : Protocol or OutcomeProtocol
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


def _refusal(
    code: str, protocol: Protocol | OutcomeProtocol, found: str, expected: str
) -> ProtocolError:
    remedy = "a change of meaning is a new protocol folder (docs/protocol.md)"
    return ProtocolError(
        Problem(code=code, found=f"{protocol.name} {found}", expected=expected, remedy=remedy)
    )
