"""The party in a channel that something else sounds in: babble, a crowd, a television.

1. `find_background` says how far the background lies under the party; where that is more than
   ``near_db``, `speech` is exact to the millisecond, sound no louder than the background left out,
   and nothing else here is used.
2. Every frame gets evidence (log odds) from `foreground_network` over `foreground_features`.
3. The most likely sequence of party and background, with a price on each change, gives stretches.
4. A stretch stands if it holds ``min_core_ms`` of sound that is surely the party, or lies within
   ``chain_ms`` of one that stands and its own evidence is good.
5. What stands is the next pass's knowledge of the party; ``passes`` passes.
6. A beginning of more than ``max_weak_start_ms`` before the first ``sure_ms`` of evidence of at
   least ``pause_evidence`` is a voice behind. In a pause of at most ``pause_ms`` between two
   stretches the edges draw back to surer evidence, so that a short pause is not filled by the width
   of the windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from inquesto_core.instruments.foreground_features import (
    FeatureParameters,
    measure_frames,
    relative_traits,
)
from inquesto_core.instruments.intervals import covered, runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.foreground_features import Frames, Traits
    from inquesto_core.protocol.foreground_network import Network

    Bool = NDArray[np.bool_]
    Int = NDArray[np.int64]
    Real = NDArray[np.float64]

__all__ = [
    "Background",
    "Foreground",
    "ForegroundParameters",
    "find_background",
    "find_foreground",
    "find_stretches",
]

_NONE = np.zeros((0, 2), np.int64)
_BLOCK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class ForegroundParameters:
    """The protocol's ``instruments.foreground.parameters``; see the module for what each does."""

    passes: int
    evidence_scale: float
    evidence_limit: float
    change_price: float
    min_core_ms: int
    chain_ms: int
    chain_evidence: float
    chain_min_ms: int
    pause_ms: int
    pause_evidence: float
    max_draw_ms: int
    sure_ms: int
    max_weak_start_ms: int
    near_db: float
    near_percentile: float
    own_percentile: float
    loudest_percentile: float
    talk_step_db: float
    through_share: float
    through_ms: int
    loudest_margin_db: float
    least_range_db: float
    steady_share: float
    steady_gap_db: float
    barge_in_db: float
    min_sample_share: float
    doubt: float
    max_doubt: float
    features: FeatureParameters

    @classmethod
    def of(cls, parameters: Mapping[str, Any], features: Mapping[str, Any]) -> ForegroundParameters:
        """Return the parameters that a protocol states."""
        return cls(**parameters, features=FeatureParameters.of(features))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Foreground:
    """The party's speech in front of its background.

    Parameters
    ----------
    intervals : int64 array of shape (n, 2), ms, sorted, disjoint
    separation : float or None
        Distance of party and background in standard deviations; None = no party found.
    doubt : float
        Share of the frames whose evidence is near even odds (its size below ``doubt``), among those
        that are the party or that near to it.
    snr_db : float or None
        Median level of the party above the median of its background.
    """

    intervals: Int
    separation: float | None
    doubt: float
    snr_db: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """What sounds on a channel while its party does not speak.

    Parameters
    ----------
    gap_db : float
        How far it lies under the party's loud level; infinite where the party does not speak.
    highest_db : float or None
        Level above which sound is the party's; None where the background could not be sampled.
    indistinct : bool
        Whether it cannot be told from the party at all.
    """

    gap_db: float
    highest_db: float | None
    indistinct: bool


