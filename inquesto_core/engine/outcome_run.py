"""Score call bundles under a protocol of signals or checks: find, read, decide, write.

Nothing is listened to and nobody is asked: trace, state, transcript and recorded answers decide.
"""

from __future__ import annotations

import platform
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.bundle import find_bundles
from inquesto_core.canonical import digest_json
from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.outcome_bundles import OutcomeTables, read_outcomes
from inquesto_core.engine.outcome_checks import check_tables
from inquesto_core.engine.outcome_signals import signal_tables
from inquesto_core.engine.population_of_calls import population_of_calls
from inquesto_core.engine.run_folder import RunFolder
from inquesto_core.engine.stored import INPUTS_FILE
from inquesto_core.errors import BundleError, Problem, ProtocolError
from inquesto_core.events.checks_asked import check_checks
from inquesto_core.events.signals_asked import check_signals, lacking_a_judge
from inquesto_core.places import allowed_schemes
from inquesto_core.protocol import ChecksProtocol, OutcomeProtocol, SignalsProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from inquesto_core.engine.outcome_signals import Made
    from inquesto_core.protocol import Population

__all__ = ["OutcomeResult", "score_outcomes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeResult:
    """What a run gave.

    Parameters
    ----------
    records : dict of fingerprint to record
    decisions : polars.DataFrame
        One row a call.
    problems : tuple of Problem
        What was wrong with the sources themselves.
    call_problems : polars.DataFrame
        Evidence table ``problems``.
    """

    records: Mapping[str, dict[str, Any]]
    folder: Path
    decisions: pl.DataFrame
    problems: tuple[Problem, ...]
    call_problems: pl.DataFrame

    @property
    def has_bad_input(self) -> bool:
        """Whether some source or bundle was unusable, wholly or in part."""
        bad = self.call_problems.filter(pl.col("level") == "error").height > 0
        return bad or any(problem.level == "error" for problem in self.problems)

    @property
    def is_complete(self) -> bool:
        """Whether every expected call is there and every call is evaluated."""
        return all(
            not record["accounting"]["missing"] and not record["accounting"]["not_evaluated"]
            for record in self.records.values()
        )


def _ignore_progress(done: int, total: int) -> None:
    """Show no progress."""


def _ignore_warning(problem: Problem) -> None:
    """Show no warning."""


def score_outcomes(
    sources: Sequence[str | Path],
    *,
    out: str | Path,
    protocol: OutcomeProtocol,
    population: str | Path | None = None,
    judge: str = "auto",
    allow_remote: Sequence[str] = (),
    evaluated_at: str | None = None,
    progress: Callable[[int, int], None] = _ignore_progress,
    warn: Callable[[Problem], None] = _ignore_warning,
) -> OutcomeResult:
    """Return the records of a set of call bundles, and write the run folder `out`.

    Parameters
    ----------
    sources, out, allow_remote, evaluated_at
        As `inquesto_core.engine.run.score`.
    protocol : OutcomeProtocol
    population : str or path, optional
        A file; default: the ``population.json`` beside the calls.
    judge : str
        ``auto`` and ``recorded`` read what the bundles' ``verdicts.json`` say, ``none`` does not.
    progress : callable
        Told how many of how many bundles are read.
    warn : callable
        Told, before any call is scored, what will lack a judge.

    Raises
    ------
    InquestoError
        What makes the run as a whole impossible; a call that cannot be used is a stated state.
    """
    if judge not in {"auto", "recorded", "none"}:
        raise ProtocolError(
            Problem(
                code="judge_not_asked",
                found=f"--judge {judge}: under {protocol.name} no model is asked",
                expected="auto, recorded or none",
                remedy="write the answers into each bundle's verdicts.json; "
                f"see docs/{protocol.method}.md",
            )
        )
    folder = RunFolder(Path(out))
    with tempfile.TemporaryDirectory(prefix="inquesto-") as scratch:
        found = find_bundles(sources, scratch=Path(scratch), allowed=allowed_schemes(allow_remote))
        if not found.refs:
            raise BundleError(found.problems[0] if found.problems else "no call bundle was found")
        folder.open()
        tables = read_outcomes(found.refs, tags=_tags(protocol), progress=progress)
        named = frozenset(tables.calls["population"].drop_nulls())
        people = population_of_calls(population, found.populations, named, protocol)
    _check(people, protocol)
    if judge == "none":
        tables = _without_answers(tables)
    _warn_of_judges(tables, people, protocol, warn)
    provenance = {
        "engine": __version__,
        "protocol_sha256": protocol.digest,
        "population_sha256": people.digest,
        "inputs_sha256": digest_json(tables.inputs.to_dicts()),
    }
    reduced = _reduce(tables, protocol, people, provenance, evaluated_at)
    folder.write_outcome(
        reduced.records,
        schema_name=f"{protocol.method}_record",
        tables={**reduced.tables, **_evidence(tables)},
        population=people,
        manifest=_manifest(tables, protocol, people, evaluated_at),
    )
    return OutcomeResult(
        records=reduced.records,
        folder=folder.path,
        decisions=reduced.decisions,
        problems=found.problems,
        call_problems=tables.problems,
    )


def _tags(protocol: OutcomeProtocol) -> dict[str, str]:
    if isinstance(protocol, SignalsProtocol):
        return {"simulator_end": protocol.ends.simulator_tag}
    assert isinstance(protocol, ChecksProtocol)
    return {"believed": protocol.believed_tag, "cost": protocol.cost_tag}


def _check(population: Population, protocol: OutcomeProtocol) -> None:
    if isinstance(protocol, SignalsProtocol):
        check_signals(population, protocol=protocol)
    else:
        check_checks(population, protocol=protocol)


def _without_answers(tables: OutcomeTables) -> OutcomeTables:
    return replace(tables, answers=tables.answers.clear())


def _warn_of_judges(
    tables: OutcomeTables,
    population: Population,
    protocol: OutcomeProtocol,
    warn: Callable[[Problem], None],
) -> None:
    if not isinstance(protocol, SignalsProtocol):
        return
    judged = tables.calls.join(tables.answers, on="call_id", how="semi")
    lacking = lacking_a_judge(
        population,
        queued=set(tables.calls["scenario_id"].drop_nulls()),
        judged=set(judged["scenario_id"].drop_nulls()),
    )
    if lacking:
        counts = ", ".join(f"{domain} {count}" for domain, count in lacking.items())
        warn(
            Problem(
                code="judge_lacking",
                found=f"{sum(lacking.values())} scenarios count on a judge, and none of their "
                f"calls has an answer: {counts}",
                expected="answers in verdicts.json",
                remedy="judge_passed and nl_assertion do not apply to them",
                level="warning",
            )
        )


def _reduce(
    tables: OutcomeTables,
    protocol: OutcomeProtocol,
    population: Population,
    provenance: dict[str, Any],
    evaluated_at: str | None,
) -> Made:
    agents = _agents(tables, provenance, evaluated_at)
    if not agents:
        raise BundleError(
            Problem(
                code="no_usable_bundle",
                found="no bundle has a readable call.json that names its agent",
                expected="at least one",
                remedy="see `inquesto-core validate`",
            )
        )
    if isinstance(protocol, SignalsProtocol):
        return signal_tables(tables, agents, protocol=protocol, population=population)
    assert isinstance(protocol, ChecksProtocol)
    return check_tables(tables, agents, protocol=protocol, population=population)


def _agents(
    tables: OutcomeTables, provenance: dict[str, Any], evaluated_at: str | None
) -> dict[str, dict[str, Any]]:
    """Return what a record says of each agent before its calls are counted."""
    answered = tables.answers.join(
        tables.calls.select("call_id", "agent_fingerprint"), on="call_id", how="left"
    )
    rows = (
        tables.calls.drop_nulls("agent_fingerprint")
        .group_by("agent_fingerprint")
        .agg(pl.col("agent_name").min(), newest=pl.col("ended_at").str.slice(0, 10).max())
        .sort("agent_fingerprint")
    )
    out = {}
    for fingerprint, name, newest in rows.iter_rows():
        ours = answered.filter(pl.col("agent_fingerprint") == fingerprint)
        models = sorted(ours["model"].drop_nulls().unique())
        out[str(fingerprint)] = {
            "agent": name,
            "agent_fingerprint": fingerprint,
            "judge": {"kind": "recorded" if ours.height else "none", "models": models},
            "evaluated_at": evaluated_at or newest,
            "provenance": provenance,
        }
    return out


def _evidence(tables: OutcomeTables) -> dict[str, pl.DataFrame]:
    names = ("calls", "tool_calls", "caller_calls", "transcript", "states", "answers", "problems")
    kept = {f"evidence/{name}.parquet": getattr(tables, name) for name in names}
    return {**kept, INPUTS_FILE: tables.inputs}


def _manifest(
    tables: OutcomeTables,
    protocol: OutcomeProtocol,
    population: Population,
    evaluated_at: str | None,
) -> dict[str, Any]:
    return {
        "method": protocol.method,
        "inputs": {
            "file": INPUTS_FILE,
            "rows": tables.inputs.height,
            "call_key": call_name_key(tables.inputs).hex(),
        },
        "models": [],
        "protocol": {
            "name": protocol.name,
            "digest": protocol.digest,
            "status": protocol.status,
        },
        "population": {"name": population.name, "digest": population.digest},
        "engine": {"version": __version__},
        "parameters": {
            "protocol": protocol.name,
            "population": population.name,
            "evaluated_at": evaluated_at,
        },
        "platform": {"machine": platform.machine(), "python": platform.python_version()},
        "times": {"written_at": datetime.now(UTC).isoformat(timespec="seconds")},
    }
