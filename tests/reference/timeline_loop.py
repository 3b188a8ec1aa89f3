"""The slow, obvious oracle: protocol 0.1, section 3, items 2 to 8, for one call at a time.

Every function restates one sentence of the protocol text in plain Python loops. It shares
nothing with ``inquesto_core``: where the two differ, one of them has misread the text. Times
are integer milliseconds, intervals half-open ``(start, end)``.

Readings fixed where the text is open are marked (a) to (h) at the line that takes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The numbers of ``protocol.json``, plus the slack of "wholly inside"."""

    ipu_gap_ms: int = 100
    agent_pause_join_ms: int = 500
    caller_pause_join_ms: int = 1000
    min_voiced_ms: int = 200
    simultaneous_start_ms: int = 200
    simultaneous_overlap_ms: int = 1000
    short_turn_ms: int = 1000
    backchannel_max_ms: int = 1000
    overrun_ms: int = 1000
    end_call_censors_ms: int = 3000
    talk_over_ms: int = 500
    slow_turn_ms: int = 3000
    slow_median_ms: int = 1500
    repeated_min_count: int = 2
    repeated_share: tuple[int, int] = (1, 3)
    wholly_inside_slack_ms: int = 0


STRUCTURAL_LIMITS = (
    "ipu_gap_ms",
    "agent_pause_join_ms",
    "caller_pause_join_ms",
    "min_voiced_ms",
    "simultaneous_start_ms",
    "simultaneous_overlap_ms",
    "backchannel_max_ms",
    "overrun_ms",
    "wholly_inside_slack_ms",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A group, turn or utterance: from its first to its last sound, and the IPUs it is made of."""

    start: int
    end: int
    ipus: tuple[Interval, ...]

    @property
    def voiced(self) -> int:
        """Return the milliseconds of sound in it: the lengths of its IPUs."""
        # (h) an IPU counts whole: the gaps shorter than ipu_gap_ms inside it are its sound.
        return sum(end - start for start, end in self.ipus)


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkOver:
    """An agent turn that begins inside a caller utterance; ``counted`` says if it is one."""

    at_ms: int
    caller_end_ms: int
    value_ms: int
    margin_ms: int
    kind: str
    short: bool
    simultaneous: bool
    counted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What became of one caller utterance."""

    start: int
    end: int
    status: str
    clock_ms: int | None = None
    latency_ms: int | None = None
    waited_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Everything that section 3 measures of one call."""

    caller_ipus: tuple[Interval, ...]
    agent_ipus: tuple[Interval, ...]
    groups: tuple[Span, ...]
    turns: tuple[Span, ...]
    utterances: tuple[Span, ...]
    dropped_groups: int
    dropped_utterances: int
    talk_overs: tuple[TalkOver, ...]
    replies: tuple[Reply, ...]
    twice_median_latency_ms: int | None
    events: dict[str, int] = field(default_factory=dict)

    @property
    def counted_talk_overs(self) -> tuple[TalkOver, ...]:
        """Return the talk-overs that 0.1 counts."""
        return tuple(each for each in self.talk_overs if each.counted)


# Items 1 and 2: what is heard inside the scored window.


def clip_and_unite(segments: Sequence[Interval], window: Interval) -> list[Interval]:
    """Return one channel's segments cut to the window, those that overlap or touch as one."""
    united: list[Interval] = []
    for segment in sorted(segments):
        start = max(segment[0], window[0])
        end = min(segment[1], window[1])
        if end <= start:
            continue
        if united and start <= united[-1][1]:
            united[-1] = (united[-1][0], max(end, united[-1][1]))
        else:
            united.append((start, end))
    return united


def build_ipus(segments: Sequence[Interval], limits: Limits) -> list[Interval]:
    """Item 1: segments of one channel less than ``ipu_gap_ms`` apart are one IPU."""
    ipus: list[Interval] = []
    for start, end in segments:
        if ipus and start - ipus[-1][1] < limits.ipu_gap_ms:
            ipus[-1] = (ipus[-1][0], end)
        else:
            ipus.append((start, end))
    return ipus


def span_of(ipus: Sequence[Interval]) -> Span:
    """Return the stretch from the first IPU's start to the last one's end."""
    return Span(start=ipus[0][0], end=ipus[-1][1], ipus=tuple(ipus))


# Item 3 and 4: groups, utterances, turns. (a) in this order:
# IPUs, groups, loss of short groups, utterances, loss of short utterances, turns.


def build_groups(agent_ipus: Sequence[Interval], limits: Limits) -> list[Span]:
    """Item 3: agent IPUs joined over pauses <= ``agent_pause_join_ms``, whoever speaks there."""
    groups: list[Span] = []
    for ipu in agent_ipus:
        if groups and ipu[0] - groups[-1].end <= limits.agent_pause_join_ms:
            groups[-1] = span_of((*groups[-1].ipus, ipu))
        else:
            groups.append(span_of([ipu]))
    return groups


def holds_a_group(pause: Interval, groups: Sequence[Span], limits: Limits) -> bool:
    """Item 4: does an agent group lie wholly inside this pause of the caller?"""
    slack = limits.wholly_inside_slack_ms
    for group in groups:
        if group.start >= pause[0] - slack and group.end <= pause[1] + slack:
            return True
    return False


def build_utterances(
    caller_ipus: Sequence[Interval], groups: Sequence[Span], limits: Limits
) -> list[Span]:
    """Item 4: caller IPUs joined over pauses <= ``caller_pause_join_ms``.

    Also where the agent began to speak in the pause, unless an agent group lies wholly inside.
    """
    utterances: list[Span] = []
    for ipu in caller_ipus:
        if utterances:
            pause = (utterances[-1].end, ipu[0])
            if pause[1] - pause[0] <= limits.caller_pause_join_ms and not holds_a_group(
                pause, groups, limits
            ):
                utterances[-1] = span_of((*utterances[-1].ipus, ipu))
                continue
        utterances.append(span_of([ipu]))
    return utterances


def keep_voiced(spans: Sequence[Span], limits: Limits) -> list[Span]:
    """Item 4: less than ``min_voiced_ms`` of sound is a click or a cough: dropped."""
    return [span for span in spans if span.voiced >= limits.min_voiced_ms]


def caller_sounds_in(pause: Interval, utterances: Sequence[Span]) -> bool:
    """Return whether an IPU of a kept utterance sounds anywhere in the pause."""
    for utterance in utterances:
        for start, end in utterance.ipus:
            if start < pause[1] and end > pause[0]:
                return True
    return False


def build_turns(groups: Sequence[Span], utterances: Sequence[Span]) -> list[Span]:
    """Item 3: groups joined over any pause throughout which the caller was silent."""
    turns: list[Span] = []
    for group in groups:
        if turns and not caller_sounds_in((turns[-1].end, group.start), utterances):
            turns[-1] = span_of((*turns[-1].ipus, *group.ipus))
        else:
            turns.append(group)
    return turns


# Item 5: talk-over.


def shared_overlap(one: Span, other: Span) -> int:
    """Return how long both are under way, negative where they do not meet. (b)"""
    return min(one.end, other.end) - max(one.start, other.start)


def find_talk_overs(
    turns: Sequence[Span], utterances: Sequence[Span], limits: Limits
) -> list[TalkOver]:
    """Item 5: every agent turn onset ``a`` inside a caller utterance, ``s <= a < e``."""
    return [
        judge_talk_over(turn, utterance, limits)
        for turn in turns
        for utterance in utterances
        if utterance.start <= turn.start < utterance.end
    ]


def judge_talk_over(turn: Span, utterance: Span, limits: Limits) -> TalkOver:
    """Item 5: decide what this onset inside this utterance is."""
    value = utterance.end - turn.start
    # (b) only the onset side s <= a < e can be a talk-over, so only it can be excused.
    simultaneous = (
        abs(turn.start - utterance.start) < limits.simultaneous_start_ms
        and shared_overlap(turn, utterance) < limits.simultaneous_overlap_ms
    )
    sounding = any(start <= turn.start < end for start, end in utterance.ipus)
    inside = turn.start >= utterance.start and turn.end <= utterance.end
    return TalkOver(
        at_ms=turn.start,
        caller_end_ms=utterance.end,
        value_ms=value,
        margin_ms=value - limits.talk_over_ms,
        kind="over_speech" if sounding else "cut_in",
        short=inside and turn.end - turn.start <= limits.short_turn_ms,
        simultaneous=simultaneous,
        counted=value >= limits.talk_over_ms and not simultaneous,
    )


# Item 6: the reply to one caller utterance, decided in the order of the text. (f)


def find_reply(
    utterance: Span,
    following: Span | None,
    groups: Sequence[Span],
    window: Interval,
    limits: Limits,
    end_call_times: Sequence[int],
) -> Reply:
    """Item 6: decide what became of the utterance ``[s, e)``; ``following`` is the next one."""
    s, e = utterance.start, utterance.end

    for group in groups:
        if (
            abs(group.start - s) < limits.simultaneous_start_ms
            and shared_overlap(group, utterance) < limits.simultaneous_overlap_ms
        ):
            return Reply(start=s, end=e, status="simultaneous")

    for group in groups:
        if s < group.start < e and group.end > e:
            return Reply(start=s, end=e, status="replied", latency_ms=0)

    sounding_at_start = None
    for group in groups:
        if group.start <= s < group.end:  # (c)
            sounding_at_start = group

    if sounding_at_start is not None and sounding_at_start.end > e:
        is_short = e - s <= limits.backchannel_max_ms
        goes_on = sounding_at_start.end >= e + limits.overrun_ms  # (c)
        if is_short or goes_on:
            return Reply(start=s, end=e, status="overlapped")

    clock = e
    if sounding_at_start is not None and sounding_at_start.end > e:
        clock = sounding_at_start.end
    return read_clock(utterance, clock, following, groups, window, limits, end_call_times)


def first_onset_from(clock: int, groups: Sequence[Span]) -> int | None:
    """Return the first agent group onset at or after the clock."""
    for group in groups:
        if group.start >= clock:
            return group.start
    return None


def read_clock(
    utterance: Span,
    clock: int,
    following: Span | None,
    groups: Sequence[Span],
    window: Interval,
    limits: Limits,
    end_call_times: Sequence[int],
) -> Reply:
    """Item 6, last case: what comes next after the clock has started."""
    s, e = utterance.start, utterance.end
    onset = first_onset_from(clock, groups)

    # (e) item 2: a tool that ends or hands over the call censors the wait that it cuts short.
    for time in sorted(end_call_times):
        answered_before = onset is not None and onset <= time
        if s <= time <= e + limits.end_call_censors_ms and not answered_before:
            heard = window[1] if following is None else following.start
            waited = max(0, min(time, heard, window[1]) - clock)
            return Reply(start=s, end=e, status="censored", clock_ms=clock, waited_ms=waited)

    # (d) the agent's onset wins a tie with the next utterance.
    if onset is not None and (following is None or onset <= following.start):
        return Reply(start=s, end=e, status="replied", clock_ms=clock, latency_ms=onset - clock)

    if following is not None:
        wait = following.start - clock
        status = "no_reply" if wait > limits.slow_turn_ms else "censored"
    else:
        wait = window[1] - clock
        status = "no_reply" if wait >= limits.slow_turn_ms else "censored"
    return Reply(start=s, end=e, status=status, clock_ms=clock, waited_ms=max(0, wait))


def find_replies(
    utterances: Sequence[Span],
    groups: Sequence[Span],
    window: Interval,
    limits: Limits,
    end_call_times: Sequence[int],
) -> list[Reply]:
    """Item 6 for each utterance in turn."""
    replies: list[Reply] = []
    for position, utterance in enumerate(utterances):
        is_last = position == len(utterances) - 1
        following = None if is_last else utterances[position + 1]
        replies.append(find_reply(utterance, following, groups, window, limits, end_call_times))
    return replies


# Item 7 and the event table of section 2.


def twice_median(replies: Sequence[Reply]) -> int | None:
    """Item 7: twice the median latency of replied utterances, or None without any."""
    latencies = sorted(reply.latency_ms for reply in replies if reply.latency_ms is not None)
    if not latencies:
        return None
    middle = len(latencies) // 2
    if len(latencies) % 2 == 1:
        return 2 * latencies[middle]
    return latencies[middle - 1] + latencies[middle]


def find_events(
    replies: Sequence[Reply],
    talk_overs: Sequence[TalkOver],
    n_turns: int,
    twice_median_ms: int | None,
    limits: Limits,
) -> dict[str, int]:
    """Return the count of occurrences of each timing event that is present, by name."""
    events: dict[str, int] = {}

    if twice_median_ms is not None and twice_median_ms > 2 * limits.slow_median_ms:
        events["slow_median"] = 1

    slow = 0
    for reply in replies:
        late = reply.latency_ms is not None and reply.latency_ms > limits.slow_turn_ms
        if late or reply.status == "no_reply":
            slow += 1
    if slow:
        events["slow_turn"] = slow

    # (g) on at least the share of agent turns and at least the count; it replaces talk_over.
    count = sum(1 for each in talk_overs if each.counted)
    numerator, denominator = limits.repeated_share
    if count >= limits.repeated_min_count and count * denominator >= n_turns * numerator:
        events["repeated_talk_over"] = count
    elif count >= 1:
        events["talk_over"] = count
    return events


def measure(
    caller: Sequence[Interval],
    agent: Sequence[Interval],
    window: Interval,
    limits: Limits,
    end_call_times: Sequence[int] = (),
) -> Timeline:
    """Return the whole timeline of one call, in the order (a)."""
    caller_ipus = build_ipus(clip_and_unite(caller, window), limits)
    agent_ipus = build_ipus(clip_and_unite(agent, window), limits)
    all_groups = build_groups(agent_ipus, limits)
    groups = keep_voiced(all_groups, limits)
    all_utterances = build_utterances(caller_ipus, groups, limits)
    utterances = keep_voiced(all_utterances, limits)
    turns = build_turns(groups, utterances)
    talk_overs = find_talk_overs(turns, utterances, limits)
    replies = find_replies(utterances, groups, window, limits, end_call_times)
    median = twice_median(replies)
    return Timeline(
        caller_ipus=tuple(caller_ipus),
        agent_ipus=tuple(agent_ipus),
        groups=tuple(groups),
        turns=tuple(turns),
        utterances=tuple(utterances),
        dropped_groups=len(all_groups) - len(groups),
        dropped_utterances=len(all_utterances) - len(utterances),
        talk_overs=tuple(talk_overs),
        replies=tuple(replies),
        twice_median_latency_ms=median,
        events=find_events(replies, talk_overs, len(turns), median, limits),
    )


# Item 8: which limits the result hangs on.


def outcome(timeline: Timeline) -> tuple[object, ...]:
    """Return what a moved limit must not change: statuses, counts and the events present."""
    return (
        tuple(reply.status for reply in timeline.replies),
        len(timeline.utterances),
        len(timeline.turns),
        len(timeline.counted_talk_overs),
        tuple(sorted(timeline.events)),
    )


def fragile_limits(
    caller: Sequence[Interval],
    agent: Sequence[Interval],
    window: Interval,
    limits: Limits,
    uncertainty_ms: int,
    end_call_times: Sequence[int] = (),
) -> set[str]:
    """Item 8: the structural limits whose move by +- ``uncertainty_ms`` changes the outcome."""
    as_written = outcome(measure(caller, agent, window, limits, end_call_times))
    fragile: set[str] = set()
    for name in STRUCTURAL_LIMITS:
        for move in (-uncertainty_ms, uncertainty_ms):
            moved = replace(limits, **{name: getattr(limits, name) + move})
            if outcome(measure(caller, agent, window, moved, end_call_times)) != as_written:
                fragile.add(name)
    return fragile
