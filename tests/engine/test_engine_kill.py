"""No work is lost and nothing runs on, whatever ends a run: a kill, Ctrl-C, a full disk."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest

from inquesto_core import engine
from inquesto_core.evidence.store import EvidenceStore

#: A protocol that measures differently, so that rescore measures all calls anew.
OTHERWISE = {
    "extends": "inquesto-0.1",
    "protocol": "ours-1",
    "instruments": {"not_speech": {"max_vad_share": 0.49}},
}
INTERRUPTED = "inquesto-core: interrupted; run it again: what was done is kept\n"


@pytest.fixture(scope="module")
def scored(six_calls, tmp_path_factory):
    out = tmp_path_factory.mktemp("scored") / "RUN"
    engine.score([six_calls], out=out, workers=2)
    return out


@pytest.fixture(scope="module")
def law(tmp_path_factory):
    folder = tmp_path_factory.mktemp("law")
    (folder / "protocol.json").write_text(json.dumps(OTHERWISE), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def rescored(scored, six_calls, law, tmp_path_factory):
    out = tmp_path_factory.mktemp("rescored") / "RUN"
    engine.rescore(scored, protocol=law, out=out, sources=[six_calls], workers=2)
    return out


def command_of(name, scored, six_calls, law):
    if name == "score":
        return ("score", six_calls, "--workers", "2")
    return ("rescore", scored, "--protocol", law, "--source", six_calls, "--workers", "2")


def tables(run):
    return {path.name: path.read_bytes() for path in [run / "record.json", *run.rglob("*.parquet")]}


def kill_when(commands, n_kept, seconds, out, command):
    """Start a command; kill its first process so long after so many calls are kept."""
    process = commands.start(*command)
    wait_for(n_kept, out / "unfinished", process)
    time.sleep(seconds)
    process.kill()
    process.communicate()


def wait_for(n_kept, store, process):
    """Wait until so many calls are kept, or the process has ended."""
    until = time.monotonic() + 120
    while len([*store.glob("loose/*/*.*")]) < n_kept and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["score", "rescore"])
def test_killed_again_and_again_a_run_goes_on_to_the_same_bytes(
    name, commands, scored, rescored, six_calls, law, tmp_path
):
    out = tmp_path / "RUN"
    command = (*command_of(name, scored, six_calls, law), "--out", out)
    moments = random.Random(name)
    for n_kept in (0, 1, 3, 6):
        kill_when(commands, n_kept, moments.uniform(0, 0.3), out, command)
        assert commands.left_after(5) == []
    commands.run(*command)
    assert tables(out) == tables(scored if name == "score" else rescored)
    assert not [*out.rglob("*.tmp")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["score", "rescore"])
def test_killed_at_any_moment_a_run_goes_on_to_the_same_bytes(
    name, commands, scored, rescored, six_calls, law, tmp_path
):
    whole = tables(scored if name == "score" else rescored)
    began = time.monotonic()
    command = command_of(name, scored, six_calls, law)
    commands.run(*command, "--out", tmp_path / "WHOLE")
    longest = time.monotonic() - began
    moments = random.Random(name)
    for at in range(40):
        out = tmp_path / f"RUN{at}"
        kill_when(commands, 0, moments.uniform(0, longest), out, (*command, "--out", out))
        assert commands.left_after(5) == []
        commands.run(*command, "--out", out)
        assert tables(out) == whole, at
        shutil.rmtree(out)


@pytest.mark.parametrize("to_all", [False, True], ids=["to the command", "to its whole group"])
def test_ctrl_c_is_one_line_and_130_and_what_was_measured_is_kept(
    to_all, commands, scored, six_calls, tmp_path
):
    out, store = tmp_path / "RUN", tmp_path / "STORE"
    command = ("score", six_calls, "--workers", "2", "--out", out, "--store", store)
    process = commands.start(*command)
    wait_for(1, store, process)
    (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    lines = [line for line in said.splitlines() if not line.startswith("measured ")]
    assert lines == [INTERRUPTED.strip()]
    assert commands.left_after(5) == []
    assert list(EvidenceStore.of(store).loose_files())
    assert not (out / "record.json").exists()
    if to_all:
        commands.run(*command)
        assert (out / "record.json").read_bytes() == (scored / "record.json").read_bytes()


SMALL_DISK = """
mount -t tmpfs -o size=$2 none "$1" && shift 2 && exec "$@"
"""


def on_a_small_disk(folder, size, *command):
    return [
        "unshare",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        SMALL_DISK,
        "sh",
        folder,
        size,
        *command,
    ]


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    probe = on_a_small_disk(folder, "64k", "true")
    if shutil.which("unshare") is None or subprocess.run(probe, check=False).returncode:
        pytest.skip("this machine lets no user mount a small disk of their own (unshare -rm)")
    return folder


@pytest.mark.parametrize("size", ["64k", "192k"])
def test_a_full_disk_is_one_line_and_5(size, commands, six_calls, disk, project):
    done = subprocess.run(
        on_a_small_disk(
            disk,
            size,
            *(commands.interpreter, "-P", "-m", "inquesto_core", "score", six_calls),
            *("--out", disk / "RUN", "--workers", "2"),
        ),
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = [line for line in done.stderr.splitlines() if not line.startswith("measured ")]
    assert done.returncode == 5, done.stderr
    assert len(lines) == 1
    assert re.search(r"No space left on device|as on a full disk", lines[0])
    assert re.search(r"\[(store|run)_unwritable\]", lines[0])


READ_ONLY = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"
"""


def test_a_read_only_store_is_one_line_and_5(commands, six_calls, disk, project, tmp_path):
    store = tmp_path / "STORE"
    EvidenceStore.open(store)
    done = subprocess.run(
        [
            *("unshare", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh", store),
            *(commands.interpreter, "-P", "-m", "inquesto_core", "score", six_calls),
            *("--out", tmp_path / "RUN", "--store", store, "--workers", "2"),
        ],
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 5, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("measured ")]
    assert "Read-only file system" in line
    assert "[store_unwritable]" in line
