"""Reduce the evidence of a stored run under another protocol, and say what that changed.

Where both protocols measure the same, nothing is listened to, read or asked: evidence tables in,
record out. Where they do not, each call is measured anew from the bundle that the run's manifest
names by its digests; a call whose bundle is not shown stays in the run as not evaluated.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.canonical import digest_bytes
from inquesto_core.compare import Reading, call_differences
from inquesto_core.engine.reduction import (
    EXTRACTED,
    READ,
    RunResult,
    call_name_key,
    reduce_run,
)
from inquesto_core.engine.remeasure import remeasured
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.stored import (
    RunFolder,
    evidence_use,
    load_run,
    stored_use,
    table_file,
)
from inquesto_core.errors import Problem, ProtocolError, StoreError
from inquesto_core.events import check_predicates
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.protocol import diff_protocols, load_protocol
from inquesto_core.score import JudgeUse, TranscriberUse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inquesto_core.engine.stored import EvidenceUse, StoredRun
    from inquesto_core.protocol import Change, Protocol

__all__ = ["DIFFERENCES_FILE", "Rescored", "rescore"]

#: Where the call-by-call difference lies in the new run.
DIFFERENCES_FILE = "differences.parquet"

_RUN_UNKNOWN = ("run_protocol_unknown", "run_protocol_differs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """What a run is under another protocol.

    Parameters
    ----------
    before : StoredRun
    protocol : Protocol
        The one after.
    result : RunResult
        As `score` gives it, but without the tables that no score is read from.
    differences : polars.DataFrame
        Table `DIFFERENCES`.
    changes : tuple of Change
        What the protocol says differently.
    notes : tuple of str
        What could not be taken over, and why.
    """

    before: StoredRun
    protocol: Protocol
    result: RunResult
    differences: pl.DataFrame
    changes: tuple[Change, ...]
    notes: tuple[str, ...]


def _ignore(done: int, total: int) -> None:
    """Show no progress."""


def rescore(
    run: str | Path,
    *,
    protocol: str | Path,
    out: str | Path,
    sources: Sequence[str | Path] = (),
    store: str | Path | None = None,
    run_protocol: str | Path | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] = _ignore,
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
    run_protocol : str or path, optional
        The protocol that the run was scored with; the shipped one of its name by default. Where it
        is not at hand, only its thresholds are unknown.
    workers : int
        Processes that measure; changes no byte of the result.

    Raises
    ------
    StoreError
        ``not_a_run``, ``run_damaged``, ``run_without_evidence_use``, ``out_is_the_run``.
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
    law, stored = load_protocol(protocol), load_run(run, tables=(*READ, "events"))
    use, now = stored_use(stored), evidence_use(law, JudgeUse(kind="none"), _NOBODY)
    old, notes = _protocol_before(stored, run_protocol)
    people = population_of_run(stored, protocol=law)
    check_predicates(people)
    folder = RunFolder(Path(out))
    tables = {name: stored.tables[name] for name in READ}
    taken_over = {name: Path(run) / table_file(name) for name in EXTRACTED}
    provenance = _provenance(stored, law)
    if use.measurement != now.measurement:
        _refuse_unmeasured(use, sources)
        folder.open()
        kept = folder.kept if store is None else EvidenceStore.open(Path(store)).root
        with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
            again = remeasured(
                load_run(run, tables=EXTRACTED).tables,
                stored.inputs.to_dicts(),
                sources,
                protocol=law,
                kept=kept,
                scratch=Path(scratch),
                workers=workers,
                progress=progress,
            )
        if store is not None:
            EvidenceStore.of(kept).pack()
        tables, taken_over, provenance["vad"] = again.tables, {}, again.vad
        provenance.pop("asr", None)
        notes += again.notes
    else:
        folder.open()
    judge, tables, judged_notes = _judge(use, now, tables)
    if judge.kind == "none":
        provenance.pop("judge", None)
        taken_over.pop("verdicts", None)
    transcriber = use.transcriber
    if transcriber.kind == "pinned" and use.heard_with != now.heard_with:
        transcriber = replace(transcriber, kind="folder")
    evaluated_at = (stored.manifest.get("parameters") or {}).get("evaluated_at")
    result = reduce_run(
        tables,
        law=law,
        people=people,
        judge=judge,
        transcriber=transcriber,
        provenance=provenance,
        call_key=call_name_key(stored.inputs),
        evaluated_at=evaluated_at,
    )
    changes = diff_protocols(old, law) if old is not None else ()
    differences = call_differences(
        Reading(
            decisions=stored.decisions,
            events=stored.tables["events"],
            judge_free=use.judge.kind == "none",
        ),
        Reading(
            decisions=result.decisions,
            events=result.tables["events"],
            judge_free=judge.kind == "none",
        ),
        was=old,
        now=law,
        changes=changes,
    )
    notes += judged_notes
    folder.write(
        result,
        inputs=stored.inputs,
        provenance=provenance,
        protocol=law,
        population=people,
        evidence=evidence_use(law, judge, transcriber),
        evaluated_at=evaluated_at,
        rescored_from=_origin(stored, Path(run), notes),
        beside={DIFFERENCES_FILE: differences},
        taken_over=taken_over,
    )
    return Rescored(
        before=stored,
        protocol=law,
        result=result,
        differences=differences,
        changes=changes,
        notes=notes,
    )


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


def _provenance(stored: StoredRun, law: Protocol) -> dict[str, Any]:
    """Return the run's provenance, with what is this engine's and this protocol's."""
    first = stored.records[min(stored.records)]
    given = dict(first["provenance"])
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


def _judge(
    use: EvidenceUse, now: EvidenceUse, tables: dict[str, pl.DataFrame]
) -> tuple[JudgeUse, dict[str, pl.DataFrame], tuple[str, ...]]:
    """Return whose verdicts are read.

    Recorded labels stand whatever the protocol asks with. A model's answers are answers to a rubric
    and belong to a pin: under another of either there are none, and the run is judge-free.
    """
    is_model = use.judge.kind in ("pinned", "gguf")
    if not is_model or use.asked_with == now.asked_with:
        return use.judge, tables, ()
    note = (
        "judge-free: the run's verdicts were given to another rubric or judge pin than this "
        "protocol's; score the bundles with --judge pinned for answers"
    )
    return JudgeUse(kind="none"), {**tables, "verdicts": tables["verdicts"].clear()}, (note,)


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
