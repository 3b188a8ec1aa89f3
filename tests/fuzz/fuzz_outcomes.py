"""Two calls that signals and checks decide, whole and scored, for `fuzz_base`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from inquesto_core.protocol import SIGNALS

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["OUTCOME_PROTOCOLS", "write_outcome_calls"]

#: Protocols of the two methods; the runs of the base have their names.
OUTCOME_PROTOCOLS = ("nemo-labs", "vamos")

_WINDOW = "call"
_TOPIC = ["balance", "payment"]

_SIGNALS: dict[str, Any] = {
    "success_signals": list(SIGNALS),
    "reference_answer": [{"name": "make_payment", "arguments": {"amount": 65.52}}],
    "prediction": "trace",
    "disallow_extra_items": False,
    "expected_db": {"accounts": [{"id": "a", "balance": 0}], "session": "x"},
    "exclude_keys": ["session"],
    "db_state_assertions": [{"func_name": "is_paid", "arguments": {"account": "a"}}],
    "nl_assertions": ["The agent named the balance."],
    "min_agent_turns": 2,
}
_CHECKS: dict[str, Any] = {
    "requests": ["payment"],
    "persona": "calm",
    "verification": [{"id": "gate", "kind": "verified"}],
    "changes": [
        {
            "id": "pay",
            "kind": "change",
            "tool": "make_payment",
            "arguments": [{"path": "amount", "value": 65.52, "tolerance": 0.01}],
        },
        {"id": "asked", "kind": "consent", "tool": "make_payment", "topic": _TOPIC},
        {"id": "stays", "kind": "transfer", "expected": False},
    ],
    "spoken": [
        {
            "id": "balance",
            "kind": "spoken_amount",
            "value": 65.52,
            "tolerance": 0.01,
            "currency": "USD",
            "topic": _TOPIC,
            "window": _WINDOW,
        },
        {"id": "done", "kind": "spoken_text", "any_of": ["that is done"], "window": _WINDOW},
    ],
}


def write_outcome_calls(folder: Path) -> None:
    """Write two bundles, ``c1`` and ``c2``, and their population."""
    from outcome_calls import END, PAY, VERIFY, call, population, scenario, turn

    said = [
        turn("agent", "Who is calling?", 0, 1000),
        turn("caller", "Ann Lee.", 1500, 2000),
        turn("agent", "Your balance is $65.52. Shall I take a payment of $65.52?", 4000, 8000),
        turn("caller", "Yes, go ahead.", 8500, 9500),
        turn("agent", "That is done.", 13000, 13500),
    ]
    functions = {
        "billing": {"is_paid": {"path": "accounts[?id == {account}] | [0].balance == `0`"}}
    }
    people = population(
        scenario("s1", signals=_SIGNALS, checks=_CHECKS), trials=2, state_functions=functions
    )
    bundles = [
        call(
            name,
            trial=trial,
            tools=[VERIFY, *([PAY] if trial == 0 else []), END],
            turns=said,
            ended="[EXIT]",
            state={"after": {"accounts": [{"id": "a", "balance": trial}], "session": name}},
            answers={"nl_assertion:0": True, "pay": True, "balance": True},
            scores={"judge": 0.95},
        )
        for trial, name in enumerate(("c1", "c2"))
    ]
    for name, files in zip(("c1", "c2"), bundles, strict=True):
        (folder / name).mkdir(parents=True)
        for file, value in files.items():
            (folder / name / file).write_text(json.dumps(value, indent=1), encoding="utf-8")
    (folder / "population.json").write_text(json.dumps(people, indent=1), encoding="utf-8")
