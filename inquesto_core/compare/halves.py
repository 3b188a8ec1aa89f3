"""Which half a call belongs to: the one that rubrics are worked on with, or the one held out.

Scenarios of one kind (who calls, whether a detail is corrected, whether it is a hand-off) go to
both halves in turn, in the order of their keyed hashes: so every question is asked in either half,
all calls of a scenario are in one, and nobody chooses. The split of a population is the same in
every run, sheet and version.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from inquesto_core.protocol.population import Population, Scenario

__all__ = ["DEVELOPMENT", "HALVES", "HELD_OUT", "SPLIT_NAME", "half_of", "with_half"]

DEVELOPMENT = "development"
HELD_OUT = "held-out"
HALVES = (DEVELOPMENT, HELD_OUT)

#: Key of the split. Another key would be another split: it never changes.
SPLIT_NAME = "inquesto-core held-out split 1"


def _keyed(name: str) -> bytes:
    return hmac.new(SPLIT_NAME.encode(), name.encode(), hashlib.sha256).digest()


def half_of(name: str) -> str:
    """Return the half of what belongs to no known scenario, by its name alone: a keyed coin.

    >>> half_of("call 1"), half_of("call 2")
    ('development', 'held-out')
    """
    return HALVES[_keyed(name)[0] % 2]


def _scenario_halves(population: Population) -> dict[str, str]:
    def kind(scenario: Scenario) -> tuple[str, bool, bool]:
        return scenario.identity or "", scenario.correction, scenario.handoff

    ordered = sorted(population.scenarios, key=lambda each: (kind(each), _keyed(each.id)))
    return {scenario.id: HALVES[at % 2] for at, scenario in enumerate(ordered)}


def with_half(calls: pl.DataFrame, population: Population) -> pl.DataFrame:
    """Return `calls` with the column ``half``.

    Parameters
    ----------
    calls : polars.DataFrame
        With ``call_id`` and ``scenario_id``. A call of a scenario that the population lacks goes
        by the scenario's name, one of no scenario by its own.
    """
    known = _scenario_halves(population)
    unit = pl.coalesce("scenario_id", "call_id")
    names = calls.select(unit=unit)["unit"].drop_nulls().unique().sort()
    halves = pl.DataFrame(
        {"unit": names, "half": [known.get(name) or half_of(name) for name in names]},
        schema={"unit": pl.String, "half": pl.String},
    )
    return (
        calls.with_columns(unit=unit)
        .join(halves, on="unit", how="left", maintain_order="left")
        .drop("unit")
    )
