"""Regular expressions from outside: Python's own answers, and never a time without bound."""

from __future__ import annotations

import random
import re
import time

import pytest

from inquesto_core import schema
from inquesto_core.errors import SchemaError
from inquesto_core.patterns import MOST_STATES, PatternRefused, compile_pattern

PARTS = (
    "a", "b", "[ab]", "[^a]", ".", r"\d", r"\w", r"\s", "a|b", "(a|ab)", "(?:b|a)*", "a*",
    "b+", "a?", "[a-c]{2,3}", "^", "$", r"\b", r"\B", "(a+)+", "(?:ab?)*?", "1{0,3}", r"\W",
    "(a|b|)*",
)  # fmt: skip


def seconds(do, *given):
    """Return what a call gives, and how much of a processor it took."""
    before = time.process_time()
    return do(*given), time.process_time() - before


def test_all_ways_at_once_find_what_python_finds():
    rng = random.Random(5)
    for _ in range(1500):
        pattern = "".join(rng.choices(PARTS, k=rng.randint(1, 5)))
        text = "".join(rng.choices("aabbc1 _\n", k=rng.randint(0, 8)))
        try:
            wanted = re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), text)
        except re.error:
            continue
        found = compile_pattern(pattern).search(text)
        # That \B is in no empty text changed with Python 3.14.
        assert bool(found) == bool(wanted) or (r"\B" in pattern and not text), (pattern, text)


@pytest.mark.parametrize(
    "pattern",
    [
        "^(a+)+$",
        "(a|aa)+$",
        "(a*)*b",
        "(.*)*x",
        "(a|a)(a|a)*$|b",
        "a*a*a*a*a*b",
        "(a?){30}a{30}$",
        "a+$",
    ],
)
def test_no_pattern_tries_without_end(pattern):
    _, took_s = seconds(compile_pattern(pattern).search, "a" * 20_000 + "!")
    assert took_s < 8


@pytest.mark.parametrize(
    "pattern",
    ["(", "a{9,1}", "a{1,99999999999}", "(?=a+)b*", r"(a+)\1", "((a{1,99}){1,99}){1,99}",
     "(" * 1500,     "a" * 2001],
)  # fmt: skip
def test_what_is_no_pattern_or_cannot_be_followed_is_refused(pattern):
    with pytest.raises(PatternRefused):
        compile_pattern(pattern)


def test_a_pattern_may_have_as_many_states_as_are_allowed_and_no_more():
    few = MOST_STATES // 2 - 10
    assert compile_pattern(f"(a|b)*c{{{few}}}").search("c" * few)
    with pytest.raises(PatternRefused, match="too long"):
        compile_pattern(f"(a|b)*c{{{MOST_STATES}}}")


@pytest.mark.parametrize("pattern", [r"^(?=.)a", r"(a)\1", "a{3}", "[ab]c"])
def test_a_pattern_without_a_choice_is_pythons_own(pattern):
    assert isinstance(compile_pattern(pattern), re.Pattern)


BOMB = "^(([a-z])+.)+$"
LETTERS = "a" * 3000


@pytest.mark.parametrize(
    ("law", "value"),
    [
        ({"pattern": BOMB}, LETTERS + "\n"),
        ({"patternProperties": {BOMB: False}}, {LETTERS + "\n": 1}),
        ({"patternProperties": {BOMB: True}, "additionalProperties": True}, {LETTERS + "\n": 1}),
    ],
    ids=["text", "name", "other names"],
)
def test_a_schema_with_a_bomb_is_decided(law, value):
    _, took_s = seconds(schema.closed_validator(law).is_valid, value)
    assert took_s < 8


@pytest.mark.parametrize(
    ("value", "holds"),
    [({"x-a": 1}, True), ({"x-a": "1"}, False), ({"b": 1}, True), ({"c": 1}, False), ({}, True)],
)
def test_names_by_pattern_and_all_others_are_told_apart(value, holds):
    law = {
        "properties": {"b": {}},
        "patternProperties": {"^x-[a-z]+$": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert schema.closed_validator(law).is_valid(value) == holds


def test_a_pattern_that_the_validator_would_use_itself_is_refused():
    law = {"patternProperties": {"a+b+": {}}, "unevaluatedProperties": False}
    with pytest.raises(SchemaError, match="unevaluatedProperties"):
        schema.closed_validator(law)
