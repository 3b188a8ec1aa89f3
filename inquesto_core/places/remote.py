"""Objects under a prefix of a bucket; each is one PUT, and there whole or not at all."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from inquesto_core.errors import Problem, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from inquesto_core.places.place import Place

__all__ = ["RemotePlace", "is_object_name"]

_BLOCK = 8 * 1024 * 1024
_PART_BYTES = 255
#: Asked about at once: pyarrow asks of many in parallel.
_ASKED = 1000


def is_object_name(key: str) -> bool:
    r"""Return whether an object's name may become a path on this machine.

    >>> [is_object_name(key) for key in ("a/b c%20é", "a/../b", "a//b", "/a", "a\\b", "a\tb")]
    [True, False, False, False, False, False]
    """
    parts = key.split("/")
    return not re.search(r"[\\\x00-\x1f\x7f]", key) and all(
        part not in {"", ".", ".."} and len(part.encode(errors="replace")) <= _PART_BYTES
        for part in parts
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotePlace:
    """An object or prefix; see `inquesto_core.places.place.Place`.

    Parameters
    ----------
    scheme, authority : str
        Whose filesystem: ``s3`` and the bucket.
    key : str
        What stands behind, without slashes at its ends; empty is the whole bucket.
    """

    scheme: str
    authority: str
    key: str

    def __str__(self) -> str:
        """Return the URI; no credentials ever stand in one."""
        return f"{self.scheme}://{self.authority}/{self.key}".rstrip("/")

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.key.rpartition("/")[2] or self.authority

    @property
    def location(self) -> RemotePlace:
        """Itself."""
        return self

    @property
    def parent(self) -> RemotePlace:
        """The prefix that holds it."""
        return replace(self, key=self.key.rpartition("/")[0])

    def resolve(self) -> RemotePlace:
        """Return itself: it is the same from everywhere."""
        return self

    def child(self, *names: str) -> RemotePlace:
        """Return the place of that name in it."""
        return replace(self, key="/".join(part for part in (self.key, *names) if part))

    def exists(self) -> bool:
        """Return whether an object lies here, or anything below."""
        with self._asking() as (filesystem, path):
            return bool(filesystem.get_file_info(path).type.value)

    def which_exist(self, names: Iterable[str]) -> set[str]:
        """Return which of many names below are objects."""
        wanted, found = list(names), set()
        for start in range(0, len(wanted), _ASKED):
            asked = wanted[start : start + _ASKED]
            with self._asking() as (filesystem, path):
                told = filesystem.get_file_info([f"{path}/{name}" for name in asked])
            found |= {name for name, info in zip(asked, told, strict=True) if info.is_file}
        return found

    def read(self, limit: int = -1) -> bytes:
        """Return the object's bytes, at most `limit` of them."""
        with self._asking() as (filesystem, path), filesystem.open_input_file(path) as source:
            size = source.size() if limit < 0 else min(limit, source.size())
            data: bytes = source.read(size)
            if len(data) != size:
                raise OSError("timed out: fewer bytes than the object has")
            return data

    def open_table(self) -> Any:
        """Return the object for reading in parts."""
        with self._asking() as (filesystem, path):
            return filesystem.open_input_file(path)

    def write(self, data: Any) -> None:
        """Write the object with one PUT, or in parts that are put together when all are there."""
        with self._asking() as (filesystem, path):
            try:
                target = filesystem.open_output_stream(path)
                target.write(data)
                target.close()
            except FileNotFoundError as exc:
                raise self.failure(exc) from exc

    def remove(self) -> None:
        """Take the object away."""
        with contextlib.suppress(FileNotFoundError), self._asking() as (filesystem, path):
            filesystem.delete_file(path)

    def files(self) -> Iterator[tuple[str, RemotePlace]]:
        """Yield each object below with its name from here, sorted."""
        names = sorted(path for path, is_file in self._below(is_deep=True) if is_file)
        yield from ((name, self.child(name)) for name in names)

    def is_empty(self) -> bool:
        """Return whether no object lies below; empty markers of folders are none."""
        found = self._below(is_deep=False)
        if not found or any(is_file for _, is_file in found):
            return not found
        return not any(is_file for _, is_file in self._below(is_deep=True))

    def _below(self, *, is_deep: bool) -> list[tuple[str, bool]]:
        """Return the path from here of each object and prefix, and whether it is an object."""
        from inquesto_core.places.filesystem import below

        try:
            with self._asking() as (filesystem, path):
                found = filesystem.get_file_info(below(path, is_deep=is_deep))
        except FileNotFoundError:
            return []
        return [(info.path[len(path) + 1 :], bool(info.is_file)) for info in found]

    def move_to(self, target: Place) -> None:
        """Copy the object in the bucket, then take it away."""
        assert isinstance(target, RemotePlace)
        with self._asking() as (filesystem, path), target._asking() as (_, other):
            filesystem.copy_file(path, other)
        self.remove()

    def make_folder(self) -> None:
        """Do nothing: a prefix is there with its first object."""

    def remove_folder(self) -> None:
        """Take away everything below."""
        for _, place in self.files():
            place.remove()

    @contextlib.contextmanager
    def alone(self, *, wait: bool = False) -> Iterator[bool]:
        """Give leave at once: objects have no locks."""
        del wait
        yield True

    def fetch_to(self, path: Path, *, limit: int) -> int:
        """Write the object's bytes to a new file of this machine, and return how many.

        Raises
        ------
        StoreError
            ``remote_too_large`` where they are more than `limit`, or as every operation.
        """
        with self._asking() as (filesystem, key), filesystem.open_input_file(key) as source:
            size = int(source.size())
            if size > limit:
                raise StoreError(
                    Problem(
                        code="remote_too_large",
                        found=f"{self} has {size} bytes",
                        expected=f"at most {limit} bytes",
                    )
                )
            _copy(source, path, size)
            return size

    def failure(self, exc: Exception) -> StoreError:
        """Return what an error of a request about this place means."""
        from inquesto_core.places.filesystem import failure

        return failure(exc, str(self))

    @contextlib.contextmanager
    def _asking(self) -> Iterator[tuple[Any, str]]:
        """Give the filesystem and the path in it; say of its errors what they mean."""
        import pyarrow as pa

        from inquesto_core.places.filesystem import open_filesystem

        filesystem, base = open_filesystem(self.scheme, self.authority)
        try:
            yield filesystem, "/".join(part for part in (base, self.key) if part)
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as exc:
            raise self.failure(exc) from exc


def _copy(source: Any, path: Path, size: int) -> None:
    """Write what a remote file holds to a new file; an error of this disk is no other's."""
    done = 0
    with _on_this_disk(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        target = path.open("xb")
    with target:
        path.chmod(0o600)
        while done < size and (block := source.read(min(_BLOCK, size - done))):
            done += len(block)
            with _on_this_disk(path):
                target.write(block)
        with _on_this_disk(path):
            target.flush()
    if done != size:
        raise OSError("timed out: fewer bytes than the object has")


@contextlib.contextmanager
def _on_this_disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise StoreError(
            Problem(
                code="scratch_unwritable",
                found=f"cannot write {path.name} into {path.parent.name}: {exc.strerror}",
                expected="room on this disk",
                remedy="free some space, or set TMPDIR to a folder with room",
            )
        ) from exc
