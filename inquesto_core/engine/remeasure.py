"""What a run's evidence is under a protocol that measures something differently.

A bundle is known again by the digests of all its files, wherever it lies. A call whose bundle is
not shown keeps what its files said and loses what was heard of it: it is not evaluated, with the
reason ``evidence_missing``, and never dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core.bundle import at_hand, find_bundles, read_bundle
from inquesto_core.engine.extract import Extracted, extract_all, vad_provenance
from inquesto_core.engine.reduction import tables_of
from inquesto_core.errors import BundleError, SchemaError
from inquesto_core.evidence import sort_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from inquesto_core.bundle import BundleRef
    from inquesto_core.engine.executors import Executor
    from inquesto_core.places import Location
    from inquesto_core.protocol import Protocol

__all__ = ["EVIDENCE_MISSING", "Remeasuring", "remeasuring"]

#: Why the timing of a call is not evaluated whose bundle was not shown.
EVIDENCE_MISSING = "evidence_missing"

#: Tables of what a transcriber heard: between edges that are not these any more.
_HEARD = ("asr_turns", "asr_words", "word_errors", "transcript_differences")
_SOUND = ("segments", "media")

Digests = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remeasuring:
    """What was measured anew of a run, to be put in the place of what its partitions hold.

    Parameters
    ----------
    found : dict of call id to Extracted
    lost : frozenset of str
        Calls whose bundle was not shown.
    kept : Location
        The store of what was measured.
    vad : dict
        Which instrument measured.
    notes : tuple of str
        What is to be said of it.
    """

    found: dict[str, Extracted]
    lost: frozenset[str]
    kept: Location
    vad: dict[str, Any]
    notes: tuple[str, ...]

    def part(self, tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        """Return the evidence of a partition as the protocol measures it.

        Parameters
        ----------
        tables : mapping of str to polars.DataFrame
            The evidence of the run; verdicts in them are those that it was scored with.
        """
        calls = tables["calls"]["call_id"].to_list()
        ours = [call_id for call_id in calls if call_id in self.found]
        fresh = tables_of(self.found[call_id].rows for call_id in ours)
        measured = pl.Series("call_id", sorted(ours), dtype=pl.String)
        lost = pl.Series("call_id", sorted(self.lost.intersection(calls)), dtype=pl.String)
        out = {
            name: sort_table(name, pl.concat([_others(table, measured), fresh[name]]))
            for name, table in tables.items()
        }
        out["calls"] = _without_timing(_with_fingerprints(out["calls"], tables["calls"]), lost)
        out |= {name: _others(out[name], lost) for name in _SOUND}
        out |= {name: out[name].clear() for name in _HEARD}
        out["verdicts"] = _verdicts(tables, out["transcript"], fresh["verdicts"], measured)
        return out


def remeasuring(
    inputs: pl.DataFrame,
    sources: Sequence[str | Path],
    *,
    allowed: Collection[str],
    protocol: Protocol,
    kept: Location,
    scratch: Path,
    executor: Executor,
    progress: Callable[[int, int], None],
) -> Remeasuring:
    """Measure a run's bundles as `protocol` does.

    Parameters
    ----------
    inputs : polars.DataFrame
        Those of the run: call, file, sha256.
    sources : sequence of path
        Bundles, folders of bundles, archives or manifests.
    allowed : collection of str
        Schemes of remote sources.
    executor : Executor
        Who measures.
    """
    wanted = _wanted(inputs.to_dicts())
    refs = _matching(find_bundles(sources, scratch=scratch, allowed=allowed).refs, wanted)
    extracted = extract_all(
        list(refs.values()), protocol=protocol, kept=kept, executor=executor, progress=progress
    )
    lost = frozenset(wanted.values()) - frozenset(refs)
    notes = [f"{len(refs)} calls were measured anew: this protocol measures differently"]
    if lost:
        notes.append(f"{len(lost)} calls have no bundle in the sources: {EVIDENCE_MISSING}")
    return Remeasuring(
        found=dict(zip(refs, extracted, strict=True)),
        lost=lost,
        kept=kept,
        vad=vad_provenance(protocol),
        notes=tuple(notes),
    )


def _wanted(inputs: Sequence[Mapping[str, Any]]) -> dict[Digests, str]:
    """Return the calls of a run by the digests of their files."""
    files: dict[str, set[tuple[str, str]]] = {}
    for row in inputs:
        files.setdefault(row["call"], set()).add((row["file"], row["sha256"]))
    return {frozenset(pairs): call_id for call_id, pairs in files.items()}


def _matching(refs: Sequence[BundleRef], wanted: Mapping[Digests, str]) -> dict[str, BundleRef]:
    """Return the bundles that the run was made of, by call id, sorted."""
    found: dict[str, BundleRef] = {}
    for ref in refs:
        try:
            with at_hand(ref):
                bundle = read_bundle(ref)
        except (BundleError, SchemaError):
            continue
        call_id = wanted.get(frozenset(bundle.digests))
        if call_id is not None and call_id == bundle.call.call_id:
            found.setdefault(call_id, ref)
    return dict(sorted(found.items()))


def _others(table: pl.DataFrame, call_ids: pl.Series) -> pl.DataFrame:
    return table.join(call_ids.to_frame(), on="call_id", how="anti", maintain_order="left")


def _with_fingerprints(calls: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Name each call's agent as the run does: files that did not change name the same one."""
    named = before.select("call_id", known="agent_fingerprint")
    joined = calls.join(named, on="call_id", how="left", maintain_order="left")
    return joined.with_columns(agent_fingerprint="known").select(calls.columns)


def _without_timing(calls: pl.DataFrame, lost: pl.Series) -> pl.DataFrame:
    is_lost = pl.col("call_id").is_in(lost.implode())
    emptied = ("timing_source", "duration_ms", "window_from_ms", "window_to_ms")
    reason = pl.lit([EVIDENCE_MISSING])
    return calls.with_columns(
        *(pl.when(~is_lost).then(name).alias(name) for name in emptied),
        timing_reasons=pl.when(is_lost).then(reason).otherwise("timing_reasons"),
        condition_class=pl.when(is_lost).then(pl.lit("default")).otherwise("condition_class"),
    )


def _verdicts(
    tables: Mapping[str, pl.DataFrame],
    transcript: pl.DataFrame,
    fresh: pl.DataFrame,
    measured: pl.Series,
) -> pl.DataFrame:
    """Return the verdicts that still stand.

    Recorded ones are read from the bundles again. A model's answer is one about the words that it
    was given: where other words of a call are withheld now, there is none.
    """
    before = tables["verdicts"]
    if before.is_empty():
        return before
    if before["source"].eq("recorded").all():
        return sort_table("verdicts", pl.concat([_others(before, measured), fresh]))
    read = ("call_id", "position", "speaker", "text", "heard_text")
    old, new = tables["transcript"].select(read), transcript.select(read)
    moved = pl.concat(
        [
            one.join(two, on=read, how="anti", nulls_equal=True).select("call_id")
            for one, two in ((old, new), (new, old))
        ]
    )
    return _others(before, moved["call_id"].unique())
