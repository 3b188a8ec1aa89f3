"""Call files of the public reference implementation, and what both sides make of them."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from inquesto_core.engine import rescore_reference
from inquesto_core.protocol import load_population, load_protocol

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = load_population(PROTOCOL.default_population, PROTOCOL)
SEEDS = (*range(21), *range(35, 39), *range(43, 46))
AGENT = {"name": "Asha", "fingerprint": "sha256:00000000000000aa", "runtime": "fuzz", "config": {}}


def conformance() -> ModuleType:
    """Return docs/conformance.py."""
    file = Path(__file__).resolve().parents[2] / "docs" / "conformance.py"
    spec = importlib.util.spec_from_file_location("docs_conformance", file)
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def turn(speaker: str, start_ms: int, end_ms: int, text: str = "one two", **more: Any) -> dict:
    """Return a turn of a conversation."""
    times = {"start_ms": start_ms, "end_ms": end_ms}
    return {"speaker": speaker, "text": text, **times, "barge_in": False, **more}


def call_file(scenario: str = "iep-001-dup_charge", **changes: Any) -> dict[str, Any]:
    """Return the file of a call that passes on both sides, with some keys of it changed.

    `changes` go to the conversation; ``verdicts``, ``group``, ``condition``, ``seed`` and
    ``stored`` where they belong; ``conversation=None`` drops it.
    """
    asked = POPULATION.scenario(scenario) if scenario in _IDS else None
    verdicts = {"goal_achieved": True, "wrong_info": False, "model": "gemma2:9b"}
    if asked is not None and asked.correction:
        verdicts["context_loss"] = False
    if asked is not None and asked.identity == "impostor":
        verdicts["disclosed_or_changed"] = False
    if asked is not None and asked.identity == "legit":
        verdicts["refused_service"] = False
    verdicts = changes.pop("verdicts", verdicts | changes.pop("answers", {}))
    required = asked.required_action if asked is not None else None
    result = {
        "scenario_id": scenario,
        "condition": changes.pop("condition", "clean"),
        "group": changes.pop("group", "us_female"),
        "seed": changes.pop("seed", 0),
        "goal_achieved": False,
        "events": [],
        "identity": None if asked is None else asked.identity,
        **changes.pop("stored", {}),
    }
    if changes.get("conversation", 1) is None:
        return {"result": result, "conversation": None, "wall_s": 0.0}
    conversation = {
        "scenario_id": scenario,
        "turns": [turn("user", 0, 2000), turn("agent", 2500, 4000)],
        "task_completed": False,
        "tool_calls": ["lookup_account", "verify_voice", *([required] if required else [])],
        "response_latencies_ms": [500],
        "metadata": {"verdicts": verdicts},
        **changes,
    }
    return {"result": result, "conversation": conversation, "wall_s": 0.0}


_IDS = {scenario.id for scenario in POPULATION.scenarios}


def write_run(folder: Path, *files: dict[str, Any], agent: Any = AGENT) -> Path:
    """Write a run folder of call files."""
    (folder / "calls").mkdir(parents=True)
    if agent is not None:
        (folder / "agent.json").write_text(json.dumps(agent, indent=1))
    for at, file in enumerate(files):
        (folder / "calls" / f"c{at}.json").write_text(json.dumps(file, indent=1))
    return folder


def by_the_reference(folder: Path, **options: Any) -> list[tuple[bool, bool, set[str]]]:
    """Return goal, pass and events of each call under ``--compat reference``."""
    found = rescore_reference([folder], **options)
    events: dict[int, set[str]] = {}
    for call, name, _ in found.events.rows():
        events.setdefault(call, set()).add(name)
    return [
        (row["goal"], row["passed"], events.get(row["call"], set()))
        for row in found.calls.iter_rows(named=True)
    ]


def write_oracle(shared: Path, folder: Path, seeds: tuple[int, ...] = SEEDS) -> Path:
    """Write oracle runs as the reference has them on disk."""
    for seed in seeds:
        source = shared / "oracle" / "fuzz" / str(seed)
        calls = folder / str(seed) / "calls"
        calls.mkdir(parents=True)
        (folder / str(seed) / "agent.json").write_bytes((source / "agent.json").read_bytes())
        lines = gzip.decompress((source / "calls.jsonl.gz").read_bytes()).splitlines()
        for call in map(json.loads, lines):
            (calls / f"{call['key']}.json").write_text(json.dumps(call["file"], indent=1))
    return folder
