"""Score a set of call bundles: find, extract, reduce, write."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.bundle import find_bundles
from inquesto_core.canonical import digest_json
from inquesto_core.engine.answering import Answering
from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.executors import choose_executor
from inquesto_core.engine.extract import Extracted, extract_all, unusable, vad_provenance
from inquesto_core.engine.gathered import Gathered
from inquesto_core.engine.judging import choose_judge, needs_model
from inquesto_core.engine.population_of_calls import known_population, population_of_calls
from inquesto_core.engine.reduction import (
    DERIVED,
    Reading,
    absent_part,
    records_of,
    reduce_part,
    slots_of_run,
)
from inquesto_core.engine.run_folder import About, RunFolder
from inquesto_core.engine.run_result import RunResult
from inquesto_core.engine.stored import INPUTS, evidence_use
from inquesto_core.engine.transcribing import (
    choose_transcriber,
    needs_transcriber,
)
from inquesto_core.errors import BundleError, Problem
from inquesto_core.events import check_predicates
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.places import allowed_schemes, locate, refuse_inside
from inquesto_core.protocol import load_protocol
from inquesto_core.score import (
    JudgeUse,
)
from inquesto_core.score.accounting import DUPLICATE_CALL_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inquesto_core.protocol import Protocol

__all__ = ["score"]


def _ignore(done: int, total: int) -> None:
    """Show no progress."""


def _one_a_call(extracted: Sequence[Extracted]) -> list[Extracted]:
    """Keep one bundle a call id: copies are one; different bundles of one id are none of them."""
    by_id: dict[str, list[Extracted]] = {}
    for item in extracted:
        by_id.setdefault(item.call_id, []).append(item)
    out = []
    for call_id, items in sorted(by_id.items()):
        is_copy = len({item.digests for item in items}) == 1 and bool(items[0].digests)
        if is_copy or len(items) == 1:
            out.append(items[0])
        else:
            problem = Problem(
                code=DUPLICATE_CALL_ID,
                call_id=call_id,
                file="call.json",
                pointer="/call_id",
                found=f"stands in {len(items)} different bundles",
                expected="one bundle a call id",
                remedy="none of them is scored; give each call its own id",
            )
            merged = tuple(sorted(pair for item in items for pair in item.digests))
            rows = unusable(call_id, DUPLICATE_CALL_ID, problem)
            out.append(Extracted(call_id=call_id, own=rows, digests=merged, ref=items[0].ref))
    return out


def _with_fingerprint(calls: pl.DataFrame) -> pl.DataFrame:
    """Name agents that bring no fingerprint by the digest of their name and configuration."""
    agents = calls.select("agent_name", "agent_config").unique()
    named = agents.filter(pl.col("agent_name").is_not_null()).with_columns(
        derived=pl.Series(
            [
                "sha256:" + digest_json({"name": name, "config": config})[:16]
                for name, config in agents.filter(pl.col("agent_name").is_not_null()).rows()
            ],
            dtype=pl.String,
        )
    )
    return (
        calls.join(named, on=["agent_name", "agent_config"], how="left", maintain_order="left")
        .with_columns(agent_fingerprint=pl.coalesce("agent_fingerprint", "derived"))
        .drop("derived")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What the calls of a run say together.

    Parameters
    ----------
    agents : frozenset of str
        Fingerprints.
    populations : frozenset of str
    carry_verdicts : bool
        There are usable calls, and each brings verdicts; unreadable ones are there, undetermined.
    verdict_models : frozenset of (model, SHA-256)
    """

    agents: frozenset[str]
    populations: frozenset[str]
    carry_verdicts: bool
    verdict_models: frozenset[tuple[str | None, str | None]]

    @property
    def only_agent(self) -> str | None:
        """Return the only agent, whose a call.json is that names none; None of several."""
        return next(iter(self.agents)) if len(self.agents) == 1 else None


