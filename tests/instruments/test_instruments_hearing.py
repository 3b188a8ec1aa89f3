"""Echo and background: BASE and OVL of the field cases with what lines and rooms add."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import soundfile
from spoken import PROTOCOL, lane, spoken
from synth import BASE, OVL, Script

from inquesto_core.errors import ProtocolError
from inquesto_core.instruments import SileroVad
from inquesto_core.instruments.foreground import (
    ForegroundParameters,
    find_background,
    find_foreground,
)
from inquesto_core.instruments.hearing import BACKGROUND, ECHO, hear
from inquesto_core.instruments.leak import LeakLimits, find_leaks
from inquesto_core.protocol.foreground_network import Network, load_network

PINS = PROTOCOL.instruments
LEAK = LeakLimits.of(PINS.leak)
NEAR = ForegroundParameters.of(PINS.foreground.parameters, PINS.foreground.features)
#: A longer call: the background needs some of the agent's speech to be known by.
LONG = Script(
    caller=((1000, 2600), (7000, 9000), (14_000, 15_200)),
    agent=((3600, 6000), (10_000, 13_000), (16_000, 18_000)),
    duration_ms=20_000,
)


@pytest.fixture(scope="module")
def vad():
    return SileroVad(PINS.vad)


@pytest.fixture(scope="module")
def network():
    return load_network(PROTOCOL.folder / PINS.foreground.network)


def delayed(sound, delay_ms, gain_db):
    late = np.zeros_like(sound)
    late[delay_ms * 16 :] = sound[: len(sound) - delay_ms * 16]
    return late * np.float32(10 ** (gain_db / 20))


def noise(n_samples, dbfs, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(n_samples) * 10 ** (dbfs / 20)).astype(np.float32)


def joined(intervals, gap_ms=300):
    out = []
    for start, end in intervals.tolist():
        if out and start - out[-1][1] <= gap_ms:
            out[-1][1] = end
        else:
            out.append([start, end])
    return out


def heard(sound, vad, network):
    caller, agent = (np.ascontiguousarray(sound[:, k]) for k in (0, 1))
    return hear(caller, agent, protocol=PROTOCOL, vad=vad, network=network)


@pytest.mark.parametrize("gain_db", [-15, -25, -35, -45])
@pytest.mark.parametrize("delay_ms", [20, 180, 400])
def test_the_agents_echo_is_no_caller_speech(gain_db, delay_ms, vad, network):
    sound = spoken(LONG) + noise(20_000 * 16, -84)[:, None]
    clean = joined(heard(sound, vad, network)["caller"].speech.accepted)
    sound[:, 0] += delayed(sound[:, 1], delay_ms, gain_db)
    caller = heard(sound, vad, network)["caller"]
    assert caller.leak.delay_ms == pytest.approx(delay_ms, abs=1)
    assert caller.leak.gain_db == pytest.approx(gain_db, abs=2)
    found = joined(caller.speech.accepted)
    assert len(found) == len(clean) == 3
    assert np.abs(np.subtract(found, clean)).max() <= 30


def test_double_talk_stays_where_echo_is_taken_away(vad, network):
    sound = spoken(OVL) + noise(OVL.duration_ms * 16, -84)[:, None]
    sound[:, 0] += delayed(sound[:, 1], 180, -25)
    caller = heard(sound, vad, network)["caller"]
    assert caller.leak is not None
    ((start, end),) = joined(caller.speech.accepted)
    assert start == pytest.approx(1000, abs=30)
    assert end == pytest.approx(3000, abs=60)


def test_echo_is_kept_as_evidence(vad, network):
    sound = spoken(LONG) + noise(20_000 * 16, -84)[:, None]
    sound[:, 0] += delayed(sound[:, 1], 120, -25)
    speech = heard(sound, vad, network)["caller"].speech
    echo = speech.intervals[[reason == ECHO for reason in speech.rejected]]
    covered = sum(min(b, 13_120) - max(a, 10_120) for a, b in echo if b > 10_120 and a < 13_120)
    assert covered > 1500


def test_sidetone_of_the_caller_leaves_the_agent_channel(vad, network):
    sound = spoken(LONG) + noise(20_000 * 16, -84)[:, None]
    sound[:, 1] += delayed(sound[:, 0], 30, -30)
    agent = heard(sound, vad, network)["agent"]
    assert agent.leak is not None
    assert len(joined(agent.speech.accepted, 500)) == 3


def test_channels_without_a_leak_have_none():
    sound = spoken(LONG) + noise(20_000 * 16, -60)[:, None] * np.float32([1, 0])
    assert find_leaks(sound[:, 0], sound[:, 1], LEAK) == (None, None)


@pytest.mark.parametrize("silent", [0, 1, None], ids=["caller silent", "agent silent", "both"])
def test_a_silent_side_leaks_nothing(silent):
    sound = np.array(spoken(BASE))
    if silent is None:
        sound[:] = 0
    else:
        sound[:, silent] = 0
    assert find_leaks(sound[:, 0], sound[:, 1], LEAK) == (None, None)


def babble(duration_ms, talkers, dbfs):
    """Return other voices at once, cut from the agents' speech at seeded places."""
    rng = np.random.default_rng(3)
    n_samples = duration_ms * 16
    voices = lane("agent", ((0, 20_000),), 20_000)
    total = np.zeros(n_samples, np.float32)
    for _ in range(talkers):
        total += np.roll(np.resize(voices, n_samples), int(rng.integers(n_samples)))
    return total * np.float32(10 ** (dbfs / 20) / np.sqrt(np.mean(total**2)))


