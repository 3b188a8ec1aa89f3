"""Which milliseconds of a stretch of sound are a keypad digit, a tone or music, by its spectrum.

1. A *tone* is one or two partials that hold nearly all energy and change neither frequency nor
   level; a keypad digit is a pair of them from the keypad's rows and columns, alike in level.
2. *Music* keeps its partials where they are while speech moves them: the fine structure of
   successive spectra is alike over a second.

The VAD must agree: sound of which it takes ``max_vad_share`` or more stays speech, a pure digit
and a long tone apart: it lasts some frames after a word, and after speech takes even those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import fft

from inquesto_core.instruments.intervals import covered, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inquesto_core.instruments.arrays import Samples

    Int = NDArray[np.int64]
    Bool = NDArray[np.bool_]
    Real = NDArray[np.float32]

__all__ = ["NotSpeechLimits", "half_rate", "music_mask", "tone_masks"]

#: Spectra are of every other sample (8 kHz): tones and the partials that tell lie below 4 kHz.
_RATE_HZ = 8000
_TONE_WINDOW, _TONE_HOP = 512, 128
_MUSIC_WINDOW, _MUSIC_HOP = 1024, 512
_TONE_WINDOW_MS, _TONE_HOP_MS = 64, 16
_MUSIC_WINDOW_MS, _MUSIC_HOP_MS = 128, 64
_HANN = {
    size: np.hanning(size + 1)[:-1].astype(np.float32) for size in (_TONE_WINDOW, _MUSIC_WINDOW)
}
#: Bins on each side of a peak that a Hann window's main lobe fills.
_LOBE = 2
_NOTHING = 1e-15
_ROWS_HZ = (697.0, 770.0, 852.0, 941.0)
_COLUMNS_HZ = (1209.0, 1336.0, 1477.0, 1633.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSpeechLimits:
    """The protocol's ``instruments.not_speech``.

    Parameters
    ----------
    max_vad_share : float
        Sound of which the VAD takes this share or more is not called a tone or music.
    tone_from_hz : float
        Peaks below are no tones.
    tone_purity : float
        Least share of a frame's energy in its two strongest peaks.
    tone_drift_hz, tone_drift_db : float
        Most that the strongest peak's frequency and the frame's level change in 16 ms.
    min_tone_ms : int
        Shortest tone (the analysis window of 64 ms included).
    min_sure_tone_ms : int
        Shortest tone that is one whatever the VAD says.
    dtmf_purity, dtmf_twist_db, dtmf_tolerance : float
        A digit: least share of the energy in the pair, largest difference of the two levels,
        largest relative deviation of a frequency.
    min_dtmf_ms : int
        Shortest digit (the analysis window of 64 ms included).
    music_from_hz, music_to_hz : float
        The band whose partials are compared.
    music_envelope_hz : float
        Width of the mean that is taken from a spectrum to leave its fine structure.
    music_window_ms : int
        Length over which the likeness of successive spectra is averaged.
    music_stability : float
        Least mean likeness (a correlation) that is music.
    sure_music_window_ms, sure_music_stability, sure_max_vad_share
        The same for music so plain that the VAD may take more of it.
    min_region_ms, min_region_beside_music_ms : int
        Shortest VAD region that stays speech in a stretch that the VAD hardly takes.
    max_unvoiced_ms : int
        A longer stretch of which the VAD takes nothing is not speech, however near it stands.
    faint_probability : float
        Unless the VAD's probability reaches this somewhere in it.
    """

    max_vad_share: float
    tone_from_hz: float
    tone_purity: float
    tone_drift_hz: float
    tone_drift_db: float
    min_tone_ms: int
    min_sure_tone_ms: int
    dtmf_purity: float
    dtmf_twist_db: float
    dtmf_tolerance: float
    min_dtmf_ms: int
    music_from_hz: float
    music_to_hz: float
    music_envelope_hz: float
    music_window_ms: int
    music_stability: float
    sure_music_window_ms: int
    sure_music_stability: float
    sure_max_vad_share: float
    min_region_ms: int
    min_region_beside_music_ms: int
    max_unvoiced_ms: int
    faint_probability: float

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> NotSpeechLimits:
        """Return the limits that a protocol states."""
        return cls(**parameters)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Peaks:
    """The two strongest peaks of each frame: (frames, 2) Hz and share of energy; level in dB."""

    hz: Real
    share: Real
    level: Real


def half_rate(samples: Samples) -> Samples:
    """Return every two samples' mean; what folds back from above 4 kHz only hides a tone."""
    even = len(samples) // 2 * 2
    return np.asarray((samples[:even:2] + samples[1:even:2]) * np.float32(0.5))


