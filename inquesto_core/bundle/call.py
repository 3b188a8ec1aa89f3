"""What one recorded call is: who spoke, on which channel, what was done, said and answered.

These are values only. Times are integer milliseconds from the start of the recording, intervals
half-open; ``None`` means *not known*. How a folder becomes a `Bundle` is decided in
`inquesto_core.bundle.read`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from inquesto_core.errors import Problem

__all__ = [
    "STAGES",
    "Agent",
    "Answer",
    "AudioFile",
    "Bundle",
    "Call",
    "ChannelOffsets",
    "Ended",
    "Exclusion",
    "FinalState",
    "IgnoredIntervals",
    "Inferred",
    "Interval",
    "MeasuredSegment",
    "MeasuredTiming",
    "RecordedVerdicts",
    "ReportedStages",
    "ReportedTiming",
    "ReportedTurn",
    "ToolCall",
    "ToolTrace",
    "Transcript",
    "TranscriptTurn",
    "Word",
]

#: ``[start_ms, end_ms)``
Interval = tuple[int, int]

#: Of a wait, in the order in which they begin: until the caller is taken to have finished, until
#: the words are there, until the first token of the model, until the first sound.
STAGES = ("endpointing", "recognition", "model", "synthesis")

Speaker = Literal["caller", "agent"]
EndedBy = Literal["agent", "caller", "system", "unknown"]
ToolStatus = Literal["ok", "error", "cancelled", "missing", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The voice agent under test: a name, an optional fingerprint, its configuration as given."""

    name: str
    fingerprint: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioFile:
    """One recording file and which of its channels carries which side.

    Parameters
    ----------
    file : str
        Relative path inside the bundle, with forward slashes.
    sha256 : str or None
        Digest that `call.json` promises, lower-case hex.
    caller, agent : int or None
        0-based channel index of that side in this file; None = that side is not in this file.
    start_ms : int
        When the file's first sample was recorded.
    duration_ms, sample_rate_hz : int or None
        What the recorder says of the file; the file itself is held to them.
    """

    file: str
    sha256: str | None = None
    caller: int | None = None
    agent: int | None = None
    start_ms: int = 0
    duration_ms: int | None = None
    sample_rate_hz: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Which side ended the call, and the platform's word for why."""

    by: EndedBy = "unknown"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOffsets:
    """Milliseconds to add to every time measured on a channel (negative = the track is late)."""

    caller: int = 0
    agent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredIntervals:
    """Stretches of each channel that are not this party speaking; they count as silence."""

    caller: tuple[Interval, ...] = ()
    agent: tuple[Interval, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """Why whoever made the bundle took the call out of the score."""

    reason: str
    detail: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """A field that the recording system did not state, what it was taken to be, and how."""

    field: str
    value: Any
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The content of `call.json`.

    Parameters
    ----------
    scored_window_ms : (int, int) or None
        Where the call is between this caller and this agent; None = the whole recording.
    trace_offset_ms : int
        Added to every time in `trace.json`; a trace whose clock started 1500 ms before the
        recording has -1500. `read_bundle` has already applied it to the `ToolTrace`.
    timing_reasons : tuple of str
        Why this recording carries no timing, as far as whoever made the bundle knows.
    """

    call_id: str
    agent: Agent
    audio: tuple[AudioFile, ...]
    schema_version: str = "1"
    population: str | None = None
    scenario_id: str | None = None
    condition: str | None = None
    group: str | None = None
    trial: int | None = None
    platform: str | None = None
    direction: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    ended: Ended = Ended()
    channel_offset_ms: ChannelOffsets = ChannelOffsets()
    trace_offset_ms: int = 0
    scored_window_ms: Interval | None = None
    ignore_ms: IgnoredIntervals = IgnoredIntervals()
    exclusion: Exclusion | None = None
    timing_reasons: tuple[str, ...] = ()
    inferred: tuple[Inferred, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call of the agent.

    Parameters
    ----------
    position : int
        0-based index in the file's ``calls``, so that ``/calls/<position>`` points at it.
    arguments : mapping or None
        Decoded arguments; None = they could not be parsed and the call was not performed.
    raw_arguments : str or None
        The arguments as the model wrote them, where they were text.
    start_ms, end_ms : int or None
        On the recording's clock; may lie before its start or after its end.
    """

    position: int
    name: str
    id: str | None = None
    arguments: Mapping[str, Any] | None = field(default_factory=dict)
    raw_arguments: str | None = None
    result: Any = None
    status: ToolStatus = "unknown"
    start_ms: int | None = None
    end_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedStages:
    """How long the stages of an agent's answers took, as its platform says; never measured.

    Parameters
    ----------
    source : str
        Which platform: where a stage begins and ends is its own.
    endpointing_ms, recognition_ms, model_ms, synthesis_ms : tuple of (int or None)
        In the order of the call; two lists of different lengths tell of different answers.
    """

    source: str
    endpointing_ms: tuple[int | None, ...] = ()
    recognition_ms: tuple[int | None, ...] = ()
    model_ms: tuple[int | None, ...] = ()
    synthesis_ms: tuple[int | None, ...] = ()

    def of(self, stage: str) -> tuple[int | None, ...]:
        """Return what is said of one of `STAGES`."""
        found: tuple[int | None, ...] = getattr(self, f"{stage}_ms")
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTrace:
    """The tool calls of one call, in the order of the file, each action once.

    Parameters
    ----------
    calls : tuple of ToolCall
        The agent's.
    caller_calls : tuple of ToolCall or None
        Those of a simulated caller with tools of its own; None = not known.
    responses : tuple of mapping or None
        What the agent returned as its result, in order; None = nothing was recorded.
    stages : ReportedStages or None
        What the platform says of how its answers came about.
    """

    calls: tuple[ToolCall, ...] = ()
    caller_calls: tuple[ToolCall, ...] | None = None
    responses: tuple[Mapping[str, Any], ...] | None = None
    stages: ReportedStages | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One spoken word and when."""

    word: str
    start_ms: int | None = None
    end_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptTurn:
    """What one side said; `heard_text` is what was really played, None = as written."""

    speaker: Speaker
    text: str
    heard_text: str | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The turns of one call in the order of the file, and who wrote them down."""

    source: str | None = None
    turns: tuple[TranscriptTurn, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalState:
    """The backing system's state before and after the call, and what it should be.

    Parameters
    ----------
    after_sha256, expected_sha256 : str or None
        Where whoever ran the call told only the digest.
    user_after, user_after_sha256
        The same of the caller's own side.
    """

    before: Any = None
    after: Any = None
    expected: Any = None
    after_sha256: str | None = None
    expected_sha256: str | None = None
    user_after: Any = None
    user_after_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question about the call and its answer; ``verdict`` None = undetermined.

    Parameters
    ----------
    score : float or None
        In [0, 1], where the answer is a mark.
    """

    question: str
    verdict: bool | None
    reason: str | None = None
    turn: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedVerdicts:
    """Answers that came with the bundle, sorted by question, and what gave them."""

    model: str
    model_sha256: str | None = None
    rubric_sha256: str | None = None
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTurn:
    """When a side spoke, as the agent's runtime reported it.

    Parameters
    ----------
    silent : bool
        An agent turn in which nothing was said.
    """

    speaker: Speaker
    start_ms: int
    end_ms: int
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTiming:
    """When both sides of a call without a recording spoke, and who reported it.

    Parameters
    ----------
    turns : tuple of ReportedTurn
        In the order of the file.
    latencies_ms : tuple of int
        The waits before the agent's turns, in order, on the runtime's own clock; a runtime may
        report more or fewer than there are turns.
    """

    source: str
    turns: tuple[ReportedTurn, ...] = ()
    latencies_ms: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSegment:
    """A stretch of sound on a side; `rejected` says why it is not that party speaking."""

    speaker: Speaker
    start_ms: int
    end_ms: int
    rejected: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTiming:
    """What was measured of a recording that is not in the bundle any more (`redact`).

    Parameters
    ----------
    measurement : str
        Digest of what the protocol measures; evidence of another is none.
    engine : str
        The version that measured.
    duration_ms : int or None
        None = the recording could not be heard.
    window_ms : (int, int) or None
        The scored window, within the recording.
    condition_class : str
        Key of the protocol's timing uncertainty.
    timing_reasons : tuple of str
        Why timing is not evaluated.
    segments : tuple of MeasuredSegment
        On the recording's clock.
    """

    measurement: str
    engine: str
    duration_ms: int | None
    window_ms: Interval | None
    condition_class: str
    timing_reasons: tuple[str, ...] = ()
    segments: tuple[MeasuredSegment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One recorded call with all its parts.

    Parameters
    ----------
    trace, transcript, state, timing, measured, verdicts : optional
        None = the file is absent, or unreadable (then `problems` says so).
    root : Path
        The bundle's folder.
    digests : tuple of (file, sha256)
        Every file that was read, audio included, sorted by name.
    problems : tuple of Problem
        What is wrong with the parts; an error-level one says that a part cannot be used.
    """

    call: Call
    root: Path
    trace: ToolTrace | None = None
    transcript: Transcript | None = None
    state: FinalState | None = None
    timing: ReportedTiming | None = None
    measured: MeasuredTiming | None = None
    verdicts: RecordedVerdicts | None = None
    digests: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()
