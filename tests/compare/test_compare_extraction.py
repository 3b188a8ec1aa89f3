"""Extraction: right, wrong, missing and invalid apart, and what a field cites."""

from __future__ import annotations

import json

import polars as pl
import pytest

from inquesto_core.compare.extraction import (
    FIELD_VALUES,
    SUPPORTS,
    Contract,
    extraction_outcomes,
    field_table,
    support_states,
)
from inquesto_core.evidence import make_table

FIELDS = {
    "flag": {"type": "boolean"},
    "count": {"type": "integer"},
    "amount": {"type": "number", "tolerance": 0.5},
    "day": {"type": "date"},
    "step": {"type": "string", "allowed": ["callback", "none"]},
    "note": {"type": "string", "compare": "words"},
    "free": {"type": "string"},
    "topics": {"type": "array", "allowed": ["a", "b", "c"]},
    "order": {"type": "array", "ordered": True},
}
CONTRACT = Contract.of(
    {
        "name": "test",
        "version": "1",
        "missing_value": None,
        "missing_texts": ["INFO_NA", ""],
        "fields": FIELDS,
    }
)


def values(*rows):
    text = [(call_id, field, json.dumps(value)) for call_id, field, value in rows]
    return pl.DataFrame(text, schema=FIELD_VALUES, orient="row")


def outcome(field, extracted, reviewed):
    found = extraction_outcomes(
        values(("1", field, extracted)), values(("1", field, reviewed)), CONTRACT
    )
    return found["outcome"].item()


@pytest.mark.parametrize(
    ("field", "extracted", "reviewed", "wanted"),
    [
        ("flag", True, True, "right"),
        ("flag", True, False, "wrong"),
        ("flag", "false", False, "invalid"),
        ("flag", "true", True, "invalid"),
        ("flag", 0, False, "invalid"),
        ("flag", "INFO_NA", True, "missing"),
        ("flag", "INFO_NA", None, "right"),
        ("flag", None, False, "missing"),
        ("flag", "", True, "missing"),
        ("flag", False, None, "wrong"),
        ("flag", "n/a", None, "invalid"),
        ("count", 3, 3, "right"),
        ("count", True, 1, "invalid"),
        ("count", 3.5, 3, "invalid"),
        ("count", "3", 3, "invalid"),
        ("amount", 65.5, 65, "right"),
        ("amount", 65.51, 65, "wrong"),
        ("amount", -65, 65, "wrong"),
        ("day", "2026-02-28", "2026-02-28", "right"),
        ("day", "2026-02-30", "2026-02-28", "invalid"),
        ("day", "28.2.2026", "2026-02-28", "invalid"),
        ("step", "callback", "callback", "right"),
        ("step", "Callback", "callback", "invalid"),
        ("step", "none", "callback", "wrong"),
        ("note", "Charged TWICE!", "charged twice", "right"),
        ("note", "charged once", "charged twice", "wrong"),
        ("free", "x", "X", "wrong"),
        ("free", ["x"], "x", "invalid"),
        ("topics", ["b", "a", "a"], ["a", "b"], "right"),
        ("topics", ["a"], ["a", "b"], "wrong"),
        ("topics", ["z"], ["a"], "invalid"),
        ("topics", "a", ["a"], "invalid"),
        ("topics", [], [], "right"),
        ("order", ["b", "a"], ["a", "b"], "wrong"),
        ("order", ["a", "b"], ["a", "b"], "right"),
        ("order", [1], ["1"], "invalid"),
    ],
    ids=str,
)
def test_a_field_has_one_outcome(field, extracted, reviewed, wanted):
    assert outcome(field, extracted, reviewed) == wanted


def test_an_absent_key_is_missing_and_an_absent_call_is_no_extraction():
    reviewed = values(("1", "flag", True), ("1", "count", 2), ("2", "flag", True))
    found = extraction_outcomes(values(("1", "flag", True)), reviewed, CONTRACT)
    assert found.select("call_id", "field", "outcome").rows() == [
        ("1", "count", "missing"),
        ("1", "flag", "right"),
        ("2", "flag", "no_extraction"),
    ]


def test_what_nobody_reviewed_has_no_outcome():
    found = extraction_outcomes(
        values(("1", "flag", True), ("9", "flag", True)), values(("1", "count", 1)), CONTRACT
    )
    assert found.select("call_id", "field", "outcome").rows() == [("1", "count", "missing")]


def test_the_table_tells_right_silence_and_invention_apart():
    reviewed = values(("1", "flag", None), ("2", "flag", None), ("3", "flag", True))
    given = values(("1", "flag", None), ("2", "flag", True), ("3", "flag", True))
    row = field_table(extraction_outcomes(given, reviewed, CONTRACT)).row(0, named=True)
    assert (row["n"], row["right"], row["right_missing"]) == (3, 2, 1)
    assert (row["wrong"], row["wrong_invented"]) == (1, 1)
    assert "rate" not in " ".join(row)


@pytest.mark.parametrize(
    ("cites", "wanted"),
    [
        ({"turn": 1, "quote": "charged TWICE"}, "found"),
        ({"turn": 1}, "found"),
        ({"quote": "I see, two charges"}, "found"),
        ({"turn": 0, "quote": "charged twice"}, "quote_not_found"),
        ({"quote": "harged"}, "quote_not_found"),
        ({"quote": "charged thrice"}, "quote_not_found"),
        ({"turn": 7}, "turn_unknown"),
        ({"start_ms": 0, "end_ms": 9000}, "found"),
        ({"start_ms": 0, "end_ms": 9001}, "span_outside"),
        ({"start_ms": -1}, "span_outside"),
        ({"start_ms": 8, "end_ms": 7}, "span_outside"),
        ({}, "nothing_cited"),
        ({"call_id": "9", "turn": 0}, "call_unknown"),
        ({"call_id": "2", "turn": 0}, "no_transcript"),
    ],
    ids=str,
)
def test_what_a_field_cites_is_looked_for(cites, wanted):
    row = {"call_id": "1", "field": "flag", **cites}
    supports = pl.DataFrame([row], schema=SUPPORTS, orient="row")
    transcript = make_table(
        "transcript",
        [
            {"call_id": "1", "position": 0, "speaker": "agent", "text": "I see two charges."},
            {"call_id": "1", "position": 1, "speaker": "caller", "text": "I was charged twice."},
        ],
    )
    calls = make_table("calls", [{"call_id": each, "duration_ms": 9000} for each in ("1", "2")])
    assert support_states(supports, transcript, calls)["support"].item() == wanted
