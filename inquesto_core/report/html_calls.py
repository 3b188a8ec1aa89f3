"""The table of calls as columns: what a reader sorts and filters by, and which call has a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.report.html_packing import coded
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.protocol.definition import Protocol

__all__ = ["OUTCOMES", "call_columns", "in_order_of_severity", "outcome"]

#: What became of a call, worst first: the order in which calls are listed.
OUTCOMES = (
    "failed",
    "agent fault",
    "fails, not evaluated",
    "not evaluated",
    "timing only",
    "excluded",
    "passed",
)


def outcome() -> pl.Expr:
    """Return what became of a call, one of `OUTCOMES`."""
    state = pl.col("state")
    return (
        pl.when(state == "agent_fault")
        .then(pl.lit("agent fault"))
        .when((state == "not_evaluated") & pl.col("known_fail").fill_null(value=False))
        .then(pl.lit("fails, not evaluated"))
        .when(state == "not_evaluated")
        .then(pl.lit("not evaluated"))
        .when(state.is_in(["timing_only", "excluded"]))
        .then(state.str.replace("_", " "))
        .when(pl.col("passed"))
        .then(pl.lit("passed"))
        .otherwise(pl.lit("failed"))
    )


def in_order_of_severity(decisions: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions with ``outcome``, the calls to look at first before the others."""
    ranks = {name: rank for rank, name in enumerate(OUTCOMES)}
    return (
        decisions.with_columns(outcome=outcome())
        .with_columns(
            rank=pl.col("outcome").replace_strict(ranks, return_dtype=pl.Int64),
            worst=pl.col("worst_severity").fill_null(0),
        )
        .sort(
            ["rank", "worst", "borderline", "call_id"],
            descending=[False, True, True, False],
            nulls_last=True,
            maintain_order=True,
        )
        .drop("rank", "worst")
    )


def call_columns(
    decisions: pl.DataFrame,
    *,
    names: Sequence[str | None],
    agents: Mapping[str, int],
    pages: Mapping[str, int],
    protocol: Protocol,
) -> dict[str, Any]:
    """Return the columns of the table of calls.

    Parameters
    ----------
    decisions : decision table
        As `in_order_of_severity` gives it.
    names : sequence
        What stands for each call's id; None for an expected call that was never recorded.
    agents : mapping of fingerprint to place
    pages : mapping of call id to place
        In which block of pages a call lies.

    Returns
    -------
    dict
        ``columns`` by name, ``events`` (name and severity of each type, in the order of the bits of
        the column ``events``), and ``outcomes``, worst first. In ``flags`` 1 is borderline, 2
        fragile.
    """
    events = [event for event in protocol.events if EVENT_PREFIX + event.name in decisions.columns]
    bits = pl.sum_horizontal(
        pl.lit(0, dtype=pl.Int64),
        *(
            pl.col(EVENT_PREFIX + event.name).fill_null(value=False).cast(pl.Int64) * (1 << place)
            for place, event in enumerate(events)
        ),
    )
    flags = pl.col("borderline").fill_null(value=False).cast(pl.Int64) + 2 * (
        pl.col("fragile_limits").list.len().fill_null(0) > 0
    ).cast(pl.Int64)
    table = decisions.with_columns(events=bits, flags=flags)
    columns: dict[str, Any] = {
        "call": list(names),
        "agent": [agents.get(each, 0) for each in table["agent_fingerprint"].fill_null("")],
        "page": [pages.get(each, -1) for each in table["call_id"].fill_null("")],
        "reasons": coded(table["reasons"].list.join(", ").fill_null("")),
    }
    for name in ("outcome", "scenario_id", "condition", "group", "goal"):
        columns[name] = coded(table[name])
    for name in (
        "trial",
        "worst_severity",
        "median_latency_ms",
        "p95_latency_ms",
        "n_talk_over",
        "events",
        "flags",
    ):
        columns[name] = table[name].to_list()
    return {
        "columns": columns,
        "events": [[event.name, event.severity] for event in events],
        "outcomes": list(OUTCOMES),
    }
