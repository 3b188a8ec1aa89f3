"""Nothing but `models pull` opens a connection: neither through Python nor below it.

What is reached where the user allows a scheme is tried in tests/places.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

#: Loaded by every Python that is started with it on the path, worker processes included: a call
#: for a connection is written down, so that no one can swallow it, and refused.
GUARD = """
import os, socket, sys

def refuse(event, arguments):
    if event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        told = f"{event} {arguments[:2]}"
    elif event in {"socket.connect", "socket.bind"} and arguments[0].family != socket.AF_UNIX:
        told = f"{event} {arguments[1]}"
    else:
        return
    with open(os.environ["TOLD"], "a") as file:
        file.write(told + "\\n")
    raise OSError("refused by the test")

sys.addaudithook(refuse)
"""


@pytest.fixture(scope="module")
def calls(twelve_calls, tmp_path_factory):
    """Return a folder of two sample calls whose population expects them and no others."""
    folder = tmp_path_factory.mktemp("offline") / "calls"
    population = json.loads((twelve_calls / "population.json").read_bytes())
    taken = sorted(path for path in twelve_calls.iterdir() if path.is_dir())[:2]
    for path in taken:
        shutil.copytree(path, folder / path.name)
    population["design"]["cells"] = population["design"]["cells"][:2]  # in the same order
    (folder / "population.json").write_text(json.dumps(population), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("offline-run") / "RUN"


#: Runs commands one after the other in one process, and prints their exit codes last.
COMMANDS = """
import json, sys
from inquesto_core import cli

if __name__ == "__main__":
    codes = []
    for arguments in json.loads(sys.argv[1]):
        try:
            cli.main(arguments)
        except SystemExit as exc:
            codes.append(exc.code)
    print(json.dumps(codes))
"""


def run_commands(project, folder, *commands, before=(), **environment):
    """Return the exit codes of commands, and what they printed; `before` is what runs them."""
    script = folder / "commands.py"
    script.write_text(COMMANDS)
    done = subprocess.run(
        [*before, sys.executable, "-P", script, json.dumps(commands, default=str)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(project), **environment},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stdout + done.stderr


def under_guard(project, folder, *commands):
    """Run commands under the guard, with an empty home; return also what the guard refused."""
    (folder / "guard").mkdir()
    (folder / "guard" / "sitecustomize.py").write_text(GUARD)
    told = folder / "told"
    told.write_text("")
    codes, said = run_commands(
        project,
        folder,
        *commands,
        PYTHONPATH=os.pathsep.join([str(folder / "guard"), str(project)]),
        TOLD=str(told),
        HOME=str(folder / "home"),
    )
    return codes, said, told.read_text()


def test_every_command_but_pull_works_without_a_connection(project, tmp_path, calls, run_folder):
    call_id = next(path.name for path in sorted(calls.iterdir()) if path.is_dir())
    codes, said, refused = under_guard(
        project,
        tmp_path,
        ("score", calls, "--out", run_folder, "--workers", "2"),
        ("validate", calls),
        ("explain", run_folder, call_id),
        ("models", "list"),
        ("models", "verify"),  # exits with 4: the home is empty
        ("protocol", "list"),
        ("protocol", "show", "inquesto-0.1"),
        ("--help",),
        ("validate", "s3://bucket/calls"),  # not allowed: a usage error
        ("store", "stats", "s3://bucket/store"),
    )
    assert codes == [0, 0, 0, 0, 4, 0, 0, 0, 2, 2], said
    assert refused == ""


def test_no_runtime_reports_a_run_to_its_makers(project, tmp_path, calls):
    """A runtime that does so keeps a number for the machine in the user's cache folder."""
    home = tmp_path / "home"
    home.mkdir()
    codes, said = run_commands(
        project,
        tmp_path,
        ("score", calls, "--out", tmp_path / "RUN", "--workers", "1"),
        HOME=str(home),
        XDG_CACHE_HOME=str(home / "cache"),
    )
    assert codes == [0], said
    assert list(home.rglob("*")) == []


def test_ray_is_imported_by_its_executor_alone(project, tmp_path, calls):
    """With a ray in its place that ends whoever imports it, workers included."""
    (tmp_path / "ray.py").write_text("import os; os._exit(9)\n")
    codes, said = run_commands(
        project,
        tmp_path,
        ("score", calls, "--out", tmp_path / "RUN", "--workers", "2"),
        PYTHONPATH=os.pathsep.join([str(tmp_path), str(project)]),
    )
    assert codes == [0], said


def test_pull_alone_asks_for_a_connection_and_says_that_it_has_none(project, tmp_path):
    pull = ("models", "pull", "--role", "judge", "--from", "https://192.0.2.1/m.gguf")
    codes, said, refused = under_guard(project, tmp_path, pull)
    assert codes == [4]
    assert "192.0.2.1/m.gguf: cannot be reached" in said
    assert "192.0.2.1" in refused
    assert not list(tmp_path.glob("home/**/*.part"))


def test_a_run_in_a_network_of_its_own_has_the_same_bytes(project, calls, run_folder, tmp_path):
    """Where no socket leads anywhere, whatever opens it, native libraries included."""
    alone = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("this machine gives no process a network of its own (unshare -rn)")
    record = run_folder / "record.json"
    if not record.is_file():
        run_commands(project, tmp_path, ("score", calls, "--out", run_folder))
    codes, said = run_commands(
        project, tmp_path, ("score", calls, "--out", tmp_path / "RUN"), before=alone
    )
    assert codes == [0], said
    assert (tmp_path / "RUN" / "record.json").read_bytes() == record.read_bytes()
    assert json.loads(record.read_bytes())["n"] == 2
