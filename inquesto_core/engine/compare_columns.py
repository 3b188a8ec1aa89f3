"""Where the columns come from that a comparison is sliced by.

Of the slot, of the population's scenarios, of the calls' own facts, or of a table that the user
brings along (``language``, ``requests``), by call or by scenario.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.errors import IncomparableError, Problem, SchemaError
from inquesto_core.score.tables import SLOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from inquesto_core.protocol import Population

__all__ = ["CallColumns", "add_scenario_columns", "call_columns", "read_columns"]

_OF_SCENARIO = ("family", "style", "required_action", "correction", "identity", "handoff")
_OF_CALL = (
    "platform",
    "agent_name",
    "ended_by",
    "ended_reason",
    "condition_class",
    "timing_source",
)
_DAY = "day"
_CONFIG = "config."
_KEYS = ("call_id", "scenario_id")
#: What a name may be of which the values would be too many to show.
_MOST_VALUES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CallColumns:
    """The columns that are asked for, by where they come from.

    Parameters
    ----------
    of_calls : tuple of str
        Facts of each side's calls.
    of_scenarios : tuple of str
        Facts of the population's scenarios.
    given : polars.DataFrame or None
        The user's table.
    given_by : str or None
        ``call_id`` or ``scenario_id``.
    given_names : tuple of str
        Which columns of it are asked for.
    """

    of_calls: tuple[str, ...] = ()
    of_scenarios: tuple[str, ...] = ()
    given: pl.DataFrame | None = field(default=None, repr=False)
    given_by: str | None = None
    given_names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, names: Sequence[str], people: Population, given: pl.DataFrame | None
    ) -> CallColumns:
        """Return where each column comes from: the slot, the user's table, then all others.

        Raises
        ------
        IncomparableError
            ``column_unknown``.
        """
        by = None if given is None else next(key for key in _KEYS if key in given.columns)
        brought = () if given is None else tuple(set(given.columns) - {by})
        calls, scenarios, own = [], [], []
        for name in dict.fromkeys(names):
            if name in SLOT:
                continue
            if name in brought:
                own.append(name)
                if by == "call_id":
                    calls.append(name)
            elif name in _OF_SCENARIO:
                scenarios.append(name)
            elif name in _OF_CALL or name == _DAY or name.startswith(_CONFIG):
                calls.append(name)
            else:
                raise _no_such_column(name, brought)
        return cls(
            of_calls=tuple(calls),
            of_scenarios=tuple(scenarios),
            given=given,
            given_by=by,
            given_names=tuple(own),
        )


def _no_such_column(name: str, brought: Sequence[str]) -> IncomparableError:
    known = [*SLOT, *_OF_SCENARIO, *_OF_CALL, _DAY, f"{_CONFIG}KEY", *sorted(brought)]
    return IncomparableError(
        Problem(
            code="column_unknown",
            found=f"there is no column {name!r}",
            expected="one of " + ", ".join(known),
            remedy="bring other columns in a CSV with call_id or scenario_id: --columns FILE",
        )
    )


def read_columns(path: Path) -> pl.DataFrame:
    """Return a user's table, every column as text.

    Raises
    ------
    SchemaError
        ``columns_invalid``: it cannot be read, lacks a key column, or has a key twice.
    """
    try:
        if path.suffix == ".parquet":
            table = pl.read_parquet(path)
        else:
            table = pl.read_csv(path, infer_schema=False)
        table = table.select(pl.all().cast(pl.String))
    except (OSError, pl.exceptions.PolarsError) as exc:
        raise _invalid(path, f"cannot be read: {type(exc).__name__}") from exc
    key = next((name for name in _KEYS if name in table.columns), None)
    if key is None:
        raise _invalid(path, "has neither a column call_id nor scenario_id")
    if table.width < 2:
        raise _invalid(path, "has no column beside its key")
    twice = table.filter(pl.col(key).is_duplicated())[key].to_list()
    if twice:
        raise _invalid(path, f"has the {key} {twice[0]!r} more than once")
    return table


def _invalid(path: Path, found: str) -> SchemaError:
    return SchemaError(
        Problem(
            code="columns_invalid",
            file=path.name,
            found=found,
            expected="a CSV or Parquet table, a row a call_id or scenario_id",
        )
    )


def call_columns(calls: pl.DataFrame, needed: CallColumns) -> pl.DataFrame:
    """Return ``call_id`` and the facts of calls that are asked for, of the evidence table."""
    own = needed.given_names if needed.given_by == "call_id" else ()
    facts = []
    for name in needed.of_calls:
        if name in own:
            continue
        if name == _DAY:
            value = pl.col("ended_at").str.slice(0, 10)
        elif name.startswith(_CONFIG):
            value = pl.col("agent_config").str.json_path_match(_json_path(name))
        else:
            value = pl.col(name)
        facts.append(value.cast(pl.Categorical).alias(name))
    told = calls.select("call_id", *facts)
    if own and needed.given is not None:
        brought = needed.given.select(
            "call_id", *(pl.col(name).cast(pl.Categorical) for name in own)
        )
        told = told.join(brought, on="call_id", how="left", maintain_order="left")
    return told


def evidence_columns(needed: CallColumns) -> tuple[str, ...]:
    """Return the columns of the evidence table ``calls`` that these are made of."""
    own = needed.given_names if needed.given_by == "call_id" else ()
    found = ["call_id"]
    for name in needed.of_calls:
        if name in own:
            continue
        is_config = name.startswith(_CONFIG)
        found.append("ended_at" if name == _DAY else "agent_config" if is_config else name)
    return tuple(dict.fromkeys(found))


def _json_path(name: str) -> str:
    key = name.removeprefix(_CONFIG).replace("\\", "\\\\").replace("'", "\\'")
    return f"$['{key}']"


def add_scenario_columns(
    pairs: pl.DataFrame, needed: CallColumns, people: Population
) -> pl.DataFrame:
    """Return `pairs` with the facts of their scenarios that are asked for.

    Raises
    ------
    IncomparableError
        ``column_unknown``: a column has a value of its own for nearly every call.
    """
    rows = pl.DataFrame(people.scenario_rows(), infer_schema_length=None)
    table = rows.select("scenario_id", *(pl.col(n).cast(pl.String) for n in needed.of_scenarios))
    if needed.given_by == "scenario_id" and needed.given is not None:
        brought = needed.given.select("scenario_id", *needed.given_names)
        table = table.join(brought, on="scenario_id", how="left")
    keyed = table.with_columns(pl.col("scenario_id").cast(pairs.schema["scenario_id"]))
    told = pairs.join(keyed, on="scenario_id", how="left", maintain_order="left")
    names = [*needed.of_calls, *needed.of_scenarios, *needed.given_names]
    for name in dict.fromkeys(names):
        values = told[name].n_unique()
        if values > _MOST_VALUES:
            raise IncomparableError(
                Problem(
                    code="column_unknown",
                    found=f"the column {name!r} has {values} values",
                    expected=f"at most {_MOST_VALUES}, each of several calls",
                )
            )
    return told
