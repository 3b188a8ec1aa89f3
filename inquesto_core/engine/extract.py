"""Evidence of many bundles: by any workers in any order, never measured twice.

A call's rows are kept in an evidence store under the digest of its files and of everything that can
move them (what the protocol measures, engine, runtime), so that a killed run goes on where it
stopped, and a later one measures only what is new. Rows stay there: what goes between processes,
and what is held of all calls, is where they lie.

A call that cannot be measured is a stated state of that call, be it by an error or by a process
that does not survive it. It is not kept, so that a later run tries it again.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core import __version__
from inquesto_core.bundle import at_hand, read_bundle
from inquesto_core.canonical import digest_json
from inquesto_core.engine.exclusion import with_exclusion_checked
from inquesto_core.engine.executors import Lost
from inquesto_core.errors import BundleError, InstrumentError, Problem, SchemaError, StoreError
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.instruments.extract import measure_call, problem_row, unmeasured_call
from inquesto_core.instruments.vad import SileroVad
from inquesto_core.protocol import load_protocol, measurement_digest
from inquesto_core.score.accounting import UNREADABLE_BUNDLE
from inquesto_core.shipped import protocols_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from inquesto_core.bundle import Bundle, BundleRef
    from inquesto_core.engine.executors import Executor
    from inquesto_core.places import Location
    from inquesto_core.protocol import Protocol

__all__ = [
    "MEASUREMENT_FAILED",
    "Extracted",
    "Measuring",
    "extract_all",
    "longest_first",
    "measuring_of",
    "protocol_name",
    "require_shared",
    "unusable",
    "vad_provenance",
]

Rows = dict[str, list[dict[str, Any]]]
Digests = tuple[tuple[str, str], ...]

#: The kind of entry that a call's measured rows are.
MEASURED_KIND = "measured"
#: What says nothing of a bundle: the run ends, and goes on when it is begun again.
_FAULTS_OF_THE_LINE = frozenset({"remote_unreachable", "remote_failed", "remote_denied"})
#: Why the timing of a call is not evaluated that could not be measured.
MEASUREMENT_FAILED = "measurement_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """What is done with a bundle: the protocol by its shipped name or folder, and the store.

    Parameters
    ----------
    instruments : str
        Digest of what measures here; a worker that measures with anything else refuses.
    is_remote : bool
        Whether that may happen on a machine that does not see the same folders.
    """

    protocol: str
    kept: Location
    instruments: str
    is_remote: bool

    def __call__(self, ref: BundleRef) -> _Found:
        """Return where a bundle's evidence is kept; measure it where it is not."""
        found, _ = _measured(self, ref)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatingLost:
    """What is done with a bundle whose sound no worker survives: its other files are read."""

    measuring: Measuring

    def __call__(self, lost: tuple[BundleRef, Lost]) -> _Found:
        """Return the evidence of the bundle's other files."""
        ref, loss = lost
        return _unmeasured(_worker.instruments_of(self.measuring).protocol, ref, _lost(loss))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a worker tells of a bundle: a key in the store, or the rows that no store keeps."""

    call_id: str
    digests: Digests
    key: str | None = None
    own: Rows | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """One bundle's evidence.

    Parameters
    ----------
    call_id : str
        The bundle's label where call.json cannot be read.
    digests : tuple of (file, SHA-256)
    ref : BundleRef
        Where it lies.
    key : str or None
        Where its rows are kept; None = `own` are its rows.
    own : dict of lists of dict, optional
    """

    call_id: str
    digests: Digests
    ref: BundleRef
    own: Rows | None = None
    key: str | None = None
    measuring: Measuring | None = field(default=None, repr=False)

    @property
    def rows(self) -> Rows:
        """Return the rows; measured again if they were damaged since they were kept."""
        if self.own is not None or self.key is None or self.measuring is None:
            return self.own or {}
        kept = _worker.store_in(self.measuring.kept).find(MEASURED_KIND, self.key)
        return kept if kept is not None else _measured(self.measuring, self.ref)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instruments:
    protocol: Protocol
    vad: SileroVad
    measurement: str


class _Worker:
    """The instruments of one process, made when first needed."""

    made_for: Measuring | None = None
    instruments: _Instruments | None = None
    store: EvidenceStore | None = None

    def store_in(self, folder: Location) -> EvidenceStore:
        if self.store is None or self.store.root != folder:
            self.store = EvidenceStore.of(folder)
        return self.store

    def instruments_of(self, measuring: Measuring) -> _Instruments:
        if self.instruments is None or self.made_for != measuring:
            protocol = load_protocol(measuring.protocol)
            if _instruments_digest(protocol) != measuring.instruments:
                raise InstrumentError(
                    Problem(
                        code="worker_differs",
                        found="a worker has another version of the engine, its runtime or the "
                        "protocol than the process that began the run",
                        expected="one installation on every machine",
                        remedy="install the same lock on each; nothing measured is lost",
                    )
                )
            self.instruments = _Instruments(
                protocol=protocol,
                vad=SileroVad(protocol.instruments.vad),
                measurement=measurement_digest(protocol),
            )
            self.made_for = measuring
        return self.instruments


_worker = _Worker()


def _instruments_digest(protocol: Protocol) -> str:
    versions = [__version__, SileroVad.runtime_version(), protocol.digest]
    return digest_json(versions)


def protocol_name(protocol: Protocol) -> str:
    """Return what a worker loads a protocol by: its name if it is shipped, else its folder."""
    shipped = protocol.folder.parent == protocols_folder()
    return protocol.folder.name if shipped else str(protocol.folder)


def unusable(call_id: str, reason: str, problem: Problem) -> Rows:
    """Return the rows of a call that is known by name only."""
    empty: dict[str, Any] = {"timing_reasons": [], "warnings": [], "condition_class": "default"}
    absent = dict.fromkeys(
        ("has_trace", "has_caller_calls", "has_transcript", "has_verdicts"), False
    )
    return {
        "calls": [{"call_id": call_id, "exclusion_reason": reason, **empty, **absent}],
        "problems": [problem_row(problem, call_id)],
    }


def _key(digests: Digests, call_id: str, measurement: str) -> str:
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


def require_shared(path: Location) -> None:
    """Refuse to work where a folder of the run does not exist.

    Raises
    ------
    InstrumentError
        ``folder_not_shared``: a worker on another machine sees other folders.
    """
    if not path.exists():
        raise InstrumentError(
            Problem(
                code="folder_not_shared",
                found=f"a worker does not see {path.name}",
                expected="sources, --out and --store under the same path on every machine",
                remedy="put them in a shared folder; unpack archives there first",
            )
        )


def _measured(measuring: Measuring, ref: BundleRef) -> tuple[_Found, Rows]:
    """Return where a bundle's evidence is kept, and its rows."""
    if measuring.is_remote:
        require_shared(measuring.kept)
        if ref.remote is None:
            require_shared(ref.path)
    tools, store = _worker.instruments_of(measuring), _worker.store_in(measuring.kept)
    try:
        with at_hand(ref):
            return _measured_here(ref, tools, store)
    except BundleError as exc:  # it could not be fetched
        if exc.problem.code in _FAULTS_OF_THE_LINE:
            raise StoreError(exc.problem) from exc
        return _by_name(ref, exc.problem)


