"""What listens: decoding, channel checks, voice activity, boundaries. It yields evidence only."""

from __future__ import annotations

from inquesto_core.instruments.extract import measure_call
from inquesto_core.instruments.media_limits import MediaLimits
from inquesto_core.instruments.vad import SileroVad

__all__ = ["MediaLimits", "SileroVad", "measure_call"]
