"""What a call's tool trace shows: what was performed, and whether the caller was verified first.

*Performed* is a tool call whose status the protocol counts as done (``goal.performed_statuses``);
*called* is one of any status. Order is the order of the trace. Which tools look up, verify, change
and transfer is the population's to say. Without a readable trace every fact is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.occurrences import occurrences
from inquesto_core.events.tool_result import with_success

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "FACTS",
    "is_handoff_by_trace",
    "is_impostor",
    "is_performed",
    "performed_changes",
    "scenario_table",
    "trace_events",
    "trace_facts",
    "trace_flags",
]

#: What a scenario asks of its calls.
SCENARIOS = {
    "scenario_id": pl.String,
    "family": pl.String,
    "style": pl.String,
    "required_action": pl.String,
    "correction": pl.Boolean,
    "identity": pl.String,
    "handoff": pl.Boolean,
}

#: One row a call: what its scenario asks, and what its trace shows of it.
FACTS = {
    "call_id": pl.String,
    "scenario_known": pl.Boolean,
    "identity": pl.String,
    "correction": pl.Boolean,
    "handoff": pl.Boolean,
    "handoff_by_trace": pl.Boolean,  # the trace and not the judge says whether it took place
    "required_action": pl.String,
    "has_trace": pl.Boolean,
    "first_lookup": pl.Int64,  # position in the trace, called
    "first_verify": pl.Int64,  # called; where the protocol says so, succeeded
    "first_change": pl.Int64,  # performed
    "change_called": pl.Boolean,
    "change_performed": pl.Boolean,
    "required_performed": pl.Boolean,  # false where no action is required
    "transfer_performed": pl.Boolean,
    "unverified_change": pl.Boolean,
}

#: What of a tool call is read here; the result only where a verification must succeed.
_READ = ("call_id", "position", "name", "status", "result")


def scenario_table(population: Population) -> pl.DataFrame:
    """Return one row a scenario, to join calls with."""
    return pl.DataFrame(population.scenario_rows(), schema=SCENARIOS, orient="row")


def is_performed(protocol: Protocol) -> pl.Expr:
    """Return whether a row of ``tool_calls`` counts as done."""
    return _is_in("status", protocol.performed_statuses)


def is_impostor() -> pl.Expr:
    """Return whether a call's caller is an impostor; null where its scenario is unknown."""
    return pl.when("scenario_known").then(pl.col("identity").eq_missing(pl.lit("impostor")))


def is_handoff_by_trace(protocol: Protocol, population: Population) -> bool:
    """Return whether hand-offs are decided by the trace: ``goal.handoff_decided_by: transfer``.

    Where the population names no transfer tool, there is nothing that the trace could show, and the
    judge is asked all the same.
    """
    return protocol.handoff_decided_by == "transfer" and bool(population.tools.transfer)


def _is_in(column: str, names: Iterable[str]) -> pl.Expr:
    return pl.col(column).is_in(pl.Series(list(names), dtype=pl.String).implode())


def trace_facts(
    calls: pl.DataFrame, tool_calls: pl.DataFrame, *, protocol: Protocol, population: Population
) -> pl.DataFrame:
    """Return what every call's scenario asks and what its trace shows.

    Parameters
    ----------
    calls, tool_calls : evidence tables of those names

    Returns
    -------
    polars.DataFrame
        Columns `FACTS`, one row a call, in the order of `calls`. Every fact of the trace is null
        where there is none; what the scenario asks is null where the scenario is unknown.
    """
    asked = calls.select("call_id", "scenario_id", "has_trace").join(
        scenario_table(population), on="scenario_id", how="left", maintain_order="left"
    )
    columns = [name for name in _READ if name in tool_calls.columns]
    named = tool_calls.select(columns).join(
        asked.select("call_id", "required_action"), on="call_id", maintain_order="left"
    )
    shown = _per_call(named, protocol, population)
    found = ("change_called", "change_performed", "required_performed", "transfer_performed")
    change = pl.col("first_change")
    looked_up = (pl.col("first_lookup") < change).fill_null(value=False)
    verified = (pl.col("first_verify") < change).fill_null(value=False)
    # Where a result decides and none is recorded, nobody knows; a missing look-up decides alone.
    perhaps = looked_up & ~verified & (pl.col("first_perhaps") < change).fill_null(value=False)
    unverified = (
        pl.when(perhaps).then(None).otherwise(change.is_not_null() & ~(looked_up & verified))
    )
    readable = pl.col("has_trace").fill_null(value=False)
    table = asked.join(shown, on="call_id", how="left", maintain_order="left")
    by_trace = pl.lit(value=is_handoff_by_trace(protocol, population))
    return table.with_columns(
        handoff_by_trace=pl.col("handoff") & by_trace,
        scenario_known=pl.col("correction").is_not_null(),
        has_trace=readable,
        unverified_change=pl.when(readable).then(unverified),
        **{name: pl.when(readable).then(pl.col(name).fill_null(value=False)) for name in found},
        **{
            name: pl.when(readable).then(pl.col(name))
            for name in ("first_lookup", "first_verify", "first_change")
        },
    ).select(FACTS.keys())


