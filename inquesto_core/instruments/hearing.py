"""Who speaks when on the two channels of a call, and what else is heard there.

1. What leaks from one side into the other's channel is taken away (`leak`).
2. Each side is heard by itself: the VAD says where, the energy says the edge (`speech`).
3. Where a channel's background is near, its party is found in front of it instead (`foreground`);
   what the VAD took beside it is kept as *background*.
4. What a leak explains is kept as *echo*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.instruments.foreground import (
    Background,
    Foreground,
    ForegroundParameters,
    find_background,
    find_foreground,
)
from inquesto_core.instruments.intervals import joined
from inquesto_core.instruments.leak import Leak, LeakLimits, find_leaks
from inquesto_core.instruments.level import FLOOR_DB, level_db
from inquesto_core.instruments.not_speech import without_not_speech
from inquesto_core.instruments.partials import NotSpeechLimits
from inquesto_core.instruments.speech import (
    SpeechParameters,
    SpeechSegments,
    find_speech,
    vad_regions,
)
from inquesto_core.instruments.vad_level import VadGain, VadLevelLimits, low_level, vad_gain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.vad import SileroVad
    from inquesto_core.protocol import Protocol
    from inquesto_core.protocol.foreground_network import Network

    Int = NDArray[np.int64]
    Level = NDArray[np.float32]

__all__ = ["BACKGROUND", "ECHO", "Heard", "hear"]

#: Why a stretch of sound is not the party speaking.
BACKGROUND, ECHO = "background", "echo"
_SIDES = ("caller", "agent")
_OTHER = {"caller": "agent", "agent": "caller"}
#: An echo is shown where it was louder than what is left by this much, and audible at all.
_ECHO_ABOVE_REST_DB = 6.0
_ECHO_FLOOR_DBFS = -70.0
_ECHO_MIN_MS = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heard:
    """One side of a call as it was heard.

    Parameters
    ----------
    speech : SpeechSegments
        Speech, and what else sounded, with the reason why it is not the party speaking.
    leak : Leak or None
        The other side's sound in this channel.
    foreground : Foreground or None
        None where the background is not near.
    indistinct : bool
        Whether party and background cannot be told apart: nothing here is evaluated.
    too_quiet : bool
        Whether the channel is too quiet to say when the party speaks.
    """

    speech: SpeechSegments
    leak: Leak | None
    foreground: Foreground | None
    indistinct: bool
    too_quiet: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sound:
    """A channel without its leak, and as loud as the VAD wants it."""

    samples: Samples
    level: Level
    lift: VadGain
    is_lifted: bool
    lifted: Samples


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Channel:
    samples: Samples
    level: Level
    probability: NDArray[np.float32]
    speech: SpeechSegments
    too_quiet: bool


def hear(
    caller: Samples, agent: Samples, *, protocol: Protocol, vad: SileroVad, network: Network
) -> dict[str, Heard]:
    """Return both sides as heard.

    Parameters
    ----------
    caller, agent : float32 arrays of shape (n,), 16 kHz, one clock
    """
    pins = protocol.instruments
    limits = SpeechParameters.of(pins.vad.parameters)
    near = ForegroundParameters.of(pins.foreground.parameters, pins.foreground.features)
    leaks = dict(zip(_SIDES, find_leaks(caller, agent, LeakLimits.of(pins.leak)), strict=True))
    sounds = {
        side: _prepared(sound, leaks[side], protocol=protocol, limits=limits)
        for side, sound in (("caller", caller), ("agent", agent))
    }
    probabilities = vad.probabilities_of(
        [sounds[side].lifted for side in _SIDES],
        decided_at=(
            limits.threshold,
            limits.release_threshold,
            NotSpeechLimits.of(pins.not_speech).faint_probability,
            near.features.core_vad_probability,
        ),
    )
    channels = {
        side: _listened(sounds[side], probability, protocol=protocol, limits=limits)
        for side, probability in zip(_SIDES, probabilities, strict=True)
    }
    heard = {side: channel.speech for side, channel in channels.items()}
    found: dict[str, Foreground | None] = dict.fromkeys(_SIDES)
    indistinct = dict.fromkeys(_SIDES, False)

    def behind(side: str) -> Background:
        channel, theirs = channels[side], heard[_OTHER[side]].accepted
        return find_background(channel.level, channel.speech.accepted, theirs, parameters=near)

    # A background taken for speech makes the other side look as if it had one too: of two that are
    # near, the side with the wider gap is settled first, and the other judged by what it then says.
    gaps = {side: behind(side).gap_db for side in _SIDES}
    for side in sorted(_SIDES, key=lambda side: (gaps[side] >= near.near_db, -gaps[side])):
        background = behind(side)
        indistinct[side] = background.indistinct
        if background.gap_db < near.near_db:
            front = find_foreground(
                channels[side].samples,
                channels[side].probability,
                heard[_OTHER[side]].accepted,
                frame_ms=pins.vad.frame_ms,
                network=network,
                parameters=near,
            )
            found[side] = front
            indistinct[side] = front.doubt > near.max_doubt
            heard[side] = _in_front(channels[side], front, protocol=protocol, limits=limits)
        elif background.highest_db is not None:
            heard[side] = _edges(
                channels[side].samples,
                channels[side].level,
                channels[side].probability,
                protocol=protocol,
                limits=limits,
                background_db=background.highest_db,
            )
    return {
        side: Heard(
            speech=_with_echo(heard[side], leaks[side], channels[side].level, limits),
            leak=leaks[side],
            foreground=found[side],
            indistinct=indistinct[side],
            too_quiet=channels[side].too_quiet,
        )
        for side in _SIDES
    }


def _prepared(
    sound: Samples, leak: Leak | None, *, protocol: Protocol, limits: SpeechParameters
) -> _Sound:
    samples = sound if leak is None else leak.rest
    level = level_db(samples, window_ms=limits.level_window_ms, highpass_hz=limits.highpass_hz)
    lift = vad_gain(
        level,
        floor_percentile=limits.floor_percentile,
        floor_margin_db=limits.floor_margin_db,
        limits=VadLevelLimits.of(protocol.instruments.vad_level),
    )
    # What is left of an echo is no quiet party.
    is_lifted = lift.gain > 1.0 and leak is None
    return _Sound(
        samples=samples,
        level=level,
        lift=lift,
        is_lifted=is_lifted,
        lifted=samples * np.float32(lift.gain) if is_lifted else samples,
    )


def _listened(
    sound: _Sound,
    probability: NDArray[np.float32],
    *,
    protocol: Protocol,
    limits: SpeechParameters,
) -> _Channel:
    level = sound.level
    speech = _edges(
        sound.samples, level, probability, protocol=protocol, limits=limits, background_db=FLOOR_DB
    )
    too_quiet = sound.is_lifted and low_level(
        sound.lift,
        vad_regions(probability, protocol.instruments.vad.frame_ms, len(level), limits),
        speech.accepted,
        VadLevelLimits.of(protocol.instruments.vad_level),
    )
    return _Channel(
        samples=sound.samples,
        level=level,
        probability=probability,
        speech=speech,
        too_quiet=too_quiet,
    )


def _edges(
    samples: Samples,
    level: Level,
    probability: NDArray[np.float32],
    *,
    protocol: Protocol,
    limits: SpeechParameters,
    background_db: float,
) -> SpeechSegments:
    speech = find_speech(
        level,
        probability,
        frame_ms=protocol.instruments.vad.frame_ms,
        join_ms=protocol.timeline.ipu_gap_ms,
        parameters=limits,
        background_db=background_db,
    )
    return without_not_speech(
        speech,
        samples,
        level,
        probability,
        frame_ms=protocol.instruments.vad.frame_ms,
        parameters=limits,
        limits=NotSpeechLimits.of(protocol.instruments.not_speech),
    )


def _outside(intervals: Int, holes: Int) -> list[tuple[int, int]]:
    """Return what of `intervals` lies in none of the sorted `holes`."""
    left: list[tuple[int, int]] = []
    for start, end in intervals.tolist():
        at = start
        for low, high in holes.tolist():
            if high <= at or low >= end:
                continue
            if at < low:
                left.append((at, low))
            at = high
        if at < end:
            left.append((at, end))
    return left


def _in_front(
    channel: _Channel, front: Foreground, *, protocol: Protocol, limits: SpeechParameters
) -> SpeechSegments:
    """Return the party's speech and, as background, what the VAD took beside it."""
    span = len(channel.level)
    party = joined(np.minimum(front.intervals, span), protocol.timeline.ipu_gap_ms - 1)
    frame_ms = protocol.instruments.vad.frame_ms
    regions = vad_regions(channel.probability, frame_ms, span, limits)
    behind = [
        (start, end)
        for start, end in _outside(regions, party)
        if end - start >= limits.min_segment_ms
    ]
    return channel.speech.replaced(party, {BACKGROUND: behind}, channel.level)


def _with_echo(
    speech: SpeechSegments, leak: Leak | None, level: Level, limits: SpeechParameters
) -> SpeechSegments:
    """Return the speech with the stretches that a leak explains, as echo."""
    if leak is None:
        return speech
    echo = level_db(leak.echo, window_ms=limits.level_window_ms, highpass_hz=limits.highpass_hz)
    explained = (echo > level + _ECHO_ABOVE_REST_DB) & (echo > _ECHO_FLOOR_DBFS)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], explained, [False]])))
    stretches = joined(edges.reshape(-1, 2), limits.attach_ms)
    lasting = stretches[stretches[:, 1] - stretches[:, 0] >= _ECHO_MIN_MS]
    pieces = [
        (start, end)
        for start, end in _outside(lasting, speech.intervals)
        if end - start >= _ECHO_MIN_MS
    ]
    return speech.with_rejected({ECHO: pieces})
