#!/usr/bin/env python3
"""How fast runs of the reference are scored again: calls per processor second, reading included.

``python benchmarks/conformance_speed.py RUNS`` takes a folder of run folders (best in memory) or,
without one, lays out the oracle's runs. One thread, one process; the best of some rounds, since a
busy machine only slows. Beside it stands what the reference cannot do without on the same files and
at the same moment: reading, and writing each file back as indented JSON. Its own figure, all its
work included, is 3,800 to 4,100 calls a second on one core and a RAM disk.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
import time
from pathlib import Path

THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
ORACLE = Path(__file__).resolve().parents[2] / "shared" / "oracle" / "fuzz"
#: Calls a processor second that the reference was measured at.
REFERENCE = (3800, 4100)


def lay_out(oracle: Path, folder: Path) -> None:
    """Write the oracle's runs as the reference has them on disk."""
    for source in sorted(oracle.iterdir()):
        calls = folder / source.name / "calls"
        calls.mkdir(parents=True)
        (calls.parent / "agent.json").write_bytes((source / "agent.json").read_bytes())
        for line in gzip.decompress((source / "calls.jsonl.gz").read_bytes()).splitlines():
            call = json.loads(line)
            (calls / f"{call['key']}.json").write_text(json.dumps(call["file"], indent=1))


def ours(folder: Path) -> tuple[float, int]:
    """Return the processor seconds that all runs take, and how many calls they have."""
    from inquesto_core.engine import rescore_reference

    started = time.process_time()
    found = rescore_reference([folder], with_digests=False)
    assert all(record["n"] for record in found.records)
    return time.process_time() - started, found.calls.height


def least_of_the_reference(files: list[Path]) -> float:
    """Return the processor seconds of reading, decoding, encoding and writing the files."""
    scratch = files[0].with_suffix(".written")
    started = time.process_time()
    for file in files:
        scratch.write_text(json.dumps(json.loads(file.read_text()), indent=1))
    spent = time.process_time() - started
    scratch.unlink()
    return spent


def main() -> int:
    """Measure and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if options.runs is None and not ORACLE.is_dir():
        print("no runs of the reference are here; name a folder of them")
        return 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as at:
        folder = options.runs
        if folder is None:
            folder = Path(at)
            lay_out(ORACLE, folder)
        files = sorted(folder.glob("*/calls/*.json"))[:2000]
        spent, least, calls = [], [], 0
        for _ in range(options.rounds):
            seconds, calls = ours(folder)
            spent.append(seconds)
            least.append(least_of_the_reference(files))
    rate, floor = calls / min(spent), len(files) / min(least)
    low, high = (rate / each for each in reversed(REFERENCE))
    print(f"{calls} calls, best of {options.rounds}: {rate:,.0f} calls per processor second")
    print(f"the reference's {REFERENCE[0]:,}-{REFERENCE[1]:,}: {low:.1f} to {high:.1f} times")
    print(f"its reading and writing alone, here and now: {floor:,.0f} calls per processor second")
    return 0


if __name__ == "__main__":
    if any(os.environ.get(name) != "1" for name in THREADS):
        environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)
    sys.exit(main())
