"""Hand-made timelines with hand-computed answers: protocol 0.1, section 3, sentence by sentence.

Data only, so that the slow loop and the vectorised engine are held to the same cases. A field
that is None is not what the case is about and is not compared.
"""

from __future__ import annotations

from dataclasses import dataclass

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCase:
    """What became of an utterance; ``ms`` is the latency or the wait, None where there is none."""

    status: str
    ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingCase:
    """An agent turn that begins inside a caller utterance."""

    at_ms: int
    value_ms: int
    kind: str = "over_speech"
    short: bool = False
    simultaneous: bool = False
    counted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineCase:
    """One call in the notation, and the answers that section 3 gives for it."""

    id: str
    notation: str
    window: Interval
    end_call_times: tuple[int, ...] = ()
    moved_limits: tuple[tuple[str, int], ...] = ()
    caller_ipus: tuple[Interval, ...] | None = None
    agent_ipus: tuple[Interval, ...] | None = None
    groups: tuple[Interval, ...] | None = None
    utterances: tuple[Interval, ...] | None = None
    turns: tuple[Interval, ...] | None = None
    dropped_groups: int | None = None
    dropped_utterances: int | None = None
    landings: tuple[LandingCase, ...] | None = None
    replies: tuple[ReplyCase, ...] | None = None
    twice_median_latency_ms: int | None = None
    has_no_median: bool = False
    events: dict[str, int] | None = None


def _replied(ms: int) -> ReplyCase:
    return ReplyCase(status="replied", ms=ms)


def _no_reply(ms: int) -> ReplyCase:
    return ReplyCase(status="no_reply", ms=ms)


def _censored(ms: int) -> ReplyCase:
    return ReplyCase(status="censored", ms=ms)


_OVERLAPPED = ReplyCase(status="overlapped")
_SIMULTANEOUS = ReplyCase(status="simultaneous")


FIELD_CASES = (
    TimelineCase(
        id="BASE has one slow turn and a slow median and no talk-over",
        notation="C 1000-2000 5000-6000 | A 2800-4000 9200-10000",
        window=(0, 11000),
        utterances=((1000, 2000), (5000, 6000)),
        turns=((2800, 4000), (9200, 10000)),
        landings=(),
        replies=(_replied(800), _replied(3200)),
        twice_median_latency_ms=4000,
        events={"slow_turn": 1, "slow_median": 1},
    ),
    TimelineCase(
        id="OVL has one talk-over of 600 ms and an overlapping reply",
        notation="C 1000-3000 | A 2400-4000",
        window=(0, 6000),
        landings=(LandingCase(at_ms=2400, value_ms=600),),
        replies=(_replied(0),),
        twice_median_latency_ms=0,
        events={"talk_over": 1},
    ),
    TimelineCase(
        id="F05 a third voice on the caller side hides the slow turn",
        notation="C 1000-2000 5000-6000 6500-8500 | A 2800-4000 9200-10000",
        window=(0, 11000),
        utterances=((1000, 2000), (5000, 8500)),
        replies=(_replied(800), _replied(700)),
        events={},
    ),
    TimelineCase(
        id="F09 a caller track 500 ms late reads 300 and 2700",
        notation="C 1500-2500 5500-6500 | A 2800-4000 9200-10000",
        window=(0, 11000),
        replies=(_replied(300), _replied(2700)),
        twice_median_latency_ms=3000,
        events={},
    ),
    TimelineCase(
        id="F13 a gap shortened by 400 ms takes the slow turn away",
        notation="C 1000-2000 5000-6000 | A 2800-4000 8800-9600",
        window=(0, 10600),
        replies=(_replied(800), _replied(2800)),
        events={"slow_median": 1},
    ),
    TimelineCase(
        id="F21 BASE cut at 8.0 s leaves the second wait censored",
        notation="C 1000-2000 5000-6000 | A 2800-4000",
        window=(0, 8000),
        replies=(_replied(800), _censored(2000)),
        twice_median_latency_ms=1600,
        events={},
    ),
    TimelineCase(
        id="F31 BASE behind 6 s of ringback keeps its latencies",
        notation="C 7000-8000 11000-12000 | A 8800-10000 15200-16000",
        window=(0, 17000),
        replies=(_replied(800), _replied(3200)),
        events={"slow_turn": 1, "slow_median": 1},
    ),
    TimelineCase(
        id="F36 a 150 ms noise on the caller side during the agent makes no event",
        notation="C 1000-2000 3400-3550 5000-6000 | A 2800-4000 9200-10000",
        window=(0, 11000),
        utterances=((1000, 2000), (5000, 6000)),
        dropped_utterances=1,
        replies=(_replied(800), _replied(3200)),
        events={"slow_turn": 1, "slow_median": 1},
    ),
    TimelineCase(
        id="F37 an answer of 300 ms starts the latency clock",
        notation="C 1000-2000 5000-5300 | A 2800-4000 9200-10000",
        window=(0, 11000),
        replies=(_replied(800), _replied(3900)),
        events={"slow_turn": 1, "slow_median": 1},
    ),
    TimelineCase(
        id="F37 an answer of 240 ms still starts the latency clock",
        notation="C 1000-2000 5000-5240 | A 2800-4000 9200-10000",
        window=(0, 11000),
        replies=(_replied(800), _replied(3960)),
        events={"slow_turn": 1, "slow_median": 1},
    ),
    TimelineCase(
        id="F47 a text and a tool answer with no caller between are one reply and one turn",
        notation="C 1000-2000 | A 2800-4000 4600-5500",
        window=(0, 7000),
        groups=((2800, 4000), (4600, 5500)),
        turns=((2800, 5500),),
        replies=(_replied(800),),
        events={},
    ),
)

