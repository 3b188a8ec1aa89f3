"""Runs of the public reference implementation, scored again exactly as it scores them.

Run folders of the reference in, its records out: nothing is listened to and nobody is asked. The
folders that are read are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.bundle.reference_run import ReferenceRuns, read_reference_runs
from inquesto_core.canonical import digest_json
from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.partitions import WHOLE
from inquesto_core.engine.run_folder import About, RunFolder
from inquesto_core.engine.stored import INPUTS, evidence_use
from inquesto_core.errors import BundleError, Problem, StoreError
from inquesto_core.events.reference_rules import reference_outcomes
from inquesto_core.evidence.tables import TABLES, sort_table
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score import JudgeUse, TranscriberUse
from inquesto_core.score.reference_record import REFERENCE_POPULATION, reference_records
from inquesto_core.score.signature import format_signature
from inquesto_core.score.tables import EVENT_PREFIX, decision_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "REFERENCE",
    "ReferenceRescored",
    "require_evidence",
    "rescore_reference",
    "score_as_reference",
]

#: What is reproduced.
REFERENCE = "massabaali7/inquesto-score@1f6dae522b78"
_PROTOCOL = "inquesto-0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRescored:
    """What the reference makes of runs.

    Parameters
    ----------
    runs : ReferenceRuns
    calls, events : polars.DataFrame
        As `inquesto_core.events.reference_rules` gives them.
    records : tuple of dict
        In the order of the run folders.
    """

    runs: ReferenceRuns
    calls: pl.DataFrame
    events: pl.DataFrame
    records: tuple[dict[str, Any], ...]


def rescore_reference(
    sources: Sequence[str | Path],
    *,
    population: str | Path | None = None,
    evaluated_at: str | None = None,
    with_digests: bool = True,
) -> ReferenceRescored:
    """Return what the reference makes of its run folders, and write nothing.

    Parameters
    ----------
    sources : sequence of path
        Run folders, or folders of them.
    population : path, optional
        Where the calls were made for another population than the reference's own.
    evaluated_at : str, optional
        ``YYYY-MM-DD``; the reference writes the day on which it scores.

    Raises
    ------
    BundleError
        ``reference_run_missing``, ``reference_call_unreadable``, ``population_unknown``.
    """
    law, people = _law(population)
    runs = read_reference_runs(sources, with_digests=with_digests)
    if population is None:
        _refuse_other_populations(runs)
    calls, events = reference_outcomes(runs.tables, protocol=law, population=people)
    records = reference_records(
        calls,
        events,
        zip((folder.name for folder in runs.folders), runs.agents, strict=True),
        protocol=law,
        population=people,
        evaluated_at=evaluated_at,
    )
    return ReferenceRescored(runs=runs, calls=calls, events=events, records=tuple(records))


def score_as_reference(
    sources: Sequence[str | Path],
    *,
    out: str | Path,
    population: str | Path | None = None,
    evaluated_at: str | None = None,
) -> tuple[dict[str, Any], ...]:
    """Return the reference's record of each run folder, and write the run folder `out`.

    A record has the reference's fields and values, ``citation`` included, and ``provenance`` and
    ``signature``, which say by what it was made. Parameters and errors: `rescore_reference`.
    """
    found = rescore_reference(sources, population=population, evaluated_at=evaluated_at)
    law, people = _law(population)
    inputs = pl.DataFrame(found.runs.digests, schema=INPUTS, orient="row")
    provenance = {
        "engine": __version__,
        "compat": REFERENCE,
        "timing": "reported",
        "protocol_sha256": law.digest,
        "population_sha256": people.digest,
        "inputs_sha256": digest_json(inputs.to_dicts()),
    }
    signature = {"text": _signature(law, people)}
    records = tuple(
        {**record, "provenance": provenance, "signature": signature} for record in found.records
    )
    folder = RunFolder(Path(out))
    folder.open()
    names = _call_names(found)
    written = folder.write_part(
        WHOLE,
        {"events": _event_table(found, names, law)},
        decisions=_decisions(found, names, law),
    )
    folder.finish(
        _by_agent(found.runs, records),
        parts=written | folder.write_inputs(inputs),
        missing=None,
        about=About(
            protocol=law,
            population=people,
            evidence=evidence_use(law, JudgeUse(kind="recorded"), TranscriberUse(kind="none")),
            provenance=provenance,
            inputs_n=inputs.height,
            call_key=call_name_key(inputs),
            evaluated_at=evaluated_at,
        ),
    )
    return records


def require_evidence(stored: StoredRun) -> None:
    """Refuse a run that `score_as_reference` wrote: it holds results, and no evidence.

    Raises
    ------
    StoreError
        ``run_without_evidence``.
    """
    if stored.has_table("calls"):
        return
    raise StoreError(
        Problem(
            code="run_without_evidence",
            found=f"{stored.folder.name} holds what the reference makes of its runs, no evidence",
            expected="a run that was scored from bundles",
            remedy="make bundles with `import inquesto-score` and score them",
        )
    )


@cache
def _own_law() -> tuple[Protocol, Population]:
    law = load_protocol(_PROTOCOL)
    return law, load_population(law.default_population, law)


def _law(population: str | Path | None) -> tuple[Protocol, Population]:
    law, people = _own_law()
    return law, people if population is None else load_population(population, law)


def _refuse_other_populations(runs: ReferenceRuns) -> None:
    for folder, agent in zip(runs.folders, runs.agents, strict=True):
        told = agent.get("population")
        digest = told.get("sha256") if isinstance(told, dict) else None
        if digest not in {None, REFERENCE_POPULATION["sha256"]}:
            raise BundleError(
                Problem(
                    code="population_unknown",
                    file=f"{folder.name}/agent.json",
                    pointer="/population",
                    found=f"names another population than the reference's own, {digest}",
                    expected="the population that the calls were made for",
                    remedy="give its file with --population",
                )
            )


def _signature(law: Protocol, people: Population) -> str:
    return format_signature(
        {
            "inquesto": law.version,
            "compat": REFERENCE,
            "pop": f"{people.name}@{people.digest[:12]}",
            "timing": "reported",
            "engine": __version__,
        }
    )


def _call_names(found: ReferenceRescored) -> pl.DataFrame:
    """Return ``call`` and ``call_id``: the file's name, of several runs with its folder's."""
    folders = pl.Series([folder.name for folder in found.runs.folders], dtype=pl.String)
    name = pl.col("key")
    if len(folders) > 1:
        of_run = folders.gather(found.calls["run"]).alias("folder")
        return found.calls.with_columns(of_run).select(
            "call", call_id=pl.format("{}/{}", "folder", "key")
        )
    return found.calls.select("call", call_id=name)


def _event_table(found: ReferenceRescored, names: pl.DataFrame, law: Protocol) -> pl.DataFrame:
    sources = {event.name: event.source for event in law.events}
    rows = found.events.join(names, on="call", maintain_order="left").with_columns(
        counted=pl.lit(value=True),
        source=pl.col("type").replace_strict(sources, default=None, return_dtype=pl.String),
    )
    missing = {name: pl.lit(None, dtype=dtype) for name, dtype in TABLES["events"].items()}
    lacking = {name: expr for name, expr in missing.items() if name not in rows.columns}
    return sort_table("events", rows.with_columns(**lacking))


def _decisions(found: ReferenceRescored, names: pl.DataFrame, law: Protocol) -> pl.DataFrame:
    schema = decision_schema(tuple(event.name for event in law.events))
    fingerprints = pl.Series(
        [agent.get("fingerprint", "") for agent in found.runs.agents], dtype=pl.String
    )
    flags = {
        EVENT_PREFIX + event.name: pl.col("call").is_in(
            found.events.filter(pl.col("type") == event.name)["call"].unique().implode()
        )
        for event in law.events
    }
    rows = found.calls.join(names, on="call", maintain_order="left").with_columns(
        agent_fingerprint=fingerprints.gather(found.calls["run"]),
        trial="seed",
        state=pl.lit("scored"),
        reasons=pl.lit([], dtype=pl.List(pl.String)),
        fragile_limits=pl.lit([], dtype=pl.List(pl.String)),
        known_fail=pl.lit(value=False),
        borderline=pl.lit(value=False),
        **flags,
    )
    lacking = {
        name: pl.lit(None, dtype=dtype)
        for name, dtype in schema.items()
        if name not in rows.columns
    }
    return rows.with_columns(**lacking).select(schema.keys()).sort("call_id")


def _by_agent(runs: ReferenceRuns, records: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the records by fingerprint; where several runs share one, by their folders too."""
    names = [str(record["agent_fingerprint"]) for record in records]
    if len(set(names)) < len(names):
        pairs = zip(runs.folders, names, strict=True)
        names = [f"{folder.name}/{name}" for folder, name in pairs]
    return dict(zip(names, records, strict=True))