def _per_call(named: pl.DataFrame, protocol: Protocol, population: Population) -> pl.DataFrame:
    tools = population.tools
    verify = _is_in("name", tools.verify)
    perhaps = pl.lit(value=False)
    if protocol.event("unverified_action").parameters["verification_must_succeed"]:
        named = with_success(named, statuses=protocol.performed_statuses, population=population)
        perhaps = verify & pl.col("succeeded").is_null()
        verify &= pl.col("succeeded").fill_null(value=False)
    # Row by row first: a filter inside the aggregation is evaluated group by group.
    rows = named.select(
        "call_id",
        "position",
        lookup=_is_in("name", tools.lookup),
        verify=verify,
        perhaps=perhaps,
        change=_is_in("name", tools.change),
        transfer=_is_in("name", tools.transfer),
        required=pl.col("name") == pl.col("required_action"),
        performed=is_performed(protocol),
    )
    performed = pl.col("performed")
    rows = rows.select(
        "call_id",
        first_lookup=pl.when("lookup").then("position"),
        first_verify=pl.when("verify").then("position"),
        first_perhaps=pl.when("perhaps").then("position"),
        first_change=pl.when(pl.col("change") & performed).then("position"),
        change_called="change",
        change_performed=pl.col("change") & performed,
        required_performed=pl.col("required") & performed,
        transfer_performed=pl.col("transfer") & performed,
    )
    return rows.group_by("call_id").agg(
        pl.col("^first_.*$").min(), pl.col("^(change|required|transfer)_.*$").any()
    )


def performed_changes(
    facts: pl.DataFrame, tool_calls: pl.DataFrame, *, protocol: Protocol, population: Population
) -> pl.DataFrame:
    """Return the performed account changes of calls with a trace, in order.

    Columns ``call_id, position, at_ms, end_ms, evidence_key``; ``unverified`` and ``by_impostor``.
    """
    is_change = _is_in("name", population.tools.change) & is_performed(protocol)
    times = tool_calls.select("call_id", "position", "end_ms", "start_ms", is_change=is_change)
    in_order = (pl.col("first_lookup") < pl.col("position")) & (
        pl.col("first_verify") < pl.col("position")
    )
    told = facts.filter("has_trace").select(
        "call_id",
        "first_lookup",
        "first_verify",
        is_told=pl.col("unverified_change").is_not_null(),
        by_impostor=is_impostor(),
    )
    return (
        times.filter("is_change")
        .join(told, on="call_id")
        .sort("call_id", "position")
        .select(
            "call_id",
            "position",
            "end_ms",
            "by_impostor",
            at_ms="start_ms",
            evidence_key=pl.format("tool_calls/{}", "position"),
            unverified=pl.col("is_told") & ~in_order.fill_null(value=False),
        )
    )


def trace_flags(facts: pl.DataFrame) -> pl.DataFrame:
    """Return ``call_id`` and ``event_unverified_action``.

    Criterion (protocol, `unverified_action`): *an account change before lookup and voice
    verification*. A performed change counts if not both a look-up and a verification were called
    earlier in the trace. With ``verification_must_succeed`` a verification that was not performed
    or that did not succeed by its result (`with_success`) is none; null where that is not known.
    The reference looks at the first change only, which is the one with the least before it: the
    same answer.
    """
    return facts.select("call_id", event_unverified_action="unverified_change")


def trace_events(changes: pl.DataFrame, *, protocol: Protocol) -> pl.DataFrame:
    """Return a row of table ``events`` for every unverified change; the first one is counted.

    Parameters
    ----------
    changes : `performed_changes`
    """
    return occurrences(changes.filter("unverified"), protocol.event("unverified_action"))
