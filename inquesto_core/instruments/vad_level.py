"""How loud a channel's sound is, and what gain brings quiet speech to a level the VAD knows.

The VAD loses speech below about -55 dBFS. A channel whose loud sound is at least ``normal_dbfs``
is heard as it is, bit for bit; a quieter one is raised to ``target_dbfs`` for the VAD alone, edges
being relative already. Where nothing stands above the quiet, the quiet itself is raised. A channel
is too quiet to say who spoke when below ``low_level_dbfs``, and where the VAD takes speech of which
the level shows less than ``min_found_share``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inquesto_core.instruments.level import FLOOR_DB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Int = NDArray[np.int64]

__all__ = ["LOW_LEVEL", "VadGain", "VadLevelLimits", "low_level", "vad_gain"]

#: The channel's sound is too quiet to be measured.
LOW_LEVEL = "low_level"


@dataclass(frozen=True, slots=True, kw_only=True)
class VadLevelLimits:
    """The protocol's ``instruments.vad_level``.

    Parameters
    ----------
    loud_percentile : float
        Which level of the sound above the channel's quiet is its loud level.
    min_sound_ms : int
        Less sound than this says nothing about the level of speech; less speech than this is not
        missed.
    normal_dbfs : float
        Loud level from which the gain is 1, inclusive.
    target_dbfs : float
        Loud level after the gain, else.
    low_level_dbfs : float
        Loud level below which the channel is too quiet.
    min_found_share : float
        Share of what the VAD takes that must be found, else the channel is too quiet.
    """

    loud_percentile: float
    min_sound_ms: int
    normal_dbfs: float
    target_dbfs: float
    low_level_dbfs: float
    min_found_share: float

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> VadLevelLimits:
        """Return the limits that a protocol states."""
        return cls(**parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class VadGain:
    """What is done to a channel before the VAD.

    Parameters
    ----------
    loud_dbfs : float or None
        None where too little stands above the quiet.
    gain : float
        Factor of the samples, at least 1.
    """

    loud_dbfs: float | None
    gain: float


def vad_gain(
    level: NDArray[np.float32],
    *,
    floor_percentile: float,
    floor_margin_db: float,
    limits: VadLevelLimits,
) -> VadGain:
    """Return a channel's loud level and the gain that the VAD needs.

    Parameters
    ----------
    level : float32 array of shape (ms,), dB
        As `level_db` gives it.
    floor_percentile, floor_margin_db
        The protocol's ``instruments.vad.parameters``: sound stands above this quiet.
    """
    if len(level) == 0:
        return VadGain(loud_dbfs=None, gain=1.0)
    quiet = float(np.percentile(level, floor_percentile)) + floor_margin_db
    sound = level[level > quiet]
    heard = len(sound) >= limits.min_sound_ms
    loud = float(np.percentile(sound if heard else level, limits.loud_percentile))
    is_normal = loud >= limits.normal_dbfs or loud <= FLOOR_DB
    lifted = 10.0 ** ((limits.target_dbfs - loud) / 20.0)
    return VadGain(loud_dbfs=loud if heard else None, gain=1.0 if is_normal else max(lifted, 1.0))


def low_level(lift: VadGain, regions: Int, speech: Int, limits: VadLevelLimits) -> bool:
    """Return whether a channel is too quiet to be measured.

    Parameters
    ----------
    lift : VadGain
    regions : int64 array of shape (m, 2), ms
        What the VAD takes as speech after the gain.
    speech : int64 array of shape (n, 2), ms, sorted, disjoint
        What was found to be speech.
    """
    taken = int((regions[:, 1] - regions[:, 0]).sum())
    if lift.gain <= 1.0 or taken < limits.min_sound_ms:
        return False
    if lift.loud_dbfs is not None and lift.loud_dbfs < limits.low_level_dbfs:
        return True
    overlap = np.minimum(regions[:, None, 1], speech[None, :, 1]) - np.maximum(
        regions[:, None, 0], speech[None, :, 0]
    )
    return bool(np.maximum(overlap, 0).sum() < limits.min_found_share * taken)
