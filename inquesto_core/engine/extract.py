"""Evidence of many bundles: in input order, by any number of workers, never measured twice.

A call's rows are kept in an evidence store under the digest of its files and of everything that can
move them (what the protocol measures, engine, runtime), so that a killed run goes on where it
stopped, and a later one measures only what is new.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core import __version__
from inquesto_core.bundle import read_bundle
from inquesto_core.canonical import digest_json
from inquesto_core.engine.exclusion import with_exclusion_checked
from inquesto_core.errors import BundleError, Problem, SchemaError
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.instruments.extract import measure_call, problem_row
from inquesto_core.instruments.vad import SileroVad
from inquesto_core.protocol import load_protocol, measurement_digest
from inquesto_core.score.accounting import UNREADABLE_BUNDLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inquesto_core.bundle import BundleRef
    from inquesto_core.protocol import Protocol

__all__ = ["Extracted", "extract_all", "unusable", "vad_provenance"]

Rows = dict[str, list[dict[str, Any]]]

#: The kind of entry that a call's measured rows are.
MEASURED_KIND = "measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One bundle's evidence.

    Parameters
    ----------
    call_id : str
        The bundle's label where call.json cannot be read.
    rows : dict of lists of dict
    digests : tuple of (file, SHA-256)
    ref : BundleRef
        Where it lies.
    """

    call_id: str
    rows: Rows
    digests: tuple[tuple[str, str], ...]
    ref: BundleRef


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    ref: BundleRef
    protocol_folder: Path
    kept: Path


class _Worker:
    """The instruments of one process, made when first needed."""

    protocol: Protocol | None = None
    vad: SileroVad | None = None
    measurement: str = ""
    store: EvidenceStore | None = None

    def kept(self, folder: Path) -> EvidenceStore:
        if self.store is None or self.store.root != folder:
            self.store = EvidenceStore.of(folder)
        return self.store

    def ready(self, folder: Path) -> tuple[Protocol, SileroVad]:
        if self.protocol is None or self.vad is None or self.protocol.folder != folder:
            self.protocol = load_protocol(folder)
            self.vad = SileroVad(self.protocol.instruments.vad)
            self.measurement = measurement_digest(self.protocol)
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


def _key(digests: tuple[tuple[str, str], ...], call_id: str, measurement: str) -> str:
    return digest_json(
        {
            "call": call_id,
            "files": [list(pair) for pair in digests],
            "measurement": measurement,
            "engine": __version__,
            "runtime": SileroVad.runtime_version(),
        }
    )


def vad_provenance(protocol: Protocol) -> dict[str, Any]:
    """Return which speech detector measures here, and whether its runtime is the pinned one."""
    pin, version = protocol.instruments.vad, SileroVad.runtime_version()
    return {
        "sha256": pin.sha256,
        "runtime": f"{pin.runtime} {version}",
        "runtime_is_pinned": version == pin.runtime_version,
    }


def _extract(task: _Task) -> Extracted:
    try:
        bundle = read_bundle(task.ref)
    except (BundleError, SchemaError) as exc:
        rows = unusable(task.ref.label, UNREADABLE_BUNDLE, exc.problem)
        return Extracted(call_id=task.ref.label, rows=rows, digests=(), ref=task.ref)
    protocol, vad = _worker.ready(task.protocol_folder)
    bundle = with_exclusion_checked(bundle, protocol)
    call_id = bundle.call.call_id
    key = _key(bundle.digests, call_id, _worker.measurement)
    store = _worker.kept(task.kept)
    found = store.find(MEASURED_KIND, key)
    if found is None:
        found = measure_call(bundle, protocol=protocol, vad=vad)
        store.keep(MEASURED_KIND, key, found, call_id=call_id, made_by=_worker.measurement)
    return Extracted(call_id=call_id, rows=found, digests=bundle.digests, ref=task.ref)


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
        The evidence store of rows already measured.
    progress : callable
        Told how many of how many bundles are done.
    """
    tasks = [_Task(ref=ref, protocol_folder=protocol.folder, kept=kept) for ref in refs]
    out: list[Extracted] = []
    for result in _results(tasks, workers):
        out.append(result)
        progress(len(out), len(tasks))
    return out
