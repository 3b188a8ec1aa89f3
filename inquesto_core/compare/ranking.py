"""Whether several runs keep their order when the score is read another way.

The paper (section 4.4) asks it of a judge-free variant and of other thresholds; a record carries
both, and the transcript-only reading and the single numbers out of the views beside them. A rank
correlation over a handful of runs says little: below three nothing is said, and n stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inquesto_core.errors import IncomparableError, Problem
from inquesto_core.score.signature import parse_signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "LEAST_RUNS",
    "RankedRun",
    "Ranking",
    "Reading",
    "kendall_tau",
    "rank_runs",
    "ranked_run",
    "refuse_different",
    "spearman_rho",
]

LEAST_RUNS = 3

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedRun:
    """One record: its score and the other readings of it, in percent; None = not in the record."""

    agent: str
    n: int
    score: float
    readings: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One other reading over all runs that have it.

    Parameters
    ----------
    n : int
        Runs that have it.
    rho : float or None
        Spearman's rank correlation with the score, equal values sharing their mean rank; None
        below `LEAST_RUNS` runs, and where all scores or all readings are equal.
    tau : float or None
        Kendall's tau-b, which counts pairs of runs in the same order; None where `rho` is.
    difference : float or None
        Mean of reading - score, in points.
    """

    name: str
    n: int
    rho: float | None
    tau: float | None
    difference: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Runs by score, best first, and how each other reading orders them.

    Parameters
    ----------
    audio_only, failed : int
        Failed calls of all runs, and those of them that fail on audio-derived events alone.
    """

    protocol: str
    runs: tuple[RankedRun, ...]
    readings: tuple[Reading, ...]
    audio_only: int
    failed: int


def spearman_rho(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation, ties sharing their mean rank.

    Returns
    -------
    float or None
        In [-1, 1]; None below `LEAST_RUNS` values, and where one side is constant.

    Examples
    --------
    >>> spearman_rho([1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    """
    from scipy.stats import spearmanr

    if not _has_order(first, second):
        return None
    return round(float(spearmanr(first, second).statistic), 12)


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's rank correlation tau-b, which allows for ties.

    Of all pairs, those in the same order less those in reverse, by the geometric mean of the pairs
    that are not tied on either side (Kendall 1945).

    Returns
    -------
    float or None
        In [-1, 1]; None below `LEAST_RUNS` values, and where one side is constant.

    Examples
    --------
    >>> kendall_tau([1, 2, 3, 4], [10, 20, 40, 30])
    0.666666666667
    """
    from scipy.stats import kendalltau

    if not _has_order(first, second):
        return None
    return round(float(kendalltau(first, second).statistic), 12)


def _has_order(first: Sequence[float], second: Sequence[float]) -> bool:
    return len(first) >= LEAST_RUNS and len(set(first)) > 1 and len(set(second)) > 1


def rank_runs(records: Sequence[Record]) -> Ranking:
    """Return the runs by score, and how well each other reading keeps that order.

    Parameters
    ----------
    records : sequence of dict
        Ours or published ones; a record without a scored call is left out.

    Raises
    ------
    IncomparableError
        ``records_differ``: they are not of one protocol and population. ``no_score``: none of them
        has a score.
    """
    scored = [record for record in records if record["n"]]
    if not scored:
        raise IncomparableError(
            Problem(code="no_score", found="no record has a scored call", expected="at least one")
        )
    refuse_different(scored)
    runs = sorted(map(ranked_run, scored), key=lambda run: (-run.score, run.agent))
    names = dict.fromkeys(name for run in runs for name in run.readings)
    audio = [record["audio_only"] for record in scored]
    return Ranking(
        protocol=scored[0]["protocol"],
        runs=tuple(runs),
        readings=tuple(_reading(name, runs) for name in names),
        audio_only=sum(part["failed_only_on_audio_events"] for part in audio),
        failed=sum(part["failed"] for part in audio),
    )


def _reading(name: str, runs: Sequence[RankedRun]) -> Reading:
    pairs = [(run.score, value) for run in runs if (value := run.readings.get(name)) is not None]
    scores, values = [score for score, _ in pairs], [value for _, value in pairs]
    gaps = np.subtract(values, scores)
    return Reading(
        name=name,
        n=len(pairs),
        rho=spearman_rho(scores, values),
        tau=kendall_tau(scores, values),
        difference=float(gaps.mean()) if pairs else None,
    )


def refuse_different(records: Sequence[Record]) -> None:
    """Refuse records of several protocols or populations.

    Raises
    ------
    IncomparableError
        ``records_differ``.
    """
    for what, told in (
        ("protocol", {str(record["protocol"]) for record in records}),
        ("population", set(map(_population, records))),
    ):
        if len(told) > 1:
            raise IncomparableError(
                Problem(
                    code="records_differ",
                    found=f"the records are of {len(told)} {what}s: {', '.join(sorted(told))}",
                    expected=f"one {what}",
                    remedy="rank runs of the same calls under the same rules",
                )
            )


def _population(record: Record) -> str:
    """Return what tells the population; a published record names none: it is the protocol's own."""
    population = record.get("population")
    if not population or population.get("default"):
        return "the protocol's own"
    digest = population.get("sha256")
    return f"{population['name']} {digest[:16]}" if digest else str(population["name"])


def ranked_run(record: Record) -> RankedRun:
    """Return a record's score and its other readings, unrounded where the record tells counts."""
    n, failed_on_audio = record["n"], record["audio_only"]["failed_only_on_audio_events"]
    free = record.get("judge_free") or {}
    # Without a judge the score is the judge-free one already: comparing them would say nothing.
    text = (record.get("signature") or {}).get("text", "")
    is_judged = not text or parse_signature(text).get("judge") != "none"
    readings = {
        "judge-free": _percent(free.get("passed"), free.get("n")) if is_judged else None,
        "transcript-only": _percent(record["passed"] + failed_on_audio, n),
    }
    for name, part in record["severity_sensitivity"].items():
        if part["threshold"] != record["definition"]["fail_at"]:
            exact = _percent(part.get("k"), part.get("n"))
            readings[f"fails at {name}"] = part["score"] if exact is None else exact
    ablation = record["aggregation_ablation"]
    for name in ("mean_of_views", "geometric_mean_of_views", "min_view"):
        readings[name.replace("_", " ")] = (ablation.get("exact") or ablation)[name]
    return RankedRun(agent=_label(record), n=n, score=100 * record["passed"] / n, readings=readings)


def _percent(k: int | None, n: int | None) -> float | None:
    return 100 * k / n if k is not None and n else None


def _label(record: Record) -> str:
    """Return agent, model and endpointing window, as far as they are told."""
    config = record["config"]
    name = str(record["agent"])
    parts = [name, str(config["model"])] if config.get("model") else [name]
    if config.get("endpointing_ms") is not None:
        parts.append(f"{config['endpointing_ms']} ms")
    return " / ".join(parts)
