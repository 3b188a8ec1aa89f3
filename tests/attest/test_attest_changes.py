"""One changed byte anywhere is found, and what is named is what was changed."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from inquesto_core import engine
from inquesto_core.engine.attest import SEAL_FILE
from inquesto_core.instruments.vad import find_model
from inquesto_core.protocol import load_protocol
from inquesto_core.shipped import protocols_folder

PROTOCOL = "inquesto-0.1"
README = "README.md"


def files_of(sealed, protocol, models):
    """Return what can be changed, by kind: where it lies, and how a fault names it."""
    run = sealed.run
    evidence = [*run.glob("*.parquet"), *run.glob("evidence/*.parquet")]
    law = [path for path in protocol.rglob("*") if path.is_file() and path.name != README]
    bundles = [path for path in sealed.calls.glob("*/*") if path.name != "truth.json"]
    return {
        "record": [(path, f"records/{path.name}") for path in sorted(run.glob("records/*.json"))],
        "evidence": [(path, path.relative_to(run).as_posix()) for path in sorted(evidence)],
        "statement": [(run / SEAL_FILE, SEAL_FILE)],
        "manifest": [(run / "manifest.json", "manifest.json")],
        "population": [(run / "population.json", "population.json")],
        "protocol": [
            (path, f"protocol/{PROTOCOL}/{path.relative_to(protocol).as_posix()}")
            for path in sorted(law)
        ],
        "bundle": [(path, f"{path.parent.name}: {path.name}") for path in sorted(bundles)],
        "model": [(models, "model/silero-vad")],
    }


def change_a_byte(path: Path, chance: random.Random) -> int:
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= chance.randrange(1, 256)
    path.write_bytes(data)
    return at


@pytest.fixture
def places(sealed_once, tmp_path, monkeypatch):
    """Return a copy of everything that can be changed; models are found in the copy."""
    sealed = sealed_once.copy(tmp_path)
    protocol = tmp_path / PROTOCOL
    shutil.copytree(protocols_folder() / PROTOCOL, protocol)
    model = find_model(load_protocol(PROTOCOL).instruments.vad)
    package = tmp_path / "models" / "silero_vad"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copy(model, package / "data")
    monkeypatch.syspath_prepend(tmp_path / "models")
    return sealed, protocol, package / "data" / model.name


def faults_of(sealed, protocol, kind, path):
    is_deep = kind == "bundle"
    done = engine.verify(
        sealed.run,
        keys=[sealed.pub],
        protocol=protocol,
        deep=is_deep,
        sources=[path.parent] if is_deep else [],
    )
    return [line for check in done.checks if check.outcome == "failed" for line in check.faults]


def check_changes(places, count, seed):
    sealed, protocol, model = places
    chance = random.Random(seed)
    held = files_of(sealed, protocol, model)
    assert all(held.values())
    assert faults_of(sealed, protocol, "run", sealed.run) == []
    kinds = sorted(held)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        path, name = chance.choice(held[kind])
        before = path.read_bytes()
        at = change_a_byte(path, chance)
        found = faults_of(sealed, protocol, kind, path)
        assert found, f"{name}: a change of byte {at} was not found"
        wrong = [line for line in found if not line.startswith(name)]
        assert not wrong, f"{name}: a change of byte {at} was told as {wrong}"
        path.write_bytes(before)


def test_each_of_16_changed_bytes_is_found_and_named(places):
    check_changes(places, 16, seed=1)


@pytest.mark.slow
def test_each_of_200_changed_bytes_is_found_and_named(places):
    check_changes(places, 200, seed=20261130)


def test_a_bundle_whose_id_was_changed_is_known_again_by_its_other_files(places):
    sealed, protocol, _ = places
    path = sealed.calls / "hasty-023-escalate_refund-clean" / "call.json"
    path.write_text(path.read_text().replace('"hasty-023', '"hasty-923'))
    assert faults_of(sealed, protocol, "bundle", path) == [
        "hasty-023-escalate_refund-clean: call.json is not the file that was scored"
    ]


def test_a_part_that_a_bundle_did_not_have_is_named(places):
    sealed, protocol, _ = places
    folder = sealed.calls / "hasty-023-escalate_refund-clean"
    (folder / "timing.json").write_text('{"source": "platform", "turns": []}')
    assert faults_of(sealed, protocol, "bundle", folder / "timing.json") == [
        "hasty-023-escalate_refund-clean: timing.json was not there when it was scored"
    ]


def test_a_file_that_is_gone_and_one_that_came_are_named(places):
    sealed, protocol, _ = places
    (sealed.run / "evidence" / "segments.parquet").rename(sealed.run / "evidence" / "odd.parquet")
    assert faults_of(sealed, protocol, "run", sealed.run) == [
        "evidence/segments.parquet: is not there",
        "evidence/odd.parquet: lies in the run and was never part of it",
    ]
