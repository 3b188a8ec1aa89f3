"""Whether bundles are those that a run was made of, and give the same evidence here and now.

A bundle is known again by its files, wherever it lies. Edges may lie a millisecond apart, since
processors round differently; what is read from files is compared exactly, and so are events.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from inquesto_core.attest import Check
from inquesto_core.attest.check import outcome_of
from inquesto_core.bundle import at_hand, find_bundles, read_bundle
from inquesto_core.bundle.files import hash_file
from inquesto_core.engine.attest_rederive import reading_of, slots_twice
from inquesto_core.engine.cpu_class import cpu_class
from inquesto_core.engine.extract import extract_all
from inquesto_core.engine.reduction import EXTRACTED, READ, reduce_part, tables_of
from inquesto_core.errors import BundleError, SchemaError
from inquesto_core.evidence import TABLES
from inquesto_core.evidence.store import EvidenceStore

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from inquesto_core.bundle import BundleRef
    from inquesto_core.engine.executors import Executor
    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population, Protocol

__all__ = ["EDGE_MS", "deep_checks"]

#: How far an edge may lie from where it was.
EDGE_MS = 1
#: A value made of two edges.
_VALUE_MS = 2 * EDGE_MS
#: What levels, shares and distances may differ by.
_REAL = 0.01
_SHOWN = 5

#: Tables that hold what a bundle's own files say, and what reading them found.
_OF_FILES = (
    "calls",
    "tool_calls",
    "words",
    "reported_turns",
    "reported_latencies",
    "reported_stages",
    "states",
)
#: A run names an agent that brings no fingerprint itself.
_OF_THE_RUN = "agent_fingerprint"
#: Times of events, which are made of edges.
_EVENT_TIMES = ("at_ms", "end_ms", "value", "margin_ms")

Digests = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bundles:
    check: Check
    whole: dict[str, BundleRef]


def deep_checks(
    stored: StoredRun,
    law: Protocol,
    people: Population,
    sources: Sequence[str | Path],
    *,
    allowed: Collection[str],
    scratch: Path,
    executor: Executor,
    progress: Callable[[int, int], None],
) -> tuple[Check, ...]:
    """Return whether the bundles are the run's, and the evidence and events are theirs.

    Parameters
    ----------
    sources : sequence of path
        Where the bundles lie: folders, archives, manifests.
    scratch : Path
        An empty folder.
    """
    bundles = _check_bundles(stored, sources, allowed=allowed, scratch=scratch)
    if not bundles.whole:
        why = "no bundle of the run is at hand whole"
        skipped = (
            Check(name=name, outcome="not_checked", says=why) for name in ("evidence", "events")
        )
        return (bundles.check, *skipped)
    extracted = extract_all(
        list(bundles.whole.values()),
        protocol=law,
        kept=EvidenceStore.open(scratch / "store").root,
        executor=executor,
        progress=progress,
    )
    measured = dict(zip(bundles.whole, extracted, strict=True))
    reading = reading_of(stored, law, people)
    _, twice = slots_twice(stored, law, people)
    evidence, events = [], []
    for part in stored.parts:
        before = stored.part(part, {name: tuple(TABLES[name]) for name in (*EXTRACTED, "events")})
        ours = [call_id for call_id in before["calls"]["call_id"] if call_id in measured]
        before = {name: _of(table, ours) for name, table in before.items()}
        fresh = tables_of(measured[call_id].rows for call_id in ours)
        evidence += _evidence_faults(before, fresh)
        tables = {**{name: before[name] for name in READ}, **_measured_anew(before, fresh)}
        made = reduce_part(tables, reading, twice=twice, keep=("events",)).derived["events"]
        events += _event_faults(before["events"], made)
    was = (stored.manifest.get("platform") or {}).get("cpu") or "an unnamed processor"
    calls = f"{len(measured)} of {stored.inputs['call'].n_unique()} calls"
    gaps = [
        f"{what}: not asked again"
        for what, kind in (
            ("a model's answers", reading.judge.kind in ("pinned", "gguf")),
            ("a transcriber's words", reading.transcriber.kind != "none"),
        )
        if kind
    ]
    return (
        bundles.check,
        outcome_of(
            "evidence",
            f"{calls} give the same evidence on {cpu_class()} as on {was}, edges within "
            f"{EDGE_MS} ms",
            evidence,
            gaps,
        ),
        outcome_of("events", f"{calls} give the same events when measured anew", events, gaps),
    )


def _of(table: pl.DataFrame, call_ids: Sequence[str]) -> pl.DataFrame:
    return table.filter(pl.col("call_id").is_in(pl.Series(call_ids, dtype=pl.String).implode()))


def _check_bundles(
    stored: StoredRun, sources: Sequence[str | Path], *, allowed: Collection[str], scratch: Path
) -> _Bundles:
    wanted: dict[str, Digests] = {}
    for call_id, file, sha256 in stored.inputs.iter_rows():
        wanted.setdefault(call_id, {})[file] = sha256
    names = frozenset(file for files in wanted.values() for file in files)
    holders: dict[tuple[str, str], set[str]] = {}
    for call_id, files in wanted.items():
        for pair in files.items():
            holders.setdefault(pair, set()).add(call_id)
    whole: dict[str, BundleRef] = {}
    changed: dict[str, list[str]] = {}
    found = find_bundles(sources, scratch=scratch / "sources", allowed=allowed)
    for ref in found.refs:
        try:
            with at_hand(ref):
                call_id, here = _known_again(ref, names, holders, wanted)
                if call_id is None or call_id in whole:
                    continue
                faults = _bundle_faults(ref, call_id, wanted[call_id], here)
        except BundleError:
            continue
        if faults:
            changed.setdefault(call_id, faults)
        else:
            whole[call_id] = ref
            changed.pop(call_id, None)
    missing = sorted(wanted.keys() - whole.keys() - changed.keys())
    gaps = [f"{call_id}: no bundle of it in the sources" for call_id in missing]
    faults = [line for call_id in sorted(changed) for line in changed[call_id]]
    says = f"{len(whole)} of {len(wanted)} bundles are those that were scored"
    check = outcome_of("bundles", says, faults, gaps, looked=bool(whole or changed))
    return _Bundles(check=check, whole=dict(sorted(whole.items())))


def _known_again(
    ref: BundleRef,
    names: frozenset[str],
    holders: Mapping[tuple[str, str], set[str]],
    wanted: Mapping[str, Digests],
) -> tuple[str | None, Digests]:
    """Return which call of the run a bundle is, by its files, and their SHA-256."""
    here: Digests = {}
    for name in names:
        try:
            here[name] = hash_file(ref.path, name)
        except BundleError:
            continue
    shared: dict[str, int] = {}
    for pair in here.items():
        for call_id in holders.get(pair, ()):
            shared[call_id] = shared.get(call_id, 0) + 1
    try:
        named = read_bundle(ref).call.call_id
    except (BundleError, SchemaError):
        named = ref.path.name
    if not shared:
        return (named if named in wanted else None), here
    return max(shared, key=lambda call_id: (shared[call_id], call_id == named, call_id)), here


def _bundle_faults(ref: BundleRef, call_id: str, wanted: Digests, here: Digests) -> list[str]:
    faults = []
    for file, sha256 in wanted.items():
        if file not in here:
            faults.append(f"{call_id}: {file} is not there")
        elif here[file] != sha256:
            faults.append(f"{call_id}: {file} is not the file that was scored")
    if faults:
        return faults
    bundle = read_bundle(ref)
    extra = sorted(name for name, _ in bundle.digests if name not in wanted)
    return [f"{call_id}: {file} was not there when it was scored" for file in extra]


def _measured_anew(
    before: Mapping[str, pl.DataFrame], fresh: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Return the tables that a score is read from, as measured now."""
    named = before["calls"].select("call_id", _OF_THE_RUN)
    calls = fresh["calls"].drop(_OF_THE_RUN).join(named, on="call_id", how="left")
    told = ("segments", "tool_calls", "reported_turns", "reported_latencies", "states", "problems")
    heard = before["transcript"].filter(pl.col("source") != "platform")
    return {
        **{name: fresh[name] for name in told},
        "calls": calls.select(before["calls"].columns).sort("call_id"),
        "transcript": pl.concat([fresh["transcript"], heard]).sort("call_id", "position"),
    }


