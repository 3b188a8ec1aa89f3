"""What another protocol makes of the same calls: which outcomes changed, and what changed them.

A change of outcome has causes: an event that appeared or went, the goal, or an event that decides
now and did not before. Each is set beside what moved it: the measured value and the threshold of
both protocols, and the rules that differ and bear on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inquesto_core.protocol import Change, EventType, Protocol

__all__ = [
    "CHANGES",
    "DIFFERENCES",
    "DIRECTIONS",
    "GOAL",
    "IDLE",
    "DifferenceCounts",
    "Reading",
    "add_difference_counts",
    "call_differences",
    "count_differences",
]

#: What became of a call, in the order in which it is told.
CHANGES = (
    "broken",
    "fixed",
    "newly_not_evaluated",
    "newly_evaluated",
    "newly_excluded",
    "no_longer_excluded",
    "still_failing",
    "same",
)

#: What became of a cause: an event appeared, went, could not be told any more, or can be told now;
#: the goal was reached or missed; the event stands as before and decides now, or no more.
DIRECTIONS = (
    "appeared",
    "went",
    "undetermined",
    "determined",
    "reached",
    "missed",
    "decides",
    "no_longer_decides",
)

#: The cause that is no event.
GOAL = "goal"

#: A row a call and cause, of every call that changed in anything or fails under both protocols.
DIFFERENCES: dict[str, pl.DataType | type[pl.DataType]] = {
    "call_id": pl.String,
    "agent_fingerprint": pl.String,
    "change": pl.String,
    "state_before": pl.String,
    "state_after": pl.String,
    "passed_before": pl.Boolean,
    "passed_after": pl.Boolean,
    "reasons": pl.List(pl.String),  # of the state after
    "cause": pl.String,  # event type or goal; null = nothing of the call changed
    "direction": pl.String,
    "at_ms": pl.Int64,  # of the occurrence that counts
    "value": pl.Int64,
    "threshold_before": pl.Int64,  # null = no threshold, or a protocol that is not at hand
    "threshold_after": pl.Int64,
    "rules": pl.List(pl.String),  # pointers of what differs and bears on the cause
}

#: What became of a call in which nothing needs to have changed to be told.
IDLE = "still_failing"

_IN_N = ("scored", "agent_fault")
_FILE = "protocol.json#"
#: What bears on every event of a source, beside its own row.
_BEARS = {
    "audio": (
        f"{_FILE}/timeline/",
        f"{_FILE}/media/",
        f"{_FILE}/recording_faults/",
        f"{_FILE}/instruments/vad/",
        f"{_FILE}/instruments/vad_level/",
        f"{_FILE}/instruments/not_speech/",
        f"{_FILE}/instruments/leak/",
        f"{_FILE}/instruments/foreground/",
        "foreground.json",
    ),
    "trace": (f"{_FILE}/goal/performed_statuses",),
    "judge": (f"{_FILE}/instruments/judge/", "rubric/"),
    "transcript": (f"{_FILE}/instruments/asr/",),
}
_PROMISED = "promised_not_done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A run as one protocol reads it.

    Parameters
    ----------
    decisions, events : polars.DataFrame
        Decision table and table ``events``.
    judge_free : bool
        There is no judge.
    """

    decisions: pl.DataFrame
    events: pl.DataFrame
    judge_free: bool


def call_differences(
    before: Reading,
    after: Reading,
    *,
    was: Protocol | None,
    now: Protocol,
    changes: Sequence[Change],
) -> pl.DataFrame:
    """Return what differs, call by call: the table `DIFFERENCES`, sorted by change, call and cause.

    Parameters
    ----------
    was : Protocol or None
        That of `before`; None = it is not at hand, and its thresholds and rules are unknown.
    now : Protocol
        That of `after`.
    changes : sequence of Change
        What `now` says differently.
    """
    outcomes = _outcomes(before, after)
    causes = _causes(before, after, was, now)
    causes = _with_values(causes, (before.events, was), (after.events, now))
    causes = _with_rules(causes, now, changes)
    rows = outcomes.join(causes, on="call_id", how="left", maintain_order="left")
    told = rows.filter((pl.col("change") != "same") | pl.col("cause").is_not_null())
    none = pl.lit([], dtype=pl.List(pl.String))
    return (
        _in_order(told.with_columns(pl.col("rules").fill_null(none)))
        .select(DIFFERENCES.keys())
        .cast(DIFFERENCES)  # type: ignore[arg-type]
    )


