"""The pure reduction of a run: evidence tables in, records and the decision table out.

`score` and `rescore` share it, so that a run that is scored again under its own protocol is the
same run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import strict_json
from inquesto_core.errors import BundleError, Problem
from inquesto_core.events import detect
from inquesto_core.evidence import TABLES, make_table
from inquesto_core.protocol import load_population
from inquesto_core.score import (
    AgentIdentity,
    JudgeUse,
    TranscriberUse,
    build_record,
    decision_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inquesto_core.protocol import Population, Protocol

__all__ = ["DERIVED", "EXTRACTED", "READ", "RunResult", "call_name_key", "reduce_run", "tables_of"]

#: Tables that the reduction makes.
DERIVED = (
    "utterances",
    "turns",
    "replies",
    "talk_overs",
    "barge_ins",
    "silences",
    "tool_results",
    "events",
)
#: Tables that it is given.
EXTRACTED = tuple(name for name in TABLES if name not in DERIVED)

#: Of these, what a score is read from.
READ = (
    "calls",
    "segments",
    "tool_calls",
    "transcript",
    "verdicts",
    "states",
    "word_errors",
    "problems",
)

#: What Python does not write as it is between single quotes.
_ODD = r"[^ -~]|['\\\\]"


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

    @property
    def without_transcript(self) -> int:
        """How many usable calls have no transcript to read."""
        bare = pl.col("exclusion_reason").is_null() & ~pl.col("has_transcript")
        return self.tables["calls"].filter(bare).height


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


def _newest(calls: pl.DataFrame) -> str | None:
    dates = [text[:10] for text in calls["ended_at"].drop_nulls()]
    return max(dates, default=None)


def tables_of(
    rows: Iterable[Mapping[str, list[dict[str, Any]]]],
) -> dict[str, pl.DataFrame]:
    """Return the rows of any number of calls as the tables `EXTRACTED`."""
    calls = list(rows)
    return {
        name: make_table(name, [row for call in calls for row in call.get(name, [])])
        for name in EXTRACTED
    }


def call_name_key(inputs: pl.DataFrame) -> bytes:
    """Return the key of the hashes that stand for call ids in a record, made of its inputs.

    Parameters
    ----------
    inputs : polars.DataFrame
        Columns call, file, sha256, in the run's order.
    """
    return hashlib.sha256(b"call names\0" + _listed(inputs).encode()).digest()


def _listed(inputs: pl.DataFrame) -> str:
    """Return the rows as Python writes a list of them; as one text operation where none is odd."""
    names = inputs.columns
    odd = inputs.select(pl.any_horizontal(pl.col(names).str.contains(_ODD)).any()).item()
    if odd or inputs.is_empty():
        return repr(inputs.to_dicts())
    parts = [
        part for name in names for part in (pl.lit(f"'{name}': '"), pl.col(name), pl.lit("', "))
    ]
    parts[-1] = pl.lit("'}")
    rows = inputs.select(pl.concat_str(pl.lit("{"), *parts).str.join(", ")).item()
    return f"[{rows}]"


def reduce_run(
    tables: dict[str, pl.DataFrame],
    *,
    law: Protocol,
    people: Population,
    judge: JudgeUse,
    transcriber: TranscriberUse,
    provenance: Mapping[str, Any],
    call_key: bytes,
    evaluated_at: str | None,
) -> RunResult:
    """Return the records and decisions that the evidence of all calls gives.

    Parameters
    ----------
    tables : dict of polars.DataFrame
        The tables `READ`; others are passed on.
    call_key : bytes
        `call_name_key` of the run's inputs.
    evaluated_at : str or None
        None = the newest end of a call of each agent.

    Raises
    ------
    BundleError
        ``no_usable_bundle``: no call names its agent.
    """
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
            for name in ("calls", "word_errors", *DERIVED)
        }
        records[fingerprint] = build_record(
            rows,
            evidence,
            protocol=law,
            population=people,
            default_population_digest=default_digest,
            agent=_agent(ours),
            judge=judge,
            transcriber=transcriber,
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
