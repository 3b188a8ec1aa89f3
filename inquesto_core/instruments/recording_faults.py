"""What is wrong with a recording, told from everything the bundle states about it.

Each finding has a reason code, the value that was measured, the limit of the protocol and what
follows: ``timing`` = timing of that call is not evaluated, ``warning`` = it is said and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from inquesto_core.errors import Problem
from inquesto_core.instruments.channel_checks import loudest_frame_dbfs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from inquesto_core.bundle import AudioFile, Bundle
    from inquesto_core.instruments.audio import ChannelAudio, Recording
    from inquesto_core.instruments.turn_anchors import Side
    from inquesto_core.protocol import Protocol, RecordingFaultLimits

__all__ = ["Level", "RecordingFault", "fault", "rate_of_scale", "stated_faults"]

Level = Literal["timing", "warning"]
_SIDES: tuple[Side, Side] = ("caller", "agent")
_SECOND_MS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingFault:
    """One fault of a recording.

    Parameters
    ----------
    code : str
        Reason code (``clock_conflict``).
    side : {"caller", "agent"} or None
        Whose channel; None = both, or the whole recording.
    quantity : str
        What was measured, its unit at the end (``step_ms``, ``scale``).
    value, limit : float
        What was measured, and the protocol's limit that it passes.
    level : {"timing", "warning"}
        ``timing``: `code` is a timing reason of the call. ``warning``: nothing follows.
    problem : Problem
        The same in one line, for people; always of level warning, as the call stays.
    """

    code: str
    side: Side | None
    quantity: str
    value: float
    limit: float
    level: Level
    problem: Problem


def fault(
    code: str,
    *,
    side: Side | None,
    measured: tuple[str, float, float],
    level: Level,
    found: str,
    expected: str,
    remedy: str,
    file: str | None = None,
) -> RecordingFault:
    """Return a fault; `measured` is the quantity, its value and its limit."""
    quantity, value, limit = measured
    return RecordingFault(
        code=code,
        side=side,
        quantity=quantity,
        value=value,
        limit=limit,
        level=level,
        problem=Problem(
            code=code, found=found, expected=expected, remedy=remedy, file=file, level="warning"
        ),
    )


def stated_faults(
    bundle: Bundle, recording: Recording, protocol: Protocol
) -> tuple[RecordingFault, ...]:
    """Return what the recording's own sound and call.json tell, without anyone listening.

    ``channels_identical``, ``caller_silent``, ``agent_silent``, ``sample_rate_conflict``,
    ``duration_mismatch``, ``clipped``, ``dc_offset``.

    Parameters
    ----------
    recording : Recording
        As `decode_call` gives it; without sides there is nothing to find.
    """
    limits, media = protocol.recording_faults, protocol.media.parameters
    found = list(_identical(recording, float(media["identical_residual_db"])))
    for side in _SIDES:
        sound: ChannelAudio | None = getattr(recording, side)
        if sound is None:
            return ()
        if getattr(recording, f"{side}_silent"):
            level_dbfs = loudest_frame_dbfs(sound.samples, int(media["silent_frame_ms"]))
            found.append(_silent(side, sound, level_dbfs, float(media["silent_dbfs"])))
        entry = next(e for e in bundle.call.audio if getattr(e, side) is not None)
        found += _file_faults(side, sound, entry, limits)
        found += _signal_faults(side, sound, limits)
    found += _span_faults(bundle, recording, limits)
    return tuple(found)


def _identical(recording: Recording, limit_db: float) -> Iterator[RecordingFault]:
    left_db = recording.identical_residual_db
    if left_db is not None:
        yield fault(
            "channels_identical",
            side=None,
            measured=("residual_db", round(left_db, 1), limit_db),
            level="timing",
            found=f"recording has one sound on both sides: a fit leaves {left_db:.0f} dB of it",
            expected=f"two sides; a fit that leaves less than {limit_db:g} dB shows one",
            remedy="record the sides apart; who talks over whom cannot be told from a mix",
        )


def _silent(
    side: Side, sound: ChannelAudio, level_dbfs: float, limit_dbfs: float
) -> RecordingFault:
    """Return that a side has no sound; what that does to the call is the protocol's to say."""
    return fault(
        f"{side}_silent",
        side=side,
        measured=("loudest_dbfs", round(level_dbfs, 1), limit_dbfs),
        level="warning",
        found=f"holds no sound of the {side}: channel {sound.channel_index} is below "
        f"{limit_dbfs:g} dBFS from start to end",
        expected="both sides of the call",
        remedy="check the recorder, unless that side said nothing",
        file=sound.file,
    )


