"""What sounds but is not the party speaking: keypad digits, call tones, music, other long sound.

Stretches that the speech detector took are cut:

1. at what their spectrum shows to be a tone or music (`partials`);
2. where the VAD takes less than ``min_speech_share`` of what is left, tones apart, of at least
   ``min_speech_share_from_ms``: there only its regions of at least ``min_region_ms``
   (``min_region_beside_music_ms`` where the stretch holds music) stay speech, with the sound at
   most ``attach_before_ms`` before and ``attach_ms`` after them;
3. where the VAD takes nothing of more than ``max_unvoiced_ms``, and hardly thinks of it: a first
   word on a telephone line may stay under its threshold.

A piece beside one that is not speech goes with it where the VAD takes nothing of it, or where it is
shorter than the spectra can tell: the rise and the fall of a tone. So do sounds between two of
music, together shorter than ``min_region_beside_music_ms`` and none farther than ``attach_ms`` from
the next.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.instruments.intervals import covered, runs
from inquesto_core.instruments.partials import (
    NotSpeechLimits,
    half_rate,
    music_mask,
    tone_masks,
)
from inquesto_core.instruments.resample import SAMPLES_PER_MS
from inquesto_core.instruments.speech import NOT_SPEECH, vad_regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.speech import SpeechParameters, SpeechSegments

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]

__all__ = ["DTMF", "MUSIC", "TONE", "Pieces", "separate", "without_not_speech"]

#: Why a piece of sound is not the party speaking.
DTMF, TONE, MUSIC = "dtmf", "tone", "music"
_NOWHERE = np.zeros((0, 2), np.int64)
_KINDS = (None, DTMF, TONE, MUSIC, NOT_SPEECH)
_SPEECH, _DTMF, _TONE, _MUSIC, _OTHER = range(5)
#: Spectra do not tell an edge finer than this.
_SLIVER_MS = 32


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pieces:
    """Stretches of sound, cut where they change from speech to something else.

    Parameters
    ----------
    intervals : int64 array of shape (n, 2), ms, sorted, disjoint
    rejected : tuple of (str or None), length n
        None = the party speaking, else ``dtmf``, ``tone``, ``music`` or ``not_speech``.
    """

    intervals: Int
    rejected: tuple[str | None, ...]


def _spectral_kinds(sound: Samples, voiced: Bool, limits: NotSpeechLimits) -> NDArray[np.int8]:
    """Return what the spectrum shows a stretch to be, one code a millisecond."""
    kinds = np.zeros(len(voiced), np.int8)
    halved = half_rate(sound)
    dtmf, tone = tone_masks(halved, voiced, limits)
    # Less unvoiced sound than this cannot be music.
    if (~voiced).sum() >= limits.sure_music_window_ms * (1 - limits.sure_max_vad_share):
        kinds[music_mask(halved, voiced, limits)] = _MUSIC
    for start, end in runs(tone):
        # A note held within music is music.
        ends = kinds[max(start - 1, 0)], kinds[min(end, len(kinds) - 1)]
        kinds[start:end] = _MUSIC if ends == (_MUSIC, _MUSIC) and start else _TONE
    for start, end in runs(kinds == _MUSIC):
        # What is left of a long tone, which stands as still as music, is that tone.
        beside = (*kinds[max(start - 1, 0) : start], *kinds[end : end + 1])
        if _TONE in beside and end - start < limits.sure_music_window_ms:
            kinds[start:end] = _TONE
    kinds[dtmf] = _DTMF
    return kinds


def _keep_regions_only(
    kinds: NDArray[np.int8],
    voiced: Bool,
    parameters: SpeechParameters,
    limits: NotSpeechLimits,
) -> None:
    """Leave only the VAD's long regions as speech in a stretch that the VAD hardly takes."""
    has_music = bool((kinds == _MUSIC).any())
    least = limits.min_region_beside_music_ms if has_music else limits.min_region_ms
    kept = np.zeros(len(kinds), dtype=bool)
    for start, end in runs(voiced & (kinds == _SPEECH)):
        if end - start >= least:
            kept[max(start - parameters.attach_before_ms, 0) : end + parameters.attach_ms] = True
    kinds[(kinds == _SPEECH) & ~kept] = _MUSIC if has_music else _OTHER


def _take_slivers(kinds: NDArray[np.int8], voiced: Bool) -> None:
    """Give speech that is unvoiced or a sliver, beside something else, that thing's kind."""
    for start, end in runs(kinds == _SPEECH):
        is_said = end - start >= _SLIVER_MS and voiced[start:end].any()
        if is_said or end - start == len(kinds):
            continue
        kinds[start:end] = kinds[start - 1] if start else kinds[end]


