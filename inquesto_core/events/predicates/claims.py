"""The predicate ``claim``: a sentence about the call that a judge or a recorded verdict answers.

Undetermined where nobody answered, or the answer is "cannot tell".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.events.predicates.outcome import concluded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.events.predicates.part import Part

__all__ = ["claim"]


def claim(part: Part, predicate: Mapping[str, Any]) -> pl.DataFrame:
    """Return the answer to `question`."""
    question = predicate["question"]
    rows = part.rows("verdicts").filter(pl.col("question") == question)
    answers = rows.group_by("call", maintain_order=True).agg(
        verdict=pl.col("verdict").first(), turn=pl.col("turn").first(), given=pl.len() > 0
    )
    frame = part.beside(answers)
    told = pl.format("{} is answered {}", pl.lit(question), "verdict")
    text = (
        pl.when(pl.col("given").is_null())
        .then(pl.lit(f"{question} has no answer"))
        .when(pl.col("verdict").is_null())
        .then(pl.lit(f"{question} is answered undetermined"))
        .when(pl.col("turn").is_null())
        .then(told)
        .otherwise(pl.concat_str(told, pl.format(", transcript/{}", "turn")))
    )
    return concluded(frame, pl.col("verdict"), text)