def _file_faults(
    side: Side, sound: ChannelAudio, entry: AudioFile, limits: RecordingFaultLimits
) -> Iterator[RecordingFault]:
    stated_hz = entry.sample_rate_hz
    if stated_hz is not None and stated_hz != sound.sample_rate_hz:
        yield fault(
            "sample_rate_conflict",
            side=side,
            measured=("sample_rate_hz", sound.sample_rate_hz, stated_hz),
            level="timing",
            found=f"says {sound.sample_rate_hz} Hz in its header",
            expected=f"{stated_hz} Hz, as call.json states",
            remedy="correct the one that is wrong: at another rate every time is another",
            file=entry.file,
        )
    if entry.duration_ms is None:
        return
    off_ms = sound.duration_ms - entry.duration_ms
    if abs(off_ms) > limits.duration_ms:
        yield fault(
            "duration_mismatch",
            side=side,
            measured=("duration_difference_ms", off_ms, limits.duration_ms),
            level="timing",
            found=f"lasts {_seconds(sound.duration_ms)}",
            expected=f"{_seconds(entry.duration_ms)}, as call.json states",
            remedy=_rate_remedy(sound.duration_ms / max(entry.duration_ms, 1), sound, limits)
            or "sound was lost or added: nobody knows where, so no wait can be measured",
            file=entry.file,
        )


def _signal_faults(
    side: Side, sound: ChannelAudio, limits: RecordingFaultLimits
) -> Iterator[RecordingFault]:
    if sound.clipped_fraction > limits.clipped_fraction:
        yield fault(
            "clipped",
            side=side,
            measured=("clipped_fraction", sound.clipped_fraction, limits.clipped_fraction),
            level="warning",
            found=f"has {100 * sound.clipped_fraction:.1f} % of the {side}'s samples at full scale",
            expected=f"at most {100 * limits.clipped_fraction:g} %",
            remedy="record at a lower level; edges of speech are still measured",
            file=sound.file,
        )
    if abs(sound.dc_offset) > limits.dc_offset:
        yield fault(
            "dc_offset",
            side=side,
            measured=("dc_offset", sound.dc_offset, limits.dc_offset),
            level="warning",
            found=f"has a mean of {sound.dc_offset:+.3f} of full scale on the {side}'s channel",
            expected=f"at most {limits.dc_offset:g} either way",
            remedy="it was removed before anything was measured",
            file=sound.file,
        )


def _moment(text: str | None) -> tuple[datetime, int] | None:
    """Return a date with its time, and how coarse it is in ms; None for a date alone."""
    if text is None or "T" not in text:
        return None
    return datetime.fromisoformat(text), (1 if "." in text else _SECOND_MS)


def _span_faults(
    bundle: Bundle, recording: Recording, limits: RecordingFaultLimits
) -> Iterator[RecordingFault]:
    """Compare the recording with ``started_at`` to ``ended_at``.

    A recording longer than its call is wrong, unless the scored window closes with the call: then
    it ran on behind the hang-up, where nothing is measured. (One that plays too slowly is still
    wrong: its rate explains its length.) A shorter one may have begun after the call did, so that
    is only said; but where one of two tracks is as long as the call, the other lacks sound.
    """
    began, ended = _moment(bundle.call.started_at), _moment(bundle.call.ended_at)
    if began is None or ended is None or ended[0] <= began[0]:
        return
    span_ms = round((ended[0] - began[0]).total_seconds() * 1000)
    slack_ms = limits.duration_ms + max(began[1], ended[1]) - 1
    agrees = abs(recording.duration_ms - span_ms) <= slack_ms
    for side in _SIDES:
        sound: ChannelAudio = getattr(recording, side)
        end_ms = sound.shift_ms + sound.duration_ms
        off_ms = end_ms - span_ms
        if abs(off_ms) <= slack_ms:
            continue
        rate_remedy = _rate_remedy(sound.duration_ms / span_ms, sound, limits)
        window = bundle.call.scored_window_ms
        runs_on = window is not None and window[1] <= span_ms + slack_ms
        if off_ms > 0 and runs_on and not rate_remedy:
            continue
        yield fault(
            "duration_mismatch",
            side=side,
            measured=("end_difference_ms", off_ms, slack_ms),
            level="timing" if off_ms > 0 or agrees else "warning",
            found=f"ends at {_seconds(end_ms)} on the {side}'s side",
            expected=f"{_seconds(span_ms)}, from started_at to ended_at",
            remedy=rate_remedy or "state when the file began (start_ms), or record all of the call",
            file=sound.file,
        )


def rate_of_scale(scale: float, header_hz: int, limits: RecordingFaultLimits) -> int | None:
    """Return the rate at which sound must have been recorded that plays `scale` times too slowly.

    None where the times are right, or no usual rate explains them to within 1 %.
    """
    return next(
        (
            rate
            for rate in limits.usual_rates_hz
            if rate != header_hz and abs(scale * header_hz / rate - 1) <= limits.scale_tolerance
        ),
        None,
    )


def _rate_remedy(scale: float, sound: ChannelAudio, limits: RecordingFaultLimits) -> str:
    rate = rate_of_scale(scale, sound.sample_rate_hz, limits)
    if rate is None or abs(scale - 1) <= limits.scale_tolerance:
        return ""
    return (
        f"it plays at {1 / scale:.3g} times its speed: recorded at {rate} Hz, "
        f"but the header says {sound.sample_rate_hz} Hz; write the true rate"
    )


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.3f} s"