ITEM_1_IPUS = (
    TimelineCase(
        id="1 segments 99 ms apart are one IPU",
        notation="C 1000-1500 1599-2000",
        window=(0, 3000),
        caller_ipus=((1000, 2000),),
    ),
    TimelineCase(
        id="1 segments 100 ms apart are two IPUs of one utterance",
        notation="C 1000-1500 1600-2000",
        window=(0, 3000),
        caller_ipus=((1000, 1500), (1600, 2000)),
        utterances=((1000, 2000),),
    ),
    TimelineCase(
        id="1 agent segments 99 ms apart are one IPU and 100 ms apart two",
        notation="A 1000-1500 1599-2000 2100-2600",
        window=(0, 3000),
        agent_ipus=((1000, 2000), (2100, 2600)),
        groups=((1000, 2600),),
    ),
    TimelineCase(
        id="1 touching segments are one IPU",
        notation="C 1000-1500 1500-2000",
        window=(0, 3000),
        caller_ipus=((1000, 2000),),
    ),
    TimelineCase(
        id="1 overlapping segments of one channel are united and a contained one adds nothing",
        notation="C 1000-2000 1200-1300 1900-2500",
        window=(0, 3000),
        caller_ipus=((1000, 2500),),
    ),
    TimelineCase(
        id="1 an empty segment is nothing",
        notation="C 1000-1000 | A 2000-2000",
        window=(0, 3000),
        caller_ipus=(),
        agent_ipus=(),
        dropped_groups=0,
        dropped_utterances=0,
        has_no_median=True,
        events={},
    ),
)

ITEM_2_WINDOW = (
    TimelineCase(
        id="2 segments are cut at both edges of the scored window",
        notation="C 500-2000 | A 2500-9000",
        window=(1000, 4000),
        utterances=((1000, 2000),),
        turns=((2500, 4000),),
        replies=(_replied(500),),
    ),
    TimelineCase(
        id="2 speech after the window is closed answers nobody",
        notation="C 1000-2000 | A 3500-4500",
        window=(0, 3500),
        turns=(),
        replies=(_censored(1500),),
        has_no_median=True,
    ),
    TimelineCase(
        id="2 speech before the window opens is not there",
        notation="C 1000-2000 3000-4000 | A 4500-5500",
        window=(2000, 6000),
        utterances=((3000, 4000),),
        replies=(_replied(500),),
    ),
    TimelineCase(
        id="2 a window of no length holds nothing",
        notation="C 1000-2000 | A 1500-2500",
        window=(1800, 1800),
        utterances=(),
        turns=(),
        replies=(),
        landings=(),
        has_no_median=True,
        events={},
    ),
    TimelineCase(
        id="2 an utterance of which the window leaves 199 ms is dropped",
        notation="C 1000-2000 | A 2500-3500",
        window=(1801, 4000),
        utterances=(),
        dropped_utterances=1,
    ),
    TimelineCase(
        id="2 an utterance of which the window leaves 200 ms is kept",
        notation="C 1000-2000 | A 2500-3500",
        window=(1800, 4000),
        utterances=((1800, 2000),),
        dropped_utterances=0,
    ),
    TimelineCase(
        id="2 a call-ending tool 3000 ms after the utterance censors the wait",
        notation="C 1000-2000",
        window=(0, 9000),
        end_call_times=(5000,),
        replies=(_censored(3000),),
        events={},
    ),
    TimelineCase(
        id="2 a call-ending tool 3001 ms after the utterance does not censor the wait",
        notation="C 1000-2000",
        window=(0, 9000),
        end_call_times=(5001,),
        replies=(_no_reply(7000),),
        events={"slow_turn": 1},
    ),
    TimelineCase(
        id="2 a call-ending tool censors a wait that a late agent onset would have ended",
        notation="C 1000-2000 | A 6000-7000",
        window=(0, 9000),
        end_call_times=(2500,),
        replies=(_censored(500),),
        has_no_median=True,
        events={},
    ),
    TimelineCase(
        id="2 a call-ending tool after the agent has answered censors nothing",
        notation="C 1000-2000 | A 2400-3000",
        window=(0, 9000),
        end_call_times=(2600,),
        replies=(_replied(400),),
    ),
    TimelineCase(
        id="2 a call-ending tool at the very onset of the answer censors nothing",
        notation="C 1000-2000 | A 2400-3000",
        window=(0, 9000),
        end_call_times=(2400,),
        replies=(_replied(400),),
    ),
    TimelineCase(
        id="2 a call-ending tool 1 ms before the onset of the answer censors it",
        notation="C 1000-2000 | A 2400-3000",
        window=(0, 9000),
        end_call_times=(2399,),
        replies=(_censored(399),),
    ),
    TimelineCase(
        id="2 a call-ending tool during the utterance leaves a censored wait of 0",
        notation="C 1000-2000",
        window=(0, 9000),
        end_call_times=(1000,),
        replies=(_censored(0),),
    ),
    TimelineCase(
        id="2 a call-ending tool before the utterance censors nothing",
        notation="C 1000-2000",
        window=(0, 9000),
        end_call_times=(999,),
        replies=(_no_reply(7000),),
    ),
    TimelineCase(
        id="2 the 3000 ms of a call-ending tool count from the utterance's end, not the clock",
        notation="A 500-2500 | C 1000-2100",
        window=(0, 9000),
        end_call_times=(5101,),
        replies=(_no_reply(6500),),
    ),
    TimelineCase(
        id="2 the wait that a call-ending tool censors counts from the clock",
        notation="A 500-2500 | C 1000-2100",
        window=(0, 9000),
        end_call_times=(5100,),
        replies=(_censored(2600),),
    ),
    TimelineCase(
        id="2 the first of two call-ending tools counts",
        notation="C 1000-2000",
        window=(0, 9000),
        end_call_times=(4000, 3000),
        replies=(_censored(1000),),
    ),
    TimelineCase(
        id="2 a call-ending tool does not undo an overlapping reply",
        notation="C 1000-3000 | A 2700-4000",
        window=(0, 9000),
        end_call_times=(3500,),
        replies=(_replied(0),),
    ),
    TimelineCase(
        id="2 a call-ending tool censors also the wait that the caller's next utterance ends",
        notation="C 1000-2000 6000-7000 | A 7500-8500",
        window=(0, 9000),
        end_call_times=(3000,),
        replies=(_censored(1000), _replied(500)),
        events={},
    ),
)