def _facts(gathered: Gathered) -> _Facts:
    agents: set[str] = set()
    populations: set[str] = set()
    models: set[tuple[str | None, str | None]] = set()
    usable_n = carrying_n = 0
    for part in gathered.parts:
        tables = gathered.tables(part, ("calls", "verdicts", "problems"))
        calls = _with_fingerprint(tables["calls"])
        agents |= set(calls["agent_fingerprint"].drop_nulls())
        populations |= set(calls["population"].drop_nulls())
        models |= set(tables["verdicts"].select("model", "model_sha256").unique().rows())
        unread = tables["problems"].filter(pl.col("code") == "verdicts_unparseable")["call_id"]
        carries = pl.col("has_verdicts") | pl.col("call_id").is_in(unread.implode())
        usable = calls.filter(pl.col("exclusion_reason").is_null())
        usable_n += usable.height
        carrying_n += usable.filter(carries).height
    return _Facts(
        agents=frozenset(agents),
        populations=frozenset(populations),
        carry_verdicts=0 < usable_n == carrying_n,
        verdict_models=frozenset(models),
    )


def _judge(spec: str, facts: _Facts) -> JudgeUse:
    """Return what ``auto``, ``recorded`` or ``none`` means for these calls."""
    if spec == "none" or (spec == "auto" and not facts.carry_verdicts):
        return JudgeUse(kind="none")
    one = next(iter(facts.verdict_models)) if len(facts.verdict_models) == 1 else (None, None)
    return JudgeUse(kind="recorded", label="recorded labels", model=one[0], sha256=one[1])


def _check_known(given: str | Path | None, beside: Sequence[Path], protocol: Protocol) -> None:
    """Raise where a population that is known before a call is read cannot be asked."""
    early = known_population(given, beside, protocol)
    if early is not None:
        check_predicates(early)


def _damaged_meanwhile(store: EvidenceStore, before: Sequence[str]) -> list[Problem]:
    """Return a warning for each file of the store that was found to be damaged during the run."""
    return [
        Problem(
            code="evidence_damaged",
            file=name,
            found="of the evidence store is not what was written",
            expected="the bytes of its digest",
            remedy="it was moved to damaged/; what it lacks was measured anew",
            level="warning",
        )
        for name in store.damaged_files()
        if name not in before
    ]


def _inputs(extracted: Sequence[Extracted]) -> list[dict[str, Any]]:
    return [
        {"call": item.call_id, "file": name, "sha256": digest}
        for item in extracted
        for name, digest in item.digests
    ]


