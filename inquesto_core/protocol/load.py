"""How a protocol folder becomes a `Protocol`.

JSON Schema checks the form at the door, ``consistency`` what it cannot express, ``release`` whether
the folder is the one that was released under its name.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from inquesto_core import schema
from inquesto_core.canonical import strict_json
from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.protocol.consistency import check_consistency, inconsistent
from inquesto_core.protocol.definition import (
    Accounting,
    AsrPin,
    EventType,
    ForegroundPin,
    Instruments,
    JudgePin,
    MediaLimits,
    Protocol,
    RecordingFaultLimits,
    Severity,
    Slice,
    TimelineLimits,
    VadPin,
    View,
)
from inquesto_core.protocol.foreground_network import check_network
from inquesto_core.protocol.layers import (
    PROTOCOL_FILE,
    protocol_document,
    protocol_folders,
    read_file,
)
from inquesto_core.protocol.outcome import METHODS, Method, OutcomeProtocol, parse_outcome
from inquesto_core.protocol.release import check_release, protocol_digest
from inquesto_core.shipped import protocols_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFAULT_PROTOCOL", "load_any_protocol", "load_protocol", "protocol_names"]

#: The version that is meant where none is named.
DEFAULT_PROTOCOL = "inquesto-0.1"


def protocol_names(method: Method | None = None) -> tuple[str, ...]:
    """Return the names of the shipped protocols, sorted: all, or those of one method."""
    found = sorted(protocols_folder().glob(f"*/{PROTOCOL_FILE}"))
    return tuple(path.parent.name for path in found if method is None or _method_of(path) == method)


def _method_of(path: Path) -> Any:
    own = strict_json(read_file(path), file=PROTOCOL_FILE)
    return own.get("method", "events") if isinstance(own, dict) else None


def load_protocol(name_or_path: str | Path) -> Protocol:
    """Return the shipped protocol of that name, or the one in that folder.

    A shipped name wins over a folder of the same name in the working folder.

    Raises
    ------
    SchemaError
        ``protocol.json`` is not what its schema says.
    ProtocolError
        Codes ``protocol_unknown``, ``protocol_inconsistent``, ``protocol_unreadable``,
        ``protocol_extends``, ``foreground_network``, ``release_changed``, ``release_missing``,
        ``release_draft``;
        ``protocol_method``: it does not decide by failure events (`load_any_protocol`).
    """
    protocol = load_any_protocol(name_or_path)
    if isinstance(protocol, OutcomeProtocol):
        raise ProtocolError(
            Problem(
                code="protocol_method",
                found=f"{protocol.name} decides by {protocol.method}",
                expected="a protocol that decides by failure events, such as " + DEFAULT_PROTOCOL,
                remedy="`inquesto-core score` and `explain` take any protocol",
            )
        )
    return protocol


def load_any_protocol(name_or_path: str | Path) -> Protocol | OutcomeProtocol:
    """Return the shipped protocol of that name, or the one in that folder, whatever its method.

    Raises
    ------
    SchemaError, ProtocolError
        As `load_protocol`, but for ``protocol_method``.
    """
    folder = _find_folder(name_or_path)
    protocol = _read(folder)
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
    raise ProtocolError(
        Problem(
            code="protocol_unknown",
            found=f"no protocol {str(name_or_path)!r}",
            expected=f"one of {', '.join(names)}, or a folder with a {PROTOCOL_FILE}",
        )
    )


def _read(folder: Path) -> Protocol | OutcomeProtocol:
    raw = protocol_document(folder)
    method = raw.get("method", "events") if isinstance(raw, dict) else "events"
    if method not in METHODS:
        expected = f"one of {', '.join(METHODS)}"
        raise inconsistent("/method", f"is {str(method)[:60]!r}", expected)
    if method != "events":
        schema.validate(raw, f"{method}_protocol", file=PROTOCOL_FILE)
        return parse_outcome(raw, folder, protocol_digest(folder))
    schema.validate(raw, "protocol", file=PROTOCOL_FILE)
    digest = protocol_digest(folder)
    protocol = _parse(raw, folder, digest)
    check_consistency(protocol)
    near = protocol.instruments.foreground
    check_network(protocol.file(near.network), near.features)
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
        handoff_decided_by=raw["goal"]["handoff_decided_by"],
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
        recording_faults=RecordingFaultLimits(
            **_without(raw["recording_faults"], "usual_rates_hz"),
            usual_rates_hz=tuple(raw["recording_faults"]["usual_rates_hz"]),
        ),
        accounting=Accounting(**{key: tuple(row) for key, row in raw["accounting"].items()}),
        default_population=raw["populations"]["default"],
        population_files=dict(raw["populations"]["files"]),
        folder=folder,
        folders=protocol_folders(folder),
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
    return Slice(
        conditions=row["conditions"],
        groups=row["groups"],
        identity=row["identity"],
    )


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
        not_speech=row["not_speech"],
        vad_level=row["vad_level"],
        leak=row["leak"],
        foreground=ForegroundPin(**row["foreground"]),
        asr=AsrPin(**_without(asr, "bytes"), size_bytes=asr["bytes"]),
        judge=JudgePin(**_without(judge, "bytes"), size_bytes=judge["bytes"]),
    )
