"""The calls that one predicate is asked about, and the rows of evidence that are theirs.

Calls are numbered by scenario, and every table is sorted by that number: the rows of a scenario's
calls are one slice of each, so that a thousand scenarios cost no more than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from inquesto_core.events.trace import is_performed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.protocol import Population, Protocol

__all__ = ["Evidence", "Part", "numbered"]

#: Numbers of calls, half-open.
Range = tuple[int, int]

#: Columns of a table's key that order its rows within a call.
_ORDER = {
    "tool_calls": "position",
    "caller_calls": "position",
    "transcript": "position",
    "tool_results": "position",
    "utterances": "start_ms",
    "verdicts": "question",
}


#: Where the tool calls of each side are.
_SIDES = {"agent": "tool_calls", "user": "caller_calls"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The tables that predicates read, their rows numbered by call (`numbered`).

    Parameters
    ----------
    performed : mapping of (side, tool) to polars.DataFrame
        The performed tool calls of the agent's side and of the (simulated) user's own.
    tables : mapping of str to polars.DataFrame
        The other tables, as they are.
    """

    protocol: Protocol
    population: Population
    calls: pl.DataFrame
    performed: Mapping[tuple[str, str], pl.DataFrame]
    tables: Mapping[str, pl.DataFrame]

    def part(self, ranges: Sequence[Range]) -> Part:
        """Return the calls of these numbers, which are sorted and do not meet twice."""
        whole = [ranges[0]]
        for low, high in ranges[1:]:
            if low == whole[-1][1]:
                whole[-1] = (whole[-1][0], high)
            else:
                whole.append((low, high))
        calls = pl.concat([self.calls.slice(low, high - low) for low, high in whole])
        return Part(evidence=self, calls=calls, ranges=tuple(whole))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some calls, in the order of their numbers.

    Parameters
    ----------
    calls : polars.DataFrame
        ``call, scenario, has_trace, has_caller_calls, has_transcript, is_timed, window_to_ms``, one
        row a call.
    ranges : tuple of (first, past the last)
    """

    evidence: Evidence
    calls: pl.DataFrame
    ranges: tuple[Range, ...]

    def rows(self, table: str) -> pl.DataFrame:
        """Return the calls' rows of an evidence table, in order."""
        return self.of(self.evidence.tables[table])

    def performed(self, tool: str, side: str = "agent") -> pl.DataFrame:
        """Return the calls' performed tool calls of that name and side, in order of the trace."""
        found = self.evidence.performed.get((side, tool))
        return self.evidence.tables["tool_calls"].clear() if found is None else self.of(found)

    def of(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of these calls of a frame that is sorted by ``call``."""
        numbers = frame["call"].to_numpy()
        bounds = np.searchsorted(numbers, np.array(self.ranges, dtype=numbers.dtype))
        slices = [frame.slice(low, high - low) for low, high in bounds.tolist()]
        return slices[0] if len(slices) == 1 else pl.concat(slices)

    def beside(self, found: pl.DataFrame) -> pl.DataFrame:
        """Return the calls with the columns of `found`, which has at most one row a call."""
        return self.calls.join(found, on="call", how="left", maintain_order="left")


def numbered(
    tables: Mapping[str, pl.DataFrame],
    due: pl.DataFrame,
    *,
    protocol: Protocol,
    population: Population,
) -> Evidence:
    """Return the evidence of the calls in `due`.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        Evidence tables; one that no predicate reads may be absent, and then has no row.
    due : polars.DataFrame
        ``call_id, call`` and what `Part.calls` has, sorted by ``call``.
    """
    numbers = due.select("call_id", "call")
    own = {
        name: table.join(numbers, on="call_id", how="inner")
        .drop("call_id")
        .sort("call", *([_ORDER[name]] if name in _ORDER else []))
        for name, table in tables.items()
    }
    return Evidence(
        protocol=protocol,
        population=population,
        calls=due.drop("call_id", "place"),
        performed={
            (side, str(name)): rows
            for side, table in _SIDES.items()
            for (name,), rows in own[table]
            .filter(is_performed(protocol))
            .partition_by("name", as_dict=True, maintain_order=True)
            .items()
        },
        tables=own,
    )