def find_background(
    level: NDArray[np.float32],
    speech_ms: Int,
    other_ms: Int,
    *,
    parameters: ForegroundParameters,
) -> Background:
    """Return the background of a channel.

    While the other side speaks, the channel is heard without its party, but for barge-ins:
    stretches of speech that reach within ``barge_in_db`` of the loud level are left out, and
    ``near_percentile`` of what is left is the background. Where less than ``min_sample_share`` is
    left, the background is itself taken for speech, or there is none: what was taken must then be
    ``talk_step_db`` louder while the other side is silent. Where the other side hardly speaks, it
    is ``own_percentile`` of the whole channel.

    Steady noise, of which at most ``steady_share`` was taken for speech, is near only from
    ``steady_gap_db``. What the party's sound must rise above is ``loudest_percentile`` of what is
    left and ``loudest_margin_db``, but leaves it ``least_range_db``.

    Parameters
    ----------
    level : float32 array of shape (ms,), dB
    speech_ms, other_ms : int64 arrays of shape (n, 2), ms
        What the VAD and the energy take for speech on this channel, and the other's speech.
    """
    if len(speech_ms) == 0 or len(level) == 0:
        return Background(gap_db=float("inf"), highest_db=None, indistinct=False)
    other = covered(other_ms, len(level))
    own = covered(speech_ms, len(level))
    loud = float(np.percentile(level[own], 90))
    sampled = int(np.count_nonzero(other))
    sample = other.copy()
    for start, end in speech_ms:
        if level[start:end].max(initial=-np.inf) >= loud - parameters.barge_in_db:
            sample[start:end] = False
    left = level[sample]
    enough = max(parameters.min_sample_share * sampled, parameters.features.min_sample_ms)
    if len(left) < enough:
        return _talk_through(level, own, other, parameters)
    taken = np.count_nonzero(own & sample) / np.count_nonzero(sample)
    usual, loudest = np.percentile(
        left, (parameters.near_percentile, parameters.loudest_percentile)
    )
    gap = loud - float(usual)
    if taken <= parameters.steady_share and gap >= parameters.steady_gap_db:
        gap = max(gap, parameters.near_db)
    highest = min(float(loudest) + parameters.loudest_margin_db, loud - parameters.least_range_db)
    return Background(gap_db=gap, highest_db=highest, indistinct=False)


def _talk_through(
    level: NDArray[np.float32], own: Bool, other: Bool, parameters: ForegroundParameters
) -> Background:
    """Return the background where what was taken for speech goes on through the other side's.

    Either one voice goes on talking, as loud while the other side speaks as before; or a voice
    behind the party does, and it is less loud. A channel that goes on through nearly all of the
    other side's speech, as loud as ever, tells neither. Where the other side hardly speaks, the
    channel's own quiet time tells.
    """
    inside, outside = level[own & other], level[own & ~other]
    if min(len(inside), len(outside)) < parameters.features.min_sample_ms:
        quiet = np.percentile(level, parameters.own_percentile)
        return Background(
            gap_db=float(np.percentile(level[own], 90) - quiet), highest_db=None, indistinct=False
        )
    step = float(np.max(np.subtract(*(np.percentile(x, (80, 90, 95)) for x in (outside, inside)))))
    if step >= parameters.talk_step_db:
        return Background(gap_db=step, highest_db=None, indistinct=False)
    share = len(inside) / np.count_nonzero(other)
    through = bool(share >= parameters.through_share and len(inside) >= parameters.through_ms)
    return Background(gap_db=float("inf"), highest_db=None, indistinct=through)


def _likely_party(evidence: Real, price: float) -> Bool:
    """Return the most likely sequence of party (True) and background, `price` a change.

    Of two states only their difference counts (Viterbi): beyond the price, the better one is the
    best way into both; within it, each is best reached from itself.
    """
    leads = []
    lead = -price
    for step in evidence.tolist():
        leads.append(lead)
        if lead > price:
            lead = price
        elif lead < -price:
            lead = -price
        lead += step
    leads.append(lead)
    # Backwards, a frame is what the next lead beyond the price says; the last lead decides.
    final = np.array(leads[1:])
    sure = np.abs(final) > price
    if len(final):
        sure[-1] = True
    at = np.arange(len(final))
    following = np.minimum.accumulate(np.where(sure, at, len(final))[::-1])[::-1]
    return np.asarray(final[following] > 0.0)


def _evidence(traits: Traits, network: Network, parameters: ForegroundParameters) -> Real:
    frames = len(traits.level)
    parts = [
        network.evidence(traits.rows(first, min(first + _BLOCK, frames), parameters.features))
        for first in range(0, frames, _BLOCK)
    ]
    limit = parameters.evidence_limit
    return np.clip(np.concatenate(parts), -limit, limit)


def _standing(stretches: Int, core: Bool, evidence: Real, parameters: ForegroundParameters) -> Int:
    """Return the stretches that hold sure sound, or stand by one that does."""
    hop = parameters.features.hop_ms
    sure = np.array(
        [np.count_nonzero(core[a:b]) * hop >= parameters.min_core_ms for a, b in stretches], bool
    )
    good = np.array(
        [
            (b - a) * hop >= parameters.chain_min_ms
            and evidence[a:b].mean() >= parameters.chain_evidence
            for a, b in stretches
        ],
        bool,
    )
    linked = (stretches[1:, 0] - stretches[:-1, 1]) * hop <= parameters.chain_ms
    for _ in range(len(stretches)):
        beside = np.zeros(len(stretches), bool)
        beside[1:] |= sure[:-1] & linked
        beside[:-1] |= sure[1:] & linked
        more = sure | (good & beside)
        if np.array_equal(more, sure):
            break
        sure = more
    return np.asarray(stretches[sure])


