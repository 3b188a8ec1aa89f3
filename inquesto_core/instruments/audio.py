"""A call's recording to one channel a side on the call's clock, or why there is none.

The clock: a sound at ``t_file`` in a file happened at ``t_file + start_ms + channel_offset_ms`` of
the call, with the file's `start_ms` and the side's offset of `call.json`. A caller track recorded
500 ms late has an offset of -500. Sample ``i`` of either side is at ``i / 16`` ms of that clock;
the shorter side is padded with silence at its end, never the longer one cut. What lies before 0 is
left out, with a warning where it was not silent.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from inquesto_core.errors import InstrumentError, Problem
from inquesto_core.instruments.channel_checks import identical_residual_db, is_silent
from inquesto_core.instruments.resample import SAMPLES_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquesto_core.bundle import AudioFile, Bundle
    from inquesto_core.instruments.arrays import Samples
    from inquesto_core.instruments.decode_file import DecodedChannel, DecodedFile
    from inquesto_core.instruments.media_limits import MediaLimits

__all__ = ["ChannelAudio", "Recording", "decode_call"]

Side = Literal["caller", "agent"]
_SIDES: tuple[Side, Side] = ("caller", "agent")

#: What `read_bundle` says of a file that must not be listened to.
_UNUSABLE = frozenset({"audio_missing", "audio_digest_mismatch"})
_MONO = "mono_recording"
_UNREADABLE = "unreadable_recording"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChannelAudio:
    """One side's sound on the call's clock, and the channel that it came from.

    Parameters
    ----------
    samples : float32 array of shape (n,)
        16 kHz, mean removed, full-scale runs silenced, read-only; as long as the other side's.
    file, sha256 : str
        The file and the digest of its bytes.
    format, codec : str
        libsndfile's names (``WAV``, ``PCM_16``).
    sample_rate_hz, channel_index, frames, duration_ms
        Of the file: native rate, 0-based channel, native frames, and
        ``frames * 1000 // sample_rate_hz``.
    shift_ms : int
        What was added to the file's times: ``start_ms + channel_offset_ms``.
    missing_ms : int or None
        Sound that the file promises and does not hold; None = some, nobody knows how much.
    dc_offset : float
        The mean that was removed; full scale is 1.0.
    peak_dbfs : float or None
        Level of the largest native sample, None for digital silence.
    clipped_fraction : float
        Share of native samples at the codec's limit in runs of at least ``clip_run``, in [0, 1].
    constant_full_scale_ms : int
        Constant full-scale runs that were taken as silence.
    """

    samples: Samples
    file: str
    sha256: str
    format: str
    codec: str
    sample_rate_hz: int
    channel_index: int
    frames: int
    duration_ms: int
    shift_ms: int
    missing_ms: int | None
    dc_offset: float
    peak_dbfs: float | None
    clipped_fraction: float
    constant_full_scale_ms: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recording:
    """Both sides of a call, or why there are none.

    Parameters
    ----------
    caller, agent : ChannelAudio or None
        Both or neither.
    duration_ms : int
        Where the later of both sides ends on the call's clock; 0 without sides.
    problems : tuple of Problem
        What decoding found; what `read_bundle` found is not repeated.
    timing_reasons : tuple of str
        Why this recording carries no timing, sorted; empty = it does.
    exclusion_reason : str or None
        ``unreadable_recording`` or ``mono_recording``: the call is outside n.
    caller_silent, agent_silent : bool or None
        Whether that side has no sound at all; None without sides.
    identical_residual_db : float or None
        Where both channels carry one sound, what a fit of one to the other leaves of it.
    """

    caller: ChannelAudio | None = None
    agent: ChannelAudio | None = None
    duration_ms: int = 0
    problems: tuple[Problem, ...] = ()
    timing_reasons: tuple[str, ...] = ()
    exclusion_reason: str | None = None
    caller_silent: bool | None = None
    agent_silent: bool | None = None
    identical_residual_db: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Track:
    """One side as decoded, still on its file's clock."""

    side: Side
    entry: AudioFile
    decoded: DecodedFile
    channel: DecodedChannel
    shift_ms: int

    @property
    def duration_ms(self) -> int:
        return self.decoded.frames * 1000 // self.decoded.sample_rate_hz

    @property
    def end_ms(self) -> int:
        return max(0, self.shift_ms + self.duration_ms)


