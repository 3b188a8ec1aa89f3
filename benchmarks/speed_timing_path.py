#!/usr/bin/env python3
"""How fast a call's timing is measured on one core, beside the plain detectors it is built on.

All of them hear the same calls in the same run, in turning order. The whole path is reading,
decoding, the channel checks, both sides' speech with refined edges, and the rows that come of it;
what all calls share afterwards (timeline, events) is measured once over all of them.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

PROJECT = Path(__file__).resolve().parents[1]
# Run as a script, Python knows this folder and not the project's.
sys.path.insert(0, str(PROJECT))
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[_name] = "1"

from benchmarks.timing_baselines import energy_segments, silero_segments  # noqa: E402
from inquesto_core.bundle import find_bundles, read_bundle  # noqa: E402
from inquesto_core.events import detect  # noqa: E402
from inquesto_core.evidence import TABLES, make_table  # noqa: E402
from inquesto_core.instruments.audio import decode_call  # noqa: E402
from inquesto_core.instruments.extract import measure_call, media_limits  # noqa: E402
from inquesto_core.instruments.vad import SileroVad  # noqa: E402
from inquesto_core.protocol import load_population, load_protocol  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from inquesto_core.bundle import BundleRef

WHOLE, DECODED, SILERO, ENERGY = (
    "whole timing path",
    "reading and decoding",
    "silero, sequence model",
    "energy threshold",
)


class Bench:
    """The calls of a folder, and what each contestant does with one of them."""

    def __init__(self, refs: Sequence[BundleRef]) -> None:
        self.protocol = load_protocol("inquesto-0.1")
        self.limits = media_limits(self.protocol)
        self.vad = SileroVad(self.protocol.instruments.vad)
        self.refs = refs
        self.recordings = [decode_call(read_bundle(ref), limits=self.limits) for ref in refs]
        self.rows: list[Any] = [None] * len(refs)
        self.contestants: dict[str, Callable[[int], object]] = {
            WHOLE: self._whole,
            DECODED: self._decoded,
            SILERO: self._silero,
            ENERGY: self._energy,
        }

    def _whole(self, at: int) -> None:
        bundle = read_bundle(self.refs[at])
        self.rows[at] = measure_call(bundle, protocol=self.protocol, vad=self.vad)

    def _decoded(self, at: int) -> None:
        decode_call(read_bundle(self.refs[at]), limits=self.limits)

    def _silero(self, at: int) -> None:
        for side in self._sides(at):
            silero_segments(self.vad.probabilities(side.samples), len(side.samples))

    def _energy(self, at: int) -> None:
        for side in self._sides(at):
            energy_segments(side.samples)

    def _sides(self, at: int) -> list[Any]:
        recording = self.recordings[at]
        return [side for side in (recording.caller, recording.agent) if side is not None]

    def audio_s(self) -> float:
        """Return how long the calls last; a second of two channels is one second."""
        return sum(recording.duration_ms for recording in self.recordings) / 1000

    def least_seconds(self, rounds: int) -> dict[str, float]:
        """Return the processor time of each contestant: the least of the rounds, call by call."""
        names = list(self.contestants)
        least = {name: [float("inf")] * len(self.refs) for name in names}
        for turn in range(rounds):
            for at in range(len(self.refs)):
                first = (turn + at) % len(names)
                for name in names[first:] + names[:first]:
                    start = time.process_time()
                    self.contestants[name](at)
                    least[name][at] = min(least[name][at], time.process_time() - start)
        return {name: sum(values) for name, values in least.items()}

    def detect_seconds(self, population: Path | None) -> float:
        """Return the processor time of timeline and events of all calls together."""
        tables = {
            name: make_table(name, [row for rows in self.rows for row in rows.get(name, [])])
            for name in TABLES
        }
        people = load_population(population or self.protocol.default_population, self.protocol)
        start = time.process_time()
        detect(tables, protocol=self.protocol, population=people)
        return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="?", type=Path, default=PROJECT / "sample_records")
    parser.add_argument("--calls", type=int, default=12, help="how many of its calls")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    asked = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as scratch:
        found = find_bundles([asked.source], scratch=Path(scratch))
        step = max(1, len(found.refs) // asked.calls)
        refs = found.refs[::step][: asked.calls]
        if not refs:
            raise SystemExit(f"{asked.source} holds no bundle")
        bench = Bench(refs)
        took = bench.least_seconds(asked.rounds)
        shared_s = bench.detect_seconds(next(iter(found.populations), None))
    audio_s = bench.audio_s()
    print(
        f"{len(refs)} calls, {audio_s:.0f} s of sound on two channels, "
        f"one core, least of {asked.rounds} rounds"
    )
    print(f"{'':<26}{'processor s':>12}{'x real time':>12}{'x silero':>10}")
    for name, seconds in took.items():
        print(
            f"{name:<26}{seconds:>12.2f}{audio_s / seconds:>12.0f}{seconds / took[SILERO]:>10.2f}"
        )
    print(f"timeline and events of all {len(refs)} calls together: {shared_s:.2f} s")


if __name__ == "__main__":
    main()