def _take_between_music(
    pieces: list[tuple[int, int]], kinds: list[int], attach_ms: int, limits: NotSpeechLimits
) -> None:
    """Give short sounds between two of music that kind."""
    for first, last in runs(np.array(kinds) == _SPEECH):
        if first == 0 or last == len(kinds):
            continue
        around = pieces[first - 1 : last + 1]
        near = all(right[0] - left[1] <= attach_ms for left, right in itertools.pairwise(around))
        short = sum(end - start for start, end in around[1:-1]) < limits.min_region_beside_music_ms
        if near and short and kinds[first - 1] == _MUSIC == kinds[last]:
            kinds[first:last] = [_MUSIC] * int(last - first)


def _trimmed(
    pieces: Pieces, level: NDArray[np.float32], floor: float | None, parameters: SpeechParameters
) -> Int:
    """Return the speech among the pieces, without the silence that a cut leaves at an edge."""
    lowest = -np.inf if floor is None else floor + parameters.floor_margin_db
    cuts = {
        time
        for bounds, kind in zip(pieces.intervals.tolist(), pieces.rejected, strict=True)
        if kind is not None
        for time in bounds
    }
    left: list[tuple[int, int]] = []
    for (start, end), kind in zip(pieces.intervals.tolist(), pieces.rejected, strict=True):
        if kind is not None:
            continue
        within = level[start:end]
        sound = np.flatnonzero(within >= max(within.max() - parameters.edge_db, lowest))
        if sound.size:
            left.append(
                (
                    start + int(sound[0]) if start in cuts else start,
                    start + int(sound[-1]) + 1 if end in cuts else end,
                )
            )
    return np.array(left, dtype=np.int64).reshape(-1, 2)


def without_not_speech(
    speech: SpeechSegments,
    samples: Samples,
    level: NDArray[np.float32],
    probability: NDArray[np.float32],
    *,
    frame_ms: int,
    parameters: SpeechParameters,
    limits: NotSpeechLimits,
) -> SpeechSegments:
    """Return a channel's speech with what is not speech rejected by its kind.

    Parameters
    ----------
    speech : SpeechSegments
        As `find_speech` gives it; stretches that it rejects are judged anew.
    samples : float32 array of shape (n,), 16 kHz
    level : float32 array of shape (ms,), dB
    probability : float32 array of shape (frames,)
    """
    regions = vad_regions(probability, frame_ms, len(level), parameters)
    faint = np.minimum(runs(probability >= limits.faint_probability) * frame_ms, len(level))
    pieces = separate(
        samples, speech.intervals, regions, faint=faint, parameters=parameters, limits=limits
    )
    found: dict[str, list[tuple[int, int]]] = {}
    for (start, end), kind in zip(pieces.intervals.tolist(), pieces.rejected, strict=True):
        if kind is not None:
            found.setdefault(kind, []).append((start, end))
    party = _trimmed(pieces, level, speech.floor_dbfs, parameters)
    lasting = party[:, 1] - party[:, 0] >= parameters.min_segment_ms
    return speech.replaced(party[lasting], found, level)


def separate(
    samples: Samples,
    stretches: Int,
    regions: Int,
    *,
    faint: Int = _NOWHERE,
    parameters: SpeechParameters,
    limits: NotSpeechLimits,
) -> Pieces:
    """Return stretches of sound cut into speech and what is not speech.

    Parameters
    ----------
    samples : float32 array of shape (n,), 16 kHz
    stretches : int64 array of shape (k, 2), ms, sorted, disjoint
        Sound that the speech detector took.
    regions : int64 array of shape (m, 2), ms
        What the VAD takes as speech.
    faint : int64 array of shape (k, 2), ms
        Where its probability is at least ``faint_probability``.
    """
    span = int(stretches.max()) if len(stretches) else 0
    voiced, thought_of = covered(regions, span), covered(faint, span)
    pieces: list[tuple[int, int]] = []
    codes: list[int] = []
    for start, end in stretches.tolist():
        taken = voiced[start:end]
        sound = samples[start * SAMPLES_PER_MS : end * SAMPLES_PER_MS]
        kinds = _spectral_kinds(sound, taken, limits)
        rest = taken[(kinds == _SPEECH) | (kinds == _MUSIC)]
        hardly = len(rest) >= parameters.min_speech_share_from_ms
        hardly = hardly and rest.mean() < parameters.min_speech_share
        unheard = len(rest) > limits.max_unvoiced_ms and not rest.any()
        if hardly or (unheard and not thought_of[start:end].any()):
            _keep_regions_only(kinds, taken, parameters, limits)
        if kinds.any():
            _take_slivers(kinds, taken)
        bounds = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), end - start]
        for low, high in itertools.pairwise(bounds):
            pieces.append((start + low, start + high))
            codes.append(int(kinds[low]))
    _take_between_music(pieces, codes, parameters.attach_ms, limits)
    return Pieces(
        intervals=np.array(pieces, dtype=np.int64).reshape(-1, 2),
        rejected=tuple(_KINDS[code] for code in codes),
    )
