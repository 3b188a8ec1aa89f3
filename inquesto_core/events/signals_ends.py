"""How a conversation ended, and whether that was a clean exit under the scenario's policy.

Tool, reason and policy are told apart: whether the agent called its end-of-call tool, why the
policy passed or failed, and which policy it was. An overall timeout fails under either.

=============================  ==========  =======================================================
``conversation_end_reason``    clean       when
=============================  ==========  =======================================================
``overall_timeout``            no          the bridge ran out of time
``end_tool``                   yes         the agent called the tool, and the bridge saw the exit
``simulator_success``          yes, valid  the simulator reports a successful end
``inactivity_after_caller``    yes, valid  nobody spoke any more after the caller's last turn
``inactivity_after_agent``     no          nobody spoke any more after the agent's last turn
``inactivity``                 no          the same, and the transcript does not tell who was last
``exit_not_seen``              no          the tool was called, and the bridge saw no exit
``no_end_tool``                no          none of it
``trace_unknown``              not known   the bridge saw an exit, and no trace tells whose
=============================  ==========  =======================================================

*valid*: under ``valid-terminal-state`` only; under ``tool-only`` these calls are ``no_end_tool`` or
``exit_not_seen``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquesto_core.protocol import Population, SignalsProtocol

__all__ = ["ENDS", "TRACE_UNKNOWN", "ends_of_calls"]

#: One row a call.
ENDS = {
    "call_id": pl.String,
    "end_conversation_tool_called": pl.Boolean,  # null = there is no trace
    "conversation_end_policy": pl.String,
    "conversation_end_reason": pl.String,
    "stop_reason": pl.String,  # the bridge's own word
    "stop_kind": pl.String,  # exit | inactivity | timeout | other | none
    "clean": pl.Boolean,  # null = not known
}

#: Why it is not known.
TRACE_UNKNOWN = "trace_unknown"

_VALID = "valid-terminal-state"


def ends_of_calls(
    calls: pl.DataFrame,
    tool_calls: pl.DataFrame,
    transcript: pl.DataFrame,
    *,
    protocol: SignalsProtocol,
    population: Population,
) -> pl.DataFrame:
    """Return how every call ended: columns `ENDS`, in the order of `calls`."""
    policies = pl.DataFrame(
        [
            (scenario.id, (scenario.signals or {}).get("conversation_end_policy"))
            for scenario in population.scenarios
        ],
        schema={"scenario_id": pl.String, "conversation_end_policy": pl.String},
        orient="row",
    )
    ended = tool_calls.filter(
        _among("name", population.tools.end_call) & _among("status", protocol.performed_statuses)
    ).select("call_id", end_conversation_tool_called=pl.lit(value=True))
    last = transcript.sort("call_id", "position").group_by("call_id").agg(pl.col("speaker").last())
    frame = (
        calls.select("call_id", "scenario_id", "ended_reason", "simulator_end", "has_trace")
        .join(policies, on="scenario_id", how="left", maintain_order="left")
        .join(ended.unique(), on="call_id", how="left", maintain_order="left")
        .join(last, on="call_id", how="left", maintain_order="left")
        .with_columns(
            pl.when("has_trace").then(
                pl.col("end_conversation_tool_called").fill_null(value=False)
            ),
            pl.col("conversation_end_policy").fill_null(protocol.default_policy),
            stop_kind=_stop_kind(protocol),
        )
    )
    kind = pl.col("stop_kind")
    called = pl.col("end_conversation_tool_called").fill_null(value=False)
    valid = pl.col("conversation_end_policy") == _VALID
    success = _among("simulator_end", protocol.ends.simulator_success).fill_null(value=False)
    waited = valid & (kind == "inactivity")
    reason = (
        pl.when(kind == "timeout")
        .then(pl.lit("overall_timeout"))
        .when(called & (kind == "exit"))
        .then(pl.lit("end_tool"))
        .when(valid & success)
        .then(pl.lit("simulator_success"))
        .when(waited & (pl.col("speaker") == "caller"))
        .then(pl.lit("inactivity_after_caller"))
        .when(waited & (pl.col("speaker") == "agent"))
        .then(pl.lit("inactivity_after_agent"))
        .when(waited)
        .then(pl.lit("inactivity"))
        .when(~pl.col("has_trace") & (kind == "exit"))
        .then(pl.lit(TRACE_UNKNOWN))
        .when(called)
        .then(pl.lit("exit_not_seen"))
        .otherwise(pl.lit("no_end_tool"))
    )
    clean = ("end_tool", "simulator_success", "inactivity_after_caller")
    return (
        frame.with_columns(conversation_end_reason=reason, stop_reason="ended_reason")
        .with_columns(
            clean=pl.when(pl.col("conversation_end_reason") != TRACE_UNKNOWN).then(
                _among("conversation_end_reason", clean)
            )
        )
        .select(ENDS.keys())
    )


def _stop_kind(protocol: SignalsProtocol) -> pl.Expr:
    ends = protocol.ends
    return (
        pl.when(pl.col("ended_reason").is_null())
        .then(pl.lit("none"))
        .when(_among("ended_reason", ends.timeout))
        .then(pl.lit("timeout"))
        .when(_among("ended_reason", ends.inactivity))
        .then(pl.lit("inactivity"))
        .when(_among("ended_reason", ends.exit))
        .then(pl.lit("exit"))
        .otherwise(pl.lit("other"))
    )


def _among(column: str, values: Iterable[str]) -> pl.Expr:
    return pl.col(column).is_in(list(values))
