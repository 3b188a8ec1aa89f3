"""Agent turns of which less was heard than was meant, as a platform says, and whether it is so.

Such a mark is *stale* where no caller turn begins while the turn lasts: nobody interrupted, so the
whole turn was heard, and the mark fails nobody. Where times are missing nobody can tell.
"""

from __future__ import annotations

import polars as pl

__all__ = ["cut_turns"]


def cut_turns(turns: pl.DataFrame, *, key: str = "call_id") -> pl.DataFrame:
    """Return the agent turns that are cut short, with ``interrupted``.

    Parameters
    ----------
    turns : polars.DataFrame
        Of whole calls: `key`, ``position, speaker, start_ms, end_ms, text, heard_text``.
    key : str
        The column that names the call.

    Returns
    -------
    polars.DataFrame
        The columns of `turns`, and ``interrupted``: false = the mark is stale, null = nobody knows.
    """
    agent = turns.filter(pl.col("speaker") == "agent")
    caller = turns.filter(pl.col("speaker") == "caller").select(key, began_ms="start_ms")
    is_cut = pl.col("heard_text").is_not_null() & (pl.col("heard_text") != pl.col("text"))
    timed = pl.col("start_ms").is_not_null() & pl.col("end_ms").is_not_null()
    cut = agent.filter(is_cut)
    inside = (pl.col("began_ms") >= pl.col("start_ms")) & (pl.col("began_ms") <= pl.col("end_ms"))
    broken = (
        cut.filter(timed)
        .join(caller, on=key)
        .group_by(key, "position")
        .agg(
            interrupted=pl.when(inside.fill_null(value=False).any())
            .then(statement=True)
            .when(pl.col("began_ms").is_null().any())
            .then(None)
            .otherwise(statement=False)
        )
    )
    return cut.join(broken, on=[key, "position"], how="left", maintain_order="left").with_columns(
        # Nobody else spoke in the whole call: nobody interrupted.
        interrupted=pl.when(timed & ~pl.col(key).is_in(caller[key].implode()))
        .then(statement=False)
        .otherwise("interrupted")
    )
