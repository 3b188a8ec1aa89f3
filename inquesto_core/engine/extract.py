"""Evidence of many bundles: in input order, by any number of workers, never measured twice.

A call's rows are kept under the digest of its files and of everything that can move them (protocol,
engine, runtime) until the run is written, so that a killed run goes on where it stopped.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core import __version__
from inquesto_core.bundle import read_bundle
from inquesto_core.canonical import canonical_bytes, digest_json
from inquesto_core.engine.exclusion import with_exclusion_checked
from inquesto_core.errors import BundleError, Problem, SchemaError
from inquesto_core.instruments.extract import measure_call, problem_row
from inquesto_core.instruments.vad import SileroVad
from inquesto_core.protocol import load_protocol
from inquesto_core.score.accounting import UNREADABLE_BUNDLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inquesto_core.bundle import BundleRef
    from inquesto_core.protocol import Protocol

__all__ = ["Extracted", "extract_all"]

Rows = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One bundle's evidence.

    Parameters
    ----------
    call_id : str
        The bundle's label where call.json cannot be read.
    rows : dict of lists of dict
    digests : tuple of (file, SHA-256)
    """

    call_id: str
    rows: Rows
    digests: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    ref: BundleRef
    protocol_folder: Path
    kept: Path


class _Worker:
    """The instruments of one process, made when first needed."""

    protocol: Protocol | None = None
    vad: SileroVad | None = None

    def ready(self, folder: Path) -> tuple[Protocol, SileroVad]:
        if self.protocol is None or self.vad is None or self.protocol.folder != folder:
            self.protocol = load_protocol(folder)
            self.vad = SileroVad(self.protocol.instruments.vad)
        return self.protocol, self.vad


_worker = _Worker()


def unusable(call_id: str, reason: str, problem: Problem) -> Rows:
    """Return the rows of a call that is known by name only."""
    empty: dict[str, Any] = {"timing_reasons": [], "warnings": [], "condition_class": "default"}
    absent = dict.fromkeys(("has_trace", "has_transcript", "has_verdicts"), False)
    return {
        "calls": [{"call_id": call_id, "exclusion_reason": reason, **empty, **absent}],
        "problems": [problem_row(problem, call_id)],
    }


def _key(digests: tuple[tuple[str, str], ...], call_id: str, protocol: Protocol) -> str:
    return digest_json(
        {
            "call": call_id,
            "files": [list(pair) for pair in digests],
            "protocol": protocol.digest,
            "engine": __version__,
            "runtime": SileroVad.runtime_version(),
        }
    )


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(path)


def _extract(task: _Task) -> Extracted:
    try:
        bundle = read_bundle(task.ref)
    except (BundleError, SchemaError) as exc:
        rows = unusable(task.ref.label, UNREADABLE_BUNDLE, exc.problem)
        return Extracted(call_id=task.ref.label, rows=rows, digests=())
    protocol, vad = _worker.ready(task.protocol_folder)
    bundle = with_exclusion_checked(bundle, protocol)
    call_id = bundle.call.call_id
    path = task.kept / f"{_key(bundle.digests, call_id, protocol)}.json"
    if path.is_file():
        rows = json.loads(path.read_bytes())
    else:
        rows = measure_call(bundle, protocol=protocol, vad=vad)
        _write(path, canonical_bytes(rows))
    return Extracted(call_id=call_id, rows=rows, digests=bundle.digests)


def _results(tasks: list[_Task], workers: int) -> Iterator[Extracted]:
    if workers <= 1 or len(tasks) <= 1:
        yield from map(_extract, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=context) as pool:
        yield from pool.map(_extract, tasks)


def extract_all(
    refs: Sequence[BundleRef],
    *,
    protocol: Protocol,
    kept: Path,
    workers: int,
    progress: Callable[[int, int], None],
) -> list[Extracted]:
    """Return the evidence of every bundle, in the order of `refs`.

    Parameters
    ----------
    kept : Path
        Folder of rows already measured.
    progress : callable
        Told how many of how many bundles are done.
    """
    tasks = [_Task(ref=ref, protocol_folder=protocol.folder, kept=kept) for ref in refs]
    out: list[Extracted] = []
    for result in _results(tasks, workers):
        out.append(result)
        progress(len(out), len(tasks))
    return out
