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
        ``run_damaged``: a table of it is not there, or not whole, or a record is not as the run
        wrote it.
    """
    folder = Path(path)
    manifest = _manifest(folder)
    method = manifest.get("method")
    if method not in _TABLES:
        return None
    own = {name: _read(folder, f"{name}.parquet") for name in _TABLES[method]}
    evidence = {name: _read(folder, f"evidence/{name}.parquet") for name in _SHOWN}
    return OutcomeRun(
        method=method,
        folder=folder,
        manifest=manifest,
        records=_records(folder, manifest, f"{method}_record"),
        population=load_population(folder / POPULATION_FILE),
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
    tables = {name: _read(folder, f"evidence/{name}.parquet") for name in EVIDENCE}
    if not OUTCOME_CALLS.keys() <= set(tables["calls"].columns):
        raise _too_old("the calls' tags")
    return OutcomeTables(**tables, inputs=_read(folder, INPUTS_FILE))


def _manifest(folder: Path) -> dict[str, Any]:
    file = folder / MANIFEST
    if not file.is_file():
        return {}
    manifest: dict[str, Any] = schema.load(file.read_bytes(), "manifest", file=MANIFEST)
    return manifest


def _records(folder: Path, manifest: dict[str, Any], schema_name: str) -> dict[str, dict[str, Any]]:
    outputs = {each["file"]: each["sha256"] for each in manifest.get("outputs", ())}
    out = {}
    for file in [folder / "record.json", *sorted((folder / "records").glob("*.json"))]:
        if not file.is_file():
            continue
        data, name = file.read_bytes(), file.relative_to(folder).as_posix()
        if outputs.get(name) != digest_bytes(data):
            raise _damaged(
                f"{name} of {folder.name} is not as the run wrote it",
                "the file whose SHA-256 stands in manifest.json",
            )
        record = schema.load(data, schema_name, file=name)
        out[str(record["agent_fingerprint"])] = record
    return out


def _read(folder: Path, file: str) -> pl.DataFrame:
    try:
        return pl.read_parquet(folder / file)
    except (OSError, pl.exceptions.PolarsError) as exc:
        raise _damaged(
            f"{file} of {folder.name} cannot be read: {type(exc).__name__}",
            "the tables that the run wrote",
        ) from exc


def _damaged(found: str, expected: str) -> StoreError:
    return StoreError(
        Problem(
            code="run_damaged", found=found, expected=expected, remedy="score the bundles again"
        )
    )


def _too_old(what: str) -> StoreError:
    return StoreError(
        Problem(
            code="run_without_evidence_use",
            found=f"the run does not hold {what}",
            expected="a run that this version wrote",
            remedy="score the bundles again",
        )
    )
