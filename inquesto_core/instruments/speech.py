"""Where a party speaks, to the millisecond: Silero says *where*, the energy says *the edge*.

1. Frames at or above ``release_threshold`` that reach ``threshold`` are VAD regions; regions at
   most ``region_join_ms`` apart are one run of speech.
2. A run's edge level is ``edge_db`` below its loudest window, but not less than
   ``floor_margin_db`` above the channel's quiet level (``floor_percentile`` of all levels), nor
   less than the background's, where that is known. Between two runs the limit changes half way.
3. Stretches at or above that level are sound. Sound that meets a VAD region is speech, and so is
   sound at most ``attach_ms`` from speech (a final stop, a first word that the VAD hardly takes);
   but sound before speech, if more than ``attach_before_db`` below its run, only
   within ``attach_before_ms`` (a soft first syllable, and not the breath before that).
4. A stretch of at least ``min_speech_share_from_ms`` of which the VAD takes less than
   ``min_speech_share`` as speech is not speech: hold music, ringback.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from inquesto_core.instruments.intervals import joined, runs
from inquesto_core.instruments.level import FLOOR_DB

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]
    Level = NDArray[np.float32]

__all__ = [
    "NOT_SPEECH",
    "SpeechParameters",
    "SpeechSegments",
    "find_speech",
    "vad_regions",
]

#: Why a stretch of sound is not the party speaking.
NOT_SPEECH = "not_speech"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechParameters:
    """The protocol's ``instruments.vad.parameters``; see the module for what each does."""

    threshold: float
    release_threshold: float
    region_join_ms: int
    attach_ms: int
    attach_before_ms: int
    attach_before_db: float
    edge_db: float
    level_window_ms: int
    floor_percentile: float
    floor_margin_db: float
    highpass_hz: float
    min_segment_ms: int
    min_speech_share: float
    min_speech_share_from_ms: int

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> SpeechParameters:
        """Return the parameters that a protocol states."""
        return cls(**parameters)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpeechSegments:
    """Sound of one channel.

    Parameters
    ----------
    intervals : int64 array of shape (n, 2), ms, sorted, disjoint
    rejected : tuple of (str or None), length n
        None = the party speaking, else why not.
    active_dbfs, floor_dbfs : float or None
        Median level of the speech, quiet level of the channel.
    """

    intervals: Int
    rejected: tuple[str | None, ...]
    active_dbfs: float | None
    floor_dbfs: float | None

    @property
    def accepted(self) -> Int:
        """The party's speech, int64 array of shape (m, 2), ms."""
        return self.intervals[[reason is None for reason in self.rejected]]

    def with_rejected(self, pieces: Mapping[str, Iterable[tuple[int, int]]]) -> SpeechSegments:
        """Return the same speech with more sound that is not, by its reason."""
        rows = list(zip(self.intervals.tolist(), self.rejected, strict=True))
        rows += [([a, b], reason) for reason, found in pieces.items() for a, b in found]
        rows.sort(key=lambda row: (row[0], row[1] or ""))
        return replace(
            self,
            intervals=np.array([row[0] for row in rows], np.int64).reshape(-1, 2),
            rejected=tuple(row[1] for row in rows),
        )

    def replaced(
        self, speech: Int, pieces: Mapping[str, Iterable[tuple[int, int]]], level: Level
    ) -> SpeechSegments:
        """Return other speech on the same channel, with what is not, by its reason."""
        heard = [level[start:end] for start, end in speech]
        return replace(
            self,
            intervals=speech.astype(np.int64),
            rejected=(None,) * len(speech),
            active_dbfs=float(np.median(np.concatenate(heard))) if heard else None,
        ).with_rejected(pieces)


def vad_regions(
    probability: NDArray[np.float32], frame_ms: int, span: int, limits: SpeechParameters
) -> Int:
    """Return what the VAD takes as speech, int64 array of shape (n, 2), ms, within `span`."""
    held = runs(probability >= limits.release_threshold)
    if len(held) == 0:
        return held
    # A trailing zero keeps reduceat's last pair in range; probabilities are never below it.
    peaks = np.maximum.reduceat(np.append(probability, 0), held.ravel())[::2]
    regions = np.minimum(held[peaks >= limits.threshold] * frame_ms, span)
    return np.asarray(regions[regions[:, 1] > regions[:, 0]])


