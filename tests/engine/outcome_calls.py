"""Small populations and bundles for protocols of signals and checks, written from scratch."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from inquesto_core.engine import score_outcomes
from inquesto_core.protocol import load_any_protocol

TOOLS = {
    "lookup": ["find_account"],
    "verify": ["verify_caller"],
    "change": ["make_payment", "set_paperless"],
    "end_call": ["end_conversation"],
    "transfer": ["transfer_to_human"],
}


def scenario(name="s1", *, family="billing", handoff=False, **asked):
    """Return a scenario that asks `signals` or `checks`."""
    return {
        "id": name,
        "family": family,
        "style": "plain",
        "goal": "pay the bill",
        "required_action": None,
        "correction": False,
        "identity": None,
        "handoff": handoff,
        "predicates": [],
        **asked,
    }


def population(*scenarios, tools=TOOLS, conditions=("clean",), trials=1, **more):
    """Return a population of these scenarios, each once in each condition."""
    return {
        "name": "small",
        "version": "1",
        "facts": {},
        "tools": tools,
        "conditions": list(conditions),
        "reference_condition": conditions[0],
        "degraded": [],
        "groups": ["g"],
        "reference_group": "g",
        "design": {
            "trials": trials,
            "cells": [
                {
                    "scenarios": [each["id"] for each in scenarios],
                    "conditions": list(conditions),
                    "groups": ["g"],
                }
            ],
        },
        "scenarios": list(scenarios),
        **more,
    }


def turn(speaker, text, start=None, end=None, **more):
    return {"speaker": speaker, "text": text, "start_ms": start, "end_ms": end, **more}


#: Two agent turns, the caller last: no stall, and words of no meaning.
SMALL_TALK = [
    turn("agent", "Hello there.", 0, 1000),
    turn("caller", "Hi.", 1100, 1500),
    turn("agent", "Fine.", 1600, 2000),
    turn("caller", "Bye.", 2100, 2500),
]

#: A tool call that ends the conversation.
END = {"name": "end_conversation", "status": "ok", "start_ms": 9000, "end_ms": 9100}

#: The caller is verified, and a payment is made.
VERIFY = {
    "name": "verify_caller",
    "status": "ok",
    "result": {"verified": True},
    "start_ms": 2500,
    "end_ms": 3000,
}
PAY = {
    "name": "make_payment",
    "status": "ok",
    "arguments": {"amount": 65.52},
    "result": {"ok": True},
    "start_ms": 10000,
    "end_ms": 11000,
}


def call(
    name="c1",
    *,
    scenario_id="s1",
    tools=(),
    turns=SMALL_TALK,
    ended=None,
    state=None,
    answers=None,
    scores=None,
    trace=True,
    tags=None,
    condition="clean",
    trial=0,
    exclusion=None,
    agent="Agent A",
    **of_trace,
):
    """Return the files of a bundle: name to JSON value."""
    files = {
        "call.json": {
            "schema_version": "1",
            "call_id": name,
            "scenario_id": scenario_id,
            "condition": condition,
            "group": "g",
            "trial": trial,
            "agent": {"name": agent},
            "ended": {} if ended is None else {"by": "system", "reason": ended},
            "audio": [],
            "exclusion": exclusion,
            "tags": tags or {},
        }
    }
    if trace:
        files["trace.json"] = {"calls": list(tools), **of_trace}
    if turns is not None:
        files["transcript.json"] = {"turns": list(turns)}
    if state is not None:
        files["state.json"] = {"before": None, "after": None, **state}
    if answers is not None or scores is not None:
        told = {key: {"verdict": value} for key, value in (answers or {}).items()}
        for key, value in (scores or {}).items():
            told[key] = {"verdict": None, "score": value}
        files["verdicts.json"] = {"model": "some judge", "answers": told}
    return files


class Run:
    """A run that was scored, with ways to ask for one thing of it."""

    def __init__(self, folder: Path, result, warnings):
        self.folder, self.result, self.warnings = folder, result, warnings

    @property
    def record(self):
        return next(iter(self.result.records.values()))

    def decision(self, call_id="c1"):
        return self.result.decisions.row(by_predicate=pl.col("call_id") == call_id, named=True)

    def table(self, name):
        return pl.read_parquet(self.folder / f"{name}.parquet")

    def signal(self, name, call_id="c1"):
        mine = (pl.col("call_id") == call_id) & (pl.col("signal") == name)
        return self.table("signals").row(by_predicate=mine, named=True)

    def check(self, name, call_id="c1"):
        mine = (pl.col("call_id") == call_id) & (pl.col("check") == name)
        return self.table("checks").row(by_predicate=mine, named=True)


def write(folder: Path, people, calls) -> Path:
    """Lay a population and bundles down."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "population.json").write_text(json.dumps(people), encoding="utf-8")
    for files in calls:
        bundle = folder / files["call.json"]["call_id"]
        bundle.mkdir()
        for name, value in files.items():
            (bundle / name).write_text(json.dumps(value), encoding="utf-8")
    return folder


def score(tmp_path: Path, people, *calls, protocol="nemo-labs", **options) -> Run:
    """Score calls of a population; a protocol is a name or a folder."""
    warnings = []
    source = write(tmp_path / "calls", people, calls)
    result = score_outcomes(
        [source],
        out=tmp_path / "run",
        protocol=load_any_protocol(protocol),
        warn=warnings.append,
        **options,
    )
    return Run(tmp_path / "run", result, warnings)
