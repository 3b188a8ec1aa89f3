"""Which calls people review: a sample that stands for the run, and the gravest failures beside it.

The sample is stratified, drawn at random within each stratum, and each call stands for as many as
its weight says. Calls with a critical event (S4 or S5) that were not drawn are added *apart*: they
are reviewed too, and no rate knows of them, so that rates stay those of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.compare.critical import CRITICAL_SEVERITY
from inquesto_core.compare.sampling import item_name
from inquesto_core.errors import IncomparableError, Problem
from inquesto_core.score.tables import EVENT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.protocol import Protocol

__all__ = [
    "APART",
    "CRITICAL_QUESTION",
    "FRAME",
    "LEAST_OF_STRATUM",
    "SAMPLE",
    "STRATA_COLUMNS",
    "allocation",
    "draw_review",
    "review_frame",
]

SAMPLE, APART = "sample", "apart"
CRITICAL_QUESTION = "critical_failure"
#: What strata may be made of; ``outcome`` is passed, failed, or open.
STRATA_COLUMNS = ("outcome", "condition", "group", "scenario_id")
#: Below two calls of a stratum nobody can tell how they vary.
LEAST_OF_STRATUM = 2

#: One row a call that may be drawn.
FRAME: dict[str, pl.DataType | type[pl.DataType]] = {
    "call_id": pl.String,
    "scenario_id": pl.String,
    "stratum": pl.String,
    "goal_achieved": pl.Boolean,  # what the run says, null = undetermined
    "critical_failure": pl.Boolean,  # an event of S4 or S5 is certainly there
}


def review_frame(decisions: pl.DataFrame, *, protocol: Protocol, by: Sequence[str]) -> pl.DataFrame:
    """Return table `FRAME`: the calls in a scenario that are not excluded, sorted by id.

    Raises
    ------
    IncomparableError
        ``column_unknown``: strata of something else than `STRATA_COLUMNS`.
    """
    unknown = [name for name in by if name not in STRATA_COLUMNS]
    if unknown:
        raise IncomparableError(
            Problem(
                code="column_unknown",
                found=f"strata are asked for by {unknown[0]!r}",
                expected=" or ".join(STRATA_COLUMNS),
            )
        )
    outcome = (
        pl.when(pl.col("passed")).then(pl.lit("passed"))
        .when(~pl.col("passed")).then(pl.lit("failed")).otherwise(pl.lit("open"))
    )  # fmt: skip
    critical = [
        pl.col(EVENT_PREFIX + event.name)
        for event in protocol.events
        if event.severity >= CRITICAL_SEVERITY
    ]
    left_out = pl.col("state").is_in(["excluded", "timing_only"])
    usable = decisions.filter(pl.col("call_id").is_not_null() & ~left_out)
    cells = [pl.col(name).cast(pl.String).fill_null("(none)") for name in by]
    stratum = pl.concat_str(cells, separator=" · ") if by else pl.lit("all")
    return (
        usable.with_columns(outcome=outcome)
        .select(
            "call_id",
            "scenario_id",
            stratum=stratum,
            goal_achieved="goal",
            critical_failure=pl.any_horizontal(critical).fill_null(value=False),
        )
        .sort("call_id")
    )


def allocation(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Return how many calls each stratum gives, in proportion to its size, together `n`.

    Each gives `LEAST_OF_STRATUM`, or all it has; the rest goes one by one to the stratum that is
    furthest below its share.

    Examples
    --------
    >>> allocation({"failed": 10, "passed": 90}, 20)
    {'failed': 2, 'passed': 18}
    >>> allocation({"failed": 1, "passed": 9}, 5)
    {'failed': 1, 'passed': 4}
    """
    total = sum(sizes.values())
    given = {name: min(size, LEAST_OF_STRATUM) for name, size in sorted(sizes.items())}
    for _ in range(min(n, total) - sum(given.values())):
        open_strata = [name for name in given if given[name] < sizes[name]]
        chosen = max(open_strata, key=lambda name: sizes[name] * n / total - given[name])
        given[chosen] += 1
    return given


def draw_review(frame: pl.DataFrame, *, n: int, secret: bytes) -> pl.DataFrame:
    """Return the calls to review, in an order that tells nothing.

    Strata too small for `n` calls to hold two of each are put together, the smallest first.

    Parameters
    ----------
    frame : `review_frame`
    n : int
        Calls of the sample, at least `LEAST_OF_STRATUM`; all where there are no more.
    secret : bytes
        Key of the draw: the same key and calls give the same sample.

    Returns
    -------
    polars.DataFrame
        `FRAME`, ``part`` (`SAMPLE` or `APART`), ``weight`` (calls of the stratum by those drawn;
        null apart), ``stratum_calls``, ``stratum_drawn``.
    """
    joined = _joined(dict(frame.group_by("stratum").len().rows()), n)
    frame = frame.with_columns(pl.col("stratum").replace(joined))
    sizes = dict(frame.group_by("stratum").len().rows())
    given = allocation(sizes, n)
    ids = frame["call_id"].to_list()
    turns = pl.Series([item_name(secret, name, "draw") for name in ids], dtype=pl.String)
    places = pl.Series([item_name(secret, name, "order") for name in ids], dtype=pl.String)
    ranked = frame.with_columns(
        turn=turns.rank("ordinal"),
        place=places,
        stratum_calls=pl.col("stratum").replace_strict(sizes, return_dtype=pl.Int64),
        stratum_drawn=pl.col("stratum").replace_strict(given, return_dtype=pl.Int64),
    )
    is_drawn = pl.col("turn").rank("ordinal").over("stratum") <= pl.col("stratum_drawn")
    named = ranked.with_columns(
        part=pl.when(is_drawn)
        .then(pl.lit(SAMPLE))
        .when(pl.col("critical_failure"))
        .then(pl.lit(APART))
    ).filter(pl.col("part").is_not_null())
    weight = pl.when(pl.col("part") == SAMPLE).then(
        pl.col("stratum_calls") / pl.col("stratum_drawn")
    )
    return named.with_columns(weight=weight).sort("place").drop("turn", "place")


def _joined(sizes: dict[str, int], n: int) -> dict[str, str]:
    """Return the name of the stratum that each becomes part of."""
    members = {name: [name] for name in sizes}
    sizes = dict(sizes)
    while len(sizes) > 1 and sum(min(size, LEAST_OF_STRATUM) for size in sizes.values()) > n:
        one, two = sorted(sizes, key=lambda name: (sizes[name], name))[:2]
        together = sorted([*members.pop(one), *members.pop(two)])
        name = " + ".join(together)
        members[name], sizes[name] = together, sizes.pop(one) + sizes.pop(two)
    return {own: name for name, held in members.items() for own in held}
