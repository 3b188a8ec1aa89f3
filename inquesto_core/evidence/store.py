"""The evidence store: what was measured, heard and answered, kept for years under its digest.

    STORE/
      store.json             format
      loose/<2 hex>/<kind>.<key>    entries as they are written, one file each
      packs/<sha256>.parquet        entries put together
      forgotten/<keyed hash>.json   tombstones of calls that were erased
      damaged/                      files that were not what they had been

Append-only: an entry is written whole or not at all, so that any number of writers can share a
store, and one that is killed leaves at most a temporary file. An entry is proven by its digest
whenever it is read; a damaged one is moved aside, named, and measured anew. Readable by its owner
only.

A store may be a prefix of a bucket, where there are no locks: two packers then do the work twice,
and a call that is erased stays erased, since a tombstone is left before entries are looked for, and
looked for after an entry or a pack is written: one of two sees the other.
"""

from __future__ import annotations

import contextlib
import hmac
import re
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.canonical import canonical_bytes, strict_json
from inquesto_core.errors import Problem, SchemaError, StoreError
from inquesto_core.evidence.entries import Entry, is_key, open_entry
from inquesto_core.evidence.packs import PACK_SUFFIX, UNREADABLE, Pack, write_pack
from inquesto_core.places import RemotePlace, place_of, read_each, remove_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from inquesto_core.places import Location, Place

__all__ = ["EvidenceStore", "Shelf"]

_ABOUT = "store.json"
_FORMAT = 1
_LOOSE, _PACKS, _FORGOTTEN, _DAMAGED = "loose", "packs", "forgotten", "damaged"
_LOCK = "lock"
#: A pack holds at most so many entries, and so much: bounds the memory of packing.
_PACK_ENTRIES = 4096
_PACK_BYTES = 64 * 1024 * 1024
# What else lies there is nobody's evidence.
_LOOSE_NAME = re.compile(r"[0-9a-f]{2}/[^/]+\.[^/]+")
#: Two who make one store in a bucket at once agree, after so long, on the one that was last.
SETTLING_S = 1.0


