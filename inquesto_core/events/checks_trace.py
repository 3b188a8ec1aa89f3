"""Checks that the tool trace decides: verification, ordered account changes, transfers.

An account change is one that *succeeded*: it was performed, and its result does not deny it. What
the agent only said it did is none, and a transfer is a tool call and never a promise.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import jmespath
import jmespath.exceptions
import polars as pl

from inquesto_core.canonical import canonical_bytes, strict_json
from inquesto_core.events.predicates.outcome import cut, found_at, shown
from inquesto_core.events.tool_result import decoded, with_success

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inquesto_core.protocol import ChecksProtocol, Population

__all__ = [
    "change_verdicts",
    "first_success",
    "sound_alike_only",
    "transferred",
    "value_fits",
    "verified_verdict",
    "with_outcome",
]


def with_outcome(
    tool_calls: pl.DataFrame, protocol: ChecksProtocol, population: Population
) -> pl.DataFrame:
    """Return the calls that were performed, with ``succeeded`` (`tool_result.with_success`)."""
    statuses = list(protocol.performed_statuses)
    performed = tool_calls.filter(pl.col("status").is_in(statuses))
    return with_success(performed, statuses=statuses, population=population)


def first_success(outcomes: pl.DataFrame, tools: Iterable[str]) -> pl.DataFrame:
    """Return for every call its first success of these tools: position and times."""
    ours = outcomes.filter(pl.col("name").is_in(list(tools)) & pl.col("succeeded"))
    return (
        ours.sort("call_id", "position")
        .group_by("call_id", maintain_order=True)
        .agg(
            at=pl.col("position").first(),
            from_ms=pl.col("start_ms").first(),
            to_ms=pl.coalesce("end_ms", "start_ms").first(),
        )
    )


def verified_verdict(
    part: pl.DataFrame, check: Mapping[str, Any], outcomes: pl.DataFrame, population: Population
) -> pl.DataFrame:
    """Return whether a verification succeeded before any of the guarded tools was performed."""
    guarded = check.get("before", population.tools.change)
    verified = first_success(outcomes, population.tools.verify).select("call_id", verified="at")
    used = (
        outcomes.filter(pl.col("name").is_in(list(guarded)))
        .group_by("call_id")
        .agg(used=pl.col("position").min())
    )
    frame = part.join(verified, on="call_id", how="left", maintain_order="left").join(
        used, on="call_id", how="left", maintain_order="left"
    )
    needed = pl.lit(value=check.get("required", True)) | pl.col("used").is_not_null()
    never = pl.lit("never")

    def place(name: str) -> pl.Expr:
        return pl.format("at tool_calls/{}", name).fill_null(never)

    return _of_trace(
        frame,
        pl.when(pl.col("verified").is_null())
        .then(~needed)
        .otherwise(pl.col("used").is_null() | (pl.col("verified") < pl.col("used"))),
        pl.concat_str(
            pl.lit("verified "), place("verified"), pl.lit(", guarded tool "), place("used")
        ),
    )


def transferred(
    part: pl.DataFrame, check: Mapping[str, Any], outcomes: pl.DataFrame, population: Population
) -> pl.DataFrame:
    """Return whether the call was transferred by a tool call, or was not, as expected."""
    done = (
        outcomes.filter(pl.col("name").is_in(list(population.tools.transfer)))
        .group_by("call_id")
        .agg(done=pl.col("position").min())
    )
    frame = part.join(done, on="call_id", how="left", maintain_order="left")
    return _of_trace(
        frame,
        pl.col("done").is_not_null() == pl.lit(value=check["expected"]),
        pl.format("transferred by tool_calls/{}", "done").fill_null("no transfer by a tool"),
    )


def change_verdicts(
    due: pl.DataFrame,
    outcomes: pl.DataFrame,
    population: Population,
    *,
    is_generous: bool = False,
) -> pl.DataFrame:
    """Return whether every required change was made after the one before, and whether no other.

    The first call that fits is taken, and the next change looks behind it: where some choice of
    calls is in order, this one is.

    Parameters
    ----------
    due : polars.DataFrame
        Rows of kinds ``change`` and ``no_other_change``: ``call_id, index, kind, asked,
        has_trace``.
    is_generous : bool
        A result that is not recorded is taken to have the values that are asked of it.

    Returns
    -------
    polars.DataFrame
        ``call_id, index, code, evidence``.
    """
    changes = due.filter(pl.col("kind") == "change").with_columns(
        step=pl.col("index").rank("dense").over("call_id")
    )
    tried = outcomes.filter(pl.col("name").is_in(list(population.tools.change)))
    done = tried.filter("succeeded")
    compared = _compared(changes, tried, is_generous=is_generous)
    fitting = compared.filter(pl.col("misfits") == 0)
    at = due.select("call_id").unique().with_columns(behind=pl.lit(-1, dtype=pl.Int64))
    found = []
    for step in sorted(changes["step"].unique()):
        now = changes.filter(pl.col("step") == step).join(at, on="call_id", how="left")
        taken = (
            now.select("call_id", "index", "behind")
            .join(fitting, on=["call_id", "index"])
            .filter(pl.col("position") > pl.col("behind"))
            .group_by("call_id", "index")
            .agg(pl.col("position").min())
        )
        now = now.join(taken, on=["call_id", "index"], how="left")
        found.append(now.select("call_id", "index", "has_trace", "position", "behind"))
        at = at.join(taken.select("call_id", "position"), on="call_id", how="left").select(
            "call_id", behind=pl.coalesce("position", "behind")
        )
    nothing = due.clear().select("call_id", "index", "has_trace", position="index", behind="index")
    made = pl.concat([nothing, *found])
    made = made.join(
        _nearest(compared, made), on=["call_id", "index"], how="left", maintain_order="left"
    )
    nearest = pl.col("nearest").fill_null("")
    required = _of_trace(
        made,
        pl.col("position").is_not_null(),
        pl.when(pl.col("position").is_not_null())
        .then(pl.format("tool_calls/{}", "position"))
        .when(pl.col("behind") >= 0)
        .then(pl.format("no such change after tool_calls/{}{}", "behind", nearest))
        .otherwise(pl.concat_str(pl.lit("no such change succeeded"), nearest)),
    )
    return pl.concat([required, _no_other(due, done, made)])


def _no_other(due: pl.DataFrame, done: pl.DataFrame, made: pl.DataFrame) -> pl.DataFrame:
    asked = due.filter(pl.col("kind") == "no_other_change")
    taken = made.drop_nulls("position").select("call_id", "position")
    others = (
        done.join(taken, on=["call_id", "position"], how="anti")
        .sort("call_id", "position")
        .group_by("call_id")
        .agg(others=pl.format("{} (tool_calls/{})", "name", "position").str.join(", "))
    )
    frame = asked.join(others, on="call_id", how="left", maintain_order="left")
    return _of_trace(
        frame,
        pl.col("others").is_null(),
        pl.col("others").fill_null("no other change"),
    )


def _nearest(compared: pl.DataFrame, made: pl.DataFrame) -> pl.DataFrame:
    """Return what the nearest call has otherwise: ``call_id, index, nearest``.

    Of the tool's calls behind the change before it, that with the fewest other values; the first
    of several.
    """
    return (
        compared.filter(pl.col("misfits") > 0)
        .join(made.select("call_id", "index", "behind"), on=["call_id", "index"])
        .filter(pl.col("position") > pl.col("behind"))
        .sort("call_id", "index", "misfits", "position")
        .group_by("call_id", "index", maintain_order=True)
        .agg(nearest=pl.format("; in tool_calls/{} {}", "position", "misfit").first())
    )


def _compared(changes: pl.DataFrame, tried: pl.DataFrame, *, is_generous: bool) -> pl.DataFrame:
    """Return each performed call beside the required changes of its tool.

    Returns
    -------
    polars.DataFrame
        ``call_id, index, position, misfits, misfit``: how much it has otherwise, and what first.
    """
    tools = changes.select("asked").unique().sort("asked")
    names = [strict_json(text.encode())["tool"] for text in tools["asked"]]
    named = changes.join(
        tools.with_columns(name=pl.Series(names, dtype=pl.String)), on="asked", how="left"
    )
    columns = ("call_id", "name", "position", "arguments", "result", "succeeded")
    pairs = named.select("call_id", "index", "asked", "name").join(
        tried.select(columns), on=["call_id", "name"]
    )
    triple = ("asked", "arguments", "result")
    distinct = pairs.select(triple).unique().sort(triple)
    misfits = [_misfits(*row, is_generous=is_generous) for row in distinct.iter_rows()]
    found = distinct.with_columns(
        others=pl.Series([len(texts) for texts in misfits], dtype=pl.Int64),
        other=pl.Series([texts[0] if texts else None for texts in misfits], dtype=pl.String),
    )
    denied = ~pl.col("succeeded")
    no_success = pl.concat_str(
        pl.lit("the result is no success"),
        pl.concat_str(pl.lit(", and "), "other").fill_null(""),
    )
    return pairs.join(found, on=triple, how="left", nulls_equal=True).select(
        "call_id",
        "index",
        "position",
        misfits=pl.col("others") + denied.cast(pl.Int64),
        misfit=pl.when(denied).then(no_success).otherwise("other"),
    )


def _misfits(
    asked: str, arguments: str | None, result: str | None, *, is_generous: bool
) -> list[str]:
    """Return each value that a tool call has otherwise than a change asks; none: it fits."""
    check = strict_json(asked.encode())
    told = []
    of_result = () if is_generous and result is None else check.get("result", ())
    for values, document in (
        (check.get("arguments", ()), _document(arguments)),
        (of_result, _document(result)),
    ):
        for value in values:
            if not value_fits(value, document):
                there = found_at(jmespath.compile(value["path"]), document)
                wanted = value["equals"] if "equals" in value else value["value"]
                found = cut(there.text) if there.error is None else "not to be read"
                told.append(f"{value['path']} is {found}, asked {shown(wanted)}")
    return told


def _document(text: str | None) -> Any:
    return None if text is None else decoded(strict_json(text.encode()))


def value_fits(asked: Mapping[str, Any], document: Any) -> bool:
    """Return whether a document has the required value: equal, or a number within a tolerance.

    Examples
    --------
    >>> value_fits({"path": "amount", "value": 65.52, "tolerance": 0.01}, {"amount": "65.53"})
    True
    """
    try:
        value = jmespath.compile(asked["path"]).search(document)
    except (jmespath.exceptions.JMESPathError, TypeError, ValueError):
        return False
    if "equals" in asked:
        return _same(value, asked["equals"])
    number = _decimal(value)
    if number is None:
        return False
    return abs(number - Decimal(str(asked["value"]))) <= Decimal(str(asked["tolerance"]))


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    return canonical_bytes(left) == canonical_bytes(right)


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def sound_alike_only(outcomes: pl.DataFrame, population: Population) -> pl.DataFrame:
    """Return the calls whose every successful verification matched by sound alone: ``call_id``."""
    asked = population.sound_alike
    if asked is None:
        return pl.DataFrame(schema={"call_id": outcomes.schema["call_id"]})
    ours = outcomes.filter(
        pl.col("name").is_in(list(population.tools.verify)) & pl.col("succeeded")
    )
    distinct = ours.select("result").unique().sort("result")
    alike = [value_fits(asked, _document(text)) for text in distinct["result"]]
    found = distinct.with_columns(alike=pl.Series(alike, dtype=pl.Boolean))
    joined = ours.join(found, on="result", how="left", nulls_equal=True)
    return joined.group_by("call_id").agg(pl.col("alike").all()).filter("alike").select("call_id")


def _of_trace(frame: pl.DataFrame, verdict: pl.Expr, evidence: pl.Expr) -> pl.DataFrame:
    """Return ``call_id, index, code, evidence``; without a trace nothing is known."""
    has = pl.col("has_trace")
    return frame.select(
        "call_id",
        "index",
        code=pl.when(has).then(verdict),
        evidence=pl.when(has).then(evidence).otherwise(pl.lit("no trace")),
    )
