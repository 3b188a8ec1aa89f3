"""How far measured timing lies from the truth: pairs, errors and counts, and no file.

The rules, in the order in which they are used:

1. A side's segments at most 300 ms apart are one *run* of speech, in the truth and as measured.
2. True and measured onsets are paired one to one, at most 600 ms apart: as many pairs as can be,
   then with the least distance in sum. A paired true onset is *found*. Offsets likewise; under
   babble, crowd or television they are held to the end of the utterance's loud core.
3. A *false* segment is a measured caller run in which the caller truly says nothing.
4. Talk-overs are paired by agent onset, at most 300 ms apart; utterances are paired where they
   share time, by the nearest end, and slow or absent replies are compared pair by pair.
5. An event is *margin-excluded*, true or measured, hit or missed, if its true value lies within the
   condition's margin of the threshold, or if it hangs on a fragile limit.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from benchmarks.timing_truth import Events, Reply, Sound, Truth

__all__ = [
    "CLASSES",
    "CallErrors",
    "Counts",
    "class_of",
    "compare_call",
    "join_runs",
    "margin_ms",
    "pair_nearest",
    "sum_up",
]

Interval = tuple[int, int]

RUN_JOIN_MS = 300
ONSET_FOUND_MS = 600
TALK_OVER_FOUND_MS = 300

#: What a condition's name says of it; the first word that it contains names its class.
_WORDS = (
    ("background_hard", ("tv5",)),
    ("television", ("tv", "television")),
    ("babble", ("babble", "crowd")),
    ("echo", ("echo",)),
    ("telephone", ("tel",)),
)
CLASSES = ("clean", "telephone", "echo", "babble", "television", "background_hard")
_MARGINS_MS = {"clean": 50, "telephone": 60, "echo": 40}
_BACKGROUND_MARGIN_MS = 150
_BACKGROUND = frozenset({"babble", "television", "background_hard"})


def class_of(condition: str) -> str:
    """Return which of `CLASSES` a condition belongs to, by the words in its name."""
    found = next((name for name, words in _WORDS if any(w in condition for w in words)), "clean")
    # A background in the telephone band is the hardest there is.
    is_telephone = condition.startswith("tel") and not condition.startswith("television")
    return "background_hard" if found in _BACKGROUND and is_telephone else found


def margin_ms(condition: str) -> int:
    """Return how near its threshold an event may lie and yet not count, inclusive."""
    return _MARGINS_MS.get(class_of(condition), _BACKGROUND_MARGIN_MS)


def join_runs(segments: Iterable[Interval]) -> list[Interval]:
    """Return segments joined over pauses of at most 300 ms, sorted."""
    runs: list[Interval] = []
    for start, end in sorted(segments):
        if runs and start - runs[-1][1] <= RUN_JOIN_MS:
            runs[-1] = (runs[-1][0], max(runs[-1][1], end))
        else:
            runs.append((start, end))
    return runs


def _assign(cost: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return as many pairs as can be, then the cheapest; infinite cost = no pair."""
    if cost.size == 0:
        return []
    possible = np.isfinite(cost)
    # Dearer than all possible pairs together, so that no pair is given up to save distance.
    forbidden = 1.0 + float(cost[possible].sum()) if possible.any() else 1.0
    rows, columns = linear_sum_assignment(np.where(possible, cost, forbidden))
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if possible[i, j]]


def pair_nearest(
    true: Sequence[int], found: Sequence[int], *, within_ms: int
) -> list[tuple[int, int]]:
    """Return one-to-one pairs of indices whose times lie at most `within_ms` apart."""
    apart = np.abs(np.subtract.outer(np.asarray(true, float), np.asarray(found, float)))
    return _assign(np.where(apart <= within_ms, apart, np.inf))


