"""Calls with a near background, mixed from calls that have none: what the network learns from.

Each mixture takes a call without background, and lays over its caller's channel voices cut from the
other calls (never the caller's own): seven at once (babble), thirty (a crowd), or one with pauses
(a television), at a stated distance below the caller's own level; for telephone calls in the
telephone band. Everything is drawn from one seeded generator in a stated order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.signal import butter, sosfiltfilt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

RATE = 16_000
TALKERS = {"babble": 7, "crowd": 30, "tv": 1}
#: Kind, distance (dB), which calls (clean or telephone), every how many-th call, from which.
PLAN = (
    ("babble", 10, "clean", 1, 0),
    ("crowd", 10, "clean", 1, 0),
    ("tv", 10, "clean", 1, 0),
    ("tv", 10, "clean", 1, 0),
    ("tv", 5, "clean", 1, 0),
    ("babble", 10, "telephone", 1, 0),
    ("crowd", 10, "telephone", 1, 0),
    ("tv", 10, "telephone", 1, 0),
    ("babble", 15, "clean", 3, 0),
    ("tv", 15, "clean", 3, 1),
    ("babble", 20, "clean", 2, 0),
    ("tv", 20, "clean", 2, 1),
    ("crowd", 20, "clean", 3, 0),
    ("tv", 20, "telephone", 1, 0),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrueCall:
    """A call with its truth.

    Parameters
    ----------
    name, voice : str
        The call, and its caller's voice.
    truth : dict
        As ``truth.json`` holds it.
    caller, agent : float32 arrays of shape (n,), 16 kHz, mean removed
    """

    name: str
    voice: str
    truth: dict[str, Any]
    caller: Samples
    agent: Samples


def _clips(calls: Sequence[TrueCall]) -> list[tuple[str, Samples]]:
    """Return one (voice, sound) of every clip that the calls hold."""
    found: dict[str, tuple[str, Samples]] = {}
    for call in calls:
        for said in call.truth["utterances"]:
            sound = call.caller if said["channel"] == "caller" else call.agent
            first, last = (int(said[key] * RATE) for key in ("start_s", "end_s"))
            voice = call.truth["voices"][said["channel"]]
            found.setdefault(said["clip"], (voice, sound[first:last]))
    return list(found.values())


def _voice(
    clips: Sequence[tuple[str, Samples]],
    length: int,
    pause_s: tuple[float, float],
    rng: np.random.Generator,
) -> Samples:
    """Return one voice talking on, every clip at unit level, with pauses of `pause_s`."""
    out = np.zeros(length, np.float32)
    at = int(rng.integers(0, RATE))
    while at < length:
        sound = clips[int(rng.integers(len(clips)))][1]
        piece = sound[: length - at]
        out[at : at + len(piece)] += piece / np.sqrt(np.mean(sound**2) + 1e-9)
        at += len(sound) + int(rng.uniform(*pause_s) * RATE)
    return out


def _background(
    kind: str, call: TrueCall, clips: Sequence[tuple[str, Samples]], rng: np.random.Generator
) -> Samples:
    others = [clip for clip in clips if clip[0] != call.voice]
    length = len(call.caller)
    if kind == "tv":
        voices = sorted({voice for voice, _ in others})
        voice = voices[int(rng.integers(len(voices)))]
        return _voice([clip for clip in others if clip[0] == voice], length, (0.2, 1.0), rng)
    return np.sum([_voice(others, length, (0.0, 0.3), rng) for _ in range(TALKERS[kind])], axis=0)


def _level(sound: Samples) -> float:
    return float(np.sqrt(np.mean(sound.astype(np.float64) ** 2)))


def mixtures(calls: Sequence[TrueCall], seed: int) -> Iterator[TrueCall]:
    """Yield the mixtures of `PLAN` over calls without a background."""
    rng = np.random.default_rng(seed)
    clean = [c for c in calls if c.truth["condition"]["name"] in ("clean", "dc")]
    telephone = [c for c in calls if c.truth["condition"]["name"] in ("tel", "telsteep")]
    clips = _clips(clean)
    band = butter(4, [300, 3400], "bandpass", fs=RATE, output="sos")
    for kind, distance_db, line, step, first in PLAN:
        for call in (clean if line == "clean" else telephone)[first::step]:
            spoken = [
                call.caller[int(said["start_s"] * RATE) : int(said["end_s"] * RATE)]
                for said in call.truth["utterances"]
                if said["channel"] == "caller"
            ]
            behind = _background(kind, call, clips, rng)
            if line == "telephone":
                behind = sosfiltfilt(band, behind).astype(np.float32)
            level = _level(np.concatenate(spoken)) if spoken else 0.05
            sounding = behind[np.abs(behind) > 1e-4]
            gain = level * 10.0 ** (-distance_db / 20.0) / _level(sounding)
            mixed = (call.caller + gain * behind).astype(np.float32)
            yield TrueCall(
                name=f"{call.name}+{kind}{distance_db}",
                voice=call.voice,
                truth=call.truth,
                caller=mixed - mixed.mean(),
                agent=call.agent,
            )
