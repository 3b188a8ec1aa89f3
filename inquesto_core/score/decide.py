"""Whether each call passes: goal reached and no event of severity ``fail_at`` or above.

Takes what is known of every call and gives the decision table but for its timing columns. It is a
join and a few column expressions; under other timing flags (those at moved limits) only the last of
them, the pass, is asked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.trace import is_impostor, scenario_table
from inquesto_core.score.accounting import reason_text, reasons_of_text, text_of_reasons
from inquesto_core.score.slots import missing_slots, with_trial
from inquesto_core.score.tables import EVENT_PREFIX, SLOT, decision_schema

if TYPE_CHECKING:
    from inquesto_core.protocol import EventType, Population, Protocol

__all__ = ["decide", "missing_calls"]

#: Columns of the decision table that `decide` fills, besides those of the events.
DECIDED = (
    "call_id",
    *SLOT,
    "agent_fingerprint",
    "identity",
    "state",
    "reasons",
    "goal",
    "goal_judge_free",
    "judge_free_vacuous",
    "worst_severity",
    "passed",
    "passed_judge_free",
    "known_fail",
)

#: What the moves within the timing uncertainty add.
ENDS = ("borderline", "passed_low", "passed_high")

_AUDIO = "audio"
_JUDGE = "judge"


def decide(
    calls: pl.DataFrame,
    *,
    facts: pl.DataFrame,
    goals: pl.DataFrame,
    standing: pl.DataFrame,
    flags: pl.DataFrame,
    timing_flags: pl.DataFrame,
    protocol: Protocol,
    population: Population,
    judge_free: bool,
    moved_flags: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return one row a call.

    Parameters
    ----------
    calls : evidence table
    facts, goals, standing : `trace_facts`, `goal_table`, `call_standing`
    flags : polars.DataFrame
        ``call_id`` and the event columns of transcript, trace and judge.
    timing_flags : polars.DataFrame
        ``call_id`` and the event columns of the audio; a call without a row has null in all.
    judge_free : bool
        There is no judge: ``state`` and ``passed`` are those of the judge-free quantities, and
        the judge's columns may be null.
    moved_flags : polars.DataFrame, optional
        Timing flags of calls under moves within the timing uncertainty, one row a call and move
        that changes them; the same are known, so that no state changes.

    Returns
    -------
    polars.DataFrame
        The columns `DECIDED` and one an event type, in the order of the decision table, and `ENDS`
        where moves are given; sorted by ``call_id``. Every row is in exactly one state, in this
        order:

        ``excluded`` (out of n), ``timing_only`` (no scenario, hence no goal and no pass),
        ``agent_fault`` (failed, whatever is undetermined), ``not_evaluated`` (a quantity that
        could decide is undetermined), ``scored``. Of a call without a scenario only the audio
        events are told.
    """
    names = tuple(event.name for event in protocol.events)
    table = with_trial(calls, population=population).select(
        "call_id", *SLOT, "agent_fingerprint", "timing_source", "timing_reasons"
    )
    for frame in (facts, goals, standing, flags, timing_flags):
        table = table.join(frame, on="call_id", how="left", maintain_order="left")
    failing = [event for event in protocol.events if event.severity >= protocol.fail_at]
    # Which tools look up, verify and change is the scenario's population's to say.
    has_scenario = pl.col("timing_only").is_null()
    table = (
        table.with_columns(
            pl.when(has_scenario).then(EVENT_PREFIX + event.name).alias(EVENT_PREFIX + event.name)
            for event in protocol.events
            if event.source != _AUDIO
        )
        .with_columns(
            trace_half=is_impostor() & pl.col("change_performed"),
            open_timing=_open_timing(failing),
        )
        .with_columns(
            open_judge_free=_open_reasons(
                ("open_state", "open_timing"),
                {"goal_judge_free": "goal_judge_free", **_without_judge(failing)},
            ),
            open_all=_open_reasons(
                ("open_state", "open_timing", "open_judge"),
                {"goal": "goal", **{event.name: EVENT_PREFIX + event.name for event in failing}},
            ),
        )
    )
    table = _with_state(table, "open_judge_free" if judge_free else "open_all")
    table = _with_pass(table, failing, judge_free=judge_free)
    if moved_flags is not None:
        passed = _pass(failing, judge_free=judge_free)
        table = _with_ends(table, moved_flags, passed)
    severities = [
        pl.col(EVENT_PREFIX + event.name).fill_null(value=False).cast(pl.Int64) * event.severity
        for event in protocol.events
    ]
    table = table.with_columns(worst_severity=pl.max_horizontal(severities))
    wanted = DECIDED if moved_flags is None else (*DECIDED, *ENDS)
    columns = {
        name: dtype
        for name, dtype in decision_schema(names).items()
        if name in wanted or name.startswith(EVENT_PREFIX)
    }
    return table.select(columns.keys()).sort("call_id")


def _any(columns: list[str]) -> pl.Expr:
    return pl.any_horizontal(columns) if columns else pl.lit(value=False)


def _without_judge(events: list[EventType]) -> dict[str, str]:
    """Return event name to column, of the events that there are without a judge.

    Of `false_accept`, which trace or judge may show, the trace's half is left.
    """
    columns = {}
    for event in events:
        if _JUDGE not in event.source:
            columns[event.name] = EVENT_PREFIX + event.name
        elif event.name == "false_accept":
            columns[event.name] = "trace_half"
    return columns