ITEM_3_GROUPS_AND_TURNS = (
    TimelineCase(
        id="3 agent IPUs over a pause of 500 ms are one group",
        notation="A 1000-2000 2500-3500",
        window=(0, 4000),
        groups=((1000, 3500),),
    ),
    TimelineCase(
        id="3 agent IPUs over a pause of 501 ms are two groups and one turn while nobody speaks",
        notation="A 1000-2000 2501-3500",
        window=(0, 4000),
        groups=((1000, 2000), (2501, 3500)),
        turns=((1000, 3500),),
    ),
    TimelineCase(
        id="3 a group goes on over 500 ms although the caller speaks in the pause",
        notation="A 1000-2000 2500-3500 | C 2100-2400",
        window=(0, 4000),
        groups=((1000, 3500),),
        turns=((1000, 3500),),
        landings=(),
    ),
    TimelineCase(
        id="3 a turn ends where the caller speaks in a pause of 501 ms",
        notation="A 1000-2000 2501-3500 | C 2100-2400",
        window=(0, 4000),
        turns=((1000, 2000), (2501, 3500)),
    ),
    TimelineCase(
        id="3 a turn goes on over any pause throughout which the caller is silent",
        notation="A 1000-2000 9000-9500 | C 200-700",
        window=(0, 10000),
        turns=((1000, 9500),),
    ),
    TimelineCase(
        id="3 a caller who stops as the pause begins was silent throughout",
        notation="A 1000-2000 3000-4000 | C 1200-2000",
        window=(0, 5000),
        turns=((1000, 4000),),
    ),
    TimelineCase(
        id="3 a caller who stops 1 ms into the pause was not silent throughout",
        notation="A 1000-2000 3000-4000 | C 1200-2001",
        window=(0, 5000),
        turns=((1000, 2000), (3000, 4000)),
    ),
    TimelineCase(
        id="3 a caller who begins as the pause ends was silent throughout",
        notation="A 1000-2000 3000-4000 | C 3000-3500",
        window=(0, 5000),
        turns=((1000, 4000),),
    ),
    TimelineCase(
        id="3 a caller who begins 1 ms before the pause ends was not silent throughout",
        notation="A 1000-2000 3000-4000 | C 2999-3500",
        window=(0, 5000),
        turns=((1000, 2000), (3000, 4000)),
    ),
    TimelineCase(
        id="3 a cough of 199 ms in the agent's pause does not end the turn",
        notation="A 1000-2000 3000-4000 | C 2400-2599",
        window=(0, 5000),
        turns=((1000, 4000),),
        dropped_utterances=1,
    ),
    TimelineCase(
        id="3 an utterance of 200 ms in the agent's pause ends the turn",
        notation="A 1000-2000 3000-4000 | C 2400-2600",
        window=(0, 5000),
        turns=((1000, 2000), (3000, 4000)),
        dropped_utterances=0,
    ),
    TimelineCase(
        id="3 two groups in one pause of a hesitant caller are one turn",
        notation="C 1000-2000 2950-4000 | A 2010-2215 2720-2930",
        window=(0, 5000),
        groups=((2010, 2215), (2720, 2930)),
        utterances=((1000, 2000), (2950, 4000)),
        turns=((2010, 2930),),
        landings=(),
    ),
    TimelineCase(
        id="3 a second group that begins while the caller pauses is no second onset",
        notation="C 1000-2000 2900-4000 | A 1500-2100 2700-3300",
        window=(0, 6000),
        utterances=((1000, 4000),),
        groups=((1500, 2100), (2700, 3300)),
        turns=((1500, 3300),),
        landings=(LandingCase(at_ms=1500, value_ms=2500),),
        replies=(_censored(2000),),
    ),
)

