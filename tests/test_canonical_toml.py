"""TOML from outside is JSON or refused, with its place; so is a line of JSON Lines."""

from __future__ import annotations

import pytest

from inquesto_core.canonical import MAX_DEPTH, MAX_DIGITS, at_line, strict_json, strict_toml
from inquesto_core.errors import SchemaError


def read(text):
    return strict_toml(text.encode(), file="x.toml", code="gates_invalid")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = 1\nb = = 2", r"x\.toml line 2 column 5 is no TOML"),
        ("a = 1\na = 2\n", "x.toml line 2.* is no TOML"),
        ("a = [1, nan]", "x.toml /a/1 is nan"),
        ("[b]\na = -inf", "x.toml /b/a is -inf"),
        ("a = 1e400", "x.toml /a is inf"),
        ("a = 2026-11-30", "x.toml /a is the date or time 2026-11-30"),
        (f"a = {10**MAX_DIGITS}", "x.toml /a has a number of more than 64 digits"),
        (f"a = {'[' * (MAX_DEPTH + 1)}{']' * (MAX_DEPTH + 1)}", "is nested deeper than 64"),
        (f"a = {'[' * 100_000}", "is nested deeper than 64|is no TOML"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text, told):
    with pytest.raises(SchemaError, match=told) as refused:
        read(text)
    assert refused.value.problem.code == "gates_invalid"


def test_bytes_that_are_no_utf8_are_refused():
    with pytest.raises(SchemaError, match="byte 4 is not UTF-8"):
        strict_toml(b"a = \xff", file="x.toml", code="x")


def test_a_mark_at_the_beginning_and_the_largest_number_are_read():
    assert strict_toml(b"\xef\xbb\xbfa = 1", file="x", code="x") == {"a": 1}
    assert read(f"a = {10**MAX_DIGITS - 1}") == {"a": 10**MAX_DIGITS - 1}


def test_a_fault_in_a_line_is_named_with_the_line_of_the_file():
    with pytest.raises(SchemaError) as refused:
        strict_json(b'{"a": NaN}', file="x.jsonl")
    told = at_line(refused.value.problem, 7)
    assert told.pointer == "line 7 column 7"
    assert told.expected == "a finite number or null"
