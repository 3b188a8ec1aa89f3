"""Where a pinned model file lies, and whether it is the pinned one.

Looked for in the folders of ``INQUESTO_MODELS``, the user's cache folder, and the blobs of an
Ollama store; nothing is fetched here. A file's SHA-256 is computed once and kept by its path, size
and time of change.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from inquesto_core.errors import InstrumentError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "UNFINISHED",
    "FilePin",
    "ModelFile",
    "cache_folder",
    "digest_of_file",
    "files_of_size",
    "find_model_file",
    "forget_digests",
    "keep_digest",
    "models_folder",
    "named_model_file",
    "require_model_file",
    "shown_path",
]

_FOLDERS = "INQUESTO_MODELS"
_CHUNK = 1 << 22
_DIGESTS = "digests.json"
#: How the name of a file ends that `models pull` has not verified yet.
UNFINISHED = ".part"


class FilePin(Protocol):
    """What a protocol fixes of a model file."""

    @property
    def name(self) -> str:
        """What people call the model."""

    @property
    def sha256(self) -> str:
        """The file's digest."""

    @property
    def size_bytes(self) -> int:
        """The file's length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """What the search for one pinned file gave.

    Parameters
    ----------
    state : {"ok", "wrong", "missing"}
        ``wrong``: a file of that size is there, none with that digest.
    path, sha256 : optional
        Of the file found.
    """

    state: Literal["ok", "wrong", "missing"]
    path: Path | None = None
    sha256: str | None = None


def cache_folder() -> Path:
    """Return the user's cache folder of this program; it may not exist."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "inquesto-core"


def models_folder() -> Path:
    """Return where `models pull` puts files; it may not exist."""
    return cache_folder() / "models"


def _model_folders() -> Iterator[Path]:
    for text in os.environ.get(_FOLDERS, "").split(os.pathsep):
        if text:
            yield Path(text)
    yield models_folder()


def _ollama_stores() -> Iterator[Path]:
    named = os.environ.get("OLLAMA_MODELS")
    if named:
        yield Path(named)
    yield Path.home() / ".ollama" / "models"
    yield Path("/usr/share/ollama/.ollama/models")


def _candidates(pin: FilePin) -> Iterator[Path]:
    """Yield the files that have the pinned file's size, in the order of the search."""
    for folder in _model_folders():
        yield from files_of_size(folder, pin.size_bytes)
    for store in _ollama_stores():
        blob = store / "blobs" / f"sha256-{pin.sha256}"
        if _size(blob) == pin.size_bytes:
            yield blob


def files_of_size(place: Path, size_bytes: int) -> list[Path]:
    """Return the finished files of a length: a file itself, or those in a folder, sorted."""
    paths = [place] if place.is_file() else sorted(_files(place))
    return [path for path in paths if path.suffix != UNFINISHED and _size(path) == size_bytes]


def _files(folder: Path) -> Iterator[Path]:
    try:
        yield from (path for path in folder.rglob("*") if path.is_file())
    except OSError:
        return


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _known_digests(path: Path) -> dict[str, str]:
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    is_map = isinstance(kept, dict) and all(isinstance(value, str) for value in kept.values())
    return kept if is_map else {}


def forget_digests() -> None:
    """Let every model be read anew: a disk that loses bits changes no time of a file."""
    with contextlib.suppress(OSError):
        (cache_folder() / _DIGESTS).unlink()


def digest_of_file(path: Path) -> str:
    """Return a file's SHA-256, from the user's cache where neither size nor times have changed.

    Raises
    ------
    InstrumentError
        Code ``model_unreadable``.
    """
    try:
        key = _key_of(path)  # of the file as it was before it was read
        found = _known_digests(cache_folder() / _DIGESTS).get(key) or _sha256(path)
        _keep(key, found)
        return found  # noqa: TRY300 - reading and naming it are one thing that can fail
    except OSError as exc:
        raise InstrumentError(
            Problem(
                code="model_unreadable",
                file=path.name,
                found=f"cannot be read ({exc.strerror})",
                expected="a readable model file",
            )
        ) from exc


