"""What each call is to the score: out of n with a reason, the agent's fault, open, or complete.

A reason is a code, with a colon and what it is about where that helps
(``verdict_missing:wrong_info``). What is undetermined is read off the evidence and not off the
events it decides, so that membership of n never depends on the outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.judged import (
    ANSWER_PREFIX,
    GIVEN_PREFIX,
    asked_where,
    judged_questions,
)
from inquesto_core.score.slots import (
    call_slots,
    is_in_scenario,
    slots_taken_twice,
    with_cell,
    with_trial,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from inquesto_core.protocol import Population, Protocol

__all__ = [
    "DUPLICATE_CALL_ID",
    "EXCLUSION_UNKNOWN",
    "NO_SCENARIO",
    "UNKNOWN_SCENARIO",
    "UNREADABLE_BUNDLE",
    "agent_faults",
    "call_standing",
    "exclusions",
    "reason_text",
    "reasons_of_text",
    "standing_slots",
    "text_of_reasons",
]

#: Why a call is out of n of which only the name is known: no call.json that can be used.
UNREADABLE_BUNDLE = "unreadable_bundle"
DUPLICATE_CALL_ID = "duplicate_call_id"

#: An exclusion was asked for with a reason that the protocol does not have.
EXCLUSION_UNKNOWN = "exclusion_unknown"

#: Why a call has no goal and is scored for timing only: it names no scenario, or a strange one.
NO_SCENARIO = "no_scenario"
UNKNOWN_SCENARIO = "unknown_scenario"

#: A timing reason that an agent without any sound has by itself.
_CHANNEL_SILENT = "channel_silent"

#: No reason has a control character: labels may not, and codes do not.
_BETWEEN = "\n"


def reason_text(*reasons: pl.Expr) -> pl.Expr:
    """Return the reasons that are not null as one text; null where there is none.

    Texts take a fraction of the time of lists that are nearly always empty.
    """
    text = pl.concat_str(*reasons, separator=_BETWEEN, ignore_nulls=True)
    return pl.when(text != "").then(text)


def text_of_reasons(reasons: pl.Expr) -> pl.Expr:
    """Return a list of reasons as `reason_text` has them."""
    text = reasons.list.join(_BETWEEN)
    return pl.when(text != "").then(text)


def reasons_of_text(text: pl.Expr) -> pl.Expr:
    """Return each reason of a `reason_text` once, as a sorted list."""
    reasons = text.str.split(_BETWEEN).list.unique().list.sort()
    return reasons.fill_null(pl.lit([], dtype=pl.List(pl.String)))


def _when(condition: pl.Expr, reason: str) -> pl.Expr:
    return pl.when(condition.fill_null(value=False)).then(pl.lit(reason))


def _is_name_only() -> pl.Expr:
    """Return whether nothing is known of a call but its name."""
    named = ("scenario_id", "condition", "group")
    return pl.all_horizontal(pl.col(name).is_null() for name in named)


def _is_granted(protocol: Protocol) -> pl.Expr:
    """Return whether the reason of an exclusion is one that takes a call out; null = none given."""
    granted, unusable = (
        pl.Series(list(names), dtype=pl.String).implode()
        for names in (
            protocol.accounting.excluded_reasons,
            (UNREADABLE_BUNDLE, DUPLICATE_CALL_ID),
        )
    )
    reason = pl.col("exclusion_reason")
    return reason.is_in(granted) | (reason.is_in(unusable) & _is_name_only())


def _reasons_of_its_own(
    calls: pl.DataFrame, *, protocol: Protocol, population: Population
) -> pl.DataFrame:
    """Return `calls` with ``own``, ``unproven_exclusion``, ``timing_only`` and ``in_order``."""
    calls = with_trial(calls, population=population)
    names = {"condition": population.conditions, "group": population.groups}
    known = {
        what: pl.col(what).is_in(pl.Series(list(known), dtype=pl.String).implode())
        for what, known in names.items()
    }
    has_goal = is_in_scenario(population=population)
    lost = pl.Series(list(protocol.accounting.lost_session_reasons), dtype=pl.String)
    granted = _is_granted(protocol)
    own = reason_text(
        pl.when(granted).then("exclusion_reason"),
        _when(pl.col("ended_reason").is_in(lost.implode()), "lost_session"),
        *(
            _when(has_goal & ~is_known.fill_null(value=False), f"unknown_{what}")
            for what, is_known in known.items()
        ),
        _when(has_goal & pl.col("trial").is_null(), "unknown_trial"),
    )
    unproven = _when(~granted, EXCLUSION_UNKNOWN)
    named = pl.when(pl.col("scenario_id").is_null()).then(pl.lit(NO_SCENARIO))
    timing_only = pl.when(~has_goal).then(named.otherwise(pl.lit(UNKNOWN_SCENARIO)))
    return calls.with_columns(
        own=own, unproven_exclusion=unproven, timing_only=timing_only
    ).with_columns(
        in_order=pl.col("own").is_null()
        & pl.col("unproven_exclusion").is_null()
        & pl.col("timing_only").is_null()
    )


def standing_slots(
    calls: pl.DataFrame, *, protocol: Protocol, population: Population
) -> pl.DataFrame:
    """Return `call_slots` with ``in_order``: the call may not share its slot with another."""
    told = _reasons_of_its_own(calls, protocol=protocol, population=population)
    return call_slots(told, population=population).with_columns(told["in_order"])


def exclusions(
    calls: pl.DataFrame,
    *,
    protocol: Protocol,
    population: Population,
    twice: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return why each call is out of n, and whether it asked to be without a right to it.

    Parameters
    ----------
    twice : polars.DataFrame, optional
        `slots_taken_twice` of an archive that `calls` are a part of; default: that of `calls`.

    Returns
    -------
    polars.DataFrame
        ``call_id``; ``exclusion``, a text, null = it is in n: the bundle's own reason or why it
        could not be read; ``lost_session``; ``unknown_condition``, ``unknown_group``,
        ``unknown_trial`` for what the population does not name of the place of a call in one of
        its scenarios; ``duplicate_slot`` for every one of several calls of one agent that are
        otherwise in order and fill the same slot. A call taken out with a reason may thus be
        recorded again. ``timing_only``: ``no_scenario`` or ``unknown_scenario``: there is no goal
        that it could reach or miss, so it is in no n and only its timing is told; null = it has
        one.
        ``unproven_exclusion``: ``exclusion_unknown`` where the bundle's reason is not among the
        protocol's ``excluded_reasons``. Such a call is neither scored, for it may be a benchmark
        fault, nor taken out, for then any failed call could be: it stays open, and shows in the
        bounds until its reason is one that the protocol has.
    """
    told = _reasons_of_its_own(calls, protocol=protocol, population=population)
    if twice is None:
        twice = slots_taken_twice(call_slots(told.filter("in_order"), population=population))
    keys = twice.columns
    table = with_cell(told, population=population).join(
        twice.with_columns(is_taken=pl.lit(value=True)),
        on=keys,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    is_taken = pl.col("in_order") & pl.col("is_taken").fill_null(value=False)
    duplicate = pl.lit("duplicate_slot")
    return table.select(
        "call_id",
        "unproven_exclusion",
        "timing_only",
        exclusion=pl.when(is_taken).then(duplicate).otherwise("own"),
    )


def agent_faults(
    calls: pl.DataFrame,
    tool_calls: pl.DataFrame,
    transcript: pl.DataFrame,
    utterances: pl.DataFrame,
    turns: pl.DataFrame,
    *,
    protocol: Protocol,
) -> pl.DataFrame:
    """Return ``call_id`` and ``fault``: how the agent side broke the call off; null = it did not.

    - the protocol's ``agent_fault_reasons``, where the agent or the system ended the call;
    - ``system_ended_agent_turn``: the system ended the call for another reason than a lost session,
      and the last agent turn reaches the window's end or ends less than ``ipu_gap_ms`` before it,
      so that more sound would have belonged to it;
    - ``agent_silent``: measured, the caller spoke, no agent turn was heard, and neither trace (a
      tool call) nor transcript (an agent turn with words) shows one.

    Parameters
    ----------
    calls, tool_calls, transcript, utterances, turns : evidence tables of those names
    """
    rules = protocol.accounting
    fault, lost = (
        pl.Series(list(names), dtype=pl.String).implode()
        for names in (rules.agent_fault_reasons, rules.lost_session_reasons)
    )
    words = transcript.filter((pl.col("speaker") == "agent") & (pl.col("n_words") > 0))
    table = calls.select(
        "call_id",
        "ended_by",
        "ended_reason",
        "timing_source",
        "timing_reasons",
        "window_to_ms",
    )
    table = table.join(
        turns.group_by("call_id").agg(last_turn_ms=pl.col("end_ms").max()),
        on="call_id",
        how="left",
        maintain_order="left",
    ).with_columns(caller_spoke=_held(utterances), agent_acted=_held(tool_calls) | _held(words))
    by, reason = pl.col("ended_by"), pl.col("ended_reason")
    stated = by.is_in(["agent", "system"]) & reason.is_in(fault)
    rest_ms = pl.col("window_to_ms") - pl.col("last_turn_ms")
    cut_off = (
        (by == "system")
        & ~reason.is_in(lost).fill_null(value=False)
        & (rest_ms < protocol.timeline.ipu_gap_ms)
    )
    other_reasons = pl.col("timing_reasons").list.set_difference([_CHANNEL_SILENT]).list.len()
    silent = (
        (pl.col("timing_source") == "measured")
        & (other_reasons.fill_null(0) == 0)
        & pl.col("caller_spoke")
        & pl.col("last_turn_ms").is_null()
        & ~pl.col("agent_acted")
    )
    return table.select(
        "call_id",
        fault=pl.when(stated.fill_null(value=False))
        .then(reason)
        .when(cut_off.fill_null(value=False))
        .then(pl.lit("system_ended_agent_turn"))
        .when(silent.fill_null(value=False))
        .then(pl.lit("agent_silent")),
    )


def _held(frame: pl.DataFrame) -> pl.Expr:
    """Return whether the frame has a row of the call."""
    return pl.col("call_id").is_in(frame["call_id"].unique().implode())


def call_standing(
    exclusion: pl.DataFrame,
    fault: pl.DataFrame,
    facts: pl.DataFrame,
    answers: pl.DataFrame,
    predicates: pl.DataFrame,
    *,
    protocol: Protocol,
) -> pl.DataFrame:
    """Return why each call is out of n, failed by its agent, or open; timing is left to `decide`.

    Parameters
    ----------
    exclusion, fault : `exclusions`, `agent_faults`
    facts, answers, predicates : `trace_facts`, `judge_answers`, `scenario_predicates`

    Returns
    -------
    polars.DataFrame
        ``call_id, exclusion, timing_only, fault, unproven_exclusion``, and texts ``open_state``
        (``exclusion_unknown``, ``trace_missing``, ``tool_result_missing``,
        ``predicate_undetermined:<kind>``) and
        ``open_judge``
        (``verdict_missing:<question>``, ``verdict_undetermined:<question>``): asked quantities
        that could decide the goal or an event of severity ``fail_at`` and above.
    """
    table = facts
    undetermined = predicates.filter(pl.col("value").is_null()).with_columns(
        code=pl.format("predicate_undetermined:{}", "kind")
    )
    judged = pl.col("judged")
    unclear = undetermined.group_by("call_id").agg(
        unclear=_joined(pl.col("code").filter(~judged)),
        unclear_judged=_joined(pl.col("code").filter(judged)),
    )
    for frame in (exclusion, fault, answers, unclear):
        table = table.join(frame, on="call_id", how="left", maintain_order="left")
    return table.select(
        "call_id",
        "exclusion",
        "timing_only",
        "fault",
        "unproven_exclusion",
        open_state=reason_text(
            pl.col("unproven_exclusion"),
            _when(~pl.col("has_trace"), "trace_missing"),
            _when(
                pl.col("has_trace") & pl.col("unverified_change").is_null(), "tool_result_missing"
            ),
            pl.col("unclear"),
        ),
        open_judge=reason_text(*_open_verdicts(protocol), pl.col("unclear_judged")),
    )


def _joined(codes: pl.Expr) -> pl.Expr:
    """Return each code once, as text; null where there is none."""
    text = codes.unique().sort().str.join(_BETWEEN)
    return pl.when(text != "").then(text)


def _open_verdicts(protocol: Protocol) -> Iterable[pl.Expr]:
    for question, asked in judged_questions(protocol, at_least=protocol.fail_at).items():
        given, answer = pl.col(GIVEN_PREFIX + question), pl.col(ANSWER_PREFIX + question)
        is_asked = asked_where(asked)
        yield _when(is_asked & ~given, f"verdict_missing:{question}")
        yield _when(is_asked & given & answer.is_null(), f"verdict_undetermined:{question}")