ITEM_4_UTTERANCES = (
    TimelineCase(
        id="4 caller IPUs over a pause of 1000 ms are one utterance",
        notation="C 1000-2000 3000-4000",
        window=(0, 5000),
        utterances=((1000, 4000),),
    ),
    TimelineCase(
        id="4 caller IPUs over a pause of 1001 ms are two utterances",
        notation="C 1000-2000 3001-4000",
        window=(0, 5000),
        utterances=((1000, 2000), (3001, 4000)),
        replies=(_censored(1001), _censored(1000)),
    ),
    TimelineCase(
        id="4 an agent who begins in the pause does not end the utterance",
        notation="C 1000-2000 2800-4000 | A 2400-3200",
        window=(0, 6000),
        utterances=((1000, 4000),),
        landings=(LandingCase(at_ms=2400, value_ms=1600, kind="cut_in", short=True),),
    ),
    TimelineCase(
        id="4 a group wholly inside the pause ends the utterance",
        notation="C 1000-2000 2800-4000 | A 2200-2600",
        window=(0, 6000),
        utterances=((1000, 2000), (2800, 4000)),
        replies=(_replied(200), _censored(2000)),
    ),
    TimelineCase(
        id="4 a group that fills the pause from edge to edge is wholly inside it",
        notation="C 1000-2000 2800-4000 | A 2000-2800",
        window=(0, 6000),
        utterances=((1000, 2000), (2800, 4000)),
        replies=(_replied(0), _censored(2000)),
        landings=(),
    ),
    TimelineCase(
        id="4 a group that begins 1 ms before the pause is not wholly inside it",
        notation="C 1000-2000 2800-4000 | A 1999-2800",
        window=(0, 6000),
        utterances=((1000, 4000),),
        landings=(LandingCase(at_ms=1999, value_ms=2001, short=True),),
    ),
    TimelineCase(
        id="4 a group that ends 1 ms after the pause is not wholly inside it",
        notation="C 1000-2000 2800-4000 | A 2000-2801",
        window=(0, 6000),
        utterances=((1000, 4000),),
        landings=(LandingCase(at_ms=2000, value_ms=2000, kind="cut_in", short=True),),
    ),
    TimelineCase(
        id="4 two groups of which one lies wholly inside the pause end the utterance",
        notation="C 1000-2000 2990-4000 | A 1500-2050 2600-2900",
        window=(0, 6000),
        utterances=((1000, 2000), (2990, 4000)),
    ),
    TimelineCase(
        id="4 an agent click of 199 ms in the pause does not end the utterance",
        notation="C 1000-2000 2800-4000 | A 2200-2399",
        window=(0, 6000),
        utterances=((1000, 4000),),
        dropped_groups=1,
        turns=(),
        landings=(),
    ),
    TimelineCase(
        id="4 an agent group of 200 ms in the pause ends the utterance",
        notation="C 1000-2000 2800-4000 | A 2200-2400",
        window=(0, 6000),
        utterances=((1000, 2000), (2800, 4000)),
        dropped_groups=0,
    ),
    TimelineCase(
        id="4 an utterance of 199 ms of sound is a cough, dropped and counted",
        notation="C 1000-1199 | A 2000-3000",
        window=(0, 6000),
        utterances=(),
        dropped_utterances=1,
        replies=(),
        has_no_median=True,
    ),
    TimelineCase(
        id="4 an utterance of 200 ms of sound is kept",
        notation="C 1000-1200 | A 2000-3000",
        window=(0, 6000),
        utterances=((1000, 1200),),
        dropped_utterances=0,
        replies=(_replied(800),),
    ),
    TimelineCase(
        id="4 sound is counted without the pauses: 100 and 99 ms over a pause are dropped",
        notation="C 1000-1100 1900-1999 | A 3000-4000",
        window=(0, 6000),
        utterances=(),
        dropped_utterances=1,
    ),
    TimelineCase(
        id="4 sound adds up over pauses: 100 and 100 ms are kept",
        notation="C 1000-1100 1900-2000 | A 3000-4000",
        window=(0, 6000),
        utterances=((1000, 2000),),
        replies=(_replied(1000),),
    ),
    TimelineCase(
        id="4 agent sound is counted without the pauses: 100 and 99 ms are dropped",
        notation="A 1000-1100 1400-1499",
        window=(0, 6000),
        groups=(),
        turns=(),
        dropped_groups=1,
    ),
    TimelineCase(
        id="4 agent sound adds up over pauses: 100 and 100 ms are kept",
        notation="A 1000-1100 1400-1500",
        window=(0, 6000),
        groups=((1000, 1500),),
        turns=((1000, 1500),),
        dropped_groups=0,
    ),
    TimelineCase(
        id="4 the gap inside an IPU is sound: 80 and 80 ms over 40 ms are kept",
        notation="C 1000-1080 1120-1200 | A 2000-3000",
        window=(0, 6000),
        caller_ipus=((1000, 1200),),
        utterances=((1000, 1200),),
    ),
    TimelineCase(
        id="4 a cough within 1000 ms of speech belongs to the utterance",
        notation="C 1000-2000 2900-3000 | A 3500-4500",
        window=(0, 6000),
        utterances=((1000, 3000),),
        dropped_utterances=0,
        replies=(_replied(500),),
    ),
    TimelineCase(
        id="4 a dropped click between two groups brings them no nearer",
        notation="A 1000-2000 2501-2600 3101-4000",
        window=(0, 6000),
        groups=((1000, 2000), (3101, 4000)),
        dropped_groups=1,
        turns=((1000, 4000),),
    ),
)

