from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from inquesto_core import engine

#: What listening takes, and nothing else does.
HEAVY = ("onnxruntime", "scipy", "soundfile", "soxr", "inquesto_core.instruments")


@pytest.mark.parametrize("name", engine.__all__)
def test_the_engine_has_every_function_that_it_names(name):
    assert callable(getattr(engine, name)) or name == "DIFFERENCES_FILE"


@pytest.mark.parametrize("name", ["compare", "redact", "report", "rescore", "seal", "validate"])
def test_a_function_wins_over_the_module_of_its_name_whichever_was_asked_for_first(name):
    module = importlib.import_module(f"inquesto_core.engine.{name}")
    assert getattr(engine, name) is getattr(module, name)


def test_a_strange_name_is_no_attribute_of_the_engine():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = engine.nothing


def test_a_worker_that_reduces_loads_nothing_that_listens(project):
    statement = "import inquesto_core.engine.executors.worker, inquesto_core.engine.rescore, sys"
    run = subprocess.run(
        [sys.executable, "-P", "-c", f"{statement}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=project,
        env={"PYTHONPATH": str(project)},
    )
    assert not [name for name in HEAVY if name in run.stdout.split()]
