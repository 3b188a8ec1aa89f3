"""Reduce the evidence of a stored run under another protocol, and say what that changed.

Where both protocols measure the same, nothing is listened to, read or asked: evidence tables in,
record out, partition by partition. Where they do not, each call is measured anew from the bundle
that the run's manifest names by its digests; a call whose bundle is not shown stays in the run as
not evaluated.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.canonical import digest_bytes
from inquesto_core.compare import DifferenceCounts, add_difference_counts
from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.compat import require_evidence
from inquesto_core.engine.executors import InProcess, choose_executor
from inquesto_core.engine.partitions import WHOLE
from inquesto_core.engine.reduction import (
    Reading,
    absent_part,
    records_of,
    slots_of_run,
)
from inquesto_core.engine.rescore_part import SHOWN_CALLS, PartRescored, RescoringPart
from inquesto_core.engine.run_folder import DIFFERENCES_FILE, About, RunFolder
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.run_result import RunResult
from inquesto_core.engine.stored import INPUTS_FILE, evidence_use, open_run, stored_use
from inquesto_core.errors import Problem, ProtocolError, StoreError
from inquesto_core.events import check_predicates
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.places import allowed_schemes, locate, refuse_inside
from inquesto_core.protocol import diff_protocols, load_protocol
from inquesto_core.score import JudgeUse, TranscriberUse
from inquesto_core.score.slots import SLOT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from inquesto_core.engine.executors import Executor
    from inquesto_core.engine.remeasure import Remeasuring
    from inquesto_core.engine.stored import EvidenceUse, StoredRun
    from inquesto_core.places import Location
    from inquesto_core.protocol import Change, Protocol

__all__ = ["DIFFERENCES_FILE", "Rescored", "rescore"]

_RUN_UNKNOWN = ("run_protocol_unknown", "run_protocol_differs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """What a run is under another protocol.

    Parameters
    ----------
    before : StoredRun
        Without its tables.
    protocol : Protocol
        The one after.
    result : RunResult
    counts : DifferenceCounts
        What differs, counted, and the first calls of it.
    changes : tuple of Change
        What the protocol says differently.
    notes : tuple of str
        What could not be taken over, and why.
    """

    before: StoredRun
    protocol: Protocol
    result: RunResult
    counts: DifferenceCounts
    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def differences(self) -> pl.DataFrame:
        """Return what differs, call by call, read from the new run: the table `DIFFERENCES`."""
        folder = self.result.folder
        files = [folder / DIFFERENCES_FILE, *sorted(folder.glob(f"parts/*/{DIFFERENCES_FILE}"))]
        return pl.concat([pl.read_parquet(file) for file in files if file.is_file()])


def _ignore(done: int, total: int) -> None:
    """Show no progress."""


def rescore(
    run: str | Path,
    *,
    protocol: str | Path,
    out: str | Path,
    sources: Sequence[str | Path] = (),
    store: str | Path | None = None,
    allow_remote: Sequence[str] = (),
    run_protocol: str | Path | None = None,
    workers: int = 0,
    executor: str = "local",
    address: str | None = None,
    progress: Callable[[int, int], None] = _ignore,
    reduction_progress: Callable[[int, int], None] = _ignore,
) -> Rescored:
    """Return what a stored run is under another protocol, and write it as the run folder `out`.

    Parameters
    ----------
    run : path
        A run folder; it is left as it is.
    protocol : str or path
        A name or a folder.
    sources : sequence of path
        Where the run's bundles lie; needed only where `protocol` measures something differently.
    store : path, optional
        An evidence store to read and fill: what it holds is not measured anew.
    allow_remote : sequence of str
        Schemes of sources and of a store that are not on this machine (``s3``); default none.
    run_protocol : str or path, optional
        The protocol that the run was scored with; the shipped one of its name by default. Where it
        is not at hand, only its thresholds are unknown.
    workers, executor, address
        Who measures and who reduces, as for `score`; changes no byte of the result.
    progress, reduction_progress : callable
        Told how many of how many calls are measured anew, and reduced.

    Raises
    ------
    StoreError
        ``not_a_run``, ``run_damaged``, ``run_without_evidence``, ``run_without_evidence_use``,
        ``out_is_the_run``.
    ProtocolError
        ``rescore_needs_sources``: the protocol measures differently, and no bundle is shown.
        ``rescore_needs_transcriber``: its words were heard between edges that move.
    """
    if Path(out).resolve() == Path(run).resolve():
        raise StoreError(
            Problem(
                code="out_is_the_run",
                found="--out names the run itself",
                expected="another folder: a record that was issued is not rewritten",
            )
        )
    allowed = allowed_schemes(allow_remote)
    law, stored = load_protocol(protocol), open_run(run)
    require_evidence(stored)
    use, now = stored_use(stored), evidence_use(law, JudgeUse(kind="none"), _NOBODY)
    old, notes = _protocol_before(stored, run_protocol)
    people = population_of_run(stored, protocol=law)
    check_predicates(people)
    judge, judged_notes = _judge(use, now)
    transcriber = use.transcriber
    if transcriber.kind == "pinned" and use.heard_with != now.heard_with:
        transcriber = replace(transcriber, kind="folder")
    reading = Reading(protocol=law, population=people, judge=judge, transcriber=transcriber)
    folder, provenance = RunFolder(Path(out)), _provenance(stored, law, judge)
    changes = diff_protocols(old, law) if old is not None else ()
    doing = choose_executor(executor, workers=workers, address=address)
    with ExitStack() as stack:
        again: Remeasuring | None = None
        if use.measurement != now.measurement:
            _refuse_unmeasured(use, sources)
        folder.open()
        if use.measurement != now.measurement:
            from inquesto_core.engine.remeasure import remeasuring

            again = remeasuring(
                stored.inputs,
                sources,
                allowed=allowed,
                protocol=law,
                kept=_kept(folder, store, allowed),
                scratch=Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="inquesto-"))),
                executor=doing,
                progress=progress,
            )
            provenance["vad"] = again.vad
            provenance.pop("asr", None)
            notes += again.notes
        slots, twice = slots_of_run(_calls(stored), protocol=law, population=people)
        absent = absent_part(slots, reading)
        is_whole = stored.parts == (WHOLE,)
        doing_part = RescoringPart(
            stored=stored,
            out=folder.path.resolve(),
            reading=reading,
            twice=twice,
            before=old,
            was_judge_free=use.judge.kind == "none",
            drops_verdicts=judge.kind == "none",
            changes=changes,
            missing=absent.decisions if is_whole else absent.decisions.clear(),
            again=again,
        )
        if is_whole or again is not None:
            doing = InProcess()
        parts = []
        for part in _in_order(doing_part, stored.parts, doing):
            parts.append(part)
            reduction_progress(sum(each.told.totals.calls for each in parts), slots.height)
        if store is not None and again is not None:
            EvidenceStore.of(again.kept).pack()
    key = stored.call_key or call_name_key(stored.inputs)
    evaluated_at = (stored.manifest.get("parameters") or {}).get("evaluated_at")
    told = [*(part.told for part in parts), absent.told]
    records = records_of(
        told, reading, provenance=provenance, call_key=key, evaluated_at=evaluated_at
    )
    notes += judged_notes
    written = folder.take_over(WHOLE, [INPUTS_FILE], run=stored.folder, digests=stored.outputs)
    for part in parts:
        written |= part.written
    folder.finish(
        records,
        parts=written,
        missing=None if is_whole else absent.decisions,
        about=About(
            protocol=law,
            population=people,
            evidence=evidence_use(law, judge, transcriber),
            provenance=provenance,
            inputs_n=stored.manifest["inputs"]["rows"],
            call_key=key,
            evaluated_at=evaluated_at,
            rescored_from=_origin(stored, Path(run), notes),
        ),
    )
    totals = sum((each.totals for each in told[1:]), told[0].totals)
    return Rescored(
        before=stored,
        protocol=law,
        result=RunResult(records=records, folder=folder.path, totals=totals),
        counts=add_difference_counts([part.counts for part in parts], shown=SHOWN_CALLS),
        changes=changes,
        notes=notes,
    )


def _kept(folder: RunFolder, store: str | Path | None, allowed: Collection[str]) -> Location:
    """Return the evidence store of what is measured anew."""
    if store is None:
        return folder.kept
    place = locate(store, allowed=allowed)
    if isinstance(place, Path):
        refuse_inside(place)
    return EvidenceStore.open(place).root


def _calls(stored: StoredRun) -> Iterator[pl.DataFrame]:
    """Yield of each partition what the slots of its calls are read from."""
    for part in stored.parts:
        yield stored.part(part, {"calls": SLOT_COLUMNS})["calls"]


def _in_order(
    do: RescoringPart, parts: Sequence[str], executor: Executor
) -> Iterator[PartRescored]:
    """Yield each partition rescored, in the order of `parts`."""
    waiting: dict[int, PartRescored] = {}
    following = 0
    for at, done in executor.run(do, parts, order=range(len(parts))):
        if not isinstance(done, PartRescored):
            raise StoreError(
                Problem(
                    code="workers_failed",
                    found=f"a worker was lost {done.times} times with one partition: {done.how}",
                    expected="memory for a partition in each worker",
                    remedy="free memory, or ask for fewer with --workers",
                )
            )
        waiting[at] = done
        while following in waiting:
            yield waiting.pop(following)
            following += 1


_NOBODY = TranscriberUse(kind="none")


def _protocol_before(
    stored: StoredRun, given: str | Path | None
) -> tuple[Protocol | None, tuple[str, ...]]:
    """Return the protocol that the run was scored with; none, and why, where it is not at hand."""
    try:
        return protocol_of_run(stored, given), ()
    except ProtocolError as exc:
        if given is not None or exc.problem.code not in _RUN_UNKNOWN:
            raise
        note = f"thresholds before are not known: {exc.problem.found} ({exc.problem.code})"
        return None, (note,)


def _provenance(stored: StoredRun, law: Protocol, judge: JudgeUse) -> dict[str, Any]:
    """Return the run's provenance, with what is this engine's and this protocol's."""
    first = stored.records[min(stored.records)]
    given = dict(first["provenance"])
    if judge.kind == "none":
        given.pop("judge", None)
    pin = law.instruments.vad
    is_pinned = given["vad"]["runtime"] == f"{pin.runtime} {pin.runtime_version}"
    vad = {**given["vad"], "runtime_is_pinned": is_pinned}
    return {**given, "engine": __version__, "protocol_sha256": law.digest, "vad": vad}