def _open_timing(failing: list[EventType]) -> pl.Expr:
    """Return why timing is not evaluated, where an event that could fail the call needs it."""
    columns = [EVENT_PREFIX + event.name for event in failing if event.source == _AUDIO]
    if not columns:
        return pl.lit(None, dtype=pl.String)
    unknown = pl.any_horizontal(pl.col(name).is_null() for name in columns)
    missing = pl.when(pl.col("timing_source").is_null()).then(pl.lit("timing_missing"))
    return pl.coalesce(
        text_of_reasons(pl.col("timing_reasons")),
        pl.when(unknown).then(missing.otherwise(pl.lit("timing_undetermined"))),
    )


def _open_reasons(texts: tuple[str, ...], decisive: dict[str, str]) -> pl.Expr:
    """Return the reasons why something decisive is open.

    What is null although no evidence is wanting is named itself (``undetermined:<event>``), so that
    nothing unknown is ever scored.
    """
    wanting = reason_text(*(pl.col(name) for name in texts))
    unknown = [
        pl.when(pl.col(column).is_null()).then(pl.lit(f"undetermined:{name}"))
        for name, column in sorted(decisive.items())
    ]
    return pl.coalesce(wanting, reason_text(*unknown))


def _with_state(table: pl.DataFrame, open_reasons: str) -> pl.DataFrame:
    excluded = pl.col("exclusion").is_not_null()
    timing_only = pl.col("timing_only").is_not_null()
    fault = pl.col("fault").is_not_null()
    is_open = pl.col(open_reasons).is_not_null()
    only_timed = reason_text(*map(pl.col, ("timing_only", "unproven_exclusion", "open_timing")))
    return table.with_columns(
        state=pl.when(excluded)
        .then(pl.lit("excluded"))
        .when(timing_only)
        .then(pl.lit("timing_only"))
        .when(fault)
        .then(pl.lit("agent_fault"))
        .when(is_open)
        .then(pl.lit("not_evaluated"))
        .otherwise(pl.lit("scored")),
        reasons=reasons_of_text(
            pl.when(excluded)
            .then("exclusion")
            .when(timing_only)
            .then(only_timed)
            .when(fault)
            .then("fault")
            .otherwise(open_reasons)
        ),
    )


def _fired(failing: list[EventType]) -> pl.Expr:
    return _any([EVENT_PREFIX + event.name for event in failing])


def _pass_without_judge(failing: list[EventType]) -> pl.Expr:
    """Return the judge-free pass; null where something it hangs on is open."""
    settled = pl.col("open_judge_free").is_null()
    fired = _any(list(_without_judge(failing).values()))
    return pl.when(settled).then(pl.col("goal_judge_free") & ~fired)


def _pass(failing: list[EventType], *, judge_free: bool) -> pl.Expr:
    """Return whether a call passes; null unless it is scored or the agent's fault."""
    passes = _pass_without_judge(failing) if judge_free else pl.col("goal") & ~_fired(failing)
    return (
        pl.when(pl.col("state") == "agent_fault")
        .then(statement=False)
        .when(pl.col("state") == "scored")
        .then(passes)
    )


def _with_pass(table: pl.DataFrame, failing: list[EventType], *, judge_free: bool) -> pl.DataFrame:
    state = pl.col("state")
    fault, may_pass = state == "agent_fault", ~state.is_in(["excluded", "timing_only"])
    certain = (~pl.col("goal")).fill_null(value=False) | _fired(failing).fill_null(value=False)
    return table.with_columns(
        passed=_pass(failing, judge_free=judge_free),
        passed_judge_free=pl.when(fault)
        .then(statement=False)
        .when(may_pass)
        .then(_pass_without_judge(failing)),
        known_fail=fault | (may_pass & certain),
    )


def _with_ends(table: pl.DataFrame, moved_flags: pl.DataFrame, passed: pl.Expr) -> pl.DataFrame:
    """Add pass at the bad and at the good end of all moves, and whether they differ."""
    needed = {"call_id", *passed.meta.root_names()} - (set(moved_flags.columns) - {"call_id"})
    moved = (
        table.select(sorted(needed))
        .join(moved_flags, on="call_id")
        .group_by("call_id")
        .agg(
            low=passed.all(ignore_nulls=False),
            high=passed.any(ignore_nulls=False),
        )
    )
    low = pl.when(pl.col("moved")).then(pl.col("passed") & pl.col("low")).otherwise("passed")
    high = pl.when(pl.col("moved")).then(pl.col("passed") | pl.col("high")).otherwise("passed")
    return (
        table.join(
            moved.with_columns(moved=pl.lit(value=True)),
            on="call_id",
            how="left",
            maintain_order="left",
        )
        .with_columns(passed_low=low, passed_high=high)
        .with_columns(borderline=pl.col("passed_high") != pl.col("passed_low"))
        .drop("moved", "low", "high")
    )


def missing_calls(
    slots: pl.DataFrame, *, protocol: Protocol, population: Population
) -> pl.DataFrame:
    """Return a row for every expected call that is not there: open, and nothing known of it.

    Parameters
    ----------
    slots : `call_slots` of all calls

    Returns
    -------
    polars.DataFrame
        Rows of the decision table, sorted by agent and slot.
    """
    identity = scenario_table(population).select("scenario_id", "identity")
    slots = missing_slots(slots, population=population)
    rows = slots.join(identity, on="scenario_id", how="left", maintain_order="left").with_columns(
        state=pl.lit("not_evaluated"),
        reasons=pl.lit(["call_missing"], dtype=pl.List(pl.String)),
        worst_severity=pl.lit(0, dtype=pl.Int64),
        known_fail=pl.lit(value=False),
        fragile_limits=pl.lit([], dtype=pl.List(pl.String)),
    )
    schema = decision_schema(tuple(event.name for event in protocol.events))
    return pl.concat([pl.DataFrame(schema=schema), rows], how="diagonal")
