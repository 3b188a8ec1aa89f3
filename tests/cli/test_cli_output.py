"""A reader who stops reading (``| head -1``) stops nothing and is told nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def calls(project, tmp_path_factory):
    """Return a folder with one sample call, and its population."""
    folder = tmp_path_factory.mktemp("calls")
    samples = project / "sample_records"
    shutil.copy(samples / "population.json", folder)
    first = min(path.parent for path in samples.rglob("*-clean/call.json"))
    shutil.copytree(first, folder / first.name)
    return folder


def command(project, *arguments, **streams):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "inquesto_core", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(project)},
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )
    return done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode()


@pytest.fixture
def closed_pipe():
    """Return the writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.fixture(scope="module")
def scored(project, calls):
    """Return exit code and record of a run whose output is read to the end."""
    code, _, _ = command(project, "score", calls, "--out", calls / "read", "--workers", "1")
    return code, (calls / "read" / "record.json").read_bytes()


@pytest.mark.parametrize("streams", [("stdout",), ("stderr",), ("stdout", "stderr")], ids="+".join)
def test_a_run_whose_output_nobody_reads_is_written_whole(
    project, calls, scored, closed_pipe, tmp_path, streams
):
    closed = dict.fromkeys(streams, closed_pipe)
    run = tmp_path / "RUN"
    code, printed, told = command(project, "score", calls, "--out", run, "--workers", "1", **closed)
    assert (code, (run / "record.json").read_bytes()) == scored
    assert not (run / "unfinished").exists()
    assert not re.search("Traceback|Broken|Exception|Error", printed + told)


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("protocol", "show"), ("protocol", "list"), ("score", "--help")],
    ids=" ".join,
)
def test_any_command_ends_quietly_where_its_reader_has_left(project, closed_pipe, arguments):
    assert command(project, *arguments, stdout=closed_pipe) == (0, "", "")


def test_an_error_that_nobody_reads_keeps_its_exit_code(project, closed_pipe):
    assert command(project, "protocol", "show", "inquesto-9", stderr=closed_pipe) == (2, "", "")
    assert command(project, "score", stderr=closed_pipe)[0] == 2
