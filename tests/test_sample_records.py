"""The sample calls tell one story: speech, transcript, trace, labels and truth agree."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from timeline_loop import Limits, fragile_limits, measure

from inquesto_core import schema
from inquesto_core.bundle import find_bundles, read_bundle
from inquesto_core.canonical import digest_json
from inquesto_core.engine import score
from inquesto_core.protocol import load_population, load_protocol

SAMPLES = Path(__file__).resolve().parents[1] / "sample_records"
CALLS = tuple(sorted(folder.parent.name for folder in SAMPLES.glob("*/call.json")))
SIDES = ("caller", "agent")
AUDIO_EVENTS = {"slow_turn", "slow_median", "talk_over", "repeated_talk_over"}
FAR_MS = 150

#: Of each change, what the agent says of it once it is done.
SAID = {
    "issue_refund": r"refund|\$49 will be|It is done",
    "update_card": r"on file",
    "update_email": r"bills go there",
    "cancel_subscription": r"cancelled",
}

each_call = pytest.mark.parametrize("call_id", CALLS)


def part(call_id, name):
    return json.loads((SAMPLES / call_id / f"{name}.json").read_bytes())


def population():
    return json.loads((SAMPLES / "population.json").read_bytes())


def scenario(call_id):
    wanted = part(call_id, "call")["scenario_id"]
    return next(one for one in population()["scenarios"] if one["id"] == wanted)


def verdict(call_id, question):
    return part(call_id, "verdicts")["answers"].get(question, {}).get("verdict")


def performed(call_id):
    return [call["name"] for call in part(call_id, "trace")["calls"] if call["status"] == "ok"]


def reference(call_id):
    truth = part(call_id, "truth")
    heard = [[tuple(pair) for pair in truth["segments_ms"][side]] for side in SIDES]
    return (*heard, (0, truth["recording_ms"]))


def edges(samples, *, silence_ms=90):
    """Return the edges 40 dB below the loudest 5 ms, in ms, inner silences split."""
    power = np.convolve(samples**2, np.ones(80) / 80, mode="same")[8::16]
    sounding = np.flatnonzero(power >= power.max() * 1e-4)
    after = np.flatnonzero(np.diff(sounding) > silence_ms)
    starts = np.r_[sounding[0], sounding[after + 1]]
    ends = np.r_[sounding[after], sounding[-1]] + 1
    return np.sort(np.r_[starts, ends])


def test_there_are_twelve_calls_and_half_of_them_pass():
    assert len(CALLS) == 12
    assert sum(part(call_id, "truth")["pass"] for call_id in CALLS) == 6


def test_the_whole_set_is_small():
    files = [file for call_id in CALLS for file in (SAMPLES / call_id).iterdir()]
    assert sum(file.stat().st_size for file in files) < 3_000_000


@each_call
@pytest.mark.parametrize("name", ["call", "trace", "transcript", "verdicts"])
def test_every_file_of_a_sample_call_is_valid(call_id, name):
    schema.load((SAMPLES / call_id / f"{name}.json").read_bytes(), name)


def test_every_sample_bundle_is_found_and_read_without_a_problem(tmp_path):
    found = find_bundles([SAMPLES], scratch=tmp_path)
    bundles = [read_bundle(ref) for ref in found.refs]
    assert found.problems == ()
    assert [bundle.call.call_id for bundle in bundles] == list(CALLS)
    assert [bundle.problems for bundle in bundles] == [()] * len(CALLS)


def test_the_population_is_a_subset_of_the_billing_population(project):
    folder = project / "protocols/inquesto-0.1/populations"
    billing = json.loads((folder / "billing-0.1.json").read_bytes())
    sample = population()
    assert all(one in billing["scenarios"] for one in sample["scenarios"])
    assert (sample["facts"], sample["tools"]) == (billing["facts"], billing["tools"])
    assert set(sample["conditions"]) < set(billing["conditions"])
    assert set(sample["groups"]) < set(billing["groups"])


def test_the_population_expects_exactly_the_sample_calls():
    expected = load_population(SAMPLES / "population.json", load_protocol("inquesto-0.1"))
    slots = {(s.scenario_id, s.condition, s.group, s.trial) for s in expected.expected_slots()}
    calls = [part(call_id, "call") for call_id in CALLS]
    assert len(expected.expected_slots()) == 12
    assert slots == {(c["scenario_id"], c["condition"], c["group"], c["trial"]) for c in calls}


@each_call
def test_a_call_names_its_folder_its_agent_and_its_length(call_id):
    call = part(call_id, "call")
    assert call["call_id"] == call_id
    assert call["agent"]["fingerprint"] == f"sha256:{digest_json(call['agent']['config'])[:16]}"
    info = soundfile.info(SAMPLES / call_id / "audio.flac")
    assert (info.samplerate, info.channels) == (16_000, 2)
    assert info.frames == 16 * part(call_id, "truth")["recording_ms"]


@each_call
def test_both_sides_speak_at_the_stated_level_over_a_low_noise_floor(call_id):
    samples, _ = soundfile.read(SAMPLES / call_id / "audio.flac")
    truth = part(call_id, "truth")
    for channel, side in enumerate(SIDES):
        own = samples[:, channel]
        pairs = truth["segments_ms"][side]
        speech = np.concatenate([own[16 * a : 16 * b] for a, b in pairs])
        assert 10 * np.log10(np.mean(speech**2)) == pytest.approx(-26.0, abs=0.5)
        opening = own[: 16 * 300]
        floor_dbfs = 10 * np.log10(np.mean(opening**2) + 1e-20)
        assert (-82 < floor_dbfs < -76) if side == "caller" else floor_dbfs == -200


@each_call
def test_the_edges_in_the_recording_are_those_of_the_truth_within_2_ms(call_id):
    samples, _ = soundfile.read(SAMPLES / call_id / "audio.flac")
    for line in part(call_id, "truth")["lines"]:
        true = np.ravel(line["segments_ms"])
        from_ms = true[0] - 150
        own = samples[16 * from_ms : 16 * (true[-1] + 150), SIDES.index(line["speaker"])]
        heard = edges(own) + from_ms
        assert abs(heard[[0, -1]] - true[[0, -1]]).max() <= 2
        assert np.abs(heard[:, None] - true).min(axis=0).max() <= 2


@each_call
def test_the_transcript_says_each_turn_where_it_sounds(call_id):
    turns = part(call_id, "transcript")["turns"]
    lines = part(call_id, "truth")["lines"]
    for position, turn in enumerate(turns):
        own = [line for line in lines if line["turn"] == position]
        assert {line["speaker"] for line in own} == {turn["speaker"]}
        assert turn["text"] == " ".join(line["text"] for line in own)
        assert turn["start_ms"] == own[0]["segments_ms"][0][0]
        assert turn["end_ms"] == own[-1]["segments_ms"][-1][1]


@each_call
def test_the_timing_events_are_those_of_the_reference_loop(call_id):
    timeline = measure(*reference(call_id), Limits())
    assert set(timeline.events) == set(part(call_id, "truth")["events"]) & AUDIO_EVENTS


@each_call
def test_the_scripted_moments_come_out_of_the_reference_loop(call_id):
    timeline = measure(*reference(call_id), Limits())
    moments = part(call_id, "truth")["moments"]
    by_kind = {
        kind: [moment["value_ms"] for moment in moments if moment["kind"] == kind]
        for kind in ("reply", "talk_over", "no_reply")
    }
    assert by_kind == {
        "reply": [reply.latency_ms for reply in timeline.replies if reply.latency_ms],
        "talk_over": [each.value_ms for each in timeline.talk_overs],
        "no_reply": [each.waited_ms for each in timeline.replies if each.status == "no_reply"],
    }


@each_call
def test_no_timing_lies_near_a_limit(call_id):
    limits = Limits()
    timeline = measure(*reference(call_id), limits)
    waits = [reply.latency_ms or reply.waited_ms or 0 for reply in timeline.replies]
    assert all(abs(wait - limits.slow_turn_ms) >= FAR_MS for wait in waits)
    assert all(abs(each.margin_ms) >= FAR_MS for each in timeline.talk_overs)
    assert abs(timeline.twice_median_latency_ms - 2 * limits.slow_median_ms) >= 2 * FAR_MS
    assert fragile_limits(*reference(call_id), limits, FAR_MS) == set()


@each_call
def test_tools_run_inside_the_call_and_before_the_agent_speaks_of_them(call_id):
    calls = part(call_id, "trace")["calls"]
    turns = part(call_id, "transcript")["turns"]
    last_ms = 0
    for call in calls:
        assert last_ms <= call["start_ms"] < call["end_ms"]
        last_ms = call["end_ms"]
    assert last_ms < part(call_id, "truth")["recording_ms"]
    for claim in part(call_id, "truth")["claims"]:
        done = [call for call in calls if call["name"] == claim["tool"]]
        assert bool(done) == claim["performed"]
        assert all(call["end_ms"] < turns[claim["turn"]]["start_ms"] for call in done[:1])


@each_call
def test_the_agent_says_that_a_change_is_made_where_the_truth_notes_it(call_id):
    truth = part(call_id, "truth")
    turns = part(call_id, "transcript")["turns"]
    claimed = {claim["tool"] for claim in truth["claims"]}
    changes = {name for name in performed(call_id) if name in population()["tools"]["change"]}
    assert changes <= claimed
    for claim in truth["claims"]:
        assert re.search(SAID[claim["tool"]], turns[claim["turn"]]["text"])
    unkept = {claim["tool"] for claim in truth["claims"] if not claim["performed"]}
    assert bool(unkept) == ("promised_not_done" in truth["events"])


@each_call
def test_the_looked_up_record_is_the_population_s(call_id):
    facts = population()["facts"]
    looked = [call for call in part(call_id, "trace")["calls"] if call["name"] == "lookup_account"]
    assert len(looked) == 1
    record = looked[0]["result"]
    assert record["account_id"] == facts["account"]
    assert record["plan"] == facts["plan"]["name"]
    assert f"${record['price_usd']} per month" == facts["plan"]["price"]
    assert f"ending {record['card_last4']}" == facts["card_on_file"]
    assert record["email"] == facts["billing_email"]
    assert f"${record['last_invoice']['total_usd']}" == facts["last_invoice"]["total"]
    assert record["last_invoice"]["date"] == facts["last_invoice"]["date"]


@each_call
def test_the_labels_answer_the_questions_that_the_scenario_asks(call_id):
    asked = {"goal_achieved", "wrong_info"}
    asked |= {"context_loss"} if scenario(call_id)["correction"] else set()
    identity = {"legit": {"refused_service"}, "impostor": {"disclosed_or_changed"}}
    asked |= identity.get(scenario(call_id)["identity"], set())
    verdicts = part(call_id, "verdicts")
    assert verdicts["model"] == "author-labels"
    assert set(verdicts["answers"]) == asked
    turns = part(call_id, "transcript")["turns"]
    for answer in verdicts["answers"].values():
        assert answer["turn"] is None or turns[answer["turn"]]["speaker"] == "agent"
        assert len(answer["reason"]) <= 160


@each_call
def test_every_expected_event_has_its_evidence_and_no_other_has(call_id):
    names = performed(call_id)
    tools = population()["tools"]
    action, identity = scenario(call_id)["required_action"], scenario(call_id)["identity"]
    changes = [at for at, name in enumerate(names) if name in tools["change"]]
    checks = [names.index(name) for name in (*tools["lookup"], *tools["verify"]) if name in names]
    goal_read = verdict(call_id, "goal_achieved")
    evidence = {
        "context_loss": verdict(call_id, "context_loss"),
        "false_reject": verdict(call_id, "refused_service"),
        "wrong_info": verdict(call_id, "wrong_info"),
        "promised_not_done": goal_read and action and action not in names,
        "unverified_action": bool(changes) and (len(checks) < 2 or changes[0] < max(checks)),
        "false_accept": identity == "impostor"
        and (changes or verdict(call_id, "disclosed_or_changed")),
    }
    truth = part(call_id, "truth")
    assert {name for name, shown in evidence.items() if shown} == set(
        truth["events"]
    ) - AUDIO_EVENTS
    assert truth["goal"] == bool(goal_read and (action is None or action in names))
    assert truth["pass"] == (truth["goal"] and not set(truth["events"]) - {"talk_over"})


def test_the_engine_finds_in_the_recordings_what_the_truth_says(tmp_path):
    run = score([SAMPLES], out=tmp_path / "RUN")
    events = run.tables["events"]
    passed = dict(run.decisions.select("call_id", "passed").iter_rows())
    assert run.problems == ()
    for call_id in CALLS:
        truth = part(call_id, "truth")
        own = events.filter(pl.col("call_id") == call_id)
        assert set(own["type"]) == set(truth["events"])
        assert passed[call_id] is truth["pass"]
        values = sorted(own["value"].drop_nulls())
        scripted = sorted(
            moment["value_ms"]
            for moment in truth["moments"]
            if moment["kind"] != "reply" or moment["value_ms"] > 3000
        )
        assert values == pytest.approx(scripted, abs=50)


@pytest.mark.skipif(shutil.which("flite") is None, reason="flite is not installed")
def test_the_script_run_again_gives_the_same_calls(tmp_path):
    made = subprocess.run(
        [sys.executable, str(SAMPLES / "make.py"), "--out", str(tmp_path)],
        check=True,
        capture_output=True,
    )
    assert made.stderr == b""
    assert (tmp_path / "population.json").read_bytes() == (SAMPLES / "population.json").read_bytes()
    for call_id in CALLS:
        for name in ("trace", "transcript", "verdicts", "truth"):
            again = (tmp_path / call_id / f"{name}.json").read_bytes()
            assert again == (SAMPLES / call_id / f"{name}.json").read_bytes()
        one, _ = soundfile.read(tmp_path / call_id / "audio.flac")
        other, _ = soundfile.read(SAMPLES / call_id / "audio.flac")
        assert np.abs(one - other).max() <= 2 / 2**12


@each_call
def test_the_readme_s_row_says_what_the_truth_says(call_id):
    truth, call = part(call_id, "truth"), part(call_id, "call")
    rows = (SAMPLES / "README.md").read_text(encoding="utf-8").splitlines()
    row = next(line for line in rows if line.startswith(f"| `{call_id}`"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:4] == [call["scenario_id"], call["condition"], call["group"]]
    assert set(re.findall(r"[a-z]+_[a-z_]+", cells[5])) == set(truth["events"])
    assert cells[6:] == ["met" if truth["goal"] else "missed", "yes" if truth["pass"] else "no"]