def _pair_utterances(true: Sequence[Interval], found: Sequence[Interval]) -> dict[int, int]:
    """Return which measured utterance stands for which true one: they share time, ends nearest.

    The wait for a reply begins where an utterance ends, so of an utterance that was measured in two
    pieces the last one stands for it.
    """
    cost = np.full((len(true), len(found)), np.inf)
    for i, (start, end) in enumerate(true):
        for j, (low, high) in enumerate(found):
            if min(end, high) > max(start, low):
                cost[i, j] = abs(end - high)
    return dict(_assign(cost))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """True events found and missed, events found that are none, events too near to tell."""

    tp: int = 0
    fn: int = 0
    fp: int = 0
    margin_excluded: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the sum, field by field."""
        return Counts(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallErrors:
    """One call's figures, or those of several together; errors are measured minus true, ms.

    Parameters
    ----------
    own_end_ms : tuple of int
        Of each found run, the end of the measured run that it was found by, however far away: a
        run that was measured in pieces, or joined to the next, shows here and not in `offset_ms`.
    """

    calls: int = 0
    not_evaluated: int = 0
    evaluated_ms: int = 0
    runs_true: int = 0
    runs_measured: int = 0
    false_segments: int = 0
    onset_ms: tuple[int, ...] = ()
    offset_ms: tuple[int, ...] = ()
    own_end_ms: tuple[int, ...] = ()
    latency_ms: tuple[int, ...] = ()
    talk_over: Counts = Counts()
    slow_or_none: Counts = Counts()

    def __add__(self, other: CallErrors) -> CallErrors:
        """Return the figures of both together."""
        return CallErrors(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )


def sum_up(parts: Iterable[CallErrors]) -> CallErrors:
    """Return the figures of several calls together."""
    return sum(parts, CallErrors())


def _true_ends(truth: Truth, runs: Sequence[Interval]) -> list[int]:
    """Return where each true run ends, for this condition."""
    if class_of(truth.condition) not in _BACKGROUND:
        return [end for _, end in runs]
    return [truth.core_ends.get(end, end) for _, end in runs]


def _talk_overs(truth: Truth, measured: Events, *, limit_ms: int) -> Counts:
    margin = margin_ms(truth.condition)
    true, found = truth.events.talk_overs, measured.talk_overs
    pairs = dict(
        pair_nearest(
            [event.at_ms for event in true],
            [event.at_ms for event in found],
            within_ms=TALK_OVER_FOUND_MS,
        )
    )
    total = Counts()
    for index, event in enumerate(true):
        if abs(event.value_ms - limit_ms) <= margin or event.at_ms in truth.hanging_talk_overs:
            total += Counts(margin_excluded=1)
        else:
            total += Counts(tp=1) if index in pairs else Counts(fn=1)
    for index in set(range(len(found))) - set(pairs.values()):
        at = found[index].at_ms
        hangs = any(abs(at - known) <= TALK_OVER_FOUND_MS for known in truth.hanging_talk_overs)
        value = _true_value(truth.events, at)
        near = value is not None and abs(value - limit_ms) <= margin
        total += Counts(margin_excluded=1) if hangs or near else Counts(fp=1)
    return total


def _true_value(events: Events, at_ms: int) -> int | None:
    """Return how long before the caller's end the agent turn near `at_ms` truly began."""
    onsets = [start for start, _ in events.agent_turns if abs(start - at_ms) <= TALK_OVER_FOUND_MS]
    if not onsets:
        return None
    onset = min(onsets, key=lambda start: abs(start - at_ms))
    return next((end - onset for start, end in events.utterances if start <= onset < end), None)


def _slow_or_none(
    truth: Truth, measured: Events, pairs: dict[int, int], *, limit_ms: int
) -> Counts:
    margin = margin_ms(truth.condition)
    total = Counts()
    for index, reply in enumerate(truth.events.replies):
        is_slow = reply.is_slow_or_none(limit_ms)
        found = index in pairs and measured.replies[pairs[index]].is_slow_or_none(limit_ms)
        near = reply.value_ms is not None and abs(reply.value_ms - limit_ms) <= margin
        if not (is_slow or found):
            continue
        if near or reply.end_ms in truth.hanging_slow:
            total += Counts(margin_excluded=1)
        else:
            total += Counts(tp=is_slow and found, fn=is_slow and not found, fp=not is_slow)
    for index in set(range(len(measured.replies))) - set(pairs.values()):
        reply = measured.replies[index]
        if not reply.is_slow_or_none(limit_ms):
            continue
        hangs = any(abs(reply.end_ms - end) <= ONSET_FOUND_MS for end in truth.hanging_slow)
        total += Counts(margin_excluded=1) if hangs else Counts(fp=1)
    return total


def _latency_errors(pairs: Iterable[tuple[Reply, Reply]]) -> Iterator[int]:
    """Yield the error of each latency that there truly is and that was measured."""
    for true, found in pairs:
        if true.status != "replied" or found.status != "replied":
            continue
        if true.value_ms is not None and found.value_ms is not None:
            yield found.value_ms - true.value_ms


def compare_call(
    truth: Truth,
    sound: Sound,
    measured: Events,
    *,
    is_evaluated: bool,
    talk_over_ms: int,
    slow_turn_ms: int,
) -> CallErrors:
    """Return one detector's errors on one call.

    Parameters
    ----------
    sound, measured
        What the detector heard, and what the turn rules make of it.
    is_evaluated : bool
        A call that the detector declared unmeasurable is counted as that and nothing else.
    talk_over_ms, slow_turn_ms : int
        The protocol's thresholds (at least; more than).
    """
    if not is_evaluated:
        return CallErrors(calls=1, not_evaluated=1)
    true, found = join_runs(truth.sound.caller), join_runs(sound.caller)
    ends, found_ends = _true_ends(truth, true), [end for _, end in found]
    onsets = pair_nearest(
        [start for start, _ in true], [start for start, _ in found], within_ms=ONSET_FOUND_MS
    )
    offsets = pair_nearest(ends, found_ends, within_ms=ONSET_FOUND_MS)
    replies, known = measured.replies, truth.events.replies
    pairs = _pair_utterances(
        [(reply.start_ms, reply.end_ms) for reply in known],
        [(reply.start_ms, reply.end_ms) for reply in replies],
    )
    return CallErrors(
        calls=1,
        evaluated_ms=truth.sound.duration_ms,
        runs_true=len(true),
        runs_measured=len(found),
        false_segments=sum(
            not any(min(end, b) > max(start, a) for a, b in true) for start, end in found
        ),
        onset_ms=tuple(found[j][0] - true[i][0] for i, j in onsets),
        offset_ms=tuple(found_ends[j] - ends[i] for i, j in offsets),
        own_end_ms=tuple(found_ends[j] - ends[i] for i, j in onsets),
        latency_ms=tuple(_latency_errors([(known[i], replies[j]) for i, j in pairs.items()])),
        talk_over=_talk_overs(truth, measured, limit_ms=talk_over_ms),
        slow_or_none=_slow_or_none(truth, measured, pairs, limit_ms=slow_turn_ms),
    )
