"""Field cases F15 and F44-F47 to the end: what the imported call then makes of a scenario."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from decide_loop import scenario, small_population
from exported import base_audio, imported, run_import, write_json, write_lines
from platform_exports import GENERIC_MAPPING, generic_call, realtime_events
from spoken import lane, listen
from synth import write_sound

from inquesto_core.bundle import BundleRef, read_bundle
from inquesto_core.bundle.call import Answer, RecordedVerdicts
from inquesto_core.engine.reduction import EXTRACTED, tables_of
from inquesto_core.events import detect
from inquesto_core.events.transcript import verbosity
from inquesto_core.protocol import load_protocol
from inquesto_core.score import decision_table

PROTOCOL = load_protocol("inquesto-0.1")
PLACE = {"scenario_id": "own", "condition": "clean", "group": "near", "trial": 0}
FIFTY = {
    "kind": "tool_arguments",
    "tool": "issue_refund",
    "schema": {"type": "object", "required": ["amount"], "properties": {"amount": {"const": 50}}},
}
CALLED = {"kind": "tool_called", "tool": "issue_refund"}


def detected(bundle, *predicates, answers=()):
    """Return what the engine finds in a bundle that belongs to a scenario, and its decision."""
    people = small_population(
        scenario("own", predicates=predicates, required_action="issue_refund")
    )
    people = replace(people, tools=replace(people.tools, change=("issue_refund",)))
    given = tuple(
        Answer(question=name, verdict=value, reason="", turn=None) for name, value in answers
    )
    verdicts = RecordedVerdicts(model="m", answers=given) if given else None
    rows = listen(replace(bundle, call=replace(bundle.call, **PLACE), verdicts=verdicts))
    tables = tables_of([{name: rows.get(name, []) for name in EXTRACTED}])
    of = {"protocol": PROTOCOL, "population": people}
    found = detect(tables, **of)
    (row,) = decision_table(found, judge_free=False, **of).to_dicts()
    return found, row


def holds(bundle, *predicates):
    return detected(bundle, *predicates)[0].predicates["value"].to_list()


def generic(tmp_path, call, **parts):
    """Import one generic call, of the eleven seconds unless its recording is there."""
    mapping = write_json(tmp_path / "mapping.json", {**GENERIC_MAPPING, **parts})
    source = write_json(tmp_path / "in" / "calls.json", {"calls": [call]})
    if not (tmp_path / "in" / "g-1.wav").exists():
        base_audio(tmp_path / "in" / "g-1.wav")
    done = run_import("generic", source, tmp_path / "out", mapping=mapping)
    return read_bundle(BundleRef(path=done.folders[0], label="x"))


@pytest.mark.parametrize(
    ("cut_s", "heard", "verbose"), [(7.8, 12, False), (40.0, 80, True)], ids=["cut", "whole"]
)
def test_f15_twelve_heard_words_of_eighty_are_not_verbose(tmp_path, cut_s, heard, verbose):
    words = [{"w": f"word{k}", "a": 2.8 + 0.4 * k, "b": 2.8 + 0.4 * (k + 1)} for k in range(80)]
    text = " ".join(word["w"] for word in words)
    said = {"role": "bot", "text": text, "at": 2.8, "to": cut_s, "cut": cut_s, "words": words}
    times = {name: {"from": key, "unit": "s"} for name, key in (("start", "a"), ("end", "b"))}
    turns = {
        **GENERIC_MAPPING["turns"],
        "heard_until": {"from": "cut", "unit": "s"},
        "words": {"rows": "words", "word": "w", **times},
    }
    bundle = generic(tmp_path, generic_call(turns=[said]), turns=turns)
    found, row = detected(bundle)
    assert found.tables["transcript"]["n_words"].to_list() == [heard]
    assert row["event_verbose"] is verbose


WRITTEN = {
    "object": {"amount": 50},
    "text": '{"amount":50}',
    "text in text": '"{\\"amount\\":50}"',
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN.keys())
def test_f44_a_predicate_reads_the_amount_in_all_three_forms(tmp_path, written):
    call = generic_call()
    call["tools"][0]["args"] = written
    assert holds(generic(tmp_path, call), FIFTY) == [True]


def test_f44_a_predicate_tells_another_amount(tmp_path):
    call = generic_call()
    call["tools"][0]["args"] = '{"amount": 51}'
    assert holds(generic(tmp_path, call), FIFTY) == [False]


def test_f44_of_a_third_layer_the_predicate_is_undetermined_and_the_call_open(tmp_path):
    call = generic_call()
    call["tools"][0]["args"] = json.dumps(WRITTEN["text in text"])
    bundle = generic(tmp_path, call)
    assert [problem.code for problem in bundle.problems] == ["trace_unparseable"]
    found, row = detected(bundle, FIFTY)
    assert found.predicates["value"].to_list() == [None]
    assert row["state"] == "not_evaluated"
    assert {"trace_missing", "predicate_undetermined:tool_arguments"} <= set(row["reasons"])


@pytest.mark.parametrize(
    ("said", "done"),
    [
        ({"status": "incomplete", "with_output": False}, False),
        ({"status": "completed", "with_output": False}, False),
        ({"status": "completed"}, True),
    ],
    ids=["interrupted", "no output", "done"],
)
def test_f45_a_refund_that_was_cut_off_is_no_refund_but_a_broken_promise(tmp_path, said, done):
    source = write_lines(tmp_path / "in" / "log.jsonl", realtime_events(**said))
    base_audio(tmp_path / "in" / "log.wav")
    bundle = imported("openai-realtime", source, tmp_path / "out", agent="x", caller_channel=0)
    found, row = detected(bundle, CALLED, answers=(("goal_achieved", True),))
    assert found.predicates["value"].to_list() == [done]
    assert row["event_promised_not_done"] is not done
    assert row["goal"] is done


@pytest.mark.parametrize(
    ("ids", "count"), [(("a", "a"), 1), (("a", "b"), 2)], ids=["one id", "two ids"]
)
def test_f46_a_predicate_counts_one_action_an_id(tmp_path, ids, count):
    call = generic_call()
    call["tools"] = [{**call["tools"][0], "id": each} for each in ids]
    counted = [
        {"kind": "tool_count", "tool": "issue_refund", "min": n, "max": n} for n in (1, 2, 3)
    ]
    assert holds(generic(tmp_path, call), *counted) == [n == count for n in (1, 2, 3)]


def test_f47_two_spoken_answers_are_one_turn_for_share_and_words(tmp_path):
    agent = ((2800, 4000), (4600, 5500))
    sound = np.stack([lane("caller", ((1000, 2000),), 7000), lane("agent", agent, 7000)], axis=1)
    (tmp_path / "in").mkdir()
    write_sound(tmp_path / "in" / "g-1.wav", sound, codec="PCM_16")
    rows = [
        {"role": "user", "text": "Refund me.", "at": 1.0, "to": 2.0},
        {"role": "bot", "text": " ".join(["word"] * 40), "at": 2.8, "to": 4.0},
        {"role": "bot", "text": " ".join(["word"] * 30), "at": 4.6, "to": 5.5},
    ]
    found, row = detected(generic(tmp_path, generic_call(turns=rows, ended_at=None)))
    assert (row["n_agent_turns"], row["n_replied"]) == (1, 1)
    assert row["median_latency_ms"] == pytest.approx(800, abs=32)
    told = verbosity(found.tables["calls"], found.tables["transcript"])
    assert told.select("words", "turns").rows() == [(70, 1)]
    assert row["event_verbose"] is True, "70 words of one turn, and not 35 of two"
