"""How bundles are laid down: beside the output first, under their names when they are whole.

One process gives the names, so that the same exports make the same folders in the same order. What
a killed import left behind is no bundle, and goes with the next import of the same machine.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.bundle.inferred import InferredTally
from inquesto_core.bundle.write import UNFINISHED
from inquesto_core.canonical import digest_bytes
from inquesto_core.errors import BundleError, Problem, StoreError
from inquesto_core.importers.exports import read_bytes
from inquesto_core.places import refuse_inside

if TYPE_CHECKING:
    from inquesto_core.bundle import Inferred
    from inquesto_core.importers.assemble import Assembled

__all__ = ["Laid", "Landing", "folder_name", "lay_down", "lay_population", "staging_folder"]

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_BLOCK = 1024 * 1024
_POPULATION = "population.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """A bundle that waits for its name, and its warnings; or what was refused."""

    call_id: str = ""
    label: str = ""
    folder: Path | None = None
    recordings: tuple[Path, ...] = ()
    inferred: tuple[Inferred, ...] = ()
    problems: tuple[Problem, ...] = ()
    place: str = ""
    sound: tuple[str, ...] = ()
    has_scenario: bool = False


@contextmanager
def staging_folder(target: Path) -> Iterator[Path]:
    """Make the folder in which bundles wait for their names; those of killed imports go."""
    refuse_inside(target)
    was_there = target.exists()
    ours = f"{UNFINISHED}{digest_bytes(os.uname().nodename.encode())[:8]}-"
    try:
        target.mkdir(parents=True, exist_ok=True)
        for left in target.glob(f"{ours}*"):
            if not _is_alive(left.name.removeprefix(ours).partition("-")[0]):
                shutil.rmtree(left, ignore_errors=True)
        staging = Path(tempfile.mkdtemp(prefix=f"{ours}{os.getpid()}-", dir=target))
    except OSError as exc:
        raise _unwritable(target, exc) from exc
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if not was_there:
            _remove_without_bundles(target)


def _remove_without_bundles(target: Path) -> None:
    """Remove a folder that this import made and in which no call was written."""
    with suppress(OSError):  # another import may have begun to write here
        if {path.name for path in target.iterdir()} <= {_POPULATION}:
            (target / _POPULATION).unlink(missing_ok=True)
            target.rmdir()


def _is_alive(process: str) -> bool:
    """Return whether a process of this machine still runs."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True


def _unwritable(target: Path, exc: OSError) -> StoreError:
    return StoreError(
        Problem(
            code="import_unwritable",
            file=target.name,
            found=f"cannot be written: {exc.strerror or exc}",
            expected="a folder with room for the bundles",
        )
    )


def lay_population(source: Path | None, target: Path) -> None:
    """Lay the population's file beside the bundles; another one there is not replaced."""
    if source is None:
        return
    data, final = read_bytes(source, source.name), target / _POPULATION
    if not final.exists():
        temporary = target / ".population.json"
        try:
            temporary.write_bytes(data)
            os.replace(temporary, final)  # noqa: PTH105
        except OSError as exc:
            raise _unwritable(target, exc) from exc
    elif read_bytes(final, final.name) != data:
        raise BundleError(
            Problem(
                code="import_exists",
                file=final.name,
                found="is another population than that of --population",
                expected="bundles of one population in --out",
                remedy="name another --out",
            )
        )


def lay_down(folder: Path, bundle: Assembled) -> None:
    """Write a bundle into an empty folder.

    Raises
    ------
    BundleError
        Code ``audio_digest_mismatch``: a recording is still being written.
    StoreError
        Code ``import_unwritable``.
    """
    try:
        for name, data in bundle.files.items():
            (folder / name).write_bytes(data)
        for source, entry in zip(bundle.sources, bundle.entries, strict=True):
            if _copied(source, folder / entry.file) != entry.sha256:
                raise BundleError(
                    Problem(
                        code="audio_digest_mismatch",
                        file=source.name,
                        found="changed while it was read",
                        expected="a finished recording",
                        remedy="import it again when it is written",
                    )
                )
        folder.chmod(0o755)
    except OSError as exc:
        raise _unwritable(folder, exc) from exc


