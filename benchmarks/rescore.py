#!/usr/bin/env python3
"""What reading a run under another threshold costs, beside the reduction that it cannot do without.

The sample calls are scored once and their evidence is copied under new names until there are as
many calls as asked for. The reduction is that of `score`: timeline, events, decisions, record, of
tables that are already in memory; `rescore` reads the run from disk, reduces it, compares it call
by call and writes the new run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

PROJECT = Path(__file__).resolve().parents[1]
# Run as a script, Python knows this folder and not the project's.
sys.path.insert(0, str(PROJECT))
# One thread, so that both sides have the same share of a busy machine.
os.environ["POLARS_MAX_THREADS"] = "1"

import polars as pl  # noqa: E402

from inquesto_core import engine  # noqa: E402
from inquesto_core.canonical import pretty_bytes  # noqa: E402
from inquesto_core.engine.reduction import EXTRACTED, call_name_key, reduce_run  # noqa: E402
from inquesto_core.engine.stored import stored_use  # noqa: E402
from inquesto_core.evidence import TABLES  # noqa: E402
from inquesto_core.protocol import load_population, load_protocol  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

#: The bar: `rescore` costs no more than this many reductions.
BAR = 1.2
SLOW_TURN_MS = 2500


def _copy(frame: pl.DataFrame, at: int) -> pl.DataFrame:
    """Return the rows under other call ids, each copy a trial of its own."""
    renamed = frame.with_columns(call_id=pl.format(f"{at:06d}-{{}}", "call_id"))
    if "trial" in frame.columns:
        renamed = renamed.with_columns(trial=pl.lit(at, dtype=pl.Int64))
    return renamed


def copied(run: Path, into: Path, calls: int) -> int:
    """Write a run that holds the calls of `run` again and again; return how many."""
    stored = engine.load_run(run)
    held = stored.tables["calls"].height
    copies = -(-calls // held)
    (into / "evidence").mkdir(parents=True)
    frames = {name: stored.tables[name] for name in TABLES} | {"": stored.decisions}
    places = {"events": "events.parquet", "": "calls.parquet"}
    for name, frame in frames.items():
        renamed = [_copy(frame, at) for at in range(copies)]
        pl.concat(renamed).write_parquet(into / places.get(name, f"evidence/{name}.parquet"))
    manifest = dict(stored.manifest)
    inputs = [
        stored.inputs.with_columns(call=pl.format(f"{at:06d}-{{}}", "call")) for at in range(copies)
    ]
    pl.concat(inputs).write_parquet(into / "inputs.parquet")
    population = json.loads((run / "population.json").read_bytes())
    population["design"]["trials"] = copies
    (into / "population.json").write_bytes(pretty_bytes(population))
    digest = load_population(into / "population.json").digest
    manifest["population"] = {**manifest["population"], "digest": digest}
    (into / "manifest.json").write_bytes(pretty_bytes(manifest))
    (into / "records").mkdir()
    for at, record in enumerate(stored.records.values()):
        (into / "records" / f"{at}.json").write_bytes(pretty_bytes(record))
    return copies * held


def threshold_changed(folder: Path) -> Path:
    """Return a protocol that differs from 0.1 in the threshold of one event."""
    folder.mkdir()
    events = {"slow_turn": {"latency_ms": SLOW_TURN_MS}}
    text = json.dumps({"extends": "inquesto-0.1", "protocol": "bench-1", "events": events})
    (folder / "protocol.json").write_text(text, encoding="utf-8")
    return folder


def reduction(run: Path, law_folder: Path) -> Callable[[], object]:
    """Return the reduction of a run's evidence, everything that it needs at hand."""
    stored, law = engine.load_run(run), load_protocol(law_folder)
    tables = {name: stored.tables[name] for name in EXTRACTED}
    use = stored_use(stored)
    people = stored.population
    if people is None:
        raise SystemExit("the run holds no population")
    record = next(iter(stored.records.values()))
    key = call_name_key(stored.inputs)

    def reduce() -> object:
        return reduce_run(
            tables,
            law=law,
            people=people,
            judge=use.judge,
            transcriber=use.transcriber,
            provenance=record["provenance"],
            call_key=key,
            evaluated_at=None,
        )

    return reduce


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    parser.add_argument("--run", type=Path, default=None, help="a run of the sample calls, if any")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        run = asked.run
        if run is None:
            run = folder / "SAMPLES"
            engine.score([PROJECT / "sample_records"], out=run)
        law = threshold_changed(folder / "law")
        calls = copied(run, folder / "RUN", asked.calls)
        reduce = reduction(folder / "RUN", law)
        contestants: dict[str, Callable[[], object]] = {
            "reduction alone": reduce,
            "rescore, whole": lambda: engine.rescore(
                folder / "RUN", protocol=law, out=folder / "OUT"
            ),
        }
        least = dict.fromkeys(contestants, float("inf"))
        names = list(contestants)
        for turn in range(asked.rounds):
            for name in names[turn % 2 :] + names[: turn % 2]:
                start = time.process_time()
                contestants[name]()
                least[name] = min(least[name], time.process_time() - start)
    print(f"{calls} calls, one thread, least of {asked.rounds} rounds, processor seconds")
    for name, seconds in least.items():
        print(f"{name:<18}{seconds:>8.2f}{calls / seconds:>10.0f} calls/s")
    ratio = least["rescore, whole"] / least["reduction alone"]
    print(f"ratio {ratio:.2f} (bar {BAR})")


if __name__ == "__main__":
    main()
