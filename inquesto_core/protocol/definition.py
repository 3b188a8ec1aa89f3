"""What one protocol version fixes, as types, and how a protocol folder becomes one.

Nothing here decides a score: taxonomy, thresholds, views, instrument pins and accounting are read
from ``protocol.json``. JSON Schema checks the form at the door, ``consistency`` what it cannot
express, ``release`` whether the folder is the one that was released.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from inquesto_core import schema
from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.protocol.consistency import check_consistency, inconsistent
from inquesto_core.protocol.release import check_release, protocol_digest, read_file
from inquesto_core.shipped import protocols_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "DEFAULT_PROTOCOL",
    "Accounting",
    "AsrPin",
    "EventType",
    "Instruments",
    "JudgePin",
    "MediaLimits",
    "Protocol",
    "Severity",
    "Slice",
    "TimelineLimits",
    "VadPin",
    "View",
    "load_protocol",
    "protocol_names",
]

#: The version that is meant where none is named.
DEFAULT_PROTOCOL = "inquesto-0.1"

PROTOCOL_FILE = "protocol.json"

Parameter: TypeAlias = int | float | bool | str


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
    asked: str | None
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
    reply_anchor: Literal["last_voiced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Which expected slots are meant, in the population's own terms."""

    conditions: Literal["all", "reference", "degraded"]
    groups: Literal["all", "reference"]
    identity: Literal["included", "excluded", "only"]


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
    value: Literal["rate", "worst_group"]
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
    population_files : mapping of str to str
        Population name to file, relative to `folder`.
    digest : str
        SHA-256 over the canonical content of the folder (`release.protocol_digest`).
    raw : mapping
        ``protocol.json`` as read.
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
    timeline: TimelineLimits
    timing_uncertainty_ms: Mapping[str, int]
    views: tuple[View, ...]
    sensitivity_fail_at: tuple[int, ...]
    instruments: Instruments
    media: MediaLimits
    accounting: Accounting
    default_population: str
    population_files: Mapping[str, str]
    folder: Path
    digest: str
    raw: Mapping[str, Any]

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


def _unknown(code: str, found: str, known: Iterable[str], more: str = "") -> ProtocolError:
    expected = "one of " + ", ".join(known) + more
    return ProtocolError(Problem(code=code, found=found, expected=expected))


def protocol_names() -> tuple[str, ...]:
    """Return the names of the shipped protocols, sorted."""
    found = protocols_folder().glob(f"*/{PROTOCOL_FILE}")
    return tuple(sorted(path.parent.name for path in found))


def load_protocol(name_or_path: str | Path) -> Protocol:
    """Return the shipped protocol of that name, or the one in that folder.

    A shipped name wins over a folder of the same name in the working folder.

    Raises
    ------
    SchemaError
        ``protocol.json`` is not what its schema says.
    ProtocolError
        Codes ``protocol_unknown``, ``protocol_inconsistent``, ``protocol_unreadable``,
        ``release_changed``, ``release_missing``, ``release_draft``.
    """
    folder = _find_folder(name_or_path)
    protocol = read_protocol(folder)
    shipped = folder.parent == protocols_folder()
    if shipped and folder.name != protocol.name:
        raise inconsistent("/protocol", f"is {protocol.name!r}", repr(folder.name))
    check_release(protocol)
    return protocol


def _find_folder(name_or_path: str | Path) -> Path:
    names = protocol_names()
    if isinstance(name_or_path, str) and name_or_path in names:
        return protocols_folder() / name_or_path
    path = Path(name_or_path)
    if path.is_dir() and (path / PROTOCOL_FILE).is_file():
        return path.resolve()
    found, more = f"no protocol {str(name_or_path)!r}", f", or a folder with a {PROTOCOL_FILE}"
    raise _unknown("protocol_unknown", found, names, more)


def read_protocol(folder: Path) -> Protocol:
    """Return what the folder says, checked for consistency but not against the releases."""
    raw = schema.load(read_file(folder / PROTOCOL_FILE), "protocol", file=PROTOCOL_FILE)
    protocol = _parse(raw, folder, protocol_digest(folder))
    check_consistency(protocol)
    return protocol


def _parse(raw: Mapping[str, Any], folder: Path, digest: str) -> Protocol:
    return Protocol(
        name=raw["protocol"],
        label=raw["label"],
        version=raw["version"],
        status=raw["status"],
        source=raw["source"],
        fail_at=raw["fail_at"],
        confidence_level=raw["confidence"]["level"],
        z=raw["confidence"]["z"],
        severities=_severities(raw["severities"]),
        events=tuple(_event(name, row) for name, row in raw["events"].items()),
        goal_question=raw["goal"]["question"],
        performed_statuses=tuple(raw["goal"]["performed_statuses"]),
        required_arguments_must_match=raw["goal"]["required_arguments_must_match"],
        timeline=TimelineLimits(**raw["timeline"]),
        timing_uncertainty_ms=dict(raw["timing_uncertainty_ms"]),
        views=tuple(_view(name, row) for name, row in raw["views"].items()),
        sensitivity_fail_at=tuple(raw["sensitivity_fail_at"]),
        instruments=_instruments(raw["instruments"]),
        media=MediaLimits(
            min_duration_ms=raw["media"]["min_duration_ms"],
            max_duration_ms=raw["media"]["max_duration_ms"],
            parameters=_without(raw["media"], "min_duration_ms", "max_duration_ms"),
        ),
        accounting=Accounting(**{key: tuple(row) for key, row in raw["accounting"].items()}),
        default_population=raw["populations"]["default"],
        population_files=dict(raw["populations"]["files"]),
        folder=folder,
        digest=digest,
        raw=raw,
    )


def _without(row: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in keys}


def _severities(rows: Mapping[str, Mapping[str, str]]) -> tuple[Severity, ...]:
    return tuple(
        Severity(level=int(level), name=row["name"], meaning=row["meaning"])
        for level, row in sorted(rows.items(), key=lambda item: int(item[0]))
    )


def _event(name: str, row: Mapping[str, Any]) -> EventType:
    named = ("severity", "source", "criterion", "question", "asked")
    return EventType(
        name=name,
        severity=row["severity"],
        source=row["source"],
        criterion=row["criterion"],
        question=row.get("question"),
        asked=row.get("asked"),
        parameters=_without(row, *named),
    )


def _slice(row: Mapping[str, Any]) -> Slice:
    return Slice(conditions=row["conditions"], groups=row["groups"], identity=row["identity"])


def _view(name: str, row: Mapping[str, Any]) -> View:
    other = row.get("compared_with")
    return View(
        name=name,
        letter=row["letter"],
        slice=_slice(row),
        value=row["value"],
        compared_with=_slice(other) if other else None,
        counted=tuple(row.get("counted", ())),
    )


def _instruments(row: Mapping[str, Any]) -> Instruments:
    asr, judge = row["asr"], row["judge"]
    return Instruments(
        vad=VadPin(**row["vad"]),
        asr=AsrPin(**_without(asr, "bytes"), size_bytes=asr["bytes"]),
        judge=JudgePin(**_without(judge, "bytes"), size_bytes=judge["bytes"]),
    )
