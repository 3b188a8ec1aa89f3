"""Predicates on the state after the call: values, hash, and what may differ from before.

Without ``state.json``, or where it does not hold the state that is read, a predicate is
undetermined: the evidence is missing. A reference that the scenario declares and the file lacks
(``against: expected``) is not missing evidence but nothing to compare with: false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jmespath
import polars as pl

from inquesto_core.events.predicates.json_values import (
    Difference,
    differences,
    path_pattern,
    same_set,
    same_value,
    state_hash,
    touches,
    without,
)
from inquesto_core.events.predicates.outcome import (
    Outcome,
    concluded,
    cut,
    each_once,
    found_at,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from inquesto_core.events.predicates.part import Part

__all__ = ["state_changes", "state_equals", "state_hash_equals", "state_unchanged"]

#: More differences are counted and not named.
NAMED_DIFFERENCES = 50

_NOTHING_TO_COMPARE = "nothing to compare with: state.json has no expected"


def _of_state(part: Part, columns: tuple[str, ...], read: Callable[..., Outcome]) -> pl.DataFrame:
    found = each_once(part.rows("states"), columns, read)
    frame = part.beside(found)
    evidence = pl.col("evidence").fill_null(pl.lit("no state"))
    return concluded(frame, pl.col("value"), evidence, raised=pl.col("raised"))


def state_equals(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide whether a JMESPath expression gives a value on the state after the call."""
    path, equals = predicate["path"], predicate["equals"]
    expression = jmespath.compile(path)
    tolerance, as_set = predicate.get("tolerance", 0), predicate.get("as") == "set"
    wanted = f"expected {shown(equals)}"
    if tolerance:
        wanted += f" within {shown(tolerance)}"

    def read(after: Any) -> Outcome:
        value, text, error = found_at(expression, after)
        if error is not None:
            return Outcome(value=False, evidence=f"{path} cannot be read: {error}", raised=True)
        same = same_set(value, equals) if as_set else same_value(value, equals, tolerance=tolerance)
        return Outcome(value=same, evidence=f"{path} is {cut(text)}, {wanted}")

    return _of_state(part, ("after",), read)


def state_unchanged(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide whether the state after the call is the state before it."""

    def read(before: Any, after: Any) -> Outcome:
        found = list(differences(before, after))
        if not found:
            return Outcome(value=True, evidence="the state is unchanged")
        return Outcome(value=False, evidence=f"the state has changed: {_named(found)}")

    return _of_state(part, ("before", "after"), read)


def state_changes(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide whether what differs from the state before lies on allowed paths."""
    allowed = [path_pattern(pointer) for pointer in predicate["allowed"]]

    def read(before: Any, after: Any) -> Outcome:
        found = list(differences(before, after))
        other = [
            each for each in found if not any(touches(each.path, pattern) for pattern in allowed)
        ]
        if other:
            return Outcome(value=False, evidence=f"changed, not allowed: {_named(other)}")
        named = _named(found) if found else "nothing"
        return Outcome(value=True, evidence=f"changed: {named}")

    return _of_state(part, ("before", "after"), read)


def state_hash_equals(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Decide whether the state after the call, keys left out, has a given or another's hash."""
    left_out = [path_pattern(pointer) for pointer in predicate.get("exclude", ())]
    given, against = predicate.get("sha256"), predicate.get("against")
    if against is None:

        def read_one(after: Any) -> Outcome:
            found = state_hash(without(after, left_out))
            return Outcome(value=found == given, evidence=f"hash {found}, expected {given}")

        return _of_state(part, ("after",), read_one)

    def read(after: Any, reference: Any) -> Outcome:
        own, other = without(after, left_out), without(reference, left_out)
        if state_hash(own) == state_hash(other):
            return Outcome(value=True, evidence=f"the state is that {against}")
        named = _named(list(differences(other, own)))
        return Outcome(value=False, evidence=f"the state is not that {against}: {named}")

    found = _of_state(part, ("after", against), read)
    if against != "expected":
        return found
    lacks = pl.col("after").is_not_null() & pl.col("expected").is_null()
    frame = part.beside(part.rows("states").select("call", nothing=lacks))
    is_nothing = frame["nothing"].fill_null(value=False)
    return found.with_columns(
        value=pl.when(is_nothing).then(statement=False).otherwise("value"),
        raised=pl.col("raised") | is_nothing,  # false for want of a reference: `not` leaves it so
        evidence=pl.when(is_nothing).then(pl.lit(_NOTHING_TO_COMPARE)).otherwise("evidence"),
    )


def _named(found: Sequence[Difference]) -> str:
    texts = [_text(each) for each in found[:NAMED_DIFFERENCES]]
    if len(found) > NAMED_DIFFERENCES:
        texts.append(f"and {len(found) - NAMED_DIFFERENCES} more")
    return "; ".join(texts)


def _text(each: Difference) -> str:
    where = each.pointer or "the whole"
    if not each.has_left:
        return f"{where} was not there, is {shown(each.right)}"
    if not each.has_right:
        return f"{where} was {shown(each.left)}, is not there"
    return f"{where} was {shown(each.left)}, is {shown(each.right)}"
