#!/usr/bin/env python3
"""Give the engine changed files of every kind and see that it refuses or takes them as it must.

    bin/fuzz                                  10,000 cases, over every kind
    bin/fuzz --cases 300 --seed 7             fewer, others
    bin/fuzz --kind gates --seed 41 --cases 1 one again

A case is made by its kind and its seed alone. What must hold is said in `fuzz_case`. A case that
takes more than 10 s of a processor's time, sleeps for 20 s, or takes more than 1 GiB of memory is
a fault too. Exit code 1 where anything did not hold.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("POLARS_MAX_THREADS", "1")

from fuzz_base import build_base, in_this_process
from fuzz_case import Outcome, run_case
from fuzz_kinds import Kind, kinds

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: What a case may take: of a processor, asleep without a break, of memory. By the clock nothing is
#: measured: on a busy machine anything takes long.
MOST_CPU_S, MOST_ASLEEP_S, MOST_BYTES = 10.0, 20.0, 1 << 30
#: From so many cases on, each kind begins with one in which nothing is changed.
CONTROLLED = 100
_LOOK_S = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Tally:
    """What became of the cases of one kind."""

    cases: int = 0
    codes: Counter[int | None] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    slowest: int = 0
    faults: int = 0


def _work(connection: Connection, base: str, room: str, options: dict[str, list[str]]) -> None:
    """Run the cases that are sent, in a process of their own."""
    import faulthandler

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = f"{room}/home"
    Path(room, "home").mkdir(parents=True)
    in_this_process()
    known = kinds(options)
    for name in ("flac", "run-json"):  # loads what every later case finds loaded
        run_case(known[name], f"{name}:0", base=Path(base), room=Path(room), is_control=True)
    stacks = Path(room, "stack.txt").open("w", encoding="utf-8")  # noqa: SIM115 - while it lives
    connection.send(None)
    while (sent := connection.recv()) is not None:
        name, seed, is_control = sent
        stacks.seek(0)
        stacks.truncate()
        faulthandler.dump_traceback_later(MOST_CPU_S - 1, file=stacks)
        outcome = run_case(
            known[name], f"{name}:{seed}", base=Path(base), room=Path(room), is_control=is_control
        )
        faulthandler.cancel_dump_traceback_later()
        connection.send(outcome)


def _cpu_s(pid: int) -> float:
    """Return how much of a processor a process has had."""
    parts = _stat(pid)
    return (int(parts[11]) + int(parts[12])) / _TICKS


def _is_asleep(pid: int) -> bool:
    """Return whether a process waits for something other than a processor or a disk."""
    return _stat(pid)[0] == "S"


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Worker:
    """A process that runs cases, watched and replaced when a case ends or holds it."""

    def __init__(self, base: Path, room: Path, options: dict[str, list[str]]) -> None:
        self.base, self.room, self.options = base, room, options
        self.starts = 0
        self._start()

    def _start(self) -> None:
        self.starts += 1
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.here = self.room / str(self.starts)
        arguments = (theirs, str(self.base), str(self.here), self.options)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()
        theirs.close()
        self.connection.recv()

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()

    def run(self, name: str, seed: int, *, is_control: bool) -> tuple[Outcome, float]:
        """Return what became of a case, and how much of a processor it took."""
        assert self.process.pid is not None
        awake, before = time.monotonic(), _cpu_s(self.process.pid)
        self.connection.send((name, seed, is_control))
        fault, used = None, 0.0
        while fault is None:
            try:
                if self.connection.poll(_LOOK_S):
                    outcome: Outcome = self.connection.recv()
                    return outcome, _cpu_s(self.process.pid) - before
                used = _cpu_s(self.process.pid) - before
                if not _is_asleep(self.process.pid):
                    awake = time.monotonic()
                if _memory(self.process.pid) > MOST_BYTES:
                    fault = f"took more than {MOST_BYTES >> 20} MiB of memory"
            except (EOFError, ConnectionResetError, FileNotFoundError):
                self.process.join()
                fault = f"ended the process: {self.process.exitcode}"
            if used > MOST_CPU_S:
                fault = f"took more than {MOST_CPU_S:.0f} s of a processor: {self._stack()}"
            elif fault is None and time.monotonic() - awake > MOST_ASLEEP_S:
                fault = f"waits for what does not come: {self._stack()}"
        what = (self.here / "now.txt").read_text(encoding="utf-8")
        self.stop()
        self._start()
        return Outcome(what=what, code=None, problem=None, faults=(fault,)), used

    def _stack(self) -> str:
        lines = (self.here / "stack.txt").read_text(encoding="utf-8").splitlines()
        return " < ".join(line.strip() for line in lines if "File" in line)[:1000]


def _planned(known: dict[str, Kind], cases: int, seed: int, only: str | None) -> list[Any]:
    """Return (kind, seed) of every case: by weight, at least one a kind, kinds in turn."""
    chosen = {only: known[only]} if only else known
    weights = sum(kind.weight for kind in chosen.values())
    planned = []
    controls = []
    for name, kind in chosen.items():
        share = cases if only else max(1, round(cases * kind.weight / weights))
        planned += [((at + 0.5) / share, name, seed + at) for at in range(share)]
        controls += [(name, seed, True)] * (cases >= CONTROLLED)
    return [*controls, *((name, at, False) for _, name, at in sorted(planned))]


def _report(tallies: dict[str, Tally]) -> None:
    """Print a row a kind: its cases by exit code, how many problem codes, the slowest, faults."""
    print(_row("kind", "cases", "taken", *"1234", "codes", "slowest", "its seed", "faults"))
    for name, tally in tallies.items():
        counts = [tally.codes[code] for code in (0, 1, 2, 3, 4)]
        slowest = f"{tally.slowest_s:.1f} s"
        rest = (len(tally.problems), slowest, tally.slowest, tally.faults)
        print(_row(name, tally.cases, *counts, *rest))


def _row(name: str, *cells: object) -> str:
    return f"{name:<14}" + "".join(f"{cell!s:>9}" for cell in cells)


def main(arguments: list[str] | None = None) -> int:
    """Run cases and print a table; return 1 where anything did not hold."""
    parser = argparse.ArgumentParser(
        prog="bin/fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000, help="how many, over all kinds")
    parser.add_argument("--seed", type=int, default=1, help="of the first case of every kind")
    parser.add_argument("--kind", default=None, help="one kind only")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        told = build_base(folder / "base")
        known = kinds(told["exports"])
        if given.kind is not None and given.kind not in known:
            parser.error(f"--kind is one of {', '.join(known)}")
        planned = _planned(known, given.cases, given.seed, given.kind)
        tallies = {name: Tally() for name, *_ in planned}
        is_whole = _run_all(planned, tallies, folder, told["exports"], given.workers)
    _report(dict(sorted(tallies.items())))
    done = sum(tally.cases for tally in tallies.values())
    faults = sum(tally.faults for tally in tallies.values())
    of = "" if is_whole else f" of {len(planned)}, stopped"
    print(f"\n{done} cases{of} in {time.monotonic() - began:.0f} s, {faults} faults")
    return 1 if faults else 0 if is_whole else 130


def _run_all(
    planned: list[Any],
    tallies: dict[str, Tally],
    folder: Path,
    options: dict[str, list[str]],
    workers: int,
) -> bool:
    """Run the cases; return whether all were run, and not stopped by Ctrl-C or SIGTERM."""
    queue, lock, stopped = iter(planned), threading.Lock(), threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())

    def work(number: int) -> None:
        worker = Worker(folder / "base", folder / f"room{number}", options)
        while not stopped.is_set():
            with lock:
                name, seed, is_control = next(queue, (None, 0, False))
            if name is None:
                break
            outcome, took_s = worker.run(name, seed, is_control=is_control)
            with lock:
                _count(tallies[name], name, seed, outcome, took_s)
        worker.stop()

    threads = [
        threading.Thread(target=work, args=(number,))
        for number in range(max(1, min(workers, len(planned))))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return not stopped.is_set()


def _count(tally: Tally, name: str, seed: int, outcome: Outcome, took_s: float) -> None:
    """Count a case, and show at once what did not hold."""
    tally.cases += 1
    tally.codes[outcome.code] += 1
    if outcome.problem is not None:
        tally.problems[outcome.problem] += 1
    tally.slowest_s, tally.slowest = max((tally.slowest_s, tally.slowest), (took_s, seed))
    tally.faults += len(outcome.faults)
    for fault in outcome.faults:
        again = f"bin/fuzz --kind {name} --seed {seed} --cases 1"
        print(f"FAULT  {again}\n  {outcome.what}\n  {fault}\n", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
