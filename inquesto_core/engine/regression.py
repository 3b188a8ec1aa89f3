"""Regression sets as folders: failures cut out of a run, and a run beside them.

A set holds ``regression.json`` and ``calls/<hash>/``, a bundle each, made of the very files that
the run read and of no others. What a failing event needs is the whole call: a window that is cut
out of it would have other turns, other waits and another goal.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.bundle import at_hand, find_bundles
from inquesto_core.bundle.files import open_inside, read_whole
from inquesto_core.canonical import pretty_bytes, strict_json
from inquesto_core.compare.regression import (
    Failure,
    FailureCheck,
    FailureEvent,
    RegressionSet,
    check_failures,
    failure_category,
    parse_regression,
)
from inquesto_core.engine.review import agent_of_run
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.stored import StoredRun, load_run
from inquesto_core.errors import BundleError, IncomparableError, InquestoError, Problem, StoreError
from inquesto_core.places import read_file_bytes, refuse_inside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.protocol import Protocol

__all__ = ["SET_FILE", "CheckedSet", "check_regressions", "cut_failures"]

SET_FILE = "regression.json"
_CALLS = "calls"
_DIGITS = 16
_BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSet:
    """A regression set beside both agents of a comparison; it is in none of their scores."""

    a: tuple[FailureCheck, ...]
    b: tuple[FailureCheck, ...]


def cut_failures(
    run: str | Path,
    call_ids: Sequence[str],
    *,
    sources: Sequence[str | Path],
    out: str | Path,
    reviewer: str | None = None,
    note: str = "",
    protocol: str | Path | None = None,
    population: str | Path | None = None,
) -> RegressionSet:
    """Write failed calls of a run as a regression set, or add them to one, and return all of it.

    Parameters
    ----------
    call_ids : sequence of str
        Calls that a person has reviewed.
    sources : sequence of path
        Where their bundles lie.
    out : path
        A new or empty folder, or a set of the same protocol and population.
    reviewer : str, optional
        Who looked at them.
    note : str
        What was found; stands with each of these calls.

    Raises
    ------
    IncomparableError
        ``call_not_failed``, ``calls_differ`` (a file is not the one that was scored),
        ``regression_differs``.
    StoreError
        ``call_unknown``, ``out_not_empty``, ``run_unwritable``.
    BundleError
        ``bundle_missing``, ``file_missing``, ``link_refused``.
    """
    stored = load_run(run, tables=("events", "calls"))
    law = protocol_of_run(stored, protocol)
    people = population_of_run(stored, population, protocol=law)
    failures = [_failure(stored, name, law, note) for name in sorted(set(call_ids))]
    held = RegressionSet(
        protocol=(law.name, law.digest),
        population=(people.name, people.digest),
        reviewer=reviewer,
        failures=tuple(failures),
    )
    folder = Path(out)
    held = _with_earlier(folder, held)
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        bundles = find_bundles(sources, scratch=Path(scratch))
        left = {each.call_id: each for each in failures}
        for ref in bundles.refs:
            with at_hand(ref) as near:
                failure = left.pop(_call_id(near.path), None) if left else None
                if failure is not None:
                    _copy(near.path, folder, failure)
    if left:
        raise BundleError(
            Problem(
                code="bundle_missing",
                found=f"no source holds the bundle of call {min(left)}",
                expected="the bundles that the run was scored from",
                remedy="name them with --source",
            )
        )
    _write_set(folder, held)
    return held


def _failure(stored: StoredRun, call_id: str, law: Protocol, note: str) -> Failure:
    rows = stored.decisions.filter(pl.col("call_id") == call_id).to_dicts()
    if not rows:
        raise StoreError(
            Problem(
                code="call_unknown",
                found=f"{stored.folder.name} has no call {call_id!r}",
                expected="a call of the run",
            )
        )
    row = rows[0]
    category, severity, absent = failure_category(row, protocol=law)
    events = stored.tables["events"].filter(
        (pl.col("call_id") == call_id) & pl.col("counted") & (pl.col("severity") >= law.fail_at)
    )
    files = stored.inputs.filter(pl.col("call") == call_id).sort("file")
    agent = stored.records.get(str(row["agent_fingerprint"]))
    return Failure(
        call_id=call_id,
        bundle=f"{_CALLS}/{hashlib.sha256(call_id.encode()).hexdigest()[:_DIGITS]}",
        scenario_id=row["scenario_id"],
        condition=row["condition"],
        group=row["group"],
        trial=row["trial"],
        category=category,
        severity=severity,
        agent=None if agent is None else str(agent["agent"]),
        fingerprint=row["agent_fingerprint"],
        events=tuple(
            FailureEvent(type=each["type"], severity=each["severity"], at_ms=each["at_ms"])
            for each in events.sort("severity", "type", descending=[True, False]).to_dicts()
        ),
        absent=absent,
        note=note,
        files=tuple(files.select("file", "sha256").rows()),
    )


def _with_earlier(folder: Path, held: RegressionSet) -> RegressionSet:
    """Return the set with what the folder already holds; refuse a folder of anything else."""
    refuse_inside(folder)
    file = folder / SET_FILE
    if not file.is_file():
        if folder.is_dir() and any(folder.iterdir()):
            raise StoreError(
                Problem(
                    code="out_not_empty",
                    found=f"{folder.name} holds other files",
                    expected="a new or empty folder, or a regression set",
                    remedy="name another folder with --out: failures never lie with a sample",
                )
            )
        return held
    earlier = parse_regression(file.read_bytes(), file=SET_FILE)
    _refuse_other(earlier, held.protocol[0], held.population)
    merged = {each.call_id: each for each in (*earlier.failures, *held.failures)}
    return RegressionSet(
        protocol=held.protocol,
        population=held.population,
        reviewer=held.reviewer or earlier.reviewer,
        failures=tuple(merged[name] for name in sorted(merged)),
    )


def _refuse_other(held: RegressionSet, protocol: str, population: tuple[str, str]) -> None:
    if held.protocol[0] == protocol and held.population[1] == population[1]:
        return
    raise IncomparableError(
        Problem(
            code="regression_differs",
            found=f"the set is of {held.protocol[0]} and the population {held.population[0]}",
            expected=f"{protocol} and {population[0]}, as the run",
        )
    )


def _call_id(folder: Path) -> str:
    """Return the id that a bundle gives itself; empty where nobody can read it."""
    try:
        with open_inside(folder, "call.json") as source:
            value = strict_json(read_whole(source, "call.json"))
    except InquestoError:
        return ""
    return str(value.get("call_id", "")) if isinstance(value, dict) else ""


def _copy(bundle: Path, folder: Path, failure: Failure) -> None:
    """Copy the files that the run read, and nothing else, each proven to be the one it read."""
    target = folder / failure.bundle
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(mode=0o700, parents=True)
        for name, digest in failure.files:
            if _copied(bundle, name, target) != digest.removeprefix("sha256:"):
                raise IncomparableError(
                    Problem(
                        code="calls_differ",
                        found=f"{name} of call {failure.call_id} is not the file that was scored",
                        expected=f"SHA-256 {digest[:_DIGITS]}…",
                        remedy="name the bundles of the run with --source",
                    )
                )
    except InquestoError:
        shutil.rmtree(target, ignore_errors=True)
        raise
    except OSError as exc:
        raise _unwritable(folder, exc) from exc


def _copied(bundle: Path, name: str, target: Path) -> str:
    found = hashlib.sha256()
    # Opened first: a name that leads out of the bundle is refused before anything is written.
    with open_inside(bundle, name) as source:
        path = target / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("wb") as out:
            path.chmod(0o600)
            while block := source.read(_BLOCK):
                found.update(block)
                out.write(block)
    return found.hexdigest()


def _write_set(folder: Path, held: RegressionSet) -> None:
    """Write the list last, whole or not at all, so that it names bundles that are there."""
    unfinished = folder / f"{SET_FILE}.tmp"
    try:
        unfinished.write_bytes(pretty_bytes(held.document()))
        unfinished.chmod(0o600)
        unfinished.replace(folder / SET_FILE)
    except OSError as exc:
        raise _unwritable(folder, exc) from exc


def _unwritable(folder: Path, exc: OSError) -> StoreError:
    return StoreError(
        Problem(
            code="run_unwritable",
            found=f"{folder.name} cannot be written: {exc.strerror}",
            expected="a writable folder with room",
            remedy="free space or name another folder with --out",
        )
    )


def check_regressions(
    folder: str | Path,
    run_a: str | Path,
    run_b: str | Path | None = None,
    *,
    agents: tuple[str, str] | None = None,
) -> CheckedSet:
    """Return what became of a set's failures under both agents of a comparison.

    Parameters
    ----------
    folder : path
        A regression set.
    run_a, run_b, agents
        As for `inquesto_core.engine.compare`.

    Raises
    ------
    IncomparableError
        ``regression_differs``: a run is of another protocol or population.
    StoreError
        ``not_readable``: there is no set.
    """
    file = Path(folder) / SET_FILE
    try:
        data = read_file_bytes(file)
    except OSError as exc:
        raise StoreError(
            Problem(
                code="not_readable",
                found=f"{SET_FILE} of {file.parent.name} cannot be read: {exc.strerror}",
                expected="a folder that `sample --failures` wrote",
            )
        ) from exc
    held = parse_regression(data, file=SET_FILE)
    names = (None, None) if agents is None else agents
    runs = (run_a, run_a if run_b is None else run_b)
    sides = [_checks(held, run, name) for run, name in zip(runs, names, strict=True)]
    return CheckedSet(a=sides[0], b=sides[1])


def _checks(held: RegressionSet, run: str | Path, agent: str | None) -> tuple[FailureCheck, ...]:
    stored = load_run(run, tables=())
    manifest: Mapping[str, Any] = stored.manifest
    people = manifest.get("population") or {}
    digest = str(people.get("digest", "")).removeprefix("sha256:")
    _refuse_other(held, manifest["protocol"]["name"], (str(people.get("name")), digest))
    decisions = stored.decisions
    if agent is not None:
        whose = agent_of_run(stored, agent)
        decisions = decisions.filter(pl.col("agent_fingerprint").eq_missing(pl.lit(whose)))
    return check_failures(held.failures, decisions)
