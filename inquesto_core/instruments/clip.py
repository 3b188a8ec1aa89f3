"""A stretch of a call as a small sound file that browsers play: Ogg Opus, caller left, agent right.

For people to listen to; nothing is ever measured on it.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.instruments.resample import SAMPLES_PER_MS

if TYPE_CHECKING:
    from inquesto_core.instruments.audio import Recording

__all__ = ["encode_clip"]

_RATE_HZ = 1000 * SAMPLES_PER_MS
#: libsndfile's scale of Opus bit rates; about 32 kbit/s in two channels, plain for speech.
_COMPRESSION = 0.95


def encode_clip(recording: Recording, start_ms: int, end_ms: int) -> bytes:
    """Return ``[start_ms, end_ms)`` of a call's clock as Ogg Opus; what lies outside is silence.

    Raises
    ------
    ValueError
        The recording has no sides, or the stretch no length.
    """
    import soundfile  # late: whoever reports without sound needs no codec

    if recording.caller is None or recording.agent is None or end_ms <= start_ms:
        raise ValueError("a clip needs both sides and a stretch of some length")
    sides = np.zeros(((end_ms - start_ms) * SAMPLES_PER_MS, 2), dtype=np.float32)
    first, stop = max(start_ms, 0) * SAMPLES_PER_MS, end_ms * SAMPLES_PER_MS
    for place, side in enumerate((recording.caller, recording.agent)):
        part = side.samples[first:stop]
        begin = first - start_ms * SAMPLES_PER_MS
        sides[begin : begin + part.size, place] = part
    out = io.BytesIO()
    soundfile.write(
        out, sides, _RATE_HZ, format="OGG", subtype="OPUS", compression_level=_COMPRESSION
    )
    return out.getvalue()
