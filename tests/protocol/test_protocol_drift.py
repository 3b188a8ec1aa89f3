"""No value of a shipped protocol changes unnoticed: draft or released."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from inquesto_core.canonical import strict_json
from inquesto_core.protocol.difference import Change, changes, leaf_values
from inquesto_core.protocol.load import protocol_names
from inquesto_core.shipped import protocols_folder

HERE = Path(__file__).parent
HOW = "if this is meant: PYTHONPATH=. python tests/protocol/accept_drift.py, and commit its diff"


def describe(name: str, drift: tuple[Change, ...]) -> str:
    lines = [f"{c.pointer}: was {c.before}, is {c.after}" for c in drift]
    return "\n".join([f"{name} changed:", *lines, HOW])


@pytest.mark.parametrize("name", protocol_names())
def test_a_shipped_protocol_says_what_was_last_accepted(name: str) -> None:
    file = HERE / "drift" / f"{name}.json"
    accepted = strict_json(file.read_bytes(), file=file.name) if file.exists() else {}
    drift = changes(accepted, leaf_values(protocols_folder() / name))
    assert not drift, describe(name, drift)


def test_drift_is_told_as_pointer_was_is_and_what_to_do() -> None:
    drift = changes({"protocol.json#/fail_at": "3"}, {"protocol.json#/fail_at": "4"})
    said = describe("inquesto-0.1", drift)
    assert "protocol.json#/fail_at: was 3, is 4" in said
    assert "accept_drift.py" in said


def test_every_accepted_file_belongs_to_a_shipped_protocol() -> None:
    assert {path.stem for path in (HERE / "drift").iterdir()} == set(protocol_names())


def test_accepting_twice_writes_the_same_bytes(tmp_path: Path) -> None:
    main = runpy.run_path(str(HERE / "accept_drift.py"))["main"]
    main(tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    main(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    assert set(first) == {f"{name}.json" for name in protocol_names()}
