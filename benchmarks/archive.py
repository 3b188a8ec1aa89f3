#!/usr/bin/env python3
"""What reading an archive under another threshold costs: time, rate, and memory at its peak.

The archive is written first (`archive_rows`), by as many processes as are to read it. Then
`rescore` reads it under a protocol that differs in one threshold: timeline, events, goals, views,
record, and the difference, call by call. Beside it, on some of the same calls: a plain loop over
calls that only takes replies and talk-overs from segments, as a script of one's own would. The
public reference re-scores 3,800 to 4,100 calls a second by its own account.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(PROJECT), str(PROJECT / "benchmarks")]
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl  # noqa: E402
from archive_rows import width_of  # noqa: E402
from archive_writing import write_archive  # noqa: E402

from inquesto_core.engine.reduction import Reading, reduce_part, slots_of_run  # noqa: E402
from inquesto_core.engine.stored import open_run, stored_use  # noqa: E402
from inquesto_core.events.needs import columns_needed  # noqa: E402
from inquesto_core.protocol import load_protocol  # noqa: E402

SLOW_TURN_MS = 2500
LOOP_CALLS = 2000
REDUCED_PARTS = 4
#: The bar, for a million calls on two processors.
BAR_S, BAR_GIB, BAR_CALLS = 45, 4, 1_000_000
#: And of everything, in reductions alone.
BAR_RATIO = 1.2


def other_threshold(folder: Path) -> Path:
    """Return a protocol that differs from 0.1 in the threshold of one event."""
    folder.mkdir()
    events = {"slow_turn": {"latency_ms": SLOW_TURN_MS}}
    text = json.dumps({"extends": "inquesto-0.1", "protocol": "bench-1", "events": events})
    (folder / "protocol.json").write_text(text, encoding="utf-8")
    return folder


def memory_of(pid: int) -> int:
    """Return what a process and its children hold now, in bytes; shared pages count once."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="utf-8")
            waiting += [
                int(child)
                for thread in Path(f"/proc/{one}/task").iterdir()
                for child in (thread / "children").read_text(encoding="utf-8").split()
            ]
        except OSError:
            continue
        total += sum(
            int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")
        )
    return total * 1024


def rescore(run: Path, law: Path, out: Path, workers: int) -> tuple[float, float, int]:
    """Run the command; return wall seconds, processor seconds, and bytes at the peak."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "inquesto_core", "rescore", run, "--protocol", law]
    command += ["--out", out, "--workers", str(workers)]
    before, start = os.times(), time.perf_counter()
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": str(PROJECT)}, stdout=subprocess.DEVNULL
    )
    peak, is_over = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not is_over.wait(0.2):
            peak = max(peak, memory_of(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    wall = time.perf_counter() - start
    is_over.set()
    watcher.join()
    after = os.times()
    if code not in (0, 4):
        raise SystemExit(f"rescore ended with {code}")
    spent = after.children_user + after.children_system - before.children_user
    return wall, spent - before.children_system, peak


def reduction(run: Path, law_folder: Path) -> float:
    """Return calls a processor second of the reduction alone, of tables that are in memory."""
    stored, law = open_run(run), load_protocol(law_folder)
    people, use = stored.population, stored_use(stored)
    if people is None:
        raise SystemExit("the run holds no population")
    reading = Reading(protocol=law, population=people, judge=use.judge, transcriber=use.transcriber)
    calls, seconds = 0, 0.0
    for part in stored.parts[:REDUCED_PARTS]:
        tables = stored.part(part, columns_needed(law, people))
        _, twice = slots_of_run([tables["calls"]], protocol=law, population=people)
        start = time.process_time()
        reduce_part(tables, reading, twice=twice)
        seconds += time.process_time() - start
        calls += tables["calls"].height
    return calls / seconds


def plain_loop(run: Path, calls: int) -> float:
    """Return calls a second of a loop that takes replies and talk-overs from segments alone."""
    folder = min(run.glob("parts/*"), default=run)
    segments = pl.read_parquet(folder / "evidence" / "segments.parquet")
    rows = segments.select("call_id", "channel", "start_ms", "end_ms").rows()
    by_call: dict[str, list[tuple[int, int, str]]] = {}
    for name, channel, start, end in rows:
        by_call.setdefault(name, []).append((start, end, channel))
    some = list(by_call.values())[:calls]
    begin, slow, over = time.process_time(), 0, 0
    for spans in some:
        spans.sort()
        latencies = []
        for (start, end, who), (after, _, other) in pairwise(spans):
            if who == "caller" and other == "agent":
                latencies.append(max(after - end, 0))
                over += start < after and end - after >= 500
        latencies.sort()
        slow += any(value > SLOW_TURN_MS for value in latencies)
        slow += bool(latencies) and latencies[len(latencies) // 2] > 1500
    return len(some) / (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--archive", type=Path, help="keep it there, or read the one that is there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        run = asked.archive or Path(scratch) / "RUN"
        start = time.perf_counter()
        if not (run / "manifest.json").is_file():
            write_archive(run, asked.calls, seed=asked.seed, workers=asked.workers)
            print(f"archive written in {time.perf_counter() - start:.0f} s")
        law = other_threshold(Path(scratch) / "law")
        rows = {"segments": 32, "tool_calls": 12, "verdicts": 4}
        widths = [f"{name} {width_of(run, name, n * asked.calls):.0f}" for name, n in rows.items()]
        print(f"bytes a row on disk: {', '.join(widths)}")
        found = [
            rescore(run, law, run.parent / f"{run.name}-rescored", asked.workers)
            for _ in range(asked.rounds)
        ]
        wall, spent, peak = min(found)
        alone = reduction(run, law)
        loop = plain_loop(run, LOOP_CALLS)
    rate = asked.calls / spent
    print(f"{asked.calls} calls, {asked.workers} workers, least of {asked.rounds}")
    print(f"{'rescore, whole':<22}{wall:>8.1f} s{asked.calls / wall:>10.0f} calls/s")
    print(f"{'a processor second':<22}{spent:>8.1f} s{rate:>10.0f} calls/s")
    print(f"{'reduction alone':<22}{'':>10}{alone:>10.0f} calls/s, ratio {alone / rate:.2f}")
    print(f"{'plain loop, timing':<22}{'':>10}{loop:>10.0f} calls/s, ratio {rate / loop:.2f}")
    print(f"peak memory {peak / 2**30:.2f} GiB, all processes")
    print(f"bar: {BAR_CALLS} calls in {BAR_S} s, {BAR_GIB} GiB, two processors; ratio {BAR_RATIO}")


if __name__ == "__main__":
    main()
