"""Where the columns come from that a comparison is sliced by.

Of the slot, of the population's scenarios, of the calls' own facts, or of a table that the user
brings along (``language``, ``requests``), by call or by scenario.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.canonical import strict_json
from inquesto_core.engine.keyed_rows import read_keyed_rows
from inquesto_core.errors import IncomparableError, Problem, SchemaError
from inquesto_core.score.tables import SLOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from inquesto_core.protocol import Population

__all__ = [
    "CallColumns",
    "add_scenario_columns",
    "call_columns",
    "evidence_columns",
    "join_notes",
    "read_columns",
    "refuse_many_values",
    "refuse_unknown_keys",
]

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
#: Keys of configurations that an error names.
_MOST_KEYS = 20


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


def _unreadable(path: Path, exc: Exception) -> SchemaError:
    """Say what keeps a table from being read, with the line where a second reading finds it."""
    if isinstance(exc, OSError) and exc.strerror:
        return _invalid(path, f"cannot be read: {exc.strerror}")
    if path.suffix == ".parquet":
        return _invalid(path, "is no whole Parquet file")
    try:
        read_keyed_rows(path, required=())
    except SchemaError as told:
        return SchemaError(replace(told.problem, code="columns_invalid"))
    return _invalid(path, "is no CSV of one form")


def read_columns(path: Path) -> pl.DataFrame:
    """Return a user's table, every column as text.

    Raises
    ------
    SchemaError
        ``columns_invalid``: it cannot be read, lacks a key column, has a key or a column twice, or
        a column that is called as one of ours.
    """
    try:
        if path.suffix == ".parquet":
            table = pl.read_parquet(path)
        else:
            _refuse_twice(path)
            table = pl.read_csv(path, infer_schema=False)
        table = table.select(pl.all().cast(pl.String))
    except (OSError, csv.Error, pl.exceptions.PolarsError) as exc:
        raise _unreadable(path, exc) from exc
    key = next((name for name in _KEYS if name in table.columns), None)
    if key is None:
        raise _invalid(path, "has neither a column call_id nor scenario_id")
    if table.width < 2:
        raise _invalid(path, "has no column beside its key")
    ours = [name for name in table.columns if _is_ours(name) and name not in _KEYS]
    if ours:
        remedy = f"rename {ours[0]}, or leave it out: --by {ours[0]} knows it without a table"
        raise _invalid(path, f"has a column {ours[0]!r}, which every run has", remedy)
    twice = table.filter(pl.col(key).is_duplicated())[key].to_list()
    if twice:
        raise _invalid(path, f"has the {key} {twice[0]!r} more than once")
    return table


def _refuse_twice(path: Path) -> None:
    """Refuse a header that names a column twice: which of them is meant is not said."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        names = next(csv.reader(file), [])
    for name in names:
        if names.count(name) > 1:
            raise _invalid(path, f"has the column {name!r} {names.count(name)} times")


def _is_ours(name: str) -> bool:
    known = (*SLOT, *_OF_SCENARIO, *_OF_CALL, _DAY)
    return name in known or name.startswith(_CONFIG)


def _invalid(path: Path, found: str, remedy: str = "") -> SchemaError:
    return SchemaError(
        Problem(
            code="columns_invalid",
            file=path.name,
            found=found,
            expected="a CSV or Parquet table, a row a call_id or scenario_id",
            remedy=remedy,
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
    """Return `pairs` with the facts of their scenarios that are asked for."""
    rows = pl.DataFrame(people.scenario_rows(), infer_schema_length=None)
    table = rows.select("scenario_id", *(pl.col(n).cast(pl.String) for n in needed.of_scenarios))
    if needed.given_by == "scenario_id" and needed.given is not None:
        brought = needed.given.select("scenario_id", *needed.given_names)
        table = table.join(brought, on="scenario_id", how="left")
    keyed = table.with_columns(pl.col("scenario_id").cast(pairs.schema["scenario_id"]))
    return pairs.join(keyed, on="scenario_id", how="left", maintain_order="left")


def refuse_many_values(pairs: pl.DataFrame, needed: CallColumns) -> None:
    """Refuse a column that tells calls apart instead of putting them together.

    Raises
    ------
    IncomparableError
        ``column_unknown``: it has a value of its own for nearly every call.
    """
    names = [*needed.of_calls, *needed.of_scenarios, *needed.given_names]
    for name in dict.fromkeys(names):
        values = pairs[name].n_unique()
        if values > _MOST_VALUES:
            raise IncomparableError(
                Problem(
                    code="column_unknown",
                    found=f"the column {name!r} has {values} values",
                    expected=f"at most {_MOST_VALUES}, each of several calls",
                )
            )


def join_notes(pairs: pl.DataFrame, needed: CallColumns) -> list[str]:
    """Return of which pairs a column of the user's table, or of a configuration, says nothing.

    Parameters
    ----------
    pairs : polars.DataFrame
        With the columns of calls of both sides, ``_a`` and ``_b``, and those by scenario.

    Raises
    ------
    SchemaError
        ``columns_invalid``: a column of the table says nothing of any pair.
    """
    notes = []
    for name in needed.given_names:
        known = _known_of(pairs, name, by_call=needed.given_by == "call_id")
        if not any(known):
            key = needed.given_by
            raise SchemaError(
                Problem(
                    code="columns_invalid",
                    found=f"the column {name!r} says nothing of any paired call: no {key} of the "
                    f"table with a value is among those of the {pairs.height} pairs",
                    expected=f"each {key} as the run has it",
                    remedy=f"compare the {key} in the table with those in RUN/calls.parquet",
                )
            )
        notes += _missing_notes(name, known, pairs.height)
    for name in needed.of_calls:
        if name.startswith(_CONFIG):
            notes += _missing_notes(name, _known_of(pairs, name, by_call=True), pairs.height)
    return notes


def _known_of(pairs: pl.DataFrame, name: str, *, by_call: bool) -> tuple[int, ...]:
    """Return of how many pairs a column has a value: under A and under B, or of the scenario."""
    columns = (f"{name}_a", f"{name}_b") if by_call else (name,)
    return tuple(pairs.height - pairs[column].null_count() for column in columns)


def _missing_notes(name: str, known: tuple[int, ...], n: int) -> list[str]:
    missing = [n - each for each in known]
    if not any(missing):
        return []
    if len(missing) == 1:
        return [f"the column {name} says nothing of {missing[0]} of {n} pairs"]
    a, b = missing
    return [f"the column {name} says nothing of {a} of {n} paired calls of A, {b} of B"]


def refuse_unknown_keys(
    pairs: pl.DataFrame, needed: CallColumns, configs: Iterable[str | None]
) -> None:
    """Refuse a key that the configuration of no paired call has.

    Parameters
    ----------
    pairs : polars.DataFrame
        With the columns of calls of both sides.
    configs : iterable of str or None
        Configurations of the runs' calls, JSON; read where a key is not found.

    Raises
    ------
    IncomparableError
        ``column_unknown``.
    """
    for name in needed.of_calls:
        if not name.startswith(_CONFIG) or any(_known_of(pairs, name, by_call=True)):
            continue
        held: Counter[str] = Counter()
        for config in configs:
            value = None if config is None else strict_json(config.encode("utf-8"))
            held.update(value if isinstance(value, dict) else ())
        known = ", ".join(f"{_CONFIG}{key}" for key in sorted(held)[:_MOST_KEYS])
        raise IncomparableError(
            Problem(
                code="column_unknown",
                found=f"the configuration of no paired call has a value {name!r}",
                expected=f"one of {known}" if known else "agents with a configuration",
            )
        )