def _measured_here(
    ref: BundleRef, tools: _Instruments, store: EvidenceStore
) -> tuple[_Found, Rows]:
    try:
        bundle = _read(ref, tools.protocol)
    except (BundleError, SchemaError) as exc:
        return _by_name(ref, exc.problem)
    except Exception as exc:  # noqa: BLE001 - whatever one call does, the others are measured
        return _by_name(ref, _failure(exc))
    call_id = bundle.call.call_id
    key = _key(bundle.digests, call_id, tools.measurement)
    rows = store.find(MEASURED_KIND, key)
    if rows is None:
        try:
            rows = measure_call(bundle, protocol=tools.protocol, vad=tools.vad)
        except InstrumentError:
            raise
        except Exception as exc:  # noqa: BLE001 - whatever one call does, the others are measured
            found = _unmeasured(tools.protocol, ref, _failure(exc))
            return found, found.own or {}
        store.keep(MEASURED_KIND, key, rows, call_id=call_id, made_by=tools.measurement)
    # Nothing is kept of a call that was to be forgotten.
    own = rows if store.is_forgotten(call_id) else None
    return _Found(call_id=call_id, digests=bundle.digests, key=key, own=own), rows


def _read(ref: BundleRef, protocol: Protocol) -> Bundle:
    return with_exclusion_checked(read_bundle(ref), protocol)