def _run_level(level: Level, regions: Int, limits: SpeechParameters) -> Level:
    """Return the loudest level of the run of speech that each millisecond belongs to."""
    runs = joined(regions, limits.region_join_ms)
    loudest = np.array([level[a:b].max() for a, b in runs], dtype=np.float32)
    half_way = (runs[:-1, 1] + runs[1:, 0]) // 2
    bounds = np.concatenate([[0], half_way, [len(level)]])
    return np.repeat(loudest, np.diff(bounds))


def _reached(linked: Bool, is_speech: Bool) -> Bool:
    """Return which stretches are, or follow over unbroken links, speech."""
    first = np.flatnonzero(np.concatenate([[True], ~linked]))
    spoken = np.cumsum(is_speech)
    length = np.diff(np.append(first, len(spoken)))
    before: Int = np.repeat(spoken[first] - is_speech[first], length)
    return np.asarray(spoken > before)


def _attached(sound: Int, is_speech: Bool, is_quiet: Bool, limits: SpeechParameters) -> Bool:
    """Return which stretches are speech or stand near enough to it, step by step outwards."""
    gaps = sound[1:, 0] - sound[:-1, 1]
    near = gaps <= limits.attach_ms
    before = near & (~is_quiet[:-1] | (gaps <= limits.attach_before_ms))
    after = _reached(near, is_speech)
    return np.asarray(after | _reached(before[::-1], is_speech[::-1])[::-1])


def _none(floor: float | None) -> SpeechSegments:
    return SpeechSegments(
        intervals=np.zeros((0, 2), np.int64), rejected=(), active_dbfs=None, floor_dbfs=floor
    )


def find_speech(
    level: Level,
    probability: NDArray[np.float32],
    *,
    frame_ms: int,
    join_ms: int,
    parameters: SpeechParameters,
    background_db: float = FLOOR_DB,
) -> SpeechSegments:
    """Return the stretches of speech on one channel.

    Parameters
    ----------
    level : float32 array of shape (ms,), dB
        As `level_db` gives it.
    probability : float32 array of shape (frames,)
    frame_ms : int
    join_ms : int
        Stretches less than this apart are one (the protocol's ``ipu_gap_ms``).
    background_db : float
        Sound below this level is not the party's.
    """
    span = len(level)
    if span == 0:
        return _none(None)
    floor = float(np.percentile(level, parameters.floor_percentile))
    shown_floor = floor if floor > FLOOR_DB else None
    regions = vad_regions(probability, frame_ms, span, parameters)
    if len(regions) == 0:
        return _none(shown_floor)
    voiced = np.zeros(span, dtype=bool)
    for start, end in regions:
        voiced[start:end] = True
    voiced_before = np.concatenate([[0], np.cumsum(voiced)])
    lowest = max(floor + parameters.floor_margin_db, background_db)
    loudest = _run_level(level, regions, parameters)
    sound = runs(level >= np.maximum(loudest - parameters.edge_db, lowest))
    if len(sound) == 0:
        return _none(shown_floor)
    # A trailing floor keeps reduceat's last pair in range.
    peaks = np.maximum.reduceat(np.append(level, FLOOR_DB), sound.ravel())[::2]
    is_quiet = peaks < loudest[sound[:, 0]] - parameters.attach_before_db
    met = voiced_before[sound[:, 1]] > voiced_before[sound[:, 0]]
    speech = joined(sound[_attached(sound, met, is_quiet, parameters)], join_ms - 1)
    length = speech[:, 1] - speech[:, 0]
    speech, length = (
        speech[length >= parameters.min_segment_ms],
        length[length >= parameters.min_segment_ms],
    )
    share = (voiced_before[speech[:, 1]] - voiced_before[speech[:, 0]]) / np.maximum(length, 1)
    refused = (length >= parameters.min_speech_share_from_ms) & (
        share < parameters.min_speech_share
    )
    kept = [level[a:b] for (a, b), no in zip(speech, refused, strict=True) if not no]
    return SpeechSegments(
        intervals=speech.astype(np.int64),
        rejected=tuple(NOT_SPEECH if no else None for no in refused),
        active_dbfs=float(np.median(np.concatenate(kept))) if kept else None,
        floor_dbfs=shown_floor,
    )
