"""One side of a comparison: an agent's calls in a run folder, as little of each as is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.run_comparison import SideFacts
from inquesto_core.engine.compare_columns import call_columns, evidence_columns
from inquesto_core.engine.partitions import part_of_call
from inquesto_core.score.sensitivity import judge_free_decisions
from inquesto_core.score.slots import with_trial
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inquesto_core.engine.compare_columns import CallColumns
    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population, Protocol

__all__ = ["Side", "call_ids", "load_side", "shown_details"]

_COUNTS = (
    "n_replied",
    "n_no_reply",
    "n_talk_over",
    "n_agent_turns",
    "agent_voiced_ms",
)
_STATES = pl.Enum(("scored", "agent_fault", "excluded", "not_evaluated", "timing_only"))
_EVENTS = (
    "call_id",
    "type",
    "severity",
    "at_ms",
    "value",
    "threshold",
    "source",
    "counted",
    "evidence_key",
)
_REPLIES = ("call_id", "utterance", "status")
_VERDICTS = ("call_id", "question", "verdict", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """An agent's calls.

    Parameters
    ----------
    calls : polars.DataFrame
        A row a call of the agent, and a row an expected slot that no call fills. ``at`` is the
        call's place among all decisions of the run, in the order of its partitions.
    """

    stored: StoredRun
    facts: SideFacts
    calls: pl.DataFrame


def load_side(
    stored: StoredRun,
    fingerprint: str,
    *,
    law: Protocol,
    people: Population,
    needed: CallColumns,
) -> Side:
    """Return an agent's calls, partition by partition; without a judge, as they are without one."""
    judge = (stored.manifest.get("evidence") or {}).get("judge") or {}
    frames, at = [], 0
    for part in stored.parts:
        table = _decisions(stored, part, law, judge_free=judge.get("kind") == "none")
        table = table.with_columns(at=pl.int_range(at, at + pl.len(), dtype=pl.UInt32))
        at += table.height
        ours = _of_agent(table, fingerprint)
        frames.append(_compact(_with_facts(ours, stored, part, needed), law, people, needed))
    missing = stored.missing_decisions()
    if missing is not None:
        missing = _of_agent(missing, fingerprint).with_columns(at=pl.lit(None, dtype=pl.UInt32))
        none = [pl.lit(None).cast(pl.Categorical).alias(name) for name in needed.of_calls]
        missing = missing.with_columns(*none, duration_ms=pl.lit(None, dtype=pl.Int64))
        frames.append(_compact(missing, law, people, needed))
    record = stored.records[fingerprint]
    return Side(
        stored=stored,
        facts=SideFacts(
            run=stored.folder.name,
            agent=str(record["agent"]),
            fingerprint=fingerprint,
            citation=record["citation"],
        ),
        calls=pl.concat(frames),
    )


def _decisions(stored: StoredRun, part: str, law: Protocol, *, judge_free: bool) -> pl.DataFrame:
    """Return the decisions of a partition, of a run without a judge as its record reads them."""
    if not judge_free:
        return stored.part_decisions(part)
    events = stored.part(part, {"events": ("call_id", "type", "source")})["events"]
    return judge_free_decisions(stored.part_decisions(part), events, protocol=law)


def _of_agent(table: pl.DataFrame, fingerprint: str) -> pl.DataFrame:
    wanted = None if fingerprint == "None" else fingerprint
    return table.filter(pl.col("agent_fingerprint").eq_missing(pl.lit(wanted, dtype=pl.String)))


def _with_facts(
    table: pl.DataFrame, stored: StoredRun, part: str, needed: CallColumns
) -> pl.DataFrame:
    """Return decisions with ``duration_ms`` and the facts of calls that are asked for."""
    wanted = dict.fromkeys((*evidence_columns(needed), "window_from_ms", "window_to_ms"))
    calls = stored.part(part, {"calls": tuple(wanted)})["calls"]
    facts = call_columns(calls, needed).with_columns(
        duration_ms=calls["window_to_ms"] - calls["window_from_ms"]
    )
    return table.join(facts, on="call_id", how="left", maintain_order="left")


def _compact(
    table: pl.DataFrame, law: Protocol, people: Population, needed: CallColumns
) -> pl.DataFrame:
    """Return what is kept of each call, in as few bytes as hold it."""
    names = {
        "scenario_id": [each.id for each in people.scenarios],
        "condition": people.conditions,
        "group": people.groups,
    }
    slot = [pl.col(key).cast(pl.Enum(known), strict=False) for key, known in names.items()]
    return with_trial(table, population=people).select(
        *slot,
        "trial",
        "at",
        pl.col("state").cast(_STATES),
        "passed",
        "goal",
        *(EVENT_PREFIX + event.name for event in law.events),
        *(pl.col(name).cast(pl.Int32) for name in _COUNTS),
        pl.col("median_latency_ms").cast(pl.Float32),
        pl.col("duration_ms").cast(pl.Int32),
        *needed.of_calls,
    )


def call_ids(side: Side, at: pl.Series) -> pl.Series:
    """Return the ids of the calls at these places of a run's decisions."""
    names = pl.concat(
        side.stored.part_decisions(part, ["call_id"])["call_id"] for part in side.stored.parts
    )
    return names.gather(at)


def shown_details(
    stored: StoredRun, ids: Sequence[str], law: Protocol
) -> dict[str, dict[str, Any]]:
    """Return the counted events and the goal's verdict of some calls, by id.

    An event of a wait has ``no_reply``: whether none came; None where single waits were not kept.
    """
    found: dict[str, dict[str, Any]] = {name: {"events": {}, "goal": None} for name in ids}
    by_part: dict[str, list[str]] = {}
    for name in ids:
        by_part.setdefault(part_of_call(stored.folder, name), []).append(name)
    for part, names in by_part.items():
        ours = pl.col("call_id").is_in(names)
        tables = stored.part(part, {"events": _EVENTS, "verdicts": _VERDICTS, "replies": _REPLIES})
        status = {
            (name, f"replies/{utterance}"): status
            for name, utterance, status in tables["replies"].filter(ours).iter_rows()
        }
        for row in tables["events"].filter(ours & pl.col("counted")).iter_rows(named=True):
            reply = status.get((row["call_id"], row["evidence_key"]))
            row["no_reply"] = None if reply is None else reply == "no_reply"
            found[row["call_id"]]["events"][row["type"]] = row
        goal = ours & (pl.col("question") == law.goal_question)
        for row in tables["verdicts"].filter(goal).iter_rows(named=True):
            found[row["call_id"]]["goal"] = row
    return found
