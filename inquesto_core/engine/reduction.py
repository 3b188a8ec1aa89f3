"""The pure reduction of a run: evidence tables in, records and the decision table out.

`score` and `rescore` share it, so that a run that is scored again under its own protocol is the
same run. Each partition of a run is reduced by itself; what they tell is added.
"""

from __future__ import annotations

import itertools
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.engine.run_agents import AGENTS, add_agents, agents_of, identity_of
from inquesto_core.errors import BundleError, Problem
from inquesto_core.events import detect
from inquesto_core.evidence import TABLES, empty_table, make_table, sort_table
from inquesto_core.protocol import load_population
from inquesto_core.score import (
    JudgeUse,
    Summary,
    TranscriberUse,
    build_record,
    decision_table,
    summarise,
)
from inquesto_core.score.accounting import standing_slots
from inquesto_core.score.decide import missing_calls
from inquesto_core.score.slots import slots_taken_twice
from inquesto_core.score.summary import add_summaries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "DERIVED",
    "EXTRACTED",
    "READ",
    "Reading",
    "Reduced",
    "Told",
    "Totals",
    "absent_part",
    "records_of",
    "reduce_part",
    "slots_of_run",
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
    "caller_calls",
    "transcript",
    "reported_turns",
    "reported_latencies",
    "verdicts",
    "states",
    "word_errors",
    "problems",
)

#: Calls whose rows are Python's at a time, at a hundred times the memory of a table.
_CALLS_AS_ROWS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a partition holds beside what its records tell.

    Parameters
    ----------
    calls, open_n, errors, without_transcript : int
        All calls; those not evaluated; problems that made evidence unusable; usable calls without
        a transcript.
    """

    calls: int = 0
    open_n: int = 0
    errors: int = 0
    without_transcript: int = 0

    def __add__(self, other: Totals) -> Totals:
        """Return both together."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Totals(**dict(zip(Totals.__slots__, (a + b for a, b in pairs), strict=True)))


def tables_of(
    rows: Iterable[Mapping[str, list[dict[str, Any]]]],
) -> dict[str, pl.DataFrame]:
    """Return the rows of any number of calls as the tables `EXTRACTED`, some calls at a time."""
    waiting = iter(rows)
    found: dict[str, list[pl.DataFrame]] = {name: [empty_table(name)] for name in EXTRACTED}
    while some := list(itertools.islice(waiting, _CALLS_AS_ROWS)):
        for name in EXTRACTED:
            held = [row for call in some for row in call.get(name, [])]
            if held:
                found[name].append(make_table(name, held))
    return {name: sort_table(name, pl.concat(tables)) for name, tables in found.items()}


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
class Told:
    """What a partition tells of a run, however many calls it has.

    Parameters
    ----------
    summaries : dict of str to Summary
        By agent fingerprint.
    agents : polars.DataFrame
        What its calls say of each agent.
    """

    summaries: dict[str, Summary]
    agents: pl.DataFrame
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """A partition of a run, reduced.

    Parameters
    ----------
    decisions : polars.DataFrame
        The decision table of its calls.
    derived : dict of polars.DataFrame
        Tables of `DERIVED`.
    told : Told
    """

    decisions: pl.DataFrame
    derived: dict[str, pl.DataFrame] = field(repr=False)
    told: Told


def reduce_part(
    tables: Mapping[str, pl.DataFrame],
    reading: Reading,
    *,
    twice: pl.DataFrame,
    keep: Sequence[str] = DERIVED,
) -> Reduced:
    """Return the decisions on the calls of a partition, and what a record tells of them.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        The tables `READ`, with the columns of `columns_needed` at least.
    twice : polars.DataFrame
        `slots_taken_twice` of the whole run.
    keep : sequence of str
        Those of the tables `DERIVED` that are asked for.
    """
    law, people = reading.protocol, reading.population
    judge_free = reading.judge.kind == "none"
    names = tables["calls"]["call_id"].unique().sort()
    given = _numbered({name: tables[name] for name in READ}, names)
    detection = detect(given, protocol=law, population=people)
    decisions = decision_table(
        detection, protocol=law, population=people, judge_free=judge_free, twice=twice
    )
    agents = agents_of(tables["calls"])
    summaries = {
        name: summarise(
            *_of_agent(decisions, detection.tables, name),
            protocol=law,
            population=people,
            judge_free=judge_free,
        )
        for name in agents["agent_fingerprint"]
    }
    told = Told(
        summaries={
            name: replace(found, noted=_named(found.noted, names))
            for name, found in summaries.items()
        },
        agents=agents,
        totals=_totals(tables, decisions),
    )
    derived = {name: _named(detection.tables[name], names) for name in keep}
    return Reduced(decisions=_named(decisions, names), derived=derived, told=told)


