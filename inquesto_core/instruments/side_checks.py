"""Whether the two sides of a recording are exchanged, by what the transcript says.

Timed turns that fit the other side far better are proof. Who speaks first, or a side that would
have to speak faster than anyone can, only raises the suspicion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquesto_core.instruments.occupancy import fit_of
from inquesto_core.instruments.recording_faults import fault
from inquesto_core.instruments.turn_anchors import SIDES, timed_spurts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.bundle import Transcript
    from inquesto_core.instruments.recording_faults import RecordingFault
    from inquesto_core.instruments.turn_anchors import Int, Side, Spurt
    from inquesto_core.protocol import RecordingFaultLimits

__all__ = ["swapped_fault"]

_OTHER: dict[Side, Side] = {"caller": "agent", "agent": "caller"}
_REMEDY = "exchange the indices of caller and agent in call.json if the map is wrong"


def swapped_fault(
    transcript: Transcript | None, speech: Mapping[Side, Int], limits: RecordingFaultLimits
) -> RecordingFault | None:
    """Return ``channels_swapped``, ``channel_swap_suspected`` or None.

    Parameters
    ----------
    speech : mapping of side to int64 array of shape (n, 2), ms
        Where each side was measured to speak.
    """
    if transcript is None or not all(len(speech[side]) for side in SIDES):
        return None
    spurts = timed_spurts(transcript, limits.pause_join_ms)
    ended = [spurt for spurt in spurts if spurt.end_ms is not None]
    if len(ended) >= limits.min_anchors and {spurt.side for spurt in ended} == set(SIDES):
        straight, exchanged = (
            fit_of(spurts, speech, limits, exchanged=other, reach_ms=limits.duration_ms).score
            for other in (False, True)
        )
        if exchanged >= limits.occupancy_fit and exchanged - straight >= limits.swap_gain:
            # Sides as mapped on a clock far off explain as much where turns alternate evenly.
            moved = fit_of(spurts, speech, limits, reach_ms=limits.search_ms).score
            return _proven(straight, exchanged, limits) if exchanged > moved else None
        if straight >= limits.occupancy_fit:
            return None
    return _too_fast(transcript, speech, limits) or _first_voice(spurts, speech, limits)


def _proven(straight: float, exchanged: float, limits: RecordingFaultLimits) -> RecordingFault:
    return fault(
        "channels_swapped",
        side=None,
        measured=("fit_gain", round(exchanged - straight, 3), limits.swap_gain),
        level="timing",
        found=f"transcript's turns fit the sides as mapped by {straight:.2f}, exchanged by "
        f"{exchanged:.2f}",
        expected="each side's turns on its own channel",
        remedy=_REMEDY,
    )


def _too_fast(
    transcript: Transcript, speech: Mapping[Side, Int], limits: RecordingFaultLimits
) -> RecordingFault | None:
    """Return a suspicion where one side's words fit into the other's speech only."""
    words = {
        side: sum(
            len((turn.text if turn.heard_text is None else turn.heard_text).split())
            for turn in transcript.turns
            if turn.speaker == side
        )
        for side in SIDES
    }
    seconds = {
        side: float((speech[side][:, 1] - speech[side][:, 0]).sum()) / 1000 for side in SIDES
    }
    fast = max(SIDES, key=lambda side: words[side] / max(seconds[side], 0.001))
    rate = words[fast] / max(seconds[fast], 0.001)
    exchanged = max(words[side] / max(seconds[_OTHER[side]], 0.001) for side in SIDES)
    if rate <= limits.fastest_words_s or exchanged > limits.usual_words_s:
        return None
    return fault(
        "channel_swap_suspected",
        side=fast,
        measured=("words_per_second", round(rate, 2), limits.fastest_words_s),
        level="warning",
        found=f"{fast}'s {words[fast]} words would be spoken in {seconds[fast]:.1f} s",
        expected=f"at most {limits.fastest_words_s:g} words a second of speech",
        remedy=_REMEDY,
    )


def _first_voice(
    spurts: Sequence[Spurt], speech: Mapping[Side, Int], limits: RecordingFaultLimits
) -> RecordingFault | None:
    """Return a suspicion where the other side is heard well before the transcript's first turn."""
    if not spurts:
        return None
    first = spurts[0].side
    lead_ms = int(speech[first][0, 0] - speech[_OTHER[first]][0, 0])
    if lead_ms <= limits.duration_ms:
        return None
    return fault(
        "channel_swap_suspected",
        side=first,
        measured=("lead_ms", lead_ms, limits.duration_ms),
        level="warning",
        found=f"transcript begins with the {first}, but the {_OTHER[first]}'s channel sounds "
        f"{lead_ms / 1000:.2f} s before it",
        expected="the side that speaks first to sound first",
        remedy=_REMEDY,
    )
