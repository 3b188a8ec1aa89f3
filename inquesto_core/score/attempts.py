"""What becomes of every attempt, and rates over them: of protocols without failure events.

Every call ends in one state: *scored*; *agent_fault*, which failed because the agent's side broke
it off; *excluded* for a stated reason; *not_evaluated*, because what decides it is not known. Rates
are over the first two; the raw rate beside them is over all whose outcome is known.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.score.citation import plain_label
from inquesto_core.score.rate import PERCENT_DECIMALS, Rate, published_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol import OutcomeProtocol, Population

__all__ = [
    "IN_N",
    "NO_TRACE",
    "NO_TRANSCRIPT",
    "SCENARIO_UNKNOWN",
    "accounting",
    "attempt_states",
    "citation",
    "cost_of",
    "judge_label",
    "rate_of",
    "rates_by",
    "repeats",
    "told_cost",
]

#: The states that make the n.
IN_N = ("scored", "agent_fault")

SCENARIO_UNKNOWN = "scenario_unknown"
EXCLUSION_UNKNOWN = "exclusion_unknown"
NO_TRANSCRIPT = "no_transcript"
NO_TRACE = "trace_missing"

#: Repeats are told up to this many.
_MAX_K = 10


def attempt_states(
    calls: pl.DataFrame, *, protocol: OutcomeProtocol, population: Population
) -> pl.DataFrame:
    """Return the state of every call and why, in the order of `calls`.

    Parameters
    ----------
    calls : polars.DataFrame
        ``call_id, scenario_id, exclusion_reason, ended_reason, unreadable``; the last lists codes
        of parts that are there and cannot be read.

    Returns
    -------
    polars.DataFrame
        ``call_id, state, reasons``. Excluded goes first: what the benchmark did wrong is not the
        agent's. An agent's fault needs no readable part.
    """
    known = pl.col("scenario_id").is_in([scenario.id for scenario in population.scenarios])
    excluded = pl.col("exclusion_reason")
    reasons = pl.concat_list(
        pl.when(excluded.is_not_null())
        .then(
            pl.when(excluded.is_in(list(protocol.excluded_reasons)))
            .then(excluded)
            .otherwise(pl.lit(EXCLUSION_UNKNOWN))
        )
        .otherwise(pl.lit("")),
        pl.when(known.fill_null(value=False)).then(pl.lit("")).otherwise(pl.lit(SCENARIO_UNKNOWN)),
        "unreadable",
    ).list.filter(pl.element() != "")
    fault = pl.col("ended_reason").is_in(list(protocol.agent_fault_reasons))
    return calls.select(
        "call_id",
        state=pl.when(excluded.is_in(list(protocol.excluded_reasons)))
        .then(pl.lit("excluded"))
        .when(excluded.is_not_null() | ~known.fill_null(value=False))
        .then(pl.lit("not_evaluated"))
        .when(fault.fill_null(value=False))
        .then(pl.lit("agent_fault"))
        .when(pl.col("unreadable").list.len() > 0)
        .then(pl.lit("not_evaluated"))
        .otherwise(pl.lit("scored")),
        reasons=reasons,
    )


def rate_of(frame: pl.DataFrame, passed: str, *, z: float) -> dict[str, Any]:
    """Return the published rate of a Boolean column; rows where it is null are no trials."""
    column = frame[passed].drop_nulls()
    return published_rate(Rate(k=int(column.sum()), n=len(column)), z)


def rates_by(frame: pl.DataFrame, by: str, passed: str, *, z: float) -> dict[str, Any]:
    """Return the published rate of each value of a column, sorted; null is left out."""
    counts = (
        frame.drop_nulls([by, passed]).group_by(by).agg(k=pl.col(passed).sum(), n=pl.len()).sort(by)
    )
    return {
        str(value): published_rate(Rate(k=int(k), n=int(n)), z)
        for value, k, n in counts.iter_rows()
    }


def accounting(decisions: pl.DataFrame, passed: str, *, population: Population) -> dict[str, Any]:
    """Return where every call went.

    Parameters
    ----------
    decisions : polars.DataFrame
        ``scenario_id, condition, group, trial, state, reasons`` and `passed`.
    passed : str
        Null in a scored call means that nothing applied to it.
    """
    keys = ["scenario_id", "condition", "group", "trial"]
    slots = pl.DataFrame(
        [
            (slot.scenario_id, slot.condition, slot.group, slot.trial)
            for slot in population.expected_slots()
        ],
        schema=dict(zip(keys, (pl.String, pl.String, pl.String, pl.Int64), strict=True)),
        orient="row",
    )
    taken = decisions.select(keys).unique()
    in_place = decisions.select(keys).join(slots, on=keys, how="semi").unique().height
    counted = decisions.filter(pl.col("state").is_in(list(IN_N)))
    return {
        "calls": decisions.height,
        "scored": decisions.filter(pl.col("state") == "scored").height,
        "agent_fault": decisions.filter(pl.col("state") == "agent_fault").height,
        "not_applicable": counted.filter(pl.col(passed).is_null()).height,
        "excluded": _reasons(decisions, "excluded"),
        "not_evaluated": _reasons(decisions, "not_evaluated"),
        "missing": slots.join(taken, on=keys, how="anti").height,
        "unexpected": decisions.height - in_place,
    }


def _reasons(decisions: pl.DataFrame, state: str) -> dict[str, int]:
    """Return how many calls of a state have each first reason."""
    ours = decisions.filter(pl.col("state") == state).select(reason=pl.col("reasons").list.first())
    return dict(ours.group_by("reason").len().sort("reason").iter_rows())


def repeats(decisions: pl.DataFrame, passed: str) -> dict[str, Any]:
    """Return how repeats of one task agree: pass@k, pass^k, and tasks that always or never pass.

    ``pass@k = mean over tasks of 1 - C(n - c, k) / C(n, k)``: some of k attempts passes;
    ``pass^k = mean of C(c, k) / C(n, k)``: all of k pass. n counted attempts of a task, c passed;
    tasks with fewer than k are no part of that k. A task is a scenario.
    """
    tasks = (
        decisions.drop_nulls(["scenario_id", passed])
        .group_by("scenario_id")
        .agg(n=pl.len(), c=pl.col(passed).sum())
    )
    pairs = [
        (int(n), int(c), int(count))
        for n, c, count in tasks.group_by("n", "c").len().sort("n", "c").iter_rows()
    ]
    most = min(max((n for n, _, _ in pairs), default=0), _MAX_K)
    return {
        "tasks": tasks.height,
        "by_k": [_of_k(pairs, k) for k in range(1, most + 1)],
        "consistency": {
            "all_passed": sum(count for n, c, count in pairs if c == n),
            "mixed": sum(count for n, c, count in pairs if 0 < c < n),
            "all_failed": sum(count for _, c, count in pairs if c == 0),
        },
    }


def _of_k(pairs: list[tuple[int, int, int]], k: int) -> dict[str, Any]:
    enough = [each for each in pairs if each[0] >= k]
    tasks = sum(count for _, _, count in enough)
    some = sum(count * (1 - Fraction(comb(n - c, k), comb(n, k))) for n, c, count in enough)
    every = sum(count * Fraction(comb(c, k), comb(n, k)) for n, c, count in enough)
    return {
        "k": k,
        "tasks": tasks,
        "pass_at_k": _percent(some, tasks),
        "pass_hat_k": _percent(every, tasks),
    }


def _percent(total: Fraction | int, tasks: int) -> float:
    return round(float(100 * total / tasks), PERCENT_DECIMALS)


def citation(
    rate: dict[str, Any],
    counts: dict[str, Any],
    *,
    protocol: OutcomeProtocol,
    population: Population,
    judge_label: str,
    beside: str = "",
) -> str:
    """Return the line by which a result is quoted; what makes it not citable stands in it."""
    head = f"{protocol.name}/{population.name} = "
    if rate["n"]:
        level = f"{100 * protocol.confidence_level:g}"
        head += (
            f"{rate['score']:.1f}% ({level}% CI {rate['lo']:.1f}–{rate['hi']:.1f}; n = {rate['n']})"
        )
    else:
        head += "no call could be scored"
    marks: list[str] = [protocol.status] if protocol.status != "released" else []
    marks.append(judge_label)
    open_n = counts["missing"] + sum(counts["not_evaluated"].values())
    if open_n:
        marks.append(f"incomplete: {open_n} calls missing or not evaluated")
    return head + beside + "".join(f" [{mark}]" for mark in marks)


def judge_label(judge: Mapping[str, Any], *, without: str) -> str:
    """Return how a citation names whose answers were read.

    Parameters
    ----------
    judge : mapping
        ``kind``, and ``label`` of a model.
    without : str
        What decides where nobody was asked.
    """
    if judge["kind"] == "none":
        return without
    return f"judge: {plain_label(judge.get('label') or 'recorded labels')}"


def told_cost() -> pl.Expr:
    """Return what the tag ``cost`` tells, as a number; null where it is none from 0."""
    cost = pl.col("cost").cast(pl.Float64, strict=False)
    return pl.when(cost.is_finite() & (cost >= 0)).then(cost)


def cost_of(counted: pl.DataFrame, passed: str) -> dict[str, Any]:
    """Return the cost of the counted calls, and by passed call where every call has a cost."""
    known = counted.drop_nulls("cost")
    n_passed = int(counted[passed].fill_null(value=False).sum())
    total = round(float(known["cost"].sum()), 6) if known.height else None
    whole = total is not None and known.height == counted.height and n_passed > 0
    return {
        "calls": known.height,
        "total": total,
        "per_completed_call": round(total / n_passed, 6) if whole and total is not None else None,
    }
