"""Write a synthetic archive as `score` would have written it, partition by partition."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
from archive_rows import design_of, partitions, population_of, tables_of

from inquesto_core.engine.call_key import call_name_key
from inquesto_core.engine.executors import LocalProcesses
from inquesto_core.engine.partitions import CALLS_A_PART
from inquesto_core.engine.reduction import (
    Reading,
    absent_part,
    records_of,
    reduce_part,
    slots_of_run,
)
from inquesto_core.engine.run_folder import About, RunFolder
from inquesto_core.engine.stored import INPUTS, evidence_use
from inquesto_core.evidence import TABLES, empty_table
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score import JudgeUse, TranscriberUse
from inquesto_core.score.slots import SLOT_COLUMNS

PROJECT = Path(__file__).resolve().parents[1]
JUDGE = JudgeUse(kind="recorded", label="recorded labels")
NOBODY = TranscriberUse(kind="none")


class Writing:
    """Writes one partition of the archive, as `score` does."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed = folder, seed

    def __call__(self, task: tuple[str, np.ndarray]) -> tuple[str, dict, object, pl.DataFrame]:
        """Return the partition's name, its files, what it tells, and its calls' slots."""
        part, numbers = task
        law = load_protocol("inquesto-0.1")
        people = load_population(self.folder / "population.json")
        document = json.loads((self.folder / "population.json").read_bytes())
        filled = tables_of(self.seed, numbers, design_of(document))
        reading = Reading(protocol=law, population=people, judge=JUDGE, transcriber=NOBODY)
        tables = {name: filled.get(name, empty_table(name)) for name in TABLES}
        _, twice = slots_of_run([filled["calls"]], protocol=law, population=people)
        reduced = reduce_part(tables, reading, twice=twice)
        written = RunFolder(self.folder).write_part(
            part, {**filled, "events": reduced.derived["events"]}, decisions=reduced.decisions
        )
        return part, written, reduced.told, filled["calls"].select(SLOT_COLUMNS)


def write_archive(folder: Path, calls: int, *, seed: int, workers: int) -> None:
    """Write an archive that `score` would have written of such calls."""
    law, run = load_protocol("inquesto-0.1"), RunFolder(folder)
    run.open()
    file = next((PROJECT / "protocols" / "inquesto-0.1" / "populations").glob("*.json"))
    document = population_of(file.read_bytes(), calls)
    (folder / "population.json").write_text(json.dumps(document), encoding="utf-8")
    people = load_population(folder / "population.json")
    bits = (max(calls - 1, 0) // CALLS_A_PART).bit_length()
    tasks = list(partitions(seed, calls, bits))
    told, written, slots = [], {}, []
    doing = LocalProcesses(workers).run(Writing(folder, seed), tasks, order=range(len(tasks)))
    for _, (_, files, part, held) in doing:
        told.append(part)
        written |= files
        slots.append(held)
    reading = Reading(protocol=law, population=people, judge=JUDGE, transcriber=NOBODY)
    places, _ = slots_of_run(slots, protocol=law, population=people)
    absent = absent_part(places, reading)
    rows = pl.concat([held.select("call_id") for held in slots]).sort("call_id")
    inputs = rows.select(call="call_id", file=pl.lit("call.json"), sha256=pl.lit("0" * 64)).cast(
        INPUTS
    )
    provenance = {
        "engine": "0",
        "protocol_sha256": law.digest,
        "population_sha256": people.digest,
        "inputs_sha256": "0" * 64,
        "vad": {
            "sha256": law.instruments.vad.sha256,
            "runtime": f"{law.instruments.vad.runtime} {law.instruments.vad.runtime_version}",
            "runtime_is_pinned": True,
        },
    }
    key = call_name_key(inputs)
    records = records_of(
        [*told, absent.told], reading, provenance=provenance, call_key=key, evaluated_at=None
    )
    run.finish(
        records,
        parts=written | run.write_inputs(inputs),
        missing=absent.decisions if bits else None,
        about=About(
            protocol=law,
            population=people,
            evidence=evidence_use(law, JUDGE, NOBODY),
            provenance=provenance,
            inputs_n=inputs.height,
            call_key=key,
            evaluated_at=None,
        ),
    )
