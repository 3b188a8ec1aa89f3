from __future__ import annotations

import polars as pl

from inquesto_core.events.occurrences import occurrences
from inquesto_core.evidence.tables import TABLES
from inquesto_core.protocol import load_protocol

PROTOCOL = load_protocol("inquesto-0.1")


def test_occurrences_have_the_columns_of_the_events_table():
    found = occurrences(pl.DataFrame({"call_id": ["b", "a", "b"]}), PROTOCOL.event("verbose"))
    assert dict(found.schema) == TABLES["events"]
    assert found["call_id"].to_list() == ["b", "a", "b"]
    assert found["counted"].sum() == 2


def test_the_first_occurrence_of_a_call_is_the_counted_one():
    ranked = pl.DataFrame({"call_id": ["a", "a"], "at_ms": [900, 100]})
    found = occurrences(ranked, PROTOCOL.event("verbose"))
    assert found.filter("counted")["at_ms"].to_list() == [900]


def test_a_source_of_its_own_wins_over_that_of_the_event_type():
    event = PROTOCOL.event("false_accept")
    rows = pl.DataFrame({"call_id": ["a"], "source": ["trace"]})
    assert occurrences(rows, event)["source"].to_list() == ["trace"]
    assert occurrences(rows.drop("source"), event)["source"].to_list() == [event.source]