def score(
    sources: Sequence[str | Path],
    *,
    out: str | Path,
    protocol: str | Path = "inquesto-0.1",
    population: str | Path | None = None,
    judge: str = "auto",
    gpu_layers: int | None = None,
    transcriber: str = "auto",
    store: str | Path | None = None,
    allow_remote: Sequence[str] = (),
    workers: int = 0,
    executor: str = "local",
    address: str | None = None,
    evaluated_at: str | None = None,
    progress: Callable[[int, int], None] = _ignore,
    judge_progress: Callable[[int, int], None] = _ignore,
    transcriber_progress: Callable[[int, int], None] = _ignore,
) -> RunResult:
    """Return the records of a set of call bundles, and write the run folder `out`.

    Parameters
    ----------
    sources : sequence of path
        Bundles, folders of bundles, archives or manifests.
    out : path
        The run folder; a run that was interrupted goes on where it stopped.
    protocol, population : str or path
        A name or a folder; a name or a file.
    judge : str
        ``auto``, ``recorded``, ``none``, ``pinned`` or ``gguf:PATH``.
    gpu_layers : int, optional
        How many of the judge's layers a GPU evaluates; default: as the protocol pins.
    transcriber : str
        ``auto`` (nobody), ``none``, ``pinned`` or ``folder:PATH``: who hears the calls. What is
        heard is read where a call brings no transcript, and compared where it brings one.
    store : path, optional
        An evidence store to read and fill: what it holds is not measured, heard or asked again.
    allow_remote : sequence of str
        Schemes of sources and of a store that are not on this machine (``s3``); default none.
    workers : int
        Processes or actors; changes no byte of the result. 0 = in this process, or with ``ray`` as
        many as the cluster has processors.
    executor, address : str
        ``local`` or ``ray``; the address of a running Ray cluster, default: one of this machine.
    evaluated_at : str, optional
        ``YYYY-MM-DD``; default the newest end of a call.
    progress, judge_progress, transcriber_progress : callable
        Told how many of how many calls are measured, judged, and heard.

    Raises
    ------
    InquestoError
        What makes the run as a whole impossible; a call that cannot be used is a stated state.
    """
    law, allowed = load_protocol(protocol), allowed_schemes(allow_remote)
    kept_at = None if store is None else locate(store, allowed=allowed)
    if isinstance(kept_at, Path):
        refuse_inside(kept_at)
    chosen = choose_judge(judge, law, gpu_layers=gpu_layers) if needs_model(judge) else None
    hearing = choose_transcriber(transcriber, law) if needs_transcriber(transcriber) else None
    doing = choose_executor(executor, workers=workers, address=address)
    folder = RunFolder(Path(out))
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        found = find_bundles(sources, scratch=Path(scratch), allowed=allowed)
        if not found.refs:
            raise BundleError(found.problems[0] if found.problems else "no call bundle was found")
        _check_known(population, found.populations, law)
        folder.open()
        kept = folder.kept if kept_at is None else EvidenceStore.open(kept_at).root
        aside = [] if kept_at is None else EvidenceStore.of(kept).damaged_files()
        extracted = _one_a_call(
            extract_all(found.refs, protocol=law, kept=kept, executor=doing, progress=progress)
        )
        gathered = Gathered(folder, extracted)
        facts = _facts(gathered)
        people = population_of_calls(population, found.populations, facts.populations, law)
        check_predicates(people)
        used = chosen.use if chosen is not None else _judge(judge, facts)
        answering = Answering(
            protocol=law,
            population=people,
            used=used,
            judge=chosen,
            transcriber=hearing,
            kept=kept,
            executor=doing,
            workers=workers,
            judge_progress=judge_progress,
            transcriber_progress=transcriber_progress,
        )
        refs = {item.call_id: item.ref for item in extracted}
        for part in gathered.parts:
            tables = gathered.tables(part)
            named = _with_fingerprint(tables["calls"])
            only = pl.lit(facts.only_agent, dtype=pl.String)
            tables["calls"] = named.with_columns(pl.col("agent_fingerprint").fill_null(only))
            gathered.put(part, {"calls": tables["calls"], **answering.answered(tables, refs)})
    inputs = _inputs(extracted)
    files = pl.DataFrame(inputs, schema=INPUTS, orient="row")
    provenance: dict[str, Any] = {
        "engine": __version__,
        "protocol_sha256": law.digest,
        "population_sha256": people.digest,
        "inputs_sha256": digest_json(inputs),
        "vad": vad_provenance(law),
        **answering.provenance,
    }
    reading = Reading(protocol=law, population=people, judge=used, transcriber=answering.heard_by)
    slots, twice = slots_of_run(gathered.calls(), protocol=law, population=people)
    absent = absent_part(slots, reading)
    told, written = [], dict(gathered.written)
    for part in gathered.parts:
        tables = gathered.tables(part)
        keep = DERIVED if gathered.is_whole else ("events",)
        reduced = reduce_part(tables, reading, twice=twice, keep=keep)
        told.append(reduced.told)
        written |= folder.write_part(
            part,
            {**tables, **reduced.derived} if gathered.is_whole else reduced.derived,
            decisions=pl.concat([reduced.decisions, absent.decisions])
            if gathered.is_whole
            else reduced.decisions,
        )
    key = call_name_key(files)
    records = records_of(
        [*told, absent.told],
        reading,
        provenance=provenance,
        call_key=key,
        evaluated_at=evaluated_at,
    )
    problems = found.problems
    if store is not None:
        EvidenceStore.of(kept).pack()
        problems = (*problems, *_damaged_meanwhile(EvidenceStore.of(kept), aside))
    folder.finish(
        records,
        parts=written | folder.write_inputs(files),
        missing=None if gathered.is_whole else absent.decisions,
        about=About(
            protocol=law,
            population=people,
            evidence=evidence_use(law, used, answering.heard_by),
            provenance=provenance,
            inputs_n=files.height,
            call_key=key,
            evaluated_at=evaluated_at,
        ),
    )
    return RunResult(
        records=records,
        folder=folder.path,
        totals=sum((each.totals for each in told), absent.told.totals),
        problems=problems,
    )