def _by_name(ref: BundleRef, problem: Problem) -> tuple[_Found, Rows]:
    rows = unusable(ref.label, UNREADABLE_BUNDLE, problem)
    return _Found(call_id=ref.label, digests=(), own=rows), rows


def _unmeasured(protocol: Protocol, ref: BundleRef, problem: Problem) -> _Found:
    with at_hand(ref):
        bundle = _read(ref, protocol)
        rows = unmeasured_call(
            bundle, reason=MEASUREMENT_FAILED, problem=problem, protocol=protocol
        )
    return _Found(call_id=bundle.call.call_id, digests=bundle.digests, own=rows)


def _failure(exc: Exception) -> Problem:
    return Problem(
        code="measurement_failed",
        found=f"could not be measured: {type(exc).__name__}: {exc}",
        expected="a call that is measured to its end",
        remedy="the call is not evaluated; please report it, with its recording if you may",
    )


def _lost(loss: Lost) -> Problem:
    return Problem(
        code="worker_lost",
        found=f"ended {loss.times} workers that measured it, the last alone: {loss.how}",
        expected="a call that is measured to its end",
        remedy="the call is not evaluated; score it again with more memory free, and report it "
        "if it happens again",
    )


def measuring_of(protocol: Protocol, kept: Location, *, is_remote: bool = False) -> Measuring:
    """Return what is done with each bundle of a run."""
    return Measuring(
        protocol=protocol_name(protocol),
        kept=kept.resolve(),
        instruments=_instruments_digest(protocol),
        is_remote=is_remote,
    )


def longest_first(refs: Sequence[BundleRef]) -> list[int]:
    """Return positions in the order of work: large bundles first, so that none begins last.

    What cannot be looked at is left for whoever reads it.
    """
    sizes = [_size_of(ref.path) for ref in refs]
    return sorted(range(len(refs)), key=lambda at: (-sizes[at], at))


def _size_of(folder: Path) -> int:
    try:
        return max((path.stat().st_size for path in folder.iterdir()), default=0)
    except OSError:
        return 0


def _all_found(
    refs: Sequence[BundleRef], measuring: Measuring, executor: Executor
) -> Generator[tuple[int, _Found], None, None]:
    """Yield what was found of each bundle; those that no worker survives come last."""
    lost: list[tuple[int, Lost]] = []
    with closing(executor.run(measuring, refs, order=longest_first(refs))) as results:
        for position, found in results:
            if isinstance(found, Lost):
                lost.append((position, found))
            else:
                yield position, found
    if not lost:
        return
    tasks = [(refs[position], loss) for position, loss in lost]
    stating = _StatingLost(measuring=measuring)
    with closing(executor.run(stating, tasks, order=range(len(tasks)))) as results:
        for at, found in results:
            position, loss = lost[at]
            if isinstance(found, Lost):
                yield position, _by_name(refs[position], _lost(loss))[0]
            else:
                yield position, found


def extract_all(
    refs: Sequence[BundleRef],
    *,
    protocol: Protocol,
    kept: Location,
    executor: Executor,
    progress: Callable[[int, int], None],
) -> list[Extracted]:
    """Return the evidence of every bundle, in the order of `refs`.

    Parameters
    ----------
    kept : Location
        The evidence store that rows are read from and kept in.
    executor : Executor
        Who measures; changes no byte of the result.
    progress : callable
        Told how many of how many bundles are done.

    Raises
    ------
    InstrumentError
        The instruments themselves cannot be used: ``model_missing``, ``workers_failed``,
        ``worker_differs``, ``folder_not_shared``.
    StoreError
        ``store_unwritable``.
    """
    measuring = measuring_of(protocol, kept, is_remote=executor.is_remote)
    here = replace(measuring, is_remote=False)
    out: list[Extracted | None] = [None] * len(refs)
    done = 0
    with closing(_all_found(refs, measuring, executor)) as results:
        for position, found in results:
            out[position] = Extracted(
                call_id=found.call_id,
                digests=tuple((sys.intern(name), digest) for name, digest in found.digests),
                ref=refs[position],
                key=found.key if found.own is None else None,
                own=found.own,
                measuring=here,
            )
            done += 1
            progress(done, len(refs))
    return [item for item in out if item is not None]