def decode_call(bundle: Bundle, *, limits: MediaLimits) -> Recording:
    """Return both sides of a call at 16 kHz on the call's clock, or why there are none.

    Parameters
    ----------
    bundle : Bundle
        As `read_bundle` gives it; its own error-level problems about audio are honoured.
    limits : MediaLimits

    Returns
    -------
    Recording
        Nothing is raised for a bad recording: its problem and reason stand in the result.
    """
    unusable = _without_decoding(bundle)
    if unusable is not None:
        return unusable
    tracks, problems = _decode_tracks(bundle, limits)
    if len(tracks) == len(_SIDES):
        end_ms = max(track.end_ms for track in tracks.values())
        problems += [found for track in tracks.values() for found in _clock_problems(track, limits)]
        if end_ms >= limits.max_duration_ms:
            problems.append(_too_long(end_ms, limits))
    errors = [problem.code for problem in problems if problem.level == "error"]
    found = tuple(problem.at(call_id=bundle.call.call_id) for problem in problems)
    if errors:
        reason = _MONO if "mono_input" in errors else _UNREADABLE
        return Recording(problems=found, exclusion_reason=reason)
    return _recording(bundle, tracks, found, limits)


def _without_decoding(bundle: Bundle) -> Recording | None:
    """Return the result where what `read_bundle` found already decides it."""
    names = {entry.file for entry in bundle.call.audio}
    errors = {
        problem.code: problem.file in names or (problem.pointer or "").startswith("/audio")
        for problem in bundle.problems
        if problem.level == "error"
    }
    about_map = {"unknown_channel_map", "mono_input"} & errors.keys()
    if any(code in _UNUSABLE or (here and code not in about_map) for code, here in errors.items()):
        return Recording(exclusion_reason=_UNREADABLE)
    if not bundle.call.audio:
        return Recording(timing_reasons=("no_audio",))
    if "mono_input" in errors:
        return Recording(exclusion_reason=_MONO)
    mapped = [
        sum(getattr(entry, side) is not None for entry in bundle.call.audio) for side in _SIDES
    ]
    if not about_map and mapped == [1, 1]:
        return None
    if len(names) == 1:
        entry = bundle.call.audio[0]
        mono = _mono_problem(bundle, entry)
        if mono is not None:
            return Recording(
                problems=(mono.at(call_id=bundle.call.call_id),), exclusion_reason=_MONO
            )
    return Recording(timing_reasons=("unknown_channel_map",))


def _mono_problem(bundle: Bundle, entry: AudioFile) -> Problem | None:
    """Return what is wrong where the call's only file has one channel for both sides."""
    from inquesto_core.instruments.decode_file import count_channels

    try:
        n_channels = count_channels(bundle.root / entry.file)
    except InstrumentError:
        return None
    if n_channels != 1:
        return None
    return Problem(
        code="mono_input",
        found="has one channel for both sides",
        expected="one channel a side, in one file or in two",
        remedy="record the sides apart; who talks over whom cannot be told from a mix",
        file=entry.file,
    )


def _decode_tracks(bundle: Bundle, limits: MediaLimits) -> tuple[dict[Side, _Track], list[Problem]]:
    from inquesto_core.instruments.decode_file import decode_file

    tracks: dict[Side, _Track] = {}
    problems: list[Problem] = []
    if len({entry.file for entry in bundle.call.audio}) == 1:
        mono = _mono_problem(bundle, bundle.call.audio[0])
        if mono is not None:
            return tracks, [mono]
    for entry in bundle.call.audio:
        sides = [side for side in _SIDES if getattr(entry, side) is not None]
        if not sides:
            continue
        indices = [int(getattr(entry, side)) for side in sides]
        try:
            decoded = decode_file(bundle.root / entry.file, indices, limits)
        except InstrumentError as exc:
            problems.append(exc.problem.at(file=entry.file))
            continue
        problems += [problem.at(file=entry.file) for problem in decoded.problems]
        for side, channel in zip(sides, decoded.channels, strict=True):
            tracks[side] = _Track(
                side=side,
                entry=entry,
                decoded=decoded,
                channel=channel,
                shift_ms=entry.start_ms + int(getattr(bundle.call.channel_offset_ms, side)),
            )
    return tracks, problems


