"""Run folders in a bucket: fetched before they are read, put there once they are whole.

The engine reads and writes runs on this machine. A run in a bucket lies in a scratch folder
meanwhile; its manifest is put there last, so that a prefix with a manifest is a whole run.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.errors import Problem, StoreError
from inquesto_core.places import RemotePlace, fetch_folder, locate, publish_folder, require_room

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["run_at_hand", "run_to_write"]

#: What is written last, here and there.
_LAST = "manifest.json"


@contextlib.contextmanager
def run_at_hand(run: str | Path, *, allowed: Collection[str]) -> Iterator[Path]:
    """Give a run as a folder of this machine, which a remote one is until the block ends.

    Raises
    ------
    StoreError
        As `inquesto_core.places.locate` and `fetch_folder`. Where there is no run, the folder is
        empty, and whoever reads it says so.
    """
    place = locate(run, allowed=allowed)
    if not isinstance(place, RemotePlace):
        yield place
        return
    with _scratch(place) as folder:
        if place.child(_LAST).exists():
            fetch_folder(place, folder)
        yield folder


@contextlib.contextmanager
def run_to_write(
    out: str | Path, *, allowed: Collection[str], read: str | Path | None = None
) -> Iterator[Path]:
    """Give the folder to write a run to; one for a bucket is put there when the block is done.

    Parameters
    ----------
    read : str or Path, optional
        The run that is read meanwhile, which is not rewritten.

    Raises
    ------
    StoreError
        ``out_is_the_run``, ``out_not_empty``, and as `inquesto_core.places.locate`; all before
        anything is done. ``remote_…`` where the run cannot be put there.
    """
    place = locate(out, allowed=allowed)
    if not isinstance(place, RemotePlace):
        yield place
        return
    if read is not None and place == locate(read, allowed=allowed):
        raise StoreError(
            Problem(
                code="out_is_the_run",
                found="--out names the run itself",
                expected="another prefix: a record that was issued is not rewritten",
            )
        )
    require_room(place, last=_LAST)
    with _scratch(place) as folder:
        yield folder
        publish_folder(folder, place, last=_LAST)


@contextlib.contextmanager
def _scratch(place: RemotePlace) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="inquesto-run-") as scratch:
        yield Path(scratch) / place.name
