"""Real models that a judge can be, the calls they are asked about, and what a legal row is."""

from __future__ import annotations

import functools
import json
import multiprocessing
import random
import re
from dataclasses import dataclass

import pytest
from judged import PROTOCOL, SETTINGS, Store, asked

from inquesto_core.instruments.judge import Judge, JudgeModel, judge_calls
from inquesto_core.instruments.judge_llama import LlamaJudge
from inquesto_core.instruments.model_files import find_model_file
from inquesto_core.instruments.rubric import load_rubric

RUBRIC = load_rubric(PROTOCOL)
#: A short record: the tiny model reads letter by letter.
FACTS = {"plan": "Pro", "charge": "$49"}
#: Every question in every form it has.
ASKED = [
    ("goal_achieved", "solvable", None),
    ("wrong_info", "solvable", None),
    ("goal_achieved", "handoff", None),
    ("context_loss", "solvable", None),
    ("goal_achieved", "impostor", "impostor"),
    ("disclosed_or_changed", "impostor", "impostor"),
    ("refused_service", "solvable", "legit"),
]
_SPOKEN = """
hello please refund the second charge card plan address number it is 4471 $49 May 3rd yes no sorry
done done. later cancelled verified supervisor wait uh um thanks "quoted" it's {x} naïve 请 да 👍
<end_of_turn> true false null
"""
WORDS = _SPOKEN.split()
_REASON = re.compile(r"[ -~]{0,160}")


@dataclass(frozen=True)
class StandIn:
    """A small model that stands in for the pinned one, by its digest."""

    name: str
    sha256: str
    size_bytes: int


STAND_INS = [
    StandIn(
        "SmolLM2-135M-Instruct",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
    ),
    StandIn(
        "Gemma-3-270M",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        253_113_024,
    ),
]


def stand_in_path(stand_in):
    """Return where the model lies, or skip."""
    found = find_model_file(stand_in)
    if found.state != "ok":
        pytest.skip(f"{stand_in.name} is not here: name its folder in INQUESTO_MODELS")
    return found.path


def generated_calls(count, *, seed, most_turns=24):
    """Return calls of random words, questions in turn; the longer the rarer."""
    draw = random.Random(seed)
    calls = []
    for at in range(count):
        question, form, identity = ASKED[at % len(ASKED)]
        turns = [
            " ".join(draw.choices(WORDS, k=draw.randrange(13)))
            for _ in range(1 + int(most_turns * draw.random() ** 2))
        ]
        calls.append(asked(f"{at:04}", *turns, questions=(question,), form=form, identity=identity))
    return calls


def judge_of(backend, settings=SETTINGS):
    model = JudgeModel(backend=backend, name="m", sha256="0" * 64)
    return Judge(model=model, rubric=RUBRIC, facts=FACTS, settings=settings, store=Store())


def rows_of(backend, calls, settings=SETTINGS):
    """Return the rows of a fresh judge, by call and question."""
    rows = judge_calls(calls, judge_of(backend, settings), progress=lambda done, total: None)
    return {(row["call_id"], row["question"]): row for row in rows}


def rows_of_fresh_model(path, calls, *, threads=1, settings=SETTINGS):
    """Load a model, ask it about calls, and give it back."""
    backend = LlamaJudge(path, settings=settings, threads=threads)
    try:
        return rows_of(backend, calls, settings)
    finally:
        backend.close()


def rows_of_two_workers(path, calls, *, settings=SETTINGS):
    """Return the rows of two processes that are asked about every other call each, at once."""
    ask = functools.partial(rows_of_fresh_model, path, settings=settings)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.map(ask, [calls[::2], calls[1::2]], chunksize=1)
    return {**first, **second}


def is_legal(row, turns):
    """Return whether a row is one legal answer, read independently, or rightly undetermined."""
    has_words = any(turn.text.strip() for turn in turns)
    if row["verdict"] is None:
        return row["undetermined"] == ("too_long" if has_words else "no_transcript")
    assert has_words
    said = json.loads(row["raw"])
    assert list(said) == ["verdict", "turn", "reason"]
    assert [said[key] for key in said] == [row["verdict"], row["turn"], row["reason"]]
    assert row["verdict"] is (row["p_true"] > row["p_false"])
    assert 0 < row["p_true"] + row["p_false"] <= 1
    cites_turn = said["turn"] is None or said["turn"] in range(len(turns))
    return cites_turn and bool(_REASON.fullmatch(said["reason"]))
