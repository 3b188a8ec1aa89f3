"""Two agents compared, from the run folders that hold their calls.

Partitions are read one after the other, and of each call only what a comparison needs is kept: its
slot, its outcome and its events, some forty bytes a side. Ids, events and verdicts are read again
for the few calls that are shown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.compare.barge_in_pairs import barge_in_differences
from inquesto_core.compare.bootstrap import Resampling
from inquesto_core.compare.comparable import refuse_incomparable
from inquesto_core.compare.cost_pairs import cost_differences, priced_pairs
from inquesto_core.compare.gates import Gate, GatesVerdict, columns_of, parse_gates, pass_gates
from inquesto_core.compare.latency_pairs import call_waits, wait_difference
from inquesto_core.compare.paired import Pairing, cause_counts, moved_causes, pair_calls
from inquesto_core.compare.repeats import repeats
from inquesto_core.compare.run_comparison import (
    RunComparison,
    compare_pairs,
)
from inquesto_core.compare.stage_pairs import stage_differences
from inquesto_core.engine.call_outcomes import told_costs
from inquesto_core.engine.compare_columns import (
    CallColumns,
    add_scenario_columns,
    join_notes,
    read_columns,
    refuse_many_values,
    refuse_unknown_keys,
)
from inquesto_core.engine.compare_labels import corrected_by_labels
from inquesto_core.engine.compare_out import write_comparison
from inquesto_core.engine.compare_shown import every_moved, shown_calls
from inquesto_core.engine.compare_side import Side, call_ids, load_side, shown_details
from inquesto_core.engine.compare_standing import (
    agent_meant,
    ground_notes,
    refuse_same,
    standing_of,
)
from inquesto_core.engine.compare_waits import (
    WAIT_KINDS,
    reported_stages,
    turn_barge_ins,
    turn_waits,
)
from inquesto_core.engine.regression import check_regressions
from inquesto_core.engine.run_protocol import population_of_run, protocol_of_run
from inquesto_core.engine.stored import open_run
from inquesto_core.errors import IncomparableError, Problem, SchemaError
from inquesto_core.places import read_file_bytes
from inquesto_core.shipped import schemas_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from inquesto_core.compare.barge_in_pairs import BargeInDifference
    from inquesto_core.compare.cost_pairs import CostDifference, Costs, PricedPairs
    from inquesto_core.compare.latency_pairs import WaitDifference
    from inquesto_core.compare.regression import FailureCheck
    from inquesto_core.compare.stage_pairs import StageDifference
    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population

__all__ = ["RECOMMENDED_GATES", "Compared", "compare"]

#: The name that stands for the gates that are shipped.
RECOMMENDED_GATES = "recommended"
BY = ("condition", "group")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What `compare` found.

    Parameters
    ----------
    comparison : RunComparison
    moved : polars.DataFrame
        Every call that broke, was fixed or fails under both: slot, ``outcome, call_id_a, call_id_b,
        appeared, went, stayed``, most severe first.
    shown : polars.DataFrame
        Those of it that a text shows, with the list in which it does: `shown_calls`.
    details : dict of str to dict
        Of these, by side and id: the counted events and the goal's verdict.
    severity : dict of str to int
        Of each event type.
    gates : GatesVerdict or None
    """

    comparison: RunComparison
    moved: pl.DataFrame
    shown: pl.DataFrame
    details: dict[str, dict[str, dict[str, Any]]]
    severity: dict[str, int]
    gates: GatesVerdict | None

    def document(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            **self.comparison.document(),
            "moved": self.moved.with_columns(pl.col("outcome").cast(pl.String)).to_dicts(),
            "gates": None if self.gates is None else self.gates.document(),
        }


