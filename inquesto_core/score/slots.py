"""Which of the population's slots each call fills, and which are filled twice or by none.

A slot is a cell of the crossing of scenarios, conditions and groups, by number, and a trial: small
enough that those of ten million calls are held at once. They are all that the standing of a call
takes from calls of other partitions of an archive.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.score.tables import SLOT
from inquesto_core.score.views import is_complete

if TYPE_CHECKING:
    from inquesto_core.protocol import Population
    from inquesto_core.protocol.population import Cell

__all__ = [
    "CALL_SLOTS",
    "SLOT_COLUMNS",
    "call_slots",
    "expected_count",
    "is_in_scenario",
    "is_whole_design",
    "missing_slots",
    "slot_use",
    "slots_taken_twice",
    "with_cell",
    "with_trial",
]

#: A row a call: the slot that it fills, and whether it tells of an agent.
CALL_SLOTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "agent_fingerprint": pl.String,
    "cell": pl.UInt32,  # null = a name that the population does not have
    "trial": pl.Int64,
    "names_agent": pl.Boolean,
    "in_scenario": pl.Boolean,  # one of the population's; no other call is part of a design
}

#: What of the table ``calls`` decides which slot a call fills, and whether it is in order.
SLOT_COLUMNS = ("call_id", "agent_fingerprint", *SLOT, "exclusion_reason", "ended_reason")

_CELL = SLOT[:3]
_OF_AGENT = ("agent_fingerprint", "cell", "trial")


def _crossing(names: tuple[tuple[str, ...], ...]) -> pl.DataFrame:
    table = pl.DataFrame({_CELL[0]: names[0]}, schema={_CELL[0]: pl.String})
    for column, values in zip(_CELL[1:], names[1:], strict=True):
        other = pl.DataFrame({column: values}, schema={column: pl.String})
        table = table.join(other, how="cross")
    return table


def _cells(population: Population) -> pl.DataFrame:
    """Return the cells of the whole crossing, sorted: names, ``cell`` and ``is_expected``."""
    scenarios = tuple(sorted(scenario.id for scenario in population.scenarios))
    names = (scenarios, tuple(sorted(population.conditions)), tuple(sorted(population.groups)))
    return _numbered_cells(names, population.design.cells)


@functools.lru_cache(maxsize=8)
def _numbered_cells(names: tuple[tuple[str, ...], ...], expected: tuple[Cell, ...]) -> pl.DataFrame:
    whole = _crossing(names)
    parts = [_crossing((each.scenarios, each.conditions, each.groups)) for each in expected]
    are_expected = pl.concat([whole.clear(), *parts]).unique()
    are_expected = are_expected.with_columns(is_expected=pl.lit(value=True))
    return whole.join(are_expected, on=list(_CELL), how="left", maintain_order="left").with_columns(
        pl.col("is_expected").fill_null(value=False),
        cell=pl.int_range(pl.len(), dtype=pl.UInt32),
    )


def expected_count(population: Population) -> int:
    """Return how many slots a complete run of one agent fills."""
    return int(_cells(population)["is_expected"].sum()) * population.design.trials


def with_trial(calls: pl.DataFrame, *, population: Population) -> pl.DataFrame:
    """Return `calls` with trial 0 where none is named and the design has only that one."""
    if population.design.trials > 1:
        return calls
    return calls.with_columns(pl.col("trial").fill_null(0))


def with_cell(calls: pl.DataFrame, *, population: Population) -> pl.DataFrame:
    """Return `calls` with ``cell``: null where one of the names is not the population's."""
    cells = _cells(population).select(*_CELL, "cell")
    return calls.join(cells, on=list(_CELL), how="left", maintain_order="left")


def call_slots(calls: pl.DataFrame, *, population: Population) -> pl.DataFrame:
    """Return the slot of every call: the table `CALL_SLOTS`, in the order of `calls`.

    A call of which only the name is known tells of no further agent.
    """
    placed = with_cell(with_trial(calls, population=population), population=population)
    nothing_known = pl.all_horizontal(pl.col(name).is_null() for name in _CELL)
    nobody = pl.col("agent_fingerprint").is_null() & nothing_known
    return placed.select(
        *_OF_AGENT, names_agent=~nobody, in_scenario=is_in_scenario(population=population)
    )


