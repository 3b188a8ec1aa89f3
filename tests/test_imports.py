"""Importing the package is cheap: nothing heavy is loaded before something needs it."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import subprocess
import sys

import pytest

import inquesto_core

HEAVY = {
    "faster_whisper",
    "jsonschema",
    "llama_cpp",
    "numpy",
    "onnxruntime",
    "polars",
    "pyarrow",
    "ray",
    "scipy",
    "soundfile",
    "soxr",
    "torch",
}
ROOMS = sorted(
    module.name
    for module in pkgutil.walk_packages(inquesto_core.__path__, "inquesto_core.")
    if module.ispkg
)


def modules_loaded_by(statement, project):
    """Return the top-level modules that a fresh interpreter holds after `statement`."""
    run = subprocess.run(
        [sys.executable, "-P", "-c", f"{statement}\nimport sys\nprint(sorted(sys.modules))"],
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    names = ast.literal_eval(run.stdout.splitlines()[-1])
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("module", ["", ".errors", ".canonical", ".schema", ".shipped"])
def test_the_ground_floor_loads_nothing_heavy(module, project):
    loaded = modules_loaded_by(f"import inquesto_core{module}", project)
    assert not loaded & HEAVY
    assert "click" not in loaded


def test_the_help_of_the_command_loads_nothing_heavy(project):
    statement = (
        "import contextlib, io\n"
        "from inquesto_core.cli import main\n"
        "import sys; sys.argv = ['inquesto-core', '--help']\n"
        "with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "assert 'score' in said.getvalue()"
    )
    assert not modules_loaded_by(statement, project) & HEAVY


def test_the_module_is_the_command(project):
    run = subprocess.run(
        [sys.executable, "-P", "-m", "inquesto_core", "--help"],
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "score" in run.stdout


@pytest.mark.parametrize("room", ["inquesto_core", *ROOMS])
def test_every_name_at_the_front_door_exists(room):
    door = importlib.import_module(room)
    names = getattr(door, "__all__", [])
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(door, name)] == []
    assert [name for name in names if name.startswith("_") and name != "__version__"] == []


@pytest.mark.parametrize(
    "name",
    ["compare", "import_exports", "redact", "report", "rescore", "score", "seal", "validate"],
)
def test_each_command_is_a_function_of_the_package(name):
    assert callable(getattr(inquesto_core, name))
    assert name in dir(inquesto_core)


def test_a_room_that_shares_its_name_with_a_command_is_that_command_too(project, tmp_path):
    with pytest.raises(Exception, match=r"no_such"):
        inquesto_core.score([project / "no_such"], out=tmp_path / "RUN")
    assert importlib.import_module("inquesto_core.score").build_record
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'"):
        _ = inquesto_core.nothing
