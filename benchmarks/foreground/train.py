"""Learns `foreground.json`, the network that tells a party from its background.

    python benchmarks/foreground/train.py FOLDER --out foreground.json [--without VOICE ...]

FOLDER holds calls laid out as for `timing_validity.py`. The features are the engine's own, with the
parameters of protocol inquesto-0.1; the examples are the calls of FOLDER that have a background and
the mixtures of `mixtures.py`. The network is learned twice: first on what the first pass sees, then
on that and on what later passes see, once the party is known; once for each seed, and the shipped
one is the mean of two. `--without` leaves out every call of
a caller's voice, for a trial on voices that were not learned from. Adam, one thread, one seed.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
from mixtures import TrueCall, mixtures

from inquesto_core.instruments.foreground import ForegroundParameters, find_stretches
from inquesto_core.instruments.foreground_features import Traits, measure_frames, relative_traits
from inquesto_core.instruments.hearing import hear
from inquesto_core.instruments.vad import SileroVad
from inquesto_core.protocol import load_protocol
from inquesto_core.protocol.foreground_network import Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Examples = tuple[NDArray[np.float32], NDArray[np.float32]]

UNITS = 32
#: Frames near an edge count this many times.
EDGE_WEIGHT, EDGE_MS = 3, 150
#: Every so many-th frame is an example.
STEP = 4
#: A pause shorter than this inside an utterance teaches nothing.
SHORT_PAUSE_S = 0.15
BACKGROUNDS = ("babble", "crowd", "tv")


def read_calls(folder: Path) -> list[TrueCall]:
    """Return the calls of a folder with their truth."""
    calls = []
    for path in sorted(folder.glob("*/truth.json")):
        truth = json.loads(path.read_text("utf-8"))
        sound, rate = soundfile.read(path.parent / "call.flac", dtype="float32")
        if rate != 16_000:
            raise SystemExit(f"{path.parent.name}: {rate} Hz, expected 16000")
        caller, agent = (np.ascontiguousarray(sound[:, k] - sound[:, k].mean()) for k in (0, 1))
        calls.append(
            TrueCall(
                name=path.parent.name,
                voice=truth["voices"]["caller"],
                truth=truth,
                caller=caller,
                agent=agent,
            )
        )
    return calls


def labels(truth: dict[str, Any], frames: int, hop_ms: int) -> tuple[Any, Any]:
    """Return which frames are the party, and which teach anything."""
    per_s = 1000 // hop_ms
    party, teaches = np.zeros(frames, bool), np.ones(frames, bool)
    for said in truth["utterances"]:
        if said["channel"] != "caller":
            continue
        pieces = said["segments_s"]
        for start, end in pieces:
            party[round(start * per_s) : round(end * per_s)] = True
        for (_, end), (start, _) in itertools.pairwise(pieces):
            first, last = int(end * per_s), int(start * per_s)
            if start - end < SHORT_PAUSE_S:
                teaches[first : last + 1] = False
            else:
                teaches[first - 6 : first + 4] = False
        teaches[int(said["core_end_s"] * per_s) : int(np.ceil(said["end_s"] * per_s))] = False
        teaches[int(said["start_s"] * per_s) : int(np.ceil(said["core_start_s"] * per_s))] = False
    return party, teaches


def examples(traits: Traits, truth: dict[str, Any], parameters: ForegroundParameters) -> Examples:
    """Return features and labels of one call, frames near an edge more often."""
    hop = parameters.features.hop_ms
    frames = len(traits.level)
    party, teaches = labels(truth, frames, hop)
    near = np.zeros(frames, bool)
    reach = EDGE_MS // hop
    for edge in np.flatnonzero(np.diff(party.astype(np.int8))):
        near[max(0, edge - reach) : edge + reach] = True
    usual = np.flatnonzero(teaches)[::STEP]
    edges = np.flatnonzero(teaches & near)[::STEP]
    chosen = np.concatenate([usual, *[edges] * (EDGE_WEIGHT - 1)])
    rows = traits.rows(0, frames, parameters.features)[chosen]
    return rows.astype(np.float32), party[chosen].astype(np.float32)


def learn(rows: Any, party: Any, *, seed: int, epochs: int) -> Network:
    """Return a network learned by Adam on the logistic loss, numbers to four decimals."""
    rng = np.random.default_rng(seed)
    count, features = rows.shape
    weights = [
        rng.normal(0, np.sqrt(2 / features), (features, UNITS)),
        np.zeros(UNITS),
        rng.normal(0, np.sqrt(1 / UNITS), UNITS),
        np.zeros(1),
    ]
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    batch, done = 512, 0
    for epoch in range(epochs):
        order = rng.permutation(count)
        rate = 2e-3 * (1 - epoch / epochs) + 1e-4
        for start in range(0, count - batch + 1, batch):
            x, y = rows[order[start : start + batch]], party[order[start : start + batch]]
            raw = x @ weights[0] + weights[1]
            units = np.maximum(raw, 0)
            odds = units @ weights[2] + weights[3][0]
            error = (1 / (1 + np.exp(-np.clip(odds, -30, 30))) - y) / batch
            inner = np.outer(error, weights[2]) * (raw > 0)
            slopes = [
                x.T @ inner + 1e-4 * weights[0],
                inner.sum(axis=0),
                units.T @ error + 1e-4 * weights[2],
                np.array([error.sum()]),
            ]
            done += 1
            for k, slope in enumerate(slopes):
                first[k] = 0.9 * first[k] + 0.1 * slope
                second[k] = 0.999 * second[k] + 0.001 * slope**2
                step = first[k] / (1 - 0.9**done)
                weights[k] -= rate * step / (np.sqrt(second[k] / (1 - 0.999**done)) + 1e-8)
    hidden, bias, output, constant = (np.round(w, 4) for w in weights)
    return Network(hidden=hidden, hidden_bias=bias, output=output, output_bias=float(constant[0]))


def write(network: Network, path: Path) -> None:
    """Write a network as the protocol folder holds it."""
    rows = ",\n".join("  " + json.dumps(row.tolist()) for row in network.hidden)
    path.write_text(
        '{\n "learned_from": "benchmarks/foreground/train.py",\n'
        f' "hidden": [\n{rows}\n ],\n'
        f' "hidden_bias": {json.dumps(network.hidden_bias.tolist())},\n'
        f' "output": {json.dumps(network.output.tolist())},\n'
        f' "output_bias": {json.dumps(network.output_bias)}\n}}\n',
        encoding="utf-8",
    )


def main() -> None:
    """Learn from a folder and write the network."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 7])
    parser.add_argument("--without", nargs="*", default=[], metavar="VOICE")
    options = parser.parse_args()
    protocol = load_protocol("inquesto-0.1")
    pin = protocol.instruments.foreground
    parameters = ForegroundParameters.of(pin.parameters, pin.features)
    vad = SileroVad(protocol.instruments.vad)
    calls = read_calls(options.folder)
    theirs = [
        c
        for c in calls
        if c.truth["condition"]["name"].removeprefix("tel_").startswith(BACKGROUNDS)
    ]
    networks = []
    for seed in options.seeds:
        taught = [
            call
            for call in [*theirs, *mixtures(calls, seed=seed)]
            if call.voice not in options.without
        ]
        networks.append(learn_twice(taught, protocol, parameters, vad, seed=seed))
    write(averaged(networks), options.out)


