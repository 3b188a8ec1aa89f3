"""What the simulated caller did with tools of its own reaches predicates, and nothing else."""

from __future__ import annotations

import json
import shutil

import pytest

from inquesto_core import engine
from inquesto_core.events.predicates import scenario_predicates
from inquesto_core.protocol import load_protocol

TOOL = "restart_phone"


@pytest.fixture
def call(project, tmp_path):
    """Return a folder with one sample call, and its scenario's population."""
    folder = tmp_path / "calls"
    folder.mkdir()
    samples = project / "sample_records"
    shutil.copy(samples / "population.json", folder)
    first = min(samples.rglob("*-clean/call.json")).parent
    shutil.copytree(first, folder / first.name)
    return folder / first.name


def ask(call, *predicates):
    file = call.parent / "population.json"
    population = json.loads(file.read_bytes())
    asked = json.loads((call / "call.json").read_bytes())["scenario_id"]
    for scenario in population["scenarios"]:
        if scenario["id"] == asked:
            scenario["predicates"] = list(predicates)
    file.write_text(json.dumps(population))


def did(call, side):
    file = call / "trace.json"
    trace = json.loads(file.read_bytes())
    action = {"id": "own-1", "name": TOOL, "arguments": {}, "status": "ok"}
    trace["caller_calls"] = trace.get("caller_calls", [])
    trace[side] = [*trace[side], action]
    file.write_text(json.dumps(trace))


@pytest.mark.parametrize("side", ["calls", "caller_calls"])
def test_each_side_s_tool_calls_stand_for_that_side_alone(side, call, tmp_path):
    ask(
        call,
        {"kind": "tool_called", "tool": TOOL, "side": "user"},
        {"kind": "tool_called", "tool": TOOL, "side": "agent"},
    )
    did(call, side)
    engine.score([call.parent], out=tmp_path / "RUN")
    shown = engine.load_call(tmp_path / "RUN", call.name)
    law = load_protocol("inquesto-0.1")
    found = scenario_predicates(shown.tables, protocol=law, population=shown.population)
    assert found["value"].to_list() == [side == "caller_calls", side == "calls"]