ITEM_5_TALK_OVER = (
    TimelineCase(
        id="5 an onset 500 ms before the caller's end is a talk-over",
        notation="C 1000-3000 | A 2500-4000",
        window=(0, 6000),
        landings=(LandingCase(at_ms=2500, value_ms=500),),
        events={"talk_over": 1},
    ),
    TimelineCase(
        id="5 an onset 499 ms before the caller's end is a near miss",
        notation="C 1000-3000 | A 2501-4000",
        window=(0, 6000),
        landings=(LandingCase(at_ms=2501, value_ms=499, counted=False),),
        events={},
    ),
    TimelineCase(
        id="5 an onset at the caller's end is not inside the utterance",
        notation="C 1000-3000 | A 3000-4000",
        window=(0, 6000),
        landings=(),
        replies=(_replied(0),),
    ),
    TimelineCase(
        id="5 a turn already running when the caller starts is a barge-in",
        notation="A 700-4000 | C 1000-3000",
        window=(0, 6000),
        landings=(),
        events={},
    ),
    TimelineCase(
        id="5 both start together and share 999 ms: simultaneous, no talk-over",
        notation="C 1000-3000 | A 1000-1999",
        window=(0, 6000),
        landings=(
            LandingCase(at_ms=1000, value_ms=2000, short=True, simultaneous=True, counted=False),
        ),
        replies=(_SIMULTANEOUS,),
        has_no_median=True,
        events={},
    ),
    TimelineCase(
        id="5 both start together and share 1000 ms: the agent has talked over the caller",
        notation="C 1000-3000 | A 1000-2000",
        window=(0, 5000),
        landings=(LandingCase(at_ms=1000, value_ms=2000, short=True),),
        events={"talk_over": 1},
    ),
    TimelineCase(
        id="5 an onset 199 ms after the caller's is a simultaneous start",
        notation="C 1000-3000 | A 1199-1900",
        window=(0, 6000),
        landings=(
            LandingCase(at_ms=1199, value_ms=1801, short=True, simultaneous=True, counted=False),
        ),
        replies=(_SIMULTANEOUS,),
    ),
    TimelineCase(
        id="5 an onset 200 ms after the caller's is no simultaneous start",
        notation="C 1000-3000 | A 1200-1900",
        window=(0, 6000),
        landings=(LandingCase(at_ms=1200, value_ms=1800, short=True),),
        replies=(_no_reply(3000),),
        events={"talk_over": 1, "slow_turn": 1},
    ),
    TimelineCase(
        id="5 an onset 199 ms before the caller's is a simultaneous start without a landing",
        notation="C 1199-3000 | A 1000-2100",
        window=(0, 6000),
        landings=(),
        replies=(_SIMULTANEOUS,),
    ),
    TimelineCase(
        id="5 an onset where the caller sounds is over speech, at the last ms of sound too",
        notation="C 1000-2000 2900-4000 | A 1999-3200",
        window=(0, 6000),
        landings=(LandingCase(at_ms=1999, value_ms=2001),),
    ),
    TimelineCase(
        id="5 an onset as the caller's pause begins is a cut-in",
        notation="C 1000-2000 2900-4000 | A 2000-3200",
        window=(0, 6000),
        landings=(LandingCase(at_ms=2000, value_ms=2000, kind="cut_in"),),
    ),
    TimelineCase(
        id="5 an onset as the caller goes on is over speech",
        notation="C 1000-2000 2900-4000 | A 2900-3950",
        window=(0, 6000),
        landings=(LandingCase(at_ms=2900, value_ms=1100),),
    ),
    TimelineCase(
        id="5 an onset in a gap of 99 ms is over speech, the caller's IPU goes on",
        notation="C 1000-2000 2099-4000 | A 2050-3200",
        window=(0, 6000),
        landings=(LandingCase(at_ms=2050, value_ms=1950),),
    ),
    TimelineCase(
        id="5 a turn of 1000 ms wholly inside the utterance is short",
        notation="C 1000-5000 | A 2000-3000",
        window=(0, 6000),
        landings=(LandingCase(at_ms=2000, value_ms=3000, short=True),),
        events={"talk_over": 1},
    ),
    TimelineCase(
        id="5 a turn of 1001 ms inside the utterance is not short",
        notation="C 1000-5000 | A 2000-3001",
        window=(0, 6000),
        landings=(LandingCase(at_ms=2000, value_ms=3000),),
    ),
    TimelineCase(
        id="5 a turn that ends with the utterance is wholly inside it",
        notation="C 1000-5000 | A 4200-5000",
        window=(0, 6000),
        landings=(LandingCase(at_ms=4200, value_ms=800, short=True),),
    ),
    TimelineCase(
        id="5 a turn that ends 1 ms after the utterance is not short",
        notation="C 1000-5000 | A 4200-5001",
        window=(0, 6000),
        landings=(LandingCase(at_ms=4200, value_ms=800),),
    ),
    TimelineCase(
        id="5 it is the turn and not its first group that must be short",
        notation="C 1000-3000 | A 2200-2600 4000-5000",
        window=(0, 6000),
        groups=((2200, 2600), (4000, 5000)),
        turns=((2200, 2600), (4000, 5000)),
        landings=(LandingCase(at_ms=2200, value_ms=800, short=True),),
        replies=(_replied(1000),),
    ),
    TimelineCase(
        id="5 a turn whose second group follows in the caller's pause has its whole length",
        notation="C 1000-2000 2950-4500 | A 1750-2100 2650-3200",
        window=(0, 6000),
        turns=((1750, 3200),),
        landings=(LandingCase(at_ms=1750, value_ms=2750),),
    ),
    TimelineCase(
        id="5 the whole turn shares 1000 ms although its first group stops early: a talk-over",
        notation="C 1000-1500 2400-3500 | A 1100-1550 2100-2500",
        window=(0, 5000),
        utterances=((1000, 3500),),
        turns=((1100, 2500),),
        landings=(LandingCase(at_ms=1100, value_ms=2400),),
        replies=(_SIMULTANEOUS,),
        events={"talk_over": 1},
    ),
    TimelineCase(
        id="5 a group that starts with the caller after a silent pause continues the agent's turn",
        notation="C 5000-8000 | A 2400-4000 5000-7000",
        window=(0, 9000),
        turns=((2400, 7000),),
        landings=(),
        replies=(_censored(1000),),
        events={},
    ),
    TimelineCase(
        id="5 an onset 500 ms before the end of a late second utterance counts there",
        notation="C 1000-2000 5000-7000 | A 2500-3500 6500-8000",
        window=(0, 9000),
        landings=(LandingCase(at_ms=6500, value_ms=500),),
        replies=(_replied(500), _replied(0)),
        events={"talk_over": 1},
    ),
)

