"""The judge is asked exactly what the events need, by the model that was named."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import polars as pl
import pytest
from judged import Backend

from inquesto_core.engine import judging, run, score
from inquesto_core.engine.judging import ChosenJudge, asked_calls, choose_judge, needs_model
from inquesto_core.errors import InstrumentError
from inquesto_core.events.judged import judged_questions
from inquesto_core.evidence import make_table
from inquesto_core.instruments.judge_settings import judge_settings
from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score import JudgeUse

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


def pinning(path, **parameters):
    """Return the protocol with the file at `path` as its judge."""
    pin = PROTOCOL.instruments.judge
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    judge = replace(pin, sha256=sha256, parameters={**pin.parameters, **parameters})
    return replace(PROTOCOL, instruments=replace(PROTOCOL.instruments, judge=judge))


@pytest.mark.parametrize(
    ("pinned", "asked", "version", "kind", "label"),
    [
        pytest.param(0, None, "0.3.36", "pinned", "gemma-2-9b-it", id="as pinned"),
        pytest.param(0, 0, "0.3.36", "pinned", "gemma-2-9b-it", id="as pinned, said"),
        pytest.param(0, 43, "0.3.36", "gguf", "gemma-2-9b-it on cuda, 43 layers", id="on a GPU"),
        pytest.param(43, 0, "0.3.36", "gguf", "gemma-2-9b-it on cpu", id="pinned on a GPU"),
        pytest.param(43, 43, "0.3.36", "pinned", "gemma-2-9b-it", id="both on a GPU"),
        pytest.param(
            0,
            9,
            "0.3.40",
            "gguf",
            "gemma-2-9b-it on llama-cpp-python 0.3.40, cuda, 9 layers",
            id="another build on a GPU",
        ),
    ],
)
def test_the_pinned_model_on_another_device_is_not_the_pinned_judge(
    tmp_path, monkeypatch, pinned, asked, version, kind, label
):
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(judging, "judge_device", lambda layers: "cuda" if layers else "cpu")
    monkeypatch.setattr(judging.importlib.util, "find_spec", lambda _: "here")
    monkeypatch.setattr(judging.importlib.metadata, "version", lambda _: version)
    law = pinning(path, gpu_layers=pinned)
    chosen = choose_judge(f"gguf:{path}", law, gpu_layers=asked)
    assert (chosen.use.kind, chosen.use.label) == (kind, label)
    assert chosen.settings.gpu_layers == (pinned if asked is None else asked)


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
    assert (judged["device"], judged["gpu_layers"]) == ("cpu", 0)
    assert judged["build"].startswith(f"{judged['library']}; cpu; CPU : ")
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


def test_f38_words_that_nobody_spoke_are_not_read_and_numbers_of_turns_stay():
    phrase = {"text": "Thank you for watching", "heard_text": "", "supported": False}
    turns = [
        {"call_id": "0000", "position": 0, "speaker": "agent", "text": "Hello."},
        {"call_id": "0000", "position": 1, "speaker": "caller", **phrase},
        {"call_id": "0000", "position": 2, "speaker": "agent", "text": "Goodbye."},
    ]
    (call,) = asked("iep-001-dup_charge", transcript=turns)
    assert [turn.text for turn in call.turns] == ["Hello.", "", "Goodbye."]


def test_f39_f40_the_judge_reads_turns_in_their_order_whatever_their_times_say():
    turns = [
        {"call_id": "0000", "position": 0, "speaker": "agent", "text": "Hello.", "start_ms": 1000},
        {"call_id": "0000", "position": 1, "speaker": "caller", "text": "Hi.", "start_ms": 0},
        {"call_id": "0000", "position": 2, "speaker": "agent", "text": "Yes?", "start_ms": None},
    ]
    (call,) = asked("iep-001-dup_charge", transcript=turns)
    assert [turn.text for turn in call.turns] == ["Hello.", "Hi.", "Yes?"]


class StumblingBackend(Backend):
    """Breaks off in the middle of its answers about the first call, and says true otherwise."""

    device = "cpu"

    def __init__(self, path, *, settings):
        super().__init__()

    def ask(self, segments, *, grammar, max_tokens):
        answer = super().ask(segments, grammar=grammar, max_tokens=max_tokens)
        is_first = segments[:-2] == self.asked[0][:-2]
        return replace(answer, text='true,"turn":1,"rea') if is_first else answer

    def close(self):
        self.asked.clear()


def test_f50_f51_f52_one_answer_that_is_none_leaves_one_call_open_and_the_others_judged(
    twelve_calls, tmp_path, monkeypatch
):
    use = JudgeUse(kind="gguf", label="stub", model="stub", sha256="0" * 64)
    settings = judge_settings(PROTOCOL.instruments.judge)
    chosen = ChosenJudge(
        spec="gguf:stub", path=tmp_path, sha256="0" * 64, use=use, settings=settings
    )
    monkeypatch.setattr(judging, "LlamaJudge", StumblingBackend)
    monkeypatch.setattr(run, "choose_judge", lambda *_, **__: chosen)
    monkeypatch.setattr(judging.importlib.metadata, "version", lambda _: "0")
    done = score([twelve_calls], out=tmp_path / "RUN", judge="gguf:stub")
    verdicts = done.tables["verdicts"]
    open_calls = verdicts.filter(pl.col("verdict").is_null())["call_id"].unique().to_list()
    assert len(open_calls) == 1
    assert set(verdicts["undetermined"].drop_nulls()) == {"judge_unparseable"}
    states = {row["call_id"]: row["state"] for row in done.decisions.iter_rows(named=True)}
    assert len(states) == 12
    assert states.pop(open_calls[0]) == "not_evaluated"
    assert set(states.values()) == {"scored"}
