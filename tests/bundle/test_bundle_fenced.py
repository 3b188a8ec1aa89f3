"""Recorded verdicts in one Markdown fence read like bare ones; nothing else is mended."""

from __future__ import annotations

import pytest

from inquesto_core.bundle import read_bundle

BARE = b'{"model": "m", "answers": {"goal_achieved": {"verdict": true}}}'
OTHER = b'{"model": "m", "answers": {"goal_achieved": {"verdict": false}}}'


@pytest.mark.parametrize(
    "data",
    [
        BARE,
        b"```\n" + BARE + b"\n```",
        b"```json\n" + BARE + b"\n```\n",
        b"\n```JSON \r\n" + BARE + b"\n ```",
    ],
    ids=["bare", "fence", "fence-with-language", "fence-with-spaces"],
)
def test_f49_one_fence_around_recorded_verdicts_changes_nothing(write_bundle, data):
    bundle = read_bundle(write_bundle(verdicts=data))
    assert [answer.verdict for answer in bundle.verdicts.answers] == [True]
    assert bundle.problems == ()


@pytest.mark.parametrize(
    "data",
    [
        b"Here is my answer:\n```json\n" + BARE + b"\n```",
        b"```json\n" + BARE + b"\n" + OTHER + b"\n```",
        BARE + OTHER,
        b"```json\n" + BARE[:-1] + b"\n```",
        b"```json\n```json\n" + BARE + b"\n```\n```",
        b"```json\n" + BARE,
    ],
    ids=[
        "prose-before",
        "two-objects-fenced",
        "two-objects",
        "brace-lost",
        "two-fences",
        "open-fence",
    ],
)
def test_f49_anything_else_around_verdicts_is_unparseable(write_bundle, data):
    bundle = read_bundle(write_bundle(verdicts=data))
    assert bundle.verdicts is None
    assert [problem.code for problem in bundle.problems] == ["verdicts_unparseable"]


def test_only_verdicts_are_taken_out_of_a_fence(write_bundle):
    bundle = read_bundle(write_bundle(transcript=b'```json\n{"turns": []}\n```'))
    assert [problem.code for problem in bundle.problems] == ["transcript_unparseable"]