ITEM_6_REPLIES = (
    TimelineCase(
        id="6 simultaneous comes before an overlapping reply",
        notation="C 1000-1800 | A 1100-3000",
        window=(0, 6000),
        landings=(LandingCase(at_ms=1100, value_ms=700, simultaneous=True, counted=False),),
        replies=(_SIMULTANEOUS,),
    ),
    TimelineCase(
        id="6 a simultaneous start that shares 1000 ms and goes on is an overlapping reply",
        notation="C 1000-2100 | A 1100-3000",
        window=(0, 6000),
        landings=(LandingCase(at_ms=1100, value_ms=1000),),
        replies=(_replied(0),),
    ),
    TimelineCase(
        id="6 a group that starts in the utterance and speaks at its end is a reply of 0",
        notation="C 1000-3000 | A 2900-3100",
        window=(0, 6000),
        replies=(_replied(0),),
        twice_median_latency_ms=0,
    ),
    TimelineCase(
        id="6 a group that cut in and stops as the caller stops is not the reply",
        notation="C 1000-3000 | A 2700-3000 3700-4500",
        window=(0, 6000),
        groups=((2700, 3000), (3700, 4500)),
        replies=(_replied(700),),
    ),
    TimelineCase(
        id="6 a group that cut in and stops 1 ms after the caller is the reply",
        notation="C 1000-3000 | A 2700-3001 3700-4500",
        window=(0, 6000),
        replies=(_replied(0),),
    ),
    TimelineCase(
        id="6 a group that cut in and stopped before the end is a talk-over and not the reply",
        notation="C 1000-3000 | A 1500-2000 3400-4500",
        window=(0, 6000),
        landings=(LandingCase(at_ms=1500, value_ms=1500, short=True),),
        replies=(_replied(400),),
        events={"talk_over": 1},
    ),
    TimelineCase(
        id="6 a group that starts with the caller is the one sounding, not an overlapping reply",
        notation="C 1000-2500 | A 1000-3000 3900-4500",
        window=(0, 7000),
        landings=(LandingCase(at_ms=1000, value_ms=1500),),
        replies=(_replied(900),),
    ),
    TimelineCase(
        id="6 an utterance of 1000 ms under a running group is a backchannel",
        notation="A 500-2100 | C 1000-2000",
        window=(0, 6000),
        replies=(_OVERLAPPED,),
        has_no_median=True,
        events={},
    ),
    TimelineCase(
        id="6 an utterance of 1001 ms under a running group waits from the group's end",
        notation="A 500-2100 3000-4000 | C 1000-2001",
        window=(0, 6000),
        replies=(_replied(900),),
    ),
    TimelineCase(
        id="6 a short utterance as the group stops is no backchannel",
        notation="A 500-1500 2300-3000 | C 1000-1500",
        window=(0, 6000),
        replies=(_replied(800),),
    ),
    TimelineCase(
        id="6 a short utterance under a group that stops 1 ms later is a backchannel",
        notation="A 500-1501 2300-3000 | C 1000-1500",
        window=(0, 6000),
        replies=(_OVERLAPPED,),
    ),
    TimelineCase(
        id="6 a group that goes on 1000 ms past a long utterance ignored a barge-in",
        notation="A 500-4000 5000-6000 | C 1000-3000",
        window=(0, 8000),
        replies=(_OVERLAPPED,),
    ),
    TimelineCase(
        id="6 a group that goes on 999 ms past a long utterance starts the clock at its end",
        notation="A 500-3999 5000-6000 | C 1000-3000",
        window=(0, 8000),
        replies=(_replied(1001),),
    ),
    TimelineCase(
        id="6 a group that yields within the utterance leaves the clock at the caller's end",
        notation="A 500-1500 3400-4500 | C 1000-3000",
        window=(0, 6000),
        replies=(_replied(400),),
    ),
    TimelineCase(
        id="6 a group that ends as the caller starts is not sounding",
        notation="A 500-1000 3400-4500 | C 1000-2000",
        window=(0, 6000),
        replies=(_replied(1400),),
    ),
    TimelineCase(
        id="6 a caller who asks over the agent's last words waits from when the agent stops",
        notation="A 500-3500 6500-7500 | C 1000-3000",
        window=(0, 9000),
        replies=(_replied(3000),),
        events={"slow_median": 1},
    ),
    TimelineCase(
        id="6 no sound for 3001 ms until the caller's next utterance is no reply",
        notation="C 1000-2000 5001-6000 | A 6500-7500",
        window=(0, 9000),
        replies=(_no_reply(3001), _replied(500)),
        events={"slow_turn": 1},
    ),
    TimelineCase(
        id="6 no sound for 3000 ms until the caller's next utterance is censored",
        notation="C 1000-2000 5000-6000 | A 6500-7500",
        window=(0, 9000),
        replies=(_censored(3000), _replied(500)),
        events={},
    ),
    TimelineCase(
        id="6 no sound for 3000 ms until the window's end is no reply",
        notation="C 1000-2000",
        window=(0, 5000),
        replies=(_no_reply(3000),),
        events={"slow_turn": 1},
    ),
    TimelineCase(
        id="6 no sound for 2999 ms until the window's end is censored",
        notation="C 1000-2000",
        window=(0, 4999),
        replies=(_censored(2999),),
        events={},
    ),
    TimelineCase(
        id="6 the wait until the window's end counts from when the agent stops",
        notation="A 500-2500 | C 1000-2100",
        window=(0, 5499),
        replies=(_censored(2999),),
    ),
    TimelineCase(
        id="6 an utterance that runs to the window's end is censored after 0 ms",
        notation="C 1000-9000",
        window=(0, 5000),
        replies=(_censored(0),),
    ),
    TimelineCase(
        id="6 an agent onset at the start of the next utterance is the reply to this one",
        notation="C 1000-2000 3500-4000 | A 3500-5500",
        window=(0, 7000),
        utterances=((1000, 2000), (3500, 4000)),
        replies=(_replied(1500), _SIMULTANEOUS),
    ),
    TimelineCase(
        id="6 an agent onset 1 ms into the next utterance leaves this one censored",
        notation="C 1000-2000 3500-4000 | A 3501-5500",
        window=(0, 7000),
        replies=(_censored(1500), _SIMULTANEOUS),
    ),
    TimelineCase(
        id="6 of two utterances under one group the one it outlives waits from its own end",
        notation="A 500-5000 6500-7500 | C 1000-3000 4100-5600",
        window=(0, 9000),
        utterances=((1000, 3000), (4100, 5600)),
        replies=(_OVERLAPPED, _replied(900)),
    ),
    TimelineCase(
        id="6 a caller who goes on 11 ms after the group over the end has stopped is censored",
        notation="A 500-5999 7500-8500 | C 1000-3000 3900-5000 6010-6900",
        window=(0, 9000),
        utterances=((1000, 5000), (6010, 6900)),
        replies=(_censored(11), _replied(600)),
    ),
    TimelineCase(
        id="6 a group dropped as a click answers nobody",
        notation="C 1000-2000 | A 2500-2699 4000-5000",
        window=(0, 6000),
        dropped_groups=1,
        replies=(_replied(2000),),
    ),
    TimelineCase(
        id="6 a second group in the same agent turn answers nobody anew",
        notation="C 1000-2000 | A 2500-3500 7000-8000",
        window=(0, 9000),
        turns=((2500, 8000),),
        replies=(_replied(500),),
        twice_median_latency_ms=1000,
    ),
    TimelineCase(
        id="6 a caller who is silent has no replies and the agent no talk-over",
        notation="A 1000-3000 8000-9000",
        window=(0, 20000),
        utterances=(),
        replies=(),
        landings=(),
        has_no_median=True,
        events={},
    ),
)

