"""Score a set of call bundles: find, extract, reduce, write."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.bundle import find_bundles
from inquesto_core.canonical import digest_json, strict_json
from inquesto_core.engine.extract import Extracted, extract_all, unusable
from inquesto_core.engine.judging import choose_judge, judge_run, needs_model
from inquesto_core.engine.stored import RunFolder
from inquesto_core.errors import BundleError, Problem, ProtocolError
from inquesto_core.events import check_predicates, detect
from inquesto_core.evidence import TABLES, make_table
from inquesto_core.instruments import SileroVad
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score import AgentIdentity, JudgeUse, build_record, decision_table
from inquesto_core.score.accounting import DUPLICATE_CALL_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from inquesto_core.protocol import Population, Protocol

__all__ = ["RunResult", "score"]

_DERIVED = (
    "utterances",
    "turns",
    "replies",
    "talk_overs",
    "barge_ins",
    "silences",
    "tool_results",
    "events",
)
_EXTRACTED = tuple(name for name in TABLES if name not in _DERIVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What a run gave.

    Parameters
    ----------
    records : dict of str to dict
        The record of each agent, by fingerprint.
    decisions : polars.DataFrame
        The decision table.
    tables : dict of polars.DataFrame
        The evidence tables.
    problems : tuple of Problem
        What was wrong with the sources themselves; those of calls are in ``tables``.
    """

    records: dict[str, dict[str, Any]]
    decisions: pl.DataFrame
    tables: dict[str, pl.DataFrame] = field(repr=False)
    problems: tuple[Problem, ...]

    @property
    def has_bad_input(self) -> bool:
        """Whether some source or bundle was unusable, wholly or in part."""
        bad = self.tables["problems"].filter(pl.col("level") == "error")
        return any(problem.level == "error" for problem in self.problems) or not bad.is_empty()

    @property
    def is_complete(self) -> bool:
        """Whether no call is open."""
        return self.decisions.filter(pl.col("state") == "not_evaluated").is_empty()


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
            out.append(Extracted(call_id=call_id, rows=rows, digests=merged))
    return out


def _tables(extracted: Sequence[Extracted]) -> dict[str, pl.DataFrame]:
    return {
        name: make_table(name, [row for item in extracted for row in item.rows.get(name, [])])
        for name in _EXTRACTED
    }


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


def _agent(calls: pl.DataFrame) -> AgentIdentity:
    named = calls.filter(pl.col("agent_name").is_not_null()).sort("call_id")
    first = named.row(0, named=True)
    platforms = named["platform"].drop_nulls().unique()
    return AgentIdentity(
        name=first["agent_name"],
        fingerprint=first["agent_fingerprint"],
        config=strict_json((first["agent_config"] or "{}").encode()),
        runtime=platforms[0] if len(platforms) == 1 else None,
    )


def _of_agent(frame: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    return frame.join(ids.to_frame("call_id"), on="call_id", how="semi")


def _inputs(extracted: Sequence[Extracted]) -> list[dict[str, Any]]:
    return [
        {"call": item.call_id, "file": name, "sha256": digest}
        for item in extracted
        for name, digest in item.digests
    ]


def _newest(calls: pl.DataFrame) -> str | None:
    dates = [text[:10] for text in calls["ended_at"].drop_nulls()]
    return max(dates, default=None)


def score(
    sources: Sequence[str | Path],
    *,
    out: str | Path,
    protocol: str | Path = "inquesto-0.1",
    population: str | Path | None = None,
    judge: str = "auto",
    workers: int = 1,
    evaluated_at: str | None = None,
    progress: Callable[[int, int], None] = _ignore,
    judge_progress: Callable[[int, int], None] = _ignore,
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
    workers : int
        Processes; changes no byte of the result.
    evaluated_at : str, optional
        ``YYYY-MM-DD``; default the newest end of a call.
    progress, judge_progress : callable
        Told how many of how many calls are measured, and judged.

    Raises
    ------
    InquestoError
        What makes the run as a whole impossible; a call that cannot be used is a stated state.
    """
    law = load_protocol(protocol)
    chosen = choose_judge(judge, law) if needs_model(judge) else None
    folder = RunFolder(Path(out))
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        found = find_bundles(sources, scratch=Path(scratch))
        if not found.refs:
            raise BundleError(found.problems[0] if found.problems else "no call bundle was found")
        folder.open()
        extracted = _one_a_call(
            extract_all(
                found.refs, protocol=law, kept=folder.kept, workers=workers, progress=progress
            )
        )
        tables = _tables(extracted)
        tables["calls"] = _with_fingerprint(tables["calls"])
        people = _population(population, found.populations, tables["calls"], law)
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
            kept=folder.kept,
            progress=judge_progress,
        )
        tables["verdicts"] = answers.verdicts
        judged = {"judge": answers.provenance}
    inputs = _inputs(extracted)
    provenance: dict[str, Any] = {
        "engine": __version__,
        "protocol_sha256": law.digest,
        "population_sha256": people.digest,
        "inputs_sha256": digest_json(inputs),
        "vad": {
            "sha256": law.instruments.vad.sha256,
            "runtime": f"onnxruntime {SileroVad.runtime_version()}",
            "runtime_is_pinned": SileroVad.runtime_version() == law.instruments.vad.runtime_version,
        },
        **judged,
    }
    call_key = hashlib.sha256(b"call names\0" + repr(inputs).encode()).digest()
    result = _reduce(
        tables,
        law=law,
        people=people,
        judge=used,
        provenance=provenance,
        call_key=call_key,
        evaluated_at=evaluated_at,
    )
    result = replace(result, problems=found.problems)
    folder.write(result, inputs=inputs, provenance=provenance, protocol=law, population=people)
    return result


def _reduce(
    tables: dict[str, pl.DataFrame],
    *,
    law: Protocol,
    people: Population,
    judge: JudgeUse,
    provenance: Mapping[str, Any],
    call_key: bytes,
    evaluated_at: str | None,
) -> RunResult:
    detection = detect(tables, protocol=law, population=people)
    decisions = decision_table(
        detection, protocol=law, population=people, judge_free=judge.kind == "none"
    )
    records = {}
    calls = tables["calls"]
    default_digest = load_population(law.default_population, law).digest
    agents = calls["agent_fingerprint"].drop_nulls().unique().sort()
    for fingerprint in agents:
        ours = calls.filter(pl.col("agent_fingerprint") == fingerprint)
        rows = decisions.filter(pl.col("agent_fingerprint") == fingerprint)
        evidence = {
            name: _of_agent(detection.tables[name], ours["call_id"])
            for name in ("calls", *_DERIVED)
        }
        records[fingerprint] = build_record(
            rows,
            evidence,
            protocol=law,
            population=people,
            default_population_digest=default_digest,
            agent=_agent(ours),
            judge=judge,
            timing_reported=bool((ours["timing_source"] == "reported").any()),
            call_key=call_key,
            provenance=provenance,
            evaluated_at=evaluated_at or _newest(ours),
        )
    if not records:
        raise BundleError(
            Problem(
                code="no_usable_bundle",
                found=f"none of {calls.height} bundles has a readable call.json",
                expected="at least one",
                remedy="see `inquesto-core validate`",
            )
        )
    return RunResult(records=records, decisions=decisions, tables=detection.tables, problems=())
