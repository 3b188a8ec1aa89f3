"""The single waits of one side of a comparison, as its run folder keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.compare.barge_in_pairs import barge_in_counts
from inquesto_core.compare.latency_pairs import reply_waits, tool_time
from inquesto_core.compare.stage_pairs import NO_STAGES, SideStages
from inquesto_core.engine.compare_side import call_ids

if TYPE_CHECKING:
    from inquesto_core.engine.compare_side import Side

__all__ = ["WAIT_KINDS", "TurnWaits", "reported_stages", "turn_barge_ins", "turn_waits"]

#: All waits; those in which a tool ran, and how long it did; those in which none ran.
WAIT_KINDS = ("all", "with_tool", "in_tool", "beside_tool", "without_tool")

_REPLIES = ("call_id", "utterance", "status", "clock_ms", "latency_ms", "tool_in_wait")
_TOOLS = ("call_id", "start_ms", "end_ms")
_STAGES = ("call_id", "stage", "value_ms", "origin")
_COUNT = pl.len().cast(pl.Int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWaits:
    """The waits of the paired calls of a side.

    Parameters
    ----------
    waits : polars.DataFrame
        As `reply_waits` gives them.
    tools : polars.DataFrame
        As `tool_time` gives it.
    censored : polars.DataFrame
        ``tool_in_wait`` of the waits that the call's end cut short before anything could be told.
    """

    waits: pl.DataFrame
    tools: pl.DataFrame
    censored: pl.DataFrame

    def cut_short(self, kind: str) -> int:
        """Return how many waits of a kind were cut short; of a part of a wait, none."""
        if kind == "all":
            return self.censored.height
        if kind in ("with_tool", "without_tool"):
            return int((self.censored["tool_in_wait"] == (kind == "with_tool")).sum())
        return 0

    def of(self, kind: str) -> pl.DataFrame:
        """Return the waits of a kind of `WAIT_KINDS`: ``cluster, value_ms, n``."""
        if kind == "all":
            return self.waits
        if kind in ("with_tool", "without_tool"):
            return self.waits.filter(pl.col("tool_in_wait") == (kind == "with_tool"))
        column = "in_tool_ms" if kind == "in_tool" else "rest_ms"
        return self.tools.group_by("cluster", value_ms=pl.col(column).cast(pl.Float64)).agg(
            n=pl.len().cast(pl.Int64)
        )


def turn_waits(side: Side, paired: pl.DataFrame) -> TurnWaits:
    """Return the waits of a side's paired calls.

    Parameters
    ----------
    paired : polars.DataFrame
        ``cluster`` and ``at`` of these calls.
    """
    clusters = paired.select("cluster", call_id=call_ids(side, paired["at"]))
    tables = [
        side.stored.part(part, {"replies": _REPLIES, "tool_calls": _TOOLS})
        for part in side.stored.parts
    ]
    replies = pl.concat(each["replies"] for each in tables)
    replies = replies.join(clusters.select("call_id"), on="call_id", how="semi")
    return TurnWaits(
        waits=reply_waits(replies, clusters),
        tools=tool_time(replies, pl.concat(each["tool_calls"] for each in tables), clusters),
        censored=replies.filter(pl.col("status") == "censored").select("tool_in_wait"),
    )


def turn_barge_ins(side: Side, paired: pl.DataFrame) -> pl.DataFrame:
    """Return the barge-ins of a side's paired calls, as `barge_in_counts` gives them.

    Parameters
    ----------
    paired : polars.DataFrame
        ``cluster`` and ``at`` of these calls.
    """
    clusters = paired.select("cluster", call_id=call_ids(side, paired["at"]))
    tables = [
        side.stored.part(part, {"barge_ins": ("call_id", "kind", "outcome")})["barge_ins"]
        for part in side.stored.parts
    ]
    return barge_in_counts(pl.concat(tables), clusters)


def reported_stages(side: Side, paired: pl.DataFrame) -> SideStages:
    """Return what the platform of a side reports of the stages of its paired calls.

    Parameters
    ----------
    paired : polars.DataFrame
        ``cluster`` and ``at`` of these calls.
    """
    if not side.stored.has_table("reported_stages"):  # ids are most of what is read of an archive
        return NO_STAGES
    clusters = paired.select("cluster", call_id=call_ids(side, paired["at"]))
    values, calls, sources = [NO_STAGES.values], 0, set()
    for part in side.stored.parts:
        told = side.stored.part(part, {"reported_stages": _STAGES})["reported_stages"]
        told = told.join(clusters, on="call_id", how="inner")
        calls += told["call_id"].n_unique()
        sources |= set(told["origin"])
        value = pl.col("value_ms").cast(pl.Float64)
        values.append(told.group_by("stage", "cluster", value_ms=value).agg(n=_COUNT))
    return SideStages(
        values=pl.concat(values).group_by("stage", "cluster", "value_ms").agg(pl.col("n").sum()),
        calls=calls,
        sources=tuple(sorted(sources)),
    )
