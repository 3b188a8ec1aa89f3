"""The evidence store: what was measured, heard and answered, kept for years under its digest.

    STORE/
      store.json             format
      loose/<2 hex>/<kind>.<key>    entries as they are written, one file each
      packs/<sha256>.parquet        entries put together
      forgotten/<keyed hash>.json   tombstones of calls that were erased
      damaged/                      files that were not what they had been

Append-only: an entry is written whole under a temporary name and renamed, so that any number of
writers can share a store, and one that is killed leaves at most a temporary file. An entry is
proven by its digest whenever it is read; a damaged one is moved aside, named, and measured anew.
Readable by its owner only.
"""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import secrets
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from inquesto_core.canonical import canonical_bytes, strict_json
from inquesto_core.errors import Problem, SchemaError, StoreError
from inquesto_core.evidence.entries import Entry, is_key, open_entry
from inquesto_core.evidence.packs import Pack, write_pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

__all__ = ["EvidenceStore", "Shelf"]

_ABOUT = "store.json"
_FORMAT = 1
_LOOSE, _PACKS, _FORGOTTEN, _DAMAGED = "loose", "packs", "forgotten", "damaged"
_LOCK = "lock"
#: A pack holds at most so many entries, and so much: bounds the memory of packing.
_PACK_ENTRIES = 4096
_PACK_BYTES = 64 * 1024 * 1024
_UNREADABLE = (OSError, pa.ArrowException)


