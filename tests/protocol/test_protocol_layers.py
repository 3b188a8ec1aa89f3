"""What a protocol that extends another says, and that its digest holds the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inquesto_core.errors import InquestoError, ProtocolError
from inquesto_core.instruments.rubric import load_rubric
from inquesto_core.protocol import diff_protocols, load_population, load_protocol, released
from inquesto_core.protocol.layers import merged
from inquesto_core.protocol.release import file_digests

BASE = load_protocol("inquesto-0.1")
DRAFT = load_protocol("inquesto-0.2-draft")


def write(folder: Path, **said: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "protocol.json").write_text(json.dumps(said), encoding="utf-8")
    return folder


def test_the_draft_is_not_released_and_says_so_where_it_is_cited() -> None:
    assert DRAFT.status == "draft" and DRAFT.name not in released()
    assert "not released" in DRAFT.label and "not released" in DRAFT.source


def test_the_draft_differs_from_0_1_in_these_rules_and_no_others() -> None:
    names = {"label", "protocol", "source", "version"}
    rules = {
        change.pointer.removeprefix("protocol.json#/"): (change.before, change.after)
        for change in diff_protocols(BASE, DRAFT)
        if not change.pointer.endswith("/criterion")
    }
    assert {name: rule for name, rule in rules.items() if name not in names} == {
        "events/slow_turn/count_silence": ("false", "true"),
        "events/talk_over/count_short": ("true", "false"),
        "events/unverified_action/verification_must_succeed": ("false", "true"),
        "goal/handoff_decided_by": ('"judge"', '"transfer"'),
        "goal/required_arguments_must_match": ("false", "true"),
    }


def test_files_that_the_folder_lacks_are_those_of_the_one_it_extends() -> None:
    assert load_rubric(DRAFT).sha256 == load_rubric(BASE).sha256
    assert load_population("billing-0.1", DRAFT) == load_population("billing-0.1", BASE)
    assert set(file_digests(DRAFT.folder)) == set(file_digests(BASE.folder))


def test_a_file_of_its_own_stands_before_the_extended_one(tmp_path: Path) -> None:
    folder = write(tmp_path / "ours", extends="inquesto-0.1", protocol="ours-1")
    same = load_protocol(folder)
    (folder / "rubric").mkdir()
    (folder / "rubric" / "wrong_info.txt").write_text("Question: other", encoding="utf-8")
    other = load_protocol(folder)
    assert load_rubric(other).text("wrong_info") == "Question: other"
    assert load_rubric(other).text("context_loss") == load_rubric(BASE).text("context_loss")
    assert other.digest != same.digest


def test_the_digest_is_that_of_the_same_content_written_out(edited: Any, tmp_path: Path) -> None:
    change: dict[str, Any] = {"protocol": "ours-1", "fail_at": 4}
    whole = load_protocol(edited("protocol.json", lambda value: value.update(change)))
    short = load_protocol(write(tmp_path / "ours", extends="inquesto-0.1", **change))
    assert short.digest == whole.digest and short.raw == whole.raw


@pytest.mark.parametrize(
    "name", ["inquesto-9", "inquesto-0.2-draft", "../inquesto-0.1", 3, None], ids=str
)
def test_only_a_shipped_protocol_that_extends_none_is_extended(tmp_path: Path, name: Any) -> None:
    with pytest.raises(ProtocolError, match=r"/extends.*protocol_extends"):
        load_protocol(write(tmp_path / "ours", extends=name, protocol="ours-1"))


def test_what_comes_of_both_meets_the_schema(tmp_path: Path) -> None:
    folder = write(tmp_path / "ours", extends="inquesto-0.1", fail_at=9)
    with pytest.raises(InquestoError, match=r"/fail_at"):
        load_protocol(folder)


def test_objects_are_merged_and_lists_replaced() -> None:
    assert merged({"a": {"b": 1, "c": 2}, "d": [1, 2]}, {"a": {"c": 3}, "d": [4]}) == {
        "a": {"b": 1, "c": 3},
        "d": [4],
    }
