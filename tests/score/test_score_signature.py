from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquesto_core.protocol import load_population, load_protocol
from inquesto_core.score.citation import JudgeUse, TranscriberUse
from inquesto_core.score.signature import format_signature, parse_signature, signature_parts

PROTOCOL = load_protocol("inquesto-0.1")
POPULATION = load_population("billing-0.1", PROTOCOL)


def parts(judge, transcriber=None):
    return signature_parts(
        protocol=PROTOCOL,
        population=POPULATION,
        judge=judge,
        transcriber=transcriber or TranscriberUse(kind="none"),
        engine_version="0.1.0",
    )


def test_the_signature_names_everything_that_made_the_score_in_a_fixed_order():
    text = format_signature(parts(JudgeUse(kind="none")))
    assert text == (
        f"inquesto:0.1|status:draft|pop:billing-0.1@{POPULATION.digest[:12]}|fail_at:3|"
        f"rubric:{PROTOCOL.instruments.rubric or 'none'}|vad:silero-vad-6.2.3@9ccdacc4719d|"
        "asr:none|judge:none|"
        f"protocol:{PROTOCOL.digest[:12]}|engine:0.1.0"
    )


PIN = PROTOCOL.instruments.judge


@pytest.mark.parametrize(
    ("judge", "shown"),
    [
        (JudgeUse(kind="pinned", sha256=PIN.sha256), "gemma-2-9b-it-Q4_0@ff1d1fc78170"),
        (JudgeUse(kind="pinned", label="x.gguf", sha256="0" * 64), "pinned/x.gguf@000000000000"),
        (JudgeUse(kind="recorded"), "recorded"),
        (JudgeUse(kind="recorded", model="gemma2:9b"), "recorded/gemma2:9b"),
        (JudgeUse(kind="gguf", label="q.gguf", sha256="a" * 64), "gguf/q.gguf@aaaaaaaaaaaa"),
    ],
)
def test_the_judge_is_named_by_what_it_is_known_by(judge, shown):
    assert parts(judge)["judge"] == shown


@given(st.text(st.characters(codec="utf-8")))
def test_a_signature_reads_back_whatever_a_name_holds(name):
    given_parts = {"inquesto": "0.1", "pop": name, "engine": "1"}
    text = format_signature(given_parts)
    assert text.isascii()
    assert text.isprintable()
    assert parse_signature(text) == given_parts


@pytest.mark.parametrize("text", ["", "inquesto", "a:1|a:2", "a:1||b:2"])
def test_what_is_no_signature_is_refused(text):
    with pytest.raises(ValueError, match="no part of a signature"):
        parse_signature(text)


@pytest.mark.parametrize(
    ("transcriber", "shown"),
    [
        (TranscriberUse(kind="none"), "none"),
        (
            TranscriberUse(kind="pinned", sha256=PROTOCOL.instruments.asr.sha256),
            "faster-whisper-base@d01c3014881c",
        ),
        (TranscriberUse(kind="pinned", model="x", sha256="0" * 64), "pinned/x@000000000000"),
        (
            TranscriberUse(kind="folder", model="tiny.en", sha256="1a" * 32),
            "folder/tiny.en@1a1a1a1a1a1a",
        ),
        (TranscriberUse(kind="folder"), "folder"),
    ],
)
def test_the_signature_says_whose_words_were_read(transcriber, shown):
    assert parts(JudgeUse(kind="none"), transcriber)["asr"] == shown
