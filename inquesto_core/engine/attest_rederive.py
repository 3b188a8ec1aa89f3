"""Whether the records of a run are what the engine's own reduction makes of its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inquesto_core import __version__
from inquesto_core.attest import Check
from inquesto_core.attest.check import outcome_of
from inquesto_core.attest.difference import differing_pointers
from inquesto_core.canonical import digest_json, pretty_bytes, strict_json
from inquesto_core.engine.attest import record_files
from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.partitions import WHOLE, place_of_part
from inquesto_core.engine.reduction import (
    DERIVED,
    READ,
    Reading,
    absent_part,
    records_of,
    reduce_part,
    slots_of_run,
)
from inquesto_core.engine.stored import (
    DECISIONS_FILE,
    INPUTS_FILE,
    MANIFEST,
    MISSING_FILE,
    POPULATION_FILE,
    stored_use,
    table_file,
)
from inquesto_core.evidence import TABLES
from inquesto_core.score.slots import SLOT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.engine.reduction import Reduced
    from inquesto_core.engine.stored import StoredRun
    from inquesto_core.protocol import Population, Protocol

__all__ = ["check_rederived", "frame_fault", "reading_of", "slots_twice"]

_NAME = "re-derivation"
_SHOWN_POINTERS = 5
_SHOWN_CALLS = 3


def check_rederived(
    stored: StoredRun, law: Protocol, people: Population, *, changed: frozenset[str]
) -> Check:
    """Return whether the evidence gives these records, byte for byte, and these derived tables.

    Parameters
    ----------
    changed : frozenset of str
        Files that are known not to be what was written.
    """
    blocked = sorted(changed & set(_read_files(stored)))
    if blocked:
        why = f"{blocked[0]} is not what was written, and the records are derived from it"
        return Check(name=_NAME, outcome="not_checked", says=why)
    if not stored.records:
        why = "the run has no record that could be compared"
        return Check(name=_NAME, outcome="not_checked", says=why)
    reading = reading_of(stored, law, people)
    slots, twice = slots_twice(stored, law, people)
    absent = absent_part(slots, reading)
    told, faults, held = [], [], []
    for part in stored.parts:
        is_whole = part == WHOLE
        tables = stored.part(part, {name: tuple(TABLES[name]) for name in READ})
        keep = DERIVED if is_whole else ("events",)
        reduced = reduce_part(tables, reading, twice=twice, keep=keep)
        told.append(reduced.told)
        for file, made in _derived_files(part, reduced, absent, is_whole=is_whole).items():
            if file not in changed:
                held.append(file)
                faults += frame_fault(file, pl.read_parquet(stored.folder / file), made)
    if (stored.folder / MISSING_FILE).is_file() and MISSING_FILE not in changed:
        kept = pl.read_parquet(stored.folder / MISSING_FILE)
        faults += frame_fault(MISSING_FILE, kept, absent.decisions)
    made_records = records_of(
        [*told, absent.told],
        reading,
        provenance=_provenance(stored, law, people),
        call_key=stored.call_key or call_name_key(stored.inputs),
        evaluated_at=(stored.manifest.get("parameters") or {}).get("evaluated_at"),
    )
    version = str(stored.manifest["engine"]["version"])
    same_engine = version == __version__
    files = record_files(stored)
    for file, name in files.items():
        if file not in changed:
            data = (stored.folder / file).read_bytes()
            record = made_records.get(name)
            faults += _record_faults(file, data, record, same_engine=same_engine)
    agents = made_records.keys() - set(files.values())
    faults += [f"records: the evidence gives one of {name}, too" for name in sorted(agents)]
    how = "byte for byte" if same_engine else f"but for the signature of engine {version}"
    says = (
        f"engine {__version__} derived {len(files)} records and {len(held)} tables again, "
        f"compared {how}"
    )
    return outcome_of(_NAME, says, faults)


def reading_of(stored: StoredRun, law: Protocol, people: Population) -> Reading:
    """Return under what a run's evidence was reduced."""
    use = stored_use(stored)
    return Reading(protocol=law, population=people, judge=use.judge, transcriber=use.transcriber)


def slots_twice(
    stored: StoredRun, law: Protocol, people: Population
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `slots_of_run` of a stored run."""
    calls = (stored.part(part, {"calls": SLOT_COLUMNS})["calls"] for part in stored.parts)
    return slots_of_run(calls, protocol=law, population=people)


def _read_files(stored: StoredRun) -> Iterator[str]:
    yield from (MANIFEST, INPUTS_FILE, POPULATION_FILE)
    for part in stored.parts:
        place = place_of_part(stored.folder, part).relative_to(stored.folder)
        yield from ((place / table_file(name)).as_posix() for name in READ)


def _derived_files(
    part: str, reduced: Reduced, absent: Reduced, *, is_whole: bool
) -> dict[str, pl.DataFrame]:
    """Return what the run must hold of a partition, by file."""
    decisions = pl.concat([reduced.decisions, absent.decisions]) if is_whole else reduced.decisions
    start = "" if is_whole else f"parts/{part}/"
    tables = {start + table_file(name): frame for name, frame in reduced.derived.items()}
    return {start + DECISIONS_FILE: decisions, **tables}


def frame_fault(file: str, kept: pl.DataFrame, made: pl.DataFrame) -> list[str]:
    """Return one line where a stored table is not the one that was made; else none."""
    if kept.columns != made.columns or kept.dtypes != made.dtypes:
        return [f"{file}: has other columns than the evidence gives"]
    if kept.equals(made):
        return []
    if kept.height != made.height:
        return [f"{file}: has {kept.height} rows, and the evidence gives {made.height}"]
    differs = kept.hash_rows() != made.hash_rows()
    calls = kept.filter(differs)["call_id"].unique().sort().to_list()
    shown = ", ".join(str(call_id) for call_id in calls[:_SHOWN_CALLS])
    number = "1 call" if len(calls) == 1 else f"{len(calls)} calls"
    return [f"{file}: differs from what the evidence gives in {number} ({shown})"]


def _record_faults(
    file: str, data: bytes, made: dict[str, Any] | None, *, same_engine: bool
) -> list[str]:
    if made is None:
        return [f"{file}: is of an agent that the evidence does not hold"]
    if pretty_bytes(made) == data:
        return []
    kept = strict_json(data, file=file)
    found = list(differing_pointers(kept, strict_json(pretty_bytes(made))))
    if not same_engine:
        found = [pointer for pointer in found if not pointer.startswith("/signature/")]
        if not found:
            return []
    shown = ", ".join(found[:_SHOWN_POINTERS])
    where = f"at {shown}" if found else "in its form: the same values in other bytes"
    return [f"{file}: differs from what the evidence gives {where}"]


def _provenance(stored: StoredRun, law: Protocol, people: Population) -> dict[str, Any]:
    """Return the records' provenance with everything in it that the run itself tells anew."""
    given = dict(stored.records[min(stored.records)]["provenance"])
    told = {
        "engine": stored.manifest["engine"]["version"],
        "protocol_sha256": law.digest,
        "population_sha256": people.digest,
        "inputs_sha256": digest_json(stored.inputs.to_dicts()),
    }
    pin = law.instruments.vad
    models = stored.manifest.get("models") or ()
    vad = next((dict(each) for each in models if each["name"] == pin.name), None)
    if vad is not None and "vad" in given:
        del vad["name"]
        told["vad"] = vad
    return {**given, **told}
