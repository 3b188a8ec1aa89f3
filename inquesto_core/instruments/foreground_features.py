"""What tells the near, dominant voice of a channel from what sounds behind it, frame by frame.

Every feature is relative to this call: while the other side speaks, a channel is a free sample of
its own background; where it rises well above that sample and the VAD agrees, it is surely the
party. Both together train, inside every call, a linear discriminant over the spectrum (Fisher's,
with its diagonal strengthened), in a short and a long window. What the features say is then the
same in every call, and one small network (`foreground_network`) reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import rfft
from scipy.ndimage import uniform_filter1d

from inquesto_core.instruments.resample import SAMPLE_RATE_HZ, SAMPLES_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inquesto_core.instruments.arrays import Samples

    Bool = NDArray[np.bool_]
    Int = NDArray[np.int64]
    Real = NDArray[np.float64]

__all__ = ["FeatureParameters", "Frames", "Traits", "measure_frames", "relative_traits"]

_TINY = 1e-9
#: Frames transformed at a time: what fits the processor's cache.
_BLOCK = 512
#: A logit beyond this says no more.
_SURE = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureParameters:
    """The protocol's ``instruments.foreground.features``.

    Parameters
    ----------
    hop_ms, window_ms, bands, low_hz, high_hz
        Of the spectrum: mel bands over a Hann window.
    short_frames, long_frames : int
        Frames over which level and spectrum are averaged.
    offsets_ms : tuple of int
        Where around a frame its level, discriminant and (every second one) VAD are read.
    lag_ms : int
        The other side's sound is taken to last this much longer.
    loud_margin_db : float
        Sound of the sample this near to the channel's loud level is left out of it.
    core_percentile, settled_percentile, core_margin_db : float
        Surely the party: this far above that percentile of the sample (at first, and once the
        party's own sound in the sample is known).
    guard_ms : int
        What lies this near to the party's sound is no sample of the background.
    ridge : float
        Share of its diagonal added to the covariance.
    """

    hop_ms: int
    window_ms: int
    fft_samples: int
    bands: int
    low_hz: float
    high_hz: float
    short_frames: int
    long_frames: int
    offsets_ms: tuple[int, ...]
    lag_ms: int
    loud_margin_db: float
    core_percentile: float
    settled_percentile: float
    core_margin_db: float
    core_vad_logit: float
    guard_ms: int
    ridge: float
    min_sample_ms: int
    min_core_ms: int

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> FeatureParameters:
        """Return the parameters that a protocol states."""
        rest = {key: value for key, value in parameters.items() if key != "offsets_ms"}
        return cls(**rest, offsets_ms=tuple(parameters["offsets_ms"]))

    @property
    def core_vad_probability(self) -> float:
        """Return the VAD's probability whose logit is ``core_vad_logit``."""
        return float(1.0 / (1.0 + np.exp(-self.core_vad_logit)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frames:
    """A channel in frames of ``hop_ms``.

    Parameters
    ----------
    short_bands, long_bands : float64 arrays of shape (frames, bands), dB
        The spectrum, averaged over ``short_frames`` and ``long_frames``.
    level : float64 array of shape (frames,), dB, smoothed over ``short_frames``
    logit : float64 array of shape (frames,)
        Of the VAD's probability.
    sample : bool array of shape (frames,)
        Where the background sounds alone, but for the party's barge-ins.
    """

    short_bands: Real
    long_bands: Real
    level: Real
    logit: Real
    sample: Bool

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.level)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traits:
    """The features of a channel, and where it is surely the party.

    Parameters
    ----------
    columns : tuple of float64 arrays of shape (frames,)
        ``level, short, vad`` are read around a frame, the others at it.
    core : bool array of shape (frames,)
    separation : float
        Distance of party and background along the long discriminant, in their standard deviations.
    """

    level: Real
    short: Real
    vad: Real
    here: tuple[Real, ...]
    core: Bool
    separation: float

    def rows(self, first: int, last: int, parameters: FeatureParameters) -> Real:
        """Return the features of frames ``first`` to ``last``, shape (last - first, features)."""
        frames = len(self.level)
        offsets = np.array(parameters.offsets_ms) // parameters.hop_ms
        around = np.clip(np.arange(first, last)[:, None] + offsets, 0, frames - 1)
        return np.concatenate(
            [
                self.level[around],
                self.short[around],
                self.vad[around[:, ::2]],
                *(column[first:last, None] for column in self.here),
            ],
            axis=1,
        )


def _mel_bands(parameters: FeatureParameters) -> Real:
    """Return triangular mel bands, shape (bands, bins), each of sum one."""

    def mel(hz: float) -> float:
        return float(2595.0 * np.log10(1.0 + hz / 700.0))

    marks = np.linspace(mel(parameters.low_hz), mel(parameters.high_hz), parameters.bands + 2)
    edges = 700.0 * (10.0 ** (marks / 2595.0) - 1.0)
    bins = np.fft.rfftfreq(parameters.fft_samples, 1.0 / SAMPLE_RATE_HZ)
    left, middle, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    bank = np.clip(
        np.minimum((bins - left) / (middle - left), (right - bins) / (right - middle)), 0, None
    )
    return np.asarray(bank / bank.sum(axis=1, keepdims=True))


def _frame_mask(
    intervals: Int, frames: int, hop_ms: int, *, before: int = 0, after: int = 0
) -> Bool:
    """Return the frames that lie in `intervals` (ms), widened by `before` and `after` ms."""
    marks = np.zeros(frames + 1, dtype=np.int64)
    starts = np.clip((intervals[:, 0] - before) // hop_ms, 0, frames)
    ends = np.clip((intervals[:, 1] + after) // hop_ms, 0, frames)
    np.add.at(marks, starts, 1)
    np.add.at(marks, np.maximum(ends, starts), -1)
    return np.asarray(np.cumsum(marks[:-1]) > 0)


def measure_frames(
    samples: Samples,
    probability: NDArray[np.float32],
    other_ms: Int,
    *,
    frame_ms: int,
    parameters: FeatureParameters,
) -> Frames:
    """Return a channel's spectrum, level and VAD in frames of ``hop_ms``.

    Parameters
    ----------
    samples : float32 array of shape (n,), 16 kHz
    probability : float32 array, one of each `frame_ms`
    other_ms : int64 array of shape (m, 2), ms
        Where the other side speaks. Less than ``min_sample_ms`` of it is no sample: then the
        channel's own quietest 30 % serve.
    """
    hop = parameters.hop_ms * SAMPLES_PER_MS
    window = parameters.window_ms * SAMPLES_PER_MS
    frames = len(samples) // hop
    padded = np.zeros(frames * hop + window, np.float32)
    middle = samples[: frames * hop + window // 2]
    padded[window // 2 : window // 2 + len(middle)] = middle
    pieces = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop][:frames]
    shape = np.hanning(window).astype(np.float32)
    bank = _mel_bands(parameters).T.astype(np.float32)
    bands = np.zeros((frames, parameters.bands), np.float32)
    level = np.zeros(frames)
    for first in range(0, frames, _BLOCK):
        part = slice(first, first + _BLOCK)
        spectrum = rfft(pieces[part] * shape, parameters.fft_samples)
        power = spectrum.real**2 + spectrum.imag**2
        bands[part] = 10.0 * np.log10(power @ bank + _TINY)
        level[part] = 10.0 * np.log10(power[:, 2:240].mean(axis=1) + _TINY)
    at = np.minimum(np.arange(frames) * parameters.hop_ms // frame_ms, len(probability) - 1)
    sure = np.clip(probability.astype(np.float64), 1.0 - _SURE, _SURE)
    sample = _frame_mask(other_ms, frames, parameters.hop_ms, after=parameters.lag_ms)
    if np.count_nonzero(sample) * parameters.hop_ms < parameters.min_sample_ms:
        sample = level < np.percentile(level, 30) if frames else sample
    spectrum_db = bands.astype(np.float64)
    return Frames(
        short_bands=uniform_filter1d(spectrum_db, parameters.short_frames, axis=0),
        long_bands=uniform_filter1d(spectrum_db, parameters.long_frames, axis=0),
        level=uniform_filter1d(level, parameters.short_frames),
        logit=np.log(sure / (1.0 - sure))[at],
        sample=sample,
    )


def _discriminant(smooth: Real, party: Bool, rest: Bool, ridge: float) -> Real:
    """Return Fisher's discriminant of `party` against `rest` over averaged bands."""
    one, zero = smooth[party], smooth[rest]
    spread = 0.5 * (np.cov(zero.T) + np.cov(one.T))
    spread = spread + ridge * np.diag(np.diag(spread)) + 1e-2 * np.eye(len(spread))
    high, low = one.mean(axis=0), zero.mean(axis=0)
    weights = np.linalg.solve(spread, high - low)
    return np.asarray(smooth @ weights - weights @ (high + low) / 2.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Examples:
    """Frames that are surely the party, and frames that are surely not."""

    party: Bool
    rest: Bool
    core: Bool


def _first_examples(frames: Frames, parameters: FeatureParameters) -> _Examples | None:
    outside = frames.level[~frames.sample]
    loud = np.percentile(outside if len(outside) > 50 else frames.level, 95)
    rest = frames.sample & (frames.level < loud - parameters.loud_margin_db)
    if np.count_nonzero(rest) < 100:
        rest = frames.sample
    gate = np.percentile(frames.level[rest], parameters.core_percentile) + parameters.core_margin_db
    core = (frames.level > gate) & (frames.logit > parameters.core_vad_logit)
    return _examples(core & ~frames.sample, rest & ~core, core, parameters)


def _settled_examples(
    frames: Frames, known_ms: Int, parameters: FeatureParameters
) -> _Examples | None:
    hop, guard = parameters.hop_ms, parameters.guard_ms
    rest = frames.sample & ~_frame_mask(known_ms, len(frames), hop, before=guard, after=guard)
    if np.count_nonzero(rest) < 100:
        rest = frames.sample
    gate = (
        np.percentile(frames.level[rest], parameters.settled_percentile) + parameters.core_margin_db
    )
    core = (frames.level > gate) & (frames.logit > parameters.core_vad_logit)
    return _examples(_frame_mask(known_ms, len(frames), hop), rest, core, parameters)


def _examples(
    party: Bool, rest: Bool, core: Bool, parameters: FeatureParameters
) -> _Examples | None:
    enough = parameters.min_core_ms // parameters.hop_ms
    if min(np.count_nonzero(mask) for mask in (party, rest, core)) < enough:
        return None
    return _Examples(party=party, rest=rest, core=core)


def relative_traits(
    frames: Frames, known_ms: Int | None, *, parameters: FeatureParameters
) -> Traits | None:
    """Return the features of a channel, or None where nothing stands out of its background.

    Parameters
    ----------
    frames : Frames
    known_ms : int64 array of shape (n, 2), ms, or None
        The party's speech as far as it is known; None = not yet.
    """
    if known_ms is None:
        found = _first_examples(frames, parameters)
    else:
        found = _settled_examples(frames, known_ms, parameters)
    if found is None:
        return None
    short, long = (
        _discriminant(bands, found.party, found.rest, parameters.ridge)
        for bands in (frames.short_bands, frames.long_bands)
    )
    rest, level, logit = found.rest, frames.level, frames.logit
    wide_level = uniform_filter1d(level, parameters.long_frames)

    def spread(values: Real) -> Real:
        middle, high = np.percentile(values[rest], (50, 90))
        return np.asarray(np.clip((values - middle) / (high - middle + 1.0), -5.0, 5.0))

    middle, high = np.percentile(logit[rest], (50, 90))
    party, others = long[found.party], long[rest]
    deviation = np.sqrt(0.5 * (party.var() + others.var()) + _TINY)
    return Traits(
        level=np.clip((level - np.percentile(level[rest], 95)) / 5.0, -4.0, 4.0),
        short=np.clip(short, -15.0, 15.0) / 5.0,
        vad=np.clip((logit - high) / 3.0, -3.0, 3.0),
        here=(
            np.clip((logit - middle) / 3.0, -3.0, 3.0),
            logit / 3.0,
            spread(level),
            spread(wide_level),
            spread(short),
            spread(long),
            np.clip(long, -15.0, 15.0) / 5.0,
            uniform_filter1d(logit, 31) / 3.0,
        ),
        core=found.core,
        separation=float((party.mean() - others.mean()) / deviation),
    )
