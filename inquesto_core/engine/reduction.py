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
from inquesto_core.evidence import TABLES, empty_table, make_table
from inquesto_core.protocol import load_population
from inquesto_core.score import (
    AgentIdentity,
    JudgeUse,
    Summary,
    TranscriberUse,
    build_record,
    decision_table,
    summarise,
)
from inquesto_core.score.accounting import slots_in_order
from inquesto_core.score.decide import missing_calls
from inquesto_core.score.slots import call_slots, slots_taken_twice
from inquesto_core.score.summary import add_summaries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "DERIVED",
    "EXTRACTED",
    "READ",
    "Reading",
    "Reduced",
    "RunResult",
    "absent_part",
    "call_name_key",
    "records_of",
    "reduce_part",
    "reduce_run",
    "tables_of",
]

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


#: What the calls of an agent say of it, one row an agent; adds up over partitions.
_AGENTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "agent_fingerprint": pl.String,
    "first_call": pl.String,  # by name, of those that name the agent
    "name": pl.String,
    "config": pl.String,
    "platforms": pl.List(pl.String),
    "newest": pl.String,
    "is_reported": pl.Boolean,
}


def _agents(calls: pl.DataFrame) -> pl.DataFrame:
    named = pl.col("agent_name").is_not_null()
    told = calls.filter(pl.col("agent_fingerprint").is_not_null()).select(
        "agent_fingerprint",
        first_call=pl.when(named).then(pl.col("call_id").cast(pl.String)),
        name="agent_name",
        config="agent_config",
        platforms=pl.concat_list("platform").list.drop_nulls(),
        newest=pl.col("ended_at").str.slice(0, 10),
        is_reported=(pl.col("timing_source") == "reported").fill_null(value=False),
    )
    return _added_agents(told)


def _added_agents(told: pl.DataFrame) -> pl.DataFrame:
    first = pl.col("first_call").arg_min()
    return (
        told.group_by("agent_fingerprint")
        .agg(
            first_call=pl.col("first_call").min(),
            name=pl.col("name").get(first, null_on_oob=True),
            config=pl.col("config").get(first, null_on_oob=True),
            platforms=pl.col("platforms").explode(empty_as_null=False).drop_nulls().unique(),
            newest=pl.col("newest").max(),
            is_reported=pl.col("is_reported").any(),
        )
        .sort("agent_fingerprint")
        .cast(_AGENTS)  # type: ignore[arg-type]
    )


def _identity(agent: Mapping[str, Any]) -> AgentIdentity:
    platforms = agent["platforms"]
    return AgentIdentity(
        name=agent["name"],
        fingerprint=agent["agent_fingerprint"],
        config=strict_json((agent["config"] or "{}").encode()),
        runtime=platforms[0] if len(platforms) == 1 else None,
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Under what evidence is reduced, the same for every partition of a run.

    Parameters
    ----------
    protocol, population
    judge, transcriber
        Who answered, and who heard.
    """

    protocol: Protocol
    population: Population
    judge: JudgeUse
    transcriber: TranscriberUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """A partition of a run, reduced.

    Parameters
    ----------
    decisions : polars.DataFrame
        The decision table of its calls.
    tables : dict of polars.DataFrame
        The evidence tables, with those that are `DERIVED`.
    summaries : dict of str to Summary
        By agent fingerprint.
    agents : polars.DataFrame
        What its calls say of each agent.
    """

    decisions: pl.DataFrame
    tables: dict[str, pl.DataFrame] = field(repr=False)
    summaries: dict[str, Summary]
    agents: pl.DataFrame


def reduce_part(
    tables: Mapping[str, pl.DataFrame], reading: Reading, *, twice: pl.DataFrame
) -> Reduced:
    """Return the decisions on the calls of a partition, and what a record tells of them.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        The tables `READ`; others are passed on.
    twice : polars.DataFrame
        `slots_taken_twice` of the whole run.
    """
    law, people = reading.protocol, reading.population
    judge_free = reading.judge.kind == "none"
    detection = detect(_numbered(tables), protocol=law, population=people)
    decisions = decision_table(
        detection, protocol=law, population=people, judge_free=judge_free, twice=twice
    )
    agents = _agents(tables["calls"])
    derived = {name: _named(detection.tables[name]) for name in DERIVED}
    return Reduced(
        decisions=_named(decisions),
        tables={**tables, **derived},
        summaries={
            name: summarise(
                *_of_agent(decisions, detection.tables, name),
                protocol=law,
                population=people,
                judge_free=judge_free,
            )
            for name in agents["agent_fingerprint"]
        },
        agents=agents,
    )


def _numbered(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the tables with calls as numbers under their names: in the same order, read faster."""
    ids = pl.Enum(tables["calls"]["call_id"].unique().sort())
    return {name: frame.with_columns(pl.col("call_id").cast(ids)) for name, frame in tables.items()}


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("call_id").cast(pl.String))