def _refuse_unmeasured(use: EvidenceUse, sources: Sequence[str | Path]) -> None:
    if not sources:
        raise ProtocolError(
            Problem(
                code="rescore_needs_sources",
                found="this protocol measures something that the run's evidence was not taken with",
                expected="the run's bundles",
                remedy="name their folder, archive or manifest with --source",
            )
        )
    if use.transcriber.kind != "none":
        raise ProtocolError(
            Problem(
                code="rescore_needs_transcriber",
                found="the run's words were heard between edges that this protocol measures anew",
                expected="a run whose calls bring transcripts",
                remedy="score the bundles with --transcriber under this protocol",
            )
        )


def _judge(use: EvidenceUse, now: EvidenceUse) -> tuple[JudgeUse, tuple[str, ...]]:
    """Return whose verdicts are read.

    Recorded labels stand whatever the protocol asks with. A model's answers are answers to a rubric
    and belong to a pin: under another of either there are none, and the run is judge-free.
    """
    is_model = use.judge.kind in ("pinned", "gguf")
    if not is_model or use.asked_with == now.asked_with:
        return use.judge, ()
    note = (
        "judge-free: the run's verdicts were given to another rubric or judge pin than this "
        "protocol's; score the bundles with --judge pinned for answers"
    )
    return JudgeUse(kind="none"), (note,)


def _origin(stored: StoredRun, run: Path, notes: tuple[str, ...]) -> dict[str, Any]:
    files = [run / "record.json", *sorted((run / "records").glob("*.json"))]
    return {
        "protocol": stored.manifest["protocol"]["name"],
        "protocol_digest": stored.manifest["protocol"]["digest"],
        "engine": stored.manifest["engine"]["version"],
        "records": {
            file.relative_to(run).as_posix(): digest_bytes(file.read_bytes())
            for file in files
            if file.is_file()
        },
        "notes": list(notes),
    }
