"""Bundles in a bucket: which lie below a prefix, and bringing one here when its turn comes.

Only what a bundle's reader reads is fetched: `call.json`, its parts, and the audio that it names.
An object's name is refused where it would be no path inside its bundle.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquesto_core import schema
from inquesto_core.bundle.archives import LIMITS, is_archive
from inquesto_core.bundle.files import MAX_JSON_BYTES, leaves_bundle
from inquesto_core.errors import BundleError, Problem, SchemaError, StoreError
from inquesto_core.places import shown
from inquesto_core.places.remote import is_object_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from inquesto_core.bundle.find import BundleRef
    from inquesto_core.places import RemotePlace

__all__ = ["Listing", "at_hand", "leads_elsewhere", "listing_of"]

_CALL = "call.json"
_PARTS = ("trace.json", "transcript.json", "state.json", "verdicts.json")
#: What a name means that a bundle on this machine could not have beside its others.
_NO_SUCH_FILE = frozenset({errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What the objects' names below a prefix say.

    Parameters
    ----------
    bundles : tuple of str
        Paths of folders with a call.json, from the prefix; empty for the prefix itself.
    has_population : bool
    problems : tuple of Problem
        Their `file` counts from the prefix.
    """

    bundles: tuple[str, ...]
    has_population: bool
    problems: tuple[Problem, ...]


def listing_of(names: Iterable[str], *, max_depth: int) -> Listing:
    """Return which bundles objects of these names are; the rules are those of local folders."""
    problems: list[Problem] = []
    held: dict[str, set[str]] = {}
    for name in sorted(names):
        if is_object_name(name):
            folder, _, file = name.rpartition("/")
            held.setdefault(folder, set()).add(file)
        else:
            problems.append(
                Problem(
                    code="remote_name",
                    found=f"{name!r:.80} would be no path on this machine",
                    expected="a name with no empty part, . or .., backslash or control character",
                    remedy="the object was passed over",
                )
            )
    bundles = {folder for folder, files in held.items() if _CALL in files}
    found, deep = [], set()
    for folder, files in sorted(held.items()):
        if any(above in bundles for above in _above(folder)):
            continue
        parts = folder.split("/") if folder else []
        if len(parts) > max_depth:
            deep.add("/".join(parts[: max_depth + 1]))
        elif folder in bundles:
            found.append(folder)
        else:
            problems += _leftovers(folder, files)
    problems += [
        Problem(
            code="too_deep",
            found=f"lies over {max_depth} folders deep",
            expected="less depth",
            file=folder,
        )
        for folder in sorted(deep)
    ]
    return Listing(
        bundles=tuple(found),
        has_population="population.json" in held.get("", ()),
        problems=tuple(problems),
    )


def _above(folder: str) -> Iterator[str]:
    """Yield the folders that hold one, the topmost first."""
    if folder:
        yield ""
        yield from (folder[:at] for at, sign in enumerate(folder) if sign == "/")


def _leftovers(folder: str, files: set[str]) -> Iterator[Problem]:
    parts = sorted(files & set(_PARTS))
    if parts:
        yield Problem(
            code="call_json_missing",
            found=f"has {', '.join(parts)} and no call.json",
            expected="a call.json beside them",
            file=folder or ".",
        )
    for name in sorted(files):
        if is_archive(name):
            yield Problem(
                code="nested_archive",
                found="is an archive inside a source and was not opened",
                remedy="give it as a source of its own",
                file=f"{folder}/{name}".lstrip("/"),
                level="warning",
            )


def leads_elsewhere(row: str, *, below: RemotePlace | None) -> Problem:
    """Return what is wrong with a manifest's row that names a place it may not.

    Parameters
    ----------
    below : RemotePlace or None
        The manifest's folder; None is one on this machine, which names nothing remote.
    """
    if below is None:
        found, expected = "is not on this machine", "a local path: no manifest leads elsewhere"
    else:
        found, expected = "lies elsewhere than the manifest", f"what lies below {below}/"
    return Problem(
        code="source_remote",
        found=f"{shown(row)} {found}",
        expected=expected,
        remedy="give it as a source of its own",
    )


@contextlib.contextmanager
def at_hand(ref: BundleRef) -> Iterator[BundleRef]:
    """Give the bundle as a folder of this machine, which a remote one is until the block ends.

    Raises
    ------
    BundleError
        ``remote_…``: it could not be fetched.
    StoreError
        ``scratch_unwritable``.
    """
    if ref.remote is None:
        yield ref
        return
    shutil.rmtree(ref.path, ignore_errors=True)  # of a worker that was killed
    try:
        _fetch(ref.remote, ref.path)
        yield ref
    finally:
        shutil.rmtree(ref.path, ignore_errors=True)


def _fetch(place: RemotePlace, folder: Path) -> None:
    left = LIMITS.total_bytes
    try:
        folder.mkdir(mode=0o700, parents=True)
        for name in (_CALL, *_PARTS):
            # One byte over the limit is enough for the reader to refuse it.
            _fetch_part(place, folder, name)
        for name in _audio_named(folder / _CALL):
            left -= _fetch_audio(place, folder, name, left)
    except StoreError as exc:
        if exc.problem.code.startswith("remote_"):
            raise BundleError(exc.problem) from exc
        raise
    except OSError as exc:
        raise StoreError(
            Problem(
                code="scratch_unwritable",
                found=f"cannot write a bundle that was fetched: {exc.strerror}",
                expected="room on this disk",
                remedy="free some space, or set TMPDIR to a folder with room",
            )
        ) from exc


def _fetch_part(place: RemotePlace, folder: Path, name: str) -> None:
    try:
        data = place.child(name).read(MAX_JSON_BYTES + 1)
    except FileNotFoundError:
        return
    (folder / name).write_bytes(data)


def _fetch_audio(place: RemotePlace, folder: Path, name: str, limit: int) -> int:
    """Return how many bytes were fetched: none where the reader will miss the file."""
    try:
        return place.child(*name.split("/")).fetch_to(folder / name, limit=limit)
    except FileNotFoundError:
        return 0
    except StoreError as exc:
        if isinstance(exc.__cause__, OSError) and exc.__cause__.errno in _NO_SUCH_FILE:
            return 0
        raise


def _audio_named(call: Path) -> list[str]:
    """Return the names of audio inside the bundle that a call.json names, each once.

    What is wrong with the file is said by whoever reads it.
    """
    try:
        value = schema.load(call.read_bytes(), "call")
    except (FileNotFoundError, SchemaError):
        return []
    known = {_CALL, *_PARTS}
    return [
        name
        for name in dict.fromkeys(entry["file"] for entry in value["audio"])
        if name not in known and not leaves_bundle(name) and is_object_name(name)
    ]
