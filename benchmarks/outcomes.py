#!/usr/bin/env python3
"""What reading calls and deciding them by signals and by checks costs, in processor time.

    python benchmarks/outcomes.py [--bundles 500] [--calls 20000]

Bundles are written and read; what was read is then multiplied, each call with words of its own, so
that nothing is decided once for many calls.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from inquesto_core.bundle import find_bundles
from inquesto_core.engine.outcome_bundles import OutcomeTables, read_outcomes
from inquesto_core.engine.outcome_reduction import reduced_outcomes, tags_of
from inquesto_core.protocol import load_any_protocol, load_population
from inquesto_core.score import JudgeUse

SCENARIOS = 20
TOOLS = {
    "lookup": ["find_account"],
    "verify": ["verify_caller"],
    "change": ["make_payment"],
    "end_call": ["end_conversation"],
    "transfer": ["transfer_to_human"],
}


def _amount(at: int) -> float:
    return round(65.52 + at % SCENARIOS, 2)


def _scenario(at: int) -> dict[str, Any]:
    """Return a scenario that both methods can decide."""
    value = {"value": _amount(at), "tolerance": 0}
    paid = {"name": "make_payment", "arguments": {"amount": _amount(at)}}
    return {
        "id": f"s{at}",
        "family": "billing",
        "style": "plain",
        "goal": "pay the bill",
        "required_action": None,
        "correction": False,
        "identity": None,
        "handoff": False,
        "predicates": [],
        "signals": {
            "success_signals": ["is_action_match", "db_state_assertion", "clean_exit"],
            "reference_answer": [paid],
            "prediction": "trace",
            "db_state_assertions": [{"func_name": "paid", "arguments": {"at": at}}],
        },
        "checks": {
            "requests": ["balance", "payment"],
            "persona": "calm",
            "verification": [
                {"id": "gate", "kind": "verified"},
                {"id": "kept", "kind": "not_disclosed", **value, "window": "before_verification"},
            ],
            "changes": [
                {
                    "id": "pay",
                    "kind": "change",
                    "tool": "make_payment",
                    "arguments": [{"path": "amount", **value}],
                },
                {
                    "id": "asked",
                    "kind": "consent",
                    "tool": "make_payment",
                    **value,
                    "topic": ["payment"],
                },
            ],
            "spoken": [
                {
                    "id": "told",
                    "kind": "spoken_amount",
                    **value,
                    "topic": ["balance"],
                    "window": "after_verification",
                }
            ],
        },
    }


def _population(trials: int) -> dict[str, Any]:
    scenarios = [_scenario(at) for at in range(SCENARIOS)]
    cell = {"scenarios": [each["id"] for each in scenarios], "conditions": ["c"], "groups": ["g"]}
    return {
        "name": "many",
        "version": "1",
        "facts": {},
        "tools": TOOLS,
        "conditions": ["c"],
        "reference_condition": "c",
        "degraded": [],
        "groups": ["g"],
        "reference_group": "g",
        "design": {"trials": trials, "cells": [cell]},
        "scenarios": scenarios,
        "state_functions": {"billing": {"paid": {"path": "at == {at}"}}},
    }


def _bundle(number: int) -> dict[str, Any]:
    amount = _amount(number)
    said = [
        ("agent", "Who is calling?", 0, 1000),
        ("caller", f"Ann Lee, account {number:08d}.", 1500, 2000),
        ("agent", f"Your balance is ${amount:.2f}. Shall I take a payment of ${amount:.2f}? "
         f"Reference {number:06d}.", 4000, 8000),
        ("caller", "Yes, go ahead.", 8500, 9500),
        ("agent", f"That is done, number {number:06d}.", 13_000, 13_500),
        ("caller", "Bye.", 14_000, 14_500),
    ]  # fmt: skip
    tools = [
        ("verify_caller", {}, 2500, {"verified": True}),
        ("make_payment", {"amount": amount, "order": number}, 10_000, {"receipt": number}),
        ("end_conversation", {}, 15_000, {}),
    ]
    return {
        "call.json": {
            "schema_version": "1",
            "call_id": f"c{number:07d}",
            "scenario_id": f"s{number % SCENARIOS}",
            "condition": "c",
            "group": "g",
            "trial": number // SCENARIOS,
            "agent": {"name": "one"},
            "ended": {"by": "agent", "reason": "[EXIT]"},
            "audio": [],
        },
        "trace.json": {
            "calls": [
                {
                    "name": name,
                    "arguments": arguments,
                    "status": "ok",
                    "result": result,
                    "start_ms": at,
                    "end_ms": at + 500,
                }
                for name, arguments, at, result in tools
            ]
        },
        "transcript.json": {
            "turns": [
                {"speaker": speaker, "text": text, "start_ms": start, "end_ms": end}
                for speaker, text, start, end in said
            ]
        },
        "state.json": {"before": None, "after": {"at": number % SCENARIOS, "number": number}},
    }


def _written(folder: Path, bundles: int) -> Path:
    for number in range(bundles):
        place = folder / f"c{number:07d}"
        place.mkdir(parents=True)
        for name, value in _bundle(number).items():
            (place / name).write_text(json.dumps(value), encoding="utf-8")
    file = folder / "population.json"
    file.write_text(json.dumps(_population(bundles)), encoding="utf-8")
    return file


def _multiplied(tables: OutcomeTables, times: int) -> OutcomeTables:
    """Return the tables of so many times the calls, each with words and documents of its own."""
    made = {}
    for name in (each.name for each in fields(tables)):
        frame: pl.DataFrame = getattr(tables, name)
        key = "call_id" if "call_id" in frame.columns else "call"
        own = [column for column in ("text", "arguments", "result", "after") if column in frame]
        copies = [
            frame.with_columns(
                pl.format("{}-{}", key, pl.lit(at)).alias(key),
                *(pl.col(column).str.replace(r"\d{3,}", f"{at + 1}$0") for column in own),
            )
            for at in range(times)
        ]
        made[name] = pl.concat(copies).sort(key, maintain_order=True)
    return replace(tables, **made)


def main() -> None:
    """Print processor seconds per 1,000 calls."""
    options = argparse.ArgumentParser()
    options.add_argument("--bundles", type=int, default=500)
    options.add_argument("--calls", type=int, default=20_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        file = _written(Path(scratch) / "calls", given.bundles)
        people = load_population(file)
        found = find_bundles([file.parent], scratch=Path(scratch))
        for name in ("nemo-labs", "vamos"):
            law = load_any_protocol(name)
            began = time.process_time()
            tables = read_outcomes(found.refs, tags=tags_of(law), progress=lambda *_: None)
            read = time.process_time() - began
            many = _multiplied(tables, max(1, given.calls // given.bundles))
            began = time.process_time()
            made = reduced_outcomes(
                many,
                protocol=law,
                population=people,
                judge=JudgeUse(kind="none"),
                provenance={},
                evaluated_at=None,
            )
            decided = time.process_time() - began
            calls = made.decisions.height
            print(
                f"{name}: reading {1000 * read / given.bundles:.2f} s per 1,000 calls, deciding "
                f"{calls} calls {1000 * decided / calls:.3f} s per 1,000"
            )


if __name__ == "__main__":
    main()