def is_in_scenario(*, population: Population) -> pl.Expr:
    """Return whether a call names one of the population's scenarios."""
    names = pl.Series([scenario.id for scenario in population.scenarios], dtype=pl.String)
    return pl.col("scenario_id").is_in(names.implode()).fill_null(value=False)


def slots_taken_twice(slots: pl.DataFrame) -> pl.DataFrame:
    """Return the slots that several rows fill, ``agent_fingerprint, cell, trial``, once each.

    Parameters
    ----------
    slots : polars.DataFrame
        `CALL_SLOTS` of the calls that are in order but for that.
    """
    return slots.group_by(_OF_AGENT).len().filter(pl.col("len") > 1).select(_OF_AGENT)


def missing_slots(slots: pl.DataFrame, *, population: Population) -> pl.DataFrame:
    """Return the expected slots that no call fills, not even an excluded one, sorted.

    Parameters
    ----------
    slots : polars.DataFrame
        `CALL_SLOTS` of all calls.

    Returns
    -------
    polars.DataFrame
        `SLOT` and ``agent_fingerprint``: every agent with a call in a scenario is expected to fill
        every slot. Where no call tells of an agent, there is one set of slots of an unknown one.
    """
    told = slots.filter("names_agent")
    agents = told.filter("in_scenario")["agent_fingerprint"].unique().sort().to_list()
    if told.is_empty():
        agents = [None]
    cells = _cells(population)
    expected = cells.filter("is_expected")
    trials = pl.int_range(population.design.trials, dtype=pl.Int64, eager=True).alias("trial")
    found = []
    for agent in agents:
        ours = slots.filter(pl.col("agent_fingerprint").eq_missing(pl.lit(agent, dtype=pl.String)))
        held = ours.select("cell", "trial").unique()
        # Nearly always nothing is missing, and the whole crossing with the trials is not laid out.
        if _expected_of(held, expected, population).height == expected.height * trials.len():
            continue
        missing = (
            expected.join(trials.to_frame(), how="cross")
            .join(held, on=["cell", "trial"], how="anti")
            .with_columns(agent_fingerprint=pl.lit(agent, dtype=pl.String))
        )
        found.append(missing.select(*SLOT, "agent_fingerprint"))
    columns = {**dict.fromkeys(SLOT, pl.String), "trial": pl.Int64, "agent_fingerprint": pl.String}
    rows = pl.concat([pl.DataFrame(schema=columns), *found])
    return rows.sort("agent_fingerprint", *SLOT, nulls_last=True)


def _expected_of(
    slots: pl.DataFrame, expected: pl.DataFrame, population: Population
) -> pl.DataFrame:
    """Return those of the slots that the design has."""
    within = pl.col("trial").is_between(0, population.design.trials - 1)
    return slots.filter(within).join(expected, on="cell", how="semi")


def slot_use(decisions: pl.DataFrame, *, population: Population) -> pl.DataFrame:
    """Return ``cell, trial, held, complete``: how many calls, and complete ones, fill each slot.

    Parameters
    ----------
    decisions : decision table of one agent
        Rows without a call hold nothing.
    """
    held = decisions.filter(pl.col("call_id").is_not_null())
    return (
        with_cell(held, population=population)
        .group_by("cell", "trial")
        .agg(held=pl.len().cast(pl.Int64), complete=is_complete().sum().cast(pl.Int64))
    )


def is_whole_design(use: pl.DataFrame, *, population: Population) -> bool:
    """Return whether each slot has a call, and no complete call is one too many or unexpected.

    Parameters
    ----------
    use : `slot_use` of all calls of an agent
    """
    expected = _cells(population).filter("is_expected")
    ours = _expected_of(use, expected, population)
    is_held = ours.height == expected.height * population.design.trials
    complete = int(use["complete"].sum())
    return is_held and complete == int(ours["complete"].sum()) == int((ours["complete"] > 0).sum())