def _evidence_faults(
    before: Mapping[str, pl.DataFrame], fresh: Mapping[str, pl.DataFrame]
) -> list[str]:
    faults = []
    for name in _OF_FILES:
        faults += _differs(name, before[name], fresh[name], without=(_OF_THE_RUN,))
    told = before["transcript"].filter(pl.col("source") == "platform")
    faults += _differs("transcript", told, fresh["transcript"])
    recorded = before["verdicts"].filter(pl.col("source") == "recorded")
    if not recorded.is_empty():
        faults += _differs("verdicts", recorded, fresh["verdicts"])
    codes = ("call_id", "level", "code", "file", "pointer")
    asked = before["problems"].select(codes), fresh["problems"].select(codes)
    faults += _differs("problems", asked[0].sort(codes), asked[1].sort(codes))
    key = ("call_id", "channel", "start_ms", "end_ms")
    faults += _differs(
        "segments",
        before["segments"].sort(key),
        fresh["segments"].sort(key),
        near={"start_ms": EDGE_MS, "end_ms": EDGE_MS},
    )
    reals = {name: _REAL for name, kind in TABLES["media"].items() if kind == pl.Float64}
    return faults + _differs("media", before["media"], fresh["media"], near=reals)


def _event_faults(before: pl.DataFrame, made: pl.DataFrame) -> list[str]:
    near = dict.fromkeys(_EVENT_TIMES, _VALUE_MS)
    key = ("call_id", "type", "evidence_key", "at_ms")
    left, right = (
        table.sort(key, nulls_last=True, maintain_order=True) for table in (before, made)
    )
    return _differs("events", left, right, near=near)


