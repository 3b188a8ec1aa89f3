"""The judge is asked exactly what the events need, by the model that was named."""

from __future__ import annotations

import json

import polars as pl
import pytest

from inquesto_core.engine import score
from inquesto_core.engine.judging import asked_calls, choose_judge, needs_model
from inquesto_core.errors import InstrumentError
from inquesto_core.events.judged import judged_questions
from inquesto_core.evidence import make_table
from inquesto_core.protocol import load_population, load_protocol

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = load_population(PROTOCOL.default_population, PROTOCOL)

ALWAYS = {"goal_achieved", "wrong_info"}


def tables(scenario_ids, *, transcript=(), **columns):
    usable = {"exclusion_reason": None, "has_transcript": True, **columns}
    return {
        "calls": make_table(
            "calls",
            [
                {"call_id": f"{at:04}", "scenario_id": scenario, **usable}
                for at, scenario in enumerate(scenario_ids)
            ],
        ),
        "transcript": make_table("transcript", list(transcript)),
    }


def asked(*scenario_ids, **more):
    return asked_calls(tables(scenario_ids, **more), protocol=PROTOCOL, population=POPULATION)


@pytest.mark.parametrize(
    ("scenario", "form", "questions"),
    [
        ("iep-001-dup_charge", "solvable", set()),
        ("iep-006-cancel_sub", "solvable", {"context_loss"}),
        ("iep-023-escalate_refund", "handoff", set()),
        ("iep-022-escalate_refund", "solvable", {"context_loss"}),
        ("iep-025-legit-dup_charge", "solvable", {"refused_service"}),
        ("iep-028-impostor-dup_charge", "impostor", {"disclosed_or_changed"}),
    ],
)
def test_a_scenario_is_asked_its_questions_in_its_form(scenario, form, questions):
    (call,) = asked(scenario)
    assert call.form == form
    assert set(call.questions) == ALWAYS | questions
    assert call.goal == POPULATION.scenario(scenario).goal


def test_over_the_population_every_question_is_asked_somewhere():
    calls = asked(*(scenario.id for scenario in POPULATION.scenarios))
    assert {name for call in calls for name in call.questions} == set(judged_questions(PROTOCOL))
    assert [call.call_id for call in calls] == sorted(call.call_id for call in calls)


def test_excluded_calls_and_strangers_are_not_asked_about():
    assert asked("iep-001-dup_charge", exclusion_reason="mono_recording") == []
    assert asked("no-such-scenario", None) == []


def test_the_judge_reads_what_was_heard():
    turns = [
        {"call_id": "0000", "position": 1, "speaker": "caller", "text": "Hi"},
        {
            "call_id": "0000",
            "position": 0,
            "speaker": "agent",
            "text": "Hello, how may I help?",
            "heard_text": "Hello,",
        },
    ]
    (call,) = asked("iep-001-dup_charge", transcript=turns)
    assert [(turn.speaker, turn.text) for turn in call.turns] == [
        ("agent", "Hello,"),
        ("caller", "Hi"),
    ]


def test_an_empty_transcript_is_read_and_an_absent_one_is_not():
    assert asked("iep-001-dup_charge")[0].turns == ()
    assert asked("iep-001-dup_charge", has_transcript=False)[0].turns is None


@pytest.mark.parametrize(
    ("spec", "needed"),
    [("auto", False), ("none", False), ("recorded", False), ("pinned", True), ("gguf:a", True)],
)
def test_only_pinned_and_gguf_need_a_model(spec, needed):
    assert needs_model(spec) is needed


@pytest.mark.parametrize("spec", ["Recorded", "gguf:", "gemma", ""])
def test_an_unknown_judge_is_said(spec):
    with pytest.raises(InstrumentError, match="judge_unknown"):
        needs_model(spec)


def test_a_judge_that_is_not_here_is_said_before_anything_is_measured(tmp_path, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "OLLAMA_MODELS"):
        monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(InstrumentError, match=r"extra_missing|model_missing"):
        score([tmp_path], out=tmp_path / "RUN", judge="pinned")
    assert not (tmp_path / "RUN").exists()


def test_a_run_is_judged_by_the_named_model_and_says_so(twelve_calls, tmp_path):
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed: extra `judge`")
    gguf = pytest.importorskip("gguf", reason="gguf is not installed: it writes the tiny model")
    from tiny_gguf import write_tiny_gemma2

    path = write_tiny_gemma2(tmp_path / "tiny.gguf", gguf)
    spec = f"gguf:{path}"
    chosen = choose_judge(spec, PROTOCOL)
    assert (chosen.use.kind, chosen.use.model) == ("gguf", "tiny.gguf")
    first, again = (
        score([twelve_calls], out=tmp_path / name, judge=spec, workers=workers)
        for name, workers in (("ONE", 1), ("TWO", 2))
    )
    (record,) = first.records.values()
    assert "[judge: tiny.gguf" in record["citation"]
    judged = record["provenance"]["judge"]
    verdicts = first.tables["verdicts"]
    assert judged["asked"] == verdicts.height > 24
    assert judged["sha256"] == chosen.sha256
    assert not judged["is_pinned"]
    assert verdicts["source"].unique().to_list() == ["judge"]
    assert (
        verdicts.filter(pl.col("raw").is_null()).filter(pl.col("p_true").is_not_null()).is_empty()
    )
    assert (tmp_path / "ONE" / "record.json").read_bytes() == (
        tmp_path / "TWO" / "record.json"
    ).read_bytes()
    assert again.tables["verdicts"].equals(verdicts)
    manifest = json.loads((tmp_path / "ONE" / "manifest.json").read_bytes())
    assert [model["name"] for model in manifest["models"]] == ["silero-vad", "tiny.gguf"]
