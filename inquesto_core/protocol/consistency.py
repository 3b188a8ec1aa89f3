"""Whether the parts of one ``protocol.json`` fit together, which JSON Schema cannot say."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, TypeAlias

from inquesto_core.errors import Problem, ProtocolError
from inquesto_core.protocol.release import protocol_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from inquesto_core.protocol.definition import Protocol

__all__ = ["check_consistency", "inconsistent"]

#: JSON pointer, what stands there, what was expected.
Contradiction: TypeAlias = tuple[str, str, str]


def check_consistency(protocol: Protocol) -> None:
    """Raise at the first thing in `protocol` that contradicts another.

    Raises
    ------
    ProtocolError
        Code ``protocol_inconsistent``, with the pointer into ``protocol.json``.
    """
    for check in (_events, _severities, _limits, _uncertainty, _measures, _files):
        for pointer, found, expected in check(protocol):
            raise inconsistent(pointer, found, expected)


def inconsistent(pointer: str, found: str, expected: str) -> ProtocolError:
    """Return the error that names one contradiction."""
    return ProtocolError(
        Problem(
            code="protocol_inconsistent",
            file="protocol.json",
            pointer=pointer,
            found=found,
            expected=expected,
        )
    )


def _one_of(names: Iterable[object]) -> str:
    return "one of " + ", ".join(map(str, names))


def _events(protocol: Protocol) -> Iterator[Contradiction]:
    names = {event.name for event in protocol.events}
    for event in protocol.events:
        replaced = event.parameters.get("replaces")
        others = names - {event.name}
        if replaced is not None and replaced not in others:
            yield f"/events/{event.name}/replaces", f"is {replaced!r}", _one_of(sorted(others))
    for view in protocol.views:
        for name in view.counted:
            if name not in names:
                yield f"/views/{view.name}/counted", f"names {name!r}", _one_of(sorted(names))


def _severities(protocol: Protocol) -> Iterator[Contradiction]:
    levels = [severity.level for severity in protocol.severities]
    named = {f"/events/{event.name}/severity": event.severity for event in protocol.events}
    named["/fail_at"] = protocol.fail_at
    for at, level in enumerate(protocol.sensitivity_fail_at):
        named[f"/sensitivity_fail_at/{at}"] = level
    for pointer, level in named.items():
        if level not in levels:
            yield pointer, f"is {level}", _one_of(levels)


def _limits(protocol: Protocol) -> Iterator[Contradiction]:
    limits: dict[str, object] = {"/confidence/z": protocol.z}
    for name, value in asdict(protocol.timeline).items():
        limits[f"/timeline/{name}"] = value
    for event in protocol.events:
        for name, value in event.parameters.items():
            limits[f"/events/{event.name}/{name}"] = value
    for pointer, value in limits.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
            yield pointer, f"is {value}", "more than 0"


def _uncertainty(protocol: Protocol) -> Iterator[Contradiction]:
    moves = protocol.timing_uncertainty_ms
    if "default" not in moves:
        yield "/timing_uncertainty_ms", "has no key 'default'", "that key"
    for name, move in moves.items():
        if move < 0:
            yield f"/timing_uncertainty_ms/{name}", f"is {move}", "at least 0"


def _measures(protocol: Protocol) -> Iterator[Contradiction]:
    media, vad = protocol.media, protocol.instruments.vad
    if media.min_duration_ms <= 0:
        yield "/media/min_duration_ms", f"is {media.min_duration_ms}", "more than 0"
    if media.max_duration_ms <= media.min_duration_ms:
        found, expected = f"is {media.max_duration_ms}", f"more than {media.min_duration_ms}"
        yield "/media/max_duration_ms", found, expected
    if vad.frame_samples * 1000 != vad.frame_ms * vad.sample_rate_hz:
        expected = f"{vad.frame_ms} ms of {vad.sample_rate_hz} Hz"
        yield "/instruments/vad/frame_samples", f"is {vad.frame_samples}", expected


def _files(protocol: Protocol) -> Iterator[Contradiction]:
    if protocol.default_population not in protocol.population_files:
        found = f"is {protocol.default_population!r}"
        yield "/populations/default", found, _one_of(sorted(protocol.population_files))
    covered = protocol_files(protocol.folder)  # what the digest does not hold is not the protocol's
    for name, file in protocol.population_files.items():
        if file not in covered:
            expected = "a file of the protocol folder, as a plain relative path"
            yield f"/populations/files/{name}", f"is {file!r}", expected
    rubric = protocol.instruments.rubric
    if rubric is not None and not any(file.startswith(f"{rubric}/") for file in covered):
        expected = "a folder with files inside the protocol folder"
        yield "/instruments/judge/rubric", f"is {rubric!r}", expected