def _copied(source: Path, target: Path) -> str:
    digest = hashlib.sha256()
    with source.open("rb") as read, target.open("xb") as write:
        while block := read.read(_BLOCK):
            digest.update(block)
            write.write(block)
    return digest.hexdigest()


def folder_name(call_id: str) -> str:
    """Return the folder of a call: its id, or a digest where that could be no plain name.

    >>> folder_name("call_01"), folder_name("../x")
    ('call_01', 'call-d6b96a97d147daaa')
    """
    if _PLAIN.fullmatch(call_id):
        return call_id
    return f"call-{digest_bytes(call_id.encode('utf-8'))[:16]}"


class Landing:
    """Gives bundles their names in an output folder, in the order in which they come.

    Attributes
    ----------
    folders : list of Path
        Where the calls lie now.
    n_written, n_there, n_refused, n_placed : int
        How many are new, lay there already, could not be imported, have a scenario.
    inferred : InferredTally
        What was inferred in `folders`.
    problems : list of Problem
        Refusals and warnings, in order.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._owners: dict[Path, str] = {}
        self._places: dict[str, str] = {}
        self._sounds: dict[tuple[str, ...], str] = {}
        self.folders: list[Path] = []
        self.n_written = self.n_there = self.n_refused = self.n_placed = 0
        self.inferred = InferredTally()
        self.problems: list[Problem] = []

    def refuse(self, *problems: Problem) -> None:
        """Count a refusal and keep its problems."""
        self.n_refused += 1
        self.problems += problems

    def take(self, call: Laid) -> None:
        """Give a bundle its name, or refuse it."""
        if call.folder is None:
            self.refuse(*call.problems)
            return
        shared = self._shared(call)
        if shared is not None:
            self.refuse(shared)
            return
        final = self._target / folder_name(call.call_id)
        try:
            os.rename(call.folder, final)  # noqa: PTH104
            self.n_written += 1
        except OSError as exc:
            if not final.exists():
                raise _unwritable(self._target, exc) from exc
            if _contents(final) != _contents(call.folder):
                self.refuse(_other_there(call, final, self._places.get(call.call_id)))
                return
            self.n_there += 1
        self._places.setdefault(call.call_id, call.place)
        self.n_placed += call.has_scenario
        self.folders.append(final)
        self.inferred.add(call.inferred)
        self.problems += (*call.problems, *self._same_sound(call))

    def _same_sound(self, call: Laid) -> tuple[Problem, ...]:
        """Return a warning where an earlier call has the very same sound."""
        first = self._sounds.setdefault(call.sound, call.call_id) if call.sound else call.call_id
        if first == call.call_id:
            return ()
        problem = Problem(
            code="recording_repeated",
            call_id=call.call_id,
            file=call.label,
            found=f"has the same sound, byte for byte, as call {first}",
            expected="a recording of its own for each call",
            remedy="both are imported: one of them has another call's recording, or is its copy",
            level="warning",
        )
        return (problem,)

    def _shared(self, call: Laid) -> Problem | None:
        """Return what is wrong with a recording that an earlier call has: it is of one of them."""
        for recording in call.recordings:
            owner = self._owners.setdefault(recording, call.call_id)
            if owner != call.call_id:
                return Problem(
                    code="recording_ambiguous",
                    call_id=call.call_id,
                    file=call.label,
                    found=f"has the recording {recording.name}, which call {owner} has too",
                    expected="a recording of its own for each call",
                    remedy="name the recordings like their calls, or import the calls one by one",
                )
        return None


def _contents(folder: Path) -> dict[str, str]:
    """Return the digests of a folder's files; of what is no folder, none."""
    if not folder.is_dir():
        return {}
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return {path.name: digest_bytes(path.read_bytes()) for path in files}


def _other_there(call: Laid, final: Path, first: str | None) -> Problem:
    return Problem(
        code="import_exists",
        call_id=call.call_id,
        file=call.label,
        found=f"is another call than the one in {final.name}/"
        if first is None
        else f"gives at {call.place} another call of the id than at {first}",
        expected="one call of an id in --out",
        remedy="name another --out, or move that folder away"
        if first is None
        else "give each call an id of its own, or group rows of one call with group_by",
    )
