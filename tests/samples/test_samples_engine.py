"""The engine held to the scripted truth of the sample calls, from the recordings alone."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from inquesto_core.engine import score

SAMPLES = Path(__file__).resolve().parents[2] / "sample_records"

#: The conditions whose callers the engine is held to. A babble of seven talkers reads as speech to
#: the voice detector: those calls join once the caller is told from the room.
CONDITIONS_HELD = ("clean", "telephone", "babble")

#: How far a measured time may lie from the scripted one. Under a babble of 10 dB the soft beginning
#: and end of a sentence cannot be heard.
WITHIN_MS = {"clean": 50, "telephone": 50, "babble": 350}


def truths(condition):
    found = sorted(SAMPLES.glob(f"*/*-{condition}/truth.json"))
    return {path.parent: json.loads(path.read_bytes()) for path in found}


def rows(table, call_id):
    return table.filter(pl.col("call_id") == call_id).rows(named=True)


def times_differ(measured, scripted, within_ms):
    """Return whether two lists of intervals or numbers differ in length or by too much."""
    one, other = (
        [time for row in table for time in (row if isinstance(row, list | tuple) else (row,))]
        for table in (measured, scripted)
    )
    return len(one) != len(other) or any(
        (a is None) != (b is None) or (a is not None and abs(a - b) > within_ms)
        for a, b in zip(one, other, strict=True)
    )


def decision_differs(row, truth):
    """Yield what the decision on a call says that its truth does not."""
    found = {
        name.removeprefix("event_")
        for name, value in row.items()
        if name.startswith("event_") and value
    }
    if found != set(truth["events"]):
        yield f"events {sorted(found)}, not {truth['events']}"
    if (row["state"], row["passed"]) != (truth["state"], truth["pass"]):
        yield f"{row['state']}, passed {row['passed']}: not {truth['state']}, {truth['pass']}"
    if truth["state"] == "scored" and row["goal"] != truth["goal"]:
        yield f"goal {row['goal']}"


def timing_differs(tables, call_id, expected, within_ms):
    """Yield what was measured of a call that its truth does not say."""
    for name, key in (("utterances", "utterances_ms"), ("turns", "agent_turns_ms")):
        measured = [(row["start_ms"], row["end_ms"]) for row in rows(tables[name], call_id)]
        if times_differ(measured, expected[key], within_ms):
            yield f"{name} {measured}, not {expected[key]}"
    replies = rows(tables["replies"], call_id)
    if [row["status"] for row in replies] != [row["status"] for row in expected["replies"]]:
        yield f"replies {[row['status'] for row in replies]}"
    latencies = [row["latency_ms"] for row in replies]
    if times_differ(latencies, [row["latency_ms"] for row in expected["replies"]], within_ms):
        yield f"latencies {latencies}"
    overs = [row for row in rows(tables["talk_overs"], call_id) if row["counted"]]
    if [row["kind"] for row in overs] != [row["kind"] for row in expected["talk_overs"]]:
        yield f"talk-overs {[row['kind'] for row in overs]}"
    values = [row["value_ms"] for row in overs]
    if times_differ(values, [row["value_ms"] for row in expected["talk_overs"]], within_ms):
        yield f"talk-overs of {values} ms"


@pytest.mark.parametrize("condition", CONDITIONS_HELD)
def test_the_engine_finds_in_the_recordings_what_the_truth_says(condition, tmp_path):
    scripted = truths(condition)
    run = score(scripted, out=tmp_path / "RUN", population=SAMPLES / "population.json")
    decisions = {row["call_id"]: row for row in run.decisions.rows(named=True) if row["call_id"]}
    differences = [
        f"{truth['call_id']}: {difference}"
        for truth in scripted.values()
        for difference in (
            *decision_differs(decisions[truth["call_id"]], truth),
            *timing_differs(run.tables, truth["call_id"], truth["expected"], WITHIN_MS[condition]),
        )
    ]
    assert run.problems == ()
    assert len(scripted) == 24
    assert differences == []
