"""Whether a call did what its scenario's predicates say: conditions on trace and state, as data.

========================  =======================================================================
``tool_called``           ``tool`` was performed
``tool_not_called``       ``tool`` was not performed
``tool_count``            ``tool`` was performed at least ``min`` and at most ``max`` times
``tool_order``            before every performed ``after``, ``before`` had succeeded
``tool_arguments``        the arguments of every performed ``tool`` (``match``: ``some`` = of one)
                          are valid under the JSON Schema ``schema``, and there is one
``state_equals``          the JMESPath ``path`` on the state after the call gives ``equals``
``state_unchanged``       the state after the call is the state before it
========================  =======================================================================

Calls that were cancelled, failed or never answered did nothing, so that they satisfy no
``tool_called`` and break no ``tool_not_called``. Without the trace or the state that a predicate
reads its value is null. Each distinct document is evaluated once, however many calls have it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jmespath
import jmespath.exceptions
import polars as pl

from inquesto_core.canonical import canonical_bytes
from inquesto_core.errors import Problem, ProtocolError, SchemaError
from inquesto_core.events.trace import is_performed, with_success
from inquesto_core.schema import closed_validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from inquesto_core.protocol import Population, Protocol

    Judge = Callable[..., tuple[bool | None, str]]

__all__ = ["KINDS", "PREDICATES", "check_predicates", "predicates_hold", "scenario_predicates"]

#: One row a call and predicate of its scenario.
PREDICATES = {
    "call_id": pl.String,
    "index": pl.Int64,  # place in the scenario's list
    "kind": pl.String,
    "value": pl.Boolean,  # null = undetermined
    "evidence": pl.String,
}

#: Longer JSON is cut in the evidence.
SHOWN_CHARACTERS = 120

_NO_TRACE = pl.lit("no trace")
_NO_STATE = pl.lit("no state")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    protocol: Protocol
    performed: pl.DataFrame  # tool_calls that were performed
    states: pl.DataFrame


def scenario_predicates(
    calls: pl.DataFrame,
    tool_calls: pl.DataFrame,
    states: pl.DataFrame,
    *,
    protocol: Protocol,
    population: Population,
) -> pl.DataFrame:
    """Return the value of every predicate of every call's scenario.

    Parameters
    ----------
    calls, tool_calls, states : evidence tables of those names

    Returns
    -------
    polars.DataFrame
        Columns `PREDICATES`, sorted by call and index; no row for a call without predicates.

    Raises
    ------
    ProtocolError
        See `check_predicates`.
    """
    check_predicates(population)
    predicates: dict[str, Mapping[str, Any]] = {}
    rows: list[tuple[str, int, str]] = []
    for scenario in population.scenarios:
        for index, predicate in enumerate(scenario.predicates):
            key = canonical_bytes(dict(predicate)).decode("utf-8")
            predicates[key] = predicate
            rows.append((scenario.id, index, key))
    asked = pl.DataFrame(
        rows, schema={"scenario_id": pl.String, "index": pl.Int64, "key": pl.String}, orient="row"
    )
    due = calls.select(
        "call_id", "scenario_id", has_trace=pl.col("has_trace").fill_null(value=False)
    ).join(asked, on="scenario_id")
    performed = tool_calls.filter(is_performed(protocol))
    tables = _Tables(protocol=protocol, performed=performed, states=states)
    nothing = pl.DataFrame(schema={**PREDICATES, "call_id": calls.schema["call_id"]})
    values = [nothing]
    for (key,), part in due.partition_by("key", as_dict=True).items():
        predicate = predicates[str(key)]
        kind = predicate["kind"]
        found = _KINDS[kind](part, predicate, tables)
        values.append(found.with_columns(kind=pl.lit(kind)).select(PREDICATES.keys()))
    return pl.concat(values).sort("call_id", "index")


def predicates_hold(predicates: pl.DataFrame) -> pl.DataFrame:
    """Return ``call_id`` and ``hold`` for calls with predicates: all of them are true (Kleene)."""
    value = pl.col("value")
    return predicates.group_by("call_id").agg(
        hold=pl.when((~value).any())
        .then(statement=False)
        .when(value.is_null().any())
        .then(None)
        .otherwise(statement=True)
    )


def check_predicates(population: Population) -> None:
    """Raise at the first predicate of the population that cannot be evaluated.

    Kinds and keys are held by the schema of populations; here is what it cannot say.

    Raises
    ------
    ProtocolError
        Code ``predicate_invalid``: ``min`` is above ``max``, a path is no JMESPath, a schema is no
        JSON Schema or has a ``$ref``.
    """
    for at, scenario in enumerate(population.scenarios):
        for index, predicate in enumerate(scenario.predicates):
            for found, expected in _contradictions(predicate):
                raise ProtocolError(
                    Problem(
                        code="predicate_invalid",
                        pointer=f"/scenarios/{at}/predicates/{index}",
                        found=found,
                        expected=expected,
                    )
                )


def _contradictions(predicate: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    low, high = predicate.get("min"), predicate.get("max")
    if low is not None and high is not None and low > high:
        yield f"asks for {low} to {high}", "min <= max"
    if "schema" in predicate:
        yield from _schema_contradictions(predicate["schema"])
    if "path" in predicate:
        try:
            jmespath.compile(predicate["path"])
        except jmespath.exceptions.JMESPathError as exc:
            yield f"has no JMESPath: {str(exc).splitlines()[0]}", "a JMESPath expression"


def _schema_contradictions(schema: Any) -> Iterator[tuple[str, str]]:
    if any(reference in node for node in _nodes(schema) for reference in ("$ref", "$dynamicRef")):
        yield "has a schema with a reference", "a schema without $ref"
        return
    try:
        closed_validator(schema)
    except SchemaError as exc:
        yield f"has a schema that {exc.problem.found}", exc.problem.expected


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, dict):
        yield schema
    if isinstance(schema, dict | list):
        for inner in schema.values() if isinstance(schema, dict) else schema:
            yield from _nodes(inner)


# Tools


def _places(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return for every call how often, first where, and where the rows are."""
    return rows.group_by("call_id").agg(
        pl.len().cast(pl.Int64).alias(f"{name}_n"),
        pl.col("position").min().alias(f"{name}_first"),
        pl.format("tool_calls/{}", pl.col("position").sort()).str.join(", ").alias(f"{name}_at"),
    )


