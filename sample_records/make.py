"""Make the sample calls: speech on a known timeline, with trace, transcript, labels and truth.

    python sample_records/make.py [--voices FOLDER --cache FOLDER] [--out FOLDER] [--remeasure]

Speech needs the project with its extra `samples`, and Kokoro's voices; README.md says how they are
had. Without `--voices` the recordings in the folder stay, and all other files are made anew.
There is no clock and no unseeded chance in it. The words, times and labels are in `dialogues/`; a
line's length is that of `clips.json`; the scenarios and facts are cut from the billing population.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import bundle  # noqa: E402
from conditions import carry  # noqa: E402
from dialogues import CONDITIONS, Dialogue, Line, load_dialogues  # noqa: E402
from placing import Script, channel, place  # noqa: E402
from sound import Clip, Samples, ogg_opus  # noqa: E402
from speech import Speech  # noqa: E402
from truth import truth  # noqa: E402

from inquesto_core.canonical import digest_bytes, pretty_bytes, strict_json  # noqa: E402

BILLING = HERE.parent / "protocols/inquesto-0.1/populations/billing-0.1.json"

CALLER_VOICES = {
    "us_female": "af_heart",
    "us_male": "am_michael",
    "uk_female": "bf_emma",
    "uk_male": "bm_george",
}
AGENT_VOICE = "am_fenrir"


def population(dialogues: tuple[Dialogue, ...]) -> dict[str, Any]:
    """Return population.json: what the dialogues use of the billing population, a cell a group."""
    whole = strict_json(BILLING.read_bytes(), file=BILLING.name)
    used = {each.scenario_id: each.group for each in dialogues}
    cells = [
        {
            "scenarios": sorted(name for name, own in used.items() if own == group),
            "conditions": list(CONDITIONS),
            "groups": [group],
        }
        for group in whole["groups"]
    ]
    return {
        **whole,
        "name": bundle.POPULATION,
        "version": "0.1",
        "design": {"trials": 1, "cells": cells},
        "scenarios": [each for each in whole["scenarios"] if each["id"] in used],
    }


def voice_of(dialogue: Dialogue, line: Line) -> str:
    """Return the voice that says a line."""
    return CALLER_VOICES[dialogue.group] if line.speaker == "caller" else AGENT_VOICE


def say(speech: Speech, dialogue: Dialogue, line: Line) -> Clip:
    """Return a line's clip."""
    return speech.clip(line.text, voice_of(dialogue, line))


def recording(script: Script, condition: str, talkers: list[Samples]) -> bytes:
    """Return the recording: the caller's channel in its condition, the agent's as it is."""
    name = script.dialogue.call_id(condition)
    seed = digest_bytes(name.encode())
    caller = carry(
        channel(script, "caller"),
        condition,
        talkers=talkers,
        chance=np.random.default_rng(int(seed[:16], 16)),
    )
    return ogg_opus(caller, channel(script, "agent"), serial=int(seed[:8], 16))


def write(script: Script, condition: str, number: int, talkers: list[Samples], out: Path) -> None:
    """Write one bundle and its truth; without talkers its recording is the one that is there."""
    dialogue = script.dialogue
    folder = out / dialogue.agent / dialogue.call_id(condition)
    path = folder / bundle.AUDIO_FILE
    if talkers:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(recording(script, condition, talkers))
    audio = path.read_bytes()
    voices = {"caller": CALLER_VOICES[dialogue.group], "agent": AGENT_VOICE}
    for name, value in (
        (
            "call",
            bundle.call(script, condition, number=number, voice=AGENT_VOICE, audio=audio),
        ),
        ("trace", bundle.trace(script)),
        ("transcript", bundle.transcript(script)),
        ("state", bundle.state(script)),
        ("verdicts", bundle.verdicts(dialogue)),
        ("truth", truth(script, condition, voices)),
    ):
        (folder / f"{name}.json").write_bytes(pretty_bytes(value))


def arguments() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description="Make the sample calls.")
    parser.add_argument("--voices", type=Path, help="folder of Kokoro's voices")
    parser.add_argument(
        "--cache", type=Path, default=Path("clips"), help="keeps what was synthesised"
    )
    parser.add_argument("--out", type=Path, default=HERE, help="where to write (default: here)")
    parser.add_argument("--remeasure", action="store_true", help="write clips.json anew")
    return parser.parse_args()


def main() -> None:
    """Write the population and every bundle."""
    asked = arguments()
    dialogues = load_dialogues()
    speech = Speech(voices=asked.voices, cache=asked.cache, remeasure=asked.remeasure)
    talkers = []
    if asked.voices is not None:
        babble = tomllib.loads((HERE / "babble.toml").read_text(encoding="utf-8"))
        talkers = [speech.clip(text, voice).samples for voice, text in babble.items()]
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "population.json").write_bytes(pretty_bytes(population(dialogues)))
    number = 0
    for dialogue in dialogues:
        script = place(dialogue, partial(say, speech, dialogue))
        for condition in dialogue.conditions:
            write(script, condition, number, talkers, asked.out)
            number += 1
            sys.stdout.write(f"{dialogue.call_id(condition)}: {script.end_ms / 1000:.1f} s\n")
    if asked.voices is not None:
        speech.write_sheet()


if __name__ == "__main__":
    main()
