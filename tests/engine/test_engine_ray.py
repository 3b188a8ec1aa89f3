"""On a Ray cluster of two machines, one of which is lost: the same bytes as on one machine."""

from __future__ import annotations

import importlib.util
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from inquesto_core import engine

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: extra `ray`"
)

_OURS = "INQUESTO_TEST_NODE"
#: A cluster's machines know each other by a token.
_TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
_HEAD = ("--head", "--port=0", "--include-dashboard=false")


class Cluster:
    """Nodes of a cluster, all on this machine, each with one processor."""

    def __init__(self, project: Path) -> None:
        # A socket's path may not be long.
        self.folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
        self.project = project
        said = self._start("head", *_HEAD, f"--temp-dir={self.folder}")
        self.address = re.search(r"--address='([^']+)'", said)[1]
        self.add("other")

    def add(self, name: str) -> None:
        self._start(name, f"--address={self.address}")

    def _start(self, name: str, *arguments: str) -> str:
        start = "from ray.scripts.scripts import main; main()"
        # Not a pipe: the node's processes would hold it open.
        with tempfile.TemporaryFile("w+") as told:
            done = subprocess.run(
                [
                    *(sys.executable, "-P", "-c", start, "start", "--num-cpus=1"),
                    *("--disable-usage-stats", *arguments),
                ],
                env={
                    **os.environ,
                    **_TOKEN,
                    "PYTHONPATH": str(self.project),
                    _OURS: f"{self.folder}/{name}",
                },
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=120,
            )
            told.seek(0)
            said = told.read()
        assert done.returncode == 0, said
        return said

    def kill(self, name: str = "") -> None:
        """End every process of a node, or of all, at once, as a machine that fails does."""
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                told = path.read_bytes()
            except OSError:
                continue
            if f"{_OURS}={self.folder}/{name}".encode() in told:
                os.kill(int(path.parent.name), signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster(project):
    if not Path("/proc/self/environ").exists():
        pytest.skip("without /proc the processes of a node cannot be told from others")
    made = Cluster(project)
    yield made
    made.kill()
    shutil.rmtree(made.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def whole(six_calls, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "RUN"
    engine.score([six_calls], out=out, workers=1)
    return tables(out)


def tables(run):
    return {path.name: path.read_bytes() for path in [run / "record.json", *run.rglob("*.parquet")]}


def test_a_cluster_gives_the_same_bytes_though_one_of_its_machines_is_lost(
    cluster, commands, whole, six_calls, tmp_path
):
    on_ray = ("score", six_calls, "--executor", "ray", "--address", cluster.address)
    code, _, said = commands.run(*on_ray, "--out", tmp_path / "BOTH", **_TOKEN)
    assert code in (0, 4), said
    assert tables(tmp_path / "BOTH") == whole

    out = tmp_path / "ONE"
    process = commands.start(*on_ray, "--out", out, "--workers", "2", **_TOKEN)
    wait_for(1, out / "unfinished", process)
    cluster.kill("other")
    _, said = process.communicate(timeout=300)
    assert process.returncode == code, said
    assert tables(out) == whole
    cluster.add("other")


def wait_for(n_kept, store, process):
    """Wait until so many calls are kept, or the process has ended."""
    until = time.monotonic() + 120
    while len([*store.glob("loose/*/*.*")]) < n_kept and process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_cluster_of_the_run_alone_ends_with_it(commands, whole, six_calls, tmp_path):
    on_ray = ("score", six_calls, "--executor", "ray", "--workers", "2", "--json")
    code, printed, said = commands.run(*on_ray, "--out", tmp_path / "RUN")
    assert code in (0, 4), said
    assert printed.encode() == whole["record.json"]
    assert commands.left_after(20) == []

    process = commands.start(*on_ray, "--out", tmp_path / "KILLED")
    wait_for(1, tmp_path / "KILLED" / "unfinished", process)
    process.kill()
    process.communicate()
    assert commands.left_after(20) == []


def test_a_cluster_that_is_not_there_is_one_line_and_4(commands, six_calls, tmp_path):
    code, printed, said = commands.run(
        *("score", six_calls, "--executor", "ray", "--address", "127.0.0.1:1"),
        *("--out", tmp_path / "RUN"),
    )
    assert (code, printed) == (4, "")
    assert "[cluster_unreachable]" in said.splitlines()[-1]
    assert "Traceback" not in said


@pytest.mark.slow
def test_killed_at_ten_moments_a_run_on_a_cluster_goes_on_to_the_same_bytes(
    cluster, commands, whole, six_calls, tmp_path
):
    on_ray = ("score", six_calls, "--executor", "ray", "--address", cluster.address)
    began = time.monotonic()
    commands.run(*on_ray, "--out", tmp_path / "WHOLE", **_TOKEN)
    longest = time.monotonic() - began
    moments = random.Random("ray")
    for at in range(10):
        out = tmp_path / f"RUN{at}"
        process = commands.start(*on_ray, "--out", out, **_TOKEN)
        time.sleep(moments.uniform(0, longest))
        process.kill()
        process.communicate()
        assert commands.left_after(20) == []
        commands.run(*on_ray, "--out", out, **_TOKEN)
        assert tables(out) == whole, at
