"""The project's frame: locks, contracts, versions, and the scripts that make the environments."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib

import pytest

import inquesto_core
from inquesto_core.protocol import load_protocol

ENVIRONMENTS = ["lock/base.txt", "lock/dev.txt"]
#: What an extra adds, beside what the environment has.
EXTRAS = ["lock/judge.txt", "lock/asr.txt", "lock/ray.txt"]
LOCKS = [*ENVIRONMENTS, *EXTRAS, "lock/judge-build.txt", "lock/docs.txt"]
ROOMS = {
    "cli",
    "engine",
    "importers",
    "report",
    "compare",
    "attest",
    "score",
    "events",
    "timeline",
    "instruments",
    "evidence",
    "protocol",
    "bundle",
    "schema",
    "canonical",
    "patterns",
    "errors",
    "places",
    "shipped",
}


@pytest.fixture(scope="module")
def settings(project):
    return tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))


def entries(lock):
    """Return {name: [whole text of each of its entries]} of a lock file."""
    found = {}
    for block in re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8").strip()):
        found.setdefault(re.match(r"[a-z0-9.-]+", block)[0], []).append(block)
    return found


def normalised(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower().replace("_", "-")


# Locks


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_holds_no_torch(name, project):
    assert [entry for entry in entries(project / name) if "torch" in entry] == []
    assert "sys_platform == 'never'" not in (project / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", LOCKS)
def test_every_entry_of_the_lock_is_pinned_and_hashed(name, project):
    for blocks in entries(project / name).values():
        for block in blocks:
            first, *rest = block.splitlines()
            assert re.match(r"[a-z0-9.-]+==[\w.]+ (; .* )?\\$", first), first
            assert rest, first
            assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in rest)


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_names_no_host_and_no_path(name, project):
    text = (project / name).read_text(encoding="utf-8")
    assert re.findall(r"https?:|file:|://|@ |--index|--find-links|(?m:^#)", text) == []


def test_the_lock_holds_every_dependency(settings, project):
    base, dev = (entries(project / name) for name in ENVIRONMENTS)
    assert {normalised(wanted) for wanted in settings["project"]["dependencies"]} <= base.keys()
    assert {normalised(wanted) for wanted in settings["dependency-groups"]["dev"]} <= dev.keys()


def test_the_development_lock_contains_the_base_lock(project):
    base, dev = (entries(project / name) for name in ENVIRONMENTS)
    assert {name: dev.get(name) for name in base} == base


@pytest.mark.parametrize("name", EXTRAS)
def test_an_extra_fits_either_environment(name, project):
    base, dev = (entries(project / lock) for lock in ENVIRONMENTS)
    extra = entries(project / name)
    assert not extra.keys() & base.keys()
    assert {both: dev[both] for both in extra.keys() & dev.keys()} == {
        both: extra[both] for both in extra.keys() & dev.keys()
    }


def test_the_locked_judge_is_the_protocol_s(settings, project):
    """Compiled from one source archive, whose hash is the only one."""
    (entry,) = entries(project / "lock/judge.txt")["llama-cpp-python"]
    pin = load_protocol("inquesto-0.1").instruments.judge.parameters
    wanted = f"{pin['library']}=={pin['library_version']}"
    assert entry.startswith(f"{wanted} ")
    assert entry.count("--hash") == 1
    assert settings["project"]["optional-dependencies"]["judge"] == [wanted]


# Contracts, names, versions


def test_every_room_has_its_floor(settings):
    contracts = {one["id"]: one for one in settings["tool"]["importlinter"]["contracts"]}
    assert contracts.keys() == {
        "floors",
        "pure-scoring",
        "click-in-cli",
        "keys-in-one-module",
        "offline",
        "places-alone-opens-filesystems",
        "pull-alone-connects",
        "ray-in-its-executor",
    }
    floors = contracts["floors"]
    assert floors["exhaustive"] is True
    assert set(re.findall(r"\w+", " ".join(floors["layers"]))) == ROOMS


def test_the_scoring_wing_is_kept_pure(settings):
    contracts = {one["id"]: one for one in settings["tool"]["importlinter"]["contracts"]}
    pure = contracts["pure-scoring"]
    assert pure["source_modules"] == [
        f"inquesto_core.{room}" for room in ("timeline", "events", "score")
    ]
    banned = {"inquesto_core.instruments", "time", "datetime", "random", "subprocess"}
    banned |= {"soundfile", "onnxruntime", "faster_whisper", "llama_cpp", "ray"}
    assert set(pure["forbidden_modules"]) == banned
    assert not pure.get("allow_indirect_imports")
    assert not pure.get("ignore_imports")


def test_one_module_may_open_connections(settings):
    contracts = {one["id"]: one for one in settings["tool"]["importlinter"]["contracts"]}
    offline = contracts["offline"]
    assert offline["source_modules"] == ["inquesto_core"]
    assert {"http", "socket", "ssl", "urllib", "urllib3", "requests"} <= set(
        offline["forbidden_modules"]
    )
    connection = "inquesto_core.instruments.model_connection"
    others = [edge for edge in offline["ignore_imports"] if not edge.startswith(f"{connection} ")]
    assert all(edge.endswith("-> urllib") for edge in others)  # urllib.parse, as ruff holds
    lint = settings["tool"]["ruff"]["lint"]
    assert "urllib.request" in lint["flake8-tidy-imports"]["banned-api"]
    unbanned = {path for path, codes in lint["per-file-ignores"].items() if "TID251" in codes}
    # What opens filesystems imports nothing else that connects: the contract holds that.
    assert unbanned == {
        f"{connection.replace('.', '/')}.py",
        "inquesto_core/places/filesystem.py",
        "tests/places/**",
    }


def test_remote_filesystems_are_opened_for_places_only(settings):
    contracts = {one["id"]: one for one in settings["tool"]["importlinter"]["contracts"]}
    contract = contracts["places-alone-opens-filesystems"]
    assert contract["protected_modules"] == ["inquesto_core.places.filesystem"]
    assert contract["allowed_importers"] == ["inquesto_core.places.remote"]
    banned = settings["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    assert "pyarrow.fs" in banned


def test_every_module_says_what_it_decides(project):
    silent = [
        str(module.relative_to(project))
        for module in sorted(project.glob("inquesto_core/**/*.py"))
        if not ast.get_docstring(ast.parse(module.read_bytes()))
    ]
    assert silent == []


def test_no_room_is_a_drawer_for_leftovers(project):
    drawers = {"utils", "common", "helpers", "models", "misc"}
    # A module of cli is named as its command is.
    rooms = [p for p in project.glob("inquesto_core/**/*.py") if p.parent.name != "cli"]
    assert [path for path in rooms if path.stem in drawers] == []


def test_no_two_test_files_share_a_name(project):
    names = [path.name for path in project.glob("tests/**/test_*.py")]
    assert sorted(set(names)) == sorted(names)
    assert list(project.glob("tests/**/__init__.py")) == []


def test_the_changelog_names_this_version(project):
    text = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    heads = re.findall(r"(?m)^## (.*)", text)
    assert heads[0].startswith("[Unreleased]")
    assert any(inquesto_core.__version__ in head for head in heads)
    assert re.search(r"(?m)^### Score-affecting$", text.split("\n## ")[1])


def test_the_licence_is_the_whole_apache_text(project):
    text = (project / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


# Scripts. A lock with no entries makes an environment in seconds and without a network.


@pytest.fixture
def checkout(project, tmp_path):
    """Return a small checkout whose command prints where it runs, in a path with spaces."""
    top = tmp_path / "a check out"
    (top / "bin").mkdir(parents=True)
    for name in ("inquesto-core", "environment.sh", "extras.sh"):
        shutil.copy(project / "bin" / name, top / "bin" / name)
    (top / "lock").mkdir()
    (top / "lock/base.txt").write_text("# nothing\n")
    (top / "inquesto_core").mkdir()
    (top / "inquesto_core/__init__.py").write_text("")
    (top / "inquesto_core/__main__.py").write_text(
        "import json, os, sys, pathlib\n"
        "print(json.dumps([sys.prefix, os.getcwd(), sys.argv[1:]]))\n"
    )
    return top


def start(checkout, *arguments, command=None, cwd=None, **environment):
    return subprocess.Popen(
        [command or checkout / "bin/inquesto-core", *arguments],
        cwd=cwd,
        env={**os.environ, "INQUESTO_PYTHON": sys.executable, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(process):
    said, complaint = process.communicate(timeout=120)
    return process.returncode, said, complaint


def leftovers(checkout):
    return sorted(path.name for path in checkout.glob(".venv*"))


def test_the_first_run_makes_the_environment_once_and_a_changed_lock_makes_it_anew(
    checkout, tmp_path
):
    # A user's folder with modules named like ours and Python's, reached by a link to the command.
    folder = tmp_path / "user"
    folder.mkdir()
    for name in ("json.py", "venv.py", "pip.py", "inquesto_core.py"):
        (folder / name).write_text("raise SystemExit('the wrong module')\n")
    link = folder / "link"
    link.symlink_to(checkout / "bin/inquesto-core")
    hostile = {"PYTHONPATH": str(folder), "PYTHONHOME": str(folder), "PIP_TARGET": str(folder)}

    def run():
        return finished(start(checkout, "a b", "", command=link, cwd=folder, **hostile))

    code, said, complaint = run()
    assert code == 0, complaint
    assert said.strip() == f'["{checkout}/.venv", "{folder}", ["a b", ""]]'
    assert re.fullmatch(r"inquesto-core: first run: making \.venv .*once.*\n", complaint)
    assert leftovers(checkout) == [".venv"]

    made = (checkout / ".venv/stamp").stat().st_mtime_ns
    assert run() == (0, said, "")
    assert (checkout / ".venv/stamp").stat().st_mtime_ns == made

    (checkout / "lock/base.txt").write_text("# nothing, but other\n")
    code, _, complaint = run()
    assert code == 0
    assert "its lock or Python changed" in complaint
    assert leftovers(checkout) == [".venv"]


def test_two_first_runs_at_once_make_one_environment(checkout):
    results = [finished(run) for run in [start(checkout), start(checkout)]]
    assert [code for code, _, _ in results] == [0, 0], results
    assert sum("making .venv with" in complaint for _, _, complaint in results) == 1
    assert leftovers(checkout) == [".venv"]


def test_an_interrupted_first_run_leaves_nothing_that_is_taken_for_complete(checkout):
    run = start(checkout)
    deadline = time.monotonic() + 60
    while not (checkout / ".venv-lock/build/bin").is_dir() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate()
    assert leftovers(checkout) == [".venv-lock"]

    code, _, complaint = finished(start(checkout))
    assert code == 0, complaint
    assert "waiting" not in complaint
    assert leftovers(checkout) == [".venv"]


def test_a_stopped_first_run_cleans_up(checkout):
    run = start(checkout)
    deadline = time.monotonic() + 60
    while not (checkout / ".venv-lock/build/bin").is_dir() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGTERM)
    assert finished(run)[0] != 0
    assert leftovers(checkout) == []


@pytest.mark.parametrize(
    ("owner", "age_s", "abandoned"),
    [
        pytest.param("here alive", 0, False, id="owner-alive"),
        pytest.param("here dead", 0, True, id="owner-dead"),
        pytest.param("elsewhere dead", 0, False, id="owner-on-another-host"),
        pytest.param("elsewhere dead", 29 * 60, False, id="another-host-29-minutes"),
        pytest.param("elsewhere dead", 32 * 60, True, id="another-host-32-minutes"),
        pytest.param(None, 0, False, id="owner-not-yet-written"),
        pytest.param(None, 32 * 60, True, id="owner-never-written"),
    ],
)
def test_a_build_is_taken_for_dead_when_its_owner_is_gone_or_after_half_an_hour(
    owner, age_s, abandoned, project, tmp_path
):
    gone = subprocess.Popen(["true"])
    gone.wait()
    words = {"here": os.uname().nodename, "elsewhere": "no-such-host"}
    words |= {"alive": str(os.getpid()), "dead": str(gone.pid)}
    busy = tmp_path / ".venv-lock"
    busy.mkdir()
    if owner:
        (busy / "owner").write_text(" ".join(words[word] for word in owner.split()) + "\n")
    os.utime(busy, (time.time() - age_s,) * 2)
    asked = subprocess.run(
        [
            "sh",
            "-c",
            'root=$1; . "$1/bin/environment.sh"; busy=$2; is_abandoned',
            "sh",
            project,
            busy,
        ],
        check=False,
    )
    assert (asked.returncode == 0) is abandoned


@pytest.mark.parametrize(
    ("python", "told"),
    [
        pytest.param("/no/such/python", "is no Python >= 3.11", id="missing"),
        pytest.param("/bin/sh", "is no Python >= 3.11", id="not-python"),
    ],
)
def test_an_unsuitable_python_is_said_in_one_line(python, told, checkout):
    code, said, complaint = finished(start(checkout, INQUESTO_PYTHON=python))
    assert (code, said) == (5, "")
    assert told in complaint
    assert complaint.count("\n") == 1
    assert leftovers(checkout) == []


def test_a_package_that_cannot_be_installed_is_said_in_one_line(checkout):
    (checkout / "lock/base.txt").write_text(f"click==8.1.7 --hash=sha256:{'0' * 64}\n")
    code, said, complaint = finished(
        start(checkout, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(checkout))
    )
    assert (code, said) == (5, "")
    assert "cannot install the packages of base.txt" in complaint.splitlines()[-1]
    assert complaint.count("\n") == 2
    assert leftovers(checkout) == []


def test_a_folder_of_the_user_s_own_is_never_replaced(checkout):
    (checkout / ".venv").mkdir()
    (checkout / ".venv/mine").write_text("precious")
    code, _, complaint = finished(start(checkout))
    assert code == 5
    assert "was not made by this command" in complaint
    assert (checkout / ".venv/mine").read_text() == "precious"
