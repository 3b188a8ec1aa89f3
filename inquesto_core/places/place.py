"""What can be done at a location, be it on this machine or not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from inquesto_core.places.local import LocalPlace
from inquesto_core.places.remote import RemotePlace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

__all__ = ["Location", "Place", "place_of", "read_each", "remove_each"]

#: Requests that wait at once: an object far away costs time, not work.
_AT_ONCE = 16

#: What is handed about, and to other processes: it pickles, compares and has a name.
Location: TypeAlias = Path | RemotePlace


class Place(Protocol):
    """A file or folder, or an object or prefix.

    Every operation raises `OSError` on this machine and `StoreError` with a code ``remote_…``
    elsewhere, but `FileNotFoundError` where there is nothing to read, on either.
    """

    @property
    def name(self) -> str:
        """The last part of its path."""

    @property
    def location(self) -> Location:
        """What it was made of."""

    def child(self, *names: str) -> Place:
        """Return the place of that name in it."""

    def exists(self) -> bool:
        """Return whether a file lies here."""

    def read(self) -> bytes:
        """Return the file's bytes."""

    def open_table(self) -> Any:
        """Return what `pyarrow.parquet.ParquetFile` reads parts of."""

    def write(self, data: bytes) -> None:
        """Write a file, whole or not at all, for its owner only."""

    def remove(self) -> None:
        """Take the file away; nothing happens where there is none."""

    def files(self) -> Iterator[tuple[str, Place]]:
        """Yield each file below with its path from here, sorted."""

    def is_empty(self) -> bool:
        """Return whether no file lies below."""

    def move_to(self, target: Place) -> None:
        """Give the file another name in the same tree."""

    def make_folder(self) -> None:
        """Make a folder of its owner here, and those above; objects need none."""

    def remove_folder(self) -> None:
        """Take away everything below."""

    def alone(self, *, wait: bool = False) -> AbstractContextManager[bool]:
        """Hold the lock that is this file, where there are locks; gives whether it is held.

        Objects have none: there it is always given, and whoever holds it must be right beside
        another who does.
        """


def place_of(location: Location) -> Place:
    """Return what can be done at a location."""
    return location if isinstance(location, RemotePlace) else LocalPlace(location)


def read_each(places: Sequence[Place]) -> Iterator[tuple[Place, bytes]]:
    """Yield places in their order with what lies there; those where nothing lies are left out.

    Far away, a few are read ahead.
    """
    if not any(isinstance(place, RemotePlace) for place in places):
        read = map(_read, places)
        yield from (
            (place, data) for place, data in zip(places, read, strict=True) if data is not None
        )
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for start in range(0, len(places), _AT_ONCE):
            some = places[start : start + _AT_ONCE]
            for place, data in zip(some, pool.map(_read, some), strict=True):
                if data is not None:
                    yield place, data


def remove_each(places: Sequence[Place]) -> None:
    """Take files away, far away several at once."""
    if any(isinstance(place, RemotePlace) for place in places):
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda place: place.remove(), places))
        return
    for place in places:
        place.remove()


def _read(place: Place) -> bytes | None:
    try:
        return place.read()
    except FileNotFoundError:
        return None
