"""What the judge is told of a call beside its words, where its rubric asks for it.

Talk at once and silence are those of the accepted speech, tool calls those of the trace. A rubric
that asks for none (`inquesto-0.1`) is given none, and its prompts depend on words alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from inquesto_core.instruments.intervals import joined
from inquesto_core.instruments.judge_prompt import Marker, Markers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from inquesto_core.instruments.judge import AskedCall

    Int = NDArray[np.int64]

__all__ = ["with_markers"]

_SIDES = ("caller", "agent")


def with_markers(
    calls: Sequence[AskedCall], tables: Mapping[str, pl.DataFrame], wanted: Mapping[str, int]
) -> list[AskedCall]:
    """Return calls with their markers; as they are where the rubric asks for none.

    Parameters
    ----------
    tables : mapping
        Evidence tables `calls`, `segments`, `tool_calls`.
    wanted : mapping
        ``overlap`` and ``silence``: the least length in ms; ``tool``.
    """
    if not wanted:
        return list(calls)
    markers = _by_call(tables, wanted)
    return [replace(call, markers=markers[call.call_id]) for call in calls]


def _by_call(tables: Mapping[str, pl.DataFrame], wanted: Mapping[str, int]) -> dict[str, Markers]:
    sounds = {kind for kind in wanted if kind != "tool"}
    speech = _speech(tables["segments"])
    tools = _tools(tables["tool_calls"]) if "tool" in wanted else {}
    found = {}
    for call_id, to_ms in tables["calls"].select("call_id", "window_to_ms").rows():
        at, unknown = tools.get(call_id, ((), False))
        heard: tuple[Marker, ...] = ()
        if to_ms is not None:
            heard = _sounds(speech.get(call_id, {}), wanted)
        missing = (sounds if to_ms is None else set()) | ({"tool"} if unknown else set())
        found[call_id] = Markers(
            found=tuple(sorted((*heard, *at), key=lambda marker: (marker.at_ms, marker.kind))),
            unknown=tuple(sorted(missing)),
        )
    return found


def _speech(segments: pl.DataFrame) -> dict[str, dict[str, Int]]:
    """Return each call's accepted speech by side: shape (n, 2) in ms, sorted, disjoint."""
    spoken = segments.filter(pl.col("rejected").is_null()).sort("call_id", "channel", "start_ms")
    rows: dict[str, dict[str, Int]] = {}
    for (call_id, channel), part in spoken.group_by("call_id", "channel", maintain_order=True):
        spans = part.select("start_ms", "end_ms").to_numpy().astype(np.int64)
        rows.setdefault(str(call_id), {})[str(channel)] = joined(spans, 0)
    return rows


def _sounds(speech: Mapping[str, Int], wanted: Mapping[str, int]) -> tuple[Marker, ...]:
    nothing = np.empty((0, 2), np.int64)
    caller, agent = (speech.get(side, nothing) for side in _SIDES)
    found = []
    if "overlap" in wanted:
        low = np.maximum(caller[:, None, 0], agent[None, :, 0])
        high = np.minimum(caller[:, None, 1], agent[None, :, 1])
        long = (high > low) & (high - low >= wanted["overlap"])
        found += [
            Marker(kind="overlap", at_ms=int(start), text=f"{end - start} ms")
            for start, end in zip(low[long], high[long], strict=True)
        ]
    if "silence" in wanted:
        both = np.concatenate([caller, agent])
        every = joined(both[np.argsort(both[:, 0], kind="stable")], 0)
        start, end = every[:-1, 1], every[1:, 0]
        found += [
            Marker(kind="silence", at_ms=int(since), text=f"{until - since} ms")
            for since, until in zip(start, end, strict=True)
            if until - since >= wanted["silence"]
        ]
    return tuple(found)


def _tools(tool_calls: pl.DataFrame) -> dict[str, tuple[tuple[Marker, ...], bool]]:
    """Return each call's tool calls as markers, and whether the time of one is not known."""
    rows: dict[str, tuple[tuple[Marker, ...], bool]] = {}
    told = tool_calls.sort("call_id", "position").select("call_id", "name", "status", "start_ms")
    for call_id, name, status, start_ms in told.rows():
        before, unknown = rows.get(call_id, ((), False))
        if start_ms is None:
            rows[call_id] = (before, True)
        else:
            made = Marker(kind="tool", at_ms=start_ms, text=status, name=name or "")
            rows[call_id] = ((*before, made), unknown)
    return rows