@pytest.mark.parametrize("distance_db", [10, 15])
def test_babble_behind_the_caller_is_not_the_caller(distance_db, vad, network):
    sound = spoken(LONG)
    sound[:, 0] += babble(LONG.duration_ms, 6, -20 - distance_db)
    caller = heard(sound, vad, network)["caller"]
    assert caller.foreground is not None
    assert not caller.indistinct
    found = joined(caller.speech.accepted)
    assert len(found) == 3
    onsets, offsets = np.abs(np.subtract(found, LONG.caller)).T
    assert onsets.max() <= 80
    assert offsets.max() <= 200


def test_babble_twenty_decibels_down_does_not_move_the_callers_end(vad, network):
    sound = spoken(LONG)
    sound[:, 0] += babble(LONG.duration_ms, 6, -40)
    found = joined(heard(sound, vad, network)["caller"].speech.accepted)
    assert len(found) == 3
    assert np.abs(np.subtract(found, LONG.caller))[:, 1].max() <= 50


def test_what_the_vad_takes_behind_the_caller_is_kept_as_background(vad, network):
    sound = spoken(LONG)
    sound[:, 0] += babble(LONG.duration_ms, 6, -30)
    caller = heard(sound, vad, network)["caller"]
    assert BACKGROUND in caller.speech.rejected
    speech, behind = (
        caller.speech.intervals[[reason == kind for reason in caller.speech.rejected]]
        for kind in (None, BACKGROUND)
    )
    for start, end in behind:
        assert not np.any((speech[:, 0] < end) & (speech[:, 1] > start))


def test_a_clean_call_takes_no_other_path(vad, network):
    both = heard(spoken(LONG), vad, network)
    assert [side.foreground for side in both.values()] == [None, None]
    assert [side.leak for side in both.values()] == [None, None]


def test_a_voice_that_talks_through_everything_the_other_says_is_told_apart_from_neither():
    level = np.full(20_000, -20, np.float32)
    whole, other = np.array([[0, 20_000]]), np.array([[3000, 8000]])
    assert find_background(level, whole, other, parameters=NEAR).indistinct
    short = np.array([[3000, 5900]])
    assert not find_background(level, whole, short, parameters=NEAR).indistinct
    part = np.array([[0, 7000], [8100, 20_000]])
    assert not find_background(level, part, np.array([[3000, 9500]]), parameters=NEAR).indistinct


@pytest.mark.parametrize(
    ("behind_db", "taken", "gap_db", "highest_db"),
    [
        (-50, False, 30, -47),
        (-45, False, 30, -42),
        (-38, False, 30, -35),
        (-37, False, 17, -35),
        (-45, True, 25, -42),
    ],
    ids=["far", "steady", "steady at its limit", "steady and too near", "taken for speech"],
)
def test_the_background_is_what_sounds_while_the_other_side_speaks(
    behind_db, taken, gap_db, highest_db
):
    level = np.full(20_000, -80, np.float32)
    level[3000:8000] = behind_db
    level[10_000:14_000] = -20
    speech = [[4000, 5000]] * taken + [[10_000, 14_000]]
    found = find_background(level, np.array(speech), np.array([[3000, 8000]]), parameters=NEAR)
    assert found.gap_db == gap_db
    assert found.highest_db == highest_db
    assert (found.gap_db < NEAR.near_db) == (taken or gap_db < NEAR.steady_gap_db)


