"""How exports become bundles: every call alone, in the order of the exports, each folder whole.

A call that cannot be imported is one line and stops no other. Workers lay bundles down beside the
output; the one process that began them gives them their names, in order, so that the same exports
make the same folders whatever the number of workers.
"""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from inquesto_core.errors import InquestoError, Problem, StoreError
from inquesto_core.importers.assemble import assemble
from inquesto_core.importers.exports import Export, documents, find_exports
from inquesto_core.importers.fields import Node
from inquesto_core.importers.landing import Laid, Landing, lay_down, lay_population, staging_folder
from inquesto_core.importers.marks import looks_like
from inquesto_core.importers.registry import Importer, importer_of

if TYPE_CHECKING:
    from inquesto_core.bundle.inferred import InferredKind
    from inquesto_core.importers.draft import ImportOptions

__all__ = ["Imported", "import_exports"]

#: Codes of what is not as its platform documents.
_UNREAD = frozenset({"export_field", "export_time", "role_unstated"})
#: Fewer exports are done before a worker has started.
_WORTH_WORKERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did.

    Parameters
    ----------
    folders : tuple of Path
        The bundles of all calls that could be imported, in the order of the exports.
    n_written, n_there : int
        How many were written, and how many lay there already, the same.
    n_placed : int
        How many of `folders` have a scenario.
    n_refused : int
        Calls, or whole exports, that could not be imported.
    inferred : tuple of InferredKind
        What was inferred, and in how many of `folders`.
    problems : tuple of Problem
        Errors of what was refused, and warnings.
    """

    folders: tuple[Path, ...]
    n_written: int
    n_there: int
    n_refused: int
    n_placed: int
    inferred: tuple[InferredKind, ...]
    problems: tuple[Problem, ...]


def import_exports(
    platform: str,
    sources: Sequence[str | Path],
    *,
    out: str | Path,
    options: ImportOptions,
    workers: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Imported:
    """Write a bundle for every call in a platform's exports.

    Parameters
    ----------
    platform : str
        One of `platform_names()`.
    sources : sequence of path
        Exports, folders of them, or patterns.
    out : path
        The folder that the bundles come into; the bundles in it stay.
    options : ImportOptions
        What the user says where exports do not.
    workers : int
        Processes; 0 = this one.
    progress : callable, optional
        Told how many of how many exports are done.

    Raises
    ------
    BundleError
        Code ``platform_unknown`` or ``option_unused``.
    StoreError
        Code ``import_unwritable``.
    """
    importer = importer_of(platform, options)
    found, missing = find_exports(sources, importer.patterns)
    target = Path(out)
    exports = [export for export in found if not _lies_in(export.path, target)]
    landing = Landing(target)
    for problem in missing:
        landing.refuse(problem)
    with staging_folder(target) as staging:
        lay_population(options.population_file, target)
        work = partial(_import_one, platform=platform, options=options, staging=staging)
        for done, laid in enumerate(_each(work, exports, workers), 1):
            for call in laid:
                landing.take(call)
            if progress is not None:
                progress(done, len(exports))
    return Imported(
        folders=tuple(dict.fromkeys(landing.folders)),
        n_written=landing.n_written,
        n_there=landing.n_there,
        n_refused=landing.n_refused,
        n_placed=landing.n_placed,
        inferred=landing.inferred.kinds(),
        problems=tuple(landing.problems),
    )


def _lies_in(path: Path, folder: Path) -> bool:
    return path.absolute().is_relative_to(folder.absolute())


def _each(
    work: Callable[[Export], list[Laid]], exports: Sequence[Export], workers: int
) -> Iterator[list[Laid]]:
    if workers <= 1 or len(exports) < _WORTH_WORKERS:
        yield from map(work, exports)
        return
    chunk = max(1, min(32, len(exports) // (4 * workers)))
    try:
        with ProcessPoolExecutor(
            min(workers, len(exports)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_IGN),  # the first process ends the others
        ) as pool:
            yield from pool.map(work, exports, chunksize=chunk)
    except BrokenProcessPool as exc:
        raise StoreError(
            Problem(
                code="workers_failed",
                found="lost a worker in mid-import, as happens without memory",
                expected="workers that live to the end",
                remedy="import again with --workers 1: what was written stays",
            )
        ) from exc


def _import_one(
    export: Export, *, platform: str, options: ImportOptions, staging: Path
) -> list[Laid]:
    """Lay down the bundles of one export."""
    importer = importer_of(platform, options)
    laid = []
    for call in _calls(export, importer, options):
        if isinstance(call, Problem):
            laid.append(Laid(problems=(_refused(call, export, platform),)))
            continue
        node, is_alone = call
        try:
            draft = importer.draft(node, export.path, options)
            bundle = assemble(draft, options, export=export.path, export_is_one_call=is_alone)
            folder = Path(tempfile.mkdtemp(dir=staging))
            lay_down(folder, bundle)
        except StoreError:
            raise
        except InquestoError as exc:
            laid.append(Laid(problems=(_refused(exc.problem, export, platform, node),)))
            continue
        warnings = dict.fromkeys(
            problem.at(call_id=draft.call_id, file=export.label) for problem in bundle.problems
        )
        laid.append(
            Laid(
                call_id=draft.call_id,
                label=export.label,
                folder=folder,
                recordings=tuple(source.absolute() for source in bundle.sources),
                inferred=bundle.inferred,
                problems=tuple(warnings),
                place=" ".join(part for part in (export.label, node.pointer.strip()) if part),
                sound=tuple(entry.sha256 or "" for entry in bundle.entries),
                has_scenario=bundle.has_scenario,
            )
        )
    return laid


def _refused(problem: Problem, export: Export, platform: str, node: Node | None = None) -> Problem:
    """Return a refusal with its export's name and something to do."""
    other = None if node is None or problem.code not in _UNREAD else looks_like(node.value)
    if other is not None and other != platform:
        remedy = f"it looks like an export of {other}: import {other}"
        return replace(problem.at(file=export.label), remedy=remedy)
    remedy = problem.remedy or "mend it and import again; whatever else there is, is imported"
    return replace(problem.at(file=export.label), remedy=remedy)


def _calls(
    export: Export, importer: Importer, options: ImportOptions
) -> list[tuple[Node, bool] | Problem]:
    """Return the calls of an export, each with whether it is the only one."""
    found: list[Node | Problem] = []
    for document in _whole(export) if importer.is_log else documents(export):
        if isinstance(document, Problem):
            found.append(document)
            continue
        try:
            found += importer.calls(document, options)
        except InquestoError as exc:
            found.append(_refused(exc.problem, export, importer.name, document))
    if not found:
        found.append(
            Problem(
                code="export_empty",
                found="holds no call",
                expected=f"{importer.holds} of {importer.name}",
            )
        )
    is_alone = len(found) == 1
    return [each if isinstance(each, Problem) else (each, is_alone) for each in found]


def _whole(export: Export) -> list[Node | Problem]:
    """Return the lines of a log as one list; a line that cannot be read refuses it whole."""
    lines = list(documents(export))
    broken = [line for line in lines if isinstance(line, Problem)]
    if broken or export.path.suffix.lower() not in {".jsonl", ".ndjson"}:
        return [broken[0]] if broken else lines
    values = [line.value for line in lines if isinstance(line, Node)]
    return [Node(values, export.label)]
