"""The sample calls as scripts: what is said and when, what the tools did, what it was worth.

This module decides how `dialogues/*.toml` and `tools.toml` read. A line starts `gap` ms after the
line above it ends (negative: before it ends); with `after` the anchor is the end of the last line
of that side, or of both (`last`), and with `at = "start"` the start of the line above. Lines of one
speaker that follow each other are one turn with a pause in it. A line with `heard` breaks off after
so many ms. The labels are the author's own reading of each script.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

__all__ = [
    "AGENTS",
    "CONDITIONS",
    "Dialogue",
    "Label",
    "Line",
    "ToolUse",
    "account",
    "load_dialogues",
]

HERE = Path(__file__).resolve().parent

Speaker = Literal["caller", "agent"]

CONDITIONS = ("clean", "telephone", "babble")

#: How each agent is set up; what the scripts do follows from the endpointing window.
AGENTS: dict[str, dict[str, Any]] = {
    "steady": {"model": "sample-script", "endpointing_ms": 700, "temperature": 0},
    "hasty": {"model": "sample-script", "endpointing_ms": 250, "temperature": 0},
}

NOTHING_WRONG = "Everything that the agent states agrees with the account record."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool call that ends shortly before the agent's line begins.

    `state` is what it changes in the account; empty where it changes nothing.
    """

    name: str
    arguments: dict[str, Any]
    result: dict[str, Any]
    takes_ms: int = 80
    status: Literal["ok", "error"] = "ok"
    state: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One stretch of speech of one side, placed by its distance to an earlier line.

    Parameters
    ----------
    gap_ms : int
        From the anchor to the line's first sound.
    after : str or None
        ``caller``, ``agent``, ``last``: the anchor is the end of the last line of that side, or of
        the later of both; None = the line above.
    from_start : bool
        The anchor is the start of the line above and not its end.
    heard_ms, heard_text
        Where the line breaks off, and what of it was said; None = it is said to its end.
    new_turn : bool
        A turn of its own even after a line of the same speaker.
    claims : str or None
        The tool whose success the line tells the caller of.
    """

    speaker: Speaker
    text: str
    gap_ms: int
    after: Literal["caller", "agent", "last"] | None = None
    from_start: bool = False
    heard_ms: int | None = None
    heard_text: str | None = None
    new_turn: bool = False
    tools: tuple[ToolUse, ...] = ()
    claims: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """The author's answer to one question of the rubric, and the turn that it rests on."""

    question: str
    verdict: bool
    reason: str
    turn: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """One script of one agent, recorded in each of its conditions.

    Parameters
    ----------
    events, goal, fault
        What a call of it should score; `goal` as the protocol reads it: the label, and the required
        action performed. `fault` is how the agent side broke the call off, None = it did not.
    exclusion : dict or None
        Why the call is out of n.
    tail_ms : int
        How long the recording goes on after the last sound.
    """

    scenario_id: str
    group: str
    agent: str
    conditions: tuple[str, ...]
    shows: str
    lines: tuple[Line, ...]
    labels: tuple[Label, ...]
    goal: bool
    events: tuple[str, ...]
    fault: str | None
    exclusion: dict[str, str] | None
    ended: dict[str, str]
    tail_ms: int

    def call_id(self, condition: str) -> str:
        """Return the id of this script's call in `condition`: agent, scenario, condition."""
        return f"{self.agent}-{self.scenario_id.removeprefix('iep-')}-{condition}"


def load_dialogues(folder: Path = HERE) -> tuple[Dialogue, ...]:
    """Return every script, the steady agent's first, scenario by scenario."""
    tools = _tools(folder / "tools.toml")
    found: list[Dialogue] = []
    for path in sorted((folder / "dialogues").glob("*.toml")):
        sheet = tomllib.loads(path.read_text(encoding="utf-8"))
        found += [
            _dialogue(entry, sheet["scenario"], sheet["group"], tools)
            for entry in sheet["dialogue"]
        ]
    order = list(AGENTS)
    return tuple(sorted(found, key=lambda each: (order.index(each.agent), each.scenario_id)))


def account(folder: Path = HERE) -> dict[str, Any]:
    """Return the account as it is before each call."""
    sheet = tomllib.loads((folder / "tools.toml").read_text(encoding="utf-8"))
    return cast("dict[str, Any]", sheet["account"])


def _tools(path: Path) -> dict[str, ToolUse]:
    sheet = tomllib.loads(path.read_text(encoding="utf-8"))
    sheet.pop("account")
    tools: dict[str, ToolUse] = {}
    for key, entry in sheet.items():
        like = sheet[entry.pop("like")] if "like" in entry else {}
        tools[key] = ToolUse(**{"state": {}, **like, **entry})
    return tools


def _line(entry: dict[str, Any], tools: dict[str, ToolUse]) -> Line:
    speaker: Speaker = "caller" if "caller" in entry else "agent"
    known = {"caller", "agent", "gap", "after", "at", "heard", "heard_text", "new_turn", "tools"}
    unknown = set(entry) - known - {"claims"}
    if unknown:
        raise ValueError(f"a line does not know {', '.join(sorted(unknown))}")
    return Line(
        speaker=speaker,
        text=entry[speaker],
        gap_ms=entry["gap"],
        after=entry.get("after"),
        from_start=entry.get("at") == "start",
        heard_ms=entry.get("heard"),
        heard_text=entry.get("heard_text"),
        new_turn=entry.get("new_turn", False),
        tools=tuple(tools[name] for name in entry.get("tools", ())),
        claims=entry.get("claims"),
    )


def _dialogue(
    entry: dict[str, Any], scenario_id: str, group: str, tools: dict[str, ToolUse]
) -> Dialogue:
    given = {"wrong_info": {"verdict": False, "reason": NOTHING_WRONG}, **entry["labels"]}
    labels = tuple(
        Label(
            question=question,
            verdict=label["verdict"],
            reason=label["reason"],
            turn=label.get("turn"),
        )
        for question, label in sorted(given.items())
    )
    return Dialogue(
        scenario_id=scenario_id,
        group=group,
        agent=entry["agent"],
        conditions=tuple(entry.get("conditions", CONDITIONS)),
        shows=entry["shows"],
        lines=tuple(_line(line, tools) for line in entry["lines"]),
        labels=labels,
        goal=entry.get("goal", given["goal_achieved"]["verdict"]),
        events=tuple(entry.get("events", ())),
        fault=entry.get("fault"),
        exclusion=entry.get("exclusion"),
        ended=entry.get("ended", {"by": "caller", "reason": "goodbye"}),
        tail_ms=entry.get("tail", 700),
    )
