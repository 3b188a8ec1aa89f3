"""Bringing a pinned model's files to where `model_files` finds them, and from which source.

Each file is taken from the first source that gives it: those that the user names, else the known
ones. What is here already is not fetched.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.instruments.model_connection import is_web_address, shown_address
from inquesto_core.instruments.model_files import (
    files_of_size,
    find_model_file,
    models_folder,
    shown_path,
)
from inquesto_core.instruments.model_parts import lacking_parts
from inquesto_core.instruments.model_transfer import SourceFailed, unfinished

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inquesto_core.instruments.model_parts import ModelPart, PinnedModel

    Progress = Callable[[str, int, int], None]

__all__ = ["pull_model"]


def pull_model(
    model: PinnedModel,
    *,
    given: Sequence[str] = (),
    allow_http: bool = False,
    progress: Progress,
) -> tuple[Path, bool]:
    """Return the main file of a pinned model that is whole, and whether anything was fetched.

    Parameters
    ----------
    model : PinnedModel
    given : sequence of str
        Sources in place of the known ones: a folder, or an address that ends in ``/``, holds the
        files by their names; anything else is the main file itself.
    allow_http : bool
        Plain http is allowed to any host.
    progress : callable
        Told a file's name, how many of its bytes are here, and how many there are.

    Raises
    ------
    InstrumentError
        ``model_not_fetched``, ``pull_busy``.
    StoreError
        ``disk_full``, ``models_unwritable``.
    """
    found = find_model_file(model)
    main = found.path if found.state == "ok" else None
    path = main or models_folder() / model.name / model.main.name
    lacking = lacking_parts(model, path) + (() if main else (model.main,))
    for part in lacking:
        sources = [source for text in given for source in _sources_in(text, part, model)]
        _pull(
            part,
            path.with_name(part.name),
            sources if given else part.sources,
            looked_in=given,
            allow_http=allow_http,
            progress=progress,
        )
    return path, bool(lacking)


def _sources_in(given: str, part: ModelPart, model: PinnedModel) -> list[str]:
    """Return where a given source has a file."""
    if is_web_address(given):
        if given.endswith("/"):
            return [given + part.name]
        return [given] if part is model.main else []
    place = _local(given)
    if place.is_dir():
        same = files_of_size(place, part.size_bytes)
        return [str(path) for path in sorted(same, key=lambda path: path.name != part.name)]
    if part is model.main:
        return [given]
    beside = place.with_name(part.name)
    return [str(beside)] if beside.is_file() else []


def _local(source: str) -> Path:
    if source.lower().startswith("file:"):
        return Path(unquote(urlsplit(source).path))
    return Path(source)


def _pull(
    part: ModelPart,
    target: Path,
    sources: Sequence[str],
    *,
    looked_in: Sequence[str],
    allow_http: bool,
    progress: Progress,
) -> None:
    """Put one file into its place, from the first source that gives it."""
    refusals = []
    with unfinished(part, target, progress=progress) as growing:
        for source in sources:
            try:
                if is_web_address(source):
                    growing.fetch(source, allow_http=allow_http)
                else:
                    growing.copy(_local(source))
            except SourceFailed as exc:
                refusals.append(f"{shown_address(source)}: {exc}")
            else:
                return
    nothing = "no source of it is known"
    if looked_in:
        where = ", ".join(map(shown_address, looked_in))
        nothing = f"{where} holds no file of {part.size_bytes} bytes"
    raise InstrumentError(
        Problem(
            code="model_not_fetched",
            file=part.name,
            found="could not be had: " + ("; ".join(refusals) or nothing),
            expected=f"{part.size_bytes} bytes with the SHA-256 {part.sha256}",
            remedy=(
                "run it again (what has come is kept), name another source with --from, or copy "
                f"the file into {shown_path(models_folder())}"
            ),
        )
    )
