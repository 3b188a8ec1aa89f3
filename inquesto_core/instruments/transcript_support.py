"""Which turns of a transcript stand where their speaker is heard to speak.

Recognisers write phrases into silence ("thank you for watching"). A turn whose times hold too
little speech of its side is *unsupported*: its words are kept as evidence and withheld from what
reads them. Recognisers also give a real turn times too early, over the silence before it; so a turn
is supported, too, by speech that no other turn of its side stands on, from `turn_reach_ms` before
it to the next turn. Nothing is said of turns without times, nor where most of a side's turns would
go: then the clock is in doubt, not the words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.bundle.call import Transcript
    from inquesto_core.instruments.audio import Side
    from inquesto_core.instruments.intervals import Int
    from inquesto_core.protocol.definition import RecordingFaultLimits

__all__ = ["supported_turns"]

Span = tuple[int, int]


def supported_turns(
    transcript: Transcript, speech: Mapping[Side, Int], limits: RecordingFaultLimits
) -> tuple[bool | None, ...]:
    """Return for each turn whether its side speaks there; None = not known.

    Supported from a share of ``turn_speech_share`` on (inclusive) of its length.

    Parameters
    ----------
    speech : mapping of side to int64 array of shape (n, 2), ms, sorted, disjoint
        Only sides whose speech is known; a side with no speech at all has an empty array.
    """
    out: list[bool | None] = [None] * len(transcript.turns)
    for side, intervals in speech.items():
        spans = {
            at: (turn.start_ms, turn.end_ms)
            for at, turn in enumerate(transcript.turns)
            if turn.speaker == side
            and turn.start_ms is not None
            and turn.end_ms is not None
            and turn.text.strip()
        }
        for at, supported in _side(spans, intervals, limits).items():
            out[at] = supported
    return tuple(out)


def _side(spans: Mapping[int, Span], speech: Int, limits: RecordingFaultLimits) -> dict[int, bool]:
    """Return which of one side's turns are supported; nothing where that is not known."""
    claimed = {
        at: span
        for at, span in spans.items()
        if _heard_ms(span, speech) >= limits.turn_speech_share * max(1, span[1] - span[0])
    }
    free = _unclaimed(speech, list(claimed.values()))
    starts = sorted(start for start, _ in spans.values())
    told = {}
    for at, (start, end) in spans.items():
        later = next((other for other in starts if other >= max(end, start + 1)), None)
        reach = (start - limits.turn_reach_ms, later or max([end, *speech[:, 1].tolist()]))
        told[at] = at in claimed or _heard_ms(reach, free) > 0
    lost = sum(not supported for supported in told.values())
    return {} if len(speech) and 2 * lost > len(told) else told


def _heard_ms(span: Span, speech: Int) -> int:
    low, high = np.maximum(speech[:, 0], span[0]), np.minimum(speech[:, 1], span[1])
    return int(np.maximum(high - low, 0).sum())


def _unclaimed(speech: Int, spans: list[Span]) -> Int:
    """Return the segments of speech that no turn stands on."""
    free = [
        (start, end)
        for start, end in speech.tolist()
        if not any(low < end and start < high for low, high in spans)
    ]
    return np.array(free, np.int64).reshape(-1, 2)
