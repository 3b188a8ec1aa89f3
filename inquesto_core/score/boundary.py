"""The first place where a failed call departs from what was expected, from the evidence there is.

A failure shows late and may begin early. The stages stand in the order in which one rests upon
another, and each has one status in each failed call:

==============  ======================================================================  ==========
stage           departs where                                                           evidence
==============  ======================================================================  ==========
audio           the caller's channel lacks sound that its file promises, or more than   media
                `CLIPPED_FRACTION` of it is clipped
recognition     both transcripts of the caller differ in a number or a denial           transcripts
action          the required tool was never called; a change was made unverified, or    trace
                for an impostor
tool            the required tool was called and never performed                        trace
state           the state is not the expected one; it did not change although the       states
                action was performed, or changed for an impostor
confirmation    the agent promised what was not done, told something wrong, used a      events
                corrected detail again, refused an account holder
turn_taking     an event of sound or length fails the call                              events
==============  ======================================================================  ==========

``held``: the evidence is there and shows no departure. ``not_asked``: the scenario asks nothing of
it. ``unknown``: the evidence is not there, or does not tell. The first departure is named together
with the stages before it that are unknown: it may have begun in one of them. No stage is guessed,
and a failure that no stage shows has no first departure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.predicates import GROUPS, scenario_predicates, with_inner
from inquesto_core.events.trace import trace_facts
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.protocol import Population, Protocol

__all__ = ["BOUNDARIES", "CLIPPED_FRACTION", "STAGES", "first_boundaries"]

STAGES = ("audio", "recognition", "action", "tool", "state", "confirmation", "turn_taking")

#: Share of a channel's frames at full scale above which its sound counts as clipped.
CLIPPED_FRACTION = 0.01

#: One row a failed call.
BOUNDARIES: dict[str, pl.DataType | type[pl.DataType]] = {
    "call_id": pl.String,
    "first": pl.String,  # the first stage that departs, null = none does
    "evidence_key": pl.String,  # where to look: tool_calls/2, states, events/wrong_info
    "unknown_before": pl.List(pl.String),  # stages before it, or all where none departs
    **dict.fromkeys(STAGES, pl.String),  # held | departed | unknown | not_asked
}

_CONFIRMATION = ("wrong_info", "promised_not_done", "context_loss", "false_reject")
_KEY = "_key"


def first_boundaries(
    decisions: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    *,
    protocol: Protocol,
    population: Population,
) -> pl.DataFrame:
    """Return the first departure of every call that failed, or has certainly failed.

    Parameters
    ----------
    decisions : decision table
    tables : mapping of str to polars.DataFrame
        Evidence tables: ``calls``, ``media``, ``word_errors``, ``transcript_differences``,
        ``tool_calls`` and ``states``, and what the scenarios' predicates read.

    Returns
    -------
    polars.DataFrame
        Columns `BOUNDARIES`, sorted by call.
    """
    failed = decisions.filter(
        pl.col("call_id").is_not_null()
        & (pl.col("passed").eq_missing(pl.lit(value=False)) | pl.col("known_fail"))
    )
    calls = tables["calls"].join(failed.select("call_id"), on="call_id", how="semi")
    facts = trace_facts(calls, tables["tool_calls"], protocol=protocol, population=population)
    joined = (
        failed.sort("call_id")
        .join(facts, on="call_id", how="left", suffix="_asked")
        .join(_audio(tables["media"]), on="call_id", how="left")
        .join(
            _recognition(tables["word_errors"], tables["transcript_differences"]),
            on="call_id",
            how="left",
        )
        .join(_required(tables["tool_calls"], facts), on="call_id", how="left")
        .join(tables["states"], on="call_id", how="left")
        .join(_state_predicates(calls, tables, protocol, population), on="call_id", how="left")
    )
    stages = {
        "audio": _known_flag("audio_departed", "audio_held"),
        "recognition": _known_flag("words_departed", "words_held"),
        "action": _action(),
        "tool": _tool(),
        "state": _state(),
        "confirmation": _events(protocol, _CONFIRMATION),
        "turn_taking": _events(protocol, _failing_sound(protocol)),
    }
    keys = {
        "audio": pl.lit("media/caller"),
        "recognition": pl.format("transcript_differences/caller/{}", "words_position"),
        "action": pl.when(_acted_wrongly())
        .then(pl.format("tool_calls/{}", "first_change"))
        .otherwise(pl.lit("tool_calls")),
        "tool": pl.format("tool_calls/{}", "required_position"),
        "state": pl.lit("states"),
        "confirmation": _event_key(protocol, _CONFIRMATION),
        "turn_taking": _event_key(protocol, _failing_sound(protocol)),
    }
    named = joined.with_columns(**stages).with_columns(
        keys[stage].alias(stage + _KEY) for stage in STAGES
    )
    return _with_first(named).select(BOUNDARIES.keys())


def _with_first(named: pl.DataFrame) -> pl.DataFrame:
    """Return the table with the first stage that departs, its evidence, and what is unknown."""
    departed = [pl.when(pl.col(stage) == "departed").then(pl.lit(stage)) for stage in STAGES]
    evidence = [pl.when(pl.col(stage) == "departed").then(pl.col(stage + _KEY)) for stage in STAGES]
    found = named.with_columns(first=pl.coalesce(departed), evidence_key=pl.coalesce(evidence))
    order = pl.col("first").replace_strict(
        list(STAGES), list(range(len(STAGES))), default=None, return_dtype=pl.Int64
    )
    unknown = [
        pl.when((pl.col(stage) == "unknown") & (pl.lit(at) < order.fill_null(len(STAGES)))).then(
            pl.lit(stage)
        )
        for at, stage in enumerate(STAGES)
    ]
    return found.with_columns(unknown_before=pl.concat_list(unknown).list.drop_nulls())


def _known_flag(departed: str, held: str) -> pl.Expr:
    return (
        pl.when(pl.col(departed))
        .then(pl.lit("departed"))
        .when(pl.col(held))
        .then(pl.lit("held"))
        .otherwise(pl.lit("unknown"))
    )


def _audio(media: pl.DataFrame) -> pl.DataFrame:
    """Return whether the caller's channel lost sound; unknown where that was not measured."""
    caller = media.filter(pl.col("channel") == "caller")
    lost = (pl.col("missing_ms") > 0) | (pl.col("clipped_fraction") > CLIPPED_FRACTION)
    return caller.select("call_id", audio_departed=lost, audio_held=~lost).unique(
        "call_id", keep="first", maintain_order=True
    )


