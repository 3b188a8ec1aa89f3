from __future__ import annotations

from dataclasses import replace

import pytest
from decision_cases import published_records

from inquesto_core.protocol import load_protocol
from inquesto_core.score.citation import (
    JudgeUse,
    Standing,
    TranscriberUse,
    citation_line,
    is_pinned,
    is_pinned_transcriber,
    plain_label,
)
from inquesto_core.score.rate import Rate

DRAFT = load_protocol("inquesto-0.1")
RELEASED = replace(DRAFT, status="released")
PINNED = JudgeUse(kind="pinned", sha256=DRAFT.instruments.judge.sha256)
WHOLE = Standing(
    population=None,
    total=306,
    in_n=306,
    excluded=0,
    bounds=None,
    timing_reported=False,
    is_partial=False,
)
VIEWS = {
    "behavior": {"score": 41.7},
    "robustness": {"score": 46.1},
    "identity": {"score": 38.9},
    "fairness": {"score": 41.3},
}
TAIL = " = 44.8% (95% CI 39.3–50.4; n = 306); views B 42 · R 46 · I 39 · F 41"


UNHEARD = TranscriberUse(kind="none")


def line(*, protocol=RELEASED, judge=PINNED, heard=UNHEARD, rate=None, views=VIEWS, **standing):
    return citation_line(
        rate or Rate(k=137, n=306),
        views,
        protocol=protocol,
        judge=judge,
        transcriber=heard,
        standing=replace(WHOLE, **standing),
    )


def test_the_plain_line_is_that_of_the_paper():
    assert line() == "Inquesto v0.1" + TAIL


def test_every_published_line_is_reproduced(shared):
    for record in published_records(shared).values():
        rate = Rate(k=record["passed"], n=record["n"])
        assert line(rate=rate, views=record["views"]) == record["citation"]


@pytest.mark.parametrize(
    ("given", "head"),
    [
        ({"protocol": DRAFT}, "Inquesto v0.1 [draft]"),
        ({"population": "acme-2"}, "Inquesto v0.1/acme-2"),
        ({"judge": JudgeUse(kind="recorded")}, "Inquesto v0.1 [judge: recorded labels]"),
        ({"judge": JudgeUse(kind="none")}, "Inquesto v0.1 [judge-free]"),
        (
            {"judge": JudgeUse(kind="gguf", label="qwen.gguf", sha256="ab")},
            "Inquesto v0.1 [judge: qwen.gguf]",
        ),
        ({"timing_reported": True}, "Inquesto v0.1 [timing reported]"),
        (
            {"in_n": 290, "bounds": (41.2, 46.4)},
            "Inquesto v0.1 [incomplete 290/306; 41.2–46.4 %]",
        ),
        ({"in_n": 300, "excluded": 6}, "Inquesto v0.1 [excluded 6/306]"),
        ({"is_partial": True}, "Inquesto v0.1 [partial]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_limits_a_score_stands_before_the_equals_sign(given, head):
    assert line(**given) == head + TAIL


def test_the_brackets_have_a_fixed_order():
    assert line(
        protocol=DRAFT,
        judge=JudgeUse(kind="none"),
        population="acme-2",
        timing_reported=True,
        in_n=290,
        bounds=(41.2, 46.4),
        excluded=6,
        is_partial=True,
    ).startswith(
        "Inquesto v0.1/acme-2 [draft] [judge-free] [timing reported] "
        "[incomplete 290/306; 41.2–46.4 %] [excluded 6/306] [partial] = "
    )


def test_an_empty_view_is_a_dash():
    assert line(views={**VIEWS, "identity": {"score": None}}).endswith("R 46 · I – · F 41")


def test_no_call_has_no_score():
    assert line(rate=Rate(k=0, n=0), in_n=0) == "Inquesto v0.1 = no score (n = 0)"


def test_a_pinned_judge_is_known_by_its_digest_and_not_by_the_claim():
    claimed = JudgeUse(kind="pinned", label="gemma.gguf", sha256="0" * 64)
    assert not is_pinned(claimed, DRAFT)
    assert line(judge=claimed) == "Inquesto v0.1 [judge: gemma.gguf]" + TAIL
    assert line(judge=JudgeUse(kind="pinned")) == "Inquesto v0.1 [judge: unknown]" + TAIL


@pytest.mark.parametrize(
    "name", ["x = 99.9% (95% CI", "a] [b", "a\x1b[2K", "a\u202eb", "a\nb", "y" * 500]
)
def test_a_name_from_outside_cannot_forge_the_line(name):
    shown = plain_label(name)
    assert shown.isprintable()
    assert len(shown) <= 80
    assert not set("[]=;|") & set(shown)
    assert line(population=name).count("=") == 2


ASR = DRAFT.instruments.asr


@pytest.mark.parametrize(
    ("heard", "mark"),
    [
        pytest.param(UNHEARD, "", id="nobody"),
        pytest.param(TranscriberUse(kind="pinned", sha256=ASR.sha256), "", id="pinned"),
        pytest.param(
            TranscriberUse(kind="pinned", model="x", sha256="0" * 64), " [asr: x]", id="claimed"
        ),
        pytest.param(
            TranscriberUse(kind="folder", label="tiny.en", sha256="0" * 64),
            " [asr: tiny.en]",
            id="another",
        ),
        pytest.param(
            TranscriberUse(kind="folder", label="base on ctranslate2 9", sha256=ASR.sha256),
            " [asr: base on ctranslate2 9]",
            id="another_build",
        ),
    ],
)
def test_words_of_another_transcriber_stand_in_the_line(heard, mark):
    assert line(heard=heard) == f"Inquesto v0.1{mark}" + TAIL
    assert is_pinned_transcriber(heard, DRAFT) == (heard.kind != "none" and not mark)
