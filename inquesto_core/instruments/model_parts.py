"""Which files make up a pinned model, whether all are here, and where each may be fetched from.

A source moves no result: only the SHA-256 decides whether a file is the pinned one. So sources are
not part of a protocol's digest; they stand in `model_sources.json`, by the digest of the model's
main file. A model that is not listed there can be fetched from a source that the user names.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.instruments.model_files import digest_of_file, require_model_file

if TYPE_CHECKING:
    from inquesto_core.instruments.model_files import FilePin

__all__ = [
    "ModelPart",
    "PinnedModel",
    "is_part_in",
    "lacking_parts",
    "pinned_model",
    "require_whole_model",
]

_SOURCES = Path(__file__).with_name("model_sources.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPart:
    """One file of a pinned model.

    Parameters
    ----------
    name : str
        What its place is called by.
    sources : tuple of str
        Where it may be fetched from, in the order in which they are tried.
    """

    name: str
    sha256: str
    size_bytes: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedModel:
    """The files of a pinned model.

    Parameters
    ----------
    name : str
        What people call it, and the folder that `models pull` puts its files into.
    main : ModelPart
        The file that the protocol pins.
    beside : tuple of ModelPart
        What must lie in the folder of the main file.
    terms : str or None
        Where the terms stand that the model is given under.
    """

    name: str
    main: ModelPart
    beside: tuple[ModelPart, ...]
    terms: str | None

    @property
    def sha256(self) -> str:
        """The digest of the main file."""
        return self.main.sha256

    @property
    def size_bytes(self) -> int:
        """The length of the main file."""
        return self.main.size_bytes


def pinned_model(pin: FilePin) -> PinnedModel:
    """Return the files of the model that a protocol pins."""
    known: dict[str, Any] = json.loads(_SOURCES.read_bytes()).get(pin.sha256, {})
    return PinnedModel(
        name=pin.name,
        main=ModelPart(
            name=known.get("file", f"{pin.name}-{pin.sha256[:16]}"),
            sha256=pin.sha256,
            size_bytes=pin.size_bytes,
            sources=tuple(known.get("sources", ())),
        ),
        beside=tuple(
            ModelPart(
                name=part["file"],
                sha256=part["sha256"],
                size_bytes=part["bytes"],
                sources=tuple(part["sources"]),
            )
            for part in known.get("beside", ())
        ),
        terms=known.get("terms"),
    )


def is_part_in(folder: Path, part: ModelPart) -> bool:
    """Return whether a folder holds a file under its name and with its SHA-256."""
    path = folder / part.name
    return (
        path.is_file()
        and path.stat().st_size == part.size_bytes
        and digest_of_file(path) == part.sha256
    )


def lacking_parts(model: PinnedModel, main: Path) -> tuple[ModelPart, ...]:
    """Return which files are not beside the main file as they should be."""
    return tuple(part for part in model.beside if not is_part_in(main.parent, part))


def require_whole_model(model: PinnedModel) -> Path:
    """Return the main file, which has beside it what belongs there.

    Raises
    ------
    InstrumentError
        ``model_missing``, ``model_not_pinned``, ``model_incomplete``.
    """
    path = require_model_file(model)
    lacking = lacking_parts(model, path)
    if lacking:
        raise InstrumentError(
            Problem(
                code="model_incomplete",
                file=path.name,
                found="does not have beside it " + ", ".join(part.name for part in lacking),
                expected="the files of one conversion in one folder",
                remedy="fetch them with `models pull`",
            )
        )
    return path
