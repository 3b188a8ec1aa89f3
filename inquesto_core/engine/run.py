"""Score a set of call bundles: find, extract, reduce, write."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.bundle import find_bundles
from inquesto_core.canonical import digest_json
from inquesto_core.engine.extract import Extracted, extract_all, unusable, vad_provenance
from inquesto_core.engine.judging import choose_judge, judge_run, needs_model
from inquesto_core.engine.reduction import RunResult, call_name_key, reduce_run, tables_of
from inquesto_core.engine.stored import INPUTS, RunFolder, evidence_use
from inquesto_core.engine.transcribing import (
    choose_transcriber,
    needs_transcriber,
    transcribe_run,
)
from inquesto_core.errors import BundleError, Problem, ProtocolError
from inquesto_core.events import check_predicates
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score import (
    JudgeUse,
    TranscriberUse,
)
from inquesto_core.score.accounting import DUPLICATE_CALL_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inquesto_core.protocol import Population, Protocol

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
            out.append(Extracted(call_id=call_id, rows=rows, digests=merged, ref=items[0].ref))
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
    named_calls = (
        calls.join(named, on=["agent_name", "agent_config"], how="left", maintain_order="left")
        .with_columns(agent_fingerprint=pl.coalesce("agent_fingerprint", "derived"))
        .drop("derived")
    )
    known = named_calls["agent_fingerprint"].drop_nulls().unique()
    # A call.json that cannot be read names no agent: it is the only one's, and none's of several.
    only = known[0] if known.len() == 1 else None
    return named_calls.with_columns(pl.col("agent_fingerprint").fill_null(pl.lit(only)))


def _population(
    given: str | Path | None, found: Sequence[Path], calls: pl.DataFrame, protocol: Protocol
) -> Population:
    """Return the calls' population: the one given, one beside them, or the protocol's."""
    if given is not None:
        return load_population(given, protocol)
    names = sorted(calls["population"].drop_nulls().unique())
    if len(names) > 1:
        raise ProtocolError(
            Problem(
                code="several_populations",
                found=f"the calls name the populations {', '.join(names)}",
                expected="one population a run",
                remedy="score them apart, or name one with --population",
            )
        )
    name = names[0] if names else protocol.default_population
    for path in found:
        population = load_population(path, protocol)
        if population.name == name:
            return population
    if name in protocol.population_files:
        return load_population(name, protocol)
    raise ProtocolError(
        Problem(
            code="population_unknown",
            found=f"the calls name the population {name}",
            expected="a population.json beside them, or one of "
            + ", ".join(sorted(protocol.population_files)),
            remedy="give its file with --population",
        )
    )


def _judge(spec: str, tables: dict[str, pl.DataFrame]) -> JudgeUse:
    """Return what ``auto``, ``recorded`` or ``none`` means for these calls.

    Verdicts that cannot be read are there, and undetermined.
    """
    calls, verdicts = tables["calls"], tables["verdicts"]
    if spec == "auto":
        unread = tables["problems"].filter(pl.col("code") == "verdicts_unparseable")["call_id"]
        carries = pl.col("has_verdicts") | pl.col("call_id").is_in(unread.implode())
        usable = calls.filter(pl.col("exclusion_reason").is_null()).select(carries).to_series()
        spec = "recorded" if usable.len() and bool(usable.all()) else "none"
    if spec == "none":
        return JudgeUse(kind="none")
    models = verdicts.select("model", "model_sha256").unique().sort("model", "model_sha256")
    one = models.rows()[0] if models.height == 1 else (None, None)
    return JudgeUse(kind="recorded", label="recorded labels", model=one[0], sha256=one[1])


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
    workers: int = 1,
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
    workers : int
        Processes; changes no byte of the result.
    evaluated_at : str, optional
        ``YYYY-MM-DD``; default the newest end of a call.
    progress, judge_progress, transcriber_progress : callable
        Told how many of how many calls are measured, judged, and heard.

    Raises
    ------
    InquestoError
        What makes the run as a whole impossible; a call that cannot be used is a stated state.
    """
    law = load_protocol(protocol)
    chosen = choose_judge(judge, law, gpu_layers=gpu_layers) if needs_model(judge) else None
    hearing = choose_transcriber(transcriber, law) if needs_transcriber(transcriber) else None
    heard_by, told = TranscriberUse(kind="none"), {}
    folder = RunFolder(Path(out))
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        found = find_bundles(sources, scratch=Path(scratch))
        if not found.refs:
            raise BundleError(found.problems[0] if found.problems else "no call bundle was found")
        folder.open()
        kept = folder.kept if store is None else EvidenceStore.open(Path(store)).root
        extracted = _one_a_call(
            extract_all(found.refs, protocol=law, kept=kept, workers=workers, progress=progress)
        )
        tables = tables_of(item.rows for item in extracted)
        tables["calls"] = _with_fingerprint(tables["calls"])
        people = _population(population, found.populations, tables["calls"], law)
        if hearing is not None:
            heard = transcribe_run(
                tables,
                {item.call_id: item.ref for item in extracted},
                hearing,
                protocol=law,
                kept=kept,
                workers=workers,
                progress=transcriber_progress,
            )
            tables |= heard.tables
            heard_by, told = heard.use, {"asr": heard.provenance}
    check_predicates(people)
    judged: dict[str, Any] = {}
    if chosen is None:
        used = _judge(judge, tables)
        if used.kind == "none":
            tables["verdicts"] = tables["verdicts"].clear()
    else:
        used = chosen.use
        answers = judge_run(
            tables,
            chosen,
            protocol=law,
            population=people,
            kept=kept,
            progress=judge_progress,
        )
        tables["verdicts"] = answers.verdicts
        judged = {"judge": answers.provenance}
    inputs = _inputs(extracted)
    files = pl.DataFrame(inputs, schema=INPUTS, orient="row")
    provenance: dict[str, Any] = {
        "engine": __version__,
        "protocol_sha256": law.digest,
        "population_sha256": people.digest,
        "inputs_sha256": digest_json(inputs),
        "vad": vad_provenance(law),
        **told,
        **judged,
    }
    result = reduce_run(
        tables,
        law=law,
        people=people,
        judge=used,
        transcriber=heard_by,
        provenance=provenance,
        call_key=call_name_key(files),
        evaluated_at=evaluated_at,
    )
    result = replace(result, problems=found.problems)
    if store is not None:
        EvidenceStore.of(kept).pack()
    folder.write(
        result,
        inputs=files,
        provenance=provenance,
        protocol=law,
        population=people,
        evidence=evidence_use(law, used, heard_by),
        evaluated_at=evaluated_at,
    )
    return result
