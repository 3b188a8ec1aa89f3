"""The record of a run as the public reference implementation writes it: its fields, its rounding.

Read by ``--compat reference`` alone. Sums over calls are taken for all runs at once; a run's record
is then arithmetic on a few numbers a slice. Where our own record says *null* for an empty slice,
the reference writes bounds of 0.0, and so does this.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.score.rate import Rate, published_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from inquesto_core.protocol import Population, Protocol

__all__ = ["REFERENCE_POPULATION", "reference_records"]

#: What the reference says of itself in every record, beside what our protocol says too.
_VOICES = {
    "us_female": "af_heart",
    "us_male": "am_michael",
    "uk_female": "bf_emma",
    "uk_male": "bm_george",
}
_TESTSET = "protocol-v0.1"
_ABOUT = {
    "judge_model": "gemma2:9b",
    "speaker_model": "wespeaker_en_voxceleb_resnet34_LM",
    "speaker_threshold": 0.68,
}
#: Its name and its own digest for its population.
REFERENCE_POPULATION = {
    "name": _TESTSET,
    "scenarios": 30,
    "sha256": "b4ddff957c94",
    "default": True,
}

_VIEWS = ("behavior", "robustness", "identity", "fairness")
_GEOMETRIC_FLOOR = 0.1
_CELL = ("run", "condition", "group", "is_identity")

Cell = dict[str, Any]


def reference_records(
    calls: pl.DataFrame,
    events: pl.DataFrame,
    agents: Iterable[tuple[str, Mapping[str, Any]]],
    *,
    protocol: Protocol,
    population: Population,
    evaluated_at: str | None,
) -> list[dict[str, Any]]:
    """Return the record of each run, in the order of `agents`.

    Parameters
    ----------
    calls, events : polars.DataFrame
        As `inquesto_core.events.reference_rules` gives them.
    agents : iterable of (str, mapping)
        Of each run the folder's name and what ``agent.json`` says.
    evaluated_at : str or None
        ``YYYY-MM-DD``; the reference writes the local date.
    """
    cells = _cells(calls, protocol)
    by_run: dict[int, list[Cell]] = {}
    for cell in cells.iter_rows(named=True):  # a few dozen a run
        by_run.setdefault(cell["run"], []).append(cell)
    tallies = _tallies(calls, events)
    designs = {row["run"]: row for row in _designs(calls).iter_rows(named=True)}
    return [
        _record(
            by_run.get(run, []),
            tallies.get(run, []),
            designs.get(run),
            _Agent(folder, agent, evaluated_at),
            protocol=protocol,
            population=population,
        )
        for run, (folder, agent) in enumerate(agents)
    ]


class _Agent:
    """What a record takes from beside the calls."""

    def __init__(self, folder: str, told: Mapping[str, Any], evaluated_at: str | None) -> None:
        self.name = told.get("name", folder)
        self.fingerprint = told.get("fingerprint", "")
        self.runtime, self.config = told.get("runtime"), told.get("config")
        self.population = told.get("population") or dict(REFERENCE_POPULATION)
        self.evaluated_at = evaluated_at


def _cells(calls: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    """Return sums over the calls of each run, condition and group, identity calls apart."""
    goal, worst, fail_at = pl.col("goal"), pl.col("worst_severity"), protocol.fail_at
    failed_heard = goal & (worst >= fail_at) & (pl.col("worst_unheard") < fail_at)
    return (
        calls.with_columns(is_identity=pl.col("identity").is_not_null())
        .group_by(_CELL)
        .agg(
            pl.len().alias("n"),
            pl.col("passed").sum(),
            only_audio=failed_heard.sum(),
            unheard=(goal & (pl.col("worst_unheard") < fail_at)).sum(),
            **{f"at_{at}": (goal & (worst < at)).sum() for at in protocol.sensitivity_fail_at},
        )
    )


def _tallies(calls: pl.DataFrame, events: pl.DataFrame) -> dict[int, list[Cell]]:
    owner = calls.select("call", "run", is_identity=pl.col("identity").is_not_null())
    counted = (
        events.join(owner, on="call", maintain_order="left")
        .group_by("run", "type", "severity", "is_identity")
        .len("n")
    )
    out: dict[int, list[Cell]] = {}
    for row in counted.iter_rows(named=True):  # a few dozen a run
        out.setdefault(row["run"], []).append(row)
    return out


def _designs(calls: pl.DataFrame) -> pl.DataFrame:
    return calls.group_by("run").agg(
        pl.col("scenario_id").n_unique(),
        pl.col("condition", "group").unique().sort(),
        pl.col("seed").n_unique(),
    )


def _rate(cells: Iterable[Cell], protocol: Protocol, passed: str = "passed") -> dict[str, Any]:
    rows = list(cells)
    rate = Rate(k=sum(row[passed] for row in rows), n=sum(row["n"] for row in rows))
    low, high = _bounds(rate, protocol.z)
    return {
        "score": rate.published,
        "lo": published_bound(low),
        "hi": published_bound(high),
        "n": rate.n,
        "passed": rate.k,
    }


def _bounds(rate: Rate, z: float) -> tuple[float, float]:
    """Return the Wilson interval as `score.rate` gives it, (0, 0) of nothing.

    One by one and without arrays: a run's record is done in a fraction of the time.
    """
    if not rate.n:
        return 0.0, 0.0
    p, z2n = rate.k / rate.n, z * z / rate.n
    half = z * math.sqrt(p * (1 - p) / rate.n + z2n / (4 * rate.n))
    middle, whole = p + z2n / 2, 1 + z2n
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def _difference(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else round(left - right, 1)


def _views(
    cells: list[Cell], tallies: list[Cell], protocol: Protocol, population: Population
) -> dict[str, Any]:
    def rate(keep: Callable[[Cell], bool]) -> dict[str, Any]:
        return _rate(filter(keep, cells), protocol)

    def counted(event: str) -> int:
        return sum(row["n"] for row in tallies if row["type"] == event and row["is_identity"])

    clean, reference = population.reference_condition, population.reference_group
    by_group = {
        group: rate(lambda cell, group=group: cell["group"] == group)  # type: ignore[misc]
        for group in sorted({cell["group"] for cell in cells})
    }
    at_reference = by_group.get(reference, {}).get("score")
    for told in by_group.values():
        told["delta_vs_reference"] = _difference(told["score"], at_reference)
    worst = min(by_group, key=lambda group: by_group[group]["score"], default=None)
    robust = rate(lambda cell: cell["condition"] in population.degraded)
    in_clean = rate(lambda cell: cell["condition"] == clean)
    return {
        "behavior": rate(
            lambda cell: (
                not cell["is_identity"]
                and cell["condition"] == clean
                and cell["group"] == reference
            )
        ),
        "robustness": {**robust, "gap_vs_clean": _difference(in_clean["score"], robust["score"])},
        "identity": {
            **rate(lambda cell: cell["is_identity"]),
            "false_accepts": counted("false_accept"),
            "false_rejects": counted("false_reject"),
        },
        "fairness": {
            **(rate(lambda _: False) if worst is None else by_group[worst]),
            "worst_group": worst,
            "by_group": by_group,
        },
    }


def _failures(tallies: list[Cell], protocol: Protocol) -> dict[str, Any]:
    by_severity = {f"S{severity.level}": 0 for severity in protocol.severities}
    by_type: dict[str, int] = {}
    for row in tallies:
        by_severity[f"S{row['severity']}"] += row["n"]
        by_type[row["type"]] = by_type.get(row["type"], 0) + row["n"]
    ranked = sorted(by_type.items(), key=lambda row: (-row[1], row[0]))
    return {"failures_by_severity": by_severity, "failures_by_type": dict(ranked)}


def _audio_only(cells: list[Cell], overall: Mapping[str, Any], protocol: Protocol) -> Cell:
    failed, only = overall["n"] - overall["passed"], sum(cell["only_audio"] for cell in cells)
    return {
        "failed": failed,
        "failed_only_on_audio_events": only,
        "fraction": round(only / failed, 3) if failed else None,
        "score_if_transcript_only": _rate(cells, protocol, "unheard")["score"],
    }


def _ablation(views: Mapping[str, Any]) -> dict[str, float | None]:
    scores = [views[name]["score"] for name in _VIEWS]
    if None in scores:
        return dict.fromkeys(("mean_of_views", "geometric_mean_of_views", "min_view"))
    product = math.prod(max(score, _GEOMETRIC_FLOOR) for score in scores)
    return {
        "mean_of_views": round(sum(scores) / len(scores), 1),
        "geometric_mean_of_views": round(product ** (1 / len(scores)), 1),
        "min_view": round(min(scores), 1),
    }


def _sensitivity(cells: list[Cell], protocol: Protocol) -> dict[str, Any]:
    meanings = {severity.level: severity.meaning for severity in protocol.severities}
    out = {}
    for at in protocol.sensitivity_fail_at:
        told = _rate(cells, protocol, f"at_{at}")
        shown = {name: told[name] for name in ("score", "lo", "hi")}
        out[f"S{at}"] = {"threshold": at, "meaning": meanings[at], **shown}
    return out


def _definition(protocol: Protocol, population: Population) -> dict[str, Any]:
    return {
        "version": protocol.version,
        "testset": _TESTSET,
        "conditions": list(population.conditions),
        "groups": {group: _VOICES.get(group) for group in population.groups},
        "reference_group": population.reference_group,
        "seeds": population.design.trials,
        "severity": {event.name: event.severity for event in protocol.events},
        "fail_at": protocol.fail_at,
        **_ABOUT,
        "latency_ms": {
            "s2_median": protocol.event("slow_median").parameters["median_ms"],
            "s3_turn": protocol.event("slow_turn").parameters["latency_ms"],
        },
    }


def _citation(record: Mapping[str, Any], protocol: Protocol) -> str:
    told = record["population"]
    tag = protocol.label if told.get("default", True) else f"{protocol.label}/{told.get('name')}"
    if record["score"] is None:
        return f"Inquesto {tag} = n/a (n = {record['n']})"
    shown = " · ".join(
        f"{view.letter} {_whole(record['views'][view.name]['score'])}" for view in protocol.views
    )
    low, high = record["ci95"]
    return (
        f"Inquesto {tag} = {record['score']:.1f}% "
        f"(95% CI {low:.1f}–{high:.1f}; n = {record['n']}); views {shown}"
    )


def _whole(score: float | None) -> str:
    return "—" if score is None else f"{score:.0f}"


def _record(
    cells: list[Cell],
    tallies: list[Cell],
    design: Cell | None,
    agent: _Agent,
    *,
    protocol: Protocol,
    population: Population,
) -> dict[str, Any]:
    overall = _rate(cells, protocol)
    views = _views(cells, tallies, protocol, population)
    held = design or {"scenario_id": 0, "condition": [], "group": [], "seed": 0}
    record = {
        "protocol": protocol.name,
        "agent": agent.name,
        "agent_fingerprint": agent.fingerprint,
        "score": overall["score"],
        "ci95": [overall["lo"], overall["hi"]],
        "n": overall["n"],
        "passed": overall["passed"],
        "views": views,
        **_failures(tallies, protocol),
        "audio_only": _audio_only(cells, overall, protocol),
        "aggregation_ablation": _ablation(views),
        "severity_sensitivity": _sensitivity(cells, protocol),
        "design": {
            "scenarios": held["scenario_id"],
            "conditions": held["condition"],
            "groups": held["group"],
            "seeds": held["seed"],
        },
        "definition": _definition(protocol, population),
        "evaluated_at": agent.evaluated_at,
        "runtime": agent.runtime,
        "config": agent.config,
        "population": agent.population,
    }
    return {**record, "citation": _citation(record, protocol)}