def _of_agent(
    decisions: pl.DataFrame, tables: Mapping[str, pl.DataFrame], fingerprint: str
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Return the rows of one agent; nearly always there is no other."""
    evidence = {name: tables[name] for name in ("calls", "word_errors", *DERIVED) if name in tables}
    is_theirs = pl.col("agent_fingerprint").eq_missing(pl.lit(fingerprint))
    ours = decisions.filter(is_theirs)
    if ours.height == decisions.height:
        return ours, evidence
    ids = ours.select("call_id")
    return ours, {
        name: frame.join(ids, on="call_id", how="semi") for name, frame in evidence.items()
    }


def absent_part(slots: pl.DataFrame, reading: Reading) -> Reduced:
    """Return the expected calls that the run lacks, as a partition of their own.

    Parameters
    ----------
    slots : polars.DataFrame
        `call_slots` of all calls of the run.
    """
    law, people = reading.protocol, reading.population
    rows = missing_calls(slots, protocol=law, population=people)
    nothing = {name: empty_table(name) for name in TABLES}
    return Reduced(
        decisions=rows,
        tables=nothing,
        summaries={
            name: summarise(
                ours,
                nothing,
                protocol=law,
                population=people,
                judge_free=reading.judge.kind == "none",
            )
            for (name,), ours in rows.partition_by("agent_fingerprint", as_dict=True).items()
            if name is not None
        },
        agents=pl.DataFrame(schema=_AGENTS),
    )


def records_of(
    parts: Iterable[Reduced],
    reading: Reading,
    *,
    provenance: Mapping[str, Any],
    call_key: bytes,
    evaluated_at: str | None,
) -> dict[str, dict[str, Any]]:
    """Return the record of each agent of a run, by fingerprint.

    Parameters
    ----------
    parts : iterable of Reduced
        All partitions; of each only summaries and agents are read.
    call_key : bytes
        `call_name_key` of the run's inputs.
    evaluated_at : str or None
        None = the newest end of a call of each agent.

    Raises
    ------
    BundleError
        ``no_usable_bundle``: no call names its agent.
    """
    law, people = reading.protocol, reading.population
    by_agent: dict[str, list[Summary]] = {}
    told = []
    for part in parts:
        told.append(part.agents)
        for name, summary in part.summaries.items():
            by_agent.setdefault(name, []).append(summary)
    agents = _added_agents(pl.concat(told)) if told else pl.DataFrame(schema=_AGENTS)
    if agents.is_empty():
        raise BundleError(
            Problem(
                code="no_usable_bundle",
                found="no bundle has a readable call.json that names its agent",
                expected="at least one",
                remedy="see `inquesto-core validate`",
            )
        )
    default_digest = load_population(law.default_population, law).digest
    return {
        agent["agent_fingerprint"]: build_record(
            add_summaries(by_agent[agent["agent_fingerprint"]]),
            protocol=law,
            population=people,
            default_population_digest=default_digest,
            agent=_identity(agent),
            judge=reading.judge,
            transcriber=reading.transcriber,
            timing_reported=agent["is_reported"],
            call_key=call_key,
            provenance=provenance,
            evaluated_at=evaluated_at or agent["newest"],
        )
        for agent in agents.iter_rows(named=True)
    }


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
    """Return the records and decisions that the evidence of all calls gives, in one partition.

    Parameters
    ----------
    tables : dict of polars.DataFrame
        The tables `READ`; others are passed on.
    call_key, evaluated_at
        As for `records_of`.

    Raises
    ------
    BundleError
        ``no_usable_bundle``: no call names its agent.
    """
    reading = Reading(protocol=law, population=people, judge=judge, transcriber=transcriber)
    calls = tables["calls"]
    twice = slots_taken_twice(slots_in_order(calls, protocol=law, population=people))
    parts = [
        reduce_part(tables, reading, twice=twice),
        absent_part(call_slots(calls, population=people), reading),
    ]
    records = records_of(
        parts, reading, provenance=provenance, call_key=call_key, evaluated_at=evaluated_at
    )
    decisions = pl.concat([part.decisions for part in parts])
    return RunResult(records=records, decisions=decisions, tables=parts[0].tables, problems=())
