"""What platforms report of the stages of their answers stands in the trace, as reported."""

from __future__ import annotations

import json

import pytest
from platform_exports import (
    deepgram_events,
    livekit_report,
    pipecat_context,
    retell_call,
    vapi_call,
)

from inquesto_core.bundle import ReportedStages
from inquesto_core.errors import SchemaError
from inquesto_core.importers import deepgram_agent, livekit, pipecat, retell, vapi
from inquesto_core.importers.draft import ImportOptions
from inquesto_core.importers.fields import Node
from inquesto_core.importers.stages import reported_stages, stage_duration


def stages(importer, value, tmp_path):
    export = tmp_path / "export.json"
    node = Node(json.loads(json.dumps(value)), export.name)
    return importer.draft(node, export, ImportOptions()).stages


def test_vapi_gives_the_latencies_of_each_turn(tmp_path):
    call = vapi_call()
    call["artifact"]["performanceMetrics"] = {
        "turnLatencies": [
            {
                "modelLatency": 512.4,
                "voiceLatency": 130,
                "transcriberLatency": 90,
                "endpointingLatency": 700,
                "turnLatency": 1432.4,
            },
            {"modelLatency": 640, "voiceLatency": 120},
        ]
    }
    assert stages(vapi, call, tmp_path) == ReportedStages(
        source="vapi",
        endpointing_ms=(700, None),
        recognition_ms=(90, None),
        model_ms=(512, 640),
        synthesis_ms=(130, 120),
    )


def test_livekit_gives_them_in_seconds_on_messages_of_both_sides(tmp_path):
    report = livekit_report()
    messages = [row for row in report["chat_history"]["items"] if row["type"] == "message"]
    for row in messages:
        row["metrics"] |= (
            {"end_of_turn_delay": 0.62, "transcription_delay": 0.31}
            if row["role"] == "user"
            else {"llm_node_ttft": 0.4, "tts_node_ttfb": 0.1255}
        )
    found = stages(livekit, report, tmp_path)
    users = sum(row["role"] == "user" for row in messages)
    assert found.endpointing_ms == (620,) * users
    assert found.recognition_ms == (310,) * users
    assert found.model_ms == (400,) * (len(messages) - users)
    assert set(found.synthesis_ms) == {126}


def test_retell_gives_lists_of_their_own_lengths(tmp_path):
    latency = {"e2e": {"values": [1]}, "llm": {"values": [300, 320, 290]}, "tts": {"values": [90]}}
    found = stages(retell, retell_call(latency=latency), tmp_path)
    assert found == ReportedStages(source="retell", model_ms=(300, 320, 290), synthesis_ms=(90,))


def test_pipecat_gives_the_first_service_of_each_kind(tmp_path):
    value = {
        "call_id": "p-1",
        "messages": pipecat_context(),
        "latency_breakdowns": [
            {
                "user_turn_secs": 0.8,
                "ttfb": [
                    {"processor": "DeepgramSTTService#0", "duration_secs": 0.18},
                    {"processor": "OpenAILLMService#0", "duration_secs": 0.41},
                    {"processor": "OpenAILLMService#1", "duration_secs": 0.9},
                    {"processor": "CartesiaTTSService#0", "duration_secs": 0.1},
                    {"processor": "Mixer#0", "duration_secs": 5},
                ],
            },
            {"ttfb": []},
        ],
    }
    assert stages(pipecat, value, tmp_path) == ReportedStages(
        source="pipecat",
        endpointing_ms=(800, None),
        recognition_ms=(180, None),
        model_ms=(410, None),
        synthesis_ms=(100, None),
    )


def test_deepgram_gives_its_reports_of_latency(tmp_path):
    report = {"type": "LatencyReport", "stt_latency": 0.12, "tts_latency": 0.11}
    found = stages(deepgram_agent, [*deepgram_events(), report], tmp_path)
    assert found == ReportedStages(
        source="deepgram-agent", recognition_ms=(120,), synthesis_ms=(110,)
    )


@pytest.mark.parametrize(
    ("importer", "value"),
    [
        (vapi, vapi_call()),
        (livekit, livekit_report()),
        (retell, retell_call()),
        (pipecat, pipecat_context()),
        (deepgram_agent, deepgram_events()),
    ],
    ids=["vapi", "livekit", "retell", "pipecat", "deepgram"],
)
def test_where_nothing_is_reported_there_are_no_stages(tmp_path, importer, value):
    assert stages(importer, value, tmp_path) is None


@pytest.mark.parametrize(
    ("value", "ms"), [(0, 0), (-1, None), (3_600_000, 3_600_000), (3_600_001, None)]
)
def test_what_is_no_duration_is_not_known(value, ms):
    assert stage_duration(Node(value, "a.json", "/x"), "ms") == ms
    assert stage_duration(None, "ms") is None


def test_what_is_no_number_is_refused_by_its_pointer():
    with pytest.raises(SchemaError, match=r"^a\.json /x is .*\[export_time\]$"):
        stage_duration(Node("fast", "a.json", "/x"), "ms")


def test_stages_of_nothing_are_none():
    assert reported_stages("x", {"model": [None, None], "synthesis": []}) is None
