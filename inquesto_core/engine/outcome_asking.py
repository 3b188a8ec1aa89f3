"""What a model is asked about a call under signals or checks, and what it is shown of the call.

It reads the call line by line: turns as they were heard, and tool calls where they happened. Every
word of a question stands in the protocol's rubric folder; what stands in its places comes from the
scenario, or is the call's own and then JSON, so that no text of a call can end a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.canonical import canonical_bytes
from inquesto_core.events.checks_asked import NO_OTHER_CHANGE
from inquesto_core.events.interruptions import cut_turns
from inquesto_core.events.signals import predictions
from inquesto_core.events.signals_assertions import caller_actions
from inquesto_core.instruments.judge import AskedCall
from inquesto_core.instruments.judge_prompt import SpokenTurn
from inquesto_core.protocol import ASSERTIONS, ChecksProtocol, SignalsProtocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from inquesto_core.engine.outcome_bundles import OutcomeTables
    from inquesto_core.instruments.rubric import Rubric
    from inquesto_core.protocol import OutcomeProtocol, Population, Scenario

__all__ = ["Asked", "asked_of_outcomes"]

_PLACE = re.compile(r"\{([a-z]+)\}")
_TEXT_SHOWN = 2_000
_UNTIMED = "when is not known: "

Questions = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call, its questions, and where each line that it is shown as stands.

    Parameters
    ----------
    places : tuple of str
        ``transcript/2``, ``tool_calls/0`` or ``caller_calls/1``, in the order of the lines.
    """

    call: AskedCall
    places: tuple[str, ...]


def asked_of_outcomes(
    tables: OutcomeTables, *, protocol: OutcomeProtocol, population: Population, rubric: Rubric
) -> list[Asked]:
    """Return the calls that a model is asked about, sorted by id.

    Excluded calls and those of no known scenario are not asked about, nor those that nothing is
    asked of.
    """
    scenarios = {scenario.id: scenario for scenario in population.scenarios}
    lines = _lines(tables)
    if isinstance(protocol, SignalsProtocol):
        given = dict(
            predictions(tables.calls, tables.tool_calls, protocol=protocol, population=population)
            .select("call_id", "prediction")
            .iter_rows()
        )
    calls = tables.calls.filter(pl.col("exclusion_reason").is_null()).sort("call_id")
    out = []
    for call_id, scenario_id, has in calls.select(
        "call_id", "scenario_id", "has_transcript"
    ).iter_rows():
        if scenario_id not in scenarios:
            continue
        scenario = scenarios[scenario_id]
        if isinstance(protocol, SignalsProtocol):
            claims = tuple(_of_signals(scenario, given.get(call_id), protocol, rubric))
        else:
            assert isinstance(protocol, ChecksProtocol)
            claims = tuple(_of_checks(scenario, population, protocol, rubric))
        if not claims:
            continue
        shown = lines.get(call_id, [])
        call = AskedCall(
            call_id=call_id,
            goal=scenario.goal,
            identity=None,
            form="solvable",
            questions=(),
            turns=tuple(turn for turn, _ in shown) if has else None,
            claims=claims,
        )
        out.append(Asked(call=call, places=tuple(place for _, place in shown)))
    return out


# What a call is shown as


def _lines(tables: OutcomeTables) -> dict[str, list[tuple[SpokenTurn, str]]]:
    """Return each call's lines with their places: in the order of time, untimed tools behind."""
    by_call: dict[str, list[tuple[tuple[int, int, int], SpokenTurn, str]]] = {}
    unbroken = cut_turns(tables.transcript).filter(~pl.col("interrupted"))
    stale = set(unbroken.select("call_id", "position").iter_rows())
    for row in tables.transcript.sort("call_id", "position").iter_rows(named=True):
        lines = by_call.setdefault(row["call_id"], [])
        # A turn without a time stands behind the one before it.
        start = row["start_ms"] if row["start_ms"] is not None else lines[-1][0][0] if lines else 0
        is_whole = row["heard_text"] is None or (row["call_id"], row["position"]) in stale
        text = row["text"] if is_whole else row["heard_text"]
        turn = SpokenTurn(speaker=row["speaker"], text=text or "")
        lines.append(((start, 1, row["position"]), turn, f"transcript/{row['position']}"))
    has_times = _timed_calls(tables.transcript)
    for name, speaker in (("tool_calls", "agent tool"), ("caller_calls", "caller tool")):
        for row in getattr(tables, name).iter_rows(named=True):
            known = row["start_ms"] is not None and row["call_id"] in has_times
            key = (row["start_ms"] if known else 2**62, 0, row["position"])
            text = ("" if known else _UNTIMED) + _tool_line(row)
            lines = by_call.setdefault(row["call_id"], [])
            lines.append((key, SpokenTurn(speaker=speaker, text=text), f"{name}/{row['position']}"))
    return {
        call_id: [(turn, place) for _, turn, place in sorted(lines, key=lambda line: line[0])]
        for call_id, lines in by_call.items()
    }


