"""Fields and times: their kinds, units and places, each limit on both sides."""

from __future__ import annotations

import pytest

from inquesto_core.errors import SchemaError
from inquesto_core.importers.clock import MAX_TIME_MS, instant_text, milliseconds, since
from inquesto_core.importers.fields import Node


def node(value):
    return Node(value, "a.json", "/x")


@pytest.mark.parametrize(
    ("value", "unit", "ms"),
    [
        (0.0005, "s", 0),  # ties go to the even side
        (0.0015, "s", 2),
        (-1.5, "s", -1500),
        (1, "ns", 0),
        ("1772403727000000000", "ns", 1_772_403_727_000),
        (1500, "us", 2),
        ("0.1", "s", 100),
        (253_402_300_799_999, "ms", 253_402_300_799_999),
    ],
)
def test_a_time_is_whole_milliseconds_of_its_unit(value, unit, ms):
    assert milliseconds(node(value), unit) == ms


@pytest.mark.parametrize(
    "value",
    [True, None, "", "1e3", "١", " 1", [1], {"t": 1}, 253_402_300_800_000, 10**60, 1e308],
    ids=repr,
)
def test_what_is_no_number_of_a_unit_is_refused_by_its_pointer(value):
    with pytest.raises(SchemaError, match=r"^a\.json /x is .*expected a .*\[export_time\]$"):
        milliseconds(node(value), "ms")


@pytest.mark.parametrize(
    "value",
    ["2026-03-01", "22:22", "", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00", 7, "２０２６"],
    ids=repr,
)
def test_what_is_no_instant_is_refused(value):
    with pytest.raises(SchemaError, match=r"\[export_time\]"):
        milliseconds(node(value), "iso")


def test_a_mail_date_is_an_instant():
    assert milliseconds(node("Sun, 01 Mar 2026 22:22:07 +0000"), "mail") == 1_772_403_727_000
    with pytest.raises(SchemaError, match=r"\[export_time\]"):
        milliseconds(node("Sun, 01 Mar"), "mail")


def test_an_instant_of_another_call_is_refused():
    assert since(node(MAX_TIME_MS), "ms", 0) == MAX_TIME_MS
    with pytest.raises(SchemaError, match="check that both are of the same call"):
        since(node(MAX_TIME_MS + 1), "ms", 0)


def test_an_instant_is_written_as_it_is_read():
    assert milliseconds(node(instant_text(1_772_403_727_004)), "iso") == 1_772_403_727_004


def test_a_pointer_escapes_what_json_pointers_escape():
    inner = Node({"a/b": {"c~d": [1]}}, "a.json").need("a/b", "c~d").rows()[0]
    assert inner.pointer == "/a~1b/c~0d/0"


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (lambda root: root.text("n"), "/n is 1; expected text"),
        (lambda root: root.flag("n"), "/n is 1; expected true or false"),
        (lambda root: root.rows("n"), "/n is 1; expected a list"),
        (lambda root: root.get("n", "m"), "/n is 1; expected an object"),
        (lambda root: root.need("m"), 'has no "m"; expected the key "m"'),
        (lambda root: root.needed_text("e"), '/e is ""; expected text'),
        (lambda root: root.count("f"), "/f is 1.0; expected an integer"),
        (lambda root: root.count("t"), "/t is true; expected an integer"),
        (lambda root: root.label("long"), "/long is .*expected text of 1 to 200"),
        (lambda root: root.label("bad"), r'/bad is "a\\u0000"; expected text'),
    ],
    ids=[
        "text",
        "flag",
        "rows",
        "get",
        "need",
        "needed_text",
        "count of a real",
        "count of a flag",
        "label too long",
        "label with a control character",
    ],
)
def test_a_field_of_another_kind_is_refused_and_not_read_as_one(read, found):
    value = {"n": 1, "e": "", "f": 1.0, "t": True, "long": "x" * 201, "bad": "a\0"}
    with pytest.raises(SchemaError, match=found):
        read(Node(value, "a.json"))


def test_null_is_absent():
    root = Node({"x": None}, "a.json")
    assert (root.get("x"), root.text("x"), root.flag("x"), root.label("x"), root.rows("x")) == (
        None, None, None, None, (),
    )  # fmt: skip
