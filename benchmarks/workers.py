#!/usr/bin/env python3
"""How much faster two workers measure than one, beside other ways to share the work; and memory.

All contestants do the same with the same calls (read, measure, keep), one thread a worker, each
time into an empty store, in turning order. The rate is that from the first result to the last;
what it takes until the first is told apart, for with few calls it is most of the time.

    benchmarks/workers.py [FOLDER]                 speed
    benchmarks/workers.py --memory 36 360 3600     peak memory of `score`, by number of calls
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

PROJECT = Path(__file__).resolve().parents[1]
# Run as a script, Python knows this folder and not the project's; so do the workers of a pool.
sys.path.insert(0, str(PROJECT))
os.environ["PYTHONPATH"] = os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import soundfile  # noqa: E402

from inquesto_core.bundle import find_bundles  # noqa: E402
from inquesto_core.engine.executors import LocalProcesses, choose_executor  # noqa: E402
from inquesto_core.engine.extract import longest_first, measuring_of  # noqa: E402
from inquesto_core.evidence.store import EvidenceStore  # noqa: E402
from inquesto_core.protocol import load_protocol  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from inquesto_core.bundle import BundleRef
    from inquesto_core.engine.executors import Executor
    from inquesto_core.engine.extract import Measuring

    Contestant = Callable[[Measuring, Sequence[BundleRef]], Iterator[object]]

#: A call of about ten seconds.
SHORT = PROJECT / "sample_records" / "hasty" / "hasty-006-cancel_sub-telephone"


def executed(executor: Executor) -> Contestant:
    return lambda do, refs: executor.run(do, refs, order=longest_first(refs))


def pool(do: Measuring, refs: Sequence[BundleRef]) -> Iterator[object]:
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        yield from processes.imap_unordered(do, refs)


def ray_tasks(do: Measuring, refs: Sequence[BundleRef]) -> Iterator[object]:
    """Do each call as a Ray task, as a user would who knows no actors."""
    import ray

    remote = ray.remote(num_cpus=1)(_call)
    waiting = [remote.remote(do, ref) for ref in refs]
    while waiting:
        (done,), waiting = ray.wait(waiting, num_returns=1)
        yield ray.get(done)


def _call(do: Measuring, ref: BundleRef) -> object:
    return do(ref)


def contestants(with_ray: bool) -> dict[str, Contestant]:
    found = {
        "local, 1 worker": executed(LocalProcesses(1)),
        "local, 2 workers": executed(LocalProcesses(2)),
        "multiprocessing.Pool(2)": pool,
    }
    if with_ray:
        found["ray, 2 workers"] = executed(choose_executor("ray", workers=2))
        found["ray tasks, 2 processors"] = ray_tasks
    return found


def speed(refs: Sequence[BundleRef], rounds: int, with_ray: bool) -> None:
    """Print seconds and ratios of every contestant over the same calls, best of the rounds."""
    protocol, field = load_protocol("inquesto-0.1"), contestants(with_ray)
    names = list(field)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for at in range(rounds):
        for name in names[at % len(names) :] + names[: at % len(names)]:
            with tempfile.TemporaryDirectory() as folder:
                store = EvidenceStore.open(Path(folder) / "STORE")
                measuring = measuring_of(protocol, store.root)
                found[name].append(timed(field[name](measuring, refs)))
    print(f"{len(refs)} calls, best of {rounds}, one thread a worker")
    print(f"{'':26}{'to the first, s':>16}{'calls/s':>10}{'x 1 worker':>12}")
    rates = {
        name: (len(refs) - 1) / min(work for _, work in times) for name, times in found.items()
    }
    for name, rate in rates.items():
        begun = min(start for start, _ in found[name])
        print(f"{name:26}{begun:16.1f}{rate:10.2f}{rate / rates[names[0]]:12.2f}")


def timed(results: Iterator[object]) -> tuple[float, float]:
    """Return the seconds until the first result, and from there to the last."""
    began = time.perf_counter()
    next(results)
    first = time.perf_counter()
    for _ in results:
        last = time.perf_counter()
    return first - began, last - first


def copies(folder: Path, count: int) -> None:
    """Write calls that differ by one bit of noise and by their id."""
    audio = next(SHORT.glob("audio.*"))
    samples, rate = soundfile.read(audio, dtype="int16")
    call = json.loads((SHORT / "call.json").read_bytes())
    call["audio"][0] |= {"file": "audio.flac", "sha256": None}
    for at in range(count):
        copy = folder / f"call-{at:05}"
        copy.mkdir(parents=True)
        noisy = samples.copy()
        noisy[at % len(noisy), at // len(noisy) % 2] ^= np.int16(1)
        soundfile.write(copy / "audio.flac", noisy, rate, subtype="PCM_16")
        told = json.dumps(call | {"call_id": copy.name, "trial": at})
        (copy / "call.json").write_text(told, encoding="utf-8")
        for name in ("trace.json", "transcript.json", "state.json", "verdicts.json"):
            if (SHORT / name).is_file():
                shutil.copy(SHORT / name, copy)
    population = json.loads((PROJECT / "sample_records" / "population.json").read_bytes())
    # No other slot is expected: each that no call fills is named in the record.
    names = {"scenarios": "scenario_id", "conditions": "condition", "groups": "group"}
    cell = {name: [call[key]] for name, key in names.items()}
    population["design"] = {"trials": count, "cells": [cell]}
    (folder / "population.json").write_text(json.dumps(population), encoding="utf-8")


def peak_mb(command: Sequence[str]) -> tuple[float, float, float]:
    """Return a command's time in s, its own peak memory and that of all it started, in MB."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    own, others = 0.0, dict[int, float]()
    while process.poll() is None:
        own = max(own, high_water(process.pid))
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        for child in children.read_text().split() if children.exists() else ():
            others[int(child)] = max(others.get(int(child), 0), high_water(int(child)))
        time.sleep(0.05)
    return time.perf_counter() - began, own, sum(others.values())


def high_water(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def memory(counts: Sequence[int]) -> None:
    """Print the peak memory of `score` with two workers over ever more calls."""
    print(f"{'calls':>7}{'s':>8}{'parent MB':>11}{'workers MB':>12}")
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            copies(Path(folder) / "calls", count)
            took, own, others = peak_mb(
                [
                    *(sys.executable, "-P", "-m", "inquesto_core", "score"),
                    *(f"{folder}/calls", "--out", f"{folder}/RUN", "--workers", "2"),
                ]
            )
        print(f"{count:7}{took:8.1f}{own:11.0f}{others:12.0f}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    samples = PROJECT / "sample_records" / "hasty"
    parser.add_argument("folder", nargs="?", type=Path, default=samples)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", nargs="+", type=int, metavar="CALLS")
    given = parser.parse_args()
    if given.memory:
        memory(given.memory)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        refs = find_bundles([given.folder], scratch=Path(scratch)).refs
        speed(refs, given.rounds, with_ray=importlib.util.find_spec("ray") is not None)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
