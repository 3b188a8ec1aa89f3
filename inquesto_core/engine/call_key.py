"""The key of the hashes that stand for call ids in a record."""

from __future__ import annotations

import hashlib

import polars as pl

__all__ = ["call_name_key"]

#: What Python does not write as it is between single quotes.
_ODD = r"[^ -~]|['\\\\]"
#: Rows of inputs that are one text at a time.
_ROWS = 100_000


def call_name_key(inputs: pl.DataFrame) -> bytes:
    """Return the key of the hashes that stand for call ids in a record, made of its inputs.

    Parameters
    ----------
    inputs : polars.DataFrame
        Columns call, file, sha256, in the run's order.
    """
    found = hashlib.sha256(b"call names\0[")
    for at, rows in enumerate(inputs.iter_slices(_ROWS)):
        found.update((", " if at else "").encode() + _listed(rows).encode())
    found.update(b"]")
    return found.digest()


def _listed(inputs: pl.DataFrame) -> str:
    """Return the rows as Python writes a list of them, without its brackets.

    As one text operation where none is odd.
    """
    names = inputs.columns
    odd = inputs.select(pl.any_horizontal(pl.col(names).str.contains(_ODD)).any()).item()
    if odd or inputs.is_empty():
        return repr(inputs.to_dicts())[1:-1]
    parts = [
        part for name in names for part in (pl.lit(f"'{name}': '"), pl.col(name), pl.lit("', "))
    ]
    parts[-1] = pl.lit("'}")
    return str(inputs.select(pl.concat_str(pl.lit("{"), *parts).str.join(", ")).item())