def learn_twice(
    taught: list[TrueCall],
    protocol: Any,
    parameters: ForegroundParameters,
    vad: SileroVad,
    *,
    seed: int,
) -> Network:
    """Return a network learned on what the first pass sees, then on that and on later passes."""
    seen, first = [], []
    for call in taught:
        frames = measure_frames(
            call.caller,
            vad.probabilities(call.caller),
            agent_speech(call, protocol, vad),
            frame_ms=protocol.instruments.vad.frame_ms,
            parameters=parameters.features,
        )
        traits = relative_traits(frames, None, parameters=parameters.features)
        if traits is not None:
            seen.append((call, frames, traits))
            first.append(examples(traits, call.truth, parameters))
    early = learn(*(np.concatenate(part) for part in zip(*first, strict=True)), seed=seed, epochs=6)
    later = []
    for call, frames, traits in seen:
        known = find_stretches(traits, early, parameters)
        if len(known):
            again = relative_traits(frames, known, parameters=parameters.features)
            if again is not None:
                later.append(examples(again, call.truth, parameters))
    both = [*first, *later, *later]
    print(f"seed {seed}: {len(seen)} calls, {sum(len(part[1]) for part in both)} examples")
    return learn(
        *(np.concatenate(part) for part in zip(*both, strict=True)), seed=seed + 1, epochs=8
    )


def averaged(networks: list[Network]) -> Network:
    """Return the network whose evidence is the mean of the networks' evidence."""
    return Network(
        hidden=np.concatenate([network.hidden for network in networks], axis=1),
        hidden_bias=np.concatenate([network.hidden_bias for network in networks]),
        output=np.round(
            np.concatenate([network.output for network in networks]) / len(networks), 6
        ),
        output_bias=round(sum(network.output_bias for network in networks) / len(networks), 6),
    )


def agent_speech(call: TrueCall, protocol: Any, vad: SileroVad) -> Any:
    """Return where the agent speaks, heard against a caller who says nothing."""
    nothing = np.zeros_like(call.agent)
    quiet = Network(
        hidden=np.zeros((1, 1)), hidden_bias=np.zeros(1), output=np.zeros(1), output_bias=0.0
    )
    heard = hear(nothing, call.agent, protocol=protocol, vad=vad, network=quiet)
    return heard["agent"].speech.accepted


if __name__ == "__main__":
    main()
