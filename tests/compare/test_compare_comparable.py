from __future__ import annotations

from dataclasses import replace

import pytest

from inquesto_core.compare.comparable import (
    Standing,
    differing_circumstances,
    refuse_incomparable,
)
from inquesto_core.errors import IncomparableError

STANDING = Standing(
    protocol=("inquesto-0.1", "5" * 64),
    population=("billing-0.1", "9" * 64),
    judge=("pinned", None, "gemma", "a" * 64),
    rubric="b" * 64,
    timing="measured",
    transcriber=("none", None, None, None),
    engine="0.1.0",
)


def test_two_runs_on_the_same_ground_are_comparable():
    refuse_incomparable(STANDING, replace(STANDING, engine="0.2.0"))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"protocol": ("inquesto-0.2", "6" * 64)}, "protocol: inquesto-0.1 SHA-256 55555555… and"),
        ({"protocol": ("inquesto-0.1", "6" * 64)}, "inquesto-0.1 SHA-256 66666666…"),
        ({"population": ("billing-0.1", "8" * 64)}, "population: billing-0.1 SHA-256 99999999…"),
        ({"judge": ("none", None, None, None)}, "judge: pinned gemma SHA-256 aaaaaaaa… and none"),
        ({"judge": ("pinned", None, "gemma", "c" * 64)}, "SHA-256 cccccccc…"),
        ({"rubric": "d" * 64}, "rubric: SHA-256 bbbbbbbb… and SHA-256 dddddddd…"),
        ({"timing": "reported"}, "timing: measured and reported"),
    ],
)
def test_what_differs_is_said_and_what_would_make_it_the_same(other, said):
    with pytest.raises(IncomparableError, match="runs_not_comparable") as caught:
        refuse_incomparable(STANDING, replace(STANDING, **other))
    assert said in caught.value.problem.found
    assert caught.value.problem.remedy


def test_all_that_differs_is_said_at_once():
    other = replace(STANDING, timing="reported", judge=("none", None, None, None))
    with pytest.raises(IncomparableError, match=r"judge: .*; timing: "):
        refuse_incomparable(STANDING, other)


def test_what_a_judge_would_be_asked_with_is_no_difference_without_a_judge():
    nobody = replace(STANDING, judge=("none", None, None, None))
    refuse_incomparable(nobody, replace(nobody, rubric="d" * 64))


def test_what_does_not_forbid_a_comparison_is_noted():
    other = replace(STANDING, engine="0.2.0", transcriber=("pinned", None, "whisper", "e" * 64))
    notes = differing_circumstances(STANDING, other)
    assert notes == (
        "the transcriber differs: none and pinned whisper SHA-256 eeeeeeee…",
        "scored by different versions: 0.1.0 and 0.2.0",
    )
    assert differing_circumstances(STANDING, STANDING) == ()
