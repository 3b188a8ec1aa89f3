"""The sample calls tell one story: speech, transcript, trace, state, labels and truth agree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import soundfile
from timeline_loop import Limits, fragile_limits, measure

from inquesto_core import schema
from inquesto_core.bundle import find_bundles, read_bundle
from inquesto_core.canonical import digest_bytes, digest_json
from inquesto_core.protocol import load_population, load_protocol

SAMPLES = Path(__file__).resolve().parents[2] / "sample_records"
FOLDERS = {path.parent.name: path.parent for path in sorted(SAMPLES.glob("*/*/call.json"))}
CALLS = tuple(FOLDERS)
AGENTS = ("steady", "hasty")
SIDES = ("caller", "agent")
AUDIO_EVENTS = {"slow_turn", "slow_median", "talk_over", "repeated_talk_over"}
MILD_EVENTS = {"verbose", "slow_median", "talk_over"}
#: No timing lies nearer to a limit than this, in ms.
FAR_MS = 200

#: Of each change, what the agent says of it once it is done.
SAID = {
    "issue_refund": r"refund arrives",
    "update_card": r"on file",
    "update_email": r"bills now go",
    "cancel_subscription": r"cancelled",
}

each_call = pytest.mark.parametrize("call_id", CALLS)


@cache
def part(call_id, name):
    return json.loads((FOLDERS[call_id] / f"{name}.json").read_bytes())


@cache
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


def sound(call_id):
    samples, _ = soundfile.read(FOLDERS[call_id] / "audio.ogg")
    return samples


def test_each_agent_is_recorded_in_every_slot_of_the_population():
    expected = load_population(SAMPLES / "population.json", load_protocol("inquesto-0.1"))
    slots = {(s.scenario_id, s.condition, s.group, s.trial) for s in expected.expected_slots()}
    assert len(slots) == 12 * 3
    for agent in AGENTS:
        own = [part(call_id, "call") for call_id in CALLS if call_id.startswith(f"{agent}-")]
        assert len(own) == 36
        assert {call["agent"]["name"] for call in own} == {agent}
        assert {
            (call["scenario_id"], call["condition"], call["group"], call["trial"]) for call in own
        } == slots


def test_the_population_is_a_subset_of_the_billing_population(project):
    folder = project / "protocols/inquesto-0.1/populations"
    billing = json.loads((folder / "billing-0.1.json").read_bytes())
    sample = population()
    assert all(one in billing["scenarios"] for one in sample["scenarios"])
    assert {key: sample[key] for key in ("facts", "tools", "conditions", "groups")} == {
        key: billing[key] for key in ("facts", "tools", "conditions", "groups")
    }
    law = load_protocol("inquesto-0.1")
    whole = {(s.scenario_id, s.condition, s.group) for s in load_population(
        folder / "billing-0.1.json", law
    ).expected_slots()}  # fmt: skip
    own = load_population(SAMPLES / "population.json", law).expected_slots()
    assert {(s.scenario_id, s.condition, s.group) for s in own} < whole


def test_every_event_type_occurs_and_is_absent_in_most_calls():
    counts = Counter(event for call_id in CALLS for event in part(call_id, "truth")["events"])
    assert set(counts) == {event.name for event in load_protocol("inquesto-0.1").events}
    assert max(counts.values()) <= len(CALLS) // 6


def test_the_calls_show_what_a_newcomer_should_see():
    truths = [part(call_id, "truth") for call_id in CALLS]
    expected = [truth["expected"] for truth in truths]
    ended = [part(call_id, "call")["ended"] for call_id in CALLS]
    assert Counter(truth["state"] for truth in truths) == {
        "scored": 70,
        "excluded": 1,
        "agent_fault": 1,
    }
    assert {truth["goal"] for truth in truths if not truth["events"]} == {True, False}
    assert {"by": "caller", "reason": "hung_up"} in ended
    assert {over["kind"] for each in expected for over in each["talk_overs"]} == {
        "cut_in",
        "over_speech",
    }
    statuses = {reply["status"] for each in expected for reply in each["replies"]}
    assert statuses == {"replied", "overlapped", "no_reply", "censored"}
    yielded = [one for one in truths for line in one["lines"] if line["heard_text"]]
    assert {one["call_id"].split("-")[1] for one in yielded} == {"006", "021", "023"}


def test_the_steady_agent_is_better_than_the_hasty_one():
    passed = Counter(call_id.split("-")[0] for call_id in CALLS if part(call_id, "truth")["pass"])
    assert passed == {"steady": 30, "hasty": 12}


def test_the_whole_set_is_small():
    files = [file for file in SAMPLES.rglob("*") if "__pycache__" not in file.parts]
    assert sum(file.stat().st_size for file in files if file.is_file()) < 15_000_000
    assert sum(part(call_id, "truth")["recording_ms"] for call_id in CALLS) < 25 * 60_000


@each_call
def test_every_file_of_a_sample_call_is_valid(call_id):
    for name in ("call", "trace", "transcript", "state", "verdicts"):
        schema.load((FOLDERS[call_id] / f"{name}.json").read_bytes(), name)


def test_every_sample_bundle_is_found_and_read_without_a_problem(tmp_path):
    found = find_bundles([SAMPLES], scratch=tmp_path)
    bundles = [read_bundle(ref) for ref in found.refs]
    assert found.problems == ()
    assert sorted(bundle.call.call_id for bundle in bundles) == sorted(CALLS)
    assert [bundle.problems for bundle in bundles] == [()] * len(CALLS)


@each_call
def test_a_call_names_its_folder_its_agent_and_its_length(call_id):
    call = part(call_id, "call")
    agent = call["agent"]
    short = call["scenario_id"].removeprefix("iep-")
    assert call["call_id"] == call_id == f"{agent['name']}-{short}-{call['condition']}"
    assert FOLDERS[call_id].parent.name == agent["name"]
    assert agent["fingerprint"] == f"sha256:{digest_json(agent['config'])[:16]}"
    assert call["audio"][0]["sha256"] == digest_bytes((FOLDERS[call_id] / "audio.ogg").read_bytes())
    info = soundfile.info(FOLDERS[call_id] / "audio.ogg")
    assert (info.samplerate, info.channels) == (16_000, 2)
    assert info.frames == 16 * part(call_id, "truth")["recording_ms"]


@each_call
def test_both_sides_speak_at_the_stated_level_over_the_floor_of_the_condition(call_id):
    samples = sound(call_id)
    truth = part(call_id, "truth")
    # What lies under 300 Hz, most with the deepest voice, does not come through the telephone.
    through = {"clean": (-26, 0.5), "telephone": (-31, 3.5), "babble": (-26, 1.0)}
    floor = {"clean": -83, "telephone": -80, "babble": -36}
    for channel, side in enumerate(SIDES):
        own = samples[:, channel]
        speech = np.concatenate([own[16 * a : 16 * b] for a, b in truth["segments_ms"][side]])
        level, within = (-26, 0.5) if side == "agent" else through[truth["condition"]]
        assert 10 * np.log10(np.mean(speech**2)) == pytest.approx(level, abs=within)
        opening_dbfs = 10 * np.log10(np.mean(own[: 16 * 300] ** 2) + 1e-20)
        if side == "agent":
            assert opening_dbfs < -100
        else:
            assert opening_dbfs == pytest.approx(floor[truth["condition"]], abs=5)


@each_call
def test_a_line_sounds_where_the_truth_says(call_id):
    samples = sound(call_id)
    truth = part(call_id, "truth")
    for line in truth["lines"]:
        if line["speaker"] == "caller" and truth["condition"] != "clean":
            continue
        start, end = line["segments_ms"][0][0], line["segments_ms"][-1][1]
        from_ms = max(start - 60, 0)
        own = samples[16 * from_ms : 16 * (end + 60), SIDES.index(line["speaker"])]
        level = np.convolve(own**2, np.ones(80) / 80, mode="same")[8::16]
        sounding = np.flatnonzero(level >= 1e-4 * level.max()) + from_ms
        assert abs(sounding[0] - start) <= 12
        assert line["heard_text"] or abs(sounding[-1] + 1 - end) <= 20


@each_call
def test_the_transcript_says_each_turn_where_it_sounds(call_id):
    turns = part(call_id, "transcript")["turns"]
    lines = part(call_id, "truth")["lines"]
    assert len(turns) == 1 + max(line["turn"] for line in lines)
    for position, turn in enumerate(turns):
        own = [line for line in lines if line["turn"] == position]
        assert {line["speaker"] for line in own} == {turn["speaker"]}
        assert turn["text"] == " ".join(line["text"] for line in own)
        assert turn["start_ms"] == own[0]["segments_ms"][0][0]
        assert turn["end_ms"] == own[-1]["segments_ms"][-1][1]
        assert turn.get("heard_text") == own[-1]["heard_text"]
        assert turn["text"].startswith(turn.get("heard_text") or "")


@each_call
def test_the_truth_is_what_the_reference_loop_reads_from_the_exact_segments(call_id):
    timeline = measure(*reference(call_id), Limits())
    truth = part(call_id, "truth")
    assert set(timeline.events) == set(truth["events"]) & AUDIO_EVENTS
    assert truth["expected"]["events"] == sorted(timeline.events)
    assert truth["expected"]["utterances_ms"] == [[u.start, u.end] for u in timeline.utterances]
    assert truth["expected"]["agent_turns_ms"] == [[t.start, t.end] for t in timeline.turns]


@each_call
def test_no_timing_lies_near_a_limit(call_id):
    limits = Limits()
    timeline = measure(*reference(call_id), limits)
    waits = [reply.latency_ms or reply.waited_ms or 0 for reply in timeline.replies]
    assert all(abs(wait - limits.slow_turn_ms) >= FAR_MS for wait in waits)
    assert all(abs(each.margin_ms) >= FAR_MS for each in timeline.talk_overs)
    assert abs(timeline.twice_median_latency_ms - 2 * limits.slow_median_ms) >= 2 * FAR_MS
    assert fragile_limits(*reference(call_id), limits, FAR_MS) == set()
    assert not any(part(call_id, "truth")["expected"]["fragile_limits"].values())


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
        done = [call for call in calls if call["name"] == claim["tool"] and call["status"] == "ok"]
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
def test_the_state_changes_where_a_change_is_performed_and_only_there(call_id):
    state = part(call_id, "state")
    changes = [name for name in performed(call_id) if name in population()["tools"]["change"]]
    assert (state["before"] != state["after"]) == bool(changes)
    for call in part(call_id, "trace")["calls"]:
        if call["name"] in changes and "card_last4" in call["arguments"] and "card" in call["name"]:
            assert state["after"]["account"]["card_last4"] == call["arguments"]["card_last4"]
        if call["name"] in changes and "email" in call["arguments"]:
            assert state["after"]["account"]["email"] == call["arguments"]["email"]


@each_call
def test_the_looked_up_record_is_the_population_s(call_id):
    facts = population()["facts"]
    looked = [
        call["result"]
        for call in part(call_id, "trace")["calls"]
        if call["name"] == "lookup_account" and call["status"] == "ok"
    ]
    for record in [*looked, part(call_id, "state")["before"]["account"]]:
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
    spoken = [
        len((turn.get("heard_text") or turn["text"]).split())
        for turn in part(call_id, "transcript")["turns"]
        if turn["speaker"] == "agent"
    ]
    evidence = {
        "verbose": sum(spoken) > 60 * len(spoken),
        "context_loss": verdict(call_id, "context_loss"),
        "false_reject": verdict(call_id, "refused_service"),
        "wrong_info": verdict(call_id, "wrong_info"),
        "promised_not_done": goal_read and action and action not in names,
        "unverified_action": bool(changes) and (len(checks) < 2 or changes[0] < max(checks)),
        "false_accept": identity == "impostor"
        and (changes or verdict(call_id, "disclosed_or_changed")),
    }
    truth = part(call_id, "truth")
    events = set(truth["events"])
    assert {name for name, shown in evidence.items() if shown} == events - AUDIO_EVENTS
    assert truth["goal"] == bool(goal_read and (action is None or action in names))
    if truth["state"] == "excluded":
        assert truth["pass"] is None
    else:
        scored = truth["state"] == "scored"
        assert truth["pass"] == (truth["goal"] and events <= MILD_EVENTS and scored)


def test_the_script_run_again_gives_the_same_calls(tmp_path):
    for call_id, folder in FOLDERS.items():
        copy = tmp_path / folder.parent.name / call_id
        copy.mkdir(parents=True)
        (copy / "audio.ogg").symlink_to(folder / "audio.ogg")
    made = subprocess.run(
        [sys.executable, str(SAMPLES / "make.py"), "--out", str(tmp_path)],
        check=True,
        capture_output=True,
    )
    assert made.stderr == b""
    for path in [SAMPLES / "population.json", *SAMPLES.glob("*/*/*.json")]:
        assert (tmp_path / path.relative_to(SAMPLES)).read_bytes() == path.read_bytes()


def test_the_readme_has_one_row_for_each_script_and_says_what_the_truth_says():
    rows = {}
    for line in (SAMPLES / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in AGENTS:
            for condition in cells[2].split(", "):
                rows[f"{cells[0]}-{cells[1]}-{condition}"] = cells[3:]
    assert set(rows) == set(CALLS)
    for call_id, (group, shows, events, goal, passed) in rows.items():
        truth = part(call_id, "truth")
        said = "–" if truth["pass"] is None else "yes" if truth["pass"] else "no"
        assert group == part(call_id, "call")["group"]
        assert shows == truth["shows"]
        assert set(re.findall(r"[a-z]+(?:_[a-z]+)*", events)) == set(truth["events"])
        assert [goal, passed] == ["met" if truth["goal"] else "missed", said]
