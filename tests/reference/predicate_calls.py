"""Single calls for predicates on anything: trace, transcript, timing, state, answers.

Nothing here decides anything; `outcome` runs the real evaluator on one call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
from decide_loop import scenario, small_population

from inquesto_core.canonical import canonical_bytes
from inquesto_core.events.predicates import scenario_predicates
from inquesto_core.evidence.tables import make_table
from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")


def text(value: Any) -> str | None:
    """Return a value as evidence holds it: canonical JSON, null where there is none."""
    return None if value is None else canonical_bytes(value).decode()


def tool(name: str, start: int | None = None, end: int | None = None, **more: Any) -> dict:
    """Return a tool call; `arguments` defaults to an empty object."""
    arguments = more.pop("arguments", {})
    result = more.pop("result", None)
    return {
        "name": name,
        "status": "ok",
        "start_ms": start,
        "end_ms": end,
        "arguments": text(arguments),
        "result": text(result),
        **more,
    }


def turn(speaker: str, words: str | None, start: int | None = None, end: int | None = None, **more):
    """Return a turn of the transcript."""
    return {"speaker": speaker, "text": words, "start_ms": start, "end_ms": end, **more}


def one_call(
    call_id: str = "c1",
    *,
    scenario_id: str = "own",
    tools: list | None = (),
    theirs: list | None = (),
    said: list | None = (),
    state: dict | None = None,
    answers: dict | None = None,
    waits: list = (),
    utterances: list = (),
    timed: bool = True,
    window_to_ms: int = 60_000,
) -> dict[str, list[dict]]:
    """Return the rows of one call by table; `waits` are rows of ``tool_results``."""
    own = {"call_id": call_id}
    call = {
        **own,
        "scenario_id": scenario_id,
        "has_trace": tools is not None,
        "has_caller_calls": tools is not None and theirs is not None,
        "has_transcript": said is not None,
        "timing_source": "measured",
        "timing_reasons": [] if timed else ["clock_drift"],
        "window_from_ms": 0,
        "window_to_ms": window_to_ms,
    }
    rows = {
        "calls": [call],
        "tool_calls": list(tools or ()),
        "caller_calls": list(theirs or ()),
        "transcript": list(said or ()),
        "utterances": [{"start_ms": low, "end_ms": high} for low, high in utterances],
        "tool_results": list(waits),
        "verdicts": [
            {"question": question, "verdict": verdict}
            for question, verdict in (answers or {}).items()
        ],
        "states": [] if state is None else [{key: text(value) for key, value in state.items()}],
    }
    for name, table in rows.items():
        for position, row in enumerate(table):
            row.update(own)
            if name in ("tool_calls", "caller_calls", "transcript", "utterances"):
                row["position"] = position
    return rows


def as_tables(*calls: dict[str, list[dict]]) -> dict[str, pl.DataFrame]:
    """Return evidence tables of calls."""
    found = {}
    for name in calls[0]:
        rows = [row for call in calls for row in call[name]]
        found[name] = make_table(name, rows)
    return found


def people(*predicates: Any, named: Any = None, phrases: Any = None):
    """Return a population whose scenario ``own`` has these predicates."""
    population = small_population(scenario("own", predicates=predicates))
    return replace(population, predicates=named, phrases=phrases)


def values(calls: list[dict], *predicates: Any, **population: Any) -> pl.DataFrame:
    """Return the table of predicates of calls."""
    return scenario_predicates(
        as_tables(*calls), protocol=PROTOCOL, population=people(*predicates, **population)
    )


def outcome(predicate: Any, *, named: Any = None, phrases: Any = None, **call: Any) -> tuple:
    """Return value and evidence of one predicate of one call."""
    row = values([one_call(**call)], predicate, named=named, phrases=phrases)
    return row["value"].item(), row["evidence"].item()
