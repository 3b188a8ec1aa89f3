"""What a protocol *measures*: the parts of it that can move evidence, and nothing of its judgement.

Evidence is taken once and read under any protocol that measures the same. Thresholds, events,
severities, views, the rubric and the timeline's limits are no part of it, but for the two that
instruments read: how far apart segments are one (``ipu_gap_ms``), and which classes of timing
uncertainty there are. What transcriber and judge are given stands apart (`asking_of`,
`hearing_of`): their answers have keys of their own.
"""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from inquesto_core.canonical import digest_bytes, digest_json
from inquesto_core.protocol.layers import read_file
from inquesto_core.protocol.release import file_digests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.protocol.definition import Protocol

__all__ = [
    "CLASSES",
    "MEASURED",
    "asking_of",
    "hearing_of",
    "measurement_digest",
    "measurement_of",
]

#: Attributes of a protocol that the instruments and the check of exclusions read, whole.
MEASURED = (
    "accounting.excluded_reasons",
    "instruments.foreground",
    "instruments.leak",
    "instruments.not_speech",
    "instruments.vad",
    "instruments.vad_level",
    "media.max_duration_ms",
    "media.parameters",
    "recording_faults",
    "timeline.ipu_gap_ms",
)

#: The one of which only the keys are read: which classes of uncertainty a call can have.
CLASSES = "timing_uncertainty_ms"


def measurement_of(protocol: Protocol) -> Mapping[str, Any]:
    """Return the parts of a protocol that can move evidence, as JSON: attribute to value."""
    values = {name: attrgetter(name)(protocol) for name in MEASURED}
    network = protocol.file(protocol.instruments.foreground.network)
    return {
        **{name: _as_json(value) for name, value in values.items()},
        CLASSES: sorted(protocol.timing_uncertainty_ms),
        "network_sha256": digest_bytes(read_file(network)),
    }


def _as_json(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def measurement_digest(protocol: Protocol) -> str:
    """Return the SHA-256 of the canonical JSON of `measurement_of`.

    Two protocols of the same digest give the same evidence of the same bundle.
    """
    return digest_json(measurement_of(protocol))


def asking_of(protocol: Protocol) -> str:
    """Return the SHA-256 of what a judge is asked with: its pin and the rubric's texts."""
    rubric = protocol.instruments.rubric
    texts = file_digests(protocol.folder, under=f"{rubric}/") if rubric else {}
    return digest_json({"pin": protocol.raw["instruments"]["judge"], "rubric": texts})


def hearing_of(protocol: Protocol) -> str:
    """Return the SHA-256 of the transcriber's pin."""
    return digest_json(protocol.raw["instruments"]["asr"])
