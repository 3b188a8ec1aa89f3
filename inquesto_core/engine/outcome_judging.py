"""Answers of a model under signals or checks, in the form in which recorded ones are read.

The judge is that of another protocol, which the outcome protocol names, in the words of its own
rubric. A mark is the model's probability of *true* among its two answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.engine.judging import ask_calls, choose_judge
from inquesto_core.engine.outcome_asking import asked_of_outcomes
from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.events.signals import ANSWERS
from inquesto_core.instruments.rubric import load_rubric
from inquesto_core.protocol import SignalsProtocol, load_protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from inquesto_core.engine.judging import ChosenJudge
    from inquesto_core.engine.outcome_bundles import OutcomeTables
    from inquesto_core.places import Location
    from inquesto_core.protocol import OutcomeProtocol, Population, Protocol

__all__ = ["OutcomeJudge", "answered_by_model", "asking_protocol", "outcome_judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeJudge:
    """The model that answers, and the protocol that pins it with the rubric that it is asked by."""

    chosen: ChosenJudge
    asking: Protocol


def outcome_judge(
    spec: str, protocol: OutcomeProtocol, *, gpu_layers: int | None = None
) -> OutcomeJudge:
    """Return the model that ``pinned`` or ``gguf:PATH`` names, before it is loaded.

    Raises
    ------
    ProtocolError
        ``judge_not_asked``: the protocol names no judge; ``rubric_incomplete``.
    InstrumentError
        As `choose_judge`.
    """
    if protocol.judge is None:
        raise ProtocolError(
            Problem(
                code="judge_not_asked",
                found=f"--judge {spec}: {protocol.name} names no judge and no rubric",
                expected="auto, recorded or none",
                remedy="write the answers into each bundle's verdicts.json, or name both under "
                f"/judge in protocol.json; see docs/{protocol.method}.md",
            )
        )
    asking = asking_protocol(protocol)
    load_rubric(asking)
    return OutcomeJudge(chosen=choose_judge(spec, asking, gpu_layers=gpu_layers), asking=asking)


def asking_protocol(protocol: OutcomeProtocol) -> Protocol:
    """Return the protocol whose judge is asked, with the rubric of this one in place of its own."""
    assert protocol.judge is not None
    pinning = load_protocol(protocol.judge.protocol)
    judge = replace(pinning.instruments.judge, rubric=protocol.judge.rubric)
    return replace(
        pinning,
        folder=protocol.folder,
        folders=(protocol.folder,),
        instruments=replace(pinning.instruments, judge=judge),
    )


def answered_by_model(
    tables: OutcomeTables,
    judge: OutcomeJudge,
    *,
    protocol: OutcomeProtocol,
    population: Population,
    kept: Location,
    progress: Callable[[int, int], None],
) -> tuple[OutcomeTables, dict[str, Any]]:
    """Return the tables with the model's answers in place of recorded ones, and its provenance.

    Parameters
    ----------
    kept : Location
        The evidence store of answers already given; those found there are not asked for again.
    """
    asked = asked_of_outcomes(
        tables, protocol=protocol, population=population, rubric=load_rubric(judge.asking)
    )
    found = ask_calls(
        [each.call for each in asked],
        judge.chosen,
        protocol=judge.asking,
        facts=population.facts,
        kept=kept,
        progress=progress,
    )
    places = pl.DataFrame(
        [
            (each.call.call_id, line, place)
            for each in asked
            for line, place in enumerate(each.places)
        ],
        schema={"call_id": pl.String, "turn": pl.Int64, "place": pl.String},
        orient="row",
    )
    marked = protocol.judge_question if isinstance(protocol, SignalsProtocol) else None
    answers = _answers(found.verdicts, places, marked)
    return replace(tables, answers=answers, verdicts=found.verdicts), found.provenance


def _answers(verdicts: pl.DataFrame, places: pl.DataFrame, marked: str | None) -> pl.DataFrame:
    """Return verdicts as recorded answers are read; the `marked` question has a score too."""
    total = pl.col("p_true") + pl.col("p_false")
    is_marked = (pl.col("question") == pl.lit(marked)) & pl.col("verdict").is_not_null()
    return (
        verdicts.with_columns(pl.col("turn").cast(pl.Int64))
        .join(places, on=["call_id", "turn"], how="left")
        .with_columns(
            score=pl.when(is_marked).then(pl.col("p_true") / total),
            reason=pl.concat_str("place", "reason", separator=": ", ignore_nulls=True),
        )
        .with_columns(
            reason=pl.when(pl.col("undetermined").is_not_null())
            .then(pl.format("undetermined: {}", "undetermined"))
            .otherwise("reason")
        )
        .select(pl.col(name).cast(kind) for name, kind in ANSWERS.items())
        .sort("call_id", "question")
    )