ITEM_7_EVENTS = (
    TimelineCase(
        id="7 a latency of 3000 ms is no slow turn",
        notation="C 1000-2000 6000-7000 10000-11000 | A 5000-5500 7100-8000 11100-12000",
        window=(0, 13000),
        replies=(_replied(3000), _replied(100), _replied(100)),
        events={},
    ),
    TimelineCase(
        id="7 a latency of 3001 ms is a slow turn",
        notation="C 1000-2000 6000-7000 10000-11000 | A 5001-5500 7100-8000 11100-12000",
        window=(0, 13000),
        replies=(_replied(3001), _replied(100), _replied(100)),
        events={"slow_turn": 1},
    ),
    TimelineCase(
        id="7 a median of 1500 ms is no slow median",
        notation="C 1000-2000 | A 3500-4500",
        window=(0, 6000),
        twice_median_latency_ms=3000,
        events={},
    ),
    TimelineCase(
        id="7 a median of 1501 ms is a slow median",
        notation="C 1000-2000 | A 3501-4500",
        window=(0, 6000),
        twice_median_latency_ms=3002,
        events={"slow_median": 1},
    ),
    TimelineCase(
        id="7 a median of 1500.5 ms is a slow median, nothing is halved",
        notation="C 1000-2000 6000-7000 | A 3500-4500 8501-9500",
        window=(0, 11000),
        replies=(_replied(1500), _replied(1501)),
        twice_median_latency_ms=3001,
        events={"slow_median": 1},
    ),
    TimelineCase(
        id="7 an overlapping reply counts in the median with latency 0",
        notation="C 1000-3000 6000-7000 | A 2800-4000 10000-11000",
        window=(0, 12000),
        replies=(_replied(0), _replied(3000)),
        twice_median_latency_ms=3000,
        events={},
    ),
    TimelineCase(
        id="7 the median of three is the middle one, whatever their order",
        notation="C 1000-2000 6000-7000 12000-13000 | A 4900-5500 7100-8000 14600-15600",
        window=(0, 17000),
        replies=(_replied(2900), _replied(100), _replied(1600)),
        twice_median_latency_ms=3200,
        events={"slow_median": 1},
    ),
    TimelineCase(
        id="7 a missing reply is a slow turn and no part of the median",
        notation="C 1000-2000 6000-7000 | A 7400-8000",
        window=(0, 9000),
        replies=(_no_reply(4000), _replied(400)),
        twice_median_latency_ms=800,
        events={"slow_turn": 1},
    ),
    TimelineCase(
        id="7 slow turns are counted, late and missing ones together",
        notation="C 1000-2000 7000-8000 | A 5500-6500",
        window=(0, 12000),
        replies=(_replied(3500), _no_reply(4000)),
        events={"slow_turn": 2, "slow_median": 1},
    ),
    TimelineCase(
        id="7 a call with a missing reply only has no median",
        notation="C 1000-2000",
        window=(0, 12000),
        has_no_median=True,
        events={"slow_turn": 1},
    ),
    TimelineCase(
        id="7 one talk-over on the only turn is not repeated",
        notation="C 1000-3000 | A 2400-4000",
        window=(0, 5000),
        turns=((2400, 4000),),
        events={"talk_over": 1},
    ),
    TimelineCase(
        id="7 talk-over on 2 of 6 turns is repeated and replaces talk_over",
        notation=(
            "C 1000-3000 5000-7000 9000-10000 13000-14000 17000-18000 21000-22000"
            " | A 2400-4000 6400-8000 10400-12000 14400-16000 18400-20000 22400-24000"
        ),
        window=(0, 25000),
        events={"repeated_talk_over": 2},
    ),
    TimelineCase(
        id="7 talk-over on 2 of 7 turns is not repeated",
        notation=(
            "C 1000-3000 5000-7000 9000-10000 13000-14000 17000-18000 21000-22000"
            " | A 100-600 2400-4000 6400-8000 10400-12000 14400-16000 18400-20000 22400-24000"
        ),
        window=(0, 25000),
        events={"talk_over": 2},
    ),
    TimelineCase(
        id="7 a simultaneous start counts among the turns and not among the talk-overs",
        notation="C 1000-3000 5000-8000 | A 2400-4000 5100-5700 8500-9000",
        window=(0, 10000),
        turns=((2400, 4000), (5100, 5700), (8500, 9000)),
        landings=(
            LandingCase(at_ms=2400, value_ms=600),
            LandingCase(at_ms=5100, value_ms=2900, short=True, simultaneous=True, counted=False),
        ),
        replies=(_replied(0), _SIMULTANEOUS),
        events={"talk_over": 1},
    ),
)