def _spectra(sound: Samples, window: int, hop: int) -> NDArray[np.complex64]:
    """Return the spectra of a Hann window every `hop`; shorter sound has none."""
    if len(sound) < window:
        return np.zeros((0, window // 2 + 1), np.complex64)
    frames = np.lib.stride_tricks.sliding_window_view(sound, window)[::hop]
    return np.asarray(fft.rfft(frames * _HANN[window], axis=1))


def _peaks(sound: Samples, from_hz: float) -> _Peaks:
    spectra = _spectra(sound, _TONE_WINDOW, _TONE_HOP)
    energy = spectra.real**2 + spectra.imag**2
    total = energy[:, _LOBE + 1 :].sum(axis=1) + _NOTHING
    left = energy.copy()
    left[:, : int(from_hz * _TONE_WINDOW / _RATE_HZ)] = 0
    rows = np.arange(len(energy))[:, None]
    places, shares = [], []
    for _ in range(2):
        top = np.clip(left.argmax(axis=1), _LOBE, left.shape[1] - _LOBE - 1)
        lobe = top[:, None] + np.arange(-_LOBE, _LOBE + 1)
        shares.append(left[rows, lobe].sum(axis=1) / total)
        # A Hann window's logarithmic main lobe is near a parabola through three bins.
        low, mid, high = np.log(energy[rows, lobe[:, 1:4]] + _NOTHING).T
        bend = np.minimum(low - 2 * mid + high, -_NOTHING)
        places.append(top + np.clip(0.5 * (low - high) / bend, -0.5, 0.5))
        left[rows, lobe] = 0
    return _Peaks(
        hz=(np.stack(places, axis=1) * (_RATE_HZ / _TONE_WINDOW)).astype(np.float32),
        share=np.stack(shares, axis=1).astype(np.float32),
        level=np.asarray(10 * np.log10(total), np.float32),
    )


def _is_tone(peaks: _Peaks, limits: NotSpeechLimits) -> Bool:
    """Return which frames go on the tone of the frame before."""
    goes_on = np.zeros(len(peaks.level), dtype=bool)
    # Of two equal partials now the one, now the other is the stronger.
    drift = np.abs(peaks.hz[1:, :1] - peaks.hz[:-1]).min(axis=1)
    goes_on[1:] = (
        (peaks.share[1:].sum(axis=1) >= limits.tone_purity)
        & (drift <= limits.tone_drift_hz)
        & (np.abs(np.diff(peaks.level)) <= limits.tone_drift_db)
    )
    return goes_on


def _is_dtmf(peaks: _Peaks, limits: NotSpeechLimits) -> Bool:
    def near(hz: Real, keys: tuple[float, ...]) -> Bool:
        grid = np.array(keys, np.float32)
        return np.asarray((np.abs(hz[:, None] / grid - 1) <= limits.dtmf_tolerance).any(axis=1))

    pair = peaks.share.sum(axis=1) >= limits.dtmf_purity
    twist = 10 * np.log10((peaks.share[:, 0] + _NOTHING) / (peaks.share[:, 1] + _NOTHING))
    low, high = peaks.hz.min(axis=1), peaks.hz.max(axis=1)
    alike = np.abs(twist) <= limits.dtmf_twist_db
    return np.asarray(pair & alike & near(low, _ROWS_HZ) & near(high, _COLUMNS_HZ))


def tone_masks(sound: Samples, voiced: Bool, limits: NotSpeechLimits) -> tuple[Bool, Bool]:
    """Return which milliseconds of a stretch are a digit, and which another tone."""
    peaks = _peaks(sound, limits.tone_from_hz)
    dtmf, tone = np.zeros(len(voiced), dtype=bool), np.zeros(len(voiced), dtype=bool)
    # A frame that goes on a tone has the frame before it in the tone too.
    digit = _is_dtmf(peaks, limits)
    pure = digit & (peaks.share.sum(axis=1) >= limits.tone_purity)
    for mask, intervals, least_ms, most in (
        (tone, runs(_is_tone(peaks, limits)) - [1, 0], limits.min_tone_ms, limits.max_vad_share),
        (dtmf, runs(digit), limits.min_dtmf_ms, limits.max_vad_share),
        # Speech never is a pure digit, and the VAD lasts some frames after a word.
        (dtmf, runs(pure), limits.min_dtmf_ms, np.inf),
    ):
        for first, last in intervals:
            start, end = first * _TONE_HOP_MS, (last - 1) * _TONE_HOP_MS + _TONE_WINDOW_MS
            sure = end - start >= limits.min_sure_tone_ms or voiced[start:end].mean() < most
            if end - start >= least_ms and sure:
                mask[start:end] = True
    return dtmf, tone & ~dtmf


def _likeness(sound: Samples, limits: NotSpeechLimits) -> Real:
    """Return how alike the fine structures of successive spectra are, a correlation a hop."""
    bins = [
        int(hz * _MUSIC_WINDOW / _RATE_HZ)
        for hz in (limits.music_from_hz, limits.music_to_hz, limits.music_envelope_hz)
    ]
    spectra = _spectra(sound, _MUSIC_WINDOW, _MUSIC_HOP)[:, bins[0] : bins[1]]
    size = np.sqrt(np.abs(spectra))
    half = max(bins[2] // 2, 1)
    total = np.cumsum(np.pad(size, ((0, 0), (half + 1, half))), axis=1, dtype=np.float32)
    width = 2 * half + 1
    fine = size - (total[:, width:] - total[:, :-width]) / np.float32(width)
    fine /= np.sqrt((fine * fine).sum(axis=1, keepdims=True)) + np.float32(_NOTHING)
    return np.asarray((fine[1:] * fine[:-1]).sum(axis=1))


def music_mask(sound: Samples, voiced: Bool, limits: NotSpeechLimits) -> Bool:
    """Return which milliseconds of a stretch are music."""
    music = np.zeros(len(voiced), dtype=bool)
    likeness = _likeness(sound, limits)
    mean = np.concatenate([[0.0], np.cumsum(likeness)])
    taken = np.concatenate([[0], np.cumsum(voiced)])
    for window_ms, least, most in (
        (limits.music_window_ms, limits.music_stability, limits.max_vad_share),
        (limits.sure_music_window_ms, limits.sure_music_stability, limits.sure_max_vad_share),
    ):
        hops = (window_ms - _MUSIC_WINDOW_MS) // _MUSIC_HOP_MS
        stable = (mean[hops:] - mean[:-hops]) / hops >= least
        starts = np.flatnonzero(stable) * _MUSIC_HOP_MS
        share = (taken[starts + window_ms] - taken[starts]) / window_ms
        starts = starts[share < most]
        music |= covered(np.column_stack([starts, starts + window_ms]), len(voiced))
    for start, end in runs(voiced):
        if not music[start:end].any():
            continue
        # What the VAD takes stays speech unless its own spectra, half a window at least, stand
        # still.
        wider = max(limits.music_window_ms // 2 - (end - start), 0) // 2
        first = max(start - wider - _MUSIC_HOP_MS, 0) // _MUSIC_HOP_MS
        own = likeness[first : -(-(end + wider) // _MUSIC_HOP_MS)]
        music[start:end] = own.size > 0 and own.mean() >= limits.music_stability
    return _grown(music, voiced, limits.music_window_ms // 2)


def _grown(mask: Bool, voiced: Bool, reach: int) -> Bool:
    """Return the mask with the unvoiced sound beside it, at most `reach` on each side."""
    free = runs(mask | ~voiced)
    out = np.zeros(len(mask), dtype=bool)
    for start, end in free:
        held = np.flatnonzero(mask[start:end]) + start
        if held.size:
            out[max(start, held[0] - reach) : min(end, held[-1] + 1 + reach)] = True
    return out & (mask | ~voiced)
