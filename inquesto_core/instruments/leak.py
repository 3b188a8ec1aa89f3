"""How much of one side sounds in the other's channel, and that channel without it.

Echo and crosstalk are linear and their source is at hand: one Wiener filter over the whole call,
from the cross-spectrum of both channels in windows of about a second, each weighted by the inverse
of the energy that it should explain (so that windows in which the party itself speaks count
little), cut to ``reach_ms`` of taps. It is used only where it proves itself twice: its impulse
response stands out of its own noise, and what it predicts, taken away, lowers the level while the
source sounds. What remains is the party, double talk included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import irfft, rfft
from scipy.signal import oaconvolve

from inquesto_core.instruments.resample import SAMPLES_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inquesto_core.instruments.arrays import Samples

    Real = NDArray[np.float64]

__all__ = ["Leak", "LeakLimits", "find_leaks"]

_TINY = 1e-12
#: Windows transformed at a time: bounds the memory.
_BATCH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakLimits:
    """The protocol's ``instruments.leak``.

    Parameters
    ----------
    window_samples, fine_window_samples : int
        Length of a window; half of it is the step. Fine: once the delay is known.
    reach_ms, fine_reach_ms, lead_ms : int
        Longest delay of an echo; how much of the response is kept around its strongest path, and
        how much of that before it.
    candidates : int
        Strongest paths that are tried.
    active_db : int
        A window counts in which the source is at most this far below its loudest window.
    min_prominence_db : int
        The strongest ``spread_ms`` of the impulse response against their median.
    spread_ms : int
    min_path_db : float
        Gain of the strongest path below which a leak cannot be heard, so that none is looked for.
    frame_ms : int
        Frames in which the level before and after is compared.
    min_removed_db : float
        Median fall of the level while the source sounds.
    """

    window_samples: int
    fine_window_samples: int
    reach_ms: int
    fine_reach_ms: int
    lead_ms: int
    candidates: int
    active_db: int
    min_prominence_db: float
    spread_ms: int
    min_path_db: float
    frame_ms: int
    min_removed_db: float

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> LeakLimits:
        """Return the limits that a protocol states."""
        return cls(**parameters)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Leak:
    """One side's sound in the other's channel.

    Parameters
    ----------
    delay_ms : int
        Of the strongest path.
    gain_db : float
        Energy of the whole impulse response.
    removed_db : float
        Median fall of the level while the source sounds.
    echo : float32 array of shape (n,)
        What was taken away.
    rest : float32 array of shape (n,)
        What remains.
    """

    delay_ms: int
    gain_db: float
    removed_db: float
    echo: Samples
    rest: Samples


def _windows(samples: Samples, size: int) -> NDArray[np.float32]:
    """Return half-overlapping windows of `samples`, zero-padded, shape (windows, size)."""
    step = size // 2
    count = -(-max(len(samples) - size, 0) // step) + 1
    padded = np.zeros((count - 1) * step + size, np.float32)
    padded[: len(samples)] = samples
    return np.lib.stride_tricks.sliding_window_view(padded, size)[::step]


def _response(into: Samples, source: Samples, size: int, taps: int, limits: LeakLimits) -> Real:
    """Return the impulse response from `source` to what it leaks into, shape (taps,).

    The windows in which the source sounds, each by the inverse of the energy that it should
    explain. A late path shares less of a window with its source: what the window takes is given
    back.
    """
    ours, theirs = _windows(into, size), _windows(source, size)
    power = np.einsum("ij,ij->i", theirs, theirs)
    active = np.flatnonzero(power > power.max(initial=0.0) * 10.0 ** (-limits.active_db / 10.0))
    shape = np.hanning(size).astype(np.float32)
    cross = np.zeros(size // 2 + 1, np.complex128)
    own = np.zeros(size // 2 + 1)
    for first in range(0, len(active), _BATCH):
        some = active[first : first + _BATCH]
        weight = 1.0 / (np.einsum("ij,ij->i", ours[some], ours[some]) / size + _TINY)
        sound, cause = rfft(ours[some] * shape), rfft(theirs[some] * shape)
        cross += weight @ (sound * np.conj(cause))
        own += weight @ (cause.real**2 + cause.imag**2)
    shared = irfft(np.abs(rfft(shape.astype(np.float64), 2 * size)) ** 2)[:taps]
    response = irfft(cross / (own + 1e-5 * own.mean() + _TINY))[:taps]
    return np.asarray(response * shared[0] / shared)


def _prominence_db(response: Real, limits: LeakLimits) -> float:
    """Return how far the strongest stretch of an impulse response stands above the usual one."""
    spread = limits.spread_ms * SAMPLES_PER_MS
    stretches = np.add.reduceat(response**2, np.arange(0, len(response), spread))
    return float(10.0 * np.log10((stretches.max() + _TINY**2) / (np.median(stretches) + _TINY**2)))


def _frame_power(samples: Samples, frame: int) -> Real:
    rows = samples[: len(samples) // frame * frame].reshape(-1, frame)
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64) / frame)


def _delayed(samples: Samples, by: int) -> Samples:
    return np.concatenate([np.zeros(by, np.float32), samples[: len(samples) - by]])


def _find_leak(into: Samples, source: Samples, limits: LeakLimits) -> Leak | None:
    if len(into) == 0 or not source.any() or not into.any():
        return None
    reach = limits.reach_ms * SAMPLES_PER_MS
    rough = _response(into, source, limits.window_samples, reach, limits)
    is_audible = np.abs(rough).max() >= 10.0 ** (limits.min_path_db / 20.0)
    if not is_audible or _prominence_db(rough, limits) < limits.min_prominence_db:
        return None
    found = [_fine_leak(into, source, delay, limits) for delay in _likely_delays(rough, limits)]
    best = max(found, key=lambda leak: leak.removed_db)
    return best if best.removed_db >= limits.min_removed_db else None


def _likely_delays(response: Real, limits: LeakLimits) -> list[int]:
    """Return where a response is strongest (samples), outside ``fine_reach_ms`` of a stronger."""
    strength = np.abs(response)
    reach = limits.fine_reach_ms * SAMPLES_PER_MS
    delays = []
    for _ in range(limits.candidates):
        delays.append(int(np.argmax(strength)))
        strength[max(0, delays[-1] - reach) : delays[-1] + reach] = 0.0
    return delays


def _fine_leak(into: Samples, source: Samples, strongest: int, limits: LeakLimits) -> Leak:
    """Return the leak by short windows and few taps, which a known delay allows."""
    delay = max(0, strongest - limits.lead_ms * SAMPLES_PER_MS)
    late = _delayed(source, min(delay, len(source)))
    taps = limits.fine_reach_ms * SAMPLES_PER_MS
    response = _response(into, late, limits.fine_window_samples, taps, limits)
    echo = oaconvolve(late, response.astype(np.float32))[: len(into)].astype(np.float32)
    rest = into - echo
    return Leak(
        delay_ms=round((delay + int(np.argmax(np.abs(response)))) / SAMPLES_PER_MS),
        gain_db=float(10.0 * np.log10(np.sum(response**2) + _TINY)),
        removed_db=_fall_db(into, rest, late, limits),
        echo=echo,
        rest=rest,
    )


def _fall_db(before: Samples, after: Samples, source: Samples, limits: LeakLimits) -> float:
    """Return the median fall of the level over the frames in which the source sounds."""
    frame = limits.frame_ms * SAMPLES_PER_MS
    power = _frame_power(source, frame)
    sounding = power > power.max(initial=0.0) * 10.0 ** (-limits.active_db / 10.0)
    if not sounding.any():
        return 0.0
    full, left = _frame_power(before, frame)[sounding], _frame_power(after, frame)[sounding]
    return float(np.median(10.0 * np.log10((full + _TINY) / (left + _TINY))))


def find_leaks(
    first: Samples, second: Samples, limits: LeakLimits
) -> tuple[Leak | None, Leak | None]:
    """Return the leak of the second side in the first's channel, and of the first in the second's.

    Parameters
    ----------
    first, second : float32 arrays of shape (n,), 16 kHz, one clock

    Returns
    -------
    tuple of (Leak or None)
        None where nothing leaks that could be told from chance.
    """
    return _find_leak(first, second, limits), _find_leak(second, first, limits)
