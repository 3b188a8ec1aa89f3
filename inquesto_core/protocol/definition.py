"""What one protocol version fixes, as types.

No number stands here: taxonomy, thresholds, views, instrument pins and accounting are read from
``protocol.json`` by ``load``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from inquesto_core.errors import Problem, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = [
    "Accounting",
    "AsrPin",
    "EventType",
    "ForegroundPin",
    "Instruments",
    "JudgePin",
    "MediaLimits",
    "Protocol",
    "RecordingFaultLimits",
    "Severity",
    "Slice",
    "TimelineLimits",
    "VadPin",
    "View",
]

Parameter: TypeAlias = int | float | bool | str

#: The closed sets of words that a protocol file may use.
Asked: TypeAlias = Literal["always", "correction", "legit", "impostor"]
Conditions: TypeAlias = Literal["all", "reference", "degraded"]
Groups: TypeAlias = Literal["all", "reference"]
Identity: TypeAlias = Literal["included", "excluded", "only"]
ViewValue: TypeAlias = Literal["rate", "worst_group"]
ReplyAnchor: TypeAlias = Literal["last_voiced"]
HandoffDecidedBy: TypeAlias = Literal["judge", "transfer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Severity:
    """One step of the severity scale; `meaning` is what a score at this ``fail_at`` claims."""

    level: int
    name: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventType:
    """One row of the taxonomy (paper, Table 1).

    Parameters
    ----------
    source : str
        ``audio``, ``transcript``, ``trace``, ``judge``, ``trace x judge`` (both are needed) or
        ``trace, judge`` (either is enough).
    question : str or None
        The judge's question that decides it; None where the judge is not asked, or where the
        goal question is meant (``promised_not_done``).
    asked : str or None
        In which scenarios: ``always``, ``correction``, ``legit``, ``impostor``.
    parameters : mapping
        Every other key of the row: thresholds by name, ``replaces``, switches.
    """

    name: str
    severity: int
    source: str
    criterion: str
    question: str | None
    asked: Asked | None
    parameters: Mapping[str, Parameter]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineLimits:
    """The limits of ``protocol-0.1`` section 3; ``docs/protocol.md`` says which are inclusive."""

    ipu_gap_ms: int
    agent_pause_join_ms: int
    caller_pause_join_ms: int
    min_voiced_ms: int
    simultaneous_start_ms: int
    simultaneous_overlap_ms: int
    short_turn_ms: int
    backchannel_max_ms: int
    overrun_ms: int
    end_call_censors_ms: int
    reply_anchor: ReplyAnchor


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Which expected slots are meant, in the population's own terms."""

    conditions: Conditions
    groups: Groups
    identity: Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One view: the pass rate over a slice, or the worst speaker group's rate in it.

    Parameters
    ----------
    compared_with : Slice or None
        The slice whose rate minus this view's rate is the view's gap.
    counted : tuple of str
        Event types whose numbers stand beside the rate.
    """

    name: str
    letter: str
    slice: Slice
    value: ViewValue
    compared_with: Slice | None
    counted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VadPin:
    """The speech detector: a frame is `frame_samples` new samples after `context_samples` old."""

    name: str
    version: str
    file: str
    sha256: str
    runtime: str
    runtime_version: str
    sample_rate_hz: int
    frame_ms: int
    frame_samples: int
    context_samples: int
    parameters: Mapping[str, Parameter]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForegroundPin:
    """How a party is told from what sounds behind it; `network` lies in the protocol folder."""

    network: str
    features: Mapping[str, Any]
    parameters: Mapping[str, Parameter]


@dataclass(frozen=True, slots=True, kw_only=True)
class AsrPin:
    """The transcriber: `file` of the model's `conversion`, `size_bytes` long."""

    name: str
    library: str
    conversion: str
    file: str
    sha256: str
    size_bytes: int
    parameters: Mapping[str, Parameter]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePin:
    """The judge model; `rubric` is a folder inside the protocol folder, None if there is none."""

    name: str
    format: str
    quantisation: str
    sha256: str
    size_bytes: int
    parameters: Mapping[str, Parameter]
    rubric: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments:
    """Everything that listens or reads, by its pin."""

    vad: VadPin
    not_speech: Mapping[str, Parameter]
    vad_level: Mapping[str, Parameter]
    leak: Mapping[str, Parameter]
    foreground: ForegroundPin
    asr: AsrPin
    judge: JudgePin

    @property
    def rubric(self) -> str | None:
        """The rubric's folder, relative to the protocol folder."""
        return self.judge.rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaLimits:
    """Which recordings are measured: ``min_duration_ms <= duration < max_duration_ms``.

    Parameters
    ----------
    min_duration_ms : int
        Inclusive.
    max_duration_ms : int
        Exclusive: a recording of exactly this length is refused.
    parameters : mapping
        Further limits of the media checks, by name.
    """

    min_duration_ms: int
    max_duration_ms: int
    parameters: Mapping[str, Parameter]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingFaultLimits:
    """What is a fault of a recording, beside the transcript and what call.json states.

    Parameters
    ----------
    min_anchors : int
        Turns that must be found as sound before the clocks are compared.
    pause_join_ms : int
        Turns of one side, and stretches of its speech, at most this far apart are one.
    search_ms : int
        How far from its time a turn is looked for.
    anchor_length_ms, anchor_length_share : int, float
        A stretch may be longer or shorter than its turn by the larger of both.
    path_same_ms, path_step_cost, path_step_share : int, int, float
        Where turns are matched to sound, a displacement that changes by more than the first costs
        the second and this share of the change; all costs are in milliseconds.
    path_skip_cost, path_filled_share, path_filled_cost : int, float, int
        What it costs to leave a turn out, and to place it elsewhere though speech fills this share
        of where it was expected.
    occupancy_fit, occupancy_gain, swap_gain : float
        Correlation from which turns fit the speech; by how much another clock, or the other side,
        must fit better.
    scale_deviation, min_drift_ms : float, int
        A track that is longer or shorter than the transcript's times by more than this share
        drifts, where that amounts to more than `min_drift_ms`.
    scatter_factor : int
        Displacements count from this many times the transcript's own scatter, if that is more than
        their limit.
    scale_tolerance : float
        A usual sample rate explains a scale that is this near to it.
    residual_ms, step_ms : int
        Largest distance from a straight line, and between two turns in a row.
    duration_ms : int
        Time that may be lost, added or missing at the end.
    clipped_fraction, dc_offset : float
        From above these it is said.
    fastest_words_s, usual_words_s : float
        Words a second that nobody speaks, and that people do.
    turn_speech_share : float
        A turn of the transcript stands where its side speaks from this share of its length on.
    turn_reach_ms : int
        So far before its start a turn may be looked for.
    usual_rates_hz : tuple of int
        Sample rates that recorders have.
    """

    min_anchors: int
    pause_join_ms: int
    search_ms: int
    anchor_length_ms: int
    anchor_length_share: float
    path_same_ms: int
    path_step_cost: int
    path_step_share: float
    path_skip_cost: int
    path_filled_share: float
    path_filled_cost: int
    occupancy_fit: float
    occupancy_gain: float
    swap_gain: float
    scale_deviation: float
    scale_tolerance: float
    min_drift_ms: int
    scatter_factor: int
    residual_ms: int
    step_ms: int
    duration_ms: int
    clipped_fraction: float
    dc_offset: float
    fastest_words_s: float
    usual_words_s: float
    turn_speech_share: float
    turn_reach_ms: int
    usual_rates_hz: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounting:
    """Which stated reasons put a call into which state (``protocol-0.1`` section 6)."""

    agent_fault_reasons: tuple[str, ...]
    lost_session_reasons: tuple[str, ...]
    excluded_reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """One version of the protocol, whole.

    Parameters
    ----------
    name, label, version : str
        ``inquesto-0.1``, ``v0.1`` (as in the citation line), ``0.1``.
    fail_at : int
        A call with an event of at least this severity fails (inclusive).
    confidence_level, z : float
        Of the Wilson interval.
    performed_statuses : tuple of str
        Tool-call statuses that count as performed.
    sensitivity_fail_at : tuple of int
        The other values of `fail_at` that the score is also given for.
    handoff_decided_by : {"judge", "transfer"}
        Whose word it is that a hand-off took place: the judge's, or the trace's, by a transfer tool
        where the population names one.
    population_files : mapping of str to str
        Population name to file, as `file` takes it.
    folders : tuple of Path
        `folder`, then the one that it extends.
    digest : str
        SHA-256 over the canonical content of the folders (`release.protocol_digest`).
    raw : mapping
        ``protocol.json`` whole, what it extends included.
    """

    name: str
    label: str
    version: str
    status: Literal["draft", "released"]
    source: str
    fail_at: int
    confidence_level: float
    z: float
    severities: tuple[Severity, ...]
    events: tuple[EventType, ...]
    goal_question: str
    performed_statuses: tuple[str, ...]
    required_arguments_must_match: bool
    handoff_decided_by: HandoffDecidedBy
    timeline: TimelineLimits
    timing_uncertainty_ms: Mapping[str, int]
    views: tuple[View, ...]
    sensitivity_fail_at: tuple[int, ...]
    instruments: Instruments
    media: MediaLimits
    recording_faults: RecordingFaultLimits
    accounting: Accounting
    default_population: str
    population_files: Mapping[str, str]
    folder: Path
    folders: tuple[Path, ...]
    digest: str
    raw: Mapping[str, Any]

    def file(self, name: str) -> Path:
        """Return where a file of the protocol lies: in its folder, else in the one it extends."""
        places = [folder / name for folder in self.folders]
        return next((place for place in places if place.is_file()), places[0])

    def event(self, name: str) -> EventType:
        """Return the event type of that name.

        Raises
        ------
        ProtocolError
            Code ``event_unknown``.
        """
        for event in self.events:
            if event.name == name:
                return event
        names = [event.name for event in self.events]
        raise _unknown("event_unknown", f"{name!r} is no event type", names)

    def view(self, name: str) -> View:
        """Return the view of that name.

        Raises
        ------
        ProtocolError
            Code ``view_unknown``.
        """
        for view in self.views:
            if view.name == name:
                return view
        names = [view.name for view in self.views]
        raise _unknown("view_unknown", f"{name!r} is no view", names)


def _unknown(code: str, found: str, known: Iterable[str]) -> ProtocolError:
    return ProtocolError(Problem(code=code, found=found, expected="one of " + ", ".join(known)))
