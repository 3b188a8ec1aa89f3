"""Which stretches of a channel the transcriber hears together, and where in the call they lie.

A window is one side's accepted speech, each segment with a little of the sound beside it, pieces of
silence shortened and everything else left out. What is said at a time of the window is mapped back
by the piece it falls into: 0.4 s into a piece that begins at 5 s of the call is 5.4 s, whatever was
left out before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inquesto_core.instruments.intervals import joined
from inquesto_core.instruments.resample import SAMPLES_PER_MS

if TYPE_CHECKING:
    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.intervals import Int
    from inquesto_core.instruments.transcriber_settings import TranscriberSettings

__all__ = ["Piece", "Window", "sound_of", "speech_pieces", "speech_windows"]

#: Frame whose energy says how quiet a place is.
_QUIET_MS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of the channel as it lies in a window, in milliseconds.

    Parameters
    ----------
    at_ms : int
        Where it begins in the window.
    start_ms, end_ms : int
        Where it lies in the call.
    """

    at_ms: int
    start_ms: int
    end_ms: int

    @property
    def until_ms(self) -> int:
        """Where it ends in the window."""
        return self.at_ms + self.end_ms - self.start_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Pieces heard together, in order; between them there is silence."""

    pieces: tuple[Piece, ...]

    @property
    def length_ms(self) -> int:
        """How long the window is."""
        return self.pieces[-1].until_ms


def speech_pieces(speech: Int, rejected: Int, *, duration_ms: int, pad_ms: int) -> Int:
    """Return each segment with up to `pad_ms` beside it, those that then meet as one.

    Parameters
    ----------
    speech, rejected : int64 arrays of shape (n, 2) and (m, 2), ms, sorted
        Of one channel. No padding reaches into what is rejected.
    """
    if len(speech) == 0:
        return speech.reshape(0, 2)
    low = np.maximum(speech[:, 0] - pad_ms, 0)
    high = np.minimum(speech[:, 1] + pad_ms, duration_ms)
    for start, end in rejected.tolist():
        before = (start < speech[:, 0]) & (end > low)
        low[before] = np.minimum(end, speech[before, 0])
        after = (end > speech[:, 1]) & (start < high)
        high[after] = np.maximum(start, speech[after, 1])
    return joined(np.column_stack([low, np.maximum(high, speech[:, 1])]), 0)


def _quietest_ms(samples: Samples, low_ms: int, high_ms: int) -> int:
    """Return the middle of the quietest frame of a stretch, the last of several."""
    frame = _QUIET_MS * SAMPLES_PER_MS
    part = samples[low_ms * SAMPLES_PER_MS : high_ms * SAMPLES_PER_MS]
    energy = np.square(part[: part.size // frame * frame].reshape(-1, frame)).sum(axis=1)
    if energy.size == 0:
        return high_ms
    last = int(energy.size) - 1 - int(np.argmin(energy[::-1]))
    return low_ms + last * _QUIET_MS + _QUIET_MS // 2


def _cut(pieces: Int, samples: Samples, settings: TranscriberSettings) -> list[tuple[int, int]]:
    """Return the pieces, those too long for a window cut where the sound is quietest."""
    out = []
    for start, end in pieces.tolist():
        at = start
        while end - at > settings.window_ms:
            last = at + settings.window_ms
            cut = _quietest_ms(samples, last - settings.cut_search_ms, last)
            out.append((at, cut))
            at = cut
        out.append((at, end))
    return out


def speech_windows(
    samples: Samples, speech: Int, rejected: Int, settings: TranscriberSettings
) -> tuple[Window, ...]:
    """Return the windows in which one channel's speech is heard, in order; none without speech.

    Parameters
    ----------
    samples : float32 array of shape (n,)
        The channel at 16 kHz.
    speech, rejected : int64 arrays of shape (n, 2) and (m, 2), ms, sorted
    """
    duration_ms = samples.size // SAMPLES_PER_MS
    pieces = speech_pieces(speech, rejected, duration_ms=duration_ms, pad_ms=settings.pad_ms)
    windows: list[Window] = []
    held: list[Piece] = []
    for start, end in _cut(pieces, samples, settings):
        if held:
            at = held[-1].until_ms + min(start - held[-1].end_ms, settings.gap_ms)
            if at + end - start > settings.window_ms:
                windows.append(Window(pieces=tuple(held)))
                held = []
        held.append(Piece(at_ms=at if held else 0, start_ms=start, end_ms=end))
    return (*windows, Window(pieces=tuple(held))) if held else ()


def sound_of(window: Window, samples: Samples) -> Samples:
    """Return a window's sound, float32 at 16 kHz."""
    sound = np.zeros(window.length_ms * SAMPLES_PER_MS, np.float32)
    for piece in window.pieces:
        part = samples[piece.start_ms * SAMPLES_PER_MS : piece.end_ms * SAMPLES_PER_MS]
        at = piece.at_ms * SAMPLES_PER_MS
        sound[at : at + part.size] = part
    return sound
