"""A released folder is held to its digest; a draft is never listed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inquesto_core.errors import ProtocolError, SchemaError
from inquesto_core.protocol.load import load_any_protocol, load_protocol, protocol_names
from inquesto_core.protocol.release import (
    check_release,
    file_digests,
    protocol_digest,
    protocol_files,
    released,
)

NAME = "inquesto-0.1"


def unchanged(_: dict[str, Any]) -> None:
    return None


def test_every_shipped_protocol_agrees_with_the_list_of_releases() -> None:
    listed = released()
    assert set(listed) <= set(protocol_names())
    for name in protocol_names():
        protocol = load_any_protocol(name)
        assert (protocol.status == "released") == (name in listed)
        check_release(protocol)


def test_a_released_protocol_with_its_digest_passes() -> None:
    protocol = replace(load_protocol(NAME), status="released")
    check_release(protocol, digests={NAME: protocol.digest})


def test_a_released_protocol_that_changed_is_refused() -> None:
    protocol = replace(load_protocol(NAME), status="released")
    with pytest.raises(ProtocolError, match=r"expected 0{64}, as released.*release_changed"):
        check_release(protocol, digests={NAME: "0" * 64})


def test_a_release_without_a_line_is_refused() -> None:
    protocol = replace(load_protocol(NAME), status="released")
    with pytest.raises(ProtocolError, match="release_missing"):
        check_release(protocol, digests={})


def test_a_draft_under_a_released_name_is_refused_even_with_the_right_digest() -> None:
    protocol = load_protocol(NAME)
    with pytest.raises(ProtocolError, match="release_draft"):
        check_release(protocol, digests={NAME: protocol.digest})


def test_a_folder_cannot_call_itself_released(edited: Any) -> None:
    folder = edited("protocol.json", lambda p: p.update(protocol="mine-1.0", status="released"))
    with pytest.raises(ProtocolError, match=r"mine-1\.0.*release_missing"):
        load_protocol(folder)


def test_white_space_key_order_and_the_readme_are_outside_the_digest(edited: Any) -> None:
    folder: Path = edited("protocol.json", unchanged)
    before = protocol_digest(folder)
    value = json.loads((folder / "protocol.json").read_text(encoding="utf-8"))
    turned = dict(reversed(value.items()))
    (folder / "protocol.json").write_text(json.dumps(turned), encoding="utf-8")
    (folder / "README.md").write_text("other words", encoding="utf-8")
    (folder / ".hidden").write_text("left by a file browser", encoding="utf-8")
    assert protocol_digest(folder) == before == load_protocol(NAME).digest


@pytest.mark.parametrize("path", ["rubric/goal.txt", "populations/README.md", "notes.md"])
def test_any_other_file_is_inside_the_digest_by_its_bytes(edited: Any, path: str) -> None:
    folder: Path = edited("protocol.json", unchanged)
    without = protocol_digest(folder)
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text("Was the goal achieved?", encoding="utf-8")
    first = protocol_digest(folder)
    (folder / path).write_text("Was the goal achieved? ", encoding="utf-8")
    assert len({without, first, protocol_digest(folder)}) == 3


def test_the_digest_is_that_of_paths_and_file_digests(edited: Any) -> None:
    import hashlib

    folder: Path = edited("protocol.json", unchanged)
    apart = [file for file in protocol_files(folder) if not file.startswith("rubric/")]
    assert apart == ["foreground.json", "populations/billing-0.1.json", "protocol.json"]
    assert "rubric/wrong_info.txt" in protocol_files(folder)
    listing = json.dumps(file_digests(folder), sort_keys=True, separators=(",", ":"))
    assert protocol_digest(folder) == hashlib.sha256(listing.encode()).hexdigest()


def test_a_link_in_a_protocol_folder_is_refused(edited: Any, tmp_path: Path) -> None:
    folder: Path = edited("protocol.json", unchanged)
    (tmp_path / "outside.txt").write_text("x", encoding="utf-8")
    (folder / "rubric.txt").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(ProtocolError, match=r"rubric\.txt is a symbolic link.*protocol_link"):
        protocol_digest(folder)


def test_a_broken_json_file_anywhere_in_the_folder_is_refused(edited: Any) -> None:
    folder: Path = edited("protocol.json", unchanged)
    (folder / "extra.json").write_text('{"a": 1, "a": 2}', encoding="utf-8")
    with pytest.raises(SchemaError, match=r"extra\.json.*json_invalid"):
        load_protocol(folder)


def test_the_list_reads_lines_and_comments(tmp_path: Path) -> None:
    text = f"# name and digest\n\n{NAME} {'a' * 64}\ninquesto-0.2 {'b' * 64}\n"
    (tmp_path / "RELEASED").write_text(text, encoding="utf-8")
    assert released(tmp_path) == {NAME: "a" * 64, "inquesto-0.2": "b" * 64}


@pytest.mark.parametrize(
    "line",
    [
        f"{NAME} {'a' * 63}",
        f"{NAME} {'A' * 64}",
        f"{NAME}  {'a' * 64}",
        NAME,
        f"{NAME} {'a' * 64} again",
        f"{NAME} {'a' * 64}\n{NAME} {'a' * 64}",
    ],
    ids=["short_digest", "upper_case", "two_spaces", "no_digest", "three_words", "name_twice"],
)
def test_a_malformed_line_of_the_list_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "RELEASED").write_text(f"# list\n{line}\n", encoding="utf-8")
    with pytest.raises(ProtocolError, match=r"RELEASED line [23] .*released_invalid"):
        released(tmp_path)


def test_a_missing_list_is_an_error_and_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match=r"RELEASED cannot be read.*protocol_unreadable"):
        released(tmp_path)