def _of_tool(part: pl.DataFrame, rows: pl.DataFrame, tool: str, name: str) -> pl.DataFrame:
    places = _places(rows.filter(pl.col("name") == tool), name)
    joined = part.join(places, on="call_id", how="left", maintain_order="left")
    return joined.with_columns(pl.col(f"{name}_n").fill_null(0))


def _told(frame: pl.DataFrame, value: pl.Expr, evidence: pl.Expr) -> pl.DataFrame:
    has = pl.col("has_trace")
    return frame.with_columns(
        value=pl.when(has).then(value),
        evidence=pl.when(has).then(evidence).otherwise(_NO_TRACE),
    )


def _performed_text(tool: str) -> pl.Expr:
    times = pl.format("{} performed {} times", pl.lit(tool), "tool_n")
    return (
        pl.when(pl.col("tool_n") > 0).then(pl.format("{}: {}", times, "tool_at")).otherwise(times)
    )


def _tool_count(part: pl.DataFrame, predicate: Mapping[str, Any], tables: _Tables) -> pl.DataFrame:
    low, high = predicate.get("min"), predicate.get("max")
    if predicate["kind"] == "tool_called":
        low = 1
    elif predicate["kind"] == "tool_not_called":
        high = 0
    frame = _of_tool(part, tables.performed, predicate["tool"], "tool")
    count, value = pl.col("tool_n"), pl.lit(value=True)
    if low is not None:
        value &= count >= low
    if high is not None:
        value &= count <= high
    return _told(frame, value, _performed_text(predicate["tool"]))


def _tool_order(part: pl.DataFrame, predicate: Mapping[str, Any], tables: _Tables) -> pl.DataFrame:
    """Decide at the first `after`: the one with the least before it. None at all is in order."""
    earlier = tables.performed.filter(pl.col("name") == predicate["before"])
    succeeded = with_success(earlier, protocol=tables.protocol).filter("succeeded")
    frame = _of_tool(part, succeeded, predicate["before"], "before")
    frame = _of_tool(frame, tables.performed, predicate["after"], "after")
    in_order = (pl.col("before_first") < pl.col("after_first")).fill_null(value=False)
    never = pl.lit("never")
    text = pl.format(
        "{} succeeded: {}; {} performed: {}",
        pl.lit(predicate["before"]),
        pl.col("before_at").fill_null(never),
        pl.lit(predicate["after"]),
        pl.col("after_at").fill_null(never),
    )
    return _told(frame, pl.col("after_first").is_null() | in_order, text)


