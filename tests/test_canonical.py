"""JSON in and out: one reading, one form, one digest."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.canonical import (
    MAX_DEPTH,
    canonical_bytes,
    digest_bytes,
    digest_json,
    pretty_bytes,
    strict_json,
)
from inquesto_core.errors import SchemaError

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_is_read_back_as_it_was(value):
    assert strict_json(canonical_bytes(value)) == value
    assert strict_json(pretty_bytes(value)) == value


@given(VALUES)
def test_writing_what_was_read_gives_the_same_bytes(value):
    data = canonical_bytes(value)
    assert canonical_bytes(strict_json(data)) == data
    assert canonical_bytes(strict_json(b"\xef\xbb\xbf" + pretty_bytes(value))) == data


@given(st.dictionaries(TEXT, st.integers(), max_size=6))
def test_the_digest_does_not_depend_on_the_order_of_keys(value):
    assert digest_json(dict(reversed(list(value.items())))) == digest_json(value)


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data):
    try:
        value = strict_json(data)
    except SchemaError as exc:
        assert exc.problem.code == "json_invalid"
    else:
        assert value == json.loads(data.decode("utf-8-sig"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"t": NaN}', "NaN"),
        (b"[Infinity]", "Infinity"),
        (b"[-Infinity]", "-Infinity"),
        (b"[1e999]", "1e999"),
        (b"[-1e999]", "-1e999"),
        (b'{"a":1,"a":2}', 'the key "a" twice'),
        (b'{"b":{"a":1,"\\u0061":2}}', 'the key "a" twice'),
        (b"\xff", "not UTF-8 at byte 0"),
        (b'["\xed\xa0\x80"]', "not UTF-8"),
        (b'["\\ud800"]', "lone surrogate"),
        (b'{"\\udc00": 1}', "lone surrogate"),
        (b'{"a": 1,}', "line 1 column"),
        (b"[1] [2]", "Extra data"),
        (b"", "line 1 column 1"),
        (b"\xef\xbb\xbf\xef\xbb\xbf1", "line 1 column 1"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"a":' * 100_000, "nested deeper"),
        (b"9" * 65, "65 digits"),
        (b'"a\nb"', "line 1 column"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
    ],
    ids=lambda value: ascii(value[:16]),
)
def test_what_two_readers_could_read_differently_is_refused(data, said):
    with pytest.raises(SchemaError, match="json_invalid") as caught:
        strict_json(data, file="trace.json")
    assert said in caught.value.problem.found
    assert caught.value.problem.file == "trace.json"


def test_nesting_is_allowed_up_to_its_limit():
    assert strict_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    with pytest.raises(SchemaError, match="nested deeper"):
        strict_json(b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2))


def test_a_number_of_64_digits_is_read_whole():
    assert strict_json(b"9" * 64) == int("9" * 64)


def test_a_surrogate_pair_is_one_character():
    assert strict_json(b'"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize("value", [float("nan"), float("inf")], ids=str)
def test_what_cannot_be_read_back_is_never_written(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_bytes([value])


def test_the_canonical_form_is_pinned():
    value = {"z": [1, 2.5, 1e22, -0.0], "é": None, "a": {"b": True, "A": "\u2028<"}}
    assert canonical_bytes(value) == (
        '{"a":{"A":"\u2028<","b":true},"z":[1,2.5,1e+22,-0.0],"é":null}'.encode()
    )


def test_a_digest_is_the_sha256_of_the_canonical_bytes():
    assert digest_bytes(b"abc") == hashlib.sha256(b"abc").hexdigest()
    assert digest_json({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
