"""What a protocol measures is what the instruments read of it, all of that and nothing else."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from inquesto_core.bundle import BundleRef, read_bundle
from inquesto_core.engine.exclusion import with_exclusion_checked
from inquesto_core.instruments import SileroVad, measure_call
from inquesto_core.protocol import asking_of, load_protocol, measurement_digest, measurement_of
from inquesto_core.protocol.measurement import CLASSES, MEASURED

PROTOCOL = load_protocol("inquesto-0.1")
#: Where a file lies is not what it says; the network's digest is part of the measurement.
PLACES = {"file", "folder"}

CALLS = (
    "steady/steady-012-invoice_up-babble",  # a near background, a long answer
    "hasty/hasty-006-cancel_sub-telephone",  # cut off by the system
    "steady/steady-003-dup_charge-telephone",  # asks to be excluded
)


class Read:
    """A protocol that notes which of its values are read."""

    def __init__(self, value: Any, path: str, seen: set[str]) -> None:
        self._value, self._path, self._seen = value, path, seen

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._value, name)
        path = f"{self._path}.{name}" if self._path else name
        if is_dataclass(value):
            return Read(value, path, self._seen)
        self._seen.add(path)
        return value


@pytest.fixture(scope="module")
def vad() -> SileroVad:
    return SileroVad(PROTOCOL.instruments.vad)


def is_measured(path: str) -> bool:
    return path == CLASSES or any(path == m or path.startswith(f"{m}.") for m in MEASURED)


@pytest.mark.parametrize("name", CALLS)
def test_measuring_reads_nothing_of_a_protocol_that_is_not_its_measurement(
    project: Path, vad: SileroVad, name: str
) -> None:
    seen: set[str] = set()
    spied: Any = Read(PROTOCOL, "", seen)
    ref = BundleRef(path=project / "sample_records" / name, label=name)
    measure_call(with_exclusion_checked(read_bundle(ref), spied), protocol=spied, vad=vad)
    assert {path for path in seen - PLACES if not is_measured(path)} == set()
    assert "timeline.ipu_gap_ms" in seen


def test_every_part_of_the_measurement_is_an_attribute_and_stands_once() -> None:
    assert sorted(set(MEASURED)) == list(MEASURED)
    assert set(measurement_of(PROTOCOL)) == {*MEASURED, CLASSES, "network_sha256"}
    for name in MEASURED:
        owner: Any = PROTOCOL
        for part in name.split("."):
            assert part in {field.name for field in fields(owner)}
            owner = getattr(owner, part)


def put(*path: str, to: object) -> Any:
    def change(value: dict[str, Any]) -> None:
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("events", "slow_turn", "latency_ms"), 2500),
        (("events", "talk_over", "severity"), 3),
        (("fail_at",), 4),
        (("timeline", "caller_pause_join_ms"), 900),
        (("timing_uncertainty_ms", "default"), 40),
        (("instruments", "judge", "parameters", "context_tokens"), 4096),
        (("goal", "required_arguments_must_match"), True),
        (("accounting", "agent_fault_reasons"), ["crash"]),
    ],
    ids=lambda v: "/".join(v) if isinstance(v, tuple) else None,
)
def test_what_only_judges_leaves_the_measurement_as_it_is(
    edited: Any, path: tuple[str, ...], to: object
) -> None:
    other = load_protocol(edited("protocol.json", put(*path, to=to)))
    assert other.digest != PROTOCOL.digest
    assert measurement_digest(other) == measurement_digest(PROTOCOL)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("instruments", "vad", "parameters", "threshold"), 0.6),
        (("instruments", "leak", "reach_ms"), 400),
        (("timeline", "ipu_gap_ms"), 90),
        (("timing_uncertainty_ms",), {"default": 30}),
        (("media", "max_duration_ms"), 1000),
        (("recording_faults", "step_ms"), 301),
        (("accounting", "excluded_reasons"), ["lost_session"]),
    ],
    ids=lambda v: "/".join(v) if isinstance(v, tuple) else None,
)
def test_what_moves_evidence_changes_the_measurement(
    edited: Any, path: tuple[str, ...], to: object
) -> None:
    other = load_protocol(edited("protocol.json", put(*path, to=to)))
    assert measurement_digest(other) != measurement_digest(PROTOCOL)


def test_another_network_is_another_measurement(edited: Any) -> None:
    folder = edited("foreground.json", lambda net: net.update(output_bias=0.25))
    assert measurement_digest(load_protocol(folder)) != measurement_digest(PROTOCOL)


def test_a_word_of_the_rubric_is_asked_otherwise_and_measured_the_same(edited: Any) -> None:
    folder = edited("protocol.json", lambda _: None)
    (folder / "rubric" / "wrong_info.txt").write_text("Question: other", encoding="utf-8")
    other = load_protocol(folder)
    assert asking_of(other) != asking_of(PROTOCOL)
    assert measurement_digest(other) == measurement_digest(PROTOCOL)


def test_the_measurement_is_json(edited: Any) -> None:
    assert json.loads(json.dumps(measurement_of(PROTOCOL)))["timeline.ipu_gap_ms"] == 100