def _totals(tables: Mapping[str, pl.DataFrame], decisions: pl.DataFrame) -> Totals:
    bare = pl.col("exclusion_reason").is_null() & ~pl.col("has_transcript")
    return Totals(
        calls=decisions.height,
        open_n=int((decisions["state"] == "not_evaluated").sum()),
        errors=int((tables["problems"]["level"] == "error").sum()),
        without_transcript=tables["calls"].filter(bare).height,
    )


def _numbered(tables: Mapping[str, pl.DataFrame], names: pl.Series) -> dict[str, pl.DataFrame]:
    """Return the tables with the place of each call's name among `names` in its stead.

    Numbers are in the same order as sorted names, and joined in a fraction of the time.
    """
    number = pl.col("call_id").cast(pl.Enum(names)).to_physical()
    return {name: frame.with_columns(number) for name, frame in tables.items()}


def _named(frame: pl.DataFrame, names: pl.Series) -> pl.DataFrame:
    return frame.with_columns(names.gather(frame["call_id"]).alias("call_id"))


def _of_agent(
    decisions: pl.DataFrame, tables: Mapping[str, pl.DataFrame], fingerprint: str
) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Return the rows of one agent; nearly always there is no other."""
    names = ("calls", "word_errors", "reported_latencies", *DERIVED)
    evidence = {name: tables[name] for name in names if name in tables}
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
    summaries = {
        str(name): summarise(
            ours,
            nothing,
            protocol=law,
            population=people,
            judge_free=reading.judge.kind == "none",
        )
        for (name,), ours in rows.partition_by("agent_fingerprint", as_dict=True).items()
        if name is not None
    }
    told = Told(
        summaries=summaries,
        agents=pl.DataFrame(schema=AGENTS),
        totals=Totals(open_n=rows.height),
    )
    return Reduced(decisions=rows, derived={name: nothing[name] for name in DERIVED}, told=told)


def records_of(
    parts: Iterable[Told],
    reading: Reading,
    *,
    provenance: Mapping[str, Any],
    call_key: bytes,
    evaluated_at: str | None,
) -> dict[str, dict[str, Any]]:
    """Return the record of each agent of a run, by fingerprint.

    Parameters
    ----------
    parts : iterable of Told
        Of all partitions, and of `absent_part`.
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
    agents = add_agents(pl.concat(told)) if told else pl.DataFrame(schema=AGENTS)
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
            agent=identity_of(agent),
            judge=reading.judge,
            transcriber=reading.transcriber,
            timing_reported=agent["is_reported"],
            call_key=call_key,
            provenance=provenance,
            evaluated_at=evaluated_at or agent["newest"],
        )
        for agent in agents.iter_rows(named=True)
    }


def slots_of_run(
    calls: Iterable[pl.DataFrame], *, protocol: Protocol, population: Population
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what the standing of a call takes from all others: two tables.

    Parameters
    ----------
    calls : iterable of polars.DataFrame
        Table calls of each partition.

    Returns
    -------
    slots, twice : polars.DataFrame
        `call_slots` of all calls, and `slots_taken_twice` of those in order.
    """
    # Few agents, many calls: a number each.
    number = pl.col("agent_fingerprint").cast(pl.Categorical)
    slots = pl.concat(
        standing_slots(table, protocol=protocol, population=population).with_columns(number)
        for table in calls
    )
    twice = slots_taken_twice(slots.filter("in_order"))
    return slots.drop("in_order"), twice.with_columns(pl.col("agent_fingerprint").cast(pl.String))