def compare(
    run_a: str | Path,
    run_b: str | Path | None = None,
    *,
    agents: tuple[str, str] | None = None,
    gates: str | Path | None = None,
    by: Sequence[str] = (),
    columns: str | Path | None = None,
    cluster: str = "scenario_id",
    resamples: int = 10_000,
    seed: int = 1,
    costs: str | Path | None = None,
    bundles: Sequence[str | Path] = (),
    labels: Sequence[str | Path] = (),
    key: str | Path | None = None,
    regression: str | Path | None = None,
    out: str | Path | None = None,
    protocol: str | Path | None = None,
    population: str | Path | None = None,
) -> Compared:
    """Return how agent B does beside agent A on the same calls.

    Parameters
    ----------
    run_a, run_b : path
        Run folders; without `run_b` both agents are of `run_a`.
    agents : pair of str, optional
        A's and B's name, fingerprint, or its beginning; needed where a run has several agents.
    gates : path or "recommended", optional
        A file of gates.
    by : sequence of str
        Columns whose values are compared one by one; default condition and group, and what gates
        look into.
    columns : path, optional
        A CSV or Parquet file with ``call_id`` or ``scenario_id`` and further columns for `by`.
    cluster : str
        The column whose values are drawn again for intervals.
    resamples, seed : int
    costs : path, optional
        Rows ``call_id``, ``cost``, ``currency`` of the calls of both runs.
    bundles : sequence of path
        The runs' bundles, whose tags tell the cost; a file of costs goes before them.
    labels : sequence of path
        Label files that correct both scores: one for both sides, or A's and then B's.
    key : path, optional
        ``key.json`` of the labelled sheet, where it does not lie beside the labels.
    regression : path, optional
        A set of reviewed failures, told apart from every rate.
    out : path, optional
        A folder for ``compare.json`` and ``pairs.parquet``.
    protocol, population : path, optional
        Those that the runs were scored with, where they are not at hand.

    Raises
    ------
    IncomparableError
        ``runs_not_comparable``, ``same_run_twice``, ``agent_unknown``, ``agents_ambiguous``,
        ``no_pairs``, ``column_unknown``, ``regression_differs``; with labels ``no_verdicts``,
        ``key_missing``, ``calls_differ``.
    SchemaError
        ``gates_invalid``, ``schema``, ``columns_invalid``, ``rows_invalid``, ``labels_invalid``.
    StoreError
        ``not_a_run``, ``run_damaged``, ``not_readable``, ``out_not_empty``, ``run_unwritable``.
    """
    rules = () if gates is None else _read_gates(gates)
    told = told_costs(costs, bundles)
    resampling = Resampling(resamples=resamples, seed=seed)
    first = open_run(run_a)
    second = first if run_b is None else open_run(run_b)
    names = (None, None) if agents is None else agents
    chosen = (agent_meant(first, names[0]), agent_meant(second, names[1]))
    refuse_same(first, second, chosen)
    standings = [
        standing_of(run, fingerprint)
        for run, fingerprint in zip((first, second), chosen, strict=True)
    ]
    refuse_incomparable(*standings)
    law = protocol_of_run(first, protocol)
    people = population_of_run(first, population, protocol=law)
    wanted = tuple(dict.fromkeys([*(by or BY), *columns_of(rules)]))
    given = None if columns is None else read_columns(Path(columns))
    needed = CallColumns.of((*wanted, cluster), people, given)
    sides = [
        load_side(run, fingerprint, law=law, people=people, needed=needed)
        for run, fingerprint in zip((first, second), chosen, strict=True)
    ]
    pairing, joined = _pair(sides, cluster, needed, people)
    moved = moved_causes(pairing.pairs.filter(pl.col("outcome") != "still_passing"), law)
    waits, waits_of, censored = _waits(sides, pairing, resampling)
    comparison = compare_pairs(
        pairing,
        a=sides[0].facts,
        b=sides[1].facts,
        protocol=law,
        population=people.name,
        cluster=cluster,
        by=wanted,
        resampling=resampling,
        causes=cause_counts(moved),
        waits=waits,
        waits_of=waits_of,
        censored=censored,
        repeats=_repeats(sides),
        notes=[*ground_notes(standings, chosen), *joined],
    )
    comparison = replace(
        comparison,
        barge_ins=_barge_ins(sides, pairing, resampling),
        stages=_stages(sides, pairing, resampling),
        regressions=None
        if regression is None
        else _regressions(regression, (first, second), agents),
    )
    if costs is not None or bundles:
        priced, differences = _costs(sides, pairing, told, resampling)
        comparison = replace(comparison, priced=priced, costs=differences)
    if labels:
        corrected = corrected_by_labels(
            comparison, (first, second), labels, key=key, protocol=law, population=people
        )
        comparison = replace(comparison, corrected=corrected)
    verdict = pass_gates(rules, comparison) if rules else None
    named = every_moved(moved, sides, law)
    shown = shown_calls(named, law)
    done = Compared(
        comparison=comparison,
        moved=named,
        shown=shown,
        details={
            end: shown_details(side.stored, shown[f"call_id_{end}"].to_list(), law)
            for side, end in zip(sides, "ab", strict=True)
        },
        severity={event.name: event.severity for event in law.events},
        gates=verdict,
    )
    if out is not None:
        write_comparison(Path(out), done.document(), named)
    return done


def _read_gates(name: str | Path) -> tuple[Gate, ...]:
    shipped = schemas_folder() / f"gates-{RECOMMENDED_GATES}.toml"
    path = shipped if str(name) == RECOMMENDED_GATES else Path(name)
    try:
        data = read_file_bytes(path)
    except OSError as exc:
        raise SchemaError(
            Problem(
                code="gates_invalid",
                found=f"{path.name} cannot be read: {exc.strerror}",
                expected=f"a file of gates, or `{RECOMMENDED_GATES}` for the shipped ones",
            )
        ) from exc
    return parse_gates(data, file=path.name)


