"""`store stats | verify | prune | forget` as a user runs them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from inquesto_core.canonical import digest_json
from inquesto_core.cli.store import command
from inquesto_core.engine.store_pins import pins_of
from inquesto_core.evidence.store import EvidenceStore
from inquesto_core.protocol import load_protocol, measurement_digest

PINNED = measurement_digest(load_protocol("inquesto-0.1"))
STRANGE = "f" * 64


@pytest.fixture
def folder(tmp_path):
    store = EvidenceStore.open(tmp_path / "EVIDENCE")
    for number, made_by in enumerate((PINNED, PINNED, STRANGE)):
        store.keep(
            "measured",
            digest_json(number),
            {"rows": "x" * 2000},
            call_id=f"+49 151 {number}",
            made_by=made_by,
        )
    store.pack()
    return tmp_path / "EVIDENCE"


def run(*arguments):
    return CliRunner().invoke(
        command, [str(argument) for argument in arguments], standalone_mode=False
    )


def test_stats_count_by_kind_and_pin(folder):
    lines = run("stats", folder).output.splitlines()
    assert lines[0].split() == ["kind", "made", "by", "entries", "calls", "size"]
    found = {tuple(line.split()[:4]) for line in lines[1:]}
    assert found == {("measured", PINNED[:12], "2", "2"), ("measured", STRANGE[:12], "1", "1")}
    assert "151" not in "".join(lines)


def test_an_empty_store_says_so(tmp_path):
    EvidenceStore.open(tmp_path / "EVIDENCE")
    assert run("stats", tmp_path / "EVIDENCE").output == "the store is empty\n"


def test_a_dry_prune_takes_nothing_and_a_prune_what_no_pin_names(folder):
    dry = run("prune", folder, "--dry-run").output
    assert dry.startswith("would take out:") and STRANGE[:12] in dry and PINNED[:12] not in dry
    assert STRANGE[:12] in run("stats", folder).output
    assert run("prune", folder).output.startswith("taken out:")
    assert STRANGE[:12] not in run("stats", folder).output
    assert run("prune", folder).output.startswith("nothing to take out")


def test_every_protocol_here_keeps_what_it_pins():
    assert PINNED in pins_of()
    assert pins_of(("inquesto-0.1",)) <= pins_of()


def test_forget_erases_and_does_not_repeat_the_id(folder):
    done = run("forget", folder, "+49 151 1")
    assert done.output == "1 entry erased; a call of that id is not kept here again\n"
    assert EvidenceStore.of(folder).find("measured", digest_json(1)) is None
    assert run("forget", folder, "nobody").output.startswith(
        "nothing erased: the store held nothing under that id"
    )


def test_verify_names_what_is_damaged_and_ends_with_1(folder):
    whole = run("verify", folder)
    assert (whole.return_value, whole.output) == (0, "every entry is what was written\n")
    (pack,) = EvidenceStore.of(folder).packs()
    pack.place.path.write_bytes(pack.place.read() + b"!")
    name = pack.place.name
    result = run("verify", folder)
    assert result.return_value == 1
    assert f"packs/{name}" in result.output and "[evidence_damaged]" in result.output
