"""Which stretch of measured sound a timed turn of the transcript is, and how far off it stands.

An *anchor* is a turn that is as long in the transcript as a stretch of sound on its side. Only such
a turn says where the recorder put it: one whose length differs has loose times, and proves nothing
about the recording. Both edges of an anchor count, so that a start written a little late is no
displacement as long as its end stands right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from inquesto_core.instruments.intervals import joined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inquesto_core.bundle import Transcript, TranscriptTurn
    from inquesto_core.protocol import RecordingFaultLimits

__all__ = [
    "SIDES",
    "Anchor",
    "Int",
    "Side",
    "Spurt",
    "find_anchors",
    "scatter_ms",
    "timed_spurts",
]

Int = NDArray[np.int64]
Side = Literal["caller", "agent"]
SIDES: tuple[Side, Side] = ("caller", "agent")

#: How many turns back the last anchor may lie; turns between are without one.
_REACH = 6
#: Fewer changes of displacement than this fit a steady drift too easily.
_MIN_DRIFTING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Spurt:
    """Turns of one side that follow each other closely; `end_ms` None = not known."""

    side: Side
    start_ms: int
    end_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A spurt of the transcript and where its sound stands.

    Parameters
    ----------
    at_ms : int
        The spurt's start in the transcript.
    low_ms, high_ms : int
        How far its two edges are displaced in the recording, the smaller first.
    has_end : bool
        Whether the length was checked too.
    """

    side: Side
    at_ms: int
    low_ms: int
    high_ms: int
    has_end: bool

    @property
    def offset_ms(self) -> float:
        """Displacement of its middle."""
        return (self.low_ms + self.high_ms) / 2

    def apart_ms(self, other: Anchor) -> int:
        """Return by how much the displacements of two anchors certainly differ."""
        return max(0, self.low_ms - other.high_ms, other.low_ms - self.high_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    start_ms: int
    end_ms: int
    low: float
    high: float

    @property
    def offset(self) -> float:
        return (self.low + self.high) / 2


def _times(turn: TranscriptTurn) -> tuple[int | None, int | None]:
    starts = [word.start_ms for word in turn.words if word.start_ms is not None]
    ends = [word.end_ms for word in turn.words if word.end_ms is not None]
    if len(starts) == len(ends) == len(turn.words) > 0:
        return min(starts), max(ends)
    return turn.start_ms, turn.end_ms


def timed_spurts(transcript: Transcript | None, join_ms: int) -> tuple[Spurt, ...]:
    """Return the timed turns by start, those of one side at most `join_ms` apart as one."""
    found: list[Spurt] = []
    for side in SIDES:
        timed = [
            Spurt(side=side, start_ms=start_ms, end_ms=end_ms)
            for turn in (transcript.turns if transcript else ())
            if turn.speaker == side and (turn.heard_text or turn.text).strip()
            for start_ms, end_ms in (_times(turn),)
            if start_ms is not None and end_ms != start_ms
        ]
        found += _joined_spurts(sorted(timed, key=lambda spurt: spurt.start_ms), join_ms)
    return tuple(sorted(found, key=lambda spurt: (spurt.start_ms, spurt.side)))


def _joined_spurts(timed: Sequence[Spurt], join_ms: int) -> list[Spurt]:
    spurts: list[Spurt] = []
    for spurt in timed:
        last = spurts[-1] if spurts else None
        if last and last.end_ms is not None and spurt.start_ms - last.end_ms <= join_ms:
            end = None if spurt.end_ms is None else max(last.end_ms, spurt.end_ms)
            spurts[-1] = Spurt(side=last.side, start_ms=last.start_ms, end_ms=end)
        else:
            spurts.append(spurt)
    return spurts


def find_anchors(
    spurts: Sequence[Spurt],
    speech: Mapping[Side, Int],
    limits: RecordingFaultLimits,
    *,
    scale: float = 1.0,
    shift_ms: float = 0.0,
) -> tuple[Anchor, ...]:
    """Return an anchor for every spurt whose sound is found, in the order of the transcript.

    Parameters
    ----------
    speech : mapping of side to int64 array of shape (n, 2), ms
        What each side was measured to say.
    scale, shift_ms : float
        The transcript's time ``t`` is looked for around ``scale * t + shift_ms``; an anchor's
        displacements are from there.
    """
    anchors: list[Anchor] = []
    for side in SIDES:
        mine = [spurt for spurt in spurts if spurt.side == side]
        units = joined(speech[side], limits.pause_join_ms * scale)
        choices = [_candidates(spurt, units, scale, shift_ms, limits) for spurt in mine]
        expected = [(scale * spurt.start_ms + shift_ms, _length(spurt, scale)) for spurt in mine]
        path = _best_path(choices, expected, units, limits)
        anchors += [
            Anchor(
                side=side,
                at_ms=mine[k].start_ms,
                low_ms=round(choice.low),
                high_ms=round(choice.high),
                has_end=mine[k].end_ms is not None,
            )
            for k, choice in path
        ]
    return tuple(sorted(anchors, key=lambda anchor: (anchor.at_ms, anchor.side)))


def _length(spurt: Spurt, scale: float) -> float | None:
    return None if spurt.end_ms is None else (spurt.end_ms - spurt.start_ms) * scale


def _candidates(
    spurt: Spurt, units: Int, scale: float, shift_ms: float, limits: RecordingFaultLimits
) -> list[_Candidate]:
    """Return the stretches near a spurt that it may be: one unit, or several in a row."""
    place, length = scale * spurt.start_ms + shift_ms, _length(spurt, scale)
    first, last = np.searchsorted(
        units[:, 0], [place - limits.search_ms, place + limits.search_ms], side="left"
    )
    found: list[_Candidate] = []
    for i in range(int(first), int(last)):
        low = float(units[i, 0] - place)
        if length is None:
            end = int(units[i, 1])
            found.append(_Candidate(start_ms=int(units[i, 0]), end_ms=end, low=low, high=low))
            continue
        reach = units[i:, 1] - units[i, 0]
        j = int(np.argmin(np.abs(reach - length)))
        slack = max(limits.anchor_length_ms, limits.anchor_length_share * length)
        if abs(reach[j] - length) <= slack:
            high = float(units[i + j, 1] - place - length)
            found.append(
                _Candidate(
                    start_ms=int(units[i, 0]),
                    end_ms=int(units[i + j, 1]),
                    low=min(low, high),
                    high=max(low, high),
                )
            )
    return found


def _best_path(
    choices: Sequence[Sequence[_Candidate]],
    expected: Sequence[tuple[float, float | None]],
    units: Int,
    limits: RecordingFaultLimits,
) -> list[tuple[int, _Candidate]]:
    """Return the cheapest monotone choice: few turns left out, few changes of displacement."""
    best: dict[tuple[int, int], tuple[float, tuple[int, int] | None]] = {}
    for k, here in enumerate(choices):
        for c, choice in enumerate(here):
            cost = k * limits.path_skip_cost + _change(0.0, choice, expected[k], units, limits)
            came: tuple[int, int] | None = None
            for j in range(max(0, k - _REACH), k):
                for b, before in enumerate(choices[j]):
                    if before.end_ms > choice.start_ms:
                        continue
                    step = _change(before.offset, choice, expected[k], units, limits)
                    total = best[j, b][0] + (k - j - 1) * limits.path_skip_cost + step
                    if total < cost:
                        cost, came = total, (j, b)
            best[k, c] = (cost, came)
    ends = {
        key: cost + (len(choices) - 1 - key[0]) * limits.path_skip_cost
        for key, (cost, _) in best.items()
    }
    at = min(ends, key=lambda key: ends[key], default=None)
    if at is not None and ends[at] > len(choices) * limits.path_skip_cost:
        return []
    path: list[tuple[int, _Candidate]] = []
    while at is not None:
        path.append((at[0], choices[at[0]][at[1]]))
        at = best[at][1]
    return path[::-1]


def _change(
    offset: float,
    choice: _Candidate,
    expected: tuple[float, float | None],
    units: Int,
    limits: RecordingFaultLimits,
) -> float:
    """Return what it costs to take `choice` where the anchor before stood `offset` off.

    A far place is dearer than leaving a turn out, so that one turn alone is not taken for one that
    happens to be as long; and so is any other place where sound stands at the expected one.
    """
    moved = max(0.0, choice.low - offset, offset - choice.high)
    if moved <= limits.path_same_ms:
        return moved
    cost = limits.path_step_cost + moved * limits.path_step_share
    start, length = expected[0] + offset, expected[1]
    if length is not None and (choice.end_ms <= start or choice.start_ms >= start + length):
        inside = np.minimum(units[:, 1], start + length) - np.maximum(units[:, 0], start)
        if np.clip(inside, 0, None).sum() >= limits.path_filled_share * length:
            cost += limits.path_filled_cost
    return cost


def scatter_ms(anchors: Sequence[Anchor]) -> float:
    """Return how loosely the transcript is timed: the usual change between turns of one side.

    The median over both sides, the largest change left out, since that may be a fault; with and
    without a steady drift, whichever is less. 0 where there is hardly anything to tell it from.
    """
    plain: list[float] = []
    steady: list[float] = []
    for side in SIDES:
        mine = [anchor for anchor in anchors if anchor.side == side]
        change = np.diff([anchor.offset_ms for anchor in mine])
        passed = np.maximum(np.diff([float(anchor.at_ms) for anchor in mine]), 1.0)
        slope = float(np.median(change / passed)) if len(change) >= _MIN_DRIFTING else 0.0
        plain += np.abs(change).tolist()
        steady += np.abs(change - slope * passed).tolist()
    rests = [sorted(part)[:-1] for part in (plain, steady)]
    return min((rest[len(rest) // 2] for rest in rests if rest), default=0.0)
