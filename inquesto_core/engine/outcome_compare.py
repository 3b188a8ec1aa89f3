"""Two agents compared, from run folders of signals or checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import pretty_bytes
from inquesto_core.compare.bootstrap import Resampling
from inquesto_core.compare.outcome_differences import part_verdicts
from inquesto_core.compare.outcome_pairs import (
    OutcomeSide,
    compare_outcome_pairs,
    outcome_pairs,
)
from inquesto_core.engine.outcome_stored import load_outcome
from inquesto_core.errors import IncomparableError, Problem, StoreError
from inquesto_core.places import refuse_inside
from inquesto_core.score.slots import with_trial
from inquesto_core.score.tables import SLOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.compare.outcome_pairs import OutcomeComparison
    from inquesto_core.engine.outcome_stored import OutcomeRun

__all__ = ["compare_outcomes"]

_BY = ("condition", "group")
_OF_SLOT = ("scenario_id", "condition", "group", "trial")
_FILE = "compare.json"
_SAME = ("protocol", "population")


def compare_outcomes(
    run_a: str | Path,
    run_b: str | Path | None = None,
    *,
    agents: tuple[str, str] | None = None,
    by: Sequence[str] = (),
    resamples: int = 10_000,
    seed: int = 1,
    out: str | Path | None = None,
) -> OutcomeComparison:
    """Return how agent B does beside agent A.

    Parameters
    ----------
    run_a, run_b, agents, resamples, seed
        As for `inquesto_core.engine.compare.compare`.
    by : sequence of str
        Columns of ``calls.parquet`` within whose values is compared; default condition and group.
    out : path, optional
        A folder for ``compare.json``.

    Raises
    ------
    IncomparableError
        ``runs_not_comparable``, ``same_run_twice``, ``agent_unknown``, ``agents_ambiguous``,
        ``no_pairs``, ``column_unknown``.
    StoreError
        ``run_method``: a run of failure events, which `compare` takes. ``run_damaged``.
    """
    first = load_outcome(run_a)
    second = first if run_b is None else load_outcome(run_b)
    if first is None or second is None:
        raise _of_events(Path(run_a if first is None else run_b or run_a))
    names = (None, None) if agents is None else agents
    chosen = (_agent(first, names[0]), _agent(second, names[1]))
    if first.folder.resolve() == second.folder.resolve() and chosen[0] == chosen[1]:
        raise _incomparable(
            "same_run_twice",
            "A and B are the same agent in the same run",
            "two runs, or two agents of one",
        )
    _refuse_different(first, second)
    wanted = tuple(by) or _BY
    frames = [_calls(run, agent) for run, agent in zip((first, second), chosen, strict=True)]
    _refuse_unknown(wanted, frames)
    own = [name for name in wanted if name not in _OF_SLOT]
    pairing = outcome_pairs(*frames, method=first.method, columns=own)
    if pairing.pairs.is_empty():
        raise _incomparable(
            "no_pairs",
            "no call of A has a partner in B: none has the same scenario, condition, group and "
            "trial and a known outcome on both sides",
            "two agents that were asked the same calls",
        )
    sides = [
        OutcomeSide(
            run=run.folder.name,
            agent=str(run.records[agent]["agent"]),
            fingerprint=agent,
            citation=run.records[agent]["citation"],
        )
        for run, agent in zip((first, second), chosen, strict=True)
    ]
    found = compare_outcome_pairs(
        pairing,
        a=sides[0],
        b=sides[1],
        method=first.method,
        protocol=first.manifest["protocol"]["name"],
        population=first.population.name,
        by=wanted,
        resampling=Resampling(resamples=resamples, seed=seed),
        notes=_notes(first, second, chosen),
    )
    if out is not None:
        _write(Path(out), found)
    return found


def _calls(run: OutcomeRun, agent: str) -> pl.DataFrame:
    ours = run.decisions.filter(pl.col("agent_fingerprint") == agent)
    parts = part_verdicts(run.decisions, run.tables, run.method)
    told = [name for name in parts.columns if name == "call_id" or name not in ours.columns]
    joined = ours.join(parts.select(told), on="call_id", how="left", maintain_order="left")
    return with_trial(joined, population=run.population).with_columns(
        pl.col(name).fill_null("(not known)") for name in SLOT if joined[name].dtype == pl.String
    )


def _agent(run: OutcomeRun, name: str | None) -> str:
    """Return the fingerprint of the agent that is meant."""
    held = {key: str(record["agent"]) for key, record in run.records.items()}
    listed = ", ".join(sorted(repr(each) for each in held.values()))
    if name is None:
        found = list(held)
    else:
        found = [key for key, agent in held.items() if name in (agent, key)] or [
            key for key in held if name and key.removeprefix("sha256:").startswith(name)
        ]
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} agents" if found else "no agent"
    called = "" if name is None else f" called {name!r}"
    raise _incomparable(
        "agents_ambiguous" if found else "agent_unknown",
        f"{run.folder.name} has {what}{called}",
        f"one of {listed}, or the beginning of a fingerprint",
        "name A and then B with --agents A B",
    )


def _refuse_different(first: OutcomeRun, second: OutcomeRun) -> None:
    differs = []
    for name in _SAME:
        one, two = first.manifest[name], second.manifest[name]
        if (one["name"], one["digest"]) != (two["name"], two["digest"]):
            differs.append(
                f"{name}: {one['name']} {one['digest'][:8]}… and {two['name']} {two['digest'][:8]}…"
            )
    judges = [(run.judge.kind, run.judge.model, run.judge.sha256) for run in (first, second)]
    rubrics = [run.manifest["parameters"].get("asked_with") for run in (first, second)]
    if judges[0] != judges[1] or rubrics[0] != rubrics[1]:
        one, two = (f"{kind} {model or ''}".strip() for kind, model, _ in judges)
        differs.append(f"judge: {one} and {two}")
    if differs:
        raise _incomparable(
            "runs_not_comparable",
            "A and B differ in more than the agent: " + "; ".join(differs),
            "one protocol, population and judge",
            "`rescore` one of them under the other's protocol, or score both with one --judge",
        )


def _refuse_unknown(wanted: Sequence[str], frames: Sequence[pl.DataFrame]) -> None:
    known = [name for name in frames[0].columns if name in frames[1].columns]
    for name in wanted:
        if name not in known:
            raise _incomparable(
                "column_unknown", f"there is no column {name!r}", "one of " + ", ".join(known)
            )


def _notes(first: OutcomeRun, second: OutcomeRun, chosen: tuple[str, str]) -> list[str]:
    notes = []
    versions = [run.manifest["engine"]["version"] for run in (first, second)]
    if versions[0] != versions[1]:
        notes.append(f"scored by different versions: {versions[0]} and {versions[1]}")
    if chosen[0] == chosen[1]:
        notes.append("A and B have the same fingerprint: this is one agent against itself")
    if first.judge.kind == "none":
        notes.append("without a judge: outcomes are what state, trace and transcript show")
    return notes


def _write(folder: Path, found: OutcomeComparison) -> None:
    refuse_inside(folder)
    try:
        if folder.is_dir() and any(folder.iterdir()) and not (folder / _FILE).is_file():
            raise StoreError(
                Problem(
                    code="out_not_empty",
                    found=f"{folder.name} holds other files",
                    expected="a new or empty folder, or an earlier comparison",
                    remedy="name another folder with --out",
                )
            )
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / _FILE).write_bytes(pretty_bytes(found.document()))
        (folder / _FILE).chmod(0o600)
    except OSError as exc:
        raise StoreError(
            Problem(
                code="run_unwritable",
                found=f"{folder.name} cannot be written: {exc.strerror}",
                expected="a writable folder with room",
            )
        ) from exc


def _incomparable(code: str, found: str, expected: str, remedy: str = "") -> IncomparableError:
    problem: dict[str, Any] = {"code": code, "found": found, "expected": expected}
    return IncomparableError(Problem(**problem, remedy=remedy))


def _of_events(run: Path) -> StoreError:
    return StoreError(
        Problem(
            code="run_method",
            found=f"{run.name} is no run of signals or checks",
            expected="two runs of one protocol",
            remedy="score both under one protocol",
        )
    )