def _timed_calls(transcript: pl.DataFrame) -> set[str]:
    """Return the calls whose every turn has a time: where tools stand among them is known."""
    timed = transcript.group_by("call_id").agg(pl.col("start_ms").is_not_null().all())
    return set(timed.filter("start_ms")["call_id"])


def _tool_line(row: Mapping[str, Any]) -> str:
    result = "no result" if row["result"] is None else row["result"]
    text = f"{row['name']} {row['arguments'] or '{}'} → {row['status']}, {result}"
    return text if len(text) <= _TEXT_SHOWN else text[:_TEXT_SHOWN] + "…"


# What is asked


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Replace every ``{name}`` once: what a value holds is never replaced again."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), template)


def _json(value: Any) -> str:
    return canonical_bytes(value).decode("utf-8")


def _of_signals(
    scenario: Scenario, prediction: str | None, protocol: SignalsProtocol, rubric: Rubric
) -> Iterator[tuple[str, str]]:
    """Yield claims and guided actions one by one, and the mark where the scenario counts on it."""
    asked = scenario.signals or {}
    claims, reference = asked.get("nl_assertions", []), asked.get("reference_answer")
    for at, claim in enumerate(claims):
        text = _filled(rubric.text("nl_assertion"), {"claim": _json(claim)})
        yield f"{protocol.nl_question}:{at}", text
    for at, action in caller_actions(reference):
        text = _filled(rubric.text("guidance"), {"action": _json(action)})
        yield f"{protocol.guidance_question}:{at}", text
    if "judge_passed" in asked.get("success_signals", ()):
        values = {
            "reference": _json(reference),
            "prediction": prediction or "null",
            "claims": _json(claims),
        }
        yield protocol.judge_question, _filled(rubric.text("judge"), values)


def _of_checks(
    scenario: Scenario, population: Population, protocol: ChecksProtocol, rubric: Rubric
) -> Iterator[tuple[str, str]]:
    """Yield every check of a scenario, each with its value, tolerance, window and topic."""
    asked = scenario.checks or {}
    tools = {
        name: _json(sorted(getattr(population.tools, name)))
        for name in ("verify", "change", "transfer")
    }
    for assertion in ASSERTIONS:
        checks: Sequence[Mapping[str, Any]] = asked.get(assertion, ())
        for at, check in enumerate(checks):
            yield _check(check, checks[:at], tools, protocol, rubric)
    if asked and not asked.get("allow_other_changes", False):
        own = {"id": NO_OTHER_CHANGE, "kind": NO_OTHER_CHANGE}
        yield _check(own, asked["changes"], tools, protocol, rubric)


def _check(
    check: Mapping[str, Any],
    before: Sequence[Mapping[str, Any]],
    tools: Mapping[str, str],
    protocol: ChecksProtocol,
    rubric: Rubric,
) -> tuple[str, str]:
    window, _, tool = check.get("window", "call").partition(":")
    values = {
        **tools,
        "check": _json({key: value for key, value in check.items() if key != "id"}),
        "earlier": _json([each for each in before if each["kind"] == "change"]),
        "window": _filled(rubric.text(f"window.{window}"), {**tools, "tool": _json(tool)}),
    }
    text = _filled(rubric.text(check["kind"]), values)
    return f"{protocol.question}:{check['id']}", text
