"""Whether the times of an export can be those of its recording; a unit is told and never guessed.

What is far off is not used and not corrected: the field is named, with what stands there and the
unit in which it was read. A told length some twenty times the recording's, or a twentieth, leaves
timing not evaluated. Turns that lie behind the recording's end, or all in its first moment though
another unit would spread them over it, lose their times; the order is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from inquesto_core.errors import Problem

if TYPE_CHECKING:
    from inquesto_core.bundle import TranscriptTurn
    from inquesto_core.importers.draft import Draft, ToldLength

__all__ = ["length_problems", "plausible_turns", "untimed"]

#: A length that differs by this factor is of another unit or another call.
_FAR = 20
#: Shorter differences are no question of units.
_NEAR_MS = 5000
#: From one unit of time to the next.
_STEP = 1000
_UNITS = ("seconds", "milliseconds", "microseconds", "nanoseconds")
#: What another unit would have to fill of the recording, to be suggested.
_FILLS = (0.2, 1.1)


def length_problems(draft: Draft, duration_ms: int | None) -> tuple[Problem, ...]:
    """Return a warning for each told length that is far from the recording's."""
    if duration_ms is None:
        return ()
    return tuple(
        _far(length, duration_ms)
        for length in draft.lengths
        if abs(length.length_ms - duration_ms) > _NEAR_MS
        and not duration_ms < length.length_ms * _FAR < duration_ms * _FAR * _FAR
    )


def _far(length: ToldLength, duration_ms: int) -> Problem:
    other = _other_unit(length.length_ms, duration_ms, length.unit)
    return Problem(
        code="length_implausible",
        found=f"tells by {length.field} = {length.shown} that the call took {length.length_ms} ms, "
        f"and its recording takes {duration_ms} ms",
        expected=f"{length.field} in {length.unit}, near the recording's length",
        remedy="timing is not evaluated: check "
        + (f"whether it counts {other}, or " if other else "the unit, or ")
        + "whether this is another call's recording",
        level="warning",
    )


def plausible_turns(
    draft: Draft, turns: tuple[TranscriptTurn, ...], duration_ms: int | None
) -> tuple[tuple[TranscriptTurn, ...], tuple[Problem, ...]]:
    """Return the turns, without times where these cannot be the recording's, and what is wrong.

    Parameters
    ----------
    duration_ms : int or None
        Of the recording; None = not known, and nothing can be said.
    """
    times = [_times(turn) for turn in turns]
    timed = [each for each in times if each]
    if duration_ms is None or not timed:
        return turns, ()
    field, unit = draft.turn_times or ("the times of turns", "")
    outside = [each for each in timed if min(each) >= duration_ms]
    last_ms = max(map(max, timed))
    other = _other_unit(last_ms, duration_ms, unit)
    is_squeezed = len(timed) > 1 and last_ms * 2 * _FAR < duration_ms and bool(other)
    if not outside and not is_squeezed:
        return turns, ()
    are_all_off = is_squeezed or 2 * len(outside) > len(timed) or last_ms > _FAR * duration_ms
    read_as = f"{field}, read in {unit}," if unit else field
    where = (
        f"puts the last of {len(timed)} turns at {last_ms} ms"
        if is_squeezed
        else f"puts {len(outside)} of {len(timed)} turns behind the recording's end, "
        f"up to {last_ms} ms"
    )
    problem = Problem(
        code="transcript_time_outside",
        found=f"has times that cannot be the recording's: {read_as} {where}",
        expected=f"times in the recording's {duration_ms} ms",
        remedy=_turns_remedy(other, are_all_off=are_all_off),
        level="warning",
    )
    return (tuple(map(untimed, turns)) if are_all_off else turns), (problem,)


def _turns_remedy(other: str, *, are_all_off: bool) -> str:
    if not are_all_off:
        return "the times are kept: check that the recording is whole"
    check = f"in {other} they would fit: check the unit" if other else "check the unit"
    return f"all times of turns are left out; {check}, or whether this is the call's recording"


def _other_unit(at_ms: int, duration_ms: int, unit: str) -> str:
    """Return the unit in which a time would fill the recording; empty = none."""
    if unit not in _UNITS:
        return ""
    place = _UNITS.index(unit)
    for step in (1, -1, 2, -2):
        scaled = at_ms / float(_STEP) ** step
        if 0 <= place + step < len(_UNITS) and _FILLS[0] <= scaled / duration_ms <= _FILLS[1]:
            return _UNITS[place + step]
    return ""


def untimed(turn: TranscriptTurn) -> TranscriptTurn:
    """Return a turn without its times."""
    words = tuple(replace(word, start_ms=None, end_ms=None) for word in turn.words)
    return replace(turn, start_ms=None, end_ms=None, words=words)


def _times(turn: TranscriptTurn) -> list[int]:
    found = [turn.start_ms, turn.end_ms]
    found += [at for word in turn.words for at in (word.start_ms, word.end_ms)]
    return [at for at in found if at is not None]