def _key_of(path: Path) -> str:
    told = path.stat()
    # The time of modification can be set back, as copying does; the time of change cannot.
    return f"{path.resolve()}|{told.st_size}|{told.st_mtime_ns}|{told.st_ctime_ns}"


def keep_digest(path: Path, sha256: str) -> None:
    """Remember what a file's SHA-256 is, so that it need not be read for it again."""
    _keep(_key_of(path), sha256)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _keep(key: str, sha256: str) -> None:
    """Write a digest down; a cache that cannot be written costs time and nothing else."""
    path = cache_folder() / _DIGESTS
    known = _known_digests(path)
    if known.get(key) == sha256:
        return
    known[key] = sha256
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(known, sort_keys=True), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        return


def find_model_file(pin: FilePin) -> ModelFile:
    """Return the first file with the pinned digest, else what stands in its place."""
    wrong: ModelFile | None = None
    for path in _candidates(pin):
        found = digest_of_file(path)
        if found == pin.sha256:
            return ModelFile(state="ok", path=path, sha256=found)
        wrong = wrong or ModelFile(state="wrong", path=path, sha256=found)
    return wrong or ModelFile(state="missing")


def require_model_file(pin: FilePin) -> Path:
    """Return the pinned file.

    Raises
    ------
    InstrumentError
        ``model_missing`` or ``model_not_pinned``, with what to do.
    """
    found = find_model_file(pin)
    if found.state == "ok" and found.path is not None:
        return found.path
    put = (
        f"fetch it with `models pull`, or put the file with that SHA-256 into a folder named by "
        f"{_FOLDERS} or into {shown_path(models_folder())}"
    )
    if found.state == "wrong":
        raise InstrumentError(
            Problem(
                code="model_not_pinned",
                file=None if found.path is None else found.path.name,
                found=f"has the SHA-256 {found.sha256}",
                expected=f"{pin.sha256} ({pin.name})",
                remedy=put,
            )
        )
    raise InstrumentError(
        Problem(
            code="model_missing",
            found=f"{pin.name} is not on this machine",
            expected=f"a file of {pin.size_bytes} bytes with the SHA-256 {pin.sha256}",
            remedy=put,
        )
    )


def shown_path(path: Path) -> str:
    """Return a path as a person knows it, without the name of their home."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def named_model_file(path: Path) -> ModelFile:
    """Return a GGUF file that the user named, with its digest.

    Raises
    ------
    InstrumentError
        ``model_missing`` where nothing is there, ``model_unreadable`` where it is no GGUF file.
    """
    other = _what_else(path)
    if other is not None:
        is_missing = other == _NOTHING
        found = f"there is {other} {path.name!r} where it was named"
        raise _not_a_model(path, found, code="model_missing" if is_missing else "model_unreadable")
    try:
        with path.open("rb") as source:
            begins = source.read(len(_MAGIC))
    except OSError as exc:
        raise _not_a_model(path, f"{path.name!r} cannot be read ({exc.strerror})") from exc
    if begins != _MAGIC:
        shown = begins.decode("ascii", "backslashreplace") if begins else ""
        found = f"{path.name!r} begins with {shown!r}" if begins else f"{path.name!r} is empty"
        raise _not_a_model(path, found)
    return ModelFile(state="ok", path=path, sha256=digest_of_file(path))


#: What a GGUF file begins with.
_MAGIC = b"GGUF"
_NOTHING = "no file"


def _what_else(path: Path) -> str | None:
    """Return what stands where a file was named; None = a file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "a link that leads nowhere," if path.is_symlink() else _NOTHING
    except (OSError, ValueError):
        return "nothing that can be looked at,"
    if stat.S_ISREG(mode):
        return None
    return "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device,"


def _not_a_model(path: Path, found: str, *, code: str = "model_unreadable") -> InstrumentError:
    return InstrumentError(
        Problem(
            code=code,
            found=found,
            expected=f"a GGUF file, which begins with {_MAGIC.decode()}",
            remedy="check the path behind gguf:",
        )
    )
