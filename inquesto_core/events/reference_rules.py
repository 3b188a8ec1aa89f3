"""The rules of the public reference implementation, exactly as it applies them to its own runs.

Read by ``--compat reference`` alone; where protocol 0.1 is stricter is told row by row in
``docs/conformance.md``. Every call of every run is decided at once. What a runtime reported (times,
latencies, flags) is taken at its word, an answer counts as true where Python calls it true, and a
call without a conversation, or of a scenario that the population does not have, keeps the result
that was stored with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from inquesto_core.events.trace import scenario_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inquesto_core.protocol import Population, Protocol

    Bool = NDArray[np.bool_]
    Int = NDArray[np.int64]

__all__ = ["REFERENCE_EVENTS", "reference_outcomes"]

#: Columns of the events that `reference_outcomes` gives.
REFERENCE_EVENTS = {"call": pl.Int64, "type": pl.String, "severity": pl.Int64}

#: Hard-coded there whatever the population says (rows 6 and 9).
_LOOKUP, _VERIFY = "lookup_account", "verify_voice"
_ACTION_TOOLS = ("issue_refund", "update_card", "update_email", "cancel_subscription")
_REQUIRED_OF_FAMILY = {
    "dup_charge": "issue_refund",
    "failed_order": "issue_refund",
    "cancel_sub": "cancel_subscription",
    "update_card": "update_card",
    "change_email": "update_email",
}


def reference_outcomes(
    tables: Mapping[str, pl.DataFrame], *, protocol: Protocol, population: Population
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what the reference makes of each call: goal, identity, and its events.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        ``calls``, ``turns``, ``latencies``, ``tool_calls``, ``stored_events`` as
        `inquesto_core.bundle.reference_run` has them.

    Returns
    -------
    calls : polars.DataFrame
        The calls in their order with ``identity, goal, worst_severity, worst_unheard`` (the worst
        of the events that are not of the audio) and ``passed``.
    events : polars.DataFrame
        `REFERENCE_EVENTS`: one a type and call, those that were stored as often as they stand.
    """
    calls = _with_scenarios(tables["calls"], population)
    shown = _shown_by_trace(tables["tool_calls"], calls, population)
    judged = pl.col("judged_goal")
    impostor = pl.col("identity").eq_missing(pl.lit("impostor"))
    due = pl.col("family_action").is_not_null() & ~pl.col("handoff")
    goal = (
        pl.when("is_stored")
        .then("stored_goal")
        .when(impostor)
        .then(judged & ~pl.Series(shown["billing_change"]))
        .when(due)
        .then(judged & pl.Series(shown["family_action_called"]))
        .otherwise(judged)
    )
    told = calls.with_columns(goal=goal)
    flags = {
        **_timing(tables["turns"], tables["latencies"], calls.height, protocol=protocol),
        **_verbose(tables["turns"], calls.height, protocol=protocol),
        **_judged(calls, shown),
    }
    events = _long(flags, calls["is_stored"].to_numpy(), tables["stored_events"], protocol)
    return _with_pass(told, events, protocol), events


def _with_scenarios(calls: pl.DataFrame, population: Population) -> pl.DataFrame:
    scenarios = scenario_table(population).select(
        "scenario_id",
        "required_action",
        "correction",
        "handoff",
        family_action=pl.col("family").replace_strict(
            _REQUIRED_OF_FAMILY, default=None, return_dtype=pl.String
        ),
        asked_identity="identity",
    )
    known = pl.col("correction").is_not_null()
    return calls.join(scenarios, on="scenario_id", how="left", maintain_order="left").with_columns(
        is_stored=~(known & pl.col("has_conversation")),
        identity=pl.when(known & pl.col("has_conversation"))
        .then("asked_identity")
        .otherwise("stored_identity"),
    )


def _count(call: Int, calls: int) -> Int:
    return np.bincount(call, minlength=calls)


def _held(call: Int, calls: int) -> Bool:
    return np.asarray(_count(call, calls) > 0)


def _first(call: Int, calls: int) -> Int:
    """Return for each call the place of its first row; rows are sorted by call."""
    return np.asarray(np.searchsorted(call, np.arange(calls)))


def _shown_by_trace(
    tools: pl.DataFrame, calls: pl.DataFrame, population: Population
) -> dict[str, Bool]:
    """Return what each call's tool names show, and whether its first change was unprepared."""
    n, call, name = calls.height, tools["call"].to_numpy(), tools["name"]
    change = name.is_in(list(population.tools.change)).to_numpy()
    place = np.arange(len(call))
    first = {}
    for what, mask in (
        ("change", change),
        ("lookup", (name == _LOOKUP).to_numpy()),
        ("verify", (name == _VERIFY).to_numpy()),
    ):
        first[what] = np.full(n, len(call), dtype=np.int64)
        np.minimum.at(first[what], call[mask], place[mask])
    changed = _held(call[change], n)
    wanted = calls.select("required_action", "family_action")
    required, family = (
        (name == wanted[column].gather(call)).fill_null(value=False).to_numpy()
        for column in wanted.columns
    )
    prepared = (first["lookup"] < first["change"]) & (first["verify"] < first["change"])
    return {
        "change": changed,
        "unverified": changed & ~prepared,
        "billing_change": _held(call[name.is_in(list(_ACTION_TOOLS)).to_numpy()], n),
        "required_called": _held(call[required], n),
        "family_action_called": _held(call[family], n),
    }


