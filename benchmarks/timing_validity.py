#!/usr/bin/env python3
"""How well timing holds: the engine beside plain Silero and an energy VAD, on calls of known truth.

All three hear the same calls in the same run, and what they heard goes through the same turn rules.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

PROJECT = Path(__file__).resolve().parents[1]
# Run as a script, Python knows this folder and not the project's.
sys.path.insert(0, str(PROJECT))

from benchmarks.timing_baselines import (  # noqa: E402
    energy_segments,
    read_channels,
    silero_segments,
)
from benchmarks.timing_clips import ClipOnsets, compare_clips, read_clips  # noqa: E402
from benchmarks.timing_figures import by_class, by_condition, figures, uncertainty  # noqa: E402
from benchmarks.timing_metrics import CallErrors, compare_call  # noqa: E402
from benchmarks.timing_page import validity_page  # noqa: E402
from benchmarks.timing_plots import distribution_svg  # noqa: E402
from benchmarks.timing_truth import Sound, apply_rules, read_truths  # noqa: E402
from inquesto_core.bundle import Agent, AudioFile, Bundle, Call  # noqa: E402
from inquesto_core.instruments.extract import measure_call  # noqa: E402
from inquesto_core.instruments.vad import SileroVad  # noqa: E402
from inquesto_core.protocol import load_protocol  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.timing_truth import Truth
    from inquesto_core.protocol import Protocol

__all__ = ["DETECTORS", "Heard", "Recorded", "hear", "main", "measure_folder"]

DETECTORS = ("engine", "silero", "energy")
_DEV_SET = PROJECT.parent / "shared" / "audio" / "dev"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One two-channel recording to be heard."""

    call_id: str
    audio: Path
    caller_channel: int = 0
    agent_channel: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What each detector heard in one call, and why the engine does not evaluate it."""

    sounds: Mapping[str, Sound]
    reasons: tuple[str, ...]


@cache
def _instruments() -> tuple[Protocol, SileroVad]:
    protocol = load_protocol("inquesto-0.1")
    return protocol, SileroVad(protocol.instruments.vad)


def _engine(recorded: Recorded) -> tuple[Sound, tuple[str, ...]]:
    """Return what the engine's own path hears; it is told nothing but the channels."""
    protocol, vad = _instruments()
    call = Call(
        call_id=recorded.call_id,
        agent=Agent(name="agent"),
        audio=(
            AudioFile(
                file=recorded.audio.name,
                caller=recorded.caller_channel,
                agent=recorded.agent_channel,
            ),
        ),
    )
    rows = measure_call(Bundle(call=call, root=recorded.audio.parent), protocol=protocol, vad=vad)
    (row,) = rows["calls"]
    sides: dict[str, tuple[tuple[int, int], ...]] = {
        side: tuple(
            (segment["start_ms"], segment["end_ms"])
            for segment in rows["segments"]
            if segment["channel"] == side and segment["rejected"] is None
        )
        for side in ("caller", "agent")
    }
    reasons = [*row["timing_reasons"], *filter(None, [row["exclusion_reason"]])]
    return Sound(**sides, duration_ms=row["duration_ms"] or 0), tuple(reasons)


def hear(recorded: Recorded) -> Heard:
    """Return what the three detectors hear in one recording."""
    _, vad = _instruments()
    engine, reasons = _engine(recorded)
    caller, agent = read_channels(recorded.audio, recorded.caller_channel, recorded.agent_channel)
    duration_ms = len(caller) // 16
    return Heard(
        sounds={
            "engine": engine,
            "silero": Sound(
                caller=tuple(silero_segments(vad.probabilities(caller), len(caller))),
                agent=tuple(silero_segments(vad.probabilities(agent), len(agent))),
                duration_ms=duration_ms,
            ),
            "energy": Sound(
                caller=tuple(energy_segments(caller)),
                agent=tuple(energy_segments(agent)),
                duration_ms=duration_ms,
            ),
        },
        reasons=reasons,
    )


def _hear_all(recordings: Sequence[Recorded], workers: int) -> dict[str, Heard]:
    names = [recorded.call_id for recorded in recordings]
    if workers == 1:
        return dict(zip(names, map(hear, recordings), strict=True))
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        return dict(zip(names, pool.map(hear, recordings, chunksize=4), strict=True))


def measure_folder(
    truths: Sequence[Truth], *, protocol: Protocol, workers: int
) -> tuple[dict[str, dict[str, CallErrors]], dict[str, tuple[str, ...]]]:
    """Return each detector's errors by call, and why the engine left calls out."""
    heard = _hear_all(
        [
            Recorded(
                call_id=truth.call_id,
                audio=truth.audio,
                caller_channel=truth.caller_channel,
                agent_channel=truth.agent_channel,
            )
            for truth in truths
        ],
        workers,
    )
    reasons = {call_id: told.reasons for call_id, told in heard.items() if told.reasons}
    errors = {}
    for detector in DETECTORS:
        sounds = {call_id: told.sounds[detector] for call_id, told in heard.items()}
        events = apply_rules(sounds, protocol)
        errors[detector] = {
            truth.call_id: compare_call(
                truth,
                sounds[truth.call_id],
                events[truth.call_id],
                is_evaluated=detector != "engine" or truth.call_id not in reasons,
                talk_over_ms=int(protocol.event("talk_over").parameters["overlap_ms"]),
                slow_turn_ms=int(protocol.event("slow_turn").parameters["latency_ms"]),
            )
            for truth in truths
        }
    return errors, reasons


