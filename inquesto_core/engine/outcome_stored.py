"""A run of a protocol without failure events, as it was written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import schema
from inquesto_core.canonical import digest_bytes
from inquesto_core.engine.outcome_bundles import OUTCOME_CALLS, OutcomeTables
from inquesto_core.engine.outcome_reduction import EVIDENCE
from inquesto_core.engine.run_tables import not_as_written, read_table, run_damaged
from inquesto_core.engine.stored import INPUTS_FILE, MANIFEST, POPULATION_FILE
from inquesto_core.errors import Problem, StoreError
from inquesto_core.protocol import load_population
from inquesto_core.score import JudgeUse

if TYPE_CHECKING:
    from inquesto_core.protocol import Population

__all__ = ["OutcomeRun", "is_outcome_run", "load_outcome", "outcome_tables"]

_TABLES = {
    "signals": ("calls", "signals", "assertions"),
    "checks": ("calls", "checks"),
}
#: What `explain` shows.
_SHOWN = ("tool_calls", "caller_calls", "transcript", "answers", "problems")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRun:
    """What such a run holds.

    Parameters
    ----------
    method : {"signals", "checks"}
    folder : Path
    manifest : dict
    records : dict of fingerprint to record
    decisions : polars.DataFrame
        ``calls.parquet``.
    tables : mapping of str to polars.DataFrame
        ``signals`` and ``assertions``, or ``checks``; and the evidence.
    """

    method: str
    folder: Path
    manifest: dict[str, Any]
    records: dict[str, dict[str, Any]]
    population: Population
    decisions: pl.DataFrame
    tables: dict[str, pl.DataFrame]

    @property
    def judge(self) -> JudgeUse:
        """Whose the answers are."""
        said = self.manifest["parameters"].get("judge")
        if said is None:  # written before a model could be asked
            kinds = {record["judge"]["kind"] for record in self.records.values()}
            return JudgeUse(kind="recorded" if "recorded" in kinds else "none")
        return JudgeUse(**said)


def is_outcome_run(path: str | Path) -> bool:
    """Return whether a folder is a run that was decided by signals or checks."""
    return _manifest(Path(path)).get("method") in _TABLES


def load_outcome(path: str | Path) -> OutcomeRun | None:
    """Return a run of signals or checks; None where the folder is no such run.

    Raises
    ------
    StoreError
        ``run_damaged``: a file of it is not there, or not as the run wrote it.
    """
    folder = Path(path)
    manifest = _manifest(folder)
    method = manifest.get("method")
    if method not in _TABLES:
        return None
    outputs = _outputs(manifest)
    own = {name: read_table(folder, f"{name}.parquet", outputs) for name in _TABLES[method]}
    evidence = {name: read_table(folder, f"evidence/{name}.parquet", outputs) for name in _SHOWN}
    return OutcomeRun(
        method=method,
        folder=folder,
        manifest=manifest,
        records=_records(folder, manifest, f"{method}_record"),
        population=_population(folder, outputs),
        decisions=own.pop("calls"),
        tables={**own, **evidence},
    )


def outcome_tables(run: OutcomeRun) -> OutcomeTables:
    """Return everything that a run was decided from.

    Raises
    ------
    StoreError
        ``run_damaged``; ``run_without_evidence_use``: written by a version that kept less.
    """
    folder = run.folder
    if not (folder / "evidence/verdicts.parquet").is_file():
        raise _too_old("evidence/verdicts.parquet")
    outputs = _outputs(run.manifest)
    tables = {name: read_table(folder, f"evidence/{name}.parquet", outputs) for name in EVIDENCE}
    if not OUTCOME_CALLS.keys() <= set(tables["calls"].columns):
        raise _too_old("the calls' tags")
    return OutcomeTables(**tables, inputs=read_table(folder, INPUTS_FILE, outputs))


def _manifest(folder: Path) -> dict[str, Any]:
    file = folder / MANIFEST
    if not file.is_file():
        return {}
    manifest: dict[str, Any] = schema.load(file.read_bytes(), "manifest", file=MANIFEST)
    return manifest


def _outputs(manifest: dict[str, Any]) -> dict[str, str]:
    return {each["file"]: each["sha256"] for each in manifest.get("outputs", ())}


def _population(folder: Path, outputs: dict[str, str]) -> Population:
    file = folder / POPULATION_FILE
    if not file.is_file():
        raise run_damaged(
            f"{POPULATION_FILE} of {folder.name} is not there", "the run's population"
        )
    if outputs.get(POPULATION_FILE) != digest_bytes(file.read_bytes()):
        raise not_as_written(folder, POPULATION_FILE)
    return load_population(file)


def _records(folder: Path, manifest: dict[str, Any], schema_name: str) -> dict[str, dict[str, Any]]:
    outputs = _outputs(manifest)
    out = {}
    for file in [folder / "record.json", *sorted((folder / "records").glob("*.json"))]:
        if not file.is_file():
            continue
        data, name = file.read_bytes(), file.relative_to(folder).as_posix()
        if outputs.get(name) != digest_bytes(data):
            raise not_as_written(folder, name)
        record = schema.load(data, schema_name, file=name)
        out[str(record["agent_fingerprint"])] = record
    if not out:
        raise run_damaged(f"{folder.name} has no record", "record.json, or one in records/")
    return out


def _too_old(what: str) -> StoreError:
    return StoreError(
        Problem(
            code="run_without_evidence_use",
            found=f"the run does not hold {what}",
            expected="a run that this version wrote",
            remedy="score the bundles again",
        )
    )