def _drawn_back(stretches: Int, evidence: Real, parameters: ForegroundParameters) -> Int:
    """Return the stretches with the edges of short pauses at surer evidence."""
    hop = parameters.features.hop_ms
    most = parameters.max_draw_ms // hop
    drawn = stretches.copy()
    short = (stretches[1:, 0] - stretches[:-1, 1]) * hop <= parameters.pause_ms
    for index in np.flatnonzero(short):
        start, end = drawn[index]
        tail = evidence[max(start + 1, end - most) : end] >= parameters.pause_evidence
        sure = np.flatnonzero(tail)
        drawn[index, 1] = end - (len(tail) - 1 - sure[-1]) if len(sure) else end - len(tail)
        start, end = drawn[index + 1]
        head = evidence[start : min(end - 1, start + most)] >= parameters.pause_evidence
        sure = np.flatnonzero(head)
        drawn[index + 1, 0] = start + sure[0] if len(sure) else start + len(head)
    return drawn


def _without_weak_starts(stretches: Int, evidence: Real, parameters: ForegroundParameters) -> Int:
    """Return the stretches without a long beginning of weak evidence.

    A voice behind that speaks up to the party's first word is half believed; a soft first sound of
    the party itself is short.
    """
    hop = parameters.features.hop_ms
    kept = stretches.copy()
    for index, (start, end) in enumerate(stretches):
        held = runs(evidence[start:end] >= parameters.pause_evidence)
        lasting = held[(held[:, 1] - held[:, 0]) * hop >= parameters.sure_ms]
        if len(lasting) and lasting[0, 0] * hop > parameters.max_weak_start_ms:
            kept[index, 0] = start + lasting[0, 0]
    return kept


def _stretches(
    traits: Traits, network: Network, parameters: ForegroundParameters
) -> tuple[Real, Int]:
    """Return the evidence of every frame, and the stretches of the party in frames."""
    evidence = _evidence(traits, network, parameters)
    party = _likely_party(evidence * parameters.evidence_scale, parameters.change_price)
    return evidence, _standing(runs(party), traits.core, evidence, parameters)


def find_stretches(traits: Traits, network: Network, parameters: ForegroundParameters) -> Int:
    """Return the party's stretches as one pass finds them, shape (n, 2), ms."""
    return _stretches(traits, network, parameters)[1] * parameters.features.hop_ms


def _nothing() -> Foreground:
    return Foreground(intervals=_NONE, separation=None, doubt=0.0, snr_db=None)


def find_foreground(
    samples: Samples,
    probability: NDArray[np.float32],
    other_ms: Int,
    *,
    frame_ms: int,
    network: Network,
    parameters: ForegroundParameters,
) -> Foreground:
    """Return where the party speaks on a channel with a near background.

    Parameters
    ----------
    samples : float32 array of shape (n,), 16 kHz
        The other side's leak taken away.
    probability : float32 array, one of each `frame_ms`
        The VAD's.
    other_ms : int64 array of shape (m, 2), ms
        The other side's speech.
    """
    features = parameters.features
    frames = measure_frames(samples, probability, other_ms, frame_ms=frame_ms, parameters=features)
    known: Int | None = None
    found = _nothing()
    for _ in range(parameters.passes):
        traits = relative_traits(frames, known, parameters=features)
        if traits is None:
            return _nothing()
        evidence, stretches = _stretches(traits, network, parameters)
        if len(stretches) == 0:
            return _nothing()
        known = stretches * features.hop_ms
        found = _described(stretches, frames, traits, evidence, parameters)
    return found


def _described(
    stretches: Int, frames: Frames, traits: Traits, evidence: Real, parameters: ForegroundParameters
) -> Foreground:
    party = np.zeros(len(frames), bool)
    for start, end in stretches:
        party[start:end] = True
    rest = frames.sample & ~party
    uncertain = np.abs(evidence) < parameters.doubt
    relevant = party | uncertain
    snr = None
    if rest.any():
        snr = float(np.median(frames.level[party]) - np.median(frames.level[rest]))
    sure = _without_weak_starts(stretches, evidence, parameters)
    drawn = _drawn_back(sure, evidence, parameters) * parameters.features.hop_ms
    return Foreground(
        intervals=drawn.astype(np.int64),
        separation=traits.separation,
        doubt=float(np.count_nonzero(uncertain & relevant) / np.count_nonzero(relevant)),
        snr_db=snr,
    )