def _measure_clips(folder: Path, workers: int) -> dict[str, tuple[ClipOnsets, ...]]:
    clips = read_clips(folder)
    heard = _hear_all(
        [
            Recorded(
                call_id=clip.name,
                audio=clip.audio,
                caller_channel=clip.caller_channel,
                agent_channel=clip.agent_channel,
            )
            for clip in clips
        ],
        workers,
    )
    return {
        detector: compare_clips(
            clips, {name: told.sounds[detector].caller for name, told in heard.items()}
        )
        for detector in DETECTORS
    }


def _draw(
    folder: Path, truths: Sequence[Truth], errors: Mapping[str, Mapping[str, CallErrors]]
) -> tuple[Path, ...]:
    """Write one SVG a quantity and return their paths."""
    classes = {detector: by_class(truths, errors[detector]) for detector in DETECTORS}
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, field in (("onsets", "onset_ms"), ("offsets", "offset_ms")):
        panels = {
            group: {
                d: (getattr(classes[d][group], field), classes[d][group].runs_true)
                for d in DETECTORS
            }
            for group in classes[DETECTORS[0]]
        }
        title = f"Caller {name} within an absolute error (ms), share of all true ones"
        path = folder / f"{name}.svg"
        path.write_text(distribution_svg(title, panels), encoding="utf-8")
        drawn.append(path)
    return tuple(drawn)


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _counts(counts: Mapping[str, int]) -> str:
    return "/".join(map(str, counts.values()))


def _summary(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the three detectors' figures, a line a condition."""
    lines = [
        "detector condition calls(left out) found/true onset95 offset95 false/min "
        "talk_over slow_or_none (tp/fn/fp/excluded)"
    ]
    for detector, table in rows.items():
        lines += [
            f"{detector:7s} {row['condition']:13s} "
            f"{row['calls']:3d}({row['not_evaluated_calls']})  "
            f"{row['onsets_found']}/{row['onsets_true']}  {row['onset_abs_p95_ms']}  "
            f"{row['offset_abs_p95_ms']}  {row['false_segments_per_min']}  "
            f"{_counts(row['talk_over'])}  {_counts(row['slow_or_none'])}"
            for row in table
        ]
    return "\n".join(lines)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        help="folder of CALL/call.flac and CALL/truth.json; without it the shared set, if at hand",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw the error distributions")
    parser.add_argument(
        "--clips", type=Path, metavar="DIR", help="also time the labelled clips of DIR/labels.json"
    )
    parser.add_argument(
        "--uncertainty",
        action="store_true",
        help="print by class what covers 95 %% of the engine's boundary errors",
    )
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure a folder, print the figures, write what is asked for."""
    given = _arguments(argv)
    folder = given.folder or _DEV_SET
    if given.folder is None and not folder.is_dir():
        print("timing_validity: give a folder of calls; the shared set is not at hand")
        return 0
    protocol, _ = _instruments()
    try:
        truths = read_truths(folder, protocol)
    except FileNotFoundError as exc:
        print(f"timing_validity: {exc}", file=sys.stderr)
        return 2
    errors, reasons = measure_folder(truths, protocol=protocol, workers=given.workers)
    parts = {detector: by_condition(truths, errors[detector]) for detector in DETECTORS}
    rows = {
        detector: [figures(name, total) for name, total in table.items()]
        for detector, table in parts.items()
    }
    print(_summary(rows))
    for call_id, why in sorted(reasons.items()):
        print(f"not evaluated: {call_id}: {', '.join(why)}")
    clips = _measure_clips(given.clips, given.workers) if given.clips else {}
    for detector, onsets in clips.items():
        print(f"clips {detector}: {' '.join(str(clip.error_ms) for clip in onsets)}")
    if given.uncertainty:
        print(json.dumps(uncertainty(by_class(truths, errors["engine"])), indent=1))
    if given.json:
        _write_json(given.json, rows)
    drawn = _draw(given.plots, truths, errors) if given.plots else ()
    if given.markdown:
        given.markdown.parent.mkdir(parents=True, exist_ok=True)
        page = validity_page(
            parts,
            clips=clips,
            reasons=reasons,
            plots=[path.resolve() for path in drawn],
            folder=given.markdown.resolve().parent,
            vad=protocol.instruments.vad,
            covered=uncertainty(by_class(truths, errors["engine"])),
        )
        given.markdown.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
