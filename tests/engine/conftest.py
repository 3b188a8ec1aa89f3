"""Six short calls, and commands in processes of their own that can be killed and accounted for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

#: Six of the shortest sample calls.
SIX = (
    "hasty-006-cancel_sub-telephone",
    "steady-003-dup_charge-telephone",
    "hasty-016-change_email-clean",
    "hasty-021-confirm_payment-telephone",
    "hasty-023-escalate_refund-clean",
    "hasty-028-impostor-dup_charge-telephone",
)
_MARK = "INQUESTO_TEST_MARK"


@pytest.fixture(scope="session")
def six_calls(project, tmp_path_factory):
    """Return a folder of six sample calls of two agents, made one."""
    folder = tmp_path_factory.mktemp("six") / "calls"
    for name in SIX:
        source = project / "sample_records" / name.partition("-")[0] / name
        shutil.copytree(source, folder / name)
        call = json.loads((folder / name / "call.json").read_bytes())
        call["agent"] = {"name": "one", "fingerprint": "sha256:" + "1" * 64, "config": {}}
        (folder / name / "call.json").write_text(json.dumps(call), encoding="utf-8")
    shutil.copy(project / "sample_records" / "population.json", folder)
    return folder


class Commands:
    """Commands whose processes, and all that they start, can be told from any other."""

    def __init__(self, project: Path, interpreter: str = sys.executable) -> None:
        self.project, self.interpreter = project, interpreter
        self.mark = uuid.uuid4().hex

    def start(self, *arguments, **environment) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.interpreter, "-P", "-m", "inquesto_core", *map(str, arguments)],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(
                    [str(self.project), os.environ.get("PYTHONPATH", "")]
                ),
                _MARK: self.mark,
                **environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments, **environment) -> tuple[int, str, str]:
        with self.start(*arguments, **environment) as process:
            printed, said = process.communicate(timeout=600)
        return process.returncode, printed, said

    def running(self) -> list[int]:
        """Return the processes of these commands; where there is no /proc, nobody can tell."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                is_ours = f"{_MARK}={self.mark}".encode() in path.read_bytes().split(b"\0")
            except OSError:
                continue
            if is_ours and path.with_name("stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(int(path.parent.name))
        return found

    def left_after(self, seconds: float) -> list[int]:
        """Return what still runs after at most so long."""
        until = time.monotonic() + seconds
        while (found := self.running()) and time.monotonic() < until:
            time.sleep(0.05)
        return found


@pytest.fixture
def commands(project):
    """Return commands, none of which outlives the test."""
    made = Commands(project)
    yield made
    for process in made.running():
        os.kill(process, 9)