@dataclass(slots=True)
class EvidenceStore:
    """A folder or prefix of evidence.

    Parameters
    ----------
    root : Path or RemotePlace
    """

    root: Location
    _packs: dict[str, Pack] = field(default_factory=dict)
    _secret: bytes = b""

    @classmethod
    def open(cls, root: Location) -> EvidenceStore:
        """Return the store at a location, made where there is none.

        Raises
        ------
        StoreError
            ``not_a_store`` where the place holds something else or another format,
            ``store_unwritable`` where it cannot be made, ``remote_…`` where it cannot be reached.
        """
        place = place_of(root)
        about = place.child(_ABOUT)
        with _writing(root):
            if not about.exists():
                if not place.is_empty():
                    raise _not_a_store(root, "holds other files")
                for folder in (place, *map(place.child, (_LOOSE, _PACKS, _FORGOTTEN))):
                    folder.make_folder()
                told = {"format": _FORMAT, "secret": secrets.token_hex(32)}
                about.write(canonical_bytes(told))
                if isinstance(root, RemotePlace):
                    time.sleep(SETTLING_S)
        return cls.of(root)

    @classmethod
    def of(cls, root: Location) -> EvidenceStore:
        """Return a store that is there already.

        Raises
        ------
        StoreError
            ``not_a_store``, or ``remote_…`` where it cannot be reached.
        """
        try:
            told = strict_json(place_of(root).child(_ABOUT).read())
            known, secret = told["format"] == _FORMAT, bytes.fromhex(told["secret"])
        except (OSError, SchemaError, TypeError, KeyError, ValueError) as exc:
            raise _not_a_store(root, f"has no readable {_ABOUT}") from exc
        if not known:
            raise _not_a_store(root, f"is of format {told['format']}")
        if isinstance(root, Path) and (root / _LOCK).exists() and not (root / _LOCK).is_file():
            raise _not_a_store(root, f"has a {_LOCK} that is no file")
        return cls(root, _secret=secret)

    def find(self, kind: str, key: str) -> dict[str, Any] | None:
        """Return the value kept under a key; None where there is none, or none that is whole."""
        # A packer writes the pack before it takes the loose file away.
        searches = [self._find_loose, self._find_packed, self._find_loose]
        if isinstance(self.root, RemotePlace):
            searches.insert(0, self._find_known)  # costs no request
        for search in searches:
            entry = search(kind, key)
            if entry is not None:
                return entry.read()
        return None

    def keep(
        self, kind: str, key: str, value: Mapping[str, Any], *, call_id: str, made_by: str
    ) -> None:
        """Keep a value, whole or not at all; nothing of a call that was erased.

        Raises
        ------
        StoreError
            ``store_unwritable``.
        """
        if self.is_forgotten(call_id):
            return
        entry = Entry(
            kind=kind,
            key=key,
            call_id=call_id,
            made_by=made_by,
            value=canonical_bytes(dict(value)),
        )
        place = self._loose_place(kind, key)
        with _writing(self.root):
            place.write(entry.loose_bytes())
            if self.is_forgotten(call_id):  # while it was written
                place.remove()

    def shelf(self, kind: str, *, call_id: str, made_by: str) -> Shelf:
        """Return the part of the store that one instrument reads and fills about a call."""
        return Shelf(store=self, kind=kind, made_by=made_by, call_id=call_id)

    def pack(self) -> int:
        """Put the loose entries together; return how many.

        On this machine only one process packs at a time; where another does, nothing is done.
        """
        with _writing(self.root), self._alone() as is_alone:
            if not is_alone:
                return 0
            count = 0
            for batch in self._batches():
                self._write_pack([entry for _, entry in batch])
                remove_each([place for place, _ in batch])
                count += len(batch)
            return count

    def _write_pack(self, entries: list[Entry]) -> None:
        """Write entries as a pack, without those of calls that were erased meanwhile."""
        folder, left = self._in(_PACKS), entries
        while left:
            pack = write_pack(folder, left)
            forgotten = {place.name for _, place in self._in(_FORGOTTEN).files()}
            kept = [entry for entry in left if self._tombstone(entry.call_id).name not in forgotten]
            if len(kept) == len(left):
                return
            pack.remove()
            left = kept

    def loose_files(self) -> list[Place]:
        """Return the loose entries, sorted by name."""
        return [place for name, place in self._in(_LOOSE).files() if _LOOSE_NAME.fullmatch(name)]

    def loose_entries(self) -> Iterator[tuple[Place, Entry | None]]:
        """Yield the loose files and what they hold, None where that is not what it was."""
        # One that is no longer there was packed or erased by another.
        for place, data in read_each(self.loose_files()):
            entry = open_entry(data)
            is_named = entry is not None and place.name == f"{entry.kind}.{entry.key}"
            yield place, entry if is_named else None

    def packs(self) -> list[Pack]:
        """Return the packs, sorted by name."""
        found = [place for name, place in self._in(_PACKS).files() if name.endswith(PACK_SUFFIX)]
        self._packs = {
            place.name: self._packs.get(place.name, Pack(place=place)) for place in found
        }
        return list(self._packs.values())

    def is_forgotten(self, call_id: str) -> bool:
        """Return whether a call was erased on request."""
        return self._tombstone(call_id).exists()

    def forget(self, call_id: str) -> int:
        """Erase all evidence of a call, leave a tombstone, and return how many entries it was.

        The tombstone names the call by a keyed hash, not by its id, which may be a number that
        somebody can be called on. Damaged files go too: whose they were cannot be told.
        """
        self.verify()
        self._in(_DAMAGED).remove_folder()
        told = canonical_bytes({"format": _FORMAT})
        return self._rewrite(
            lambda entry: entry.call_id == call_id,
            before=lambda: self._tombstone(call_id).write(told),
        )

    def prune(self, made_by: frozenset[str]) -> int:
        """Take out what was made by other instruments than these; return how many entries."""
        self.verify()
        return self._rewrite(lambda entry: entry.made_by not in made_by)

    def _rewrite(
        self, is_unwanted: Callable[[Entry], bool], before: Callable[[], None] = lambda: None
    ) -> int:
        """Take entries out of loose files and packs; a pack is written anew without them."""
        removed = 0
        with _writing(self.root), self._alone(wait=True):
            before()
            for place, loose in self.loose_entries():
                if loose is not None and is_unwanted(loose):
                    place.remove()
                    removed += 1
            for pack in self.packs():
                whole = self._entries_of(pack)
                left = [entry for entry in whole if not is_unwanted(entry)]
                if len(left) == len(whole):
                    continue
                self._write_pack(left)
                pack.place.remove()
                removed += len(whole) - len(left)
            self._packs.clear()
        return removed

    def _entries_of(self, pack: Pack) -> list[Entry]:
        """Return what a pack holds whole: nothing where another has just written it anew.

        What that one wrote is listed here, or it sees the tombstone that was left before.
        """
        try:
            return [entry for entry in pack.entries() if entry is not None]
        except UNREADABLE:
            if pack.place.exists():
                raise
            return []

    def verify(self) -> list[Problem]:
        """Return a problem for every file that is not what it was; it is moved aside.

        What a damaged pack still holds whole, each entry proven by its own digest, is kept.
        """
        broken = [place for place, entry in self.loose_entries() if entry is None]
        problems = [self._set_aside(place, f"{_LOOSE}/{place.name[-64:][:2]}") for place in broken]
        problems += [self._set_pack_aside(pack) for pack in self.packs() if _is_damaged(pack)]
        self._packs.clear()
        return problems

    def damaged_files(self) -> list[str]:
        """Return the names of the files that were moved aside, sorted."""
        return [name for name, _ in self._in(_DAMAGED).files()]

    def _set_pack_aside(self, pack: Pack) -> Problem:
        left = pack.entries_that_are_whole()
        problem = self._set_aside(pack.place, _PACKS)
        with _writing(self.root):
            self._write_pack(left)
        return problem

    def _set_aside(self, place: Place, folder: str) -> Problem:
        aside = self._in(_DAMAGED)
        with _writing(self.root), contextlib.suppress(FileNotFoundError):
            aside.make_folder()
            place.move_to(aside.child(place.name))
        return Problem(
            code="evidence_damaged",
            file=f"{folder}/{place.name}",
            found="is not what was written",
            expected="the bytes of its digest",
            remedy="moved to damaged/; score the calls again: what is missing is measured anew",
        )

    def _in(self, folder: str) -> Place:
        return place_of(self.root).child(folder)

    def _loose_place(self, kind: str, key: str) -> Place:
        if not is_key(key) or not kind.isalpha():
            raise ValueError(f"{kind}.{key} is no name of an entry")
        return self._in(_LOOSE).child(key[:2], f"{kind}.{key}")

    def _find_loose(self, kind: str, key: str) -> Entry | None:
        place = self._loose_place(kind, key)
        try:
            data = place.read()
        except FileNotFoundError:
            return None
        entry = open_entry(data)
        if entry is None or (entry.kind, entry.key) != (kind, key):
            with contextlib.suppress(OSError, StoreError):
                self._set_aside(place, f"{_LOOSE}/{key[:2]}")
            return None
        return entry

    def _find_known(self, kind: str, key: str) -> Entry | None:
        return self._find_in(list(self._packs.values()), kind, key)

    def _find_packed(self, kind: str, key: str) -> Entry | None:
        return self._find_in(self.packs(), kind, key)

    def _find_in(self, packs: list[Pack], kind: str, key: str) -> Entry | None:
        for pack in packs:
            try:
                entry = pack.find(kind, key)
            except UNREADABLE:
                # One packed file that cannot be read hides only its own entries.
                self._set_aside_if_damaged(pack)
                continue
            if entry is not None:
                return entry
            if (kind, key) in pack:  # it is here, and is not what was written
                self._set_aside_if_damaged(pack)
        return None

    def _set_aside_if_damaged(self, pack: Pack) -> None:
        if _is_damaged(pack):
            with contextlib.suppress(OSError, StoreError):
                self._set_pack_aside(pack)

    def _batches(self) -> Iterator[list[tuple[Place, Entry]]]:
        batch: list[tuple[Place, Entry]] = []
        size = 0
        for place, entry in self.loose_entries():
            if entry is None:
                continue
            batch.append((place, entry))
            size += len(entry.value)
            if len(batch) >= _PACK_ENTRIES or size >= _PACK_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _tombstone(self, call_id: str) -> Place:
        name = hmac.new(self._secret, call_id.encode(), "sha256").hexdigest()
        return self._in(_FORGOTTEN).child(f"{name}.json")

    def _alone(self, *, wait: bool = False) -> contextlib.AbstractContextManager[bool]:
        """Hold the lock of those who take files away."""
        return self._in(_LOCK).alone(wait=wait)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """What one instrument made of one call, by key."""

    store: EvidenceStore
    kind: str
    made_by: str
    call_id: str

    def find(self, key: str) -> dict[str, Any] | None:
        """Return what is kept under a key."""
        return self.store.find(self.kind, self._own(key))

    def keep(self, key: str, value: Mapping[str, Any]) -> None:
        """Keep a value."""
        self.store.keep(
            self.kind, self._own(key), value, call_id=self.call_id, made_by=self.made_by
        )

    def _own(self, key: str) -> str:
        """Return the key of this call's entry: what two calls share is erased with neither."""
        return hmac.new(key.encode(), self.call_id.encode(), "sha256").hexdigest()


def _is_damaged(pack: Pack) -> bool:
    """Return whether a pack is there and not what was written."""
    try:
        return not pack.is_whole()
    except FileNotFoundError:  # written anew by another
        return False


@contextlib.contextmanager
def _writing(root: Location) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        if isinstance(root, RemotePlace):
            raise root.failure(exc) from exc
        raise StoreError(
            Problem(
                code="store_unwritable",
                found=f"the evidence store {root.name} cannot be written: {exc.strerror}",
                expected="a writable folder with room",
                remedy="free space or name another folder with --store; nothing kept is lost",
            )
        ) from exc


def _not_a_store(root: Location, found: str) -> StoreError:
    return StoreError(
        Problem(
            code="not_a_store",
            found=f"{root.name} {found}",
            expected="a new or empty folder, or an evidence store of this version",
            remedy="name another folder with --store",
        )
    )