def _clock_problems(track: _Track, limits: MediaLimits) -> list[Problem]:
    """Return what is wrong with where a track lies on the call's clock."""
    place = f"the {track.side}'s track"
    shift = track.shift_ms * SAMPLES_PER_MS
    if shift + track.channel.samples.size <= 0:
        return [
            Problem(
                code="audio_empty",
                found=f"leaves nothing of {place}: shifted by {track.shift_ms} ms it ends before 0",
                expected="sound at or after the call's start",
                remedy="correct start_ms or channel_offset_ms in call.json",
                file=track.entry.file,
            )
        ]
    before = track.channel.samples[: max(0, -shift)]
    if is_silent(before, limits):
        return []
    return [
        Problem(
            code="audio_before_start",
            found=f"has sound in the {-track.shift_ms} ms of {place} that lie before the call's "
            "start; they are left out",
            expected="offsets that leave the call whole",
            remedy="give the other track a positive offset instead",
            file=track.entry.file,
            level="warning",
        )
    ]


def _too_long(end_ms: int, limits: MediaLimits) -> Problem:
    return Problem(
        code="audio_too_long",
        found=f"ends at {end_ms} ms of the call, start_ms and offset counted",
        expected=f"less than {limits.max_duration_ms} ms",
        remedy="cut the recording to the call",
    )


def _recording(
    bundle: Bundle,
    tracks: Mapping[Side, _Track],
    problems: tuple[Problem, ...],
    limits: MediaLimits,
) -> Recording:
    digests = dict(bundle.digests)
    length = max(
        track.shift_ms * SAMPLES_PER_MS + track.channel.samples.size for track in tracks.values()
    )
    caller, agent = (_channel_audio(bundle, tracks[side], length, digests) for side in _SIDES)
    reasons = {code for track in tracks.values() for code in track.decoded.lost}
    left_db = identical_residual_db(caller.samples, agent.samples, limits)
    if left_db is not None:
        reasons.add("channels_identical")
    return Recording(
        caller=caller,
        agent=agent,
        duration_ms=max(track.end_ms for track in tracks.values()),
        problems=problems,
        timing_reasons=tuple(sorted(reasons)),
        caller_silent=is_silent(caller.samples, limits),
        agent_silent=is_silent(agent.samples, limits),
        identical_residual_db=left_db,
    )


def _channel_audio(
    bundle: Bundle, track: _Track, length: int, digests: dict[str, str]
) -> ChannelAudio:
    name, decoded, channel = track.entry.file, track.decoded, track.channel
    if name not in digests:
        with (bundle.root / name).open("rb") as file:
            digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
    samples = _placed(channel.samples, track.shift_ms * SAMPLES_PER_MS, length)
    samples.flags.writeable = False
    return ChannelAudio(
        samples=samples,
        file=name,
        sha256=digests[name],
        format=decoded.format,
        codec=decoded.codec,
        sample_rate_hz=decoded.sample_rate_hz,
        channel_index=channel.index,
        frames=decoded.frames,
        duration_ms=track.duration_ms,
        shift_ms=track.shift_ms,
        missing_ms=decoded.missing_ms,
        dc_offset=channel.dc_offset,
        peak_dbfs=channel.peak_dbfs,
        clipped_fraction=channel.clipped_fraction,
        constant_full_scale_ms=channel.full_scale_frames * 1000 // decoded.sample_rate_hz,
    )


def _placed(samples: Samples, shift: int, length: int) -> Samples:
    """Return `samples` moved by `shift` on a clock of `length` samples, silence around them."""
    if shift == 0 and samples.size == length:
        return samples
    kept = samples[max(0, -shift) :]
    placed = np.zeros(length, dtype=np.float32)
    start = max(0, shift)
    placed[start : start + kept.size] = kept
    return placed