def _pair(
    sides: Sequence[Side], cluster: str, needed: CallColumns, people: Population
) -> tuple[Pairing, list[str]]:
    """Return the pairs with ``cluster`` and the columns of slices, and what these do not say."""
    pairing = pair_calls(sides[0].calls, sides[1].calls)
    if pairing.pairs.is_empty():
        raise IncomparableError(
            Problem(
                code="no_pairs",
                found="no call of A has a partner in B: none has the same scenario, condition, "
                "group and trial and is in n on both sides",
                expected="two agents that were asked the same calls",
            )
        )
    pairs = add_scenario_columns(pairing.pairs, needed, people)
    refuse_unknown_keys(pairs, needed, _configs(sides))
    notes = join_notes(pairs, needed)
    for name in needed.of_calls:
        # What differs within a pair is shown as what it became.
        one, two = (pl.col(f"{name}_{end}").cast(pl.String) for end in "ab")
        same = pl.when(one.eq_missing(two)).then(one)
        pairs = pairs.with_columns(
            same.otherwise(pl.format("{} → {}", one.fill_null("–"), two.fill_null("–"))).alias(name)
        ).drop(f"{name}_a", f"{name}_b")
    refuse_many_values(pairs, needed)
    pairs = pairs.with_columns(cluster=pl.col(cluster).cast(pl.String).fill_null("(not known)"))
    return replace(pairing, pairs=pairs), notes


def _configs(sides: Sequence[Side]) -> Iterator[str | None]:
    """Yield the configurations of both runs' calls, each once a partition."""
    for side in sides:
        for part in side.stored.parts:
            calls = side.stored.part(part, {"calls": ("agent_config",)})["calls"]
            yield from calls["agent_config"].unique()


def _stages(
    sides: Sequence[Side], pairing: Pairing, resampling: Resampling
) -> tuple[StageDifference, ...]:
    held = [
        reported_stages(side, pairing.pairs.select("cluster", at=f"at_{end}"))
        for side, end in zip(sides, "ab", strict=True)
    ]
    return stage_differences(held[0], held[1], resampling=resampling)


def _costs(
    sides: Sequence[Side], pairing: Pairing, told: Costs, resampling: Resampling
) -> tuple[PricedPairs, tuple[CostDifference, ...]]:
    named = pairing.pairs.with_columns(
        call_ids(side, pairing.pairs[f"at_{end}"]).alias(f"call_id_{end}")
        for side, end in zip(sides, "ab", strict=True)
    )
    priced = priced_pairs(named, told)
    if priced.pairs == priced.two_currencies:
        return priced, ()
    return priced, cost_differences(named, told, resampling=resampling)


def _barge_ins(
    sides: Sequence[Side], pairing: Pairing, resampling: Resampling
) -> tuple[BargeInDifference, ...]:
    """Return how often both yield; nothing where a run keeps no measurements of single turns."""
    if not all(side.stored.has_table("replies") for side in sides):
        return ()
    one, two = (
        turn_barge_ins(side, pairing.pairs.select("cluster", at=f"at_{end}"))
        for side, end in zip(sides, "ab", strict=True)
    )
    return barge_in_differences(one, two, resampling=resampling)


def _regressions(
    folder: str | Path, runs: tuple[StoredRun, StoredRun], agents: tuple[str, str] | None
) -> tuple[tuple[FailureCheck, FailureCheck], ...]:
    one, two = (stored.folder for stored in runs)
    checked = check_regressions(folder, one, two, agents=agents)
    return tuple(zip(checked.a, checked.b, strict=True))


def _waits(
    sides: Sequence[Side], pairing: Pairing, resampling: Resampling
) -> tuple[tuple[WaitDifference, ...], str, tuple[int, int] | None]:
    """Return how waits differ: single ones where both runs kept them, else each call's median."""
    if not all(side.stored.has_table("replies") for side in sides):
        one, two = (call_waits(pairing.pairs, end) for end in "ab")
        return (wait_difference(one, two, kind="all", resampling=resampling),), "calls", None
    held = [
        turn_waits(side, pairing.pairs.select("cluster", at=f"at_{end}"))
        for side, end in zip(sides, "ab", strict=True)
    ]
    found = [
        wait_difference(
            held[0].of(kind),
            held[1].of(kind),
            kind=kind,
            resampling=resampling,
            cut_short=(held[0].cut_short(kind), held[1].cut_short(kind)),
        )
        for kind in WAIT_KINDS
        if kind == "all" or all(each.of(kind).height for each in held)
    ]
    return tuple(found), "turns", found[0].cut_short


def _repeats(sides: Sequence[Side]) -> dict[str, Any]:
    found = {
        end: repeats(side.calls.filter(pl.col("state").is_in(["scored", "agent_fault"])))
        for side, end in zip(sides, "ab", strict=True)
    }
    return {end: each for end, each in found.items() if each is not None}
