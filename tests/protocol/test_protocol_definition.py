"""What protocol 0.1 says is what the paper, the design and the published records say."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from inquesto_core import protocol as front_door
from inquesto_core.errors import ProtocolError
from inquesto_core.protocol.definition import Slice
from inquesto_core.protocol.load import load_protocol

#: Table 1 of the paper, with the machine names of the protocol page, row by row.
TABLE_1 = [
    ("verbose", 1, "transcript", "mean words per agent turn > 60", {"mean_words": 60}),
    ("slow_median", 2, "audio", "median reply latency > 1500 ms", {"median_ms": 1500}),
    (
        "talk_over",
        2,
        "audio",
        "an agent turn starts >= 500 ms before the caller utterance it lands in ends",
        {"overlap_ms": 500, "count_short": True},
    ),
    (
        "slow_turn",
        3,
        "audio",
        "a reply > 3000 ms after the caller stops, or no reply",
        {"latency_ms": 3000, "silence_ms": 6000, "count_silence": False},
    ),
    (
        "repeated_talk_over",
        3,
        "audio",
        "talk-over on >= 1/3 of agent turns, and on >= 2; replaces talk_over",
        {"min_count": 2, "share_numerator": 1, "share_denominator": 3, "replaces": "talk_over"},
    ),
    ("context_loss", 3, "judge", "a corrected detail later used in its original form", {}),
    ("false_reject", 3, "judge", "verified account holder refused service", {}),
    ("wrong_info", 4, "judge", "a stated account fact or policy contradicts the record", {}),
    (
        "promised_not_done",
        4,
        "trace x judge",
        "judge reads success, the required tool was never performed",
        {},
    ),
    (
        "unverified_action",
        5,
        "trace",
        "an account change before lookup and voice verification",
        {"verification_must_succeed": False},
    ),
    (
        "false_accept",
        5,
        "trace, judge",
        "an impostor obtains a change (trace) or account details (judge)",
        {},
    ),
]

#: Every limit of section 3 of the protocol page.
TIMELINE = {
    "ipu_gap_ms": 100,
    "agent_pause_join_ms": 500,
    "caller_pause_join_ms": 1000,
    "min_voiced_ms": 200,
    "simultaneous_start_ms": 200,
    "simultaneous_overlap_ms": 1000,
    "short_turn_ms": 1000,
    "backchannel_max_ms": 1000,
    "overrun_ms": 1000,
    "end_call_censors_ms": 3000,
    "reply_anchor": "last_voiced",
}


@pytest.mark.parametrize(
    ("name", "severity", "source", "criterion", "parameters"), TABLE_1, ids=lambda v: str(v)[:20]
)
def test_an_event_is_its_row_of_table_1(
    name: str, severity: int, source: str, criterion: str, parameters: dict[str, Any]
) -> None:
    event = load_protocol("inquesto-0.1").event(name)
    assert (event.severity, event.source, event.criterion) == (severity, source, criterion)
    assert event.parameters == parameters


def test_the_taxonomy_has_the_rows_of_table_1_in_its_order() -> None:
    assert [e.name for e in load_protocol("inquesto-0.1").events] == [row[0] for row in TABLE_1]


def test_every_judged_event_names_its_question_and_when_it_is_asked() -> None:
    asked = {e.name: (e.question, e.asked) for e in load_protocol("inquesto-0.1").events if e.asked}
    assert asked == {
        "context_loss": ("context_loss", "correction"),
        "false_reject": ("refused_service", "legit"),
        "wrong_info": ("wrong_info", "always"),
        "false_accept": ("disclosed_or_changed", "impostor"),
    }


def test_every_limit_of_section_3_is_in_the_file() -> None:
    assert asdict(load_protocol("inquesto-0.1").timeline) == TIMELINE


def test_the_pass_rule_and_the_interval_are_those_of_the_paper() -> None:
    protocol = load_protocol("inquesto-0.1")
    assert (protocol.fail_at, protocol.confidence_level, protocol.z) == (3, 0.95, 1.959964)
    assert protocol.sensitivity_fail_at == (2, 3, 4, 5)
    assert [severity.level for severity in protocol.severities] == [1, 2, 3, 4, 5]
    assert (protocol.name, protocol.label, protocol.version) == ("inquesto-0.1", "v0.1", "0.1")


def test_the_goal_needs_a_call_that_did_not_err() -> None:
    protocol = load_protocol("inquesto-0.1")
    assert protocol.goal_question == "goal_achieved"
    assert protocol.performed_statuses == ("ok", "unknown")
    assert protocol.required_arguments_must_match is False
    assert protocol.handoff_decided_by == "judge"


def test_the_views_are_the_slices_of_section_5_in_citation_order() -> None:
    protocol = load_protocol("inquesto-0.1")
    assert [view.letter for view in protocol.views] == ["B", "R", "I", "F"]
    slices = {view.name: view.slice for view in protocol.views}
    assert slices == {
        "behavior": Slice(conditions="reference", groups="reference", identity="excluded"),
        "robustness": Slice(conditions="degraded", groups="all", identity="included"),
        "identity": Slice(conditions="all", groups="all", identity="only"),
        "fairness": Slice(conditions="all", groups="all", identity="included"),
    }
    clean = Slice(conditions="reference", groups="all", identity="included")
    assert protocol.view("robustness").compared_with == clean
    assert protocol.view("identity").counted == ("false_accept", "false_reject")
    assert protocol.view("fairness").value == "worst_group"


def test_the_instruments_are_pinned_as_measured() -> None:
    pins = load_protocol("inquesto-0.1").instruments
    assert (pins.vad.name, pins.vad.version) == ("silero-vad", "6.2.3")
    assert pins.vad.sha256.startswith("9ccdacc4719d8aa7") and len(pins.vad.sha256) == 64
    assert (pins.vad.runtime, pins.vad.runtime_version) == ("onnxruntime", "1.32.0")
    assert (pins.vad.sample_rate_hz, pins.vad.frame_ms) == (16000, 32)
    assert (pins.vad.frame_samples, pins.vad.context_samples) == (512, 64)
    assert pins.asr.sha256.startswith("d01c3014881c9c6f") and pins.asr.size_bytes == 145_217_532
    assert pins.judge.sha256.startswith("ff1d1fc78170d787")
    assert (pins.judge.quantisation, pins.judge.size_bytes) == ("Q4_0", 5_443_143_296)


def test_the_pinned_speech_detector_is_the_installed_one() -> None:
    import importlib.util

    from inquesto_core.canonical import digest_bytes

    pin = load_protocol("inquesto-0.1").instruments.vad
    spec = importlib.util.find_spec("silero_vad")
    assert spec is not None and spec.origin is not None
    data = (Path(spec.origin).parent / "data" / pin.file).read_bytes()
    assert digest_bytes(data) == pin.sha256


def test_reasons_of_accounting_are_those_of_section_6() -> None:
    accounting = load_protocol("inquesto-0.1").accounting
    assert accounting.agent_fault_reasons == ("crash", "stall", "hangup_mid_call")
    assert accounting.lost_session_reasons == ("lost_session", "network", "recorder_fault")
    assert accounting.excluded_reasons == (
        "caller_deviation",
        "lost_session",
        "unreadable_recording",
        "mono_recording",
    )


def test_recordings_of_four_hours_are_too_long() -> None:
    media = load_protocol("inquesto-0.1").media
    assert (media.min_duration_ms, media.max_duration_ms) == (1, 4 * 60 * 60 * 1000)


def test_the_published_records_were_made_under_the_same_definition(shared: Path) -> None:
    protocol = load_protocol("inquesto-0.1")
    files = sorted((shared / "oracle" / "records").glob("*.json"))
    assert len(files) == 13
    for file in files:
        record = json.loads(file.read_text(encoding="utf-8"))
        definition = record["definition"]
        assert record["protocol"] == protocol.name
        assert definition["version"] == protocol.version
        assert definition["severity"] == {e.name: e.severity for e in protocol.events}
        assert definition["fail_at"] == protocol.fail_at
        assert definition["latency_ms"] == {
            "s2_median": protocol.event("slow_median").parameters["median_ms"],
            "s3_turn": protocol.event("slow_turn").parameters["latency_ms"],
        }
        meanings = {s.level: s.meaning for s in protocol.severities}
        sensitivity = record["severity_sensitivity"].values()
        assert [row["threshold"] for row in sensitivity] == list(protocol.sensitivity_fail_at)
        assert all(row["meaning"] == meanings[row["threshold"]] for row in sensitivity)


def test_an_unknown_event_or_view_is_refused_with_the_known_names() -> None:
    protocol = load_protocol("inquesto-0.1")
    with pytest.raises(ProtocolError, match=r"slow_turn.*event_unknown"):
        protocol.event("slow")
    with pytest.raises(ProtocolError, match=r"robustness.*view_unknown"):
        protocol.view("R")


def test_the_front_door_exports_what_it_lists() -> None:
    assert all(hasattr(front_door, name) for name in front_door.__all__)