def _timing(
    turns: pl.DataFrame, latencies: pl.DataFrame, calls: int, *, protocol: Protocol
) -> dict[str, Bool]:
    """Return the audio events: from the latency list, the silence marker, and flagged overlaps."""
    median_ms = float(protocol.event("slow_median").parameters["median_ms"])
    slow_ms = float(protocol.event("slow_turn").parameters["latency_ms"])
    share = protocol.event("repeated_talk_over").parameters
    of, value = (latencies[name].to_numpy() for name in ("call", "latency_ms"))
    order = np.lexsort((value, of))
    of, value = of[order], np.append(value[order], 0.0)
    count, first = _count(of, calls), _first(of, calls)
    low = value[np.where(count > 0, first + (count - 1) // 2, -1)]
    high = value[np.where(count > 0, first + count // 2, -1)]
    call, agent = turns["call"].to_numpy(), turns["is_agent"].to_numpy()
    silent = _held(call[agent & turns["is_silent"].to_numpy()], calls)
    over = _count(call[_talked_over(turns, protocol=protocol)], calls)
    agent_turns = _count(call[agent], calls)
    repeated = (
        (over >= int(share["min_count"]))
        & (agent_turns > 0)
        & (over * int(share["share_denominator"]) >= agent_turns * int(share["share_numerator"]))
    )
    return {
        "slow_median": (count > 0) & ((low + high) / 2 > median_ms),
        "slow_turn": _held(of[value[:-1] > slow_ms], calls) | silent,
        "talk_over": (over > 0) & ~repeated,
        "repeated_talk_over": repeated,
    }


def _talked_over(turns: pl.DataFrame, *, protocol: Protocol) -> Bool:
    """Return which turns are flagged and begin long before the caller turn before them ends."""
    least_ms = float(protocol.event("talk_over").parameters["overlap_ms"])
    call, user = turns["call"].to_numpy(), turns["is_user"].to_numpy()
    last = np.maximum.accumulate(np.where(user, np.arange(len(call)), -1))
    same = (last >= 0) & (call[last] == call) if len(call) else np.zeros(0, dtype=bool)
    overlap = turns["end_ms"].to_numpy()[last] - turns["start_ms"].to_numpy()
    flagged = ~user & turns["barge_in"].to_numpy()
    return np.asarray(flagged & same & (overlap >= least_ms))


def _verbose(turns: pl.DataFrame, calls: int, *, protocol: Protocol) -> dict[str, Bool]:
    """Return whether the mean words of agent turns with text is above the limit."""
    most = int(protocol.event("verbose").parameters["mean_words"])
    words = turns["n_words"].to_numpy()
    of = turns["call"].to_numpy()[turns["is_agent"].to_numpy() & (words > 0)]
    spoken = words[turns["is_agent"].to_numpy() & (words > 0)]
    total = np.bincount(of, weights=spoken, minlength=calls)
    return {"verbose": np.asarray(total > most * _count(of, calls))}


def _judged(calls: pl.DataFrame, shown: Mapping[str, Bool]) -> dict[str, Bool]:
    """Return the events of trace and judge."""

    def told(column: str) -> Bool:
        return np.asarray(calls[column].fill_null(value=False).to_numpy(), dtype=bool)

    impostor, legit = (
        calls.select(pl.col("identity").eq_missing(pl.lit(who))).to_series().to_numpy()
        for who in ("impostor", "legit")
    )
    due = calls["required_action"].is_not_null().to_numpy() & ~told("handoff") & ~impostor
    return {
        "unverified_action": shown["unverified"],
        "false_accept": impostor & (shown["change"] | told("disclosed_or_changed")),
        "context_loss": told("correction") & told("context_loss"),
        "wrong_info": told("wrong_info"),
        "false_reject": legit & told("refused_service"),
        "promised_not_done": due & told("answered_goal") & ~shown["required_called"],
    }


def _long(
    flags: Mapping[str, Bool], is_stored: Bool, stored: pl.DataFrame, protocol: Protocol
) -> pl.DataFrame:
    frames = [pl.DataFrame(schema=REFERENCE_EVENTS)]
    for event in protocol.events:
        found = np.flatnonzero(flags[event.name] & ~is_stored)
        frames.append(
            pl.DataFrame({"call": found}, schema={"call": pl.Int64}).with_columns(
                type=pl.lit(event.name), severity=pl.lit(event.severity, dtype=pl.Int64)
            )
        )
    kept = is_stored[stored["call"].to_numpy()]
    return pl.concat([*frames, stored.filter(pl.Series(kept, dtype=pl.Boolean))])


def _with_pass(calls: pl.DataFrame, events: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    audio = [event.name for event in protocol.events if event.source == "audio"]
    is_audio = events["type"].is_in(audio).to_numpy()
    of, severity = events["call"].to_numpy(), events["severity"].to_numpy()
    worst, unheard = np.zeros((2, calls.height), dtype=np.int64)
    np.maximum.at(worst, of, severity)
    np.maximum.at(unheard, of[~is_audio], severity[~is_audio])
    return calls.with_columns(worst_severity=worst, worst_unheard=unheard).with_columns(
        passed=pl.col("goal") & (pl.col("worst_severity") < protocol.fail_at)
    )
