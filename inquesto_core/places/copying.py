"""Folders between this machine and a remote place: some files of one, or all with one last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.errors import Problem, StoreError
from inquesto_core.places.remote import is_object_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from inquesto_core.places.remote import RemotePlace

__all__ = ["FETCH_BYTES", "fetch_folder", "publish_folder", "require_room"]

#: More than this is never fetched at once.
FETCH_BYTES = 64 * 1024**3
#: Lies at a place for as long as a folder is being put there.
_UNFINISHED = "unfinished.json"


def fetch_folder(
    place: RemotePlace,
    into: Path,
    *,
    names: Iterable[str] | None = None,
    limit: int = FETCH_BYTES,
) -> tuple[str, ...]:
    """Write objects below a place as files under the folder `into`, and return their names.

    Parameters
    ----------
    names : iterable of str, optional
        Which; those that are not there are passed over. Default: all.
    limit : int
        Bytes of all together.

    Raises
    ------
    StoreError
        ``remote_name``: an object's name would be no path below `into`; ``remote_too_large``;
        ``scratch_unwritable``; the place cannot be read.
    """
    wanted = sorted(place.which_exist(names)) if names is not None else None
    found = [name for name, _ in place.files()] if wanted is None else wanted
    left = limit
    for name in found:
        if not is_object_name(name):
            raise StoreError(
                Problem(
                    code="remote_name",
                    found=f"{place} holds an object named {name!r:.80}",
                    expected="names with no empty part, . or .., backslash or control character",
                )
            )
        parts = name.split("/")
        try:
            left -= place.child(*parts).fetch_to(into.joinpath(*parts), limit=left)
        except FileNotFoundError as exc:
            raise StoreError(
                Problem(
                    code="remote_failed",
                    found=f"{place} was changed while it was fetched",
                    expected="objects that stay",
                    remedy="run it again",
                )
            ) from exc
    return tuple(found)


def require_room(place: RemotePlace, *, last: str) -> frozenset[str]:
    """Return the names of what lies where a folder is to be put: nothing, or one of its kind.

    Raises
    ------
    StoreError
        ``out_not_empty``: other objects lie there.
    """
    there = frozenset(name for name, _ in place.files())
    if there and not there & {last, _UNFINISHED}:
        raise StoreError(
            Problem(
                code="out_not_empty",
                found=f"{place} holds other objects",
                expected="an empty prefix, or a run",
                remedy="name another",
            )
        )
    return there


def publish_folder(folder: Path, place: RemotePlace, *, last: str) -> None:
    """Put a folder's files at a place, `last` after all others, so that it stands for the whole.

    What an earlier folder of the same kind left there is replaced: its `last` goes first, so that
    a reader never takes the one's for the other's. Begun again after a kill, it ends the same.

    Raises
    ------
    StoreError
        As `require_room`; the place cannot be written.
    """
    import pyarrow as pa

    there = require_room(place, last=last)
    marker = place.child(_UNFINISHED)
    marker.write(b"{}\n")
    place.child(last).remove()
    files = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
    for name in sorted(there - set(files) - {last, _UNFINISHED}):
        place.child(name).remove()
    for name in [*sorted(set(files) - {last}), last]:
        with pa.memory_map(str(files[name])) as source:
            place.child(*name.split("/")).write(source.read_buffer())
    marker.remove()
