"""The assertions behind two signals, and the guidance that none of them counts: a row each.

*Predicates on the final state* are named and defined by the population, by domain. One that is
missing, meets a state that is not there, or gives no truth value has failed, with its error; the
others are evaluated all the same. *Claims about the conversation* are the judge's: where it ran, a
claim without a clear answer has not passed. *Guidance* is what the reference asks of the caller's
own side: the agent has no such tool, so it passes where the judge reads that the agent led the
caller to it and the caller's own trace shows that it was done.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jmespath
import jmespath.exceptions
import polars as pl

from inquesto_core.canonical import canonical_bytes, strict_json
from inquesto_core.events.reference_match import SIDE, MatchFlags, match_reference, without_side

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol import Population, SignalsProtocol

__all__ = ["caller_actions", "claim_rows", "filled_path", "guidance_rows", "state_rows"]

_COLUMNS = (
    "call_id",
    "signal",
    "index",
    "name",
    "side",
    "expected",
    "passed",
    "error",
    "evidence",
)
_ARGUMENT = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
#: Longer texts are cut in names, errors and evidence.
_SHOWN = 200


def filled_path(path: str, arguments: Mapping[str, Any]) -> str:
    r"""Return a JMESPath with every ``{argument}`` replaced by its value, as a JSON literal.

    Raises
    ------
    KeyError
        There is no such argument.

    Examples
    --------
    >>> filled_path("lines[?id=={line}] | [0].active", {"line": "L1"})
    'lines[?id==`"L1"`] | [0].active'
    """

    def literal(place: re.Match[str]) -> str:
        text = canonical_bytes(arguments[place[1]]).decode("utf-8")
        return "`" + text.replace("`", "\\u0060") + "`"

    return _ARGUMENT.sub(literal, path)


# Predicates on the final state


def state_rows(due: pl.DataFrame, states: pl.DataFrame, *, population: Population) -> pl.DataFrame:
    """Return a row a call and predicate of its scenario: see `ASSERTION_ROWS`."""
    rows = []
    for scenario in population.scenarios:
        functions = (population.state_functions or {}).get(scenario.family, {})
        for index, row in enumerate((scenario.signals or {}).get("db_state_assertions", ())):
            path, error = _path_of(row, functions, scenario.family)
            rows.append(
                {
                    "scenario_id": scenario.id,
                    "index": index,
                    "name": row["func_name"],
                    "side": row.get("side", "agent"),
                    "expected": row.get("assert_value", True),
                    "path": path,
                    "missing": error,
                }
            )
    text = dict.fromkeys(("scenario_id", "name", "side", "path", "missing"), pl.String)
    asked = pl.DataFrame(
        rows, schema={**text, "index": pl.Int64, "expected": pl.Boolean}, orient="row"
    )
    frame = due.select("call_id", "scenario_id").join(asked, on="scenario_id")
    frame = frame.join(
        states.select("call_id", "after", "user_after"),
        on="call_id",
        how="left",
        maintain_order="left",
    ).with_columns(state=pl.when(pl.col("side") == "user").then("user_after").otherwise("after"))
    distinct = frame.select("path", "state").drop_nulls().unique().sort("path", "state")
    values = [_value(path, state) for path, state in distinct.iter_rows()]
    found = distinct.with_columns(
        value=pl.Series([value for value, _ in values], dtype=pl.Boolean),
        raised=pl.Series([error for _, error in values], dtype=pl.String),
    )
    frame = frame.join(found, on=["path", "state"], how="left", maintain_order="left")
    no_state = pl.when(pl.col("state").is_null()).then(
        pl.format("no final state of the {} side", "side")
    )
    holds = (pl.col("value") == pl.col("expected")).fill_null(value=False)
    return frame.with_columns(
        signal=pl.lit("db_state_assertion"),
        passed=holds,
        error=pl.coalesce("missing", no_state, "raised"),
        evidence=pl.format("is {}, asserted {}", "value", "expected"),
    ).select(_COLUMNS)


def _path_of(
    row: Mapping[str, Any], functions: Mapping[str, Any], domain: str
) -> tuple[str | None, str | None]:
    name = row["func_name"]
    if name not in functions:
        return None, f"{domain} has no predicate {name}"[:_SHOWN]
    try:
        path = filled_path(functions[name]["path"], row.get("arguments", {}))
        jmespath.compile(path)
    except KeyError as exc:
        return None, f"{name} needs the argument {exc.args[0]}"[:_SHOWN]
    except jmespath.exceptions.JMESPathError as exc:
        return None, f"{name} is no JMESPath: {str(exc).splitlines()[0]}"[:_SHOWN]
    return path, None


def _value(path: str, state: str) -> tuple[bool | None, str | None]:
    try:
        value = jmespath.compile(path).search(strict_json(state.encode()))
        shown = canonical_bytes(value).decode()
    except (jmespath.exceptions.JMESPathError, TypeError, ValueError) as exc:
        return None, f"raised {type(exc).__name__}: {exc}"[:_SHOWN]
    if not isinstance(value, bool):
        return None, f"gives {shown}, which is neither true nor false"[:_SHOWN]
    return value, None


# Claims about the conversation


def claim_rows(
    due: pl.DataFrame,
    answers: pl.DataFrame,
    *,
    protocol: SignalsProtocol,
    population: Population,
) -> pl.DataFrame:
    """Return a row a claim of every call that the judge has seen."""
    rows = [
        (scenario.id, index, claim[:_SHOWN], f"{protocol.nl_question}:{index}")
        for scenario in population.scenarios
        for index, claim in enumerate((scenario.signals or {}).get("nl_assertions", ()))
    ]
    asked = pl.DataFrame(
        rows,
        schema={
            "scenario_id": pl.String,
            "index": pl.Int64,
            "name": pl.String,
            "question": pl.String,
        },
        orient="row",
    )
    seen = answers.select("call_id").unique()
    frame = due.select("call_id", "scenario_id").join(asked, on="scenario_id")
    frame = frame.join(seen, on="call_id", how="semi").join(
        answers.select("call_id", "question", "verdict", "reason", has_answer=pl.lit(value=True)),
        on=["call_id", "question"],
        how="left",
        maintain_order="left",
    )
    return frame.with_columns(
        signal=pl.lit("nl_assertion"),
        side=pl.lit("agent"),
        expected=pl.lit(value=True),
        passed=pl.col("verdict").fill_null(value=False),
        error=pl.when(pl.col("has_answer").is_null())
        .then(pl.lit("no answer is recorded"))
        .when(pl.col("verdict").is_null())
        .then(pl.lit("the judge gave no clear answer")),
        evidence=pl.col("reason").str.slice(0, _SHOWN),
    ).select(_COLUMNS)


# Guidance to what the caller's side has to do


def guidance_rows(
    due: pl.DataFrame,
    caller_calls: pl.DataFrame,
    answers: pl.DataFrame,
    *,
    protocol: SignalsProtocol,
    population: Population,
) -> pl.DataFrame:
    """Return a row a reference action of the caller's side; null where no judge read it."""
    rows = [
        (scenario.id, index, canonical_bytes(action).decode())
        for scenario in population.scenarios
        for index, action in caller_actions((scenario.signals or {}).get("reference_answer"))
    ]
    asked = pl.DataFrame(
        rows,
        schema={"scenario_id": pl.String, "index": pl.Int64, "action": pl.String},
        orient="row",
    ).with_columns(question=pl.format("{}:{}", pl.lit(protocol.guidance_question), "index"))
    frame = due.select("call_id", "scenario_id").join(asked, on="scenario_id")
    frame = frame.join(
        answers.select("call_id", "question", "verdict", "reason"),
        on=["call_id", "question"],
        how="left",
        maintain_order="left",
    ).join(_happened(frame, caller_calls, protocol), on=["call_id", "action"], how="left")
    happened = pl.col("happened").fill_null(value=False)
    done = (
        pl.when(happened)
        .then(pl.lit("the caller did it"))
        .otherwise(pl.lit("the caller's trace does not show it"))
    )
    return frame.with_columns(
        signal=pl.lit("guidance"),
        name=pl.col("action").str.slice(0, _SHOWN),
        side=pl.lit("user"),
        expected=pl.lit(value=True),
        passed=pl.col("verdict") & happened,
        error=pl.lit(None, dtype=pl.String),
        evidence=pl.concat_str(
            done, pl.col("reason").str.slice(0, _SHOWN), separator="; ", ignore_nulls=True
        ),
    ).select(_COLUMNS)