def _tool_arguments(
    part: pl.DataFrame, predicate: Mapping[str, Any], tables: _Tables
) -> pl.DataFrame:
    validator = closed_validator(predicate["schema"])

    def judge(arguments: Any) -> tuple[bool | None, str]:
        return validator.is_valid(arguments), ""

    rows = tables.performed.filter(pl.col("name") == predicate["tool"])
    rows = rows.join(part.select("call_id").unique(), on="call_id", how="semi")
    rows = _evaluated(rows, ("arguments",), judge)
    valid = pl.col("value")
    decisive = valid if predicate.get("match", "every") == "some" else ~valid
    summary = rows.group_by("call_id").agg(
        settled=decisive.any(),
        unclear=valid.is_null().any(),
        wrong=pl.format("tool_calls/{}", pl.col("position").filter(~valid).sort()).str.join(", "),
    )
    frame = _of_tool(part, tables.performed, predicate["tool"], "tool")
    frame = frame.join(summary, on="call_id", how="left", maintain_order="left")
    some = predicate.get("match", "every") == "some"
    value = (
        pl.when(pl.col("tool_n") == 0)
        .then(statement=False)
        .when("settled")
        .then(pl.lit(value=some))
        .when("unclear")
        .then(None)
        .otherwise(pl.lit(value=not some))
    )
    has_wrong = pl.col("wrong").str.len_chars() > 0
    performed = _performed_text(predicate["tool"])
    text = pl.when(has_wrong).then(pl.format("{}; other arguments: {}", performed, "wrong"))
    return _told(frame, value, text.otherwise(performed))


# States


def _evaluated(frame: pl.DataFrame, columns: tuple[str, ...], judge: Judge) -> pl.DataFrame:
    """Return `frame` with ``value`` and ``evidence`` of the documents in `columns`.

    Each distinct combination is judged once; where a document is null, both are null.
    """
    distinct = frame.select(columns).drop_nulls().unique().sort(columns)
    values = [judge(*(json.loads(text) for text in row)) for row in distinct.iter_rows()]
    found = distinct.with_columns(
        value=pl.Series([value for value, _ in values], dtype=pl.Boolean),
        evidence=pl.Series([text for _, text in values], dtype=pl.String),
    )
    return frame.join(found, on=columns, how="left", maintain_order="left")


def _of_state(
    part: pl.DataFrame, tables: _Tables, columns: tuple[str, ...], judge: Judge
) -> pl.DataFrame:
    states = tables.states.join(part.select("call_id").unique(), on="call_id", how="semi")
    found = _evaluated(states, columns, judge).select("call_id", "value", "evidence")
    frame = part.join(found, on="call_id", how="left", maintain_order="left")
    return frame.with_columns(pl.col("evidence").fill_null(_NO_STATE))


def _state_equals(
    part: pl.DataFrame, predicate: Mapping[str, Any], tables: _Tables
) -> pl.DataFrame:
    path, equals = predicate["path"], predicate["equals"]
    expression = jmespath.compile(path)

    def judge(after: Any) -> tuple[bool | None, str]:
        try:
            value = expression.search(after)
            shown = _shown(value)
        except (jmespath.exceptions.JMESPathError, TypeError, ValueError) as exc:
            # A function met a value that it is not defined for: the state does not tell.
            return None, f"{path} cannot be read: {str(exc)[:SHOWN_CHARACTERS]}"
        return _json_equal(value, equals), f"{path} is {shown}, expected {_shown(equals)}"

    return _of_state(part, tables, ("after",), judge)


def _state_unchanged(part: pl.DataFrame, _: Mapping[str, Any], tables: _Tables) -> pl.DataFrame:
    def judge(before: Any, after: Any) -> tuple[bool | None, str]:
        same = _json_equal(before, after)
        return same, "the state is unchanged" if same else "the state has changed"

    return _of_state(part, tables, ("before", "after"), judge)


def _shown(value: Any) -> str:
    text = canonical_bytes(value).decode("utf-8")
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _json_equal(left: Any, right: Any) -> bool:
    """Return whether two JSON values are the same: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            _json_equal(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_json_equal, left, right))
    return bool(left == right)


#: The kinds of the schema of populations, and what evaluates each.
_KINDS: Mapping[str, Callable[[pl.DataFrame, Mapping[str, Any], _Tables], pl.DataFrame]] = {
    "tool_called": _tool_count,
    "tool_not_called": _tool_count,
    "tool_count": _tool_count,
    "tool_order": _tool_order,
    "tool_arguments": _tool_arguments,
    "state_equals": _state_equals,
    "state_unchanged": _state_unchanged,
}
KINDS = tuple(_KINDS)