def _outcomes(before: Reading, after: Reading) -> pl.DataFrame:
    columns = ("call_id", "state", "passed")
    held = pl.col("call_id").is_not_null()
    one = before.decisions.filter(held).select(columns).rename(lambda name: f"{name}_before")
    two = after.decisions.filter(held).select(*columns, "reasons", "agent_fingerprint")
    both = one.join(two, left_on="call_id_before", right_on="call_id", maintain_order="left")
    was, now = (pl.col(name).is_in(_IN_N) for name in ("state_before", "state"))
    excluded_was, excluded_now = (pl.col(name) == "excluded" for name in ("state_before", "state"))
    change = (
        pl.when(was & now & pl.col("passed_before") & ~pl.col("passed"))
        .then(pl.lit("broken"))
        .when(was & now & ~pl.col("passed_before") & pl.col("passed"))
        .then(pl.lit("fixed"))
        .when(was & now & ~pl.col("passed"))
        .then(pl.lit("still_failing"))
        .when(excluded_now & ~excluded_was)
        .then(pl.lit("newly_excluded"))
        .when(excluded_was & ~excluded_now)
        .then(pl.lit("no_longer_excluded"))
        .when(was & ~now)
        .then(pl.lit("newly_not_evaluated"))
        .when(now & ~was)
        .then(pl.lit("newly_evaluated"))
        .otherwise(pl.lit("same"))
    )
    return both.with_columns(change=change).rename(
        {"call_id_before": "call_id", "state": "state_after", "passed": "passed_after"}
    )


def _causes(before: Reading, after: Reading, was: Protocol | None, now: Protocol) -> pl.DataFrame:
    """Return ``call_id, cause, direction``."""
    one, two = before.decisions, after.decisions
    columns = [name for name in two.columns if name.startswith(EVENT_PREFIX)]
    goals = [_goal(before), _goal(after)]
    held = pl.col("call_id").is_not_null()
    wide = one.filter(held).select(
        "call_id",
        pl.col(goals[0]).alias("b_goal"),
        *(
            (pl.col(name) if name in one.columns else pl.lit(None, dtype=pl.Boolean)).alias(
                f"b_{name}"
            )
            for name in columns
        ),
    )
    wide = wide.join(
        two.filter(held).select(
            "call_id",
            pl.col(goals[1]).alias("a_goal"),
            *(pl.col(n).alias(f"a_{n}") for n in columns),
        ),
        on="call_id",
        maintain_order="left",
    )
    parts = [_moved(wide, "goal", GOAL, appeared="reached", went="missed")]
    for name in columns:
        event = name.removeprefix(EVENT_PREFIX)
        if not (after.judge_free and "judge" in now.event(event).source):
            parts.append(_moved(wide, name, event))
            did, does = _decides(was, event), _decides(now, event)
            if did is not None and did != does:
                parts.append(_deciding(wide, name, event, does=bool(does)))
    return pl.concat(parts)


def _goal(reading: Reading) -> str:
    return "goal_judge_free" if reading.judge_free else "goal"


def _moved(
    wide: pl.DataFrame, column: str, cause: str, *, appeared: str = "appeared", went: str = "went"
) -> pl.DataFrame:
    was, now = pl.col("was"), pl.col("now")
    gone = pl.lit(went) if cause == GOAL else pl.when(was).then(pl.lit(went))
    direction = (
        pl.when(now)
        .then(pl.lit(appeared))
        .when(now.is_null())
        .then(pl.lit("undetermined"))
        .otherwise(pl.coalesce(gone, pl.lit("determined")))
    )
    both = wide.select("call_id", was=f"b_{column}", now=f"a_{column}")
    moved = both.filter(was.ne_missing(now))
    return moved.select("call_id", cause=pl.lit(cause), direction=direction)


def _deciding(wide: pl.DataFrame, column: str, event: str, *, does: bool) -> pl.DataFrame:
    """Return the calls in which an event stands as before, and decides only under one protocol."""
    stands = pl.col(f"b_{column}") & pl.col(f"a_{column}")
    direction = pl.lit("decides" if does else "no_longer_decides")
    return wide.filter(stands).select("call_id", cause=pl.lit(event), direction=direction)


def _decides(protocol: Protocol | None, event: str) -> bool | None:
    if protocol is None or event not in {each.name for each in protocol.events}:
        return None
    return protocol.event(event).severity >= protocol.fail_at


def _with_values(
    causes: pl.DataFrame,
    before: tuple[pl.DataFrame, Protocol | None],
    after: tuple[pl.DataFrame, Protocol | None],
) -> pl.DataFrame:
    """Add where and how much: of the occurrence that stands now, else of the one that went."""
    keys = ["call_id", "type"]
    is_new = pl.col("direction").is_in(["appeared", "decides", "no_longer_decides"])
    told = []
    for side, own, other, names in (
        (~is_new, before, after, ("threshold_before", "threshold_after")),
        (is_new, after, before, ("threshold_after", "threshold_before")),
    ):
        counted = own[0].filter("counted").select(*keys, "at_ms", "value", "threshold")
        rows = _thresholds(counted, own[1], other[1]).rename(
            {"threshold": names[0], "other": names[1]}
        )
        columns = (*keys, "at_ms", "value", "threshold_before", "threshold_after")
        told.append(
            causes.filter(side).join(
                rows.select(columns), left_on=["call_id", "cause"], right_on=keys, how="left"
            )
        )
    return pl.concat(told)