def test_a_channel_without_speech_has_no_background_to_mind():
    none = np.zeros((0, 2), np.int64)
    found = find_background(np.zeros(9, np.float32), none, none, parameters=NEAR)
    assert found.gap_db == np.inf


def test_background_alone_holds_no_party(vad, network):
    alone = babble(20_000, 7, -30)
    found = find_foreground(
        alone,
        vad.probabilities(alone),
        np.array(LONG.agent),
        frame_ms=PINS.vad.frame_ms,
        network=network,
        parameters=NEAR,
    )
    assert len(found.intervals) == 0
    assert found.separation is None


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b"[",
        json.dumps(
            {"hidden": [[1, 2]], "hidden_bias": [0], "output": [1, 1], "output_bias": 0}
        ).encode(),
        b'{"hidden": [["a"]], "hidden_bias": [0], "output": [1], "output_bias": 0}',
    ],
    ids=["no weights", "no JSON", "shapes that do not fit", "text for a number"],
)
def test_a_network_that_cannot_be_used_says_so(content, tmp_path):
    path = tmp_path / "foreground.json"
    path.write_bytes(content)
    with pytest.raises(ProtocolError, match=r"foreground\.json"):
        load_network(path)


def test_a_missing_network_says_so(tmp_path):
    with pytest.raises(ProtocolError, match=r"foreground\.json .*cannot be read"):
        load_network(tmp_path / "foreground.json")


def test_evidence_is_the_networks_arithmetic():
    network = Network(
        hidden=np.array([[1.0, -1.0], [2.0, 0.0]]),
        hidden_bias=np.array([0.5, 0.0]),
        output=np.array([2.0, 4.0]),
        output_bias=-1.0,
    )
    rows = np.array([[1.0, 1.0], [-1.0, 0.0]])
    assert network.evidence(rows).tolist() == [6.0, 3.0]


def test_a_caller_over_the_bleed_of_another_headset_is_found_where_people_heard_them(
    shared, vad, network
):
    errors = []
    for clip in json.loads((shared / "audio/ami/labels.json").read_bytes()):
        sound, _ = soundfile.read(shared / "audio/ami" / clip["clip"], dtype="float32")
        sides = sound[:, [clip["caller_channel"], clip["agent_channel"]]]
        speech = heard(sides - sides.mean(axis=0), vad, network)["caller"].speech.accepted
        onsets = [start for start, _ in joined(speech)]
        errors.append(min(abs(onset - clip["caller_onset_ms"]) for onset in onsets))
    assert np.median(errors) <= 20
    assert max(errors) <= 300


@pytest.mark.parametrize("name", ["babble10", "crowd10", "tv10", "tv5"])
def test_a_party_in_front_of_a_near_background_is_found_in_the_built_calls(
    name, shared, vad, network
):
    missed, false = [], []
    for path in sorted(shared.glob(f"audio/dev/*_{name}/truth.json")):
        truth = json.loads(path.read_bytes())
        sound, _ = soundfile.read(path.parent / "call.flac", dtype="float32")
        caller = heard(sound - sound.mean(axis=0), vad, network)["caller"]
        if caller.indistinct:
            continue
        found = joined(caller.speech.accepted)
        true = joined(
            np.array(
                [
                    (round(start * 1000), round(end * 1000))
                    for said in truth["utterances"]
                    if said["channel"] == "caller"
                    for start, end in said["segments_s"]
                ]
            ).reshape(-1, 2)
        )
        missed += [s for s, _ in true if min(abs(s - start) for start, _ in found) > 600]
        false += [(s, e) for s, e in found if not any(s < end and e > start for start, end in true)]
    assert missed == []
    assert false == []


def test_a_leak_too_weak_to_be_heard_is_not_looked_for():
    rng = np.random.default_rng(5)
    source = (rng.standard_normal(16_000 * 12) * 0.05).astype(np.float32)
    source[: 16_000 * 3] = 0.0
    own = noise(len(source), -110, seed=6)
    found = {
        gain: find_leaks(own + delayed(source, 120, gain), source, LEAK)[0] for gain in (-50, -72)
    }
    assert found[-50] is not None and found[-50].delay_ms == pytest.approx(120, abs=1)
    assert found[-72] is None
    deaf = dataclasses.replace(LEAK, min_path_db=-120)
    assert find_leaks(own + delayed(source, 120, -72), source, deaf)[0] is not None