def caller_actions(reference: Any) -> list[tuple[int, Any]]:
    """Return what a reference asks of the caller's own side: place in it, and action."""
    if reference is None:
        return []
    _, theirs = without_side(reference, "user")
    actions = [reference] if isinstance(reference, dict) else reference
    own = [{key: value for key, value in each.items() if key != SIDE} for each in actions]
    return [(at, own[at]) for at in theirs]


def _happened(
    frame: pl.DataFrame, caller_calls: pl.DataFrame, protocol: SignalsProtocol
) -> pl.DataFrame:
    """Return for every call and action whether a tool call of the caller is that action."""
    done = caller_calls.filter(pl.col("status").is_in(list(protocol.performed_statuses)))
    pairs = (
        frame.select("call_id", "action")
        .unique()
        .join(done.select("call_id", "name", "arguments"), on="call_id")
    )
    triple = ("action", "name", "arguments")
    distinct = pairs.select(triple).unique().sort(triple)
    flags = MatchFlags(
        relative_tolerance=protocol.relative_tolerance,
        absolute_tolerance=protocol.absolute_tolerance,
    )
    fits = [
        match_reference(
            strict_json(action.encode()),
            {"name": name, "arguments": strict_json((arguments or "{}").encode())},
            flags,
        )[0]
        for action, name, arguments in distinct.iter_rows()
    ]
    found = distinct.with_columns(fits=pl.Series(fits, dtype=pl.Boolean))
    joined = pairs.join(found, on=triple, how="left", nulls_equal=True)
    return joined.group_by("call_id", "action").agg(happened=pl.col("fits").any())
