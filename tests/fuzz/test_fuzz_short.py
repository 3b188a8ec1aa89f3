"""A short form of bin/fuzz: some changed files of every kind, and what the changes do."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest
from fuzz_mutations import mutated

#: Over all kinds, beside one unchanged of each; other seeds than bin/fuzz begins with.
CASES = 150
OPTIONS = ("--seed", "700000", "--workers", "2")


@pytest.fixture(scope="module")
def short_run(project):
    return subprocess.run(
        [sys.executable, "-P", project / "tests/fuzz/fuzz.py", "--cases", str(CASES), *OPTIONS],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def test_changed_files_of_every_kind_are_taken_or_refused_as_they_must(short_run):
    assert short_run.returncode == 0, short_run.stdout + short_run.stderr
    assert ", 0 faults" in short_run.stdout


def test_the_table_has_a_row_for_every_kind(short_run):
    from fuzz_kinds import kinds

    rows = {line.split()[0] for line in short_run.stdout.splitlines() if line}
    assert kinds({}).keys() <= rows


DOCUMENTS = {
    "json": b'{"a": [1, 2.5, "x"], "b": {"c": null, "d": true}}',
    "jsonl": b'{"a": 1}\n{"a": 2}\n',
    "toml": b'a = 1\n[[gate]]\nname = "x"\n',
    "csv": b"call_id,cost\nc1,0.21\nc2,0.3\n",
    "text": b"one\ntwo\n",
    "bytes": b"RIFF\x10\x00\x00\x00WAVEfmt " + bytes(64),
}


@pytest.mark.parametrize("form", DOCUMENTS)
def test_a_seed_makes_the_same_change_again(form):
    made = [
        [changed(form, seed) for seed in range(60)],
        [changed(form, seed) for seed in range(60)],
    ]
    assert made[0] == made[1]
    assert len(set(made[0])) > 20


def changed(form, seed):
    """Return a changed document; what a change of a change cannot do is no change."""
    try:
        return mutated(random.Random(seed), DOCUMENTS[form], form)
    except (TypeError, KeyError, IndexError, ValueError, RecursionError):
        return DOCUMENTS[form]


def test_json_is_changed_into_what_no_reader_of_python_writes():
    made = b"".join(changed("json", seed) for seed in range(3000))
    for wanted in (b"1e400", b"NaN", b"\\ud800", b"../../../outside", "\u202e".encode()):
        assert wanted in made


def test_a_key_can_stand_twice():
    assert any(map(has_a_key_twice, (changed("json", seed) for seed in range(2000))))


def has_a_key_twice(data):
    keys: list[list[str]] = []
    try:
        json.loads(data, object_pairs_hook=lambda pairs: keys.append([key for key, _ in pairs]))
    except (ValueError, RecursionError):
        return False
    return any(len(set(each)) < len(each) for each in keys)
