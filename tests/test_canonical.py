"""JSON in and out: one reading, one form, one digest."""

from __future__ import annotations

import hashlib
import json
import re
import time

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
    ("data", "said", "place"),
    [
        (b'{"t": NaN}', "NaN", "line 1 column 7 (byte 6)"),
        (b"[Infinity]", "Infinity", "line 1 column 2 (byte 1)"),
        (b"[1,\n -Infinity]", "-Infinity", "line 2 column 2 (byte 5)"),
        (b"[1e999]", "1e999", "line 1 column 2 (byte 1)"),
        (b"[-1e999]", "-1e999", "line 1 column 2 (byte 1)"),
        (b'{"NaN": "NaN, 1e999", "b": [true, 1.5, NaN]}', "NaN", "line 1 column 40 (byte 39)"),
        (b'{"a":1,"a":2}', 'the key "a" twice', "line 1 column 8 (byte 7)"),
        (b'{"b":{"a":1,"\\u0061":2}}', 'the key "a" twice', "line 1 column 13 (byte 12)"),
        (b'{"b":{},"a":{"a":{"a":0}},"b":"b"}', 'the key "b" twice', "line 1 column 27 (byte 26)"),
        (b'{"a":0,"a":{"b":1,"b" :2}}', 'the key "b" twice', "line 1 column 19 (byte 18)"),
        (b"\xff", "not UTF-8", "line 1 column 1 (byte 0)"),
        (b'{"a":\n "\xc3\xa9\xff"}', "not UTF-8", "line 2 column 4 (byte 10)"),
        (b"\xef\xbb\xbf[\xff]", "not UTF-8", "line 1 column 2 (byte 4)"),
        (b'["\xed\xa0\x80"]', "not UTF-8", "line 1 column 3 (byte 2)"),
        (b'["a", "\\ud800"]', "lone surrogate", "line 1 column 7 (byte 6)"),
        (b'{"\\udc00": 1}', "lone surrogate", "line 1 column 2 (byte 1)"),
        ('{"é": NaN}'.encode(), "NaN", "line 1 column 7 (byte 7)"),
        (b"\xef\xbb\xbf[NaN]", "NaN", "line 1 column 2 (byte 4)"),
        (b'{"a": 1,}', "property name", "line 1 column 9 (byte 8)"),
        (b"[1] [2]", "Extra data", "line 1 column 5 (byte 4)"),
        (b"", "Expecting value", "line 1 column 1 (byte 0)"),
        (b"\xef\xbb\xbf\xef\xbb\xbf1", "BOM", "line 1 column 1 (byte 3)"),
        (b"[" * 100_000, "nested deeper", "line 1 column 66 (byte 65)"),
        (b'{"a":' * 100_000, "nested deeper", "line 1 column 322 (byte 321)"),
        (b'["]",' + b"9" * 65 + b"]", "65 digits", "line 1 column 6 (byte 5)"),
        (b'"a\nb"', "control character", "line 1 column 3 (byte 2)"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8", "line 1 column 1 (byte 0)"),
    ],
    ids=lambda value: ascii(value[:16]),
)
def test_what_two_readers_could_read_differently_is_refused_with_its_place(data, said, place):
    with pytest.raises(SchemaError, match="json_invalid") as caught:
        strict_json(data, file="trace.json")
    problem = caught.value.problem
    assert re.search(said, problem.found)
    assert problem.pointer.startswith(place)
    assert problem.file == "trace.json"


HAZARDS = ("NaN", "-Infinity", "1e999", r'"\ud800"', "9" * 70)


@given(VALUES, st.sampled_from(HAZARDS), st.booleans(), st.integers(0, 3))
def test_the_place_is_that_of_the_hazard_whatever_stands_before_it(value, hazard, bom, indent):
    text = json.dumps([value, "here", 7], ensure_ascii=False, indent=indent or None)
    before, _, after = text.rpartition('"here"')
    data = b"\xef\xbb\xbf" * bom + f"{before}{hazard}{after}".encode()
    with pytest.raises(SchemaError, match="json_invalid") as caught:
        strict_json(data)
    at = 3 * bom + len(before.encode())
    assert caught.value.problem.pointer.endswith(f"(byte {at})")


def test_a_place_is_found_in_a_long_text_in_little_time():
    data = b'{"calls": [' + b'{"t": 1, "name": "a\\"b"}, ' * 100_000 + b"NaN]}"
    start = time.process_time()
    with pytest.raises(SchemaError, match="NaN"):
        strict_json(data)
    assert time.process_time() - start < 10


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
