"""What the calls of a run say of their agents, one row an agent; adds up over partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import strict_json
from inquesto_core.evidence.tables import TIMING_CARRIED
from inquesto_core.score import AgentIdentity

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AGENTS", "add_agents", "agents_of", "identity_of"]

#: What the calls of an agent say of it, one row an agent; adds up over partitions.
AGENTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "agent_fingerprint": pl.String,
    "first_call": pl.String,  # by name, of those that name the agent
    "name": pl.String,
    "config": pl.String,
    "platforms": pl.List(pl.String),
    "newest": pl.String,
    "is_reported": pl.Boolean,
}


def agents_of(calls: pl.DataFrame) -> pl.DataFrame:
    """Return what the calls of a partition say: the table `AGENTS`."""
    named = pl.when(pl.col("agent_name").is_not_null()).then("call_id")
    is_reported = (pl.col("timing_source") == "reported").fill_null(value=False) | pl.col(
        "warnings"
    ).list.contains(TIMING_CARRIED).fill_null(value=False)
    told = (
        calls.filter(pl.col("agent_fingerprint").is_not_null())
        .group_by("agent_fingerprint")
        .agg(
            first_call=named.min(),
            platforms=pl.col("platform").drop_nulls().unique(),
            newest=pl.col("ended_at").max().str.slice(0, 10),
            is_reported=is_reported.any(),
        )
    )
    of_first = calls.select(
        "agent_fingerprint", first_call="call_id", name="agent_name", config="agent_config"
    )
    keys = ["agent_fingerprint", "first_call"]
    return (
        told.join(of_first, on=keys, how="left")
        .select(AGENTS.keys())
        .sort("agent_fingerprint")
        .cast(AGENTS)  # type: ignore[arg-type]
    )


def add_agents(told: pl.DataFrame) -> pl.DataFrame:
    """Return one row an agent of several: the first call's name and configuration stand."""
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
        .cast(AGENTS)  # type: ignore[arg-type]
    )


def identity_of(agent: Mapping[str, Any]) -> AgentIdentity:
    """Return a row of `AGENTS` as a record names the agent."""
    platforms = agent["platforms"]
    return AgentIdentity(
        name=agent["name"],
        fingerprint=agent["agent_fingerprint"],
        config=strict_json((agent["config"] or "{}").encode()),
        runtime=platforms[0] if len(platforms) == 1 else None,
    )
