"""Which folders are call bundles: in folders, archives, manifests and buckets, in one order.

A folder with a `call.json` is a bundle; what lies deeper in it belongs to it. A bundle's label is
its path from its source, the source's own name first, so that it is the same wherever the source
lies. Bundles are sorted by label, and one that is reached twice is there once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle.archives import LIMITS, SUFFIXES, Limits, is_archive, unpack
from inquesto_core.bundle.manifest import MANIFEST_SUFFIXES, manifest_rows
from inquesto_core.bundle.remote import leads_elsewhere, listing_of
from inquesto_core.bundle.write import UNFINISHED
from inquesto_core.errors import BundleError, Problem, StoreError
from inquesto_core.places import RemotePlace, is_uri, locate
from inquesto_core.places.remote import is_object_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["BundleRef", "Found", "find_bundles"]

#: Folders are searched this deep below a source.
MAX_DEPTH = 32

_PARTS = frozenset(
    f"{name}.json" for name in ("trace", "transcript", "state", "timing", "measured", "verdicts")
)

#: What platforms export calls as.
_EXPORTS = frozenset({".json", ".jsonl", ".ndjson", ".csv"})
_IMPORT = (
    "a platform's exports become bundles first: "
    "`inquesto-core import PLATFORM EXPORT --out BUNDLES`"
)

#: A manifest of so many rows says where a hundred million bundles lie.
_MANIFEST_BYTES = 8 * 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleRef:
    """A folder that holds `call.json`, and the label that names it before its call id is known.

    Parameters
    ----------
    path : Path
        The folder; that of a remote bundle is there only while it is `at_hand`.
    remote : RemotePlace, optional
        Where it lies if not on this machine.
    """

    path: Path
    label: str
    remote: RemotePlace | None = None

    @property
    def place(self) -> str:
        """Return where it lies, links resolved."""
        return os.path.realpath(self.path) if self.remote is None else str(self.remote)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What lies in the sources.

    Parameters
    ----------
    refs : tuple of BundleRef
        Sorted by label; each folder once.
    populations : tuple of Path
        A `population.json` at the root of a source, in the order of the sources' names.
    problems : tuple of Problem
        What was passed over, and why.
    """

    refs: tuple[BundleRef, ...] = ()
    populations: tuple[Path, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    path: Path
    name: str


def find_bundles(
    sources: Iterable[str | Path],
    *,
    scratch: Path,
    limits: Limits = LIMITS,
    allowed: Collection[str] = (),
) -> Found:
    """Return every bundle in `sources`, in one order whatever the order of the sources.

    Parameters
    ----------
    sources : iterable of str or Path
        Bundle folders, folders of bundles, ``.zip``/``.tar``/``.tar.gz``/``.tgz`` archives of
        them, or manifests: ``.jsonl`` with rows ``{"bundle": path}``, ``.parquet`` with a column
        ``bundle``; relative paths count from the manifest's folder. Each may be remote; a remote
        manifest names what lies below its own folder, and nothing else.
    scratch : Path
        Where archives are unpacked, each into a folder of its own, emptied first, and where remote
        bundles lie while they are `at_hand`.
    limits : Limits
        What an archive may hold.
    allowed : collection of str
        Schemes of remote sources.

    Returns
    -------
    Found
        Problem codes: ``source_missing``, ``source_remote``, ``source_unknown``, ``no_bundles``,
        ``call_json_missing``, ``bundle_missing``, ``link_refused``, ``too_deep``,
        ``folder_unreadable``, ``manifest_row``, ``manifest_unreadable``, ``nested_archive``,
        ``remote_…`` where a source cannot be reached, and those of
        `inquesto_core.bundle.archives.unpack`.

    Raises
    ------
    StoreError
        The scratch disk is full or read-only; a source is remote and not allowed, or no place
        (`inquesto_core.places.locate`).
    """
    search = _Search(scratch, limits)
    found = [locate(source, allowed=allowed) for source in sources]
    places = {place if isinstance(place, RemotePlace) else _absolute(place) for place in found}
    for place in sorted(places, key=lambda each: (each.name, str(each))):
        if isinstance(place, RemotePlace):
            search.remote_source(place)
        else:
            search.source(_Source(path=place, name=place.name or "root"))
    return search.found()


def _folders_in(folder: Path) -> list[Path]:
    """Return the folders directly in another, without links; none where it cannot be read."""
    try:
        return [
            each for each in sorted(folder.iterdir()) if each.is_dir() and not each.is_symlink()
        ]
    except OSError:
        return []


def _is_reference_run(folder: Path) -> bool:
    return (folder / "agent.json").is_file() and any((folder / "calls").glob("*.json"))


def _holds_files(folder: Path) -> bool:
    """Return whether a folder holds files in which platforms export calls."""
    try:
        return any(path.suffix.lower() in _EXPORTS for path in folder.iterdir())
    except OSError:
        return False


class _Search:
    def __init__(self, scratch: Path, limits: Limits) -> None:
        self.scratch, self.limits = scratch, limits
        self.refs: list[BundleRef] = []
        self.populations: list[Path] = []
        self.problems: list[Problem] = []

    def found(self) -> Found:
        """Return what was gathered, each folder under the first of its labels."""
        refs: dict[str, BundleRef] = {}
        for ref in sorted(self.refs, key=lambda each: (each.label, str(each.path))):
            refs.setdefault(ref.place, ref)
        return Found(
            refs=tuple(refs.values()),
            populations=tuple(dict.fromkeys(self.populations)),
            problems=tuple(dict.fromkeys(self.problems)),
        )

    def source(self, source: _Source) -> None:
        n_refs, n_problems = len(self.refs), len(self.problems)
        path = source.path
        if path.is_dir():
            self._root(path, source.name)
        elif not path.exists():
            self._problem("source_missing", source.name, "is not there", "a file or folder")
        elif is_archive(path.name) and path.is_file():
            self._archive(source)
        elif path.suffix.lower() in MANIFEST_SUFFIXES and path.is_file():
            self._manifest(source)
        else:
            self._problem(
                "source_unknown",
                source.name,
                "is no kind of source",
                "a folder, .zip, .tar, .tar.gz, .tgz, .jsonl or .parquet",
                remedy=_IMPORT if path.suffix.lower() in _EXPORTS else "",
            )
        self._explain_nothing(source.name, n_refs, n_problems, path if path.is_dir() else None)

    def _explain_nothing(
        self, name: str, n_refs: int, n_problems: int, folder: Path | None = None
    ) -> None:
        explained = any(problem.level == "error" for problem in self.problems[n_problems:])
        if len(self.refs) > n_refs or explained:
            return
        problem = Problem(
            code="no_bundles",
            found="holds no bundle",
            expected="folders with a call.json",
            file=name,
        )
        if folder is not None and any(map(_is_reference_run, (folder, *_folders_in(folder)))):
            problem = replace(
                problem,
                found="holds no bundle but a run of inquesto-score",
                remedy="score it as it is with --compat reference, or make bundles of it first: "
                "`inquesto-core import inquesto-score RUN_FOLDER --out BUNDLES`",
            )
        elif folder is not None and _holds_files(folder):
            problem = replace(problem, remedy=_IMPORT)
        self.problems.append(problem)

    def remote_source(self, place: RemotePlace) -> None:
        """Gather what lies at a remote place; one that cannot be reached is a problem."""
        n_refs, n_problems = len(self.refs), len(self.problems)
        is_manifest = place.name.lower().endswith(MANIFEST_SUFFIXES)
        try:
            if is_archive(place.name) or is_manifest:
                self._remote_file(place, is_manifest=is_manifest)
            else:
                self._remote_folder(place)
        except StoreError as exc:
            if not exc.problem.code.startswith("remote_"):
                raise
            self.problems.append(exc.problem)
        except FileNotFoundError:
            self._problem("source_missing", place.name, "is not there", "an object or prefix")
        self._explain_nothing(place.name, n_refs, n_problems)

    def _remote_folder(self, place: RemotePlace) -> None:
        listing = listing_of((name for name, _ in place.files()), max_depth=MAX_DEPTH)
        self.problems += [
            replace(problem, file="/".join(filter(None, (place.name, problem.file))))
            for problem in listing.problems
        ]
        for folder in listing.bundles:
            self._remote_bundle(place.child(folder), "/".join(filter(None, (place.name, folder))))
        if listing.has_population and "" not in listing.bundles:
            path = self._scratch_of(place) / "population.json"
            path.unlink(missing_ok=True)
            place.child(path.name).fetch_to(path, limit=_MANIFEST_BYTES)
            self.populations.append(path)

    def _remote_bundle(self, place: RemotePlace, label: str) -> None:
        self.refs.append(BundleRef(path=self._scratch_of(place), label=label, remote=place))

    def _remote_file(self, place: RemotePlace, *, is_manifest: bool) -> None:
        folder = self._scratch_of(place)
        shutil.rmtree(folder, ignore_errors=True)
        # Its own name may be no file name here; how it ends says what it is.
        ending = next(e for e in (*MANIFEST_SUFFIXES, *SUFFIXES) if place.name.lower().endswith(e))
        path = folder / f"source{ending}"
        limit = _MANIFEST_BYTES if is_manifest else self.limits.total_bytes
        place.fetch_to(path, limit=limit)
        source = _Source(path=path, name=place.name)
        if is_manifest:
            self._manifest(source, beside=place.parent)
        else:
            self._archive(source)
        path.unlink()

    def _scratch_of(self, place: RemotePlace) -> Path:
        key = hashlib.sha256(str(place).encode(errors="surrogateescape")).hexdigest()[:32]
        return self.scratch / "fetched" / key

    def _root(self, root: Path, label: str) -> None:
        population = root / "population.json"
        if population.is_symlink():
            self._link(f"{label}/population.json")
        elif population.is_file():
            self.populations.append(population)
        self._folder(root, label)

    def _folder(self, top: Path, label: str) -> None:
        pending = [(top, label, 0)]
        while pending:
            folder, name, depth = pending.pop()
            try:
                with os.scandir(folder) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError as exc:
                found = f"cannot be listed: {exc.strerror}"
                self._problem("folder_unreadable", name, found, "a readable folder")
                continue
            names = {entry.name for entry in listed if entry.is_file(follow_symlinks=False)}
            if "call.json" in names:
                self.refs.append(BundleRef(path=folder, label=name))
                continue
            if names & _PARTS:
                self._problem(
                    "call_json_missing",
                    name,
                    f"has {', '.join(sorted(names & _PARTS))} and no call.json",
                    "a call.json beside them",
                )
            for entry in listed:
                inner = f"{name}/{entry.name}"
                if entry.is_symlink():
                    self._link(inner)
                elif entry.name.startswith(UNFINISHED):
                    continue
                elif entry.is_dir(follow_symlinks=False):
                    if depth == MAX_DEPTH:
                        self._problem(
                            "too_deep", inner, f"lies over {MAX_DEPTH} folders deep", "less depth"
                        )
                    else:
                        pending.append((folder / entry.name, inner, depth + 1))
                elif is_archive(entry.name):
                    self._nested(inner)

    def _archive(self, source: _Source) -> None:
        # Named by where the archive lies, so that a run that was interrupted finds its own folder.
        key = hashlib.sha256(os.fsencode(os.path.realpath(source.path))).hexdigest()[:16]
        into = self.scratch / key
        if into.is_symlink():
            into.unlink()
        elif into.is_dir():
            shutil.rmtree(into)
        try:
            unpack(source.path, into, limits=self.limits)
        except BundleError as exc:
            self.problems.append(replace(exc.problem, file=source.name))
            return
        root, label = into, source.name
        inside = list(into.iterdir())
        # Most archives hold one folder that holds everything; that folder is then the root.
        if len(inside) == 1 and inside[0].is_dir() and not (inside[0] / "call.json").exists():
            root, label = inside[0], f"{source.name}/{inside[0].name}"
        self._root(root, label)

    def _manifest(self, source: _Source, *, beside: RemotePlace | None = None) -> None:
        rows: list[tuple[str, str]] = []
        try:
            for place, row in manifest_rows(source.path):
                if isinstance(row, Problem):
                    self.problems.append(row.at(file=source.name))
                elif beside is not None:
                    rows.append((place, row))
                else:
                    self._manifest_row(source, place, row)
        except BundleError as exc:
            self.problems.append(replace(exc.problem, file=source.name))
        if beside is not None:
            self._remote_rows(source, beside, rows)

    def _remote_rows(
        self, source: _Source, beside: RemotePlace, rows: list[tuple[str, str]]
    ) -> None:
        """Take the bundles that rows of a remote manifest name, all of them below its folder."""
        start = f"{beside}/"
        named: dict[str, str] = {}
        for place, row in rows:
            below = row.removeprefix(start).rstrip("/")
            while below.startswith("./"):
                below = below[2:]
            if is_uri(below) or not is_object_name(below):
                self.problems.append(
                    replace(leads_elsewhere(row, below=beside), file=source.name, pointer=place)
                )
            else:
                named.setdefault(below, place)
        there = beside.which_exist(f"{name}/call.json" for name in named)
        for name, place in named.items():
            if f"{name}/call.json" in there:
                self._remote_bundle(beside.child(name), f"{source.name}/{name}")
            else:
                self._bundle_missing(source, place, name)

    def _manifest_row(self, source: _Source, place: str, row: str) -> None:
        if is_uri(row):
            problem = leads_elsewhere(row, below=None)
            self.problems.append(replace(problem, file=source.name, pointer=place))
            return
        folder = Path(os.path.normpath(source.path.parent / row))
        call = folder / "call.json"
        if folder.is_symlink() or call.is_symlink():
            self._link(source.name, place)
        elif not call.is_file():
            self._bundle_missing(source, place, row)
        else:
            # An absolute row says where this machine keeps things; its label does not.
            name = (
                folder.name if Path(row).is_absolute() else Path(os.path.normpath(row)).as_posix()
            )
            self.refs.append(BundleRef(path=folder, label=f"{source.name}/{name}"))

    def _bundle_missing(self, source: _Source, place: str, row: str) -> None:
        found = f"{_quoted(row)} is no bundle"
        self._problem("bundle_missing", source.name, found, "a folder with a call.json", place)

    def _problem(
        self,
        code: str,
        file: str,
        found: str,
        expected: str,
        pointer: str | None = None,
        *,
        remedy: str = "",
    ) -> None:
        self.problems.append(
            Problem(
                code=code,
                found=found,
                expected=expected,
                remedy=remedy,
                file=file,
                pointer=pointer,
            )
        )

    def _link(self, file: str, pointer: str | None = None) -> None:
        self._problem(
            "link_refused",
            file,
            "is a symbolic link and was not followed",
            "a file or folder itself",
            pointer,
        )

    def _nested(self, file: str) -> None:
        self.problems.append(
            Problem(
                code="nested_archive",
                found="is an archive inside a source and was not opened",
                remedy="give it as a source of its own",
                file=file,
                level="warning",
            )
        )


def _absolute(source: str | Path) -> Path:
    return Path(os.path.abspath(source))  # noqa: PTH100 - resolve() would follow links


def _quoted(text: str) -> str:
    return ascii(text if len(text) <= 80 else text[:79] + "…")
