"""A script on the time axis: when each line sounds, and which turn it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from dialogues import Dialogue, Line
from sound import FADE_MS, PER_MS, Clip, Samples, Segments, break_off, level

__all__ = ["SIDES", "Placed", "Script", "channel", "place"]

SIDES = ("caller", "agent")
LEVEL_DBFS = -26.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One line on the recording's time axis, and the turn of the transcript that it belongs to."""

    line: Line
    clip: Clip
    start_ms: int
    turn: int

    @property
    def segments(self) -> Segments:
        """Where the line sounds, in ms of the recording."""
        return tuple((self.start_ms + a, self.start_ms + b) for a, b in self.clip.segments)

    @property
    def end_ms(self) -> int:
        """Where its last sound ends."""
        return self.segments[-1][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A dialogue whose lines have their times; `end_ms` is the recording's length."""

    dialogue: Dialogue
    placed: tuple[Placed, ...]
    end_ms: int

    def segments(self, side: str) -> list[tuple[int, int]]:
        """Return where a side sounds, in order."""
        own = (one for one in self.placed if one.line.speaker == side)
        return sorted(pair for one in own for pair in one.segments)


def place(dialogue: Dialogue, say: Callable[[Line], Clip]) -> Script:
    """Return the dialogue with every line on the time axis; `say` gives a line's clip."""
    placed: list[Placed] = []
    for line in dialogue.lines:
        clip = say(line)
        if line.heard_ms is not None:
            clip = break_off(clip, line.heard_ms)
        turn = 0
        if placed:
            goes_on = placed[-1].line.speaker == line.speaker and not line.new_turn
            turn = placed[-1].turn + (not goes_on)
        start_ms = _anchor(line, placed) + line.gap_ms
        placed.append(Placed(line=line, clip=clip, start_ms=start_ms, turn=turn))
    end_ms = max(one.end_ms for one in placed) + dialogue.tail_ms
    return Script(dialogue=dialogue, placed=tuple(placed), end_ms=end_ms)


def _anchor(line: Line, placed: list[Placed]) -> int:
    if not placed:
        return 0
    if line.from_start:
        return placed[-1].start_ms
    if line.after is None:
        return placed[-1].end_ms
    sides = SIDES if line.after == "last" else (line.after,)
    return max(one.end_ms for one in placed if one.line.speaker in sides)


def channel(script: Script, side: str) -> Samples:
    """Return one side's speech at its level, silence elsewhere."""
    own = [one for one in script.placed if one.line.speaker == side]
    gain = level([one.clip for one in own], LEVEL_DBFS)
    track = np.zeros(script.end_ms * PER_MS)
    for one in own:
        start = (one.start_ms - FADE_MS) * PER_MS
        kept = one.clip.samples[: len(track) - start]
        track[start : start + len(kept)] += gain * kept
    return track
