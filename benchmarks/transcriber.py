#!/usr/bin/env python3
"""How well and how fast the transcriber hears, beside the library's own way.

Word error: the sample calls (the script is the truth) and, where it is at hand, the clean and
telephone calls of ``../shared/audio/dev`` voice by voice; utterances whose text is not exact, or
that are cut off, are left out. Speed: calls of that set in turning order, one
process, one thread, beside `WhisperModel.transcribe` on both channels mixed into one, once with the
library's defaults and once with our arithmetic and search. The time of the voice detector, which
scoring needs anyway, stands apart.

    INQUESTO_MODELS=FOLDER python benchmarks/transcriber.py [--part words|speed] [--also FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

PROJECT = Path(__file__).resolve().parents[1]
# Run as a script, Python knows this folder and not the project's.
sys.path.insert(0, str(PROJECT))
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import soundfile as sf  # noqa: E402

from inquesto_core.bundle import find_bundles, read_bundle  # noqa: E402
from inquesto_core.compare.word_error import word_error  # noqa: E402
from inquesto_core.errors import InstrumentError  # noqa: E402
from inquesto_core.evidence.spoken_words import spoken_words  # noqa: E402
from inquesto_core.instruments.audio import decode_call  # noqa: E402
from inquesto_core.instruments.extract import media_limits  # noqa: E402
from inquesto_core.instruments.hearing import hear  # noqa: E402
from inquesto_core.instruments.model_parts import pinned_model, require_whole_model  # noqa: E402
from inquesto_core.instruments.transcriber import HeardSide, Transcriber  # noqa: E402
from inquesto_core.instruments.transcriber_files import whisper_files  # noqa: E402
from inquesto_core.instruments.transcriber_settings import transcriber_settings  # noqa: E402
from inquesto_core.instruments.transcriber_whisper import WhisperTranscriber  # noqa: E402
from inquesto_core.instruments.vad import SileroVad  # noqa: E402
from inquesto_core.protocol import load_protocol  # noqa: E402
from inquesto_core.protocol.foreground_network import load_network  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.instruments.transcriber import HeardWord
    from inquesto_core.protocol.definition import AsrPin

SAMPLES = PROJECT / "sample_records"
DEV = PROJECT.parent / "shared" / "audio" / "dev"
SIDES = ("caller", "agent")
CONDITIONS = ("clean", "tel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a side says by the script: text, and when, in ms; None = anywhere in the call."""

    text: str
    start_ms: int | None = None
    end_ms: int | None = None
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call with both channels, and the truth of each side."""

    name: str
    sound: dict[str, Any]
    said: dict[str, tuple[Said, ...]]
    group: dict[str, str]

    @property
    def seconds(self) -> float:
        """How long it is."""
        return float(self.sound["caller"].size / 16_000)


@dataclass(slots=True)
class Tally:
    """Counts of one group of voices."""

    words: int = 0
    errors: int = 0
    heard: int = 0
    dropped: int = 0
    without_speech: int = 0
    negations: int = 0
    numbers: int = 0
    worst: list[str] = field(default_factory=list)


class NothingKept:
    """Keeps no answer: everything is heard anew."""

    def find(self, key: str) -> None:
        """Return nothing."""

    def keep(self, key: str, answer: dict[str, Any]) -> None:
        """Keep nothing."""


def sample_calls(limit: int | None) -> Iterator[Call]:
    law = load_protocol("inquesto-0.1")
    found = find_bundles([SAMPLES], scratch=PROJECT)
    for ref in found.refs[:limit]:
        bundle = read_bundle(ref)
        recording = decode_call(bundle, limits=media_limits(law))
        if recording.caller is None or recording.agent is None or bundle.transcript is None:
            continue
        group = f"samples {bundle.call.condition}"
        yield Call(
            name=bundle.call.call_id,
            sound={side: getattr(recording, side).samples for side in SIDES},
            said={
                side: tuple(
                    Said(text=turn.text if turn.heard_text is None else turn.heard_text)
                    for turn in bundle.transcript.turns
                    if turn.speaker == side
                )
                for side in SIDES
            },
            group={side: f"{group} {side}" for side in SIDES},
        )


def dev_calls(limit: int | None) -> Iterator[Call]:
    count = 0
    for path in sorted(DEV.glob("*/truth.json")):
        truth = json.loads(path.read_bytes())
        condition = truth["condition"]["name"]
        if condition not in CONDITIONS or (limit is not None and count >= limit):
            continue
        count += 1
        both, _ = sf.read(path.with_name("call.flac"), dtype="float32")
        both = both - both.mean(axis=0)
        yield Call(
            name=truth["call_id"],
            sound={side: np.ascontiguousarray(both[:, at]) for at, side in enumerate(SIDES)},
            said={
                side: tuple(
                    Said(
                        text=row["text"],
                        start_ms=round(1000 * row["start_s"]),
                        end_ms=round(1000 * row["end_s"]),
                        counts=row["text_exact"] and not row["truncated"],
                    )
                    for row in truth["utterances"]
                    if row["channel"] == side
                )
                for side in SIDES
            },
            group={side: f"dev {condition} {truth['voices'][side]}" for side in SIDES},
        )


class Ear:
    """The voice detector with everything it needs."""

    def __init__(self) -> None:
        self.law = load_protocol("inquesto-0.1")
        self.vad = SileroVad(self.law.instruments.vad)
        self.network = load_network(self.law.folder / self.law.instruments.foreground.network)

    def sides(self, call: Call) -> dict[str, HeardSide]:
        """Return both channels with their speech."""
        heard = hear(
            call.sound["caller"],
            call.sound["agent"],
            protocol=self.law,
            vad=self.vad,
            network=self.network,
        )
        out = {}
        for side in SIDES:
            speech = heard[side].speech
            accepted = np.array([reason is None for reason in speech.rejected], dtype=bool)
            out[side] = HeardSide(
                samples=call.sound[side],
                speech=speech.intervals[accepted],
                rejected=speech.intervals[~accepted],
            )
        return out


def transcriber(folder: Path, ear: Ear) -> Transcriber:
    settings = transcriber_settings(ear.law.instruments.asr)
    return Transcriber(
        backend=WhisperTranscriber(folder, settings=settings),
        sha256=whisper_files(folder).model,
        settings=settings,
        store=NothingKept(),
    )


def pairs(said: tuple[Said, ...], heard: list[HeardWord]) -> Iterator[tuple[str, str]]:
    """Yield script and heard text: utterance by utterance where its times are known."""
    if any(row.start_ms is None for row in said):
        yield " ".join(row.text for row in said), " ".join(word.word for word in heard)
        return
    of: dict[int, list[str]] = defaultdict(list)
    for word in heard:
        middle = (word.start_ms + word.end_ms) / 2
        away = [max(row.start_ms - middle, middle - row.end_ms, 0) for row in said]  # type: ignore[operator]
        of[int(np.argmin(away))].append(word.word)
    for at, row in enumerate(said):
        if row.counts:
            yield row.text, " ".join(of[at])


def add(tally: Tally, call: Call, side: str, heard: tuple[HeardWord, ...], speech: Any) -> None:
    kept = [word for word in heard if word.dropped is None]
    tally.heard += len(kept)
    tally.dropped += len(heard) - len(kept)
    tally.without_speech += sum(
        not ((speech[:, 0] < word.end_ms) & (word.start_ms < speech[:, 1])).any() for word in kept
    )
    if not call.said[side]:
        return
    for text, own in pairs(call.said[side], kept):
        found = word_error(spoken_words(text), spoken_words(own))
        tally.words += found.n_words
        tally.errors += found.errors
        tally.negations += sum(place.is_negation for place in found.differences)
        tally.numbers += sum(place.is_number for place in found.differences)
        tally.worst += [
            f"{' '.join(place.words) or '–'} > {' '.join(place.heard) or '–'}"
            for place in found.differences
            if place.is_negation or place.is_number
        ]


SETS = {"dev": dev_calls, "samples": sample_calls}


def word_errors(folders: list[Path], sets: list[str], limit: int | None) -> None:
    ear = Ear()
    ours = {folder.name: transcriber(folder, ear) for folder in folders}
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for name_of_set in sets:
        for call in SETS[name_of_set](limit):
            sides = ear.sides(call)
            for name, model in ours.items():
                for side, heard in sides.items():
                    tally = tallies[name, call.group[side]]
                    add(tally, call, side, model.hear(heard), heard.speech)
    print("| model | voice | words | errors | word error | not | number | left out | no speech |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in ours:
        for group in (
            *sorted({g for n, g in tallies if n == name}),
            "samples",
            "dev clean",
            "dev tel",
        ):
            rows = [t for (n, g), t in tallies.items() if n == name and g.startswith(group)]
            words, errors = sum(t.words for t in rows), sum(t.errors for t in rows)
            share = f"{100 * errors / words:.1f} %" if words else "–"
            rest = (
                sum(getattr(t, key) for t in rows)
                for key in ("negations", "numbers", "dropped", "without_speech")
            )
            print(f"| {name} | {group} | {words} | {errors} | {share} | ", end="")
            print(" | ".join(map(str, rest)), "|", flush=True)
        for text in sorted({w for (n, _), t in tallies.items() if n == name for w in t.worst}):
            print(f"  {name}: {text}")


def speed(folder: Path, n_calls: int) -> None:
    from faster_whisper import WhisperModel

    ear = Ear()
    ours = transcriber(folder, ear)
    settings = ours.settings
    plain = WhisperModel(str(folder), device="cpu", cpu_threads=1, local_files_only=True)
    alike = WhisperModel(
        str(folder),
        device="cpu",
        compute_type=settings.compute_type,
        cpu_threads=1,
        local_files_only=True,
    )
    spent: dict[str, list[float]] = defaultdict(list)
    seconds = []
    everyone = [*dev_calls(None)] or [*sample_calls(None)]
    for turn, call in enumerate(everyone[:: max(1, len(everyone) // n_calls)][:n_calls]):
        began = time.perf_counter()
        sides = ear.sides(call)
        spent["voice detector"].append(time.perf_counter() - began)
        mixed = ((call.sound["caller"] + call.sound["agent"]) / 2).astype(np.float32)
        ways = {
            "ours, both channels": lambda s=sides: [ours.hear(side) for side in s.values()],
            "plain, defaults": lambda m=mixed: list(plain.transcribe(m)[0]),
            "plain, as ours": lambda m=mixed: list(
                alike.transcribe(
                    m,
                    language=settings.language,
                    beam_size=settings.beam_size,
                    temperature=0,
                    condition_on_previous_text=False,
                    word_timestamps=True,
                )[0]
            ),
        }
        names = list(ways)
        for at in range(len(names)):
            name = names[(at + turn) % len(names)]
            began = time.perf_counter()
            ways[name]()
            spent[name].append(time.perf_counter() - began)
        seconds.append(call.seconds)
    total = sum(seconds)
    own = sum(spent["ours, both channels"])
    print(f"{len(seconds)} calls, {total:.0f} s, one thread, {folder.name}")
    print("| way | s | times real time | time beside ours |")
    print("|---|---|---|---|")
    for name, times in spent.items():
        print(f"| {name} | {sum(times):.1f} | {total / sum(times):.1f} | {sum(times) / own:.2f} |")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--part", choices=("words", "speed", "both"), default="both")
    options.add_argument("--also", type=Path, action="append", default=[], help="Another model.")
    options.add_argument("--set", choices=SETS, action="append", help="Of the words part.")
    options.add_argument("--calls", type=int, default=12, help="Calls of the speed part.")
    options.add_argument("--limit", type=int, default=None, help="Most calls of each set.")
    given = options.parse_args()
    pin = load_protocol("inquesto-0.1").instruments.asr
    try:
        measure(given, pin)
    except InstrumentError as exc:  # without extra or model there is nothing to measure
        print(exc)


def measure(given: argparse.Namespace, pin: AsrPin) -> None:
    folder = require_whole_model(pinned_model(pin)).parent
    if given.part != "speed":
        word_errors([folder, *given.also], given.set or list(SETS), given.limit)
    if given.part != "words":
        speed(folder, given.calls)


if __name__ == "__main__":
    main()
