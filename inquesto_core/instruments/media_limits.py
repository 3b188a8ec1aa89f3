"""The limits of reading a recording: what is refused, repaired or only reported.

No number stands here: the protocol's `media` object holds them all.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MediaLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """Every number that decides what becomes of a recording before anyone listens to it.

    Parameters
    ----------
    max_duration_ms : int
        A recording this long or longer is refused.
    min_sample_rate_hz, max_sample_rate_hz : int
        Accepted native rates, both inclusive.
    largest_sample : float
        Samples beyond this in size are no sound on any scale (32-bit whole numbers end here).
    tolerated_missing_ms : int
        Sound that a file's header promises and the file lacks (or the other way round): more than
        this makes timing unmeasurable. A header wrong by its own 44 bytes loses nothing.
    clip_level : float
        Share of the codec's largest value at or above which a sample counts as clipped.
    clip_run : int
        Clipped samples in a row, at least, that are counted; a single peak is no clipping.
    full_scale_level : float
        Absolute value from which a constant run is full scale (G.711 ends at 0.9803 and 0.9844).
    full_scale_run_ms : int
        A constant full-scale run at least this long is no sound, and becomes silence.
    silent_dbfs : float
        A channel is silent where the RMS of every frame is below this.
    silent_frame_ms : int
        Length of those frames.
    identical_correlation : float
        Two channels can be one only where their normalised correlation, of either sign, is above
        this at some lag. (A copy late by a third of a sample has 0.966 in bright speech.)
    identical_residual_db : float
        What a fit of one channel to the other leaves, below which they are one.
    identical_lag : int
        Largest lag of that correlation, samples at 16 kHz, inclusive.
    identical_fit_lag : int
        Largest lag of the fit, samples at 16 kHz, inclusive; not below `identical_lag`. Wider, so
        that a copy late by part of a sample is fitted too.
    identical_level_db : float
        Level difference of the channels, above which it is crosstalk and not a copy.
    """

    max_duration_ms: int
    min_sample_rate_hz: int
    max_sample_rate_hz: int
    largest_sample: float
    tolerated_missing_ms: int
    clip_level: float
    clip_run: int
    full_scale_level: float
    full_scale_run_ms: int
    silent_dbfs: float
    silent_frame_ms: int
    identical_correlation: float
    identical_residual_db: float
    identical_lag: int
    identical_fit_lag: int
    identical_level_db: float
