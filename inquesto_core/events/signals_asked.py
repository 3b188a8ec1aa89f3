"""What a population asks by signals: whether it can be asked, and what of it needs a judge."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.events.asked_of_scenarios import refuse_contradictions
from inquesto_core.events.reference_match import without_side

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from inquesto_core.protocol import Population, Scenario, SignalsProtocol

__all__ = ["NEED_A_JUDGE", "check_signals", "lacking_a_judge", "whitelist_table"]

#: The signals that only a judge's answers give.
NEED_A_JUDGE = ("judge_passed", "nl_assertion")


def check_signals(population: Population, *, protocol: SignalsProtocol) -> None:
    """Raise at the first scenario that cannot be scored by signals.

    Raises
    ------
    ProtocolError
        ``signals_invalid``: a scenario says nothing of signals, or asks for a clean exit where the
        population names no end-of-call tool.
    """
    refuse_contradictions(
        population,
        lambda scenario: _contradictions(scenario, population, protocol),
        code="signals_invalid",
        page="docs/signals.md",
    )


def _contradictions(
    scenario: Scenario, population: Population, protocol: SignalsProtocol
) -> Iterator[tuple[str, str, str]]:
    asked = scenario.signals
    if asked is None:
        yield "", "has no signals", f"what {protocol.name} asks of its calls, under signals"
        return
    if "clean_exit" in asked["success_signals"] and not population.tools.end_call:
        yield (
            "/signals/success_signals",
            "asks for clean_exit where /tools/end_call is empty",
            "the tool by which the agent ends a call",
        )


def whitelist_table(population: Population) -> pl.DataFrame:
    """Return a row a scenario and signal of its whitelist: ``scenario_id, signal``."""
    return pl.DataFrame(
        [
            (scenario.id, signal)
            for scenario in population.scenarios
            for signal in (scenario.signals or {}).get("success_signals", ())
        ],
        schema={"scenario_id": pl.String, "signal": pl.String},
        orient="row",
    )


#: What a scenario declares for a signal of its whitelist; of the others the call itself tells.
_DECLARED = {
    "db_state_assertion": "db_state_assertions",
    "nl_assertion": "nl_assertions",
}


def unasked_signals(population: Population, *, expecting: Collection[str]) -> dict[str, list[str]]:
    """Return by signal the scenarios whose whitelist has it and that declare nothing for it.

    Parameters
    ----------
    expecting : collection of str
        Scenarios of which some call itself says what its database should be.
    """
    found: dict[str, list[str]] = {}
    for scenario in population.scenarios:
        for name in (scenario.signals or {}).get("success_signals", ()):
            by_call = name == "db_state_match" and scenario.id in expecting
            if not by_call and not _is_declared(scenario, name):
                found.setdefault(name, []).append(scenario.id)
    return dict(sorted(found.items()))


def _is_declared(scenario: Scenario, signal: str) -> bool:
    told = scenario.signals or {}
    if signal == "db_state_match":
        return any(told.get(key) is not None for key in ("expected_db", "expected_db_sha256"))
    if signal == "is_action_match":
        reference = told.get("reference_answer")
        return reference is not None and without_side(reference, "user")[0] is not None
    return signal not in _DECLARED or bool(told.get(_DECLARED[signal]))


def asked_signals(scenario: Scenario) -> list[str]:
    """Return the signals of a scenario's whitelist for which it declares what they need."""
    names = (scenario.signals or {}).get("success_signals", ())
    return [name for name in names if _is_declared(scenario, name)]


def judged_table(population: Population) -> pl.DataFrame:
    """Return a row a scenario and signal that only a judge can answer: ``scenario_id, signal``."""
    return pl.DataFrame(
        [
            (scenario.id, signal)
            for scenario in population.scenarios
            for signal in asked_signals(scenario)
            if signal in NEED_A_JUDGE
        ],
        schema={"scenario_id": pl.String, "signal": pl.String},
        orient="row",
    )


def answered_signals(answers: pl.DataFrame, *, protocol: SignalsProtocol) -> pl.DataFrame:
    """Return the calls and signals for which a judge has answered something.

    Parameters
    ----------
    answers : polars.DataFrame
        `inquesto_core.events.signals.ANSWERS`.

    Returns
    -------
    polars.DataFrame
        ``call_id, signal``: a mark, or that none could be given, for ``judge_passed``; any answer
        for ``nl_assertion``, where a claim without one has not passed.
    """
    is_mark = (pl.col("question") == protocol.judge_question) & (
        pl.col("score").is_not_null() | pl.col("undetermined").is_not_null()
    )
    found = [
        answers.filter(is_mark).select("call_id", signal=pl.lit("judge_passed")),
        answers.select("call_id", signal=pl.lit("nl_assertion")),
    ]
    return pl.concat(found).unique().sort("call_id", "signal")


def lacking_a_judge(
    population: Population, *, queued: Collection[str], judged: Collection[tuple[str, str]]
) -> dict[str, int]:
    """Return by domain how many scenarios count on a judge that none of their calls has.

    Parameters
    ----------
    queued : collection of str
        Scenarios that have calls.
    judged : collection of (scenario, signal)
        What some call of a scenario has answers for.
    """
    return dict(
        sorted(
            Counter(
                scenario.family
                for scenario in population.scenarios
                if scenario.id in queued
                and any(
                    signal in NEED_A_JUDGE and (scenario.id, signal) not in judged
                    for signal in asked_signals(scenario)
                )
            ).items()
        )
    )