@dataclass(slots=True)
class EvidenceStore:
    """A folder of evidence.

    Parameters
    ----------
    root : Path
    """

    root: Path
    _packs: dict[str, Pack] = field(default_factory=dict)
    _secret: bytes = b""

    @classmethod
    def open(cls, root: Path) -> EvidenceStore:
        """Return the store in a folder, made where there is none.

        Raises
        ------
        StoreError
            ``not_a_store`` where the folder holds something else or another format,
            ``store_unwritable`` where it cannot be made.
        """
        about = root / _ABOUT
        with _writing(root):
            if not about.is_file():
                if root.is_dir() and any(root.iterdir()):
                    raise _not_a_store(root, "holds other files")
                root.mkdir(mode=0o700, parents=True, exist_ok=True)
                for name in (_LOOSE, _PACKS, _FORGOTTEN):
                    (root / name).mkdir(mode=0o700, exist_ok=True)
                told = {"format": _FORMAT, "secret": secrets.token_hex(32)}
                _write(about, canonical_bytes(told))
        return cls.of(root)

    @classmethod
    def of(cls, root: Path) -> EvidenceStore:
        """Return a store that is there already.

        Raises
        ------
        StoreError
            ``not_a_store``.
        """
        try:
            told = strict_json((root / _ABOUT).read_bytes())
            known, secret = told["format"] == _FORMAT, bytes.fromhex(told["secret"])
        except (OSError, SchemaError, TypeError, KeyError, ValueError) as exc:
            raise _not_a_store(root, f"has no readable {_ABOUT}") from exc
        if not known:
            raise _not_a_store(root, f"is of format {told['format']}")
        return cls(root, _secret=secret)

    def find(self, kind: str, key: str) -> dict[str, Any] | None:
        """Return the value kept under a key; None where there is none, or none that is whole."""
        for search in (self._find_loose, self._find_packed, self._find_loose):
            # A packer writes the pack before it takes the loose file away.
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
        path = self._loose_path(kind, key)
        with _writing(self.root):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _write(path, entry.loose_bytes())

    def shelf(self, kind: str, *, call_id: str, made_by: str) -> Shelf:
        """Return the part of the store that one instrument reads and fills about a call."""
        return Shelf(store=self, kind=kind, made_by=made_by, call_id=call_id)

    def pack(self) -> int:
        """Put the loose entries together; return how many.

        Only one process packs at a time; where another does, nothing is done.
        """
        with _writing(self.root), self._alone() as is_alone:
            if not is_alone:
                return 0
            count = 0
            for batch in self._batches():
                write_pack(self.root / _PACKS, [entry for _, entry in batch])
                for path, _ in batch:
                    path.unlink(missing_ok=True)
                count += len(batch)
            return count

    def loose_files(self) -> Iterator[Path]:
        """Yield the loose entries, sorted by name."""
        # What else lies there is nobody's evidence.
        found = (self.root / _LOOSE).glob("[0-9a-f][0-9a-f]/*.*")
        yield from sorted(path for path in found if path.suffix != ".tmp" and path.is_file())

    def packs(self) -> list[Pack]:
        """Return the packs, sorted by name."""
        found = sorted((self.root / _PACKS).glob("*.parquet"))
        self._packs = {path.stem: self._packs.get(path.stem, Pack(path=path)) for path in found}
        return list(self._packs.values())

    def is_forgotten(self, call_id: str) -> bool:
        """Return whether a call was erased on request."""
        return self._tombstone(call_id).is_file()

    def forget(self, call_id: str) -> int:
        """Erase all evidence of a call, leave a tombstone, and return how many entries it was.

        The tombstone names the call by a keyed hash, not by its id, which may be a number that
        somebody can be called on. Damaged files go too: whose they were cannot be told.
        """
        self.verify()
        shutil.rmtree(self.root / _DAMAGED, ignore_errors=True)
        return self._rewrite(
            lambda entry: entry.call_id == call_id,
            before=lambda: _write(self._tombstone(call_id), canonical_bytes({"format": _FORMAT})),
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
            for path in list(self.loose_files()):
                entry = open_entry(path.read_bytes())
                if entry is not None and is_unwanted(entry):
                    path.unlink()
                    removed += 1
            for pack in self.packs():
                whole = [entry for entry in pack.entries() if entry is not None]
                left = [entry for entry in whole if not is_unwanted(entry)]
                if len(left) == len(whole):
                    continue
                if left:
                    write_pack(self.root / _PACKS, left)
                pack.path.unlink()
                removed += len(whole) - len(left)
            self._packs.clear()
        return removed

    def verify(self) -> list[Problem]:
        """Return a problem for every file that is not what it was; it is moved aside."""
        problems = []
        for path in list(self.loose_files()):
            entry = open_entry(path.read_bytes())
            if entry is None or path.name != f"{entry.kind}.{entry.key}":
                problems.append(self._set_aside(path))
        broken = [pack.path for pack in self.packs() if not pack.is_whole()]
        problems += [self._set_aside(path) for path in broken]
        self._packs.clear()
        return problems

    def _set_aside(self, path: Path) -> Problem:
        folder = self.root / _DAMAGED
        with _writing(self.root):
            folder.mkdir(mode=0o700, exist_ok=True)
            path.replace(folder / path.name)
        return Problem(
            code="evidence_damaged",
            file=str(path.relative_to(self.root)),
            found="is not what was written",
            expected="the bytes of its digest",
            remedy="moved to damaged/; score the calls again: what is missing is measured anew",
        )

    def _loose_path(self, kind: str, key: str) -> Path:
        if not is_key(key) or not kind.isalpha():
            raise ValueError(f"{kind}.{key} is no name of an entry")
        return self.root / _LOOSE / key[:2] / f"{kind}.{key}"

    def _find_loose(self, kind: str, key: str) -> Entry | None:
        path = self._loose_path(kind, key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        entry = open_entry(data)
        if entry is None or (entry.kind, entry.key) != (kind, key):
            with contextlib.suppress(OSError, StoreError):
                self._set_aside(path)
            return None
        return entry

    def _find_packed(self, kind: str, key: str) -> Entry | None:
        for pack in self.packs():
            try:
                entry = pack.find(kind, key)
            except _UNREADABLE:
                # One packed file that cannot be read hides only its own entries.
                if pack.path.is_file() and not pack.is_whole():
                    with contextlib.suppress(OSError, StoreError):
                        self._set_aside(pack.path)
                continue
            if entry is not None:
                return entry
        return None

    def _batches(self) -> Iterator[list[tuple[Path, Entry]]]:
        batch: list[tuple[Path, Entry]] = []
        size = 0
        for path in self.loose_files():
            entry = open_entry(path.read_bytes())
            if entry is None:
                continue
            batch.append((path, entry))
            size += len(entry.value)
            if len(batch) >= _PACK_ENTRIES or size >= _PACK_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _tombstone(self, call_id: str) -> Path:
        name = hmac.new(self._secret, call_id.encode(), "sha256").hexdigest()
        return self.root / _FORGOTTEN / f"{name}.json"

    @contextlib.contextmanager
    def _alone(self, *, wait: bool = False) -> Iterator[bool]:
        """Hold the lock of those who take files away."""
        with os.fdopen(os.open(self.root / _LOCK, os.O_RDWR | os.O_CREAT, 0o600), "rb+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
            else:
                yield True


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


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    temporary.replace(path)


@contextlib.contextmanager
def _writing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise StoreError(
            Problem(
                code="store_unwritable",
                found=f"the evidence store {root.name} cannot be written: {exc.strerror}",
                expected="a writable folder with room",
                remedy="free space or name another folder with --store; nothing kept is lost",
            )
        ) from exc


def _not_a_store(root: Path, found: str) -> StoreError:
    return StoreError(
        Problem(
            code="not_a_store",
            found=f"{root.name} {found}",
            expected="a new or empty folder, or an evidence store of this version",
            remedy="name another folder with --store",
        )
    )
