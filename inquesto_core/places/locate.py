"""Which locations a user may name: local paths, and remote ones of a scheme that was allowed."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.errors import Problem, StoreError
from inquesto_core.places.remote import RemotePlace, is_object_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from inquesto_core.places.place import Location

__all__ = ["SCHEMES", "allowed_schemes", "is_uri", "locate", "shown"]

#: What pyarrow opens from a bare address, its settings coming from the environment.
SCHEMES = ("s3", "gs", "abfs", "abfss", "hdfs")

# One slash is enough: a path object has folded two into one.
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):/{1,2}(?P<rest>.*)", re.DOTALL)
#: A container stands before the @ of these; a password nowhere.
_NAMES_CONTAINER = frozenset({"abfs", "abfss"})
_AUTHORITY = re.compile(r"[A-Za-z0-9._-]+(?::\d+)?")
_SHOWN = 120


def is_uri(text: str) -> bool:
    """Return whether a text begins with a scheme, as ``s3://bucket`` does."""
    return _URI.match(text) is not None


def shown(text: str) -> str:
    """Return a URI as a message may show it: without anything that may be a secret.

    >>> shown("s3://bucket/a?sig=1"), shown("s3://key:a/b/c@bucket/a")
    ("'s3://bucket/a'", "'s3://...'")
    """
    found = _URI.match(text)
    clean = text.partition("?")[0]
    if found is not None:
        scheme, authority = found["scheme"], found["rest"].partition("/")[0].partition("?")[0]
        if authority and not _has_plain_authority(scheme.lower(), authority):
            clean = f"{scheme}://..."
    return ascii(clean if len(clean) <= _SHOWN else clean[: _SHOWN - 3] + "...")


def _has_plain_authority(scheme: str, authority: str) -> bool:
    """Return whether that is a bucket or host, or a container of one."""
    container, at, host = authority.rpartition("@")
    names_container = scheme in _NAMES_CONTAINER and ":" not in container
    return (not at or names_container) and _AUTHORITY.fullmatch(host) is not None


def allowed_schemes(given: Iterable[str]) -> frozenset[str]:
    """Return the schemes of ``--allow-remote``, each a name or several with commas.

    Raises
    ------
    StoreError
        ``scheme_unknown``.

    >>> sorted(allowed_schemes(["s3,gs"]))
    ['gs', 's3']
    """
    names = frozenset(
        name.strip().lower() for text in given for name in text.split(",") if name.strip()
    )
    for name in sorted(names - set(SCHEMES)):
        raise StoreError(
            Problem(
                code="scheme_unknown",
                found=f"--allow-remote names {name!r:.40}",
                expected="of " + ", ".join(SCHEMES),
            )
        )
    return names


def locate(text: str | Path, *, allowed: Collection[str] = ()) -> Location:
    """Return the location that a user named: a path, or a remote place of an allowed scheme.

    What follows the bucket is the objects' prefix, letter by letter: nothing is decoded.

    Parameters
    ----------
    allowed : collection of str
        Schemes, as `allowed_schemes` gives them.

    Raises
    ------
    StoreError
        ``remote_not_allowed``, ``scheme_unknown``, ``remote_credentials`` (the location holds what
        may be a secret; it is not repeated), ``remote_name`` (it names no bucket and prefix).
    """
    found = _URI.match(str(text))
    if found is None or os.path.exists(text):  # noqa: PTH110 - false for what is no path at all
        return Path(text)
    scheme, rest = found["scheme"].lower(), found["rest"]
    _check_scheme(scheme, str(text), allowed)
    authority, _, key = rest.partition("/")
    is_plain = _has_plain_authority(scheme, authority)
    if ("@" in authority and not is_plain) or re.search(r"\?[^/]*=", rest):
        raise StoreError(
            Problem(
                code="remote_credentials",
                found=f"{shown(str(text))} was given with a user, a password or settings",
                expected="bucket and prefix alone",
                remedy="put them into the environment (docs/remote.md)",
            )
        )
    key = key.strip("/")
    if not is_plain or (key and not is_object_name(key)):
        raise StoreError(
            Problem(
                code="remote_name",
                found=f"{shown(str(text))} names no bucket and prefix",
                expected=f"{scheme}://bucket/prefix, with no empty part, . or ..",
            )
        )
    return RemotePlace(scheme=scheme, authority=authority, key=key)


def _check_scheme(scheme: str, text: str, allowed: Collection[str]) -> None:
    if scheme not in SCHEMES:
        raise StoreError(
            Problem(
                code="scheme_unknown",
                found=f"{shown(text)} has the scheme {scheme}",
                expected="a local path, or one of " + ", ".join(SCHEMES),
                remedy="download it first",
            )
        )
    if scheme not in allowed:
        raise StoreError(
            Problem(
                code="remote_not_allowed",
                found=f"{shown(text)} is not on this machine",
                expected="a local path, as no scheme is reached unless it is allowed",
                remedy=f"add --allow-remote {scheme}",
            )
        )