def _differs(
    name: str,
    before: pl.DataFrame,
    now: pl.DataFrame,
    *,
    without: Sequence[str] = (),
    near: Mapping[str, float] | None = None,
) -> list[str]:
    """Return a line a call in which two tables differ: exactly, or by more than `near` allows."""
    columns = [name for name in before.columns if name not in ("call_id", *without)]
    allowed = near or {}
    counts = [
        table.group_by("call_id").agg(pl.len().alias(f"n_{at}"))
        for at, table in enumerate((before, now))
    ]
    joined = counts[0].join(counts[1], on="call_id", how="full", coalesce=True).fill_null(0)
    uneven = joined.filter(pl.col("n_0") != pl.col("n_1"))
    lines = [
        f"{call_id}: {name} has {one} rows, and measured anew {other}"
        for call_id, one, other in uneven.sort("call_id").rows()
    ]
    left, right = (
        table.join(uneven.select("call_id"), on="call_id", how="anti", maintain_order="left")
        for table in (before, now)
    )
    if left.height:
        told = left.select("call_id").with_columns(
            _unlike(left[column], right[column], allowed.get(column)).alias(column)
            for column in columns
        )
        lines += [
            f"{call_id}: {name} differs in {column}"
            for column in columns
            for call_id in told.filter(pl.col(column))["call_id"].unique().sort().to_list()
        ]
    return lines[:_SHOWN] + ([f"{name}: and {len(lines) - _SHOWN} more"] if lines[_SHOWN:] else [])


def _unlike(left: pl.Series, right: pl.Series, near: float | None) -> pl.Series:
    if near is None:
        return left.ne_missing(right)
    far = ((left - right).abs() > near).fill_null(value=False)
    return far | (left.is_null() != right.is_null())