def _thresholds(rows: pl.DataFrame, own: Protocol | None, other: Protocol | None) -> pl.DataFrame:
    """Add ``other``: what the other protocol has as the threshold that a row was compared with."""
    pairs = rows.select("type", "threshold").unique().drop_nulls()
    found = [
        (kind, threshold, _same_limit(kind, threshold, own, other))
        for kind, threshold in pairs.iter_rows()
    ]
    schema = {"type": pl.String, "threshold": pl.Int64, "other": pl.Int64}
    table = pl.DataFrame(found, schema=schema, orient="row")
    return rows.join(table, on=["type", "threshold"], how="left", maintain_order="left")


def _same_limit(
    kind: str, threshold: int, own: Protocol | None, other: Protocol | None
) -> int | None:
    if own is None or other is None:
        return None
    theirs = {event.name: event.parameters for event in other.events}
    for event in _family(own, kind):
        for name, value in event.parameters.items():
            if value == threshold and not isinstance(value, bool):
                there = theirs.get(event.name, {}).get(name)
                return None if there is None else int(there)
    return None


def _family(protocol: Protocol, kind: str) -> Iterator[EventType]:
    """Yield an event type, the one that it replaces, and those that replace it."""
    event = next((each for each in protocol.events if each.name == kind), None)
    if event is None:
        return
    yield event
    for other in protocol.events:
        replaces = event.parameters.get("replaces") == other.name
        if replaces or other.parameters.get("replaces") == event.name:
            yield other


def _with_rules(
    causes: pl.DataFrame, protocol: Protocol, changes: Sequence[Change]
) -> pl.DataFrame:
    """Add which changed rules bear on each cause; what a criterion says in words is no rule."""
    pointers = [each.pointer for each in changes if not each.pointer.endswith("/criterion")]
    rows = [
        (cause, [each for each in pointers if each.startswith(_bearing(protocol, cause))])
        for cause in causes["cause"].unique()
    ]
    table = pl.DataFrame(
        rows, schema={"cause": pl.String, "rules": pl.List(pl.String)}, orient="row"
    )
    return causes.join(table, on="cause", how="left", maintain_order="left")


def _bearing(protocol: Protocol, cause: str) -> tuple[str, ...]:
    """Return what the pointers of rules that bear on a cause begin with."""
    judged, traced = _BEARS["judge"], _BEARS["trace"]
    if cause == GOAL:
        return (f"{_FILE}/goal/", "populations/", *judged)
    sources = protocol.event(cause).source.replace(" x ", ", ").split(", ")
    out = [f"{_FILE}/events/{event.name}/" for event in _family(protocol, cause)]
    out += [prefix for source in sources for prefix in _BEARS[source]]
    if cause == _PROMISED:
        out += [f"{_FILE}/goal/", *traced]
    return (*out, f"{_FILE}/fail_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceCounts:
    """What differs, counted: adds up over partitions.

    Parameters
    ----------
    calls : int
        All calls, those that are the same included.
    changes : polars.DataFrame
        ``change, n``: calls by what became of them.
    causes : polars.DataFrame
        ``cause, direction, n``.
    first : polars.DataFrame
        Rows `DIFFERENCES` of the first calls in which anything changed.
    changed_n : int
        How many calls there are in which anything changed.
    """

    calls: int
    changes: pl.DataFrame
    causes: pl.DataFrame
    first: pl.DataFrame
    changed_n: int


def count_differences(
    differences: pl.DataFrame, decisions: pl.DataFrame, *, shown: int
) -> DifferenceCounts:
    """Return the table `DIFFERENCES` counted.

    Parameters
    ----------
    decisions : decision table after
    shown : int
        Calls of which the rows are kept.
    """
    calls = differences.unique("call_id", keep="first", maintain_order=True)
    moved = differences.filter(pl.col("cause").is_not_null() | (pl.col("change") != IDLE))
    return DifferenceCounts(
        calls=decisions["call_id"].drop_nulls().len(),
        changes=calls.group_by("change").agg(n=pl.len().cast(pl.Int64)),
        causes=differences.filter(pl.col("cause").is_not_null())
        .group_by("cause", "direction")
        .agg(n=pl.len().cast(pl.Int64)),
        first=_first_calls(moved, shown),
        changed_n=moved["call_id"].n_unique(),
    )


def add_difference_counts(parts: Sequence[DifferenceCounts], *, shown: int) -> DifferenceCounts:
    """Return the counts of all partitions together; at least one."""
    return DifferenceCounts(
        calls=sum(part.calls for part in parts),
        changes=pl.concat([part.changes for part in parts]).group_by("change").sum(),
        causes=pl.concat([part.causes for part in parts]).group_by("cause", "direction").sum(),
        first=_first_calls(_in_order(pl.concat([part.first for part in parts])), shown),
        changed_n=sum(part.changed_n for part in parts),
    )


def _first_calls(rows: pl.DataFrame, count: int) -> pl.DataFrame:
    calls = rows.select("call_id").unique(maintain_order=True).head(count)
    return rows.join(calls, on="call_id", how="semi", maintain_order="left")


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    rank = pl.col("change").replace_strict({name: at for at, name in enumerate(CHANGES)})
    return rows.sort(rank, "call_id", "cause")
