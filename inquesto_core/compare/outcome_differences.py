"""What two protocols, or two versions of one, say differently of the same calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.protocol import ASSERTIONS, SIGNALS
from inquesto_core.score.signals import rated_signals

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DIFFERENT", "PARTS", "PASSED", "outcome_differences", "part_verdicts"]

#: The column that says whether a call passes, by method.
PASSED = {"signals": "is_successful", "checks": "completed"}

#: What a call is decided from, by method: signals, or the three assertions.
PARTS = {"signals": SIGNALS, "checks": ASSERTIONS}

#: One row a call of which something differs.
DIFFERENT = {
    "call_id": pl.String,
    "outcome": pl.String,  # broken | fixed | same | opened | closed
    "passed_before": pl.Boolean,
    "passed_after": pl.Boolean,
    "state_before": pl.String,
    "state_after": pl.String,
    "parts": pl.List(pl.String),  # those whose verdict differs; null where methods differ
}


def part_verdicts(
    decisions: pl.DataFrame, tables: Mapping[str, pl.DataFrame], method: str
) -> pl.DataFrame:
    """Return ``call_id`` and a column a part: its verdict, null where it is in no rate.

    A signal takes part where the scenario's whitelist has it, it applies, and the call did not
    stall: as in the record's ``signals.*.gating``.

    Parameters
    ----------
    decisions : polars.DataFrame
        ``calls.parquet`` of a run of that method.
    tables : mapping
        ``signals``, of a run of signals.
    """
    if method == "checks":
        return decisions.select("call_id", *PARTS["checks"])
    signals = rated_signals(tables["signals"], decisions).filter("whitelisted")
    wide = decisions.select("call_id")
    for name in PARTS["signals"]:
        ours = signals.filter(pl.col("signal") == name).select("call_id", verdict="verdict")
        wide = wide.join(
            ours.rename({"verdict": name}), on="call_id", how="left", maintain_order="left"
        )
    return wide


def outcome_differences(
    before: pl.DataFrame,
    after: pl.DataFrame,
    *,
    methods: tuple[str, str],
    parts: tuple[pl.DataFrame, pl.DataFrame],
) -> pl.DataFrame:
    """Return the calls of which outcome, state or a part differs: the table `DIFFERENT`.

    Parameters
    ----------
    before, after : polars.DataFrame
        Decisions on the same calls.
    parts : pair of polars.DataFrame
        `part_verdicts` of both.
    """
    one, two = (
        frame.select("call_id", "state", passed=PASSED[method])
        for frame, method in zip((before, after), methods, strict=True)
    )
    both = one.rename({"state": "state_before", "passed": "passed_before"}).join(
        two.rename({"state": "state_after", "passed": "passed_after"}), on="call_id"
    )
    was, now = pl.col("passed_before"), pl.col("passed_after")
    outcome = (
        pl.when(was & ~now)
        .then(pl.lit("broken"))
        .when(~was & now)
        .then(pl.lit("fixed"))
        .when(was.is_null() & now.is_not_null())
        .then(pl.lit("closed"))
        .when(was.is_not_null() & now.is_null())
        .then(pl.lit("opened"))
        .otherwise(pl.lit("same"))
    )
    moved = _moved_parts(parts) if methods[0] == methods[1] else None
    if moved is None:
        both = both.with_columns(parts=pl.lit(None, dtype=pl.List(pl.String)))
    else:
        both = both.join(moved, on="call_id", how="left")
    other_state = pl.col("state_before") != pl.col("state_after")
    has_moved = pl.col("parts").list.len().fill_null(0) > 0
    return (
        both.with_columns(outcome=outcome)
        .filter((pl.col("outcome") != "same") | other_state | has_moved)
        .select(DIFFERENT.keys())
        .sort("call_id")
    )


def _moved_parts(parts: tuple[pl.DataFrame, pl.DataFrame]) -> pl.DataFrame:
    names = [name for name in parts[0].columns if name != "call_id"]
    both = parts[0].join(parts[1], on="call_id", suffix="_after")
    moved = [pl.when(pl.col(n).ne_missing(pl.col(f"{n}_after"))).then(pl.lit(n)) for n in names]
    return both.select("call_id", parts=pl.concat_list(moved).list.drop_nulls())