TIMELINE_CASES: tuple[TimelineCase, ...] = (
    *FIELD_CASES,
    *ITEM_1_IPUS,
    *ITEM_2_WINDOW,
    *ITEM_3_GROUPS_AND_TURNS,
    *ITEM_4_UTTERANCES,
    *ITEM_5_TALK_OVER,
    *ITEM_6_REPLIES,
    *ITEM_7_EVENTS,
)

#: Outcomes that the limits as written cannot reach, but that item 8 reaches by moving them.
MOVED_LIMIT_CASES: tuple[TimelineCase, ...] = (
    TimelineCase(
        id="8 a next utterance before the sounding group has stopped is censored after 0 ms",
        notation="A 500-4040 5500-6000 | C 1000-3000 3960-4600",
        window=(0, 9000),
        moved_limits=(("caller_pause_join_ms", 950), ("overrun_ms", 1050)),
        utterances=((1000, 3000), (3960, 4600)),
        replies=(_censored(0), _replied(900)),
    ),
    TimelineCase(
        id="8 a group that began 240 ms before the caller and shares nothing is simultaneous",
        notation="A 1000-1200 | C 1240-3000",
        window=(0, 9000),
        moved_limits=(("simultaneous_start_ms", 250),),
        replies=(_SIMULTANEOUS,),
    ),
    TimelineCase(
        id="8 a group 50 ms beyond the pause lies inside it with 50 ms of slack",
        notation="C 1000-2000 2800-4000 | A 2300-2850",
        window=(0, 9000),
        moved_limits=(("wholly_inside_slack_ms", 50),),
        utterances=((1000, 2000), (2800, 4000)),
        landings=(),
        replies=(_replied(300), _no_reply(5000)),
    ),
    TimelineCase(
        id="8 a group 49 ms within the pause is not inside it with a slack of minus 50 ms",
        notation="C 1000-2000 2800-4000 | A 2300-2751",
        window=(0, 9000),
        moved_limits=(("wholly_inside_slack_ms", -50),),
        utterances=((1000, 4000),),
        landings=(LandingCase(at_ms=2300, value_ms=1700, kind="cut_in", short=True),),
    ),
)