def _recognition(word_errors: pl.DataFrame, differences: pl.DataFrame) -> pl.DataFrame:
    """Return whether both transcripts of the caller differ where a call may turn round."""
    both = word_errors.filter(pl.col("speaker") == "caller").select("call_id")
    places = differences.filter(
        (pl.col("speaker") == "caller") & (pl.col("is_negation") | pl.col("is_number"))
    )
    first = places.group_by("call_id").agg(words_position=pl.col("position").min())
    joined = both.join(first, on="call_id", how="left")
    return joined.with_columns(
        words_departed=pl.col("words_position").is_not_null(),
        words_held=pl.col("words_position").is_null(),
    )


def _required(tool_calls: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Return the first call of the required tool, and whether the status of one is not known."""
    asked = facts.select("call_id", name="required_action").drop_nulls()
    return (
        tool_calls.join(asked, on=["call_id", "name"], how="semi")
        .group_by("call_id")
        .agg(
            required_position=pl.col("position").min(),
            required_unknown=pl.col("status").is_in(["unknown", "missing"]).any(),
        )
    )


def _is_impostor() -> pl.Expr:
    return pl.col("identity").eq_missing(pl.lit("impostor"))


def _asks_action() -> pl.Expr:
    return pl.col("required_action").is_not_null() & ~pl.col("handoff").fill_null(value=False)


def _acted_wrongly() -> pl.Expr:
    return pl.col("unverified_change") | (_is_impostor() & pl.col("change_performed"))


def _action() -> pl.Expr:
    return (
        pl.when(pl.col("scenario_known").not_() | ~pl.col("has_trace").fill_null(value=False))
        .then(pl.lit("unknown"))
        .when(_acted_wrongly())
        .then(pl.lit("departed"))
        .when(_is_impostor())
        .then(pl.lit("held"))
        .when(~_asks_action())
        .then(pl.lit("not_asked"))
        .when(pl.col("required_position").is_null())
        .then(pl.lit("departed"))
        .otherwise(pl.lit("held"))
    )


def _tool() -> pl.Expr:
    return (
        pl.when(pl.col("scenario_known").not_() | ~pl.col("has_trace").fill_null(value=False))
        .then(pl.lit("unknown"))
        .when(_is_impostor() | ~_asks_action() | pl.col("required_position").is_null())
        .then(pl.lit("not_asked"))
        .when(pl.col("required_performed"))
        .then(pl.lit("held"))
        .when(pl.col("required_unknown") | pl.col("required_performed").is_null())
        .then(pl.lit("unknown"))
        .otherwise(pl.lit("departed"))
    )


def _state_predicates(
    calls: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    protocol: Protocol,
    population: Population,
) -> pl.DataFrame:
    """Return ``call_id, state_told``: the stage's status by what a scenario asks of the state.

    What a predicate leaves out of the state on purpose is no departure. A group that is false and
    holds other kinds too does not tell which of them it is.
    """
    named = population.predicates or {}
    rows = []
    for scenario in population.scenarios:
        for index, predicate in enumerate(scenario.predicates):
            kinds = {each["kind"] for each in with_inner(predicate, named)} - set(GROUPS)
            of_state = [kind.startswith("state_") for kind in kinds]
            if any(of_state):
                rows.append((scenario.id, index, all(of_state)))
    schema = {"scenario_id": pl.String, "index": pl.Int64, "alone": pl.Boolean}
    asked = pl.DataFrame(rows, schema=schema, orient="row")
    if asked.is_empty():
        return calls.select("call_id", state_told=pl.lit(None, dtype=pl.String)).clear()
    values = scenario_predicates(
        {**tables, "calls": calls}, protocol=protocol, population=population
    )
    departed = ~pl.col("value") & pl.col("alone")
    return (
        values.with_columns(pl.col("index").cast(pl.Int64))
        .join(calls.select("call_id", "scenario_id"), on="call_id")
        .join(asked, on=["scenario_id", "index"])
        .group_by("call_id")
        .agg(
            state_told=pl.when(departed.fill_null(value=False).any())
            .then(pl.lit("departed"))
            .when(pl.col("value").fill_null(value=False).all())
            .then(pl.lit("held"))
            .otherwise(pl.lit("unknown"))
        )
    )


def _state() -> pl.Expr:
    changed = pl.col("after") != pl.col("before")
    acted = pl.col("required_performed").fill_null(value=False) & _asks_action()
    return (
        pl.when(pl.col("state_told").is_not_null())
        .then("state_told")
        .when(pl.col("expected").is_not_null() & pl.col("after").is_not_null())
        .then(_held_if(pl.col("after") == pl.col("expected")))
        .when(changed.is_null())
        .then(pl.lit("unknown"))
        .when(_is_impostor())
        .then(_held_if(~changed))
        .when(acted)
        .then(_held_if(changed))
        .otherwise(pl.lit("not_asked"))
    )


def _held_if(held: pl.Expr) -> pl.Expr:
    return pl.when(held).then(pl.lit("held")).otherwise(pl.lit("departed"))


def _known_events(protocol: Protocol, names: Sequence[str]) -> list[str]:
    return [event.name for event in protocol.events if event.name in names]


def _failing_sound(protocol: Protocol) -> tuple[str, ...]:
    """Return the event types of sound and length that fail a call."""
    return tuple(
        event.name
        for event in protocol.events
        if event.source in {"audio", "transcript"} and event.severity >= protocol.fail_at
    )


def _events(protocol: Protocol, names: Sequence[str]) -> pl.Expr:
    flags = [pl.col(EVENT_PREFIX + name) for name in _known_events(protocol, names)]
    found = pl.any_horizontal(flags) if flags else pl.lit(None, dtype=pl.Boolean)
    return (
        pl.when(found)
        .then(pl.lit("departed"))
        .when(found.not_())
        .then(pl.lit("held"))
        .otherwise(pl.lit("unknown"))
    )


def _event_key(protocol: Protocol, names: Sequence[str]) -> pl.Expr:
    found = [
        pl.when(pl.col(EVENT_PREFIX + name)).then(pl.lit(f"events/{name}"))
        for name in _known_events(protocol, names)
    ]
    return pl.coalesce(found) if found else pl.lit(None, dtype=pl.String)
